/**
 * What a person decides about runs that were missed: run them all the same, or not.
 *
 * @module
 */
import type { CompiledRecipe } from "../steps/compiled.ts";
import { whyPastSlot } from "./past_slot.ts";
import type { Ledger } from "./ledger.ts";
import { findRun, type RunRow, skipRun } from "./run_rows.ts";
import { whyOutside } from "./write_window.ts";

/** Who decides about which run, and when. */
export interface Decision {
  runKey: string;
  /** A name, for the record. */
  actor: string;
  now: number;
}

/**
 * Makes a run due that waits for a person. One whose deadline or window has passed is skipped instead, whoever wants
 * it: the row that is returned says which.
 *
 * @param recipe The recipe as it is now; without it only the deadline of the row counts.
 * @throws {TypeError} When it does not wait for a person, or would read what answers as of now and its day is over.
 */
export function approveRun(
  ledger: Ledger,
  { runKey, actor, now, recipe }: Decision & { recipe?: CompiledRecipe },
): RunRow {
  return ledger.transaction(() => {
    const row = waiting(ledger, runKey, "approve");
    const isOver = row.deadline_at !== null && now > row.deadline_at;
    const outside = recipe?.class === "write" ? whyOutside(recipe, row.slot_at, now) : undefined;
    if (isOver || outside !== undefined) {
      ledger.event(
        now,
        "approved_too_late",
        { actor, because: outside ?? "its deadline has passed" },
        runKey,
      );
      skipRun(ledger, runKey, "deadline", now);
      return findRun(ledger, runKey)!; // it was there above
    }
    const past = recipe === undefined ? undefined : whyPastSlot(recipe, row, now);
    if (past !== undefined) throw new TypeError(`Cannot approve "${runKey}": ${past}`);
    // Judged before: as a run that makes up for a missed one it is only held to its deadline.
    ledger.run("update run set state = 'due', kind = 'catchup', reason = null where run_key = ?", runKey);
    ledger.event(now, "approved", { actor }, runKey);
    return findRun(ledger, runKey)!;
  });
}

/** Ends a run that waits for a person. @throws {TypeError} When it does not. */
export function refuseRun(
  ledger: Ledger,
  { runKey, actor, because, now }: Decision & { because?: string },
): RunRow {
  return ledger.transaction(() => {
    waiting(ledger, runKey, "refuse");
    ledger.event(now, "refused", { actor, because }, runKey);
    skipRun(ledger, runKey, "not_approved", now);
    return findRun(ledger, runKey)!; // it was there above
  });
}

function waiting(ledger: Ledger, runKey: string, verb: string): RunRow {
  const row = findRun(ledger, runKey);
  if (row?.state === "waiting_approval") return row;
  throw new TypeError(
    `Cannot ${verb} "${runKey}": ${row === undefined ? "there is no such run" : `it is "${row.state}"`}`,
  );
}
