/**
 * Reads the values of YAML and JSON files: numbers keep their digits, and every mistake is listed with its place.
 *
 * @module
 */
import * as z from "zod";
import { compare, type Decimal, isDecimal, normalize } from "../../decimal.ts";
import { InvalidParamsError, type Issue, messageOf } from "../../errors.ts";
import { countValues } from "../../foreign_values.ts";
import { parse as parseYaml } from "../../std/yaml.ts";
import { repeatedMember } from "../../json_text.ts";

/** Maximum number of digits before and after the point, so that a hostile number cannot make the arithmetic slow. */
export const MOST_DIGITS = 20;

/** Returns whether a decimal has more digits than a plan computes with. */
export function isLong(text: string): boolean {
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

/**
 * Returns the value of a YAML or JSON text. Every number becomes the text of its digits. In JSON, `null` stays `null`;
 * in YAML, every scalar becomes a text, also `null`.
 *
 * @throws {TypeError} If the text is neither YAML nor JSON, names a member twice, or has too many values or levels.
 */
export function readValues(text: string, what: string): unknown {
  // The source text of a number has all its digits.
  const digits = (_: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" ? context?.source ?? String(value) : value;
  let value: unknown;
  try {
    value = JSON.parse(text, digits);
  } catch {
    return readYaml(text, what);
  }
  checkSize(value, what);
  const twice = repeatedMember(text);
  if (twice !== undefined) {
    throw new TypeError(`Cannot read ${what}: it has the member "${twice}" twice; remove one of them`);
  }
  return value;
}

function readYaml(text: string, what: string): unknown {
  let value: unknown;
  try {
    value = parseYaml(text, { schema: "failsafe" });
  } catch (error) {
    // A text with too many levels causes a `RangeError`.
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    throw new TypeError(`Cannot read ${what}: it is neither YAML nor JSON: ${error.message}`);
  }
  checkSize(value, what);
  return value;
}

/** Maximum number of lists and maps inside each other. The deepest valid file has fewer than ten. */
const MOST_LEVELS = 100;

/**
 * Rejects a text whose aliases make its value huge, or whose lists and maps are nested so deeply that a check overflows
 * the stack.
 */
function checkSize(value: unknown, what: string): void {
  let count: number;
  try {
    count = countValues(value, { levels: MOST_LEVELS, values: MOST_VALUES });
  } catch (error) {
    throw new TypeError(
      `Cannot read ${what}: ${messageOf(error)}; at most ${MOST_LEVELS} levels are allowed`,
    );
  }
  if (count > MOST_VALUES) {
    throw new TypeError(
      `Cannot read ${what}: it has more than ${MOST_VALUES} values, counted again for each alias; use fewer aliases`,
    );
  }
}

/** Maximum number of values in a file. Without aliases, a YAML file needs about 1 MB for so many values. */
const MOST_VALUES = 500_000;

/** Options of {@linkcode checked}. */
interface CheckOptions {
  /** Returns whether `null` means that the member is absent. Elsewhere it is a mistake. @default never */
  mayBeNull?: (path: Issue["path"]) => boolean;
}

/** Returns the schema's output for a value. @throws {InvalidParamsError} If the value is invalid. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  action: string,
  { mayBeNull = () => false }: CheckOptions = {},
): z.output<Schema> {
  const issues: Issue[] = [];
  const given = clean(value, [], { mayBeNull, issues });
  if (issues.length > 0) throw new InvalidParamsError(action, issues);
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const found = result.error.issues.flatMap((issue) => issuesOf(issue, given));
  // A value that breaks two rules of its member may have the same issue twice.
  const byText = new Map(found.map((issue) => [JSON.stringify([issue.path, issue.expected]), issue]));
  throw new InvalidParamsError(action, [...byText.values()]);
}

/**
 * Returns a value without its absent members. Reports `null` where a value is required, and members named `__proto__`,
 * which the schema would drop silently.
 */
function clean(
  value: unknown,
  path: Issue["path"],
  to: Required<CheckOptions> & { issues: Issue[] },
): unknown {
  if (Array.isArray(value)) return value.map((each, index) => clean(each, [...path, index], to));
  // The YAML reader returns every scalar as text, so null is a text.
  if (value === null || value === "null" || value === "~") {
    if (!to.mayBeNull(path)) {
      to.issues.push({ path, value: null, expected: "a value: give one, or remove the member" });
    }
    return undefined;
  }
  if (typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => {
      const at = [...path, name];
      if (name === "__proto__") {
        to.issues.push({ path: at, value: each, expected: "another name: correct the name or remove it" });
        return [];
      }
      const kept = clean(each, at, to);
      return kept === undefined ? [] : [[name, kept]];
    }),
  );
}

function issuesOf(issue: z.core.$ZodIssue, value: unknown): Issue[] {
  const path = issue.path.map((step) => typeof step === "symbol" ? String(step) : step);
  const at = (steps: Issue["path"]) =>
    // Only maps and lists have members; for other values the result is undefined.
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
    return [{ path, value: path.at(-1), expected: issue.issues.map(expectedBy).join("; ") }];
  }
  return [{ path, value: at(path), expected: expectedBy(issue) }];
}

const expectedBy = ({ message }: Pick<z.core.$ZodIssue, "message">) => message.replace(/^expected /, "");
