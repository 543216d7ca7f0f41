/**
 * Code tables: closed going out, open coming in.
 *
 * @module
 */

/** A code that no table lists, kept as it came: `"unlisted:9"`. */
export type Unlisted = `unlisted:${string}`;

const UNLISTED = "unlisted:";

/** One row of a code table. */
export interface DictionaryEntry<Name extends string = string> {
  /** The broker's code, as text. */
  readonly code: string;
  /** Our name for it. */
  readonly name: Name;
  /** What it means, in words. */
  readonly label: string;
}

/** What a code table is made from. */
export interface DictionaryInit<Values extends Record<string, readonly [name: string, label: string]>> {
  /** The table's name in the broker's documents. */
  wire: string;
  /** Whether codes travel as text or as numbers. */
  type: "string" | "int";
  /** Where the table was found. */
  source: string;
  /** The whole list is known; otherwise an unknown code is only new, not wrong. */
  closed?: boolean;
  /** Our name and the meaning of each code. */
  values: Values;
}

/** A code table between the broker's codes and our names. */
export class Dictionary<Name extends string = string> {
  /** The table's name in the broker's documents. */
  readonly wire: string;
  /** Whether codes travel as text or as numbers. */
  readonly type: "string" | "int";
  /** Where the table was found. */
  readonly source: string;
  /** The whole list is known. */
  readonly closed: boolean;
  /** All rows. */
  readonly entries: readonly DictionaryEntry<Name>[];
  /** By the code as text, and as a number where it is one. */
  readonly #byCode = new Map<string | number, Name>();
  readonly #byName = new Map<string, DictionaryEntry<Name>>();

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
        throw new TypeError(`Cannot build "${init.wire}": "${entry.name}" twice`);
      }
      this.#byCode.set(entry.code, entry.name);
      if (String(Number(entry.code)) === entry.code) this.#byCode.set(Number(entry.code), entry.name);
      this.#byName.set(entry.name, entry);
    }
  }

  /** Our names. */
  get names(): Name[] {
    return this.entries.map((entry) => entry.name);
  }

  /** Tells whether a value is one of our names. */
  has(value: unknown): value is Name {
    return typeof value === "string" && this.#byName.has(value);
  }

  /** Returns our name for a code; a code that the table lacks stays readable and encodes back to itself. */
  decode(code: string | number): Name | Unlisted {
    return this.#byCode.get(code) ?? `${UNLISTED}${code}`;
  }

  /**
   * Returns the broker's code for one of our names.
   *
   * @throws {RangeError} When the name is not in the table.
   */
  encode(name: Name | Unlisted): string | number {
    const code = this.#byName.get(name)?.code ??
      (name.startsWith(UNLISTED) ? name.slice(UNLISTED.length) : undefined);
    if (code === undefined) throw new RangeError(`Cannot encode "${name}" as ${this.wire}: not in the table`);
    return this.type === "int" ? Number(code) : code;
  }

  /** What a name means, in words; an unlisted code is its own label. */
  label(name: Name | Unlisted): string {
    return this.#byName.get(name)?.label ?? name;
  }
}

/** Builds a code table from codes, names and meanings. */
export function dictionary<const Values extends Record<string, readonly [name: string, label: string]>>(
  init: DictionaryInit<Values>,
): Dictionary<Values[keyof Values][0]> {
  const entries = Object.entries(init.values).map(([code, [name, label]]) => ({ code, name, label }));
  return new Dictionary(init, entries);
}

/** The names of a table, as a type: `NameOf<typeof Market>`. */
export type NameOf<Table> = Table extends Dictionary<infer Name> ? Name : never;
