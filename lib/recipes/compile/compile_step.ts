/**
 * Compiles and checks the steps of a recipe before they run.
 *
 * @module
 */
import { didYouMean } from "../../client/nearest.ts";
import { InvalidParamsError, messageOf } from "../../errors.ts";
import { nestedAsOfNow } from "../engine/call_operation.ts";
import type { CompiledStep, KnownRecipe, RecipeConnection, StepContext, StepScope } from "../compiled.ts";
import { durationOf } from "./written_times.ts";
import { Budget } from "../expressions/budget.ts";
import type { Expression } from "../expressions/expressions.ts";
import { bindParams, type ReadParam } from "../schema/recipe_params.ts";
import type { StepSource } from "../schema/recipe_source.ts";
import { MOST_ISSUES } from "../recipe_error.ts";
import { expected, type Mistake, valueAt } from "../schema/schema_issues.ts";
import { findMaker, type TypeOf } from "./step_source.ts";
import { isHole, readTemplate, secretOf, type Template } from "../expressions/templates.ts";
import {
  ANY,
  describe,
  describeInDetail,
  FLAG,
  mayBe,
  mayTake,
  recordOf,
  type Type,
  typeAt,
  typeOfParam,
  typeOfValue,
} from "../expressions/value_types.ts";
import { lazily } from "../../lazy.ts";

const loadExpressions = lazily(() => import("../expressions/expressions.ts"));

/** Context of a step in its recipe. */
export interface StepCompileContext {
  /** Ids of the steps before it. */
  earlier: readonly string[];
  /** Ids of all steps. */
  all: readonly string[];
  /** The recipe's parameters by name; `undefined` for an invalid parameter. */
  params: Readonly<Record<string, ReadParam | undefined>>;
  /** Names of the recipe's secrets. */
  secrets: readonly string[];
  /** Output types of the earlier steps, by id. */
  outputs: Readonly<Record<string, Type>>;
  /** Whether the recipe's slots have a session. */
  sessions: "some" | "none";
  /**
   * Whether the step sends a notice. If an expression of a notice has no value, it becomes an empty text, so that the
   * notice is still sent.
   */
  isNotice: boolean;
  /** Budget for evaluating all values of the recipe that are known before the run. @default a separate one */
  budget?: Budget;
  /** The recipe's connection. */
  connect: RecipeConnection | undefined;
  /** The recipe's folder. */
  folder: URL;
  /** Aborting it stops loading steps from files. */
  signal?: AbortSignal;
  /** Whether custom steps must not be loaded. Only the imports in their texts are then checked. */
  withoutCode?: boolean;
  /** Returns another recipe of the folder; absent if the folder is unknown. */
  findRecipe?: (name: string) => Promise<KnownRecipe | undefined>;
}

/** Result of compiling a step: the step, if possible, and its mistakes. */
export interface StepResult {
  step?: CompiledStep & { keepAlive?: boolean; mostEveryMs?: number; secretNames: ReadonlySet<string> };
  found: Mistake[];
}

