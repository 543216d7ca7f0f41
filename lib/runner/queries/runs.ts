/**
 * Reads and writes the rows of runs: one for each slot, and one for each run that a person started.
 *
 * @module
 */
import { insertEvents } from "./events.ts";
import type { RecipeClass } from "../../recipes/compiled.ts";
import type { RunSlot } from "../../recipes/engine/step_context.ts";
import { isMap } from "../../foreign_values.ts";
import { readJson, rowsValue, type Store } from "../../store/store.ts";

/** Why a slot was skipped; there are no other reasons. */
export type SkipReason =
  | "misfire"
  | "superseded"
  | "deadline"
  | "overlap"
  | "holiday"
  | "half_day"
  | "calendar_unknown"
  | "paused"
  | "condition"
  | "plan"
  | "not_approved"
  | "duplicate_slot"
  | "recipe_changed"
  | "loss_accepted";

/** State of a run. */
export type RunState =
  | "due"
  | "running"
  | "waiting_approval"
  | "waiting_recovery"
  | "ok"
  | "failed"
  | "cancelled"
  | "skipped"
  | "unknown";

/** Returns whether a run has ended, with a known outcome of its writes. */
export const isEnded = ({ state }: { state: RunState }): boolean =>
  ["ok", "failed", "cancelled", "skipped"].includes(state);

/** What started a run. */
export type RunKind = "live" | "catchup" | "backfill" | "manual" | "dry";

/** Kinds of runs that only the process that started them may run; for SQL. */
export const starterOnlyKinds = "('manual', 'dry')";

/** Kinds of runs that belong to a slot and are not backfilled; for SQL. */
const scheduledKinds = "('live', 'catchup')";

/** Returns the parameters of a run. */
export const paramsOf = ({ run_key: row, params }: RunRow): Record<string, unknown> =>
  readJson(params, isMap, { table: "run", column: "params", row });

/** A row of the table `run`; instants are epoch milliseconds. */
export interface RunRow {
  run_key: string;
  recipe: string;
  /** Empty for a run that a person started. */
  schedule_id: string;
  kind: RunKind;
  class: RecipeClass;
  slot_at: number;
  business_day: string | null;
  /** 1 when the calendar does not cover the day. */
  assumed: number;
  due_at: number;
  deadline_at: number | null;
  state: RunState;
  reason: string | null;
  attempt: number;
  round: number;
  fence: number;
  holder: string | null;
  /** The account that the run acts on; null until the run is claimed. */
  account: string | null;
  lease_until: number | null;
  cancel_asked: string | null;
  recipe_sha: string;
  calendar_version: string | null;
  params: string;
  trace_id: string;
  /** The first span of the run; null when it was not traced. */
  span_id: string | null;
  started_at: number | null;
  finished_at: number | null;
}

/** Returns the slot of a run. */
export function slotOf({ schedule_id, slot_at, business_day }: SlotColumns): RunSlot {
  return {
    scheduleId: schedule_id,
    slotAt: slot_at,
    ...business_day !== null && { businessDay: business_day },
  };
}

/** The columns that determine the day of a run. */
export type SlotColumns = Pick<RunRow, "schedule_id" | "slot_at" | "business_day">;

/** A new row. */
export interface NewRun {
  runKey: string;
  recipe: string;
  scheduleId: string;
  kind: RunKind;
  class: RecipeClass;
  slotAt: number;
  businessDay?: string;
  assumed?: boolean;
  dueAt: number;
  deadlineAt?: number;
  state: "due" | "skipped" | "waiting_approval";
  reason?: string;
  recipeSha: string;
  calendarVersion?: string;
  params?: string;
  traceId: string;
}

/** Returns whether only the process that started a run may run it. */
export const isStarterOnly = ({ kind }: Pick<RunRow, "kind">): boolean => kind === "manual" || kind === "dry";

/** Returns whether the outcome of a run's writes is unknown. */
export function isUnresolved({ class: kind, state }: Pick<RunRow, "class" | "state">): boolean {
  return state === "waiting_recovery" || (kind === "write" && state === "unknown");
}

/** The columns of a new row and their types. */
const newRunColumns: readonly (readonly [name: string, type: "text" | "bigint"])[] = [
  ["run_key", "text"],
  ["recipe", "text"],
  ["schedule_id", "text"],
  ["kind", "text"],
  ["class", "text"],
  ["slot_at", "bigint"],
  ["business_day", "text"],
  ["assumed", "bigint"],
  ["due_at", "bigint"],
  ["deadline_at", "bigint"],
  ["state", "text"],
  ["reason", "text"],
  ["recipe_sha", "text"],
  ["calendar_version", "text"],
  ["params", "text"],
  ["trace_id", "text"],
  ["finished_at", "bigint"],
];

