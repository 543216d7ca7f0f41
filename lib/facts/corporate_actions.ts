/**
 * Looks up dividends and share splits of the listings, by ex-date.
 *
 * The table is not complete: it has the actions whose dates were found. Amounts are before tax and fees.
 *
 * @module
 */
import type { Decimal } from "../decimal.ts";
import data from "./data/corporate_actions.json" with { type: "json" };

/** A dividend, a split, or both at once. */
export interface CorporateAction {
  /** Code of the listing. */
  symbol: string;
  /** First day on which a buyer does not get the dividend or the new shares, `yyyy-MM-dd`. */
  exDate: string;
  /** Day on which the cash is paid, `yyyy-MM-dd`. */
  payDate: string;
  /** Cash for one share held before the ex-date, in the listing's currency; `"0"` if there is none. */
  cash: Decimal;
  /** Number of shares that replace {@linkcode oldShares} shares; both are 1 without a split. */
  newShares: number;
  /** Number of shares that are replaced. */
  oldShares: number;
}

/** Every known action, earliest ex-date first. */
export const corporateActions: readonly CorporateAction[] = data.actions.map(
  ({ symbol, exDate, payDate, cash, newShares = 1, oldShares = 1 }) => ({
    symbol,
    exDate,
    payDate,
    cash,
    newShares,
    oldShares,
  }),
);
