/**
 * Compiles expressions of recipes. The language is CEL: an expression always ends, accesses nothing outside its scope,
 * and has no clock.
 *
 * @module
 */
import { ExpressionError } from "../recipe_error.ts";
import { type ASTNode, Environment, ParseError } from "@marcbachmann/cel-js";
import { add, compare, divide, multiply, round, subtract } from "../../decimal.ts";
import { didYouMean } from "../../client/nearest.ts";
import type { StepScope } from "../compiled.ts";
import { Budget, childrenOf, type Meter, meterNodes, wrongPattern } from "./budget.ts";
import { infer, type Inferred, Overloads } from "./infer.ts";
import { DATE, FLAG, INSTANT, NULL, oneOf, recordOf, TEXT, type Type } from "./value_types.ts";

/** A checked expression. */
export interface Expression {
  source: string;
  /** Ids of the steps whose outputs the expression uses. */
  outputs: ReadonlySet<string>;
  /** Names of the parameters that the expression uses. */
  params: ReadonlySet<string>;
  /** Whether the expression uses only parameters, so that its value is known before the run. */
  isFixed: boolean;
  /** Infers the type of the value, and finds parts that can never have a value. */
  typed(known: KnownTypes): Inferred;
  /**
   * Returns the value. Throws `ExpressionError` if there is no value, or if the budget is too small.
   *
   * @param budget The shared budget of a step's expressions. @default a separate one
   */
  evaluate(scope: StepScope, budget?: Budget): unknown;
}

/** What is known before the run about the variables of an expression. */
interface KnownTypes {
  params: Readonly<Record<string, Type>>;
  /** Output types of the earlier steps, by id. */
  outputs: Readonly<Record<string, Type>>;
  /** Whether the recipe's slots have a session. */
  sessions: "some" | "none";
  /** Whether the expression belongs to a notice, which is sent at the end of the run. */
  isNotice: boolean;
}

/** Variables of an expression. */
const variables = {
  recipe: "string",
  runKey: "string",
  scheduleId: "dyn",
  slot: "string",
  session: "dyn",
  previousSession: "dyn",
  params: "map",
  outputs: "map",
  outcome: "dyn",
} as const;

/** Variables about the end of a run. */
const outcome = {
  state: TEXT,
  reason: TEXT,
  failedStep: TEXT,
  error: TEXT,
} satisfies Record<keyof NonNullable<StepScope["outcome"]>, Type>;

const session = recordOf(
  { date: DATE, open: INSTANT, close: INSTANT, halfDay: FLAG } satisfies Record<
    keyof NonNullable<StepScope["session"]>,
    Type
  >,
);

/** Returns the type of each variable. */
function variableTypes({ params, outputs, sessions, isNotice }: KnownTypes): Readonly<Record<string, Type>> {
  const ofSlot = sessions === "none" ? NULL : oneOf([session, NULL]);
  return {
    recipe: TEXT,
    runKey: TEXT,
    scheduleId: oneOf([TEXT, NULL]),
    slot: INSTANT,
    session: ofSlot,
    previousSession: ofSlot,
    params: recordOf(params),
    outputs: recordOf(outputs),
    outcome: isNotice ? recordOf(outcome) : NULL,
  } satisfies Record<keyof typeof variables, Type>;
}

/** Longest decimal text in calculations, in characters. */
const MOST_DIGITS = 1_000;
/** Maximum number of decimal places for rounding. */
const MOST_PLACES = 100;
/** Maximum nesting of an expression. */
const MOST_LEVELS = 60;

/** A function of hsgate. */
interface OwnFunction {
  signature: string;
  /** What the function returns, for the reference. */
  meaning: string;
  // The library checks the arguments against the signature.
  // deno-lint-ignore no-explicit-any
  apply: (...values: any[]) => unknown;
}

