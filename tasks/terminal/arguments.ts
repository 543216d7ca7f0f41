/**
 * Parses lists, days and times from flags.
 *
 * @module
 */
import { builtInCalendars, type Calendars } from "../../lib/calendars/mod.ts";
import { calendarOfMarket, dateIn, marketDay } from "../../lib/day_book/market_days.ts";
import { Market } from "../../lib/dictionaries/market.ts";
import { didYouMean } from "../../lib/client/nearest.ts";
import { isDate, readInstant } from "../../lib/time.ts";
import { UsageError } from "./exit_codes.ts";
import type { Host } from "./host.ts";

/**
 * Returns the members of a comma-separated list.
 *
 * @throws {UsageError} If a member is not allowed. The message names the nearest allowed one.
 */
export function listOf<T extends string>(flag: string, given: string, allowed: readonly T[]): T[] {
  return given.split(",").map((each) => oneOf(flag, each.trim(), allowed));
}

/** Returns a value that must be one of the allowed ones. @throws {UsageError} If it is not; names the nearest one. */
export function oneOf<T extends string>(flag: string, given: string, allowed: readonly T[]): T {
  const found = allowed.find((name) => name === given);
  if (found !== undefined) return found;
  throw new UsageError(
    `Cannot use --${flag} "${given}": expected one of ${allowed.join(", ")}${didYouMean(given, allowed)}`,
  );
}

/** Returns the markets of a comma-separated list, each once. */
export function marketsOf(given: string): Market[] {
  return [...new Set(listOf("markets", given, Market.names))];
}

/** Returns the day. @throws {UsageError} If the day does not exist. */
export function dayOf(flag: string, given: string): string {
  if (!isDate(given)) {
    throw new UsageError(`Cannot use --${flag} "${given}": write a day that exists, such as 2025-08-15`);
  }
  return given;
}

/**
 * Returns the clock of a command: the real one, or one that always returns the time of `--now`.
 *
 * @throws {UsageError} If the text is not a time with an offset.
 */
export function clockOf(given: string | undefined, host: Pick<Host, "now">): () => number {
  if (given === undefined) return host.now;
  const instant = readInstant(given);
  if (instant !== undefined) return () => instant;
  throw new UsageError(
    `Cannot use --now "${given}": write a time with its offset, such as 2025-08-16T12:00:00+08:00`,
  );
}

/** Returns the trading days of the exchanges, with the user's updates and overrides where there are some. */
export function calendarsOf({ calendars }: Pick<Host, "calendars">): Calendars {
  return calendars ?? builtInCalendars;
}

/** Returns the last `count` trading days of a market, oldest first. Includes today only if its session is over. */
export function lastTradingDays(calendars: Calendars, market: Market, count: number, now: number): string[] {
  const days: string[] = [];
  const today = dateIn(market, now);
  const running = marketDay(calendars, market, today, now);
  if (typeof running.session === "object" && running.isOver) days.unshift(today);
  for (let day = today; days.length < count;) {
    day = calendars.previousSession(calendarOfMarket[market], day).date;
    days.unshift(day);
  }
  return days;
}
