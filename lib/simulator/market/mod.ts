/**
 * Simulates the market: every price, bar, order book and option chain follows from a seed and an instant.
 *
 * The market has no clock and no randomness of its own. All views come from the same price path. So at one instant the
 * quote's last price, the last tick, the end of the time line and the close of the running minute bar are equal.
 *
 * - From the start of the order input or pre-market hours until the open, the quote shows the previous close and no
 *   volume. On the ex-date of a security, its quote does so from four in the morning, when the dividend or the split is
 *   booked.
 * - After the close the quote shows the day's bar until the next day starts.
 * - After the last stored bar (2025-08-15), the prices are generated, for the real trading days.
 * - After the end of the calendar, the market stays at its last close.
 *
 * A script can move prices and halt trading, as `scripted.ts` describes.
 *
 * Bars cover only the regular hours. The other views show the sessions outside these hours on request: pre-market and
 * after-hours trading of stocks of the United States, and the night session of futures.
 *
 * The market itself makes no trades in auctions. The broker adds the auctions.
 *
 * @module
 */
import { builtInCalendars, type Calendars, type ExtendedSession, type Mic } from "../../calendars/mod.ts";
import { compare, type Decimal } from "../../decimal.ts";
import { type CorporateAction, corporateActions } from "../../facts/corporate_actions.ts";
import { type FutureContract, futureContracts, optionUnderlyings } from "../../facts/contracts.ts";
import { formatOptionCode, type OptionTerms } from "../../operations/option_code.ts";
import { type Asset, referenceClose, unhaltedBar } from "./asset.ts";
import { Assets } from "./assets.ts";
import { type BarQuery, makeBars } from "./bars.ts";
import type { OptionInputs } from "./black_scholes.ts";
import { type BookOptions, makeBook, makeBrokers, makeQueue } from "./book.ts";
import { toDecimal, UNITS } from "./grid.ts";
import { extendedAsset, extendedSessions } from "./extended.ts";
import { daysBetween, expiriesOn, pricingOn, strikesAt } from "./option_chain.ts";
import { toUnits } from "./packing.ts";
import { addTicks, type Tick } from "./path.ts";
import { latestTicks, makeQuote, makeTimeShare, showTicks } from "./quotes.ts";
import { type CurrencyRates, currencyRates } from "./rates.ts";
import type { MarketPlan } from "./scripted.ts";
import { type AssetState, Cache, Days } from "./state.ts";
import { localTime, minuteAt, timelineOf, type TradingDay } from "./timeline.ts";
import type {
  BarView,
  BookView,
  BrokersView,
  DayBar,
  Instrument,
  QuoteView,
  TickView,
  TimeShareView,
} from "./views.ts";

export type { BarQuery, DayInterval, MinuteInterval } from "./bars.ts";
export type { BookOptions } from "./book.ts";
export type { CurrencyRates } from "./rates.ts";
export type * from "./views.ts";
export { MOST_BARS } from "./bars.ts";

/** Options of a simulated market. */
interface SimulatedMarketOptions {
  /** A whole number. The stored bars are the same for every seed; the paths within and after them differ. */
  seed: number;
  /** The trading days of its exchanges. @default {@linkcode builtInCalendars} */
  calendars?: Calendars;
  /** Scripted moves and halts. @default none */
  plan?: MarketPlan;
}

/** Which options of an expiry to return; an absent member selects both kinds. */
export interface OptionFilter {
  /** Only options in the money, or only options out of the money. */
  inOut?: "in-the-money" | "out-of-the-money";
  /** Only calls, or only puts. */
  type?: "call" | "put";
}

/** Chooses the sessions that a method covers. */
export interface OpenOptions {
  /**
   * Whether to include the sessions outside the regular hours: pre-market and after-hours trading of the United States,
   * and the night session of futures. A view shows the night session until the next day starts. The method `isOpen`
   * also includes the auctions of Hong Kong. @default false
   */
  extended?: boolean;
}

