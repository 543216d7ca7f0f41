/**
 * Finds schedules whose slots cannot run, because of the recipe's window or because a step reads present data.
 *
 * @module
 */
import { type Calendars, calendarZone } from "../../../lib/calendars/mod.ts";
import { type LateReads, lateReadsOf } from "../../../lib/runner/schedule/past_slot.ts";
import { zoneOf } from "../../../lib/recipes/engine/step_context.ts";
import {
  type MissedDay,
  type RunnableDays,
  runnableDaysOf,
} from "../../../lib/runner/schedule/schedule_checks.ts";
import { showDuration } from "../../../lib/recipes/compile/written_times.ts";
import type { CompiledRecipe, FileReport, RecipeIssue } from "../../../lib/recipes/mod.ts";
import { readText } from "../../../lib/recipes/files/recipe_files.ts";
import { placesInCode, readRecipeText, type RecipeText } from "../../../lib/recipes/schema/recipe_text.ts";
import { localTime, readable } from "../shared/slot_lines.ts";

/** Mistakes and warnings of one file. */
interface ScheduleNotes {
  issues: RecipeIssue[];
  warnings: string[];
}

/** Finds schedules that can never run (mistakes) and days on which they cannot run (warnings). */
export async function scheduleNotes(
  calendars: Calendars,
  { path, recipe }: FileReport,
  now: number,
): Promise<ScheduleNotes> {
  const notes: ScheduleNotes = { issues: [], warnings: [] };
  if (recipe === undefined) return notes;
  let places: Promise<Places> | undefined;
  const placesOf = () => places ??= readPlaces(path); // read the file once, even if several schedules have mistakes
  for (const days of runnableDaysOf(calendars, recipe, now)) {
    const [first] = days.missed;
    if (days.fine + days.missed.length === 0 && days.closed > 0) {
      notes.issues.push(await closedIssueOf(recipe, placesOf, days));
    }
    if (first === undefined) continue;
    if (days.fine === 0) notes.issues.push(await issueOf(recipe, { placesOf, days, first }));
    else notes.warnings.push(warningOf(recipe, days));
  }
  const late = Map.groupBy(
    lateReadsOf(calendars, recipe, now),
    ({ step, never }) => `${step} ${never !== undefined}`,
  );
  for (const group of late.values()) notes.warnings.push(lateWarning(recipe, group));
  return notes;
}

/** Explains when hsgate rejects a step that reads present data, and how to fix the recipe. */
function lateWarning(recipe: CompiledRecipe, group: readonly LateReads[]): string {
  const [{ scheduleId, step, asOfNow: { instead, reads }, never }] = group as [LateReads]; // a group is never empty
  const what = `"${recipe.name}": step "${step}" reads ${reads} as of now`;
  const other = instead === undefined ? "" : `for past days use "${instead}", or `;
  if (never !== undefined) {
    const schedule = recipe.schedules.find(({ id }) => id === scheduleId);
    const zone = schedule === undefined ? "UTC" : zoneOf(schedule);
    const slot = `${readable(localTime(never.slotAt, zone))} ${zone}`;
    return `${what}, which hsgate rejects for the slot ${slot} of schedule "${scheduleId}": ${never.why} by then; ` +
      `${other}write an earlier time`;
  }
  const { action, graceMs } = recipe.misfire;
  const names = group.map((each) => `"${each.scheduleId}"`).join(" and ");
  const policy = action === "skip" ? `a grace of ${showDuration(graceMs)}` : `misfire: ${action}`;
  const fix = action === "skip" ? "a shorter grace" : '"misfire: skip" or a deadline on the same day';
  const cure = instead === undefined
    ? ""
    : `, unless the step reads "${instead}", which also works for late slots`;
  return `${what}, and hsgate rejects that after the day of the slot. A missed slot of ${names} may begin later ` +
    `(${policy}); write ${fix}. hsgate also rejects a backfill of past days${cure}`;
}

/** Returns a mistake for a schedule that has slots only on days without a session. */
async function closedIssueOf(
  recipe: CompiledRecipe,
  placesOf: () => Promise<Places>,
  { scheduleId, closed }: RunnableDays,
): Promise<RecipeIssue> {
  const read = await placesOf();
  const index = recipe.schedules.findIndex(({ id }) => id === scheduleId);
  const at = ["schedule", ...read.isList ? [index] : []];
  const days = closed === 1 ? "day with a slot" : `${closed} days with a slot`;
  return {
    ...read.placeOf(at),
    path: at,
    // `runnableDaysOf` examines only recipes with a window.
    message: `${at.join(".")}: expected days on which ${
      recipe.window!.mic
    } trades: no slot can ever run, because the exchange is closed on the next ${days}`,
  };
}

async function issueOf(
  recipe: CompiledRecipe,
  { placesOf, days, first }: { placesOf: () => Promise<Places>; days: RunnableDays; first: MissedDay },
): Promise<RecipeIssue> {
  const read = await placesOf();
  const index = recipe.schedules.findIndex(({ id }) => id === days.scheduleId);
  const schedule = recipe.schedules[index]!; // the index is one of its schedules
  const member = schedule.form === "calendar" ? "at" : schedule.form === "cron" ? "cron" : "every";
  const at = first.why === "deadline" ? ["deadline"] : [
    "schedule",
    ...read.isList ? [index] : [],
    schedule.form === "every" && schedule.while ? "while" : member,
  ];
  const what = first.why === "deadline"
    ? "a deadline after the window opens"
    : "a time before the window closes";
  return {
    ...read.placeOf(at),
    path: at,
    message: `${at.join(".")}: expected ${what}: no slot can ever run, because ${because(recipe, first)}`,
  };
}

function warningOf(recipe: CompiledRecipe, { scheduleId, fine, missed }: RunnableDays): string {
  const [first] = missed;
  const halfDays = missed.every(({ halfDay }) => halfDay);
  const days = halfDays
    ? `on half-days (${missed.map(({ date }) => date).join(", ")})`
    : `on ${missed.length} of the next ${missed.length + fine} days with a slot`;
  return `"${recipe.name}" cannot run ${days}: schedule "${scheduleId}": ${because(recipe, first!)}`;
}

/** Explains why the slot of a day cannot run, with the times. */
function because(recipe: CompiledRecipe, { date, slotAt, window, why }: MissedDay): string {
  const zone = calendarZone[recipe.window!.mic]; // only a recipe with a window gets here
  const time = (at: number) => localTime(at, zone).slice(11, 16);
  const day = `on ${date} the slot is at ${time(slotAt)}`;
  if (why === "closed") return `${day}, and the window closes at ${time(window.until)} (${zone})`;
  const { deadlineMs = 0 } = recipe;
  return `${day}, its deadline ${showDuration(deadlineMs)} later, and the window is open from ${
    time(window.from)
  } to ${time(window.until)} (${zone})`;
}

/** Where the members of a recipe are in its file, and whether it has a list of schedules. */
type Places = Pick<RecipeText, "placeOf"> & { isList: boolean };

async function readPlaces(path: string): Promise<Places> {
  const text = await readText(path);
  if (path.endsWith(".ts")) {
    return { placeOf: placesInCode(text), isList: /\bschedule["']?\s*:\s*\[/.test(text) };
  }
  const { value, placeOf } = readRecipeText(text);
  // The text was compiled to a recipe, so its top level is a YAML map.
  return { placeOf, isList: Array.isArray((value as { schedule?: unknown }).schedule) };
}
