/**
 * Finds what a step uses: a built-in step, an operation of the catalogue, or a file next to the recipe.
 *
 * @module
 */
import { didYouMean } from "../../client/nearest.ts";
import { InvalidParamsError, type Issue } from "../../errors.ts";
import { answerShape, type AnyOperation, normalizeParams } from "../../operations/operation.ts";
import type { FieldsInfo, ValueType } from "../../operations/types.ts";
import type { AsOfNow, StepCode, StepContext, StepEffect, StepReach } from "../compiled.ts";
import { asOfNowOf, callOperation } from "../engine/call_operation.ts";
import type { StepKind } from "../kinds/kind.ts";
import { type AnyStepKind, findStepKind, stepNames } from "../kinds/mod.ts";
import { checkWrittenImports, type CodeFiles, OwnStepError } from "../own_steps/code_files.ts";
import type { OwnStep } from "../own_steps/own_step.ts";
import type { StepDescription } from "../own_steps/step_messages.ts";
import { paramFault } from "../schema/recipe_params.ts";
import { namesSecret } from "../schema/open_addresses.ts";
import { MOST_ISSUES } from "../recipe_error.ts";
import { checkSchema, expected, type Mistake, valueAt } from "../schema/schema_issues.ts";
import {
  ANY,
  FLAG,
  NUMBER,
  oneOf,
  recordOf,
  TEXT,
  type Type,
  typeOfParam,
  typeOfSchema,
} from "../expressions/value_types.ts";
import { lazily } from "../../lazy.ts";

const loadCatalogue = lazily(() => import("../../operations/mod.ts"));
const loadOwnSteps = lazily(() => import("../own_steps/own_step.ts"));

/** Returns the type of a parameter before the run; `undefined` for an omitted parameter. */
export type TypeOf = (path: Issue["path"]) => Type | undefined;

/** Properties of a step that the compiler needs, for every value of `uses`. */
interface StepMaker {
  /** Name of the step. */
  name: string;
  effect: StepEffect;
  keepAlive?: true;
  /** Whether the step may begin again after it was interrupted. */
  resumes?: true;
  /** Files whose code the step runs. */
  files?: readonly string[];
  /** The code of a custom step; `"unread"` if it must not be loaded. */
  code?: StepCode | "unread";
  /** Hosts and paths that its parameters name, as written. */
  reaches?(given: Readonly<Record<string, unknown>>): readonly StepReach[];
  /** Longest interval between two runs at which the step still works, milliseconds. */
  mostEveryMs?(given: Readonly<Record<string, unknown>>): number | undefined;
  /** Members that must be references to secrets. */
  secretParams: readonly Issue["path"][];
  needsAccount(given: Readonly<Record<string, unknown>>): boolean;
  /** The present data that the step reads, as far as it is known before the step runs. */
  asOfNow?(given: Readonly<Record<string, unknown>>): AsOfNow | undefined;
  /** Types of its parameters. */
  params: Type;
  /** Type of its output. */
  output: Type;
  /** Returns the parameter that must be given if the slot of a run has no session. */
  needsSession?: StepKind["needsSession"];
  /** Returns the mistakes that can be found from the types of expressions. */
  checkTypes?(given: Readonly<Record<string, unknown>>, typeOf: TypeOf): Mistake[];
  /** Returns the mistakes of the parameters. `isKnownLater` returns whether a value is only known during the run. */
  check(given: Readonly<Record<string, unknown>>, isKnownLater: (value: unknown) => boolean): Mistake[];
  /** Runs the step with evaluated parameters. */
  run(given: Readonly<Record<string, unknown>>, context: StepContext, typeOf: TypeOf): Promise<unknown>;
  plan?(given: Readonly<Record<string, unknown>>, context: StepContext): Promise<unknown>;
}

/** Where step files are searched. */
interface StepFileContext {
  /** The recipe's folder. */
  folder: URL;
  /** Aborting it stops loading step files. */
  signal?: AbortSignal;
  /** See `CompileOptions`. */
  codeOf?: (file: URL) => CodeFiles | Promise<CodeFiles>;
  /** Set if custom steps must not be loaded. Only the imports in their texts are then checked. */
  withoutCode?: boolean;
}

/**
 * Returns what a step uses, or the mistake if it cannot be found.
 *
 * @param deps Where custom steps are, and how their code is loaded.
 */
