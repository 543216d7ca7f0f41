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

/** Digests text into 64 bits, two halves at a time. Not for secrets; a clash costs nothing but a higher count. */
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

/**
 * Counts how often each digest came, in 12 bytes per place of an open table that is at most half full: 24 to 48
 * bytes per row of one day's list, 48 MB for a million rows of a single day.
 */
export class DigestCounts {
  #size = 1024;
  #used = 0;
  #high = new Int32Array(this.#size);
  #low = new Int32Array(this.#size);
  #counts = new Uint32Array(this.#size);

  /** Counts one more and returns the count. */
  next({ high, low }: Digest): number {
    if (this.#used * 2 >= this.#size) this.#grow();
    const place = this.#find(high | 0, low | 0);
    if (this.#counts[place] === 0) {
      this.#high[place] = high;
      this.#low[place] = low;
      this.#used++;
    }
    // A place within the table always holds a count.
    return this.#counts[place] = this.#counts[place]! + 1;
  }

  #find(high: number, low: number): number {
    const mask = this.#size - 1;
    let place = (high ^ low) & mask;
    while (this.#counts[place] !== 0 && (this.#high[place] !== high || this.#low[place] !== low)) {
      place = (place + 1) & mask;
    }
    return place;
  }

  #grow(): void {
    const [high, low, counts] = [this.#high, this.#low, this.#counts];
    this.#size *= 2;
    this.#high = new Int32Array(this.#size);
    this.#low = new Int32Array(this.#size);
    this.#counts = new Uint32Array(this.#size);
    counts.forEach((count, index) => {
      if (count === 0) return;
      const place = this.#find(high[index]!, low[index]!);
      [this.#high[place], this.#low[place], this.#counts[place]] = [high[index]!, low[index]!, count];
    });
  }
}
