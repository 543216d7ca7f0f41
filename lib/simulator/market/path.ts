/**
 * Generates the prices within a trading day: minutes that add up to the day's bar, and ticks that add up to
 * the minutes.
 *
 * The path starts at the open, reaches the high in one minute and the low in another, ends at the close, and
 * moves randomly between these points. Ticks are generated per minute on demand. Prices are whole units of
 * 0.0001.
 *
 * @module
 */
import type { Grid } from "./grid.ts";
import type { UnitBar } from "./packing.ts";
import { bell, mix, split, splitByWeights, type Stream } from "./random.ts";
import { randomFrom } from "../../time.ts";
import { minuteStart, type TradingDay } from "./timeline.ts";

/** One trade print. */
export interface Tick {
  /** Epoch milliseconds. */
  at: number;
  price: number;
  volume: number;
  /** Who caused the trade: 1 a buyer, 2 a seller, 0 neither. */
  side: 0 | 1 | 2;
}

/** The price path of one day, by minutes; index 0 is the first minute of trading. */
export interface DayPath {
  day: TradingDay;
  open: Int32Array;
  high: Int32Array;
  low: Int32Array;
  close: Int32Array;
  /** Shares or contracts, as doubles because a day may exceed 32 bits. */
  volume: Float64Array;
  /**
   * Returns the ticks of a minute, oldest first. The first tick is at the start of the minute, and the price of the
   * last tick is the close of the minute.
   */
  ticks(minute: number): Tick[];
}

/** Smallest volume of a minute in lots, so that each of its ticks has at least one lot. */
export const LEAST_PER_MINUTE = 10;

const MINUTE_MS = 60_000;

/** Splits a day's volume in whole lots over its minutes; minutes near the open and the close get more. */
function splitOverDay(volume: number, minutes: number, next: Stream, lot = 1): Float64Array {
  const weights = Array.from({ length: minutes }, (_, minute) => {
    const place = 2 * minute / Math.max(1, minutes - 1) - 1;
    return (0.4 + 1.6 * place ** 4) * (0.3 + next());
  });
  return Float64Array.from(
    splitByWeights(volume / lot, weights, LEAST_PER_MINUTE),
    (lots) => lots * lot,
  );
}

/** Writes minute closes between two points: a straight line plus noise that is zero at both ends. */
function bridge(
  closes: Float64Array,
  from: { minute: number; price: number },
  to: { minute: number; price: number },
  spread: number,
  next: Stream,
): void {
  const length = to.minute - from.minute;
  const walk = [0];
  for (let step = 1; step <= length; step++) walk.push((walk[step - 1] ?? 0) + bell(next) * spread);
  const end = walk[length] ?? 0;
  for (let step = 1; step <= length; step++) {
    const line = from.price + (to.price - from.price) * step / length;
    closes[from.minute + step] = line + (walk[step] ?? 0) - end * step / length;
  }
}

function pickMinutes(minutes: number, { open, high, low, close }: UnitBar, next: Stream): [number, number] {
  const pick = (atOpen: boolean, atClose: boolean) =>
    atOpen ? 0 : atClose ? minutes - 1 : Math.floor(next() * minutes);
  const top = pick(open === high, close === high);
  let bottom = pick(open === low, close === low);
  if (top === bottom && high !== low) bottom = top === 0 ? minutes - 1 : top - 1;
  return [top, bottom];
}

/** Options of {@linkcode makePath}. */
interface PathOptions {
  /** Number that identifies the path; the same key gives the same path. */
  key: number;
  /** Shares of a lot; every tick has a whole number of lots. @default 1 */
  lot?: number;
}

/**
 * Generates the path of a day.
 *
 * @param bar The day's bar, on the grid, with whole lots: at least {@linkcode LEAST_PER_MINUTE} of them a minute.
 */
export function makePath(day: TradingDay, bar: UnitBar, grid: Grid, { key, lot = 1 }: PathOptions): DayPath {
  const next = randomFrom(key);
  const { minutes } = day;
  const [top, bottom] = pickMinutes(minutes, bar, next);
  const points = [{ minute: top, price: bar.high }, { minute: bottom, price: bar.low }]
    .filter(({ minute }) => minute < minutes - 1)
    .sort((a, b) => a.minute - b.minute);
  const closes = new Float64Array(minutes);
  const spread = 0.5 * (bar.high - bar.low) / Math.sqrt(minutes);
  let from = { minute: -1, price: bar.open };
  for (const to of [...points, { minute: minutes - 1, price: bar.close }]) {
    bridge(closes, from, to, spread, next);
    from = to;
  }
  const path: DayPath = {
    day,
    open: new Int32Array(minutes),
    high: new Int32Array(minutes),
    low: new Int32Array(minutes),
    close: new Int32Array(minutes),
    volume: splitOverDay(bar.volume, minutes, next, lot),
    ticks: (minute) => makeTicks(path, minute, { grid, lot, next: randomFrom(mix(key, minute)) }),
  };
  let last = bar.open;
  for (let minute = 0; minute < minutes; minute++) {
    const wanted = minute === minutes - 1 ? bar.close : grid.snap(closes[minute] ?? last);
    const close = Math.min(bar.high, Math.max(bar.low, wanted));
    const reach = () => next() < 0.4 ? grid.tick(close) : 0;
    path.open[minute] = last;
    path.close[minute] = close;
    path.high[minute] = minute === top
      ? bar.high
      : Math.min(bar.high, grid.snap(Math.max(last, close) + reach()));
    path.low[minute] = minute === bottom
      ? bar.low
      : Math.max(bar.low, grid.snap(Math.min(last, close) - reach()));
    last = close;
  }
  return path;
}

