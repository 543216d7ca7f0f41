/**
 * Runs algorithmic orders: sends their quantity in child orders over time.
 *
 * - `twap` sends a tenth of the quantity at equal intervals between start and end. A tenth is rounded up to whole lots,
 *   so there may be fewer than ten children.
 * - `vwap` sends a child in each of ten equal intervals. The children divide the quantity in proportion to the previous
 *   day's volume in these intervals.
 * - `pov` keeps the quantity of its children at a percentage of the market's volume since the start: once per interval,
 *   it sends what is missing.
 * - `tpov` sends, once per interval, its percentage of the volume at the best price of the other side.
 * - `iceberg` sends the next child when the previous one is no longer open.
 *
 * Children are ordinary orders in whole lots. The sensitivity decides their price: a passive child has the best price
 * of its own side, a neutral child the last price. An aggressive child has the order's limit; for a market order, it
 * has the best price of the other side. No child has a price beyond the limit. If the settings have no sensitivity, the
 * children of a limit order are aggressive, and the children of a market order are neutral. At the end time the order
 * expires; when the market closes, it is done for the day. In both cases, its open children are cancelled as soon as
 * the exchange accepts cancellations. The broker documents the settings but no formula, so these rules are choices of
 * the simulator.
 *
 * @module
 */
import { type Decimal, round } from "../../../decimal.ts";
import type {
  AlgoAction,
  AlgoOrderStatus,
  AlgoOrderType,
  AlgoStrategy,
  AlgoStrategyStatus,
} from "../../../dictionaries/algo.ts";
import type { Market } from "../../../dictionaries/market.ts";
import type { AlgoOrder } from "../../../operations/algo.ts";
import type { algo as operations } from "../../../operations/algo.ts";
import type { Params } from "../../../operations/operation.ts";
import { Refusal } from "../../contract.ts";
import type { Instrument } from "../../market/mod.ts";
import {
  checkChange,
  checkHalt,
  checkHours,
  checkPrice,
  checkQuantity,
  findInstrument,
  invalid,
  refused,
} from "./checks.ts";
import { filledCentsOf, filledOf, isOpen, leftOf, type LiveOrder } from "./live_order.ts";
import { amountOf, least, meanPrice, readCents, readPrice, writePrice } from "../account/money.ts";
import { placeOrder, requestCancel, requestCancelSoon, tradesExtended } from "./orders.ts";
import { type BookDay, bookRules, daysBefore, HOUR_MS, localTime } from "../sessions.ts";
import type { State } from "../state.ts";
import type { PastAlgo } from "../past/past_orders.ts";
import { wholeSecond } from "../matching/tape.ts";

type PlaceParams = Params<typeof operations.place>;
type Settings = PlaceParams["settings"];

interface Algo {
  id: string;
  instrument: Instrument;
  isSell: boolean;
  orderType: AlgoOrderType;
  strategy: AlgoStrategy;
  strategyStatus: AlgoStrategyStatus;
  status: AlgoOrderStatus;
  price: Decimal;
  quantity: bigint;
  settings: Settings;
  extended: boolean;
  day: BookDay;
  placedAt: number;
  changedAt: number;
  children: LiveOrder[];
  /** Time of the next child. */
  nextAt: number;
  startAt: number;
  endAt: number;
}

const NUMBER_DIGIT = 7;
/**
 * Number of intervals of `vwap`. A `twap` child is the order divided by this number, and so is an `iceberg` child
 * without a display quantity.
 */
const PARTS = 10n;
/** Seconds between the children of `pov` and `tpov` if the settings do not set them. */
const DEFAULT_INTERVAL = 60;
/** Percentage if the settings do not set it. */
const DEFAULT_PERCENT = 10;
const HONG_KONG_OFFSET = 8 * HOUR_MS;

const ended: readonly AlgoOrderStatus[] = ["filled", "done-for-the-day", "cancelled", "rejected", "expired"];

