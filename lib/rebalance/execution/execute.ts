/**
 * Begins, continues and ends the execution of a rebalancing plan. Handles the plan's approval, and the lease of the
 * process that executes the plan.
 *
 * @module
 */
import { intentsOfPlan, moveIntent } from "../../desk/queries.ts";
import { BrokerError } from "../../errors.ts";
import type { Store } from "../../store/store.ts";
import { wait } from "../../time.ts";
import { Execution, LEASE_MS, type PlanDesk, type RebalanceOptions } from "./execution.ts";
import { canonical, type Plan } from "../solver/plan.ts";
import { isFullyFilled, progressOf } from "./progress.ts";
import {
  approvePlan,
  beginPlan,
  endPlan,
  findPlan,
  holderOf,
  type PlanKey,
  type PlanRecord,
  recordPlan,
  shortHash,
} from "../queries.ts";
import type { RebalanceReport } from "../results/report.ts";
import { storedReport } from "../results/results.ts";
import { deadlineOf, type ExecutionTerms, readExecutionTerms } from "../input/terms.ts";

/** A plan that a script records is approved for this long. */
const SCRIPT_APPROVAL_MS = 10 * 60_000;

/**
 * Executes a plan, and resolves to what it did. If the store does not have the plan, records and approves it in the
 * name of `by`. A recorded plan needs an approval. Continues a plan whose process has ended. Resolves at once to the
 * report of a plan that is done already.
 *
 * Order writes are never repeated: an order whose answer was lost counts as ordered until the broker's lists show its
 * outcome. The execution never changes orders of other programs.
 *
 * @throws {InvalidParamsError} If a quote is missing or too old, or the broker does not confirm a lot. Nothing was
 * sent.
 * @throws {BrokerError} If the plan may not be executed (codes `plan-not-approved`, `plan-held`, `plan-other`,
 * `plan-changed`, `plan-state`), or another process has taken over the execution (`plan-held`).
 * @throws {StoreError} If the store cannot be used. The execution can be continued later.
 */
export async function rebalance(
  desk: PlanDesk,
  plan: Plan,
  terms: ExecutionTerms = readExecutionTerms(),
  options: RebalanceOptions = {},
): Promise<RebalanceReport> {
  const { store, account, machine } = desk;
  const { by = "a script", signal, stepKey } = options;
  const key = { account, hash: plan.hash };
  const found = await findPlan(store, account, plan.hash);
  if (found !== undefined && canonical(found.plan) !== canonical(plan)) {
    throw new BrokerError(
      `Cannot execute the plan ${shortHash(plan.hash)}: it differs from the recorded plan with this hash; ` +
        "execute the plan of the record, or make a new plan",
      { code: "plan-changed", operation: "rebalance" },
    );
  }
  if (found?.state === "done" && found.report !== undefined) return found.report;
  const at = machine.now();
  // Do not record a stopped plan again: it may be a refused plan, and `recordPlan` would make a refused plan `planned`
  // again.
  if (found?.state !== "stopped") await recordPlan(store, { account, plan, terms, at });
  if (found === undefined) await approvePlan(store, key, { by, at, until: at + SCRIPT_APPROVAL_MS });
  const holder = holderOf(machine.id(), stepKey);
  const execution = new Execution(desk, plan, { ...options, terms, by, holder });
  const views = found?.state === "running" ? undefined : await execution.check();
  const record = await beginOnce(desk, plan, { holder, terms, signal });
  await abandonUnsent(store, key, machine.now());
  return await execution.run(record, views);
}

/**
 * Begins the execution. If the last process that executed the plan may still be alive, waits until its lease expires.
 */
async function beginOnce(
  { store, account, machine }: PlanDesk,
  { hash }: Plan,
  { holder, terms, signal }: { holder: string; terms: ExecutionTerms; signal: AbortSignal | undefined },
): Promise<PlanRecord> {
  let heldUntil: number | undefined;
  let isContinued = false;
  for (;;) {
    const at = machine.now();
    try {
      return await beginPlan(store, { account, hash }, {
        holder,
        at,
        leaseMs: LEASE_MS,
        deadlineAt: deadlineOf(terms, at),
        isContinued,
      });
    } catch (error) {
      if (!(error instanceof BrokerError) || error.code !== "plan-held") throw error;
      // The plan still exists: only plans of months ago are removed.
      const { state, heldUntil: until = at } = (await findPlan(store, account, hash))!;
      // The other process has renewed its lease, so it is alive; or it has ended the execution.
      if (state !== "running" || (heldUntil !== undefined && until > heldUntil)) throw error;
      heldUntil = until;
      await wait(machine, Math.max(until - at, 1), signal);
      isContinued = true;
    }
  }
}

/**
 * Abandons the intents of a plan that an earlier process planned and did not send. If that process is still alive, it
 * can no longer send them.
 */
async function abandonUnsent(store: Store, { account, hash }: PlanKey, at: number): Promise<void> {
  const data = { why: "the process that planned it ended before it sent anything" };
  await store.transaction(async () => {
    for (const { id, state } of await intentsOfPlan(store, account, hash)) {
      if (state !== "planned" && state !== "approved") continue;
      await moveIntent(store, id, { to: "abandoned", by: "desk", at, data });
    }
  });
}

/**
 * Ends a running plan after the run that executed it has ended. Sends nothing. Does nothing if
 * another process executes the plan now. Abandons the orders that were not sent. If the outcome of another order is
 * unknown, does not end the plan.
 *
 * @param reason Why the run has ended.
 */
export async function endLeftPlan(
  store: Store,
  { account, hash, holder }: PlanKey & { holder: string },
  { at, reason }: { at: number; reason: string },
): Promise<void> {
  await store.transaction(async () => {
    const record = await findPlan(store, account, hash);
    if (record?.state !== "running" || record.holder !== holder) return;
    await abandonUnsent(store, { account, hash }, at);
    const intents = await intentsOfPlan(store, account, hash);
    const progress = progressOf(record.plan, intents);
    if (progress.some(({ pending }) => pending.length > 0)) return;
    const state = isFullyFilled(record.plan, progress) ? "done" : "stopped";
    const end = { state, endedAt: at, reason: state === "done" ? undefined : reason } as const;
    const report = storedReport({ ...record, ...end }, intents);
    await endPlan(store, { account, hash }, { holder, ...end, at, report });
  });
}
