/**
 * Files of recipes: those of a folder, or those that are named.
 *
 * @module
 */
import {
  type CheckedFile,
  checkRecipes,
  type CheckReport,
  type CompiledRecipe,
} from "../../../lib/steps/mod.ts";
import { didYouMean } from "../../../lib/client/nearest.ts";
import { mayBeRecipe } from "../../../lib/steps/load_recipe.ts";
import { UsageError } from "../exit_codes.ts";
import type { Host } from "../host.ts";

/** Folder of the recipes when none is named. */
export const RECIPES = "recipes";

/** Settings lie where a person works, which may be the folder of the recipes. */
const isSettings = (name: string) => /^hsgate\.(ya?ml|json)$/.test(name);

/** Lists files: of a folder those that may be recipes, by name. @throws {UsageError} When something is not there. */
export async function recipeFiles(paths: readonly string[]): Promise<CheckedFile[]> {
  const files: string[] = [];
  for (const path of paths.length === 0 ? [RECIPES] : paths) {
    const info = await statOf(path);
    if (!info.isDirectory) {
      files.push(path);
      continue;
    }
    const folder = path.replace(/\/+$/, "");
    const names = (await Array.fromAsync(Deno.readDir(path))).filter(({ isDirectory }) => !isDirectory)
      .map(({ name }) => name).filter((name) => mayBeRecipe(name) && !isSettings(name)).sort();
    if (names.length === 0) throw new UsageError(`Cannot find recipes: there is none in "${path}"`);
    files.push(...names.map((name) => `${folder}/${name}`));
  }
  return [...new Set(files)].map((path) => ({ path }));
}

async function statOf(path: string): Promise<Deno.FileInfo> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new UsageError(`Cannot find recipes: there is no "${path}"`);
  }
}

/** Writes what is wrong with recipes, one line for each mistake: `file:line:column: reason`. */
export function issueLines({ files }: CheckReport): string[] {
  return files.flatMap(({ path, issues }) =>
    issues.map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`)
  );
}

/** Compiles recipes; what is wrong with others is told on stderr. */
export async function loadRecipes(
  paths: readonly string[],
  { host, now }: { host: Pick<Host, "note">; now: () => number },
): Promise<{ recipes: CompiledRecipe[]; report: CheckReport }> {
  const report = await checkRecipes(await recipeFiles(paths), { now });
  for (const line of issueLines(report)) host.note(`hsgate: ${line}`);
  const fine = report.files.filter(({ issues }) => issues.length === 0);
  return { recipes: fine.flatMap(({ recipe }) => recipe === undefined ? [] : [recipe]), report };
}

/** Finds a recipe by its name in a folder that need not be there; nothing when it has none that can be read. */
export async function recipeInFolder(
  name: string,
  { folder, host, now }: Parameters<typeof recipeNamed>[1],
): Promise<CompiledRecipe | undefined> {
  try {
    await Deno.stat(folder ?? RECIPES);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  const { recipes } = await loadRecipes(folder === undefined ? [] : [folder], { host, now });
  return recipes.find((recipe) => recipe.name === name);
}

/** Finds a recipe by its name in a folder; others may be wrong. @throws {UsageError} With the nearest name. */
export async function recipeNamed(
  name: string,
  { folder, host, now }: { folder: string | undefined; host: Pick<Host, "note">; now: () => number },
): Promise<CompiledRecipe> {
  const { recipes } = await loadRecipes(folder === undefined ? [] : [folder], { host, now });
  const found = recipes.find((recipe) => recipe.name === name);
  if (found !== undefined) return found;
  const hint = didYouMean(name, recipes.map(({ name }) => name));
  throw new UsageError(`Cannot find "${name}": no recipe of "${folder ?? RECIPES}" has this name${hint}`);
}
