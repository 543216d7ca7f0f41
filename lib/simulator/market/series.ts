/**
 * Provides the day bars of a stock or index: real bars for the days of the stored data, and generated bars after them.
 *
 * Stocks:
 * - 2024-08-16 to 2025-08-15: the stored bars. The source of the bars has scaled those of Hong Kong for later dividends
 *   and splits. For the dividends and splits that the simulator knows (`facts/corporate_actions.ts`), this file
 *   reverses the scaling, so a price falls on its ex-date. Most prices of 00700 and 01211 then return to the grid.
 *   Other listings had more dividends, which the simulator does not know. The source has not scaled the bars of the
 *   mainland. For the United States, this file reverses no scaling. In every market, this file then moves each price
 *   to the grid of its date.
 * - Days without volume in the stored bars (Hong Kong half-days, 2025-08-12 on the mainland), and sessions without a
 *   bar: the close is the stored or the previous close, and the other values are generated.
 * - After 2025-08-15: a random walk over the real trading days, with the volatility of the last 60 real days and
 *   a slight pull back to the last real close, so that prices stay plausible for years. The stocks of a market share a
 *   part of each day's move.
 *
 * The Hong Kong indices behind the futures follow the simulated stocks. An index starts near its level of 2024-08-16,
 * and moves each day by a fixed fraction of the mean move of its basket. The published index differs: it has more
 * members, which move more slowly. The fraction brings the simulated index near the published level a year later. The
 * index moves in the same direction as the stocks, because tests of futures need that. Levels are in units of 0.0001
 * points, rounded to 0.01 points.
 *
 * @module
 */
import { type CorporateAction, corporateActions } from "../../facts/corporate_actions.ts";
import { listings, lotSize, type Market } from "../../facts/listings.ts";
import { randomFrom } from "../../time.ts";
import packed from "./data/bars.json" with { type: "json" };
import { type Grid, gridOf, indexGrid, UNITS } from "./grid.ts";
import { type UnitBar, unpackBars } from "./packing.ts";
import { LEAST_PER_MINUTE } from "./path.ts";
import { bell, hashText, mix } from "./random.ts";
import type { Timeline, TradingDay } from "./timeline.ts";

/** Number of days over which volatility and volume of the walk are measured. */
const LOOK_BACK = 60;

/** Daily strength of the pull back to the last real close. */
const PULL = 0.01;

/** Largest daily move. It is below the 10 percent that the mainland boards allow. */
const MOST = 0.09;

/** Day bars by the index of the day in the timeline. */
export interface BarSeries {
  bar(index: number): UnitBar;
  /** Returns the close before a day. If the day is an ex-date, this close is adjusted for the dividend or the split. */
  reference(index: number): number;
}

/** Day bars of one listed stock. */
export class StockSeries implements BarSeries {
  readonly #timeline: Timeline;
  readonly #symbol: string;
  readonly #market: Market;
  readonly #seed: number;
  readonly #key: number;
  readonly #real: Map<string, UnitBar>;
  readonly #lastReal: { date: string; close: number };
  readonly #volatility: number;
  readonly #volume: number;
  readonly #actions: readonly CorporateAction[];
  readonly #bars: UnitBar[] = [];

  /** @throws {RangeError} If there are no bars for the symbol. */
  constructor(symbol: string, market: Market, timeline: Timeline, seed: number) {
    this.#symbol = symbol;
    this.#timeline = timeline;
    this.#market = market;
    this.#seed = seed;
    this.#key = mix(seed, hashText(symbol));
    this.#actions = corporateActions.filter((action) => action.symbol === symbol);
    const stored = unpackBars(packed, symbol);
    this.#real = market === "hk" ? unscaled(stored, this.#actions) : stored;
    const traded = [...this.#real].filter(([, { volume }]) => volume > 0);
    const last = traded.at(-1);
    if (last === undefined) {
      throw new RangeError(`Cannot simulate "${symbol}": the stored data has no bars for it`);
    }
    this.#lastReal = { date: last[0], close: last[1].close };
    const recent = traded.slice(-LOOK_BACK);
    const moves = recent.slice(1).map(([date, bar], place) => {
      const [before, { close }] = recent[place] ?? [date, bar];
      return Math.log(bar.close / this.#afterActions(close, before, date));
    });
    this.#volatility = Math.min(0.03, Math.max(0.006, Math.sqrt(mean(moves.map((move) => move * move)))));
    // Express the volumes in shares of the last real day, because a split multiplies the number of shares that trade.
    this.#volume = mean(
      recent.map(([date, { volume }]) =>
        this.#actions.reduce(
          (all, { exDate, newShares, oldShares }) =>
            date < exDate && exDate <= last[0] ? all * newShares / oldShares : all,
          volume,
        )
      ),
    );
  }

