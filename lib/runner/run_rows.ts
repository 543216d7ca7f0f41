/**
 * Rows of runs: what the ledger knows of each slot, and of each run that a person started.
 *
 * @module
 */
import type { RecipeClass } from "../steps/compiled.ts";
import type { Ledger } from "./ledger.ts";

/** Why a slot was passed over: a closed list. */
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
  | "not_approved"
  | "duplicate_slot"
  | "recipe_changed"
  | "maintenance";

/** Where a run stands. */
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

/** What brought a run about. */
export type RunKind = "live" | "catchup" | "backfill" | "manual" | "dry";

/** Kinds of runs that belong to the process that began them, and to nobody else; for statements. */
export const ownedKinds = "('manual', 'dry')";

/** Kinds of runs that a scheduler brings about by itself; for statements. */
export const scheduledKinds = "('live', 'catchup')";

/** A run as the ledger holds it; instants are epoch milliseconds. */
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
  /** The account that the run acts on, once it was claimed. */
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

/** What a new row says. */
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

/** Tells whether a run belongs to the process that began it, and to nobody else. */
export const isOwned = ({ kind }: Pick<RunRow, "kind">): boolean => kind === "manual" || kind === "dry";

/** Writes a row unless there is one of that key, and tells whether it did. */
export function insertRun(ledger: Ledger, run: NewRun, now: number): boolean {
  return ledger.run(
    `insert into run (run_key, recipe, schedule_id, kind, class, slot_at, business_day, assumed, due_at,
      deadline_at, state, reason, recipe_sha, calendar_version, params, trace_id, finished_at)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (run_key) do nothing`,
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
  ) === 1;
}

/** Returns the run of a key. */
export function findRun(ledger: Ledger, runKey: string): RunRow | undefined {
  return ledger.get<RunRow>("select * from run where run_key = ?", runKey);
}

/** Returns the keys that begin with a text, newest slot first, at most so many. */
export function keysBeginning(ledger: Ledger, prefix: string, most: number): string[] {
  return ledger.all<{ run_key: string }>(
    "select run_key from run where run_key >= ? and run_key < ? order by slot_at desc, run_key limit ?",
    prefix,
    // Keys are compared byte by byte, and no character comes after this one.
    `${prefix}\u{10ffff}`,
    most,
  ).map(({ run_key }) => run_key);
}

/** Returns the newest runs, of one recipe or of all, newest slot first. */
export function latestRuns(
  ledger: Ledger,
  { recipe, states, limit }: { recipe?: string; states: readonly RunState[]; limit: number },
): RunRow[] {
  // State by state, so that each is read from an index in its order, and no more of it than is asked for.
  const rows = states.flatMap((state) =>
    recipe === undefined
      ? ledger.all<RunRow>(
        "select * from run where state = ? order by slot_at desc, run_key limit ?",
        state,
        limit,
      )
      : ledger.all<RunRow>(
        "select * from run where recipe = ? and state = ? order by slot_at desc, run_key limit ?",
        recipe,
        state,
        limit,
      )
  );
  const byKey = (a: RunRow, b: RunRow) => a.run_key < b.run_key ? -1 : a.run_key > b.run_key ? 1 : 0;
  return rows.sort((a, b) => b.slot_at - a.slot_at || byKey(a, b)).slice(0, limit);
}

/** Ends a run that nobody has begun, and tells whether it was still waiting. */
export function skipRun(ledger: Ledger, runKey: string, reason: SkipReason, now: number): boolean {
  const skipped = ledger.run(
    `update run set state = 'skipped', reason = ?, finished_at = ?, holder = null, lease_until = null
      where run_key = ? and state in ('due', 'waiting_approval')`,
    reason,
    now,
    runKey,
  ) === 1;
  if (skipped) ledger.event(now, "skipped", { reason }, runKey);
  return skipped;
}

/** Why a run that is due is held back. */
export type Because = "recovery" | "account" | "unsafe" | "displaced" | "password" | "login";

/**
 * Writes down that something stands in the way of a run that is due, once for each thing, and tells whether that is
 * news. Whoever asks why nothing happened finds it there after the run was passed over.
 */
export function holdRun(
  ledger: Ledger,
  { runKey, because, by, now }: { runKey: string; because: Because; by?: string; now: number },
): boolean {
  const data = { because, ...by !== undefined && { by } };
  const known = ledger.get(
    "select 1 as there from event where run_key = ? and kind = 'held' and data = ? limit 1",
    runKey,
    JSON.stringify(data),
  );
  if (known !== undefined) return false;
  ledger.run("update run set reason = ? where run_key = ? and state = 'due'", `held:${because}`, runKey);
  ledger.event(now, "held", data, runKey);
  return true;
}

/** Ends a run that waits and that nobody shall take up any more; tells whether it was still waiting. */
export function cancelDue(ledger: Ledger, runKey: string, reason: string, now: number): boolean {
  const cancelled = ledger.run(
    `update run set state = 'cancelled', reason = ?, finished_at = ?, holder = null, lease_until = null
      where run_key = ? and state = 'due'`,
    reason,
    now,
    runKey,
  ) === 1;
  if (cancelled) ledger.event(now, "cancelled", { reason }, runKey);
  return cancelled;
}

/** How a run is taken up again. */
export interface Reopening {
  runKey: string;
  kind: RunKind;
  /** Steps that ended well are done anew. */
  freshRound: boolean;
  now: number;
}

/** Makes a run that is due one of a person's: no deadline, no lateness and no jitter count any more. Reads alone. */
export function takeDue(ledger: Ledger, { runKey, kind, freshRound, now }: Reopening): boolean {
  const taken = ledger.run(
    `update run set kind = ?, reason = null, due_at = case when due_at < ? then due_at else ? end,
      deadline_at = null, cancel_asked = null, round = round + ? where run_key = ? and class <> 'write'
      and state = 'due'`,
    kind,
    now,
    now,
    freshRound ? 1 : 0,
    runKey,
  ) === 1;
  if (taken) ledger.event(now, "taken_up", { kind, freshRound }, runKey);
  return taken;
}

/** Runs that have ended keep their steps; whoever has one done anew begins a round. */
export function reopenRun(ledger: Ledger, { runKey, kind, freshRound, now }: Reopening): boolean {
  const reopened = ledger.run(
    `update run set state = 'due', kind = ?, reason = null, due_at = ?, deadline_at = null, started_at = null,
      finished_at = null, cancel_asked = null, round = round + ? where run_key = ? and class <> 'write'
      and state in ('ok', 'failed', 'cancelled', 'skipped', 'unknown', 'waiting_approval')`,
    kind,
    now,
    freshRound ? 1 : 0,
    runKey,
  ) === 1;
  if (reopened) ledger.event(now, "reopened", { kind, freshRound }, runKey);
  return reopened;
}
