/**
 * One run without a scheduler: what `hsgate run`, a crontab line, a timer or a job of Kubernetes does.
 *
 * @module
 */
import { OutcomeUnknownError } from "../errors.ts";
import type { CompiledRecipe } from "../steps/compiled.ts";
import { type Claimer, claimRun, ownRun, type Refusal } from "./claims.ts";
import { hasWritten, recoverExpired } from "./recovery.ts";
import { cancelDue, findRun, isOwned, type RunRow } from "./run_rows.ts";
import { drawTraceId, wait } from "./host.ts";
import { settleOverlaps } from "./judging.ts";
import type { Ledger } from "./ledger.ts";
import { executeRun, type Surroundings } from "./run.ts";
import type { RunOutcome } from "./outcome.ts";
import { addLatestSlot, addManualRun } from "./starts.ts";

/** How a run is started. */
export interface ScriptOptions {
  surroundings: Surroundings;
  claimer: Claimer;
  /** How long to wait for the account or for an earlier run, once it is due. @default 0 */
  patienceMs?: number;
  stop?: AbortSignal;
  /** Told once about each thing that is waited for: the time that it is due, or what stands in the way. */
  onWait?(wait: { runKey: string; untilAt: number; reason: Refusal }): void;
}

/** What came of it: a run that ended, one that had ended before, or why it could not begin. */
export interface ScriptResult {
  runKey: string;
  /** Whether this call ran it. */
  ran: boolean;
  /** Another process took it up while this call waited. */
  meanwhile?: boolean;
  outcome: RunOutcome | { state: "refused"; reason: Refusal };
}

const ASK_MS = 500;
/** What only a person can put right, however long that takes. */
const forPeople: readonly Refusal[] = ["recovery", "unsafe", "displaced", "password", "login"];
const LONGEST_WAIT_MS = 60_000;

/**
 * Runs a run by its key. One that jitter or a window moves to a later time is waited for; one that another process is
 * at is left to it. A run by hand that cannot begin, or that is stopped, is over: nobody takes it up later.
 */
export async function runKey(
  recipe: CompiledRecipe,
  key: string,
  options: ScriptOptions,
): Promise<ScriptResult> {
  const { ledger, host } = options.surroundings;
  const result = await begin(recipe, key, options);
  const { state, reason } = result.outcome;
  const row = findRun(ledger, key);
  if (row === undefined || !isOwned(row)) return result;
  const isOurs = row.holder === null || row.holder === options.claimer.holder;
  if (state === "refused" && isOurs) cancelDue(ledger, key, reason, host.now());
  if (state !== "due") return result;
  cancelDue(ledger, key, "stopped", host.now());
  return { ...result, outcome: { state: "cancelled", reason: "stopped" } };
}

async function begin(
  recipe: CompiledRecipe,
  key: string,
  { surroundings, claimer, patienceMs = 0, stop, onWait }: ScriptOptions,
): Promise<ScriptResult> {
  const { ledger, host } = surroundings;
  const { holder, leaseMs } = claimer;
  let until: number | undefined;
  let givenUpAt: number | undefined;
  let told: Refusal | undefined;
  for (;;) {
    const isOwn = ownRun(ledger, { runKey: key, holder, until: host.now() + leaseMs });
    recoverExpired(ledger, host.now());
    const claim = claimRun(ledger, recipe, key, claimer, host.now());
    if (typeof claim !== "string") {
      const outcome = await executeRun(recipe, claim, surroundings, stop)
        .catch((error) => throwOpen(ledger, { recipe, key, error }));
      return { runKey: key, ran: true, outcome };
    }
    const row = findRun(ledger, key);
    if (row !== undefined && row.state !== "due") {
      const outcome = outcomeOf(row);
      return { runKey: key, ran: false, outcome, ...told !== undefined && { meanwhile: true } };
    }
    const earlyMs = claim === "not-due" && row !== undefined ? row.due_at - host.now() : 0;
    // A clock that stands still, or is set back all the time, must not keep it waiting for ever.
    givenUpAt ??= host.monotonic() + Math.max(0, earlyMs) + LONGEST_WAIT_MS + patienceMs;
    if (earlyMs <= 0) until ??= host.monotonic() + patienceMs;
    if (
      stop?.aborted || forPeople.includes(claim) || host.monotonic() >= Math.min(until ?? Infinity, givenUpAt)
    ) {
      return { runKey: key, ran: false, outcome: { state: "refused", reason: claim } };
    }
    const waitMs = earlyMs > 0 ? earlyMs : ASK_MS;
    if (told !== claim) {
      const untilAt = host.now() + (earlyMs > 0 ? earlyMs : until! - host.monotonic()); // set where it is not early
      onWait?.({ runKey: key, untilAt, reason: told = claim });
    }
    // The clock may be set meanwhile, so that no wait is longer than a minute; what is ours must stay so.
    const longest = isOwn ? Math.min(LONGEST_WAIT_MS, leaseMs / 3) : LONGEST_WAIT_MS;
    await wait(host, Math.min(waitMs, longest), stop).catch(() => {});
  }
}

/** Throws what broke a run off; that it had begun to write must not be lost over it. */
function throwOpen(
  ledger: Ledger,
  { recipe, key, error }: { recipe: CompiledRecipe; key: string; error: unknown },
): never {
  let isOpen = recipe.class === "write";
  try {
    isOpen &&= hasWritten(ledger, key);
  } catch {
    // The ledger itself is what fails, so that nobody knows.
  }
  if (!isOpen) throw error;
  const message = error instanceof Error ? error.message : String(error);
  throw new OutcomeUnknownError(
    `Cannot tell what run "${key}" has written: ${message}; "runs show ${key}" says where to look`,
    { code: "run", cause: error },
  );
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
  if (row === undefined) return undefined;
  const result = await runKey(recipe, row.run_key, options);
  if (result.outcome.state === "refused" && recipe.class === "write") {
    // Slots must not pile up behind what a person has to settle first.
    const recipes = new Map([[recipe.name, recipe]]);
    ledger.transaction(() => settleOverlaps(ledger, recipes, host.now()));
  }
  return result;
}

/** Runs a recipe by hand, under a key of its own. It is this process's alone, from its first moment to its end. */
export async function runManual(
  recipe: CompiledRecipe,
  { id, params, deadlineAt, ...options }: ScriptOptions & {
    /** Makes the key; a ULID, so that keys sort by time. */
    id: string;
    params?: Readonly<Record<string, unknown>>;
    /** Not begun after this, epoch milliseconds. */
    deadlineAt?: number;
  },
): Promise<ScriptResult> {
  const { ledger, host } = options.surroundings;
  const { holder, leaseMs } = options.claimer;
  const now = host.now();
  const key = ledger.transaction(() => {
    const runKey = addManualRun(ledger, recipe, {
      id,
      params,
      deadlineAt,
      now,
      drawTraceId: () => drawTraceId(host),
    });
    ownRun(ledger, { runKey, holder, until: now + leaseMs });
    return runKey;
  });
  const surroundings: Surroundings = { ...options.surroundings, whenStopped: "cancelled" };
  return await runKey(recipe, key, { ...options, surroundings });
}
