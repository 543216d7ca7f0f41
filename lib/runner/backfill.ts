/**
 * Slots of past days, taken up under the keys that they had or would have had. Reads alone: the past cannot be traded.
 *
 * @module
 */
import { coverage } from "../calendars/mod.ts";
import type { CompiledRecipe, CompiledSchedule } from "../steps/compiled.ts";
import { recoverExpired } from "./recovery.ts";
import type { Ledger } from "./ledger.ts";
import { addDays, dateAt, tradingDay } from "./moments.ts";
import { isOpen } from "./open_write.ts";
import { whyPastSlot } from "./past_slot.ts";
import { calendarOf, planRun, zoneOf } from "./plan_run.ts";
import {
  findRun,
  insertRun,
  type NewRun,
  reopenRun,
  type RunRow,
  type RunState,
  takeDue,
} from "./run_rows.ts";
import { eachSlot, type Slot } from "./slots.ts";
import { lastAttempts } from "./step_rows.ts";
import type { StartOptions } from "./starts.ts";

const DAY_MS = 86_400_000;
/** More days than this are a slip of the finger. */
const MOST_DAYS = 3660;

/** Which slots a backfill takes up again. */
export type BackfillMode = "missing" | "failed" | "all";

/** What a backfill covers. */
export interface BackfillOptions extends StartOptions {
  /** First and last day, local to the exchange or to the schedule's zone. */
  from: string;
  to: string;
  mode: BackfillMode;
}

/** A slot that a backfill would run. */
export interface BackfillSlot {
  /** The day that it belongs to. */
  day: string;
  run: NewRun;
  /** What its row says now; nothing when there is none. */
  was?: RunState;
}

/** What a backfill would do. */
export interface BackfillPlan {
  slots: BackfillSlot[];
  /** Slots that stay as they are, by the state of their row. */
  left: { day: string; runKey: string; state: RunState; reason?: string }[];
  /** Days without a slot, and why. */
  none: { day: string; why: string }[];
}

/** A run that a stop has given back belongs to whoever asks for it again. */
const reopens: Record<BackfillMode, readonly RunState[]> = {
  missing: ["skipped"],
  failed: ["failed", "cancelled", "unknown"],
  all: ["skipped", "failed", "cancelled", "unknown", "ok"],
};

/**
 * Finds what a backfill would run, oldest first, and changes nothing.
 *
 * @throws {TypeError} For a recipe that writes, that keeps a login alive, or that reads as of now on a past day.
 * @throws {RangeError} When the days are not all in the past, or not in its calendar.
 */
export function planBackfill(ledger: Ledger, recipe: CompiledRecipe, options: BackfillOptions): BackfillPlan {
  const { from, to, mode, now } = options;
  checkRecipe(recipe);
  for (const schedule of recipe.schedules) checkDays(recipe, schedule, options);
  const plan: BackfillPlan = { slots: [], left: [], none: [] };
  const found = recipe.schedules.flatMap((schedule) =>
    slotsOfDays(schedule, options).map((slot) => ({ schedule, slot }))
  ).sort((a, b) => a.slot.at - b.slot.at);
  const days = new Set<string>();
  const instants = new Set<number>();
  for (const { schedule, slot } of found) {
    const day = dayOf(schedule, slot);
    const planned = planRun(recipe, schedule, slot, { kind: "backfill", traceId: options.drawTraceId() });
    if (planned.state !== "due") {
      plan.none.push({
        day,
        why: planned.reason === "half_day" ? "a half-day, which it skips" : "a holiday",
      });
      continue;
    }
    days.add(day);
    const run: NewRun = { ...planned, dueAt: now, deadlineAt: undefined };
    const row = findRun(ledger, run.runKey);
    const again = instants.has(slot.at) && row === undefined;
    instants.add(slot.at);
    if (again) continue; // another schedule of the recipe names the same instant
    const wanted = row === undefined ? mode !== "failed" : isWanted(row, mode);
    if (wanted) {
      refusePast(ledger, recipe, run, { day, row, ...options });
      plan.slots.push({ day, run, was: row?.state });
    } else {plan.left.push({
        day,
        runKey: run.runKey,
        state: row?.state ?? "skipped",
        reason: row?.reason ?? undefined,
      });}
  }
  const named = new Set(plan.none.map(({ day }) => day));
  for (let day = from; day <= to; day = addDays(day, 1)) {
    if (!days.has(day) && !named.has(day)) plan.none.push({ day, why: whyNone(recipe, day) });
  }
  plan.none.sort((a, b) => a.day < b.day ? -1 : 1);
  return plan;
}