/**
 * Generates the ticks of a minute: the open first, then the high and the low in either order, and the close last, with
 * other prices between them.
 */
function makeTicks(
  path: DayPath,
  minute: number,
  { grid, lot, next }: { grid: Grid; lot: number; next: Stream },
): Tick[] {
  const [open, high, low, close] = [path.open, path.high, path.low, path.close].map((row) =>
    row[minute] ?? 0
  );
  const count = 4 + Math.floor(next() * 5);
  const prices = Array.from(
    { length: count },
    () => grid.snap((low ?? 0) + ((high ?? 0) - (low ?? 0)) * next()),
  );
  const firstExtreme = 1 + Math.floor(next() * (count - 3));
  const secondExtreme = firstExtreme + 1 + Math.floor(next() * (count - 2 - firstExtreme));
  const highFirst = next() < 0.5;
  prices[0] = open ?? 0;
  prices[firstExtreme] = (highFirst ? high : low) ?? 0;
  prices[secondExtreme] = (highFirst ? low : high) ?? 0;
  prices[count - 1] = close ?? 0;
  const volumes = split((path.volume[minute] ?? 0) / lot, count, 1, next).map((lots) => lots * lot);
  const start = minuteStart(path.day, minute);
  return prices.map((price, index) => {
    const offset = index === 0 ? 0 : Math.floor((index + next()) * MINUTE_MS / count);
    return {
      at: start + offset,
      price,
      volume: volumes[index] ?? 0,
      side: sideOf(prices[index - 1], price, next),
    };
  });
}

function sideOf(before: number | undefined, price: number, next: Stream): 0 | 1 | 2 {
  if (before === undefined || before === price) return next() < 0.2 ? 0 : next() < 0.5 ? 1 : 2;
  return price > before ? 1 : 2;
}

/**
 * Returns the path of an instrument whose price follows another path: a future follows its index, an option its stock.
 *
 * @param price Returns the follower's price for a price of `base`, on the follower's grid. It must be monotonic: over
 * all prices, a higher base price never lowers the result, or never raises it.
 */
export function followPath(
  base: DayPath,
  { price, volume, key }: { price: (base: number) => number; volume: number; key: number },
): DayPath {
  const { day } = base;
  const highs = base.high.map(price);
  const lows = base.low.map(price);
  return {
    day,
    open: base.open.map(price),
    high: highs.map((high, minute) => Math.max(high, lows[minute] ?? high)),
    low: lows.map((low, minute) => Math.min(low, highs[minute] ?? low)),
    close: base.close.map(price),
    volume: splitOverDay(volume, day.minutes, randomFrom(key)),
    ticks(minute) {
      const ticks = base.ticks(minute);
      if (ticks.length === 0) return []; // a scripted halt
      const next = randomFrom(mix(key, minute));
      const volumes = split(this.volume[minute] ?? 0, ticks.length, 1, next);
      const prices = ticks.map((tick) => price(tick.price));
      return ticks.map(({ at }, index) => ({
        at,
        price: prices[index] ?? 0,
        volume: volumes[index] ?? 0,
        side: sideOf(prices[index - 1], prices[index] ?? 0, next),
      }));
    },
  };
}

/** Returns the first part of a path, for a day that ends earlier. */
export function shortenPath(path: DayPath, day: TradingDay): DayPath {
  const [open, high, low, close] = [path.open, path.high, path.low, path.close]
    .map((row) => row.slice(0, day.minutes)) as [Int32Array, Int32Array, Int32Array, Int32Array]; // four columns
  return { ...path, day, open, high, low, close, volume: path.volume.slice(0, day.minutes) };
}

/** Returns the bar of a whole path. */
export function barOf({ open, high, low, close, volume }: DayPath): UnitBar {
  return {
    open: open[0] ?? 0,
    high: Math.max(...high),
    low: Math.min(...low),
    close: close.at(-1) ?? 0,
    volume: volume.reduce((sum, each) => sum + each, 0),
  };
}

/** Totals of a day up to an instant. Turnover is price units times shares. */
export interface Totals {
  last: number;
  high: number;
  low: number;
  volume: number;
  turnover: number;
}

/** Adds ticks to totals; `undefined` starts new totals. */
export function addTicks(totals: Totals | undefined, ticks: readonly Tick[]): Totals | undefined {
  let sum = totals;
  for (const { price, volume } of ticks) {
    sum = sum === undefined ? { last: price, high: price, low: price, volume, turnover: price * volume } : {
      last: price,
      high: Math.max(sum.high, price),
      low: Math.min(sum.low, price),
      volume: sum.volume + volume,
      turnover: sum.turnover + price * volume,
    };
  }
  return sum;
}

/** Returns the totals at the end of every minute of a day; `undefined` before the first trade. */
export function runningTotals(path: DayPath): (Totals | undefined)[] {
  const all: (Totals | undefined)[] = [];
  let sum: Totals | undefined;
  for (let minute = 0; minute < path.day.minutes; minute++) {
    sum = addTicks(sum, path.ticks(minute));
    all.push(sum);
  }
  return all;
}
