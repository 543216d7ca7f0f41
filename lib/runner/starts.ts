/**
 * Runs that a person or another scheduler asks for. The same slot has the same key whoever starts it.
 *
 * @module
 */
import { calendarZone } from "../calendars/mod.ts";
import type { CompiledRecipe, CompiledSchedule } from "../steps/compiled.ts";
import type { Ledger } from "./ledger.ts";
import { judgeLateRuns } from "./misfire.ts";
import { dateAt } from "./moments.ts";
import { calendarOf, planRun } from "./plan_run.ts";
import { manualRunKey } from "./run_key.ts";
import { findRun, insertRun, reopenRun, type RunRow, skipRun } from "./run_rows.ts";
import { eachSlot, type Slot } from "./slots.ts";

const DAY_MS = 86_400_000;

/** What a start needs beside the recipe. */
export interface StartOptions {
  now: number;
  drawTraceId: () => string;
}

/** Writes the row of a run outside every schedule, and returns its key. */
export function addManualRun(
  ledger: Ledger,
  recipe: CompiledRecipe,
  { id, params, kind = "manual", now, drawTraceId }: StartOptions & {
    /** Makes the key; a ULID, or what else nobody has. */
    id: string;
    params?: Readonly<Record<string, unknown>>;
    kind?: "manual" | "dry";
  },
): string {
  const runKey = manualRunKey(recipe.name, id);
  insertRun(ledger, {
    runKey,
    recipe: recipe.name,
    scheduleId: "",
    kind,
    class: recipe.class,
    slotAt: now,
    businessDay: businessDayOf(recipe, now),
    dueAt: now,
    state: "due",
    recipeSha: recipe.sha256,
    params: JSON.stringify({ ...recipe.params, ...params }),
    traceId: drawTraceId(),
  }, now);
  return runKey;
}

function businessDayOf(recipe: CompiledRecipe, now: number): string | undefined {
  const mic = calendarOf(recipe, recipe.schedules[0]);
  return mic === undefined ? undefined : dateAt(now, calendarZone[mic]);
}

/**
 * Writes the row of the latest slot that has passed, as a crontab line does that knows only "now", and returns it as
 * it stands: another process may have run it already. Lateness and deadline count as they do for the scheduler.
 *
 * @returns Nothing when no schedule names a slot within the lookback.
 */
export function addLatestSlot(
  ledger: Ledger,
  recipe: CompiledRecipe,
  { now, drawTraceId, lookbackMs = 14 * DAY_MS, forceDeadline = false }: StartOptions & {
    /** @default 14 days */
    lookbackMs?: number;
    /** Run it even though its deadline has passed. */
    forceDeadline?: boolean;
  },
): RunRow | undefined {
  let latest: { schedule: CompiledSchedule; slot: Slot } | undefined;
  for (const schedule of recipe.schedules) {
    const slot = [...eachSlot(schedule, now - lookbackMs, now)].at(-1);
    if (slot !== undefined && (latest === undefined || slot.at > latest.slot.at)) latest = { schedule, slot };
  }
  if (latest === undefined) return undefined;
  const run = planRun(recipe, latest.schedule, latest.slot, { kind: "live", traceId: drawTraceId() });
  return ledger.transaction(() => {
    insertRun(ledger, run, now);
    const row = findRun(ledger, run.runKey)!; // just written, if it was not there
    if (row.state !== "due") return row;
    if (forceDeadline) ledger.run("update run set deadline_at = null where run_key = ?", run.runKey);
    const [verdict] = judgeLateRuns(
      [{ runKey: run.runKey, dueAt: row.due_at, deadlineAt: forceDeadline ? undefined : run.deadlineAt }],
      recipe.misfire,
      now,
    );
    if (verdict?.action === "skip") skipRun(ledger, run.runKey, verdict.reason, now);
    else if (verdict?.action === "catchup") {
      ledger.run("update run set kind = 'catchup' where run_key = ?", run.runKey);
    } else if (verdict?.action === "ask") {
      ledger.run(
        "update run set state = 'waiting_approval', reason = 'misfire' where run_key = ?",
        run.runKey,
      );
    }
    return findRun(ledger, run.runKey);
  });
}

/** Which slots a backfill takes up again. */
export type BackfillMode = "missing" | "failed" | "all";

/** What a backfill covers. */
export interface BackfillOptions extends StartOptions {
  /** First and last day, local to the exchange or to the schedule's zone. */
  from: string;
  to: string;
  mode: BackfillMode;
}

const reopens: Record<BackfillMode, readonly string[]> = {
  missing: ["skipped"],
  failed: ["failed", "cancelled", "unknown"],
  all: ["skipped", "failed", "cancelled", "unknown", "ok"],
};

/**
 * Makes slots of past days due, under the keys that they had or would have had, and returns those keys.
 *
 * @throws {TypeError} For a recipe that writes: the past cannot be traded.
 */
export function backfill(ledger: Ledger, recipe: CompiledRecipe, options: BackfillOptions): string[] {
  if (recipe.class === "write") {
    throw new TypeError(`Cannot backfill "${recipe.name}": it writes, and the past cannot be traded`);
  }
  const { from, to, mode, now, drawTraceId } = options;
  const keys: string[] = [];
  ledger.transaction(() => {
    for (const schedule of recipe.schedules) {
      for (const slot of slotsOfDays(schedule, from, to, now)) {
        const planned = planRun(recipe, schedule, slot, { kind: "backfill", traceId: drawTraceId() });
        if (planned.state !== "due") continue;
        const run = { ...planned, dueAt: now, deadlineAt: undefined };
        const row = findRun(ledger, run.runKey);
        const taken = row === undefined
          ? mode !== "failed" && insertRun(ledger, run, now)
          : reopens[mode].includes(row.state) && reopenRun(ledger, {
            runKey: run.runKey,
            kind: "backfill",
            freshRound: mode === "all",
            now,
          });
        if (taken) keys.push(run.runKey);
      }
    }
    ledger.event(now, "backfill", { recipe: recipe.name, from, to, mode, count: keys.length });
  });
  return keys;
}

function* slotsOfDays(schedule: CompiledSchedule, from: string, to: string, now: number): Generator<Slot> {
  const zone = zoneOf(schedule);
  const [start, end] = [Date.parse(from) - 3 * DAY_MS, Date.parse(to) + 5 * DAY_MS];
  for (const slot of eachSlot(schedule, start, Math.min(end, now))) {
    const day = slot.session ?? dateAt(slot.at, zone);
    if (slot.skipped === undefined && day >= from && day <= to) yield slot;
  }
}

/** Returns the zone that a schedule's days are counted in. */
export function zoneOf(schedule: CompiledSchedule): string {
  if (schedule.form === "cron") return schedule.timezone;
  const mic = schedule.form === "calendar" ? schedule.mic : schedule.while?.mic;
  return mic === undefined ? "UTC" : calendarZone[mic];
}

/**
 * Makes one run due again. One that failed goes on where it failed unless it is to begin anew.
 *
 * @throws {TypeError} For a run that writes.
 */
export function rerun(
  ledger: Ledger,
  { runKey, fromStart, now }: { runKey: string; fromStart: boolean; now: number },
): boolean {
  return ledger.transaction(() => {
    const row = findRun(ledger, runKey);
    if (row === undefined) return false;
    if (row.class === "write") {
      throw new TypeError(`Cannot run "${runKey}" again: it writes, and a write is never repeated`);
    }
    const freshRound = fromStart || row.state === "ok";
    return reopenRun(ledger, {
      runKey,
      kind: row.kind === "manual" ? "manual" : "backfill",
      freshRound,
      now,
    });
  });
}
