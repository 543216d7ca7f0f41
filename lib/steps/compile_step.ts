/**
 * Steps of a recipe: everything about one that can be known before it runs.
 *
 * @module
 */
import { didYouMean } from "../client/nearest.ts";
import { InvalidParamsError } from "../errors.ts";
import { nestedAsOfNow } from "./as_of_now.ts";
import type { CompiledStep, StepContext, StepScope } from "./compiled.ts";
import { durationOf } from "./durations.ts";
import type { Expression } from "./expressions.ts";
import type { KnownRecipe } from "./recipe.ts";
import type { StepSource } from "./recipe_schema.ts";
import { expected, type Found, valueAt } from "./schema_issues.ts";
import { findMaker } from "./step_source.ts";
import { isHole, readTemplate, secretOf, type Template } from "./templates.ts";

/** What is known around a step. */
export interface StepSurroundings {
  /** Ids of the steps before it. */
  earlier: readonly string[];
  /** Ids of all steps. */
  all: readonly string[];
  /** Names of the recipe's parameters. */
  params: readonly string[];
  /** Names of the recipe's secrets; absent when the recipe does not list them. */
  secrets: readonly string[] | undefined;
  /** The recipe's folder. */
  folder: URL | undefined;
  /** What another recipe may do; absent when nobody can tell. */
  findRecipe?: (name: string) => Promise<KnownRecipe | undefined>;
}

/** A step that was compiled, as far as it goes. */
export interface StepResult {
  step?: CompiledStep & { keepAlive?: boolean; secretNames: ReadonlySet<string> };
  found: Found[];
}

