/**
 * Reads the values of YAML and JSON files: numbers keep their digits, and every mistake is listed with its place.
 *
 * @module
 */
import * as z from "zod";
import { compare, type Decimal, isDecimal, normalize } from "../decimal.ts";
import { InvalidParamsError, type Issue } from "../errors.ts";
import { parse as parseYaml } from "../std/yaml.ts";

/** Digits before and after the point, so that a hostile number cannot make the arithmetic slow. */
const MOST_DIGITS = 20;

/** Returns whether a decimal has more digits than a plan computes with. */
function isLong(text: string): boolean {
  const [whole = "", fraction = ""] = normalize(text).replace("-", "").split(".");
  return whole.length > MOST_DIGITS || fraction.length > MOST_DIGITS;
}

/** Returns a schema of decimal texts from `least` to `most`. */
export const decimalText = (least: Decimal | undefined, most: Decimal | undefined, expected: string) =>
  z.string({ error: `expected ${expected}` }).refine(
    (text) =>
      isDecimal(text) && !isLong(text) && (least === undefined || compare(text, least) >= 0) &&
      (most === undefined || compare(text, most) <= 0),
    {
      error: ({ input }) => {
        const text = String(input);
        const digits = `, with at most ${MOST_DIGITS} digits on each side of the point`;
        return `expected ${expected}${isDecimal(text) && isLong(text) ? digits : ""}`;
      },
    },
  );

/** Returns the value of a YAML or JSON text. Every number is the text of its digits. */
export function readValues(text: string, what: string): unknown {
  // The source text of a number has all its digits.
  const digits = (_: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" ? context?.source ?? String(value) : value ?? undefined; // null means absent
  try {
    return JSON.parse(text, digits);
  } catch {
    // It is not JSON, so it must be YAML.
  }
  let value: unknown;
  try {
    value = parseYaml(text, { schema: "failsafe" });
  } catch (error) {
    // A text with too many levels is a RangeError.
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    throw new TypeError(`Cannot read ${what}: it is neither YAML nor JSON: ${error.message}`);
  }
  if (valuesIn(value, MOST_VALUES) > MOST_VALUES) {
    throw new TypeError(
      `Cannot read ${what}: it has more than ${MOST_VALUES} values, counted again for each alias; use fewer aliases`,
    );
  }
  return value;
}

/** Maximum number of values in a YAML file. A file of 1 MiB has fewer without aliases. */
const MOST_VALUES = 500_000;

/** Counts values, those of an alias each time; ends soon after `most`. */
function valuesIn(value: unknown, most: number): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const each of Object.values(value)) {
    if (count > most) break;
    count += valuesIn(each, most - count);
  }
  return count;
}

/** Returns the value that a schema makes of it. @throws {InvalidParamsError} If it does not fit. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  action: string,
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new InvalidParamsError(action, result.error.issues.flatMap((issue) => issuesOf(issue, value)));
}

function issuesOf(issue: z.core.$ZodIssue, value: unknown): Issue[] {
  const path = issue.path.map((step) => typeof step === "symbol" ? String(step) : step);
  const at = (steps: Issue["path"]) =>
    // Only maps and lists have members; otherwise the result is undefined.
    steps.reduce<unknown>(
      (each, step) => (each as Record<string, unknown> | null | undefined)?.[step],
      value,
    );
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      path: [...path, key],
      value: at([...path, key]),
      expected: "no member of this name: correct the name or remove it",
    }));
  }
  if (issue.code === "invalid_key") {
    return [{ path, value: path.at(-1), expected: issue.issues.map(({ message }) => message).join("; ") }];
  }
  return [{ path, value: at(path), expected: issue.message.replace(/^expected /, "") }];
}
