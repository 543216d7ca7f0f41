/**
 * Recipes for a rehearsal: from a folder, from files, or as they are.
 *
 * @module
 */
import { mayBeRecipe } from "../steps/load_recipe.ts";
import { type CompiledRecipe, loadRecipe } from "../steps/mod.ts";

/** Loads recipes as they would be loaded at an instant, epoch milliseconds. */
export async function loadRecipes(
  given: string | URL | readonly (string | URL | CompiledRecipe)[],
  at: number,
): Promise<CompiledRecipe[]> {
  const list = typeof given === "string" || given instanceof URL ? await filesOf(pathOf(given)) : given;
  const recipes: CompiledRecipe[] = [];
  for (const each of list) {
    const isFile = typeof each === "string" || each instanceof URL;
    recipes.push(isFile ? await loadRecipe(pathOf(each), { now: () => at }) : each);
  }
  if (recipes.length === 0) throw new TypeError("Cannot rehearse: there are no recipes");
  return recipes;
}

const pathOf = (given: string | URL) =>
  given instanceof URL || given.startsWith("file:") ? decodeURIComponent(new URL(given).pathname) : given;

async function filesOf(path: string): Promise<string[]> {
  if (!(await Deno.stat(path)).isDirectory) return [path];
  const names = (await Array.fromAsync(Deno.readDir(path))).filter(({ isDirectory }) => !isDirectory)
    .map(({ name }) => name).filter((name) => mayBeRecipe(name) && !/^hsgate\.(ya?ml|json)$/.test(name));
  return names.sort().map((name) => `${path.replace(/\/+$/, "")}/${name}`);
}
