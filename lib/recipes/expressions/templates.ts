/**
 * Parses parameters that contain `${{ … }}` for expressions and `${secret:name}` for secrets.
 *
 * @module
 */
import type { Issue } from "../../errors.ts";
import type { StepScope } from "../compiled.ts";
import { Budget } from "./budget.ts";
import type { Expression, ExpressionProblem } from "./expressions.ts";
import { expected, type Mistake } from "../schema/schema_issues.ts";
import { lazily } from "../../lazy.ts";

const loadExpressions = lazily(() => import("./expressions.ts"));

/** Parsed parameters; expressions and secrets are inserted when the step starts. */
export interface Template {
  /** The parameters as written. */
  source: unknown;
  /** The secrets that the parameters refer to, with their places. */
  secrets: readonly { path: Issue["path"]; name: string }[];
  /** The expressions. An expression that is the whole text of a value is `whole`, and the value keeps its type. */
  expressions: readonly { path: Issue["path"]; expression: Expression; whole: boolean }[];
  /**
   * Inserts all values that are known before the run. Returns the parameters, and the mistakes of known values. A value
   * that needs more than the budget is left as written.
   */
  insertKnown(
    params: Readonly<Record<string, unknown>>,
    budget?: Budget,
  ): { given: unknown; found: Mistake[] };
  /** Inserts all values. Only this function reads secrets. */
  fill(
    scope: StepScope,
    secret: (name: string) => Promise<string>,
    options?: FillOptions,
  ): Promise<unknown>;
}

/** Options for inserting values. */
interface FillOptions {
  /** Shared budget of all expressions. @default a separate budget for each */
  budget?: Budget;
  /** Returns a replacement for an expression without a value. @default the error is thrown */
  onError?: (error: unknown) => unknown;
}

const EXPRESSION = /\$\{\{([\s\S]*?)\}\}/g;
const SECRET = /\$\{secret:([^}]*)\}/g;

/** Returns whether a text is only one expression or only one secret. */
export function isHole(text: string): boolean {
  return /^\s*\$\{\{(?:(?!\}\})[\s\S])*\}\}\s*$/.test(text) || secretOf(text) !== undefined;
}

/** Returns the name in a text that is only a reference `${secret:name}`; `undefined` for any other value. */
export function secretOf(value: unknown): string | undefined {
  return typeof value === "string" ? /^\$\{secret:([^}]*)\}$/.exec(value)?.[1] : undefined;
}

/** Finds and checks the expressions and secrets in parameters. */
export async function readTemplate(
  source: unknown,
  at: Issue["path"],
): Promise<{ template: Template; found: Mistake[] }> {
  const found: Mistake[] = [];
  const secrets: { path: Issue["path"]; name: string }[] = [];
  const expressions: { path: Issue["path"]; expression: Expression; whole: boolean }[] = [];
  const fillers = new Map<string, Filler>();
  for (const { text, path } of textsIn(source, [])) {
    if (!text.includes("${")) continue;
    const parts = await partsOf(text);
    for (const part of parts) {
      if (typeof part === "string") {
        if (part.includes("${")) {
          found.push(expected([...at, ...path], '"${{ … }}" or "${secret:name}" with its closing braces'));
        }
      } else if ("secret" in part) {
        secrets.push({ path, name: part.secret });
        if (!/^[a-z0-9][a-z0-9-]*$/.test(part.secret)) {
          found.push(expected([...at, ...path], "the name of a secret in small letters, digits and hyphens"));
        }
      } else if ("problem" in part) {
        const { source, problem, offset } = part;
        const within = offset === undefined ? {} : { within: { part: source, offset } };
        found.push({ path: [...at, ...path], message: problem, ...within });
      } else expressions.push({ path, expression: part, whole: isHole(text) });
    }
    fillers.set(JSON.stringify(path), { whole: isHole(text), parts });
  }
  const template: Template = {
    source,
    secrets,
    expressions,
    insertKnown: (params, budget) => insertKnown(source, fillers, { params, at, budget }),
    fill: async (scope, secret, options) => await fill(source, [], { fillers, scope, secret, ...options }),
  };
  return { template, found };
}

type Part = string | Expression | ExpressionProblem & { source: string } | { secret: string };
interface Filler {
  /** The text is only one expression or one secret, so its value keeps its type. */
  whole: boolean;
  parts: Part[];
}

