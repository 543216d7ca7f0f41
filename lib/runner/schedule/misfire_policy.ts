/**
 * Decides about runs that are due and have not begun: late runs, and runs that overlap with another run.
 *
 * @module
 */
import type { CompiledRecipe, MisfirePolicy } from "../../recipes/compiled.ts";
import {
  askToCancel,
  blockReasonOf,
  dueRuns,
  expiredApprovals,
  makeCatchUp,
  noteBlocked,
  overdueRuns,
  queueForApproval,
  runningOf,
  type RunRow,
  type SkipReason,
  skipRun,
  unresolvedOf,
} from "../queries/runs.ts";
import type { Store } from "../../store/store.ts";

/** A run of one schedule that was due and has not begun. */
interface WaitingRun {
  runKey: string;
  dueAt: number;
  deadlineAt?: number;
}

/** The decision about a waiting run. A run that stays as it is has no verdict. */
type Verdict =
  | { runKey: string; action: "catchup" }
  | { runKey: string; action: "ask" }
  | { runKey: string; action: "skip"; reason: SkipReason };

/**
 * Decides about the waiting runs of one schedule, oldest first.
 *
 * A run is late when more than the grace period has passed since it was due. Beyond its limit, `all` drops the oldest
 * runs.
 */
export function decideLateRuns(
  waiting: readonly WaitingRun[],
  { graceMs, action, max }: MisfirePolicy,
  now: number,
): Verdict[] {
  const isExpired = ({ deadlineAt }: WaitingRun) => deadlineAt !== undefined && now > deadlineAt;
  const expired = waiting.filter(isExpired);
  const alive = waiting.filter((run) => !isExpired(run));
  const late = alive.filter(({ dueAt }) => now - dueAt > graceMs);
  const skip = (runs: readonly WaitingRun[], reason: SkipReason): Verdict[] =>
    runs.map(({ runKey }) => ({ runKey, action: "skip", reason }));
  const verdicts = skip(expired, "deadline");
  if (action === "skip") return [...verdicts, ...skip(late, "misfire")];
  if (action === "ask") return [...verdicts, ...late.map(({ runKey }) => ({ runKey, action }))];
  // A run that is on time is newer than every late one.
  const most = action === "all" ? max : late.length < alive.length ? 0 : 1;
  const kept = most === 0 ? [] : late.slice(-most);
  const rest = late.slice(0, late.length - kept.length);
  return [
    ...verdicts,
    ...skip(rest, action === "all" ? "misfire" : "superseded"),
    ...kept.map(({ runKey }) => ({ runKey, action: "catchup" as const })),
  ];
}

/** Recipes by name. */
export type Recipes = ReadonlyMap<string, CompiledRecipe>;

/** A run that was skipped. */
export interface Skipped {
  runKey: string;
  recipe: string;
  reason: SkipReason;
}

/** The decisions about late runs. */
interface LateDecisions {
  skipped: Skipped[];
  /** Keys of runs that now wait for approval. */
  asked: string[];
}

/** Decides about late runs, runs past their deadline, and runs that nobody approved in time. Within a transaction. */
export async function applyMisfirePolicy(
  store: Store,
  recipes: Recipes,
  now: number,
): Promise<LateDecisions> {
  const rows = await overdueRuns(store, now);
  const bySchedule = Map.groupBy(rows, (row) => `${row.recipe}/${row.schedule_id}`);
  const decided: LateDecisions = { skipped: await expireQuestions(store, now), asked: [] };
  for (const waiting of bySchedule.values()) {
    const recipe = recipes.get(waiting[0]!.recipe); // groups are never empty
    if (recipe === undefined) continue;
    const { skipped, asked } = await decideSchedule(store, recipe, waiting, now);
    decided.skipped.push(...skipped);
    decided.asked.push(...asked);
  }
  return decided;
}

/** Skips the runs that nobody approved before their deadline. */
async function expireQuestions(store: Store, now: number): Promise<Skipped[]> {
  const rows = await expiredApprovals(store, now);
  const skipped: Skipped[] = [];
  for (const { run_key: runKey, recipe } of rows) {
    if (await skipRun(store, runKey, "deadline", now)) skipped.push({ runKey, recipe, reason: "deadline" });
  }
  return skipped;
}

