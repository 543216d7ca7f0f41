/**
 * Recipes whose files are gone, and those that are back. A ledger may serve processes with different folders, so that a
 * recipe that this one has not is gone only when its own file was where this process looks.
 *
 * @module
 */
import type { CompiledRecipe } from "../steps/compiled.ts";
import type { Ledger } from "./ledger.ts";
import { GONE } from "./paused.ts";
import { skipRun } from "./run_rows.ts";

/** Where the recipes of a process come from. */
export interface Served {
  /** Files, and folders whose every recipe is served, as whole paths. Of these alone a recipe can be gone. */
  paths: readonly string[];
  /** The whole path of a recipe's file. */
  fileOf(recipe: CompiledRecipe): string;
}

/** A recipe that nobody has looked at for this long is served by no other process: each looks once a minute. */
const QUIET_MS = 3 * 60_000;

type Named = ReadonlyMap<string, CompiledRecipe>;

/**
 * Remembers from which file each recipe is served. Within a transaction.
 *
 * @param isFresh Whether the recipes were just read; who read them before that leaves alone what others have noted since.
 */
export function noteFiles(ledger: Ledger, recipes: Named, { fileOf }: Served, isFresh: boolean): void {
  const known = new Map(
    ledger.all<{ recipe: string; file: string | null }>(
      "select recipe, min(file) as file from schedule group by recipe",
    ).map(({ recipe, file }) => [recipe, file]),
  );
  for (const recipe of recipes.values()) {
    const file = fileOf(recipe);
    const noted = known.get(recipe.name);
    if (noted === file || (typeof noted === "string" && !isFresh)) continue;
    ledger.run("update schedule set file = ? where recipe = ?", file, recipe.name);
  }
}

/** Pauses recipes that were served from these paths and are there no more, and names them. Within a transaction. */
export function pauseGone(ledger: Ledger, recipes: Named, { paths }: Served, now: number): string[] {
  const quiet = ledger.all<{ recipe: string; file: string }>(
    `select recipe, min(file) as file from schedule where paused_reason is null and file is not null
      group by recipe having max(watermark) < ?`,
    now - QUIET_MS,
  );
  const gone = quiet.filter(({ recipe, file }) => !recipes.has(recipe) && isWithin(file, paths));
  for (const { recipe } of gone) pauseOne(ledger, recipe, now);
  return gone.map(({ recipe }) => recipe);
}

/** Pauses a recipe until it is back; what is due and has not begun is skipped. Within a transaction. */
export function pauseOne(ledger: Ledger, recipe: string, now: number): void {
  ledger.run(
    "update schedule set paused_reason = ? where recipe = ? and paused_reason is null",
    GONE,
    recipe,
  );
  const due = ledger.all<{ run_key: string }>(
    "select run_key from run where recipe = ? and state = 'due'",
    recipe,
  );
  for (const { run_key } of due) skipRun(ledger, run_key, "paused", now);
  ledger.event(now, "recipe_gone", { recipe });
}

/** Tells whether another process has served a recipe from another file since. */
export function isElsewhere(ledger: Ledger, recipe: CompiledRecipe, { fileOf }: Served): boolean {
  const row = ledger.get<{ file: string | null }>(
    "select min(file) as file from schedule where recipe = ?",
    recipe.name,
  );
  return typeof row?.file === "string" && row.file !== fileOf(recipe);
}

/** Lets recipes that were gone go on from now. Within a transaction. */
export function takeBack(ledger: Ledger, recipes: Named, now: number): void {
  const gone = ledger.all<{ recipe: string; schedule_id: string }>(
    "select recipe, schedule_id from schedule where paused_reason = ?",
    GONE,
  );
  for (const { recipe, schedule_id: schedule } of gone) {
    if (recipes.get(recipe)?.schedules.some(({ id }) => id === schedule) !== true) continue;
    ledger.run(
      `update schedule set paused_reason = null, watermark = case when watermark > ? then watermark else ? end
        where recipe = ? and schedule_id = ?`,
      now,
      now,
      recipe,
      schedule,
    );
    ledger.event(now, "schedule_back", { recipe, schedule });
  }
}

/** Folders are read without those within them. */
function isWithin(file: string, paths: readonly string[]): boolean {
  const folder = file.replace(/\/[^/]*$/, "") || "/";
  return paths.includes(file) || paths.includes(folder);
}
