/**
 * Returns what remains of each trade of a plan. The result depends only on the plan and its intents in the store, so it
 * is correct even after a crash.
 *
 * @module
 */
import { add, compare, type Decimal, isZero, subtract, sumOf } from "../../decimal.ts";
import type { Intent } from "../../desk/intent.ts";
import { pendingStates } from "../../desk/guards/order.ts";
import { usedOf } from "../../desk/plan_caps.ts";
import { isFinal } from "../../desk/states.ts";
import type { Plan } from "../solver/plan.ts";

/** What the orders of a trade have done so far. */
export interface Progress {
  /** Every intent that placed an order of the trade, oldest first. */
  intents: readonly Intent[];
  filled: Decimal;
  /** Unfilled quantity of the open orders. */
  open: Decimal;
  /** Quantity of the intents in `pending`: the broker may or may not have these orders. */
  unknown: Decimal;
  /** Quantity that may still be ordered; an order with an unknown outcome counts as ordered. */
  left: Decimal;
  /** Intents whose orders are open at the broker. */
  live: readonly Intent[];
  /** Intents that may still be sent, or whose outcome is not known yet. */
  pending: readonly Intent[];
}

/** Returns the progress of each trade of a plan, in the order of the plan. */
export function progressOf({ trades }: Pick<Plan, "trades">, intents: readonly Intent[]): Progress[] {
  return trades.map(({ quantity }, index): Progress => {
    const own = intents.filter(({ kind, why }) => kind === "place" && why.trade === index);
    const pending = own.filter(({ state }) => pendingStates.includes(state));
    const live = own.filter(({ state }) => !isFinal(state) && !pendingStates.includes(state));
    const filled = sumOf(own.map((intent) => intent.filled));
    const used = (some: readonly Intent[]) => sumOf(some.map(usedOf));
    const left = subtract(quantity, used(own));
    return {
      intents: own,
      filled,
      open: subtract(used(live), sumOf(live.map((intent) => intent.filled))),
      unknown: used(pending),
      left: compare(left, "0") > 0 ? left : "0",
      live,
      pending,
    };
  });
}

/**
 * Returns the quantity of a trade that is neither filled nor in an order that may still fill. It can be larger than
 * `left`. If somebody reduces an order elsewhere, hsgate does not order the reduced quantity again.
 */
export function missingOf({ quantity }: { quantity: Decimal }, { filled, open, unknown }: Progress): Decimal {
  const missing = subtract(quantity, add(filled, open, unknown));
  return compare(missing, "0") > 0 ? missing : "0";
}

/** Returns whether everything of a plan is filled, and none of its orders is open. */
export const isFullyFilled = ({ trades }: Plan, progress: readonly Progress[]): boolean =>
  progress.every((each, index) =>
    isZero(missingOf(trades[index]!, each)) && each.live.length === 0 && each.pending.length === 0
  );
