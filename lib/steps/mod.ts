/**
 * Steps and recipes.
 *
 * @module
 */
export { compileRecipe, RecipeError, runRecipe } from "./recipe.ts";

export type {
  CompiledRecipe,
  RecipeContext,
  RecipeEvent,
  RecipeIssue,
  RecipeResult,
  StepResult,
} from "./recipe.ts";
export type { CompiledStep, StepOutcome } from "./compile_step.ts";
export type { Schedule } from "./schedule.ts";
