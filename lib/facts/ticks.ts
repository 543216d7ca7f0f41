/**
 * Minimum price steps by market, date and kind of instrument.
 *
 * A price belongs to the band that it is over the lower edge of and up to the upper edge: in Hong Kong 20.00
 * takes the step of the band that ends at 20. Hong Kong narrowed its steps on 2025-08-04 and 2026-08-03.
 * Data and sources: `data/ticks.json`.
 *
 * @module
 */
import { compare, type Decimal, toStep } from "../decimal.ts";
import data from "./data/ticks.json" with { type: "json" };
import type { Market } from "./listings.ts";

/** One price band and its step. */
export interface TickBand {
  /** The band starts above this price. */
  over: Decimal;
  /** The band ends with this price; `null` is open. */
  upTo: Decimal | null;
  tick: Decimal;
}

const EXCHANGE: Record<Market, string> = { hk: "HK", us: "US", shanghai: "CN", shenzhen: "CN" };

/**
 * Returns the step table in force.
 *
 * @param instrument `stock` (default), `etf`, `reit`, `warrant`, `option` (penny programme),
 *   `option-standard` or `future`.
 * @throws {RangeError} When no table is known for the kind or the date.
 */
export function tickTable(market: Market, date: string, instrument = "stock"): readonly TickBand[] {
  const table = data.tables.find((row) =>
    row.exchange === EXCHANGE[market] && row.instruments.includes(instrument) &&
    (row.from === null || row.from <= date) && (row.to === null || date <= row.to)
  );
  if (table === undefined) {
    throw new RangeError(
      `Cannot look up the price step of a "${instrument}" in "${market}" on ${date}: unknown`,
    );
  }
  return table.bands;
}

/**
 * Returns the minimum price step at a price, such as `"0.050"`.
 * Below the first band its step holds, above the last band the last step.
 */
export function tickSize(market: Market, date: string, price: Decimal, instrument?: string): Decimal {
  const bands = tickTable(market, date, instrument);
  const band = bands.find(({ upTo }) => upTo === null || compare(price, upTo) <= 0) ??
    bands[bands.length - 1];
  if (band === undefined) throw new RangeError(`Cannot look up a price step in "${market}": empty table`);
  return band.tick;
}

/** Returns the nearest price on the grid; halves go away from zero (`"37.454"` becomes `"37.450"`). */
export function onTick(market: Market, date: string, price: Decimal, instrument?: string): Decimal {
  return toStep(price, tickSize(market, date, price, instrument), "half-up");
}
