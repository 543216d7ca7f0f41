/**
 * Keeps timers in order of time. Timers of the same instant fire in the order in which they were set, so that
 * rehearsals are deterministic.
 *
 * @module
 */

/** A timer. */
interface Alarm {
  at: number;
  callback: () => void;
}

interface Entry extends Alarm {
  order: number;
  /** Whether it was cancelled. A cancelled timer stays in the heap until it would be the next one. */
  off: boolean;
}

const isBefore = (a: Entry, b: Entry) => a.at < b.at || (a.at === b.at && a.order < b.order);

/** A heap of timers. */
export class Timers {
  readonly #heap: Entry[] = [];
  #count = 0;

  /** Sets a timer. Returns a function that cancels it. */
  set(at: number, callback: () => void): () => void {
    const entry = { at, callback, order: this.#count++, off: false };
    this.#heap.push(entry);
    this.#rise(this.#heap.length - 1);
    return () => void (entry.off = true);
  }

  /** Time of the next timer; `Infinity` if none is set. */
  get next(): number {
    return this.#first()?.at ?? Infinity;
  }

  /** Removes and returns the next timer if it is due by an instant. */
  take(until: number): Alarm | undefined {
    const first = this.#first();
    if (first === undefined || first.at > until) return undefined;
    this.#pop();
    return first;
  }

  #first(): Entry | undefined {
    while (this.#heap[0]?.off) this.#pop();
    return this.#heap[0];
  }

  #rise(from: number): void {
    const heap = this.#heap;
    for (let at = from; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!isBefore(heap[at]!, heap[parent]!)) return; // both indexes are valid
      [heap[at], heap[parent]] = [heap[parent]!, heap[at]!];
      at = parent;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0;;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      // The conditions check the length first, so the indexes are valid.
      if (left < heap.length && isBefore(heap[left]!, heap[least]!)) least = left;
      if (right < heap.length && isBefore(heap[right]!, heap[least]!)) least = right;
      if (least === at) return;
      [heap[at], heap[least]] = [heap[least]!, heap[at]!];
      at = least;
    }
  }
}
