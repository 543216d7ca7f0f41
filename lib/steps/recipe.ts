/**
 * Recipes: files of steps. What a person writes is data; only the compiler makes what is run of it, so that a
 * typo in the last step is found before the first one runs.
 *
 * ```yaml
 * name: end-of-day
 * steps:
 *   - id: day-book
 *     uses: export-day-book
 *     with: { markets: [hk, us], sessions: 5, out: day-books }
 * ```
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { DayBookEvent } from "../day_book/mod.ts";
import { BrokerError, type Issue } from "../errors.ts";
import { type CompiledStep, compileStep } from "./compile_step.ts";
import { checkSchedule, type Schedule } from "./schedule.ts";
import { readRecipeText } from "./recipe_text.ts";

/** A recipe that was checked and can run. */
export interface CompiledRecipe {
  readonly fileName: string;
  readonly name: string;
  readonly description: string | undefined;
  readonly schedule: Schedule | undefined;
  /** Where the recipe wants to be connected to; whoever runs it decides. */
  readonly connect: { readonly gateway?: string } | undefined;
  readonly steps: readonly CompiledStep[];
}

/** A recipe is wrong. Nothing was run. */
export class RecipeError extends BrokerError {
  override readonly name: string = "RecipeError";
  /** Everything that is wrong, each with its line. */
  readonly issues: readonly RecipeIssue[];

  constructor(fileName: string, issues: readonly RecipeIssue[]) {
    const lines = issues.map(({ line, message }) => `${fileName}:${line}: ${message}`);
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
  message: string;
}

/** What a recipe runs with. */
export interface RecipeContext {
  client: Client;
  /** What time it is, Unix milliseconds. */
  now: () => number;
  /** Folder that relative folders of the recipe start from. @default the current folder */
  out?: string;
  signal?: AbortSignal;
  onProgress?: (event: RecipeEvent) => void;
}

/** What a running recipe tells. */
export type RecipeEvent =
  | { type: "step-started"; step: string; index: number; steps: number }
  | { type: "day-book"; step: string; event: DayBookEvent }
  | { type: "step-done"; step: string; index: number; steps: number; ok: boolean };

/** What one step came to. */
export interface StepResult {
  id: string;
  uses: string;
  /** Nothing is missing and everything adds up. */
  ok: boolean;
  /** What the step answered with. */
  output: unknown;
}

/** What a run of a recipe came to. */
export interface RecipeResult {
  name: string;
  steps: StepResult[];
  ok: boolean;
}

/**
 * Checks a recipe and makes it ready to run.
 *
 * @param fileName Name for messages.
 * @throws {RecipeError} With everything that is wrong, each by its line.
 */
export async function compileRecipe(text: string, fileName: string): Promise<CompiledRecipe> {
  const { value, lineOf, issues } = readRecipeText(text);
  if (issues.length > 0) throw new RecipeError(fileName, issues);
  const { parseRecipe } = await import("./recipe_schema.ts"); // zod, which plain scripts do not load
  const parsed = parseRecipe(value);
  const fail = (found: readonly Pick<Issue, "path" | "expected">[]) =>
    new RecipeError(
      fileName,
      found.map(({ path, expected }) => ({ line: lineOf(path), message: messageOf(path, expected) })),
    );
  if ("issues" in parsed) throw fail(parsed.issues);
  const { recipe } = parsed;
  const found = recipe.schedule === undefined ? [] : await checkSchedule(recipe.schedule);
  const steps: CompiledStep[] = [];
  for (const [index, step] of recipe.steps.entries()) {
    const path = ["steps", index];
    if (recipe.steps.findIndex(({ id }) => id === step.id) < index) {
      found.push({ path: [...path, "id"], expected: `another id: "${step.id}" is taken by an earlier step` });
    }
    const compiled = compileStep(step);
    if ("issues" in compiled) {
      found.push(...compiled.issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] })));
    } else steps.push(compiled);
  }
  if (found.length > 0) throw fail(found);
  const { name, description, schedule, connect } = recipe;
  return { fileName, name, description, schedule, connect, steps };
}

function messageOf(path: Issue["path"], expected: string): string {
  return path.length === 0 ? `expected ${expected}` : `${path.join(".")}: expected ${expected}`;
}

/** Runs the steps one after the other; the first error ends the run. */
export async function runRecipe(recipe: CompiledRecipe, context: RecipeContext): Promise<RecipeResult> {
  const steps: StepResult[] = [];
  for (const [index, step] of recipe.steps.entries()) {
    context.signal?.throwIfAborted();
    const place = { step: step.id, index, steps: recipe.steps.length };
    context.onProgress?.({ type: "step-started", ...place });
    const { ok, output } = await step.run(context);
    steps.push({ id: step.id, uses: step.uses, ok, output });
    context.onProgress?.({ type: "step-done", ...place, ok });
  }
  return { name: recipe.name, steps, ok: steps.every(({ ok }) => ok) };
}
