/**
 * The guard rails of the order desk: checks that an order must pass before it is sent. A guard rail refuses an order or
 * lets it pass, but never changes the order. Every refusal names the rule, the value, and the nearest valid value.
 *
 * Cancellations pass, so that an order can always be taken back. The limits and their settings: `client/limits.ts`.
 *
 * @module
 */
import { type Calendars, calendarZone, type Mic } from "../calendars/mod.ts";
import { addDays, dateAt, wallInstant } from "../calendars/trading_days.ts";
import { type Amounts, type LimitName, type Limits } from "../client/limits.ts";
import { securityOf } from "../client/security.ts";
import {
  add,
  compare,
  type Decimal,
  divide,
  isZero,
  multiply,
  normalize,
  round,
  subtract,
  toStep,
} from "../decimal.ts";
import { conditionalTypes, trailingTypes } from "../dictionaries/order_type.ts";
import type { QuoteSession } from "../dictionaries/quote.ts";
import type { SecurityType } from "../dictionaries/security_type.ts";
import { BrokerError, RejectedError } from "../errors.ts";
import { futureContract, optionMultiplier } from "../facts/contracts.ts";
import { listing, lotSize, type Market } from "../facts/listings.ts";
import { tickTable } from "../facts/price_rules.ts";
import type { Quote } from "../operations/quotes.ts";
import type { Store } from "../store/store.ts";
import type { Machine } from "../time.ts";
import { endedStates, type SeenOrder, zoneOfMarket } from "./broker_lists.ts";
import type { PlannedWrite } from "./desk.ts";
import { type CountedIntent, countedIntents } from "./queries.ts";

/** What guard rails need besides the limits. */
export interface GuardDeps {
  store: Store;
  machine: Machine;
  /** The account whose intents count. */
  account: string;
  /** Returns the trading days of the exchanges, as they are now. */
  calendars(): Calendars;
}

/** What a guard rail found out, for the record of the intent. */
export interface Approval {
  /** Price by which an order without a price of its own counts in the value limits. */
  reference?: Decimal;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** An intent is sent at most this long after it was planned. */
const PLANNED_MS = HOUR_MS;
/** Days whose volume is averaged. */
const VOLUME_DAYS = 20;

/**
 * Returns the guard rails of an account, as the `guard` of its desk. They throw a `BrokerError` with the code `guard` if
 * they refuse an order.
 */
export function guardsOf(
  limits: Limits,
  deps: GuardDeps,
): (planned: PlannedWrite) => Promise<Approval | undefined> {
  return (planned) => new Check(limits, deps, planned).run();
}

/** An order as a write would leave it at the broker. */
interface Order {
  /** Where it trades; all futures are one place. */
  market: Market | "futures";
  symbol: string;
  side: string;
  quantity: Decimal;
  /** Absent if the order has no price of its own. */
  price: Decimal | undefined;
  orderType: string;
  isConditional: boolean;
  isExtended: boolean;
  /** The amended order, as the broker's lists show it. */
  before: SeenOrder | undefined;
}

/** The parameters that the order writes of all families use. */
interface OrderParams {
  market?: Market;
  symbol?: string;
  side?: string;
  quantity?: Decimal;
  price?: Decimal;
  orderType?: string;
  orderId?: string;
  triggerValue?: Decimal;
  tradingHours?: string;
  session?: string;
}

/** A period in which a market accepts an order, Unix milliseconds. */
interface Period {
  from: number;
  to: number;
}

const mics: Readonly<Record<Order["market"], Mic>> = {
  hk: "XHKG",
  us: "XNYS",
  shanghai: "CONNECT_SH",
  shenzhen: "CONNECT_SZ",
  futures: "XHKG",
};

const auctionTypes = ["auction", "auction-limit"];
const marketTypes = ["market", "iceberg-market", "hidden-market"];

/** Returns the currency of a listing's prices. */
function currencyOf(market: Order["market"], symbol: string): string {
  const known = listing(symbol)?.currency;
  if (known !== undefined) return known;
  if (market === "us") return "USD";
  if (market === "shanghai" || market === "shenzhen") return "CNY";
  // Hong Kong lists the renminbi counters of its stocks under codes that begin with 8.
  return /^8\d{4}\.HK$/.test(symbol) ? "CNY" : "HKD";
}

/** Returns how many times its price one unit is worth; `undefined` if the reference data do not say. */
function multiplierOf(market: Order["market"], symbol: string): Decimal | undefined {
  if (market === "futures") return futureContract(symbol)?.multiplier;
  return typeOf(symbol) === "us-option" ? optionMultiplier : "1";
}

function typeOf(symbol: string): SecurityType | undefined {
  try {
    return securityOf(symbol).type;
  } catch (error) {
    if (error instanceof TypeError) return undefined; // a code of no known form
    throw error;
  }
}

function marketOf(operation: string, { market, symbol = "" }: OrderParams): Order["market"] {
  if (operation.startsWith("futures.")) return "futures";
  if (market !== undefined) return market;
  if (symbol.endsWith(".HK")) return "hk";
  return symbol.endsWith(".SH") ? "shanghai" : symbol.endsWith(".SZ") ? "shenzhen" : "us";
}

const priceOf = ({ price }: { price?: Decimal | undefined }): Decimal | undefined =>
  price === undefined || isZero(price) ? undefined : price;

const isBuy = (side: string): boolean => side === "buy" || side === "short-close";

/** An order with its amendments, and the quantity and price by which it counts in the limits. */
interface Chain {
  orderIds: Set<string>;
  market: Order["market"];
  symbol: string;
  quantity: Decimal;
  price: Decimal;
}

/** The checks of one write. */
class Check {
  readonly #limits: Limits;
  readonly #deps: GuardDeps;
  readonly #planned: PlannedWrite;
  /** The broker's clock minus this machine's. */
  readonly #aheadMs: number;
  readonly #quotes = new Map<string, Promise<Quote | undefined>>();

