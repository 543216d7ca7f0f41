/**
 * Manages conditional orders: each waits for a price and then sends an ordinary order, or expires.
 *
 * The broker accepts conditional orders at any time, and they freeze neither cash nor shares until they trigger.
 * Conditions are checked only while the market trades. If an order is for extended hours and has a limit, its condition
 * is also checked before the open and after the close. If the broker rejects the ordinary order that a conditional
 * order sends, the conditional order gets the status `error` and the broker's text.
 *
 * @module
 */
import type { Decimal } from "../../../decimal.ts";
import type { ConditionalOrderStatus, TrailBy } from "../../../dictionaries/conditional_order.ts";
import type { Market } from "../../../dictionaries/market.ts";
import { conditionalTypes, type OrderType } from "../../../dictionaries/order_type.ts";
import { SecurityType } from "../../../dictionaries/security_type.ts";
import type { Side } from "../../../dictionaries/side.ts";
import type { TradingHours } from "../../../dictionaries/trading_hours.ts";
import type { ConditionalOrder } from "../../../operations/conditional_orders.ts";
import { Refusal } from "../../contract.ts";
import type { Instrument } from "../../market/mod.ts";
import { checkPrice, checkQuantity, findInstrument, invalid, refused } from "./checks.ts";
import { readPrice, writePrice } from "../account/money.ts";
import { addRejected, type OrderTerms, placeOrder, tradesExtended } from "./orders.ts";
import { DAY_MS, localTime } from "../sessions.ts";
import { directionOf, isSale } from "../account/shorts.ts";
import type { State } from "../state.ts";
import type { Range } from "../matching/tape.ts";

/** Terms of a conditional order, for placing or amending it. */
interface ConditionalTerms {
  quantity: Decimal;
  price?: Decimal;
  validDays?: number;
  triggerValue?: Decimal;
  trailBy?: TrailBy;
  tradingHours?: TradingHours;
}

interface Conditional {
  id: string;
  instrument: Instrument;
  side: Side;
  orderType: OrderType;
  terms: ConditionalTerms;
  status: ConditionalOrderStatus;
  error?: Refusal;
  createdAt: number;
  /** When the order was triggered, deleted or expired. */
  endedAt?: number;
  endsAt: number;
  /** Date of creation, local. */
  date: string;
  /** Best price since the order was placed or amended, for trailing orders. */
  best: bigint;
  scannedUntil: number;
  /** When the condition became true. */
  next?: number;
}

/** Returns whether an order type is conditional. */
export function isConditional(orderType: OrderType | undefined): boolean {
  return orderType !== undefined && conditionalTypes.includes(orderType);
}

const NUMBER_DIGIT = 8;
const HUNDRED = readPrice("100");

/** Manages the conditional orders of the account. */
export class ConditionalDesk {
  readonly #state: State;
  readonly #orders: Conditional[] = [];
  readonly #byId = new Map<string, Conditional>();

  readonly #past: readonly ConditionalOrder[];

  /** @param past The orders of the generated past, oldest first. */
  constructor(state: State, past: readonly ConditionalOrder[]) {
    this.#state = state;
    this.#past = past;
  }

  /** Places a conditional order and returns its number. */
  place(order: OrderTerms & ConditionalTerms): string {
    const state = this.#state;
    const { market, symbol, side, orderType } = order;
    const instrument = findInstrument(state, market, symbol);
    this.#check(instrument, order, side, orderType);
    const { day } = state.today[market];
    const place = this.#orders.length + 1;
    const date = localTime(day, state.now).slice(0, 10);
    const id = `${NUMBER_DIGIT}${date.slice(2).replaceAll("-", "")}${String(place).padStart(6, "0")}`;
    const start = Math.ceil(state.now / 1000) * 1000;
    const placed: Conditional = {
      id,
      instrument,
      side,
      orderType,
      terms: termsOf(order),
      status: "pending",
      createdAt: state.now,
      endsAt: state.now + (order.validDays ?? 1) * DAY_MS,
      date,
      best: 0n,
      scannedUntil: start,
    };
    placed.best = this.#priceOf(placed);
    this.#orders.push(placed);
    this.#byId.set(id, placed);
    return id;
  }

