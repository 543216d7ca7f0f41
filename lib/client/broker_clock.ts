/**
 * The broker's clock beside this machine's. Days and sessions follow from the time, so a machine whose clock is
 * wrong takes a running day for one that is over.
 *
 * @module
 */
import { CalendarUnknownError, previousSession } from "../calendars/mod.ts";
import { BrokerError } from "../errors.ts";
import type { BrokerTime } from "../transports/transport.ts";
import type { Client } from "./client.ts";
import { securityOf } from "./security.ts";

/** Clocks that differ by more than this are told, and no day of the day book becomes final by them. */
export const MOST_CLOCK_DIFFERENCE_MS = 60_000;

/** By how much two clocks differ. */
export interface ClockDifference {
  /** This machine's time less the broker's, milliseconds. */
  ms: number;
  /** Where the broker's time stood. */
  source: BrokerTime["source"] | "a quote of 00700.HK";
}

/** Compares the times that answers tell with this machine's. */
export class BrokerClock {
  readonly #now: () => number;
  #last: ClockDifference | undefined;
  #worst: ClockDifference | undefined;
  #quoted: number | undefined;

  /** @param now This machine's time, Unix milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Takes the time of an answer that has just come. */
  readonly take = ({ time, source }: BrokerTime): void => {
    this.#last = { ms: this.#now() - time, source };
    this.#compare(this.#last);
  };

  /**
   * Takes the time of a quote that has just come. The broker's clock cannot be before it, and a quote of a market that
   * trades is not older than the session before today.
   */
  takeQuote(time: number): void {
    const now = this.#now();
    this.#quoted = time;
    if (time > now || dateAt(time) < lastSessionBefore(dateAt(now))) {
      this.#compare({ ms: now - time, source: "a quote of 00700.HK" });
    }
  }

  #compare(difference: ClockDifference): void {
    const isOff = Math.abs(difference.ms) > MOST_CLOCK_DIFFERENCE_MS;
    if (isOff && Math.abs(difference.ms) > Math.abs(this.#worst?.ms ?? 0)) this.#worst = difference;
  }

  /** The difference at the last answer; `undefined` while no answer told a time. */
  get last(): ClockDifference | undefined {
    return this.#last;
  }

  /** Nothing told the broker's time: no answer, and no quote. */
  get isUnknown(): boolean {
    return this.#last === undefined && this.#quoted === undefined;
  }

  /** The time of the quote that was taken, Unix milliseconds; `undefined` before. The broker's clock is not before it. */
  get quoted(): number | undefined {
    return this.#quoted;
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

const QUOTED = "00700.HK";
const QUOTE_ZONE = "Asia/Hong_Kong";

/** The date of the session before a date; empty where no calendar says it. */
function lastSessionBefore(date: string): string {
  try {
    return previousSession("XHKG", date).date;
  } catch (error) {
    if (error instanceof CalendarUnknownError) return "";
    throw error;
  }
}

const dateAt = (time: number) =>
  Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(QUOTE_ZONE).toPlainDate().toString();

/**
 * Resolves to the time of the newest quote of a share that trades in every session of Hong Kong, Unix milliseconds;
 * `undefined` when the broker answers with none. It is the exchange's time, which no wrong clock of a gateway changes.
 */
export async function askQuoteTime(client: Client, signal: AbortSignal): Promise<number | undefined> {
  try {
    const [quote] = await client.quotes.latest({ securities: [securityOf(QUOTED)] }, { signal });
    const text = quote?.marketTime ?? quote?.tradeTime ?? "";
    const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/.exec(text) ??
      [];
    if (year === undefined) return undefined;
    return Temporal.PlainDateTime.from(`${year}-${month}-${day}T${hour}:${minute}:${second}`)
      .toZonedDateTime(QUOTE_ZONE).epochMilliseconds;
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof BrokerError || error instanceof RangeError) return undefined;
    throw error;
  }
}
