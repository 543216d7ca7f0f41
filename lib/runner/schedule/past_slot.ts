/**
 * Finds steps that a run would reject, before the run begins. The broker reports some data only for the present. A run
 * rejects a step that reads such data if the day of the slot is over.
 *
 * @module
 */
import type { AsOfNow, CompiledRecipe, CompiledSchedule } from "../../recipes/compiled.ts";
import { certainReads, pastText, whyPast } from "../../recipes/engine/call_operation.ts";
import { addDays, type Calendars, dateAt, tradingDay, wallInstant } from "../../calendars/mod.ts";
import { firstSlot, latestSlot, type Slot } from "./slots.ts";
import { calendarOf, dayOf } from "../../recipes/engine/step_context.ts";
import { type SlotColumns, slotOf } from "../queries/runs.ts";
import { boundsOfSlot } from "./plan_run.ts";

/** A step that a run would reject because its slot is past, and why. */
export interface PastRead {
  step: string;
  asOfNow: AsOfNow;
  /** Describes that the day of the slot is over: `2025-08-15 is over in Asia/Hong_Kong`. */
  why: string;
}

/**
 * Returns the first step that a run would certainly reject. Steps with an `if`, and steps that need such a step, are
 * not checked: the result of the condition is only known when the step begins.
 *
 * @param done Steps whose outputs the run keeps.
 */
export function findPastRead(
  calendars: Calendars,
  recipe: Pick<CompiledRecipe, "schedules" | "window" | "steps">,
  row: SlotColumns,
  now: number,
  done: ReadonlySet<string> = new Set(),
): PastRead | undefined {
  const day = dayOf(recipe, slotOf(row));
  for (const { id: step, asOfNow, fresh } of certainReads(recipe.steps)) {
    const isKept = done.has(step) && !fresh;
    const why = isKept ? undefined : whyPast(calendars, asOfNow, { slotAt: row.slot_at, day, now });
    if (why !== undefined) return { step, asOfNow, why };
  }
  return undefined;
}

/**
 * Returns which step a run would certainly reject, why, and what to use instead; `undefined` if there is no such step.
 */
export function whyPastSlot(...about: Parameters<typeof findPastRead>): string | undefined {
  const found = findPastRead(...about);
  return found && `step "${found.step}" reads ${found.asOfNow.reads}; ${pastText(found.asOfNow, found.why)}`;
}

/** A schedule whose runs may begin after the day of their slot has ended. */
export interface LateReads {
  scheduleId: string;
  /** The first step that a late run would reject. */
  step: string;
  asOfNow: AsOfNow;
  /**
   * Set if a run rejects the step even when the run begins on time: the slot of such a run, and why present data no
   * longer belongs to this slot.
   */
  never?: { slotAt: number; why: string };
}

const DAY_MS = 86_400_000;
/** Number of days to check: each weekday once, and today's weekday a second time. */
const CHECKED_DAYS = 8;

/** Returns the schedules whose runs, by the misfire policy, may begin too late for a step that reads present data. */
export function lateReadsOf(calendars: Calendars, recipe: CompiledRecipe, now: number): LateReads[] {
  return recipe.schedules.flatMap((schedule): LateReads[] => {
    const slots = daysOf(recipe, schedule, now).flatMap((span) =>
      slotsToCheck(calendars, recipe, schedule, span)
    );
    const latenesses = slots.flatMap((slot) => latenessOf(calendars, recipe, schedule, slot) ?? []);
    // Only the exchanges of a step matter, and many steps use the same exchanges.
    const known = new Map<string, readonly Lateness[]>();
    for (const { id: step, asOfNow } of recipe.steps) {
      if (asOfNow === undefined) continue;
      const key = asOfNow.exchanges.toSorted().join();
      let found = known.get(key);
      if (found === undefined) known.set(key, found = latenesses.map((late) => late(asOfNow)));
      const never = found.find((each) => typeof each === "object");
      const late: LateReads = { scheduleId: schedule.id, step, asOfNow, ...never !== undefined && { never } };
      if (found.some((each) => each !== undefined)) return [late];
    }
    return [];
  });
}

interface Span {
  date: string;
  from: number;
  until: number;
}

function daysOf(recipe: CompiledRecipe, schedule: CompiledSchedule, now: number): Span[] {
  const { zone } = dayOf(recipe, { scheduleId: schedule.id, slotAt: now });
  const at = (date: string) => wallInstant(date, "00:00", zone) - 1;
  const today = dateAt(now, zone);
  return Array.from({ length: CHECKED_DAYS }, (_, index) => {
    const date = addDays(today, index);
    return { date, from: Math.max(now, at(date)), until: at(addDays(date, 1)) };
  });
}

/**
 * Returns the slots of a day that need a check. The last slot has the least time left on its day. The first slot after
 * the open may belong to the previous session, for example with `close+20h`.
 */
function slotsToCheck(
  calendars: Calendars,
  recipe: CompiledRecipe,
  schedule: CompiledSchedule,
  { date, from, until }: Span,
): Slot[] {
  const mic = calendarOf(recipe, schedule);
  const day = mic === undefined ? undefined : tradingDay(calendars, mic, date);
  const last = latestSlot(calendars, schedule, from, until);
  const first = typeof day === "object"
    ? firstSlot(calendars, schedule, Math.max(from, day.openAt - 1), until)
    : undefined;
  return [last, first].filter((slot) => slot !== undefined);
}

const nextAfter = (calendars: Calendars, schedule: CompiledSchedule, at: number) =>
  firstSlot(calendars, schedule, at, at + CHECKED_DAYS * DAY_MS)?.at ?? Infinity;

/**
 * `true` if a run of a slot may begin too late for a step. An object, with the reason, if the run is too late even when
 * it begins on time. `undefined` if the run is never too late.
 */
type Lateness = true | { slotAt: number; why: string } | undefined;

/** Returns a function that says whether a run of a slot may begin too late; `undefined` for a slot that is not run. */
function latenessOf(
  calendars: Calendars,
  recipe: CompiledRecipe,
  schedule: CompiledSchedule,
  slot: Slot,
): ((asOfNow: AsOfNow) => Lateness) | undefined {
  const { skipped, dueAt, deadlineAt = Infinity } = boundsOfSlot(calendars, recipe, schedule, slot);
  if (skipped !== undefined) return undefined;
  const day = dayOf(recipe, { scheduleId: schedule.id, slotAt: slot.at, businessDay: slot.session });
  const { action, graceMs } = recipe.misfire;
  const untilMissed = action === "skip" ? dueAt + graceMs : Infinity;
  // With `latest`, the run must begin before the next slot replaces this one.
  const untilNext = action === "latest" ? nextAfter(calendars, schedule, slot.at) - 1 : Infinity;
  const latest = Math.min(deadlineAt, untilMissed, untilNext);
  return (asOfNow) => {
    const whyAt = (now: number) => whyPast(calendars, asOfNow, { slotAt: slot.at, day, now });
    const why = whyAt(dueAt);
    if (why !== undefined) return { slotAt: slot.at, why };
    // Without a bound, a run may begin after its day has ended.
    return latest === Infinity || whyAt(latest) !== undefined ? true : undefined;
  };
}
