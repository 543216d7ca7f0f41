/**
 * Why something happened on a day, or why nothing did: one line, from what the ledger and the calendars know.
 *
 * @module
 */
import type { CompiledRecipe, CompiledSchedule } from "../steps/compiled.ts";
import type { Ledger } from "./ledger.ts";
import type { ScheduleRow } from "./listing.ts";
import { dateAt, tradingDay } from "./moments.ts";
import { calendarOf } from "./plan_run.ts";
import type { RunRow } from "./run_rows.ts";
import { eachSlot, showInstant, type Slot } from "./slots.ts";
import { zoneOf } from "./starts.ts";

const DAY_MS = 86_400_000;

const reasons: Record<string, string> = {
  misfire: "it was missed and came too late",
  superseded: "a newer run took its place",
  deadline: "its deadline had passed",
  overlap: "the run before it was still going on",
  holiday: "the exchange was closed",
  half_day: "it was a half-day",
  calendar_unknown: "the calendar does not cover the day",
  paused: "the recipe was paused",
  condition: "its conditions were not met",
  not_approved: "it was not approved",
  duplicate_slot: "another schedule of the recipe names the same instant",
  maintenance: "of maintenance",
};

/** Tells what happened to a recipe on a day, local to its exchange or zone. */
export function why(
  ledger: Ledger,
  recipe: CompiledRecipe,
  { date, now }: { date: string; now: number },
): string {
  const rows = rowsOf(ledger, recipe, date);
  const [only] = rows;
  if (rows.length === 1 && only !== undefined) return describeRun(only, zoneOfRow(recipe, only));
  if (rows.length > 1) return describeMany(rows);
  return whyNothing(ledger, recipe, date, now);
}

function rowsOf(ledger: Ledger, recipe: CompiledRecipe, date: string): RunRow[] {
  const noon = Date.parse(`${date}T12:00:00Z`);
  return ledger.all<RunRow>(
    "select * from run where recipe = ? and (business_day = ? or slot_at between ? and ?) order by slot_at, run_key",
    recipe.name,
    date,
    noon - 2 * DAY_MS,
    noon + 2 * DAY_MS,
  ).filter((row) => (row.business_day ?? dateAt(row.slot_at, zoneOfRow(recipe, row))) === date);
}

function zoneOfRow(recipe: CompiledRecipe, row: RunRow): string {
  const schedule = recipe.schedules.find(({ id }) => id === row.schedule_id) ?? recipe.schedules[0];
  return schedule === undefined ? "UTC" : zoneOf(schedule);
}

function showTime(at: number | null, zone: string): string {
  if (at === null) return "an unknown time";
  const local = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
  return `${local.toPlainDateTime().toString({ smallestUnit: "minute" }).replace("T", " ")} ${zone}`;
}

function describeRun(row: RunRow, zone: string): string {
  const key = row.run_key;
  const reason = row.reason ?? "";
  const assumed = row.assumed === 1 ? ", on a day that the calendar does not cover" : "";
  switch (row.state) {
    case "ok":
      return `${key} ran and ended well at ${showTime(row.finished_at, zone)}${assumed}`;
    case "failed":
      return `${key} failed at ${showTime(row.finished_at, zone)} (${reason}), attempt ${row.attempt}`;
    case "skipped": {
      const begun = row.started_at === null
        ? ""
        : `, after it had begun at ${showTime(row.started_at, zone)}`;
      return `${key} was skipped because ${reasons[reason] ?? reason}${begun}`;
    }
    case "cancelled":
      return `${key} was cancelled at ${showTime(row.finished_at, zone)}: ${reason}`;
    case "due":
      return `${key} is due since ${showTime(row.due_at, zone)} and has not begun`;
    case "running":
      return `${key} is running since ${showTime(row.started_at, zone)}`;
    case "waiting_approval":
      return `${key} waits for a person: ${reason === "misfire" ? "it was missed" : "it needs approval"}`;
    case "waiting_recovery":
      return `${key} was broken off while it wrote and waits until it is known what came of that`;
    case "unknown":
      return `${key} ended at ${
        showTime(row.finished_at, zone)
      } without it being known whether its write happened`;
  }
}

function describeMany(rows: readonly RunRow[]): string {
  const groups = Map.groupBy(
    rows,
    ({ state, reason }) => state === "skipped" ? `skipped (${reason})` : state.replace("_", " "),
  );
  const parts = [...groups].map(([what, { length }]) => `${length} ${what}`);
  const bad = rows.find(({ state }) => state !== "ok" && state !== "skipped");
  return `${rows.length} runs: ${parts.join(", ")}${bad === undefined ? "" : `; see ${bad.run_key}`}`;
}

/** Why there is no row: no slot, not yet, or nobody looked. */
function whyNothing(ledger: Ledger, recipe: CompiledRecipe, date: string, now: number): string {
  const expected = recipe.schedules.flatMap((schedule) =>
    slotsOn(schedule, date).map((slot) => ({ schedule, slot }))
  ).sort((a, b) => a.slot.at - b.slot.at);
  const [first] = expected;
  if (first === undefined) return `nothing was to run: ${whyNoSlot(recipe, date)}`;
  const { schedule, slot } = first;
  if (slot.skipped !== undefined) return `nothing was to run: ${reasons[slot.skipped]}`;
  if (slot.at > now) return `nothing yet: the slot is at ${showTime(slot.at, zoneOf(schedule))}`;
  return `nothing ran at ${showInstant(slot.at)}: ${whyNoRow(ledger, recipe, schedule, slot)}`;
}

function slotsOn(schedule: CompiledSchedule, date: string): Slot[] {
  const noon = Date.parse(`${date}T12:00:00Z`);
  return [...eachSlot(schedule, noon - 2 * DAY_MS, noon + 3 * DAY_MS)].filter((slot) =>
    (slot.session ?? dateAt(slot.at, zoneOf(schedule))) === date
  );
}

function whyNoSlot(recipe: CompiledRecipe, date: string): string {
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

function whyNoRow(ledger: Ledger, recipe: CompiledRecipe, schedule: CompiledSchedule, slot: Slot): string {
  const row = ledger.get<ScheduleRow>(
    "select * from schedule where recipe = ? and schedule_id = ?",
    recipe.name,
    schedule.id,
  );
  if (row === undefined) return "no scheduler has seen this schedule yet";
  if (row.watermark < slot.at) {
    return `no scheduler has looked since ${showInstant(row.watermark)}; a slot gets its row when one does`;
  }
  const began = ledger.all<{ at: number; kind: string }>(
    `select at, kind from event where kind in ('schedule_new', 'schedule_edited', 'schedule_back')
      and data = ? order by at`,
    JSON.stringify({ recipe: recipe.name, schedule: schedule.id }),
  ).find(({ at }) => at >= slot.at);
  if (began?.kind === "schedule_new") return `the schedule was first seen at ${showInstant(began.at)}`;
  if (began?.kind === "schedule_edited") return `the schedule was edited at ${showInstant(began.at)}`;
  if (began?.kind === "schedule_back") return `the recipe was away until ${showInstant(began.at)}`;
  return "it was older than the lookback when a scheduler looked again";
}
