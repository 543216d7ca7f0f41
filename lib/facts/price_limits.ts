/**
 * How far a price may move in a day. Mainland boards have fixed limits around the previous close; Hong Kong
 * and the United States have none (their short trading halts are not limits on a day).
 *
 * Sources: rule texts of the Shanghai and Shenzhen exchanges as quoted in public libraries. The main-board limit
 * for risk-warning stocks went from 5 to 10 percent on 2026-07-06.
 *
 * @module
 */
import { add, type Decimal, multiply, round, subtract } from "../decimal.ts";
import type { Market } from "./listings.ts";

/** The lowest and the highest price of a day, both allowed. */
export interface PriceLimits {
  low: Decimal;
  high: Decimal;
}

/** Options of {@linkcode priceLimits}. */
export interface PriceLimitOptions {
  /** Whether the stock carries a risk warning (ST). @default false */
  riskWarning?: boolean;
}

/** Returns the fraction a mainland listing may move, such as `"0.10"`. */
function mainlandLimit(symbol: string, date: string, riskWarning: boolean): Decimal {
  if (/^68[89]/.test(symbol)) return "0.20";
  if (/^30[01]/.test(symbol)) return date < "2020-08-24" ? "0.10" : "0.20";
  return riskWarning && date < "2026-07-06" ? "0.05" : "0.10";
}

/**
 * Returns the price limits of a day, or `undefined` where the market has none.
 *
 * @param previousClose In yuan; on an ex-date the reference price of the exchange.
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
