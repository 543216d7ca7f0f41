/**
 * Infers the types of expressions before the run, and finds parts that can never have a value. CEL's own checker
 * decides which operators and functions accept which types.
 *
 * @module
 */
import type { ASTNode, Environment } from "@marcbachmann/cel-js";
import { didYouMean } from "../../client/nearest.ts";
import { isDate } from "../../time.ts";
import { isDecimal } from "../../decimal.ts";
import {
  ANY,
  bounded,
  DATE,
  describe,
  FLAG,
  isNumberText,
  mayBe,
  memberNames,
  memberOf,
  NULL,
  oneOf,
  recordOf,
  TEXT,
  type Type,
  variantsOf,
} from "./value_types.ts";

/** A part of an expression that can never have a value. */
interface TypeProblem {
  message: string;
  /** Offset from the start of the expression, characters. */
  offset: number;
}

/** Inferred type of an expression. */
export interface Inferred {
  type: Type;
  problems: TypeProblem[];
}

/** Finds out from CEL's own checker which operators and functions accept which types. */
export class Overloads {
  readonly #environment: Environment;
  readonly #variables = new Map<string, string>();
  readonly #answers = new Map<string, Type | undefined>();

  /** @param environment Used only by this object, which adds variables to the environment. */
  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /**
   * Returns the type of an expression with operands of these types; `undefined` if no overload accepts them.
   *
   * @param write Writes the expression with the given names as operands.
   */
  resultOf(write: (names: readonly string[]) => string, types: readonly Type[]): Type | undefined {
    const results: Type[] = [];
    for (const combination of combinationsOf(types)) {
      const text = write(combination.map((type) => this.#variableOf(celName(type))));
      if (!this.#answers.has(text)) {
        const { valid, type } = this.#environment.check(text);
        this.#answers.set(text, valid ? fromCel(type ?? "dyn") : undefined);
      }
      const result = this.#answers.get(text);
      if (result !== undefined) results.push(result);
    }
    return results.length === 0 ? undefined : oneOf(results);
  }

  /** Returns the parameter types of each overload of a function with this number of parameters. */
  signaturesOf(name: string, count: number, hasReceiver: boolean): string[][] {
    return this.#environment.getDefinitions().functions
      .filter((each) =>
        each.name === name && each.params.length === count && (each.receiverType !== null) === hasReceiver
      )
      .map(({ params }) => params.map(({ type }) => type));
  }

  #variableOf(type: string): string {
    let name = this.#variables.get(type);
    if (name === undefined) {
      name = `v${this.#variables.size}`;
      this.#environment.registerVariable(name, type);
      this.#variables.set(type, name);
    }
    return name;
  }
}

const MOST_COMBINATIONS = 64;

function combinationsOf(types: readonly Type[]): Type[][] {
  const count = types.reduce((product, type) => product * variantsOf(type).length, 1);
  if (count > MOST_COMBINATIONS) return [types.map(() => ANY)];
  return types.reduce<Type[][]>(
    (before, type) => before.flatMap((each) => variantsOf(type).map((variant) => [...each, variant])),
    [[]],
  );
}

/** Types nested deeper than this count as unknown. */
const MOST_LEVELS = 8;

function celName(type: Type, level = 0): string {
  if (level > MOST_LEVELS) return "dyn";
  switch (type.kind) {
    case "text":
      return "string";
    case "number":
      return "double";
    case "whole":
      return "int";
    case "flag":
      return "bool";
    case "null":
      return "null";
    case "list":
      return type.of.kind === "any" ? "list" : `list<${celName(type.of, level + 1)}>`;
    case "record":
    case "map":
      return "map";
    case "other":
      return type.name;
    default:
      return "dyn";
  }
}

function fromCel(name: string): Type {
  const plain: Readonly<Record<string, Type>> = {
    string: TEXT,
    double: { kind: "number" },
    int: { kind: "whole" },
    bool: FLAG,
    null: NULL,
    dyn: ANY,
    map: { kind: "map", of: ANY },
    list: { kind: "list", of: ANY },
  };
  if (Object.hasOwn(plain, name)) return plain[name]!;
  const [, item] = /^list<(.+)>$/.exec(name) ?? [];
  if (item !== undefined) return { kind: "list", of: fromCel(item) };
  return /^(map|dyn|optional)</.test(name) ? ANY : { kind: "other", name };
}

/** Infers the type of an expression, and finds parts that can never have a value. */
export function infer(
  { input, ast }: { input: string; ast: ASTNode },
  variables: Readonly<Record<string, Type>>,
  overloads: Overloads,
): Inferred {
  const problems: TypeProblem[] = [];
  const reader = new Reader(input, overloads, problems);
  // An expression that tests whether `session`, `previousSession` or `outcome` is null also handles the null.
  const tested = Object.keys(absent).filter((name) =>
    new RegExp(`\\b${name}\\s*[!=]=\\s*null\\b|\\bhas\\(\\s*${name}\\b`).test(input)
  );
  const scope = { ...variables, ...Object.fromEntries(tested.map((name) => [name, ANY])) };
  return { type: reader.typeOf(ast, scope), problems };
}

type Scope = Readonly<Record<string, Type>>;
type Binary = Extract<ASTNode, { op: "+" }>;

const MACROS: ReadonlySet<string> = new Set(["all", "exists", "exists_one", "map", "filter"]);
const ORDER: ReadonlySet<string> = new Set(["<", "<=", ">", ">="]);
const EQUALITY: ReadonlySet<string> = new Set(["==", "!="]);

/** Functions to use instead of operators, for numbers that are text. */
const decimalFunctions: Readonly<Record<string, string>> = {
  "+": "decimalAdd",
  "-": "decimalSubtract",
  "*": "decimalMultiply",
  "/": "decimalDivide",
};

/** Formats of the texts that functions accept. */
const wants: Readonly<Record<string, readonly ("number" | "date")[]>> = {
  decimalCompare: ["number", "number"],
  decimalAdd: ["number", "number"],
  decimalSubtract: ["number", "number"],
  decimalMultiply: ["number", "number"],
  decimalDivide: ["number", "number"],
  decimalRound: ["number"],
  daysBefore: ["date"],
};

const neverNumbers: ReadonlySet<string> = new Set(["date", "instant", "other"]);

class Reader {
  readonly #input: string;
  readonly #overloads: Overloads;
  readonly #problems: TypeProblem[];