async function partsOf(text: string): Promise<Part[]> {
  const parts: Part[] = [];
  let last = 0;
  // Ignore the text after the last closing brace. Searching it from each opening brace would take quadratic time.
  const closed = text.slice(0, text.lastIndexOf("}") + 1);
  const expressions = closed.slice(0, closed.lastIndexOf("}}") + 2).matchAll(EXPRESSION);
  const marks = [...expressions, ...closed.matchAll(SECRET)].sort((a, b) => a.index - b.index);
  for (const match of marks) {
    if (match.index < last) continue; // a secret inside an expression, which is a mistake of the expression
    if (match.index > last) parts.push(text.slice(last, match.index));
    if (match[0].startsWith("${{")) {
      const source = match[1]!.trim();
      const { compileExpression } = await loadExpressions(); // loads CEL only for recipes with expressions
      parts.push({ source, ...compileExpression(source) });
    } else parts.push({ secret: match[1]! });
    last = match.index + match[0].length;
  }
  if (last < text.length) parts.push(text.slice(last));
  return parts;
}

function* textsIn(value: unknown, path: Issue["path"]): Generator<{ text: string; path: Issue["path"] }> {
  if (typeof value === "string") yield { text: value, path };
  else if (typeof value === "object" && value !== null) {
    for (const [key, each] of Object.entries(value)) {
      yield* textsIn(each, [...path, Array.isArray(value) ? Number(key) : key]);
    }
  }
}

/**
 * Maximum number of evaluation steps for all values of a recipe that are known before the run. The limit keeps the
 * check of a recipe with many steps fast.
 */
export const STEPS_AT_CHECK = 1_000_000;

/** Inserts values into texts whose expressions use only parameters with known values. */
function insertKnown(
  source: unknown,
  fillers: ReadonlyMap<string, Filler>,
  { params, at, budget = new Budget(undefined, { steps: STEPS_AT_CHECK }) }: {
    params: Readonly<Record<string, unknown>>;
    at: Issue["path"];
    budget?: Budget;
  },
): { given: unknown; found: Mistake[] } {
  const found: Mistake[] = [];
  const scope: StepScope = { recipe: "", runKey: "", slot: "", params, outputs: {} };
  const visit = (value: unknown, path: Issue["path"]): unknown => {
    if (Array.isArray(value)) return value.map((each, index) => visit(each, [...path, index]));
    if (typeof value === "object" && value !== null) {
      return Object.fromEntries(
        Object.entries(value).map(([key, each]) => [key, visit(each, [...path, key])]),
      );
    }
    const filler = typeof value === "string" ? fillers.get(JSON.stringify(path)) : undefined;
    const isKnown = filler?.parts.every((part) =>
      typeof part === "string" ||
      "evaluate" in part && part.isFixed && [...part.params].every((name) => params[name] !== undefined)
    );
    if (filler === undefined || !isKnown) return value;
    try {
      return joined(
        filler,
        filler.parts.map((part) =>
          typeof part === "string" ? part : "evaluate" in part ? part.evaluate(scope, budget) : undefined
        ),
      );
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      if (budget.problem !== undefined) return value; // evaluated during the run, which has a larger budget
      found.push({ path: [...at, ...path], message: error.message });
      return value;
    }
  };
  return { given: visit(source, []), found };
}

/** Returns the text with its values inserted, or the value itself if the text is only one expression or secret. */
function joined({ whole, parts }: Filler, values: readonly unknown[]): unknown {
  return whole ? values.find((_, index) => typeof parts[index] !== "string") : values.map(textOf).join("");
}

interface Filling extends FillOptions {
  fillers: ReadonlyMap<string, Filler>;
  scope: StepScope;
  secret: (name: string) => Promise<string>;
}

function valueOf(expression: Expression, { scope, budget, onError }: Filling): unknown {
  try {
    return expression.evaluate(scope, budget);
  } catch (error) {
    if (onError === undefined) throw error;
    return onError(error);
  }
}

async function fill(value: unknown, path: Issue["path"], filling: Filling): Promise<unknown> {
  if (typeof value === "string") {
    const filler = filling.fillers.get(JSON.stringify(path));
    if (filler === undefined) return value;
    const values: unknown[] = [];
    for (const part of filler.parts) {
      if (typeof part === "string") values.push(part);
      else if ("secret" in part) values.push(await filling.secret(part.secret));
      else if ("evaluate" in part) values.push(valueOf(part, filling));
    }
    return joined(filler, values);
  }
  if (Array.isArray(value)) {
    return await Promise.all(value.map((each, index) => fill(each, [...path, index], filling)));
  }
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(async ([key, each]) =>
    [key, await fill(each, [...path, key], filling)] as const
  );
  return Object.fromEntries(await Promise.all(members));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}
