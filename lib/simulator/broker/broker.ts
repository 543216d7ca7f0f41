/**
 * Simulates the broker: one account with cash, holdings, a history, and orders that are processed while the clock runs.
 *
 * `past/history.ts` describes how the lists agree with each other; `sessions.ts` says when a day ends and is cleared. The
 * endpoints handle logins and subscriptions themselves, and call the broker for every other operation.
 *
 * @example An account with ten days of history
 * ```ts
 * import { Broker } from "./broker.ts";
 * import { ManualClock } from "../../time.ts";
 * const clock = new ManualClock(Date.parse("2025-08-15T03:00:00Z"));
 * const broker = new Broker({ seed: 1, clock, days: 10 });
 * if (!Array.isArray(broker.call("account.holdings", { market: "hk" }))) throw new Error("no holdings");
 * ```
 *
 * @module
 */
import type { Calendars, ExtendedSession } from "../../calendars/mod.ts";
import { type Decimal, multiply } from "../../decimal.ts";
import type { Market } from "../../operations/public_types.ts";
import { exampleTariff, type Tariff } from "../../facts/fees.ts";
import type { Clock } from "../../time.ts";
import type { BrokerName, Handlers, OperationName, OrderPush } from "../contract.ts";
import { SimulatedMarket } from "../market/mod.ts";
import type { MarketPlan } from "../market/scripted.ts";
import { accountHandlers } from "./account/account.ts";
import { AlgoDesk } from "./orders/algo.ts";
import { invalid } from "./orders/checks.ts";
import { ConditionalDesk } from "./orders/conditional.ts";
import { Engine } from "./engine.ts";
import { FuturesDesk } from "./orders/futures.ts";
import { FuturesAccount, makeFuturesPast } from "./account/futures_account.ts";
import { describing, MarketHistory } from "./past/history.ts";
import { type FillRule, isOpen } from "./orders/live_order.ts";
import { makePast } from "./past/make_past.ts";
import { readCents, writePrice } from "./account/money.ts";
import { makePastOrders } from "./past/past_orders.ts";
import { orderHandlers } from "./orders/order_handlers.ts";
import type { PauseKind } from "./matching/pauses.ts";
import { quoteHandlers } from "./quotes.ts";
import {
  type AccountCurrency,
  type Book,
  type BookDay,
  bookRules,
  dayAt,
  daysBefore,
  markets,
} from "./sessions.ts";
import { State } from "./state.ts";

/** Options of a broker. */
export interface BrokerOptions {
  /** The same seed and clock give the same account. */
  seed: number;
  /** The clock that the broker sees. */
  clock: Clock;
  /** Trading days of history per market. @default 250 */
  days?: number;
  /** Rows of fills per market and day of history. @default 6 */
  fillsPerDay?: number;
  /** The trading days of the exchanges. @default the built-in calendars */
  calendars?: Calendars;
  /** Scripted moves and halts of the default market. @default none */
  plan?: MarketPlan;
  /** The market in which orders are executed. @default a market of the same seed and calendars */
  market?: SimulatedMarket;
  /** The broker's charges. @default the example tariff */
  tariff?: Tariff;
  /**
   * Maximum number of lots per order (US: shares; futures: contracts). A larger order is split. @default see
   * `MOST_LOTS`
   */
  mostLots?: Partial<Record<Book, number>>;
  /** Whether the account may sell stocks of Hong Kong and the United States short. @default false */
  shorts?: boolean;
}

/** Maximum number of lots of a single order. */
const MOST_LOTS: Readonly<Record<Book, number>> = {
  hk: 3_000,
  us: 500_000,
  shanghai: 10_000,
  shenzhen: 10_000,
  futures: 500,
};

/** A simulated broker. */
export class Broker {
  /** The market in which its orders are executed. */
  readonly market: SimulatedMarket;
  readonly #clock: Clock;
  readonly #state: State;
  readonly #engine: Engine;
  readonly #handlers: Handlers<BrokerName>;

