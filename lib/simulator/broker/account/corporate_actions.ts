/**
 * Applies dividends and splits to the account: holdings change on the ex-date, and cash arrives on the pay day.
 *
 * Both happen at four in the morning of a trading day, local time. From then on, quotes show the price after the
 * dividend or the split (`market/state.ts`). Dividends are paid without tax and without fees, and a fraction of a share
 * after a split is dropped. The journal line has the type `settlement-funds`, because the API document has no type for
 * dividends.
 *
 * @module
 */
import { type CorporateAction } from "../../../facts/corporate_actions.ts";
import { listing } from "../../../facts/listings.ts";
import type { FundJournalType } from "../../../dictionaries/fund_journal_type.ts";
import type { Market } from "../../../dictionaries/market.ts";
import type { SimulatedMarket } from "../../market/mod.ts";
import { ACTIONS_HOUR } from "../../market/timeline.ts";
import { amountOf, readPrice } from "./money.ts";
import type { Entitlement, Holding } from "../past/past.ts";

/** The second of the local day at which dividends and splits are processed. */
export const ACTIONS_SECOND = ACTIONS_HOUR * 3600;

/** The type of a dividend's journal line. */
export const DIVIDEND_TYPE: FundJournalType = "settlement-funds";

/** Returns a market's dividends and splits whose ex-dates are later than `after` and not later than `until`. */
export function actionsBetween(
  simulated: SimulatedMarket,
  market: Market,
  { after, until }: { after: string; until: string },
): CorporateAction[] {
  return simulated.actions.filter(({ symbol, exDate }) =>
    exDate > after && exDate <= until && listing(symbol)?.market === market
  );
}

/** Applies splits to the holdings, and returns the dividends that the holdings earn or, if short, owe. */
export function applyExDate(
  holdings: Map<string, Holding>,
  actions: readonly CorporateAction[],
): Entitlement[] {
  const entitlements: Entitlement[] = [];
  for (const { symbol, payDate, cash, newShares, oldShares } of actions) {
    const held = holdings.get(symbol);
    if (held === undefined) continue;
    const cents = amountOf(readPrice(cash), held.quantity, 1n);
    // The holder of a short position pays the dividend.
    if (cents !== 0n) entitlements.push({ symbol, payDate, cents });
    if (newShares === oldShares) continue;
    held.quantity = held.quantity * BigInt(newShares) / BigInt(oldShares);
    if (held.quantity === 0n) holdings.delete(symbol);
  }
  return entitlements;
}

/** Removes and returns the entitlements whose pay day is on or before a date. */
export function takeDue(entitlements: Entitlement[], date: string): Entitlement[] {
  const due = entitlements.filter(({ payDate }) => payDate <= date);
  entitlements.splice(0, Infinity, ...entitlements.filter(({ payDate }) => payDate > date));
  return due;
}
