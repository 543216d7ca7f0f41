/**
 * The broker's clock beside this machine's. Days and sessions follow from the time, so a machine whose clock is
 * wrong takes a running day for one that is over.
 *
 * @module
 */
import type { BrokerTime } from "../transports/transport.ts";

/** Clocks that differ by more than this are told, and no day of the day book becomes final by them. */
export const MOST_CLOCK_DIFFERENCE_MS = 60_000;

/** By how much two clocks differ. */
export interface ClockDifference {
  /** This machine's time less the broker's, milliseconds. */
  ms: number;
  /** Where the broker's time stood. */
  source: BrokerTime["source"];
}

/** Compares the times that answers tell with this machine's. */
export class BrokerClock {
  readonly #now: () => number;
  #last: ClockDifference | undefined;
  #worst: ClockDifference | undefined;

  /** @param now This machine's time, Unix milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Takes the time of an answer that has just come. */
  readonly take = ({ time, source }: BrokerTime): void => {
    const difference = { ms: this.#now() - time, source };
    this.#last = difference;
    const isOff = Math.abs(difference.ms) > MOST_CLOCK_DIFFERENCE_MS;
    if (isOff && Math.abs(difference.ms) > Math.abs(this.#worst?.ms ?? 0)) this.#worst = difference;
  };

  /** The difference at the last answer; `undefined` while no answer told a time. */
  get last(): ClockDifference | undefined {
    return this.#last;
  }

  /** The largest difference beyond the limit; `undefined` when there was none. */
  get wrong(): ClockDifference | undefined {
    return this.#worst;
  }
}

/** Describes a difference: `this machine's clock is 2 h 5 min ahead of the broker's`. */
export function describeDifference({ ms }: Pick<ClockDifference, "ms">): string {
  const seconds = Math.round(Math.abs(ms) / 1000);
  const parts = [[Math.floor(seconds / 86_400), "days"], [Math.floor(seconds / 3600) % 24, "h"], [
    Math.floor(seconds / 60) % 60,
    "min",
  ], [seconds % 60, "s"]] as const;
  const first = parts.findIndex(([count]) => count > 0);
  const shown = parts.slice(Math.max(0, first), Math.max(0, first) + 2).filter(([count]) => count > 0);
  const text = shown.map(([count, unit]) => `${count} ${unit}`).join(" ") || "0 s";
  return `this machine's clock is ${text} ${ms > 0 ? "ahead of" : "behind"} the broker's`;
}
