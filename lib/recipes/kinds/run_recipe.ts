/**
 * Defines the step `run`, which runs another recipe as a step.
 *
 * @module
 */
import * as z from "zod";
import { stepKind } from "./kind.ts";

const params = z.strictObject({
  recipe: z.string().min(1).meta({ description: "Name of the recipe" }),
  params: z.record(z.string(), z.unknown()).default({}).meta({
    description: "Parameters of the other recipe",
  }),
});

/**
 * Runs another recipe and returns the outputs of its steps. A recipe that writes needs its own slot and window, so it
 * is rejected: by the compiler if the recipe is known then, and in any case by the runner.
 */
export const runRecipeStep = stepKind<z.infer<typeof params>, unknown>({
  name: "run",
  summary: "Runs another recipe as a step of this recipe; rejects a recipe that writes",
  effect: "read",
  needsAccount: () => true,
  params,
  run: ({ recipe, params }, context) => context.runRecipe(recipe, params),
  plan: ({ recipe, params }) => Promise.resolve({ run: recipe, params }),
});
