/**
 * Reads the portfolio: holdings, cash, value and profit, by market and in one currency. Every amount is an exact
 * decimal.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { securityOf } from "../client/security.ts";
import type { Security } from "../operations/public_types.ts";
import { add, compare, type Decimal, isZero, multiply, normalize, subtract, sumOf } from "../decimal.ts";
import { bareCode, dayOfLists, mayBeEmptied } from "../desk/broker_lists.ts";
import { currencyOf, lastOf, mics, multiplierOf, priceOf, typeOf } from "../desk/guards/order.ts";
import { isBuy } from "../desk/terms.ts";
import { quoteInstant } from "../desk/guards/sessions.ts";
import { Market } from "../dictionaries/market.ts";
import { RejectedError } from "../errors.ts";
import type { Funds, Holding } from "../operations/account.ts";
import type { FuturesHolding, FuturesOrder } from "../operations/futures.ts";
import type { Quote } from "../operations/quotes.ts";
import type { CallOptions } from "../transports/transport.ts";

/** A market of securities, or the futures account. */
export type PortfolioPlace = Market | "futures";

/** Every market and account that can be read. */
export const portfolioPlaces: readonly PortfolioPlace[] = [...Market.names, "futures"];

/** A listing that the account holds, or has sold completely today. Amounts are in `currency`. */
export interface PortfolioHolding {
  market: PortfolioPlace;
  symbol: string;
  name?: string;
  currency: string;
  /** Shares or contracts; negative for a short position, and zero if everything was sold today. */
  quantity: Decimal;
  /** Absent for a future: the broker does not give it. */
  sellable?: Decimal;
  /** The broker's cost price. */
  costPrice?: Decimal;
  /** Last price of the quote, or the close of the day before. */
  price?: Decimal;
  /** Time of the quote, ISO 8601 in UTC. */
  quotedAt?: string;
  /**
   * Price times quantity, for an option also times its multiplier. The value of a future is its profit, because nobody
   * pays the price of a future.
   */
  value?: Decimal;
  /** Profit since the close of the previous day, without fees; zero until the listing trades today. */
  dayProfit?: Decimal;
  /**
   * Profit of the held quantity since it was bought: price minus cost price, times quantity, for an option or a future
   * also times its multiplier.
   */
  profit?: Decimal;
  /** Why a member is absent. */
  missing?: string;
}

/** The part of a market in one currency. Amounts are in that currency. */
export interface PortfolioMarket {
  market: PortfolioPlace;
  currency: string;
  /**
   * Cash of the currency; absent if the broker did not give it. Markets with the same currency have the same cash; the
   * futures account has its own.
   */
  cash?: Decimal;
  /** Total assets of the currency as the broker counts them. */
  brokerAssets?: Decimal;
  /** Value of the holdings that have a price. */
  value: Decimal;
  dayProfit: Decimal;
  profit: Decimal;
}

/** Sums in one currency. */
export interface PortfolioTotal {
  currency: string;
  cash: Decimal;
  value: Decimal;
  /** Cash and value. */
  total: Decimal;
  dayProfit: Decimal;
  profit: Decimal;
}

/** The portfolio of an account. */
export interface Portfolio {
  /** When it was read, ISO 8601 in UTC. */
  at: string;
  holdings: PortfolioHolding[];
  markets: PortfolioMarket[];
  /** Sums of each currency, without conversion. */
  currencies: PortfolioTotal[];
  /** Sums in one currency, by the broker's rates; absent if a rate is missing. */
  total?: PortfolioTotal;
  /** Value of one unit of each currency in the currency of `total`, as the broker gives it. */
  rates: Readonly<Record<string, Decimal>>;
  /** What is missing in the sums or may be wrong, in words. Empty if they are complete. */
  notes: string[];
}

/** Options of {@linkcode readPortfolio}. */
export interface PortfolioOptions {
  /**
   * Markets to read, and the futures account. By default all, without those that the broker rejects, and without an
   * empty futures account.
   */
  markets?: readonly PortfolioPlace[];
  /** Currency of the total. @default "HKD" */
  currency?: string;
  now(): number;
  signal?: AbortSignal;
}

