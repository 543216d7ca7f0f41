/**
 * Recipes whose names somebody gives: those of a folder, and those that the ledger knows the files of.
 *
 * @module
 */
import type { Ledger } from "../../../lib/runner/ledger.ts";
import { Trust } from "../../../lib/runner/trust.ts";
import { checkRecipes, type CompiledRecipe } from "../../../lib/steps/mod.ts";
import { UsageError } from "../exit_codes.ts";
import { issueLines, recipeInFolder, recipeNamed, RECIPES } from "./recipe_files.ts";

type Where = Parameters<typeof recipeNamed>[1];

/**
 * Finds a recipe in the folder that is named, or else in the usual one, or else in the file that a scheduler served it
 * from; nothing when it is in none.
 */
export async function findRecipe(
  name: string,
  ledger: Ledger,
  where: Where,
): Promise<CompiledRecipe | undefined> {
  const found = await recipeInFolder(name, where);
  const file = found === undefined && where.folder === undefined ? rememberedFile(ledger, name) : undefined;
  return file === undefined ? found : await recipeOf(file, name, where);
}

/** Finds a recipe as `findRecipe` does. @throws {UsageError} When there is none, with the nearest name. */
export async function getRecipe(name: string, ledger: Ledger, where: Where): Promise<CompiledRecipe> {
  const found = await findRecipe(name, ledger, where);
  if (found !== undefined) return found;
  try {
    return await recipeNamed(name, where);
  } catch (error) {
    if (!(error instanceof UsageError) || where.folder !== undefined) throw error;
    throw new UsageError(`${error.message}; --recipes names the folder that it lies in`);
  }
}

/** Says where a recipe was looked for that the ledger alone knows. */
export function notFound(name: string, ledger: Ledger, folder: string | undefined): string {
  if (folder !== undefined) return `no recipe of "${folder}" that can be read has this name`;
  const file = rememberedFile(ledger, name);
  const there = file === undefined ? "" : `, nor is it in "${file}" any more`;
  return `no recipe of "${RECIPES}" that can be read has this name${there} (--recipes names another folder)`;
}

/** The file that a scheduler served a recipe from last; a process that is given one file keeps none. */
function rememberedFile(ledger: Ledger, name: string): string | undefined {
  const row = ledger.get<{ file: string }>(
    "select min(file) as file from schedule where recipe = ? and file is not null",
    name,
  );
  return row?.file ?? undefined;
}

async function recipeOf(
  file: string,
  name: string,
  { host, now }: Where,
): Promise<CompiledRecipe | undefined> {
  try {
    await Deno.stat(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  const trust = Trust.of(host.env);
  const mayRunCode = (each: string) => trust.isUnchanged(each);
  const report = await checkRecipes([{ path: file }], { now, mayRunCode });
  for (const line of issueLines(report)) host.note(`hsgate: ${line}`);
  const [checked] = report.files;
  return checked?.issues.length === 0 && checked.recipe?.name === name ? checked.recipe : undefined;
}
