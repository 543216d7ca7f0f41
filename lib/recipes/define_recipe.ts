/**
 * Defines recipes in TypeScript.
 *
 * @module
 */
import type { RecipeSource } from "./recipe_schema.ts";

/**
 * Returns its argument; an editor completes the recipe and checks its types.
 *
 * @example A recipe in TypeScript, as the default export of its file
 * ```ts
 * import { defineRecipe } from "hsgate/recipes";
 *
 * export default defineRecipe({
 *   name: "morning",
 *   schedule: { calendar: "XHKG", at: "open-10m" },
 *   steps: [{ id: "funds", uses: "account.funds", with: { market: "hk" } }],
 * });
 * ```
 */
export function defineRecipe(recipe: RecipeSource): RecipeSource {
  return recipe;
}
