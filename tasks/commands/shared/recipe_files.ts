/**
 * Finds, checks and loads the files of recipes.
 *
 * @module
 */
import type { Calendars } from "../../../lib/calendars/mod.ts";
import { calendarsOf } from "../../terminal/arguments.ts";
import {
  type CheckedFile,
  checkRecipes,
  type CheckReport,
  type CompiledRecipe,
  type FileReport,
  UnreadCodeError,
} from "../../../lib/recipes/mod.ts";
import { BrokerError } from "../../../lib/errors.ts";
import { type Judgement, Trust, untrustedText } from "../../../lib/runner/trust/trust.ts";
import { knownNames } from "../../../lib/client/nearest.ts";
import { loadFile, mayHaveName } from "../../../lib/recipes/files/load_recipe.ts";
import { recipesOfFolder } from "../../../lib/recipes/files/recipe_files.ts";
import { linkedOutside } from "../../../lib/confined_paths.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { plain } from "../../terminal/print.ts";
import { isCalled, recipeNames, RECIPES, usualRecipes } from "./recipe_names.ts";
import { shellHint } from "../../../lib/shell_words.ts";

/**
 * Returns the files of recipes: all recipe files of a folder, or the file of a named recipe.
 *
 * @throws {UsageError} If a file, folder or recipe does not exist.
 */
export async function recipeFiles(paths: readonly string[]): Promise<CheckedFile[]> {
  const files: string[] = [];
  const outside = new Set<string>();
  for (const given of paths.length === 0 ? [RECIPES] : paths) {
    const [path, info] = await find(given);
    const elsewhere = linkedOutside(path);
    if (!info.isDirectory) {
      files.push(path);
      if (elsewhere !== undefined) outside.add(path);
      continue;
    }
    if (elsewhere !== undefined) {
      throw new UsageError(
        `Cannot find recipes: a link leads from "${path}" to "${elsewhere}"; if that folder is yours, give its path instead`,
      );
    }
    const found = await recipesOfFolder(path);
    if (found.length === 0) throw new UsageError(`Cannot find recipes: there is no recipe file in "${path}"`);
    for (const { path, isOutside } of found) if (isOutside) outside.add(path);
    files.push(...found.map(({ path }) => path));
  }
  const refused = "it is a link to a file outside its folder: give the path of that file instead";
  return [...new Set(files)].map((path) => outside.has(path) ? { path, refused } : { path });
}

