/**
 * United States equity options: codes, strikes, multiplier and the rule for expiry days.
 *
 * Sources: the option code rule of the API document (2.2); published strike interval rules (2.50 below 25,
 * 5 up to 200, 10 above; active names narrower). That AAPL, AMZN, GOOGL and MSFT take 2.50 for about two months
 * and half the standard interval afterwards is a simplification, not a stored rule.
 *
 * @module
 */
import { compare, type Decimal, normalize } from "../decimal.ts";

/** Underlyings with an option chain. */
export const optionUnderlyings: readonly string[] = ["AAPL", "AMZN", "GOOGL", "MSFT"];

/** Shares that one contract stands for. */
export const optionMultiplier: Decimal = "100";

/** The parts of an option code. */
export interface OptionContract {
  underlying: string;
  /** Last trading day, `yyyy-MM-dd`. */
  expiry: string;
  type: "call" | "put";
  /** In dollars. */
  strike: Decimal;
}

/**
 * Writes the code of an option: underlying, `yyMMdd`, `C` or `P`, and the strike with four decimals and no point
 * (0.1 is `01000`, 90 is `900000`).
 *
 * @throws {RangeError} When the strike has more than four decimals.
 */
export function optionCode({ underlying, expiry, type, strike }: OptionContract): string {
  const [whole = "0", fraction = ""] = normalize(strike).split(".");
  if (fraction.length > 4) throw new RangeError(`Cannot write strike "${strike}" with four decimals`);
  const day = expiry.slice(2).replaceAll("-", "");
  return `${underlying}${day}${type === "call" ? "C" : "P"}${whole}${fraction.padEnd(4, "0")}`;
}

const CODE = /^([A-Z]{1,6})(\d{2})(\d{2})(\d{2})([CP])(\d{1,7})(\d{4})$/;

/** Reads the code of an option, or returns `undefined` when the text is none. */
export function parseOptionCode(code: string): OptionContract | undefined {
  const match = CODE.exec(code);
  if (match === null) return undefined;
  const [, underlying = "", year, month, day, type, whole, fraction] = match;
  return {
    underlying,
    expiry: `20${year}-${month}-${day}`,
    type: type === "C" ? "call" : "put",
    strike: normalize(`${whole}.${fraction}`),
  };
}

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
