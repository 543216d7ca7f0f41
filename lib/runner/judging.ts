/**
 * Decides about runs that wait: what is late, what stands in another one's way.
 *
 * @module
 */
import type { CompiledRecipe } from "../steps/compiled.ts";
import { heldReason } from "./held.ts";
import type { Ledger } from "./ledger.ts";
import { judgeLateRuns } from "./misfire.ts";
import { holdRun, type RunRow, scheduledKinds, type SkipReason, skipRun } from "./run_rows.ts";

/** Recipes by name. */
export type Recipes = ReadonlyMap<string, CompiledRecipe>;

/** A run that was passed over. */
export interface Skipped {
  runKey: string;
  recipe: string;
  reason: SkipReason;
}

/** What was decided about runs that are late. */
export interface Judged {
  skipped: Skipped[];
  /** Keys of runs that now wait for a person. */
  asked: string[];
}

/** Judges what is due by lateness and deadline, and what a person has not decided in time. Within a transaction. */
export function judgeDue(ledger: Ledger, recipes: Recipes, now: number): Judged {
  const rows = ledger.all<RunRow>(
    `select * from run where state = 'due' and due_at < ? and kind in ${scheduledKinds} order by due_at`,
    now,
  );
  const bySchedule = Map.groupBy(rows, (row) => `${row.recipe}/${row.schedule_id}`);
  const judged: Judged = { skipped: expireQuestions(ledger, now), asked: [] };
  for (const waiting of bySchedule.values()) {
    const recipe = recipes.get(waiting[0]!.recipe); // groups are never empty
    if (recipe === undefined) continue;
    const { skipped, asked } = judgeSchedule(ledger, recipe, waiting, now);
    judged.skipped.push(...skipped);
    judged.asked.push(...asked);
  }
  return judged;
}

/** What a person did not decide before its deadline is not run any more. */
function expireQuestions(ledger: Ledger, now: number): Skipped[] {
  const rows = ledger.all<{ run_key: string; recipe: string }>(
    "select run_key, recipe from run where state = 'waiting_approval' and deadline_at < ?",
    now,
  );
  return rows.filter(({ run_key }) => skipRun(ledger, run_key, "deadline", now))
    .map(({ run_key: runKey, recipe }) => ({ runKey, recipe, reason: "deadline" as const }));
}

function judgeSchedule(ledger: Ledger, recipe: CompiledRecipe, rows: RunRow[], now: number): Judged {
  const skipped: Skipped[] = [];
  const asked: string[] = [];
  const skip = (runKey: string, reason: SkipReason) => {
    if (skipRun(ledger, runKey, reason, now)) skipped.push({ runKey, recipe: recipe.name, reason });
  };
  // What was let through as late before is only held to its deadline.
  for (const { run_key, kind, deadline_at } of rows) {
    if (kind === "catchup" && deadline_at !== null && now > deadline_at) skip(run_key, "deadline");
  }
  const live = rows.filter(({ kind }) => kind === "live").map((row) => ({
    runKey: row.run_key,
    dueAt: row.due_at,
    deadlineAt: row.deadline_at ?? undefined,
  }));
  for (const verdict of judgeLateRuns(live, recipe.misfire, now)) {
    if (verdict.action === "skip") skip(verdict.runKey, verdict.reason);
    else if (verdict.action === "catchup") {
      ledger.run("update run set kind = 'catchup' where run_key = ? and state = 'due'", verdict.runKey);
    } else {
      askPerson(ledger, { runKey: verdict.runKey, recipe: recipe.name, now });
      asked.push(verdict.runKey);
    }
  }
  return { skipped, asked };
}

/** Lays a run that was missed before a person. */
export function askPerson(
  ledger: Ledger,
  { runKey, recipe, now }: { runKey: string; recipe: string; now: number },
): void {
  ledger.run(
    "update run set state = 'waiting_approval', reason = 'misfire' where run_key = ? and state = 'due'",
    runKey,
  );
  ledger.event(now, "asked", { recipe }, runKey);
}

type Waiting = Pick<RunRow, "run_key" | "recipe" | "kind" | "reason">;

/**
 * Settles what is due while an earlier run of the same recipe goes on, or has written nobody knows what. Of a recipe
 * that writes, one run at most waits for whatever stands in its way: when that is settled, orders must not go out for
 * every slot that has passed. Within a transaction.
 */
export function settleOverlaps(ledger: Ledger, recipes: Recipes, now: number): Skipped[] {
  const rows = ledger.all<Waiting>(
    `select run_key, recipe, kind, reason from run where state = 'due' and kind in ${scheduledKinds}
      and due_at <= ? order by due_at, run_key`,
    now,
  );
  const skipped: Skipped[] = [];
  for (const [name, all] of Map.groupBy(rows, (row) => row.recipe)) {
    const recipe = recipes.get(name);
    if (recipe === undefined) continue;
    const isRunning = ledger.get(
      "select 1 as there from run where recipe = ? and state = 'running' limit 1",
      name,
    ) !== undefined;
    const open = unresolvedOf(ledger, name);
    const { gone, reason } = passedOver(recipe, all, { isRunning, isOpen: open !== undefined });
    for (const { run_key: runKey } of gone) {
      if (open !== undefined) holdRun(ledger, { runKey, because: "recovery", by: open, now });
      if (skipRun(ledger, runKey, reason, now)) skipped.push({ runKey, recipe: name, reason });
    }
    if (recipe.overlap === "cancel" && isRunning) askToCancel(ledger, name, "overlap");
  }
  return skipped;
}

/** Returns the first run of a recipe whose writes have an unknown outcome. */
function unresolvedOf(ledger: Ledger, recipe: string): string | undefined {
  // Ordered here: SQLite would rather read the recipe's whole history in order than sort the one or two rows.
  const [first] = ledger.all<{ run_key: string; slot_at: number }>(
    `select run_key, slot_at from run where recipe = ? and class = 'write'
      and state in ('waiting_recovery', 'unknown')`,
    recipe,
  ).sort((a, b) => a.slot_at - b.slot_at);
  return first?.run_key;
}

function passedOver(
  { class: kind, overlap, misfire }: CompiledRecipe,
  all: readonly Waiting[],
  { isRunning, isOpen }: { isRunning: boolean; isOpen: boolean },
): { gone: readonly Waiting[]; reason: SkipReason } {
  const isWrite = kind === "write";
  // What a person let through is left to that person; what was let through as late may wait as well as what was not.
  const waiting = all.filter((row) => row.kind === "live" || (isWrite && misfire.action !== "ask"));
  const isBusy = isRunning || (isWrite && isOpen);
  const isHeld = isWrite && waiting.some(({ reason }) => heldReason(reason) !== undefined);
  if (overlap === "skip" && isBusy) return { gone: waiting, reason: "overlap" };
  const isOne = overlap === "queue" ? isBusy || isHeld : overlap === "skip" && isHeld;
  return { gone: isOne ? waiting.slice(0, -1) : [], reason: "superseded" };
}

/** Asks whoever runs it to stop what runs of a recipe; a write is never broken off. */
export function askToCancel(ledger: Ledger, recipe: string, why: string): number {
  return ledger.run(
    `update run set cancel_asked = ? where recipe = ? and state = 'running' and class <> 'write'
      and cancel_asked is null`,
    why,
    recipe,
  );
}
