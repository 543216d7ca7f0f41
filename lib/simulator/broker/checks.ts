/**
 * Checks an order before the broker accepts it.
 *
 * @module
 */
import { compare, type Decimal, round } from "../../decimal.ts";
import type { Market } from "../../dictionaries/market.ts";
import type { OrderType } from "../../dictionaries/order_type.ts";
import { priceLimits } from "../../facts/price_rules.ts";
import { Refusal, refusalOfCode } from "../contract.ts";
import type { Instrument } from "../market/mod.ts";
import { readPrice } from "./money.ts";
import { type BookDay, HOUR_MS, MINUTE_MS } from "./sessions.ts";
import type { State } from "./state.ts";

/** The broker's exact text for an order outside market hours. */
export const CLOSED_TEXT = "current time does not allow entrust";

const auctionTypes: readonly OrderType[] = ["auction", "auction-limit"];
/**
 * Minutes before the open in which orders are accepted: order input in Hong Kong, extended hours in New York.
 */
const AUCTION_LEAD = 30;
const EXTENDED_LEAD = 330;
const EXTENDED_HOURS = 4;

/** Returns a rejection with the broker's code for an invalid parameter. */
export function invalid(text: string): Refusal {
  return refusalOfCode("invalid-parameter", text);
}

/** Returns a rejection that has only a text. */
export function refused(text: string): Refusal {
  return new Refusal(undefined, text);
}

/** Returns the instrument of an order. @throws {Refusal} If the market does not trade the symbol. */
export function findInstrument(state: State, market: Market, symbol: string): Instrument {
  const { date } = state.today[market].day;
  const instrument = state.market.instrument(symbol, date);
  if (instrument === undefined || instrument.market !== market || instrument.kind === "future") {
    throw invalid(`unknown stock code "${symbol}" in this market`);
  }
  if (instrument.option !== undefined && instrument.option.expiry < date) {
    throw invalid(`option "${symbol}" has expired`);
  }
  return instrument;
}

/** Rejects an order outside the hours in which its market accepts it. Lunch breaks count as open. */
export function checkHours(
  { openAt, closeAt }: BookDay,
  at: number,
  { market, orderType, extended = false }: { market: Market; orderType: OrderType; extended?: boolean },
): void {
  const northbound = market === "shanghai" || market === "shenzhen" ? 15 : 0;
  const auction = market === "hk" && auctionTypes.includes(orderType) ? AUCTION_LEAD : 0;
  const early = extended && market === "us" ? EXTENDED_LEAD : 0;
  const from = openAt - Math.max(northbound, auction, early) * MINUTE_MS;
  const until = closeAt + (extended && market === "us" ? EXTENDED_HOURS * HOUR_MS : 0);
  if (at < from || at >= until) throw refused(CLOSED_TEXT);
}

/** Parses a quantity in whole shares or contracts and checks it against the board lot. */
export function checkQuantity(
  value: Decimal,
  { lotSize, symbol, market }: Instrument,
  { isSell, orderType, sellable }: { isSell: boolean; orderType: OrderType; sellable?: bigint },
): bigint {
  let quantity: bigint;
  try {
    quantity = BigInt(round(value, 0, "exact"));
  } catch {
    throw invalid(`quantity "${value}" of "${symbol}" is not a whole number`);
  }
  const rest = quantity % BigInt(lotSize);
  if (quantity <= 0n) throw invalid(`quantity "${value}" of "${symbol}" is not above zero`);
  if (orderType === "odd-lot") {
    if (quantity >= BigInt(lotSize)) throw invalid(`an odd lot of "${symbol}" is less than ${lotSize}`);
    return quantity;
  }
  // On the mainland, an odd remainder can be sold, but only all of it in one order.
  const isRemainder = isSell && market !== "hk" && sellable !== undefined &&
    rest === sellable % BigInt(lotSize);
  if (rest !== 0n && !isRemainder) {
    throw invalid(`quantity "${value}" of "${symbol}" is not a multiple of the lot size ${lotSize}`);
  }
  return quantity;
}

/** Parses a price and checks it against the price grid and the day's price limits, if there are any. */
export function checkPrice(state: State, { symbol, market, kind }: Instrument, price: Decimal): bigint {
  const { date } = state.today[kind === "future" ? "futures" : market].day;
  const value = readPrice(price);
  const tick = state.market.tickSize(symbol, date, price);
  if (value <= 0n || value % readPrice(tick) !== 0n) {
    throw invalid(`price "${price}" of "${symbol}" is not a multiple of the price step ${tick}`);
  }
  if (kind === "future" || kind === "option") return value;
  const limits = priceLimits({
    market,
    symbol,
    date,
    previousClose: state.market.previousClose(symbol, state.now),
  });
  if (limits !== undefined && (compare(price, limits.low) < 0 || compare(price, limits.high) > 0)) {
    throw refused(
      `price "${price}" of "${symbol}" is outside the day's limits ${limits.low} to ${limits.high}`,
    );
  }
  return value;
}
