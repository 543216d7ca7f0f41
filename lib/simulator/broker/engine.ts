/**
 * Processes events in order of time: dividends and splits, fills, triggers, child orders, cancellations, halts, expiry
 * and clearing.
 *
 * The time of each event depends only on the market and the orders. So the result does not depend on how often or when
 * clients query the broker.
 *
 * `matching/matching.ts` describes when and how the market fills an order.
 *
 * @module
 */
import type { Market } from "../../dictionaries/market.ts";
import type { AlgoDesk } from "./orders/algo.ts";
import { clearMarket } from "./account/clearing.ts";
import { HALTED_TEXT } from "./orders/checks.ts";
import type { ConditionalDesk } from "./orders/conditional.ts";
import { actionsBetween, applyExDate, DIVIDEND_TYPE, takeDue } from "./account/corporate_actions.ts";
import { actionsAt } from "../market/timeline.ts";
import type { FuturesDesk } from "./orders/futures.ts";
import { isOpen, leftOf, type LiveOrder, reachesExchange } from "./orders/live_order.ts";
import { limitOf } from "./matching/matching.ts";
import {
  cancelOrder,
  expireOrders,
  fillOrder,
  finishAmend,
  rejectOrder,
  settleFill,
} from "./orders/orders.ts";
import { journalRow } from "./rows.ts";
import { type Book, type BookDay, bookRules, books, dayAt, futureCloseAt, localTime } from "./sessions.ts";
import { shortRefusal } from "./account/shorts.ts";
import { emptyDay, type State } from "./state.ts";
import { wholeSecond } from "./matching/tape.ts";

/** An event at an instant. */
interface Event {
  at: number;
  run: () => void;
  /** Whether the event comes before the market's events of the same second. */
  comesFirst?: boolean;
}

/** The desks that manage their own orders. */
interface Desks {
  conditional: ConditionalDesk;
  algo: AlgoDesk;
  futures: FuturesDesk;
}

/** Processes the broker's events up to now. */
export class Engine {
  readonly #state: State;
  readonly #desks: Desks;
  #isRunning = false;
  /** Number of scripted halts that have been processed. */
  #halts: number;

  constructor(state: State, desks: Desks) {
    this.#state = state;
    this.#desks = desks;
    this.#halts = state.market.haltsAt.filter((at) => at <= state.now).length;
  }

