/**
 * Claims runs for a process, with a lease, a fence and the account's mutex. Recovers the runs of processes that died.
 *
 * @module
 */
import type { BlockReason } from "../queries/events.ts";
import {
  beginRun,
  type Block,
  type ClaimableRun,
  closeRun,
  duePage,
  expiredRuns,
  isCatchingUp,
  leaseHolder,
  nextDue,
  noteBlocked,
  releaseLease,
  resolveRun,
  runningOf,
  startRound,
  takeFromHolder,
  takeLease,
  unresolvedOn,
  writingOn,
} from "../queries/claims.ts";
import { endLeftPlan, plansOfRuns } from "../../rebalance/mod.ts";
import { hasBegunWrite, lastAttempts, resolveSteps } from "../queries/steps.ts";
import { lastListedAt, pauseOf } from "../queries/schedules.ts";
import { findRun, isEnded, isStarterOnly, type RunRow, type RunState, skipRun } from "../queries/runs.ts";
import { shellHint } from "../../shell_words.ts";
import type { CompiledRecipe } from "../../recipes/compiled.ts";
import { versionOf } from "../../recipes/powers.ts";
import { asksBroker, refusedLoginOn, takenOverBy } from "./login_holds.ts";
import type { Recipes } from "../schedule/listing.ts";
import type { Claim } from "./claim.ts";
import type { Store } from "../../store/store.ts";
import { showInstant } from "../../calendars/mod.ts";

/** A process that claims runs. */
export interface Claimer {
  /** A name that is unique among processes. */
  holder: string;
  leaseMs: number;
  /**
   * Returns the name of the account that a recipe acts on. {@linkcode mutexOf} makes the name of the login's mutex from
   * it.
   */
  accountOf(recipe: CompiledRecipe): string;
  /** Returns a salted mark of the password that the recipe uses to log in; see `markPassword`. @default none */
  passwordMarkOf?(recipe: CompiledRecipe, salt: string): string | undefined;
  /** Called once for each new cause that blocks a due run. */
  onBlocked?(run: BlockedRun): void | Promise<void>;
  /**
   * Called if a due run fails instead of being claimed, because its recipe has changed. The call is part of the
   * transaction that ends the run.
   */
  onEnd?(runKey: string): void | Promise<void>;
}

/** A due run that must wait, and what blocks it. */
export interface BlockedRun extends Block {
  runKey: string;
}

/** Why a run could not be claimed now. `reserved`: the run belongs to another process, which started it. */
export type Refusal = "not-due" | "overlap" | "deadline" | "reserved" | BlockReason;

/** Number of due runs that are read at a time. Nearly always, one of the first runs can be claimed. */
const PAGE = 50;

/** Name of the mutex of an account's trade login. */
export const mutexOf = (account: string): string => `account:${account}`;

/**
 * Claims the unblocked run that has been due the longest; returns `undefined` if there is none. Never claims a manual
 * run: only the process that started a manual run may run it.
 */
export async function claimNext(
  store: Store,
  recipes: Recipes,
  claimer: Claimer,
  now: number,
): Promise<Claim & { recipe: CompiledRecipe } | undefined> {
  // Most passes find nothing, and need no transaction to see that.
  if (!(await nextDue(store, now)).isAnyDue) return undefined;
  return await store.transaction(async () => {
    // For each recipe, only the run that has been due the longest may begin.
    const seen = new Set<string>();
    for (let page = await duePage(store, { now, most: PAGE });;) {
      for (const row of page) {
        const recipe = recipes.get(row.recipe);
        if (recipe === undefined || seen.has(row.recipe)) continue;
        seen.add(row.recipe);
        const claim = await tryClaim(store, recipe, row, claimer, now);
        if (typeof claim !== "string") return { ...claim, recipe };
      }
      if (page.length < PAGE) return undefined;
      page = await duePage(store, { now, most: PAGE, after: page.at(-1)! }); // a full page is never empty
    }
  });
}

/** Claims one run. Returns the claim, or why the run cannot be claimed now. */
export async function claimRun(
  store: Store,
  recipe: CompiledRecipe,
  runKey: string,
  claimer: Claimer,
  now: number,
): Promise<Claim | Refusal> {
  return await store.transaction(async () => {
    const row = await findRun(store, runKey);
    if (row?.state !== "due" || row.due_at > now) return "not-due";
    if (isStarterOnly(row) && row.holder !== null && row.holder !== claimer.holder) return "reserved";
    return await tryClaim(store, recipe, row, claimer, now);
  });
}

