/**
 * Computes with prices on the price grid in whole units: fast enough for every tick, and exact.
 *
 * A price is a whole number of units of 0.0001. Whole numbers of this size are exact in a JavaScript number,
 * so there are no rounding errors. {@linkcode toDecimal} converts them to decimal text for output.
 *
 * @module
 */
import type { Decimal } from "../../decimal.ts";
import type { Market } from "../../facts/listings.ts";
import { type TickBand, tickTable } from "../../facts/price_rules.ts";
import { PRICE_DECIMALS, toUnits } from "./packing.ts";

/** Number of units in 1.00 of a currency or in one index point. */
export const UNITS = 10 ** PRICE_DECIMALS;

/** Returns whole units as a decimal with at least `places` decimals: `toDecimal(374500, 2)` is `"37.45"`. */
export function toDecimal(units: number, places = 2): Decimal {
  const digits = String(Math.abs(units)).padStart(PRICE_DECIMALS + 1, "0");
  let fraction = digits.slice(-PRICE_DECIMALS);
  while (fraction.length > places && fraction.endsWith("0")) fraction = fraction.slice(0, -1);
  const whole = digits.slice(0, -PRICE_DECIMALS);
  return `${units < 0 ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Converts whole units to a double, the number format of market data on the wire. */
export function toDouble(units: number): number {
  return Number(toDecimal(units));
}

/** Price steps (tick sizes) of one market on one date. */
export class Grid {
  readonly #upTo: number[];
  readonly #ticks: number[];

  constructor(bands: readonly TickBand[]) {
    this.#upTo = bands.map(({ upTo }) => upTo === null ? Infinity : toUnits(upTo));
    this.#ticks = bands.map(({ tick }) => toUnits(tick));
  }

  /** Returns the step at a price. A price on the edge belongs to the lower band. */
  tick(price: number): number {
    const index = this.#upTo.findIndex((edge) => price <= edge);
    // Every table has a band, so there is always a last step.
    return this.#ticks[index === -1 ? this.#ticks.length - 1 : index] ?? 1;
  }

  /** Returns the nearest grid price, at least one step. */
  snap(price: number): number {
    const tick = this.tick(price);
    return Math.max(tick, Math.round(price / tick) * tick);
  }

  /** Returns the next higher grid price. */
  up(price: number): number {
    return price + this.tick(price + 1);
  }

  /** Returns the next lower grid price; 0 if there is none. */
  down(price: number): number {
    return Math.max(0, price - this.tick(price));
  }
}

const grids = new Map<readonly TickBand[], Grid>();

/** Returns the grid of a market, date and kind of instrument; one object per table. */
export function gridOf(market: Market, date: string, instrument = "stock"): Grid {
  const bands = tickTable(market, date, instrument);
  let grid = grids.get(bands);
  if (grid === undefined) grids.set(bands, grid = new Grid(bands));
  return grid;
}

/** The grid of a cash index: hundredths of a point. */
export const indexGrid = new Grid([{ over: "0", upTo: null, tick: "0.01" }]);