  constructor(limits: Limits, deps: GuardDeps, planned: PlannedWrite) {
    this.#limits = limits;
    this.#deps = deps;
    this.#planned = planned;
    this.#aheadMs = planned.looked?.aheadMs ?? 0;
  }

  /** The time at the broker. */
  get #now(): number {
    return this.#deps.machine.now() + this.#aheadMs;
  }

  async run(): Promise<Approval | undefined> {
    const { operation, params } = this.#planned;
    if (operation.order === "cancel") return undefined;
    if (!this.#limits.liveTrading) {
      throw this.#refuse("liveTrading", "it does not allow live trading", 'set liveTrading to "allow"');
    }
    const intents = await this.#countedIntents();
    this.#checkRate(intents);
    if (!("quantity" in params) && !("price" in params)) return undefined; // it changes no terms of an order
    const order = this.#order();
    this.#checkSymbol(order);
    this.#checkSession(order);
    const quote = await this.#quoteOf(order);
    this.#checkQuote(order, quote);
    this.#checkTick(order, quote);
    const held = isBuy(order.side) ? undefined : await this.#held(order, intents);
    this.#checkLot(order, quote, held);
    const price = order.price ?? await this.#reference(order, quote);
    await this.#checkCollar(order, quote);
    await this.#checkValues({ ...order, price }, intents);
    await this.#checkVolume(order);
    if (held !== undefined) this.#checkHeld(order, held);
    else if (order.side === "buy") await this.#checkBuyingPower({ ...order, price }, intents);
    if (order.market === "futures") await this.#checkFutures(order);
    return order.price === undefined ? { reference: price } : undefined;
  }

