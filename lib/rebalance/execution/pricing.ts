/**
 * Computes the prices of a plan's orders: the peg (a price of the market), rounded to the listing's tick, within the
 * collar. Also returns the board lots for their quantities.
 *
 * @module
 */
import { type Calendars, calendarZone, dateAt } from "../../calendars/mod.ts";
import type { Client } from "../../client/client.ts";
import {
  absolute,
  add,
  compare,
  type Decimal,
  divide,
  multiply,
  normalize,
  subtract,
  toStep,
} from "../../decimal.ts";
import { lastOf, mics, percentText, priceOf } from "../../desk/guards/order.ts";
import { validPrices } from "../../desk/guards/prices.ts";
import type { Quote } from "../../operations/quotes.ts";
import { securityFor, staleness } from "../input/broker.ts";
import type { PlannedTrade } from "../solver/plan.ts";
import type { ExecutionTerms, Peg } from "../input/terms.ts";

/** A quote that is older than this while its market trades is not used. */
const MOST_QUOTE_MS = 15 * 60_000;
/** Decimals of the price midway between bid and ask. */
const MID_PLACES = 6;

/** What the broker says about a listing now. */
export interface MarketView {
  quote: Quote | undefined;
  /** Why the quote cannot be used: it has no time, is too old, or is ahead of the broker's clock. */
  stale: string | undefined;
  bid: Decimal | undefined;
  ask: Decimal | undefined;
  last: Decimal | undefined;
}

/** Reads the quote and the book of a trade's listing. */
export async function readView(
  client: Client,
  { market, symbol }: PlannedTrade,
  { now, calendars, signal }: { now: number; calendars: Calendars; signal?: AbortSignal | undefined },
): Promise<MarketView> {
  const security = securityFor(market, symbol);
  const options = signal === undefined ? {} : { signal };
  if (security === undefined) {
    return { quote: undefined, stale: undefined, bid: undefined, ask: undefined, last: undefined };
  }
  const [quote] = await client.quotes.latest({ securities: [security] }, options);
  const { bids, asks } = await client.quotes.orderBook({ security }, options);
  const [bid, ask] = [bids, asks].map((levels) => priceOf(levels?.[0] ?? {}));
  const stale = quote && staleness(quote, mics[market], { at: now, calendars, mostMs: MOST_QUOTE_MS });
  return { quote, stale, bid, ask, last: lastOf(quote) };
}

const middle = (bid: Decimal, ask: Decimal): Decimal =>
  normalize(divide(add(bid, ask), "2", MID_PLACES, "half-even"));

/** Returns the market price that a peg names; `undefined` if the broker gave none. */
export function pegOf(peg: Peg, { bid, ask, last }: MarketView): Decimal | undefined {
  switch (peg) {
    case "bid":
      return bid;
    case "ask":
      return ask;
    case "last":
      return last;
    case "mid":
      return bid === undefined || ask === undefined ? undefined : middle(bid, ask);
  }
}

/**
 * Returns the price from which slippage is measured: midway between bid and ask, or the last price if one of them is
 * missing.
 */
export const arrivalOf = (view: MarketView): Decimal | undefined => pegOf("mid", view) ?? view.last;

/**
 * The price of an order; or why there is none at the moment (`wait`); or why there is none in this execution (`end`).
 */
export type OrderPrice = { price: Decimal; text: string } | { wait: string } | { end: string };

/**
 * Returns the price of a trade's order: the peg, or the edge of the collar for an algorithmic order. Rounds the price
 * to the tick: down for a purchase, and up for a sale. A price beyond the collar ends the trade: the market has moved
 * away from the prices of the plan.
 */
export function orderPrice(
  trade: PlannedTrade,
  terms: ExecutionTerms,
  view: MarketView,
  now: number,
): OrderPrice {
  const { market, symbol, side } = trade;
  const { quote, stale } = view;
  if (quote === undefined) return { wait: `the broker gave no quote of "${symbol}"` };
  if (quote.isSuspended) return { end: `"${symbol}" is suspended from trading` };
  if (stale !== undefined) return { wait: `the quote of "${symbol}" is ${stale}` };
  const isAlgorithmic = terms.algorithm !== undefined;
  const peg = isAlgorithmic ? collarEdge(trade, terms) : pegOf(terms.peg, view);
  if (peg === undefined) return { wait: `the market of "${symbol}" has no ${terms.peg} price` };
  const valid = validPrices(dateAt(now, calendarZone[mics[market]]), { market, symbol }, peg, quote);
  const price = normalize(valid === undefined ? peg : side === "buy" ? valid.below : valid.above);
  if (isOutside(price, trade, terms)) {
    return {
      end: `the ${terms.peg} price ${price} of "${symbol}" is more than ${
        percentText(terms.collar)
      } from the plan's price ${normalize(trade.price)}`,
    };
  }
  const from = isAlgorithmic ? "the collar" : terms.peg;
  const text = compare(price, peg) === 0
    ? `${price} (${from})`
    : `${price} (${from} ${normalize(peg)}, rounded to the tick ${normalize(valid!.step)})`;
  return { price, text };
}

/** Returns whether a price is outside the collar. */
const isOutside = (price: Decimal, trade: PlannedTrade, { collar }: ExecutionTerms): boolean =>
  compare(absolute(subtract(price, trade.price)), multiply(trade.price, collar)) > 0;

/** Returns the worst price within the collar: the limit of an algorithmic order. */
const collarEdge = ({ price, side }: PlannedTrade, { collar }: ExecutionTerms): Decimal =>
  multiply(price, side === "buy" ? add("1", collar) : subtract("1", collar));

/**
 * Returns the largest number of whole lots, in shares, that an amount covers. Uses bisection, because a purchase of
 * cheap shares can have millions of lots.
 *
 * @param options The largest quantity to buy, and a function that returns the cost of a quantity. A larger quantity
 * never costs less.
 */
export function mostCovered(
  room: Decimal,
  { most, lot, costOf }: { most: Decimal; lot: Decimal; costOf(quantity: Decimal): Decimal },
): Decimal {
  const quantityOf = (lots: bigint) => multiply(String(lots), lot);
  let [covered, above] = [0n, BigInt(divide(most, lot, 0, "down")) + 1n];
  while (above - covered > 1n) {
    const middle = (covered + above) / 2n;
    if (compare(costOf(quantityOf(middle)), room) <= 0) covered = middle;
    else above = middle;
  }
  return quantityOf(covered);
}

/** Returns whether a trade sells fewer shares than a lot, and the plan intends that. */
export const isOddIn = ({ isOddLot, quantity }: PlannedTrade, lot: Decimal): boolean =>
  isOddLot === true && compare(quantity, lot) < 0;

/**
 * Returns whether a trade's quantity is whole lots, or the odd lot that the plan sells. The lot may have changed since
 * the plan was made.
 */
export const fitsLot = (trade: PlannedTrade, lot: Decimal): boolean =>
  isOddIn(trade, lot) || compare(toStep(trade.quantity, lot, "down"), trade.quantity) === 0;

/** Returns the board lot that the broker confirms; in the US, one share. `undefined` if the broker confirms none. */
export function lotOf({ market }: PlannedTrade, { quote }: MarketView): Decimal | undefined {
  if (market === "us") return "1";
  return quote?.lotSize !== undefined && quote.lotSize > 0 ? String(quote.lotSize) : undefined;
}
