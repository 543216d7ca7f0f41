/**
 * Returns the prices at which a market's listings could be traded on a past day.
 *
 * @module
 */
import { listings, lotSize, type Market } from "../../../facts/listings.ts";
import { type Grid, gridOf } from "../../market/grid.ts";
import type { SimulatedMarket } from "../../market/mod.ts";
import { toUnits } from "../../market/packing.ts";
import type { Stream } from "../../market/random.ts";
import { FIRST_DATE } from "../../market/timeline.ts";
import { PRICES_PER_CENT } from "../account/money.ts";
import { DAY_MS } from "../sessions.ts";

/** One unit of the market's grid (0.0001), in the broker's internal price units. */
const PRICES_PER_UNIT = PRICES_PER_CENT / 100n;

/** One listing's day: prices in whole units of 0.0001. */
export interface DayPrice {
  symbol: string;
  instrument: "stock" | "etf" | "reit";
  lot: number;
  low: number;
  high: number;
  close: number;
  grid: Grid;
}

/** Converts whole units of the market's grid to the broker's internal price units. */
export function toPrice(units: number): bigint {
  return BigInt(units) * PRICES_PER_UNIT;
}

/** Converts a price in the broker's internal units to whole units of the market's grid, rounding down. */
export function toGridUnits(price: bigint): number {
  return Number(price / PRICES_PER_UNIT);
}

/**
 * Returns the bar of a date. A date before the first stored day has no bar, so it is mirrored around that day: the date
 * ten days before it becomes the date ten days after it. Then takes the first bar on or after the mirrored date.
 */
function barOf(market: SimulatedMarket, symbol: string, date: string) {
  const found = market.dayBar(symbol, date);
  if (found !== undefined || date >= FIRST_DATE) return found;
  let day = 2 * Date.parse(`${FIRST_DATE}T00:00:00Z`) - Date.parse(`${date}T00:00:00Z`);
  for (;; day += DAY_MS) {
    const bar = market.dayBar(symbol, new Date(day).toISOString().slice(0, 10));
    if (bar !== undefined) return bar;
  }
}

/** Returns the prices of a market's listings on a day. */
export function pricesOn(simulated: SimulatedMarket, market: Market, date: string): DayPrice[] {
  return listings.filter((row) => row.market === market).flatMap(({ symbol, instrument }) => {
    const bar = barOf(simulated, symbol, date);
    if (bar === undefined) return [];
    const grid = gridOf(market, date, instrument);
    const [low, high, close] = [toUnits(bar.low), toUnits(bar.high), grid.snap(toUnits(bar.close))];
    return [{ symbol, instrument, lot: lotSize(symbol, date), low, high, close, grid }];
  });
}

/**
 * Returns a random price of the day on the grid, in whole units.
 */
export function drawPrice({ low, high, close, grid }: DayPrice, next: Stream): number {
  const tick = grid.tick(high);
  // If the day's prices are in two bands of the grid, there are two tick sizes. The day's close is always on the grid.
  if (grid.tick(low) !== tick || low % tick !== 0) return close;
  return low + Math.floor(next() * ((high - low) / tick + 1)) * tick;
}
