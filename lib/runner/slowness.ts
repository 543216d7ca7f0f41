/**
 * Runs that take longer than the time to the next: sooner or later slots are passed over, and somebody should know
 * before that.
 *
 * @module
 */
import type { CompiledRecipe, CompiledSchedule } from "../steps/compiled.ts";
import type { Ledger } from "./ledger.ts";
import type { RunRow } from "./run_rows.ts";
import { eachSlot } from "./slots.ts";

/** Runs in a row after which it is no accident. */
const IN_A_ROW = 3;
const REACH_MS = 35 * 86_400_000;

/** How slow, by the last run. */
export interface Slowness {
  recipe: string;
  schedule: string;
  tookMs: number;
  periodMs: number;
}

interface Taken {
  slot_at: number;
  took: number;
}

/**
 * Tells of a schedule whose last three runs each took longer than the time to the next slot.
 *
 * @returns `isNew` for the third of them alone, so that it is said once.
 */
export function slownessOf(
  ledger: Ledger,
  recipe: string,
  schedule: CompiledSchedule,
): Slowness & { isNew: boolean } | undefined {
  const rows = ledger.all<Taken>(
    `select slot_at, finished_at - started_at as took from run where recipe = ? and schedule_id = ?
      and kind = 'live' and state in ('ok', 'failed') and started_at is not null
      order by slot_at desc limit ?`,
    recipe,
    schedule.id,
    IN_A_ROW + 1,
  );
  // Asked of one after another, as the last run alone tells that nothing is slow.
  const isSlow = ({ slot_at, took }: Taken) => took > periodAt(schedule, slot_at);
  const [last] = rows;
  if (last === undefined || rows.length < IN_A_ROW || !rows.slice(0, IN_A_ROW).every(isSlow)) {
    return undefined;
  }
  const before = rows[IN_A_ROW];
  return {
    recipe,
    schedule: schedule.id,
    tookMs: last.took,
    periodMs: periodAt(schedule, last.slot_at),
    isNew: before === undefined || !isSlow(before),
  };
}

/** Time from a slot to the next, across nights and weekends too. */
function periodAt(schedule: CompiledSchedule, at: number): number {
  const { value } = eachSlot(schedule, at, at + REACH_MS).next();
  return value === undefined ? Infinity : value.at - at;
}

/** Writes it down when a run is the third in a row, and returns what to tell. Within the transaction that ends it. */
export function noteSlowness(
  ledger: Ledger,
  { name, schedules }: Pick<CompiledRecipe, "name" | "schedules">,
  row: RunRow,
  now: number,
): string | undefined {
  const schedule = schedules.find(({ id }) => id === row.schedule_id);
  if (schedule === undefined || row.kind !== "live") return undefined;
  const slow = slownessOf(ledger, name, schedule);
  if (slow === undefined || !slow.isNew) return undefined;
  ledger.event(now, "too_slow", { tookMs: slow.tookMs, periodMs: slow.periodMs }, row.run_key);
  return tellSlowness(slow);
}

/** Says it for people. */
export function tellSlowness({ schedule, tookMs, periodMs }: Slowness): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  return `schedule "${schedule}" is too slow: ${IN_A_ROW} runs in a row took longer than the time to the next slot (${
    seconds(tookMs)
  } of ${seconds(periodMs)})`;
}
