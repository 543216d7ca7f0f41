/**
 * Keeps the broker's current state: days, cash, holdings, today's orders and fills, and history.
 *
 * @module
 */
import type { Market } from "../../dictionaries/market.ts";
import type { Tariff } from "../../facts/fees.ts";
import type { JournalEntry } from "../../operations/fund_journal.ts";
import type { OrderPush } from "../contract.ts";
import type { SimulatedMarket } from "../market/mod.ts";
import { Auctions } from "./matching/auctions.ts";
import { chargesOf, type Describe, type MarketHistory, totalOf } from "./past/history.ts";
import {
  type Amendment,
  filledCentsOf,
  filledOf,
  isOpen,
  leftOf,
  type LiveFill,
  type LiveOrder,
  mostLeftOf,
  type UpdateDetails,
  updateOf,
} from "./orders/live_order.ts";
import { Matching } from "./matching/matching.ts";
import { OddLots } from "./matching/odd_lots.ts";
import { amountOf, meanPrice, writePrice } from "./account/money.ts";
import type { Entitlement, Holding } from "./past/past.ts";
import { Quotation } from "./matching/quotation.ts";
import {
  type AccountCurrency,
  type Book,
  type BookDay,
  bookRules,
  books,
  dayAt,
  daysBefore,
  markets,
  orderNumber,
} from "./sessions.ts";
import { marginOf, reserveOf } from "./account/short_terms.ts";
import { Tape } from "./matching/tape.ts";

/** Input for the initial state. */
interface StateInit {
  seed: number;
  market: SimulatedMarket;
  tariff: Tariff;
  describe: Describe;
  histories: Readonly<Record<Market, MarketHistory>>;
  cash: Record<AccountCurrency, bigint>;
  holdings: Readonly<Record<Market, Map<string, Holding>>>;
  entitlements: Readonly<Record<Market, Entitlement[]>>;
  /** Maximum number of lots per order. */
  mostLots: Readonly<Record<Book, number>>;
  /** Whether the account may sell stocks short. */
  shorts: boolean;
  startAt: number;
}

/** One book's current day. */
interface Today {
  day: BookDay;
  /** Date of the trading day before. */
  dateBefore: string;
  /** The last ex-date whose dividends and splits have been processed. */
  exDatesUntil: string;
  /** Whether the day's dividends and splits have been processed. */
  actionsDone: boolean;
  /** Whether the day's orders have already expired. */
  closed: boolean;
  /** The day's journal lines without a fill. */
  lines: JournalEntry[];
  orders: LiveOrder[];
  fills: { order: LiveOrder; fill: LiveFill }[];
  /** Number of order numbers used so far. */
  numbered: number;
}

/** Returns a day of a book before anything has happened. */
export function emptyDay(day: BookDay, dateBefore: string): Today {
  return {
    day,
    dateBefore,
    exDatesUntil: dateBefore,
    actionsDone: false,
    closed: false,
    lines: [],
    orders: [],
    fills: [],
    numbered: 0,
  };
}

const larger = (a: bigint, b: bigint): bigint => a > b ? a : b;

/** Cents reserved for each of the up to four parts of an order, because fees are rounded for each fill. */
const ROUNDING_RESERVE = 50n;

/** The broker's state. */
export class State {
  readonly seed: number;
  readonly market: SimulatedMarket;
  readonly tape: Tape;
  readonly #extendedTape: Tape;
  readonly auctions: Auctions;
  readonly quotation: Quotation;
  readonly oddLots: OddLots;
  readonly matching: Matching;
  readonly tariff: Tariff;
  readonly describe: Describe;
  readonly histories: Readonly<Record<Market, MarketHistory>>;
  readonly cash: Record<AccountCurrency, bigint>;
  readonly holdings: Readonly<Record<Market, Map<string, Holding>>>;
  /** Dividends that are not paid yet. */
  readonly entitlements: Readonly<Record<Market, Entitlement[]>>;
  readonly mostLots: Readonly<Record<Book, number>>;
  readonly shorts: boolean;
  readonly today: Readonly<Record<Book, Today>>;
  readonly byId = new Map<string, LiveOrder>();
  /** Cached fees of each order for a number of fills, because every query of cash needs the fees. */
  readonly #fees = new WeakMap<LiveOrder, { fills: number; cents: bigint }>();
  /** Cached cost that each open purchase reserves for its unfilled rest. */
  readonly #costs = new WeakMap<LiveOrder, { left: bigint; price: bigint; cents: bigint }>();
  readonly #listeners = new Set<(push: OrderPush) => void>();
  /** The instant that is being processed. */
  now: number;