/** The functions of hsgate. Money is decimal text and stays decimal text. */
const ownFunctions: readonly OwnFunction[] = [
  {
    signature: "decimalAdd(string, string): string",
    meaning: "the exact sum of two decimals",
    apply: (a: string, b: string) => add(short(a), short(b)),
  },
  {
    signature: "decimalSubtract(string, string): string",
    meaning: "the first decimal minus the second, exact",
    apply: (a: string, b: string) => subtract(short(a), short(b)),
  },
  {
    signature: "decimalMultiply(string, string): string",
    meaning: "the exact product of two decimals",
    apply: (a: string, b: string) => multiply(short(a), short(b)),
  },
  {
    signature: "decimalCompare(string, string): int",
    meaning: "-1 if the first decimal is smaller, 0 if they are equal, 1 if it is larger",
    apply: (a: string, b: string) => BigInt(compare(short(a), short(b))),
  },
  {
    signature: "decimalDivide(string, string, int): string",
    meaning: "the quotient with this number of decimal places, rounded half up",
    apply: (a: string, b: string, places: bigint) => divide(short(a), short(b), placesOf(places), "half-up"),
  },
  {
    signature: "decimalRound(string, int): string",
    meaning: "the decimal with this number of decimal places, rounded half up",
    apply: (value: string, places: bigint) => round(short(value), placesOf(places), "half-up"),
  },
  {
    // Counts from a given day, because expressions do not see the clock.
    signature: "daysBefore(string, int): string",
    meaning: "the date this number of calendar days before a date or an instant",
    apply: (date: string, days: bigint) =>
      Temporal.PlainDate.from(date.slice(0, 10)).subtract({ days: Number(days) }).toString(),
  },
];

const environment = makeEnvironment();
/** Has a separate environment, because {@linkcode Overloads} adds variables to its environment. */
const overloads = new Overloads(makeEnvironment());

function makeEnvironment(): Environment {
  const made = new Environment({
    homogeneousAggregateLiterals: false,
    limits: { maxDepth: MOST_LEVELS, maxAstNodes: 2000 },
  });
  for (const [name, type] of Object.entries(variables)) made.registerVariable(name, type);
  // Numbers of recipes and answers are doubles in CEL, and `params.sessions + 1` must not fail for that reason.
  const arithmetic = {
    "+": (a: number, b: number) => a + b,
    "-": (a: number, b: number) => a - b,
    "*": (a: number, b: number) => a * b,
    "/": (a: number, b: number) => a / b,
  };
  for (const [sign, apply] of Object.entries(arithmetic)) {
    for (const pair of [`double ${sign} int`, `int ${sign} double`]) {
      made.registerOperator(pair, (a: number | bigint, b: number | bigint) => apply(Number(a), Number(b)));
    }
  }
  for (const { signature, apply } of ownFunctions) made.registerFunction(signature, apply);
  return made;
}

/** Functions that expressions can call, for the reference. */
export interface ExpressionFunctions {
  /** Functions of hsgate. */
  own: readonly { signature: string; meaning: string }[];
  /** Functions of CEL: every signature of each name. */
  cel: readonly { name: string; signatures: readonly string[] }[];
}

/** Returns the functions that expressions can call. */
export function expressionFunctions(): ExpressionFunctions {
  const own = ownFunctions.map(({ signature, meaning }) => ({ signature, meaning }));
  const nameOf = (signature: string) => signature.slice(0, signature.indexOf("("));
  const isOwn = (signature: string) => own.some((each) => each.signature === signature);
  const others = environment.getDefinitions().functions.map(({ signature }) => signature)
    .filter((signature) => !isOwn(signature) && !/Namespace|optional</.test(signature));
  const byName = Map.groupBy(others, (signature) => nameOf(signature).replace(/^.*\./, ""));
  return { own, cel: [...byName].map(([name, signatures]) => ({ name, signatures })) };
}

function short(decimal: string): string {
  if (decimal.length <= MOST_DIGITS) return decimal;
  throw new RangeError(`a decimal has ${decimal.length} characters: expected at most ${MOST_DIGITS}`);
}

function placesOf(places: bigint): number {
  if (places >= 0n && places <= MOST_PLACES) return Number(places);
  throw new RangeError(`expected 0 to ${MOST_PLACES} places, and got ${places}`);
}

/** A mistake in an expression. */
export interface ExpressionProblem {
  problem: string;
  /** Offset from the start of the expression, characters. */
  offset?: number;
}