  /** Changes the terms of a pending order. */
  amend(id: string, terms: ConditionalTerms): void {
    const order = this.#pending(id);
    const merged = { ...order.terms, ...termsOf(terms) };
    this.#check(order.instrument, merged, order.side, order.orderType);
    order.terms = merged;
    if (terms.validDays !== undefined) order.endsAt = this.#state.now + terms.validDays * DAY_MS;
    order.scannedUntil = Math.ceil(this.#state.now / 1000) * 1000;
    order.best = this.#priceOf(order);
    delete order.next;
  }

  /** Deletes a pending order. */
  cancel(id: string): void {
    this.#end(this.#pending(id), "deleted");
  }

  /**
   * Ends the pending orders of a listing on its ex-date, because their prices are from before the dividend or the
   * split.
   */
  endOnExDate(symbol: string): void {
    for (const order of this.#orders) {
      const isPending = order.status === "pending" && order.instrument.symbol === symbol;
      if (isPending) this.#end(order, "invalidated-by-ex-date");
    }
  }

  /** Returns the next trigger or expiry up to an instant: its time, and a function that executes it. */
  nextEvent(horizon: number): { at: number; run: () => void } | undefined {
    let first: { at: number; run: () => void } | undefined;
    for (const order of this.#orders) {
      if (order.status !== "pending") continue;
      this.#scan(order, Math.min(horizon, order.endsAt));
      const triggersAt = order.next;
      const at = triggersAt ?? (order.endsAt <= horizon ? order.endsAt : undefined);
      if (at === undefined || (first !== undefined && first.at <= at)) continue;
      first = {
        at,
        run: () => triggersAt === undefined ? this.#end(order, "expired") : this.#trigger(order),
      };
    }
    return first;
  }

  /** Returns a market's orders that are pending, or were placed or ended today; newest last. */
  today(market: Market, symbol?: string): ConditionalOrder[] {
    const { day } = this.#state.today[market];
    const dateOf = (at: number | undefined) => at === undefined ? undefined : localTime(day, at).slice(0, 10);
    const date = dateOf(this.#state.now);
    return this.#of(market, symbol)
      .filter((order) => order.status === "pending" || order.date === date || dateOf(order.endedAt) === date)
      .map((order) => this.#row(order));
  }

  /** Returns a market's orders that were placed between two local times; newest last. */
  history(
    market: Market,
    { symbol, from, to }: { symbol?: string; from: string; to: string },
  ): ConditionalOrder[] {
    const past = this.#past.filter((order) =>
      order.market === market && (symbol === undefined || order.symbol === symbol)
    );
    return [...past, ...this.#of(market, symbol).map((order) => this.#row(order))]
      .filter(({ createdAt = "" }) => createdAt >= from && createdAt <= to);
  }

  #of(market: Market, symbol?: string): Conditional[] {
    return this.#orders.filter(({ instrument }) =>
      instrument.market === market && (symbol === undefined || instrument.symbol === symbol)
    );
  }

  #end(order: Conditional, status: ConditionalOrderStatus): void {
    order.status = status;
    order.endedAt = this.#state.now;
  }

