/**
 * A broker with state: one account with cash, holdings, a past, and orders that live while the clock runs.
 *
 * What the lists tie to stands in `history.ts`; when a day ends and is cleared stands in `sessions.ts`. The front
 * doors keep logins and subscriptions themselves; everything else comes here by the operation's name.
 *
 * @example An account with ten days behind it
 * ```ts
 * import { Broker } from "./broker.ts";
 * import { ManualClock } from "../clock.ts";
 * const clock = new ManualClock(Date.parse("2025-08-15T03:00:00Z"));
 * const broker = new Broker({ seed: 1, clock, days: 10 });
 * if (!Array.isArray(broker.call("account.holdings", { market: "hk" }))) throw new Error("no holdings");
 * ```
 *
 * @module
 */
import { multiply } from "../../decimal.ts";
import type { Market } from "../../dictionaries/market.ts";
import { exampleTariff, type Tariff } from "../../facts/fees.ts";
import type { Clock } from "../clock.ts";
import type { Handlers, OperationName, OrderPush } from "../contract.ts";
import { SimulatedMarket } from "../market/mod.ts";
import { accountHandlers } from "./account.ts";
import { AlgoDesk } from "./algo.ts";
import { invalid } from "./checks.ts";
import { ConditionalDesk } from "./conditional.ts";
import { Engine } from "./engine.ts";
import { FuturesDesk } from "./futures.ts";
import { FuturesAccount, makeFuturesPast } from "./futures_account.ts";
import { describing, MarketHistory } from "./history.ts";
import { makePast } from "./make_past.ts";
import { readCents } from "./money.ts";
import { orderHandlers } from "./order_handlers.ts";
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

/** What a broker is made from. */
export interface BrokerOptions {
  /** The same seed and clock make the same account. */
  seed: number;
  clock: Clock;
  /** Trading days of history per market. @default 250 */
  days?: number;
  /** Rows of fills per market and day of history. @default 6 */
  fillsPerDay?: number;
  /** @default a market of the same seed */
  market?: SimulatedMarket;
  /** @default the example tariff */
  tariff?: Tariff;
  /** Lots (shares in the US, contracts) that one order may have; more is split. @default see `MOST_LOTS` */
  mostLots?: Partial<Record<Book, number>>;
}

/** Single-order maximum in lots. */
export const MOST_LOTS: Readonly<Record<Book, number>> = {
  hk: 3_000,
  us: 500_000,
  shanghai: 10_000,
  shenzhen: 10_000,
  futures: 500,
};

/** Names that the front doors answer themselves: logins, subscriptions, the platform. */
export type FrontDoorName =
  | `account.${"login" | "logout" | "keepLogin"}`
  | `orders.${"subscribe" | "unsubscribe"}`
  | `quotes.${"subscribe" | "unsubscribe"}`
  | "futures.resetPassword"
  | Extract<OperationName, `platform.${string}`>;

/** Names that the broker answers. */
export type BrokerName = Exclude<OperationName, FrontDoorName>;

/** A broker. */
export class Broker {
  /** The market that its orders meet. */
  readonly market: SimulatedMarket;
  readonly #clock: Clock;
  readonly #state: State;
  readonly #engine: Engine;
  readonly #handlers: Handlers<BrokerName>;

  constructor(options: BrokerOptions) {
    const { seed, clock, days = 250, fillsPerDay = 6, tariff = exampleTariff } = options;
    this.market = options.market ?? new SimulatedMarket({ seed });
    this.#clock = clock;
    const startAt = clock.now();
    const past = makeAccount({ seed, market: this.market, days, fillsPerDay, tariff, startAt });
    this.#state = new State({
      seed,
      market: this.market,
      tariff,
      mostLots: { ...MOST_LOTS, ...options.mostLots },
      startAt,
      ...past,
    });
    const desks = {
      conditional: new ConditionalDesk(this.#state),
      algo: new AlgoDesk(this.#state),
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
   * Answers one operation, with params that are decoded and checked, by a result in our names.
   *
   * @throws {Refusal} When the broker says no.
   */
  call(name: OperationName, params: unknown): unknown {
    this.settle();
    if (!Object.hasOwn(this.#handlers, name)) throw invalid(`operation "${name}" is not the broker's`);
    // The name was looked up above, and the front door has checked the params of that very operation.
    const handler = this.#handlers[name as BrokerName] as (params: unknown) => unknown;
    return handler(params);
  }

  /** Adds a listener for changes of orders and returns what removes it. Listeners see the state after the change. */
  onOrderPush(listener: (push: OrderPush) => void): () => void {
    return this.#state.listen(listener);
  }

  /** Lets time pass up to now: fills, triggers, expiry, clearing. */
  settle(): void {
    this.#engine.settle(this.#clock.now());
  }
}

interface AccountOptions {
  seed: number;
  market: SimulatedMarket;
  days: number;
  fillsPerDay: number;
  tariff: Tariff;
  startAt: number;
}

/** Makes the account's past: every market, and the futures. */
function makeAccount({ seed, market: simulated, days, fillsPerDay, tariff, startAt }: AccountOptions) {
  const daysOf = (book: Book) => daysBefore(book, dayAt(book, startAt).date, days);
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
  // One entry for each market, which `fromEntries` cannot say.
  const histories = Object.fromEntries(made.map(({ market, history }) => [market, history])) as Record<
    Market,
    MarketHistory
  >;
  // As above.
  const holdings = Object.fromEntries(made.map(({ market, past }) => [market, past.holdings])) as Record<
    Market,
    (typeof made)[number]["past"]["holdings"]
  >;
  const futures = new FuturesAccount(tariff);
  makeFuturesPast(futures, daysOf("futures"), simulated);
  return { describe, cash, histories, holdings, futures };
}

/** Every how many days of Hong Kong dollars are exchanged, and how many US dollars for. */
const EXCHANGE_EVERY = 60;
const EXCHANGED_USD = "10000";

/** Exchanges of currency, on days that both sides trade: what leaves one purse comes into the other. */
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
