/**
 * The guard rails of the order desk: rules that an order must pass before it is sent. A rule refuses an order or lets
 * it pass, but never changes it. Every refusal names the rule, the reason, and the nearest valid value or what to do.
 *
 * Cancellations pass without a check. The limits and their settings are in `client/limits.ts`.
 *
 * @module
 */
import type { Limits } from "../../client/limits.ts";
import type { PlannedWrite } from "../desk.ts";
import type { ApprovedTerms } from "../intent.ts";
import { allowShort, buyingPower } from "./broker_figures.ts";
import { findIntent, ownedOrders } from "../queries.ts";
import { LONGEST_ORDER_MS } from "../records.ts";
import { Check, type GuardDeps, type Rule } from "./check.ts";
import { isForExtendedHours, type OrderParams } from "./order.ts";
import { priceCollar, tick } from "./prices.ts";
import { lot, maxVolumeShare } from "./quantities.ts";
import { quoteMaxAge, session } from "./sessions.ts";
import {
  allowedSymbols,
  liveTrading,
  maxDayValue,
  maxOrdersPerMinute,
  maxOrderValue,
  maxSymbolValue,
} from "./values.ts";

/** Every rule, in the order in which the rules are checked. Rules that need no answer from the broker come first. */
export const rules: readonly Rule[] = [
  liveTrading,
  maxOrdersPerMinute,
  allowedSymbols,
  session,
  quoteMaxAge,
  tick,
  lot,
  priceCollar,
  maxOrderValue,
  maxSymbolValue,
  maxDayValue,
  maxVolumeShare,
  allowShort,
  buyingPower,
];

/** Returns the terms to record with the approval of an intent; `undefined` if the order's own terms are enough. */
async function approvedTerms(check: Check): Promise<ApprovedTerms | undefined> {
  const { order: { price, symbol, quantity }, params } = check;
  const valued = await check.price("maxDayValue");
  const terms: ApprovedTerms = {
    ...valued !== price && { reference: valued },
    ...params.symbol === undefined && { symbol },
    ...params.quantity === undefined && { quantity },
  };
  return Object.keys(terms).length === 0 ? undefined : terms;
}

/**
 * Returns whether an amended order may trade outside the regular hours. An amendment does not name the hours, and the
 * broker's lists do not show them, so the intent that placed the order decides. Returns true if no intent
 * placed the order: the rules then allow extended hours, and the broker decides.
 */
async function wasExtended(
  { store, account, machine }: GuardDeps,
  { orderId, market }: OrderParams,
): Promise<boolean> {
  // Of the markets that a write can name, only the US market has extended hours. A futures write names no
  // market.
  if (orderId === undefined || market !== undefined && market !== "us") return false;
  const owner = (await ownedOrders(store, account, machine.now() - LONGEST_ORDER_MS)).get(orderId);
  const placed = owner === undefined ? undefined : await findIntent(store, owner.intent);
  return placed === undefined || isForExtendedHours(placed.params);
}

/** Returns the data with which the guard rails check a new order or an amendment. */
export async function checkOf(limits: Limits, deps: GuardDeps, planned: PlannedWrite): Promise<Check> {
  return new Check(limits, deps, planned, await wasExtended(deps, planned.params as OrderParams));
}

/**
 * Checks every rule. Returns the terms to record with the approval.
 *
 * @throws {BrokerError} If a rule refuses the order, with the code `guard`.
 */
export async function passRules(check: Check): Promise<ApprovedTerms | undefined> {
  const { params } = check.planned;
  const changesTerms = "quantity" in params || "price" in params;
  for (const rule of rules) if (changesTerms || rule.checksEveryWrite) await rule.check(check);
  return changesTerms ? await approvedTerms(check) : undefined;
}

/**
 * Returns the guard rails of an account, as the `guard` option of its desk. The returned function throws a
 * `BrokerError` with the code `guard` if a rule refuses the order.
 */
export function guardsOf(
  limits: Limits,
  deps: GuardDeps,
): (planned: PlannedWrite) => Promise<ApprovedTerms | undefined> {
  return async (planned) =>
    planned.operation.order === "cancel" ? undefined : await passRules(await checkOf(limits, deps, planned));
}
