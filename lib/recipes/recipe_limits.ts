/**
 * Limits the size of a recipe. A generated recipe, or one from somebody else, must not block the other runs of the
 * process that checks it.
 *
 * @module
 */
import type { Issue } from "../errors.ts";
import type { Found } from "./schema_issues.ts";

/** The limits; docs/recipes.md lists them. */
const recipeLimits = {
  /** Total number of maps, lists, texts and numbers in a recipe. */
  values: 10_000,
  steps: 500,
  notices: 50,
  schedules: 50,
  /** Characters of a text under `with`, `params`, `if` or `description`. */
  text: 32_768,
  /** Characters of any other text, and of a name. */
  name: 500,
} as const;

/** Returns the first exceeded limit. The caller has limited the nesting depth. */
export function findExcess(recipe: unknown): Found | undefined {
  const { steps, notices, schedules } = recipeLimits;
  for (const [name, most] of [["steps", steps], ["notify", notices], ["schedule", schedules]] as const) {
    const list = typeof recipe === "object" && recipe !== null && name in recipe
      // An own member of the parsed value; its type is checked below.
      ? (recipe as Record<string, unknown>)[name]
      : undefined;
    if (Array.isArray(list) && list.length > most) {
      return { path: [name], message: `expected at most ${most} in the list, and there are ${list.length}` };
    }
  }
  let count = 0;
  for (const { value, path, key } of valuesIn(recipe, [])) {
    if (++count > recipeLimits.values) {
      return {
        path: path.slice(0, 2),
        message: `expected at most ${recipeLimits.values} values in a recipe`,
      };
    }
    if (key !== undefined && key.length > recipeLimits.name) {
      return {
        path: path.slice(0, -1),
        message: `expected names of at most ${recipeLimits.name} characters`,
      };
    }
    if (typeof value !== "string") continue;
    const most = isLong(path) ? recipeLimits.text : recipeLimits.name;
    if (value.length > most) {
      return { path, message: `expected at most ${most} characters, and there are ${value.length}` };
    }
  }
  return undefined;
}

/** Returns whether a text may be long. */
function isLong([first, , third]: Issue["path"]): boolean {
  if (first === "params" || first === "description") return true;
  return (first === "steps" || first === "notify") && (third === "with" || third === "if");
}

interface Walked {
  value: unknown;
  path: Issue["path"];
  /** Name of the member, if the value is a member of a map. */
  key?: string;
}

function* valuesIn(value: unknown, path: Issue["path"], key?: string): Generator<Walked> {
  yield { value, path, ...key !== undefined && { key } };
  if (typeof value !== "object" || value === null) return;
  for (const [name, each] of Object.entries(value)) {
    const isItem = Array.isArray(value);
    yield* valuesIn(each, [...path, isItem ? Number(name) : name], isItem ? undefined : name);
  }
}