  constructor(init: StateInit) {
    this.seed = init.seed;
    this.market = init.market;
    this.tape = new Tape(init.market);
    this.#extendedTape = new Tape(init.market, { extended: true });
    this.auctions = new Auctions(init.seed, init.market);
    this.quotation = new Quotation(init.market, this.tape);
    this.oddLots = new OddLots(init.seed, init.market);
    this.matching = new Matching(this);
    this.tariff = init.tariff;
    this.describe = init.describe;
    this.histories = init.histories;
    this.cash = init.cash;
    this.holdings = init.holdings;
    this.entitlements = init.entitlements;
    this.mostLots = init.mostLots;
    this.shorts = init.shorts;
    this.now = init.startAt;
    const start = (book: Book): Today => {
      const day = dayAt(init.market.calendars, book, init.startAt);
      const before = daysBefore(init.market.calendars, book, day.date, 1)[0]?.date ?? day.date;
      return { ...emptyDay(day, before), closed: init.startAt >= this.endOf(book, day) };
    };
    // There is one entry per book; the type of `fromEntries` does not show that.
    this.today = Object.fromEntries(books.map((book) => [book, start(book)])) as Record<Book, Today>;
  }

  /**
   * Returns the prices at which an order trades: also prices outside the regular hours if the order is for extended
   * hours.
   */
  tapeOf({ extended }: { extended: boolean }): Tape {
    return extended ? this.#extendedTape : this.tape;
  }

  /** Returns when a book's day orders expire: at the close, in Hong Kong after the closing auction. */
  endOf(book: Book, day: BookDay): number {
    return book === "hk" ? this.auctions.matchAt(day, "closing") : day.closeAt;
  }

  /** Returns the next order number of a book. */
  nextNumber(book: Book): string {
    const today = this.today[book];
    return orderNumber(book, today.day.date, ++today.numbered);
  }

