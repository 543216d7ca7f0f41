/**
 * Recipes: files of steps. What a person writes is data; only the compiler makes what is run of it, so that a
 * typo in the last step is found before the first one runs.
 *
 * ```yaml
 * name: end-of-day
 * schedule: { calendar: XHKG, at: close+45m }
 * steps:
 *   - id: day-book
 *     uses: export-day-book
 *     with: { markets: [hk, us], sessions: 5 }
 * ```
 *
 * @module
 */
import { BrokerError, type Issue } from "../errors.ts";
import type { CheckedFile, CheckOptions, CheckReport } from "./check_recipes.ts";
import type { CompiledRecipe } from "./compiled.ts";

/** A recipe is wrong. Nothing was run. */
export class RecipeError extends BrokerError {
  override readonly name: string = "RecipeError";
  /** Everything that is wrong, each with its place. */
  readonly issues: readonly RecipeIssue[];

  constructor(fileName: string, issues: readonly RecipeIssue[]) {
    const lines = issues.map(({ line, column, message }) => `${fileName}:${line}:${column}: ${message}`);
    super(`Cannot use recipe "${fileName}": ${lines.length === 1 ? lines[0] : `\n${lines.join("\n")}`}`, {
      code: "invalid-recipe",
    });
    this.issues = issues;
  }
}

/** One thing that is wrong with a recipe. */
export interface RecipeIssue {
  /** Line of the file, counted from 1. */
  line: number;
  /** Column of the line, counted from 1. */
  column: number;
  /** Member that it is about; empty for the text itself. */
  path: Issue["path"];
  message: string;
}

/** How a recipe is compiled. */
export interface CompileOptions {
  /**
   * The time, Unix milliseconds: for writes, calendars must cover the next 60 days. Without it that is not checked.
   */
  now?: () => number;
  /** Parameters in place of the defaults. */
  params?: Readonly<Record<string, unknown>>;
  /**
   * What another recipe may do, for the step `run`. Without it the runner alone refuses one that writes.
   */
  findRecipe?: (name: string) => Promise<KnownRecipe | undefined>;
  /** Ends the loading of steps and recipes in TypeScript, which are then reported as not loaded. */
  signal?: AbortSignal;
  /**
   * Tells whether TypeScript may be loaded for a recipe: its own file, or custom steps beside it. Without that a custom
   * step is compiled unread and cannot run, and a recipe in TypeScript is refused with {@linkcode UnreadCodeError}.
   *
   * @param file The recipe's file.
   * @default always
   */
  mayRunCode?: (file: string) => boolean | Promise<boolean>;
}

/** A recipe in TypeScript was not loaded, as its code may not run yet. */
export class UnreadCodeError extends RecipeError {
  override readonly name: string = "UnreadCodeError";

  constructor(fileName: string) {
    const message = "it is TypeScript, and it is not run until it is trusted";
    super(fileName, [{ line: 1, column: 1, path: [], message }]);
  }
}

/** What is known of another recipe. */
export type KnownRecipe =
  & Pick<CompiledRecipe, "class" | "needsAccount">
  & Partial<
    Pick<
      CompiledRecipe,
      "steps" | "name" | "file" | "params" | "paramTypes" | "connect" | "secrets" | "notify" | "ping"
    >
  >;

/**
 * Checks the text of a recipe, YAML or JSON, and makes it ready to run.
 *
 * @param fileName Name for messages; steps of one's own are looked for beside it.
 * @throws {RecipeError} With everything that is wrong, each by its place.
 */
export async function compileRecipe(
  text: string,
  fileName: string,
  options: CompileOptions = {},
): Promise<CompiledRecipe> {
  const { compileText } = await import("./compile_recipe.ts"); // zod, yaml and CEL, which plain scripts do not load
  return await compileText({ text, fileName }, options);
}

/**
 * Reads a recipe's file, YAML, JSON or TypeScript, and makes it ready to run. Recipes of the same folder are known
 * to its steps. TypeScript runs while it is read, in a process that may reach nothing.
 *
 * @throws {RecipeError} With everything that is wrong, each by its place.
 */
export async function loadRecipe(path: string, options: CompileOptions = {}): Promise<CompiledRecipe> {
  const { loadFile } = await import("./load_recipe.ts");
  return await loadFile(path, options);
}

/**
 * Checks recipes together, each file with everything that is wrong: names are known to each other, and no two are the
 * same. Slots are listed by functions of the runner.
 */
export async function checkRecipes(
  files: readonly CheckedFile[],
  options: CheckOptions,
): Promise<CheckReport> {
  const { checkAll } = await import("./check_recipes.ts");
  return await checkAll(files, options);
}

/** JSON Schema of recipe files, for editors. */
export async function recipeJsonSchema(): Promise<Record<string, unknown>> {
  const { makeJsonSchema } = await import("./json_schema.ts");
  return makeJsonSchema();
}
