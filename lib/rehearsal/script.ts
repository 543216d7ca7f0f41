/**
 * Things that are to happen at an instant, soonest first.
 *
 * @module
 */

/** One of them. */
export interface Cue {
  /** Epoch milliseconds. */
  at: number;
  do: () => Promise<void> | void;
}

/** Cues in order of time; those of one instant as they were added. */
export class Script {
  readonly #cues: Cue[] = [];

  constructor(cues: readonly Cue[] = []) {
    this.#cues.push(...cues.toSorted((a, b) => a.at - b.at));
  }

  /** When the next one is; `Infinity` when there is none. */
  get next(): number {
    return this.#cues[0]?.at ?? Infinity;
  }

  add(cue: Cue): void {
    const place = this.#cues.findIndex(({ at }) => at > cue.at);
    this.#cues.splice(place < 0 ? this.#cues.length : place, 0, cue);
  }

  /** Takes the next one if it is due by an instant. */
  take(until: number): Cue | undefined {
    return this.next <= until ? this.#cues.shift() : undefined;
  }
}
