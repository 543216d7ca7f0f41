/**
 * Runs that a person or another scheduler asks for. The same slot has the same key whoever starts it.
 *
 * @module
 */
import { calendarVersion } from "../calendars/mod.ts";
import type { CompiledRecipe, CompiledSchedule } from "../steps/compiled.ts";
import type { Ledger } from "./ledger.ts";
import { askPerson } from "./judging.ts";
import { latestSlot } from "./latest_slot.ts";
import { isNamedTwice } from "./listing.ts";
import { judgeLateRuns } from "./misfire.ts";
import { pauseOf } from "./paused.ts";
import { findPastRead, type PastRead } from "./past_slot.ts";
import { businessDayOf, calendarOf, planRun } from "./plan_run.ts";
import { manualRunKey } from "./run_key.ts";
import { findRun, insertRun, type RunRow, skipRun } from "./run_rows.ts";
import type { Slot } from "./slots.ts";
import { noteTaken } from "./taken_keys.ts";
import { whyOutside, windowOn } from "./write_window.ts";

const DAY_MS = 86_400_000;

/** What a start needs beside the recipe. */
export interface StartOptions {
  now: number;
  drawTraceId: () => string;
}

/**
 * Writes the row of a run outside every schedule, and returns its key. One that writes keeps to its window as every
 * other does.
 *
 * @throws {TypeError} When the recipe writes and its window is not open, or not known.
 */
export function addManualRun(
  ledger: Ledger,
  recipe: CompiledRecipe,
  { id, params, kind = "manual", deadlineAt, slotAt, businessDay, now, drawTraceId }: StartOptions & {
    /** Makes the key; a ULID, or what else nobody has. */
    id: string;
    params?: Readonly<Record<string, unknown>>;
    kind?: "manual" | "dry";
    /** Not begun after this, epoch milliseconds. */
    deadlineAt?: number;
    /** The moment that the run is for, epoch milliseconds. @default now */
    slotAt?: number;
    /** The session that it is for. @default that of the slot */
    businessDay?: string;
  },
): string {
  const runKey = manualRunKey(recipe.name, id);
  const outside = recipe.class === "write" && kind === "manual" ? whyOutside(recipe, now, now) : undefined;
  if (outside !== undefined) {
    throw new TypeError(`Cannot run "${recipe.name}" now: it writes, and ${outside}`);
  }
  const mic = calendarOf(recipe, recipe.schedules[0]);
  insertRun(ledger, {
    runKey,
    recipe: recipe.name,
    scheduleId: "",
    kind,
    class: recipe.class,
    slotAt: slotAt ?? now,
    businessDay: businessDay ?? businessDayOf(recipe, slotAt ?? now),
    dueAt: now,
    deadlineAt: kind === "manual" ? earlier(deadlineAt, windowEnd(recipe, now)) : deadlineAt,
    state: "due",
    recipeSha: recipe.sha256,
    ...mic !== undefined && { calendarVersion: calendarVersion(mic) },
    params: JSON.stringify({ ...recipe.params, ...params }),
    traceId: drawTraceId(),
  }, now);
  return runKey;
}

/** When the window of a recipe that writes closes on the day of an instant. */
function windowEnd(recipe: CompiledRecipe, at: number): number | undefined {
  const window = recipe.class === "write" ? windowOn(recipe, at) : undefined;
  return typeof window === "object" ? window.until : undefined;
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? a ?? b : Math.min(a, b);
}

/**
 * Writes the row of the latest slot that has passed, as a crontab line does that knows only "now", and returns it as
 * it stands: another process may have run it already. Lateness and deadline count as they do for the scheduler.
 *
 * @returns Nothing when no schedule names a slot within the lookback.
 * @throws {TypeError} When the deadline of a write is to be passed over whose window has closed.
 */
