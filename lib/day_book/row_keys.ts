/**
 * Keys of rows: the same row gets the same key in every run, and two identical rows get two keys.
 *
 * A key is made from what identifies a row, not from its cursor, which is a place in one answer. Identical rows
 * are counted in the order of the answer; as they are identical, it does not matter which is first.
 *
 * @module
 */

/** Digests text into 64 bits, two halves at a time. Not for secrets; a clash costs nothing but a higher count. */
export class Digest {
  high = 0x9e3779b9;
  low = 0x85ebca6b;

  /** Takes in a value; an absent one differs from an empty one. */
  add(value: unknown): this {
    if (value === undefined) return this.#unit(0x10001);
    const text = typeof value === "string" ? value : String(value);
    for (let index = 0; index < text.length; index++) this.#unit(text.charCodeAt(index));
    return this.#unit(0x10000);
  }

  #unit(unit: number): this {
    this.high = Math.imul(this.high ^ unit, 0x9e3779b1);
    this.low = Math.imul(this.low ^ unit, 0x5f356495);
    this.high ^= this.low >>> 15;
    this.low ^= this.high >>> 13;
    return this;
  }

  /** Sixteen hexadecimal digits. */
  toString(): string {
    const half = (value: number) => (value >>> 0).toString(16).padStart(8, "0");
    return half(this.high) + half(this.low);
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
