/**
 * Backfills slots of past days, each under the key that its run had or would have had. Only for recipes that read,
 * because nothing can be traded on a past day.
 *
 * @module
 */
import { addDays, type Calendars, dateAt, tradingDay } from "../../calendars/mod.ts";
import type { CompiledRecipe, CompiledSchedule } from "../../recipes/compiled.ts";
import { versionOf } from "../../recipes/powers.ts";
import { recoverExpired } from "../claims/claims.ts";
import type { Store } from "../../store/store.ts";
import { whyPastSlot } from "./past_slot.ts";
import { calendarOf, zoneOf } from "../../recipes/engine/step_context.ts";
import { planRun } from "./plan_run.ts";
import {
  convertDueRun,
  findRun,
  insertRun,
  isUnresolved,
  type NewRun,
  reopenRun,
  type RunRow,
  type RunState,
} from "../queries/runs.ts";
import { eachSlot, type Slot } from "./slots.ts";
import { lastAttempts } from "../queries/steps.ts";
import type { StartOptions } from "./starts.ts";
import { shellHint } from "../../shell_words.ts";

const DAY_MS = 86_400_000;
/** A span of more days is considered a typing error. */
const MOST_DAYS = 3660;
/** Maximum number of slots of a backfill: more than one day of a schedule that runs every second. */
const MOST_SLOTS = 100_000;

/** Which slots a backfill runs. */
export type BackfillMode = "missing" | "failed" | "all";

/** Slots that a backfill covers. */
interface BackfillOptions extends StartOptions {
  /** First and last day, local to the exchange or to the schedule's zone. */
  from: string;
  to: string;
  mode: BackfillMode;
}

/** A slot that a backfill would run. */
export interface BackfillSlot {
  /** The day to which the slot belongs. */
  day: string;
  run: NewRun;
  /** Current state of its row; absent if there is no row. */
  was?: RunState;
}

/** Plan of a backfill. */
export interface BackfillPlan {
  slots: BackfillSlot[];
  /** Slots that are not run, with the state of their row; "skipped" if they have no row. */
  left: { day: string; runKey: string; state: RunState; reason?: string }[];
  /** Days without a slot, with the reason. */
  none: { day: string; why: string }[];
}

/** States of rows that each mode makes due again. */
const reopens: Record<BackfillMode, readonly RunState[]> = {
  missing: ["skipped"],
  failed: ["failed", "cancelled", "unknown"],
  all: ["skipped", "failed", "cancelled", "unknown", "ok"],
};

/**
 * Finds what a backfill would run, oldest first, and changes nothing.
 *
 * @throws {TypeError} For a recipe that writes, keeps a login alive, or has no schedule. Also if a step reads data that
 * the broker reports only for the present, and the day of a slot is over.
 * @throws {RangeError} When a day is in the future or outside the calendar. Also when the span or the number of slots
 * is too large.
 */
export async function planBackfill(
  store: Store,
  recipe: CompiledRecipe,
  options: BackfillOptions,
): Promise<BackfillPlan> {
  const { from, to, mode, now } = options;
  checkRecipe(recipe);
  for (const schedule of recipe.schedules) checkDays(recipe, schedule, options);
  const plan: BackfillPlan = { slots: [], left: [], none: [] };
  const found: { schedule: CompiledSchedule; slot: Slot }[] = [];
  for (const schedule of recipe.schedules) {
    for (const slot of slotsOfDays(options, schedule)) {
      if (found.length === MOST_SLOTS) {
        throw new RangeError(
          `Cannot backfill "${recipe.name}" from ${from} to ${to}: it has more than ${MOST_SLOTS} slots; give fewer days`,
        );
      }
      found.push({ schedule, slot });
    }
  }
  found.sort((a, b) => a.slot.at - b.slot.at);
  const days = new Set<string>();
  const instants = new Set<number>();
  for (const { schedule, slot } of found) {
    const day = dayOf(schedule, slot);
    const planned = planRun(options.calendars, recipe, schedule, slot, {
      kind: "backfill",
      traceId: options.drawTraceId(),
    });
    if (planned.state !== "due") {
      plan.none.push({
        day,
        why: planned.reason === "half_day" ? "a half-day, which it skips" : "a holiday",
      });
      continue;
    }
    days.add(day);
    const run: NewRun = { ...planned, dueAt: now, deadlineAt: undefined };
    const row = await findRun(store, run.runKey);
    const again = instants.has(slot.at) && row === undefined;
    instants.add(slot.at);
    if (again) continue; // another schedule of the recipe names the same instant
    const wanted = row === undefined ? mode !== "failed" : isWanted(row, mode);
    if (wanted) {
      await refusePast(store, recipe, run, { day, row, ...options });
      plan.slots.push({ day, run, was: row?.state });
    } else {plan.left.push({
        day,
        runKey: run.runKey,
        state: row?.state ?? "skipped",
        reason: row?.reason ?? undefined,
      });}
  }
  const named = new Set(plan.none.map(({ day }) => day));
  for (let day = from; day <= to; day = addDays(day, 1)) {
    if (!days.has(day) && !named.has(day)) {
      plan.none.push({ day, why: whyNone(options.calendars, recipe, day) });
    }
  }
  plan.none.sort((a, b) => a.day < b.day ? -1 : 1);
  return plan;
}