  /** Returns the bar of a trading day; computes and keeps the earlier days first. */
  bar(index: number): UnitBar {
    for (let next = this.#bars.length; next <= index; next++) this.#bars.push(this.#make(next));
    const bar = this.#bars[index];
    if (bar === undefined) {
      throw new RangeError(`Cannot find a bar for day ${index}: the first day has the index 0`);
    }
    return bar;
  }

  /**
   * Returns the close before a day. If the day is an ex-date, this close is adjusted for the dividend or the split. For
   * the first day, returns its open.
   */
  reference(index: number): number {
    if (index <= 0) return this.bar(0).open;
    const [before, date] = [index - 1, index].map((each) => this.#timeline.day(each).date) as [
      string,
      string,
    ];
    const { close } = this.bar(index - 1);
    const reference = this.#afterActions(close, before, date);
    return reference === close ? close : gridOf(this.#market, date).snap(reference);
  }

  /**
   * Returns a close, adjusted for the dividends and splits whose ex-dates are later than `before` and not later than
   * `date`.
   */
  #afterActions(close: number, before: string, date: string): number {
    return this.#actions.reduce(
      (price, { exDate, cash, newShares, oldShares }) =>
        exDate > before && exDate <= date ? (price - Number(cash) * UNITS) * oldShares / newShares : price,
      close,
    );
  }

  /** The average daily volume of the last 60 real days. */
  get averageVolume(): number {
    return this.#volume;
  }

