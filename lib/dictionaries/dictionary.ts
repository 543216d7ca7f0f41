/**
 * Builds code tables, which translate between the broker's codes and hsgate's names. A request accepts only listed
 * names; an answer may contain codes that no table lists.
 *
 * @module
 */

/** A code that the table does not list, kept as received: `"unlisted:9"`. */
export type Unlisted = `unlisted:${string}`;

const UNLISTED = "unlisted:";

/** One row of a code table. */
export interface DictionaryEntry<Name extends string = string> {
  /** The broker's code, as text. */
  readonly code: string;
  /** hsgate's name for the code. */
  readonly name: Name;
  /** The meaning of the code, in words. */
  readonly label: string;
}

/** Input to build a code table. */
interface DictionaryInit<Values extends Record<string, readonly [name: string, label: string]>> {
  /** The table's name in the broker's documents. */
  wire: string;
  /** Whether messages contain the codes as text or as numbers. */
  type: "string" | "int";
  /** Documents and SDKs that list the codes. */
  source: string;
  /** True if the list is complete. If not, a code that is not listed may be valid. */
  closed?: boolean;
  /** hsgate's name and the label of each code. */
  values: Values;
}

/** Translates between the broker's codes and hsgate's names. */
export class Dictionary<Name extends string = string> {
  /** The table's name in the broker's documents. */
  readonly wire: string;
  /** Whether messages contain the codes as text or as numbers. */
  readonly type: "string" | "int";
  /** Documents and SDKs that list the codes. */
  readonly source: string;
  /** Whether the list is complete. */
  readonly closed: boolean;
  /** All rows. */
  readonly entries: readonly DictionaryEntry<Name>[];
  /** Names by code as text, and by code as a number for numeric codes. */
  readonly #byCode = new Map<string | number, Name>();
  readonly #byName = new Map<string, DictionaryEntry<Name>>();

  /** Creates a code table from its rows. */
  constructor(
    init: Omit<DictionaryInit<Record<string, readonly [Name, string]>>, "values">,
    entries: DictionaryEntry<Name>[],
  ) {
    this.wire = init.wire;
    this.type = init.type;
    this.source = init.source;
    this.closed = init.closed ?? false;
    this.entries = entries;
    for (const entry of entries) {
      if (this.#byName.has(entry.name)) {
        throw new TypeError(`Cannot build code table "${init.wire}": name "${entry.name}" is given twice`);
      }
      this.#byCode.set(entry.code, entry.name);
      if (String(Number(entry.code)) === entry.code) this.#byCode.set(Number(entry.code), entry.name);
      this.#byName.set(entry.name, entry);
    }
  }

  /** All hsgate's names, in the order of the table. */
  get names(): Name[] {
    return this.entries.map((entry) => entry.name);
  }

  /** Returns whether a value is one of hsgate's names. */
  has(value: unknown): value is Name {
    return typeof value === "string" && this.#byName.has(value);
  }

  /** Returns hsgate's name for a code, or `unlisted:CODE` if the table does not list it. `encode` reverses both. */
  decode(code: string | number): Name | Unlisted {
    return this.#byCode.get(code) ?? `${UNLISTED}${code}`;
  }

  /**
   * Returns the broker's code for one of hsgate's names, or for `unlisted:CODE`.
   *
   * @throws {RangeError} When the name is not in the table.
   */
  encode(name: Name | Unlisted): string | number {
    const code = this.#byName.get(name)?.code ??
      (name.startsWith(UNLISTED) ? name.slice(UNLISTED.length) : undefined);
    if (code === undefined) {
      throw new RangeError(`Cannot encode "${name}" as ${this.wire}: the table does not list it`);
    }
    return this.type === "int" ? Number(code) : code;
  }

  /** Returns the meaning of a name, in words; for an unlisted code, the name itself. */
  label(name: Name | Unlisted): string {
    return this.#byName.get(name)?.label ?? name;
  }
}

/** The table of a list of codes: `DictionaryOf<typeof sideCodes>`. */
export type DictionaryOf<Values extends Record<string, readonly [name: string, label: string]>> = Dictionary<
  Values[keyof Values][0]
>;

/** Builds a code table from codes, names and labels. */
export function dictionary<const Values extends Record<string, readonly [name: string, label: string]>>(
  init: DictionaryInit<Values>,
): DictionaryOf<Values> {
  const entries = Object.entries(init.values).map(([code, [name, label]]) => ({ code, name, label }));
  return new Dictionary(init, entries);
}

/** The type of a table's names: `NameOf<typeof Market>`. */
export type NameOf<Table> = Table extends Dictionary<infer Name> ? Name : never;