/**
 * @throws {TypeError} When the day of the run is over, and a step reads data that the broker reports only for the
 * present.
 */
async function refusePast(
  store: Store,
  recipe: CompiledRecipe,
  { runKey, scheduleId, slotAt, businessDay }: NewRun,
  { day, row, mode, now, calendars }:
    & { day: string; row: RunRow | undefined }
    & Pick<BackfillOptions, "mode" | "now" | "calendars">,
): Promise<void> {
  const slot = { schedule_id: scheduleId, slot_at: slotAt, business_day: businessDay ?? null };
  const why = whyPastSlot(
    calendars,
    recipe,
    slot,
    now,
    mode === "all" ? undefined : await doneSteps(store, recipe, runKey, row),
  );
  if (why !== undefined) throw new TypeError(`Cannot backfill "${recipe.name}" for ${day}: ${why}`);
}

/** Returns the successful steps of a run, whose outputs a resumed run keeps. */
async function doneSteps(
  store: Store,
  recipe: CompiledRecipe | undefined,
  runKey: string,
  row: RunRow | undefined,
): Promise<ReadonlySet<string>> {
  // If the recipe has changed since this run, the run starts again from its first step when a process claims it. So no
  // step counts as done.
  if (recipe !== undefined && row?.recipe_sha !== versionOf(recipe)) return new Set();
  const steps = await lastAttempts(store, runKey, row?.round ?? 0);
  return new Set([...steps].flatMap(([id, { state }]) => state === "ok" ? [id] : []));
}

function isWanted(row: RunRow, mode: BackfillMode): boolean {
  // A stopped backfill run is due again; the next backfill command may take it.
  if (row.state === "due") return row.kind === "backfill";
  return reopens[mode].includes(row.state) && row.reason !== "duplicate_slot";
}

/** Makes a slot of a plan due. Returns `false` if another process has run the slot meanwhile. */
export async function openSlot(
  store: Store,
  { run }: BackfillSlot,
  { mode, now }: Pick<BackfillOptions, "mode" | "now">,
): Promise<boolean> {
  return await store.transaction(async () => {
    if (await insertRun(store, { ...run, dueAt: now }, now)) return true;
    const row = (await findRun(store, run.runKey))!; // the insert failed because this row exists
    if (row.state === "due" && row.kind === "backfill") return true;
    return isWanted(row, mode) &&
      await reopenRun(store, { runKey: run.runKey, kind: "backfill", freshRound: mode === "all", now });
  });
}

/**
 * Makes slots of past days due, for a scheduler to run, and returns their keys.
 *
 * @throws {TypeError} {RangeError} In the same cases as {@linkcode planBackfill}.
 */
export async function backfill(
  store: Store,
  recipe: CompiledRecipe,
  options: BackfillOptions,
): Promise<string[]> {
  const { from, to, mode, now } = options;
  return await store.transaction(async () => {
    const opened: BackfillSlot[] = [];
    for (const slot of (await planBackfill(store, recipe, options)).slots) {
      if (await openSlot(store, slot, options)) opened.push(slot);
    }
    const keys = opened.map(({ run }) => run.runKey);
    await store.event(now, "backfill", { recipe: recipe.name, from, to, mode, count: keys.length });
    return keys;
  });
}

function checkRecipe({ name, class: kind, schedules }: CompiledRecipe): void {
  if (kind === "write") {
    throw new TypeError(`Cannot backfill "${name}": it writes, and nothing can be traded on a past day`);
  }
  if (kind === "keep-alive") {
    throw new TypeError(
      `Cannot backfill "${name}": it keeps a login alive, and a past login cannot be kept alive`,
    );
  }
  if (schedules.length === 0) {
    throw new TypeError(`Cannot backfill "${name}": it has no schedule, so it has no slots`);
  }
}