  /** Adds a listener and returns a function that removes it. */
  listen(listener: (push: OrderPush) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notifies the listeners of a completed change. */
  push(order: LiveOrder, details?: UpdateDetails): void {
    const update = updateOf(order, this.now, details);
    const kind = order.book === "futures" ? "future" : "stock";
    for (const listener of this.#listeners) listener({ kind, update, at: this.now });
  }

  /** Returns the orders of a book that can still be filled. */
  openOrders(book: Book): LiveOrder[] {
    return this.today[book].orders.filter(isOpen);
  }

  /** Returns the fees that clearing will charge for an order's fills so far, cents. */
  feesSoFar(order: LiveOrder): bigint {
    const { length } = order.fills;
    if (length === 0) return 0n;
    const known = this.#fees.get(order);
    if (known?.fills === length) return known.cents;
    const cents = totalOf(this.charges(order));
    this.#fees.set(order, { fills: length, cents });
    return cents;
  }

  /** Returns the fees of an order's fills of today. In Hong Kong, fees are charged on one merged row. */
  charges(order: LiveOrder) {
    const { book, instrument: { symbol }, isSell, day, multiplier } = order;
    if (book === "futures") return [];
    const write = (price: bigint, quantity: bigint) => ({
      price: writePrice(price),
      quantity: String(quantity),
    });
    const filled = filledOf(order);
    const fills = book === "hk"
      ? [write(meanPrice(filledCentsOf(order), filled, multiplier), filled)]
      : order.fills.map(({ price, quantity }) => write(price, quantity));
    return chargesOf({ symbol, market: book, date: day.date, isSell, fills }, this.describe, this.tariff);
  }

  /**
   * Returns the cash that a purchase would freeze, fees included; cents. A quantity above the single-order maximum
   * becomes several orders, and each of them pays its own fees.
   */
  costOf(
    order: Pick<LiveOrder, "book" | "instrument" | "multiplier" | "day">,
    price: bigint,
    quantity: bigint,
  ): bigint {
    const most = BigInt(this.mostLots[order.book] * order.instrument.lotSize);
    const whole = quantity / most;
    const rest = this.#costOfOne(order, price, quantity % most);
    return whole === 0n ? rest : whole * this.#costOfOne(order, price, most) + rest;
  }

  #costOfOne(
    order: Pick<LiveOrder, "book" | "instrument" | "multiplier" | "day">,
    price: bigint,
    quantity: bigint,
  ): bigint {
    const amount = amountOf(price, quantity, order.multiplier);
    if (order.book === "futures" || quantity === 0n) return amount;
    const fees = chargesOf(
      {
        symbol: order.instrument.symbol,
        market: order.book,
        date: order.day.date,
        isSell: false,
        fills: [{ price: writePrice(price), quantity: String(quantity) }],
      },
      this.describe,
      this.tariff,
    );
    return amount + totalOf(fees) + 4n * ROUNDING_RESERVE;
  }

  /** Returns the cash that an order reserves: for its rest, and for fees that are not charged yet; cents. */
  heldBy(order: LiveOrder): { order: bigint; fees: bigint } {
    if (order.book === "futures") return { order: 0n, fees: 0n };
    const { amendment } = order;
    if (order.isShort === true && order.isSell && isOpen(order)) {
      const price = larger(order.frozenPrice, amendment?.frozenPrice ?? 0n);
      return { order: marginOf(amountOf(price, mostLeftOf(order), 1n)), fees: this.feesSoFar(order) };
    }
    // A purchase that closes a short position is paid from the cash that the position reserves.
    if (order.isSell || order.isShort === true || !isOpen(order)) {
      return { order: 0n, fees: this.feesSoFar(order) };
    }
    if (amendment !== undefined) {
      return { order: this.#costWith(order, amendment), fees: this.feesSoFar(order) };
    }
    // The unfilled rest is priced like a separate order, whose fees are never lower than the rest's share of all fees.
    const left = leftOf(order);
    let cost = this.#costs.get(order);
    if (cost?.left !== left || cost.price !== order.frozenPrice) {
      cost = { left, price: order.frozenPrice, cents: this.costOf(order, order.frozenPrice, left) };
      this.#costs.set(order, cost);
    }
    return { order: cost.cents, fees: this.feesSoFar(order) };
  }

  /**
   * Returns the cash that covers the rest of a purchase before and after an amendment arrives, fees included; cents.
   */
  #costWith(order: LiveOrder, { quantity, further, frozenPrice }: Amendment): bigint {
    const [filled, left, most] = [filledOf(order), leftOf(order), mostLeftOf(order)];
    const before = this.costOf(order, order.frozenPrice, left);
    // The whole rest may still fill at the old, higher price before the amendment arrives. After that, only the added
    // quantity is left for the new, lower price.
    if (frozenPrice < order.frozenPrice) return before + this.costOf(order, frozenPrice, most - left);
    const own = quantity > filled ? quantity - filled : 0n;
    return larger(before, this.costOf(order, frozenPrice, own) + this.costOf(order, frozenPrice, further));
  }

  /** Returns the cash of a currency that orders, uncharged fees and short positions reserve, cents. */
  frozen(currency: AccountCurrency, except?: LiveOrder): { byOrders: bigint; all: bigint } {
    let [byOrders, fees] = [0n, 0n];
    for (const book of books) {
      if (book === "futures" || bookRules[book].currency !== currency) continue;
      for (const order of this.today[book].orders) {
        if (order === except) {
          fees += this.feesSoFar(order);
          continue;
        }
        const held = this.heldBy(order);
        byOrders += held.order;
        fees += held.fees;
      }
    }
    return { byOrders, all: byOrders + fees + this.#shortReserve(currency) };
  }

  /** Returns the cash that the short positions of a currency reserve, cents. */
  #shortReserve(currency: AccountCurrency): bigint {
    let sum = 0n;
    for (const market of markets) {
      if (!this.shorts || bookRules[market].currency !== currency) continue;
      for (const [symbol, { quantity }] of this.holdings[market]) {
        if (quantity < 0n) sum += reserveOf(amountOf(this.tape.price(symbol, this.now), -quantity));
      }
    }
    return sum;
  }

  /** Returns the available cash of a currency, cents. */
  available(currency: AccountCurrency, except?: LiveOrder): bigint {
    return this.cash[currency] - this.frozen(currency, except).all;
  }

  /** Returns the quantity of a listing that was bought today; with `isSell`, the quantity that was sold. */
  tradedToday(market: Market, symbol: string, isSell: boolean): bigint {
    return this.today[market].fills.reduce(
      (sum, { order, fill }) =>
        order.isSell === isSell && order.instrument.symbol === symbol ? sum + fill.quantity : sum,
      0n,
    );
  }

  /** Returns the quantity of a listing that can be sold now. */
  sellable(market: Market, symbol: string, except?: LiveOrder): bigint {
    const held = this.holdings[market].get(symbol)?.quantity ?? 0n;
    const offered = this.openOrders(market).reduce(
      (sum, order) =>
        order.isSell && order !== except && order.instrument.symbol === symbol
          ? sum + mostLeftOf(order)
          : sum,
      0n,
    );
    const isNorthbound = market === "shanghai" || market === "shenzhen";
    const locked = isNorthbound ? this.tradedToday(market, symbol, false) : 0n;
    const free = held - offered - locked;
    return free < 0n ? 0n : free;
  }
}