/** Options of a view. */
export interface ViewOptions extends OpenOptions {
  /** Shows the latest session of this kind outside the regular hours, if the listing has it. @default none */
  session?: string;
}

/** The highest and lowest price and the volume traded in a period. */
export interface TradedRange {
  /** Highest price. */
  high: Decimal;
  /** Lowest price. */
  low: Decimal;
  /** Last price. */
  last: Decimal;
  /** Shares or contracts traded. */
  volume: string;
}

/** One trade of the market. */
export interface Print {
  /** Epoch milliseconds. */
  at: number;
  /** Price of the trade. */
  price: Decimal;
  /** Shares or contracts. */
  volume: string;
}

/**
 * Milliseconds from the start of Hong Kong's first auction to the open, and from the close to the end of the last
 * auction.
 */
const AUCTIONS = { before: 30 * 60_000, after: 10 * 60_000 };

const CONNECT: Record<string, Mic> = { shanghai: "CONNECT_SH", shenzhen: "CONNECT_SZ" };

/** A simulated market. Its methods accept any instant, and you can call them in any order of time. */
export class SimulatedMarket {
  /** The trading days of its exchanges. */
  readonly calendars: Calendars;
  /** Dividends and splits, the known ones first, then those of the script. */
  readonly actions: readonly CorporateAction[];
  /** When scripted halts start, epoch milliseconds, in order. */
  readonly haltsAt: readonly number[];
  readonly #seed: number;
  readonly #assets: Assets;
  readonly #found = new Cache<Asset>(4_000);
  readonly #extended = new Cache<readonly Asset[]>(500);
  readonly #days = new Days();

  /** Creates the market of a seed: the same seed gives the same prices. */
  constructor({ seed, calendars = builtInCalendars, plan }: SimulatedMarketOptions) {
    this.#seed = seed;
    this.calendars = calendars;
    this.#assets = new Assets(seed, calendars, plan);
    this.actions = [...corporateActions, ...plan?.actions ?? []];
    this.haltsAt = (plan?.halts ?? []).map(({ from }) => from).sort((a, b) => a - b);
  }

