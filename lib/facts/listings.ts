/**
 * Looks up the listings that the simulator trades: names, market, data type, currency and board lots.
 *
 * Data and sources: `data/listings.json`. Lots have dates because exchanges change them (BYD changed from 500 to 100
 * shares on 2025-09-19).
 *
 * @module
 */
import data from "./data/listings.json" with { type: "json" };

/** hsgate's name of a market; `shanghai` and `shenzhen` mean Stock Connect northbound. */
export type Market = "hk" | "us" | "shanghai" | "shenzhen";

/** Kind of security. The fees and taxes of a real estate investment trust (`reit`) differ from those of a stock. */
type InstrumentKind = "stock" | "etf" | "reit";

/** A listed security. */
export interface Listing {
  /** Code, with its suffix if it has one: `00700.HK`, `AAPL`, `600519.SH`, `000333.SZ`. */
  symbol: string;
  market: Market;
  /** English name. */
  name: string;
  /** Name in traditional Chinese. */
  nameTc: string;
  /** Name in simplified Chinese. */
  nameSc: string;
  /** `dataType` of the market-data interface, such as 10000 for a Hong Kong stock. */
  dataType: number;
  currency: "HKD" | "USD" | "CNY";
  instrument: InstrumentKind;
}

interface DatedLot {
  lot: number;
  from: string | null;
  to: string | null;
}

const lots = new Map<string, readonly DatedLot[]>();

/** Every listing, Hong Kong first, then the mainland, then the United States. */
export const listings: readonly Listing[] = data.listings.map((row) => {
  lots.set(row.symbol, row.lots);
  const { symbol, market, name, nameTc, nameSc, dataType, currency, instrument } = row;
  // JSON modules widen texts to `string`; the tests check each value against the unions.
  return { symbol, market, name, nameTc, nameSc, dataType, currency, instrument } as Listing;
});

const bySymbol = new Map(listings.map((row) => [row.symbol, row]));

/** Returns the listing of a code. @returns `undefined` if the table does not contain it. */
export function listing(symbol: string): Listing | undefined {
  return bySymbol.get(symbol);
}

/**
 * Returns the board lot in shares. Quantities of orders for the main order book are multiples of it.
 *
 * @param symbol A listing's code.
 * @param date Trade date, `yyyy-MM-dd`.
 * @throws {RangeError} When the code is not listed, or no lot is known for the date.
 */
export function lotSize(symbol: string, date: string): number {
  const dated = lots.get(symbol);
  if (dated === undefined) {
    throw new RangeError(`Cannot look up the lot of "${symbol}": the table does not list it`);
  }
  const row = dated.find(({ from, to }) => (from === null || from <= date) && (to === null || date <= to));
  if (row === undefined) {
    throw new RangeError(
      `Cannot look up the lot of "${symbol}" on ${date}: the table has no lot for that day`,
    );
  }
  return row.lot;
}
