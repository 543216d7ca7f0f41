/**
 * Estimates the fees of an order that is not filled yet.
 *
 * @module
 */
import type { Decimal } from "../../decimal.ts";
import { type FeeMarket, feesOf } from "../../facts/fees.ts";
import { listing } from "../../facts/listings.ts";
import { type Order, typeOf } from "./order.ts";

/** The members of an order on which its fees depend. */
export interface FeeTerms extends Pick<Order, "market" | "symbol"> {
  isBuy: boolean;
  price: Decimal;
  quantity: Decimal;
  /** Day of the trade in the market's time zone, `yyyy-MM-dd`. */
  date: string;
}

/**
 * Returns the fees of an order that fills completely and at once: the published rates of exchanges and regulators, and
 * the commission of an example broker. `undefined` if no rates are known for the day.
 */
export function estimateFees(
  { market, symbol, isBuy, price, quantity, date }: FeeTerms,
): Decimal | undefined {
  try {
    const { order } = feesOf({
      market: feeMarketOf(market, symbol),
      symbol,
      date,
      side: isBuy ? "buy" : "sell",
      instrument: listing(symbol)?.instrument ?? "stock",
      fills: [{ price, quantity }],
    });
    return order.total;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function feeMarketOf(market: Order["market"], symbol: string): FeeMarket {
  if (market === "futures") return "hk-future";
  return typeOf(symbol) === "us-option" ? "us-option" : market;
}
