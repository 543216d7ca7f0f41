/**
 * Reads and writes the claims of runs, the blocks of due runs, and leases by name. A lease has one holder until it
 * expires; its fence number increases with each new holder.
 *
 * @module
 */
import { type BlockReason, hasEvent } from "./events.ts";
import type { Store } from "../../store/store.ts";
import { type RunRow, type RunState, starterOnlyKinds } from "./runs.ts";

/** The columns of a due run that claiming needs. */
export type ClaimableRun = Pick<
  RunRow,
  "run_key" | "recipe" | "kind" | "class" | "due_at" | "deadline_at" | "recipe_sha" | "round"
>;

/**
 * Returns runs that are due and that any scheduler may begin, earliest due time first, at most `most`.
 *
 * @param after The last run of the previous page.
 */
export async function duePage(
  store: Store,
  { now, most, after = { due_at: Number.MIN_SAFE_INTEGER, run_key: "" } }: {
    now: number;
    most: number;
    after?: Pick<RunRow, "due_at" | "run_key">;
  },
): Promise<ClaimableRun[]> {
  // The limit is part of the SQL text. With the limit as a parameter, SQLite would prepare the statement again each
  // time.
  return await store.all(
    `select run_key, recipe, kind, class, due_at, deadline_at, recipe_sha, round from run where state = 'due' and due_at <= ? and kind not in ${starterOnlyKinds}
      and (due_at, run_key) > (?, ?) order by due_at, run_key limit ${most}`,
    now,
    after.due_at,
    after.run_key,
  );
}

/** Returns whether any run that a scheduler may begin is due now, and when the next such run becomes due. */
export async function nextDue(
  store: Store,
  now: number,
): Promise<{ isAnyDue: boolean; laterAt: number | undefined }> {
  const row = await store.get<{ is_any_due: number; later: number | null }>(
    `select exists (select 1 from run where state = 'due' and due_at <= ? and kind not in ${starterOnlyKinds}) as is_any_due,
      (select due_at from run where state = 'due' and due_at > ? and kind not in ${starterOnlyKinds}
        order by due_at limit 1) as later`,
    now,
    now,
  );
  return { isAnyDue: row?.is_any_due === 1, laterAt: row?.later ?? undefined };
}

/** Returns when the first lease of a running run expires; `undefined` if no run is running. */
export async function firstLeaseEnd(store: Store): Promise<number | undefined> {
  return (await store.get<{ at: number | null }>(
    "select min(lease_until) as at from run where state = 'running'",
  ))?.at ?? undefined;
}

/**
 * Reserves a due manual run for this process until an instant, or extends the reservation. Returns `false` if another
 * process has reserved the run. A run that was just created, or was just made due again, has no reservation.
 */
export async function reserveRun(
  store: Store,
  { runKey, holder, until }: { runKey: string; holder: string; until: number },
): Promise<boolean> {
  return await store.run(
    `update run set holder = ?, lease_until = ? where run_key = ? and state = 'due' and kind in ${starterOnlyKinds}
      and (holder is null or holder = ?)`,
    holder,
    until,
    runKey,
    holder,
  ) === 1;
}

/** Who holds a run. */
export interface RunHolder {
  runKey: string;
  holder: string;
  fence: number;
}

/** Begins a new round of a due run, in which no step keeps an earlier output. */
export async function startRound(store: Store, runKey: string): Promise<void> {
  await store.run("update run set round = round + 1 where run_key = ? and state = 'due'", runKey);
}

/** Begins a due run, and returns its fence; `undefined` if it is no longer due. */
export async function beginRun(
  store: Store,
  { runKey, holder, account, until, recipeSha, now }: {
    runKey: string;
    holder: string;
    account: string;
    until: number;
    recipeSha: string;
    now: number;
  },
): Promise<number | undefined> {
  return (await store.get<{ fence: number }>(
    `update run set state = 'running', holder = ?, account = ?, lease_until = ?, fence = fence + 1,
      attempt = attempt + 1, recipe_sha = ?, started_at = coalesce(started_at, ?), reason = null
      where run_key = ? and state = 'due' returning fence`,
    holder,
    account,
    until,
    recipeSha,
    now,
    runKey,
  ))?.fence;
}

/** Returns whether the holder still has the run. */
export async function isHeldBy(
  store: Store,
  { runKey, holder, fence }: RunHolder,
  now: number,
): Promise<boolean> {
  return await store.get(
    `select 1 as there from run where run_key = ? and holder = ? and fence = ? and state = 'running'
      and lease_until >= ?`,
    runKey,
    holder,
    fence,
    now,
  ) !== undefined;
}

/**
 * Extends the lease of a run; returns `undefined` if the holder no longer has the run. `cancel_asked` says why the run
 * is to be cancelled; it is `null` if nobody has asked for that.
 */
export async function renewRun(
  store: Store,
  { runKey, holder, fence }: RunHolder,
  until: number,
): Promise<{ cancel_asked: string | null } | undefined> {
  return await store.get(
    `update run set lease_until = ? where run_key = ? and holder = ? and fence = ? and state = 'running'
      returning cancel_asked`,
    until,
    runKey,
    holder,
    fence,
  );
}

