/**
 * Recipes that a step may run: they lie beside it.
 *
 * @module
 */
import type { CompiledRecipe } from "../../../lib/steps/mod.ts";
import { loadRecipes } from "./recipe_files.ts";

/** The recipe by its name, with those of its folder where one of its steps runs another recipe. */
export async function neighboursOf(
  recipe: CompiledRecipe,
  options: Parameters<typeof loadRecipes>[1],
): Promise<Map<string, CompiledRecipe>> {
  const { file } = recipe;
  const runsOthers = recipe.steps.some(({ uses }) => uses === "run");
  const folder = file.includes("/") ? file.replace(/\/[^/]*$/, "") : ".";
  const others = runsOthers ? (await loadRecipes([folder], options)).recipes : [];
  return new Map([...others, recipe].map((each) => [each.name, each]));
}
