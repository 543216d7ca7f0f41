/**
 * Defines `Asset`, the common interface of stocks, futures and options: day bars, price paths within the days, and a
 * price grid.
 *
 * @module
 */
import type { ExtendedSession } from "../../calendars/mod.ts";
import type { Grid } from "./grid.ts";
import type { UnitBar } from "./packing.ts";
import type { DayPath } from "./path.ts";
import type { Timeline } from "./timeline.ts";
import type { Instrument } from "./views.ts";

/** An instrument with prices. */
export interface Asset {
  symbol: string;
  /** The session outside the regular hours to which the prices belong; absent for regular hours. */
  session?: ExtendedSession;
  timeline: Timeline;
  /** Index of the last day on which the asset trades; Infinity if there is no last day. */
  lastIndex: number;
  /** Minimum number of decimals of the asset's prices. */
  places: number;
  /**
   * Assumed number of tradable shares or open contracts, from which turnover rate and open interest are computed.
   */
  outstanding: number;
  describe(date: string): Instrument;
  grid(date: string): Grid;
  bar(index: number): UnitBar;
  /** Generates the path of a day; callers cache it. */
  path(index: number): DayPath;
  /**
   * Returns the close before a day. If the day is an ex-date, this close is adjusted for the dividend or the split.
   * Absent for options, and for the regular hours of a future that no script changes.
   */
  reference?(index: number): number;
  /** Returns whether a script has stopped trading at an instant; absent without a script. */
  isHalted?(at: number): boolean;
  /** Returns the bar that a day would have if the script did not stop trading; absent without a script. */
  unhaltedBar?(index: number): UnitBar;
}

/**
 * Returns the bar of a day without the halts of a script. Its open is known before the open, whatever happens later.
 */
export function unhaltedBar(asset: Asset, index: number): UnitBar {
  return asset.unhaltedBar?.(index) ?? asset.bar(index);
}

/**
 * Returns the close before a day. If the day is an ex-date, this close is adjusted for the dividend or the split. For
 * the first day, returns its open, because no earlier price is known.
 */
export function referenceClose(asset: Asset, index: number): number {
  if (index <= 0) return asset.bar(0).open;
  if (asset.reference !== undefined) return asset.reference(index);
  return asset.bar(Math.min(index - 1, asset.lastIndex)).close;
}
