/**
 * Keeps the orders of a rebalancing plan within the plan. Together they never buy or sell more of a listing than
 * planned, even if two processes execute the same plan.
 *
 * @module
 */
import { compare, type Decimal, normalize, subtract, sumOf } from "../decimal.ts";
import { BrokerError } from "../errors.ts";
import type { Store } from "../store/store.ts";
import { isSameSymbol } from "./broker_lists.ts";
import type { Intent, IntentKind, Why } from "./intent.ts";
import { capsOfPlan, intentsOfPlan } from "./queries.ts";
import { isFinal } from "./states.ts";
import { termsOf } from "./terms.ts";

/**
 * A plan has a quantity for each trade. Returns how much of this quantity an intent uses. If the intent's order has
 * ended, this is the filled quantity; otherwise it is the intent's whole quantity. An intent with an unknown outcome
 * uses its whole quantity, because the broker may have the order.
 */
export function usedOf(intent: Intent): Decimal {
  const { quantity = "0" } = termsOf(intent);
  if (intent.kind !== "place" || intent.state === "abandoned") return "0";
  if (isFinal(intent.state) && intent.state !== "filled") return intent.filled;
  // Somebody may have amended the order elsewhere to a larger quantity.
  return compare(intent.filled, quantity) > 0 ? intent.filled : quantity;
}

/**
 * Throws if an order belongs to a plan and the plan does not allow it. Call it in the transaction that records the
 * intent, so that two processes cannot use the same quantity.
 *
 * @param own The intent of the order, if the store already has it.
 */
export async function refuseBeyondPlan(
  store: Store,
  account: string,
  { kind, operation, params, why, own }: {
    kind: IntentKind;
    operation: string;
    params: Readonly<Record<string, unknown>>;
    why: Why;
    own?: string;
  },
): Promise<void> {
  const { plan } = why;
  if (plan === undefined || kind === "cancel") return;
  const refuse = (code: string, what: string) =>
    new BrokerError(`Cannot send ${operation}: ${what} the plan ${plan.slice(0, 12)}; nothing was sent`, {
      code,
      operation,
    });
  const caps = await capsOfPlan(store, account, plan);
  if (caps?.state !== "running") {
    throw refuse("plan-not-running", "no execution is in progress for");
  }
  const { market, symbol, side, quantity } = termsOf({ params });
  const isSame = (other: { market?: string; symbol?: string; side?: string }) =>
    other.market === market && isSameSymbol(other.symbol, symbol) && other.side === side;
  if (kind !== "place" || symbol === undefined || quantity === undefined) {
    throw refuse("plan-cap", "only new orders with a quantity can be part of");
  }
  const cap = sumOf(caps.trades.filter(isSame).map((trade) => trade.quantity));
  const used = (await intentsOfPlan(store, account, plan))
    .filter((intent) => intent.id !== own && isSame(termsOf(intent))).map(usedOf);
  const left = subtract(cap, sumOf(used));
  if (compare(quantity, left) <= 0) return;
  throw refuse(
    "plan-cap",
    `the order is to ${side} ${quantity} of "${symbol}", and only ${
      normalize(left)
    } of "${symbol}" are left of`,
  );
}
