/**
 * Keeps a list of scripted events in order of time.
 *
 * @module
 */

/** An event. */
interface Cue {
  /** Unix milliseconds. */
  at: number;
  do: () => Promise<void> | void;
}

/** Events in order of time; events at the same instant stay in the order in which they were added. */
export class Script {
  readonly #cues: Cue[] = [];

  constructor(cues: readonly Cue[] = []) {
    this.#cues.push(...cues.toSorted((a, b) => a.at - b.at));
  }

  /** Time of the next event; `Infinity` if there is none. */
  get next(): number {
    return this.#cues[0]?.at ?? Infinity;
  }

  add(cue: Cue): void {
    const place = this.#cues.findIndex(({ at }) => at > cue.at);
    this.#cues.splice(place < 0 ? this.#cues.length : place, 0, cue);
  }

  /** Removes and returns the next event if it is due by an instant. */
  take(until: number): Cue | undefined {
    return this.next <= until ? this.#cues.shift() : undefined;
  }
}