/** Records how a run ended, or that it is due again. */
export async function closeRun(
  store: Store,
  runKey: string,
  { state, reason, now }: { state: RunState; reason?: string; now: number },
): Promise<void> {
  await store.run(
    `update run set state = ?, reason = ?, holder = null, lease_until = null, cancel_asked = null,
      finished_at = ? where run_key = ?`,
    state,
    reason,
    state === "due" || state === "waiting_recovery" ? undefined : now,
    runKey,
  );
}

/** Returns runs whose lease or reservation has expired. */
export async function expiredRuns(store: Store, now: number): Promise<RunRow[]> {
  return await store.all(
    `select * from run where lease_until < ? and (state = 'running'
      or (state = 'due' and kind in ${starterOnlyKinds}))`,
    now,
  );
}

/** Takes a run away from its holder. */
export async function takeFromHolder(
  store: Store,
  runKey: string,
  { state, reason, finishedAt }: { state: RunState; reason: string | null; finishedAt: number | null },
): Promise<void> {
  await store.run(
    `update run set state = ?, reason = ?, finished_at = ?, holder = null, lease_until = null, cancel_asked = null
      where run_key = ?`,
    state,
    reason,
    finishedAt,
    runKey,
  );
}

/** Records the outcome of a run's unresolved writes; returns whether they were unresolved. */
export async function resolveRun(
  store: Store,
  runKey: string,
  state: RunState,
  now: number,
): Promise<boolean> {
  return await store.run(
    `update run set state = ?, reason = 'resolved', finished_at = ? where run_key = ?
      and state in ('waiting_recovery', 'unknown')`,
    state,
    now,
    runKey,
  ) === 1;
}

/** Returns the runs whose writes are unresolved, oldest first. */
export async function runsToRecover(store: Store): Promise<Pick<RunRow, "run_key" | "recipe" | "kind">[]> {
  return await store.all(
    `select run_key, recipe, kind from run where class = 'write' and state in ('waiting_recovery', 'unknown')
      order by slot_at, run_key`,
  );
}

/** A step whose outcome was proven after its process ended or its answer was lost. */
export interface ResolvedStep {
  id: string;
  /** `again` if the step may begin again, because the order desk limits what the step can send. */
  state: "ok" | "failed" | "again";
  output?: unknown;
  /** The proof of the outcome, in words. */
  because: string;
}

/**
 * Records the outcomes of a run's unresolved steps, and makes the run due again, so that its other steps run. Removes
 * the run's deadline, because the run had begun in time. Further writes check the window themselves.
 *
 * @returns `false` if the run has no unresolved write any more.
 */
export async function continueRun(
  store: Store,
  runKey: string,
  steps: readonly ResolvedStep[],
  now: number,
): Promise<boolean> {
  return await store.transaction(async () => {
    const continued = await store.run(
      `update run set state = 'due', reason = null, due_at = ?, deadline_at = null, finished_at = null, holder = null,
        lease_until = null where run_key = ? and state in ('waiting_recovery', 'unknown')`,
      now,
      runKey,
    );
    if (continued !== 1) return false;
    for (const { id, state, output, because } of steps) {
      await store.run(
        `update step_run set state = ?, output = ?, error = ?, finished_at = coalesce(finished_at, ?)
          where run_key = ? and step_id = ? and effect = 'write' and state in ('begun', 'unknown')`,
        state === "again" ? "skipped" : state,
        output === undefined ? undefined : JSON.stringify(output),
        state === "ok" ? undefined : because,
        now,
        runKey,
        id,
      );
    }
    return true;
  });
}

/** Returns the key of a running run of a recipe; `undefined` if none is running. */
export async function runningOf(store: Store, recipe: string): Promise<string | undefined> {
  return (await store.get<{ run_key: string }>(
    "select run_key from run where recipe = ? and state = 'running' limit 1",
    recipe,
  ))?.run_key;
}

/** Returns whether a catch-up or backfill run of a recipe is running. */
export async function isCatchingUp(store: Store, recipe: string): Promise<boolean> {
  return await store.get(
    `select 1 as there from run where recipe = ? and state = 'running' and kind in ('catchup', 'backfill') limit 1`,
    recipe,
  ) !== undefined;
}

/** Returns the key of the oldest run whose writes on the account are unresolved; `undefined` if there is none. */
export async function unresolvedOn(store: Store, account: string): Promise<string | undefined> {
  return (await store.get<{ run_key: string }>(
    `select run_key from run where class = 'write' and state in ('waiting_recovery', 'unknown')
      and account = ? order by slot_at limit 1`,
    account,
  ))?.run_key;
}

/** Returns the key of the running run that may write on an account; `undefined` if there is none. */
export async function writingOn(store: Store, account: string): Promise<string | undefined> {
  return (await store.get<{ run_key: string }>(
    "select run_key from run where class = 'write' and state = 'running' and account = ? limit 1",
    account,
  ))?.run_key;
}

