/**
 * Simulates a machine with virtual clocks and timers. Its time passes only when the rehearsal moves the time.
 *
 * The machine has three clocks, because these differ in reality: the true time, which exchanges and the
 * broker use; the wall clock, which a person or a time server may set wrong; and the steady clock, which
 * stops while the machine sleeps.
 *
 * @module
 */
import { type Machine, randomFrom } from "../time.ts";
import { Timers } from "./timers.ts";

/** A process on the machine. */
export interface VirtualProcess extends Machine {
  /** False after it was killed. */
  readonly isAlive: boolean;
  /** Kills the process: none of its timers fires any more. */
  kill(): void;
}

/** A machine with virtual time. */
export class VirtualMachine {
  readonly #timers = new Timers();
  readonly #random: () => number;
  #steady = 0;
  #trueAhead: number;
  #wallAhead = 0;
  #ids = 0;

  constructor(start: number, seed: number) {
    this.#trueAhead = start;
    this.#random = randomFrom(seed);
  }

  /** True time, Unix milliseconds. */
  get trueTime(): number {
    return this.#steady + this.#trueAhead;
  }

  /** Time of the wall clock, Unix milliseconds. */
  get wallTime(): number {
    return this.trueTime + this.#wallAhead;
  }

  /** True time at which the next timer fires. */
  get nextAlarm(): number {
    return this.#timers.next + this.#trueAhead;
  }

  /** Moves the true time to an instant that is not in the past. Does not fire timers. */
  moveTo(instant: number): void {
    this.#steady = Math.max(this.#steady, instant - this.#trueAhead);
  }

  /** Fires the next due timer. Returns whether there was one. */
  ring(): boolean {
    const alarm = this.#timers.take(this.#steady);
    alarm?.callback();
    return alarm !== undefined;
  }

  /** Moves the wall clock forward or back by milliseconds. No time passes. */
  setWall(byMs: number): void {
    this.#wallAhead += byMs;
  }

  /** Lets the machine sleep: true time and wall clock advance; the steady clock and the timers do not. */
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
