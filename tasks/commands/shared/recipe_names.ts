/**
 * Lists recipes of the default folder by their file names, without reading the files.
 *
 * @module
 */
import { linkedOutside } from "../../../lib/confined_paths.ts";
import { recipesOfFolder } from "../../../lib/recipes/files/recipe_files.ts";

/** Default folder of the recipes. */
export const RECIPES = "recipes";

const ENDING = /\.(ya?ml|json|ts)$/;

/** Returns the files of the default folder that may be recipes, without links to files outside it. */
export async function usualRecipes(): Promise<string[]> {
  try {
    if (linkedOutside(RECIPES) !== undefined) return [];
    const files = await recipesOfFolder(RECIPES);
    return files.flatMap(({ path, isOutside }) => isOutside ? [] : [path]);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Returns the names of recipes in the default folder, taken from their file names. */
export async function recipeNames(): Promise<string[]> {
  return (await usualRecipes()).map((path) => path.slice(RECIPES.length + 1).replace(ENDING, ""));
}

/** Returns whether a name matches a file, with or without its folder and extension. */
export function isCalled(path: string, name: string): boolean {
  const file = path.replace(/^.*\//, "");
  const stem = file.replace(ENDING, "");
  return [path, file, stem, stem.replaceAll("_", "-")].includes(name);
}
