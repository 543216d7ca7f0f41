/**
 * Removes old runs, logs and events from the store, in small batches. Without an end it would grow forever.
 *
 * @module
 */
import type { SqlValue, Store } from "../../store/store.ts";
import { isPassing } from "../../store/store_error.ts";

/** How much is kept. */
export interface Retention {
  /** Days for which runs that have ended are kept, with their steps, outputs, files, events and notices. @default 400 */
  runsDays: number;
  /** Most runs of one recipe. The oldest of more than these go, but no run that ended in the last 30 days. @default 100,000 */
  recipeRuns: number;
  /** Days for which lines of logs are kept. @default 90 */
  logDays: number;
  /** Most lines of logs. The oldest of more than these go. @default 1,000,000 */
  logLines: number;
}

/** What is kept when nobody says otherwise. */
export const defaultRetention: Retention = {
  runsDays: 400,
  recipeRuns: 100_000,
  logDays: 90,
  logLines: 1_000_000,
};

/** The fewest days that runs are kept: schedules look back two weeks, and must find what they have run. */
const LEAST_RUN_DAYS = 30;

/** What was removed, or would be. */
export interface Pruned {
  runs: number;
  logLines: number;
  notices: number;
  events: number;
}

/** What one batch removed. */
export interface PrunedPart extends Pruned {
  /** Whether there may be more to remove now. */
  hasMore: boolean;
}

const DAY_MS = 86_400_000;
/** Of each recipe the newest runs stay, however old they are. */
const NEWEST = 10;
/** Recipes whose runs are counted in one batch. */
const COUNTED = 100;
/** Runs that are removed after a run: more than it adds, and within milliseconds. */
const SOME = 50;

/** Runs that have ended and that nothing waits for. Writes with an unknown outcome are not among these states. */
const ended = "state in ('ok', 'failed', 'cancelled', 'skipped')";

/**
 * Runs that may go. What stays: runs that wait or run; writes with an unknown outcome; the last write of each account,
 * which the mark names; a run that blocks a login; a run with a notice to send; the newest runs of each recipe.
 */
const prunable = `${ended} and finished_at < ?
  and run_key not in (select holder from lease) and run_key not in (select run_key from account_write)
  and not exists (select 1 from outbox where outbox.run_key = run.run_key and sent_at is null
    and given_up_at is null)
  and slot_at < (select newer.slot_at from run newer where newer.recipe = run.recipe
    order by newer.slot_at desc limit 1 offset ${NEWEST - 1})`;

/** Events that belong to no run and that explain nothing about younger ones. */
const passing =
  "run_key is null and kind in ('clock_jump', 'passed_over', 'notice_failed', 'notice_given_up', 'notice_dismissed', " +
  "'resumed', 'login_released', 'backfill')";

/** Events that explain younger slots until the same happens again. */
const repeated = `run_key is null
  and kind in ('paused', 'recipe_gone', 'schedule_new', 'schedule_edited', 'schedule_back') and exists (
    select 1 from event later where later.run_key is null and later.kind = event.kind and later.at > event.at
      and later.data = event.data)`;

/** Runs whose logs stay: somebody may need them to find out what was written. */
const unresolved =
  "select run_key from run where state in ('due', 'running', 'waiting_approval', 'waiting_recovery', 'unknown')";

/** Removes old rows batch by batch. */
export class Pruner {
  readonly #store: Store;
  readonly #keep: Retention;
  readonly #limit: number;
  /** The last recipe whose runs were counted. */
  #counted = "";

  /**
   * @param limit Most runs, and ten times as many lines of logs, in one batch: nobody waits long for the store.
   * @throws {RangeError} If runs or logs would not be kept long enough.
   */
  constructor(store: Store, keep: Retention, { limit = 500 }: { limit?: number } = {}) {
    const { runsDays, logDays, recipeRuns, logLines } = keep;
    if (!(runsDays >= LEAST_RUN_DAYS) || !(logDays >= 1) || !(recipeRuns >= NEWEST) || !(logLines >= 1)) {
      throw new RangeError(
        `Cannot prune the store: keep runs for ${LEAST_RUN_DAYS} days at least, not ${runsDays}, and logs for 1 day at ` +
          `least, not ${logDays}; keep ${NEWEST} runs of a recipe at least, not ${recipeRuns}, and 1 line of logs at ` +
          `least, not ${logLines}`,
      );
    }
    this.#store = store;
    this.#keep = keep;
    this.#limit = limit;
  }

