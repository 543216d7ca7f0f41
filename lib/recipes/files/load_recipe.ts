/**
 * Loads recipes from files, and the other recipes of their folder that they run.
 *
 * @module
 */
import { BrokerError } from "../../errors.ts";
import type { CompileOptions, RecipeFile } from "../compile/compile_recipe.ts";
import type { CompiledRecipe, KnownRecipe } from "../compiled.ts";
import { fileUrl, MOST_BYTES, readText, recipesOfFolder } from "./recipe_files.ts";
import { checkWrittenImports, OwnStepError } from "../own_steps/code_files.ts";
import { readRegular } from "../../regular_files.ts";
import { RecipeError, UnreadCodeError } from "../recipe_error.ts";
import { lazily } from "../../lazy.ts";

const loadCompiler = lazily(() => import("../compile/compile_recipe.ts"));
const loadOwnSteps = lazily(() => import("../own_steps/own_step.ts"));

/**
 * Compiles a file. The compiler is loaded only here, because `trust.ts` loads this module even if no recipe is
 * compiled.
 */
async function compileText(file: RecipeFile, options: CompileOptions): Promise<CompiledRecipe> {
  return await (await loadCompiler()).compileText(file, options);
}

/**
 * Reads and compiles a file; its steps may refer to recipes of the same folder.
 *
 * @param text Text to use instead of the file's content. For TypeScript, `options.codeOf` can replace the code.
 * @param others Recipes that were compiled because other recipes run them. Pass the same object for several files, so
 * that each such recipe is compiled only once.
 */
export async function loadFile(
  path: string,
  options: CompileOptions,
  text?: string,
  others: OtherRecipes = new OtherRecipes(),
): Promise<CompiledRecipe> {
  others.renewBudget();
  const isWritten = text !== undefined && !path.endsWith(".ts");
  const file = isWritten ? { text, fileName: path } : await readFile(path, options, text);
  const findRecipe = options.findRecipe ?? neighbours(path, options, { stack: [path], others }).findRecipe;
  return await compileText(file, { ...options, findRecipe });
}

/** A recipe whose copy hsgate keeps, because the user trusted it. */
interface KeptRecipe {
  name: string;
  path: string;
  text: string;
}

/** Returns a function that finds recipes only among the kept copies, and compiles each of them once. */
export function findKept(
  kept: readonly KeptRecipe[],
  options: CompileOptions,
): NonNullable<CompileOptions["findRecipe"]> {
  const compiled = new Map<string, Promise<CompiledRecipe>>();
  const compile = async ({ path, text }: KeptRecipe) =>
    await compileText(await readFile(path, options, text), { ...options, params: undefined, findRecipe });
  const findRecipe = async (name: string) => {
    const found = kept.find((each) => each.name === name);
    return found && await compiled.getOrInsertComputed(name, () => compile(found));
  };
  return findRecipe;
}

/** Returns the folder of a recipe's file with a slash at its end; an empty text for a file of the working folder. */
export const folderOf = (path: string): string => path.replace(/[^/]*$/, "");

