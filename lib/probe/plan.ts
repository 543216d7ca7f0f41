/**
 * Chooses the calls of a probe: the operations that only read, and their parameters. The parameters come from the
 * catalogue and from earlier answers.
 *
 * @module
 */
import { securityOf } from "../client/security.ts";
import { Market } from "../dictionaries/market.ts";
import { SecurityType } from "../dictionaries/security_type.ts";
import type { Issue } from "../errors.ts";
import { contractMonths, futureProducts } from "../facts/contracts.ts";
import { operations } from "../operations/mod.ts";
import { type AnyOperation, gatewayPath } from "../operations/operation.ts";
import { codesOf } from "../operations/shaped_answers.ts";
import type { FieldInfo, ValueType } from "../operations/types.ts";

/** The way to the broker. */
export type ProbeTransport = "gateway" | "direct";

/** A listing of each market, used if no earlier answer contained one. */
const usualSymbols: Readonly<Record<Market, string>> = {
  hk: "00700.HK",
  us: "AAPL",
  shanghai: "600519.SH",
  shenzhen: "000333.SZ",
};

/** Number of rows of a page. It is small, so that even a short list has a second page. */
export const PAGE_ROWS = 2;
const DAY_MS = 86_400_000;
const DAYS_BACK = 30;
const HONG_KONG_MS = 8 * 3_600_000;

/**
 * Returns every operation that only reads, in the order of the catalogue. Leaves out writes, session operations, and
 * operations that are variants of another operation.
 */
export function reads(): AnyOperation[] {
  return [...operations.values()].filter(({ effect, variantOf }) =>
    effect === "read" && variantOf === undefined
  );
}

/** Returns the family of an operation: `account` for `account.funds`. */
export const familyOf = ({ name }: Pick<AnyOperation, "name">): string => name.slice(0, name.indexOf("."));

/** Returns why a probe cannot call an operation over a transport; `undefined` if it can. */
export function whyNot(operation: AnyOperation, transport: ProbeTransport): string | undefined {
  if (Object.values(operation.request.fields ?? {}).some(({ type }) => type.secret)) {
    return "it needs a secret that only the transport has";
  }
  if (transport === "gateway") {
    return gatewayPath(operation) === undefined ? "the gateway does not have it" : undefined;
  }
  if (operation.platformPath !== undefined) return undefined;
  return "gap" in operation.socket
    ? `not over the direct transport: ${operation.socket.gap}`
    : operation.reserved;
}

/** Values of earlier answers that later calls need. They stay in memory. */
export class Learned {
  /** The first symbol that an answer contained, by market. A future's symbol is under `futures`. */
  readonly #symbols = new Map<string, string>();
  readonly #prices = new Map<string, string>();
  /**
   * The first value of each member, by family and by hsgate's name. If an answer is a list, its first row is stored
   * too, under the broker's name of the list, because a later call may need it: for example, the first of a list of
   * expiries.
   */
  readonly #members = new Map<string, unknown>();

  /** Remembers the values of a decoded answer that later calls need. */
  take(operation: AnyOperation, answer: unknown, market: string | undefined): void {
    const { rows } = operation.response.fields ?? {};
    if (rows !== undefined && Array.isArray(answer) && answer.length > 0) {
      this.#set(operation, rows.wire, answer[0]);
    }
    this.#walk(operation, answer, market);
  }

