/**
 * Paths of the gateway, and the operations that they stand for.
 *
 * @module
 */
import { gatewayOperations, operations } from "../../operations/mod.ts";
import { type AnyOperation, gatewayPath } from "../../operations/operation.ts";

/** The path accepts the bare name and two longer ones (API document 4). */
const suffixes = ["", "Request", "RequestMsgType"];

/** Every path, with its operation. */
export const routes: ReadonlyMap<string, AnyOperation> = new Map(
  gatewayOperations.flatMap((operation) =>
    suffixes.map((suffix) => [`${gatewayPath(operation)}${suffix}`, operation] as const)
  ),
);

/** Named special cases of an operation, told apart by the members that they always send. */
const variants = Map.groupBy(
  [...operations.values()].filter(({ variantOf }) => variantOf !== undefined),
  ({ variantOf }) => variantOf!,
);

/** Finds the operation that a request stands for: the one of its path, or a named special case of it. */
export function pickOperation(route: AnyOperation, wire: unknown): AnyOperation {
  return (variants.get(route.name) ?? []).find(({ constants = {} }) =>
    Object.entries(constants).every(([name, value]) => sameJson(memberOf(wire, name), value))
  ) ?? route;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  // An own member of an object, whose type nobody knows yet.
  return (value as Record<string, unknown>)[name];
}

const sameJson = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