/** Maximum number of securities in one request for quotes. */
const MOST_QUOTES = 100;
/** Maximum number of times that a market is read if its holdings change during the reading. */
const MOST_READINGS = 3;

/** The members that the portfolio uses of a holding, which is a security or a future. */
type HeldRow =
  & Pick<Holding, "symbol" | "name" | "quantity" | "sellableQuantity" | "costPrice">
  & Pick<FuturesHolding, "currency">;

/** The members that the portfolio uses of a fill, which is for a security or a future. */
type FillRow = Pick<FuturesOrder, "symbol" | "name" | "side" | "filledQuantity" | "fillPrice">;

/** The data that was read from a market. */
interface MarketRead {
  market: PortfolioPlace;
  funds: Pick<Funds, "available" | "frozen" | "totalAssets">;
  holdings: HeldRow[];
  fills: FillRow[];
}

/**
 * Resolves to the portfolio. Sends no write.
 *
 * @throws {BrokerError} If the broker rejects a market of `markets`, or every market, or does not answer.
 */
export async function readPortfolio(client: Client, options: PortfolioOptions): Promise<Portfolio> {
  const { currency = "HKD", signal } = options;
  let aheadMs = 0;
  const call: CallOptions = {
    ...signal !== undefined && { signal },
    onBrokerTime: ({ time }) => aheadMs = time - options.now(),
  };
  // Use the broker's time to find the day, because this machine's clock may be wrong.
  const now = () => options.now() + aheadMs;
  const notes: string[] = [];
  const read: MarketRead[] = [];
  let refused: RejectedError | undefined;
  for (const market of options.markets ?? portfolioPlaces) {
    try {
      const found = await readMarket(client, market, { now, call, notes });
      if (options.markets !== undefined || !isEmptyFutures(found)) read.push(found);
    } catch (error) {
      if (options.markets !== undefined || !isRefusal(error)) throw error;
      notes.push(`${market} was not read: ${error.message}`);
      refused = error;
    }
  }
  if (read.length === 0 && refused !== undefined) throw refused;
  const at = now();
  const quotes = await readQuotes(client, read, { call, notes });
  const holdings = read.flatMap((each) => holdingsOf(each, quotes, at));
  for (const { symbol, missing } of holdings) if (missing !== undefined) notes.push(`${symbol}: ${missing}`);
  const markets = read.flatMap((each) => marketsOf(each, holdings, notes));
  const currencies = totalsOf(markets, notes);
  const rates = await readRates(client, currencies, { currency, call, notes });
  const total = converted(currencies, rates, currency);
  return {
    at: new Date(at).toISOString(),
    holdings,
    markets,
    currencies,
    ...total !== undefined && { total },
    rates,
    notes,
  };
}

/** Returns whether this is the futures account, and it has no contracts, fills, cash or assets. */
function isEmptyFutures({ market, funds, holdings, fills }: MarketRead): boolean {
  const { available, totalAssets } = funds;
  return market === "futures" && holdings.length === 0 && fills.length === 0 &&
    [available, totalAssets].every((amount) => amount === undefined || isZero(amount));
}

/** Returns whether the broker rejected a read, for example because the account may not trade in the market. */
const isRefusal = (error: unknown): error is RejectedError =>
  error instanceof RejectedError && error.name === "RejectedError";

interface Reading {
  call: CallOptions;
  notes: string[];
}

/** Reads a market. Reads it again if the holdings changed during the reading, at most three times in total. */
async function readMarket(
  client: Client,
  market: PortfolioPlace,
  { now, call, notes }: Reading & { now(): number },
): Promise<MarketRead> {
  const quantities = (holdings: readonly HeldRow[]) =>
    holdings.map(({ symbol, quantity }) => `${symbol} ${quantity}`).sort().join(";");
  let holdings = await heldIn(client, market, call);
  for (let reading = 1;; reading++) {
    const fills = await fillsOfToday(client, market, now(), call);
    const funds = await fundsOf(client, market, call);
    const after = await heldIn(client, market, call);
    if (quantities(after) === quantities(holdings)) return { market, funds, holdings, fills };
    holdings = after;
    if (reading === MOST_READINGS) {
      notes.push(
        `the holdings of ${market} changed while they were read: the profit of the day may be wrong`,
      );
      return { market, funds, holdings, fills };
    }
  }
}

