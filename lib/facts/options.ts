/**
 * United States equity options: strikes, multiplier and the rule for expiry days.
 *
 * Sources: published strike interval rules (2.50 below 25,
 * 5 up to 200, 10 above; active names narrower). That AAPL, AMZN, GOOGL and MSFT take 2.50 for about two months
 * and half the standard interval afterwards is a simplification, not a stored rule.
 *
 * @module
 */
import { compare, type Decimal } from "../decimal.ts";

/** Underlyings with an option chain. */
export const optionUnderlyings: readonly string[] = ["AAPL", "AMZN", "GOOGL", "MSFT"];

/** Shares that one contract stands for. */
export const optionMultiplier: Decimal = "100";

/** Returns the standard distance between strikes at a price of the underlying. */
export function strikeStep(underlyingPrice: Decimal): Decimal {
  if (compare(underlyingPrice, "25") < 0) return "2.5";
  return compare(underlyingPrice, "200") <= 0 ? "5" : "10";
}

/**
 * Returns the distance between strikes of an actively traded name.
 *
 * @param daysToExpiry Calendar days; the nearest two months are narrow, later expiries half the standard.
 */
export function activeStrikeStep(underlyingPrice: Decimal, daysToExpiry: number): Decimal {
  if (daysToExpiry <= 62 || compare(underlyingPrice, "200") <= 0) return "2.5";
  return "5";
}