/** Returns whether a value contains an expression or a secret, so that it is only known during the run. */
const isKnownLater = (value: unknown) => typeof value === "string" && /\$\{(\{|secret:)/.test(value);

/** Compiles a step. Paths of mistakes start at the step. */
export async function compileStep(source: StepSource, deps: StepCompileContext): Promise<StepResult> {
  const { id, uses, with: given = {} } = source;
  const { template, found } = await readTemplate(given, ["with"]);
  const condition = await compileCondition(source.if, found);
  const needs = needsOf(source, deps, found);
  for (const { path, expression } of template.expressions) {
    if (found.length >= MOST_ISSUES) break;
    checkNames(expression, { id, path: ["with", ...path], deps, needs, found });
  }
  if (condition !== undefined) checkNames(condition, { id, path: ["if"], deps, needs, found });
  for (const { path, name } of template.secrets) {
    const message = secretProblem(name, deps.secrets);
    if (message !== undefined) found.push({ path: ["with", ...path], message });
  }
  const types = typesOf(template, deps, found);
  if (condition !== undefined) checkCondition(condition, deps, found);
  const maker = await findMaker(uses, deps);
  if ("message" in maker) return { found: [...found, maker] };
  for (const path of maker.secretParams) {
    const value = valueAt(given, path);
    if (value !== undefined && secretOf(value) === undefined) {
      found.push(
        expected(
          ["with", ...path],
          'a reference such as "${secret:name}": a recipe must not contain secrets',
        ),
      );
    }
  }
  const inserted = template.insertKnown(valuesOf(deps.params), deps.budget);
  const wrongAlready = new Set(found.map(({ path }) => JSON.stringify(path)));
  for (const issue of inserted.found) {
    const key = JSON.stringify(issue.path);
    if (!wrongAlready.has(key)) found.push(issue);
    types.delete(JSON.stringify(issue.path.slice(1)));
  }
  // The cast is safe: the source is a map, so the result is a map.
  const early = inserted.given as Record<string, unknown>;
  const typeOf: TypeOf = (path) => types.get(JSON.stringify(path)) ?? typeOfValue(valueAt(early, path));
  const wrong = [
    ...maker.check(early, isKnownLater),
    ...checkHoles(types, maker.params, early),
    ...maker.checkTypes?.(early, typeOf) ?? [],
  ];
  // With invalid parameters, the code that reads them could fail.
  const isSound = wrong.length === 0;
  const missing = deps.sessions === "none" && isSound ? maker.needsSession?.(early) : undefined;
  if (missing !== undefined) {
    const message = `${missing.instead}: no schedule of this recipe follows an exchange`;
    found.push(expected(["with", ...missing.path], message));
  }
  found.push(...wrong.map((issue) => atSource(issue, template, early)));
  const known = await otherRecipe(source, { deps, early, types }, found);
  const { effect } = maker;
  const reaches = [...maker.reaches?.(given) ?? [], ...maker.reaches?.(early) ?? []].filter((
    each,
    index,
    all,
  ) => all.findIndex(({ kind, name }) => kind === each.kind && name === each.name) === index);
  const asOfNow = known?.steps === undefined
    ? isSound ? maker.asOfNow?.(given) : undefined
    : nestedAsOfNow(String(given.recipe), known.steps);
  if (source.fresh && effect !== "read" && effect !== "write") {
    found.push(
      expected(["fresh"], "not fresh: only a step that reads can be run again when a run is resumed"),
    );
  }
  const mostEveryMs = isSound ? maker.mostEveryMs?.(early) : undefined;
  const fill = async (context: StepContext) => {
    const leaveEmpty = (error: unknown) => {
      context.log("warn", `left empty: ${messageOf(error)}`);
      return "";
    };
    const filling = {
      budget: new Budget(`step "${id}"`, { run: context.work }),
      // A test of a channel sends before the earlier steps have run, so their outputs may be missing in its text.
      ...(deps.isNotice || context.testText !== undefined) && { onError: leaveEmpty },
    };
    // The cast is safe: the source is a map, so the result is a map.
    return await template.fill(context, context.secret, filling) as Record<string, unknown>;
  };
  const step: StepResult["step"] = {
    id,
    uses: maker.name,
    effect,
    needs: [...needs],
    needsAccount: known?.needsAccount ?? maker.needsAccount(given),
    output: known?.steps === undefined ? maker.output : outputsOf(known.steps),
    ...asOfNow !== undefined && { asOfNow },
    fresh: source.fresh ?? false,
    reads: readsOf(template, condition),
    written: given,
    secretNames: new Set(template.secrets.map(({ name }) => name)),
    ...maker.keepAlive && { keepAlive: true },
    ...maker.resumes && { resumes: true },
    ...maker.files !== undefined && { files: maker.files },
    ...maker.code !== undefined && { code: maker.code },
    ...reaches.length > 0 && { reaches },
    ...uses === "run" && { runs: known ?? "any" as const },
    ...mostEveryMs !== undefined && { mostEveryMs },
    ...source.timeout !== undefined && { timeoutMs: durationOf(source.timeout) },
    ...source.retry !== undefined && {
      retry: { attempts: source.retry.attempts, waitMs: durationOf(source.retry.wait ?? "5s") },
    },
    ...condition !== undefined && { condition: (scope: StepScope) => truthOf(condition, scope, id) },
    run: async (context) => {
      try {
        return await maker.run(await fill(context), context, typeOf);
      } catch (error) {
        throw withoutSecrets(error, { id, secrets: template.secrets });
      }
    },
    ...maker.plan !== undefined &&
      { plan: async (context) => await maker.plan!(await fill(context), context) },
  };
  return { step, found };
}

/** Types of parameters that are a single expression, by path. */
type Holes = ReadonlyMap<string, Type>;

/** Infers the type of each expression; an expression that can never have a valid value is a mistake. */
function typesOf(
  { expressions }: Template,
  deps: StepCompileContext,
  found: Mistake[],
): Map<string, Type> {
  const types = new Map<string, Type>();
  for (const { path, expression, whole } of expressions) {
    const type = typeOfExpression(expression, ["with", ...path], { deps, found });
    if (whole) types.set(JSON.stringify(path), type);
  }
  return types;
}

function typeOfExpression(
  expression: Expression,
  path: Mistake["path"],
  { deps, found }: { deps: StepCompileContext; found: Mistake[] },
): Type {
  const { outputs, sessions, isNotice } = deps;
  const params = Object.fromEntries(
    Object.entries(deps.params).map((
      [name, each],
    ) => [name, each === undefined ? ANY : typeOfParam(each, each.value)]),
  );
  const { type, problems } = expression.typed({ params, outputs, sessions, isNotice });
  const { source: part } = expression;
  found.push(...problems.map(({ message, offset }) => ({ path, message, within: { part, offset } })));
  return type;
}

function checkCondition(condition: Expression, deps: StepCompileContext, found: Mistake[]): void {
  const before = found.length;
  const type = typeOfExpression(condition, ["if"], { deps, found });
  if (found.length === before && !mayBe(type, FLAG)) {
    found.push(expected(["if"], `true or false, and ${condition.source} is ${describe(type)}`));
  }
}

/** Returns the values of the parameters that are known before the run. */
function valuesOf(params: StepCompileContext["params"]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(params).map(([name, each]) => [name, each?.value]));
}

function checkHoles(types: Holes, params: Type, early: unknown): Mistake[] {
  return [...types].flatMap(([key, type]) => {
    const path: Mistake["path"] = JSON.parse(key); // `typesOf` wrote the key
    const wanted = isKnownLater(valueAt(early, path)) ? typeAt(params, path) : undefined;
    return wanted === undefined || mayTake(wanted, type) ? [] : [expected(path, misfit(wanted, type))];
  });
}

function misfit(wanted: Type, given: Type): string {
  const [least, most] = [describe, describeInDetail].map((show) => [show(wanted), show(given)] as const);
  const [take, has] = least![0] === least![1] ? most! : least!;
  return `${take}, and the expression is ${has}`;
}

/** Adds the wrong value to a mistake if an expression computes that value from the recipe's parameters. */
function atSource({ path, message, ...rest }: Mistake, { expressions }: Template, early: unknown): Mistake {
  const from = expressions.find((each) => each.path.every((step, index) => step === path[index]));
  if (from === undefined || !from.expression.isFixed) return { ...rest, path: ["with", ...path], message };
  const value = valueAt(early, path);
  const within = path.slice(from.path.length).map((step) => `.${step}`).join("");
  const name = from.whole ? `${from.expression.source}${within}` : "it";
  const shown = isKnownLater(value) ? "" : `, and ${name} is ${JSON.stringify(value)}`;
  return { path: ["with", ...from.path], message: `${message}${shown}` };
}

/** Returns what is wrong with the name of a secret; `undefined` if the recipe declares it. */
export function secretProblem(name: string, secrets: readonly string[]): string | undefined {
  if (secrets.includes(name)) return undefined;
  const near = didYouMean(name, secrets);
  return `there is no secret "${name}"${near || `: declare it as secrets: { ${name}: { env: NAME } }`}`;
}

function outputsOf(steps: readonly CompiledStep[]): Type {
  return recordOf(Object.fromEntries(steps.map(({ id, output = ANY }) => [id, output])));
}

function readsOf({ expressions }: Template, condition: Expression | undefined): string[] {
  const all = [
    ...expressions.map(({ expression }) => expression),
    ...condition === undefined ? [] : [condition],
  ];
  return [...new Set(all.flatMap(({ outputs }) => [...outputs]))];
}

/** Returns an error whose message hides invalid values that contain a secret. */
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

/**
 * Checks and returns the recipe that a `run` step names. Rejects a recipe that writes, because it needs its own slot.
 */
async function otherRecipe(
  { uses }: StepSource,
  { deps, early, types }: { deps: StepCompileContext; early: Record<string, unknown>; types: Holes },
  found: Mistake[],
): Promise<KnownRecipe | undefined> {
  const { findRecipe } = deps;
  const name = early.recipe;
  if (uses !== "run" || findRecipe === undefined || typeof name !== "string") return undefined;
  if (isKnownLater(name)) {
    const instead =
      "a name that is known before the run, because trust covers each recipe that runs: write a step " +
      "for each recipe, with a condition";
    found.push(expected(["with", "recipe"], instead));
    return undefined;
  }
  try {
    const known = await findRecipe(name);
    if (known === undefined) {
      found.push(expected(["with", "recipe"], "the name of a recipe in the same folder"));
    }
    if (known?.class === "write") {
      found.push(
        expected(["with", "recipe"], "a recipe that does not write: a recipe that writes needs its own slot"),
      );
    }
    if (known !== undefined) {
      found.push(...checkGiven(known, early.params, types));
      const [own, its] = [deps.connect, known.connect].map((each) => each?.to === "simulator");
      if (own !== its) {
        const meant = its
          ? `"${name}" is meant for the simulator, and this recipe is not`
          : `this recipe is meant for the simulator, and "${name}" is not`;
        found.push({ path: ["with", "recipe"], message: `${meant}: give both the same connect` });
      }
    }
    return known;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    found.push({ path: ["with", "recipe"], message: error.message });
    return undefined;
  }
}

/** Checks the parameters for another recipe. */
function checkGiven(
  { name = "", params = {}, paramTypes }: KnownRecipe,
  given: unknown,
  types: Holes,
): Mistake[] {
  if (paramTypes === undefined || typeof given === "string") return [];
  const path = ["with", "params"];
  const found = [...types].flatMap(([key, type]) => {
    const [member, own, ...deeper]: Mistake["path"] = JSON.parse(key); // `typesOf` wrote the key
    const isParam = member === "params" && deeper.length === 0 && Object.hasOwn(paramTypes, String(own));
    const wanted = isParam ? paramTypes[String(own)] : undefined;
    return wanted === undefined || mayTake(typeOfParam(wanted), type) ? [] : [
      expected([...path, String(own)], misfit(typeOfParam(wanted), type)),
    ];
  });
  try {
    bindParams({ name, params, paramTypes }, Object(given ?? {}));
  } catch (error) {
    if (!(error instanceof InvalidParamsError)) throw error;
    for (const issue of error.issues) {
      if (isKnownLater(valueAt(given, issue.path))) continue;
      const own = String(issue.path[0]); // each issue is about one parameter
      const isName = !Object.hasOwn(paramTypes, own);
      const at = valueAt(given, issue.path) === undefined ? path : [...path, ...issue.path];
      found.push(
        isName
          ? { path: at, message: `no such parameter${didYouMean(own, Object.keys(paramTypes))}`, isName }
          : expected(at, at === path ? `"${own}", ${issue.expected}` : issue.expected),
      );
    }
  }
  return found;
}

async function compileCondition(source: StepSource["if"], found: Mistake[]): Promise<Expression | undefined> {
  if (source === undefined) return undefined;
  const text = String(source).trim();
  const expression = isHole(text) ? text.slice(3, -2).trim() : text;
  const { compileExpression } = await loadExpressions(); // loads CEL only for recipes with expressions
  const compiled = compileExpression(expression);
  if ("evaluate" in compiled) return compiled;
  const { problem: message, offset } = compiled;
  const within = offset === undefined ? {} : { within: { part: expression, offset } };
  found.push({ path: ["if"], message, ...within });
  return undefined;
}

function truthOf(condition: Expression, scope: StepScope, id: string): boolean {
  const value = condition.evaluate(scope, new Budget(`step "${id}"`, { run: scope.work }));
  if (typeof value === "boolean") return value;
  throw new TypeError(
    `Cannot decide whether to run step "${id}": "${condition.source}" is not true or false`,
  );
}

function needsOf({ id, needs = [] }: StepSource, deps: StepCompileContext, found: Mistake[]): Set<string> {
  const named = typeof needs === "string" ? [needs] : needs;
  for (const [index, need] of named.entries()) {
    const path = typeof needs === "string" ? ["needs"] : ["needs", index];
    const problem = found.length >= MOST_ISSUES ? undefined : stepProblem(need, deps, id);
    if (problem !== undefined) found.push({ path, message: problem });
  }
  return new Set(named);
}

function stepProblem(name: string, { earlier, all }: StepCompileContext, id?: string): string | undefined {
  if (earlier.includes(name)) return undefined;
  if (name === id) return `step "${name}" cannot depend on itself`;
  if (all.includes(name)) return `step "${name}" comes later: move it before this one`;
  return `there is no step "${name}"${didYouMean(name, earlier)}`;
}

interface NameCheck {
  id: string;
  path: Mistake["path"];
  deps: StepCompileContext;
  /** Is filled with the steps whose outputs the expression reads, because these steps must run first. */
  needs: Set<string>;
  found: Mistake[];
}

function checkNames({ outputs, params }: Expression, { id, path, deps, needs, found }: NameCheck): void {
  for (const name of outputs) {
    if (found.length >= MOST_ISSUES) return;
    const problem = stepProblem(name, deps, id);
    if (problem === undefined) needs.add(name);
    else found.push({ path, message: problem });
  }
  for (const name of params) {
    if (found.length >= MOST_ISSUES) return;
    if (!Object.hasOwn(deps.params, name)) {
      const near = didYouMean(name, Object.keys(deps.params));
      found.push({ path, message: `there is no parameter "${name}"${near}` });
    }
  }
}