async function heldIn(client: Client, market: PortfolioPlace, call: CallOptions): Promise<HeldRow[]> {
  if (market !== "futures") return await client.account.holdings({ market }, call);
  return (await client.futures.holdings({}, call)).holdings ?? [];
}

async function fundsOf(
  client: Client,
  market: PortfolioPlace,
  call: CallOptions,
): Promise<MarketRead["funds"]> {
  if (market !== "futures") return await client.account.funds({ market }, call);
  const { funds } = await client.futures.funds({}, call);
  // The available amount of futures is their purchasing power, not cash.
  const { cash, netAssets } = funds ?? {};
  return {
    ...cash !== undefined && { available: cash },
    ...netAssets !== undefined && { totalAssets: netAssets },
  };
}

/** Reads the fills of a market's current day. After the close, only the history may contain these fills. */
async function fillsOfToday(
  client: Client,
  market: PortfolioPlace,
  at: number,
  call: CallOptions,
): Promise<FillRow[]> {
  const list = listOf(market);
  const day = dayOfLists(list, at);
  const today = market === "futures"
    ? await client.futures.fillsToday({}, call)
    : await client.fills.today({ market }, call).toArray();
  if (today.length > 0 || !mayBeEmptied(list, at)) return today;
  const past = { from: day, to: day };
  return market === "futures"
    ? await client.futures.fillsHistory(past, call).toArray()
    : await client.fills.history({ market, ...past }, call).toArray();
}

/** Returns the market's name for the functions of `broker_lists.ts`; they use `undefined` for futures. */
const listOf = (market: PortfolioPlace): Market | undefined => market === "futures" ? undefined : market;

const keyOf = (market: PortfolioPlace, symbol: string) => `${market} ${bareCode(symbol)}`;

/** Returns the listings of a market: those that are held, and those that were traded today. */
function symbolsOf({ holdings, fills }: MarketRead): string[] {
  const held = holdings.filter(({ quantity }) => quantity !== undefined && !isZero(quantity));
  const bySymbol = new Map([...fills, ...held].map(({ symbol }) => [bareCode(symbol), symbol]));
  return [...bySymbol.values()].sort();
}

/** Returns the security of a listing; `undefined` for a code of no known form. */
function securityFor(market: PortfolioPlace, symbol: string): Security | undefined {
  const code = market === "us" ? symbol.replace(/\.US$/, "") : symbol;
  return typeOf(code) === undefined ? undefined : securityOf(code);
}

async function readQuotes(
  client: Client,
  read: readonly MarketRead[],
  { call, notes }: Reading,
): Promise<Map<string, Quote>> {
  const quotes = new Map<string, Quote>();
  for (const each of read) {
    const securities = symbolsOf(each).flatMap((symbol) => securityFor(each.market, symbol) ?? []);
    for (let from = 0; from < securities.length; from += MOST_QUOTES) {
      try {
        const answer = await client.quotes.latest(
          { securities: securities.slice(from, from + MOST_QUOTES) },
          call,
        );
        for (const quote of answer) quotes.set(keyOf(each.market, quote.security?.symbol ?? ""), quote);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        notes.push(`the broker rejected the query for quotes of ${each.market}: ${error.message}`);
      }
    }
  }
  return quotes;
}

