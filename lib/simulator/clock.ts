/**
 * Time as an argument: every room that needs to know what time it is is handed a clock.
 *
 * @module
 */

/** Tells the time and waits. */
export interface Clock {
  /** Now, Unix milliseconds. */
  now(): number;
}

/** A clock that starts at an instant of its own and runs on with real time. */
export class ShiftedClock implements Clock {
  readonly #start: number;
  readonly #began = performance.now();

  constructor(start: number) {
    this.#start = start;
  }

  now(): number {
    return this.#start + Math.floor(performance.now() - this.#began);
  }
}

/** A clock that stands still until it is told to move. */
export class ManualClock implements Clock {
  #now: number;

  constructor(start: number) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  /** Moves on, or back, by milliseconds. */
  advance(ms: number): void {
    this.#now += ms;
  }

  /** Jumps to an instant. */
  set(instant: number): void {
    this.#now = instant;
  }
}
