/**
 * Finds recipes by name, in a folder or in the file that the store records.
 *
 * @module
 */
import { calendarsOf } from "../../terminal/arguments.ts";
import { fileOfRecipe } from "../../../lib/runner/queries/schedules.ts";
import type { Store } from "../../../lib/store/store.ts";
import { Trust } from "../../../lib/runner/trust/trust.ts";
import { checkRecipes, type CompiledRecipe } from "../../../lib/recipes/mod.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { issueLines, recipeInFolder, recipeNamed } from "./recipe_files.ts";
import { RECIPES } from "./recipe_names.ts";

type Where = Parameters<typeof recipeNamed>[1];

/**
 * Returns a recipe by name, or `undefined` if it is not found. If a folder is named, searches only this folder.
 * Otherwise searches the default folder, and then the file that a scheduler last loaded.
 */
export async function findRecipe(
  name: string,
  store: Store,
  where: Where,
): Promise<CompiledRecipe | undefined> {
  const found = await recipeInFolder(name, where);
  const file = found === undefined && where.folder === undefined
    ? await fileOfRecipe(store, name)
    : undefined;
  return file === undefined ? found : await recipeOf(file, name, where);
}

/**
 * Returns a recipe like `findRecipe`. @throws {UsageError} If it is not found. The message names the nearest recipe.
 */
export async function getRecipe(name: string, store: Store, where: Where): Promise<CompiledRecipe> {
  const found = await findRecipe(name, store, where);
  if (found !== undefined) return found;
  try {
    return await recipeNamed(name, where);
  } catch (error) {
    if (!(error instanceof UsageError) || where.folder !== undefined) throw error;
    throw new UsageError(`${error.message}; name its folder with --recipes`);
  }
}

/** Returns a text that says where a recipe was searched for. */
export async function notFound(name: string, store: Store, folder: string | undefined): Promise<string> {
  if (folder !== undefined) return `no valid recipe in "${folder}" has this name`;
  const file = await fileOfRecipe(store, name);
  const there = file === undefined
    ? ""
    : `, and "${file}", from which a scheduler last loaded it, is missing or contains no valid recipe of this name`;
  return `no valid recipe in "${RECIPES}" has this name${there} (--recipes names another folder)`;
}

async function recipeOf(
  file: string,
  name: string,
  { host, now }: Where,
): Promise<CompiledRecipe | undefined> {
  try {
    await Deno.stat(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  const trust = Trust.of(host.env);
  const mayRunCode = (each: string) => trust.isUnchanged(each);
  const report = await checkRecipes([{ path: file }], { now, calendars: calendarsOf(host), mayRunCode });
  for (const line of issueLines(report)) host.note(`hsgate: ${line}`);
  const [checked] = report.files;
  return checked?.issues.length === 0 && checked.recipe?.name === name ? checked.recipe : undefined;
}