/** Manages the algorithmic orders of the account. */
export class AlgoDesk {
  readonly #state: State;
  readonly #orders: Algo[] = [];
  readonly #byId = new Map<string, Algo>();

  readonly #past: readonly PastAlgo[];

  /** @param past The orders of the generated past, oldest first. */
  constructor(state: State, past: readonly PastAlgo[]) {
    this.#state = state;
    this.#past = past;
  }

  /** Places an algorithmic order and returns its number. */
  place(order: PlaceParams): string {
    const state = this.#state;
    const { market, symbol, settings } = order;
    const instrument = findInstrument(state, market, symbol);
    const { day } = state.today[market];
    const extended = order.tradingHours === "extended" && tradesExtended(instrument);
    checkHours(state, day, { market, orderType: "limit", extended });
    checkHalt(state, symbol);
    const isSell = order.side === "sell";
    const quantity = checkQuantity(order.quantity, instrument, { isSell, orderType: "limit" });
    const price = checkPrice(state, instrument, order.price);
    const draft = { book: market, instrument, multiplier: BigInt(instrument.multiplier), day };
    if (isSell && quantity > state.sellable(market, symbol)) {
      throw refused(`insufficient holdings of "${symbol}"`);
    }
    if (!isSell && state.costOf(draft, price, quantity) > state.available(bookRules[market].currency)) {
      throw refused("insufficient funds for this order and its fees");
    }
    const place = this.#orders.length + 1;
    const id = `${NUMBER_DIGIT}${day.date.slice(2).replaceAll("-", "")}${String(place).padStart(6, "0")}`;
    const { startAt, endAt } = spanOf({ day, instrument, settings, placedAt: state.now, extended });
    const placed: Algo = {
      id,
      instrument,
      isSell,
      orderType: order.orderType,
      strategy: order.strategy,
      strategyStatus: "start",
      status: "accepted",
      price: order.price,
      quantity,
      settings,
      extended,
      day,
      placedAt: state.now,
      changedAt: state.now,
      children: [],
      nextAt: Math.ceil(startAt / 1000) * 1000,
      startAt,
      endAt,
    };
    this.#orders.push(placed);
    this.#byId.set(id, placed);
    return id;
  }

