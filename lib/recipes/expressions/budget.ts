/**
 * Limits the work of a step's expressions. CEL expressions always end, but a few nested `all` over a list of a thousand
 * items would block the process for hours: no other run would continue, and no lease would be renewed.
 *
 * In this file, "the package" is `@marcbachmann/cel-js`, which evaluates CEL.
 *
 * @module
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { parseExactly, repeatedMember } from "../../json_text.ts";
import type { RunWork } from "../compiled.ts";
import { type LinearPattern, linearPattern } from "./linear_pattern.ts";

/** Evaluation steps for all expressions of one step of a recipe: about a second. */
const MOST_STEPS = 5_000_000;
/** Longest text that an expression may create, in characters, and maximum number of bytes that it may create. */
const MOST_TEXT = 1_000_000;
/** Longest text of `duration()`, characters. */
const MOST_DURATION = 100;
/** Matches the texts of `duration()`` in linear time. The package's own pattern takes quadratic time for digits without a unit. */
const DURATION = /^[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/;

/**
 * The error that is thrown when the budget is spent. It is one shared object, because it may be thrown thousands of
 * times.
 */
const SPENT = new Error("the budget is spent");

/** Counts the work that a step's expressions may still do. */
export class Budget {
  /** Description of the owner, such as `step "funds"`. */
  readonly owner: string | undefined;
  readonly #steps: number;
  readonly #run: RunWork | undefined;
  #left: number;
  #problem: string | undefined;

  constructor(
    owner?: string,
    { steps = MOST_STEPS, run }: { steps?: number; run?: RunWork | undefined } = {},
  ) {
    this.owner = owner;
    this.#run = run;
    this.#left = this.#steps = steps;
  }

  /** Why evaluation has ended; `undefined` while work remains. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Subtracts evaluation steps. Throws when none remain, and at every later call. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#run !== undefined && (this.#run.left -= steps) < 0) {
      this.refuse(
        `the expressions of this run take more than ${this.#run.most} steps of evaluation in all: use smaller lists ` +
          "or a custom step",
      );
    }
    if (this.#left >= 0 && this.#problem === undefined) return;
    this.refuse(
      `it takes more than ${this.#steps} steps of evaluation: use a smaller list or a custom step`,
    );
  }

  /** Ends the evaluation: records the first reason, and throws. */
  refuse(problem: string): never {
    this.#problem ??= problem;
    throw SPENT;
  }

  /** Subtracts the cost of comparing or serializing a value. A part that occurs several times counts each time. */
  spendOn(value: unknown, sizes: WeakMap<object, number> = new WeakMap()): void {
    this.spend(sizeOf(value, sizes) >> 2);
  }
}

/**
 * Returns the size of a value: 1 for itself, plus the sizes of its members. Long texts count more; a part that occurs
 * several times counts each time.
 */
function sizeOf(value: unknown, sizes: WeakMap<object, number>): number {
  if (typeof value === "string") return 1 + (value.length >> 4);
  if (typeof value !== "object" || value === null) return 1;
  if (ArrayBuffer.isView(value)) return 1 + (value.byteLength >> 4);
  const before = sizes.get(value);
  if (before !== undefined) return before;
  const members: unknown[] = Array.isArray(value)
    ? value
    : value instanceof Map
    ? [...value.keys(), ...value.values()]
    : Object.values(value);
  let size = 1;
  for (const member of members) size += sizeOf(member, sizes);
  size = Math.min(size, 2 ** 30); // the sum stays an exact integer, and is larger than any budget
  sizes.set(value, size);
  return size;
}

type Evaluate = (evaluator: Evaluator, node: unknown, context: unknown) => unknown;
interface Evaluator {
  run(node: unknown, context: unknown): unknown;
}
/** A node with its own functions, which the package's types omit. */
type Evaluated = ASTNode & {
  evaluate: Evaluate;
  /** Runs the function of a call node with these values. The type check sets this member. */
  handle: (values: unknown[], ...others: unknown[]) => unknown;
};

/** The budget of the current evaluation; expressions are evaluated one at a time, synchronously. */
export interface Meter {
  budget: Budget;
  /** The sizes of values that were compared or returned. */
  sizes: WeakMap<object, number>;
  /** The number of members of maps. */
  widths: WeakMap<object, number>;
  /** The last error whose cost was counted. The same error passes every outer node, but counts only once. */
  error?: unknown;
}

/** How the parent of a node uses the node's value: compares all of it, finds its type, or only passes it on. */
type Use = "compared" | "typed" | "passed";

/** Makes each node of a checked expression subtract its cost from the current budget. */
export function meterNodes(root: ASTNode, meter: Meter): void {
  const visit = (node: ASTNode, use: Use) => {
    const inner = usesOf.get(node.op) ?? "typed";
    for (const child of childrenOf(node.args)) visit(child, inner);
    meterNode(node as Evaluated, { meter, use });
  };
  visit(root, "passed");
}

/** How operators use their operands. An operator that is not listed only needs the types of its operands. */
const usesOf: ReadonlyMap<string, Use> = new Map([
  ...["==", "!=", "in"].map((op) => [op, "compared"] as const),
  ...[".", "[]", "?:", "list", "map"].map((op) => [op, "passed"] as const),
]);

function meterNode(node: Evaluated, { meter, use }: { meter: Meter; use: Use }): void {
  const isCall = node.op === "call" || node.op === "rcall";
  // At its first evaluation, a node replaces its evaluation function. The setter keeps the wrapper in place.
  let evaluate: Evaluate = isCall ? evaluateOfCall(node, meter) : node.evaluate;
  const before = 1 + (isCall ? costOf(node) : 0);
  const makes = isCall || node.op === "+";
  const counted: Evaluate = function (evaluator, self, context) {
    const { budget } = meter;
    budget.spend(before);
    let value: unknown;
    try {
      value = evaluate.call(node, evaluator, self, context);
    } catch (error) {
      // `exists` and `||` ignore errors, so an expression can make thousands of them.
      if (error !== meter.error) budget.spend(ERROR);
      meter.error = error;
      throw error;
    }
    spendOnValue(value, { meter, use, makes });
    return value;
  };
  Object.defineProperty(node, "evaluate", { get: () => counted, set: (next: Evaluate) => evaluate = next });
}

/** Evaluation steps for making an error. */
const ERROR = 100;

function spendOnValue(
  value: unknown,
  { meter: { budget, sizes, widths }, use, makes }: { meter: Meter; use: Use; makes: boolean },
): void {
  if (typeof value === "string") {
    if (makes && value.length > MOST_TEXT) {
      budget.refuse(`it makes a text of more than ${MOST_TEXT} characters`);
    }
    budget.spend(value.length >> 4);
  } else if (value instanceof Uint8Array) {
    if (makes && value.length > MOST_TEXT) budget.refuse(`it makes more than ${MOST_TEXT} bytes`);
    budget.spend(value.length >> 4);
  } else if (typeof value === "object" && value !== null) {
    if (use === "compared") budget.spendOn(value, sizes);
    else if (use === "typed") budget.spend(costOfType(value, widths));
    if (makes && Array.isArray(value)) budget.spend(value.length >> 2);
  }
}

/** Maps with at most this many members have no extra cost, because the broker's rows are such maps. */
const NARROW = 100;

/** Returns the cost of finding a value's type: the package lists all members of a map, and then reads the first one. */
function costOfType(value: unknown, widths: WeakMap<object, number>): number {
  let cost = 0;
  for (let each = value; typeof each === "object" && each !== null && !ArrayBuffer.isView(each);) {
    if (Array.isArray(each)) {
      each = each[0];
      continue;
    }
    let width = widths.get(each);
    if (width === undefined) {
      width = each instanceof Map ? each.size : Object.keys(each).length;
      widths.set(each, width);
    }
    if (width > NARROW) cost += 4 * width;
    const map: object = each;
    each = undefined;
    for (const name in map) {
      each = map[name as keyof typeof map];
      break;
    }
  }
  return cost;
}

/** The cost of a function in evaluation steps, beyond the sizes of its arguments and of its result. */
type Cost = number | ((values: readonly unknown[], budget: Budget) => number);

/**
 * The cost of each function; `values` are the receiver, if any, and the arguments. If the time of a function can grow
 * faster than its arguments and its result, its work is counted before it starts. The numbers are measured: whatever
 * an expression calls, `MOST_STEPS` take about a second.
 */
export const costs: Readonly<Record<string, Cost>> = {
  ...Object.fromEntries(
    [
      ...["all", "bind", "exists", "exists_one", "filter", "map", "has", "none", "of", "or", "orValue"],
      ...["value", "hasValue", "dyn", "type", "bool", "bytes", "string", "size"],
      ...["startsWith", "endsWith", "lowerAscii", "upperAscii", "trim", "substring", "at", "hex", "base64"],
      ...["getDate", "getDayOfMonth", "getDayOfWeek", "getFullYear"],
      ...["getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds"],
      "matches", // counts its own work
    ].map((name) => [name, 5]),
  ),
  contains: searchCost,
  indexOf: searchCost,
  lastIndexOf: searchCost,
  split: (values) => 5 + searchCost(values),
  join: joinCost,
  json: ([bytes]) => bytes instanceof Uint8Array ? 50 + (bytes.length >> 1) : 5,
  getDayOfYear: 20,
  duration: durationCost,
  int: readingCost(/^-?\d+$/),
  uint: readingCost(/^\d+$/),
  double: readingCost(/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i),
  timestamp: timestampCost,
  ...Object.fromEntries(
    ["Add", "Compare", "Subtract", "Multiply", "Divide", "Round"].map((name) => [`decimal${name}`, 20]),
  ),
  daysBefore: 20,
};

/** Returns the cost of a search. In the worst case, each character of `part` is compared at each place of the text. */
function searchCost([text, part]: readonly unknown[]): number {
  if (typeof text !== "string" || typeof part !== "string") return 5;
  return 5 + Math.ceil(Math.max(0, text.length - part.length + 1) * part.length / 128);
}

function joinCost([list, separator = ""]: readonly unknown[], budget: Budget): number {
  if (!Array.isArray(list) || typeof separator !== "string") return 5;
  budget.spend(list.length >> 2);
  let length = separator.length * Math.max(0, list.length - 1);
  for (const each of list) if (typeof each === "string") length += each.length;
  if (length > MOST_TEXT) budget.refuse(`it makes a text of more than ${MOST_TEXT} characters`);
  return 5;
}

function durationCost([text]: readonly unknown[]): number {
  if (typeof text === "string" && text.length > MOST_DURATION) {
    throw new RangeError(
      `the text of duration() has ${text.length} characters: expected at most ${MOST_DURATION}`,
    );
  }
  if (typeof text !== "string") return 20;
  if (!DURATION.test(text)) throw new TypeError(`cannot read ${JSON.stringify(text)} as a duration`);
  return 20 + text.length; // the package computes each number and its unit with large integers
}

/**
 * Returns the cost of reading a number from a text. Throws for a text that is no such number: the package would read an
 * empty text as 0, and `0x10` as 16.
 *
 * @param pattern Matches the texts of such a number.
 */
function readingCost(pattern: RegExp): Cost {
  return ([text]) => {
    if (typeof text === "string" && !pattern.test(text)) {
      throw new TypeError(`cannot read ${JSON.stringify(text.slice(0, 80))} as a number`);
    }
    return 5;
  };
}

/**
 * Returns the cost of reading an instant. Throws for a day that does not exist, because the package would read it as a
 * later day.
 */
function timestampCost([text]: readonly unknown[]): number {
  if (typeof text === "string") Temporal.PlainDate.from(text.slice(0, 10));
  return 30;
}

/** Returns the part of a call's cost that is known before the arguments are evaluated. */
function costOf(node: ASTNode & { op: "call" | "rcall" }): number {
  const [name] = node.args;
  // With an argument, these functions compute the time in a time zone, which takes long.
  if (node.op === "rcall" && /^get/.test(name) && node.args[2].length > 0) return 1_000;
  const cost = costs[name];
  if (cost === undefined) throw new TypeError(`Cannot evaluate "${name}": its cost is not known`);
  return typeof cost === "number" ? cost : 0;
}

/** Returns the evaluation function of a call. It counts costs that depend on the arguments before it calls the function. */
function evaluateOfCall(node: Evaluated & { op: "call" | "rcall" }, meter: Meter): Evaluate {
  if (node.op === "rcall" && node.args[0] === "matches") return matchesOf(node, meter);
  const cost = costs[node.args[0]];
  if (typeof cost !== "function") return node.evaluate;
  const parts = node.op === "rcall" ? [node.args[1], ...node.args[2]] : node.args[1];
  return (evaluator, _node, context) => {
    const values = parts.map((part) => evaluator.run(part, context));
    meter.budget.spend(cost(values, meter.budget));
    if (node.args[0] === "json") refuseChangedJson(values[0]);
    return node.op === "rcall" ? node.handle(values, evaluator, node) : node.handle(values, node, evaluator);
  };
}

/** Throws if the package's `json()` would silently change a JSON text: it rounds numbers and drops repeated members. */
function refuseChangedJson(bytes: unknown): void {
  if (!(bytes instanceof Uint8Array)) return;
  const text = new TextDecoder().decode(bytes);
  parseExactly(text);
  const member = repeatedMember(text);
  if (member !== undefined) throw new SyntaxError(`the JSON text has ${JSON.stringify(member)} twice`);
}

/** Implements `matches` without JavaScript's regular expressions, which may never end. */
function matchesOf(node: ASTNode & { op: "rcall" }, meter: Meter): Evaluate {
  const [, receiver, [pattern]] = node.args;
  const patterns = new Map<string, LinearPattern>();
  return (evaluator, _node, context) => {
    const text = evaluator.run(receiver, context);
    const source = evaluator.run(pattern, context);
    if (typeof text !== "string" || typeof source !== "string") {
      throw new TypeError("matches() takes a text and a pattern");
    }
    let read = patterns.get(source);
    if (read === undefined) {
      meter.budget.spend(100 + source.length);
      read = readPattern(source);
      if (patterns.size < 100) patterns.set(source, read);
    }
    meter.budget.spend(20 + Math.ceil(text.length * read.size / 4));
    return read.test(text);
  };
}

function readPattern(source: string): LinearPattern {
  try {
    return linearPattern(source);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new SyntaxError(`cannot read the pattern ${JSON.stringify(source.slice(0, 80))}: ${error.message}`);
  }
}

/**
 * Returns what is wrong with the first invalid pattern that is written as a literal, and where. Other patterns are
 * checked during the run.
 */
export function wrongPattern(root: ASTNode): { problem: string; offset: number } | undefined {
  if (root.op === "rcall" && root.args[0] === "matches") {
    const pattern = root.args[2][0];
    if (pattern?.op === "value" && typeof pattern.args === "string") {
      try {
        readPattern(pattern.args);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        return { problem: error.message, offset: pattern.start };
      }
    }
  }
  for (const child of childrenOf(root.args)) {
    const wrong = wrongPattern(child);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** Yields the child nodes among the arguments of a node; the other arguments are names and literals. */
export function* childrenOf(args: unknown): Generator<ASTNode> {
  for (const each of Array.isArray(args) ? args : [args]) {
    if (Array.isArray(each)) yield* childrenOf(each);
    else if (typeof each === "object" && each !== null && "op" in each) yield each as ASTNode;
  }
}
