/**
 * Recovers the runs of a process that died, and resolves runs whose writes have an unknown outcome.
 *
 * @module
 */
import { mutexOf } from "./claims.ts";
import { releaseLease } from "../queries/leases.ts";
import { hasBegunWrite, resolveSteps } from "../queries/steps.ts";
import type { Store } from "../../store/store.ts";
import { pauseOf } from "../queries/schedules.ts";
import {
  expiredRuns,
  isStarterOnly,
  resolveRun,
  type RunRow,
  type RunState,
  skipRun,
  takeFromHolder,
} from "../queries/runs.ts";
import { shellHint } from "../../shell_words.ts";

/**
 * Takes runs from processes that died. A run that only read becomes due again. A run that had begun to write waits until
 * its outcome is resolved, and is never run again automatically. A manual run that had not begun to write is cancelled,
 * because only the process that started it knew its settings.
 */
export async function recoverExpired(
  store: Store,
  now: number,
): Promise<{ runKey: string; state: RunState }[]> {
  return await store.transaction(async () =>
    await Array.fromAsync(
      await expiredRuns(store, now),
      async (row) => ({ runKey: row.run_key, state: await recoverRun(store, row, now) }),
    )
  );
}

/** Takes one run from its process, and returns its new state. Within a transaction. */
export async function recoverRun(store: Store, row: RunRow, now: number): Promise<RunState> {
  const { run_key: runKey, holder, account, fence } = row;
  const state = await hasBegunWrite(store, runKey)
    ? "waiting_recovery"
    : isStarterOnly(row)
    ? "cancelled"
    : "due";
  await takeFromHolder(store, runKey, {
    state,
    reason: state === "cancelled" ? whyOver(row) : row.reason,
    finishedAt: state === "cancelled" ? now : row.finished_at,
  });
  if (account !== null && holder !== null) {
    await releaseLease(store, mutexOf(account), `${holder} ${runKey}`);
  }
  await store.event(now, "recovered", { state, fence }, runKey);
  // A pause also applies to a run that would begin again.
  const isPaused = state === "due" && (row.kind === "live" || row.kind === "catchup") &&
    await pauseOf(store, row.recipe) !== undefined;
  return isPaused && await skipRun(store, runKey, "paused", now) ? "skipped" : state;
}

/** Returns why a manual run was cancelled, and what to do. */
function whyOver({ run_key: runKey, recipe, class: kind }: RunRow): string {
  // Its key names the run that it is part of.
  const isNested = runKey.slice(`${recipe}/m/`.length).includes("/");
  if (isNested) return "its process died; it resumes together with the run that it is part of";
  return kind === "write"
    ? "its process died before it wrote anything"
    : `its process died; to continue it: hsgate rerun ${shellHint(runKey)}`;
}

/** Records the outcome of a run's unresolved writes, as the order journal or a person reports it. Returns whether it did. */
export async function resolveOutcome(
  store: Store,
  { runKey, state, actor, because, now }: {
    runKey: string;
    state: "ok" | "failed" | "unknown";
    actor: string;
    /** What the actor saw. */
    because?: string;
    now: number;
  },
): Promise<boolean> {
  return await store.transaction(async () => {
    if (!await resolveRun(store, runKey, state, now)) return false;
    if (state !== "unknown") await resolveSteps(store, runKey, state, now);
    await store.event(now, "resolved", { state, actor, because }, runKey);
    return true;
  });
}