const intoRun = `insert into run (${newRunColumns.map(([name]) => name).join(", ")})`;
const insertRunSql = `${intoRun} values (${
  newRunColumns.map(() => "?").join(", ")
}) on conflict (run_key) do nothing`;
const insertRunsSql = `${intoRun}
  select ${newRunColumns.map(([, type], index) => `cast(given.value ->> ${index} as ${type})`).join(", ")}
  from json_each(?) as given where true on conflict (run_key) do nothing returning run_key`;

const newRow = (run: NewRun, now: number) => [
  run.runKey,
  run.recipe,
  run.scheduleId,
  run.kind,
  run.class,
  run.slotAt,
  run.businessDay,
  run.assumed ? 1 : 0,
  run.dueAt,
  run.deadlineAt,
  run.state,
  run.reason,
  run.recipeSha,
  run.calendarVersion,
  run.params ?? "{}",
  run.traceId,
  run.state === "skipped" ? now : undefined,
];

/** Inserts the rows whose keys do not exist, and returns the keys that are new. Call it within a transaction. */
export async function insertRuns(store: Store, runs: readonly NewRun[], now: number): Promise<Set<string>> {
  if (runs.length === 0) return new Set();
  const rows = rowsValue(runs.map((run) => newRow(run, now)));
  const added = await store.all<{ run_key: string }>(insertRunsSql, rows);
  return new Set(added.map(({ run_key }) => run_key));
}

/** Inserts a row unless its key exists; returns whether the row is new. */
export async function insertRun(store: Store, run: NewRun, now: number): Promise<boolean> {
  return await store.run(insertRunSql, ...newRow(run, now)) === 1;
}

/** Returns the run of a key. */
export async function findRun(store: Store, runKey: string): Promise<RunRow | undefined> {
  return await store.get<RunRow>("select * from run where run_key = ?", runKey);
}

/** Returns the runs with the given keys, in the order of the keys. */
export async function findRuns(store: Store, runKeys: readonly string[]): Promise<RunRow[]> {
  if (runKeys.length === 0) return [];
  return await store.all(
    "select run.* from json_each(?) as given cross join run where run_key = given.value ->> 0 order by given.key",
    rowsValue(runKeys.map((key) => [key])),
  );
}

/** Skips runs that have not begun, and returns the keys of the skipped runs. Call it within a transaction. */
export async function skipRuns(
  store: Store,
  runKeys: readonly string[],
  reason: SkipReason,
  now: number,
): Promise<string[]> {
  if (runKeys.length === 0) return [];
  const rows = await store.all<{ run_key: string }>(
    `update run set state = 'skipped', reason = ?, finished_at = ?, holder = null, lease_until = null
      where run_key in (select given.value ->> 0 from json_each(?) as given) and state in ('due', 'waiting_approval')
      returning run_key`,
    reason,
    now,
    rowsValue(runKeys.map((key) => [key])),
  );
  const skipped = new Set(rows.map(({ run_key }) => run_key));
  const inOrder = runKeys.filter((key) => skipped.has(key));
  await insertEvents(
    store,
    { at: now, kind: "skipped" },
    inOrder.map((runKey) => ({ data: { reason }, runKey })),
  );
  return inOrder;
}

/** Skips a run that has not begun; returns whether it was still waiting. */
export async function skipRun(
  store: Store,
  runKey: string,
  reason: SkipReason,
  now: number,
): Promise<boolean> {
  return await store.transaction(async () => (await skipRuns(store, [runKey], reason, now)).length === 1);
}

/** Cancels a due run, so that no process runs it; returns whether it was still due. */
export async function cancelDue(
  store: Store,
  runKey: string,
  reason: string,
  now: number,
): Promise<boolean> {
  const cancelled = await store.run(
    `update run set state = 'cancelled', reason = ?, finished_at = ?, holder = null, lease_until = null
      where run_key = ? and state = 'due'`,
    reason,
    now,
    runKey,
  ) === 1;
  if (cancelled) await store.event(now, "cancelled", { reason }, runKey);
  return cancelled;
}

/** How a run is made due again. */
interface Reopening {
  runKey: string;
  kind: RunKind;
  /** Whether successful steps run again. */
  freshRound: boolean;
  now: number;
}

/**
 * Changes the kind of a run that is due now or later, makes it due at once, and removes its deadline. Changes no run
 * that writes. Returns whether it changed the run.
 */