  #refuse(rule: string, what: string, nearest: string): BrokerError {
    const { name } = this.#planned.operation;
    return new BrokerError(`Cannot send ${name}: the guard rail ${rule} refuses it: ${what}; ${nearest}`, {
      code: "guard",
      operation: name,
    });
  }

  /** Returns an error for a limit that could not be compared with anything. */
  #unchecked(rule: LimitName, why: string): BrokerError {
    return this.#refuse(
      rule,
      `it could not be checked, because ${why}`,
      `try again later, or set ${rule} to "off" to go without this check`,
    );
  }

  async #countedIntents(): Promise<CountedIntent[]> {
    const { store, account, machine } = this.#deps;
    const { market } = this.#planned.params as OrderParams;
    const since = Math.min(this.#dayStart(market), machine.now() - MINUTE_MS) - PLANNED_MS;
    return (await countedIntents(store, account, since)).filter(({ id }) => id !== this.#planned.id);
  }

  /** Start of the day of a market, on this machine's clock. */
  #dayStart(market: string | undefined): number {
    const zone = zoneOfMarket(market);
    return wallInstant(dateAt(this.#now, zone), "00:00", zone) - this.#aheadMs;
  }

  #checkRate(intents: readonly CountedIntent[]): void {
    const { maxOrdersPerMinute: most } = this.#limits;
    if (most === undefined) return;
    const now = this.#deps.machine.now();
    const recent = intents.map(({ sentAt }) => sentAt ?? now).filter((at) => at > now - MINUTE_MS).sort((
      a,
      b,
    ) => a - b);
    if (recent.length < most) return;
    const freeAt = recent[recent.length - most]! + MINUTE_MS; // there are at least `most`
    throw this.#refuse(
      "maxOrdersPerMinute",
      `it would be order ${recent.length + 1} of this minute, and ${most} are allowed`,
      `the next one may be sent in ${Math.ceil((freeAt - now) / 1000)} s`,
    );
  }

  /** Returns the order that the write asks for. For an amendment, what it does not name comes from the lists. */
  #order(): Order {
    const { operation, looked } = this.#planned;
    const params = this.#planned.params as OrderParams; // the operation's schema has checked them
    const before = params.orderId === undefined ? undefined : looked?.orders.get(params.orderId);
    const side = params.side ?? before?.side;
    const symbol = params.symbol ?? before?.symbol;
    const quantity = params.quantity ?? before?.quantity;
    if (side === undefined || symbol === undefined || quantity === undefined) {
      throw this.#refuse(
        "amended-order",
        `the broker's lists do not show order ${params.orderId}`,
        "amend an order that the lists show",
      );
    }
    const orderType = params.orderType ?? before?.orderType ?? "limit";
    const isConditional = conditionalTypes.some((each) => each === orderType);
    const trigger = isConditional && !trailingTypes.some((each) => each === orderType)
      ? params.triggerValue
      : undefined;
    const price = params.price ?? before?.price;
    return {
      market: marketOf(operation.name, { ...params, symbol }),
      symbol,
      side,
      quantity,
      price: marketTypes.includes(orderType) && !isConditional
        ? undefined
        : priceOf({ price }) ?? priceOf({ price: trigger }),
      orderType,
      isConditional,
      isExtended: params.tradingHours === "extended" || params.session === "after-hours",
      before,
    };
  }

  #checkSymbol({ symbol }: Order): void {
    const { allowedSymbols } = this.#limits;
    if (allowedSymbols === undefined || allowedSymbols.includes(symbol)) return;
    throw this.#refuse(
      "allowedSymbols",
      `"${symbol}" is not in the list`,
      allowedSymbols.length === 0 ? "no listing is allowed" : `allowed are ${allowedSymbols.join(", ")}`,
    );
  }

  /** Checks that the market accepts the order now. The broker keeps conditional orders until they are triggered. */
  #checkSession(order: Order): void {
    if (order.isConditional || order.orderType === "dark-pool") return;
    const [now, mic] = [this.#now, mics[order.market]];
    const zone = calendarZone[mic];
    const today = dateAt(now, zone);
    let next: number | undefined;
    // The night session of futures belongs to the day before. No holiday is longer than a fortnight.
    for (let day = -1; day < 15 && next === undefined; day++) {
      const periods = this.#periods(order, mic, addDays(today, day));
      if (periods.some(({ from, to }) => from <= now && now < to)) return;
      next = periods.find(({ from }) => from > now)?.from;
    }
    const shown = (at: number) =>
      Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDateTime().toString({
        smallestUnit: "minute",
      }).replace("T", " ");
    throw this.#refuse(
      "session",
      `${mic} accepts no "${order.orderType}" order${order.isExtended ? " of extended hours" : ""} at ${
        shown(now)
      } (${zone})`,
      next === undefined ? "the calendar has no later session" : `it does so from ${shown(next)}`,
    );
  }

  /** Returns the periods of a day in which a market accepts an order, oldest first. */
  #periods({ market, orderType, isExtended }: Order, mic: Mic, date: string): Period[] {
    const session = this.#deps.calendars().sessionOn(mic, date);
    if (session === "closed") return [];
    if (session === "unknown") {
      throw this.#refuse(
        "session",
        `the calendar of ${mic} does not cover ${date}`,
        "update it with: hsgate calendar update",
      );
    }
    const { openAt, closeAt, breaks, halfDay } = session;
    const at = (time: string) => wallInstant(date, time, calendarZone[mic]);
    const open: Period[] = [];
    let from = openAt;
    for (const rest of breaks) {
      open.push({ from, to: at(rest.from) });
      from = at(rest.to);
    }
    open.push({ from, to: closeAt });
    switch (market) {
      case "hk":
        return auctionTypes.includes(orderType)
          // The auctions before the open and after the close.
          ? [
            { from: openAt - 30 * MINUTE_MS, to: openAt - 8 * MINUTE_MS },
            { from: closeAt + MINUTE_MS, to: closeAt + 10 * MINUTE_MS },
          ]
          : open;
      case "us":
        return isExtended && !marketTypes.includes(orderType)
          ? [{ from: openAt - 5.5 * HOUR_MS, to: closeAt + 4 * HOUR_MS }]
          : open;
      case "shanghai":
      case "shenzhen":
        // Orders of the minutes before each open wait for it.
        return open.map(({ from, to }, index) => ({ from: from - (index === 0 ? 15 : 5) * MINUTE_MS, to }));
      case "futures": {
        const day = open.map(({ from, to }, index) => ({
          from: from - (index === 0 ? 45 : 30) * MINUTE_MS,
          to: to + (index === open.length - 1 ? 30 * MINUTE_MS : 0),
        }));
        const night = { from: at("17:15"), to: wallInstant(addDays(date, 1), "03:00", calendarZone[mic]) };
        return isExtended && !halfDay ? [...day, night] : day;
      }
    }
  }

  /** Returns the latest instant until now at which a market traded continuously. */
  #lastTrading({ market, isExtended }: Order): number {
    const [now, mic] = [this.#now, mics[market]];
    const today = dateAt(now, calendarZone[mic]);
    // Uses the periods of plain limit orders.
    const plain = { market, orderType: "limit", isExtended } as Order;
    for (let day = 0; day > -15; day--) {
      const ends = this.#periods(plain, mic, addDays(today, day)).filter(({ from }) => from <= now)
        .map(({ to }) => Math.min(to, now));
      if (ends.length > 0) return Math.max(...ends);
    }
    return now;
  }

  /** Reads the quote of a listing; `undefined` if the broker has none. */
  async #quoteOf(order: Pick<Order, "symbol" | "market"> & Partial<Order>): Promise<Quote | undefined> {
    const { symbol } = order;
    const type = typeOf(symbol);
    if (type === undefined) return undefined;
    const session = order.market === "us" && order.isExtended ? this.#usSession() : undefined;
    const read = async () => {
      const [quote] = await this.#planned.client.quotes.latest({
        securities: [{ type, symbol }],
        ...session !== undefined && { session },
      });
      return quote;
    };
    return await this.#quotes.getOrInsertComputed(symbol, () =>
      read().catch((error) => {
        if (error instanceof RejectedError) return undefined; // no permission for this market's quotes
        throw error;
      }));
  }

  /** Returns the session of the US market whose quotes are current; `undefined` in regular hours. */
  #usSession(): QuoteSession | undefined {
    const session = this.#deps.calendars().sessionOn("XNYS", dateAt(this.#now, calendarZone.XNYS));
    if (typeof session === "string") return undefined;
    return this.#now < session.openAt
      ? "pre-market"
      : this.#now >= session.closeAt
      ? "after-hours"
      : undefined;
  }

  #checkQuote(order: Order, quote: Quote | undefined): void {
    if (quote?.isSuspended === true && !order.isConditional) {
      throw this.#refuse(
        "session",
        `"${order.symbol}" is suspended from trading`,
        "wait until it trades again",
      );
    }
    const { quoteMaxAge } = this.#limits;
    if (quoteMaxAge === undefined || order.isConditional) return;
    const text = quote?.marketTime || quote?.tradeTime;
    const [, date, hours, minutes, seconds] = /^(\d{8})(\d{2})(\d{2})(\d{2})/.exec(text ?? "") ?? [];
    if (date === undefined) {
      throw this.#unchecked("quoteMaxAge", `the broker gave no quote of "${order.symbol}" with a time`);
    }
    const day = `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`;
    const quotedAt = wallInstant(day, `${hours}:${minutes}:${seconds}`, calendarZone[mics[order.market]]);
    // While nothing trades, the last quote stays current.
    const [tooOld, tooNew] = [this.#lastTrading(order) - quotedAt, quotedAt - this.#now];
    const seconds_ = (ms: number) => `${Math.round(ms / 1000)} s`;
    if (tooOld <= quoteMaxAge && tooNew <= quoteMaxAge) return;
    throw this.#refuse(
      "quoteMaxAge",
      tooOld > quoteMaxAge
        ? `the quote of "${order.symbol}" is ${seconds_(tooOld)} old`
        : `the quote of "${order.symbol}" is ${seconds_(tooNew)} ahead of the broker's clock`,
      `at most ${seconds_(quoteMaxAge)} are allowed`,
    );
  }

  #checkTick({ market, symbol, price, isConditional }: Order, quote: Quote | undefined): void {
    if (price === undefined || isConditional && market === "futures") return;
    const valid = this.#validPrices(market, symbol, price, quote);
    if (valid === undefined || compare(valid.below, price) === 0) return;
    throw this.#refuse(
      "tick",
      `the price ${price} is not on the grid of "${symbol}", whose step is ${normalize(valid.step)} there`,
      `the nearest prices are ${normalize(valid.below)} and ${normalize(valid.above)}`,
    );
  }

  /** Returns the nearest valid prices; `undefined` if no source has the tick sizes. The broker checks them too. */
  #validPrices(
    market: Order["market"],
    symbol: string,
    price: Decimal,
    quote: Quote | undefined,
  ): { below: Decimal; above: Decimal; step: Decimal } | undefined {
    const date = dateAt(this.#now, calendarZone[mics[market]]);
    const type = String(quote?.security?.type ?? typeOf(symbol) ?? "");
    const instrument = market === "futures" || type.includes("future")
      ? "future"
      : listing(symbol)?.instrument ??
        (type.endsWith("etf") ? "etf" : type.endsWith("option") ? "option" : type.endsWith("warrant") ||
            type.endsWith("cbbc")
          ? "warrant"
          : "stock");
    let bands;
    try {
      bands = tickTable(market === "futures" ? "hk" : market, date, instrument);
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
    const band = bands.find(({ upTo }) => upTo === null || compare(price, upTo) <= 0);
    if (band === undefined) return undefined;
    const [below, above] = [toStep(price, band.tick, "down"), toStep(price, band.tick, "up")];
    return { below: isZero(below) ? above : below, above, step: band.tick };
  }

  #checkLot(
    { market, symbol, quantity, orderType, side }: Order,
    quote: Quote | undefined,
    held?: Decimal,
  ): void {
    const refuse = (lot: string, ...nearest: Decimal[]) =>
      this.#refuse(
        "lot",
        `the quantity ${quantity} of "${symbol}" is not ${lot}`,
        `the nearest ${nearest.length === 1 ? "quantity is" : "quantities are"} ${
          nearest.map((each) => round(each, 0, "exact")).join(" and ")
        }`,
      );
    const around = (step: Decimal, what: string) => {
      const [below, above] = [toStep(quantity, step, "down"), toStep(quantity, step, "up")];
      if (compare(below, quantity) === 0) return;
      throw isZero(below) ? refuse(what, above) : refuse(what, below, above);
    };
    const lot = this.#lotOf(market, symbol, quote);
    if (lot === undefined) return around("1", "a whole number");
    if (orderType === "odd-lot") {
      around("1", "a whole number");
      if (compare(quantity, lot) >= 0) {
        throw refuse(`an odd lot, which is less than ${lot}`, subtract(lot, "1"));
      }
      return;
    }
    if (market === "shanghai" && /^68[89]/.test(symbol) && side === "buy") {
      around("1", "a whole number");
      if (compare(quantity, "200") < 0) throw refuse("200 or more", "200");
      return;
    }
    // On the mainland, the odd rest of a holding may be sold, but only all of it at once.
    if (market !== "hk" && market !== "us" && market !== "futures" && held !== undefined) {
      const rest = subtract(held, toStep(held, lot, "down"));
      if (compare(subtract(quantity, toStep(quantity, lot, "down")), rest) === 0) return;
    }
    around(lot, `a multiple of the lot ${lot}`);
  }

  #lotOf(market: Order["market"], symbol: string, quote: Quote | undefined): Decimal | undefined {
    if (market === "us" || market === "futures") return "1"; // round lots only order the queue there
    if (quote?.lotSize !== undefined && quote.lotSize > 0) return String(quote.lotSize);
    try {
      return String(lotSize(symbol, dateAt(this.#now, calendarZone[mics[market]])));
    } catch (error) {
      if (error instanceof RangeError) return undefined; // the broker checks it
      throw error;
    }
  }

  /** Returns the price by which an order without a price counts: the worse one of the last price and the book. */
  async #reference(order: Order, quote: Quote | undefined): Promise<Decimal> {
    const last = lastOf(quote);
    if (last === undefined) {
      throw this.#unchecked("priceCollar", `the broker gave no price of "${order.symbol}"`);
    }
    const { ask } = await this.#book(order);
    return ask !== undefined && compare(ask, last) > 0 ? ask : last;
  }

  #bookRead: Promise<{ bid?: Decimal; ask?: Decimal }> | undefined;

  /** Reads the best prices of the order book; empty if the broker gives no book. */
  #book({ symbol }: Order): Promise<{ bid?: Decimal; ask?: Decimal }> {
    const type = typeOf(symbol);
    if (type === undefined || type === "us-otc-stock") return Promise.resolve({});
    this.#bookRead ??= this.#planned.client.quotes.orderBook({ security: { type, symbol } })
      .then(({ bids, asks }) => {
        const [bid, ask] = [bids, asks].map((levels) => priceOf(levels?.[0] ?? {}));
        return { ...bid !== undefined && { bid }, ...ask !== undefined && { ask } };
      })
      .catch((error) => {
        if (error instanceof RejectedError) return {}; // without a book, only the last price counts
        throw error;
      });
    return this.#bookRead;
  }

  /**
   * Checks the price against the last price and the book. A conditional order has its price for another day, so its
   * price is compared with its trigger.
   */
  async #checkCollar(order: Order, quote: Quote | undefined): Promise<void> {
    const { priceCollar } = this.#limits;
    if (priceCollar === undefined) return;
    const { symbol, side, isConditional } = order;
    const { triggerValue, orderType } = this.#planned.params as OrderParams;
    if (isConditional && (triggerValue === undefined || trailingTypes.some((each) => each === orderType))) {
      return;
    }
    const last = isConditional ? triggerValue : lastOf(quote);
    if (last === undefined) throw this.#unchecked("priceCollar", `the broker gave no price of "${symbol}"`);
    let [low, high] = [multiply(last, subtract("1", priceCollar)), multiply(last, add("1", priceCollar))];
    const { bid, ask } = isConditional ? {} : await this.#book(order);
    // A market order fills at the book, so the book must not be far from the last price.
    const price = order.price ?? (isBuy(side) ? ask : bid);
    if (price === undefined) return;
    const what = isConditional ? `the trigger ${normalize(last)}` : `the last price ${normalize(last)}`;
    if (order.price !== undefined && isBuy(side) && ask !== undefined) {
      high = least(high, multiply(ask, add("1", priceCollar)));
    }
    if (order.price !== undefined && !isBuy(side) && bid !== undefined) {
      low = most(low, multiply(bid, subtract("1", priceCollar)));
    }
    if (compare(low, price) <= 0 && compare(price, high) <= 0) return;
    const { above = low } = this.#validPrices(order.market, symbol, low, quote) ?? {};
    const { below = high } = this.#validPrices(order.market, symbol, high, quote) ?? {};
    throw this.#refuse(
      "priceCollar",
      `the price ${price} is more than ${percentOf(priceCollar)} from ${what}${
        bid === undefined && ask === undefined ? "" : ` or from the book (${bid ?? "-"} / ${ask ?? "-"})`
      }`,
      `valid are prices from ${normalize(above)} to ${normalize(below)}`,
    );
  }

  /** Checks the values of this order, of the listing's orders today, and of all orders today. */
  async #checkValues(order: Order & { price: Decimal }, intents: readonly CountedIntent[]): Promise<void> {
    const { maxOrderValue, maxSymbolValue, maxDayValue } = this.#limits;
    if (maxOrderValue === undefined && maxSymbolValue === undefined && maxDayValue === undefined) return;
    const { market, symbol } = order;
    const currency = currencyOf(market, symbol);
    const multiplier = multiplierOf(market, symbol);
    if (multiplier === undefined) {
      throw this.#refuse(
        "maxOrderValue",
        `the reference data do not say what one "${symbol}" is worth`,
        'trade it only with the value limits "off"',
      );
    }
    const chains = await this.#chains(intents, market);
    const { orderId } = this.#planned.params as OrderParams;
    const chain = this.#planned.operation.order === "amend"
      ? chains.find(({ orderIds }) => orderIds.has(orderId ?? ""))
      : undefined;
    const own = multiply(multiply(order.quantity, order.price), multiplier);
    const grown = chain === undefined ? undefined : grow(chain, order);
    const added = chain === undefined || grown === undefined
      ? own
      : subtract(multiply(multiply(grown.quantity, grown.price), multiplier), valueOf(chain));
    const others = (isCounted: (each: Chain) => boolean) =>
      add("0", ...chains.filter(isCounted).map(valueOf));
    const isSameCurrency = (each: Chain) => currencyOf(each.market, each.symbol) === currency;
    const rules: [LimitName, Amounts | undefined, Decimal, Decimal][] = [
      ["maxOrderValue", maxOrderValue, "0", own],
      ["maxSymbolValue", maxSymbolValue, others((each) => each.symbol === symbol), added],
      ["maxDayValue", maxDayValue, others(isSameCurrency), added],
    ];
    for (const [rule, limit, before, value] of rules) {
      if (limit === undefined) continue;
      const most = limit[currency];
      if (most === undefined) {
        throw this.#refuse(
          rule,
          `it has no amount in ${currency}, the currency of "${symbol}"`,
          `amounts are set in ${Object.keys(limit).join(", ") || "no currency"}; hsgate converts none`,
        );
      }
      const total = add(before, value);
      if (compare(total, most) <= 0) continue;
      // An amended order counts with its highest price. It may use the rest of the limit, and the value by which it
      // counts already.
      const isOwn = rule === "maxOrderValue" || chain === undefined || grown === undefined;
      const price = isOwn ? order.price : grown.price;
      const each = multiply(price, multiplier);
      const room = subtract(most, before);
      const base = isOwn ? "0" : valueOf(chain);
      const quantity = compare(add(room, base), "0") <= 0 ? "0" : divide(add(room, base), each, 0, "down");
      const lot = this.#lotOf(market, symbol, await this.#quoteOf(order)) ?? "1";
      const whole = toStep(quantity, lot, "down");
      throw this.#refuse(
        rule,
        `the value would be ${shownAmount(total)} ${currency}${
          isZero(before) ? "" : `, with ${shownAmount(before)} of earlier orders of this day`
        }, and at most ${shownAmount(most)} ${currency} are allowed`,
        isZero(whole)
          ? `no quantity fits at the price ${normalize(price)}`
          : `the nearest quantity at the price ${normalize(price)} is ${round(whole, 0, "exact")}`,
      );
    }
  }

  /**
   * Returns today's orders with the quantity and price by which they count. An order counts in full even if it is
   * cancelled or expires. Only an order that never reached the broker, or that the broker rejected, does not count. An
   * amended order counts with its largest quantity and its highest price.
   */
  async #chains(intents: readonly CountedIntent[], market: Order["market"]): Promise<Chain[]> {
    const since = this.#dayStart(market);
    const chains: Chain[] = [];
    for (const { kind, operation, params, state, orderIds, sentAt, createdAt, reference } of intents) {
      if (state === "rejected" || (sentAt ?? createdAt) < since) continue;
      const terms = params as OrderParams;
      const before = kind === "amend"
        ? chains.find((each) => each.orderIds.has(terms.orderId ?? ""))
        : undefined;
      const symbol = terms.symbol ?? before?.symbol;
      const quantity = terms.quantity ?? before?.quantity;
      if (symbol === undefined || quantity === undefined) continue; // it changes no terms
      const place = marketOf(operation, { ...terms, symbol });
      const price = priceOf(terms) ?? reference ?? before?.price ??
        lastOf(await this.#quoteOf({ symbol, market: place }));
      if (price === undefined) {
        throw this.#unchecked("maxDayValue", `an order of "${symbol}" without a price is being sent`);
      }
      if (before !== undefined) {
        Object.assign(before, grow(before, { quantity, price }));
        for (const id of orderIds) before.orderIds.add(id);
      } else {
        const ids = new Set([...orderIds, ...kind === "amend" && terms.orderId ? [terms.orderId] : []]);
        chains.push({ orderIds: ids, market: place, symbol, quantity, price });
      }
    }
    return chains;
  }

  /** Checks the quantity against the average day's volume. */
  async #checkVolume({ market, symbol, quantity }: Order): Promise<void> {
    const { maxVolumeShare } = this.#limits;
    if (maxVolumeShare === undefined) return;
    const today = dateAt(this.#now, calendarZone[mics[market]]);
    const type = typeOf(symbol);
    let bars: readonly { date?: string; volume?: string }[] = [];
    try {
      if (type !== undefined) {
        ({ bars } = await this.#planned.client.quotes.bars({
          security: { type, symbol },
          start: today,
          direction: "older",
          interval: "day",
          limit: VOLUME_DAYS + 1,
        }));
      }
    } catch (error) {
      if (!(error instanceof RejectedError)) throw error;
      throw this.#unchecked("maxVolumeShare", `the broker gave no bars of "${symbol}": ${error.message}`);
    }
    const volumes = bars.filter(({ date }) => date !== undefined && date < today).map(({ volume }) => volume)
      .filter((volume) => volume !== undefined).slice(-VOLUME_DAYS);
    if (volumes.length === 0) {
      throw this.#unchecked(
        "maxVolumeShare",
        `the broker has no volume of "${symbol}" for any day before today`,
      );
    }
    const average = divide(add(...volumes), String(volumes.length), 0, "down");
    const largest = toStep(
      multiply(average, maxVolumeShare),
      this.#lotOf(market, symbol, undefined) ?? "1",
      "down",
    );
    if (compare(quantity, multiply(average, maxVolumeShare)) <= 0) return;
    throw this.#refuse(
      "maxVolumeShare",
      `the quantity ${quantity} is more than ${
        percentOf(maxVolumeShare)
      } of ${average}, the average volume of ${volumes.length} days`,
      `the largest quantity is ${round(largest, 0, "exact")}`,
    );
  }

  /**
   * Returns how much an order may sell without selling short. Sell orders of this store whose outcome the broker's
   * figure may not show yet are subtracted.
   */
  async #held(
    { market, symbol, isConditional, before }: Order,
    intents: readonly CountedIntent[],
  ): Promise<Decimal> {
    const { client, looked } = this.#planned;
    const isThis = (each: string | undefined) => each?.replace(/\.US$/, "") === symbol.replace(/\.US$/, "");
    const pending = intents.filter(({ kind, state, params }) => {
      const terms = params as OrderParams;
      return kind === "place" && pendingStates.includes(state) && isThis(terms.symbol) &&
        terms.side === "sell";
    }).map(({ params }) => (params as OrderParams).quantity ?? "0");
    const own = remainingOf(before);
    if (market === "futures") {
      const { holdings } = await client.futures.holdings({});
      const position = holdings.find((row) => isThis(row.symbol))?.quantity ?? "0";
      const open = [...looked?.orders.values() ?? []]
        .filter((each) => isThis(each.symbol) && each.side === "sell" && isOpen(each)).map(remainingOf);
      return subtract(add(position, own), add("0", ...open, ...pending));
    }
    const row = (await client.account.holdings({ market })).find((each) => isThis(each.symbol));
    // Until it is triggered, a conditional order may name what another open order sells.
    if (isConditional) return row?.quantity ?? row?.sellableQuantity ?? "0";
    return subtract(add(row?.sellableQuantity ?? "0", own), add("0", ...pending));
  }

  #checkHeld({ symbol, side, quantity }: Order, held: Decimal): void {
    if (this.#limits.allowShort) return;
    const most = compare(held, "0") > 0 ? held : "0";
    if (side !== "short-open" && compare(quantity, most) <= 0) return;
    throw this.#refuse(
      "allowShort",
      side === "short-open"
        ? `it sells "${symbol}" short`
        : `it sells ${quantity} of "${symbol}", and only ${normalize(most)} can be sold`,
      isZero(most) ? "nothing can be sold" : `the largest quantity is ${normalize(most)}`,
    );
  }

  /**
   * Checks that the account's funds pay for the order. The broker's figure excludes the funds that it has frozen for open
   * orders, whoever placed them. This check also subtracts open orders without frozen funds, and orders that the
   * broker's figure may not contain yet.
   */
  async #checkBuyingPower(
    order: Order & { price: Decimal },
    intents: readonly CountedIntent[],
  ): Promise<void> {
    const { market, symbol, quantity, price, isConditional, before } = order;
    if (isConditional || market === "futures") return; // a conditional order is paid for when it is triggered
    const { client, looked } = this.#planned;
    const multiplier = multiplierOf(market, symbol) ?? "1";
    const each = multiply(price, multiplier);
    const { quantity: most } = await client.account.maxBuy({ market, symbol, price: normalize(price) });
    const own = multiply(remainingOf(before), before?.price ?? "0");
    const open = [...looked?.orders.values() ?? []].filter((row) =>
      row.side === "buy" && isOpen(row) && row.lists.includes("orders.today")
    );
    const openValue = add(
      "0",
      ...open.map((row) =>
        multiply(multiply(remainingOf(row), row.price ?? "0"), multiplierOf(market, row.symbol ?? "") ?? "1")
      ),
    );
    const frozen = open.length === 0 ? "0" : (await client.account.funds({ market })).frozenByOrders ?? "0";
    const unfrozen = compare(openValue, frozen) > 0 ? subtract(openValue, frozen) : "0";
    const pending = intents.filter(({ kind, state, params }) => {
      const terms = params as OrderParams;
      return kind === "place" && pendingStates.includes(state) && terms.side === "buy" &&
        terms.market === market;
    }).map(({ operation, params, reference }) => {
      const terms = params as OrderParams;
      const factor = multiplierOf(marketOf(operation, terms), terms.symbol ?? "") ?? "1";
      return multiply(multiply(terms.quantity ?? "0", priceOf(terms) ?? reference ?? price), factor);
    });
    const power = subtract(add(multiply(most, each), multiply(own, multiplier)), add(unfrozen, ...pending));
    if (compare(multiply(quantity, each), power) <= 0) return;
    const affordable = compare(power, "0") <= 0 ? "0" : divide(power, each, 0, "down");
    const lot = this.#lotOf(market, symbol, await this.#quoteOf(order)) ?? "1";
    const whole = toStep(affordable, lot, "down");
    throw this.#refuse(
      "buyingPower",
      `it buys ${quantity} of "${symbol}", and the funds pay for ${affordable} at ${normalize(price)}`,
      isZero(whole) ? "no quantity can be bought" : `the largest quantity is ${round(whole, 0, "exact")}`,
    );
  }

  async #checkFutures({ symbol, side, quantity, before }: Order): Promise<void> {
    const { maxBuy, maxSell } = await this.#planned.client.futures.maxQuantity({ symbol });
    const most = add((isBuy(side) ? maxBuy : maxSell) ?? "0", remainingOf(before));
    if (compare(quantity, most) <= 0) return;
    throw this.#refuse(
      "buyingPower",
      `it is for ${quantity} contracts of "${symbol}", and the broker allows ${normalize(most)}`,
      isZero(most) ? "no quantity is allowed" : `the largest quantity is ${normalize(most)}`,
    );
  }
}

