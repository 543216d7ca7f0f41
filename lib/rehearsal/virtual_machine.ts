/**
 * A machine whose time is made up: its wall clock, the clock that never jumps, its alarms. It stands still until it
 * is moved.
 *
 * Three clocks, as three things can part in reality: `true` time, which the exchanges and the broker go by; the wall
 * clock, which a person or a time server may set wrong; and the steady clock of the machine, which stands still while
 * the machine sleeps.
 *
 * @module
 */
import type { Host } from "../runner/host.ts";
import { Timers } from "./timers.ts";

/** Numbers from 0 up to 1 that follow from a seed (mulberry32). */
export function numbersFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A process on the machine: its alarms end with it. */
export interface VirtualProcess extends Host {
  /** False once it was killed. */
  readonly isAlive: boolean;
  /** Ends it where it stands: none of its alarms goes off any more. */
  kill(): void;
}

/** A machine on which time passes when it is told to. */
export class VirtualMachine {
  readonly #timers = new Timers();
  readonly #random: () => number;
  #steady = 0;
  #trueAhead: number;
  #wallAhead = 0;
  #ids = 0;

  constructor(start: number, seed: number) {
    this.#trueAhead = start;
    this.#random = numbersFrom(seed);
  }

  /** What time it really is, epoch milliseconds. */
  get trueTime(): number {
    return this.#steady + this.#trueAhead;
  }

  /** What its wall clock shows, epoch milliseconds. */
  get wallTime(): number {
    return this.trueTime + this.#wallAhead;
  }

  /** When the next alarm goes off, in true time. */
  get nextAlarm(): number {
    return this.#timers.next + this.#trueAhead;
  }

  /** Lets time pass up to an instant that is not before now, in true time; no alarm goes off. */
  moveTo(instant: number): void {
    this.#steady = Math.max(this.#steady, instant - this.#trueAhead);
  }

  /** Lets the next alarm that is due go off; tells whether there was one. */
  ring(): boolean {
    const alarm = this.#timers.take(this.#steady);
    alarm?.callback();
    return alarm !== undefined;
  }

  /** Sets the wall clock on, or back, by milliseconds; no time passes. */
  setWall(byMs: number): void {
    this.#wallAhead += byMs;
  }

  /** The machine sleeps: true time and the wall clock go on, its steady clock and its alarms do not. */
  sleep(ms: number): void {
    this.#trueAhead += ms;
  }

  /** Starts a process. */
  startProcess(): VirtualProcess {
    let isAlive = true;
    return {
      now: () => this.wallTime,
      monotonic: () => this.#steady,
      random: () => this.#random(),
      id: () => `id-${++this.#ids}`,
      setTimer: (ms, callback) =>
        this.#timers.set(this.#steady + Math.max(0, ms), () => {
          if (isAlive) callback();
        }),
      get isAlive() {
        return isAlive;
      },
      kill() {
        isAlive = false;
      },
    };
  }
}
