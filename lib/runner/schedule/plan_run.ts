/**
 * Plans the row of a run for a slot: when it is due, its deadline, or why it is skipped.
 *
 * @module
 */
import { calendarVersion as versionOf, isProjected } from "../../calendars/mod.ts";
import type { CompiledRecipe, CompiledSchedule } from "../../recipes/compiled.ts";
import { calendarOf, zoneOf } from "../../recipes/step_context.ts";
import { jitterOf, runKeyOf } from "./run_key.ts";
import type { NewRun, SkipReason } from "../queries/runs.ts";
import type { Slot } from "./slots.ts";
import { windowOn } from "../run/write_conditions.ts";
import type { Machine } from "../../time.ts";

export { calendarOf, zoneOf };

/** What a row needs in addition to the slot. */
interface PlanRunOptions {
  kind: "live" | "backfill";
  traceId: string;
  /** @default the version of the calendar that the recipe or the schedule uses */
  calendarVersion?: string;
}

/**
 * Returns the row of a slot. With a window, the run is due when the window opens, and its end is a deadline. On a day
 * that the calendar does not cover or only projects, a recipe that writes is skipped; a recipe that reads runs, and its
 * row says that the day is assumed.
 */
export function planRun(
  recipe: CompiledRecipe,
  schedule: CompiledSchedule,
  slot: Slot,
  { kind, traceId, calendarVersion }: PlanRunOptions,
): NewRun {
  const runKey = runKeyOf(recipe.name, schedule, slot);
  const jitterMs = schedule.form === "every" ? schedule.jitterMs : 0;
  const mic = calendarOf(recipe, schedule);
  const isGuess = slot.assumed || (mic !== undefined && isProjected(mic, slot.session ?? ""));
  const bounds = boundsOf(recipe, { ...slot, isGuess }, slot.at + jitterOf(runKey, jitterMs));
  return {
    runKey,
    recipe: recipe.name,
    scheduleId: schedule.id,
    kind,
    class: recipe.class,
    slotAt: slot.at,
    businessDay: slot.session,
    assumed: slot.assumed,
    dueAt: bounds.dueAt,
    deadlineAt: bounds.deadlineAt,
    state: bounds.skipped === undefined ? "due" : "skipped",
    reason: bounds.skipped,
    recipeSha: recipe.sha256,
    calendarVersion: calendarVersion ?? (mic === undefined ? undefined : versionOf(mic)),
    params: JSON.stringify(recipe.params),
    traceId,
  };
}

interface Bounds {
  dueAt: number;
  deadlineAt?: number;
  skipped?: SkipReason;
}

function boundsOf(recipe: CompiledRecipe, slot: Slot & { isGuess?: boolean }, dueAt: number): Bounds {
  const { class: kind, deadlineMs } = recipe;
  const deadlineAt = deadlineMs === undefined ? undefined : slot.at + deadlineMs;
  if (slot.skipped !== undefined) return { dueAt, deadlineAt, skipped: slot.skipped };
  if (kind === "write" && slot.isGuess) return { dueAt, deadlineAt, skipped: "calendar_unknown" };
  const window = windowOn(recipe, slot.at);
  if (window === undefined) return { dueAt, deadlineAt };
  if (window === "closed") return { dueAt, deadlineAt, skipped: "holiday" };
  if (window === "unknown") return { dueAt, deadlineAt, skipped: "calendar_unknown" };
  return {
    dueAt: Math.max(dueAt, window.from),
    deadlineAt: deadlineAt === undefined ? window.until : Math.min(deadlineAt, window.until),
  };
}

/** Returns a new trace id in the W3C format: 32 hex digits, not all zero. */
export function drawTraceId(machine: Pick<Machine, "random">): string {
  let digits = "1";
  for (let i = 1; i < 32; i++) digits += "0123456789abcdef"[Math.floor(machine.random() * 16)];
  return digits;
}
