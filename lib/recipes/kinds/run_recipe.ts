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

/**
 * Runs another recipe and answers with the outputs of its steps. One that writes is refused, here where it is known
 * and by the runner in any case: it needs a slot and a window of its own.
 */
export const runRecipeStep = stepKind<z.infer<typeof params>, unknown>({
  name: "run",
  summary: "Runs another recipe as a step of this one",
  effect: "read",
  needsAccount: () => true,
  params,
  run: ({ recipe, params }, context) => context.runRecipe(recipe, params),
  plan: ({ recipe, params }) => Promise.resolve({ run: recipe, params }),
});