/** @throws {TypeError} When the slot would read what answers as of now, and its day is over. */
function refusePast(
  ledger: Ledger,
  recipe: CompiledRecipe,
  { runKey, scheduleId, slotAt, businessDay }: NewRun,
  { day, row, mode, now }: { day: string; row: RunRow | undefined } & Pick<BackfillOptions, "mode" | "now">,
): void {
  const slot = { schedule_id: scheduleId, slot_at: slotAt, business_day: businessDay ?? null };
  const why = whyPastSlot(recipe, slot, now, mode === "all" ? undefined : doneSteps(ledger, runKey, row));
  if (why !== undefined) throw new TypeError(`Cannot backfill "${recipe.name}" for ${day}: ${why}`);
}

/** Steps that a run keeps when it goes on where it ended. */
function doneSteps(ledger: Ledger, runKey: string, row: RunRow | undefined): ReadonlySet<string> {
  const steps = lastAttempts(ledger, runKey, row?.round ?? 0);
  return new Set([...steps].flatMap(([id, { state }]) => state === "ok" ? [id] : []));
}

function isWanted(row: RunRow, mode: BackfillMode): boolean {
  if (row.state === "due") return row.kind === "backfill";
  return reopens[mode].includes(row.state) && row.reason !== "duplicate_slot";
}

/** Makes a slot of a plan due; tells whether it is, as another process may have been faster. */
export function openSlot(
  ledger: Ledger,
  { run }: BackfillSlot,
  { mode, now }: Pick<BackfillOptions, "mode" | "now">,
): boolean {
  return ledger.transaction(() => {
    if (insertRun(ledger, { ...run, dueAt: now }, now)) return true;
    const row = findRun(ledger, run.runKey)!; // it is there, or it would have been written
    if (row.state === "due" && row.kind === "backfill") return true;
    return isWanted(row, mode) &&
      reopenRun(ledger, { runKey: run.runKey, kind: "backfill", freshRound: mode === "all", now });
  });
}

/**
 * Makes slots of past days due, for a scheduler to run, and returns their keys.
 *
 * @throws {TypeError} {RangeError} As `planBackfill` does.
 */
export function backfill(ledger: Ledger, recipe: CompiledRecipe, options: BackfillOptions): string[] {
  const { from, to, mode, now } = options;
  return ledger.transaction(() => {
    const keys = planBackfill(ledger, recipe, options).slots.filter((slot) => openSlot(ledger, slot, options))
      .map(({ run }) => run.runKey);
    ledger.event(now, "backfill", { recipe: recipe.name, from, to, mode, count: keys.length });
    return keys;
  });
}

function checkRecipe({ name, class: kind, schedules }: CompiledRecipe): void {
  if (kind === "write") {
    throw new TypeError(`Cannot backfill "${name}": it writes, and the past cannot be traded`);
  }
  if (kind === "keep-alive") {
    throw new TypeError(`Cannot backfill "${name}": it keeps a login alive, and no past login can be`);
  }
  if (schedules.length === 0) {
    throw new TypeError(`Cannot backfill "${name}": it has no schedule, so no day names a run`);
  }
}

