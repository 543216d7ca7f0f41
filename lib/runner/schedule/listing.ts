/**
 * Writes the slots of each schedule from its watermark to now into the store. Each slot is written once, even if several
 * processes list it.
 *
 * @module
 */
import type { Store } from "../../store/store.ts";
import {
  findSchedule,
  insertSchedule,
  moveWatermark,
  pauseOf,
  type ScheduleRow,
  updateSpec,
} from "../queries/schedules.ts";
import { hasEvent } from "../queries/events.ts";
import { showInstant } from "./session_times.ts";
import { calendarOf, planRun } from "./plan_run.ts";
import { findRun, insertRun, isNamedTwice, type NewRun } from "../queries/runs.ts";
import type { ScheduleCursor } from "./slots.ts";
import type { Mic } from "../../calendars/mod.ts";

/** What listing needs to know. */
export interface ListingOptions {
  now: number;
  /** When the recipes were read. A process with older recipes does not overwrite a schedule that was edited since. */
  loadedAt: number;
  /** Older slots get no row. */
  lookbackMs: number;
  drawTraceId: () => string;
  calendarVersion?: (mic: Mic) => string | undefined;
}

/** A schedule that is recorded for the first time. */
type Begun = Pick<ScheduleCursor, "schedule" | "spec"> & { recipe: Pick<ScheduleCursor["recipe"], "name"> };

/** Writes the new slots of a schedule and returns their rows. Call it within a transaction. */
export async function listSchedule(
  store: Store,
  cursor: ScheduleCursor,
  options: ListingOptions,
): Promise<NewRun[]> {
  const { recipe, schedule, spec } = cursor;
  const { now } = options;
  const row = await findSchedule(store, recipe.name, schedule.id);
  if (row === undefined) {
    await beginSchedule(store, cursor, now);
    cursor.lookFrom(now);
    return [];
  }
  if (row.spec !== spec) {
    if (row.updated_at <= options.loadedAt) {
      await editSchedule(store, cursor, Math.max(now, row.watermark), now);
    }
    cursor.lookFrom(Math.max(now, row.watermark));
    return [];
  }
  if (now <= row.watermark) {
    cursor.lookFrom(row.watermark);
    return [];
  }
  const written = await writeSlots(store, cursor, row, options);
  await moveWatermark(store, recipe.name, schedule.id, now);
  return written;
}

/** Records a new schedule. It starts now; if its recipe is paused, it starts paused. */
export async function beginSchedule(
  store: Store,
  { recipe, schedule, spec }: Begun,
  now: number,
): Promise<void> {
  const paused = await pauseOf(store, recipe.name);
  const begun = await insertSchedule(store, { recipe: recipe.name, id: schedule.id, spec, paused }, now);
  if (begun) await store.event(now, "schedule_new", { recipe: recipe.name, schedule: schedule.id });
}

/** Records an edited schedule. It starts now: past slots of the new text are not caught up. */
async function editSchedule(
  store: Store,
  { recipe, schedule, spec }: ScheduleCursor,
  watermark: number,
  now: number,
): Promise<void> {
  await updateSpec(store, { recipe: recipe.name, id: schedule.id, spec, watermark }, now);
  await store.event(now, "schedule_edited", { recipe: recipe.name, schedule: schedule.id });
}

async function writeSlots(
  store: Store,
  cursor: ScheduleCursor,
  { watermark, paused_reason: paused }: ScheduleRow,
  { now, lookbackMs, drawTraceId, calendarVersion }: ListingOptions,
): Promise<NewRun[]> {
  const { recipe, schedule } = cursor;
  const { slots, passedOver } = cursor.list(watermark, now, lookbackMs);
  if (passedOver > 0) {
    await store.event(now, "passed_over", { recipe: recipe.name, schedule: schedule.id, count: passedOver });
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
      const reason = paused !== null
        ? "paused"
        : await isNamedTwice(store, run)
        ? "duplicate_slot"
        : undefined;
      if (reason !== undefined) Object.assign(run, { state: "skipped", reason });
    }
    if (await insertRun(store, run, now)) written.push(run);
    else await recordKeyCollision(store, run, now);
  }
  return written;
}

/** Returns the slot of another run with the same key; `undefined` if no row has the key, or only this slot's own row. */
export async function collidingSlot(
  store: Store,
  { runKey, slotAt }: Pick<NewRun, "runKey" | "slotAt">,
): Promise<number | undefined> {
  const at = (await findRun(store, runKey))?.slot_at;
  return at === slotAt ? undefined : at;
}

/** Records that a slot gets no run because its key belongs to another slot. Within the transaction that listed it. */
export async function recordKeyCollision(
  store: Store,
  run: Pick<NewRun, "runKey" | "slotAt">,
  now: number,
): Promise<void> {
  const at = await collidingSlot(store, run);
  if (at === undefined) return;
  const data = { slot: showInstant(run.slotAt), by: showInstant(at) };
  // A crontab line lists the same slot many times; one event is enough.
  if (!await hasEvent(store, run.runKey, "key_taken", data)) {
    await store.event(now, "key_taken", data, run.runKey);
  }
}