export function addLatestSlot(
  ledger: Ledger,
  recipe: CompiledRecipe,
  { now, drawTraceId, lookbackMs = 14 * DAY_MS, forceDeadline = false }: StartOptions & {
    /** @default 14 days */
    lookbackMs?: number;
    /** Run it even though its deadline has passed; the window of what writes is none that could be lifted. */
    forceDeadline?: boolean;
  },
): RunRow | undefined {
  const latest = latestSlots(recipe, now, lookbackMs);
  if (latest.length === 0) return undefined;
  return ledger.transaction(() => {
    const rows = latest.map(({ schedule, slot }) => {
      const run = planRun(recipe, schedule, slot, { kind: "live", traceId: drawTraceId() });
      if (run.state === "due" && isNamedTwice(ledger, run)) {
        Object.assign(run, { state: "skipped", reason: "duplicate_slot" });
      }
      if (!insertRun(ledger, run, now)) noteTaken(ledger, run, now);
      return { run, row: findRun(ledger, run.runKey)! }; // just written, if it was not there
    });
    // Of several schedules that name the instant one may leave it out; the run is that of another one then.
    const { run, row } = rows.find(({ row }) => !isLeftOut(row)) ?? rows[0]!; // there is one
    if (forceDeadline) forceRow(ledger, recipe, row, now);
    const { state, deadline_at } = findRun(ledger, run.runKey)!; // it is still there
    if (state !== "due") return findRun(ledger, run.runKey);
    // A pause holds for whoever starts a slot: a crontab line is a scheduler too.
    if (pauseOf(ledger, recipe.name) !== undefined) {
      skipRun(ledger, run.runKey, "paused", now);
      return findRun(ledger, run.runKey);
    }
    const deadlineAt = forceDeadline ? deadline_at ?? undefined : run.deadlineAt;
    const [verdict] = judgeLateRuns(
      [{ runKey: run.runKey, dueAt: row.due_at, deadlineAt }],
      recipe.misfire,
      now,
    );
    if (verdict?.action === "skip") skipRun(ledger, run.runKey, verdict.reason, now);
    else if (verdict?.action === "catchup") {
      ledger.run("update run set kind = 'catchup' where run_key = ?", run.runKey);
    } else if (verdict?.action === "ask") {
      askPerson(ledger, { runKey: run.runKey, recipe: recipe.name, now });
    }
    return findRun(ledger, run.runKey);
  });
}

/**
 * Finds the latest slot that has passed when its run would be refused: nobody has begun it, its day is over, and the
 * recipe reads what answers as of now. Nothing when it may run, or needs no run.
 */
export function findPastSlot(
  ledger: Ledger,
  recipe: CompiledRecipe,
  { now, lookbackMs = 14 * DAY_MS }: Pick<StartOptions, "now"> & { lookbackMs?: number },
): PastRead & { runKey: string } | undefined {
  for (const { schedule, slot } of latestSlots(recipe, now, lookbackMs)) {
    const { runKey, state, businessDay = null } = planRun(recipe, schedule, slot, {
      kind: "live",
      traceId: "",
    });
    const isOpen = state === "due" && (findRun(ledger, runKey)?.state ?? "due") === "due";
    const row = { schedule_id: schedule.id, slot_at: slot.at, business_day: businessDay };
    const past = isOpen ? findPastRead(recipe, row, now) : undefined;
    if (past !== undefined) return { runKey, ...past };
  }
  return undefined;
}

/** The latest slot that has passed, of each schedule that names its instant. */
function latestSlots(
  { schedules }: CompiledRecipe,
  now: number,
  lookbackMs: number,
): { schedule: CompiledSchedule; slot: Slot }[] {
  const found = schedules.flatMap((schedule) => {
    const slot = latestSlot(schedule, now - lookbackMs, now);
    return slot === undefined ? [] : [{ schedule, slot }];
  });
  const last = Math.max(...found.map(({ slot }) => slot.at));
  return found.filter(({ slot }) => slot.at === last);
}

const isLeftOut = ({ state, reason }: RunRow) =>
  state === "skipped" && ["holiday", "half_day", "duplicate_slot"].includes(reason ?? "");

/** Lifts the deadline of a slot that nobody has begun, also when it was passed over for it before. */
function forceRow(ledger: Ledger, recipe: CompiledRecipe, row: RunRow, now: number): void {
  const isOpen = row.state === "due" ||
    (row.state === "skipped" && row.reason === "deadline" && row.attempt === 0);
  if (!isOpen) return;
  const until = windowEnd(recipe, row.slot_at);
  if (until !== undefined && now > until) {
    throw new TypeError(
      `Cannot run "${row.run_key}" now: it writes, and ${
        whyOutside(recipe, row.slot_at, now)
      }; a deadline can be lifted, the window of a recipe ` +
        "that writes cannot",
    );
  }
  ledger.run(
    `update run set state = 'due', reason = null, finished_at = null, deadline_at = ? where run_key = ?`,
    until,
    row.run_key,
  );
  ledger.event(now, "deadline_lifted", {}, row.run_key);
}
