/**
 * Looks up tick sizes by market, date and kind of instrument, and daily price limits.
 *
 * A band includes its upper limit but not its lower limit: in Hong Kong, 20.00 has the tick size of the band that ends
 * at 20. Hong Kong reduced its tick sizes on 2025-08-04 and 2026-08-03. Data and sources: `data/ticks.json`.
 *
 * Mainland boards limit prices to a range around the previous close. Hong Kong and the United States have no daily
 * limits, only short trading halts. Sources: rule texts of the Shanghai and Shenzhen exchanges as quoted in public
 * libraries. The main-board limit for risk-warning stocks changed from 5 to 10 percent on 2026-07-06.
 *
 * @module
 */
import { add, type Decimal, multiply, round, subtract } from "../decimal.ts";
import data from "./data/ticks.json" with { type: "json" };
import type { Market } from "./listings.ts";

/** A price band and its tick size. */
export interface TickBand {
  /** The band starts above this price. */
  over: Decimal;
  /** The band includes prices up to this one; `null` means no upper limit. */
  upTo: Decimal | null;
  tick: Decimal;
}

const EXCHANGE: Record<Market, string> = { hk: "HK", us: "US", shanghai: "CN", shenzhen: "CN" };

/**
 * Returns the tick size table for a date.
 *
 * @param instrument `stock` (default), `etf`, `reit`, `warrant`, `option` (penny programme),
 *   `option-standard` or `future`.
 * @throws {RangeError} When no table is known for the kind or the date.
 */
export function tickTable(market: Market, date: string, instrument = "stock"): readonly TickBand[] {
  const table = data.tables.find((row) =>
    row.exchange === EXCHANGE[market] && row.instruments.includes(instrument) &&
    (row.from === null || row.from <= date) && (row.to === null || date <= row.to)
  );
  if (table === undefined) {
    throw new RangeError(
      `Cannot look up the tick size of a "${instrument}" in "${market}" on ${date}: no table covers it`,
    );
  }
  return table.bands;
}

/** The lowest and the highest allowed price of a day. */
interface PriceLimits {
  low: Decimal;
  high: Decimal;
}

/** Options of {@linkcode priceLimits}. */
interface PriceLimitOptions {
  /** Whether the stock carries a risk warning (ST). @default false */
  riskWarning?: boolean;
}

/** Returns the fraction by which the price of a mainland listing may change in a day, such as `"0.10"`. */
function mainlandLimit(symbol: string, date: string, riskWarning: boolean): Decimal {
  if (/^68[89]/.test(symbol)) return "0.20";
  if (/^30[01]/.test(symbol)) return date < "2020-08-24" ? "0.10" : "0.20";
  return riskWarning && date < "2026-07-06" ? "0.05" : "0.10";
}

/**
 * Returns the price limits of a day.
 *
 * @param previousClose In yuan; on an ex-date, the exchange's reference price.
 * @returns `undefined` if the market has no limits.
 */
export function priceLimits(
  { market, symbol, date, previousClose }: {
    market: Market;
    symbol: string;
    date: string;
    previousClose: Decimal;
  },
  { riskWarning = false }: PriceLimitOptions = {},
): PriceLimits | undefined {
  if (market !== "shanghai" && market !== "shenzhen") return undefined;
  const limit = mainlandLimit(symbol, date, riskWarning);
  return {
    low: round(multiply(previousClose, subtract("1", limit)), 2, "half-up"),
    high: round(multiply(previousClose, add("1", limit)), 2, "half-up"),
  };
}
