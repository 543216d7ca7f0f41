/**
 * Changes the prices of an asset as a script says: moves, gaps, halts, dividends and splits. Days without an entry keep
 * the shape of their prices, but continue from the last scripted price.
 *
 * @module
 */
import type { CorporateAction } from "../../facts/corporate_actions.ts";
import type { Market } from "../../facts/listings.ts";
import { type Asset, referenceClose } from "./asset.ts";
import { type Grid, UNITS } from "./grid.ts";
import type { UnitBar } from "./packing.ts";
import type { DayPath, Tick } from "./path.ts";
import { minuteAt } from "./timeline.ts";

/** A scripted move of a price. Times are Unix milliseconds; prices are units of 0.0001. */
export interface Move {
  /** Index of the day in the timeline. */
  day: number;
  /** When the move begins. */
  from: number;
  /** When the price is reached. */
  until: number;
  /** The price at the end. */
  to?: number;
  /** For a gap, the opening price as a multiple of the previous close; instead of `to`. */
  factor?: number;
  /** Whether the move happens before the day's first trade. */
  atOpen?: true;
}

/** A period without trading; the end is excluded. If `symbol` is absent, the whole market does not trade. */
export interface Halt {
  /** The listing without trading; absent for a whole market. */
  symbol?: string;
  /** The market without trading. */
  market?: Market | "futures";
  /** When trading stops, Unix milliseconds. */
  from: number;
  /** When trading starts again, Unix milliseconds. */
  until: number;
}

/** What a script changes in the market. */
export interface MarketPlan {
  /** Moves by symbol, in order of time. */
  moves: ReadonlyMap<string, readonly Move[]>;
  /** Periods without trading. */
  halts: readonly Halt[];
  /** Dividends and splits, earliest first. */
  actions: readonly CorporateAction[];
}

/** The parts of an asset that a script can change. */
type Shaped = Pick<Asset, "bar" | "path" | "isHalted" | "reference" | "unhaltedBar">;

/** Returns an asset with the prices of a script; the asset itself if the script does not mention it. */
export function scripted(asset: Asset, plan: MarketPlan | undefined): Asset {
  if (plan === undefined) return asset;
  const { market, kind } = asset.describe(asset.timeline.day(0).date);
  const place = kind === "future" ? "futures" : market;
  const halts = plan.halts.filter((halt) => halt.symbol === asset.symbol || halt.market === place);
  const moves = plan.moves.get(asset.symbol) ?? [];
  const actions = plan.actions.filter(({ symbol }) => symbol === asset.symbol);
  if (moves.length === 0 && halts.length === 0 && actions.length === 0) return asset;
  return { ...asset, ...new Shape(asset, { moves, halts, actions }).parts() };
}

interface Changed {
  path: DayPath;
  bar: UnitBar;
  /** The bar without the halts. */
  unhalted: UnitBar;
  factor: number;
}

/** Highest price that a script may set. A path stores prices, in whole units, as 32-bit numbers. */
export const MOST_PRICE = 200_000;
const MOST_UNITS = MOST_PRICE * UNITS;
/** Largest factor between scripted and unscripted prices, and the inverse of the smallest. */
const MOST_FACTOR = 1e12;

/** Returns the nearest price on the grid: at least one step, at most {@linkcode MOST_UNITS}. */
function snap(grid: Grid, price: number): number {
  return grid.snap(Math.min(MOST_UNITS, price));
}

/** Returns a factor within its limits: many splits would otherwise make it infinite or zero. */
function bounded(factor: number): number {
  return Math.min(MOST_FACTOR, Math.max(1 / MOST_FACTOR, factor));
}

class Shape {
  readonly #asset: Asset;
  readonly #moves: readonly Move[];
  readonly #halts: readonly Halt[];
  readonly #actions: readonly CorporateAction[];
  /** Paths and bars of the days that the script mentions, and the factor of the prices after each of them. */
  readonly #changed = new Map<number, Changed>();

