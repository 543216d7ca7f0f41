/**
 * Reads and writes the rows of schedules: the watermark, the pause reason, and the file of the recipe.
 *
 * @module
 */
import { rowsValue, type Store } from "../../store/store.ts";

/** Pause reason of a recipe whose file is missing; the recipe continues when the file is back. */
export const RECIPE_MISSING = "the recipe's file is missing";

/** The row of a schedule. */
export interface ScheduleRow {
  recipe: string;
  schedule_id: string;
  spec: string;
  watermark: number;
  paused_reason: string | null;
  updated_at: number;
  /** The file that the recipe was last loaded from. */
  file: string | null;
}

/** Returns the row of a schedule. */
export async function findSchedule(
  store: Store,
  recipe: string,
  id: string,
): Promise<ScheduleRow | undefined> {
  return await store.get("select * from schedule where recipe = ? and schedule_id = ?", recipe, id);
}

/** The key of one schedule. */
export interface ScheduleName {
  recipe: string;
  id: string;
}

const namesValue = (schedules: readonly ScheduleName[]) =>
  rowsValue(schedules.map(({ recipe, id }) => [recipe, id]));

/** Returns the rows of schedules; omits schedules without a row. */
export async function findSchedules(
  store: Store,
  schedules: readonly ScheduleName[],
): Promise<ScheduleRow[]> {
  if (schedules.length === 0) return [];
  return await store.all(
    `select schedule.* from json_each(?) as given cross join schedule
      where recipe = given.value ->> 0 and schedule_id = given.value ->> 1`,
    namesValue(schedules),
  );
}

/** Returns the rows of all schedules. */
export async function allSchedules(store: Store): Promise<ScheduleRow[]> {
  return await store.all("select * from schedule");
}

/** Returns every schedule with its watermark, by recipe. */
export async function allWatermarks(
  store: Store,
): Promise<{ recipe: string; schedule_id: string; watermark: number }[]> {
  return await store.all(
    "select recipe, schedule_id, watermark from schedule order by recipe, schedule_id",
  );
}

/** Returns the compiled texts of a recipe's schedules. */
export async function specsOf(
  store: Store,
  recipe: string,
): Promise<{ schedule_id: string; spec: string }[]> {
  return await store.all(
    "select schedule_id, spec from schedule where recipe = ? order by schedule_id",
    recipe,
  );
}

/** Returns whether a recipe has a schedule that a scheduler has seen. */
export async function hasSchedule(store: Store, recipe: string): Promise<boolean> {
  return await store.get("select 1 as there from schedule where recipe = ? limit 1", recipe) !== undefined;
}

/** Returns the recipes that have schedules. */
export async function scheduledRecipes(store: Store): Promise<string[]> {
  return (await store.all<{ recipe: string }>("select distinct recipe from schedule")).map(({ recipe }) =>
    recipe
  );
}

/**
 * Inserts rows for schedules that have none, and returns them. A schedule starts now; if its recipe is paused, it
 * starts paused.
 */
export async function insertSchedules(
  store: Store,
  schedules: readonly (ScheduleName & { spec: string })[],
  now: number,
): Promise<{ recipe: string; schedule_id: string }[]> {
  if (schedules.length === 0) return [];
  return await store.all(
    `insert into schedule (recipe, schedule_id, spec, watermark, paused_reason, updated_at)
      select given.value ->> 0, given.value ->> 1, given.value ->> 2, cast(? as bigint),
        (select min(paused_reason) from schedule paused where paused.recipe = given.value ->> 0
          and paused_reason <> ?), cast(? as bigint)
      from json_each(?) as given where true on conflict (recipe, schedule_id) do nothing
      returning recipe, schedule_id`,
    now,
    RECIPE_MISSING,
    now,
    rowsValue(schedules.map(({ recipe, id, spec }) => [recipe, id, spec])),
  );
}

/** Updates the compiled text of a schedule and its watermark. */
export async function updateSpec(
  store: Store,
  { recipe, id, spec, watermark }: { recipe: string; id: string; spec: string; watermark: number },
  now: number,
): Promise<void> {
  await store.run(
    "update schedule set spec = ?, watermark = ?, updated_at = ? where recipe = ? and schedule_id = ?",
    spec,
    watermark,
    now,
    recipe,
    id,
  );
}

/** Moves the watermarks of schedules forward, never back. */
export async function moveWatermarks(
  store: Store,
  schedules: readonly ScheduleName[],
  now: number,
): Promise<void> {
  if (schedules.length === 0) return;
  await store.run(
    `update schedule set watermark = ? from json_each(?) as given
      where recipe = given.value ->> 0 and schedule_id = given.value ->> 1 and watermark < ?`,
    now,
    namesValue(schedules),
    now,
  );
}

