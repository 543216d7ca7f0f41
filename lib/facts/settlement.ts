/**
 * When trades settle, by market and trade date.
 *
 * Hong Kong settles on the second session after the trade. The United States went from the second to the first on
 * 2024-05-28. Northbound shares change hands on the trade date and the money follows on the next session; the
 * date here is the money's. Sources: Hong Kong and United States broker notices, northbound settlement notes of the
 * clearing house as repeated by brokers.
 *
 * @module
 */
import { type Mic, sessionOn } from "../calendars/mod.ts";
import type { Market } from "./listings.ts";

/** The calendar whose sessions settle trades; northbound money waits for days on which both sides are open. */
const CALENDAR: Record<Market, Mic> = {
  hk: "XHKG",
  us: "XNYS",
  shanghai: "CONNECT_SH",
  shenzhen: "CONNECT_SZ",
};

/** First trade date of the shorter cycle in the United States. */
const US_NEXT_DAY_FROM = "2024-05-28";

const DAY_MS = 86_400_000;

/** Returns the number of sessions from trade to settlement. */
export function settlementCycle(market: Market, tradeDate: string): number {
  if (market === "hk") return 2;
  if (market === "us") return tradeDate < US_NEXT_DAY_FROM ? 2 : 1;
  return 1;
}

/**
 * Returns the date on which the money of a trade settles, `yyyy-MM-dd`.
 *
 * @throws {RangeError} When the calendar does not reach the date: a guess would be worse than none.
 */
export function settlementDate(market: Market, tradeDate: string): string {
  let left = settlementCycle(market, tradeDate);
  let day = Date.parse(`${tradeDate}T00:00:00Z`);
  if (Number.isNaN(day)) throw new RangeError(`Cannot settle a trade of "${tradeDate}": no date`);
  for (;;) {
    day += DAY_MS;
    const date = new Date(day).toISOString().slice(0, 10);
    const session = sessionOn(CALENDAR[market], date);
    if (session === "unknown") {
      throw new RangeError(`Cannot settle a trade of ${tradeDate} in "${market}": no calendar for ${date}`);
    }
    if (session !== "closed" && --left === 0) return date;
  }
}
