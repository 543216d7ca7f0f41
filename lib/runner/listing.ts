/**
 * Brings slots into the ledger: each schedule's from its watermark to now, each slot once, whoever comes first.
 *
 * @module
 */
import type { Ledger } from "./ledger.ts";
import { pauseOf } from "./paused.ts";
import { calendarOf, planRun } from "./plan_run.ts";
import { insertRun, type NewRun } from "./run_rows.ts";
import type { ScheduleCursor } from "./schedule_cursor.ts";
import { noteTaken } from "./taken_keys.ts";
import type { Mic } from "../calendars/mod.ts";

/** What listing needs to know. */
export interface ListingOptions {
  now: number;
  /** When the recipes were read: a process with older ones leaves a schedule that was edited since alone. */
  loadedAt: number;
  /** Slots older than this get no row each. */
  lookbackMs: number;
  drawTraceId: () => string;
  calendarVersion?: (mic: Mic) => string | undefined;
}

/** A schedule as the ledger holds it. */
export interface ScheduleRow {
  recipe: string;
  schedule_id: string;
  spec: string;
  watermark: number;
  paused_reason: string | null;
  updated_at: number;
}

/** What is written down of a schedule when it is seen for the first time. */
type Begun = Pick<ScheduleCursor, "schedule" | "spec"> & { recipe: Pick<ScheduleCursor["recipe"], "name"> };

/** Lists what is new of a schedule and returns the rows that were written. Call it within a transaction. */
export function listSchedule(ledger: Ledger, cursor: ScheduleCursor, options: ListingOptions): NewRun[] {
  const { recipe, schedule, spec } = cursor;
  const { now } = options;
  const row = ledger.get<ScheduleRow>(
    "select * from schedule where recipe = ? and schedule_id = ?",
    recipe.name,
    schedule.id,
  );
  if (row === undefined) {
    beginSchedule(ledger, cursor, now);
    cursor.lookFrom(now);
    return [];
  }
  if (row.spec !== spec) {
    if (row.updated_at <= options.loadedAt) editSchedule(ledger, cursor, Math.max(now, row.watermark), now);
    cursor.lookFrom(Math.max(now, row.watermark));
    return [];
  }
  if (now <= row.watermark) {
    cursor.lookFrom(row.watermark);
    return [];
  }
  const written = writeSlots(ledger, cursor, row, options);
  ledger.run(
    "update schedule set watermark = ? where recipe = ? and schedule_id = ? and watermark < ?",
    now,
    recipe.name,
    schedule.id,
    now,
  );
  return written;
}

/** A schedule that is seen for the first time starts now; that of a recipe that is paused starts paused. */
export function beginSchedule(ledger: Ledger, { recipe, schedule, spec }: Begun, now: number): void {
  const begun = ledger.run(
    `insert into schedule (recipe, schedule_id, spec, watermark, paused_reason, updated_at)
      values (?, ?, ?, ?, ?, ?) on conflict (recipe, schedule_id) do nothing`,
    recipe.name,
    schedule.id,
    spec,
    now,
    pauseOf(ledger, recipe.name),
    now,
  ) === 1;
  if (begun) ledger.event(now, "schedule_new", { recipe: recipe.name, schedule: schedule.id });
}

/** An edited schedule starts now: what the new text would have named in the past is not made up for. */
function editSchedule(
  ledger: Ledger,
  { recipe, schedule, spec }: ScheduleCursor,
  watermark: number,
  now: number,
): void {
  ledger.run(
    "update schedule set spec = ?, watermark = ?, updated_at = ? where recipe = ? and schedule_id = ?",
    spec,
    watermark,
    now,
    recipe.name,
    schedule.id,
  );
  ledger.event(now, "schedule_edited", { recipe: recipe.name, schedule: schedule.id });
}

function writeSlots(
  ledger: Ledger,
  cursor: ScheduleCursor,
  { watermark, paused_reason: paused }: ScheduleRow,
  { now, lookbackMs, drawTraceId, calendarVersion }: ListingOptions,
): NewRun[] {
  const { recipe, schedule } = cursor;
  const { slots, passedOver } = cursor.list(watermark, now, lookbackMs);
  if (passedOver > 0) {
    ledger.event(now, "passed_over", { recipe: recipe.name, schedule: schedule.id, count: passedOver });
  }
  const mic = calendarOf(recipe, schedule);
  const version = mic === undefined ? undefined : calendarVersion?.(mic);
  const written: NewRun[] = [];
  for (const slot of slots) {
    const run = planRun(recipe, schedule, slot, {
      kind: "live",
      traceId: drawTraceId(),
      calendarVersion: version,
    });
    if (run.state === "due") {
      const reason = paused !== null ? "paused" : isNamedTwice(ledger, run) ? "duplicate_slot" : undefined;
      if (reason !== undefined) Object.assign(run, { state: "skipped", reason });
    }
    if (insertRun(ledger, run, now)) written.push(run);
    else noteTaken(ledger, run, now);
  }
  return written;
}

/**
 * Tells whether another schedule of the recipe has a run for the same instant. The ledger is asked, however many
 * schedules the recipe has here: another process may have read a version of it with other ids.
 */
export function isNamedTwice(
  ledger: Ledger,
  { recipe, scheduleId, slotAt }: Pick<NewRun, "recipe" | "scheduleId" | "slotAt">,
): boolean {
  return ledger.get(
    `select 1 as there from run where recipe = ? and slot_at = ? and schedule_id not in (?, '')
      and not (state = 'skipped' and reason in ('holiday', 'half_day', 'duplicate_slot')) limit 1`,
    recipe,
    slotAt,
    scheduleId,
  ) !== undefined;
}
