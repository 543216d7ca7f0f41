/**
 * One run without a scheduler: what `hsgate run`, a crontab line, a timer or a job of Kubernetes does.
 *
 * @module
 */
import type { CompiledRecipe } from "../steps/compiled.ts";
import { type Claimer, claimRun, recoverExpired, type Refusal } from "./claims.ts";
import { drawTraceId, wait } from "./host.ts";
import { executeRun, type RunOutcome, type Surroundings } from "./run.ts";
import { findRun, type RunRow } from "./run_rows.ts";
import { addLatestSlot } from "./starts.ts";

/** How a run is started. */
export interface ScriptOptions {
  surroundings: Surroundings;
  claimer: Claimer;
  /** How long to wait for the account or for an earlier run. @default 0 */
  patienceMs?: number;
  stop?: AbortSignal;
}

/** What came of it: a run that ended, one that had ended before, or why it could not begin. */
export interface ScriptResult {
  runKey: string;
  /** Whether this call ran it. */
  ran: boolean;
  outcome: RunOutcome | { state: "refused"; reason: Refusal };
}

const ASK_MS = 500;

/** Runs a run that is due, by its key. */
export async function runKey(
  recipe: CompiledRecipe,
  key: string,
  { surroundings, claimer, patienceMs = 0, stop }: ScriptOptions,
): Promise<ScriptResult> {
  const { ledger, host } = surroundings;
  const until = host.monotonic() + patienceMs;
  for (;;) {
    recoverExpired(ledger, host.now());
    const claim = claimRun(ledger, recipe, key, claimer, host.now());
    if (typeof claim !== "string") {
      const outcome = await executeRun(recipe, claim, surroundings, stop);
      return { runKey: key, ran: true, outcome };
    }
    const row = findRun(ledger, key);
    const settled = row !== undefined && row.state !== "due" && row.state !== "running";
    if (settled) return { runKey: key, ran: false, outcome: outcomeOf(row) };
    if (host.monotonic() >= until || stop?.aborted) {
      return { runKey: key, ran: false, outcome: { state: "refused", reason: claim } };
    }
    await wait(host, ASK_MS, stop).catch(() => {});
  }
}

const outcomeOf = ({ state, reason }: RunRow): RunOutcome => ({ state, reason: reason ?? undefined });

/** Runs the latest slot that has passed, unless it was run already; nothing when there is none. */
export async function runLatestSlot(
  recipe: CompiledRecipe,
  options: ScriptOptions & { forceDeadline?: boolean },
): Promise<ScriptResult | undefined> {
  const { ledger, host } = options.surroundings;
  const row = addLatestSlot(ledger, recipe, {
    now: host.now(),
    drawTraceId: () => drawTraceId(host),
    forceDeadline: options.forceDeadline,
  });
  return row === undefined ? undefined : await runKey(recipe, row.run_key, options);
}
