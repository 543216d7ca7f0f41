/**
 * Defines the HTTP interface of the gateway: the path of each operation, and the envelope of each answer (API document
 * 2.1).
 *
 * @module
 */
import type { HttpAnswer } from "./http_server.ts";
import { gatewayOperations, operations } from "../operations/mod.ts";
import { type AnyOperation, gatewayPath } from "../operations/operation.ts";

/** Endings of an operation's path: the gateway accepts the bare name and two longer names (API document 4). */
const suffixes = ["", "Request", "RequestMsgType"];

/** Every path, with its operation. */
export const routes: ReadonlyMap<string, AnyOperation> = new Map(
  gatewayOperations.flatMap((operation) =>
    suffixes.map((suffix) => [`${gatewayPath(operation)}${suffix}`, operation] as const)
  ),
);

/**
 * Variants of operations, by the name of the operation. A request is for a variant if it contains the `constants` of
 * that variant.
 */
const variants = Map.groupBy(
  [...operations.values()].filter(({ variantOf }) => variantOf !== undefined),
  ({ variantOf }) => variantOf!,
);

/** Returns the operation of a request: the variant whose constants it contains, otherwise the operation of its path. */
export function pickOperation(route: AnyOperation, wire: unknown): AnyOperation {
  return (variants.get(route.name) ?? []).find(({ constants = {} }) =>
    Object.entries(constants).every(([name, value]) => sameJson(memberOf(wire, name), value))
  ) ?? route;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  // The check above shows that the member exists; its type is unknown.
  return (value as Record<string, unknown>)[name];
}

const sameJson = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

const encoder = new TextEncoder();

/** Returns an answer with a result: `{ok, err, data}`. */
export function okAnswer(data: unknown): HttpAnswer {
  return answer(200, { ok: true, err: "", data: data ?? null });
}

/** Returns an answer that rejects a request: `{ok, err, data}`. */
export function problemAnswer(status: number, err: string): HttpAnswer {
  return answer(status, { ok: false, err, data: null });
}

function answer(status: number, body: { ok: boolean; err: string; data: unknown }): HttpAnswer {
  return { status, body: encoder.encode(JSON.stringify(body)) };
}