async function tryClaim(
  store: Store,
  recipe: CompiledRecipe,
  row: ClaimableRun,
  { holder, leaseMs, accountOf, passwordMarkOf, onBlocked, onEnd }: Claimer,
  now: number,
): Promise<Claim | Refusal> {
  if (row.deadline_at !== null && now > row.deadline_at) {
    await skipRun(store, row.run_key, "deadline", now);
    return "deadline";
  }
  if (recipe.class === "write" && row.class !== "write") {
    // The slot was listed when the recipe only read, so the rules for writes were not applied to its row.
    await skipRun(store, row.run_key, "recipe_changed", now);
    return "not-due";
  }
  if (await isOverlapped(store, recipe, row)) return "overlap";
  if (await endChanged(store, recipe, row, now)) {
    await onEnd?.(row.run_key);
    return "not-due";
  }
  const account = accountOf(recipe);
  const hold = async (because: BlockReason, by?: string): Promise<BlockReason> => {
    if (await noteBlocked(store, { runKey: row.run_key, because, by, now })) {
      await onBlocked?.({ runKey: row.run_key, because, by });
    }
    return because;
  };
  const displaced = asksBroker(recipe) ? await takenOverBy(store, account) : undefined;
  if (displaced !== undefined) return await hold("displaced", displaced);
  const markOf = (salt: string) => passwordMarkOf?.(recipe, salt);
  const refused = asksBroker(recipe)
    ? await refusedLoginOn(store, account, { now, needsAccount: recipe.needsAccount, markOf })
    : undefined;
  if (refused !== undefined) return await hold(refused.because, refused.by);
  if (recipe.class === "write") {
    const open = await unresolvedOn(store, account);
    if (open !== undefined) return await hold("recovery", open);
    const unsafe = await whyNoWrites(store, now);
    if (unsafe !== undefined) return await hold("unsafe", unsafe);
    // A run whose lease has just expired may still be writing until a process has recovered it.
    const other = await writingOn(store, account);
    if (other !== undefined) return await hold("account", other);
  }
  const until = now + leaseMs;
  const mutex = recipe.needsAccount ? mutexOf(account) : undefined;
  const owner = `${holder} ${row.run_key}`;
  if (
    mutex !== undefined && await takeLease(store, { name: mutex, holder: owner, now, until }) === undefined
  ) {
    return await hold("account", await accountHolder(store, account, now));
  }
  await startOverIfChanged(store, recipe, row, now);
  const fence = await beginRun(store, {
    runKey: row.run_key,
    holder,
    account,
    until,
    recipeSha: versionOf(recipe),
    now,
  });
  if (fence === undefined) return "not-due";
  await store.event(now, "claimed", { holder, fence, lateMs: now - row.due_at }, row.run_key);
  return { runKey: row.run_key, holder, fence, leaseMs, mutex };
}

/**
 * Returns whether steps of a run's current round belong to another version of its recipe. The outputs of such steps are
 * never reused: a person may have changed what the steps read, or may trust only the new version.
 */
async function hasStepsOfOther(store: Store, recipe: CompiledRecipe, row: ClaimableRun): Promise<boolean> {
  return row.recipe_sha !== versionOf(recipe) &&
    (await lastAttempts(store, row.run_key, row.round)).size > 0;
}

/**
 * Ends an interrupted run as failed if its recipe has changed and it may write. The new steps could repeat a write of
 * the old steps. Returns whether it ended the run.
 */
async function endChanged(
  store: Store,
  recipe: CompiledRecipe,
  row: ClaimableRun,
  now: number,
): Promise<boolean> {
  if (!await hasStepsOfOther(store, recipe, row)) return false;
  if (recipe.class !== "write" && !await hasBegunWrite(store, row.run_key)) return false;
  const end = { state: "failed", reason: "recipe_changed" } as const;
  await closeRun(store, row.run_key, { ...end, now });
  await store.event(now, "ended", end, row.run_key);
  await endLeftPlans(store, now);
  return true;
}

