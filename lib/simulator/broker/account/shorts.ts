/**
 * Applies the rules of short positions in stocks, if the simulated account may have them.
 *
 * A short position is a holding with a negative quantity and a negative cost: the proceeds of its sales. The proceeds
 * stay in the cash. Until the position is closed, the account reserves the cash that closing it would cost, and the
 * initial margin. Interest is charged each night.
 *
 * - **Hong Kong:** in continuous trading, a short sale must not have a price below the best ask. In the auctions, a
 *   short sale must be an at-auction limit order, and its price must not be below the reference price. Source: `short`,
 *   `sfcx`.
 * - **United States:** a stock that has fallen 10% below its previous close can be sold short only above the best bid,
 *   on that day and the next. Source: `sho`.
 *
 * The broker checks the price when it accepts an order, and the exchange checks it again when the order arrives.
 *
 * A table in `docs/simulator.md` lists the sources.
 *
 * The broker does not publish what it lends. Here it is a thousandth of the volume of the day before. `short_terms.ts`
 * has the margins and the interest.
 *
 * @module
 */
import type { Market } from "../../../dictionaries/market.ts";
import type { Side } from "../../../dictionaries/side.ts";
import type { JournalEntry } from "../../../operations/fund_journal.ts";
import type { Instrument } from "../../market/mod.ts";
import { refused } from "../orders/checks.ts";
import { type LiveOrder, mostLeftOf } from "../orders/live_order.ts";
import { amountOf, divideHalfUp, readPrice, writePrice } from "./money.ts";
import type { Holding } from "../past/past.ts";
import { journalRow } from "../rows.ts";
import { bookRules, DAY_MS, dayAt, localTime } from "../sessions.ts";
import { marginOf, shortInterest } from "./short_terms.ts";
import type { State } from "../state.ts";

/** The broker lends the volume of the day before divided by this number. */
const LENT = 1000n;
/** Returns whether the account may sell an instrument short. */
export function isShortable({ shorts }: State, { market, kind }: Instrument): boolean {
  return shorts && (market === "hk" || market === "us") && kind !== "option" && kind !== "future";
}

/** Returns the quantity of a short position; 0 without one. */
export function shortOf(state: State, market: Market, symbol: string): bigint {
  const held = state.holdings[market].get(symbol)?.quantity ?? 0n;
  return held < 0n ? -held : 0n;
}

/**
 * Returns whether an order sells, and whether it opens or closes a short position. While the account has a short
 * position in the listing, every order for the listing opens or closes it.
 *
 * @throws {Refusal} If the order opens or closes a short position, and the account may not sell the instrument short.
 */
export function directionOf(
  state: State,
  instrument: Instrument,
  side: Side,
): { isSell: boolean; isShort: boolean } {
  const { market, symbol } = instrument;
  const isShort = isShortSide(side) || shortOf(state, market, symbol) > 0n;
  if (isShort && !isShortable(state, instrument)) {
    throw refused(`short selling of "${symbol}" is not enabled`);
  }
  return { isSell: isSale(side), isShort };
}

/** Returns whether a side opens or closes a short position. */
const isShortSide = (side: Side): boolean => side === "short-open" || side === "short-close";

/** Returns whether a side sells. */
export const isSale = (side: Side): boolean => side === "sell" || side === "short-open";

const openShorts = (state: State, market: Market, symbol: string, except?: LiveOrder) =>
  state.openOrders(market).filter((order) =>
    order.isShort === true && order !== except && order.instrument.symbol === symbol
  );

/** Returns how many shares the broker still lends. */
export function lendable(state: State, { market, symbol, lotSize }: Instrument, except?: LiveOrder): bigint {
  const volume = state.market.dayBar(symbol, state.today[market].dateBefore)?.volume ?? "0";
  const offered = openShorts(state, market, symbol, except).filter(({ isSell }) => isSell)
    .reduce((sum, order) => sum + mostLeftOf(order), 0n);
  const left = BigInt(volume) / LENT - shortOf(state, market, symbol) - offered;
  return left > 0n ? left / BigInt(lotSize) * BigInt(lotSize) : 0n;
}

/** Returns how many shares of a short position an order can still buy back. */
export function closable(state: State, market: Market, symbol: string, except?: LiveOrder): bigint {
  return openShorts(state, market, symbol, except).filter(({ isSell }) => !isSell)
    .reduce((left, order) => left - mostLeftOf(order), shortOf(state, market, symbol));
}

/**
 * Returns the price for which a short sale with a limit needs margin. If the last price is higher than the limit, it is
 * the last price, because the market can fill the order at it.
 */
export function marginPriceOf(state: State, symbol: string, limit: bigint): bigint {
  const last = state.tape.price(symbol, state.now);
  return limit > last ? limit : last;
}

/** An order that opens or closes a short position. */
type ShortOrder =
  & Pick<LiveOrder, "book" | "instrument" | "day" | "isSell" | "orderType" | "price" | "frozenPrice">
  & { quantity: bigint };