  /**
   * Processes all events up to an instant. If the clock went back, nothing changes. A listener that queries the broker
   * while an event is processed sees the state at that event.
   */
  settle(now: number): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      this.#run(now);
    } finally {
      this.#isRunning = false;
    }
  }

  #run(now: number): void {
    const until = wholeSecond(now);
    for (;;) {
      const fixed = this.#nextFixed();
      const traded = this.#nextMarket(Math.min(until, fixed.at));
      const isNext = traded !== undefined && (traded.at < fixed.at || fixed.comesFirst !== true);
      const event = isNext ? traded : fixed.at <= until ? fixed : undefined;
      if (event === undefined) break;
      this.#state.now = Math.max(this.#state.now, event.at);
      event.run();
    }
    this.#state.now = Math.max(this.#state.now, now);
  }

  /**
   * Returns the next event whose time does not depend on the market: dividends and splits, the close or the clearing of
   * any book, the end of a night session, the last close of a contract, or a scripted halt.
   *
   * Dividends and splits come before all other events of their second: the pre-market opens in that second, and its
   * first trade has the new price.
   */
  #nextFixed(): Event {
    const halt = this.#state.market.haltsAt[this.#halts];
    let first: Event | undefined = halt === undefined ? undefined : { at: halt, run: () => this.#halt(halt) };
    const consider = (event: Event) => {
      const isEarlier = first === undefined || event.at < first.at ||
        (event.at === first.at && event.comesFirst === true && first.comesFirst !== true);
      if (isEarlier) first = event;
    };
    for (const book of books) {
      const { day, actionsDone, closed } = this.#state.today[book];
      if (closed && actionsDone) consider({ at: day.clearingAt, run: () => this.#clear(book) });
      else if (actionsDone) consider({ at: this.#state.endOf(book, day), run: () => this.#close(book) });
      else if (book === "futures") {
        const at = day.extended[0]?.to ?? actionsAt(day);
        consider({ at, run: () => this.#endNight() });
      } else {
        const run = () => this.#processActions(book);
        consider(this.#closedExDate(book) ?? { at: actionsAt(day), run, comesFirst: true });
      }
    }
    const expiry = this.#expiry();
    if (expiry !== undefined) consider(expiry);
    // There is always at least one book.
    return first ?? { at: Infinity, run: () => {} };
  }

  /**
   * Returns the first match, cancellation, trigger or child order up to an instant. If two orders of one listing and
   * side match at the same time, the order with the better price comes first. If the prices are equal too, the earlier
   * order comes first. Among events of the same time, triggers and child orders come last.
   */
  #nextMarket(horizon: number): Event | undefined {
    let first: Event | undefined;
    const consider = (event: Event | undefined) => {
      if (event !== undefined && (first === undefined || event.at < first.at)) first = event;
    };
    let leader: LiveOrder | undefined;
    for (const book of books) {
      for (const order of this.#state.today[book].orders) {
        const event = isOpen(order) ? this.#orderEvent(order, horizon) : undefined;
        if (event === undefined || (first !== undefined && event.at > first.at)) continue;
        if (first?.at === event.at && (leader === undefined || !isBetter(order, leader))) continue;
        [first, leader] = [event, order];
      }
    }
    consider(this.#desks.conditional.nextEvent(horizon));
    consider(this.#desks.algo.nextEvent(horizon));
    return first;
  }

  /**
   * Returns the next event of an order. If a match and the arrival of its amendment or cancellation are at the same
   * second, the match comes first. An amendment always arrives before a cancellation that was sent later.
   */
  #orderEvent(order: LiveOrder, horizon: number): Event | undefined {
    const { cancelAt, amendment } = order;
    const at = amendment === undefined ? cancelAt : reachesExchange(amendment.sentAt);
    if (at === undefined || at > horizon) return this.#matchEvent(order, horizon);
    const run = () =>
      amendment === undefined ? cancelOrder(this.#state, order) : finishAmend(this.#state, order, amendment);
    return this.#matchEvent(order, at) ?? { at, run };
  }

  #matchEvent(order: LiveOrder, horizon: number): Event | undefined {
    const validity = order.futures?.validity;
    if (validity === "fill-and-cancel" || validity === "fill-or-cancel") {
      const at = order.readyAt;
      return horizon < at ? undefined : { at, run: () => this.#matchAtOnce(order, at) };
    }
    if (this.#state.matching.missesOpening(order)) {
      const { readyAt: at } = order;
      const run = () => cancelOrder(this.#state, order, "arrived after the auction");
      return at <= horizon ? { at, run } : undefined;
    }
    const at = this.#state.matching.nextAt(order, horizon);
    if (at === undefined) return undefined;
    const isSpecial = order.book === "hk" && order.orderType === "special-limit";
    return { at, run: () => isSpecial ? this.#matchAtOnce(order, at) : this.#matchAt(order, at) };
  }

  /** Returns why the exchange rejects an order that reaches it, or `undefined`. */
  #refusal(order: LiveOrder, at: number): string | undefined {
    const isShortSale = order.isShort === true && order.isSell;
    const isAuction = order.book === "hk" && (at < order.day.openAt || at > order.day.closeAt);
    // An order that waits in its queue has passed the price test: it is itself the best ask.
    const isTested = isShortSale && order.ahead === undefined && !isAuction;
    return this.#state.matching.refusal(order, at) ??
      (isTested ? shortRefusal(this.#state, order, at) : undefined);
  }

  #matchAt(order: LiveOrder, at: number): void {
    const refusal = this.#refusal(order, at);
    if (refusal !== undefined) return rejectOrder(this.#state, order, refusal);
    this.#match(order, at);
    const isAfterAuction = order.orderType === "auction" && at < order.day.openAt;
    if (isAfterAuction && isOpen(order)) cancelOrder(this.#state, order, "not filled in the auction");
  }

  /** Matches an order, and returns whether the market filled a part of it. */
  #match(order: LiveOrder, at: number): boolean {
    const match = this.#state.matching.match(order, at);
    if (match === undefined) return false;
    const fill = fillOrder(this.#state, order, match);
    if (order.book === "futures") this.#desks.futures.fill(order, fill);
    else settleFill(this.#state, order, fill);
    this.#state.push(order, { fill });
    return true;
  }

  /** Matches an order that must not wait, and cancels what is left. */
  #matchAtOnce(order: LiveOrder, at: number): void {
    const refusal = this.#refusal(order, at);
    if (refusal !== undefined) return rejectOrder(this.#state, order, refusal);
    order.slices = [leftOf(order)];
    const isTrading = this.#state.tapeOf(order).isOpen(order.instrument.symbol, at);
    while (isTrading && isOpen(order) && this.#match(order, at));
    if (isOpen(order)) {
      const remark = order.fills.length > 0 ? "rest not filled at once" : "not filled at once";
      cancelOrder(this.#state, order, remark);
    }
  }

  /** Cancels the open orders of listings that a script halts. */
  #halt(at: number): void {
    this.#halts++;
    for (const book of books) {
      for (const order of this.#state.openOrders(book)) {
        const isHalted = this.#state.market.isHalted(order.instrument.symbol, at);
        if (isHalted) cancelOrder(this.#state, order, HALTED_TEXT);
      }
    }
  }

  /** Ends the night session of the futures: the day orders of the session expire. */
  #endNight(): void {
    const today = this.#state.today.futures;
    today.actionsDone = true;
    expireOrders(this.#state, "futures", { nextDate: today.day.date, lasts: ({ extended }) => !extended });
  }

  /** Processes the dividends and splits of a day. */
  #processActions(market: Market): void {
    const today = this.#state.today[market];
    today.actionsDone = true;
    this.#applyExDates(market, today.day.date);
    for (const { cents } of takeDue(this.#state.entitlements[market], today.day.date)) {
      this.#state.cash[bookRules[market].currency] += cents;
      today.lines.push(journalRow(DIVIDEND_TYPE, cents, localTime(today.day, actionsAt(today.day))));
    }
  }

  /**
   * Returns the event of an ex-date on which the mainland trades, but Stock Connect is closed. The price of the listing
   * falls on that day, so the holdings must change too.
   */
  #closedExDate(market: Market): Event | undefined {
    const { day, exDatesUntil: after } = this.#state.today[market];
    const [exDate] = actionsBetween(this.#state.market, market, { after, until: day.date })
      .map((action) => action.exDate).filter((date) => date < day.date).sort();
    if (exDate === undefined) return undefined;
    const at = actionsAt(day) - (Date.parse(day.date) - Date.parse(exDate));
    return { at, run: () => this.#applyExDates(market, exDate), comesFirst: true };
  }

  /** Processes the dividends and splits of a market up to an ex-date. */
  #applyExDates(market: Market, until: string): void {
    const today = this.#state.today[market];
    const actions = actionsBetween(this.#state.market, market, { after: today.exDatesUntil, until });
    today.exDatesUntil = until;
    this.#state.entitlements[market].push(...applyExDate(this.#state.holdings[market], actions));
    for (const { symbol } of actions) this.#desks.conditional.endOnExDate(symbol);
  }

  /** Returns the event that cancels the open orders of contracts whose last trading day is today. */
  #expiry(): Event | undefined {
    const { day } = this.#state.today.futures;
    const orders = this.#state.openOrders("futures")
      .filter(({ instrument: { future } }) => future?.lastTradingDay === day.date);
    if (orders.length === 0) return undefined;
    const run = () => orders.forEach((order) => cancelOrder(this.#state, order, "the contract has expired"));
    return { at: futureCloseAt(day, day.date), run };
  }

  #close(book: Book): void {
    this.#state.today[book].closed = true;
    const lasts = ({ extended }: { extended: boolean }) => extended;
    if (book !== "futures") this.#desks.algo.close(book, lasts);
    expireOrders(this.#state, book, { nextDate: this.#dayAfter(book).date, lasts });
  }

  /** Returns the trading day after the current day of a book. */
  #dayAfter(book: Book): BookDay {
    return dayAt(this.#state.market.calendars, book, this.#state.today[book].day.clearingAt);
  }

  /** Clears a day and starts the next one. */
  #clear(book: Book): void {
    const today = this.#state.today[book];
    const day = this.#dayAfter(book);
    const hasNight = book === "futures" && day.extended.length > 0;
    if (book !== "futures") this.#desks.algo.close(book, () => false);
    expireOrders(this.#state, book, {
      nextDate: day.date,
      lasts: ({ extended, instrument: { future } }) =>
        // A contract has no night session after its last day.
        hasNight && extended && (future?.lastTradingDay ?? "") > today.day.date,
    });
    if (book === "futures") this.#desks.futures.clear();
    else clearMarket(this.#state, book);
    this.#state.matching.clear(book);
    const lasting = today.orders.filter(isOpen);
    Object.assign(today, { ...emptyDay(day, today.day.date), orders: lasting });
  }
}

/**
 * Returns whether an order has a better price than another order of the same listing and side. An order without a limit
 * has the best price.
 */
function isBetter(order: LiveOrder, other: LiveOrder): boolean {
  if (order.instrument.symbol !== other.instrument.symbol || order.isSell !== other.isSell) return false;
  if (order.price === 0n || other.price === 0n) return order.price === 0n && other.price !== 0n;
  const [limit, otherLimit] = [limitOf(order), limitOf(other)];
  return order.isSell ? limit < otherLimit : limit > otherLimit;
}
