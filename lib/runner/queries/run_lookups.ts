/**
 * Looks up runs for explanations and lists: neighbours of a slot, runs of a day, newest runs, and counts.
 *
 * @module
 */
import type { RecipeClass } from "../../recipes/compiled.ts";
import type { Store } from "../../store/store.ts";
import type { RunRow, RunState } from "./runs.ts";

/**
 * Returns the newest runs of a recipe that were skipped after an instant because the recipe was paused. The newest slot
 * comes first.
 */
export async function skippedAsPaused(
  store: Store,
  recipe: string,
  since: number,
  most: number,
): Promise<RunRow[]> {
  return await store.all(
    `select * from run where recipe = ? and state = 'skipped' and reason = 'paused'
      and finished_at >= ? order by slot_at desc limit ?`,
    recipe,
    since,
    most,
  );
}

/** Returns the key of a different run that the same recipe has for the same instant. */
export async function sameSlotRun(
  store: Store,
  { recipe, slot_at, run_key }: Pick<RunRow, "recipe" | "slot_at" | "run_key">,
): Promise<string | undefined> {
  return (await store.get<{ run_key: string }>(
    "select run_key from run where recipe = ? and slot_at = ? and run_key <> ? limit 1",
    recipe,
    slot_at,
    run_key,
  ))?.run_key;
}

/** Returns the key of the first later run of the same schedule that was not skipped. */
export async function newerRun(
  store: Store,
  { recipe, schedule_id, slot_at }: Pick<RunRow, "recipe" | "schedule_id" | "slot_at">,
): Promise<string | undefined> {
  return (await store.get<{ run_key: string }>(
    `select run_key from run where recipe = ? and schedule_id = ? and slot_at > ? and state <> 'skipped'
      order by slot_at limit 1`,
    recipe,
    schedule_id,
    slot_at,
  ))?.run_key;
}

/** Returns the runs of a recipe that belong to a session, or whose slot is between two instants, oldest slot first. */
export async function runsOfDay(
  store: Store,
  recipe: string,
  { date, from, until }: { date: string; from: number; until: number },
): Promise<RunRow[]> {
  return await store.all(
    `select * from run where recipe = ? and business_day = ?
      union select * from run where recipe = ? and slot_at between ? and ? order by slot_at, run_key`,
    recipe,
    date,
    recipe,
    from,
    until,
  );
}

/** Returns the class of a recipe's newest run; `undefined` if the recipe has none. */
export async function lastClass(store: Store, recipe: string): Promise<RecipeClass | undefined> {
  return (await store.get<{ class: RecipeClass }>(
    "select class from run where recipe = ? order by slot_at desc limit 1",
    recipe,
  ))?.class;
}

/** Returns whether a recipe has a run. */
export async function hasRun(store: Store, recipe: string): Promise<boolean> {
  return await store.get("select 1 as there from run where recipe = ? limit 1", recipe) !== undefined;
}

/** Returns the key of the run of a recipe with the newest slot; `undefined` if the recipe has no run. */
export async function latestRunKey(store: Store, recipe: string): Promise<string | undefined> {
  return (await store.get<{ run_key: string }>(
    "select run_key from run where recipe = ? order by slot_at desc limit 1",
    recipe,
  ))?.run_key;
}

/** Returns the recipes that have runs, by name. Reads one index entry for each recipe, however many runs it has. */
export async function recipesWithRuns(store: Store): Promise<string[]> {
  const names: string[] = [];
  for (let last: string | null | undefined = "";;) {
    last = (await store.get<{ recipe: string | null }>(
      "select min(recipe) as recipe from run where recipe > ?",
      last,
    ))
      ?.recipe;
    if (last === null || last === undefined) return names;
    names.push(last);
  }
}

/** Returns the runs of all schedules, oldest slot first. */
export async function allScheduledRuns(store: Store): Promise<RunRow[]> {
  return await store.all("select * from run where schedule_id <> '' order by slot_at, run_key");
}

/** Counts the runs. */
export async function countRuns(store: Store): Promise<number> {
  return (await store.get<{ count: number }>("select count(*) as count from run"))?.count ?? 0;
}

/** Returns the runs that are due, in progress or waiting, and how many of their steps have succeeded. */
export async function unfinishedRuns(
  store: Store,
): Promise<{ run: string; state: RunState; steps: number }[]> {
  return await store.all(
    `select run_key as run, state, (select count(*) from step_run
        where step_run.run_key = run.run_key and step_run.state = 'ok') as steps
      from run where state in ('due', 'running', 'waiting_approval', 'waiting_recovery') order by slot_at, run_key`,
  );
}

/** Returns the newest runs, of one recipe or of all, newest slot first. */
export async function latestRuns(
  store: Store,
  { recipe, states, limit }: { recipe?: string; states: readonly RunState[]; limit: number },
): Promise<RunRow[]> {
  // Makes one query for each state: such a query reads only the rows that it needs, in the order of an index.
  const rows = (await Array.fromAsync(states, async (state) =>
    recipe === undefined
      ? await store.all<RunRow>(
        "select * from run where state = ? order by slot_at desc, run_key limit ?",
        state,
        limit,
      )
      : await store.all<RunRow>(
        "select * from run where recipe = ? and state = ? order by slot_at desc, run_key limit ?",
        recipe,
        state,
        limit,
      ))).flat();
  const byKey = (a: RunRow, b: RunRow) => a.run_key < b.run_key ? -1 : a.run_key > b.run_key ? 1 : 0;
  return rows.sort((a, b) => b.slot_at - a.slot_at || byKey(a, b)).slice(0, limit);
}

/** Returns the run keys that begin with a text, newest slot first, up to a limit. */
export async function keysBeginning(store: Store, prefix: string, most: number): Promise<string[]> {
  return (await store.all<{ run_key: string }>(
    "select run_key from run where run_key >= ? and run_key < ? order by slot_at desc, run_key limit ?",
    prefix,
    // Keys are compared byte by byte, and no character sorts after this one.
    `${prefix}\u{10ffff}`,
    most,
  )).map(({ run_key }) => run_key);
}
