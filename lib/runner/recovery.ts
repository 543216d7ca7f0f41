/**
 * What becomes of the runs of a process that died, and of those of which nobody knows what they wrote.
 *
 * @module
 */
import { mutexOf } from "./claims.ts";
import { releaseLease } from "./leases.ts";
import type { Ledger } from "./ledger.ts";
import { pauseOf } from "./paused.ts";
import { isOwned, ownedKinds, type RunRow, type RunState, skipRun } from "./run_rows.ts";

/**
 * Takes runs from processes that died. Those that only read go back; those that had begun to write wait until it is
 * known what came of it, and never run again by themselves. One by hand is over, whatever it had come to: nobody else
 * knows where it was to go.
 */
export function recoverExpired(ledger: Ledger, now: number): { runKey: string; state: RunState }[] {
  return ledger.transaction(() =>
    ledger.all<RunRow>(
      `select * from run where lease_until < ? and (state = 'running'
        or (state = 'due' and kind in ${ownedKinds}))`,
      now,
    ).map((row) => ({ runKey: row.run_key, state: recoverRun(ledger, row, now) }))
  );
}

/** Takes one run from the process that had it, and returns what it is now. Within a transaction. */
export function recoverRun(ledger: Ledger, row: RunRow, now: number): RunState {
  const { run_key: runKey, holder, account, fence } = row;
  const state = hasWritten(ledger, runKey) ? "waiting_recovery" : isOwned(row) ? "cancelled" : "due";
  ledger.run(
    `update run set state = ?, reason = ?, finished_at = ?, holder = null, lease_until = null, cancel_asked = null
      where run_key = ?`,
    state,
    state === "cancelled" ? whyOver(row) : row.reason,
    state === "cancelled" ? now : row.finished_at,
    runKey,
  );
  if (account !== null && holder !== null) releaseLease(ledger, mutexOf(account), `${holder} ${runKey}`);
  ledger.event(now, "recovered", { state, fence }, runKey);
  // A pause holds for what would begin again, too.
  const isPaused = state === "due" && (row.kind === "live" || row.kind === "catchup") &&
    pauseOf(ledger, row.recipe) !== undefined;
  return isPaused && skipRun(ledger, runKey, "paused", now) ? "skipped" : state;
}

/** Tells whether a step that writes was begun. */
export function hasWritten(ledger: Ledger, runKey: string): boolean {
  return ledger.get(
    "select 1 as there from step_run where run_key = ? and effect = 'write' and state <> 'skipped' limit 1",
    runKey,
  ) !== undefined;
}

/** Says why a run by hand is over that nobody ended, and what to do. */
function whyOver({ run_key: runKey, recipe, class: kind }: RunRow): string {
  // Its key names the run that it is part of.
  const isNested = runKey.slice(`${recipe}/m/`.length).includes("/");
  if (isNested) return "its process died; it goes on with the run that it is part of";
  return kind === "write"
    ? "its process died before it wrote anything"
    : `its process died; to go on with it: hsgate rerun ${runKey}`;
}

/** Settles a run whose writes were open, by what the order journal or a person says came of them. */
export function settleRun(
  ledger: Ledger,
  { runKey, state, actor, because, now }: {
    runKey: string;
    state: "ok" | "failed" | "unknown";
    actor: string;
    /** What the actor saw. */
    because?: string;
    now: number;
  },
): boolean {
  return ledger.transaction(() => {
    const settled = ledger.run(
      `update run set state = ?, reason = 'settled', finished_at = ? where run_key = ?
        and state in ('waiting_recovery', 'unknown')`,
      state,
      now,
      runKey,
    ) === 1;
    if (!settled) return false;
    if (state !== "unknown") {
      ledger.run(
        `update step_run set state = ?, finished_at = coalesce(finished_at, ?) where run_key = ?
          and effect = 'write' and state in ('begun', 'unknown')`,
        state,
        now,
        runKey,
      );
    }
    ledger.event(now, "settled", { state, actor, because }, runKey);
    return true;
  });
}
