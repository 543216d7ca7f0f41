/**
 * How long the store keeps runs, logs and notices. Without an end it would grow for ever.
 *
 * @module
 */
import type { Store } from "../../store/store.ts";

/** How long something is kept, in days. */
export interface Retention {
  /** Runs that have ended, with their steps, files, events and notices. @default 400 */
  runsDays: number;
  /** Lines of logs. @default 90 */
  logDays: number;
}

/** What is kept when nobody says otherwise. */
export const defaultRetention: Retention = { runsDays: 400, logDays: 90 };

/** The fewest days that runs are kept: schedules look back two weeks, and must find what they have run. */
const LEAST_RUN_DAYS = 30;

/** What was removed, or would be. */
export interface Pruned {
  runs: number;
  logLines: number;
  notices: number;
  events: number;
}

/** What to remove. */
export interface PruneOptions extends Retention {
  /** Epoch milliseconds. */
  now: number;
  /** Most runs, and ten times as many lines of logs, in one transaction: nobody waits long for the store. @default 500 */
  limit?: number;
}

const DAY_MS = 86_400_000;
/** Of each recipe the newest runs stay, however old they are. */
const NEWEST = 10;

/**
 * Runs that may go: they have ended, and nobody asks about them any more. What stays: runs that wait or go on; writes with
 * an unknown outcome; the last write of each account, which the mark names; a run by which a login is held back.
 */
const prunable = `state in ('ok', 'failed', 'cancelled', 'skipped') and finished_at < ?
  and run_key not in (select holder from lease) and run_key not in (select run_key from account_write)
  and slot_at < (select newer.slot_at from run newer where newer.recipe = run.recipe
    order by newer.slot_at desc limit 1 offset ${NEWEST - 1})`;

/** Events that belong to no run and that nothing else is told from. */
const passing =
  "run_key is null and kind in ('clock_jump', 'passed_over', 'notice_failed', 'notice_given_up')";

/** Removes a part of what is too old, and returns how much; call it again while there are runs or lines. */
export async function pruneStore(store: Store, options: PruneOptions): Promise<Pruned> {
  const { now, runsDays, logDays, limit = 500 } = checked(options);
  const before = now - runsDays * DAY_MS;
  return await store.transaction(async () => {
    const keys = await store.all<{ run_key: string }>(
      `select run_key from run where ${prunable} order by finished_at limit ?`,
      before,
      limit,
    );
    let [events, notices, logLines] = [0, 0, 0];
    for (const { run_key: key } of keys) {
      logLines += await store.run("delete from log where run_key = ?", key);
      await store.run("delete from artifact where run_key = ?", key);
      await store.run("delete from step_run where run_key = ?", key);
      events += await store.run("delete from event where run_key = ?", key);
      notices += await store.run(
        "delete from outbox where run_key = ? and (sent_at is not null or given_up_at is not null)",
        key,
      );
      await store.run("delete from run where run_key = ?", key);
    }
    if (keys.length > 0) {
      await store.run(
        "update store set pruned_before = ? where pruned_before is null or pruned_before < ?",
        before,
        before,
      );
    }
    events += await store.run(
      `delete from event where seq in (select seq from event where ${passing} and at < ? limit ?)`,
      before,
      limit,
    );
    logLines += await store.run(
      "delete from log where seq in (select seq from log where at < ? order by at limit ?)",
      now - logDays * DAY_MS,
      limit * 10,
    );
    return { runs: keys.length, logLines, notices, events };
  });
}

/** Counts what {@linkcode pruneStore} would remove in the end. */
export async function countPrunable(store: Store, options: PruneOptions): Promise<Pruned> {
  const { now, runsDays, logDays } = checked(options);
  const before = now - runsDays * DAY_MS;
  const count = async (sql: string, ...values: number[]) =>
    (await store.get<{ n: number }>(sql, ...values))?.n ?? 0;
  const runs = `select run_key from run where ${prunable}`;
  return {
    runs: await count(`select count(*) as n from run where ${prunable}`, before),
    logLines: await count(
      `select count(*) as n from log where at < ? or run_key in (${runs})`,
      now - logDays * DAY_MS,
      before,
    ),
    notices: await count(
      `select count(*) as n from outbox where run_key in (${runs})
        and (sent_at is not null or given_up_at is not null)`,
      before,
    ),
    events: await count(
      `select count(*) as n from event where (${passing} and at < ?) or run_key in (${runs})`,
      before,
      before,
    ),
  };
}

/** Until when runs were removed; nothing while all are there. */
export async function prunedBefore(store: Store): Promise<number | undefined> {
  return (await store.get<{ pruned_before: number | null }>("select pruned_before from store"))
    ?.pruned_before ??
    undefined;
}

function checked(options: PruneOptions): PruneOptions {
  const { runsDays, logDays } = options;
  if (!(runsDays >= LEAST_RUN_DAYS) || !(logDays >= 1)) {
    throw new RangeError(
      `Cannot prune the store: keep runs for ${LEAST_RUN_DAYS} days at least, not ${runsDays}, and logs for 1 day at ` +
        `least, not ${logDays}`,
    );
  }
  return options;
}