export async function findMaker(uses: string, deps: StepFileContext): Promise<StepMaker | Mistake> {
  if (/^\.{0,2}\//.test(uses) || uses.endsWith(".ts")) return await ownMaker(uses, deps);
  const kind = await findStepKind(uses);
  if (kind !== undefined) return kindMaker(kind);
  const { findOperation, operations } = await loadCatalogue(); // loaded only for steps that call an operation
  const operation = findOperation(uses);
  if (operation !== undefined) return operationMaker(operation);
  const names = [...stepNames, ...operations.keys()];
  return {
    path: ["uses"],
    message: `there is no step "${uses}"${
      didYouMean(uses, names) ||
      `; there are ${stepNames.join(", ")}, and operations such as "account.funds"`
    }`,
  };
}

function kindMaker(kind: AnyStepKind): StepMaker {
  const { name, effect, keepAlive, resumes, secretParams = [] } = kind;
  return {
    name,
    effect,
    secretParams,
    ...keepAlive && { keepAlive },
    ...resumes && { resumes },
    ...kind.reaches !== undefined && { reaches: (given) => kind.reaches!(given) },
    ...kind.mostEveryMs !== undefined && { mostEveryMs: (given) => kind.mostEveryMs!(given) },
    needsAccount: (given) => kind.needsAccount(given),
    params: typeOfSchema(kind.params),
    output: kind.output === undefined ? ANY : typeOfSchema(kind.output),
    ...kind.needsSession !== undefined && { needsSession: kind.needsSession },
    ...kind.checkTypes !== undefined && {
      checkTypes(given, typeOf) {
        const found: Mistake[] = [];
        kind.checkTypes!(given, typeOf, (path, text) => found.push(expected(path, text)));
        return found;
      },
    },
    ...kind.asOfNow !== undefined && { asOfNow: (given) => kind.asOfNow!(given) },
    check(given, isKnownLater) {
      const found = checkSchema(kind.params, given).filter(({ path, isName }) =>
        isName || !isKnownLater(valueAt(given, path))
      );
      kind.checkWritten?.(given, (path, text) => found.push(expected(path, text)));
      if (found.length > 0) return found;
      const parsed = kind.params.safeParse(given);
      kind.check?.(parsed.success ? parsed.data : given, (path, text) => {
        if (!isKnownLater(valueAt(given, path))) found.push(expected(path, text));
      });
      return found;
    },
    run: (given, context, typeOf) => kind.run(parseWith(kind, given), context, typeOf),
    ...kind.plan && { plan: (given, context) => kind.plan!(parseWith(kind, given), context) },
  };
}

/** Checks the parameters when all values are known, and returns them parsed. @throws If a value is invalid. */
function parseWith(kind: AnyStepKind, given: Readonly<Record<string, unknown>>): unknown {
  const parsed = kind.params.safeParse(given);
  const found = parsed.success ? [] : checkSchema(kind.params, given);
  if (parsed.success) kind.check?.(parsed.data, (path, text) => found.push(expected(path, text)));
  if (found.length > 0) {
    const issues = found.map(({ path, message }) => ({
      path,
      value: hasSecret(kind, path) ? "[secret]" : valueAt(given, path),
      expected: message.replace(/^expected /, ""),
    }));
    throw new InvalidParamsError(`run step "${kind.name}"`, issues);
  }
  return parsed.data;
}

const hasSecret = ({ secretParams = [] }: AnyStepKind, path: Issue["path"]) =>
  secretParams.some((secret) => secret.every((step, index) => path[index] === step));

/**
 * Session calls that need no trust: subscriptions, and logging in or keeping a login alive, which every step with an
 * account may cause anyway.
 */
const HARMLESS_CALLS = ["account.login", "account.keepLogin", "orders.subscribe", "quotes.subscribe"];

function operationMaker(operation: AnyOperation): StepMaker {
  const fields = operation.request.fields ?? {};
  const secrets = Object.entries(fields).filter(([, { type }]) => type.secret);
  const issuesOf = (given: unknown) => {
    const issues: Issue[] = [];
    operation.request.check(given, [], issues);
    return issues;
  };
  return {
    name: operation.name,
    // A session call changes only the login or the pushes, so it may be repeated.
    effect: operation.effect === "session" ? "local" : operation.effect,
    secretParams: secrets.flatMap(([name, { wire }]) => name === wire ? [[name]] : [[name], [wire]]),
    params: givenType(fields),
    output: answerShape(operation),
    ...operation.effect === "session" && !HARMLESS_CALLS.includes(operation.name) && {
      reaches: () => [{ kind: "session", name: operation.name }],
    },
    needsAccount: () => operation.needs === "trade-login",
    asOfNow: (given) => asOfNowOf(operation, normalizeParams(fields, given)),
    check(given, isKnownLater) {
      const params = normalizeParams(fields, given);
      return issuesOf(params).slice(0, MOST_ISSUES).flatMap(
        ({ path, expected: text }): Mistake[] => {
          const isName = path.length === 1 && typeof path[0] === "string" && !Object.hasOwn(fields, path[0]);
          if (!isName) return isKnownLater(valueAt(params, path)) ? [] : [expected(path, text)];
          const names = Object.keys(fields);
          return [{
            path,
            message: `no such member${
              didYouMean(String(path[0]), names) || `; there are ${names.join(", ") || "none"}`
            }`,
            isName,
          }];
        },
      );
    },
    async run(given, context) {
      const answer = await callOperation(operation, normalizeParams(fields, given), context);
      const isDone = typeof answer !== "object" || operation.undone === undefined ||
        operation.undone(answer).length === 0;
      return isDone ? answer : { ok: false, ...answer };
    },
    ...operation.effect === "write" && {
      plan: (given) => Promise.resolve({ call: operation.name, params: normalizeParams(fields, given) }),
    },
  };
}

/** Returns the type of an operation's parameters, in hsgate's spelling or the broker's. */
function givenType(fields: FieldsInfo): Type {
  const members = Object.entries(fields).flatMap(([name, { wire, type }]) => {
    const { fields: inner } = type;
    const shape = type.shape();
    const own = inner === undefined
      ? name === wire && shape.kind !== "list" ? eitherSpelling(type) : shape
      : shape.kind === "list"
      ? { kind: "list" as const, of: givenType(inner) }
      : givenType(inner);
    return name === wire ? [[name, own] as const] : [[name, own] as const, [wire, ANY] as const];
  });
  return recordOf(Object.fromEntries(members));
}

/**
 * Returns the type of a parameter that has the same name in both spellings. It accepts a number or the number's text,
 * and a code or the code's name.
 */
function eitherSpelling(type: ValueType<unknown>): Type {
  const { dictionary } = type;
  const shape = type.shape();
  if (shape.kind !== "text" || shape.names === undefined) return oneOf([shape, TEXT, NUMBER, FLAG]);
  const codes = dictionary?.entries.map(({ code }) => code) ?? [];
  const text = { ...shape, names: [...shape.names, ...codes] };
  return dictionary?.type === "int" ? oneOf([text, NUMBER]) : text;
}

async function ownMaker(
  uses: string,
  { folder, signal, codeOf, withoutCode }: StepFileContext,
): Promise<StepMaker | Mistake> {
  if (!/^\.\/(?!\/|.*(\.\.\/|\/\/|[\\?#]|%2[ef])).+\.ts$/i.test(uses)) {
    return expected(["uses"], 'a TypeScript file beside the recipe, such as "./my_step.ts"');
  }
  const file = new URL(uses, folder);
  const { describeOwnStep, runOwnStep } = await loadOwnSteps();
  let about: OwnStep;
  try {
    if (withoutCode) {
      await checkWrittenImports(file, folder);
      return unreadMaker(uses);
    }
    about = await describeOwnStep(file, { folder, signal, code: await codeOf?.(file) });
  } catch (error) {
    if (error instanceof OwnStepError) return { path: ["uses"], message: error.message };
    throw error;
  }
  const types = about.params;
  const typesOf = (members: StepDescription["outputs"] = {}) =>
    Object.fromEntries(Object.entries(members).map(([name, each]) => [name, typeOfParam(each)]));
  return {
    name: uses,
    effect: about.effect,
    files: about.code.files,
    code: { ...about.code, permissions: about.permissions, place: about.place, programs: about.programs },
    secretParams: Object.keys(types).filter(namesSecret).map((name) => [name]),
    params: recordOf(typesOf(types)),
    output: about.outputs === undefined ? ANY : recordOf({ ok: FLAG, ...typesOf(about.outputs) }),
    needsAccount: () => about.effect !== "local",
    check: (given, isKnownLater) =>
      checkOwn(types, given).filter(({ path, isName }) => isName || !isKnownLater(valueAt(given, path))),
    async run(given, context) {
      const [first] = checkOwn(types, given);
      if (first !== undefined) {
        throw new TypeError(`Cannot run step "${uses}": ${first.path.join(".")}: ${first.message}`);
      }
      // As in the check, a parameter that is null has its default.
      const params = Object.fromEntries(
        Object.entries(types).map(([name, type]) => [name, given[name] ?? type.default]),
      );
      const output = await runOwnStep(file, about, { params, context });
      for (const fault of outputFaults(about, output)) context.log("warn", `step "${uses}": ${fault}`);
      return output;
    },
    ...about.effect === "write" && { plan: (given) => Promise.resolve({ run: uses, params: given }) },
  };
}

/** Returns a substitute for a custom step that must not be loaded yet. It accepts any parameters, but cannot run. */
function unreadMaker(uses: string): StepMaker {
  return {
    name: uses,
    effect: "local",
    code: "unread",
    secretParams: [],
    params: ANY,
    output: ANY,
    needsAccount: () => true,
    check: () => [],
    run: () => Promise.reject(new TypeError(`Cannot run step "${uses}": its code was not read`)),
  };
}

/**
 * Returns how an output differs from its declaration. The step has already done its work, so the caller only logs the
 * difference.
 */
function outputFaults({ outputs = {} }: StepDescription, output: unknown): string[] {
  return Object.entries(outputs).flatMap(([name, { type }]) => {
    const value = valueAt(output, [name]);
    const fault = value === undefined || value === null ? undefined : paramFault(type, value);
    return fault === undefined ? [] : [`its output "${name}" is declared as ${fault}, and is something else`];
  });
}

function checkOwn(types: StepDescription["params"], given: Readonly<Record<string, unknown>>): Mistake[] {
  const found: Mistake[] = Object.keys(given).filter((name) => !Object.hasOwn(types, name)).slice(
    0,
    MOST_ISSUES,
  ).map((name) => ({
    path: [name],
    message: `no such member${didYouMean(name, Object.keys(types))}`,
    isName: true,
  }));
  for (const [name, type] of Object.entries(types)) {
    const value = given[name] ?? type.default;
    const fault = paramFault(type.type, value);
    if (fault !== undefined) found.push(expected([name], fault));
  }
  return found;
}