const mayDiffer = (value: unknown) => typeof value === "string" && /\$\{(\{|secret:)/.test(value);

/** Compiles a step; paths of what is wrong start at the step. */
export async function compileStep(source: StepSource, around: StepSurroundings): Promise<StepResult> {
  const { id, uses, with: given = {} } = source;
  const { template, found } = await readTemplate(given, ["with"]);
  const condition = await compileCondition(source.if, found);
  const needs = needsOf(source, around, found);
  for (const { path, expression } of template.expressions) {
    checkNames(expression, { id, path: ["with", ...path], around, needs, found });
  }
  if (condition !== undefined) checkNames(condition, { id, path: ["if"], around, needs, found });
  for (const { path, name } of template.secrets) {
    if (around.secrets !== undefined && !around.secrets.includes(name)) {
      const message = `there is no secret "${name}"${didYouMean(name, around.secrets)}`;
      found.push({ path: ["with", ...path], message });
    }
  }
  const maker = await findMaker(uses, around.folder);
  if ("message" in maker) return { found: [...found, maker] };
  for (const path of maker.secretParams) {
    const value = valueAt(given, path);
    if (value !== undefined && secretOf(value) === undefined) {
      found.push(
        expected(["with", ...path], 'a reference such as "${secret:name}": a recipe holds no secrets'),
      );
    }
  }
  const wrong = maker.check(given, mayDiffer);
  found.push(...wrong.map((issue) => ({ ...issue, path: ["with", ...issue.path] })));
  const known = await otherRecipe(source, around, found);
  const { effect } = maker;
  const asOfNow = known?.steps === undefined
    ? maker.asOfNow?.(given)
    : nestedAsOfNow(String(given.recipe), known.steps);
  if (source.fresh && effect !== "read" && effect !== "write") {
    found.push(
      expected(["fresh"], "not fresh: only a step that reads can be run again when a run is resumed"),
    );
  }
  const fill = async (context: StepContext) =>
    // The source is a map, and a filled map is one.
    await template.fill(context, context.secret) as Record<string, unknown>;
  const step: StepResult["step"] = {
    id,
    uses: maker.name,
    effect,
    needs: [...needs],
    needsAccount: known?.needsAccount ?? maker.needsAccount(given),
    ...asOfNow !== undefined && { asOfNow },
    fresh: source.fresh ?? false,
    reads: readsOf(template, condition),
    written: given,
    secretNames: new Set(template.secrets.map(({ name }) => name)),
    ...maker.keepAlive && { keepAlive: true },
    ...source.timeout !== undefined && { timeoutMs: durationOf(source.timeout) },
    ...source.retry !== undefined && {
      retry: { attempts: source.retry.attempts, waitMs: durationOf(source.retry.wait ?? "5s") },
    },
    ...condition !== undefined && { condition: (scope: StepScope) => truthOf(condition, scope, id) },
    run: async (context) => {
      try {
        return await maker.run(await fill(context), context);
      } catch (error) {
        throw withoutSecrets(error, { id, secrets: template.secrets });
      }
    },
    ...maker.plan !== undefined &&
      { plan: async (context) => await maker.plan!(await fill(context), context) },
  };
  return { step, found };
}

function readsOf({ expressions }: Template, condition: Expression | undefined): string[] {
  const all = [
    ...expressions.map(({ expression }) => expression),
    ...condition === undefined ? [] : [condition],
  ];
  return [...new Set(all.flatMap(({ outputs }) => [...outputs]))];
}

/** A value that does not fit is shown, unless a secret is in it. */
function withoutSecrets(
  error: unknown,
  { id, secrets }: { id: string; secrets: Template["secrets"] },
): unknown {
  if (!(error instanceof InvalidParamsError) || secrets.length === 0) return error;
  const issues = error.issues.map((issue) => {
    const isNear = secrets.some(({ path }) =>
      path.every((step, index) => index >= issue.path.length || issue.path[index] === step)
    );
    return isNear ? { ...issue, value: "[secret]" } : issue;
  });
  const { code, operation, transport } = error;
  return new InvalidParamsError(`run step "${id}"`, issues, { code, operation, transport });
}

/** What is known of the recipe that `run` names; one that writes needs a slot of its own. */
async function otherRecipe(
  { uses, with: given = {} }: StepSource,
  { findRecipe }: StepSurroundings,
  found: Found[],
): Promise<KnownRecipe | undefined> {
  const name = given.recipe;
  if (uses !== "run" || findRecipe === undefined || typeof name !== "string" || mayDiffer(name)) {
    return undefined;
  }
  try {
    const known = await findRecipe(name);
    if (known === undefined) {
      found.push(expected(["with", "recipe"], "the name of a recipe in the same folder"));
    }
    if (known?.class === "write") {
      found.push(
        expected(["with", "recipe"], "a recipe that does not write: that one needs a slot of its own"),
      );
    }
    return known;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    found.push({ path: ["with", "recipe"], message: error.message });
    return undefined;
  }
}

async function compileCondition(source: StepSource["if"], found: Found[]): Promise<Expression | undefined> {
  if (source === undefined) return undefined;
  const text = String(source).trim();
  const expression = isHole(text) ? text.slice(3, -2).trim() : text;
  const { compileExpression } = await import("./expressions.ts"); // as for templates
  const compiled = compileExpression(expression);
  if ("evaluate" in compiled) return compiled;
  const { problem: message, offset } = compiled;
  const within = offset === undefined ? {} : { within: { part: expression, offset } };
  found.push({ path: ["if"], message, ...within });
  return undefined;
}

function truthOf(condition: Expression, scope: StepScope, id: string): boolean {
  const value = condition.evaluate(scope);
  if (typeof value === "boolean") return value;
  throw new TypeError(`Cannot tell whether to run step "${id}": "${condition.source}" is not true or false`);
}

function needsOf({ id, needs = [] }: StepSource, around: StepSurroundings, found: Found[]): Set<string> {
  const named = typeof needs === "string" ? [needs] : needs;
  for (const [index, need] of named.entries()) {
    const path = typeof needs === "string" ? ["needs"] : ["needs", index];
    const problem = stepProblem(need, around, id);
    if (problem !== undefined) found.push({ path, message: problem });
  }
  return new Set(named);
}

function stepProblem(name: string, { earlier, all }: StepSurroundings, id?: string): string | undefined {
  if (earlier.includes(name)) return undefined;
  if (name === id) return `step "${name}" cannot depend on itself`;
  if (all.includes(name)) return `step "${name}" comes later: move it before this one`;
  return `there is no step "${name}"${didYouMean(name, earlier)}`;
}

interface NameCheck {
  id: string;
  path: Found["path"];
  around: StepSurroundings;
  /** Steps whose outputs are read are needed. */
  needs: Set<string>;
  found: Found[];
}

function checkNames({ outputs, params }: Expression, { id, path, around, needs, found }: NameCheck): void {
  for (const name of outputs) {
    const problem = stepProblem(name, around, id);
    if (problem === undefined) needs.add(name);
    else found.push({ path, message: problem });
  }
  for (const name of params) {
    if (!around.params.includes(name)) {
      found.push({ path, message: `there is no parameter "${name}"${didYouMean(name, around.params)}` });
    }
  }
}
