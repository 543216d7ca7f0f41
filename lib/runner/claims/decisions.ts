/**
 * Applies what a person decides: pauses or resumes a recipe, approves or refuses a missed run.
 *
 * @module
 */
import type { Calendars } from "../../calendars/mod.ts";
import type { CompiledRecipe, CompiledSchedule } from "../../recipes/compiled.ts";
import { releaseLogin } from "./login_holds.ts";
import { pauseSchedules, resumeSchedules } from "../queries/schedules.ts";
import { lastPauseAt } from "../queries/events.ts";
import { dueKeysOf, findRun, makeApprovedDue, reopenRun, type RunRow, skipRun } from "../queries/runs.ts";
import { skippedAsPaused } from "../queries/run_lookups.ts";
import { whyOutside } from "../schedule/plan_run.ts";
import { beginSchedules, type ListingOptions, listSchedules } from "../schedule/listing.ts";
import { whyPastSlot } from "../schedule/past_slot.ts";
import { ScheduleCursor } from "../schedule/slots.ts";
import type { Store } from "../../store/store.ts";

/** Options of a pause. */
interface PauseOptions {
  /** The reason, for the record. */
  why: string;
  now: number;
  /** The recipe's current schedules. Schedules that are not in the store yet are paused too. */
  schedules?: readonly CompiledSchedule[];
}

/**
 * Pauses every schedule of a recipe, including the given ones and schedules that are added later. Skips due runs that a
 * scheduler listed; manual and backfill runs stay due.
 *
 * @returns `false` if the recipe was already paused, or has no schedule.
 */
export async function pauseRecipe(
  store: Store,
  recipe: string,
  { why, now, schedules = [] }: PauseOptions,
): Promise<boolean> {
  return await store.transaction(async () => {
    await beginSchedules(
      store,
      schedules.map((schedule) => ({ recipe, id: schedule.id, spec: JSON.stringify(schedule) })),
      now,
    );
    const paused = await pauseSchedules(store, recipe, why);
    for (const runKey of await dueKeysOf(store, recipe, "scheduled")) {
      await skipRun(store, runKey, "paused", now);
    }
    if (paused > 0) await store.event(now, "paused", { recipe, why });
    return paused > 0;
  });
}

/**
 * Resumes a recipe from now on. With `catchUp`, the newest slots that were skipped during the pause become due again.
 * With the misfire policy `all`, these are at most its maximum number of slots; with any other policy, one slot. Slots
 * whose day is over stay skipped if a step reads data that the broker reports only for the present.
 *
 * @returns Keys of the runs that are due again.
 * @throws {TypeError} For `catchUp` of a recipe that writes.
 */
export async function resumeRecipe(
  store: Store,
  recipe: CompiledRecipe,
  { catchUp, onLeft, ...options }: ListingOptions & {
    catchUp: boolean;
    /** Called for each slot that stays skipped, with the reason. */
    onLeft?: (runKey: string, why: string) => void;
  },
): Promise<string[]> {
  const { now, calendars } = options;
  if (catchUp && recipe.class === "write") {
    throw new TypeError(
      `Cannot catch up "${recipe.name}": it writes, and nothing can be traded on a past day`,
    );
  }
  return await store.transaction(async () => {
    // Slots of the pause that no scheduler has listed yet must not run later. So they are listed, and skipped, now.
    await listSchedules(store, recipe.schedules.map((each) => new ScheduleCursor(recipe, each)), options);
    await resumeSchedules(store, recipe.name);
    await releaseLogin(store, recipe.name, now);
    const since = await lastPauseAt(store, recipe.name) ?? now;
    await store.event(now, "resumed", { recipe: recipe.name, catchUp });
    if (!catchUp) return [];
    const { action, max } = recipe.misfire;
    const missed = await skippedAsPaused(store, recipe.name, since, action === "all" ? max : 1);
    return (await Array.fromAsync(missed.reverse(), async (row) => {
      const runKey = row.run_key;
      const past = whyPastSlot(calendars, recipe, row, now);
      if (past !== undefined) onLeft?.(runKey, past);
      else await reopenRun(store, { runKey, kind: "catchup", freshRound: false, now });
      return past === undefined ? [runKey] : [];
    })).flat();
  });
}

/** The run that a person decides about, the name of the person, and the time. */
interface Decision {
  runKey: string;
  /** Name of the person, for the record. */
  actor: string;
  now: number;
}

/**
 * Approves a run that waits for approval: makes it due, or skips it if its deadline or window has passed. Returns the
 * updated row.
 *
 * @param recipe The current recipe; without a recipe, only the deadline of the row counts.
 * @throws {TypeError} When the run does not wait for approval. Also when its day is over, and a step reads data that
 * the broker reports only for the present.
 */
export async function approveRun(
  store: Store,
  { runKey, actor, now, recipe, calendars }: Decision & { recipe?: CompiledRecipe; calendars: Calendars },
): Promise<RunRow> {
  return await store.transaction(async () => {
    const row = await waiting(store, runKey, "approve");
    const isOver = row.deadline_at !== null && now > row.deadline_at;
    const outside = recipe?.class === "write" ? whyOutside(calendars, recipe, row.slot_at, now) : undefined;
    if (isOver || outside !== undefined) {
      await store.event(
        now,
        "approved_too_late",
        { actor, because: outside ?? "its deadline has passed" },
        runKey,
      );
      await skipRun(store, runKey, "deadline", now);
      return (await findRun(store, runKey))!; // this transaction has found the row above
    }
    const past = recipe === undefined ? undefined : whyPastSlot(calendars, recipe, row, now);
    if (past !== undefined) throw new TypeError(`Cannot approve "${runKey}": ${past}`);
    // The run becomes a catch-up run. The misfire policy does not apply to such a run again; only its deadline does.
    await makeApprovedDue(store, runKey);
    await store.event(now, "approved", { actor }, runKey);
    return (await findRun(store, runKey))!;
  });
}

/** Skips a run that waits for approval. @throws {TypeError} When the run does not wait for approval. */
export async function refuseRun(
  store: Store,
  { runKey, actor, because, now }: Decision & { because?: string },
): Promise<RunRow> {
  return await store.transaction(async () => {
    await waiting(store, runKey, "refuse");
    await store.event(now, "refused", { actor, because }, runKey);
    await skipRun(store, runKey, "not_approved", now);
    return (await findRun(store, runKey))!; // this transaction has found the row above
  });
}

async function waiting(store: Store, runKey: string, verb: string): Promise<RunRow> {
  const row = await findRun(store, runKey);
  if (row?.state === "waiting_approval") return row;
  throw new TypeError(
    `Cannot ${verb} "${runKey}": ${row === undefined ? "there is no such run" : `it is "${row.state}"`}`,
  );
}