  constructor(
    asset: Asset,
    { moves, halts, actions }: {
      moves: readonly Move[];
      halts: readonly Halt[];
      actions: readonly CorporateAction[];
    },
  ) {
    this.#asset = asset;
    this.#moves = moves;
    this.#halts = halts;
    this.#actions = actions;
  }

  parts(): Shaped {
    return {
      bar: (index) => this.#bar(index),
      path: (index) => this.#path(index),
      reference: (index) => this.#reference(index),
      isHalted: (at) => this.#isHalted(at),
      unhaltedBar: (index) => this.#isChanged(index) ? this.#change(index).unhalted : this.#bar(index),
    };
  }

  #isHalted(at: number): boolean {
    return this.#halts.some(({ from, until }) => at >= from && at < until);
  }

  #actionsOn(index: number): CorporateAction[] {
    const { date } = this.#asset.timeline.day(index);
    return this.#actions.filter(({ exDate }) => exDate === date);
  }

  #isChanged(index: number): boolean {
    const { openAt, closeAt } = this.#asset.timeline.day(index);
    return this.#actionsOn(index).length > 0 || this.#moves.some(({ day }) => day === index) ||
      this.#halts.some(({ from, until }) => from < closeAt && until > openAt);
  }

  /** Returns the factor between scripted and unscripted prices at the start of a day. */
  #factorBefore(index: number): number {
    const moved = this.#moves.findLast(({ day }) => day < index)?.day ?? -1;
    const { date } = this.#asset.timeline.day(index);
    const exDate = this.#actions.findLast((action) => action.exDate < date)?.exDate ?? "";
    const last = Math.max(moved, this.#asset.timeline.indexOn(exDate));
    return last < 0 ? 1 : this.#change(last).factor;
  }

  /** Returns the factor by which the scripted dividends and splits of a day change the price. */
  #actionFactor(index: number): number {
    const actions = this.#actionsOn(index);
    if (actions.length === 0) return 1;
    const { close } = this.#bar(index - 1);
    return actions.reduce(
      (part, { cash, newShares, oldShares }) =>
        bounded(part * Math.max(0, close - Number(cash) * UNITS) / close * oldShares / newShares),
      1,
    );
  }

  /** Returns the close before a day, adjusted for that day's dividends and splits, known and scripted. */
  #reference(index: number): number {
    if (index <= 0) return this.#bar(0).open;
    const { close } = this.#bar(index - 1);
    const known = referenceClose(this.#asset, index) / this.#asset.bar(index - 1).close;
    const left = known * this.#actionFactor(index);
    return left === 1 ? close : snap(this.#asset.grid(this.#asset.timeline.day(index).date), close * left);
  }

  #bar(index: number): UnitBar {
    if (this.#isChanged(index)) return this.#change(index).bar;
    const bar = this.#asset.bar(index);
    const factor = this.#factorBefore(index);
    if (factor === 1) return bar;
    const scale = this.#scale(index, factor);
    return {
      open: scale(bar.open),
      high: scale(bar.high),
      low: scale(bar.low),
      close: scale(bar.close),
      volume: bar.volume,
    };
  }

  #path(index: number): DayPath {
    if (this.#isChanged(index)) return this.#change(index).path;
    const factor = this.#factorBefore(index);
    const path = this.#asset.path(index);
    if (factor === 1) return path;
    const scale = this.#scale(index, factor);
    return this.#pathOf(
      path,
      index,
      (minute) => path.ticks(minute).map((tick) => ({ ...tick, price: scale(tick.price) })),
    );
  }

  #scale(index: number, factor: number): (price: number) => number {
    const grid = this.#asset.grid(this.#asset.timeline.day(index).date);
    return (price) => snap(grid, price * factor);
  }

  /** Computes a day with moves, halts, dividends or splits. */
  #change(index: number): Changed {
    const known = this.#changed.get(index);
    if (known !== undefined) return known;
    const path = this.#asset.path(index);
    const ticks = Array.from({ length: path.day.minutes }, (_, minute) => path.ticks(minute));
    const factor = this.#move(index, ticks);
    const traded = ticks.map((minute) => minute.filter(({ at }) => !this.#isHalted(at)));
    const shown = this.#pathOf(path, index, (minute) => traded[minute] ?? []);
    const [bar, unhalted] = [traded, ticks].map((each) => this.#barOf(each.flat(), index)) as [
      UnitBar,
      UnitBar,
    ];
    const made = { path: shown, bar, unhalted, factor };
    this.#changed.set(index, made);
    return made;
  }

  /** Replaces the prices of a day's ticks, minute by minute. Returns the factor after the day. */
  #move(index: number, ticks: Tick[][]): number {
    const day = this.#asset.timeline.day(index);
    const grid = this.#asset.grid(day.date);
    let factor = bounded(this.#factorBefore(index) * this.#actionFactor(index));
    const all = ticks.flat();
    const original = all.map(({ price }) => price);
    const moves = this.#moves.filter((move) => move.day === index).map((move) => {
      // The move ends with the first tick at or after its end time. If a break begins at the end time, the move ends
      // with the last tick before the break.
      const minute = minuteAt(day, move.until);
      const isBreak = day.segments.some(({ to }) => to === move.until);
      const target = isBreak ? ticks[minute]?.at(-1) : ticks[minute]?.find(({ at }) => at >= move.until);
      const end = move.atOpen ? 0 : all.indexOf(target ?? all.at(-1)!); // a day has ticks
      const level = move.factor === undefined
        ? move.to ?? original[end]!
        : this.#reference(index) * move.factor;
      const price = snap(grid, level);
      return { ...move, end, price, after: price / original[end]! };
    });
    let next = 0;
    const changed = all.map((tick, place) => {
      while (moves[next] !== undefined && moves[next]!.end < place) factor = moves[next++]!.after;
      const move = moves[next];
      if (move !== undefined && move.end === place) return { ...tick, price: move.price };
      if (move === undefined || tick.at < move.from || move.until <= move.from) {
        return { ...tick, price: snap(grid, original[place]! * factor) };
      }
      const part = Math.min(1, (tick.at - move.from) / (move.until - move.from));
      const between = factor + (move.after - factor) * part;
      return { ...tick, price: snap(grid, original[place]! * between) };
    });
    let start = 0;
    for (const [minute, list] of ticks.entries()) {
      ticks[minute] = changed.slice(start, start + list.length);
      start += list.length;
    }
    return moves.at(-1)?.after ?? factor;
  }

  #pathOf({ day, volume }: DayPath, index: number, ticks: (minute: number) => Tick[]): DayPath {
    const columns = [0, 1, 2, 3].map(() => new Int32Array(day.minutes));
    const [open, high, low, close] = columns as [Int32Array, Int32Array, Int32Array, Int32Array]; // four columns
    const volumes = new Float64Array(volume);
    let last = this.#reference(index);
    for (let minute = 0; minute < day.minutes; minute++) {
      const prices = ticks(minute).map(({ price }) => price);
      // A minute without a trade keeps the price before it.
      if (prices.length === 0) [prices[0], volumes[minute]] = [last, 0];
      [open[minute], close[minute]] = [prices[0]!, prices.at(-1)!];
      [high[minute], low[minute]] = [Math.max(...prices), Math.min(...prices)];
      last = prices.at(-1)!;
    }
    return { day, open, high, low, close, volume: volumes, ticks };
  }

  #barOf(ticks: readonly Tick[], index: number): UnitBar {
    const prices = ticks.map(({ price }) => price);
    const close = this.#reference(index);
    if (prices.length === 0) return { open: close, high: close, low: close, close, volume: 0 };
    return {
      open: prices[0]!,
      high: Math.max(...prices),
      low: Math.min(...prices),
      close: prices.at(-1)!,
      volume: ticks.reduce((sum, { volume }) => sum + volume, 0),
    };
  }
}
