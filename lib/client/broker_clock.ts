/**
 * Compares the broker's clock with this machine's clock. A machine with a wrong clock may treat a trading day as over
 * while it is still running.
 *
 * @module
 */
import { type Calendars, CalendarUnknownError } from "../calendars/mod.ts";
import { BrokerError } from "../errors.ts";
import type { BrokerTime } from "../transports/transport.ts";
import type { Client } from "./client.ts";
import { securityOf } from "./security.ts";

/** A larger difference is reported, and then no day of a day book becomes final. */
const MOST_CLOCK_DIFFERENCE_MS = 60_000;

/** Difference between two clocks. */
interface ClockDifference {
  /** This machine's time minus the broker's, in milliseconds. */
  ms: number;
  /** The source of the broker's time. */
  source: BrokerTime["source"] | "a quote of 00700.HK";
}

/** Compares the times in answers with this machine's clock. */
export class BrokerClock {
  readonly #now: () => number;
  readonly #calendars: Calendars;
  #last: ClockDifference | undefined;
  #worst: ClockDifference | undefined;
  #quoteTime: number | undefined;

  /** @param now Returns this machine's time, Unix milliseconds. */
  constructor(now: () => number, calendars: Calendars) {
    this.#now = now;
    this.#calendars = calendars;
  }

  /** Records the time of an answer that has just arrived. */
  readonly take = ({ time, source }: BrokerTime): void => {
    this.#last = { ms: this.#now() - time, source };
    this.#compare(this.#last);
  };

  /**
   * Records the time of a quote that has just arrived. By this machine's clock, a quote from the future shows that the
   * clock is wrong. A quote that is older than the last session before today shows the same.
   */
  takeQuote(time: number): void {
    const now = this.#now();
    this.#quoteTime = time;
    if (time > now || dateAt(time) < lastSessionBefore(this.#calendars, dateAt(now))) {
      this.#compare({ ms: now - time, source: "a quote of 00700.HK" });
    }
  }

  #compare(difference: ClockDifference): void {
    const isOff = Math.abs(difference.ms) > MOST_CLOCK_DIFFERENCE_MS;
    if (isOff && Math.abs(difference.ms) > Math.abs(this.#worst?.ms ?? 0)) this.#worst = difference;
  }

  /** The difference at the last answer; `undefined` until an answer contained a time. */
  get last(): ClockDifference | undefined {
    return this.#last;
  }

  /** Whether the broker's time is unknown: no answer and no quote contained it. */
  get isUnknown(): boolean {
    return this.#last === undefined && this.#quoteTime === undefined;
  }

  /**
   * Time of the recorded quote in Unix milliseconds, if there is one. The broker's clock cannot be earlier.
   */
  get quoteTime(): number | undefined {
    return this.#quoteTime;
  }

  /** The largest difference beyond the limit, if there was one. */
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

const QUOTE_SYMBOL = "00700.HK";
const QUOTE_ZONE = "Asia/Hong_Kong";

/** Returns the date of the last session before a date; an empty text if the calendar does not cover the days before. */
function lastSessionBefore(calendars: Calendars, date: string): string {
  try {
    return calendars.previousSession("XHKG", date).date;
  } catch (error) {
    if (error instanceof CalendarUnknownError) return "";
    throw error;
  }
}

const dateAt = (time: number) =>
  Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(QUOTE_ZONE).toPlainDate().toString();

/**
 * Resolves to the time of the newest quote of a share that trades in every Hong Kong session, in Unix milliseconds. The
 * time comes from the exchange, so a gateway's wrong clock does not affect it.
 *
 * @returns `undefined` if the broker returns an error, or no quote with a time.
 */
export async function askQuoteTime(client: Client, signal: AbortSignal): Promise<number | undefined> {
  try {
    const [quote] = await client.quotes.latest({ securities: [securityOf(QUOTE_SYMBOL)] }, { signal });
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