/** States in which the broker's figures may not contain an order yet. */
const pendingStates: readonly string[] = ["planned", "approved", "sent", "unknown", "ambiguous"];

const isOpen = ({ state }: SeenOrder): boolean => state === undefined || !endedStates.includes(state);

/** Returns the quantity of an order that is not filled. */
function remainingOf(order: SeenOrder | undefined): Decimal {
  if (order?.quantity === undefined || !isOpen(order)) return "0";
  return subtract(order.quantity, order.filled);
}

const lastOf = (quote: Quote | undefined): Decimal | undefined =>
  priceOf({ price: quote?.lastPrice }) ?? priceOf({ price: quote?.previousClose });

const least = (one: Decimal, other: Decimal): Decimal => compare(one, other) < 0 ? one : other;
const most = (one: Decimal, other: Decimal): Decimal => compare(one, other) > 0 ? one : other;

/** Returns the quantity and price by which an order counts after an amendment. */
const grow = (
  chain: Pick<Chain, "quantity" | "price">,
  next: { quantity: Decimal; price: Decimal },
): Pick<Chain, "quantity" | "price"> => ({
  quantity: most(chain.quantity, next.quantity),
  price: most(chain.price, next.price),
});

const valueOf = ({ quantity, price, market, symbol }: Chain): Decimal =>
  multiply(multiply(quantity, price), multiplierOf(market, symbol) ?? "1");

const percentOf = (fraction: Decimal): string => `${normalize(multiply(fraction, "100"))} %`;
const shownAmount = (amount: Decimal): string => normalize(round(amount, 2, "half-up"));
