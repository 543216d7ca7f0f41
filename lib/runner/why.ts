/**
 * Why something happened on a day, or why nothing did: one line, from what the ledger and the calendars know.
 *
 * @module
 */
import { overridesOn } from "../calendars/mod.ts";
import type { CompiledRecipe, CompiledSchedule } from "../steps/compiled.ts";
import type { Ledger } from "./ledger.ts";
import type { ScheduleRow } from "./listing.ts";
import { dateAt, tradingDay } from "./moments.ts";
import { calendarOf } from "./plan_run.ts";
import type { RunRow } from "./run_rows.ts";
import { runKeyOf } from "./run_key.ts";
import { slownessOf, tellSlowness } from "./slowness.ts";
import { eachSlot, type Slot } from "./slots.ts";
import { zoneOf } from "./starts.ts";
import { tellTaken } from "./taken_keys.ts";
import { describeRun, latenessOf, showLength, showTime, skipReasons } from "./why_run.ts";

const DAY_MS = 86_400_000;

/** What is asked about: a recipe, or what the ledger remembers of one that is gone. */
export type WhySubject = Pick<CompiledRecipe, "name" | "schedules" | "window">;

/** Runs of a day that are told one by one. */
const MOST_TOLD = 4;

/** Tells what happened to a recipe on a day, local to its exchange or zone. */
export function why(
  ledger: Ledger,
  recipe: WhySubject,
  { date, now }: { date: string; now: number },
): string {
  const rows = rowsOf(ledger, recipe, date);
  const told = rows.length > MOST_TOLD
    ? [describeMany(ledger, recipe, rows, now)]
    : rows.map((row) => describeRun(ledger, row, { zone: zoneOfRow(ledger, recipe, row), now }));
  const taken = rows.flatMap((row) => tellTaken(ledger, row.run_key, zoneOfRow(ledger, recipe, row)));
  const nothing = whyNothing(ledger, recipe, { date, now, rows });
  return [
    ...told,
    ...taken,
    ...nothing,
    ...whatElse(ledger, recipe, { date, rows }),
    ...whatWasSet(recipe, date),
  ].join(
    "; ",
  );
}

/** Returns what the ledger remembers of a recipe that is not in the folder any more; nothing when it has none. */
export function subjectOf(ledger: Ledger, name: string): WhySubject | undefined {
  const rows = ledger.all<{ spec: string }>(
    "select spec from schedule where recipe = ? order by schedule_id",
    name,
  );
  const known = rows.length > 0 || ledger.get("select 1 as there from run where recipe = ? limit 1", name);
  // Written by `listSchedule`, from a schedule that was compiled.
  return known
    ? { name, schedules: rows.map(({ spec }) => JSON.parse(spec) as CompiledSchedule) }
    : undefined;
}

/** Tells of a day that somebody set by hand, as far as the recipe goes by its calendar. */
function whatWasSet(recipe: WhySubject, date: string): string[] {
  const mics = [...recipe.schedules.map((schedule) => calendarOf(recipe, schedule)), recipe.window?.mic];
  const set = new Set([...new Set(mics)].flatMap((mic) => mic === undefined ? [] : overridesOn(mic, date)));
  return [...set].map(({ mic, hours, because }) =>
    `${mic} was set by hand on that day: ${hours}, because ${because}`
  );
}

function rowsOf(ledger: Ledger, recipe: WhySubject, date: string): RunRow[] {
  const noon = Date.parse(`${date}T12:00:00Z`);
  return ledger.all<RunRow>(
    "select * from run where recipe = ? and (business_day = ? or slot_at between ? and ?) order by slot_at, run_key",
    recipe.name,
    date,
    noon - 2 * DAY_MS,
    noon + 2 * DAY_MS,
  ).filter((row) => (row.business_day ?? dateAt(row.slot_at, zoneOfRow(ledger, recipe, row))) === date);
}

/** The zone of the schedule that a run belongs to, which may have been renamed or taken away since. */
function zoneOfRow(ledger: Ledger, recipe: WhySubject, { schedule_id: id }: RunRow): string {
  const schedule = recipe.schedules.find((each) => each.id === id) ??
    subjectOf(ledger, recipe.name)?.schedules.find((each) => each.id === id) ?? recipe.schedules[0];
  return schedule === undefined ? "UTC" : zoneOf(schedule);
}

function describeMany(ledger: Ledger, recipe: WhySubject, rows: readonly RunRow[], now: number): string {
  const groups = Map.groupBy(
    rows,
    ({ state, reason }) => state === "skipped" ? `skipped (${reason})` : state.replace("_", " "),
  );
  const parts = [...groups].map(([what, { length }]) => `${length} ${what}`);
  const bad = rows.find(({ state }) => state !== "ok" && state !== "skipped");
  const text = `${rows.length} runs: ${parts.join(", ")}${tellLate(rows)}`;
  return bad === undefined
    ? text
    : `${text}; the first that is not well: ${
      describeRun(ledger, bad, { zone: zoneOfRow(ledger, recipe, bad), now })
    }`;
}

/** How many began late, as after an outage, and by how much at the most. */
function tellLate(rows: readonly RunRow[]): string {
  const late = rows.map(latenessOf).filter((ms) => ms > 0);
  return late.length === 0 ? "" : `, ${late.length} of them late, by up to ${showLength(Math.max(...late))}`;
}

