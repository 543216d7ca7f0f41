/**
 * The kind of a security, from its code.
 *
 * @module
 */
import { SecurityType } from "../dictionaries/security_type.ts";
import { listing } from "../facts/listings.ts";
import { readOptionCode } from "../operations/option_code.ts";

/** A security as the market-data operations take it. */
export interface Security {
  type: SecurityType;
  /** Code with its suffix, where the exchange has one. */
  symbol: string;
}

/** What a code looks like, first fit. */
const patterns: readonly (readonly [RegExp, SecurityType])[] = [
  [/^\d{1,5}\.HK$/, "hk-stock"],
  // A month in digits (HSI2512) or as letter and digit of the year (HSIZ5).
  [/^[A-Z]{3}(\d{4}|[FGHJKMNQUVXZ]\d)\.HK$/, "hk-index-future"],
  [/^(688|689)\d{3}\.SH$/, "star-board-stock"],
  [/^(5\d{5}\.SH|1[56]\d{4}\.SZ)$/, "a-share-etf"],
  [/^\d{6}\.(SH|SZ)$/, "a-share-stock"],
];

/**
 * Tells the kind of a security from its code: known listings by their own, everything else by what the code looks
 * like, and a code without a suffix as a US stock. Codes do not tell everything apart: an unknown Hong Kong ETF
 * passes for a stock.
 *
 * @throws {TypeError} When the code fits no exchange, such as one with the suffix `.L`.
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
    `Cannot tell what "${symbol}" is: codes look like "00700.HK", "600519.SH", "000333.SZ" or "AAPL"`,
  );
}
