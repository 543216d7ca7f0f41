/**
 * Computes exactly with the broker's money: amounts are whole cents, prices are whole units of 10^-10, both `bigint`.
 * Decimal texts are parsed and written only at the interfaces.
 *
 * @module
 */
import { type Decimal, round } from "../../../decimal.ts";

/** Number of decimals of a price. The mean price of a merged fill needs more decimals than the price grid. */
const PRICE_PLACES = 10;

/** One hundredth of a currency unit, as a price. */
export const PRICES_PER_CENT = 10n ** BigInt(PRICE_PLACES - 2);

const toUnits = (value: Decimal, places: number) => BigInt(round(value, places, "half-up").replace(".", ""));

function writeUnits(value: bigint, places: number, least: number): Decimal {
  const digits = (value < 0n ? -value : value).toString().padStart(places + 1, "0");
  let fraction = digits.slice(-places);
  while (fraction.length > least && fraction.endsWith("0")) fraction = fraction.slice(0, -1);
  const text = `${digits.slice(0, -places)}${fraction === "" ? "" : `.${fraction}`}`;
  return value < 0n ? `-${text}` : text;
}

/** Parses an amount as cents; fractions of a cent are rounded. */
export function readCents(value: Decimal): bigint {
  return toUnits(value, 2);
}

/** Returns cents as text with two decimals. */
export function writeCents(cents: bigint): Decimal {
  return writeUnits(cents, 2, 2);
}

/** Parses a price. */
export function readPrice(value: Decimal): bigint {
  return toUnits(value, PRICE_PLACES);
}

/** Returns a price as text with at least `least` decimals. */
export function writePrice(price: bigint, least = 2): Decimal {
  return writeUnits(price, PRICE_PLACES, least);
}

/** Divides by a positive number, rounding halves away from zero. */
export function divideHalfUp(value: bigint, by: bigint): bigint {
  const half = value < 0n ? -by : by;
  return (2n * value + half) / (2n * by);
}

/** Returns price times quantity times multiplier, rounded to whole cents. */
export function amountOf(price: bigint, quantity: bigint, multiplier = 1n): bigint {
  return divideHalfUp(price * quantity * multiplier, PRICES_PER_CENT);
}

/**
 * Returns the mean price for an amount; zero for the quantity zero. The price is rounded to ten decimals. It still
 * gives the amount to the cent, as long as quantity times multiplier is below 100 million.
 */
export function meanPrice(cents: bigint, quantity: bigint, multiplier = 1n): bigint {
  return quantity === 0n ? 0n : divideHalfUp(cents * PRICES_PER_CENT, quantity * multiplier);
}

/** Returns the smaller value. */
export function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
