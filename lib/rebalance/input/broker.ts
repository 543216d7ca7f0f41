/**
 * Reads the account of a plan from the broker. Sends no write.
 *
 * @module
 */
import { addDays, type Calendars, calendarZone, dateAt, type Mic } from "../../calendars/mod.ts";
import type { Client } from "../../client/client.ts";
import { securityOf } from "../../client/security.ts";
import type { Security } from "../../operations/public_types.ts";
import { add, compare, type Decimal, divide, normalize, subtract } from "../../decimal.ts";
import { bareCode, endedStates, type ListReading, readLists } from "../../desk/broker_lists.ts";
import { currencyOf, lastOf, marketOf, mics, priceOf, typeOf } from "../../desk/guards/order.ts";
import { openPeriods, quoteInstant } from "../../desk/guards/sessions.ts";
import { Market } from "../../dictionaries/market.ts";
import { InvalidParamsError, type Issue, RejectedError } from "../../errors.ts";
import type { Holding } from "../../operations/account.ts";
import type { Quote } from "../../operations/quotes.ts";
import type { Account, AccountHolding, AccountQuote } from "./account.ts";
import { currencyOfMarket, type RebalanceFile } from "./plan_file.ts";

/** Options of {@linkcode readBrokerAccount}. */
export interface BrokerAccountOptions {
  now(): number;
  calendars: Calendars;
  signal?: AbortSignal;
}

/** Maximum number of securities in one request for quotes. */
const MOST_QUOTES = 100;

/** The last session is at most this many days ago: no holiday is longer than two weeks. */
const MOST_DAYS = 15;

/**
 * Resolves to the account of a plan's markets: cash, holdings, quotes, lots and rates.
 *
 * @throws {InvalidParamsError} If the cash of a market is missing, or differs from the cash of another market with the
 * same currency. Also if the holdings change at each reading, or if the broker rejects a symbol.
 * @throws {BrokerError} If the broker rejects a query.
 */
