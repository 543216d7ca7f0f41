/**
 * Writes the TypeScript example calls of the reference. The examples are derived from the catalogue, which also checks
 * them.
 *
 * @module
 */
import { InvalidParamsError, type Issue } from "../../lib/errors.ts";
import type { AnyOperation } from "../../lib/operations/operation.ts";
import type { FieldInfo } from "../../lib/operations/types.ts";

const hkSecurity = { type: "hk-stock", symbol: "00700.HK" };

/** A value for each required parameter, by hsgate's name. */
const samples: Readonly<Record<string, unknown>> = {
  market: "hk",
  symbol: "00700.HK",
  symbols: ["MHIZ5.HK"],
  security: hkSecurity,
  securities: [hkSecurity],
  securityType: "hk-stock",
  quantity: "100",
  price: "350.20",
  side: "buy",
  orderType: "limit",
  orderId: "8842",
  childOrderId: "8843",
  orderIds: ["8842", "8843"],
  from: "2025-08-01",
  to: "2025-08-15",
  date: "2025-08-15",
  start: "2025-08-01",
  interval: "day",
  limit: 30,
  topic: "quote",
  underlying: "AAPL",
  expiry: "2025-08-15",
  strategy: "vwap",
  settings: {},
  action: "suspend",
  validity: "day",
};

/**
 * Values that replace `samples` in a family or an operation, because they are clearer or the only valid ones. A value
 * for an operation also adds its parameter to the example if the parameter is optional.
 */
const special: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  futures: { symbol: "MHIZ5.HK", price: "24100", quantity: "1" },
  "orders.place": { price: "350.20" },
  "orders.amend": { price: "351.00" },
  "conditionalOrders.history": { from: "2025-08-01 00:00:00", to: "2025-08-15 23:59:59" },
};

/** Returns parameters that the operation accepts, without secrets. */
function sampleParams(operation: AnyOperation): Record<string, unknown> {
  const [family = ""] = operation.name.split(".");
  const own = { ...special[family], ...special[operation.name] };
  const isNeeded = (name: string, { optional, type }: FieldInfo) =>
    !type.secret && (!optional || special[operation.name]?.[name] !== undefined);
  return Object.fromEntries(
    Object.entries(operation.request.fields ?? {}).filter(([name, info]) => isNeeded(name, info)).map((
      [name],
    ) => [name, own[name] ?? samples[name]]),
  );
}

/**
 * Returns a call of an operation in TypeScript.
 *
 * @returns `undefined` for an operation that only a transport calls.
 * @throws {InvalidParamsError} When the catalogue rejects the example. Then correct the samples in this file.
 */
export function exampleCall(operation: AnyOperation): string | undefined {
  if (operation.name.startsWith("platform.")) return undefined;
  const params = sampleParams(operation);
  const secrets = Object.entries(operation.request.fields ?? {}).filter(([, { type }]) => type.secret);
  const issues: Issue[] = [];
  const stand = Object.fromEntries(secrets.map(([name]) => [name, "x"]));
  operation.request.check({ ...params, ...stand }, [], issues);
  if (issues.length > 0) throw new InvalidParamsError(`write example of "${operation.name}"`, issues);

  const written = [
    ...Object.entries(params).map(([name, value]) => `${name}: ${literal(value)}`),
    // A secret is a variable in the example, never a literal.
    ...secrets.map(([name]) => name),
  ];
  const call = `client.${operation.name}(${written.length === 0 ? "" : `{ ${written.join(", ")} }`})`;
  return operation.paging === undefined
    ? `const answer = await ${call};`
    : `for await (const row of ${call}) console.log(row);`;
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, each]) => `${name}: ${literal(each)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}
