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
  type FileReport,
  UnreadCodeError,
} from "../../../lib/steps/mod.ts";
import { BrokerError } from "../../../lib/errors.ts";
import { type Judgement, Trust, untrustedText } from "../../../lib/runner/trust.ts";
import { didYouMean } from "../../../lib/client/nearest.ts";
import { leadsOutside, loadFile, mayBeRecipe, mayHaveName } from "../../../lib/steps/load_recipe.ts";
import { UsageError } from "../exit_codes.ts";
import type { Host } from "../host.ts";
import { plain } from "../print.ts";

/** Folder of the recipes when none is named. */
export const RECIPES = "recipes";

/** Settings lie where a person works, which may be the folder of the recipes. */
const isSettings = (name: string) => /^hsgate\.(ya?ml|json)$/.test(name);

/** Lists files: of a folder those that may be recipes, by name. @throws {UsageError} When something is not there. */
export async function recipeFiles(paths: readonly string[]): Promise<CheckedFile[]> {
  const files: string[] = [];
  const outside = new Set<string>();
  for (const path of paths.length === 0 ? [RECIPES] : paths) {
    const info = await statOf(path);
    if (!info.isDirectory) {
      files.push(path);
      continue;
    }
    const folder = path.replace(/\/+$/, "");
    const entries = (await Array.fromAsync(Deno.readDir(path))).filter(({ name, isDirectory }) =>
      !isDirectory && mayBeRecipe(name) && !isSettings(name)
    );
    for (const entry of entries) if (await leadsOutside(path, entry)) outside.add(`${folder}/${entry.name}`);
    const names = entries.map(({ name }) => name).sort();
    if (names.length === 0) throw new UsageError(`Cannot find recipes: there is none in "${path}"`);
    files.push(...names.map((name) => `${folder}/${name}`));
  }
  const refused = "it is a link to a file outside its folder: name that file itself";
  return [...new Set(files)].map((path) => outside.has(path) ? { path, refused } : { path });
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

/** How recipes are loaded. */
export interface LoadOptions {
  host: Pick<Host, "note" | "env">;
  now: () => number;
  signal?: AbortSignal;
}

/** Recipes that were loaded. */
export interface LoadedRecipes {
  /** Those without a mistake, whether they are trusted or not. */
  recipes: CompiledRecipe[];
  report: CheckReport;
  /** Those that may not run, by their files. */
  untrusted: Map<string, Untrusted>;
}

/** A recipe that may not run. */
export interface Untrusted {
  /** Absent when only its code could say what it is. */
  recipe?: CompiledRecipe;
  judgement: Judgement;
  /** Why it does not run, and what to do. */
  text: string;
}

/**
 * Compiles recipes; mistakes go to stderr. Code of a recipe that is not trusted does not run, and whoever runs recipes
 * leaves out those that are `untrusted`.
 */
export async function loadRecipes(paths: readonly string[], options: LoadOptions): Promise<LoadedRecipes> {
  const { host, now, signal } = options;
  const trust = Trust.of(host.env);
  await trust.records(); // a record that is not to be believed is no mistake of a recipe
  const mayRunCode = (file: string) => trust.isUnchanged(file);
  const report = await checkRecipes(await recipeFiles(paths), { now, signal, mayRunCode });
  for (const line of issueLines(report)) host.note(`hsgate: ${line}`);
  const fine = report.files.filter(({ issues }) => issues.length === 0);
  const untrusted = new Map<string, Untrusted>();
  for (const { path, recipe, unread } of fine) {
    const found = await untrustedIn(trust, { path, recipe, unread });
    if (found !== undefined) untrusted.set(path, found);
  }
  return { recipes: fine.flatMap(({ recipe }) => recipe ?? []), report, untrusted };
}

/** Says why a recipe may not run; nothing when it may. */
export async function untrustedIn(
  trust: Trust,
  { path, recipe, unread }: Pick<FileReport, "path" | "recipe" | "unread">,
): Promise<Untrusted | undefined> {
  if (unread || recipe === undefined) {
    if (!unread) return undefined;
    const standing = await trust.recordOf(path) === undefined ? "unknown" : "changed";
    const code = { kind: "code", name: path, by: "the recipe", needsTrust: true } as const;
    const judgement: Judgement = { standing, wanted: [code] };
    return { judgement, text: untrustedText({ name: path, file: path }, judgement) };
  }
  const judgement = await trust.judge(recipe);
  const mayRun = judgement.standing === "plain" || judgement.standing === "trusted";
  return mayRun ? undefined : { recipe, judgement, text: untrustedText(recipe, judgement) };
}

/**
 * Returns what a scheduler runs: trusted recipes as they are, and of an edited one the version that was trusted.
 *
 * @param current What the scheduler runs so far.
 * @returns Its recipes; a line about each edit that waits for its trust; and those that no version is trusted of.
 */
export async function servedRecipes(
  { recipes, untrusted }: LoadedRecipes,
  { host, now, signal, current = [] }: LoadOptions & { current?: readonly CompiledRecipe[] },
): Promise<{ served: CompiledRecipe[]; waiting: string[]; refused: Untrusted[] }> {
  const trust = Trust.of(host.env);
  const left = new Set([...untrusted.values()].flatMap(({ recipe }) => recipe ?? []));
  const served = recipes.filter((recipe) => !left.has(recipe));
  const waiting: string[] = [];
  const refused: Untrusted[] = [];
  for (const [path, found] of untrusted) {
    const before = await trustedBefore(trust, path, { now, signal, current });
    if (before === undefined) {
      refused.push(found);
      continue;
    }
    served.push(before);
    waiting.push(waitingText(before.name, path));
  }
  return { served, waiting, refused };
}

/** The version of a recipe that was trusted: from the record, or else what a scheduler has in its memory. */
async function trustedBefore(
  trust: Trust,
  path: string,
  { current, ...options }: { now: () => number; signal?: AbortSignal; current: readonly CompiledRecipe[] },
): Promise<CompiledRecipe | undefined> {
  const record = await trust.recordOf(path);
  if (record === undefined) return undefined;
  try {
    const kept = await trust.trustedVersion(path, options);
    if (kept !== undefined) return kept;
  } catch (error) {
    // Such as a recipe that it runs and that is gone: what is in memory may still run.
    if (!(error instanceof BrokerError)) throw error;
  }
  return current.find(({ file, sha256 }) => file === path && sha256 === record.sha256);
}

/** @throws {UsageError} When a recipe that is to run is not trusted, with its powers. */
export async function refuseUntrusted(recipe: CompiledRecipe, host: Pick<Host, "env">): Promise<void> {
  const found = await untrustedIn(Trust.of(host.env), { path: recipe.file, recipe });
  if (found !== undefined) throw new UsageError(found.text);
}

/**
 * Loads the recipe of one file for a run.
 *
 * @throws {UsageError} When it is not trusted, with its powers.
 */
export async function loadToRun(
  path: string,
  { host, text, orTrusted = false, now = host.now }: {
    host: Pick<Host, "env" | "note" | "now">;
    /** The present of the run. @default the real one */
    now?: () => number;
    /** YAML or JSON in place of what the file holds. */
    text?: string;
    /** A timer asks: of an edited recipe the version that was trusted runs, as with a scheduler. */
    orTrusted?: boolean;
  },
): Promise<CompiledRecipe> {
  const trust = Trust.of(host.env);
  await trust.records(); // a record that is not to be believed is no mistake of a recipe
  const mayRunCode = (file: string) => trust.isUnchanged(file);
  let recipe: CompiledRecipe | undefined;
  try {
    recipe = await loadFile(path, { ...text === undefined && { now }, mayRunCode }, text);
  } catch (error) {
    if (!(error instanceof UnreadCodeError)) throw error;
  }
  const found = await untrustedIn(trust, recipe === undefined ? { path, unread: true } : { path, recipe });
  if (found !== undefined) {
    const before = orTrusted ? await trustedBefore(trust, path, { now, current: [] }) : undefined;
    if (before === undefined) throw new UsageError(found.text);
    host.note(`hsgate: warning: ${plain(waitingText(before.name, path))}`);
    return before;
  }
  return recipe!; // without one it is untrusted
}

const waitingText = (name: string, path: string) =>
  `"${name}" was changed and the change is not trusted, so the version that was trusted runs: ` +
  `look at the file, then run "hsgate trust ${path}"`;

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
    const paths = byName.map((path) => ({ path }));
    const { files } = await checkRecipes(paths, { now: () => 0, mayRunCode: () => false });
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
    const paths: string[] = [];
    for (const entry of entries) {
      const { name, isDirectory } = entry;
      if (isDirectory || !mayBeRecipe(name) || isSettings(name) || await leadsOutside(folder, entry)) {
        continue;
      }
      paths.push(`${folder}/${name}`);
    }
    return paths.sort();
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
  { folder, host, now, toRun = false }: {
    folder: string | undefined;
    host: Pick<Host, "note" | "env">;
    now: () => number;
    /** One that is not trusted is refused. */
    toRun?: boolean;
  },
): Promise<CompiledRecipe> {
  const { recipes, report, untrusted } = await loadRecipes(folder === undefined ? [] : [folder], {
    host,
    now,
  });
  const found = called(name, report);
  if (toRun) {
    const path = found?.file ?? [...untrusted.keys()].find((path) => isCalled(path, name));
    const why = path === undefined ? undefined : untrusted.get(path);
    if (why !== undefined) throw new UsageError(why.text);
  }
  if (found !== undefined) return found;
  const hint = didYouMean(name, recipes.map(({ name }) => name));
  throw new UsageError(`Cannot find "${name}": no recipe of "${folder ?? RECIPES}" has this name${hint}`);
}
