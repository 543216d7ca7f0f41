/**
 * Limits the work of a step's expressions. CEL expressions always end, but a few nested `all` over a list of a thousand
 * items would block the process for hours: no other run would continue, and no lease would be renewed.
 *
 * @module
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { type LinearPattern, linearPattern } from "./linear_pattern.ts";

/** Evaluation steps for all expressions of one step of a recipe: about a second. */
const MOST_STEPS = 5_000_000;
/** Longest text that an expression may create, characters. */
const MOST_TEXT = 1_000_000;

/** The error for a spent budget. One shared object, because it may be thrown thousands of times. */
const SPENT = new Error("the budget is spent");

/** Counts the work that a step's expressions may still do. */
export class Budget {
  /** Description of the owner, such as `step "funds"`. */
  readonly owner: string | undefined;
  readonly #steps: number;
  #left: number;
  #problem: string | undefined;

  constructor(owner?: string, steps: number = MOST_STEPS) {
    this.owner = owner;
    this.#left = this.#steps = steps;
  }

  /** Why evaluation has ended; `undefined` while work remains. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Subtracts evaluation steps. Throws when none remain, and at every later call. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left >= 0 && this.#problem === undefined) return;
    this.refuse(
      `it takes more than ${this.#steps} steps of evaluation: use a smaller list or a custom step`,
    );
  }

  /** Ends the evaluation for another reason. */
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
  const before = sizes.get(value);
  if (before !== undefined) return before;
  const members: unknown[] = Array.isArray(value)
    ? value
    : value instanceof Map
    ? [...value.keys(), ...value.values()]
    : Object.values(value);
  let size = 1;
  for (const member of members) size += sizeOf(member, sizes);
  size = Math.min(size, 2 ** 30); // keeps the sum an exact integer, larger than any budget
  sizes.set(value, size);
  return size;
}

type Evaluate = (evaluator: Evaluator, node: unknown, context: unknown) => unknown;
interface Evaluator {
  run(node: unknown, context: unknown): unknown;
}
/** A node with its own evaluation function, which the package's types omit. */
type Evaluated = ASTNode & { evaluate: Evaluate };

/** The budget of the current evaluation; expressions are evaluated one at a time, synchronously. */
export interface Meter {
  budget: Budget;
  sizes: WeakMap<object, number>;
}

/** Makes each node of a checked expression subtract its cost from the current budget. */
export function meterNodes(root: ASTNode, meter: Meter): void {
  const visit = (node: ASTNode, isCompared: boolean) => {
    const comparesAll = node.op === "==" || node.op === "!=" || node.op === "in";
    for (const child of childrenOf(node.args)) visit(child, comparesAll);
    meterNode(node as Evaluated, { meter, isCompared });
  };
  visit(root, false);
}

function meterNode(node: Evaluated, { meter, isCompared }: { meter: Meter; isCompared: boolean }): void {
  // A node replaces its own evaluation function when it is evaluated first, so the setter keeps the wrapper in place.
  let way: Evaluate = node.op === "rcall" && node.args[0] === "matches"
    ? matchesOf(node, meter)
    : node.evaluate;
  const isCall = node.op === "call" || node.op === "rcall";
  const before = 1 + (isCall ? costOf(node) : 0);
  const makes = isCall || node.op === "+";
  const counted: Evaluate = function (evaluator, self, context) {
    const { budget, sizes } = meter;
    budget.spend(before);
    const value = way.call(node, evaluator, self, context);
    if (typeof value === "string") {
      if (makes && value.length > MOST_TEXT) {
        budget.refuse(`it makes a text of more than ${MOST_TEXT} characters`);
      }
      budget.spend(value.length >> 4);
    } else if (typeof value === "object" && value !== null) {
      if (isCompared) budget.spendOn(value, sizes);
      else if (makes && Array.isArray(value)) budget.spend(value.length >> 2);
    }
    return value;
  };
  Object.defineProperty(node, "evaluate", { get: () => counted, set: (next: Evaluate) => way = next });
}

/** Extra cost of slow calls: reading a time in a time zone, and arithmetic with long decimals. */
function costOf(node: ASTNode & { op: "call" | "rcall" }): number {
  const [name] = node.args;
  if (node.op === "rcall" && /^get/.test(name) && node.args[2].length > 0) return 1_000;
  return name.startsWith("decimal") ? 20 : 5;
}

/** Implements `matches` without the engine's regular expressions, which may never end. */
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
    meter.budget.spend(Math.ceil(text.length * read.size / 8));
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

/** Returns what is wrong with a literal pattern, and where; other patterns are read during the run. */
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