  constructor(input: string, overloads: Overloads, problems: TypeProblem[]) {
    this.#input = input;
    this.#overloads = overloads;
    this.#problems = problems;
  }

  typeOf(node: ASTNode, scope: Scope): Type {
    switch (node.op) {
      case "value":
        return typeOfLiteral(node.args);
      case "id":
        return Object.hasOwn(scope, node.args) ? scope[node.args]! : ANY;
      case ".":
      case "[]":
        return this.#member(node, scope);
      case "?:": {
        const [condition, yes, no] = node.args;
        this.#expectFlag(condition, scope, 'before "?"');
        return bounded(oneOf([this.typeOf(yes, scope), this.typeOf(no, scope)]));
      }
      case "&&":
      case "||":
        for (const side of node.args) this.#expectFlag(side, scope, `beside "${node.op}"`);
        return FLAG;
      case "!_":
        this.#expectFlag(node.args, scope, 'after "!"');
        return FLAG;
      case "-_": {
        const type = this.typeOf(node.args, scope);
        return this.#resultOf(([a]) => `-${a}`, [type]) ??
          this.#wrong(node, `"-" does not accept ${describe(type)}`);
      }
      case "list":
        return bounded({
          kind: "list",
          of: node.args.length === 0 ? ANY : oneOf(node.args.map((each) => this.typeOf(each, scope))),
        });
      case "map":
        return this.#map(node, scope);
      case "call":
        return this.#call(node, scope);
      case "rcall":
        return this.#method(node, scope);
      case ".?":
      case "[?]":
        return ANY;
      default:
        return this.#binary(node, scope);
    }
  }

  #resultOf(write: (names: readonly string[]) => string, types: readonly Type[]): Type | undefined {
    return types.some(({ kind }) => kind === "any") ? ANY : this.#overloads.resultOf(write, types);
  }

