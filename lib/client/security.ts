/**
 * Derives the type of a security, and the time zone of its exchange, from its code.
 *
 * @module
 */
import { SecurityType } from "../dictionaries/security_type.ts";
import { listing } from "../facts/listings.ts";
import { readOptionCode } from "../operations/option_code.ts";
import type { Security } from "../operations/public_types.ts";

/** Returns the IANA time zone of the exchange of a code. China and Hong Kong have the same time. */
export function zoneOf(symbol: string): string {
  return /\.(HK|SH|SZ)$/.test(symbol) ? "Asia/Hong_Kong" : "America/New_York";
}

/** Patterns of codes. The first match decides. */
const patterns: readonly (readonly [RegExp, SecurityType])[] = [
  [/^\d{1,5}\.HK$/, "hk-stock"],
  // Year and month in digits (HSI2512), or a month letter and the last digit of the year (HSIZ5).
  [/^[A-Z]{3}(\d{4}|[FGHJKMNQUVXZ]\d)\.HK$/, "hk-index-future"],
  [/^(688|689)\d{3}\.SH$/, "star-board-stock"],
  [/^(5\d{5}\.SH|1[56]\d{4}\.SZ)$/, "a-share-etf"],
  [/^\d{6}\.(SH|SZ)$/, "a-share-stock"],
];

/**
 * Returns a code with the type of its security. A known listing has a type in the reference data. Patterns decide for
 * any other code; a code without a suffix is a US stock or option. Patterns can be wrong: an unknown Hong Kong ETF
 * counts as a stock.
 *
 * @throws {TypeError} If the code fits no exchange, for example with the suffix `.L`.
 */
export function securityOf(symbol: string): Security {
  const known = listing(symbol);
  if (known !== undefined) {
    const type = SecurityType.decode(known.dataType);
    if (SecurityType.has(type)) return { type, symbol };
  }
  const type = patterns.find(([pattern]) => pattern.test(symbol))?.[1] ??
    (readOptionCode(symbol) === undefined ? undefined : "us-option");
  if (type !== undefined) return { type, symbol };
  if (/^[A-Z][A-Z0-9]{0,5}([.-][A-Z]{1,2})?$/.test(symbol) && !/\.(HK|SH|SZ|L)$/.test(symbol)) {
    return { type: "us-stock", symbol };
  }
  throw new TypeError(
    `Cannot recognize "${symbol}": codes look like "00700.HK", "600519.SH", "000333.SZ" or "AAPL"`,
  );
}
