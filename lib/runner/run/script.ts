/**
 * Runs one run without a scheduler, for `hsgate run`, a crontab line, a systemd timer or a Kubernetes job.
 *
 * @module
 */
import { messageOf, OutcomeUnknownError } from "../../errors.ts";
import type { CompiledRecipe } from "../../recipes/compiled.ts";
import { type Claimer, claimRun, recoverExpired, type Refusal } from "../claims/claims.ts";
import { hasBegunWrite } from "../queries/steps.ts";
import { cancelDue, findRun, isStarterOnly, type RunRow } from "../queries/runs.ts";
import { reserveRun } from "../queries/claims.ts";
import { wait } from "../../time.ts";
import { drawTraceId } from "../schedule/plan_run.ts";
import { decideOverlaps } from "../schedule/listing.ts";
import type { Store } from "../../store/store.ts";
import { executeRun, type RunOutcome } from "./run.ts";
import type { RunDeps } from "../deps.ts";
import { addLatestSlot, addManualRun } from "../schedule/starts.ts";
import { shellHint } from "../../shell_words.ts";

/** How a run is started. */
export interface ScriptOptions {
  deps: RunDeps;
  claimer: Claimer;
  /** How long a due run waits for the account or for an earlier run. @default 0 */
  patienceMs?: number;
  stop?: AbortSignal;
  /** Called once for each reason to wait: the run is not due yet, or it is blocked. */
  onWait?(wait: { runKey: string; untilAt: number; reason: Refusal }): void | Promise<void>;
}

/** The result of a start: how the run ended, in this call or earlier, or why it could not begin. */
export interface ScriptResult {
  runKey: string;
  /** Whether this call executed the run. */
  ran: boolean;
  /** Whether the run ended while this call waited, usually because another process executed it. */
  meanwhile?: boolean;
  outcome: RunOutcome | { state: "refused"; reason: Refusal };
}

const ASK_MS = 500;
/** Refusals after which the caller does not wait, because a person may have to act. */
const needsPerson: readonly Refusal[] = ["recovery", "unsafe", "displaced", "password", "login"];
const LONGEST_WAIT_MS = 60_000;

/**
 * Runs a run by its key. Waits if jitter or a window delays the run; does nothing if another process runs it. Cancels a
 * manual run that cannot begin or that is stopped; no process runs it later.
 */
export async function runByKey(
  recipe: CompiledRecipe,
  key: string,
  options: ScriptOptions,
): Promise<ScriptResult> {
  const { store, machine } = options.deps;
  const result = await begin(recipe, key, options);
  const { state, reason } = result.outcome;
  const row = await findRun(store, key);
  if (row === undefined || !isStarterOnly(row)) return result;
  const isOurs = row.holder === null || row.holder === options.claimer.holder;
  if (state === "refused" && isOurs) await cancelDue(store, key, reason, machine.now());
  if (state !== "due") return result;
  await cancelDue(store, key, "stopped", machine.now());
  return { ...result, outcome: { state: "cancelled", reason: "stopped" } };
}

