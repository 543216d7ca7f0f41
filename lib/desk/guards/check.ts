/**
 * Provides the data for the guard rails of one write: the order, the time and the market. Reads each quote, book and
 * list from the broker at most once, and only if a rule needs it.
 *
 * @module
 */
import { type Calendars, calendarZone, dateAt, wallInstant } from "../../calendars/mod.ts";
import type { LimitName, Limits } from "../../client/limits.ts";
import { compare, type Decimal } from "../../decimal.ts";
import type { QuoteSession } from "../../dictionaries/quote.ts";
import { BrokerError, RejectedError, UnmappedError } from "../../errors.ts";
import { lotSize } from "../../facts/listings.ts";
import type { Quote } from "../../operations/quotes.ts";
import type { Store } from "../../store/store.ts";
import type { Machine } from "../../time.ts";
import { isSameSymbol, zoneOfMarket } from "../broker_lists.ts";
import type { PlannedWrite } from "../desk.ts";
import { type CountedIntent, countedIntents } from "../queries.ts";
import {
  hasReached,
  lastOf,
  mics,
  most,
  type Order,
  orderOf,
  type OrderParams,
  priceOf,
  typeOf,
} from "./order.ts";
import { isBuy, isSameSide } from "../terms.ts";

/** What guard rails need besides the limits. */
export interface GuardDeps {
  store: Store;
  machine: Machine;
  /** The account whose intents count in the limits. */
  account: string;
  /** Returns the current trading days of the exchanges. */
  calendars(): Calendars;
}

/** One guard rail. */
export interface Rule {
  /** Name in the text of a refusal; if a setting controls the rule, the name of that setting. */
  name: string;
  /** What the rule limits or refuses, in Markdown, for the table in `docs/guards.md`. */
  about: string;
  /** Whether the rule also checks an amendment that changes neither quantity nor price. @default false */
  checksEveryWrite?: boolean;
  /** Throws the result of {@linkcode Check.refuse} if the order is not allowed. */
  check(check: Check): void | Promise<void>;
}

/** A guard rail refused an order. Nothing was sent. */
export class GuardRefusal extends BrokerError {
  /** Name of the rule. */
  readonly rule: string;

  constructor(
    rule: string,
    { operation, what, advice }: { operation: string; what: string; advice: string },
  ) {
    super(`Cannot send ${operation}: the guard rail ${rule} refuses it: ${what}; ${advice}`, {
      code: "guard",
      operation,
    });
    this.rule = rule;
  }
}

const MINUTE_MS = 60_000;
/** Limits that need the value of every order. */
const limitsOfValue: readonly LimitName[] = ["maxOrderValue", "maxSymbolValue", "maxDayValue"];
/** Intents that were planned up to this long before the counted period are read, too: they may have been sent in it. */
const PLANNED_MS = 60 * MINUTE_MS;

/** A quote, and the session that it shows. */
export interface SessionQuote {
  /** `undefined` if the broker's answer is empty. */
  quote: Quote | undefined;
  /** `undefined` for the regular hours. */
  session: QuoteSession | undefined;
}

/** Best prices of an order book. */
export interface BestPrices {
  bid?: Decimal;
  ask?: Decimal;
}

/**
 * The data that the guard rails need to check one write. The commands show the same data before they ask, so that a
 * person decides about the market that the guard rails check.
 */
export class Check {
  readonly limits: Limits;
  readonly deps: GuardDeps;
  readonly planned: PlannedWrite;
  /** The parameters of the write. */
  readonly params: OrderParams;
  /** The broker's clock minus this machine's. */
  readonly #aheadMs: number;
  readonly #read = new Map<string, Promise<unknown>>();
  readonly #wasExtended: boolean;
  #order: Order | undefined;

  /** @param wasExtended Whether the amended order, if there is one, may trade outside the regular hours. */
  constructor(limits: Limits, deps: GuardDeps, planned: PlannedWrite, wasExtended: boolean) {
    this.limits = limits;
    this.deps = deps;
    this.planned = planned;
    this.params = planned.params as OrderParams; // the operation's schema has checked them
    this.#aheadMs = planned.reading?.aheadMs ?? 0;
    this.#wasExtended = wasExtended;
  }

  /** The broker's time. */
  get now(): number {
    return this.deps.machine.now() + this.#aheadMs;
  }

  /** Today's date in the market of the order. */
  today({ market }: Pick<Order, "market">): string {
    return dateAt(this.now, calendarZone[mics[market]]);
  }

