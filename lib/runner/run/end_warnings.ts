/**
 * Warns at the end of a run that runs take longer than the time to the next slot, or that a login is about to expire.
 *
 * @module
 */
import type { Calendars } from "../../calendars/mod.ts";
import { lastLoginOutput } from "../queries/steps.ts";
import { hasEventSince } from "../queries/events.ts";
import type { CompiledRecipe, CompiledSchedule } from "../../recipes/compiled.ts";
import { durationsOf, type RunRow } from "../queries/runs.ts";
import { eachSlot } from "../schedule/slots.ts";
import { showInstant } from "../../calendars/trading_days.ts";
import type { Store } from "../../store/store.ts";

/** This many slow runs in a row lead to a warning. */
const IN_A_ROW = 3;
/** How far ahead the next slot is searched. */
const LOOK_AHEAD_MS = 35 * 86_400_000;

/** How long the last run of a slow schedule took, and the time to the next slot. */
interface Slowness {
  recipe: string;
  schedule: string;
  tookMs: number;
  periodMs: number;
}

/**
 * Returns how slow a schedule is, if each of its last three runs took longer than the time to the next slot.
 *
 * @returns `isNew` is true only for the third slow run in a row, so that people are warned once. `undefined` if the
 * schedule is not slow.
 */
export async function slownessOf(
  store: Store,
  calendars: Calendars,
  recipe: string,
  schedule: CompiledSchedule,
): Promise<Slowness & { isNew: boolean } | undefined> {
  const rows = await durationsOf(store, recipe, schedule.id, IN_A_ROW + 1);
  // Checks the newest run first: if it is fast, the others need no check.
  const isSlow = ({ slot_at, took }: { slot_at: number; took: number }) =>
    took > periodAt(calendars, schedule, slot_at);
  const [last] = rows;
  if (last === undefined || rows.length < IN_A_ROW || !rows.slice(0, IN_A_ROW).every(isSlow)) {
    return undefined;
  }
  const before = rows[IN_A_ROW];
  return {
    recipe,
    schedule: schedule.id,
    tookMs: last.took,
    periodMs: periodAt(calendars, schedule, last.slot_at),
    isNew: before === undefined || !isSlow(before),
  };
}

/** Returns the time from a slot to the next, including nights and weekends. */
function periodAt(calendars: Calendars, schedule: CompiledSchedule, at: number): number {
  const { value } = eachSlot(calendars, schedule, at, at + LOOK_AHEAD_MS).next();
  return value === undefined ? Infinity : value.at - at;
}

/** Records the third slow run in a row, and returns a warning. Call it in the transaction that ends the run. */
export async function noteSlowness(
  store: Store,
  calendars: Calendars,
  { name, schedules }: Pick<CompiledRecipe, "name" | "schedules">,
  row: RunRow,
  now: number,
): Promise<string | undefined> {
  const schedule = schedules.find(({ id }) => id === row.schedule_id);
  if (schedule === undefined || row.kind !== "live") return undefined;
  const slow = await slownessOf(store, calendars, name, schedule);
  if (slow === undefined || !slow.isNew) return undefined;
  await store.event(now, "too_slow", { tookMs: slow.tookMs, periodMs: slow.periodMs }, row.run_key);
  return tellSlowness(slow);
}

/** Returns a warning that says how slow a schedule is. */
export function tellSlowness({ schedule, tookMs, periodMs }: Slowness): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  return `schedule "${schedule}" is too slow: ${IN_A_ROW} runs in a row took longer than the time to the next slot (${
    seconds(tookMs)
  } of ${seconds(periodMs)})`;
}

/**
 * Records, after a failed query, that a login expires before the query after the next, and returns a warning. Call it in
 * the transaction that ends the run.
 */
export async function noteLoginEnd(
  store: Store,
  calendars: Calendars,
  recipe: Pick<CompiledRecipe, "name" | "class" | "schedules">,
  row: RunRow,
  now: number,
): Promise<string | undefined> {
  if (recipe.class !== "keep-alive" || row.state !== "failed") return undefined;
  const last = await lastLoginOutput(store, recipe.name);
  if (last === undefined) return undefined;
  // Written by the step `keep-login`.
  const { holdsUntil } = JSON.parse(last.output) as { holdsUntil: string };
  const endsAt = Date.parse(holdsUntil);
  const periodMs = periodAfter(calendars, recipe, row, now);
  // If the next query also fails, the login expires before the query after that.
  if (endsAt - now > 1.5 * periodMs) return undefined;
  if (await hasEventSince(store, { recipe: recipe.name, kind: "login_expiring", slotAfter: last.slot_at })) {
    return undefined;
  }
  await store.event(now, "login_expiring", { holdsUntil }, row.run_key);
  return endsAt <= now
    ? `the login expired at ${showInstant(endsAt)} because no query succeeded`
    : `the login expires at ${showInstant(endsAt)} unless a query succeeds`;
}

function periodAfter(
  calendars: Calendars,
  { schedules }: Pick<CompiledRecipe, "schedules">,
  row: RunRow,
  now: number,
): number {
  const schedule = schedules.find(({ id }) => id === row.schedule_id);
  if (schedule === undefined) return 0;
  if (schedule.form === "every") return schedule.everyMs;
  const { value } = eachSlot(calendars, schedule, now, now + LOOK_AHEAD_MS).next();
  return value === undefined ? 0 : value.at - now;
}
