/**
 * Why something happened on a day, or why nothing did: one line, from what the ledger and the calendars know.
 *
 * @module
 */
import { overridesOn } from "../calendars/mod.ts";
import type { CompiledSchedule, RecipeClass } from "../steps/compiled.ts";
import type { Ledger } from "./ledger.ts";
import { dateAt } from "./moments.ts";
import { calendarOf, zoneOf } from "./plan_run.ts";
import type { RunRow } from "./run_rows.ts";
import { slownessOf, tellSlowness } from "./slowness.ts";
import { tellTaken } from "./taken_keys.ts";
import { whyNothing, type WhySubject } from "./why_gaps.ts";
import { describeRun, latenessOf, showLength, showTime } from "./why_run.ts";

const DAY_MS = 86_400_000;

export type { WhySubject };

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
  const last = ledger.get<{ class: RecipeClass }>(
    "select class from run where recipe = ? order by slot_at desc limit 1",
    name,
  );
  const known = rows.length > 0 || last !== undefined;
  // Written by `listSchedule`, from a schedule that was compiled.
  return known
    ? {
      name,
      schedules: rows.map(({ spec }) => JSON.parse(spec) as CompiledSchedule),
      isGone: true,
      ...last !== undefined && { class: last.class },
    }
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
    `select * from run where recipe = ? and business_day = ?
      union select * from run where recipe = ? and slot_at between ? and ? order by slot_at, run_key`,
    recipe.name,
    date,
    recipe.name,
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
    `select at, data from event where run_key is null and kind = 'clock_jump' and at between ? and ?
      order by at, seq limit 3`,
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
