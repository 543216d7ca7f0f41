/** Plans for tests, written out instead of computed. */
import { add, multiply } from "../../lib/decimal.ts";
import {
  approvePlan,
  beginPlan,
  type ExecutionTerms,
  type Plan,
  type PlannedTrade,
  readExecutionTerms,
  recordPlan,
} from "../../lib/rebalance/mod.ts";
import type { Store } from "../../lib/store/store.ts";

/** A trade of a test; missing members get defaults. */
export type GivenTrade = Pick<PlannedTrade, "symbol" | "side" | "quantity" | "price"> & Partial<PlannedTrade>;

/** Returns a plan with the given trades; most other members are the same in every plan. */
export function planOf(
  trades: readonly GivenTrade[],
  { hash = "a".repeat(64), cashBuffer = { HKD: "0.00" } }: {
    hash?: string;
    cashBuffer?: Record<string, string>;
  } = {},
): Plan {
  const all = trades.map((trade): PlannedTrade => ({
    market: "hk",
    value: multiply(trade.price, trade.quantity),
    fees: "10.00",
    ...trade,
  }));
  const value = "1000000.00";
  return {
    base: "HKD",
    trades: all,
    cashAfter: { HKD: "0.00" },
    weightsAfter: {},
    sumSquaredDrift: "0",
    lowerBound: "0",
    leftOut: [],
    optimal: true,
    date: "2025-08-15",
    value,
    sumSquaredDriftBefore: "0.01",
    turnover: "0.1",
    cash: { HKD: "0.00" },
    cashBuffer,
    fees: { HKD: add("0", ...all.map(({ fees }) => fees)) },
    positions: [],
    hash,
  };
}

/** Returns execution terms; members that are not given have their defaults. */
export const termsOf = (terms: Record<string, unknown> = {}): ExecutionTerms => readExecutionTerms(terms);

/** Records and approves a plan, and begins its execution. */
export async function begun(
  store: Store,
  plan: Plan,
  { account, at, holder = "test" }: { account: string; at: number; holder?: string },
): Promise<void> {
  const key = { account, hash: plan.hash };
  await recordPlan(store, { account, plan, terms: termsOf(), at });
  await approvePlan(store, key, { by: "a test", at, until: at + 60_000 });
  await beginPlan(store, key, { holder, at, leaseMs: 60_000, deadlineAt: at + 3_600_000 });
}
