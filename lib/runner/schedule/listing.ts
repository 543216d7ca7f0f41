/**
 * Writes the slots of each schedule from its watermark to now into the store. Each slot is written once, even if
 * several processes list it. Decides about runs that are due and have not begun: late runs, and runs that overlap with
 * another run.
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
import { type Calendars, showInstant } from "../../calendars/mod.ts";
import { planRun } from "./plan_run.ts";
import {
  askToCancel,
  type DueRun,
  dueRuns,
  expiredApprovals,
  findRun,
  insertRuns,
  keysTaken,
  makeCatchUps,
  type NewRun,
  occupiesInstant,
  occupyingRuns,
  queueForApproval,
  runningRecipes,
  type SkipReason,
  skipRuns,
  unresolvedRuns,
} from "../queries/runs.ts";
import type { ScheduleCursor } from "./slots.ts";
import type { CompiledRecipe, MisfirePolicy } from "../../recipes/compiled.ts";
import { blockReasonOf, noteBlocked } from "../queries/claims.ts";

/** What {@linkcode listSchedules} needs. */
export interface ListingOptions {
  now: number;
  /**
   * When this process read the recipes. If another process has recorded an edited schedule since then, this process
   * does not overwrite it.
   */
  loadedAt: number;
  /** Slots that are older than this get no row. */
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
      cursor.seek(calendars, now);
    } else if (row.spec !== spec) {
      const watermark = Math.max(now, row.watermark);
      if (row.updated_at <= options.loadedAt) await editSchedule(store, cursor, watermark, now);
      cursor.seek(calendars, watermark);
    } else if (now <= row.watermark) {
      cursor.seek(calendars, row.watermark);
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

/**
 * Writes rows of slots, and returns the new rows. If two schedules of a recipe name the same instant, only one of the
 * two schedules gets a run for that instant.
 */
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

/** Marks a due slot as skipped if its recipe has another run for the same instant. */
async function skipDuplicates(store: Store, runs: readonly NewRun[]): Promise<void> {
  const instantOf = ({ recipe, slotAt }: Pick<NewRun, "recipe" | "slotAt">) => `${recipe}/${slotAt}`;
  const withRun = Map.groupBy(
    await occupyingRuns(store, runs.filter(({ state }) => state === "due")),
    instantOf,
  );
  const groups = Map.groupBy(runs, instantOf);
  // If the store already has a row for a slot, use the state of that row instead of the state planned here.
  const shared = [...groups.values()].filter((group) => group.length > 1).flat();
  const taken = await keysTaken(store, shared.map(({ runKey }) => runKey));
  for (const [instant, group] of groups) {
    const occupants = (withRun.get(instant) ?? []).map(({ runKey }) => runKey);
    for (const run of group) {
      if (run.state === "due" && occupants.some((runKey) => runKey !== run.runKey)) {
        Object.assign(run, { state: "skipped", reason: "duplicate_slot" });
      }
      if (!taken.has(run.runKey) && occupiesInstant(run)) occupants.push(run.runKey);
    }
  }
}

/**
 * Returns the slot of another run with the same key; `undefined` if no row has the key, or if it is this slot's own
 * row.
 */
export async function collidingSlot(
  store: Store,
  { runKey, slotAt }: Pick<NewRun, "runKey" | "slotAt">,
): Promise<number | undefined> {
  const at = (await findRun(store, runKey))?.slot_at;
  return at === slotAt ? undefined : at;
}

/**
 * Records that a slot gets no run because another slot has its key. Call it in the transaction that lists the slot.
 */
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

/** A due run of one schedule that has not begun. */
interface WaitingRun {
  runKey: string;
  dueAt: number;
  deadlineAt?: number;
}

/** The decision about a waiting run. If the run may begin as planned, there is no decision. */
type Verdict =
  | { runKey: string; action: "catchup" }
  | { runKey: string; action: "ask" }
  | { runKey: string; action: "skip"; reason: SkipReason };

/**
 * Decides about the waiting runs of one schedule, which the caller gives oldest first.
 *
 * A run is late when more than the grace period has passed since it was due. The misfire policy `all` has a maximum
 * number of late runs; beyond it, the oldest late runs are skipped.
 */
export function decideLateRuns(
  waiting: readonly WaitingRun[],
  { graceMs, action, max }: MisfirePolicy,
  now: number,
): Verdict[] {
  const isExpired = ({ deadlineAt }: WaitingRun) => deadlineAt !== undefined && now > deadlineAt;
  const expired = waiting.filter(isExpired);
  const alive = waiting.filter((run) => !isExpired(run));
  const late = alive.filter(({ dueAt }) => now - dueAt > graceMs);
  const skip = (runs: readonly WaitingRun[], reason: SkipReason): Verdict[] =>
    runs.map(({ runKey }) => ({ runKey, action: "skip", reason }));
  const verdicts = skip(expired, "deadline");
  if (action === "skip") return [...verdicts, ...skip(late, "misfire")];
  if (action === "ask") return [...verdicts, ...late.map(({ runKey }) => ({ runKey, action }))];
  // `latest` keeps no late run if a run is on time, because that run is newer than every late run.
  const most = action === "all" ? max : late.length < alive.length ? 0 : 1;
  const kept = most === 0 ? [] : late.slice(-most);
  const rest = late.slice(0, late.length - kept.length);
  return [
    ...verdicts,
    ...skip(rest, action === "all" ? "misfire" : "superseded"),
    ...kept.map(({ runKey }) => ({ runKey, action: "catchup" as const })),
  ];
}

/** Recipes by name. */
export type Recipes = ReadonlyMap<string, CompiledRecipe>;

/** A run that was skipped. */
export interface Skipped {
  runKey: string;
  recipe: string;
  reason: SkipReason;
  traceId?: string;
}

/** The decisions about late runs. */
interface LateDecisions {
  skipped: Skipped[];
  /** Keys of runs that now wait for approval. */
  asked: string[];
  /** Runs that are still due, earliest due time first. */
  waiting: DueRun[];
}

/**
 * Decides about late runs, runs past their deadline, and runs that were not approved in time. Call it within a
 * transaction.
 */
export async function applyMisfirePolicy(
  store: Store,
  recipes: Recipes,
  now: number,
): Promise<LateDecisions> {
  const due = await dueRuns(store, now);
  const overdue = due.filter(({ due_at }) => due_at < now);
  const traces = new Map(due.map(({ run_key, trace_id }) => [run_key, trace_id]));
  const toSkip: Skipped[] = (await expiredApprovals(store, now))
    .map(({ run_key: runKey, recipe }) => ({ runKey, recipe, reason: "deadline" }));
  const toCatchUp: string[] = [];
  const toAsk: { runKey: string; recipe: string }[] = [];
  for (const waiting of Map.groupBy(overdue, (row) => `${row.recipe}/${row.schedule_id}`).values()) {
    const name = waiting[0]!.recipe; // a group has at least one run
    const recipe = recipes.get(name);
    if (recipe === undefined) continue;
    for (const { runKey, ...verdict } of decideSchedule(recipe, waiting, now)) {
      if (verdict.action === "skip") {
        toSkip.push({ runKey, recipe: name, reason: verdict.reason, traceId: traces.get(runKey) });
      }
      if (verdict.action === "catchup") toCatchUp.push(runKey);
      if (verdict.action === "ask") toAsk.push({ runKey, recipe: name });
    }
  }
  const skipped = await skipAll(store, toSkip, now);
  await makeCatchUps(store, toCatchUp);
  await queueForApproval(store, toAsk, now);
  const late = new Set(toCatchUp);
  const decidedKeys = new Set([...skipped, ...toAsk].map(({ runKey }) => runKey));
  const waiting = due.flatMap((row) =>
    decidedKeys.has(row.run_key) ? [] : [late.has(row.run_key) ? { ...row, kind: "catchup" as const } : row]
  );
  return { skipped, asked: toAsk.map(({ runKey }) => runKey), waiting };
}

/** Skips runs, with one statement for each reason. Returns the runs that it skipped. */
async function skipAll(store: Store, runs: readonly Skipped[], now: number): Promise<Skipped[]> {
  const skipped = new Set<string>();
  for (const [reason, group] of Map.groupBy(runs, ({ reason }) => reason)) {
    const keys = group.map(({ runKey }) => runKey);
    for (const key of await skipRuns(store, keys, reason, now)) skipped.add(key);
  }
  return runs.filter(({ runKey }) => skipped.has(runKey));
}

/** Decides about the runs of one schedule that are due. */
function decideSchedule(recipe: CompiledRecipe, rows: readonly DueRun[], now: number): Verdict[] {
  // A catch-up run was allowed to be late; only its deadline still counts.
  const expired = rows.filter(({ kind, deadline_at }) =>
    kind === "catchup" && deadline_at !== null && now > deadline_at
  );
  const live = rows.filter(({ kind }) => kind === "live").map((row) => ({
    runKey: row.run_key,
    dueAt: row.due_at,
    deadlineAt: row.deadline_at ?? undefined,
  }));
  return [
    ...expired.map(({ run_key: runKey }): Verdict => ({ runKey, action: "skip", reason: "deadline" })),
    ...decideLateRuns(live, recipe.misfire, now),
  ];
}

/**
 * Decides about runs that are due while an earlier run of the same recipe is running or has an unresolved write. At
 * most one run of a recipe that writes waits for a block to end; otherwise orders would go out for every slot that has
 * passed. Call it within a transaction.
 *
 * @param due The runs that are due. By default they are read from the store.
 */
export async function decideOverlaps(
  store: Store,
  recipes: Recipes,
  now: number,
  due?: readonly DueRun[],
): Promise<Skipped[]> {
  const rows = due ?? await dueRuns(store, now);
  if (rows.length === 0) return [];
  const running = await runningRecipes(store);
  const unresolved = await unresolvedRuns(store);
  const toSkip: Skipped[] = [];
  for (const [name, all] of Map.groupBy(rows, (row) => row.recipe)) {
    const recipe = recipes.get(name);
    if (recipe === undefined) continue;
    const isRunning = running.has(name);
    const open = unresolved.get(name);
    const { runs, reason } = runsToSkip(recipe, all, { isRunning, isUnresolved: open !== undefined });
    for (const { run_key: runKey, trace_id: traceId } of runs) {
      if (open !== undefined) await noteBlocked(store, { runKey, because: "recovery", by: open, now });
      toSkip.push({ runKey, recipe: name, reason, traceId });
    }
    if (recipe.overlap === "cancel" && isRunning) await askToCancel(store, name, "overlap");
  }
  return await skipAll(store, toSkip, now);
}

function runsToSkip(
  { class: kind, overlap, misfire }: CompiledRecipe,
  all: readonly DueRun[],
  { isRunning, isUnresolved }: { isRunning: boolean; isUnresolved: boolean },
): { runs: readonly DueRun[]; reason: SkipReason } {
  const isWrite = kind === "write";
  // Approved runs are kept. A late write that the misfire policy has allowed counts like a write on time.
  const waiting = all.filter((row) => row.kind === "live" || (isWrite && misfire.action !== "ask"));
  const isBusy = isRunning || (isWrite && isUnresolved);
  const isHeld = isWrite && waiting.some(({ reason }) => blockReasonOf(reason) !== undefined);
  if (overlap === "skip" && isBusy) return { runs: waiting, reason: "overlap" };
  const isOne = overlap === "queue" ? isBusy || isHeld : overlap === "skip" && isHeld;
  return { runs: isOne ? waiting.slice(0, -1) : [], reason: "superseded" };
}