export async function convertDueRun(
  store: Store,
  { runKey, kind, freshRound, now }: Reopening,
): Promise<boolean> {
  const taken = await store.run(
    `update run set kind = ?, reason = null, due_at = case when due_at < ? then due_at else ? end,
      deadline_at = null, cancel_asked = null, round = round + ? where run_key = ? and class <> 'write'
      and state = 'due'`,
    kind,
    now,
    now,
    freshRound ? 1 : 0,
    runKey,
  ) === 1;
  if (taken) await store.event(now, "taken_up", { kind, freshRound }, runKey);
  return taken;
}

/**
 * Makes a run due now, if it has ended or waits for approval. Without a fresh round, successful steps keep their
 * outputs. Changes no run that writes. Returns whether it changed the run.
 */
export async function reopenRun(
  store: Store,
  { runKey, kind, freshRound, now }: Reopening,
): Promise<boolean> {
  const reopened = await store.run(
    `update run set state = 'due', kind = ?, reason = null, due_at = ?, deadline_at = null, started_at = null,
      finished_at = null, cancel_asked = null, round = round + ? where run_key = ? and class <> 'write'
      and state in ('ok', 'failed', 'cancelled', 'skipped', 'unknown', 'waiting_approval')`,
    kind,
    now,
    freshRound ? 1 : 0,
    runKey,
  ) === 1;
  if (reopened) await store.event(now, "reopened", { kind, freshRound }, runKey);
  return reopened;
}

/** The columns of a due run that are needed to decide whether it begins, waits or is skipped. */
export type DueRun = Pick<
  RunRow,
  "run_key" | "recipe" | "schedule_id" | "kind" | "due_at" | "deadline_at" | "reason" | "trace_id"
>;

/** Returns the due runs of slots, without backfill runs. The run that has been due longest comes first. */
export async function dueRuns(store: Store, now: number): Promise<DueRun[]> {
  return await store.all(
    `select run_key, recipe, schedule_id, kind, due_at, deadline_at, reason, trace_id from run where state = 'due'
      and kind in ${scheduledKinds} and due_at <= ? order by due_at, run_key`,
    now,
  );
}

/** Returns the recipes with a run in progress. */
export async function runningRecipes(store: Store): Promise<Set<string>> {
  const rows = await store.all<{ recipe: string }>("select distinct recipe from run where state = 'running'");
  return new Set(rows.map(({ recipe }) => recipe));
}

/** Returns, by recipe, the key of the oldest run whose writes are unresolved. */
export async function unresolvedRuns(store: Store): Promise<Map<string, string>> {
  const rows = await store.all<{ recipe: string; run_key: string; slot_at: number }>(
    `select recipe, run_key, slot_at from run where class = 'write' and state in ('waiting_recovery', 'unknown')`,
  );
  return new Map(rows.sort((a, b) => b.slot_at - a.slot_at).map(({ recipe, run_key }) => [recipe, run_key]));
}

/** Returns the trace ids of runs, by run key. */
export async function tracesOf(store: Store, runKeys: readonly string[]): Promise<Map<string, string>> {
  if (runKeys.length === 0) return new Map();
  const rows = await store.all<{ run_key: string; trace_id: string }>(
    "select run_key, trace_id from json_each(?) as given cross join run where run_key = given.value ->> 0",
    rowsValue(runKeys.map((key) => [key])),
  );
  return new Map(rows.map(({ run_key, trace_id }) => [run_key, trace_id]));
}

/** Returns the keys of a recipe's due runs: only those of its schedules, or all. */
export async function dueKeysOf(
  store: Store,
  recipe: string,
  which: "scheduled" | "all",
): Promise<string[]> {
  const kinds = which === "all" ? "" : `and kind in ${scheduledKinds}`;
  return (await store.all<{ run_key: string }>(
    `select run_key from run where recipe = ? and state = 'due' ${kinds}`,
    recipe,
  )).map(({ run_key }) => run_key);
}

/** Returns runs that wait for approval and whose deadline has passed. */
export async function expiredApprovals(
  store: Store,
  now: number,
): Promise<Pick<RunRow, "run_key" | "recipe">[]> {
  return await store.all(
    "select run_key, recipe from run where state = 'waiting_approval' and deadline_at < ?",
    now,
  );
}

/** Turns due runs into catch-up runs. The misfire policy does not apply to them again; only their deadlines do. */
export async function makeCatchUps(store: Store, runKeys: readonly string[]): Promise<void> {
  if (runKeys.length === 0) return;
  await store.run(
    `update run set kind = 'catchup' where state = 'due'
      and run_key in (select given.value ->> 0 from json_each(?) as given)`,
    rowsValue(runKeys.map((key) => [key])),
  );
}