  /** Removes one batch. */
  async part(now: number): Promise<PrunedPart> {
    const { runsDays, logDays } = this.#keep;
    const [store, limit] = [this.#store, this.#limit];
    const before = now - runsDays * DAY_MS;
    // What may go is looked for before the transaction: others wait for the store only while rows are removed.
    const old = await store.all<{ run_key: string }>(
      `select run_key from run where ${prunable} order by finished_at limit ?`,
      before,
      limit,
    );
    const beyond = await this.#beyondCount(now, limit - old.length);
    const keys = [...new Set([...old.map(({ run_key }) => run_key), ...beyond.keys])];
    const firstLine = await firstKept(store, this.#keep);
    const pruned = await store.transaction(async () => {
      const pruned = await this.#removeRuns(keys, now - LEAST_RUN_DAYS * DAY_MS);
      for (const kinds of [passing, repeated]) {
        pruned.events += await store.run(
          `delete from event where seq in (select seq from event where ${kinds} and at < ? limit ?)`,
          before,
          limit,
        );
      }
      pruned.logLines += await store.run(
        `delete from log where seq in (select seq from log where at < ? and run_key not in (${unresolved})
          order by at limit ?)`,
        now - logDays * DAY_MS,
        limit * 10,
      );
      pruned.logLines += await store.run(
        `delete from log where seq in (select seq from log where seq < ? and run_key not in (${unresolved})
          order by seq limit ?)`,
        firstLine,
        limit * 10,
      );
      return pruned;
    });
    await store.giveBackSpace();
    return {
      ...pruned,
      hasMore: keys.length >= limit || beyond.hasMore || pruned.events >= limit ||
        pruned.logLines >= limit * 10,
    };
  }

  /** Returns runs beyond the most that the next recipes may have, oldest first. */
  async #beyondCount(now: number, limit: number): Promise<{ keys: string[]; hasMore: boolean }> {
    if (limit <= 0) return { keys: [], hasMore: true };
    const recipes = await cutoffs(this.#store, {
      after: this.#counted,
      now,
      recipeRuns: this.#keep.recipeRuns,
    });
    const keys: string[] = [];
    for (const { recipe, cutoff } of recipes) {
      if (cutoff !== null && keys.length < limit) {
        keys.push(
          ...(await this.#store.all<{ run_key: string }>(
            `select run_key from run where recipe = ? and slot_at <= ? and ${prunable} order by slot_at limit ?`,
            recipe,
            cutoff,
            now - LEAST_RUN_DAYS * DAY_MS,
            limit - keys.length,
          )).map(({ run_key }) => run_key),
        );
      }
      if (keys.length >= limit) return { keys, hasMore: true }; // and this recipe is counted again
      this.#counted = recipe;
    }
    if (recipes.length === COUNTED) return { keys, hasMore: true };
    this.#counted = "";
    return { keys, hasMore: false };
  }

  /** Removes runs that still may go, with all that belongs to them. */
  async #removeRuns(keys: readonly string[], before: number): Promise<Pruned> {
    const store = this.#store;
    const pruned: Pruned = { runs: 0, logLines: 0, notices: 0, events: 0 };
    if (keys.length === 0) return pruned;
    // Always as many places as the limit: the statements stay the same, and an empty key is the key of nothing.
    const places = `(${Array.from({ length: this.#limit }, () => "?").join(", ")})`;
    const padded = (some: readonly string[]): SqlValue[] =>
      Array.from({ length: this.#limit }, (_, index) => some[index] ?? "");
    // Another process may have taken one up meanwhile.
    const rows = await store.all<{ run_key: string; recipe: string; slot_at: number }>(
      `select run_key, recipe, slot_at from run where run_key in ${places} and ${ended} and finished_at < ?`,
      ...padded(keys),
      before,
    );
    const gone = padded(rows.map(({ run_key }) => run_key));
    const remove = (table: string) => store.run(`delete from ${table} where run_key in ${places}`, ...gone);
    pruned.logLines = await remove("log");
    await remove("artifact");
    await remove("step_run");
    pruned.events = await remove("event");
    pruned.notices = await remove("outbox");
    pruned.runs = await remove("run");
    for (const [recipe, of] of Map.groupBy(rows, (row) => row.recipe)) {
      await store.run(
        `insert into pruned (recipe, until) values (?, ?)
          on conflict (recipe) do update set until = excluded.until where pruned.until < excluded.until`,
        recipe,
        Math.max(...of.map(({ slot_at }) => slot_at)),
      );
    }
    return pruned;
  }
}