/** Returns the name of a file, without its folder. */
export const baseName = (path: string): string => path.replace(/^.*\//, "");

/**
 * Reads a recipe's file. A TypeScript recipe runs in a process without permissions, which returns its default export.
 */
async function readFile(
  path: string,
  { signal, mayRunCode, codeOf }: Pick<CompileOptions, "signal" | "mayRunCode" | "codeOf"> = {},
  given?: string,
): Promise<RecipeFile> {
  const text = given ?? await readText(path);
  if (!path.endsWith(".ts")) return { text, fileName: path };
  const refuse = (message: string) => new RecipeError(path, [{ line: 1, column: 1, path: [], message }]);
  const file = fileUrl(path);
  try {
    if (mayRunCode !== undefined && !await mayRunCode(path)) {
      await checkWrittenImports(file, new URL(".", file));
      throw new UnreadCodeError(path);
    }
    const { readExport } = await loadOwnSteps();
    const { value, code } = await readExport(file, { signal, code: await codeOf?.(file) });
    if (value !== null) return { text, fileName: path, value, code };
  } catch (error) {
    if (!(error instanceof OwnStepError)) throw error;
    throw refuse(`it cannot be loaded: ${error.message.replace(/^Cannot use step "[^"]*": /, "")}`);
  }
  throw refuse("expected a default export: export default defineRecipe({ … })");
}

/**
 * Maximum length of a chain of recipes that run each other, and maximum number of steps of all recipes that one recipe
 * runs.
 */
const nestedLimits = { levels: 10, steps: 2_000 } as const;

/**
 * `folder`: maximum number of bytes of all files of a folder that are searched for names. `compiled`: maximum number of
 * characters of all other files that are compiled for one recipe.
 */
const searchLimits = { folder: 32 * 1024 * 1024, compiled: 1024 * 1024 } as const;

/** A recipe that another recipe runs, with the recipes that it runs itself. */
interface OtherRecipe {
  recipe: KnownRecipe;
  /** Length of the longest chain of recipes that run each other, including this recipe. */
  levels: number;
  /** Number of steps. The steps of a recipe that is run twice count twice. */
  steps: number;
}

/** The recipes that other recipes run. Each file is searched for names once, and compiled once. */
export class OtherRecipes {
  readonly #folders = new Map<string, Promise<ReadonlyMap<string, readonly string[]>>>();
  readonly #compiled = new Map<string, Promise<OtherRecipe>>();

  readonly #named = new Map<string, Promise<string | undefined>>();
  /** Number of characters that may still be compiled for the current recipe. */
  #left: number = searchLimits.compiled;

  /** Renews the budget for the next recipe. Results of earlier recipes cost nothing. */
  renewBudget(): void {
    this.#left = searchLimits.compiled;
  }

  /** Uses some of the budget. @throws {RangeError} If too little is left. */
  spend(text: string): void {
    this.#left -= text.length;
    if (this.#left >= 0) return;
    throw new RangeError(
      `expected at most ${
        searchLimits.compiled / 1024
      } KiB in all files that hsgate compiles to find the recipes ` +
        "that this one runs: begin each recipe with its name",
    );
  }

  /** Returns the files in the folder of `path` whose recipe may have this name. Searches the texts of the files. */
  async filesWith(name: string, path: string): Promise<readonly string[]> {
    const folder = folderOf(path) || "./";
    const before = this.#folders.get(folder);
    const names = before ?? namesOfFolder(folder);
    if (before === undefined) this.#folders.set(folder, names);
    const files = (await names).get(name) ?? [];
    return path.includes("/") ? files : files.map((each) => each.slice(folder.length));
  }

  /**
   * Returns another file of a recipe's folder whose recipe has the same name. Also returns a file if its recipe's name
   * cannot be found out, because it has mistakes or is TypeScript, or because the budget is used up. Loads no recipes
   * that these files run, and runs no code.
   */
  async fileWithSameName(path: string, name: string): Promise<string | undefined> {
    for (const other of await this.filesWith(name, path)) {
      if (baseName(other) === baseName(path)) continue;
      const found = await this.#named.getOrInsertComputed(other, () => nameOf(other, this));
      if (found === undefined || found === name) return other;
    }
    return undefined;
  }

  /** Compiles a file the first time; later calls return the same result or the same error. */
  compile(path: string, compile: () => Promise<OtherRecipe>): Promise<OtherRecipe> {
    const before = this.#compiled.get(path);
    const compiled = before ?? compile();
    if (before === undefined) this.#compiled.set(path, compiled);
    return compiled;
  }
}

/**
 * Returns the name of a file's recipe. Returns `undefined` if the file has mistakes, if it is TypeScript (whose code is
 * not run here), or if the budget is used up.
 */
async function nameOf(path: string, others: OtherRecipes): Promise<string | undefined> {
  const findRecipe = (name: string) => Promise.resolve(unread(name, path));
  try {
    const file = await readFile(path, { mayRunCode: () => false });
    others.spend(file.text);
    return (await compileText(file, { mayRunCode: () => false, findRecipe })).name;
  } catch (error) {
    if (error instanceof BrokerError || error instanceof RangeError) return undefined;
    throw error;
  }
}

async function namesOfFolder(folder: string): Promise<Map<string, string[]>> {
  const files = new Map<string, string[]>();
  let left: number = searchLimits.folder;
  for (const { path, isOutside } of await recipesOfFolder(folder)) {
    if (isOutside) continue;
    left -= (await Deno.stat(path).catch(() => undefined))?.size ?? 0;
    if (left < 0) {
      throw new BrokerError(
        `Cannot find recipes in "${folder}": its files have more than ${
          searchLimits.folder / 1024 / 1024
        } MiB; move other files elsewhere`,
        { code: "too-large" },
      );
    }
    for (const name of await namesIn(path)) files.set(name, [...files.get(name) ?? [], path]);
  }
  return files;
}

/**
 * Returns a function that finds other recipes of the same folder by name. The function rejects recipes that run each
 * other in a circle, in too long a chain or too often. Each recipe that is found increases `extent`.
 */
function neighbours(
  path: string,
  options: CompileOptions,
  { stack, others }: { stack: readonly string[]; others: OtherRecipes },
): { findRecipe: NonNullable<CompileOptions["findRecipe"]>; extent: { levels: number; steps: number } } {
  const extent = { levels: 1, steps: 0 };
  const findRecipe = async (name: string): Promise<KnownRecipe | undefined> => {
    for (const other of await others.filesWith(name, path)) {
      if (stack.includes(other)) throw new RangeError(ringText(name, [...stack, other]));
      try {
        const { recipe, levels, steps } = await others.compile(
          other,
          () => compileOther(other, options, { stack: [...stack, other], others }),
        );
        if (recipe.name !== name) continue;
        const sameNameFile = await others.fileWithSameName(other, name);
        extent.levels = Math.max(extent.levels, levels + 1);
        extent.steps += steps;
        if (extent.levels > nestedLimits.levels) {
          throw new RangeError(
            `expected at most ${nestedLimits.levels} recipes that run each other in a row`,
          );
        }
        // Report this only once: each following step would repeat the same mistake.
        if (extent.steps > nestedLimits.steps && extent.steps - steps <= nestedLimits.steps) {
          throw new RangeError(
            `expected at most ${nestedLimits.steps} steps in all recipes that this one runs, ` +
              "repetitions included",
          );
        }
        return sameNameFile === undefined ? recipe : { ...recipe, sameNameFile };
      } catch (error) {
        if (error instanceof UnreadCodeError) return unread(name, other);
        const ring = error instanceof RecipeError
          ? error.issues.find(({ message }) => message.includes(RING))
          : undefined;
        if (ring !== undefined) throw new RangeError(ring.message.slice(ring.message.indexOf(RING)));
        if (error instanceof BrokerError) {
          throw new RangeError(`recipe "${name}" itself has mistakes: check "${other}"`);
        }
        throw error;
      }
    }
    return undefined;
  };
  return { findRecipe, extent };
}

async function compileOther(
  path: string,
  options: CompileOptions,
  place: { stack: readonly string[]; others: OtherRecipes },
): Promise<OtherRecipe> {
  // Copied code and given parameters belong only to the outer recipe, so do not use them here.
  const own = { ...options, codeOf: undefined, params: undefined };
  const { findRecipe, extent } = neighbours(path, options, place);
  const file = await readFile(path, own);
  place.others.spend(file.text);
  const recipe = await compileText(file, { ...own, findRecipe });
  return { recipe, levels: extent.levels, steps: recipe.steps.length + extent.steps };
}

/** Returns what is known about a TypeScript recipe that was not loaded. */
function unread(name: string, file: string): KnownRecipe {
  return { name, file, class: "read", needsAccount: true };
}

const RING = "recipes run each other in a ring";

function ringText(name: string, stack: readonly string[]): string {
  const ring = stack.slice(stack.indexOf(stack.at(-1)!)).map(baseName);
  if (ring.length === 2) return `recipe "${name}" would run itself`;
  return `${RING}: ${ring.join(" -> ")}; remove one of these "run" steps`;
}

/**
 * Returns whether the recipe in a file may have this name. Searches only the text, so that other files need not be
 * compiled.
 */
export async function mayHaveName(path: string, name: string): Promise<boolean> {
  return (await namesIn(path)).has(name);
}

/** Returns the names that a file's recipe may have, by its text. */
async function namesIn(path: string): Promise<Set<string>> {
  // A file that cannot be read counts as a file without a name; `hsgate check` reports it.
  const bytes = await readRegular(path, MOST_BYTES).catch(() => undefined);
  if (!(bytes instanceof Uint8Array)) return new Set();
  const text = new TextDecoder().decode(bytes);
  const first = path.endsWith(".ts") ? undefined : FIRST_NAME.exec(text)?.[1];
  if (first !== undefined) return new Set([first]);
  const names = text.matchAll(NAMES);
  return new Set([...names].map(([, name]) => name!)); // the group always matches
}

const NAMES = /(?:^|[\s{,"'])name["']?\s*:\s*["']?([\w-]+)["']?(?=\s*(?:,|\}|#|$))/gm;

/** Matches a YAML text whose first member is the recipe's name. No other member can then be the name. */
const FIRST_NAME =
  /^(?:\uFEFF?---[ \t]*\n)?(?:[ \t]*(?:#.*)?\r?\n)*name:[ \t]+([\w-]+)(?:[ \t]+#.*)?[ \t]*(?:\r?\n|$)/;
