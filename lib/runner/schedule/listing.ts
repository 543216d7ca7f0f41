/**
 * Writes the slots of each schedule from its watermark to now into the store. Each slot is written once, even if several
 * processes list it.
 *
 * @module
 */
import type { Store } from "../../store/store.ts";
import {
  findSchedules,
  insertSchedules,
  moveWatermarks,
  type ScheduleName,
  type ScheduleRow,
  updateSpec,
} from "../queries/schedules.ts";
import { hasEvent, insertEvents } from "../queries/events.ts";
import { showInstant } from "../../calendars/trading_days.ts";
import { planRun } from "./plan_run.ts";
import { findRun, insertRuns, isNamed, keysTaken, namersOf, type NewRun } from "../queries/runs.ts";
import type { ScheduleCursor } from "./slots.ts";
import type { Calendars } from "../../calendars/mod.ts";

/** What listing needs to know. */
export interface ListingOptions {
  now: number;
  /** When the recipes were read. A process with older recipes does not overwrite a schedule that was edited since. */
  loadedAt: number;
  /** Older slots get no row. */
  lookbackMs: number;
  drawTraceId: () => string;
  calendars: Calendars;
  /** The rows of the schedules. @default read from the store */
  rows?: readonly ScheduleRow[];
}

/**
 * Writes the new slots of schedules and returns their rows. Call it within a transaction.
 *
 * The number of queries is small and does not grow with the number of unchanged schedules.
 */
export async function listSchedules(
  store: Store,
  cursors: readonly ScheduleCursor[],
  options: ListingOptions,
): Promise<NewRun[]> {
  const { now, calendars } = options;
  const given = options.rows ?? await findSchedules(store, cursors.map(nameOf));
  const rows = new Map(given.map((row) => [`${row.recipe}/${row.schedule_id}`, row]));
  const begun: ScheduleCursor[] = [];
  const listed: ScheduleCursor[] = [];
  const runs: NewRun[] = [];
  for (const cursor of cursors) {
    const { recipe, schedule, spec } = cursor;
    const row = rows.get(`${recipe.name}/${schedule.id}`);
    if (row === undefined) {
      begun.push(cursor);
      cursor.lookFrom(calendars, now);
    } else if (row.spec !== spec) {
      const watermark = Math.max(now, row.watermark);
      if (row.updated_at <= options.loadedAt) await editSchedule(store, cursor, watermark, now);
      cursor.lookFrom(calendars, watermark);
    } else if (now <= row.watermark) {
      cursor.lookFrom(calendars, row.watermark);
    } else {
      listed.push(cursor);
      runs.push(...await planSlots(store, cursor, row, options));
    }
  }
  await beginSchedules(store, begun.map((cursor) => ({ ...nameOf(cursor), spec: cursor.spec })), now);
  const written = await writeRuns(store, runs, now);
  await moveWatermarks(store, listed.map(nameOf), now);
  return written;
}

const nameOf = ({ recipe, schedule }: ScheduleCursor): ScheduleName => ({
  recipe: recipe.name,
  id: schedule.id,
});

/** Records new schedules. A schedule starts now; if its recipe is paused, it starts paused. */
export async function beginSchedules(
  store: Store,
  schedules: readonly (ScheduleName & { spec: string })[],
  now: number,
): Promise<void> {
  const begun = await insertSchedules(store, schedules, now);
  const events = begun.map(({ recipe, schedule_id: schedule }) => ({ data: { recipe, schedule } }));
  await insertEvents(store, { at: now, kind: "schedule_new" }, events);
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

/** Returns the rows of a schedule's slots since its watermark. */
async function planSlots(
  store: Store,
  cursor: ScheduleCursor,
  { watermark, paused_reason: paused }: ScheduleRow,
  { now, lookbackMs, drawTraceId, calendars }: ListingOptions,
): Promise<NewRun[]> {
  const { recipe, schedule } = cursor;
  const { slots, passedOver } = cursor.list(calendars, watermark, now, lookbackMs);
  if (passedOver > 0) {
    await store.event(now, "passed_over", { recipe: recipe.name, schedule: schedule.id, count: passedOver });
  }
  if (slots.length === 0) return [];
  return slots.map((slot) => {
    const run = planRun(calendars, recipe, schedule, slot, { kind: "live", traceId: drawTraceId() });
    if (run.state === "due" && paused !== null) Object.assign(run, { state: "skipped", reason: "paused" });
    return run;
  });
}

/** Writes rows of slots, and returns the new rows. If two schedules of a recipe name an instant, it runs once. */
async function writeRuns(store: Store, runs: readonly NewRun[], now: number): Promise<NewRun[]> {
  await skipDuplicates(store, runs);
  const added = await insertRuns(store, runs, now);
  const written: NewRun[] = [];
  for (const run of runs) {
    // If two slots have the same key, the first slot has the row.
    if (added.delete(run.runKey)) written.push(run);
    else await recordKeyCollision(store, run, now);
  }
  return written;
}

/** Marks a due slot as skipped if another schedule of its recipe has a run for the same instant. */
async function skipDuplicates(store: Store, runs: readonly NewRun[]): Promise<void> {
  const instantOf = ({ recipe, slotAt }: Pick<NewRun, "recipe" | "slotAt">) => `${recipe}/${slotAt}`;
  const namers = Map.groupBy(await namersOf(store, runs.filter(({ state }) => state === "due")), instantOf);
  const groups = Map.groupBy(runs, instantOf);
  // If the store has a row for a slot, the state of that row counts, not the state that is planned here.
  const shared = [...groups.values()].filter((group) => group.length > 1).flat();
  const taken = await keysTaken(store, shared.map(({ runKey }) => runKey));
  for (const [instant, group] of groups) {
    const named = (namers.get(instant) ?? []).map(({ scheduleId }) => scheduleId);
    for (const run of group) {
      if (run.state === "due" && named.some((id) => id !== run.scheduleId)) {
        Object.assign(run, { state: "skipped", reason: "duplicate_slot" });
      }
      if (!taken.has(run.runKey) && isNamed(run)) named.push(run.scheduleId);
    }
  }
}

/** Returns the slot of another run with the same key; `undefined` if no row has the key, or only this slot's own row. */
export async function collidingSlot(
  store: Store,
  { runKey, slotAt }: Pick<NewRun, "runKey" | "slotAt">,
): Promise<number | undefined> {
  const at = (await findRun(store, runKey))?.slot_at;
  return at === slotAt ? undefined : at;
}

/** Records that a slot gets no run because another slot has its key. Call it in the transaction that lists the slot. */
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