  /** Start of the market's day, by the broker's clock. */
  #dayStart(market: string | undefined): number {
    const zone = zoneOfMarket(market);
    return wallInstant(dateAt(this.now, zone), "00:00", zone);
  }

  /**
   * Returns whether an intent is of the present day of the order's market. The broker's time at the intent's approval
   * decides, because this machine's clock may have been wrong then.
   */
  isOfToday({ brokerAt, sentAt, createdAt }: CountedIntent): boolean {
    return (brokerAt ?? (sentAt ?? createdAt) + this.#aheadMs) >= this.#dayStart(this.order.market);
  }

  /** The order as it would be after the write. @throws {BrokerError} If the lists do not show the amended order. */
  get order(): Order {
    if (this.#order !== undefined) return this.#order;
    const order = orderOf(this.planned);
    if (order !== undefined) {
      this.#compare(order);
      return this.#order = { ...order, isExtended: order.isExtended || this.#wasExtended };
    }
    throw this.refuse(
      "amended-order",
      `the broker's lists do not show order ${this.params.orderId}`,
      "amend an order that the lists show",
    );
  }

  /**
   * Refuses an amendment if its symbol, order type or side differs from that of the order in the lists: the broker
   * would not change these terms.
   */
  #compare({ before }: Order): void {
    if (before === undefined) return;
    const { symbol, orderType, side, orderId } = this.params;
    const compared = [
      { name: "symbol", given: symbol, listed: before.symbol, isEqual: isSameSymbol },
      { name: "order type", given: orderType, listed: before.orderType, isEqual: Object.is },
      // The broker itself decides whether a side opens or closes a position.
      { name: "side", given: side, listed: before.side, isEqual: isSameSide },
    ];
    for (const { name, given, listed, isEqual } of compared) {
      if (given === undefined || listed === undefined || isEqual(given, listed)) continue;
      throw this.refuse(
        "amended-order",
        `the ${name} of order ${orderId} is "${listed}", and the amendment says "${given}"`,
        `the amendment must say "${listed}"`,
      );
    }
  }

  /** Calls `read` at the first call with a name. Later calls with the same name return the same result. */
  once<T>(what: string, read: () => Promise<T>): Promise<T> {
    return this.#read.getOrInsertComputed(what, read) as Promise<T>; // each name always has the same `read`
  }

  /** Returns the account's other intents that may count in the limits, oldest first. */
  intents(): Promise<CountedIntent[]> {
    const { store, account, machine } = this.deps;
    return this.once("intents", async () => {
      // An amendment of an algorithmic order need not name its market.
      const market = orderOf(this.planned)?.market ?? this.params.market;
      const brokerSince = this.#dayStart(market);
      const since = Math.min(brokerSince - this.#aheadMs, machine.now() - MINUTE_MS) - PLANNED_MS;
      const intents = await countedIntents(store, account, { since, brokerSince });
      return intents.filter(({ id }) => id !== this.planned.id);
    });
  }

  /** Reads the quote of a listing; `undefined` if the broker gives none, or if the code has an unknown form. */
  async quoteOf(order: Pick<Order, "symbol" | "market"> & Partial<Order>): Promise<Quote | undefined> {
    try {
      return (await this.readQuote(order)).quote;
    } catch (error) {
      if (error instanceof RejectedError) return undefined; // no permission for this market's quotes
      throw error;
    }
  }

  /**
   * Like `quoteOf`, with the session that the quote shows.
   *
   * @throws {RejectedError} If the broker rejects the request.
   */
  readQuote(order: Pick<Order, "symbol" | "market"> & Partial<Order>): Promise<SessionQuote> {
    const { symbol } = order;
    const type = typeOf(symbol);
    const session = this.sessionOf(order);
    if (type === undefined) return Promise.resolve({ quote: undefined, session });
    return this.once(`quote of ${symbol}`, async () => {
      const { client: { quotes: { latest } }, signal } = this.planned;
      const securities = [{ type, symbol }];
      const options = { ...signal && { signal } };
      if (session !== undefined) {
        try {
          const [quote] = await latest({ securities, session }, options);
          return { quote, session };
        } catch (error) {
          // The socket cannot request the quote of a session. Its quote has a time, which `quoteMaxAge` checks.
          if (!(error instanceof UnmappedError)) throw error;
        }
      }
      const [quote] = await latest({ securities }, options);
      return { quote, session: undefined };
    });
  }

  /** Returns the extended US session whose quotes an order needs; `undefined` if it needs the regular quote. */
  sessionOf({ market, isExtended }: Pick<Order, "market"> & Partial<Order>): QuoteSession | undefined {
    if (market !== "us" || isExtended !== true) return undefined;
    const session = this.deps.calendars().sessionOn("XNYS", dateAt(this.now, calendarZone.XNYS));
    if (typeof session === "string") return undefined;
    return this.now < session.openAt ? "pre-market" : this.now >= session.closeAt ? "after-hours" : undefined;
  }

  /** Reads the best prices of the order book; empty if the broker gives no book. */
  async book(): Promise<BestPrices> {
    try {
      return await this.readBook();
    } catch (error) {
      if (error instanceof RejectedError) return {}; // without a book, only the last price counts
      throw error;
    }
  }

  /** Like `book`. @throws {RejectedError} If the broker rejects the request. */
  readBook(): Promise<BestPrices> {
    const { symbol } = this.order;
    const type = typeOf(symbol);
    if (type === undefined || type === "us-otc-stock") return Promise.resolve({});
    return this.once("book", async () => {
      const session = this.sessionOf(this.order);
      const { client, signal } = this.planned;
      const { bids, asks } = await client.quotes.orderBook({
        security: { type, symbol },
        ...session !== undefined && { session },
      }, { ...signal && { signal } });
      const [bid, ask] = [bids, asks].map((levels) => priceOf(levels?.[0] ?? {}));
      return { ...bid !== undefined && { bid }, ...ask !== undefined && { ask } };
    });
  }

  /**
   * Returns the price at which the order is valued: usually its own price. Some orders may fill at a higher price than
   * their own, so they are valued at the highest of several prices:
   * - an order with a trigger price: its own price and the trigger price, and the last price if the market has reached
   * the trigger;
   * - a trailing order, and a sale while `priceCollar` is off: its own price and the last price;
   * - an order without a price: the last price and the best ask.
   *
   * @param rule The rule that needs the price; named in the refusal if the broker has no price either.
   */
  async price(rule: string): Promise<Decimal> {
    const { order } = this;
    const { price, trigger = "0", trail } = order;
    const mayFillHigher = !isBuy(order.side) && this.limits.priceCollar === undefined;
    if (price !== undefined && !order.isConditional && !mayFillHigher) return price;
    const last = lastOf(await this.quoteOf(order));
    if (price !== undefined && (last !== undefined || trail === undefined)) {
      const isAtLast = trail !== undefined || mayFillHigher || last !== undefined && hasReached(order, last);
      return most(most(price, trigger), isAtLast && last !== undefined ? last : "0");
    }
    if (price !== undefined && !limitsOfValue.some((name) => this.limits[name] !== undefined)) return price;
    if (last === undefined) {
      throw this.refuse(
        rule,
        `${
          trail === undefined ? "the order has no price" : "the order follows the market"
        }, and the broker sent no price of "${order.symbol}"`,
        "try again later, or send a limit order",
      );
    }
    const { ask } = await this.book();
    return ask !== undefined && compare(ask, last) > 0 ? ask : last;
  }

  /** Returns the lot of the order's listing; `undefined` if no source has it. The broker checks the lot too. */
  async lot(): Promise<Decimal | undefined> {
    const { market, symbol } = this.order;
    if (market === "us" || market === "futures") return "1"; // any whole number is valid in these markets
    const quote = await this.quoteOf(this.order);
    if (quote?.lotSize !== undefined && quote.lotSize > 0) return String(quote.lotSize);
    try {
      return String(lotSize(symbol, this.today(this.order)));
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /**
   * Returns the error of a rule that refuses the write.
   *
   * @param what The value that the rule refuses, or why it cannot be checked.
   * @param advice The nearest valid values, or what to do.
   */
  refuse(rule: string, what: string, advice: string): GuardRefusal {
    return new GuardRefusal(rule, { operation: this.planned.operation.name, what, advice });
  }

  /** Returns an error for a limit that could not be checked, because a value is missing. */
  unchecked(rule: LimitName, why: string): BrokerError {
    return this.refuse(
      rule,
      `it could not be checked, because ${why}`,
      `try again later, or set ${rule} to "off" to skip this check`,
    );
  }

  /**
   * Like `unchecked`, for a limit that needs a quote. With this limit off, a limit order can be sent without a quote;
   * an order without a price cannot, because other rules need its price.
   */
  unquoted(rule: LimitName, why: string): BrokerError {
    if (this.order.price !== undefined) return this.unchecked(rule, why);
    return this.refuse(
      rule,
      `it could not be checked, because ${why}`,
      `try again later, or send a limit order with ${rule} set to "off"`,
    );
  }
}
