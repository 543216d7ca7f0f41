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
import { mayBeRecipe, mayHaveName } from "../../../lib/steps/load_recipe.ts";
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
  { host, now, signal }: { host: Pick<Host, "note">; now: () => number; signal?: AbortSignal },
): Promise<{ recipes: CompiledRecipe[]; report: CheckReport }> {
  const report = await checkRecipes(await recipeFiles(paths), { now, signal });
  for (const line of issueLines(report)) host.note(`hsgate: ${line}`);
  const fine = report.files.filter(({ issues }) => issues.length === 0);
  return { recipes: fine.flatMap(({ recipe }) => recipe === undefined ? [] : [recipe]), report };
}

const fileName = (path: string) => path.replace(/^.*\//, "");
const ENDING = /\.(ya?ml|json|ts)$/;

/** Tells whether somebody may call a recipe so by its file: with or without its folder and ending. */
function isCalled(path: string, name: string): boolean {
  const stem = fileName(path).replace(ENDING, "");
  return [path, fileName(path), stem, stem.replaceAll("_", "-")].includes(name);
}

/** Finds a recipe among those of a report: by its own name first, then by its file's. */
function called(name: string, { files }: CheckReport): CompiledRecipe | undefined {
  const fine = files.filter(({ issues }) => issues.length === 0);
  const found = fine.find(({ recipe }) => recipe?.name === name) ??
    fine.find(({ path }) => isCalled(path, name));
  return found?.recipe;
}

/**
 * Finds the file of a recipe that somebody named: a path, or in the usual folder a recipe's own name, or its file's.
 * Nothing when there is none; a recipe that is wrong is found all the same.
 */
export async function fileOfRecipe(name: string): Promise<string | undefined> {
  const paths = await pathsIn(RECIPES);
  const byName: string[] = [];
  for (const path of paths) if (await mayHaveName(path, name)) byName.push(path);
  if (byName.length > 1) {
    const { files } = await checkRecipes(byName.map((path) => ({ path })), { now: () => 0 });
    const itself = files.find(({ recipe }) => recipe?.name === name);
    if (itself !== undefined) return itself.path;
  }
  return byName[0] ?? paths.find((path) => isCalled(path, name));
}

/** What recipes of the usual folder are called by their files. */
export async function recipeNames(): Promise<string[]> {
  return (await pathsIn(RECIPES)).map((path) => fileName(path).replace(ENDING, ""));
}

async function pathsIn(folder: string): Promise<string[]> {
  try {
    const entries = await Array.fromAsync(Deno.readDir(folder));
    return entries.filter(({ name, isDirectory }) => !isDirectory && mayBeRecipe(name) && !isSettings(name))
      .map(({ name }) => `${folder}/${name}`).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
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
  const { report } = await loadRecipes(folder === undefined ? [] : [folder], { host, now });
  return called(name, report);
}

/**
 * Finds a recipe in a folder by its own name, or by that of its file; others may be wrong.
 *
 * @throws {UsageError} With the nearest name.
 */
export async function recipeNamed(
  name: string,
  { folder, host, now }: { folder: string | undefined; host: Pick<Host, "note">; now: () => number },
): Promise<CompiledRecipe> {
  const { recipes, report } = await loadRecipes(folder === undefined ? [] : [folder], { host, now });
  const found = called(name, report);
  if (found !== undefined) return found;
  const hint = didYouMean(name, recipes.map(({ name }) => name));
  throw new UsageError(`Cannot find "${name}": no recipe of "${folder ?? RECIPES}" has this name${hint}`);
}
