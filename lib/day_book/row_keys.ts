/**
 * Keys of rows: the same row gets the same key in every run, and two identical rows get two keys.
 *
 * A key is made from what identifies a row, not from its cursor, which is a place in one answer. Identical rows
 * are counted in the order of the answer; as they are identical, it does not matter which is first.
 *
 * @module
 */

const BYTES_AS_HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function hexOf(value: number): string {
  const byte = (shift: number) => BYTES_AS_HEX[(value >>> shift) & 255]!;
  return byte(24) + byte(16) + byte(8) + byte(0);
}

/** Digests text into 64 bits, two halves at a time. Not for secrets; a clash of rows costs nothing but a higher count. */
export class Digest {
  high = 0;
  low = 0;

  constructor() {
    this.reset();
  }

  /** Forgets what was taken in. */
  reset(): this {
    this.high = 0x9e3779b9;
    this.low = 0x85ebca6b;
    return this;
  }

  /** Takes in a value; an absent one differs from an empty one. */
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

  /** Sixteen hexadecimal digits. */
  toString(): string {
    return hexOf(this.high) + hexOf(this.low);
  }
}

/** Places of the first tables; each is as large as the one before and more until they reach the second. */
const FIRST_PLACES = 1 << 10;
const USUAL_PLACES = 1 << 17;
/** A table takes no more when three quarters of its places are used. */
const MOST_USED = 0.75;
/** Counts from here on are held elsewhere. */
const MANY = 255;

interface Table {
  /** Places less one; there are a power of two of them. */
  mask: number;
  used: number;
  /** The low half of a digest. */
  tags: Int32Array;
  /** Eight bits of the high half; the others are more or less known from the place. */
  hints: Uint8Array;
  /** Zero for a free place, otherwise one more than the count. */
  counts: Uint8Array;
  /** Counts that do not fit. */
  many: Map<number, number>;
}

/**
 * Counts how often each digest came, in six bytes per place of open tables: 8 bytes per row of one day's list, 8 MB
 * for a million rows. Tables are added and never made larger, so nothing is held twice meanwhile.
 */
export class DigestCounts {
  readonly #tables: Table[] = [];
  #places = 0;

  /** Counts one more and returns the count. */
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

  /** Counts one less; `false` when none is left. */
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
    // Few tables, as each is asked for every digest, and none so large that most of it may stay empty.
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

/** Finds the place of a digest, or the free one where it belongs. */
function find({ mask, tags, hints, counts }: Table, digest: Digest): number {
  const [tag, hint] = [digest.low | 0, hintOf(digest)];
  let place = digest.high & mask;
  while (counts[place] !== 0 && (tags[place] !== tag || hints[place] !== hint)) place = (place + 1) & mask;
  return place;
}

function countAt({ counts, many }: Table, place: number): number {
  return many.get(place) ?? counts[place]! - 1; // a place within the table
}

function setCount({ counts, many }: Table, place: number, count: number): number {
  if (count < MANY) many.delete(place);
  else many.set(place, count);
  counts[place] = Math.min(MANY, count + 1);
  return count;
}