export async function readBrokerAccount(
  client: Client,
  file: RebalanceFile,
  { now, calendars, signal }: BrokerAccountOptions,
): Promise<Account> {
  const markets = file.markets ?? Market.names;
  const options = signal === undefined ? {} : { signal };
  const cash: Record<string, Decimal> = {};
  const reserved: Record<string, Decimal> = {};
  const issues: Issue[] = [];
  const held: { market: Market; holding: Holding }[] = [];
  const openOrders = new Set<string>();
  let aheadMs = 0;
  for (const market of markets) {
    const isLater = file.proceeds[market] === "later";
    const { cash: found, holdings, seen } = await readMarket(client, market, { isLater, now, options });
    const currency = currencyOfMarket[market];
    if (found === undefined) {
      issues.push({
        path: ["cash", currency],
        value: undefined,
        expected: `funds of ${market} with the available amount: try again, or plan with --account`,
      });
    } else if (cash[currency] === undefined) {
      [cash[currency], reserved[currency]] = [found.cash, found.reserved];
    } else if (compare(cash[currency], found.cash) !== 0) {
      issues.push({
        path: ["cash", currency],
        value: `${cash[currency]} and ${found.cash}`,
        expected: `the same cash in each market of ${currency}: try again, or plan each market separately`,
      });
    } else if (compare(found.reserved, reserved[currency]!) > 0) reserved[currency] = found.reserved;
    for (const holding of holdings) held.push({ market, holding });
    aheadMs = seen.aheadMs ?? aheadMs;
    for (const { state, symbol } of seen.orders.values()) {
      if (symbol === undefined || (state !== undefined && endedStates.includes(state))) continue;
      openOrders.add(`${market} ${bareCode(symbol)}`);
    }
  }
  if (issues.length > 0) throw new InvalidParamsError("plan", issues);

  const at = now() + aheadMs;
  const listings = new Map<string, AccountQuote & { security: Security }>();
  const addListing = (market: Market, symbol: string) => {
    const security = securityFor(market, symbol);
    const key = `${market} ${bareCode(symbol)}`;
    if (security !== undefined && !listings.has(key)) listings.set(key, { market, symbol, security });
  };
  for (const { market, holding } of held) {
    if (/[1-9]/.test(holding.quantity ?? "")) addListing(market, holding.symbol);
  }
  for (const symbol of Object.keys(file.targets)) {
    const full = /^\d{1,4}\.HK$/.test(symbol) ? symbol.padStart(8, "0") : symbol;
    const market = marketOf("", { symbol: full });
    if (market !== "futures" && markets.includes(market)) addListing(market, full);
  }
  const all = [...listings.values()];
  const { quotes, rejected } = await readQuotes(client, all.map(({ security }) => security), options);
  for (const { symbol, text } of rejected) {
    const target = Object.keys(file.targets).find((each) => bareCode(each) === bareCode(symbol));
    issues.push({
      path: target === undefined ? ["holdings", symbol] : ["targets", target],
      value: symbol,
      expected: `a symbol with a quote; the broker answered "${text}": ${
        target === undefined ? "try again later" : "correct the code, or remove the target"
      }`,
    });
  }
  if (issues.length > 0) throw new InvalidParamsError("plan", issues);
  const priced: AccountQuote[] = [];
  for (const { security, ...listing } of all) {
    const quote = quotes.get(bareCode(listing.symbol));
    if (quote === undefined) continue;
    const price = await priceFor(client, file, { security, quote, options });
    const stale = staleness(quote, mics[listing.market], { at, calendars, mostMs: file.maxQuoteAge * 1000 });
    priced.push({
      ...listing,
      ...price !== undefined && { price },
      ...listing.market === "us" ? { lot: "1" } : quote.lotSize && { lot: String(quote.lotSize) },
      ...stale !== undefined && { stale },
      ...quote.isSuspended && { suspended: true },
      ...openOrders.has(`${listing.market} ${bareCode(listing.symbol)}`) && { hasOpenOrder: true },
    });
  }
  const byCode = new Map(priced.map((quote) => [`${quote.market} ${bareCode(quote.symbol)}`, quote]));
  const holdings = held.map(({ market, holding }): AccountHolding => {
    const quote = byCode.get(`${market} ${bareCode(holding.symbol)}`);
    return {
      ...quote,
      market,
      symbol: holding.symbol,
      quantity: holding.quantity ?? "0",
      sellable: holding.sellableQuantity ?? "0",
    };
  });
  const currencies = new Set([
    ...markets.map((market) => currencyOfMarket[market]),
    ...priced.map(({ market, symbol }) => currencyOf(market, symbol)),
  ]);
  currencies.delete(file.base);
  const rates = currencies.size === 0
    ? {}
    : await client.account.exchangeRates({ rateType: "spot" }, options);
  const dates = Object.fromEntries(
    markets.map((market) => [market, dateAt(at, calendarZone[mics[market]])]),
  );
  return { date: dates[markets[0]!]!, dates, cash, reserved, rates, holdings, quotes: priced };
}

/**
 * After this number of rejected securities, no more quotes are requested: the cause is then probably not a wrong
 * symbol.
 */
const MOST_REJECTED = 5;

/**
 * Reads the latest quotes, by bare code. If the broker rejects a request for several securities, requests each half of
 * them separately, to find the securities that the broker does not know.
 */
async function readQuotes(client: Client, all: readonly Security[], options: ReadOptions) {
  const quotes = new Map<string, Quote>();
  const rejected: { symbol: string; text: string }[] = [];
  const read = async (securities: readonly Security[]): Promise<void> => {
    if (securities.length === 0 || rejected.length >= MOST_REJECTED) return;
    try {
      for (const quote of await client.quotes.latest({ securities: [...securities] }, options)) {
        quotes.set(bareCode(quote.security?.symbol ?? ""), quote);
      }
    } catch (error) {
      // Only `RejectedError` itself says that the broker does not accept the request; its subclasses have other causes.
      if (!(error instanceof RejectedError) || error.constructor !== RejectedError) throw error;
      const [first] = securities;
      if (securities.length === 1) return void rejected.push({ symbol: first!.symbol, text: error.text });
      const half = Math.ceil(securities.length / 2);
      await read(securities.slice(0, half));
      await read(securities.slice(half));
    }
  };
  for (let from = 0; from < all.length; from += MOST_QUOTES) await read(all.slice(from, from + MOST_QUOTES));
  return { quotes, rejected };
}

/** Options of each query. */
type ReadOptions = { signal?: AbortSignal };

/** Maximum number of times that a market is read, if its holdings change during each reading. */
const MOST_READINGS = 3;

/**
 * Reads the cash, the holdings and the orders of a market. Reads all of them again if the holdings have changed during
 * the reading.
 */
