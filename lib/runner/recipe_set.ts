/**
 * The recipes that a scheduler has, swapped as a whole.
 *
 * @module
 */
import type { CompiledRecipe } from "../steps/compiled.ts";
import { isElsewhere, pauseOne, type Served, takeBack } from "./gone.ts";
import type { Ledger } from "./ledger.ts";
import { ScheduleCursor } from "./schedule_cursor.ts";

/** What taking another set needs. */
export interface SwapOptions {
  served?: Served;
  now: number;
}

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

  /**
   * Takes another set. Recipes that are gone are paused and not forgotten, unless another process has them from another
   * file; those that are back go on. Within a transaction.
   */
  swap(ledger: Ledger, recipes: readonly CompiledRecipe[], { served, now }: SwapOptions): void {
    const before = this.recipes;
    this.#take(recipes, now);
    for (const [name, recipe] of before) {
      if (this.recipes.has(name)) continue;
      if (served === undefined || !isElsewhere(ledger, recipe, served)) pauseOne(ledger, name, now);
    }
    takeBack(ledger, this.recipes, now);
  }
}
