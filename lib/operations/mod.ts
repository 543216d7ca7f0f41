/**
 * Exports the catalogue: the description of every broker operation.
 *
 * @module
 */
import { account } from "./account.ts";
import { algo } from "./algo.ts";
import { conditionalOrders } from "./conditional_orders.ts";
import { type Catalogue, useLoaded } from "./families.ts";
import { fills } from "./fills.ts";
import { fundJournal } from "./fund_journal.ts";
import { futures } from "./futures.ts";
import type { AnyOperation } from "./operation.ts";
import { orders } from "./orders.ts";
import { platform } from "./platform.ts";
import { quotes } from "./quotes.ts";

/** Every family of operations. */
export const catalogue: Catalogue = {
  account,
  orders,
  fills,
  fundJournal,
  conditionalOrders,
  algo,
  futures,
  quotes,
  platform,
};
useLoaded(catalogue);

/** Every operation, by hsgate's name. */
export const operations: ReadonlyMap<string, AnyOperation> = new Map(
  Object.values(catalogue).flatMap((family) =>
    Object.values<AnyOperation>(family).map((operation) => [operation.name, operation] as const)
  ),
);

/** Operations that the gateway serves, without the special cases that share the path of another operation. */
export const gatewayOperations: readonly AnyOperation[] = [...operations.values()].filter(
  ({ group, variantOf }) => group !== null && variantOf === undefined,
);

/**
 * Finds the operation that the path of a raw call names, such as `trade/TradeEntrust`. Different servers may interpret
 * the same path differently. So this function compares every part of the path with the names of the operations. It
 * ignores case, percent-encoding and the endings that the gateway accepts. If several operations match, it prefers one
 * that writes orders.
 */
export function operationOfPath(path: string): AnyOperation | undefined {
  const parts = new Set(
    decodedPath(path).toLowerCase().split(/[^a-z0-9]+/).map((part) => part.replace(/request(msgtype)?$/, "")),
  );
  const named = [...operations.values()].filter(({ wire, variantOf }) =>
    variantOf === undefined && parts.has(wire.toLowerCase())
  );
  return named.find(({ order }) => order !== undefined) ?? named.at(-1);
}

/** Returns a path without percent-encoding, however often it was encoded. */
function decodedPath(path: string): string {
  // An invalid escape is ordinary text.
  const plain = path.replaceAll(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  return plain === path ? plain : decodedPath(plain);
}

/** Finds an operation by hsgate's name or by the broker's name. */
export function findOperation(name: string): AnyOperation | undefined {
  return operations.get(name) ??
    [...operations.values()].find((each) => each.wire === name && each.variantOf === undefined);
}
