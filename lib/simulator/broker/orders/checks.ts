/**
 * Checks an order before the broker accepts it.
 *
 * @module
 */
import { compare, type Decimal, round } from "../../../decimal.ts";
import type { Market } from "../../../dictionaries/market.ts";
import type { OrderType } from "../../../dictionaries/order_type.ts";
import { priceLimits } from "../../../facts/price_rules.ts";
import { Refusal, refusalOfCode } from "../../contract.ts";
import type { Instrument } from "../../market/mod.ts";
import type { Phase } from "../matching/auctions.ts";
import type { LiveOrder } from "./live_order.ts";
import { readPrice, writePrice } from "../account/money.ts";
import { type BookDay, isExtendedAt, MINUTE_MS } from "../sessions.ts";
import type { State } from "../state.ts";

/** The broker's exact text for an order outside market hours. */
export const CLOSED_TEXT = "current time does not allow entrust";

/** The text for an order of a listing that a script has halted. */
export const HALTED_TEXT = "trading is halted";

const auctionTypes: readonly OrderType[] = ["auction", "auction-limit"];
const auctionPhases: readonly Phase[] = ["opening", "opening-locked", "closing", "closing-locked"];
const tradingPhases: readonly Phase[] = ["continuous", "lunch-locked", "lunch"];
const lockedPhases: readonly Phase[] = [
  "opening-locked",
  "before-open",
  "lunch-locked",
  "before-closing",
  "closing-locked",
];
/** How many minutes before the morning's open, and before the afternoon's, Stock Connect begins to accept orders. */
const NORTHBOUND_LEAD = 15;
const NORTHBOUND_NOON_LEAD = 5;

/** Returns a rejection with the broker's code for an invalid parameter. */
export function invalid(text: string): Refusal {
  return refusalOfCode("invalid-parameter", text);
}

/** Returns a rejection without a code. */
export function refused(text: string): Refusal {
  return new Refusal(undefined, text);
}

/**
 * Returns the instrument of an order. @throws {Refusal} If the market does not trade the symbol, or an option has
 * expired.
 */
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

/**
 * Rejects an order outside the hours in which its market accepts it. In Hong Kong's lunch break, the broker keeps
 * orders until the market trades again. A phase in Hong Kong accepts only auction orders, only other orders, or none.
 */
export function checkHours(
  { now: at, auctions }: State,
  day: BookDay,
  { market, orderType, extended = false }: { market: Market; orderType: OrderType; extended?: boolean },
): void {
  if (market === "hk") {
    const phases = auctionTypes.includes(orderType) ? auctionPhases : tradingPhases;
    if (!phases.includes(auctions.phase(day, at))) throw refused(CLOSED_TEXT);
    return;
  }
  const { openAt, closeAt } = day;
  if (extended && isExtendedAt(day, at)) return;
  const from = openAt - (market === "us" ? 0 : NORTHBOUND_LEAD) * MINUTE_MS;
  if (at < from || at >= closeAt) throw refused(CLOSED_TEXT);
  // Stock Connect accepts no orders in the lunch break, except in its last minutes.
  const isLunch = market !== "us" &&
    day.segments.slice(1).some(({ from: next }, index) =>
      at >= (day.segments[index]?.to ?? next) && at < next - NORTHBOUND_NOON_LEAD * MINUTE_MS
    );
  if (isLunch) throw refused(CLOSED_TEXT);
}

/** Rejects an order, or an amendment, of a listing that a script has halted. */
export function checkHalt({ market, now }: State, symbol: string): void {
  if (market.isHalted(symbol, now)) throw refused(`${HALTED_TEXT}: "${symbol}"`);
}

/** Rejects an amendment or a cancellation in a phase in which the exchange does not accept it. */
export function checkChange(
  state: State,
  order: Pick<LiveOrder, "id" | "book" | "day">,
  change: "amended" | "cancelled",
): void {
  if (!isLocked(state, order, change, state.now)) return;
  throw refused(
    `order "${order.id}" cannot be ${change} now: the exchange accepts no such request in this phase`,
  );
}

/** Returns the first instant from now on at which the exchange accepts a cancellation; `undefined` if none is left. */
export function cancellableAt(state: State, order: Pick<LiveOrder, "book" | "day">): number | undefined {
  const { openAt, closeAt, segments } = order.day;
  const lunches = segments.slice(1).map(({ from }) => from - 30 * MINUTE_MS);
  return [state.now, openAt - 5 * MINUTE_MS, openAt, ...lunches, closeAt + MINUTE_MS]
    .find((at) => at >= state.now && !isLocked(state, order, "cancelled", at));
}

