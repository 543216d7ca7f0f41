/**
 * What the steps of a run see of their slot, its session and its day.
 *
 * @module
 */
import { calendarZone, type Mic } from "../calendars/mod.ts";
import type { RunDay } from "../steps/as_of_now.ts";
import type { CompiledRecipe, StepScope } from "../steps/compiled.ts";
import { dateAt, neighbourDay, showInstant, type TradingDay, tradingDay } from "./moments.ts";
import { businessDayOf, calendarOf, zoneOf } from "./plan_run.ts";
import type { RunRow } from "./run_rows.ts";

type SessionScope = NonNullable<StepScope["session"]>;

/** What of a run's row its steps see. */
type ScopeRow = Pick<RunRow, "run_key" | "schedule_id" | "slot_at" | "business_day" | "params">;

/** What the steps of a run see before any of them has run. */
export type RunScope = Omit<StepScope, "outputs"> & { day: RunDay };

/**
 * Makes the scope of a run, without outputs.
 *
 * @param outer The day of the run that this one is a step of: a recipe without a calendar of its own follows it.
 */
export function scopeOf(recipe: CompiledRecipe, row: ScopeRow, outer?: RunDay): RunScope {
  const day = dayOf(recipe, row, outer);
  const { calendar: mic, date } = day;
  const session = mic === undefined || row.business_day === null ? undefined : tradingDay(mic, date);
  return {
    recipe: recipe.name,
    runKey: row.run_key,
    ...(row.schedule_id === "" ? {} : { scheduleId: row.schedule_id }),
    slot: showInstant(row.slot_at),
    ...(mic !== undefined && typeof session === "object" ? { session: describe(mic, session) } : {}),
    ...(mic !== undefined && session !== undefined
      ? { previousSession: describe(mic, neighbourDay(mic, date, -1)) }
      : {}),
    // Written by this program from a recipe's parameters.
    params: JSON.parse(row.params) as Record<string, unknown>,
    day,
  };
}

/** Makes the day and the sessions of a run by hand at an instant, for a run without a ledger. */
export function manualScope(
  recipe: CompiledRecipe,
  at: number,
  outer?: RunDay,
): Pick<RunScope, "day" | "session" | "previousSession"> {
  return scopeOf(recipe, {
    run_key: "",
    schedule_id: "",
    slot_at: at,
    business_day: outer?.date ?? businessDayOf(recipe, at) ?? null,
    params: "{}",
  }, outer);
}

/** Returns the day that a run belongs to. */
export function dayOf(
  recipe: Pick<CompiledRecipe, "schedules" | "window">,
  { schedule_id, slot_at, business_day }: Pick<ScopeRow, "schedule_id" | "slot_at" | "business_day">,
  outer?: RunDay,
): RunDay {
  // A run by hand belongs to no slot; its day is one of the exchange that the recipe follows.
  const schedule = schedule_id === ""
    ? recipe.schedules[0]
    : recipe.schedules.find(({ id }) => id === schedule_id);
  const calendar = calendarOf(recipe, schedule) ?? outer?.calendar;
  const zone = calendar !== undefined
    ? calendarZone[calendar]
    : outer?.zone ?? (schedule === undefined ? "UTC" : zoneOf(schedule));
  return {
    date: business_day ?? dateAt(slot_at, zone),
    zone,
    ...calendar !== undefined && { calendar },
    ...schedule_id !== "" && schedule?.form === "every" && { isOneOfMany: true },
  };
}

/** Open and close as instants with the exchange's offset: `2025-08-15T09:30:00+08:00`. */
function describe(mic: Mic, { date, openAt, closeAt, halfDay }: TradingDay): SessionScope {
  const show = (at: number) =>
    Temporal.Instant.fromEpochMilliseconds(at).toString({ timeZone: calendarZone[mic] });
  return { date, open: show(openAt), close: show(closeAt), halfDay };
}
