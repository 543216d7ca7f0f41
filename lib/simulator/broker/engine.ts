/**
 * Lets time pass: fills, triggers, children, expiry and clearing, one after another in order of time.
 *
 * Everything happens at a moment that follows from the market and the orders alone, so it does not matter how
 * often or when anybody asks.
 *
 * @module
 */
import type { AlgoDesk } from "./algo.ts";
import { clearMarket } from "./clearing.ts";
import type { ConditionalDesk } from "./conditional.ts";
import type { FuturesDesk } from "./futures.ts";
import { isOpen, type LiveOrder } from "./live_order.ts";
import { findFill } from "./matching.ts";
import { cancelOrder, expireOrders, fillOrder, settleFill } from "./orders.ts";
import { type Book, books, dayAt } from "./sessions.ts";
import type { State } from "./state.ts";
import { wholeSecond } from "./tape.ts";

/** Something that happens at an instant. */
interface Event {
  at: number;
  run: () => void;
}

/** The desks that have orders of their own. */
export interface Desks {
  conditional: ConditionalDesk;
  algo: AlgoDesk;
  futures: FuturesDesk;
}

/** Runs the broker's events up to the present. */
export class Engine {
  readonly #state: State;
  readonly #desks: Desks;
  #isRunning = false;

  constructor(state: State, desks: Desks) {
    this.#state = state;
    this.#desks = desks;
  }

  /**
   * Works off everything up to an instant. A clock that went back changes nothing, and a listener that asks the
   * broker something in the middle of it sees the moment that it was told of.
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
      const horizon = Math.min(until, fixed.at);
      const event = this.#nextMarket(horizon) ?? (fixed.at <= until ? fixed : undefined);
      if (event === undefined) break;
      this.#state.now = Math.max(this.#state.now, event.at);
      event.run();
    }
    this.#state.now = Math.max(this.#state.now, now);
  }

  /** The next close or clearing of any book. */
  #nextFixed(): Event {
    let first: Event | undefined;
    for (const book of books) {
      const { day, closed } = this.#state.today[book];
      const event = closed
        ? { at: day.clearingAt, run: () => this.#clear(book) }
        : { at: day.closeAt, run: () => this.#close(book) };
      if (first === undefined || event.at < first.at) first = event;
    }
    // There is always a book.
    return first ?? { at: Infinity, run: () => {} };
  }

  /** The first event up to a horizon that follows from the market; what was placed first goes first. */
  #nextMarket(horizon: number): Event | undefined {
    let first: Event | undefined;
    const consider = (event: Event | undefined) => {
      if (event !== undefined && (first === undefined || event.at < first.at)) first = event;
    };
    for (const book of books) {
      for (const order of this.#state.today[book].orders) {
        if (isOpen(order)) consider(this.#orderEvent(order, horizon));
      }
    }
    consider(this.#desks.conditional.nextEvent(horizon));
    consider(this.#desks.algo.nextEvent(horizon));
    return first;
  }

  #orderEvent(order: LiveOrder, horizon: number): Event | undefined {
    const validity = order.futures?.validity;
    const isImmediate = validity === "fill-and-cancel" || validity === "fill-or-cancel";
    findFill(order, this.#state.tape, isImmediate ? Math.min(horizon, order.readyAt) : horizon);
    if (order.next !== undefined) return { at: order.next.at, run: () => this.#fill(order, isImmediate) };
    if (!isImmediate || horizon < order.readyAt) return undefined;
    return { at: order.readyAt, run: () => cancelOrder(this.#state, order, "not filled at once") };
  }

  #fill(order: LiveOrder, isImmediate: boolean): void {
    const fill = fillOrder(this.#state, order);
    if (order.book === "futures") this.#desks.futures.fill(order, fill);
    else settleFill(this.#state, order, fill);
    this.#state.push(order, { fill });
    if (isImmediate && isOpen(order)) cancelOrder(this.#state, order, "rest not filled at once");
  }

  #close(book: Book): void {
    this.#state.today[book].closed = true;
    if (book !== "futures") this.#desks.algo.close(book);
    expireOrders(this.#state, book, false);
  }

  /** Clears a day and begins the next. */
  #clear(book: Book): void {
    const today = this.#state.today[book];
    expireOrders(this.#state, book, true);
    if (book === "futures") this.#desks.futures.clear();
    else clearMarket(this.#state, book);
    const lasting = today.orders.filter(isOpen);
    const day = dayAt(book, today.day.clearingAt);
    Object.assign(today, { day, closed: false, orders: lasting, fills: [], numbered: 0 });
  }
}
