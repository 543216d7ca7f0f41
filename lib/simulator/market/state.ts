/**
 * Computes an asset's state at an instant. All views are computed from this state, so they agree.
 *
 * @module
 */
import { type Asset, referenceClose } from "./asset.ts";
import { addTicks, type DayPath, runningTotals, type Tick, type Totals } from "./path.ts";
import { actionsAt, minuteAt, type TradingDay } from "./timeline.ts";

/** A day's path with the totals at the end of each minute. */
interface FullDay {
  path: DayPath;
  totals: readonly (Totals | undefined)[];
}

/** An asset at an instant. */
export interface AssetState {
  asset: Asset;
  /** The day that quotes show. */
  day: TradingDay;
  /** The last minute that has begun, counted from 0; -1 before the open. */
  minute: number;
  /** Close of the previous day, adjusted if this day is an ex-date; price units. */
  previousClose: number;
  /** Totals of the day so far; `undefined` before the day's first trade. */
  totals: Totals | undefined;
  /** Last price, units; before the day's first trade, the previous close. */
  last: number;
}

/** Caches the days in use; 400 of them need about ten megabytes. */
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

  /** Returns the turnover of a whole day, price units times shares. */
  turnover(asset: Asset, index: number): number {
    return this.#turnovers.get(
      `${asset.symbol} ${index}`,
      () => this.full(asset, index).totals.at(-1)?.turnover ?? 0,
    );
  }

  /** Returns the totals of a day up to an instant in a minute. */
  totals(asset: Asset, index: number, minute: number, at: number): Totals | undefined {
    if (minute < 0) return undefined;
    const { path, totals } = this.full(asset, index);
    return addTicks(totals[minute - 1], ticksUntil(path, minute, at));
  }

  /** Returns the state of an asset at an instant; before the first day, the state of that day before its open. */
  state(asset: Asset, at: number): AssetState {
    const index = shownIndex(asset, at);
    const day = asset.timeline.day(index);
    const minute = minuteAt(day, at);
    const previousClose = referenceClose(asset, index);
    const totals = this.totals(asset, index, minute, at);
    return { asset, day, minute, previousClose, totals, last: totals?.last ?? previousClose };
  }
}

/**
 * Returns the index of the day that quotes show. On an ex-date, quotes show the day as soon as the broker books the
 * dividend or the split, so the price fits the number of shares that the account holds.
 */
function shownIndex(asset: Asset, at: number): number {
  const { timeline, lastIndex, session } = asset;
  const index = Math.max(0, Math.min(timeline.indexAt(at), lastIndex));
  const next = timeline.days[index + 1];
  // Only the regular hours switch to the ex-date early. A session outside them switches when that session itself begins.
  if (asset.reference === undefined || session !== undefined) return index;
  if (next === undefined || at < actionsAt(next)) return index;
  return asset.reference(index + 1) === asset.bar(index).close ? index : index + 1;
}

/** Returns the ticks of a minute up to and including an instant. */
export function ticksUntil(path: DayPath, minute: number, at: number): Tick[] {
  return path.ticks(minute).filter((tick) => tick.at <= at);
}

/** A map of limited size; drops the entry that was not used for the longest time. */
export class Cache<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #size: number;

  constructor(size: number) {
    this.#size = size;
  }

  /** Returns the value of a key; creates it if it is not cached. */
  get(key: string, make: () => Value): Value {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, known);
      return known;
    }
    const value = make();
    this.#entries.set(key, value);
    if (this.#entries.size > this.#size) {
      const [oldest] = this.#entries.keys();
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
    return value;
  }
}