  /** Returns the asset of a symbol. @throws {RangeError} If the market has none. */
  #asset(symbol: string): Asset {
    return this.#found.get(symbol, () => {
      const asset = this.#assets.find(symbol);
      if (asset === undefined) {
        throw new RangeError(`Cannot find "${symbol}": the simulated market does not trade it`);
      }
      return asset;
    });
  }

  #state(symbol: string, at: number): AssetState {
    return this.#days.state(this.#asset(symbol), at);
  }

  /** Returns the sessions outside the regular hours in which a symbol trades, each in the form of an asset. */
  #sessions(symbol: string): readonly Asset[] {
    return this.#extended.get(symbol, () => {
      const asset = this.#asset(symbol);
      return extendedSessions(asset).map((session) =>
        extendedAsset(asset, { session, calendars: this.calendars, seed: this.#seed })
      );
    });
  }

  /** Returns the session outside the regular hours that is open at an instant, in the form of an asset. */
  #sessionAt(symbol: string, at: number): Asset | undefined {
    return this.#sessions(symbol).find(({ timeline, lastIndex }) => {
      const index = timeline.indexAt(at);
      return index >= 0 && index <= lastIndex && at < timeline.day(index).closeAt;
    });
  }

  /** Returns the state that a view shows: of the regular hours, or of a session outside them. */
  #view(symbol: string, at: number, { session, extended = false }: ViewOptions): AssetState {
    const shown = session !== undefined
      ? this.#sessions(symbol).find((each) => each.session === session)
      : extended
      ? this.#sessionAt(symbol, at) ?? this.#night(symbol, at)
      : undefined;
    return shown === undefined ? this.#state(symbol, at) : this.#days.state(shown, at);
  }

  /** Returns a future's night session, if it has begun after the latest regular session, in the form of an asset. */
  #night(symbol: string, at: number): Asset | undefined {
    const { timeline } = this.#asset(symbol);
    const date = timeline.days[timeline.indexAt(at)]?.date ?? "";
    return this.#sessions(symbol).find(({ session, timeline: nights, lastIndex }) => {
      const night = nights.on(date);
      return session === "night" && night !== undefined && night.index <= lastIndex && at >= night.openAt;
    });
  }

  /** Returns the session outside the regular hours that is open at an instant, if the symbol trades in it. */
  sessionAt(symbol: string, at: number): ExtendedSession | undefined {
    return this.#sessionAt(symbol, at)?.session;
  }

  /**
   * Returns an instrument, or `undefined` if the symbol is not traded.
   *
   * @param date Day whose lot size the instrument shows, `yyyy-MM-dd`. @default the last known day
   */
  instrument(symbol: string, date = "9999-12-31"): Instrument | undefined {
    const asset = this.#assets.find(symbol);
    return asset?.describe(date);
  }

  /** Returns the price step at a price on a date. */
  tickSize(symbol: string, date: string, price: Decimal): Decimal {
    const asset = this.#asset(symbol);
    return toDecimal(asset.grid(date).tick(toUnits(price)), asset.places);
  }

  /** Returns the last traded price at an instant (epoch milliseconds), in the instrument's currency. */
  lastPrice(symbol: string, at: number, options: OpenOptions = {}): Decimal {
    const { asset, last } = this.#view(symbol, at, options);
    return toDecimal(last, asset.places);
  }

  /**
   * Returns the close of the last session before the day that quotes show. If that day is an ex-date, this close is
   * adjusted for the dividend or the split.
   */
  previousClose(symbol: string, at: number, options: OpenOptions = {}): Decimal {
    const { asset, previousClose } = this.#view(symbol, at, options);
    return toDecimal(previousClose, asset.places);
  }

  /**
   * Returns the full bar of a day, or `undefined` if the instrument did not trade.
   *
   * @param options.unhalted Whether to return the bar that the day would have without scripted halts. @default false
   */
  dayBar(symbol: string, date: string, { unhalted = false } = {}): DayBar | undefined {
    const asset = this.#asset(symbol);
    const day = asset.timeline.on(date);
    if (day === undefined || day.index > asset.lastIndex) return undefined;
    const { open, high, low, close, volume } = unhalted
      ? unhaltedBar(asset, day.index)
      : asset.bar(day.index);
    const write = (price: number) => toDecimal(price, asset.places);
    return {
      date,
      open: write(open),
      high: write(high),
      low: write(low),
      close: write(close),
      volume: String(volume),
    };
  }

  /** Returns the quote at an instant. */
  quote(symbol: string, at: number, options: ViewOptions = {}): QuoteView {
    const state = this.#view(symbol, at, options);
    const { option: contract } = state.asset.describe(state.day.date);
    if (contract === undefined) return makeQuote(state, { at, days: this.#days });
    const inputs = this.#optionInputs(contract, state, at);
    return makeQuote(state, { at, days: this.#days, option: { contract, inputs } });
  }

  #optionInputs(contract: OptionTerms, { day }: AssetState, at: number): OptionInputs {
    const stock = this.#asset(contract.underlying);
    // An expired option keeps the stock price of its last instant.
    const until = Math.min(
      at,
      day.index === this.#asset(formatOptionCode(contract)).lastIndex ? day.closeAt : at,
    );
    const spot = this.#days.state(stock, until).last / UNITS;
    const reference = referenceClose(stock, day.index);
    return { ...pricingOn(contract, { date: day.date, reference, seed: this.#seed }), spot };
  }

  /** Returns bars, oldest first, up to `query.at`. */
  bars(symbol: string, query: BarQuery): BarView[] {
    const asset = this.#asset(symbol);
    const { multiplier } = asset.describe(asset.timeline.day(0).date);
    return makeBars(asset, this.#days, query, Number(multiplier));
  }

  /** Returns the latest ticks, oldest first; before the open those of the previous day. */
  ticks(symbol: string, at: number, limit: number, options: ViewOptions = {}): TickView[] {
    const state = this.#view(symbol, at, options);
    return showTicks(latestTicks(state, this.#days, at, limit), state.asset);
  }

  /** Returns whether a script has stopped trading at an instant. */
  isHalted(symbol: string, at: number): boolean {
    return this.#asset(symbol).isHalted?.(at) ?? false;
  }

  /** Returns the order book. It changes only while the market trades, and is empty during a halt. */
  orderBook(symbol: string, at: number, options: BookOptions & ViewOptions = {}): BookView {
    const book = makeBook(this.#view(symbol, at, options), { ...options, at, seed: this.#seed });
    return this.isHalted(symbol, at) ? { ...book, asks: [], bids: [] } : book;
  }

  /** Returns the volume that is ahead of an order when the order joins the queue at a price. */
  queueAt(
    symbol: string,
    at: number,
    { price, isBid, ...options }: { price: Decimal; isBid: boolean } & OpenOptions,
  ): string {
    const state = this.#view(symbol, at, options);
    return String(makeQueue(state, { at, seed: this.#seed, price: toUnits(price), isBid }));
  }

  /** Returns the broker queue of a Hong Kong stock; for any other instrument, both sides are empty. */
  brokers(symbol: string, at: number): BrokersView {
    return makeBrokers(this.#state(symbol, at), at, this.#seed);
  }

  /** Returns the minutes of the day so far. */
  timeShare(symbol: string, at: number, options: ViewOptions = {}): TimeShareView[] {
    return makeTimeShare(this.#view(symbol, at, options), this.#days, at);
  }

  /**
   * Returns what was traded after one instant and up to another, or `undefined` if nothing was. Used to match
   * limit orders and to trigger conditional orders between two checks of the market.
   */
  traded(symbol: string, after: number, until: number, options: OpenOptions = {}): TradedRange | undefined {
    const asset = this.#asset(symbol);
    const sum = addTicks(undefined, this.#ticks(symbol, after, until, options));
    if (sum === undefined) return undefined;
    const { high, low, last: price, volume } = sum;
    const write = (units: number) => toDecimal(units, asset.places);
    return { high: write(high), low: write(low), last: write(price), volume: String(volume) };
  }

  /** Returns the trades after one instant and up to another, oldest first. */
  prints(symbol: string, after: number, until: number, options: OpenOptions = {}): Print[] {
    const asset = this.#asset(symbol);
    return this.#ticks(symbol, after, until, options).map(({ at, price, volume }) => ({
      at,
      price: toDecimal(price, asset.places),
      volume: String(volume),
    }));
  }

  #ticks(symbol: string, after: number, until: number, { extended = false }: OpenOptions): Tick[] {
    const regular = this.#ticksBetween(this.#asset(symbol), after, until);
    if (!extended) return regular;
    const others = this.#sessions(symbol).flatMap((each) => this.#ticksBetween(each, after, until));
    return others.length === 0 ? regular : [...regular, ...others].sort((a, b) => a.at - b.at);
  }

  #ticksBetween(asset: Asset, after: number, until: number): Tick[] {
    const found: Tick[] = [];
    const last = Math.min(asset.timeline.indexAt(until), asset.lastIndex);
    for (let index = Math.max(0, asset.timeline.indexAt(after)); index <= last; index++) {
      const day = asset.timeline.day(index);
      const { path } = this.#days.full(asset, index);
      for (let minute = Math.max(0, minuteAt(day, after)); minute <= minuteAt(day, until); minute++) {
        for (const tick of path.ticks(minute)) if (tick.at > after && tick.at <= until) found.push(tick);
      }
    }
    return found;
  }

  /** Returns the trading days whose hours overlap a period, in order of time. */
  tradingDays(symbol: string, after: number, until: number): TradingDay[] {
    const { timeline, lastIndex } = this.#asset(symbol);
    const days: TradingDay[] = [];
    const last = Math.min(timeline.indexAt(until), lastIndex);
    for (let index = Math.max(0, timeline.indexAt(after)); index <= last; index++) {
      const day = timeline.day(index);
      if (day.openAt <= until && day.closeAt > after) days.push(day);
    }
    return days;
  }

  /** Returns the listed expiries of a stock's options, `yyyy-MM-dd`, nearest first; empty if it has none. */
  optionExpiries(underlying: string, at: number): string[] {
    return optionUnderlyings.includes(underlying)
      ? expiriesOn(this.calendars, this.#localDate(underlying, at))
      : [];
  }

  /**
   * Returns the option codes of an expiry: all calls by strike, then all puts by strike; empty if the expiry is not
   * listed.
   */
  optionCodes(underlying: string, expiry: string, { inOut, type }: OptionFilter, at: number): string[] {
    if (!this.optionExpiries(underlying, at).includes(expiry)) return [];
    const { previousClose, last } = this.#state(underlying, at);
    const strikes = strikesAt(
      toDecimal(previousClose),
      daysBetween(this.#localDate(underlying, at), expiry),
    );
    const types = type === undefined ? ["call", "put"] as const : [type];
    return types.flatMap((kind) =>
      strikes.filter((strike) => {
        const below = compare(strike, toDecimal(last)) < 0;
        return inOut === undefined || (inOut === "in-the-money") === ((kind === "call") === below);
      }).map((strike) => formatOptionCode({ underlying, expiry, optionType: kind, strike }))
    );
  }

  /** Returns the index futures listed at an instant. */
  futureContracts(at: number): FutureContract[] {
    return futureContracts(localTime(timelineOf(this.calendars, "HKFUT").day(0), at).slice(0, 10));
  }

  /**
   * Returns whether a symbol trades continuously at an instant; false during a lunch break. Mainland stocks trade on
   * the northbound days.
   */
  isOpen(symbol: string, at: number, { extended = false }: OpenOptions = {}): boolean {
    const asset = this.#asset(symbol);
    const index = asset.timeline.indexAt(at);
    if (index < 0 || index > asset.lastIndex || asset.isHalted?.(at)) return false;
    if (extended && this.#sessionAt(symbol, at) !== undefined) return true;
    const day = asset.timeline.day(index);
    const { market, kind } = asset.describe(day.date);
    const link = CONNECT[market];
    if (link !== undefined) return isLinkOpen(this.calendars, link, day, at);
    if (day.segments.some(({ from, to }) => at >= from && at < to)) return true;
    if (!extended || market !== "hk" || kind === "future") return false;
    const { before, after } = AUCTIONS;
    const isBefore = at >= day.openAt - before && at < day.openAt;
    return isBefore || (at >= day.closeAt && at < day.closeAt + after);
  }

  /** Returns the exchange rates of a date (`yyyy-MM-dd`). */
  currencyRates(date: string): CurrencyRates {
    return currencyRates(date, this.#seed);
  }

  #localDate(symbol: string, at: number): string {
    return localTime(this.#state(symbol, at).day, at).slice(0, 10);
  }
}

/**
 * Returns whether northbound trading is open. Northbound trading needs Hong Kong to be open, and ends early if weather
 * closes Hong Kong.
 */
function isLinkOpen(calendars: Calendars, link: Mic, day: TradingDay, at: number): boolean {
  const session = calendars.sessionOn(link, day.date);
  if (typeof session === "string" || at < session.openAt || at >= session.closeAt) return false;
  return day.segments.some(({ from, to }) => at >= from && at < to);
}