async function readMarket(
  client: Client,
  market: Market,
  { isLater, now, options }: { isLater: boolean; now(): number; options: ReadOptions },
): Promise<{ cash: Cash | undefined; holdings: Holding[]; seen: ListReading }> {
  const quantities = (holdings: readonly Holding[]) =>
    holdings.map(({ symbol, quantity, sellableQuantity }) => [symbol, quantity, sellableQuantity].join())
      .sort().join(";");
  let holdings = await client.account.holdings({ market }, options);
  for (let reading = 0; reading < MOST_READINGS; reading++) {
    const cash = await readCash(client, market, { options, isLater });
    const seen = await readLists(client, { market, lists: ["orders.today"] }, {
      now,
      ...options,
    });
    const after = await client.account.holdings({ market }, options);
    if (quantities(holdings) === quantities(after)) return { cash, holdings, seen };
    holdings = after;
  }
  throw new InvalidParamsError("plan", [{
    path: ["holdings", market],
    value: "quantities that changed at every reading",
    expected:
      "quantities that stay the same while hsgate reads the account: try again when no order is being filled",
  }]);
}

/** The cash of a market's currency. */
interface Cash {
  cash: Decimal;
  /** Part of the cash that must not be spent. */
  reserved: Decimal;
}

/** Reads the cash of a market's currency, and the part of it that must not be spent. */
async function readCash(
  client: Client,
  market: Market,
  { options, isLater }: { options: ReadOptions; isLater: boolean },
): Promise<Cash | undefined> {
  const { available, frozen = "0", withdrawable } = await client.account.funds({ market }, options);
  if (available === undefined) return undefined;
  // Proceeds of earlier sales are available before they settle, but can be withdrawn only after that.
  const isUnsettled = isLater && withdrawable !== undefined && compare(available, withdrawable) > 0;
  return {
    cash: add(available, frozen),
    reserved: isUnsettled ? add(frozen, subtract(available, withdrawable)) : frozen,
  };
}

/** Returns the security of a code; `undefined` for an option, a future or a code of an unknown form. */
export function securityFor(market: Market, symbol: string): Security | undefined {
  const code = market === "us" ? symbol.replace(/\.US$/, "") : symbol;
  const type = typeOf(code);
  return type === undefined || /-(option|future)$/.test(type) ? undefined : securityOf(code);
}

/** Returns the price that the plan uses; `undefined` if the broker gives none. */
async function priceFor(
  client: Client,
  { prices }: RebalanceFile,
  { security, quote, options }: { security: Security; quote: Quote; options: ReadOptions },
): Promise<Decimal | undefined> {
  if (prices === "last") return lastOf(quote);
  const { bids, asks } = await client.quotes.orderBook({ security }, options);
  const [bid, ask] = [bids, asks].map((levels) => priceOf(levels?.[0] ?? {}));
  if (prices === "bid") return bid;
  if (prices === "ask") return ask;
  return bid === undefined || ask === undefined
    ? undefined
    : normalize(divide(add(bid, ask), "2", 6, "half-even"));
}

/**
 * Returns why a quote cannot be used: it has no time, is too old, or is ahead of the broker's clock. `undefined` if it
 * is current. While a market is closed, its last quote is current.
 */
export function staleness(
  quote: Quote,
  mic: Mic,
  { at, calendars, mostMs }: { at: number; calendars: Calendars; mostMs: number },
): string | undefined {
  const quotedAt = quoteInstant(quote, mic);
  if (quotedAt === undefined) return "without a time";
  const age = lastTrading(calendars, mic, at) - quotedAt;
  if (age <= mostMs && quotedAt - at <= mostMs) return undefined;
  return age > mostMs
    ? `${Math.round(age / 1000)} s old`
    : `${Math.round((quotedAt - at) / 1000)} s ahead of the broker's clock`;
}

/**
 * Returns the latest instant, up to now, at which a market traded. Returns now if the calendar does not cover a day of
 * the search, or if there was no session in {@linkcode MOST_DAYS}.
 */
function lastTrading(calendars: Calendars, mic: Mic, now: number): number {
  const today = dateAt(now, calendarZone[mic]);
  for (let day = 0; day > -MOST_DAYS; day--) {
    const session = calendars.sessionOn(mic, addDays(today, day));
    if (session === "unknown") return now;
    if (session === "closed") continue;
    const ends = openPeriods(session, mic).filter(({ from }) => from <= now).map(({ to }) =>
      Math.min(to, now)
    );
    if (ends.length > 0) return Math.max(...ends);
  }
  return now;
}
