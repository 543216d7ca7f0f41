/**
 * A bounded memory for what is costly to make: the entry not used for longest goes first.
 *
 * @module
 */

/** A map of limited size. */
export class Cache<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #size: number;

  constructor(size: number) {
    this.#size = size;
  }

  /** Returns the value of a key, made now if it is not held. */
  get(key: string, make: () => Value): Value {
    const held = this.#entries.get(key);
    if (held !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, held);
      return held;
    }
    const value = make();
    this.#entries.set(key, value);
    if (this.#entries.size > this.#size) {
      const [oldest] = this.#entries.keys();
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
    return value;
  }
}
