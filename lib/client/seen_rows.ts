/**
 * Remembers the rows of a list that were read, to detect repeated rows and pages.
 *
 * @module
 */

/**
 * Minimum number of rows to remember. At most twice as many are remembered, so memory use does not depend on the
 * length of the list.
 */
const REMEMBERED = 100_000;
/** A page with fewer distinct rows may equal another page by chance, for example if every row is the same fee. */
const MIN_DISTINCT_ROWS = 10;

/**
 * Maximum number of consecutive rows that look like rows already read: for rows with an order number, and for rows
 * without one.
 */
const [ALIKE_WITH_ID, ALIKE] = [100, 10_000];

/** Number that identifies a row. Different numbers mean different rows. */
export type RowKey = number;

/** Rows and pages that were read. */
export class SeenRows {
  readonly #identity: readonly string[];
  readonly #hasIds: boolean;
  readonly #pages = new Set<number>();
  #recent = new Set<RowKey>();
  #older = new Set<RowKey>();
  /** Number of consecutive rows that look like rows already read. Only whole pages count. */
  #alike = 0;

  /** @param identity Members that identify a row. */
  constructor(identity: readonly string[]) {
    this.#identity = identity;
    this.#hasIds = identity.includes("orderId");
  }

  /** Returns the keys of rows in order. */
  keysOf(rows: readonly unknown[]): RowKey[] {
    return rows.map((row) => {
      // The catalogue decodes each row into a record.
      const members = row as Readonly<Record<string, unknown>>;
      let text = "";
      for (const name of this.#identity) text += `${members[name] ?? ""}\n`;
      return hash(text);
    });
  }

  /** Returns whether this row, or an identical one, was read before. */
  has(key: RowKey): boolean {
    return this.#recent.has(key) || this.#older.has(key);
  }

  /**
   * Remembers a page.
   *
   * @returns Whether the page was read before: the same rows in the same order, or too many known rows in succession.
   */
  add(keys: readonly RowKey[]): boolean {
    this.#alike = keys.every((key) => this.has(key)) ? this.#alike + keys.length : 0;
    if (this.#alike > (this.#hasIds ? ALIKE_WITH_ID : ALIKE)) return true;
    for (const key of keys) this.#recent.add(key);
    if (this.#recent.size > REMEMBERED) [this.#older, this.#recent] = [this.#recent, new Set()];
    const different = new Set(keys).size;
    const isDistinctive = different >= MIN_DISTINCT_ROWS ||
      (this.#hasIds && different > 1 && different === keys.length);
    if (!isDistinctive) return false;
    const page = hash(keys.join());
    if (this.#pages.has(page)) return true;
    this.#pages.add(page);
    return false;
  }
}

/**
 * Returns a hash of 53 bits. Among a million texts, the chance that two have the same hash is below one in ten
 * thousand.
 */
function hash(text: string): number {
  let [low, high] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 2654435761);
    high = Math.imul(high ^ code, 1597334677);
  }
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return 4294967296 * (2097151 & high) + (low >>> 0);
}
