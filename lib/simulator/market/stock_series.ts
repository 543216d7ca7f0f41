/**
 * The day bars of a stock: real where the data reaches, made by the seed beyond.
 *
 * - 2024-08-16 to 2025-08-15: the held bars, each price brought onto the grid of its date. They look adjusted
 *   for dividends (inferred from prices off the grid), so no other adjustment is made.
 * - Days on which the held bars have no volume (Hong Kong half-days, 2025-08-12 on the mainland), and sessions
 *   that they lack: the close stays, the rest is made.
 * - After 2025-08-15: a seeded walk over the true trading days, with the spread of the last 60 real days and a
 *   mild pull back to the last real close, so that long runs stay plausible. All stocks share part of each day.
 *
 * @module
 */
import type { Market } from "../../facts/listings.ts";
import packed from "./data/bars.json" with { type: "json" };
import { type Grid, gridOf } from "./grid.ts";
import { LEAST_PER_MINUTE } from "./path.ts";
import { type UnitBar, unpackBars } from "./packing.ts";
import { bell, hashText, mix, stream } from "./random.ts";
import type { Timeline, TradingDay } from "./timeline.ts";

/** Days that the spread and the volume of the walk are measured over. */
const LOOK_BACK = 60;

/** How strongly the walk is pulled back to the last real close, per day. */
const PULL = 0.01;

/** No day moves further than this; mainland boards allow 10 percent. */
const MOST = 0.09;

/** Day bars by the place of the day in the timeline. */
export interface BarSeries {
  bar(index: number): UnitBar;
}

/** Day bars of one listed stock. */
export class StockSeries implements BarSeries {
  readonly #timeline: Timeline;
  readonly #market: Market;
  readonly #seed: number;
  readonly #key: number;
  readonly #real: Map<string, UnitBar>;
  readonly #lastReal: { date: string; close: number };
  readonly #spread: number;
  readonly #volume: number;
  readonly #bars: UnitBar[] = [];

  /** @throws {RangeError} When no bars are held for the symbol. */
  constructor(symbol: string, market: Market, timeline: Timeline, seed: number) {
    this.#timeline = timeline;
    this.#market = market;
    this.#seed = seed;
    this.#key = mix(seed, hashText(symbol));
    this.#real = unpackBars(packed, symbol);
    const traded = [...this.#real].filter(([, { volume }]) => volume > 0);
    const last = traded.at(-1);
    if (last === undefined) throw new RangeError(`Cannot simulate "${symbol}": no bars are held`);
    this.#lastReal = { date: last[0], close: last[1].close };
    const recent = traded.slice(-LOOK_BACK).map(([, bar]) => bar);
    const moves = recent.slice(1).map((bar, place) =>
      Math.log(bar.close / (recent[place]?.close ?? bar.close))
    );
    this.#spread = Math.min(0.03, Math.max(0.006, Math.sqrt(mean(moves.map((move) => move * move)))));
    this.#volume = mean(recent.map(({ volume }) => volume));
  }

  /** Returns the bar of a trading day; earlier days are worked out first and kept. */
  bar(index: number): UnitBar {
    for (let next = this.#bars.length; next <= index; next++) this.#bars.push(this.#make(next));
    const bar = this.#bars[index];
    if (bar === undefined) throw new RangeError(`Cannot find a bar for day ${index}: before the first`);
    return bar;
  }

  /** Average daily volume of the last 60 real days. */
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
      return { open: snap(open), high: snap(high), low: snap(low), close: snap(close), volume };
    }
    const before = this.#bars[index - 1]?.close ?? real?.close ?? this.#lastReal.close;
    if (day.date <= this.#lastReal.date) return this.#walk(day, grid, before, real?.close ?? before);
    return this.#walk(day, grid, before, undefined);
  }

  /** Makes a bar from the close before and, if it is known, the close it has to reach. */
  #walk(day: TradingDay, grid: Grid, before: number, fixed: number | undefined): UnitBar {
    const next = stream(mix(this.#key, hashText(day.date)));
    const shared = bell(stream(mix(this.#seed, hashText(`shared:${this.#market}:${day.date}`))));
    const pull = PULL * Math.log(this.#lastReal.close / before);
    const limit = (move: number) => Math.min(MOST, Math.max(-MOST, move));
    const priceAt = (move: number) => grid.snap(before * Math.exp(limit(move)));
    const move = this.#spread * (0.6 * shared + 0.8 * bell(next)) + pull;
    const close = fixed === undefined ? priceAt(move) : grid.snap(fixed);
    const open = priceAt(0.3 * this.#spread * bell(next));
    const [up, down] = [0.5 * this.#spread * Math.abs(bell(next)), 0.5 * this.#spread * Math.abs(bell(next))];
    const reached = Math.log(Math.max(open, close) / before);
    const sunk = Math.log(Math.min(open, close) / before);
    const volume = this.#volume * Math.exp(0.3 * bell(next)) * (day.halfDay ? 0.5 : 1);
    return {
      open,
      high: Math.max(open, close, priceAt(reached + up)),
      low: Math.min(open, close, priceAt(sunk - down)),
      close,
      volume: Math.max(LEAST_PER_MINUTE * day.minutes, Math.round(volume / 100) * 100),
    };
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