/** Returns whether the exchange would reject a change of an order at an instant: an amendment or a cancellation. */
function isLocked(
  { auctions }: State,
  { book, day }: Pick<LiveOrder, "book" | "day">,
  change: "amended" | "cancelled",
  at: number,
): boolean {
  if (book === "shanghai" || book === "shenzhen") {
    const { openAt, closeAt } = day;
    const isOpening = at >= openAt - 10 * MINUTE_MS && at < openAt - 5 * MINUTE_MS;
    return isOpening || (at >= closeAt - 3 * MINUTE_MS && at < closeAt);
  }
  if (book !== "hk") return false;
  const phase = auctions.phase(day, at);
  return lockedPhases.includes(phase) || (change === "amended" && phase === "lunch");
}

/** Rejects a price outside the limits of the auction that Hong Kong is in. */
export function checkAuction(
  { now, auctions }: State,
  { book, day, instrument: { symbol }, price }: Pick<LiveOrder, "book" | "day" | "instrument" | "price">,
): void {
  if (book !== "hk" || price === 0n) return;
  const limits = auctions.limits(symbol, day, auctions.phase(day, now));
  if (limits === undefined || (price >= limits.low && price <= limits.high)) return;
  const [own, low, high] = [price, limits.low, limits.high].map((each) => writePrice(each));
  throw refused(`price "${own}" of "${symbol}" is outside the auction's limits ${low} to ${high}`);
}

/**
 * In Hong Kong's closing auction, rejects the amendment of an order whose own price is outside the auction's limits.
 * Such an order is left from continuous trading, and does not take part in the auction.
 */
export function checkCarried(
  { now, auctions }: State,
  { id, book, day, instrument: { symbol }, price }: LiveOrder,
): void {
  if (book !== "hk" || price === 0n || auctions.phase(day, now) !== "closing") return;
  const limits = auctions.limits(symbol, day, "closing");
  if (limits === undefined || (price >= limits.low && price <= limits.high)) return;
  throw refused(`order "${id}" cannot be amended now: its price is outside the closing auction's limits`);
}

/**
 * Rejects a price that the exchange does not accept. Checks only in continuous trading, because an order that is placed
 * at another time reaches the exchange later.
 */
export function checkQuotation(
  { now, auctions, quotation }: State,
  order: Pick<LiveOrder, "book" | "day" | "instrument" | "isSell" | "orderType" | "price">,
): void {
  const isContinuous = order.book === "hk"
    ? auctions.phase(order.day, now) === "continuous"
    : order.day.segments.some(({ from, to }) => now >= from && now < to);
  if (!isContinuous) return;
  const reason = quotation.refusal(order, now);
  if (reason !== undefined) throw refused(reason);
}

/** Rejects a price that would trade outside the limits of a cooling-off period. */
export function checkPause(
  { now, tape }: State,
  { instrument: { symbol }, isSell, orderType, price }: Pick<
    LiveOrder,
    "instrument" | "isSell" | "orderType" | "price"
  >,
): void {
  if (orderType === "odd-lot") return; // odd lots have no volatility control
  const pause = tape.pause(symbol, now);
  if (pause?.kind !== "cooling-off" || pause.band === undefined || price === 0n) return;
  const { low, high } = pause.band;
  if (isSell ? price >= low : price <= high) return;
  const [own, from, to] = [price, low, high].map((each) => writePrice(each));
  throw refused(`price "${own}" of "${symbol}" is outside the cooling-off limits ${from} to ${to}`);
}

/**
 * Rejects a special limit order of Hong Kong whose price does not reach the best price of the other side. Checks only
 * in continuous trading, because an order that is placed at another time reaches the exchange later.
 */
export function checkSpecial(
  { now, auctions, tape }: State,
  { book, day, instrument: { symbol }, isSell, orderType, price }: Pick<
    LiveOrder,
    "book" | "day" | "instrument" | "isSell" | "orderType" | "price"
  >,
): void {
  if (book !== "hk" || orderType !== "special-limit" || auctions.phase(day, now) !== "continuous") return;
  const best = tape.levels(symbol, now, isSell ? "bids" : "asks")[0]?.price;
  if (best === undefined || (isSell ? price <= best : price >= best)) return;
  throw refused(`a special limit order of "${symbol}" needs a price at or through ${writePrice(best)}`);
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
    if (quantity >= BigInt(lotSize)) throw invalid(`an odd lot of "${symbol}" must be less than ${lotSize}`);
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
    throw invalid(`price "${price}" of "${symbol}" is not a positive multiple of the price step ${tick}`);
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