  /** Creates a broker with its past. */
  constructor(options: BrokerOptions) {
    const { seed, clock, days = 250, fillsPerDay = 6, tariff = exampleTariff } = options;
    this.market = options.market ??
      new SimulatedMarket({ seed, calendars: options.calendars, plan: options.plan });
    this.#clock = clock;
    const startAt = clock.now();
    const past = makeAccount({ seed, market: this.market, days, fillsPerDay, tariff, startAt });
    this.#state = new State({
      seed,
      market: this.market,
      tariff,
      mostLots: { ...MOST_LOTS, ...options.mostLots },
      shorts: options.shorts ?? false,
      startAt,
      ...past,
    });
    const desks = {
      conditional: new ConditionalDesk(this.#state, past.orders.flatMap(({ conditional }) => conditional)),
      algo: new AlgoDesk(
        this.#state,
        // Each past order has `sentAt`.
        past.orders.flatMap(({ algo }) => algo).sort((a, b) => a.row.sentAt! < b.row.sentAt! ? -1 : 1),
      ),
      futures: new FuturesDesk(this.#state, past.futures),
    };
    this.#engine = new Engine(this.#state, desks);
    this.#handlers = {
      ...orderHandlers(this.#state, desks),
      ...accountHandlers(this.#state),
      ...quoteHandlers(this.#state),
      ...desks.futures.handlers,
    };
  }

  /**
   * Executes one operation with decoded and validated parameters. Returns the result with hsgate's names.
   *
   * @throws {Refusal} If the broker rejects the operation.
   */
  call(name: OperationName, params: unknown): unknown {
    this.settle();
    if (!Object.hasOwn(this.#handlers, name)) throw invalid(`the broker has no operation "${name}"`);
    // The name was checked above, and the endpoint has validated the parameters of this operation.
    const handler = this.#handlers[name as BrokerName] as (params: unknown) => unknown;
    return handler(params);
  }

  /**
   * Adds a listener for order changes. Returns a function that removes it. Listeners see the state after the
   * change.
   */
  onOrderPush(listener: (push: OrderPush) => void): () => void {
    return this.#state.listen(listener);
  }

  /** Returns what the market did to today's orders, up to the last processed event. */
  matches(): Matches {
    const books = Object.values(this.#state.today);
    return {
      fills: books.flatMap(({ fills }) =>
        fills.map(({ order, fill: { id, price, quantity, at, rule, session } }) => ({
          id,
          symbol: order.instrument.symbol,
          price: writePrice(price),
          quantity: String(quantity),
          at: new Date(at).toISOString(),
          rule,
          ...(session === undefined ? {} : { session }),
        }))
      ),
      queues: books.flatMap(({ orders }) =>
        orders.flatMap(({ id, instrument: { symbol }, status, ahead }) =>
          ahead === undefined || !isOpen({ status }) ? [] : [{ orderId: id, symbol, ahead: String(ahead) }]
        )
      ),
      pauses: books.flatMap(({ day, orders }) =>
        [...new Set(orders.map(({ instrument: { symbol } }) => symbol))].flatMap((symbol) =>
          this.#state.tape.pauses(symbol, day.openAt - 1, Math.min(this.#state.now, day.closeAt))
            .map(({ kind, from, until, band }) => ({
              symbol,
              kind,
              from: new Date(from).toISOString(),
              until: new Date(until).toISOString(),
              ...(band === undefined ? {} : { low: writePrice(band.low), high: writePrice(band.high) }),
            }))
        )
      ),
    };
  }

  /** Processes all events up to now: fills, triggers, expiry, clearing. */
  settle(): void {
    this.#engine.settle(this.#clock.now());
  }
}

/** What the market did to today's orders. The real broker does not show this. */
export interface Matches {
  /** The fills, with the rule that made each of them, and the session of a trade outside the regular hours. */
  fills: {
    id: string;
    symbol: string;
    price: Decimal;
    quantity: Decimal;
    at: string;
    rule: FillRule;
    session?: ExtendedSession;
  }[];
  /** The volume ahead of each open order that waits in the queue at its limit. */
  queues: { orderId: string; symbol: string; ahead: Decimal }[];
  /**
   * The pauses that have begun today, for each listing of which there is an order. `low` and `high` are the lowest and
   * the highest price that the pause allows.
   */
  pauses: { symbol: string; kind: PauseKind; from: string; until: string; low?: Decimal; high?: Decimal }[];
}

interface AccountOptions {
  seed: number;
  market: SimulatedMarket;
  days: number;
  fillsPerDay: number;
  tariff: Tariff;
  startAt: number;
}

/** Generates the account's history: every market, and the futures. */
function makeAccount({ seed, market: simulated, days, fillsPerDay, tariff, startAt }: AccountOptions) {
  const daysOf = (book: Book) =>
    daysBefore(simulated.calendars, book, dayAt(simulated.calendars, book, startAt).date, days);
  const hk = daysOf("hk");
  const us = daysOf("us");
  const exchanges = exchangesOf(simulated, hk, us);
  const describe = describing(simulated);
  const cash: Record<AccountCurrency, bigint> = { HKD: 0n, USD: 0n, CNY: 0n };
  const made = markets.map((market) => {
    const own = market === "hk" ? hk : market === "us" ? us : daysOf(market);
    const past = makePast({
      market,
      days: own,
      fillsPerDay,
      simulated,
      seed,
      tariff,
      exchanges: exchanges[market] ?? new Map(),
    });
    cash[bookRules[market].currency] += past.cash;
    return { market, past, history: new MarketHistory(past, describe, tariff) };
  });
  // There is one entry per market; the type of `fromEntries` does not show that.
  const histories = Object.fromEntries(made.map(({ market, history }) => [market, history])) as Record<
    Market,
    MarketHistory
  >;
  // There is one entry per market, as above.
  const holdings = Object.fromEntries(made.map(({ market, past }) => [market, past.holdings])) as Record<
    Market,
    (typeof made)[number]["past"]["holdings"]
  >;
  // There is one entry per market, as above.
  const entitlements = Object.fromEntries(
    made.map(({ market, past }) => [market, past.entitlements]),
  ) as Record<
    Market,
    (typeof made)[number]["past"]["entitlements"]
  >;
  const futures = new FuturesAccount(tariff);
  makeFuturesPast(futures, daysOf("futures"), simulated);
  const orders = made.map(({ past }) => makePastOrders(past, simulated));
  return { describe, cash, histories, holdings, entitlements, futures, orders };
}

/** Number of days between exchanges of Hong Kong dollars for US dollars, and the US dollars of each exchange. */
const EXCHANGE_EVERY = 60;
const EXCHANGED_USD = "10000";

/**
 * Returns the currency exchanges, on days when both markets trade. Each exchange pays Hong Kong dollars and gets US
 * dollars.
 */
function exchangesOf(market: SimulatedMarket, hk: readonly BookDay[], us: readonly BookDay[]) {
  const american = new Set(us.map(({ date }) => date));
  const found: Partial<Record<Market, Map<string, bigint>>> = { hk: new Map(), us: new Map() };
  hk.forEach(({ date }, index) => {
    if (index % EXCHANGE_EVERY !== EXCHANGE_EVERY / 2 || !american.has(date)) return;
    found.hk?.set(date, -readCents(multiply(EXCHANGED_USD, market.currencyRates(date).USDHKD)));
    found.us?.set(date, readCents(EXCHANGED_USD));
  });
  return found;
}