/** Rejects an order that must not open, or cannot close, a short position. */
export function checkShort(state: State, order: ShortOrder, except?: LiveOrder): void {
  const { instrument, isSell, quantity, frozenPrice } = order;
  const { market, symbol } = instrument;
  if (!isSell) {
    const most = closable(state, market, symbol, except);
    if (quantity > most) {
      throw refused(`only ${most} shares of the short position in "${symbol}" can be bought back`);
    }
    return;
  }
  if ((state.holdings[market].get(symbol)?.quantity ?? 0n) > 0n) {
    throw refused(`the account holds "${symbol}": sell the holding first`);
  }
  const most = lendable(state, instrument, except);
  if (quantity > most) throw refused(`only ${most} shares of "${symbol}" can be borrowed`);
  const margin = marginOf(amountOf(frozenPrice, quantity, 1n));
  if (margin > state.available(bookRules[market].currency, except)) {
    throw refused("insufficient margin for this short sale");
  }
  const refusal = shortRefusal(state, order, state.now);
  if (refusal !== undefined) throw refused(refusal);
}

/**
 * Rejects an order for a short position while an ordinary order of the same listing is open. Also rejects an ordinary
 * order while an order for a short position in the same listing is open.
 */
export function checkKind(state: State, market: Market, symbol: string, isShort: boolean): void {
  const isOther = (order: LiveOrder) =>
    order.instrument.symbol === symbol && (order.isShort === true) !== isShort;
  if (!state.shorts || !state.openOrders(market).some(isOther)) return;
  throw refused(
    `an open order of "${symbol}" must end first: it is ${isShort ? "not " : ""}for a short position`,
  );
}

/**
 * Returns why an exchange rejects the price of a short sale at an instant, or `undefined`. In Hong Kong's lunch break,
 * the price is not checked: the exchange gets the order when the market trades again.
 */
export function shortRefusal(
  state: State,
  { instrument: { symbol }, book, day, orderType, price }: Omit<ShortOrder, "frozenPrice" | "quantity">,
  at: number,
): string | undefined {
  const best = (side: "asks" | "bids"): bigint | undefined => {
    const level = state.market.orderBook(symbol, at, { extended: book === "us" })[side][0];
    return level && readPrice(String(level.price));
  };
  if (book === "us") {
    const bid = best("bids");
    if (bid === undefined || price > bid || !hasFallen(state, symbol, at)) return undefined;
    return `after a fall of 10%, "${symbol}" can be sold short only above the best bid ${writePrice(bid)}`;
  }
  // Odd lots are bought below the last price, so the price would never pass the test.
  if (orderType === "odd-lot") return "a short sale cannot be an odd lot";
  const phase = state.auctions.phase(day, at);
  const reference = state.auctions.reference(symbol, day, phase);
  if (reference !== undefined && orderType !== "auction-limit") {
    return "a short sale in an auction needs an at-auction limit order";
  }
  const least = phase === "continuous" ? best("asks") : reference;
  if (least === undefined || price >= least) return undefined;
  return `a short sale of "${symbol}" needs a price of ${writePrice(least)} or more`;
}

/** Returns whether a stock has fallen 10% below its previous close, today or on the trading day before. */
function hasFallen(
  { market, today: { us: { day, dateBefore } } }: State,
  symbol: string,
  at: number,
): boolean {
  const isFar = (low: string, close: string) => readPrice(low) * 10n <= readPrice(close) * 9n;
  const traded = market.traded(symbol, day.openAt - 1, Math.min(at, day.closeAt));
  if (traded !== undefined && isFar(traded.low, market.previousClose(symbol, at))) return true;
  const before = market.dayBar(symbol, dateBefore);
  const [earlier] = market.tradingDays(symbol, day.openAt - 10 * DAY_MS, day.openAt - 1)
    .filter(({ date }) => date === dateBefore);
  return before !== undefined && earlier !== undefined &&
    isFar(before.low, market.previousClose(symbol, earlier.openAt));
}

/**
 * Changes a short position: a sale makes it larger, and adds its proceeds; a purchase makes it smaller.
 *
 * @throws {RangeError} If the change buys more than the position.
 */
export function changeShort(
  holdings: Map<string, Holding>,
  symbol: string,
  change: bigint,
  cents: bigint,
): void {
  const held = holdings.get(symbol) ?? { quantity: 0n, costCents: 0n };
  const quantity = held.quantity + change;
  if (held.quantity > 0n || quantity > 0n) {
    throw new RangeError(
      `Cannot change the short position in "${symbol}" by ${change}: it is ${held.quantity}`,
    );
  }
  if (quantity === 0n) holdings.delete(symbol);
  else {
    const costCents = change < 0n ? held.costCents - cents : held.costCents * quantity / held.quantity;
    holdings.set(symbol, { quantity, costCents });
  }
}

/** Charges the interest of a market's short positions from a day to the next trading day. Returns its journal lines. */
export function chargeInterest(state: State, market: Market): JournalEntry[] {
  if (!state.shorts) return [];
  const { day } = state.today[market];
  const next = dayAt(state.market.calendars, market, day.clearingAt);
  const days = BigInt(Math.round((Date.parse(next.date) - Date.parse(day.date)) / DAY_MS));
  return [...state.holdings[market]].flatMap(([symbol, { quantity }]) => {
    if (quantity >= 0n) return [];
    const value = amountOf(state.tape.price(symbol, day.closeAt), -quantity, 1n);
    const cents = divideHalfUp(value * shortInterest * days, 36_500n);
    state.cash[bookRules[market].currency] -= cents;
    return cents === 0n
      ? []
      : [journalRow("interest-or-penalty-adjustment", -cents, localTime(day, day.closeAt))];
  });
}
