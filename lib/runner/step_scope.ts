/**
 * What the steps of a run see of their slot and its session.
 *
 * @module
 */
import { calendarZone, type Mic } from "../calendars/mod.ts";
import type { CompiledRecipe, StepScope } from "../steps/compiled.ts";
import { neighbourDay, type TradingDay, tradingDay } from "./moments.ts";
import { calendarOf } from "./plan_run.ts";
import type { RunRow } from "./run_rows.ts";
import { showInstant } from "./slots.ts";

type SessionScope = NonNullable<StepScope["session"]>;

/** Makes the scope of a run, without outputs. */
export function scopeOf(recipe: CompiledRecipe, row: RunRow): Omit<StepScope, "outputs"> {
  // A run by hand belongs to no slot; its day is one of the market that the recipe goes by.
  const schedule = row.schedule_id === ""
    ? recipe.schedules[0]
    : recipe.schedules.find(({ id }) => id === row.schedule_id);
  const mic = calendarOf(recipe, schedule);
  const day = mic === undefined || row.business_day === null ? undefined : tradingDay(mic, row.business_day);
  const hasDay = mic !== undefined && row.business_day !== null;
  return {
    recipe: recipe.name,
    runKey: row.run_key,
    ...(row.schedule_id === "" ? {} : { scheduleId: row.schedule_id }),
    slot: showInstant(row.slot_at),
    ...(hasDay && typeof day === "object" ? { session: describe(mic, day) } : {}),
    ...(hasDay ? { previousSession: describe(mic, neighbourDay(mic, row.business_day!, -1)) } : {}), // not null
    // Written by this program from a recipe's parameters.
    params: JSON.parse(row.params) as Record<string, unknown>,
  };
}

/** Open and close as instants with the exchange's offset: `2025-08-15T09:30:00+08:00`. */
function describe(mic: Mic, { date, openAt, closeAt, halfDay }: TradingDay): SessionScope {
  const show = (at: number) =>
    Temporal.Instant.fromEpochMilliseconds(at).toString({ timeZone: calendarZone[mic] });
  return { date, open: show(openAt), close: show(closeAt), halfDay };
}
