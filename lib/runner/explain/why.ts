/**
 * Explains in one line what a recipe did on a day, or why it did nothing, from the store and the calendars.
 *
 * @module
 */
import { type Calendars, dateAt } from "../../calendars/mod.ts";
import { readJson, type Store } from "../../store/store.ts";
import { calendarOf, zoneOf } from "../../recipes/engine/step_context.ts";
import { type RunRow } from "../queries/runs.ts";
import { lastClass, runsOfDay } from "../queries/run_lookups.ts";
import { describeSlowness, slownessOf } from "../run/report.ts";
import { clockJumps, eventDataOf } from "../queries/events.ts";
import { specsOf } from "../queries/schedules.ts";
import type { CompiledSchedule } from "../../recipes/compiled.ts";
import { specShape } from "./stored_spec.ts";
import { whyNothing, type WhySubject } from "./why_gaps.ts";
import { describeRun, latenessOf, showLength, showTime } from "./why_run.ts";

const DAY_MS = 86_400_000;

export type { WhySubject };

/** Up to this many runs of a day are described one by one; more runs are only counted. */
const MOST_DESCRIBED = 4;

/**
 * Returns what happened to a recipe on a day. The day is a date at the recipe's exchange, or in the zone of its
 * schedule.
 */
export async function why(
  store: Store,
  recipe: WhySubject,
  { date, now, calendars }: { date: string; now: number; calendars: Calendars },
): Promise<string> {
  const rows = await rowsOf(store, recipe, date);
  const described = rows.length > MOST_DESCRIBED
    ? [await describeMany(store, recipe, rows, now)]
    : await Array.fromAsync(rows, async (row) =>
      await describeRun(store, row, { zone: await zoneOfRow(store, recipe, row), now }));
  const taken = (await Array.fromAsync(
    rows,
    async (row) => await describeKeyCollisions(store, row.run_key, await zoneOfRow(store, recipe, row)),
  )).flat();
  const nothing = await whyNothing(store, recipe, { date, now, rows, calendars });
  return [
    ...described,
    ...taken,
    ...nothing,
    ...await whatElse(store, recipe, { date, rows, calendars }),
    ...whatWasSet(calendars, recipe, date),
  ].join(
    "; ",
  );
}

/** Returns what the store knows about a recipe that is no longer in the folder; `undefined` if it knows nothing. */
export async function subjectOf(store: Store, name: string): Promise<WhySubject | undefined> {
  const specs = await specsOf(store, name);
  const kind = await lastClass(store, name);
  const known = specs.length > 0 || kind !== undefined;
  return known
    ? {
      name,
      schedules: specs.map(({ schedule_id: id, spec }) =>
        readJson<CompiledSchedule>(spec, (value) => specShape.safeParse(value).success, {
          table: "schedule",
          column: "spec",
          row: `${name} ${id}`,
        })
      ),
      isMissing: true,
      ...kind !== undefined && { class: kind },
    }
    : undefined;
}

/** Returns the trading hours that a person has set by hand for the day, on the calendars that the recipe uses. */
function whatWasSet(calendars: Calendars, recipe: WhySubject, date: string): string[] {
  const mics = [...recipe.schedules.map((schedule) => calendarOf(recipe, schedule)), recipe.window?.mic];
  const set = new Set(
    [...new Set(mics)].flatMap((mic) => mic === undefined ? [] : calendars.overridesOn(mic, date)),
  );
  return [...set].map(({ mic, hours, because }) =>
    `a person set the hours of ${mic} for that day: ${hours}, because ${because}`
  );
}

async function rowsOf(store: Store, recipe: WhySubject, date: string): Promise<RunRow[]> {
  const noon = Date.parse(`${date}T12:00:00Z`);
  const span = { date, from: noon - 2 * DAY_MS, until: noon + 2 * DAY_MS };
  const found: RunRow[] = [];
  for (const row of await runsOfDay(store, recipe.name, span)) {
    const day = row.business_day ?? dateAt(row.slot_at, await zoneOfRow(store, recipe, row));
    if (day === date) found.push(row);
  }
  return found;
}