/** Why slots of the day have no row: not yet, or nobody looked; of a day without any slot, why it has none. */
function whyNothing(
  ledger: Ledger,
  recipe: WhySubject,
  { date, now, rows }: { date: string; now: number; rows: readonly RunRow[] },
): string[] {
  const keys = new Set(rows.map(({ run_key }) => run_key));
  const slots = recipe.schedules.flatMap((schedule) =>
    slotsOn(schedule, date).map((slot) => ({ schedule, slot }))
  )
    .sort((a, b) => a.slot.at - b.slot.at);
  if (slots.length === 0) return rows.length === 0 ? [`nothing was to run: ${whyNoSlot(recipe, date)}`] : [];
  const missing = slots.filter(({ schedule, slot }) => !keys.has(runKeyOf(recipe.name, schedule, slot)));
  const told = new Map<string, string>();
  for (const { schedule, slot } of missing) {
    const zone = zoneOf(schedule);
    if (slot.skipped !== undefined) {
      if (rows.length === 0) told.set("none", `nothing was to run: ${skipReasons[slot.skipped]}`);
    } else if (slot.at > now) {
      const slotText = rows.length === 0 ? "the slot" : "the next slot";
      const which = recipe.schedules.length === 1 ? slotText : `${slotText} of "${schedule.id}"`;
      const yet = rows.length === 0 ? "nothing yet: " : "";
      if (!told.has(`${schedule.id} yet`)) {
        told.set(`${schedule.id} yet`, `${yet}${which} is at ${showTime(slot.at, zone)}`);
      }
    } else if (!told.has(schedule.id)) {
      const which = recipe.schedules.length === 1 ? "" : ` of "${schedule.id}"`;
      const because = whyNoRow(ledger, recipe, schedule, slot);
      told.set(schedule.id, `nothing${which} ran at ${showTime(slot.at, zone)}: ${because}`);
    }
  }
  return [...told.values()];
}

function slotsOn(schedule: CompiledSchedule, date: string): Slot[] {
  const noon = Date.parse(`${date}T12:00:00Z`);
  return [...eachSlot(schedule, noon - 2 * DAY_MS, noon + 3 * DAY_MS)].filter((slot) =>
    (slot.session ?? dateAt(slot.at, zoneOf(schedule))) === date
  );
}

function whyNoSlot(recipe: WhySubject, date: string): string {
  for (const schedule of recipe.schedules) {
    const mic = calendarOf(recipe, schedule);
    const day = mic === undefined ? undefined : tradingDay(mic, date);
    if (day === "weekend") return `${date} is a weekend`;
    if (day === "holiday") return `${mic} was closed on ${date}`;
  }
  return recipe.schedules.length === 0
    ? "the recipe has no schedule"
    : `no schedule of the recipe names ${date}`;
}

function whyNoRow(ledger: Ledger, recipe: WhySubject, schedule: CompiledSchedule, slot: Slot): string {
  const zone = zoneOf(schedule);
  const row = ledger.get<ScheduleRow>(
    "select * from schedule where recipe = ? and schedule_id = ?",
    recipe.name,
    schedule.id,
  );
  if (row === undefined) return "no scheduler has seen this schedule yet";
  if (row.watermark < slot.at) {
    return `no scheduler has looked since ${
      showTime(row.watermark, zone)
    }; a slot gets its row when one does`;
  }
  const began = ledger.all<{ at: number; kind: string }>(
    `select at, kind from event where kind in ('schedule_new', 'schedule_edited', 'schedule_back')
      and data = ? order by at`,
    JSON.stringify({ recipe: recipe.name, schedule: schedule.id }),
  ).find(({ at }) => at >= slot.at);
  if (began?.kind === "schedule_new") return `the schedule was first seen at ${showTime(began.at, zone)}`;
  if (began?.kind === "schedule_edited") return `the schedule was edited at ${showTime(began.at, zone)}`;
  if (began?.kind === "schedule_back") return `the recipe was away until ${showTime(began.at, zone)}`;
  return "it was older than the lookback when a scheduler looked again";
}

/** What else of the day may explain it: a clock that jumped, a schedule that is too slow. */
function whatElse(
  ledger: Ledger,
  recipe: WhySubject,
  { date, rows }: { date: string; rows: readonly RunRow[] },
): string[] {
  const quiet = ["holiday", "half_day", "duplicate_slot"];
  const odd = rows.filter(({ state, reason }) => state !== "ok" && !quiet.includes(reason ?? ""));
  if (odd.length === 0) return [];
  const zone = zoneOfRow(ledger, recipe, odd[0]!); // there is one
  const day = Temporal.PlainDate.from(date);
  const from = day.toZonedDateTime(zone).epochMilliseconds;
  const until = Math.max(
    day.add({ days: 1 }).toZonedDateTime(zone).epochMilliseconds,
    ...odd.map(({ finished_at }) => finished_at ?? 0),
  );
  const jumps = ledger.all<{ at: number; data: string }>(
    "select at, data from event where kind = 'clock_jump' and at between ? and ? order by seq limit 3",
    from,
    until,
  ).map(({ at, data }) => {
    // Written by the scheduler.
    const { byMs } = JSON.parse(data) as { byMs: number };
    return `the clock went ${byMs < 0 ? "back" : "on"} by ${showLength(byMs)} before ${showTime(at, zone)}${
      byMs < 0 ? "" : ", as when a machine sleeps"
    }`;
  });
  const schedules = new Set(
    odd.filter(({ reason }) => reason === "overlap" || reason === "superseded").map((row) => row.schedule_id),
  );
  const slow = recipe.schedules.filter(({ id }) => schedules.has(id))
    .flatMap((schedule) => slownessOf(ledger, recipe.name, schedule) ?? []).map(tellSlowness);
  return [...jumps, ...slow];
}
