/**
 * Ends plans of rebalancing whose runs have ended. Such a run may have ended without its step, for example because its
 * window closed before the next process could continue it.
 *
 * @module
 */
import { endLeftPlan, plansOfRuns } from "../../rebalance/mod.ts";
import type { Store } from "../../store/store.ts";
import { findRun, isEnded } from "../queries/runs.ts";
import { lastAttempts } from "../queries/steps.ts";

/** Ends the running plans whose runs have ended, and records why. Call it within a transaction. */
export async function endLeftPlans(store: Store, now: number): Promise<void> {
  for (const plan of await plansOfRuns(store)) {
    const end = plan.stepKey.lastIndexOf("#");
    const [runKey, step] = [plan.stepKey.slice(0, end), plan.stepKey.slice(end + 1)];
    const run = await findRun(store, runKey);
    if (run !== undefined && !isEnded(run)) continue;
    // A removed run has ended long ago.
    const { state, reason, round } = run ?? { state: "removed", reason: null, round: 0 };
    const why = (await lastAttempts(store, runKey, round)).get(step)?.error ?? reason;
    await endLeftPlan(store, plan, {
      at: now,
      reason: `its run ${runKey} is ${state}${why === null ? "" : `: ${why}`}`,
    });
  }
}