/** Checks an expression: its syntax, its types, and the names that it uses. */
export function compileExpression(source: string): Expression | ExpressionProblem {
  let parsed;
  try {
    parsed = environment.parse(source);
  } catch (error) {
    if (error instanceof ParseError) return explainSyntax(error, source);
    // The parser does not limit the number of signs before a value. Too many of them overflow its stack.
    if (error instanceof RangeError) return { problem: tooManySigns };
    throw error;
  }
  const outputs = new Set<string>();
  const params = new Set<string>();
  const names = new Set<string>();
  const wrong = collect(parsed.ast, { outputs, params, names });
  if (wrong !== undefined) return { problem: wrong };
  const { valid, error } = parsed.check();
  if (!valid) {
    const offset = error?.range?.start;
    return {
      problem: explain(error?.message ?? "it cannot be read"),
      ...offset !== undefined && { offset },
    };
  }
  const pattern = wrongPattern(parsed.ast);
  if (pattern !== undefined) return pattern;
  const meter: Meter = { budget: new Budget(), sizes: new WeakMap(), widths: new WeakMap() };
  meterNodes(parsed.ast, meter);
  return {
    source,
    outputs,
    params,
    isFixed: Object.keys(variables).every((name) => name === "params" || !names.has(name)),
    typed: (known) => infer({ input: source, ast: parsed.ast }, variableTypes(known), overloads),
    evaluate(scope, budget = new Budget()) {
      const what = `"${source}"${budget.owner === undefined ? "" : ` of ${budget.owner}`}`;
      meter.budget = budget;
      meter.sizes = new WeakMap();
      meter.widths = new WeakMap();
      try {
        const value = parsed(scopeFor(scope, outputs));
        // `a || b` ignores an error in one operand, including the error of a spent budget.
        if (budget.problem === undefined) {
          budget.spendOn(value, meter.sizes); // count before copying: a value may contain another value a million times
          return plainOf(value);
        }
      } catch (error) {
        if (budget.problem === undefined) {
          const reason = error instanceof Error ? explain(error.message) : String(error);
          throw new ExpressionError(`Cannot evaluate ${what}: ${reason}`, { cause: error });
        }
      }
      throw new ExpressionError(`Cannot evaluate ${what}: ${budget.problem}`);
    },
  };
}

/** Returns the variables of an expression. Absent members are null, and only the used outputs are included. */
function scopeFor(scope: StepScope, outputs: ReadonlySet<string>): Record<string, unknown> {
  const chosen = Object.keys(scope.outputs).filter((id) => outputs.has(id)).map((
    id,
  ) => [id, scope.outputs[id]]);
  const { recipe, runKey, slot, params } = scope;
  return {
    recipe,
    runKey,
    slot,
    params,
    scheduleId: scope.scheduleId ?? null,
    session: scope.session ?? null,
    previousSession: scope.previousSession ?? null,
    outcome: scope.outcome ?? null,
    outputs: Object.fromEntries(chosen),
  };
}

/**
 * Converts a CEL value into JSON data. An integer that a JSON number cannot represent exactly becomes text.
 *
 * @throws {TypeError} If JSON has no such value: it would become `null` or `{}` without notice.
 */
function plainOf(value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`its value is ${value}, which is not a number that can be passed on`);
  }
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (Array.isArray(value)) return value.map(plainOf);
  if (value instanceof Map) return plainOf(Object.fromEntries(value));
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object" || value === null) return value;
  if (typeof value.valueOf() === "bigint") return plainOf(value.valueOf()); // `uint` of CEL
  if (Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plainOf(each)]));
  }
  throw new TypeError(
    "its value is a duration, a list of bytes or a type, which cannot be passed on: convert it, for example with " +
      "getSeconds(), string() or base64()",
  );
}

/** Names of tokens in the parser's messages, and their signs. */
const signs: Readonly<Record<string, string>> = {
  RPAREN: '")"',
  RBRACKET: '"]"',
  RBRACE: '"}"',
  COLON: '":"',
  COMMA: '","',
  IDENTIFIER: "a name",
};

