/**
 * Computes settlement dates by market and trade date.
 *
 * Hong Kong trades settle on the second session after the trade date. The United States changed from the second session
 * to the first on 2024-05-28. Northbound shares settle on the trade date and the money on the next session; this file
 * returns the date of the money. Sources: broker notices for Hong Kong and the United States, and the clearing house's
 * notes on northbound settlement as quoted by brokers.
 *
 * @module
 */
import type { Calendars, Mic } from "../calendars/mod.ts";
import type { Market } from "./listings.ts";

/** The calendar of settlement days. Northbound money settles only on days when both markets are open. */
const CALENDAR: Record<Market, Mic> = {
  hk: "XHKG",
  us: "XNYS",
  shanghai: "CONNECT_SH",
  shenzhen: "CONNECT_SZ",
};

/** First trade date of the one-session cycle in the United States. */
const US_NEXT_DAY_FROM = "2024-05-28";

const DAY_MS = 86_400_000;

/** Returns the number of sessions from the trade to the settlement. */
export function settlementCycle(market: Market, tradeDate: string): number {
  if (market === "hk") return 2;
  if (market === "us") return tradeDate < US_NEXT_DAY_FROM ? 2 : 1;
  return 1;
}

/**
 * Returns the date on which the money of a trade settles, `yyyy-MM-dd`.
 *
 * @throws {RangeError} When the calendar does not cover the date. The function does not guess.
 */
export function settlementDate(calendars: Calendars, market: Market, tradeDate: string): string {
  let left = settlementCycle(market, tradeDate);
  let day = Date.parse(`${tradeDate}T00:00:00Z`);
  if (Number.isNaN(day)) {
    throw new RangeError(`Cannot compute the settlement date of "${tradeDate}": it is not a date`);
  }
  for (;;) {
    day += DAY_MS;
    const date = new Date(day).toISOString().slice(0, 10);
    const session = calendars.sessionOn(CALENDAR[market], date);
    if (session === "unknown") {
      throw new RangeError(
        `Cannot compute the settlement date of ${tradeDate} in "${market}": the calendar does not cover ${date}`,
      );
    }
    if (session !== "closed" && --left === 0) return date;
  }
}