/** Returns the holdings of a market with their values and profits. */
function holdingsOf(
  read: MarketRead,
  quotes: ReadonlyMap<string, Quote>,
  at: number,
): PortfolioHolding[] {
  const { market, holdings, fills } = read;
  return symbolsOf(read).map((symbol): PortfolioHolding => {
    const isIt = (each: { symbol: string }) => bareCode(each.symbol) === bareCode(symbol);
    const rows = holdings.filter(isIt);
    const sum = (values: readonly (Decimal | undefined)[]) =>
      normalize(sumOf(values.map((value) => value ?? "0")));
    const quantity = sum(rows.map(({ quantity }) => quantity));
    const costPrice = rows.length === 1 ? priceOf({ price: rows[0]!.costPrice }) : undefined;
    const traded = fills.filter(isIt);
    const name = rows[0]?.name ?? traded[0]?.name;
    const quote = quotes.get(keyOf(market, symbol));
    const price = lastOf(quote);
    const quotedAt = quoteInstant(quote, mics[market]);
    const unit = multiplierOf(market, market === "us" ? symbol.replace(/\.US$/, "") : symbol);
    const base = {
      market,
      symbol,
      ...name !== undefined && { name },
      currency: rows[0]?.currency || currencyOf(market, symbol),
      quantity,
      ...market !== "futures" && { sellable: sum(rows.map(({ sellableQuantity }) => sellableQuantity)) },
      ...costPrice !== undefined && { costPrice },
    };
    if (price === undefined || unit === undefined) {
      return {
        ...base,
        missing: price === undefined
          ? "no price, so it has no value and no profit here"
          : "the reference data have no multiplier of this contract, so it has no value and no profit here",
      };
    }
    const worth = (amount: Decimal) => normalize(multiply(amount, unit));
    const before = priceBefore(quote, price, { market, at, quotedAt });
    const changed = changeByFills(traded);
    const dayProfit = before === undefined || changed === undefined
      ? undefined
      // The value now, minus the value that the quantity at the start of the day had at the previous close, minus the
      // money paid today.
      : worth(
        subtract(
          subtract(multiply(quantity, price), multiply(subtract(quantity, changed.quantity), before)),
          changed.paid,
        ),
      );
    const profit = isZero(quantity)
      ? "0"
      : costPrice === undefined
      ? undefined
      : worth(multiply(subtract(price, costPrice), quantity));
    // Nobody pays the price of a future, so the value of the position is its profit.
    const value = market === "futures" ? profit : worth(multiply(quantity, price));
    const missing = [
      before === undefined
        ? "no profit of the day: the quote has no time or no close of the day before"
        : changed === undefined
        ? "no profit of the day: a fill is incomplete, or has a side that hsgate does not know"
        : "",
      profit === undefined
        ? `no total profit${value === undefined ? " and no value" : ""}: the broker gives no cost price`
        : "",
    ].filter((text) => text !== "").join("; ");
    return {
      ...base,
      price,
      ...quotedAt !== undefined && { quotedAt: new Date(quotedAt).toISOString() },
      ...value !== undefined && { value },
      ...dayProfit !== undefined && { dayProfit },
      ...profit !== undefined && { profit },
      ...missing !== "" && { missing },
    };
  });
}

/**
 * Returns the price from which the profit of the day is computed: the close of the day before. Until the listing trades
 * today, its last price is that close.
 */
function priceBefore(
  quote: Quote | undefined,
  price: Decimal,
  { market, at, quotedAt }: { market: PortfolioPlace; at: number; quotedAt: number | undefined },
): Decimal | undefined {
  const tradedAt =
    quoteInstant(quote?.tradeTime ? { marketTime: quote.tradeTime } : undefined, mics[market]) ??
      quotedAt;
  if (tradedAt === undefined) return undefined;
  const list = listOf(market);
  const isToday = dayOfLists(list, tradedAt) === dayOfLists(list, at);
  return isToday ? priceOf({ price: quote?.previousClose }) : price;
}

/**
 * Returns the change of the quantity by fills, and the money paid for them. Returns `undefined` if a fill lacks its
 * quantity or price, or has an unknown side.
 */
function changeByFills(fills: readonly FillRow[]): { quantity: Decimal; paid: Decimal } | undefined {
  let [quantity, paid]: [Decimal, Decimal] = ["0", "0"];
  for (const { side, filledQuantity, fillPrice } of fills) {
    if (side.startsWith("unlisted:") || filledQuantity === undefined || fillPrice === undefined) {
      return undefined;
    }
    const amount = multiply(filledQuantity, fillPrice);
    quantity = isBuy(side) ? add(quantity, filledQuantity) : subtract(quantity, filledQuantity);
    paid = isBuy(side) ? add(paid, amount) : subtract(paid, amount);
  }
  return { quantity, paid };
}

