/**
 * Loads the recipes of a rehearsal from a folder or from files.
 *
 * @module
 */
import type { Calendars } from "../calendars/mod.ts";
import { recipesOfFolder } from "../recipes/files/recipe_files.ts";
import { type CompiledRecipe, loadRecipe } from "../recipes/mod.ts";

/** Loads recipes as of an instant, Unix milliseconds. Compiled recipes are returned as they are. */
export async function loadRecipes(
  given: string | URL | readonly (string | URL | CompiledRecipe)[],
  { at, calendars }: { at: number; calendars: Calendars },
): Promise<CompiledRecipe[]> {
  const list = typeof given === "string" || given instanceof URL ? await filesOf(pathOf(given)) : given;
  const recipes: CompiledRecipe[] = [];
  for (const each of list) {
    const isFile = typeof each === "string" || each instanceof URL;
    recipes.push(isFile ? await loadRecipe(pathOf(each), { now: () => at, calendars }) : each);
  }
  if (recipes.length === 0) throw new TypeError("Cannot rehearse: there are no recipes");
  return recipes;
}

const pathOf = (given: string | URL) =>
  given instanceof URL || given.startsWith("file:") ? decodeURIComponent(new URL(given).pathname) : given;

async function filesOf(path: string): Promise<string[]> {
  if (!(await Deno.stat(path)).isDirectory) return [path];
  return (await recipesOfFolder(path)).flatMap((file) => file.isOutside ? [] : [file.path]);
}
