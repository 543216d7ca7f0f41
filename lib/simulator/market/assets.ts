/**
 * Provides the prices of stocks, futures and options in the same form: day bars, price paths within the days, and a
 * price grid.
 *
 * @module
 */
import type { Calendars } from "../../calendars/mod.ts";
import { futureContract, optionMultiplier } from "../../facts/contracts.ts";
import { type Listing, listing, lotSize, type Market } from "../../facts/listings.ts";
import type { OptionTerms } from "../../operations/option_code.ts";
import { randomFrom } from "../../time.ts";
import { optionValue } from "./black_scholes.ts";
import { gridOf, indexGrid, UNITS } from "./grid.ts";
import { daysBetween, findOption, pricingOn } from "./option_chain.ts";
import type { UnitBar } from "./packing.ts";
import { barOf, type DayPath, followPath, LEAST_PER_MINUTE, makePath, shortenPath } from "./path.ts";
import { bell, hashText, mix } from "./random.ts";
import { type MarketPlan, scripted } from "./scripted.ts";
import { type Asset, referenceClose } from "./asset.ts";
import { type BarSeries, IndexSeries, StockSeries } from "./series.ts";
import { futureTimeline, type TimelineName, timelineOf } from "./timeline.ts";

const TIMELINE: Record<Market, TimelineName> = { hk: "XHKG", us: "XNYS", shanghai: "XSHG", shenzhen: "XSHG" };

/** Assumed number of tradable shares, in days of average volume. */
const FLOAT_DAYS = 250;

/** Yearly cost of carry of a future, as a fraction of the index. */
const FUTURE_CARRY = 0.02;

/** Finds the assets of one seed by symbol. */
export class Assets {
  readonly #seed: number;
  readonly #calendars: Calendars;
  readonly #plan: MarketPlan | undefined;
  readonly #stocks = new Map<string, StockSeries>();
  readonly #scripted = new Map<string, Asset>();
  readonly #indices = new Map<string, { series: BarSeries; paths: Map<number, DayPath> }>();

  constructor(seed: number, calendars: Calendars, plan?: MarketPlan) {
    this.#seed = seed;
    this.#calendars = calendars;
    this.#plan = plan;
  }