  #walk(operation: AnyOperation, value: unknown, market: string | undefined): void {
    if (Array.isArray(value)) return value.forEach((each) => this.#walk(operation, each, market));
    if (typeof value !== "object" || value === null) return;
    const members = value as Readonly<Record<string, unknown>>;
    const { symbol, security, lastPrice, price } = members;
    const at = familyOf(operation) === "futures" ? "futures" : textOf(members.market) ?? market;
    const code = textOf(symbol) ?? textOf((security as { symbol?: unknown } | undefined)?.symbol);
    if (code !== undefined && at !== undefined && !this.#symbols.has(at)) this.#symbols.set(at, code);
    const last = textOf(lastPrice) ?? textOf(price);
    if (code !== undefined && last !== undefined && Number(last) > 0) this.#prices.set(code, last);
    for (const [name, each] of Object.entries(members)) {
      if (typeof each === "object") this.#walk(operation, each, market);
      else this.#set(operation, name, each);
    }
  }

  #set(operation: AnyOperation, name: string, value: unknown): void {
    const key = `${familyOf(operation)} ${name}`;
    if (!this.#members.has(key) && value !== undefined && value !== "") this.#members.set(key, value);
  }

  /** Returns the value of a member in an earlier answer of the same family. */
  member(operation: AnyOperation, ...names: string[]): unknown {
    return names.map((name) => this.#members.get(`${familyOf(operation)} ${name}`)).find((each) =>
      each !== undefined
    );
  }

  symbol(place: string): string | undefined {
    return this.#symbols.get(place);
  }

  price(symbol: string): string | undefined {
    return this.#prices.get(symbol);
  }
}

const textOf = (value: unknown) => typeof value === "string" && value !== "" ? value : undefined;

/** A call that a probe makes. */
export interface PlannedCall {
  operation: AnyOperation;
  /** The market that the parameters are about. */
  market: Market | undefined;
  params: Record<string, unknown>;
  /** The parameters whose values are names of a code table, such as the market; no values of the account. */
  codes: Record<string, string>;
}

/**
 * Returns the markets for which a probe calls an operation; the list has only `undefined` if the call is not about one
 * market.
 */
export function marketsOf(operation: AnyOperation): (Market | undefined)[] {
  const fields = operation.request.fields ?? {};
  const isRequired = (name: string) => fields[name] !== undefined && !fields[name]!.optional;
  if (familyOf(operation) === "futures") return [undefined];
  if (isRequired("market")) return Market.names;
  if (isRequired("underlying")) return ["us"]; // option chains exist for US stocks only
  const names = ["security", "securities", "symbol"];
  return names.some(isRequired) ? Market.names : [undefined];
}

/** What {@linkcode planCall} needs. */
export interface PlanContext {
  learned: Learned;
  /** The broker's time, Unix milliseconds. */
  now: number;
  /** Whether to use default values for parameters that no answer contained. */
  isLast: boolean;
}

/**
 * Returns the call of an operation for a market, or why it cannot be made. `waits`: whether a later answer may contain
 * the missing parameter.
 */
export function planCall(
  operation: AnyOperation,
  market: Market | undefined,
  context: PlanContext,
): PlannedCall | { why: string; waits: boolean } {
  const chooser = new Chooser(operation, market, context);
  const params: Record<string, unknown> = {};
  for (const [name, info] of Object.entries(operation.request.fields ?? {})) {
    const isPageSize = name === "limit" && operation.paging !== undefined;
    if (info.optional && !isPageSize) continue;
    const value = isPageSize ? PAGE_ROWS : chooser.value(name, info);
    if (value === undefined) {
      return { why: `no earlier answer has a value for "${name}"`, waits: !context.isLast };
    }
    params[name] = value;
  }
  const issues: Issue[] = [];
  operation.request.check(params, [], issues);
  const [issue] = issues;
  if (issue !== undefined) {
    return { why: `"${issue.path.join(".")}" must be ${issue.expected}`, waits: false };
  }
  return { operation, market, params, codes: codesOf(operation.request.fields ?? {}, params) };
}

/** Chooses parameters by their types. */
class Chooser {
  readonly #operation: AnyOperation;
  readonly #market: Market | undefined;
  readonly #context: PlanContext;

  constructor(operation: AnyOperation, market: Market | undefined, context: PlanContext) {
    this.#operation = operation;
    this.#market = market;
    this.#context = context;
  }

  value(name: string, { wire, type }: FieldInfo): unknown {
    if (type.isList) {
      const item = type.item === undefined
        ? undefined
        : this.value(name, { wire, type: type.item, optional: false });
      return item === undefined ? undefined : [item];
    }
    if (type.fields !== undefined) return this.#security();
    if (type.dictionary !== undefined) return this.#code(type);
    const { learned, isLast } = this.#context;
    const known = learned.member(this.#operation, wire, name);
    switch (type.shape().kind === "text" ? type.name : "number") {
      case "listing code":
        return this.#symbol();
      case "order id":
        return known;
      case "date":
        return name === "from" || name === "start"
          ? this.#day(DAYS_BACK)
          : name === "to"
          ? this.#day(1)
          : known ?? (isLast && this.#operation.paging !== undefined ? this.#day(1) : undefined);
      case "date and time":
        return name === "from" ? `${this.#day(DAYS_BACK)} 00:00:00` : `${this.#day(0)} 23:59:59`;
      case "number":
        return accepted(type, [5, 1, 0]);
      default:
        return type.shape().kind === "text" && isDecimalType(type) ? this.#price() : known;
    }
  }

  #day(before: number): string {
    return new Date(this.#context.now + HONG_KONG_MS - before * DAY_MS).toISOString().slice(0, 10);
  }

  #symbol(): string | undefined {
    const { learned, now } = this.#context;
    if (familyOf(this.#operation) === "futures") {
      const [product] = futureProducts;
      const month = product && contractMonths(product, new Date(now).toISOString().slice(0, 10))[0];
      const usual = product && month && `${product.product}${month.slice(2, 4)}${month.slice(5)}.HK`;
      return learned.symbol("futures") ?? usual;
    }
    const market = this.#market ?? "hk";
    return learned.symbol(market) ?? usualSymbols[market];
  }

  #security(): unknown {
    const symbol = this.#symbol();
    try {
      return symbol === undefined ? undefined : securityOf(symbol);
    } catch {
      return securityOf(usualSymbols[this.#market ?? "hk"]); // a code of a kind that hsgate does not know
    }
  }

  #price(): string | undefined {
    const price = this.#context.learned.price(this.#symbol() ?? "");
    return price ?? (this.#context.isLast ? "1" : undefined);
  }

  #code(type: ValueType<unknown>): string | undefined {
    if (type.dictionary?.wire === Market.wire) return this.#market ?? "hk";
    if (type.dictionary?.wire === SecurityType.wire) {
      return (this.#security() as { type?: string } | undefined)?.type;
    }
    return type.dictionary?.names.find((each) => accepted(type, [each]) !== undefined);
  }
}

const isDecimalType = (type: ValueType<unknown>) => {
  const shape = type.shape();
  return shape.kind === "text" && shape.form === "decimal";
};

/** Returns the first value that a type accepts. */
function accepted(type: ValueType<unknown>, values: readonly unknown[]): unknown {
  return values.find((value) => {
    const issues: Issue[] = [];
    type.check(value, [], issues);
    return issues.length === 0;
  });
}