  /** Changes the price, the total quantity and the settings. Children already sent stay as they are. */
  amend(id: string, terms: { price?: Decimal; quantity?: Decimal; settings?: Settings }): void {
    const order = this.#active(id);
    if (terms.price !== undefined) {
      checkPrice(this.#state, order.instrument, terms.price);
      order.price = terms.price;
    }
    if (terms.quantity !== undefined) {
      const isSell = order.isSell;
      const quantity = checkQuantity(terms.quantity, order.instrument, { isSell, orderType: "limit" });
      if (quantity < sentOf(order)) {
        throw refused(`order "${id}" has already sent a quantity of ${sentOf(order)}`);
      }
      order.quantity = quantity;
    }
    if (terms.settings !== undefined) {
      order.settings = { ...order.settings, ...terms.settings };
      order.endAt = spanOf(order).endAt;
    }
    order.changedAt = this.#state.now;
  }

  /** Cancels the rest of an order, including its children. */
  cancel(id: string): void {
    this.#end(this.#active(id), "cancelled");
  }

  /** Cancels one child. */
  cancelChild(id: string, childId: string): void {
    const child = this.#find(id).children.find((each) => each.id === childId);
    if (child === undefined) throw invalid(`unknown child order number "${childId}"`);
    if (!isOpen(child)) throw refused(`order "${childId}" is ${child.status} and can no longer be changed`);
    checkChange(this.#state, child, "cancelled");
    requestCancel(this.#state, child);
  }

  /** Starts, stops, suspends or resumes the strategy. */
  act(id: string, action: AlgoAction): void {
    const order = this.#active(id);
    order.strategyStatus = action;
    order.changedAt = this.#state.now;
    if (action === "stop") return this.#end(order, "cancelled");
    if (action !== "suspend") order.nextAt = Math.max(order.nextAt, wholeSecond(this.#state.now) + 1000);
  }

  /** Returns the order numbers of the children of an order; none if the order was not placed on this day. */
  children(id: string, date: string): string[] {
    const past = this.#past.find(({ row }) => row.orderId === id);
    if (past !== undefined) return past.row.date === date ? [...past.children] : [];
    const order = this.#find(id);
    return order.day.date === date ? order.children.map((child) => child.id) : [];
  }

  /** Returns the orders of a range of days, in order of placement. */
  list(from: string, to: string, only: { market?: Market; symbol?: string }): AlgoOrder[] {
    const isWanted = (date: string, { market, symbol }: Pick<AlgoOrder, "market" | "symbol">) =>
      date >= from && date <= to && (only.market === undefined || market === only.market) &&
      (only.symbol === undefined || symbol === only.symbol);
    return [
      ...this.#past.filter(({ row }) => isWanted(row.date ?? "", row)).map(({ row }) => row),
      ...this.#orders.filter(({ day: { date }, instrument }) => isWanted(date, instrument))
        .map((order) => this.#row(order)),
    ];
  }

  /** Returns the next event at or before an instant: a child that is due, or the end of an order. */
  nextEvent(horizon: number): { at: number; run: () => void } | undefined {
    let first: { at: number; run: () => void } | undefined;
    const consider = (at: number | undefined, run: () => void) => {
      if (at !== undefined && at <= horizon && (first === undefined || at < first.at)) first = { at, run };
    };
    for (const order of this.#orders) {
      if (ended.includes(this.#statusOf(order))) continue;
      consider(this.#dueAt(order), () => this.#send(order));
      const endsEarly = order.endAt < hoursOf(order).to;
      if (endsEarly) consider(wholeSecond(order.endAt), () => this.#end(order, "expired"));
    }
    return first;
  }

  /** Ends the unfinished orders of a market, except those for which `lasts` returns true. */
  close(market: Market, lasts: (order: { extended: boolean }) => boolean): void {
    for (const order of this.#orders) {
      if (order.instrument.market === market && !lasts(order) && !ended.includes(this.#statusOf(order))) {
        this.#end(order, "done-for-the-day");
      }
    }
  }

  #dueAt(order: Algo): number | undefined {
    const { strategyStatus, strategy, nextAt, endAt } = order;
    if (ended.includes(order.status) || order.quantity <= sentOf(order)) return undefined;
    if (strategyStatus === "stop" || strategyStatus === "suspend" || nextAt >= endAt) return undefined;
    const last = order.children.at(-1);
    if (strategy === "iceberg" && last !== undefined && isOpen(last)) return undefined;
    return Math.max(nextAt, wholeSecond(this.#state.now));
  }

  #send(order: Algo): void {
    const { instrument } = order;
    const rest = order.quantity - sentOf(order);
    const price = this.#childPrice(order);
    const quantity = this.#childQuantity(order, rest, readPrice(price));
    order.nextAt = wholeSecond(this.#state.now + Math.max(1000, this.#intervalOf(order, rest, quantity)));
    if (quantity === 0n) return;
    order.changedAt = this.#state.now;
    try {
      order.children.push(placeOrder(this.#state, {
        market: instrument.market,
        symbol: instrument.symbol,
        side: order.isSell ? "sell" : "buy",
        orderType: instrument.market === "hk" ? "enhanced-limit" : "limit",
        quantity: String(quantity),
        price,
        extended: order.extended,
      }));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#end(order, "rejected");
    }
  }

  /** Returns the milliseconds until the next child. */
  #intervalOf(order: Algo, rest: bigint, quantity: bigint): number {
    const { strategy, settings, startAt, endAt } = order;
    if (strategy === "iceberg") return 1000;
    if (strategy === "vwap") return (endAt - startAt) / Number(PARTS);
    if (strategy !== "twap") return (settings.intervalSec ?? DEFAULT_INTERVAL) * 1000;
    return (endAt - this.#state.now) / Number((rest + quantity - 1n) / quantity);
  }

  /** Returns the size of the next child in whole lots; zero if none is due yet. */
  #childQuantity(order: Algo, rest: bigint, price: bigint): bigint {
    const { settings, instrument, strategy, isSell, startAt, endAt } = order;
    const { symbol, multiplier, lotSize } = instrument;
    const { now } = this.#state;
    const tape = this.#state.tapeOf(order);
    const lot = BigInt(lotSize);
    const whole = (value: bigint) => value / lot * lot;
    const percent = BigInt(settings.percent ?? DEFAULT_PERCENT);
    let wanted = (order.quantity + PARTS * lot - 1n) / (PARTS * lot) * lot; // a tenth, rounded up to whole lots
    if (strategy === "iceberg" && settings.displayQuantity !== undefined) {
      wanted = whole(BigInt(round(settings.displayQuantity, 0, "down")));
    } else if (strategy === "vwap") {
      const interval = (endAt - startAt) / Number(PARTS);
      const isLast = now + interval >= endAt;
      const [next, all] = [this.#volumeBefore(order, now + interval), this.#volumeBefore(order, endAt)];
      wanted = isLast || all === 0n ? rest : whole(rest * next / all);
    } else if (strategy === "pov") {
      wanted = whole(tape.volume(symbol, startAt, now) * percent / 100n - sentOf(order));
    } else if (strategy === "tpov") {
      wanted = whole((tape.levels(symbol, now, isSell ? "bids" : "asks")[0]?.volume ?? 0n) * percent / 100n);
    }
    if (wanted <= 0n && (strategy === "vwap" || strategy === "pov" || strategy === "tpov")) return 0n;
    if (settings.minChildAmount !== undefined && price > 0n) {
      const perLot = amountOf(price, lot, BigInt(multiplier));
      const lots = perLot === 0n ? 1n : (readCents(settings.minChildAmount) + perLot - 1n) / perLot;
      if (wanted < lots * lot) wanted = lots * lot;
    }
    const { maxChildQuantity } = settings;
    const most = maxChildQuantity === undefined ? rest : whole(BigInt(round(maxChildQuantity, 0, "down")));
    const size = least(rest, least(wanted, most));
    return size < lot ? least(rest, lot) : size;
  }

  /**
   * Returns the volume traded on the previous trading day, from the current time of day to the time of day of `until`.
   */
  #volumeBefore(order: Algo, until: number): bigint {
    const { instrument: { symbol, market }, day } = order;
    const [before] = daysBefore(this.#state.market.calendars, market, day.date, 1);
    if (before === undefined) return 0n;
    const shift = before.openAt - day.openAt;
    return this.#state.tapeOf(order).volume(symbol, this.#state.now + shift, until + shift);
  }

  /**
   * Returns the limit price of a child. The child of a market order has a limit too, because some markets require one.
   */
  #childPrice(order: Algo): Decimal {
    const { orderType, price, isSell, settings, instrument: { symbol } } = order;
    const { now } = this.#state;
    const tape = this.#state.tapeOf(order);
    const limit = orderType === "limit" ? readPrice(price) : undefined;
    if (limit !== undefined && (settings.sensitivity ?? "aggressive") === "aggressive") return price;
    const side = (of: "bids" | "asks") => tape.levels(symbol, now, of)[0]?.price;
    const own = side(isSell ? "asks" : "bids");
    const other = side(isSell ? "bids" : "asks");
    const last = tape.price(symbol, now);
    const wanted = settings.sensitivity === "passive"
      ? own ?? last
      : settings.sensitivity === "aggressive"
      ? other ?? last
      : last;
    const isBeyond = limit !== undefined && (isSell ? wanted < limit : wanted > limit);
    return writePrice(isBeyond ? limit : wanted);
  }

  #find(id: string): Algo {
    const order = this.#byId.get(id);
    const past = this.#past.find(({ row }) => row.orderId === id)?.row;
    if (past !== undefined) throw refused(`algorithmic order "${id}" is ${past.status}`);
    if (order === undefined) throw invalid(`unknown algorithmic order number "${id}"`);
    return order;
  }

  #active(id: string): Algo {
    const order = this.#find(id);
    const status = this.#statusOf(order);
    if (ended.includes(status)) throw refused(`algorithmic order "${id}" is ${status}`);
    return order;
  }

  #end(order: Algo, status: AlgoOrderStatus): void {
    order.status = status;
    order.strategyStatus = "stop";
    order.changedAt = this.#state.now;
    for (const child of order.children) {
      if (isOpen(child) && child.cancelAt === undefined) requestCancelSoon(this.#state, child);
    }
  }

  #statusOf(order: Algo): AlgoOrderStatus {
    if (order.status !== "accepted") return order.status;
    const filled = order.children.reduce((sum, child) => sum + filledOf(child), 0n);
    return filled === 0n ? "accepted" : filled < order.quantity ? "part-filled" : "filled";
  }

  #row(order: Algo): AlgoOrder {
    const { instrument, day, children } = order;
    const filled = children.reduce((sum, child) => sum + filledOf(child), 0n);
    const cents = children.reduce((sum, child) => sum + filledCentsOf(child), 0n);
    return {
      orderId: order.id,
      symbol: instrument.symbol,
      market: instrument.market,
      date: day.date,
      orderType: order.orderType,
      price: order.price,
      quantity: String(order.quantity),
      filledQuantity: String(filled),
      unfilledQuantity: String(order.quantity - filled),
      averagePrice: writePrice(meanPrice(cents, filled, BigInt(instrument.multiplier))),
      status: this.#statusOf(order),
      side: order.isSell ? "sell" : "buy",
      strategy: order.strategy,
      strategyStatus: order.strategyStatus,
      settings: settingsRow(order.settings),
      lotSize: String(instrument.lotSize),
      sentAt: localTime(day, order.placedAt),
      changedAt: localTime(day, order.changedAt),
    };
  }
}

/** Returns the quantity that was sent and is filled or still open. */
function sentOf({ children }: Algo): bigint {
  return children.reduce((sum, child) => sum + filledOf(child) + leftOf(child), 0n);
}

function settingsRow({ percent, intervalSec, startTime, endTime, ...rest }: Settings): AlgoOrder["settings"] {
  return {
    ...rest,
    startTime: startTime ?? "00:00:00",
    endTime: endTime ?? "00:00:00",
    intervalSec: intervalSec ?? DEFAULT_INTERVAL,
    ...(percent === undefined ? {} : { percent: String(percent) }),
  };
}

/** Returns the period of a day in which an order may trade. */
function hoursOf({ day, extended }: Pick<Algo, "day" | "extended">): { from: number; to: number } {
  const { openAt, closeAt } = day;
  if (!extended) return { from: openAt, to: closeAt };
  return { from: day.extended[0]?.from ?? openAt, to: day.extended.at(-1)?.to ?? closeAt };
}

/** Returns the start and end of the strategy. The settings contain times of day in Hong Kong. */
function spanOf(
  order: Pick<Algo, "day" | "extended" | "instrument" | "settings" | "placedAt">,
): { startAt: number; endAt: number } {
  const { day, instrument: { market }, settings, placedAt } = order;
  const { from, to } = hoursOf(order);
  const instant = (time: string | undefined): number | undefined => {
    if (time === undefined || time === "00:00:00") return undefined;
    const at = Date.parse(`${day.date}T${time}Z`) - HONG_KONG_OFFSET;
    // A New York session continues after midnight in Hong Kong.
    return market === "us" && at < day.openAt - 12 * HOUR_MS ? at + 24 * HOUR_MS : at;
  };
  const startAt = Math.max(placedAt, from, instant(settings.startTime) ?? 0);
  return { startAt, endAt: Math.min(to, instant(settings.endTime) ?? to) };
}
