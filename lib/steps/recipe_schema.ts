/**
 * The form of a recipe file.
 *
 * @module
 */
import * as z from "zod";
import type { Issue } from "../errors.ts";

const name = z.string().regex(/^[a-z0-9][a-z0-9-]*$/);

const recipeSchema = z.strictObject({
  name,
  description: z.string().optional(),
  schedule: z.strictObject({ cron: z.string(), timezone: z.string() }).optional(),
  connect: z.strictObject({ gateway: z.url({ protocol: /^https?$/ }).optional() }).optional(),
  steps: z.array(z.strictObject({
    id: name,
    uses: z.string().min(1),
    with: z.record(z.string(), z.unknown()).optional(),
  })).min(1),
});

/** A step as a person writes it. */
export interface StepSource {
  /** Name of the step, once in the recipe. */
  id: string;
  /** What it does: `export-day-book`, or the name of an operation that reads. */
  uses: string;
  /** Parameters. */
  with?: Record<string, unknown>;
}

/** A recipe as a person writes it. */
export interface RecipeSource {
  name: string;
  description?: string;
  schedule?: { cron: string; timezone: string };
  connect?: { gateway?: string };
  steps: StepSource[];
}

type Found = Pick<Issue, "path" | "expected">;

/** Checks the form of a recipe. */
export function parseRecipe(value: unknown): { recipe: RecipeSource } | { issues: Found[] } {
  const result = recipeSchema.safeParse(value);
  if (result.success) return { recipe: result.data };
  return { issues: result.error.issues.flatMap(explain) };
}

/** Says what was expected, in our own words. */
function explain(issue: z.core.$ZodIssue): Found[] {
  const path = issue.path.map((step) => typeof step === "symbol" ? String(step) : step);
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => ({ path: [...path, key], expected: "no such member" }));
    case "invalid_type":
      return [{ path, expected: typeWords[issue.expected] ?? issue.expected }];
    case "invalid_format":
      return [{
        path,
        expected: issue.format === "url"
          ? 'an address such as "http://127.0.0.1:11111"'
          : "a name of small letters, digits and hyphens",
      }];
    case "too_small":
      return [{ path, expected: path.at(-1) === "steps" ? "at least one step" : "text that is not empty" }];
    default:
      return [{ path, expected: issue.message }];
  }
}

const typeWords: Readonly<Record<string, string>> = {
  string: "text",
  object: "a map of members",
  array: "a list",
  record: "a map of members",
};
