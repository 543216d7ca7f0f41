/**
 * Removes old runs, logs, events, order intents and rebalancing plans from the store in small batches, so that the
 * store does not grow forever.
 *
 * @module
 */
import type { SqlValue, Store } from "../../store/store.ts";
import { isTemporary } from "../../store/store_error.ts";
import { countOldIntents, countOldPlans, pruneIntents, prunePlans } from "../../desk/queries.ts";

/** How much the store keeps. */
export interface Retention {
  /**
   * Days for which finished runs are kept, with their steps, outputs, records of files, events and notices. Ended order
   * intents and rebalancing plans are kept for the same time.
   *
   * @default 400
   */
  runsDays: number;
  /**
   * Maximum number of runs of one recipe. Beyond it, the oldest runs are removed, but no run that ended in the last 30
   * days.
   * @default 100,000
   */
  recipeRuns: number;
  /** Days for which log lines are kept. @default 90 */
  logDays: number;
  /** Maximum number of log lines. Beyond it, the oldest lines are removed. @default 1,000,000 */
  logLines: number;
}

/** The defaults. */
export const defaultRetention: Retention = {
  runsDays: 400,
  recipeRuns: 100_000,
  logDays: 90,
  logLines: 1_000_000,
};

/** Minimum days for runs: schedules look back two weeks and must find their runs. */
const LEAST_RUN_DAYS = 30;

/** Kinds of rows that are removed. */
export const prunedKinds = ["runs", "logLines", "notices", "events", "plans", "intents"] as const;
/** Counts of rows that were removed, or would be. */
export type Pruned = Record<(typeof prunedKinds)[number], number>;

/** Returns a count of zero for each kind. */
export const nothingPruned = (): Pruned => ({
  runs: 0,
  logLines: 0,
  notices: 0,
  events: 0,
  plans: 0,
  intents: 0,
});

/** Result of one batch. */
interface PrunedPart extends Pruned {
  /** Whether there may be more to remove now. */
  hasMore: boolean;
}

const DAY_MS = 86_400_000;
/** This many newest runs of each recipe are kept, however old they are. */
const NEWEST = 10;
/** Recipes whose runs are counted in one batch. */
const COUNTED = 100;
/**
 * Maximum number of runs that {@linkcode pruneSome} removes. A run with its nested runs hardly ever adds more runs than
 * this, so the store does not grow. The removal takes only milliseconds.
 */
const SOME = 50;

/** Condition for runs that have ended and that nothing waits for. A run with an unresolved write does not meet it. */
const ended = "state in ('ok', 'failed', 'cancelled', 'skipped')";

/**
 * Runs that may be removed. Kept are: waiting and running runs; writes with an unknown outcome; the run with the last
 * write of each account, which the store's mark file names; a run that blocks a login; a run with a notice to send; the
 * newest runs of each recipe.
 */
const prunable = `${ended} and finished_at < ?
  and run_key not in (select holder from lease where until > 0) and run_key not in (select run_key from account_write)
  and not exists (select 1 from outbox where outbox.run_key = run.run_key and sent_at is null
    and given_up_at is null)
  and slot_at < (select newer.slot_at from run newer where newer.recipe = run.recipe
    order by newer.slot_at desc limit 1 offset ${NEWEST - 1})`;

/** Kinds of events that belong to no run, and that no later explanation needs. */
const unneeded =
  "run_key is null and kind in ('clock_jump', 'passed_over', 'notice_failed', 'notice_given_up', 'notice_dismissed', " +
  "'resumed', 'login_released', 'backfill')";

/** Events that explained slots until a newer event of the same kind, with the same data, replaced them. */
const repeated = `run_key is null
  and kind in ('paused', 'recipe_missing', 'schedule_new', 'schedule_edited', 'schedule_back') and exists (
    select 1 from event later where later.run_key is null and later.kind = event.kind and later.at > event.at
      and later.data = event.data)`;

