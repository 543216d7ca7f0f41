/**
 * Keeps the recipes that a scheduler serves, replaces them as one set, and pauses recipes whose files are missing.
 *
 * Schedulers with different folders may share a store. A recipe counts as missing only if its file was in a folder that
 * this scheduler reads.
 *
 * @module
 */
import type { CompiledRecipe } from "../../recipes/compiled.ts";
import {
  allSchedules,
  fileOfRecipe,
  missingSchedules,
  noteServedFiles,
  pauseAsMissing,
  quietRecipes,
  resumeFromNow,
  type ScheduleRow,
} from "../queries/schedules.ts";
import { dueKeysOf, skipRun } from "../queries/runs.ts";
import { ScheduleCursor } from "./slots.ts";
import type { Store } from "../../store/store.ts";

/** What is needed to replace the set. */
interface SwapOptions {
  served?: Served;
  now: number;
}

/** Recipes by name, with a cursor for each schedule. */
export class RecipeSet {
  recipes: ReadonlyMap<string, CompiledRecipe> = new Map();
  cursors: readonly ScheduleCursor[] = [];
  /** When the recipes were read, epoch milliseconds. */
  loadedAt = 0;

  constructor(recipes: readonly CompiledRecipe[], now: number) {
    this.#take(recipes, now);
  }

  #take(recipes: readonly CompiledRecipe[], now: number): void {
    const byName = new Map<string, CompiledRecipe>();
    for (const recipe of recipes) {
      if (byName.has(recipe.name)) {
        throw new TypeError(`Cannot load the recipes: two have the name "${recipe.name}"`);
      }
      byName.set(recipe.name, recipe);
    }
    this.recipes = byName;
    this.cursors = recipes.flatMap((recipe) =>
      recipe.schedules.map((schedule) => new ScheduleCursor(recipe, schedule))
    );
    this.loadedAt = now;
  }

  /**
   * Replaces the set. Pauses recipes that the new set lacks, unless another process serves them from a different file;
   * resumes recipes that are back. Call it within a transaction.
   *
   * @returns Names of the missing recipes.
   */
  async swap(
    store: Store,
    recipes: readonly CompiledRecipe[],
    { served, now }: SwapOptions,
  ): Promise<string[]> {
    const before = this.recipes;
    this.#take(recipes, now);
    const missing: string[] = [];
    for (const [name, recipe] of before) {
      if (this.recipes.has(name)) continue;
      if (served === undefined || !await isServedFromAnotherFile(store, recipe, served)) missing.push(name);
    }
    for (const name of missing) await pauseOne(store, name, now);
    await resumeReturned(store, this.recipes, now);
    return missing;
  }
}

/** Where the recipes of a process come from. */
export interface Served {
  /** Absolute paths of files, and of folders whose recipes are all served. Only recipes from here can be missing. */
  paths: readonly string[];
  /** Returns the absolute path of a recipe's file. */
  fileOf(recipe: CompiledRecipe): string;
}

/** Records the files of recipes that were just read. Call it within a transaction. */
export async function noteFreshFiles(store: Store, recipes: RecipesByName, served: Served): Promise<void> {
  await noteFiles(store, recipes, { served, isFresh: true, rows: await allSchedules(store) });
}

/** Each scheduler lists its recipes every minute. So if a recipe was not listed for this long, no process serves it. */
const QUIET_MS = 3 * 60_000;

type RecipesByName = ReadonlyMap<string, CompiledRecipe>;

/**
 * Records from which file each recipe is served. Call it within a transaction.
 *
 * @param isFresh Whether the recipes were just read. Otherwise the records of other processes are kept.
 * @param rows The rows of all schedules.
 */
export async function noteFiles(
  store: Store,
  recipes: RecipesByName,
  { served: { fileOf }, isFresh, rows }: { served: Served; isFresh: boolean; rows: readonly ScheduleRow[] },
): Promise<void> {
  const known = new Map<string, string>();
  for (const { recipe, file } of rows) {
    const noted = known.get(recipe);
    if (file !== null && (noted === undefined || file < noted)) known.set(recipe, file);
  }
  const changed = [...recipes.values()].flatMap((recipe) => {
    const file = fileOf(recipe);
    const noted = known.get(recipe.name);
    return noted === file || (noted !== undefined && !isFresh) ? [] : [{ recipe: recipe.name, file }];
  });
  await noteServedFiles(store, changed);
}

/**
 * Pauses recipes that were served from these paths and are now missing. Returns their names. Call it within a
 * transaction.
 */
export async function pauseMissing(
  store: Store,
  recipes: RecipesByName,
  { paths }: Served,
  now: number,
): Promise<string[]> {
  const quiet = await quietRecipes(store, now - QUIET_MS);
  const missing = quiet.filter(({ recipe, file }) => !recipes.has(recipe) && isWithin(file, paths));
  for (const { recipe } of missing) await pauseOne(store, recipe, now);
  return missing.map(({ recipe }) => recipe);
}

/** Pauses a recipe until its file is back, and skips its due runs that have not begun. Call it within a transaction. */
async function pauseOne(store: Store, recipe: string, now: number): Promise<void> {
  await pauseAsMissing(store, recipe);
  for (const runKey of await dueKeysOf(store, recipe, "all")) await skipRun(store, runKey, "paused", now);
  await store.event(now, "recipe_missing", { recipe });
}

/**
 * Returns whether the store names a different file for a recipe than this process. Then another process has served the
 * recipe from that file.
 */
async function isServedFromAnotherFile(
  store: Store,
  recipe: CompiledRecipe,
  { fileOf }: Served,
): Promise<boolean> {
  const file = await fileOfRecipe(store, recipe.name);
  return file !== undefined && file !== fileOf(recipe);
}

/** Resumes, from now, recipes whose files are back. Call it within a transaction. */
export async function resumeReturned(store: Store, recipes: RecipesByName, now: number): Promise<void> {
  const missing = await missingSchedules(store);
  for (const { recipe, schedule_id: schedule } of missing) {
    if (recipes.get(recipe)?.schedules.some(({ id }) => id === schedule) !== true) continue;
    await resumeFromNow(store, recipe, schedule, now);
    await store.event(now, "schedule_back", { recipe, schedule });
  }
}

/** Returns whether a file is one of the paths, or directly in a folder among them; subfolders are not read. */
function isWithin(file: string, paths: readonly string[]): boolean {
  const folder = file.replace(/\/[^/]*$/, "") || "/";
  return paths.includes(file) || paths.includes(folder);
}