/**
 * Returns the instant up to which a scheduler has listed the slots of a recipe, or the newest such instant of all
 * recipes. `undefined` if no scheduler has run.
 */
export async function lastListedAt(store: Store, recipe?: string): Promise<number | undefined> {
  const row = recipe === undefined
    ? await store.get<{ at: number | null }>("select max(watermark) as at from schedule")
    : await store.get<{ at: number | null }>(
      "select max(watermark) as at from schedule where recipe = ?",
      recipe,
    );
  return row?.at ?? undefined;
}

/**
 * Returns why a recipe is paused; `undefined` if it is not paused, or if the only reason is that its file is missing.
 */
export async function pauseOf(store: Store, recipe: string): Promise<string | undefined> {
  return (await store.get<{ why: string }>(
    `select paused_reason as why from schedule where recipe = ? and paused_reason is not null
      and paused_reason <> ? limit 1`,
    recipe,
    RECIPE_MISSING,
  ))?.why;
}

/** Returns the schedules that are paused, as `recipe/schedule` with the reason. */
export async function pausedSchedules(store: Store): Promise<Map<string, string>> {
  const rows = await store.all<{ recipe: string; schedule_id: string; paused_reason: string }>(
    "select recipe, schedule_id, paused_reason from schedule where paused_reason is not null",
  );
  return new Map(
    rows.map(({ recipe, schedule_id, paused_reason }) => [`${recipe}/${schedule_id}`, paused_reason]),
  );
}

/**
 * Pauses the schedules of a recipe, and returns how many it paused. A schedule that is already paused keeps its reason,
 * unless that reason is a missing file.
 */
export async function pauseSchedules(store: Store, recipe: string, why: string): Promise<number> {
  return await store.run(
    "update schedule set paused_reason = ? where recipe = ? and (paused_reason is null or paused_reason = ?)",
    why,
    recipe,
    RECIPE_MISSING,
  );
}

/** Resumes the schedules of a recipe. */
export async function resumeSchedules(store: Store, recipe: string): Promise<void> {
  await store.run("update schedule set paused_reason = null where recipe = ?", recipe);
}

/** Pauses the schedules of a recipe whose file is missing; schedules that are already paused keep their reason. */
export async function pauseAsMissing(store: Store, recipe: string): Promise<void> {
  await store.run(
    "update schedule set paused_reason = ? where recipe = ? and paused_reason is null",
    RECIPE_MISSING,
    recipe,
  );
}

/** Returns the schedules of recipes whose files are missing. */
export async function missingSchedules(store: Store): Promise<{ recipe: string; schedule_id: string }[]> {
  return await store.all("select recipe, schedule_id from schedule where paused_reason = ?", RECIPE_MISSING);
}

/** Resumes one schedule from now. */
export async function resumeFromNow(store: Store, recipe: string, id: string, now: number): Promise<void> {
  await store.run(
    `update schedule set paused_reason = null, watermark = case when watermark > ? then watermark else ? end
      where recipe = ? and schedule_id = ?`,
    now,
    now,
    recipe,
    id,
  );
}

/** Returns the file that a recipe is served from; `undefined` if no scheduler has recorded one. */
export async function fileOfRecipe(store: Store, recipe: string): Promise<string | undefined> {
  return (await store.get<{ file: string | null }>(
    "select min(file) as file from schedule where recipe = ?",
    recipe,
  ))?.file ?? undefined;
}

/** Returns the files that all recipes are served from. */
export async function servedFiles(store: Store): Promise<string[]> {
  return (await store.all<{ file: string }>("select distinct file from schedule where file is not null"))
    .map(({ file }) => file);
}

/** Records the files that recipes are served from. */
export async function noteServedFiles(
  store: Store,
  files: readonly { recipe: string; file: string }[],
): Promise<void> {
  if (files.length === 0) return;
  await store.run(
    "update schedule set file = given.value ->> 1 from json_each(?) as given where recipe = given.value ->> 0",
    rowsValue(files.map(({ recipe, file }) => [recipe, file])),
  );
}

/** Returns recipes that are not paused, have a file, and whose slots no scheduler has listed since an instant. */
export async function quietRecipes(
  store: Store,
  since: number,
): Promise<{ recipe: string; file: string }[]> {
  return await store.all(
    `select recipe, min(file) as file from schedule quiet
      where paused_reason is null and file is not null and watermark < ?
        and not exists (select 1 from schedule seen where seen.recipe = quiet.recipe
          and seen.paused_reason is null and seen.file is not null and seen.watermark >= ?)
      group by recipe`,
    since,
    since,
  );
}