  #wrong({ start }: { start: number }, message: string): Type {
    this.#problems.push({ message, offset: start });
    return ANY;
  }

  #textOf({ start, end }: ASTNode): string {
    return this.#input.slice(start, end);
  }

  #expectFlag(node: ASTNode, scope: Scope, where: string): void {
    const type = this.typeOf(node, scope);
    if (!mayBe(type, FLAG)) {
      this.#wrong(node, `expected true or false ${where}, and ${this.#textOf(node)} is ${describe(type)}`);
    }
  }

  #member(node: Extract<ASTNode, { op: "." | "[]" }>, scope: Scope, isTested = false): Type {
    const [target, key] = node.args;
    const type = this.typeOf(target, scope);
    const index = typeof key === "string" ? undefined : this.typeOf(key, scope);
    const name = typeof key === "string" ? key : key.op === "value" ? key.args : undefined;
    const place = typeof key === "string" ? { start: node.pos } : key;
    // Names of steps and parameters are checked separately.
    if (type.kind === "any" || target.op === "id" && isNamed(target.args)) {
      return typeof name === "string" ? memberOf(type, name) ?? ANY : ANY;
    }
    const shown = this.#textOf(target);
    if (variantsOf(type).every(({ kind }) => kind === "null")) {
      return isTested ? ANY : this.#wrong(target, absent[shown] ?? `${shown} is null here`);
    }
    if (typeof name === "string") {
      const found = memberOf(type, name);
      if (found !== undefined) return found;
      const names = memberNames(type);
      if (names.length > 0) {
        const hint = didYouMean(name, names) || `; there are ${names.join(", ")}`;
        return this.#wrong(place, `${shown} has no "${name}"${hint}`);
      }
      return this.#wrong(
        place,
        mayBe(type, LIST)
          ? `${shown} is a list: take one item of it, ${shown}[0].${name}, or each, ${shown}.map(x, x.${name})`
          : `${shown} is ${describe(type)}, and has no "${name}"`,
      );
    }
    if (mayBe(type, LIST)) {
      if (index !== undefined && !mayBe(index, { kind: "number" })) {
        return this.#wrong(place, `expected a whole number: ${shown} is a list`);
      }
      return memberOf(type, 0) ?? ANY;
    }
    if (mayBe(type, { kind: "map", of: ANY })) {
      return variantsOf(type).some(isMap) ? memberOf(type, "") ?? ANY : ANY;
    }
    return this.#wrong(place, `${shown} is ${describe(type)}, and has no members`);
  }

  #map({ args }: Extract<ASTNode, { op: "map" }>, scope: Scope): Type {
    const entries = args.map(([key, value]) =>
      [key.op === "value" ? key.args : undefined, this.typeOf(value, scope)] as const
    );
    const isPlain = entries.every((entry): entry is [string, Type] => typeof entry[0] === "string");
    return isPlain ? bounded(recordOf(Object.fromEntries(entries))) : { kind: "map", of: ANY };
  }

  #binary(node: Exclude<ASTNode, { op: "value" | "id" }>, scope: Scope): Type {
    const { op, args: [leftNode, rightNode] } = node as Binary; // all other operators are binary
    const left = this.typeOf(leftNode, scope);
    const right = this.typeOf(rightNode, scope);
    if (EQUALITY.has(op)) return this.#equality(node as Binary, left, right);
    if (String(op) === "in") {
      this.#checkNames(leftNode, left, rightNode.op === "list" ? rightNode.args : []);
      const isFine = mayBe(right, LIST) || mayBe(right, { kind: "map", of: ANY });
      return isFine ? FLAG : this.#wrong(
        rightNode,
        `expected a list after "in", and ${this.#textOf(rightNode)} is ${describe(right)}`,
      );
    }
    const isNumeric = (type: Type, each: ASTNode) => isDigits(type) || isDigitsLiteral(each);
    const isMoney = (isDigits(left) || isDigits(right)) &&
      (isNumeric(left, leftNode) || isNumber(left)) && (isNumeric(right, rightNode) || isNumber(right));
    // Operators compare and join texts by characters: "9" would be greater than "10".
    const isOrdered = ORDER.has(op) && (isDigits(left) || isDigits(right));
    if (isMoney || isOrdered) return this.#wrong(node, this.#decimalAdvice(node as Binary, left, right));
    // Lists with different item types can be joined.
    const [a, b] = [left, right].map((type) =>
      oneOf(variantsOf(type).map((each) => each.kind === "list" ? LIST : each))
    );
    return this.#resultOf((names) => names.join(` ${op} `), [a!, b!]) ??
      this.#wrong(node, `"${op}" does not accept ${describe(left)} and ${describe(right)}`);
  }

  #decimalAdvice({ op, args: [leftNode, rightNode] }: Binary, left: Type, right: Type): string {
    const asText = (node: ASTNode, type: Type) =>
      node.op === "value" && typeof node.args !== "string"
        ? `"${node.args}"`
        : isNumber(type)
        ? `string(${this.#textOf(node)})`
        : this.#textOf(node);
    const [a, b] = [asText(leftNode, left), asText(rightNode, right)];
    const [money] = [[leftNode, left], [rightNode, right]] as const;
    const shown = this.#textOf(isDigits(left) ? money[0] : rightNode);
    const name = decimalFunctions[op];
    const instead = name === undefined
      ? `decimalCompare(${a}, ${b}) ${op} 0`
      : `${name}(${a}, ${b}${op as string === "/" ? ", 2" : ""})`;
    return `${shown} is a number kept as text: write ${instead}`;
  }

  #equality(node: Binary, left: Type, right: Type): Type {
    const { op, args: [leftNode, rightNode] } = node;
    if (mayBe(left, NULL) || mayBe(right, NULL)) return FLAG;
    const isAmount = ({ kind, form }: { kind: string; form?: string }) =>
      kind === "text" && form === "decimal";
    const [leftAmount, rightAmount] = [left, right].map((type) => variantsOf(type).every(isAmount));
    if (
      (leftAmount && (rightAmount || isDigitsLiteral(rightNode) || isNumber(right))) ||
      (rightAmount && (isDigitsLiteral(leftNode) || isNumber(left)))
    ) {
      // "1.50" and "1.5" are the same amount but different texts.
      this.#wrong(node, this.#decimalAdvice(node, left, right));
      return FLAG;
    }
    if (!mayBe(left, right)) {
      const [a, b] = [this.#textOf(leftNode), this.#textOf(rightNode)];
      this.#wrong(
        node,
        `${a} is ${describe(left)} and ${b} is ${
          describe(right)
        }, so the result of "${op}" is always the same`,
      );
    }
    this.#checkNames(leftNode, left, [rightNode]);
    this.#checkNames(rightNode, right, [leftNode]);
    return FLAG;
  }

  /** Reports a comparison with a name that the value's code table does not contain. */
  #checkNames(node: ASTNode, type: Type, others: readonly ASTNode[]): void {
    if (type.kind !== "text" || type.names === undefined || node.op === "value") return;
    for (const other of others) {
      if (other.op !== "value" || typeof other.args !== "string") continue;
      const { args: name } = other;
      if (name === "" || name.startsWith("unlisted:") || type.names.includes(name)) continue;
      const hint = didYouMean(name, type.names) || `; there are ${type.names.join(", ")}`;
      this.#wrong(other, `${this.#textOf(node)} is never "${name}"${hint}`);
    }
  }

  #call(node: Extract<ASTNode, { op: "call" }>, scope: Scope): Type {
    const [name, args] = node.args;
    if (name === "has") {
      const [asked] = args;
      if (asked?.op === ".") this.#member(asked, scope, true);
      return FLAG;
    }
    const types = args.map((each) => this.typeOf(each, scope));
    if (name === "dyn") return ANY;
    const result = this.#overloads.resultOf((names) => `${name}(${names.join(", ")})`, types);
    const wanted = wants[name] ?? [];
    for (const [index, arg] of args.entries()) this.#expectText(arg, types[index]!, wanted[index]);
    if (name === "daysBefore" && result !== undefined) return DATE;
    return result ?? this.#wrongCall({ name, node, args, types });
  }

  /** Reports a text that can never be a number or a date, where one is required. */
  #expectText(node: ASTNode, type: Type, wanted: "number" | "date" | undefined): void {
    const isNever = wanted === "number"
      ? node.op === "value" && typeof node.args === "string" && !isDecimal(node.args) ||
        variantsOf(type).every((each) => each.kind === "text" && neverNumbers.has(each.form ?? ""))
      : wanted === "date" && node.op === "value" && typeof node.args === "string"
      ? !isDate(node.args.slice(0, 10))
      : wanted === "date" &&
        variantsOf(type).every((each) =>
          isNumberText(each) || each.kind === "text" && (each.form === "code" || each.names !== undefined)
        );
    const what = wanted === "number" ? 'a number as text, such as "12.50"' : 'a date such as "2025-08-15"';
    if (isNever) this.#wrong(node, `expected ${what}, and ${this.#textOf(node)} is not valid`);
  }

  #method(node: Extract<ASTNode, { op: "rcall" }>, scope: Scope): Type {
    const [name, receiver, args] = node.args;
    if (receiver.op === "id" && receiver.args === "cel" && name === "bind") {
      const [variable, value, body] = args;
      if (variable?.op !== "id" || value === undefined || body === undefined) return ANY;
      return this.typeOf(body, { ...scope, [variable.args]: this.typeOf(value, scope) });
    }
    const type = this.typeOf(receiver, scope);
    if (MACROS.has(name) && args[0]?.op === "id") return this.#macro(node, type, scope);
    const types = args.map((each) => this.typeOf(each, scope));
    if (type.kind === "any") return this.#overloads.resultOf(methodCall(name), [ANY, ...types]) ?? ANY;
    const result = this.#overloads.resultOf(methodCall(name), [type, ...types]);
    return result ?? this.#wrongCall({ name, node, args, types, receiver: { node: receiver, type } });
  }

  #macro(node: Extract<ASTNode, { op: "rcall" }>, type: Type, scope: Scope): Type {
    const [name, receiver, [variable, ...bodies]] = node.args;
    const item = itemOf(type);
    if (item === undefined) {
      return this.#wrong(
        receiver,
        `expected a list before ".${name}", and ${this.#textOf(receiver)} is ${describe(type)}`,
      );
    }
    // The caller has checked that the variable is a name.
    const inner = { ...scope, [(variable as Extract<ASTNode, { op: "id" }>).args]: item };
    const last = bodies.at(-1);
    for (const body of name === "map" ? bodies.slice(0, -1) : bodies) {
      this.#expectFlag(body, inner, `within "${name}"`);
    }
    if (name === "filter") return { kind: "list", of: item };
    if (name !== "map" || last === undefined) return FLAG;
    return bounded({ kind: "list", of: this.typeOf(last, inner) });
  }

  #wrongCall({ name, node, args, types, receiver }: {
    name: string;
    node: ASTNode;
    args: readonly ASTNode[];
    types: readonly Type[];
    receiver?: { node: ASTNode; type: Type };
  }): Type {
    const signatures = this.#overloads.signaturesOf(name, args.length, receiver !== undefined);
    const fits = (type: Type, wanted: string) => mayBe(type, fromCel(wanted)) && !isCount(type, wanted);
    // Report the argument that differs from the best matching overload.
    const best = signatures.toSorted((a, b) => misses(a) - misses(b))[0];
    function misses(signature: readonly string[]): number {
      return signature.filter((wanted, index) => !fits(types[index]!, wanted)).length;
    }
    const at = best?.findIndex((wanted, index) => !fits(types[index]!, wanted)) ?? -1;
    if (best === undefined || at < 0) {
      return this.#wrong(
        receiver?.node ?? node,
        receiver === undefined
          ? `"${name}" does not take ${types.map(describe).join(" and ")}`
          : `".${name}" does not accept ${describe(receiver.type)}`,
      );
    }
    const [wanted, given, text] = [best[at]!, types[at]!, this.#textOf(args[at]!)];
    const hint = wanted === "int" && isNumber(given)
      ? `: write int(${text})`
      : wanted === "string" && (isNumber(given) || given.kind === "flag")
      ? `: write string(${text})`
      : "";
    return this.#wrong(
      args[at]!,
      `"${name}" takes ${describe(fromCel(wanted))} there, and ${text} is ${describe(given)}${hint}`,
    );
  }
}