function checkDays(
  recipe: CompiledRecipe,
  schedule: CompiledSchedule,
  { from, to, now }: BackfillOptions,
): void {
  const refuse = (why: string) =>
    new RangeError(`Cannot backfill "${recipe.name}" from ${from} to ${to}: ${why}`);
  if (to < from) throw refuse("the last day comes before the first");
  if (Date.parse(to) - Date.parse(from) > MOST_DAYS * DAY_MS) {
    throw refuse(`these are more than ${MOST_DAYS} days`);
  }
  const today = dateAt(now, zoneOf(schedule));
  if (to > today) throw refuse(`the last day is still to come, and today is ${today}`);
  const mic = calendarOf(recipe, schedule);
  if (mic === undefined) return;
  const { from: first, through: last } = coverage(mic);
  if (from < first || to > last) throw refuse(`the calendar of ${mic} covers ${first} to ${last}`);
}

const dayOf = (schedule: CompiledSchedule, slot: Slot): string =>
  slot.session ?? dateAt(slot.at, zoneOf(schedule));

function slotsOfDays(
  schedule: CompiledSchedule,
  { from, to, now }: Pick<BackfillOptions, "from" | "to" | "now">,
): Slot[] {
  const [start, end] = [Date.parse(from) - 3 * DAY_MS, Date.parse(to) + 5 * DAY_MS];
  return [...eachSlot(schedule, start, Math.min(end, now))].filter((slot) => {
    const day = dayOf(schedule, slot);
    return day >= from && day <= to;
  });
}

function whyNone(recipe: CompiledRecipe, day: string): string {
  for (const schedule of recipe.schedules) {
    const mic = calendarOf(recipe, schedule);
    const found = mic === undefined ? undefined : tradingDay(mic, day);
    if (found === "weekend") return "a weekend";
    if (found === "holiday") return "a holiday";
  }
  return "no schedule names it, or its slot is still to come";
}

/**
 * Makes one run due again. One that failed goes on where it failed unless it is to begin anew; so does one whose
 * process has died.
 *
 * @returns Whether it is due now; not so while it runs or waits.
 * @throws {TypeError} For a run that writes, or whose recipe does by now, for a day without a session, and for one that
 * is over where the run would read what answers as of now.
 */
export function rerun(
  ledger: Ledger,
  { runKey, fromStart, now, recipe }: {
    runKey: string;
    fromStart: boolean;
    now: number;
    /** The recipe as it is now. */
    recipe?: CompiledRecipe;
  },
): boolean {
  // What is found of the dead stays written down, whatever comes of this.
  ledger.transaction(() => recoverExpired(ledger, now));
  return ledger.transaction(() => {
    const row = findRun(ledger, runKey);
    if (row === undefined) return false;
    if (isOpen(row)) {
      throw new TypeError(
        `Cannot run "${runKey}" again: a write is never repeated, and the outcome of this one is unknown; ` +
          `"runs show" of it says where to look, then: hsgate settle ${runKey} ok|failed --because "what you saw"`,
      );
    }
    if (row.class === "write" || recipe?.class === "write") {
      throw new TypeError(`Cannot run "${runKey}" again: it writes, and a write is never repeated`);
    }
    if (row.state === "skipped" && row.reason === "holiday") {
      throw new TypeError(`Cannot run "${runKey}": its exchange was closed on that day`);
    }
    const freshRound = fromStart || row.state === "ok";
    const done = freshRound ? undefined : doneSteps(ledger, runKey, row);
    const past = recipe === undefined ? undefined : whyPastSlot(recipe, row, now, done);
    if (past !== undefined) throw new TypeError(`Cannot run "${runKey}" again: ${past}`);
    const kind = row.kind === "manual" ? "manual" : "backfill";
    // What a stop or a dead process has given back is due already, and waits for nobody else from now on.
    return row.state === "due"
      ? takeDue(ledger, { runKey, kind, freshRound, now })
      : reopenRun(ledger, { runKey, kind, freshRound, now });
  });
}
