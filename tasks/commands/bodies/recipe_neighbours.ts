/**
 * Recipes that a step may run: they lie beside it.
 *
 * @module
 */
import type { CompiledRecipe } from "../../../lib/steps/mod.ts";
import { UsageError } from "../exit_codes.ts";
import { type LoadOptions, loadRecipes } from "./recipe_files.ts";

/**
 * The recipe by its name, with those of its folder where one of its steps runs another recipe.
 *
 * @throws {UsageError} When it runs a recipe that is not trusted.
 */
export async function neighboursOf(
  recipe: CompiledRecipe,
  options: LoadOptions,
): Promise<Map<string, CompiledRecipe>> {
  const { file } = recipe;
  const runs = recipe.steps.flatMap(({ runs }) => runs ?? []);
  const folder = file.includes("/") ? file.replace(/\/[^/]*$/, "") : ".";
  if (runs.length === 0) return new Map([[recipe.name, recipe]]);
  const { recipes, untrusted } = await loadRecipes([folder], options);
  const left = new Set<CompiledRecipe>();
  for (const [path, { recipe: other, text }] of untrusted) {
    const isRun = runs.some((each) => each !== "any" && (each.file === path || each.name === other?.name));
    if (isRun) throw new UsageError(text);
    if (other !== undefined) left.add(other);
  }
  const others = recipes.filter((each) => !left.has(each));
  return new Map([...others, recipe].map((each) => [each.name, each]));
}