/** Returns the zone of a run's schedule. The recipe may have renamed or removed that schedule since. */
async function zoneOfRow(store: Store, recipe: WhySubject, { schedule_id: id }: RunRow): Promise<string> {
  const schedule = recipe.schedules.find((each) => each.id === id) ??
    (await subjectOf(store, recipe.name))?.schedules.find((each) => each.id === id) ?? recipe.schedules[0];
  return schedule === undefined ? "UTC" : zoneOf(schedule);
}

async function describeMany(
  store: Store,
  recipe: WhySubject,
  rows: readonly RunRow[],
  now: number,
): Promise<string> {
  const groups = Map.groupBy(
    rows,
    ({ state, reason }) => state === "skipped" ? `skipped (${reason})` : state.replace("_", " "),
  );
  const parts = [...groups].map(([what, { length }]) => `${length} ${what}`);
  const bad = rows.find(({ state }) => state !== "ok" && state !== "skipped");
  const text = `${rows.length} runs: ${parts.join(", ")}${describeLate(rows)}`;
  return bad === undefined
    ? text
    : `${text}; the first that did not succeed: ${await describeRun(store, bad, {
      zone: await zoneOfRow(store, recipe, bad),
      now,
    })}`;
}

/** Returns how many runs began late, for example after an outage, and the longest delay. */
function describeLate(rows: readonly RunRow[]): string {
  const late = rows.map(latenessOf).filter((ms) => ms > 0);
  return late.length === 0
    ? ""
    : `, ${late.length} of them late, by up to ${showLength(late.reduce((most, ms) => Math.max(most, ms)))}`;
}

/**
 * Returns other causes that explain the day: clock jumps, and runs that take longer than the interval of their
 * schedule.
 */
async function whatElse(
  store: Store,
  recipe: WhySubject,
  { date, rows, calendars }: { date: string; rows: readonly RunRow[]; calendars: Calendars },
): Promise<string[]> {
  const quiet = ["holiday", "half_day", "duplicate_slot"];
  const odd = rows.filter(({ state, reason }) => state !== "ok" && !quiet.includes(reason ?? ""));
  if (odd.length === 0) return [];
  const zone = await zoneOfRow(store, recipe, odd[0]!); // `odd` is not empty
  const day = Temporal.PlainDate.from(date);
  const from = day.toZonedDateTime(zone).epochMilliseconds;
  const until = odd.reduce(
    (most, { finished_at }) => Math.max(most, finished_at ?? 0),
    day.add({ days: 1 }).toZonedDateTime(zone).epochMilliseconds,
  );
  const jumps = (await clockJumps(store, from, until)).map(({ at, byMs }) => {
    return `the clock jumped ${byMs < 0 ? "back" : "forward"} by ${showLength(byMs)} before ${
      showTime(at, zone)
    }${byMs < 0 ? "" : ", as it does when a machine sleeps"}`;
  });
  const schedules = new Set(
    odd.filter(({ reason }) => reason === "overlap" || reason === "superseded").map((row) => row.schedule_id),
  );
  const slow = (await Array.fromAsync(
    recipe.schedules.filter(({ id }) => schedules.has(id)),
    async (schedule) => await slownessOf(store, calendars, recipe.name, schedule) ?? [],
  )).flat().map(describeSlowness);
  return [...jumps, ...slow];
}

/** Returns the slots that got no run because an edited schedule gave them a key that a run already had. */
async function describeKeyCollisions(store: Store, runKey: string, zone: string): Promise<string[]> {
  return (await eventDataOf(store, runKey, "key_taken")).map(({ slot, by }) => {
    return `nothing ran at ${showTime(Date.parse(slot), zone)}: the schedule was edited after the slot at ${
      showTime(Date.parse(by), zone)
    } had its run, and a schedule runs only once in a session`;
  });
}
