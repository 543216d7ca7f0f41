/**
 * Public module for recipes: defines, loads, checks and runs them.
 *
 * @module
 */
export { bindParams } from "./recipe_params.ts";
export { checkRecipes, compileRecipe, loadRecipe, recipeJsonSchema } from "./recipe.ts";
export { RecipeError, UnreadCodeError } from "./recipe_error.ts";
export { defineRecipe } from "./define.ts";
export { defineStep } from "./define.ts";
export { powerKey, powerKinds, powersOf, powerText } from "./powers.ts";
export { runRecipe } from "./run_recipe.ts";

export type { AsOfNow, RunDay } from "./as_of_now.ts";
export type {
  CalendarSchedule,
  CompiledNotice,
  CompiledRecipe,
  CompiledSchedule,
  CompiledStep,
  CronSchedule,
  EverySchedule,
  MisfirePolicy,
  NoticeChannel,
  NoticeOutcome,
  RecipeClass,
  RecipeConnection,
  SecretOrigin,
  SessionSpan,
  SessionTime,
  StepCode,
  StepContext,
  StepEffect,
  StepPermissions,
  StepReach,
  StepScope,
} from "./compiled.ts";
export type { ParamType } from "./expressions/value_types.ts";
export type { OwnStep, OwnStepContext, StepOutput, StepParam, StepParams } from "./define.ts";
export type {
  CheckedFile,
  CheckOptions,
  CheckReport,
  FileReport,
  NamedClockChange,
  NamedSlot,
} from "./check_recipes.ts";
export type { KnownRecipe } from "./compiled.ts";
export type { CompileOptions } from "./compile_recipe.ts";
export type { RecipeIssue } from "./recipe_error.ts";
export type { Power, PowerKind } from "./powers.ts";
export type { RecipeSource, ScheduleSource, StepSource } from "./recipe_schema.ts";
export type { RecipeContext, RecipeEvent, RecipeResult, StepResult } from "./run_recipe.ts";