async function begin(
  recipe: CompiledRecipe,
  key: string,
  { deps, claimer, patienceMs = 0, stop, onWait }: ScriptOptions,
): Promise<ScriptResult> {
  const { store, machine } = deps;
  const { holder, leaseMs } = claimer;
  let until: number | undefined;
  let givenUpAt: number | undefined;
  let reported: Refusal | undefined;
  for (;;) {
    const isReserved = await reserveRun(store, { runKey: key, holder, until: machine.now() + leaseMs });
    await recoverExpired(store, machine.now());
    const claim = await claimRun(store, recipe, key, claimer, machine.now());
    if (typeof claim !== "string") {
      const outcome = await executeRun(recipe, claim, deps, stop)
        .catch(async (error) => await throwInterrupted(store, { recipe, key, error }));
      return { runKey: key, ran: true, outcome };
    }
    const row = await findRun(store, key);
    if (row !== undefined && row.state !== "due") {
      const outcome = outcomeOf(row);
      return { runKey: key, ran: false, outcome, ...reported !== undefined && { meanwhile: true } };
    }
    const earlyMs = claim === "not-due" && row !== undefined ? row.due_at - machine.now() : 0;
    // Bounds the wait even if the wall clock stops or is set back again and again.
    givenUpAt ??= machine.monotonic() + Math.max(0, earlyMs) + LONGEST_WAIT_MS + patienceMs;
    if (earlyMs <= 0) until ??= machine.monotonic() + patienceMs;
    if (
      stop?.aborted || needsPerson.includes(claim) ||
      machine.monotonic() >= Math.min(until ?? Infinity, givenUpAt)
    ) {
      return { runKey: key, ran: false, outcome: { state: "refused", reason: claim } };
    }
    const waitMs = earlyMs > 0 ? earlyMs : ASK_MS;
    if (reported !== claim) {
      // `until` is set if the run is not early.
      const untilAt = machine.now() + (earlyMs > 0 ? earlyMs : until! - machine.monotonic());
      await onWait?.({ runKey: key, untilAt, reason: reported = claim });
    }
    // Waits at most a minute at a time, because somebody may set the clock. If this process has reserved the run, waits
    // less, because the reservation must be renewed.
    const longest = isReserved ? Math.min(LONGEST_WAIT_MS, leaseMs / 3) : LONGEST_WAIT_MS;
    await wait(machine, Math.min(waitMs, longest), stop).catch(() => {});
  }
}

/** Throws the error that interrupted a run. If the run had begun to write, throws an `OutcomeUnknownError` instead. */
async function throwInterrupted(
  store: Store,
  { recipe, key, error }: { recipe: CompiledRecipe; key: string; error: unknown },
): Promise<never> {
  let mayHaveWritten = recipe.class === "write";
  try {
    mayHaveWritten &&= await hasBegunWrite(store, key);
  } catch {
    // The store itself fails, so the outcome counts as unknown.
  }
  if (!mayHaveWritten) throw error;
  const message = messageOf(error);
  throw new OutcomeUnknownError(
    `Cannot confirm what run "${key}" has written: ${message}; "runs show ${
      shellHint(key)
    }" says where to look`,
    { code: "run", cause: error },
  );
}

const outcomeOf = ({ state, reason }: RunRow): RunOutcome => ({ state, reason: reason ?? undefined });

/** Runs the latest past slot, unless it was run already; returns `undefined` if there is none. */
export async function runLatestSlot(
  recipe: CompiledRecipe,
  options: ScriptOptions & { forceDeadline?: boolean },
): Promise<ScriptResult | undefined> {
  const { store, machine } = options.deps;
  const row = await addLatestSlot(store, recipe, {
    now: machine.now(),
    drawTraceId: () => drawTraceId(machine),
    calendars: options.deps.calendars(),
    forceDeadline: options.forceDeadline,
  });
  if (row === undefined) return undefined;
  const result = await runByKey(recipe, row.run_key, options);
  if (result.outcome.state === "refused" && recipe.class === "write") {
    // Otherwise slots would pile up behind a block that only a person can end.
    const recipes = new Map([[recipe.name, recipe]]);
    await store.transaction(async () => await decideOverlaps(store, recipes, machine.now()));
  }
  return result;
}

/** Runs a recipe by hand, under a new key. Only this process may run it. */
export async function runManual(
  recipe: CompiledRecipe,
  { id, params, deadlineAt, ...options }: ScriptOptions & {
    /** Part of the key; a ULID, so that keys sort by time. */
    id: string;
    params?: Readonly<Record<string, unknown>>;
    /** Last instant at which the run may begin, epoch milliseconds. */
    deadlineAt?: number;
  },
): Promise<ScriptResult> {
  const { store, machine } = options.deps;
  const { holder, leaseMs } = options.claimer;
  const now = machine.now();
  const key = await store.transaction(async () => {
    const runKey = await addManualRun(store, recipe, {
      id,
      params,
      deadlineAt,
      now,
      drawTraceId: () => drawTraceId(machine),
      calendars: options.deps.calendars(),
    });
    await reserveRun(store, { runKey, holder, until: now + leaseMs });
    return runKey;
  });
  const deps: RunDeps = { ...options.deps, whenStopped: "cancelled" };
  return await runByKey(recipe, key, { ...options, deps });
}
