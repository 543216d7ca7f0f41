/**
 * Reads the parameters of a recipe from the command line, by the types that the recipe declares.
 *
 * @module
 */
import { bindParams, type CompiledRecipe, type ParamType } from "../../../lib/recipes/mod.ts";
import { UsageError } from "../../terminal/exit_codes.ts";

/**
 * Reads `NAME=VALUE` texts and checks them together with the recipe's defaults. A list is JSON, or texts separated by
 * commas.
 *
 * @throws {UsageError} If a text is not such a pair, or a name is given twice.
 * @throws {InvalidParamsError} If a value is invalid, or a parameter is missing or unknown. The message names the
 * nearest known parameter.
 */
export function paramsOf(
  recipe: CompiledRecipe,
  given: readonly string[] = [],
): Readonly<Record<string, unknown>> {
  const texts = new Map<string, string>();
  for (const pair of given) {
    const at = pair.indexOf("=");
    if (at < 1) throw new UsageError(`Cannot read --param "${pair}": write NAME=VALUE, such as days=7`);
    const name = pair.slice(0, at);
    if (texts.has(name)) throw new UsageError(`Cannot read --param "${name}": it is given twice`);
    texts.set(name, pair.slice(at + 1));
  }
  const values = [...texts].map(([name, text]) =>
    [name, valueOf(text, recipe.paramTypes?.[name]?.type)] as const
  );
  return bindParams(recipe, Object.fromEntries(values));
}

/**
 * Returns the value of a text. Returns an invalid text unchanged, so that the later check rejects it and says what is
 * expected.
 */
function valueOf(text: string, type: ParamType["type"] | undefined): unknown {
  if (type === "number" || type === "integer") {
    return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  }
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  if (type !== "list") return text;
  if (!text.startsWith("[")) return text === "" ? [] : text.split(",").map((each) => each.trim());
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
