/**
 * Pausing and resuming. Slots of a pause get their rows, skipped as paused, so that nobody wonders.
 *
 * @module
 */
import type { CompiledRecipe, CompiledSchedule } from "../steps/compiled.ts";
import { releaseLogin } from "./displaced.ts";
import { beginSchedule, type ListingOptions, listSchedule } from "./listing.ts";
import type { Ledger } from "./ledger.ts";
import { GONE } from "./paused.ts";
import { whyPastSlot } from "./past_slot.ts";
import { reopenRun, type RunRow, scheduledKinds, skipRun } from "./run_rows.ts";
import { ScheduleCursor } from "./schedule_cursor.ts";

/** What a pause is told. */
export interface PauseOptions {
  /** The reason, for whoever asks later. */
  why: string;
  now: number;
  /** The recipe's schedules as they are now: those that no scheduler has seen yet are paused as well. */
  schedules?: readonly CompiledSchedule[];
}

/**
 * Pauses a recipe: every schedule that the ledger knows or that is given, and those that it gets later. What is due
 * and has not begun is skipped.
 *
 * @returns Whether that paused anything; not so when it was paused before, or when there is no schedule to pause.
 */
export function pauseRecipe(
  ledger: Ledger,
  recipe: string,
  { why, now, schedules = [] }: PauseOptions,
): boolean {
  return ledger.transaction(() => {
    for (const schedule of schedules) {
      beginSchedule(ledger, { recipe: { name: recipe }, schedule, spec: JSON.stringify(schedule) }, now);
    }
    // A recipe that is gone may come back, and is paused then.
    const paused = ledger.run(
      "update schedule set paused_reason = ? where recipe = ? and (paused_reason is null or paused_reason = ?)",
      why,
      recipe,
      GONE,
    );
    const due = ledger.all<{ run_key: string }>(
      `select run_key from run where recipe = ? and state = 'due' and kind in ${scheduledKinds}`,
      recipe,
    );
    for (const { run_key } of due) skipRun(ledger, run_key, "paused", now);
    if (paused > 0) ledger.event(now, "paused", { recipe, why });
    return paused > 0;
  });
}

/**
 * Resumes a recipe from now on. With `catchUp` the slots that were skipped in the pause are taken up again, as many
 * as its misfire policy runs of missed ones; a recipe that writes makes up for nothing. Slots whose day is over stay
 * skipped where the recipe reads what answers as of now.
 *
 * @returns Keys that were taken up again.
 */
export function resumeRecipe(
  ledger: Ledger,
  recipe: CompiledRecipe,
  { catchUp, onLeft, ...options }: ListingOptions & {
    catchUp: boolean;
    /** Told of each slot that is not taken up again, and why. */
    onLeft?: (runKey: string, why: string) => void;
  },
): string[] {
  const { now } = options;
  if (catchUp && recipe.class === "write") {
    throw new TypeError(`Cannot catch up "${recipe.name}": it writes, and the past cannot be traded`);
  }
  return ledger.transaction(() => {
    // What nobody listed while the recipe was paused is still part of the pause.
    for (const schedule of recipe.schedules) {
      listSchedule(ledger, new ScheduleCursor(recipe, schedule), options);
    }
    ledger.run("update schedule set paused_reason = null where recipe = ?", recipe.name);
    releaseLogin(ledger, recipe.name, now);
    const since = ledger.get<{ at: number }>(
      `select max(at) as at from event where run_key is null and kind = 'paused' and data like ? escape '!'`,
      `{"recipe":${JSON.stringify(recipe.name).replaceAll(/[!%_]/g, "!$&")},%`,
    )?.at ?? now;
    ledger.event(now, "resumed", { recipe: recipe.name, catchUp });
    if (!catchUp) return [];
    const missed = ledger.all<RunRow>(
      `select * from run where recipe = ? and state = 'skipped' and reason = 'paused'
        and finished_at >= ? order by slot_at desc limit ?`,
      recipe.name,
      since,
      recipe.misfire.action === "all" ? recipe.misfire.max : 1,
    );
    return missed.reverse().flatMap((row) => {
      const runKey = row.run_key;
      const past = whyPastSlot(recipe, row, now);
      if (past !== undefined) onLeft?.(runKey, past);
      else reopenRun(ledger, { runKey, kind: "catchup", freshRound: false, now });
      return past === undefined ? [runKey] : [];
    });
  });
}
