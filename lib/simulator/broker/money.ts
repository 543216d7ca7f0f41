/**
 * Exact money of the broker's books: amounts are whole cents, prices whole hundred-millionths, both `bigint`.
 * Decimal texts are made and read at the edge.
 *
 * @module
 */
import { type Decimal, round } from "../../decimal.ts";

/** Decimals that a price is held with; the mean price of a merged fill needs more than the price grid. */
const PRICE_PLACES = 8;

/** One hundredth of a currency unit, in the units of price times quantity. */
const PRICE_UNITS_PER_CENT = 1_000_000n;

const toWhole = (value: Decimal, places: number) => BigInt(round(value, places, "half-up").replace(".", ""));

function writeWhole(value: bigint, places: number, least: number): Decimal {
  const digits = (value < 0n ? -value : value).toString().padStart(places + 1, "0");
  let fraction = digits.slice(-places);
  while (fraction.length > least && fraction.endsWith("0")) fraction = fraction.slice(0, -1);
  const text = `${digits.slice(0, -places)}${fraction === "" ? "" : `.${fraction}`}`;
  return value < 0n ? `-${text}` : text;
}

/** Reads an amount as cents; parts of a cent are rounded. */
export function readCents(value: Decimal): bigint {
  return toWhole(value, 2);
}

/** Writes cents with two decimals. */
export function writeCents(cents: bigint): Decimal {
  return writeWhole(cents, 2, 2);
}

/** Reads a price as whole hundred-millionths. */
export function readPrice(value: Decimal): bigint {
  return toWhole(value, PRICE_PLACES);
}

/** Writes a price with at least two decimals, or as many as asked. */
export function writePrice(price: bigint, least = 2): Decimal {
  return writeWhole(price, PRICE_PLACES, least);
}

/** Divides, rounding halves away from zero; the divisor is above zero. */
export function divideHalfUp(value: bigint, by: bigint): bigint {
  const half = value < 0n ? -by : by;
  return (2n * value + half) / (2n * by);
}

/** Returns price times quantity times multiplier, in cents; exact for every price on a grid. */
export function amountOf(price: bigint, quantity: bigint, multiplier = 1n): bigint {
  return divideHalfUp(price * quantity * multiplier, PRICE_UNITS_PER_CENT);
}

/**
 * Returns the mean price of an amount. Where it has no end, it is rounded far below what a cent of the
 * amount could show, so price times quantity gives the amount back.
 */
export function meanPrice(cents: bigint, quantity: bigint, multiplier = 1n): bigint {
  return quantity === 0n ? 0n : divideHalfUp(cents * PRICE_UNITS_PER_CENT, quantity * multiplier);
}

/** Returns the lesser value. */
export function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