/** Describes a syntax error. */
function explainSyntax(error: ParseError, source: string): ExpressionProblem {
  const [first = ""] = error.message.split("\n");
  const [, wanted, got] = /^Expected (\w+), got (\w+)$/.exec(first) ?? [];
  const isUnexpected = /^Unexpected (?:token|character):/.test(first);
  const { start: offset, end } = error.range ?? { start: 0, end: 0 };
  const given = source.slice(offset, Math.max(end, offset + 1));
  const rest = given === "" ? "it ends there" : `there is ${JSON.stringify(given)}`;
  const reason = source === ""
    ? "it is empty"
    : first === "Unterminated string"
    ? "a text has no closing quote"
    : wanted !== undefined
    ? `expected ${signs[wanted] ?? wanted.toLowerCase()}, and ${got === "EOF" ? "it ends there" : rest}`
    : isUnexpected && given === ""
    ? "it ends where a value should follow"
    : isUnexpected
    ? `${JSON.stringify(given)} cannot be used there`
    : explain(error.message);
  return { problem: `cannot read the expression ${JSON.stringify(source)}: ${reason}`, offset };
}

const clockNames = new Set(["now", "today", "clock", "time", "date"]);

function explain(message: string): string {
  const [first = ""] = message.split("\n");
  const [, name, call] = /^(?:Unknown variable: (\w+)|found no matching overload for '(\w+)\()/.exec(first) ??
    [];
  if (name !== undefined && !clockNames.has(name)) {
    return `there is no "${name}"${
      didYouMean(name, Object.keys(variables)) || `; there are ${Object.keys(variables).join(", ")}`
    }`;
  }
  if (clockNames.has(name ?? call ?? "")) {
    return `recipes do not see the clock ("${
      name ?? call
    }"): use slot, session or previousSession, which do not change if a run is late`;
  }
  return first;
}

const tooManySigns = `there are more than ${MOST_LEVELS} "!" or "-" before a value`;

/**
 * Collects the outputs and parameters that are used. Returns a problem if a name is only known during the run, or if a
 * name with a hyphen is not in quotes. Also returns a problem if there are too many signs before a value.
 *
 * @param signsBefore Number of signs directly before this node.
 */
function collect(
  node: ASTNode,
  into: { outputs: Set<string>; params: Set<string>; names: Set<string> },
  signsBefore = 0,
): string | undefined {
  if (signsBefore > MOST_LEVELS) return tooManySigns;
  if (node.op === "id" && (node.args === "outputs" || node.args === "params")) {
    return `name one member of "${node.args}", such as ${node.args}["name"]`;
  }
  const dashed = node.op === "-" ? dashedName(node.args) : undefined;
  if (dashed !== undefined) return `write ${dashed}: a hyphen outside quotes subtracts`;
  if (node.op === "id") into.names.add(node.args);
  const member = memberOf(node);
  if (member !== undefined) {
    into[member.of].add(member.name);
    into.names.add(member.of);
    return undefined;
  }
  const isSign = node.op === "!_" || node.op === "-_";
  for (const child of childrenOf(node.args)) {
    const wrong = collect(child, into, isSign ? signsBefore + 1 : 0);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** Returns a hyphenated name that was parsed as a subtraction: `outputs.day-book.ok`. */
function dashedName([left, right]: readonly [ASTNode, ASTNode]): string | undefined {
  const member = memberOf(left);
  let first = right;
  while (first.op === "." || first.op === "[]") first = first.args[0];
  if (member === undefined || first.op !== "id" || first.args in variables) return undefined;
  return `${member.of}["${member.name}-${first.args}"]`;
}

function memberOf(node: ASTNode): { of: "outputs" | "params"; name: string } | undefined {
  if (node.op !== "." && node.op !== "[]") return undefined;
  const [target, name] = node.args;
  if (target.op !== "id" || (target.args !== "outputs" && target.args !== "params")) return undefined;
  if (typeof name === "string") return { of: target.args, name };
  return name.op === "value" && typeof name.args === "string"
    ? { of: target.args, name: name.args }
    : undefined;
}