function checkDays(
  recipe: CompiledRecipe,
  schedule: CompiledSchedule,
  { from, to, now, calendars }: BackfillOptions,
): void {
  const refuse = (why: string) =>
    new RangeError(`Cannot backfill "${recipe.name}" from ${from} to ${to}: ${why}`);
  if (to < from) throw refuse("the last day comes before the first");
  if (Date.parse(to) - Date.parse(from) > MOST_DAYS * DAY_MS) {
    throw refuse(`the span is longer than ${MOST_DAYS} days`);
  }
  const today = dateAt(now, zoneOf(schedule));
  if (to > today) throw refuse(`the last day is in the future; today is ${today}`);
  const mic = calendarOf(recipe, schedule);
  if (mic === undefined) return;
  const { from: first, through: last } = calendars.coverage(mic);
  if (from < first || to > last) throw refuse(`the calendar of ${mic} covers ${first} to ${last}`);
}

const dayOf = (schedule: CompiledSchedule, slot: Slot): string =>
  slot.session ?? dateAt(slot.at, zoneOf(schedule));

function* slotsOfDays(
  { from, to, now, calendars }: Pick<BackfillOptions, "from" | "to" | "now" | "calendars">,
  schedule: CompiledSchedule,
): Generator<Slot> {
  const [start, end] = [Date.parse(from) - 3 * DAY_MS, Date.parse(to) + 5 * DAY_MS];
  for (const slot of eachSlot(calendars, schedule, start, Math.min(end, now))) {
    const day = dayOf(schedule, slot);
    if (day >= from && day <= to) yield slot;
  }
}

function whyNone(calendars: Calendars, recipe: CompiledRecipe, day: string): string {
  for (const schedule of recipe.schedules) {
    const mic = calendarOf(recipe, schedule);
    const found = mic === undefined ? undefined : tradingDay(calendars, mic, day);
    if (found === "weekend") return "a weekend";
    if (found === "holiday") return "a holiday";
  }
  return "no schedule has a slot on that day, or the slot is in the future";
}

/**
 * Makes one run due again. A run that failed, or whose process died, resumes where it ended, unless `fromStart` is set.
 * A run that succeeded starts again from its first step.
 *
 * @returns Whether the run is due now; `false` if it is running or does not exist.
 * @throws {TypeError} If the class of the run or of its current recipe is `write`. Also if the exchange had no session
 * on the day of the run. Also if that day is over, and a step reads data that the broker reports only for the present.
 */
export async function rerun(
  store: Store,
  { runKey, fromStart, now, calendars, recipe }: {
    runKey: string;
    fromStart: boolean;
    now: number;
    calendars: Calendars;
    /** The recipe as it is now. */
    recipe?: CompiledRecipe;
  },
): Promise<boolean> {
  // A separate transaction, so that the recovered runs stay recorded even if the rerun is rejected.
  await store.transaction(async () => await recoverExpired(store, now));
  return await store.transaction(async () => {
    const row = await findRun(store, runKey);
    if (row === undefined) return false;
    if (isUnresolved(row)) {
      throw new TypeError(
        `Cannot run "${runKey}" again: a write is never repeated, and the outcome of this one is unknown; ` +
          `"hsgate runs show ${shellHint(runKey)}" says where to look; then run: hsgate resolve ${
            shellHint(runKey)
          } ok|failed --because "what you checked"`,
      );
    }
    if (row.class === "write" || recipe?.class === "write") {
      throw new TypeError(`Cannot run "${runKey}" again: it writes, and a write is never repeated`);
    }
    if (row.state === "skipped" && row.reason === "holiday") {
      throw new TypeError(`Cannot run "${runKey}": its exchange was closed on that day`);
    }
    const freshRound = fromStart || row.state === "ok";
    const done = freshRound ? undefined : await doneSteps(store, recipe, runKey, row);
    const past = recipe === undefined ? undefined : whyPastSlot(calendars, recipe, row, now, done);
    if (past !== undefined) throw new TypeError(`Cannot run "${runKey}" again: ${past}`);
    const kind = row.kind === "manual" ? "manual" : "backfill";
    // A run that was stopped, or whose process died, may already be due. As a backfill it runs at once, without a
    // deadline.
    return row.state === "due"
      ? await convertDueRun(store, { runKey, kind, freshRound, now })
      : await reopenRun(store, { runKey, kind, freshRound, now });
  });
}
