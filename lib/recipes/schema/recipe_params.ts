/**
 * Declares and checks parameters of recipes.
 *
 * @module
 */
import { isDate } from "../../time.ts";
import { knownNames, nearest } from "../../client/nearest.ts";
import { isDecimal } from "../../decimal.ts";
import { InvalidParamsError, type Issue } from "../../errors.ts";
import type { CompiledRecipe } from "../compiled.ts";
import { MOST_ISSUES } from "../recipe_error.ts";
import type { ParamType } from "../expressions/value_types.ts";

/** A declared parameter. */
export interface ReadParam extends ParamType {
  /** Default value. */
  value: unknown;
}

type TypeName = ParamType["type"];

const expectations: Readonly<Record<TypeName, string>> = {
  text: "text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  decimal: 'a decimal as text, such as "12.50"',
  date: 'a date such as "2025-08-15"',
  list: "a list",
};

/** The types of parameters. */
export const paramTypes: readonly string[] = Object.keys(expectations);

/** Returns whether a value is the name of a parameter type. */
export const isParamType = (name: unknown): boolean => paramTypes.some((each) => each === name);

const accepts: Readonly<Record<TypeName, (value: unknown) => boolean>> = {
  text: (value) => typeof value === "string",
  number: (value) => typeof value === "number" && Number.isFinite(value),
  integer: (value) => Number.isSafeInteger(value),
  boolean: (value) => typeof value === "boolean",
  decimal: isDecimal,
  date: isDate,
  list: Array.isArray,
};

/** Returns what was expected instead of a value; `undefined` if the value is valid. */
export function paramFault(type: TypeName, value: unknown): string | undefined {
  return accepts[type](value) ? undefined : expectations[type];
}

/** Reads a parameter's declaration in a recipe, which may be only its default value. */
export function readParam(source: unknown): ReadParam | { expected: string } {
  const isDescription = typeof source === "object" && source !== null && !Array.isArray(source);
  if (!isDescription) return { type: typeOf(source), required: false, value: source };
  // The schema has checked these members.
  const { type, default: value, description } = source as {
    type: TypeName;
    default?: unknown;
    description?: string;
  };
  const fault = value === undefined ? undefined : paramFault(type, value);
  if (fault !== undefined) return { expected: fault };
  return { type, required: value === undefined, value, ...description !== undefined && { description } };
}

function typeOf(value: unknown): TypeName {
  if (Array.isArray(value)) return "list";
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "number") return Number.isSafeInteger(value) ? "integer" : "number";
  return "text";
}

/**
 * Returns the parameters of one run: the given values, and defaults for the others.
 *
 * @throws {InvalidParamsError} If a value is invalid or missing, or a name is unknown.
 */
export function bindParams(
  recipe: Pick<CompiledRecipe, "name" | "params" | "paramTypes">,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { paramTypes = {} } = recipe;
  const names = Object.keys(paramTypes);
  const issues: Issue[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (issues.length >= MOST_ISSUES) break;
    const type = Object.hasOwn(paramTypes, name) ? paramTypes[name] : undefined;
    const expected = type === undefined ? knownParams(name, names) : paramFault(type.type, value);
    if (expected !== undefined) {
      issues.push({ path: [name], value: type === undefined ? name : value, expected });
    }
  }
  for (const name of names) {
    const { required, type } = paramTypes[name]!;
    if (required && (!Object.hasOwn(given, name) || given[name] === undefined)) {
      issues.push({ path: [name], value: undefined, expected: expectations[type] });
    }
  }
  if (issues.length > 0) throw new InvalidParamsError(`run recipe "${recipe.name}"`, issues);
  return { ...recipe.params, ...given };
}

/** Returns what is expected in place of a name that is no parameter: the nearest parameter, or all of them. */
function knownParams(given: string, names: readonly string[]): string {
  const near = nearest(given, names);
  return near === undefined
    ? `a parameter of the recipe${knownNames(given, names)}`
    : `the parameter "${near}"`;
}