const methodCall = (name: string) => ([receiver, ...rest]: readonly string[]) =>
  `${receiver}.${name}(${rest.join(", ")})`;

const LIST: Type = { kind: "list", of: ANY };

/** Variables that can be null in some recipes, each with the reason. */
const absent: Readonly<Record<string, string>> = {
  outcome: "outcome exists only under notify:, at the end of a run",
  session: "session is null here: no schedule of this recipe follows an exchange",
  previousSession: "previousSession is null here: no schedule of this recipe follows an exchange",
};

const isNamed = (name: string) => name === "outputs" || name === "params";
const isMap = ({ kind }: Type) => kind === "map";
const isNumber = (type: Type) => variantsOf(type).every(({ kind }) => kind === "number" || kind === "whole");
const isDigits = (type: Type) => variantsOf(type).every(isNumberText);
const isDigitsLiteral = (node: ASTNode) => node.op === "value" && isDecimal(node.args);

/**
 * Returns whether a number of an output or a parameter is used where CEL needs an integer. Such a number may have a
 * fraction.
 */
const isCount = (type: Type, wanted: string) =>
  wanted === "int" && variantsOf(type).every(({ kind }) => kind === "number");

function typeOfLiteral(value: unknown): Type {
  switch (typeof value) {
    case "string":
      return TEXT;
    case "bigint":
      return { kind: "whole" };
    case "number":
      return { kind: "number" };
    case "boolean":
      return FLAG;
    default:
      return value === null ? NULL : ANY;
  }
}

/** Returns what a macro iterates over: the items of a list, or the names of a map's members. */
function itemOf(type: Type): Type | undefined {
  const items = variantsOf(type).flatMap((each) =>
    each.kind === "list"
      ? [each.of]
      : each.kind === "map" || each.kind === "record"
      ? [TEXT]
      : each.kind === "any"
      ? [ANY]
      : []
  );
  return items.length === 0 ? undefined : oneOf(items);
}
