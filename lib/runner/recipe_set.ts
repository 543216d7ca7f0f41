/**
 * The recipes that a scheduler has, swapped as a whole.
 *
 * @module
 */
import type { CompiledRecipe } from "../steps/compiled.ts";
import type { Ledger } from "./ledger.ts";
import { GONE } from "./paused.ts";
import { skipRun } from "./run_rows.ts";
import { ScheduleCursor } from "./schedule_cursor.ts";

/** Recipes by name, with the place of each schedule in time. */
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

  /** Takes another set. Recipes that are gone are paused and not forgotten; within a transaction. */
  swap(ledger: Ledger, recipes: readonly CompiledRecipe[], now: number): void {
    const before = this.recipes;
    this.#take(recipes, now);
    for (const name of before.keys()) {
      if (this.recipes.has(name)) continue;
      ledger.run(
        "update schedule set paused_reason = ? where recipe = ? and paused_reason is null",
        GONE,
        name,
      );
      const due = ledger.all<{ run_key: string }>(
        "select run_key from run where recipe = ? and state = 'due'",
        name,
      );
      for (const { run_key } of due) skipRun(ledger, run_key, "paused", now);
      ledger.event(now, "recipe_gone", { recipe: name });
    }
    for (const { recipe, schedule } of this.cursors) {
      const back = ledger.run(
        `update schedule set paused_reason = null, watermark = case when watermark > ? then watermark else ? end where recipe = ?
          and schedule_id = ? and paused_reason = ?`,
        now,
        now,
        recipe.name,
        schedule.id,
        GONE,
      );
      if (back > 0) ledger.event(now, "schedule_back", { recipe: recipe.name, schedule: schedule.id });
    }
  }
}
