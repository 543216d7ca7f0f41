/**
 * Adds runs that a person or an external scheduler starts. The key of a slot does not depend on who starts its run.
 *
 * @module
 */
import type { Calendars } from "../../calendars/mod.ts";
import { versionOf } from "../../recipes/powers.ts";
import type { CompiledRecipe, CompiledSchedule } from "../../recipes/compiled.ts";
import type { Store } from "../../store/store.ts";
import { decideLateRuns, recordKeyCollision } from "./listing.ts";
import { latestSlot, type Slot } from "./slots.ts";
import { pauseOf } from "../queries/schedules.ts";
import { findPastRead, type PastRead } from "./past_slot.ts";
import { businessDayOf, calendarOf } from "../../recipes/engine/step_context.ts";
import { manualRunKey, planRun, whyOutside, windowOn } from "./plan_run.ts";
import {
  findRun,
  insertRun,
  isOccupiedByOther,
  liftDeadline,
  makeCatchUps,
  occupiesInstant,
  queueForApproval,
  type RunRow,
  skipRun,
} from "../queries/runs.ts";

const DAY_MS = 86_400_000;

/** What a start needs in addition to the recipe. */
export interface StartOptions {
  now: number;
  drawTraceId: () => string;
  calendars: Calendars;
}

/**
 * Writes the row of a manual run, a dry run or a nested run, and returns its key. A manual run that writes must be
 * within its window.
 *
 * @throws {TypeError} When the recipe writes and its window is not open or not known.
 */
export async function addManualRun(
  store: Store,
  recipe: CompiledRecipe,
  { id, params, kind = "manual", deadlineAt, slotAt, businessDay, now, drawTraceId, calendars }:
    & StartOptions
    & {
      /** Part of the key; a ULID or another unique id. */
      id: string;
      params?: Readonly<Record<string, unknown>>;
      kind?: "manual" | "dry";
      /** Last instant at which the run may begin, epoch milliseconds. */
      deadlineAt?: number;
      /** The instant that the run is for, epoch milliseconds. @default now */
      slotAt?: number;
      /** Date of the session that the run is for. @default the date of `slotAt` at the recipe's exchange */
      businessDay?: string;
    },
): Promise<string> {
  const runKey = manualRunKey(recipe.name, id);
  const outside = recipe.class === "write" && kind === "manual"
    ? whyOutside(calendars, recipe, now, now)
    : undefined;
  if (outside !== undefined) {
    throw new TypeError(`Cannot run "${recipe.name}" now: it writes, and ${outside}`);
  }
  const mic = calendarOf(recipe, recipe.schedules[0]);
  await insertRun(store, {
    runKey,
    recipe: recipe.name,
    scheduleId: "",
    kind,
    class: recipe.class,
    slotAt: slotAt ?? now,
    businessDay: businessDay ?? businessDayOf(recipe, slotAt ?? now),
    dueAt: now,
    deadlineAt: kind === "manual" ? earlier(deadlineAt, windowEnd(calendars, recipe, now)) : deadlineAt,
    state: "due",
    recipeSha: versionOf(recipe),
    ...mic !== undefined && { calendarVersion: calendars.version(mic) },
    params: JSON.stringify({ ...recipe.params, ...params }),
    traceId: drawTraceId(),
  }, now);
  return runKey;
}

/**
 * Returns the end of the window on the day of an instant; `undefined` for a recipe that only reads, and on a day
 * without a window.
 */
function windowEnd(calendars: Calendars, recipe: CompiledRecipe, at: number): number | undefined {
  const window = recipe.class === "write" ? windowOn(calendars, recipe, at) : undefined;
  return typeof window === "object" ? window.until : undefined;
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? a ?? b : Math.min(a, b);
}

/**
 * Writes the row of the latest past slot, for a crontab line that knows only the current time. Applies the misfire
 * policy and the deadline like the scheduler.
 *
 * @returns The row as it is now: another process may have run the slot already. `undefined` if no slot is within the
 * look-back.
 * @throws {TypeError} When `forceDeadline` is set for a write whose window has closed.
 */
