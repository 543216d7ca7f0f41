/**
 * Reads the bars of a range of days, with as many requests as the broker's limit demands.
 *
 * @module
 */
import { barDayLimits, type BarInterval, type PriceAdjustment } from "../dictionaries/bar.ts";
import type { SecurityType } from "../dictionaries/security_type.ts";
import { type Bar, quotes } from "../operations/quotes.ts";
import type { Client } from "./client.ts";

/** Maximum number of bars of one day or longer in one request (API document, section 8). */
const MOST_BARS = 1500;

/** A range of bars. */
export interface BarRange {
  security: { type: SecurityType; symbol: string };
  interval: BarInterval;
  /** First day, such as `2025-08-01`. */
  from: string;
  /** Last day. */
  to: string;
  /** @default "none" */
  adjustment?: PriceAdjustment;
}

/**
 * Yields the bars of a range, oldest first, in one list for each request. Each list contains all bars of its last day.
 */
export async function* barPages(
  client: Client,
  { security, interval, from, to, adjustment = "none" }: BarRange,
  { signal }: { signal?: AbortSignal } = {},
): AsyncGenerator<Bar[]> {
  const limit = barDayLimits[interval] ?? MOST_BARS;
  for (let start = from; start <= to;) {
    signal?.throwIfAborted();
    const { bars } = await client.call(
      quotes.bars,
      { security, start, direction: "newer", interval, limit, adjustment },
      signal === undefined ? {} : { signal },
    );
    const fresh = bars.filter(({ date }) => date !== undefined && date >= start && date <= to);
    yield fresh;
    const reached = fresh.at(-1)?.date;
    // The range is complete if no bar is in it, or if the answer ends with a bar after the range.
    if (reached === undefined || bars.at(-1)?.date !== reached) return;
    start = dayAfter(reached);
  }
}

/**
 * Resolves to the last bars up to a day, oldest first.
 *
 * @param count Maximum number of bars. One request for minute bars covers a limited number of days, so the result may
 * have fewer.
 */
export async function lastBars(
  client: Client,
  { security, interval, to, adjustment = "none" }: Omit<BarRange, "from">,
  { count, signal }: { count: number; signal?: AbortSignal },
): Promise<Bar[]> {
  const { bars } = await client.call(
    quotes.bars,
    {
      security,
      start: to,
      direction: "older",
      interval,
      limit: barDayLimits[interval] ?? Math.min(count, MOST_BARS),
      adjustment,
    },
    signal === undefined ? {} : { signal },
  );
  return bars.filter(({ date }) => date === undefined || date <= to).slice(-count);
}

const dayAfter = (day: string) => Temporal.PlainDate.from(day).add({ days: 1 }).toString();
