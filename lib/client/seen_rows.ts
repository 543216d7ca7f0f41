/**
 * The rows of a list that were read so far, to notice rows and pages that come a second time.
 *
 * @module
 */

/** How many rows are remembered at least; memory stays the same however long the list is. */
const REMEMBERED = 100_000;
/** Fewer different rows than these may come again in the same order by chance, such as a fee for each order. */
const TELLING_ROWS = 10;

/** So many rows on end may look like earlier ones, with an order number and without. */
const [ALIKE_WITH_ID, ALIKE] = [100, 10_000];

/** What tells a row from another, as a number; two numbers differ only when the rows do. */
export type RowKey = number;

/** Rows and pages that came before. */
export class SeenRows {
  readonly #identity: readonly string[];
  readonly #hasIds: boolean;
  readonly #pages = new Set<number>();
  #recent = new Set<RowKey>();
  #older = new Set<RowKey>();
  /** Rows on end, page by page, that all look like earlier ones. */
  #alike = 0;

  /** @param identity Members that tell one row from another. */
  constructor(identity: readonly string[]) {
    this.#identity = identity;
    this.#hasIds = identity.includes("orderId");
  }

  /** Returns the keys of rows, in their order. */
  keysOf(rows: readonly unknown[]): RowKey[] {
    return rows.map((row) => {
      // The catalogue decodes each row into a record.
      const members = row as Readonly<Record<string, unknown>>;
      let text = "";
      for (const name of this.#identity) text += `${members[name] ?? ""}\n`;
      return hash(text);
    });
  }

  /** Returns whether a row came before, or one like it. */
  has(key: RowKey): boolean {
    return this.#recent.has(key) || this.#older.has(key);
  }

  /**
   * Remembers a page.
   *
   * @returns Whether its rows came before: the same ones in the same order, or page after page of known ones.
   */
  add(keys: readonly RowKey[]): boolean {
    this.#alike = keys.every((key) => this.has(key)) ? this.#alike + keys.length : 0;
    if (this.#alike > (this.#hasIds ? ALIKE_WITH_ID : ALIKE)) return true;
    for (const key of keys) this.#recent.add(key);
    if (this.#recent.size > REMEMBERED) [this.#older, this.#recent] = [this.#recent, new Set()];
    const different = new Set(keys).size;
    const isTelling = different >= TELLING_ROWS ||
      (this.#hasIds && different > 1 && different === keys.length);
    if (!isTelling) return false;
    const page = hash(keys.join());
    if (this.#pages.has(page)) return true;
    this.#pages.add(page);
    return false;
  }
}

/** A hash of 53 bits: among a million texts two are alike with a chance of one in ten thousand. */
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