export async function addLatestSlot(
  store: Store,
  recipe: CompiledRecipe,
  { now, drawTraceId, calendars, lookbackMs = 14 * DAY_MS, forceDeadline = false }: StartOptions & {
    /** @default 14 days */
    lookbackMs?: number;
    /** Runs the slot even if its deadline has passed. The window of a recipe that writes cannot be overridden. */
    forceDeadline?: boolean;
  },
): Promise<RunRow | undefined> {
  const latest = latestSlots(calendars, recipe, now, lookbackMs);
  if (latest.length === 0) return undefined;
  return await store.transaction(async () => {
    const rows = await Array.fromAsync(latest, async ({ schedule, slot }) => {
      const run = planRun(calendars, recipe, schedule, slot, { kind: "live", traceId: drawTraceId() });
      if (run.state === "due" && await isOccupiedByOther(store, run)) {
        Object.assign(run, { state: "skipped", reason: "duplicate_slot" });
      }
      if (!await insertRun(store, run, now)) await recordKeyCollision(store, run, now);
      return { run, row: (await findRun(store, run.runKey))! }; // written above, or there before
    });
    // If several schedules name the instant and one of them skips it, the run of another schedule counts. At least one
    // schedule names the instant.
    const { run, row } = rows.find(({ row }) => occupiesInstant(row)) ?? rows[0]!;
    if (forceDeadline) await forceRow(store, recipe, row, { calendars, now });
    const { state, deadline_at } = (await findRun(store, run.runKey))!; // the same transaction has found this row above
    if (state !== "due") return await findRun(store, run.runKey);
    // A pause also applies to crontab lines, because they start slots like a scheduler.
    if (await pauseOf(store, recipe.name) !== undefined) {
      await skipRun(store, run.runKey, "paused", now);
      return await findRun(store, run.runKey);
    }
    const deadlineAt = forceDeadline ? deadline_at ?? undefined : run.deadlineAt;
    const [verdict] = decideLateRuns(
      [{ runKey: run.runKey, dueAt: row.due_at, deadlineAt }],
      recipe.misfire,
      now,
    );
    if (verdict?.action === "skip") await skipRun(store, run.runKey, verdict.reason, now);
    else if (verdict?.action === "catchup") {
      await makeCatchUps(store, [run.runKey]);
    } else if (verdict?.action === "ask") {
      await queueForApproval(store, [{ runKey: run.runKey, recipe: recipe.name }], now);
    }
    return await findRun(store, run.runKey);
  });
}

/**
 * Returns the latest past slot if its run would fail: the run has not begun, the day of the slot is over, and a step
 * reads data that the broker reports only for the present. Returns `undefined` if the slot may run or needs no run.
 */
export async function findPastSlot(
  store: Store,
  recipe: CompiledRecipe,
  { now, calendars, lookbackMs = 14 * DAY_MS }: Pick<StartOptions, "now" | "calendars"> & {
    lookbackMs?: number;
  },
): Promise<PastRead & { runKey: string } | undefined> {
  for (const { schedule, slot } of latestSlots(calendars, recipe, now, lookbackMs)) {
    const { runKey, state, businessDay = null } = planRun(calendars, recipe, schedule, slot, {
      kind: "live",
      traceId: "",
    });
    const isOpen = state === "due" && ((await findRun(store, runKey))?.state ?? "due") === "due";
    const row = { schedule_id: schedule.id, slot_at: slot.at, business_day: businessDay };
    const past = isOpen ? findPastRead(calendars, recipe, row, now) : undefined;
    if (past !== undefined) return { runKey, ...past };
  }
  return undefined;
}

/** Returns the latest past slot, once for each schedule that names its instant. */
function latestSlots(
  calendars: Calendars,
  { schedules }: CompiledRecipe,
  now: number,
  lookbackMs: number,
): { schedule: CompiledSchedule; slot: Slot }[] {
  const found = schedules.flatMap((schedule) => {
    const slot = latestSlot(calendars, schedule, now - lookbackMs, now);
    return slot === undefined ? [] : [{ schedule, slot }];
  });
  const last = Math.max(...found.map(({ slot }) => slot.at));
  return found.filter(({ slot }) => slot.at === last);
}

/**
 * Removes the deadline of a slot whose run has not begun, even if the slot was skipped because of its deadline. For a
 * recipe that writes, the end of its window becomes the deadline.
 */
async function forceRow(
  store: Store,
  recipe: CompiledRecipe,
  row: RunRow,
  { calendars, now }: Pick<StartOptions, "calendars" | "now">,
): Promise<void> {
  const isOpen = row.state === "due" ||
    (row.state === "skipped" && row.reason === "deadline" && row.attempt === 0);
  if (!isOpen) return;
  const until = windowEnd(calendars, recipe, row.slot_at);
  if (until !== undefined && now > until) {
    throw new TypeError(
      `Cannot run "${row.run_key}" now: it writes, and ${
        whyOutside(calendars, recipe, row.slot_at, now)
      }; you can override a deadline, but not the window of a ` +
        "recipe that writes",
    );
  }
  await liftDeadline(store, row.run_key, until);
  await store.event(now, "deadline_lifted", {}, row.run_key);
}
