/**
 * Public module for recipes: defines, loads, checks and runs them. A person writes a recipe as plain data, and the
 * compiler finds every mistake before the first step runs.
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
import type { CompileOptions } from "./compile/compile_recipe.ts";
import type { CheckedFile, CheckOptions, CheckReport } from "./compile/check_recipes.ts";
import type { CompiledRecipe } from "./compiled.ts";
import { lazily } from "../lazy.ts";

export { bindParams } from "./schema/recipe_params.ts";
export { RecipeError, UnreadCodeError } from "./recipe_error.ts";
export { defineRecipe, defineStep } from "./define.ts";
export { powerKey, powerKinds, powersOf, powerText } from "./powers.ts";
export { runRecipe } from "./run_recipe.ts";

export type { SessionTime } from "../calendars/mod.ts";
export type {
  AsOfNow,
  CalendarSchedule,
  CompiledNotice,
  CompiledRecipe,
  CompiledSchedule,
  CompiledStep,
  CronSchedule,
  EverySchedule,
  KnownRecipe,
  MisfirePolicy,
  NoticeChannel,
  NoticeOutcome,
  RecipeClass,
  RecipeConnection,
  RunDay,
  RunWork,
  SecretOrigin,
  SessionSpan,
  StepCode,
  StepContext,
  StepDesk,
  StepEffect,
  StepPermissions,
  StepReach,
  StepScope,
} from "./compiled.ts";
export type { ParamType, Type as ExpressionType } from "./expressions/value_types.ts";
export type { OwnStep, OwnStepContext, ParamValues, StepOutput, StepParam, StepParams } from "./define.ts";
export type {
  CheckedFile,
  CheckOptions,
  CheckReport,
  FileReport,
  NamedClockChange,
  NamedSlot,
} from "./compile/check_recipes.ts";
export type { CompileOptions } from "./compile/compile_recipe.ts";
export type { NamedFile, Place } from "./files/named_files.ts";
export type { CodeFiles } from "./own_steps/code_files.ts";
export type { CodeCopies } from "./own_steps/code_folder.ts";
export type { RecipeIssue } from "./recipe_error.ts";
export type { Power, PowerKind } from "./powers.ts";
export type {
  CalendarSource,
  CronSource,
  EverySource,
  MisfireAction,
  NoticeSource,
  ParamSource,
  RecipeSource,
  ScheduleSource,
  StepSource,
} from "./schema/recipe_source.ts";
export type { RecipeContext, RecipeEvent, RecipeResult, StepResult } from "./run_recipe.ts";

const loadCompiler = lazily(() => import("./compile/compile_recipe.ts"));
const loadFiles = lazily(() => import("./files/load_recipe.ts"));
const loadChecks = lazily(() => import("./compile/check_recipes.ts"));
const loadJsonSchema = lazily(() => import("./schema/json_schema.ts"));

/**
 * Checks and compiles the text of a recipe, YAML or JSON.
 *
 * @param fileName Name for messages; custom steps are searched next to it.
 * @throws {RecipeError} With all mistakes and their places.
 */
export async function compileRecipe(
  text: string,
  fileName: string,
  options: CompileOptions = {},
): Promise<CompiledRecipe> {
  const { compileText } = await loadCompiler(); // zod, yaml and CEL, which plain scripts do not load
  return await compileText({ text, fileName }, options);
}

/**
 * Reads and compiles a recipe's file: YAML, JSON or TypeScript. Its steps may refer to recipes of the same folder.
 * TypeScript runs while it is read, in a process without permissions.
 *
 * @throws {RecipeError} With all mistakes and their places.
 */
export async function loadRecipe(path: string, options: CompileOptions = {}): Promise<CompiledRecipe> {
  const { loadFile } = await loadFiles();
  return await loadFile(path, options);
}

/**
 * Checks recipes together and reports all mistakes of each file: recipes may refer to each other, and names must be
 * unique. The caller passes the functions that list slots (`nextSlots` and `clockChangeSlots`).
 */
export async function checkRecipes(
  files: readonly CheckedFile[],
  options: CheckOptions,
): Promise<CheckReport> {
  const { checkAll } = await loadChecks();
  return await checkAll(files, options);
}

/** Returns the JSON Schema of recipe files, for editors. */
export async function recipeJsonSchema(): Promise<Record<string, unknown>> {
  const { makeJsonSchema } = await loadJsonSchema();
  return await makeJsonSchema();
}