/** What blocks a run. */
export interface Block {
  because: BlockReason;
  /** The key of the run that blocks, or another cause in words. */
  by?: string;
}

/**
 * Records that a due run is blocked. The run's reason always names the present cause, and there is one event for each
 * cause, so two causes that alternate do not fill the store.
 *
 * @returns Whether the cause is new for the run.
 */
export async function noteBlocked(
  store: Store,
  { runKey, because, by, now }: Block & { runKey: string; now: number },
): Promise<boolean> {
  const data = { because, ...by !== undefined && { by } };
  const isNew = !await hasEvent(store, runKey, "held", data);
  await store.run(
    "update run set reason = ? where run_key = ? and state = 'due' and reason is distinct from ?",
    `held:${because}`,
    runKey,
    `held:${because}`,
  );
  if (isNew) await store.event(now, "held", data, runKey);
  return isNew;
}

/** Returns the block reason in the `reason` column of a due run; `undefined` if the column contains none. */
export function blockReasonOf(reason: string | null): BlockReason | undefined {
  // Written by `noteBlocked`.
  return reason?.startsWith("held:") ? reason.slice("held:".length) as BlockReason : undefined;
}

/** A request for a lease. */
interface LeaseRequest {
  name: string;
  holder: string;
  now: number;
  /** When it expires unless it is renewed, epoch milliseconds. */
  until: number;
}

/** Takes or renews a lease; returns its fence, or `undefined` while another process holds it. */
export async function takeLease(
  store: Store,
  { name, holder, now, until }: LeaseRequest,
): Promise<number | undefined> {
  return (await store.get<{ fence: number }>(
    `insert into lease (name, holder, fence, until) values (?, ?, 1, ?)
      on conflict (name) do update set holder = excluded.holder, until = excluded.until,
        fence = lease.fence + case when lease.holder = excluded.holder then 0 else 1 end
      where lease.holder = excluded.holder or lease.until <= ? returning fence`,
    name,
    holder,
    until,
    now,
  ))?.fence;
}

/** Extends a lease; returns `false` if the holder has lost it. */
export async function renewLease(
  store: Store,
  { name, holder, until }: Omit<LeaseRequest, "now">,
): Promise<boolean> {
  return await store.run("update lease set until = ? where name = ? and holder = ?", until, name, holder) ===
    1;
}

/** Releases a lease. The row stays, so that the fence keeps increasing. */
export async function releaseLease(store: Store, name: string, holder: string): Promise<void> {
  await store.run("update lease set until = 0, holder = '' where name = ? and holder = ?", name, holder);
}

/** Returns the current holder of a lease. */
export async function leaseHolder(store: Store, name: string, now: number): Promise<string | undefined> {
  return (await store.get<{ holder: string }>(
    "select holder from lease where name = ? and until > ?",
    name,
    now,
  ))
    ?.holder;
}

/**
 * Returns a hold, which is a lease that blocks a login. Returns an expired hold too; `undefined` if the hold was ended.
 */
export async function findHold(
  store: Store,
  name: string,
): Promise<{ holder: string; until: number } | undefined> {
  return await store.get("select holder, until from lease where name = ? and until > 0", name);
}

/** Begins a hold in the name of a run; replaces an existing one. */
export async function setHold(
  store: Store,
  { name, runKey, until }: { name: string; runKey: string; until: number },
): Promise<void> {
  await store.run(
    `insert into lease (name, holder, fence, until) values (?, ?, 1, ?)
      on conflict (name) do update set holder = excluded.holder, until = excluded.until, fence = lease.fence + 1`,
    name,
    runKey,
    until,
  );
}

/** Begins a hold in the name of a run, unless one exists. */
export async function setFirstHold(
  store: Store,
  { name, runKey, until }: { name: string; runKey: string; until: number },
): Promise<void> {
  await store.run(
    `insert into lease (name, holder, fence, until) values (?, ?, 1, ?)
      on conflict (name) do update set holder = excluded.holder, until = excluded.until, fence = lease.fence + 1
      where lease.until = 0`,
    name,
    runKey,
    until,
  );
}

/** Ends a hold. */
export async function endHold(store: Store, name: string): Promise<void> {
  await store.run("update lease set until = 0 where name = ? and until > 0", name);
}

/** Returns whether a run of a recipe began a login hold that has not ended. */
export async function hasLoginHold(store: Store, recipe: string): Promise<boolean> {
  return await store.get(
    `select 1 as there from lease join run on run_key = lease.holder
      where (name like 'displaced:%' or name like 'login:%') and until > 0 and recipe = ?`,
    recipe,
  ) !== undefined;
}

/** Ends every login hold that a run of a recipe began; returns how many holds it ended. */
export async function endLoginHolds(store: Store, recipe: string): Promise<number> {
  return await store.run(
    `update lease set until = 0 where (name like 'displaced:%' or name like 'login:%') and until > 0
      and exists (select 1 from run where run_key = lease.holder and recipe = ?)`,
    recipe,
  );
}
