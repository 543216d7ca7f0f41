/**
 * Loads recipes from files, and the other recipes of their folder that they run.
 *
 * @module
 */
import { BrokerError } from "../errors.ts";
import { type CompileOptions, compileText, type RecipeFile } from "./compile_recipe.ts";
import type { CompiledRecipe, KnownRecipe } from "./compiled.ts";
import { fileUrl, MOST_BYTES, readText, recipesOfFolder } from "./recipe_files.ts";
import { checkWrittenImports, OwnStepError } from "./own_steps/code_files.ts";
import { readRegular } from "../regular_files.ts";
import { RecipeError, UnreadCodeError } from "./recipe_error.ts";

/**
 * Reads and compiles a file; its steps may refer to recipes of the same folder.
 *
 * @param text YAML or JSON to use instead of the file's content.
 */
export async function loadFile(
  path: string,
  options: CompileOptions,
  text?: string,
): Promise<CompiledRecipe> {
  const isWritten = text !== undefined && !path.endsWith(".ts");
  const file = isWritten ? { text, fileName: path } : await readFile(path, options, text);
  const findRecipe = options.findRecipe ?? neighbours(path, options, [path]);
  return await compileText(file, { ...options, findRecipe });
}

/**
 * Reads a recipe's file. A TypeScript recipe runs in a process without permissions, which returns its default export.
 */
async function readFile(
  path: string,
  { signal, mayRunCode, codeOf }: Pick<CompileOptions, "signal" | "mayRunCode" | "codeOf"> = {},
  given?: string,
): Promise<RecipeFile> {
  const text = given ?? await readText(path);
  if (!path.endsWith(".ts")) return { text, fileName: path };
  const refuse = (message: string) => new RecipeError(path, [{ line: 1, column: 1, path: [], message }]);
  const file = fileUrl(path);
  try {
    if (mayRunCode !== undefined && !await mayRunCode(path)) {
      await checkWrittenImports(file, new URL(".", file));
      throw new UnreadCodeError(path);
    }
    const { readExport } = await import("./own_steps/own_step.ts");
    const { value, code } = await readExport(file, { signal, code: await codeOf?.(file) });
    if (value !== null) return { text, fileName: path, value, code };
  } catch (error) {
    if (!(error instanceof OwnStepError)) throw error;
    throw refuse(`it cannot be loaded: ${error.message.replace(/^Cannot use step "[^"]*": /, "")}`);
  }
  throw refuse("expected a default export: export default defineRecipe({ … })");
}

/** Returns a function that finds other recipes of the same folder by name. It rejects recipes that run each other. */
function neighbours(
  path: string,
  options: CompileOptions,
  stack: readonly string[],
): NonNullable<CompileOptions["findRecipe"]> {
  const folder = path.includes("/") ? path.replace(/[^/]*$/, "") : "./";
  return async (name) => {
    for (const { path: found, isOutside } of await recipesOfFolder(folder)) {
      const other = path.includes("/") ? found : found.slice(folder.length);
      if (isOutside) continue;
      if (!(await mayHaveName(other, name))) continue;
      if (stack.includes(other)) throw new RangeError(ringText(name, [...stack, other]));
      try {
        const findRecipe = neighbours(other, options, [...stack, other]);
        // Copies of code belong to one recipe.
        const others = { ...options, codeOf: undefined };
        return await compileText(await readFile(other, others), {
          ...others,
          params: undefined,
          findRecipe,
        });
      } catch (error) {
        if (error instanceof UnreadCodeError) return unread(name, other);
        const ring = error instanceof RecipeError
          ? error.issues.find(({ message }) => message.includes(RING))
          : undefined;
        if (ring !== undefined) throw new RangeError(ring.message.slice(ring.message.indexOf(RING)));
        if (error instanceof BrokerError) {
          throw new RangeError(`recipe "${name}" itself has mistakes: check "${other}"`);
        }
        throw error;
      }
    }
    return undefined;
  };
}

/** Returns what is known about a TypeScript recipe that was not loaded. */
function unread(name: string, file: string): KnownRecipe {
  return { name, file, class: "read", needsAccount: true };
}

const RING = "recipes run each other in a ring";

function ringText(name: string, stack: readonly string[]): string {
  const ring = stack.slice(stack.indexOf(stack.at(-1)!)).map((path) => path.replace(/^.*\//, ""));
  if (ring.length === 2) return `recipe "${name}" would run itself`;
  return `${RING}: ${ring.join(" -> ")}; remove one of these "run" steps`;
}

/** Returns whether a file may contain the recipe of a name; searches the text, so other files need not be compiled. */
export async function mayHaveName(path: string, name: string): Promise<boolean> {
  // A file that cannot be read has no name; `check` of the folder reports it.
  const bytes = await readRegular(path, MOST_BYTES).catch(() => undefined);
  if (!(bytes instanceof Uint8Array)) return false;
  const text = new TextDecoder().decode(bytes);
  return new RegExp(`(^|[\\s{,"'])name["']?\\s*:\\s*["']?${RegExp.escape(name)}["']?\\s*(,|}|#|$)`, "m").test(
    text,
  );
}