/** Returns the parts of a market: one for each currency of its cash and holdings. */
function marketsOf(
  { market, funds }: MarketRead,
  holdings: readonly PortfolioHolding[],
  notes: string[],
): PortfolioMarket[] {
  const own = currencyOf(market, "");
  const { available, frozen = "0", totalAssets } = funds;
  if (available === undefined) notes.push(`the broker sent no cash amount for ${market}`);
  const held = holdings.filter((each) => each.market === market);
  const all = [...new Set([own, ...held.map(({ currency }) => currency)])];
  return all.map((currency): PortfolioMarket => {
    const inIt = held.filter((each) => each.currency === currency);
    const sum = (of: (holding: PortfolioHolding) => Decimal | undefined) =>
      normalize(sumOf(inIt.map((each) => of(each) ?? "0")));
    return {
      market,
      currency,
      ...currency === own && available !== undefined && { cash: normalize(add(available, frozen)) },
      ...currency === own && totalAssets !== undefined && { brokerAssets: normalize(totalAssets) },
      value: sum(({ value }) => value),
      dayProfit: sum(({ dayProfit }) => dayProfit),
      profit: sum(({ profit }) => profit),
    };
  });
}

/**
 * Returns the sums of each currency. The markets of one currency have the same cash, so it counts once; the futures
 * account has its own.
 */
function totalsOf(markets: readonly PortfolioMarket[], notes: string[]): PortfolioTotal[] {
  return [...Map.groupBy(markets, ({ currency }) => currency)].map(([currency, own]): PortfolioTotal => {
    const cashOf = (isFutures: boolean) =>
      own.flatMap(({ market, cash }) => (market === "futures") === isFutures ? cash ?? [] : []);
    const [cash, ...others] = cashOf(false);
    const isOne = others.every((each) => compare(each, cash!) === 0);
    if (!isOne) {
      notes.push(
        `the markets of ${currency} have different cash (${
          [cash, ...others].join(", ")
        }), so no sum contains it`,
      );
    }
    const counted = normalize(sumOf([isOne ? cash ?? "0" : "0", ...cashOf(true)]));
    const sum = (valueOf: (market: PortfolioMarket) => Decimal) => normalize(sumOf(own.map(valueOf)));
    const value = sum(({ value }) => value);
    return {
      currency,
      cash: counted,
      value,
      total: normalize(add(counted, value)),
      dayProfit: sum(({ dayProfit }) => dayProfit),
      profit: sum(({ profit }) => profit),
    };
  });
}

/** Reads the exchange rate to one currency, for each currency whose amounts are not all zero. */
async function readRates(
  client: Client,
  totals: readonly PortfolioTotal[],
  { currency: base, call, notes }: Reading & { currency: string },
): Promise<Record<string, Decimal>> {
  const needed = totals.filter(({ currency, total, cash, dayProfit }) =>
    currency !== base && [total, cash, dayProfit].some((amount) => !isZero(amount))
  );
  const rates: Record<string, Decimal> = { [base]: "1" };
  if (needed.length === 0) return rates;
  const answer = await client.account.exchangeRates({ rateType: "spot" }, call);
  for (const { currency } of needed) {
    const rate = answer[currency]?.[base];
    if (rate !== undefined && !isZero(rate)) rates[currency] = normalize(rate);
    else notes.push(`the broker has no rate from ${currency} to ${base}, so there is no total in ${base}`);
  }
  return rates;
}

/** Returns the sums in one currency; `undefined` if a rate is missing. */
function converted(
  totals: readonly PortfolioTotal[],
  rates: Readonly<Record<string, Decimal>>,
  base: string,
): PortfolioTotal | undefined {
  const amounts = ({ cash, value, total, dayProfit, profit }: PortfolioTotal) => [
    cash,
    value,
    total,
    dayProfit,
    profit,
  ];
  const isMissing = (each: PortfolioTotal) =>
    rates[each.currency] === undefined && amounts(each).some((amount) => !isZero(amount));
  if (totals.some(isMissing)) return undefined;
  const sum = (of: (total: PortfolioTotal) => Decimal) =>
    normalize(sumOf(totals.map((each) => multiply(of(each), rates[each.currency] ?? "0"))));
  return {
    currency: base,
    cash: sum(({ cash }) => cash),
    value: sum(({ value }) => value),
    total: sum(({ total }) => total),
    dayProfit: sum(({ dayProfit }) => dayProfit),
    profit: sum(({ profit }) => profit),
  };
}
