/**
 * Processes events in order of time: fills, triggers, children, expiry and clearing.
 *
 * The time of each event depends only on the market and the orders. So the result does not depend on how often or when
 * clients query the broker.
 *
 * An order that can be executed immediately is filled one second after it was accepted, at the last price. A
 * resting order is filled when the market trades at its limit. Larger quantities are filled in two to four
 * parts, two seconds apart, as long as the price allows. The simulated market has no trades outside its
 * regular hours, so an order for extended hours waits for the regular hours.
 *
 * @module
 */
import type { AlgoDesk } from "./algo.ts";
import { clearMarket } from "./clearing.ts";
import type { ConditionalDesk } from "./conditional.ts";
import type { FuturesDesk } from "./futures.ts";
import { isOpen, type LiveOrder } from "./live_order.ts";
import { cancelOrder, expireOrders, fillOrder, settleFill } from "./orders.ts";
import { type Book, books, dayAt } from "./sessions.ts";
import type { State } from "./state.ts";
import { type Range, type Tape, wholeSecond } from "./tape.ts";

/** An event at an instant. */
interface Event {
  at: number;
  run: () => void;
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

  constructor(state: State, desks: Desks) {
    this.#state = state;
    this.#desks = desks;
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
      const horizon = Math.min(until, fixed.at);
      const event = this.#nextMarket(horizon) ?? (fixed.at <= until ? fixed : undefined);
      if (event === undefined) break;
      this.#state.now = Math.max(this.#state.now, event.at);
      event.run();
    }
    this.#state.now = Math.max(this.#state.now, now);
  }

  /** Returns the next close or clearing of any book. */
  #nextFixed(): Event {
    let first: Event | undefined;
    for (const book of books) {
      const { day, closed } = this.#state.today[book];
      const event = closed
        ? { at: day.clearingAt, run: () => this.#clear(book) }
        : { at: day.closeAt, run: () => this.#close(book) };
      if (first === undefined || event.at < first.at) first = event;
    }
    // There is always at least one book.
    return first ?? { at: Infinity, run: () => {} };
  }

  /**
   * Returns the first fill, expiry, trigger or child order up to an instant. At the same time, a book's earlier order
   * comes first; triggers and children come last.
   */
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

  /** Clears a day and starts the next one. */
  #clear(book: Book): void {
    const today = this.#state.today[book];
    expireOrders(this.#state, book, true);
    if (book === "futures") this.#desks.futures.clear();
    else clearMarket(this.#state, book);
    const lasting = today.orders.filter(isOpen);
    const day = dayAt(this.#state.market.calendars, book, today.day.clearingAt);
    Object.assign(today, { day, closed: false, orders: lasting, fills: [], numbered: 0 });
  }
}

/** Finds the next fill up to an instant and stores it in the order. */
function findFill(order: LiveOrder, tape: Tape, until: number): void {
  const { readyAt, instrument: { symbol } } = order;
  const horizon = Math.min(until, order.book === "futures" ? until : order.day.closeAt);
  if (order.next !== undefined || horizon < readyAt) return;
  if (order.scannedUntil < readyAt) {
    order.scannedUntil = readyAt;
    const price = tape.isOpen(symbol, readyAt) ? tape.price(symbol, readyAt) : undefined;
    if (price !== undefined && takes(order, price)) {
      order.next = { at: readyAt, price };
      return;
    }
  }
  if (order.scannedUntil >= horizon) return;
  const limit = limitOf(order);
  const reaches = ({ high, low }: Range) => order.isSell ? high >= limit : low <= limit;
  const at = tape.find(symbol, order.scannedUntil, horizon, reaches);
  order.scannedUntil = at ?? horizon;
  if (at === undefined) return;
  const price = tape.price(symbol, at);
  // If the market traded at the limit only within the second and not at its end, the order fills at its limit,
  // because it was already in the queue.
  order.next = { at, price: takes(order, price) ? price : limit };
}

/**
 * Returns the limit of an order; for a purchase without a limit, the price for which cash was frozen.
 */
function limitOf({ isSell, price, frozenPrice }: LiveOrder): bigint {
  if (price !== 0n) return price;
  return isSell ? 0n : frozenPrice;
}

function takes(order: LiveOrder, price: bigint): boolean {
  const limit = limitOf(order);
  return order.isSell ? price >= limit : price <= limit;
}
