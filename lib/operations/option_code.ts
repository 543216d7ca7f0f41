/**
 * Writes and parses codes of US options: underlying, expiry, call or put, and strike (API document 2.2).
 *
 * @module
 */
import { compare, type Decimal, divide, isDecimal, multiply, normalize, round } from "../decimal.ts";
import { OptionType } from "../dictionaries/option.ts";
import { InvalidParamsError, type Issue } from "../errors.ts";
import type { OptionType as OptionTypeName } from "./public_types.ts";
import { date } from "./types.ts";

/** The terms of an option that its code contains. */
export interface OptionTerms {
  /** Code of the underlying: capital letters, digits and dots, such as `AAPL`. */
  underlying: string;
  /** Last trading day, such as `2025-08-15`. From 2000 to 2099, because the code has only two digits for the year. */
  expiry: string;
  /** Call or put. */
  optionType: OptionTypeName;
  /** Strike price: above zero, with at most four decimals. */
  strike: Decimal;
}

/** Number of decimals of the strike; the code omits the decimal point. */
const strikeDecimals = 4;
const underlyingPattern = /^[A-Z0-9][A-Z0-9.]*$/;
/**
 * Matches as few characters as possible for the underlying, which may contain digits. The strike has at least five
 * digits.
 */
const codePattern = /^(.*?)(\d{2})(\d{2})(\d{2})([CP])(\d{5,})$/;

/**
 * Returns the code of an option, such as `AAPL250815C900000` for the call at 90 of 15 August 2025.
 * A strike of 0.1 is written `01000`.
 *
 * @throws {InvalidParamsError} When a term cannot be written in a code. Lists every such term.
 */
export function formatOptionCode(terms: OptionTerms): string {
  const issues: Issue[] = [];
  const { underlying, expiry, optionType, strike } = terms;
  const checkTerm = (fits: boolean, name: keyof OptionTerms, expected: string) => {
    if (!fits) issues.push({ path: [name], value: terms[name], expected });
  };
  checkTerm(
    typeof underlying === "string" && underlyingPattern.test(underlying),
    "underlying",
    'capital letters, digits and dots, such as "AAPL"',
  );
  const day: Issue[] = [];
  date.check(expiry, ["expiry"], day);
  checkTerm(
    day.length === 0 && expiry.startsWith("20"),
    "expiry",
    'a date that exists from 2000 to 2099, such as "2025-08-15"',
  );
  checkTerm(OptionType.has(optionType), "optionType", '"call" or "put"');
  checkTerm(fitsStrike(strike), "strike", "a decimal above zero with at most 4 decimals");
  if (issues.length > 0) throw new InvalidParamsError("write option code", issues);

  const day6 = expiry.replaceAll("-", "").slice(-6);
  const digits = normalize(multiply(strike, `1e${strikeDecimals}`)).padStart(strikeDecimals + 1, "0");
  return `${underlying}${day6}${OptionType.encode(optionType)}${digits}`;
}

/**
 * Parses an option code. The strike has no trailing zeros: `"90"` for `900000`.
 *
 * @throws {InvalidParamsError} When the text is not an option code.
 */
export function parseOptionCode(code: string): OptionTerms {
  const terms = readOptionCode(code);
  if (terms !== undefined) return terms;
  const expected = 'an option code such as "AAPL250815C900000"';
  throw new InvalidParamsError("read option code", [{ path: ["code"], value: code, expected }]);
}

/** Parses an option code like {@linkcode parseOptionCode}. @returns `undefined` if the text is not an option code. */
export function readOptionCode(code: string): OptionTerms | undefined {
  const match = typeof code === "string" ? codePattern.exec(code) : null;
  if (match === null) return undefined;
  const [, underlying = "", year, month, day, letter = "", digits = ""] = match;
  const strike = normalize(divide(digits, `1e${strikeDecimals}`, strikeDecimals, "exact"));
  const optionType = OptionType.decode(letter);
  if (!OptionType.has(optionType)) return undefined;
  const terms: OptionTerms = { underlying, expiry: `20${year}-${month}-${day}`, optionType, strike };
  // A code is valid only if its terms result in the same code. This rejects impossible dates, zero strikes and extra
  // digits.
  try {
    return formatOptionCode(terms) === code ? terms : undefined;
  } catch (error) {
    if (error instanceof InvalidParamsError) return undefined;
    throw error;
  }
}

function fitsStrike(strike: unknown): boolean {
  if (!isDecimal(strike) || compare(strike, "0") <= 0) return false;
  return compare(round(strike, strikeDecimals, "down"), strike) === 0;
}