/** Runs whose logs are kept, because a person may need them to find out what was written. */
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
   * @param limit Maximum number of runs, events or order intents that one statement deletes, so that other processes
   * wait only briefly. A statement deletes at most ten times as many log lines, and at most a tenth as many plans,
   * because rows of plans are large.
   * @throws {RangeError} If runs or logs would not be kept long enough.
   */
  constructor(store: Store, keep: Retention, { limit = 500 }: { limit?: number } = {}) {
    const { runsDays, logDays, recipeRuns, logLines } = keep;
    if (!(runsDays >= LEAST_RUN_DAYS) || !(logDays >= 1) || !(recipeRuns >= NEWEST) || !(logLines >= 1)) {
      throw new RangeError(
        `Cannot prune the store: keep runs for at least ${LEAST_RUN_DAYS} days, not ${runsDays}, and logs for at least ` +
          `1 day, not ${logDays}; keep at least ${NEWEST} runs of a recipe, not ${recipeRuns}, and at least ` +
          `1 log line, not ${logLines}`,
      );
    }
    this.#store = store;
    this.#keep = keep;
    this.#limit = limit;
  }

  get #mostPlans(): number {
    return Math.ceil(this.#limit / 10);
  }

  /** Removes one batch. */
  async part(now: number): Promise<PrunedPart> {
    const { runsDays, logDays } = this.#keep;
    const [store, limit] = [this.#store, this.#limit];
    const before = now - runsDays * DAY_MS;
    // Selects the rows before the transaction, so that other processes wait only while rows are removed.
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
      for (const kinds of [unneeded, repeated]) {
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
      pruned.plans = await prunePlans(store, before, this.#mostPlans);
      pruned.intents = await pruneIntents(store, before, limit);
      return pruned;
    });
    if (prunedKinds.some((each) => pruned[each] > 0)) await store.giveBackSpace();
    return {
      ...pruned,
      hasMore: keys.length >= limit || beyond.hasMore || pruned.events >= limit ||
        pruned.logLines >= limit * 10 || pruned.intents >= limit || pruned.plans >= this.#mostPlans,
    };
  }

  /** For the next recipes, returns the runs beyond the limit of each recipe, oldest first. */
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
      if (keys.length >= limit) return { keys, hasMore: true }; // counts this recipe again next time
      this.#counted = recipe;
    }
    if (recipes.length === COUNTED) return { keys, hasMore: true };
    this.#counted = "";
    return { keys, hasMore: false };
  }

  /** Removes runs with all their rows, if they may still be removed. */
  async #removeRuns(keys: readonly string[], before: number): Promise<Pruned> {
    const store = this.#store;
    const pruned = nothingPruned();
    if (keys.length === 0) return pruned;
    // Always the same number of placeholders, so that the statements can be reused; no run has an empty key.
    const places = `(${Array.from({ length: this.#limit }, () => "?").join(", ")})`;
    const padded = (some: readonly string[]): SqlValue[] =>
      Array.from({ length: this.#limit }, (_, index) => some[index] ?? "");
    // Another process may have continued one of the runs in the meantime.
    const rows = await store.all<{ run_key: string; recipe: string; slot_at: number }>(
      `select run_key, recipe, slot_at from run where run_key in ${places} and ${ended} and finished_at < ?`,
      ...padded(keys),
      before,
    );
    const removed = padded(rows.map(({ run_key }) => run_key));
    const remove = (table: string) =>
      store.run(`delete from ${table} where run_key in ${places}`, ...removed);
    pruned.logLines = await remove("log");
    await remove("artifact");
    await remove("step_run");
    pruned.events = await remove("event");
    pruned.notices = await remove("outbox");
    pruned.runs = await remove("run");
    for (const [recipe, removed] of Map.groupBy(rows, (row) => row.recipe)) {
      await store.run(
        `insert into pruned (recipe, until) values (?, ?)
          on conflict (recipe) do update set until = excluded.until where pruned.until < excluded.until`,
        recipe,
        Math.max(...removed.map(({ slot_at }) => slot_at)),
      );
    }
    return pruned;
  }
}

/** Removes one batch after a run. If the store is busy or cannot be reached, the next run removes the batch. */
export async function pruneSome(
  store: Store,
  { keep, now }: { keep: Retention; now: number },
): Promise<void> {
  try {
    await new Pruner(store, keep, { limit: SOME }).part(store.now() ?? now);
  } catch (error) {
    if (!isTemporary(error)) throw error;
  }
}

/**
 * Returns the next recipes, in the order of their names. `cutoff` is the newest slot beyond the limit of runs; `null`
 * if the recipe is within the limit.
 */
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

/** Returns the `seq` of the oldest log line within the limit. */
async function firstKept(store: Store, { logLines }: Retention): Promise<number> {
  const last = await store.get<{ seq: number | null }>("select max(seq) as seq from log");
  return (last?.seq ?? 0) - logLines + 1;
}

/** Counts what a {@linkcode Pruner} would remove in all its batches. */
export async function countPrunable(store: Store, keep: Retention, now: number): Promise<Pruned> {
  const before = now - keep.runsDays * DAY_MS;
  const least = now - LEAST_RUN_DAYS * DAY_MS;
  const count = async (sql: string, ...values: SqlValue[]) =>
    (await store.get<{ n: number }>(sql, ...values))?.n ?? 0;
  const [logsBefore, firstLine] = [now - keep.logDays * DAY_MS, await firstKept(store, keep)];
  const pruned: Pruned = {
    ...nothingPruned(),
    plans: await countOldPlans(store, before),
    intents: await countOldIntents(store, before),
    logLines: await count(
      `select count(*) as n from log where (at < ? or seq < ?) and run_key not in (${unresolved})`,
      logsBefore,
      firstLine,
    ),
    events: await count(
      `select count(*) as n from event where at < ? and ((${unneeded}) or (${repeated}))`,
      before,
    ),
  };
  for (let after = "";;) {
    const recipes = await cutoffs(store, { after, now, recipeRuns: keep.recipeRuns });
    for (const { recipe, cutoff } of recipes) {
      const runs =
        `select run_key from run where recipe = ? and (finished_at < ? or slot_at <= ?) and ${prunable}`;
      const values = [recipe, before, cutoff ?? -1, Math.max(before, least)];
      pruned.runs += await count(`select count(*) as n from (${runs}) as removed`, ...values);
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

/** Returns the newest slot among the removed runs of a recipe; `undefined` if no run was removed. */
export async function prunedUntil(store: Store, recipe: string): Promise<number | undefined> {
  return (await store.get<{ until: number }>("select until from pruned where recipe = ?", recipe))?.until;
}
