/**
 * Where an asset stands at an instant; every view is drawn from this, so the views agree.
 *
 * @module
 */
import { type Asset, referenceClose } from "./assets.ts";
import { Cache } from "./cache.ts";
import { addTicks, type DayPath, runningTotals, type Tick, type Totals } from "./path.ts";
import { minuteAt, type TradingDay } from "./timeline.ts";

/** A day's path with the totals at the end of each minute. */
export interface FullDay {
  path: DayPath;
  totals: readonly Totals[];
}

/** An asset at an instant. */
export interface AssetState {
  asset: Asset;
  /** The day quotes show. */
  day: TradingDay;
  /** The last minute that has begun, counted from 0; -1 before the open. */
  minute: number;
  /** Close of the day before, price units. */
  previousClose: number;
  /** Totals of the day so far; `undefined` before the open. */
  totals: Totals | undefined;
  /** Last price, units; the previous close before the open. */
  last: number;
}

/** Keeps the days in use; 400 of them cost about ten megabytes. */
export class Days {
  readonly #days = new Cache<FullDay>(400);
  readonly #turnovers = new Cache<number>(20_000);

  /** Returns a day's path and totals. */
  full(asset: Asset, index: number): FullDay {
    return this.#days.get(`${asset.symbol} ${index}`, () => {
      const path = asset.path(index);
      return { path, totals: runningTotals(path) };
    });
  }

  /** Returns a whole day's turnover, price units times shares. */
  turnover(asset: Asset, index: number): number {
    return this.#turnovers.get(
      `${asset.symbol} ${index}`,
      () => this.full(asset, index).totals.at(-1)?.turnover ?? 0,
    );
  }

  /** Returns the totals of a day through a minute, and within it through an instant. */
  totals(asset: Asset, index: number, minute: number, at: number): Totals | undefined {
    if (minute < 0) return undefined;
    const { path, totals } = this.full(asset, index);
    return addTicks(totals[minute - 1], ticksUntil(path, minute, at));
  }

  /** Returns where an asset stands; before the first day at the first open. */
  state(asset: Asset, at: number): AssetState {
    const index = Math.max(0, Math.min(asset.timeline.indexAt(at), asset.lastIndex));
    const day = asset.timeline.day(index);
    const minute = minuteAt(day, at);
    const previousClose = referenceClose(asset, index);
    const totals = this.totals(asset, index, minute, at);
    return { asset, day, minute, previousClose, totals, last: totals?.last ?? previousClose };
  }
}

/** Returns the ticks of a minute up to an instant, that instant included. */
export function ticksUntil(path: DayPath, minute: number, at: number): Tick[] {
  return path.ticks(minute).filter((tick) => tick.at <= at);
}
