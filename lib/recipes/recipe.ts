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
import type { CompileOptions } from "./compile_recipe.ts";
import type { CheckedFile, CheckOptions, CheckReport } from "./check_recipes.ts";
import type { CompiledRecipe } from "./compiled.ts";

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