  #make(index: number): UnitBar {
    const day = this.#timeline.day(index);
    const grid = gridOf(this.#market, day.date);
    const real = this.#real.get(day.date);
    if (real !== undefined && real.volume > 0) {
      const { open, high, low, close, volume } = real;
      const snap = (price: number) => grid.snap(price);
      const lot = lotSize(this.#symbol, day.date);
      // The odd lots of the exchange's volume are left out: every tick has whole lots.
      const lots = Math.max(LEAST_PER_MINUTE * day.minutes, Math.floor(volume / lot));
      return { open: snap(open), high: snap(high), low: snap(low), close: snap(close), volume: lots * lot };
    }
    const before = index > 0 ? this.reference(index) : real?.close ?? this.#lastReal.close;
    if (day.date <= this.#lastReal.date) return this.#walk(day, grid, before, real?.close ?? before);
    return this.#walk(day, grid, before, undefined);
  }

  /** Generates a bar from the previous close and, if it is known, the close that it must reach. */
  #walk(day: TradingDay, grid: Grid, before: number, fixed: number | undefined): UnitBar {
    const next = randomFrom(mix(this.#key, hashText(day.date)));
    const shared = bell(randomFrom(mix(this.#seed, hashText(`shared:${this.#market}:${day.date}`))));
    const pull = PULL * Math.log(this.#lastReal.close / before);
    const limit = (move: number) => Math.min(MOST, Math.max(-MOST, move));
    const priceAt = (move: number) => grid.snap(before * Math.exp(limit(move)));
    const move = this.#volatility * (0.6 * shared + 0.8 * bell(next)) + pull;
    const close = fixed === undefined ? priceAt(move) : grid.snap(fixed);
    const open = priceAt(0.3 * this.#volatility * bell(next));
    const [up, down] = [
      0.5 * this.#volatility * Math.abs(bell(next)),
      0.5 * this.#volatility * Math.abs(bell(next)),
    ];
    const reached = Math.log(Math.max(open, close) / before);
    const sunk = Math.log(Math.min(open, close) / before);
    const volume = this.#volume * Math.exp(0.3 * bell(next)) * (day.halfDay ? 0.5 : 1);
    const lot = lotSize(this.#symbol, day.date);
    const unit = Math.max(lot, 100);
    return {
      open,
      high: Math.max(open, close, priceAt(reached + up)),
      low: Math.min(open, close, priceAt(sunk - down)),
      close,
      volume: Math.max(LEAST_PER_MINUTE * day.minutes * lot, Math.round(volume / unit) * unit),
    };
  }
}

/**
 * Returns the bars of Hong Kong as they were traded. The source of the bars has multiplied the prices before an ex-date
 * by (close - cash) / close, and divided them by the number of shares that one share became. It has multiplied the
 * volumes by that number. This function reverses both.
 */
function unscaled(stored: Map<string, UnitBar>, actions: readonly CorporateAction[]): Map<string, UnitBar> {
  let bars = [...stored];
  for (const { exDate, cash, newShares, oldShares } of actions.toReversed()) {
    const scaled = bars.findLast(([date]) => date < exDate)?.[1].close;
    if (scaled === undefined || !bars.some(([date]) => date >= exDate)) continue;
    const ratio = newShares / oldShares;
    const factor = ratio + Number(cash) * UNITS / scaled;
    const back = (price: number) => Math.round(price * factor);
    bars = bars.map(([date, bar]) => [
      date,
      date >= exDate ? bar : {
        open: back(bar.open),
        high: back(bar.high),
        low: back(bar.low),
        close: back(bar.close),
        volume: Math.round(bar.volume / ratio),
      },
    ]);
  }
  return new Map(bars);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** Definition of an index. */
interface IndexRule {
  /** Index level before the first day, in points. */
  start: number;
  /** Fraction of the basket's mean move by which the index moves. */
  share: number;
  /** Returns whether a Hong Kong stock is part of the index. */
  holds: (symbol: string) => boolean;
}

const CHINA = [
  "00700",
  "00939",
  "00941",
  "00981",
  "01211",
  "01398",
  "01810",
  "02318",
  "03690",
  "09988",
  "09999",
];
const TECH = ["00700", "00981", "01810", "03690", "09618", "09988", "09999"];
const among = (codes: readonly string[]) => (symbol: string) => codes.includes(symbol.slice(0, 5));

const RULES: Record<string, IndexRule> = {
  HSI: { start: 17_400, share: 0.77, holds: () => true },
  HHI: { start: 6_150, share: 0.7, holds: among(CHINA) },
  HTI: { start: 3_450, share: 0.78, holds: among(TECH) },
};

/** Day bars of one index. */
export class IndexSeries implements BarSeries {
  readonly #basket: BarSeries[];
  readonly #rule: IndexRule;
  readonly #bars: UnitBar[] = [];

  /** @param stock Returns the series of a Hong Kong stock. */
  constructor(index: string, stock: (symbol: string) => BarSeries) {
    const rule = RULES[index];
    if (rule === undefined) {
      throw new RangeError(`Cannot simulate index "${index}": it is not one of HSI, HHI, HTI`);
    }
    this.#rule = rule;
    this.#basket = listings.filter(({ market, symbol }) => market === "hk" && rule.holds(symbol))
      .map(({ symbol }) => stock(symbol));
  }

  /** Returns the close before a day; for the first day, its open. An index has no ex-dates. */
  reference(index: number): number {
    return index <= 0 ? this.bar(0).open : this.bar(index - 1).close;
  }

  /** Returns the bar of a Hong Kong trading day. Its volume is 0, because an index is not traded. */
  bar(index: number): UnitBar {
    for (let next = this.#bars.length; next <= index; next++) {
      const before = this.#bars[next - 1]?.close ?? this.#rule.start * UNITS;
      const moves = this.#basket.map((stock) => {
        const bar = stock.bar(next);
        return { bar, base: stock.reference(next) };
      });
      const level = (pick: (bar: UnitBar) => number) => {
        const sum = moves.reduce((all, { bar, base }) => all + pick(bar) / base, 0);
        return indexGrid.snap(before * (1 + this.#rule.share * (sum / moves.length - 1)));
      };
      this.#bars.push({
        open: level((bar) => bar.open),
        high: level((bar) => bar.high),
        low: level((bar) => bar.low),
        close: level((bar) => bar.close),
        volume: 0,
      });
    }
    const bar = this.#bars[index];
    if (bar === undefined) {
      throw new RangeError(`Cannot find an index bar for day ${index}: the first day has the index 0`);
    }
    return bar;
  }
}
