/**
 * The step `run`: another recipe, as a step of this one.
 *
 * @module
 */
import * as z from "zod";
import { stepKind } from "./kind.ts";

const params = z.strictObject({
  recipe: z.string().min(1).meta({ description: "Name of the recipe" }),
  params: z.record(z.string(), z.unknown()).default({}),
});

/** Runs another recipe and answers with what it answered. What it may do decides what this step may do. */
export const runRecipeStep = stepKind<z.infer<typeof params>, unknown>({
  name: "run",
  summary: "Runs another recipe as a step of this one",
  // The compiler lowers this to what the other recipe really does, once it knows it.
  effect: "write",
  needsAccount: () => true,
  params,
  run: ({ recipe, params }, context) => context.runRecipe(recipe, params),
  plan: ({ recipe, params }) => Promise.resolve({ run: recipe, params }),
});