async function find(given: string): Promise<[path: string, info: Deno.FileInfo]> {
  try {
    return [given, await Deno.stat(given)];
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const path = await fileOfRecipe(given);
  if (path !== undefined) return [path, await Deno.stat(path)];
  throw new UsageError(
    `Cannot find recipes: there is no "${given}"${knownNames(given, await recipeNames())}`,
  );
}

/** Returns a line for each mistake in recipes, `file:line:column: reason`, safe to print. */
export function issueLines({ files }: CheckReport): string[] {
  return files.flatMap(({ path, issues }) =>
    issues.map(({ line, column, message }) => plain(`${path}:${line}:${column}: ${message}`))
  );
}

/** Options for loading recipes. */
interface LoadOptions {
  host: Pick<Host, "note" | "env" | "calendars">;
  now: () => number;
  signal?: AbortSignal;
}

/** Loaded recipes. */
interface LoadedRecipes {
  /** Recipes without a mistake, trusted or not. */
  recipes: CompiledRecipe[];
  report: CheckReport;
  /** Recipes that are not trusted and so must not run, by file. */
  untrusted: Map<string, Untrusted>;
}

/** A recipe that is not trusted and so must not run. */
export interface Untrusted {
  /** Absent if hsgate would have to run the recipe's code to read the recipe. */
  recipe?: CompiledRecipe;
  judgement: Judgement;
  /** Why it does not run, and what to do. */
  text: string;
}

/**
 * Compiles recipes and prints mistakes on stderr. Does not run code of untrusted recipes. The caller must not run the
 * recipes in `untrusted`.
 */
export async function loadRecipes(paths: readonly string[], options: LoadOptions): Promise<LoadedRecipes> {
  const { host, now, signal } = options;
  const trust = Trust.of(host.env);
  await trust.records(); // an invalid trust record must not appear as a mistake of a recipe
  const mayRunCode = (file: string) => trust.isUnchanged(file);
  const report = await checkRecipes(await recipeFiles(paths), {
    now,
    calendars: calendarsOf(host),
    signal,
    mayRunCode,
  });
  for (const line of issueLines(report)) host.note(`hsgate: ${line}`);
  const fine = report.files.filter(({ issues }) => issues.length === 0);
  const untrusted = new Map<string, Untrusted>();
  for (const { path, recipe, unread } of fine) {
    const found = await untrustedIn(trust, { path, recipe, unread });
    if (found !== undefined) untrusted.set(path, found);
  }
  return { recipes: fine.flatMap(({ recipe }) => recipe ?? []), report, untrusted };
}

/** Returns why a recipe must not run; `undefined` if it may run. */
export async function untrustedIn(
  trust: Trust,
  { path, recipe, unread }: Pick<FileReport, "path" | "recipe" | "unread">,
): Promise<Untrusted | undefined> {
  if (unread || recipe === undefined) {
    if (!unread) return undefined;
    const standing = await trust.recordOf(path) === undefined ? "unknown" : "changed";
    const code = { kind: "code", name: path, by: "the recipe", needsTrust: true } as const;
    const exposed = await trust.exposureOf(path);
    const judgement: Judgement = { standing, wanted: [code], ...exposed !== undefined && { exposed } };
    return { judgement, text: untrustedText({ name: path, file: path }, judgement) };
  }
  const judgement = await trust.judge(recipe);
  const mayRun = judgement.standing === "plain" || judgement.standing === "trusted";
  return mayRun ? undefined : { recipe, judgement, text: untrustedText(recipe, judgement) };
}

/**
 * Returns the recipes that a scheduler runs. For an edited recipe it returns the version that was trusted.
 *
 * @param current The recipes that the scheduler runs so far.
 * @returns `served`: the recipes to run. `waiting`: a line about each edit that waits for trust. `refused`: the
 * recipes without any trusted version.
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
    const before = await trustedBefore(trust, path, { now, calendars: calendarsOf(host), signal, current });
    if (before === undefined) {
      refused.push(found);
      continue;
    }
    served.push(before);
    waiting.push(waitingText(before.name, path, found.judgement));
  }
  return { served, waiting, refused };
}

/** Returns the trusted version of a recipe: from the trust record, or otherwise from the scheduler's memory. */
async function trustedBefore(
  trust: Trust,
  path: string,
  { current, ...options }: {
    now: () => number;
    calendars: Calendars;
    signal?: AbortSignal;
    current: readonly CompiledRecipe[];
  },
): Promise<CompiledRecipe | undefined> {
  const record = await trust.recordOf(path);
  if (record === undefined) return undefined;
  try {
    const kept = await trust.trustedVersion(path, options);
    if (kept !== undefined) return kept;
  } catch (error) {
    // For example, an inner recipe is missing. The version in the scheduler's memory may still run.
    if (!(error instanceof BrokerError)) throw error;
  }
  return current.find(({ file, sha256 }) => file === path && sha256 === record.sha256);
}

/** Checks that a recipe is trusted. @throws {UsageError} If not. The message lists what the recipe may do. */
export async function refuseUntrusted(recipe: CompiledRecipe, host: Pick<Host, "env">): Promise<void> {
  const found = await untrustedIn(Trust.of(host.env), { path: recipe.file, recipe });
  if (found !== undefined) throw new UsageError(found.text);
}

/**
 * Returns the recipe of a file for a run.
 *
 * @throws {UsageError} If the recipe is not trusted. The message lists what the recipe may do.
 */
export async function loadToRun(
  path: string,
  { host, text, orTrusted = false, now = host.now }: {
    host: Pick<Host, "env" | "note" | "now" | "calendars">;
    /** Clock of the run. @default the real one */
    now?: () => number;
    /** YAML or JSON to use instead of the file's content. */
    text?: string;
    /** For a timer: run the trusted version of an edited recipe, like a scheduler. */
    orTrusted?: boolean;
  },
): Promise<CompiledRecipe> {
  const trust = Trust.of(host.env);
  await trust.records(); // an invalid trust record must not appear as a mistake of a recipe
  const mayRunCode = (file: string) => trust.isUnchanged(file);
  let recipe: CompiledRecipe | undefined;
  try {
    recipe = await loadFile(path, {
      ...text === undefined && { now, calendars: calendarsOf(host) },
      mayRunCode,
    }, text);
  } catch (error) {
    if (!(error instanceof UnreadCodeError)) throw error;
  }
  const found = await untrustedIn(trust, recipe === undefined ? { path, unread: true } : { path, recipe });
  if (found !== undefined) {
    const before = orTrusted
      ? await trustedBefore(trust, path, { now, calendars: calendarsOf(host), current: [] })
      : undefined;
    if (before === undefined) throw new UsageError(found.text);
    host.note(`hsgate: warning: ${plain(waitingText(before.name, path, found.judgement))}`);
    return before;
  }
  return recipe!; // a recipe that was not loaded is untrusted: the branch above has handled it
}

const waitingText = (name: string, path: string, { exposed }: Judgement) =>
  exposed !== undefined
    ? `the trusted version of "${name}" runs, because the changed one cannot be trusted: ${exposed}`
    : `"${name}" has changed and the change is not trusted, so the trusted version runs: ` +
      `check the file, then run "hsgate trust ${shellHint(path)}"`;

/**
 * Returns a recipe of a report, by its own name or otherwise by its file name.
 *
 * @throws {UsageError} If several recipes have the name.
 */
function findInReport(name: string, { files }: CheckReport): CompiledRecipe | undefined {
  const [own, other] = files.filter(({ recipe }) => recipe?.name === name);
  if (other !== undefined) throw sameName(name, own!.path, other.path);
  const fine = files.filter(({ issues }) => issues.length === 0);
  const found = fine.find(({ recipe }) => recipe?.name === name) ??
    fine.find(({ path }) => isCalled(path, name));
  return found?.recipe;
}

/**
 * Returns the error for a name that two recipes have. hsgate chooses neither, because one file may come from somebody
 * else.
 */
const sameName = (name: string, one: string, other: string) =>
  new UsageError(
    `Cannot use the recipe "${name}": "${plain(one)}" and "${
      plain(other)
    }" have this name; rename one, or name the file`,
  );

/**
 * Returns the file of a recipe in the default folder, by the recipe's own name or its file name, even if the recipe has
 * mistakes. Returns `undefined` if there is none.
 *
 * @throws {UsageError} If several recipes have the name.
 */
export async function fileOfRecipe(name: string): Promise<string | undefined> {
  const paths = await usualRecipes();
  const byName: string[] = [];
  for (const path of paths) if (await mayHaveName(path, name)) byName.push(path);
  if (byName.length > 1) {
    const paths = byName.map((path) => ({ path }));
    const { files } = await checkRecipes(paths, { now: () => 0, mayRunCode: () => false });
    const [itself, other] = files.filter(({ recipe }) => recipe?.name === name);
    if (other !== undefined) throw sameName(name, itself!.path, other.path);
    if (itself !== undefined) return itself.path;
  }
  return byName[0] ?? paths.find((path) => isCalled(path, name));
}

/** Returns a recipe of a folder by name; `undefined` if the folder or a valid recipe of this name does not exist. */
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
  return findInReport(name, report);
}

