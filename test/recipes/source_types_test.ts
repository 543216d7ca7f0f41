/** The written types of recipes and of the simulator's scripts equal the types of their schemas. */
import type { input } from "zod";
import type { recipeSchema } from "../../lib/recipes/schema/recipe_schema.ts";
import type { RecipeSource } from "../../lib/recipes/schema/recipe_source.ts";
import type { ScriptEntry, scriptEntry } from "../../lib/simulator/script.ts";

type Same<A, B> = [A] extends [B] ? [B] extends [A] ? true : false : false;
/** Members whose two types differ. */
type Different<A, B> = {
  [K in keyof A | keyof B]-?: Same<A[K & keyof A], B[K & keyof B]> extends true ? never : K;
}[
  keyof A | keyof B
];

const recipe: [Different<RecipeSource, input<typeof recipeSchema>>] extends [never] ? true : false = true;
const script: Same<ScriptEntry, input<typeof scriptEntry>> = true;

Deno.test("the written types of recipes and scripts are those of their schemas", () => {
  void recipe;
  void script;
});
