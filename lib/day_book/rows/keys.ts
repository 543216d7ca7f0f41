/**
 * Computes the keys of rows. The same row gets the same key in every export, and two identical rows get two keys.
 *
 * A key contains a digest of the identifying fields. The cursor is not one of them, because it is a place in one
 * answer. Identical rows are numbered; because they are identical, their order does not matter.
 *
 * @module
 */

const BYTES_AS_HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function hexOf(value: number): string {
  const byte = (shift: number) => BYTES_AS_HEX[(value >>> shift) & 255]!;
  return byte(24) + byte(16) + byte(8) + byte(0);
}

/**
 * Computes a digest of 64 bits, as two halves. Not for secrets. If two different rows have the same digest, they
 * still get different keys, because the second row gets a higher count.
 */
export class Digest {
  high = 0;
  low = 0;

  constructor() {
    this.reset();
  }

  /** Starts a new digest. */
  reset(): this {
    this.high = 0x9e3779b9;
    this.low = 0x85ebca6b;
    return this;
  }

  /** Adds a value to the digest. An absent value differs from an empty one. */
  add(value: unknown): this {
    let { high, low } = this;
    const text = value === undefined ? "" : typeof value === "string" ? value : String(value);
    for (let index = 0; index <= text.length; index++) {
      const unit = index < text.length ? text.charCodeAt(index) : value === undefined ? 0x10001 : 0x10000;
      high = Math.imul(high ^ unit, 0x9e3779b1);
      low = Math.imul(low ^ unit, 0x5f356495);
      high ^= low >>> 15;
      low ^= high >>> 13;
    }
    this.high = high;
    this.low = low;
    return this;
  }

  /** Returns the digest as sixteen hexadecimal digits. */
  toString(): string {
    return hexOf(this.high) + hexOf(this.low);
  }
}

/** Places of the first table. Each new table doubles the total, until the total reaches `USUAL_PLACES`. */
const FIRST_PLACES = 1 << 10;
const USUAL_PLACES = 1 << 17;
/** A table is full when three quarters of its places are used. */
const MOST_USED = 0.75;
/** Counts of at least this number do not fit into a byte; `Table.many` contains them. */
const MANY = 255;

interface Table {
  /** Number of places minus one; the number is a power of two. */
  mask: number;
  used: number;
  /** The low half of each digest. */
  tags: Int32Array;
  /** The top eight bits of the high half; the place already depends on the low bits of that half. */
  hints: Uint8Array;
  /** Zero for a free place, otherwise the count plus one. */
  counts: Uint8Array;
  /** Counts that do not fit into `counts`. */
  many: Map<number, number>;
}

/**
 * Counts how often each digest occurs, in hash tables with six bytes per place. That is 8 bytes per row, or 8 MB for
 * a million rows. It grows by adding tables, so no table is ever copied.
 */
export class DigestCounts {
  readonly #tables: Table[] = [];
  #places = 0;

  /** Adds one to the count of a digest and returns the count. */
  next(digest: Digest): number {
    for (const table of this.#tables) {
      const place = find(table, digest);
      if (table.counts[place] !== 0) return setCount(table, place, countAt(table, place) + 1);
    }
    let table = this.#tables.at(-1);
    if (table === undefined || table.used >= (table.mask + 1) * MOST_USED) table = this.#grow();
    const place = find(table, digest);
    table.tags[place] = digest.low;
    table.hints[place] = hintOf(digest);
    table.used++;
    return setCount(table, place, 1);
  }

  /** Subtracts one from the count of a digest. Returns `false` if the count is already zero. */
  take(digest: Digest): boolean {
    for (const table of this.#tables) {
      const place = find(table, digest);
      if (table.counts[place] === 0) continue;
      const count = countAt(table, place);
      if (count > 0) setCount(table, place, count - 1);
      return count > 0;
    }
    return false;
  }

  #grow(): Table {
    // Use few tables, because each digest is looked up in all of them. But do not create a table so large that much of
    // it remains empty.
    const wanted = this.#places < USUAL_PLACES
      ? Math.max(FIRST_PLACES, this.#places)
      : Math.max(USUAL_PLACES, this.#places / 8);
    const places = 2 ** Math.ceil(Math.log2(wanted));
    this.#places += places;
    const table: Table = {
      mask: places - 1,
      used: 0,
      tags: new Int32Array(places),
      hints: new Uint8Array(places),
      counts: new Uint8Array(places),
      many: new Map(),
    };
    this.#tables.push(table);
    return table;
  }
}

const hintOf = ({ high }: Digest) => high >>> 24;

/** Returns the place of a digest, or the free place for it. */
function find({ mask, tags, hints, counts }: Table, digest: Digest): number {
  const [tag, hint] = [digest.low | 0, hintOf(digest)];
  let place = digest.high & mask;
  while (counts[place] !== 0 && (tags[place] !== tag || hints[place] !== hint)) place = (place + 1) & mask;
  return place;
}

function countAt({ counts, many }: Table, place: number): number {
  return many.get(place) ?? counts[place]! - 1; // `place` is within the table
}

function setCount({ counts, many }: Table, place: number, count: number): number {
  if (count < MANY) many.delete(place);
  else many.set(place, count);
  counts[place] = Math.min(MANY, count + 1);
  return count;
}