  #pending(id: string): Conditional {
    const order = this.#byId.get(id);
    if (order === undefined) throw invalid(`unknown conditional order number "${id}"`);
    if (order.status !== "pending") throw refused(`conditional order "${id}" is ${order.status}`);
    return order;
  }

  #check(instrument: Instrument, terms: ConditionalTerms, side: Side, orderType: OrderType): void {
    const { isSell } = directionOf(this.#state, instrument, side);
    checkQuantity(terms.quantity, instrument, { isSell, orderType });
    if (terms.price !== undefined && /[1-9]/.test(terms.price)) {
      checkPrice(this.#state, instrument, terms.price);
    }
    if (terms.triggerValue === undefined) throw invalid("a conditional order needs a trigger value");
  }

  #scan(order: Conditional, until: number): void {
    // Use the hours of the broker's own day: Stock Connect is closed on some days on which the mainland
    // trades.
    const { openAt, closeAt, extended: [before, after] } = this.#state.today[order.instrument.market].day;
    const isExtended = isForExtended(order);
    // A search excludes its first instant, and the first trade is at the open, so the search begins a second before it.
    const opens = (isExtended && before !== undefined ? before.from : openAt) - 1000;
    const closes = isExtended && after !== undefined ? after.to : closeAt;
    const start = Math.max(order.scannedUntil, opens);
    const end = Math.min(Math.floor(until / 1000) * 1000, closes);
    if (order.next !== undefined || end <= start) return;
    const holds = (range: Range) => holdsIn(order, range);
    const tape = this.#state.tapeOf({ extended: isExtended });
    const at = tape.find(order.instrument.symbol, start, end, holds);
    order.scannedUntil = end;
    if (at !== undefined) order.next = at;
  }

  /** Returns the last price in the hours in which an order may trigger. */
  #priceOf(order: Conditional): bigint {
    const tape = this.#state.tapeOf({ extended: isForExtended(order) });
    return tape.price(order.instrument.symbol, this.#state.now);
  }

  #trigger(order: Conditional): void {
    const state = this.#state;
    const { instrument: { symbol, market }, side, orderType, terms } = order;
    const extended = isForExtended(order);
    const last = writePrice(this.#priceOf(order));
    const isMarketOrder = orderType.endsWith("-market");
    const hasPrice = terms.price !== undefined && /[1-9]/.test(terms.price);
    const sent: OrderTerms = {
      market,
      symbol,
      side,
      orderType: isMarketOrder ? "market" : market === "hk" ? "enhanced-limit" : "limit",
      quantity: terms.quantity,
      price: isMarketOrder ? "0" : hasPrice ? terms.price ?? last : last,
      extended,
    };
    this.#end(order, "triggered");
    try {
      placeOrder(state, sent);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#end(order, "error");
      order.error = error;
      addRejected(state, sent, error);
    }
  }

  #row(order: Conditional): ConditionalOrder {
    const { instrument, terms, error } = order;
    const { day } = this.#state.today[instrument.market];
    const isPending = order.status === "pending";
    return {
      orderId: order.id,
      securityType: SecurityType.decode(instrument.dataType),
      symbol: instrument.symbol,
      name: instrument.name,
      nameTc: instrument.nameTc,
      nameEn: instrument.name,
      market: instrument.market,
      orderType: order.orderType,
      tradingHours: terms.tradingHours ?? "regular",
      status: order.status,
      canCancel: isPending,
      canAmend: isPending,
      side: order.side,
      quantity: terms.quantity,
      createdAt: localTime(day, order.createdAt),
      endsAt: localTime(day, order.endsAt),
      ...(error === undefined ? {} : { errorCode: error.code ?? "1008", errorText: error.text }),
      ...(terms.triggerValue === undefined ? {} : { triggerValue: terms.triggerValue }),
      ...(terms.price === undefined ? {} : { price: terms.price }),
      ...(terms.trailBy === undefined ? {} : { trailBy: terms.trailBy }),
    };
  }
}

/**
 * Returns whether an order may trigger outside the regular hours. An order without a limit trades only in the regular
 * hours.
 */
function isForExtended({ instrument, orderType, terms: { tradingHours } }: Conditional): boolean {
  return tradingHours === "us-regular-and-extended" && tradesExtended(instrument) &&
    !orderType.endsWith("-market");
}

/** Returns the given terms without the members that are undefined. An amendment keeps the old values of these. */
function termsOf({ quantity, price, validDays, triggerValue, trailBy, tradingHours }: ConditionalTerms) {
  const given = { quantity, price, validDays, triggerValue, trailBy, tradingHours };
  // The cast is safe: here an absent member and an undefined member mean the same.
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as unknown as ConditionalTerms;
}

/**
 * Returns whether the condition became true in a period of trading. A take-profit sale waits for a rise, a
 * stop-loss sale for a fall; purchases work the opposite way. A trailing sale waits for a fall from the best
 * price so far; if the condition did not become true, this function stores the new best price in the order.
 */
function holdsIn(order: Conditional, { high, low }: Range): boolean {
  const { orderType, side, terms: { triggerValue = "0", trailBy } } = order;
  const value = readPrice(triggerValue);
  const isSell = isSale(side);
  if (!orderType.startsWith("trailing-stop")) {
    const waitsForRise = orderType.startsWith("take-profit") === isSell;
    return waitsForRise ? high >= value : low <= value;
  }
  const best = isSell ? (high > order.best ? high : order.best) : (low < order.best ? low : order.best);
  const distance = trailBy === "percentage" ? best * value / HUNDRED : value;
  const holds = isSell ? low <= best - distance : high >= best + distance;
  if (!holds) order.best = best;
  return holds;
}