/** If a run's recipe has changed since its steps ran, makes the run start again from its first step. */
async function startOverIfChanged(
  store: Store,
  recipe: CompiledRecipe,
  row: ClaimableRun,
  now: number,
): Promise<void> {
  if (!await hasStepsOfOther(store, recipe, row)) return;
  await startRound(store, row.run_key);
  await store.event(now, "started_over", { because: "recipe_changed" }, row.run_key);
}

/**
 * Returns whether a run must wait for another run of its recipe. With any other `overlap` than `parallel`, each run
 * waits while a run of the recipe is running. With `parallel`, a `live` run never waits, and a run of another kind
 * waits only while a catch-up run or a backfill run is running.
 */
async function isOverlapped(
  store: Store,
  { name, overlap }: CompiledRecipe,
  { kind }: Pick<ClaimableRun, "kind">,
): Promise<boolean> {
  if (overlap !== "parallel") return await runningOf(store, name) !== undefined;
  return kind !== "live" && await isCatchingUp(store, name);
}

/** Returns which run holds an account's trade login now. */
export async function accountHolder(
  store: Store,
  account: string,
  now: number,
): Promise<string | undefined> {
  // A process name may contain spaces; a run key cannot.
  return (await leaseHolder(store, mutexOf(account), now))?.split(" ").at(-1);
}

/** How far this machine's clock may be behind the newest time that a scheduler has recorded in the store. */
const TOLERANCE_MS = 2_000;

/** Returns why no write may be sent to the broker now; `undefined` if writes may be sent. Reads need no such check. */
export async function whyNoWrites(store: Store, now: number): Promise<string | undefined> {
  if (store.risk !== undefined) return `the store is not durable: ${store.risk}`;
  if (store.clockFault !== undefined) return store.clockFault;
  // The watermark is the time of the last pass of any scheduler, and never goes back.
  const seen = await lastListedAt(store);
  if (seen === undefined || now >= seen - TOLERANCE_MS) return undefined;
  return `this machine's clock is behind the last scheduler pass in the store at ${
    showInstant(seen)
  }: one of the two ` +
    "times is wrong";
}

/**
 * Takes over the runs of processes that died. A run that had only read becomes due again. A run that had begun to write
 * waits until its outcome is resolved. A manual run that had not begun to write is cancelled, because only the process
 * that started it knew its settings.
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

/** Takes over one run from its process, and returns the new state of the run. Call it within a transaction. */
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
  // The recipe may have been paused meanwhile; then a run that would begin again is skipped.
  const isPaused = state === "due" && (row.kind === "live" || row.kind === "catchup") &&
    await pauseOf(store, row.recipe) !== undefined;
  return isPaused && await skipRun(store, runKey, "paused", now) ? "skipped" : state;
}

/** Returns why a manual run was cancelled, and what to do. */
function whyOver({ run_key: runKey, recipe, class: kind }: RunRow): string {
  // The key of a nested run contains the key of its outer run, which contains slashes.
  const isNested = runKey.slice(`${recipe}/m/`.length).includes("/");
  if (isNested) return "its process died; it resumes together with the run that it is part of";
  return kind === "write"
    ? "its process died before it wrote anything"
    : `its process died; to continue it: hsgate rerun ${shellHint(runKey)}`;
}

/**
 * Records the outcome of a run's unresolved writes, as the order desk or a person reports it. Returns `false` if the
 * run has no unresolved write.
 */
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
    await endLeftPlans(store, now);
    return true;
  });
}

/**
 * If a rebalancing plan is still running although its run has ended, ends the plan and records why. Such a run may have
 * ended before its step could end the plan, for example because the window closed before another process continued the
 * run. Call it within a transaction.
 */
export async function endLeftPlans(store: Store, now: number): Promise<void> {
  for (const plan of await plansOfRuns(store)) {
    const end = plan.stepKey.lastIndexOf("#");
    const [runKey, step] = [plan.stepKey.slice(0, end), plan.stepKey.slice(end + 1)];
    const run = await findRun(store, runKey);
    if (run !== undefined && !isEnded(run)) continue;
    // A run that has been removed from the store ended long ago.
    const { state, reason, round } = run ?? { state: "removed", reason: null, round: 0 };
    const why = (await lastAttempts(store, runKey, round)).get(step)?.error ?? reason;
    await endLeftPlan(store, plan, {
      at: now,
      reason: `its run ${runKey} is ${state}${why === null ? "" : `: ${why}`}`,
    });
  }
}