/**
 * Returns a recipe of a folder by its own name or its file name. Other recipes may have mistakes.
 *
 * @throws {UsageError} If there is no such recipe. The message names the nearest recipe.
 */
export async function recipeNamed(
  name: string,
  { folder, host, now, toRun = false, isOwnName = false }: {
    folder: string | undefined;
    host: Pick<Host, "note" | "env" | "calendars">;
    now: () => number;
    /** The name comes from a run in the store, so it is never the name of a file. */
    isOwnName?: boolean;
    /** Reject an untrusted recipe. */
    toRun?: boolean;
  },
): Promise<CompiledRecipe> {
  const { recipes, report, untrusted } = await loadRecipes(folder === undefined ? [] : [folder], {
    host,
    now,
  });
  const named = findInReport(name, report);
  const found = isOwnName && named?.name !== name ? undefined : named;
  if (toRun) {
    const path = found?.file ?? [...untrusted.keys()].find((path) => isCalled(path, name));
    const why = path === undefined ? undefined : untrusted.get(path);
    if (why !== undefined) throw new UsageError(why.text);
  }
  if (found !== undefined) return found;
  const hint = knownNames(name, recipes.map(({ name }) => name));
  throw new UsageError(`Cannot find "${name}": no recipe in "${folder ?? RECIPES}" has this name${hint}`);
}

/**
 * Returns recipes by name: this recipe and, if a step runs another recipe, all recipes of its folder that may run.
 *
 * @throws {UsageError} If the recipe runs an untrusted recipe.
 */
export async function neighboursOf(
  recipe: CompiledRecipe,
  options: LoadOptions,
): Promise<Map<string, CompiledRecipe>> {
  const { file } = recipe;
  const runs = recipe.steps.flatMap(({ runs }) => runs ?? []);
  const folder = file.includes("/") ? file.replace(/\/[^/]*$/, "") : ".";
  if (runs.length === 0) return new Map([[recipe.name, recipe]]);
  const { recipes, untrusted } = await loadRecipes([folder], options);
  const left = new Set<CompiledRecipe>();
  for (const [path, { recipe: other, text, judgement }] of untrusted) {
    // If an inner recipe was edited, the trust check of `recipe` has already decided which version of the inner recipe
    // runs.
    const isRun = judgement.standing !== "changed" &&
      runs.some((each) => each !== "any" && (each.file === path || each.name === other?.name));
    if (isRun) throw new UsageError(text);
    if (other !== undefined) left.add(other);
  }
  const others = recipes.filter((each) => !left.has(each));
  return new Map([...others, recipe].map((each) => [each.name, each]));
}