/** Queues missed runs for approval. Call it within a transaction. */
export async function queueForApproval(
  store: Store,
  runs: readonly { runKey: string; recipe: string }[],
  now: number,
): Promise<void> {
  if (runs.length === 0) return;
  await store.run(
    `update run set state = 'waiting_approval', reason = 'misfire' where state = 'due'
      and run_key in (select given.value ->> 0 from json_each(?) as given)`,
    rowsValue(runs.map(({ runKey }) => [runKey])),
  );
  const events = runs.map(({ runKey, recipe }) => ({ data: { recipe }, runKey }));
  await insertEvents(store, { at: now, kind: "asked" }, events);
}

/** Makes an approved run due, as a catch-up run: the misfire policy does not apply to it again. */
export async function makeApprovedDue(store: Store, runKey: string): Promise<void> {
  await store.run("update run set state = 'due', kind = 'catchup', reason = null where run_key = ?", runKey);
}

/** Makes a run due with a different deadline, or without one, even if it was skipped. */
export async function liftDeadline(store: Store, runKey: string, until: number | undefined): Promise<void> {
  await store.run(
    `update run set state = 'due', reason = null, finished_at = null, deadline_at = ? where run_key = ?`,
    until,
    runKey,
  );
}

/**
 * Asks the processes that run a recipe to cancel its runs. Returns how many runs were asked. A run that writes is never
 * interrupted.
 */
export async function askToCancel(store: Store, recipe: string, why: string): Promise<number> {
  return await store.run(
    `update run set cancel_asked = ? where recipe = ? and state = 'running' and class <> 'write'
      and cancel_asked is null`,
    why,
    recipe,
  );
}

/** Records the trace of a run, and its first span. */
export async function setTrace(
  store: Store,
  runKey: string,
  { traceId, spanId }: { traceId: string; spanId: string },
): Promise<void> {
  await store.run("update run set trace_id = ?, span_id = ? where run_key = ?", traceId, spanId, runKey);
}

/** Skip reasons that leave the instant of a slot free for another schedule of the recipe. */
const leftOut: readonly string[] = ["holiday", "half_day", "duplicate_slot"] satisfies SkipReason[];

/**
 * Returns whether the recipe has another run for the same instant. Checks the store even if this recipe has only one
 * schedule: an earlier version of the recipe, or the version of another process, may have other schedule ids, or the
 * same id with another form of schedule and thus another key.
 */
export async function isOccupiedByOther(
  store: Store,
  run: Pick<NewRun, "recipe" | "runKey" | "slotAt">,
): Promise<boolean> {
  return (await occupyingRuns(store, [run])).some(({ runKey }) => runKey !== run.runKey);
}

/** Returns whether a listed slot prevents other runs of its recipe at the same instant. */
export const occupiesInstant = ({ state, reason }: { state: RunState; reason?: string | null }): boolean =>
  !(state === "skipped" && leftOut.includes(reason ?? ""));

/** Returns the runs in the store that occupy the instants of the given slots; see {@linkcode occupiesInstant}. */
export async function occupyingRuns(
  store: Store,
  slots: readonly Pick<NewRun, "recipe" | "slotAt">[],
): Promise<Pick<NewRun, "recipe" | "slotAt" | "runKey">[]> {
  if (slots.length === 0) return [];
  return await store.all(
    `select run.recipe, run.slot_at as "slotAt", run.run_key as "runKey"
      from json_each(?) as given cross join run
      where run.recipe = given.value ->> 0 and run.slot_at = cast(given.value ->> 1 as bigint)
        and run.schedule_id <> ''
        and not (run.state = 'skipped' and run.reason in (${leftOut.map((each) => `'${each}'`).join(", ")}))`,
    rowsValue(slots.map(({ recipe, slotAt }) => [recipe, slotAt])),
  );
}

/** Returns which of the keys belong to a run. */
export async function keysTaken(store: Store, runKeys: readonly string[]): Promise<Set<string>> {
  return new Set((await tracesOf(store, runKeys)).keys());
}

/** Returns how long the newest runs of a schedule took, newest first; omits runs that were caught up or backfilled. */
export async function durationsOf(
  store: Store,
  recipe: string,
  scheduleId: string,
  most: number,
): Promise<{ slot_at: number; took: number }[]> {
  return await store.all(
    `select slot_at, finished_at - started_at as took from run where recipe = ? and schedule_id = ?
      and kind = 'live' and state in ('ok', 'failed') and started_at is not null
      order by slot_at desc limit ${most}`,
    recipe,
    scheduleId,
  );
}
