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
   *
   * @returns Names of those that are gone.
   */
  swap(ledger: Ledger, recipes: readonly CompiledRecipe[], { served, now }: SwapOptions): string[] {
    const before = this.recipes;
    this.#take(recipes, now);
    const gone = [...before].filter(([name, recipe]) =>
      !this.recipes.has(name) && (served === undefined || !isElsewhere(ledger, recipe, served))
    ).map(([name]) => name);
    for (const name of gone) pauseOne(ledger, name, now);
    takeBack(ledger, this.recipes, now);
    return gone;
  }
}