  /** Returns the asset of a symbol, or `undefined` if the market has none. */
  find(symbol: string): Asset | undefined {
    const row = listing(symbol);
    if (row !== undefined) return this.#scriptedStock(row);
    const contract = findOption(this.#calendars, symbol);
    if (contract !== undefined) return this.#option(symbol, contract);
    const future = this.#future(symbol);
    return future && scripted(future, this.#plan);
  }

  /**
   * Returns a stock with the prices of the script. Returns the same object each time, because it caches the scripted
   * days.
   */
  #scriptedStock(row: Listing): Asset {
    if (this.#plan === undefined) return this.#stock(row);
    let asset = this.#scripted.get(row.symbol);
    if (asset === undefined) {
      asset = scripted(this.#stock(row), this.#plan);
      this.#scripted.set(row.symbol, asset);
    }
    return asset;
  }

  #series(row: Listing): StockSeries {
    let series = this.#stocks.get(row.symbol);
    if (series === undefined) {
      series = new StockSeries(
        row.symbol,
        row.market,
        timelineOf(this.#calendars, TIMELINE[row.market]),
        this.#seed,
      );
      this.#stocks.set(row.symbol, series);
    }
    return series;
  }

  #stock(row: Listing): Asset {
    const { symbol, market, instrument } = row;
    const timeline = timelineOf(this.#calendars, TIMELINE[market]);
    const series = this.#series(row);
    const grid = (date: string) => gridOf(market, date, instrument);
    const { instrument: kind, ...names } = row;
    return {
      symbol,
      timeline,
      lastIndex: Infinity,
      places: 2,
      outstanding: Math.round(series.averageVolume * FLOAT_DAYS),
      describe: (date) => ({ ...names, kind, lotSize: lotSize(symbol, date), multiplier: "1" }),
      grid,
      bar: (index) => series.bar(index),
      reference: (index) => series.reference(index),
      path: (index) => {
        const day = timeline.day(index);
        const lot = lotSize(symbol, day.date);
        return makePath(day, series.bar(index), grid(day.date), { key: this.#key(symbol, index), lot });
      },
    };
  }

  #key(symbol: string, index: number): number {
    return mix(this.#seed, hashText(symbol), index);
  }

  /** Returns the day bars of an index, and its cached paths by day. */
  #index(name: string) {
    let held = this.#indices.get(name);
    if (held === undefined) {
      const stock = (symbol: string) => {
        const row = listing(symbol);
        if (row === undefined) {
          throw new RangeError(`Cannot find "${symbol}" of index "${name}": there is no such listing`);
        }
        return this.#series(row);
      };
      held = { series: new IndexSeries(name, stock), paths: new Map() };
      this.#indices.set(name, held);
    }
    return held;
  }

  /** Returns the path of an index over the hours of its futures; all contracts of a day share it. */
  #indexPath(name: string, index: number): DayPath {
    const { series, paths } = this.#index(name);
    let path = paths.get(index);
    if (path === undefined) {
      const day = timelineOf(this.#calendars, "HKFUT").day(index);
      // The index itself is not traded, but its path needs some volume to have ticks.
      const bar = { ...series.bar(index), volume: LEAST_PER_MINUTE * day.minutes };
      path = makePath(day, bar, indexGrid, { key: this.#key(`index:${name}`, index) });
      if (paths.size >= 64) paths.clear();
      paths.set(index, path);
    }
    return path;
  }

  #future(symbol: string): Asset | undefined {
    const contract = futureContract(symbol);
    if (contract === undefined) return undefined;
    const timeline = futureTimeline(this.#calendars, contract.lastTradingDay);
    const { series } = this.#index(contract.index);
    const daysLeft = (index: number) =>
      Math.max(0, daysBetween(timeline.day(index).date, contract.lastTradingDay));
    const priceOn = (index: number) => {
      const factor = 1 + FUTURE_CARRY * daysLeft(index) / 365;
      return (level: number) => Math.max(UNITS, Math.round(level * factor / UNITS) * UNITS);
    };
    const volumeOn = (index: number) => {
      const noise = Math.exp(0.2 * bell(randomFrom(this.#key(`volume:${symbol}`, index))));
      const least = LEAST_PER_MINUTE * timelineOf(this.#calendars, "HKFUT").day(index).minutes;
      return Math.round(least + 90_000 * noise * Math.exp(-daysLeft(index) / 15));
    };
    const isLast = (index: number) => timeline.day(index).date === contract.lastTradingDay;
    const pathOn = (index: number) => {
      const path = followPath(this.#indexPath(contract.index, index), {
        price: priceOn(index),
        volume: volumeOn(index),
        key: this.#key(symbol, index),
      });
      return isLast(index) ? shortenPath(path, timeline.day(index)) : path;
    };
    let lastBar: UnitBar | undefined;
    const { name, nameTc, nameSc, dataType, currency, multiplier } = contract;
    const named = { symbol, name, nameTc, nameSc, dataType, currency, multiplier };
    return {
      symbol,
      timeline,
      lastIndex: timeline.indexOn(contract.lastTradingDay),
      places: contract.decimals,
      outstanding: 100_000,
      describe: () => ({ ...named, kind: "future", market: "hk", lotSize: 1, future: contract }),
      grid: (date) => gridOf("hk", date, "future"),
      bar: (index) =>
        isLast(index)
          ? lastBar ??= barOf(pathOn(index))
          : followBar(series.bar(index), priceOn(index), volumeOn(index)),
      path: pathOn,
    };
  }

  #option(symbol: string, contract: OptionTerms): Asset | undefined {
    const stock = this.find(contract.underlying);
    if (stock === undefined) return undefined;
    const { timeline } = stock;
    const reference = (index: number) => referenceClose(stock, index);
    const grid = (date: string) => gridOf("us", date, "option");
    const priceOn = (index: number) => {
      const { date } = timeline.day(index);
      const inputs = pricingOn(contract, { date, reference: reference(index), seed: this.#seed });
      const steps = grid(date);
      // A stock reaches a few hundred prices a day, each many times, so each option price is computed once.
      const known = new Map<number, number>();
      return (spot: number) => {
        let price = known.get(spot);
        if (price === undefined) {
          price = steps.snap(Math.round(optionValue({ ...inputs, spot: spot / UNITS }) * UNITS));
          known.set(spot, price);
        }
        return price;
      };
    };
    const volumeOn = (index: number) => {
      const day = timeline.day(index);
      const distance = Math.abs(Math.log(Number(contract.strike) * UNITS / reference(index)));
      const wanted = 30_000 * Math.exp(-12 * distance - daysBetween(day.date, contract.expiry) / 90);
      const noise = Math.exp(0.3 * bell(randomFrom(this.#key(`volume:${symbol}`, index))));
      return Math.round(LEAST_PER_MINUTE * day.minutes + Math.max(0, wanted) * noise);
    };
    const kind = contract.optionType === "call" ? "Call" : "Put";
    const title = `${contract.underlying} ${contract.expiry} ${contract.strike}`;
    return {
      symbol,
      timeline,
      // Trading of an option stops when trading of its stock stops.
      ...(stock.isHalted === undefined ? {} : { isHalted: stock.isHalted }),
      lastIndex: timeline.indexOn(contract.expiry),
      places: 2,
      outstanding: 500 + mix(this.#seed, hashText(symbol)) % 20_000,
      describe: () => ({
        symbol,
        kind: "option",
        market: "us",
        name: `${title} ${kind}`,
        nameTc: `${title} ${contract.optionType === "call" ? "認購" : "認沽"}`,
        nameSc: `${title} ${contract.optionType === "call" ? "认购" : "认沽"}`,
        dataType: 20003,
        currency: "USD",
        lotSize: 1,
        multiplier: optionMultiplier,
        option: contract,
      }),
      grid,
      bar: (index) => followBar(stock.bar(index), priceOn(index), volumeOn(index)),
      path: (index) =>
        followPath(stock.path(index), {
          price: priceOn(index),
          volume: volumeOn(index),
          key: this.#key(symbol, index),
        }),
    };
  }
}

function followBar(
  { open, high, low, close }: UnitBar,
  price: (base: number) => number,
  volume: number,
): UnitBar {
  const [top, bottom] = [price(high), price(low)];
  return {
    open: price(open),
    high: Math.max(top, bottom),
    low: Math.min(top, bottom),
    close: price(close),
    volume,
  };
}