/** Removes one batch after a run. That the store is in use by others is no fault of the run: the next run removes it. */
export async function pruneSome(
  store: Store,
  { keep, now }: { keep: Retention; now: number },
): Promise<void> {
  try {
    await new Pruner(store, keep, { limit: SOME }).part(store.now() ?? now);
  } catch (error) {
    if (!isPassing(error)) throw error;
  }
}

/** Returns the next recipes by name, each with its newest slot that is beyond the most runs that it may have. */
async function cutoffs(
  store: Store,
  { after, now, recipeRuns }: { after: string; now: number; recipeRuns: number },
): Promise<{ recipe: string; cutoff: number | null }[]> {
  return await store.all(
    `with recursive named (recipe, place) as (
        select min(recipe), 1 from run where recipe > ?
        union all
        select (select min(recipe) from run where recipe > named.recipe), place + 1 from named
          where recipe is not null and place < ${COUNTED})
      select recipe, (select slot_at from run where run.recipe = named.recipe and slot_at <= ?
        order by slot_at desc limit 1 offset ?) as cutoff from named where recipe is not null`,
    after,
    now,
    recipeRuns,
  );
}

/** Returns the number of the oldest line that is within the most lines of logs. */
async function firstKept(store: Store, { logLines }: Retention): Promise<number> {
  const last = await store.get<{ seq: number | null }>("select max(seq) as seq from log");
  return (last?.seq ?? 0) - logLines + 1;
}

/** Counts what a {@linkcode Pruner} would remove in the end. */
export async function countPrunable(store: Store, keep: Retention, now: number): Promise<Pruned> {
  const before = now - keep.runsDays * DAY_MS;
  const least = now - LEAST_RUN_DAYS * DAY_MS;
  const count = async (sql: string, ...values: SqlValue[]) =>
    (await store.get<{ n: number }>(sql, ...values))?.n ?? 0;
  const [logsBefore, firstLine] = [now - keep.logDays * DAY_MS, await firstKept(store, keep)];
  const pruned: Pruned = {
    runs: 0,
    notices: 0,
    logLines: await count(
      `select count(*) as n from log where (at < ? or seq < ?) and run_key not in (${unresolved})`,
      logsBefore,
      firstLine,
    ),
    events: await count(
      `select count(*) as n from event where at < ? and ((${passing}) or (${repeated}))`,
      before,
    ),
  };
  for (let after = "";;) {
    const recipes = await cutoffs(store, { after, now, recipeRuns: keep.recipeRuns });
    for (const { recipe, cutoff } of recipes) {
      const runs =
        `select run_key from run where recipe = ? and (finished_at < ? or slot_at <= ?) and ${prunable}`;
      const values = [recipe, before, cutoff ?? -1, Math.max(before, least)];
      pruned.runs += await count(`select count(*) as n from (${runs}) as gone`, ...values);
      pruned.events += await count(`select count(*) as n from event where run_key in (${runs})`, ...values);
      pruned.notices += await count(`select count(*) as n from outbox where run_key in (${runs})`, ...values);
      pruned.logLines += await count(
        `select count(*) as n from log where at >= ? and seq >= ? and run_key in (${runs})`,
        logsBefore,
        firstLine,
        ...values,
      );
      after = recipe;
    }
    if (recipes.length < COUNTED) return pruned;
  }
}

/** Returns the last slot of a recipe whose run was removed; nothing while all are there. */
export async function prunedUntil(store: Store, recipe: string): Promise<number | undefined> {
  return (await store.get<{ until: number }>("select until from pruned where recipe = ?", recipe))?.until;
}