async function decideSchedule(
  store: Store,
  recipe: CompiledRecipe,
  rows: RunRow[],
  now: number,
): Promise<LateDecisions> {
  const skipped: Skipped[] = [];
  const asked: string[] = [];
  const skip = async (runKey: string, reason: SkipReason) => {
    if (await skipRun(store, runKey, reason, now)) skipped.push({ runKey, recipe: recipe.name, reason });
  };
  // A catch-up run was allowed to be late; only its deadline still counts.
  for (const { run_key, kind, deadline_at } of rows) {
    if (kind === "catchup" && deadline_at !== null && now > deadline_at) await skip(run_key, "deadline");
  }
  const live = rows.filter(({ kind }) => kind === "live").map((row) => ({
    runKey: row.run_key,
    dueAt: row.due_at,
    deadlineAt: row.deadline_at ?? undefined,
  }));
  for (const verdict of decideLateRuns(live, recipe.misfire, now)) {
    if (verdict.action === "skip") await skip(verdict.runKey, verdict.reason);
    else if (verdict.action === "catchup") {
      await makeCatchUp(store, verdict.runKey);
    } else {
      await requireApproval(store, { runKey: verdict.runKey, recipe: recipe.name, now });
      asked.push(verdict.runKey);
    }
  }
  return { skipped, asked };
}

/** Queues a missed run for approval. */
export async function requireApproval(
  store: Store,
  { runKey, recipe, now }: { runKey: string; recipe: string; now: number },
): Promise<void> {
  await queueForApproval(store, runKey);
  await store.event(now, "asked", { recipe }, runKey);
}

/**
 * Decides about runs that are due while an earlier run of the same recipe is running or has an unresolved write. At most
 * one run of a recipe that writes waits for a block to end; otherwise orders would go out for every slot that has passed.
 * Within a transaction.
 */
export async function decideOverlaps(store: Store, recipes: Recipes, now: number): Promise<Skipped[]> {
  const rows = await dueRuns(store, now);
  const skipped: Skipped[] = [];
  for (const [name, all] of Map.groupBy(rows, (row) => row.recipe)) {
    const recipe = recipes.get(name);
    if (recipe === undefined) continue;
    const isRunning = await runningOf(store, name) !== undefined;
    const open = await unresolvedOf(store, name);
    const { gone, reason } = passedOver(recipe, all, { isRunning, isUnresolved: open !== undefined });
    for (const { run_key: runKey } of gone) {
      if (open !== undefined) await noteBlocked(store, { runKey, because: "recovery", by: open, now });
      if (await skipRun(store, runKey, reason, now)) skipped.push({ runKey, recipe: name, reason });
    }
    if (recipe.overlap === "cancel" && isRunning) await askToCancel(store, name, "overlap");
  }
  return skipped;
}

type Waiting = Awaited<ReturnType<typeof dueRuns>>[number];

function passedOver(
  { class: kind, overlap, misfire }: CompiledRecipe,
  all: readonly Waiting[],
  { isRunning, isUnresolved }: { isRunning: boolean; isUnresolved: boolean },
): { gone: readonly Waiting[]; reason: SkipReason } {
  const isWrite = kind === "write";
  // Approved runs stay. For writes, a late run that the misfire policy allowed counts like one on time.
  const waiting = all.filter((row) => row.kind === "live" || (isWrite && misfire.action !== "ask"));
  const isBusy = isRunning || (isWrite && isUnresolved);
  const isHeld = isWrite && waiting.some(({ reason }) => blockReasonOf(reason) !== undefined);
  if (overlap === "skip" && isBusy) return { gone: waiting, reason: "overlap" };
  const isOne = overlap === "queue" ? isBusy || isHeld : overlap === "skip" && isHeld;
  return { gone: isOne ? waiting.slice(0, -1) : [], reason: "superseded" };
}
