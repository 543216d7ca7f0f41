/**
 * Determines when the orders of a plan may be in a market: in its trading hours, and within the `hours` of
 * the terms.
 *
 * @module
 */
import { addDays, type Calendars, calendarZone, dateAt, wallInstant } from "../../calendars/mod.ts";
import { mics } from "../../desk/guards/order.ts";
import { openPeriods } from "../../desk/guards/sessions.ts";
import type { Market } from "../../dictionaries/market.ts";
import type { ExecutionHours } from "../input/terms.ts";

/** Whether orders may be sent to a market now. */
export type MarketHours =
  | { is: "open"; until: number }
  /** Closed until an instant; `isBreak` if the orders of the day stay in the market until then. */
  | { is: "closed"; opensAt: number; isBreak: boolean }
  /** The calendar has no later session. */
  | { is: "unknown" };

/** The next session is at most this many days away: no holiday is longer than two weeks. */
const MOST_DAYS = 15;

/** Returns whether orders may be sent to a market at an instant, and when that changes. */
export function marketHours(
  calendars: Calendars,
  { market, hours, now }: { market: Market; hours?: ExecutionHours | undefined; now: number },
): MarketHours {
  const mic = mics[market];
  const zone = calendarZone[mic];
  const today = dateAt(now, zone);
  for (let day = 0; day < MOST_DAYS; day++) {
    const date = addDays(today, day);
    const session = calendars.sessionOn(mic, date);
    if (session === "unknown") return { is: "unknown" };
    if (session === "closed") continue;
    const from = hours === undefined ? -Infinity : wallInstant(date, hours.from, zone);
    const to = hours === undefined ? Infinity : wallInstant(date, hours.to, zone);
    const periods = openPeriods(session, mic)
      .map((period) => ({ from: Math.max(period.from, from), to: Math.min(period.to, to) }))
      .filter((period) => period.from < period.to);
    const current = periods.find((period) => period.from <= now && now < period.to);
    if (current !== undefined) return { is: "open", until: current.to };
    const next = periods.find((period) => period.from > now);
    if (next !== undefined) {
      return { is: "closed", opensAt: next.from, isBreak: day === 0 && periods[0]!.from <= now };
    }
  }
  return { is: "unknown" };
}

/** Returns an instant as a date and time of a market, such as `2025-08-15 13:00 (Asia/Hong_Kong)`. */
export function marketTime(market: Market, at: number): string {
  const zone = calendarZone[mics[market]];
  const time = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDateTime();
  return `${time.toString({ smallestUnit: "minute" }).replace("T", " ")} (${zone})`;
}
