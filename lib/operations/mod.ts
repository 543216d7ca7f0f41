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

/** Every operation, by our name. */
export const operations: ReadonlyMap<string, AnyOperation> = new Map(
  Object.values(catalogue).flatMap((family) =>
    Object.values<AnyOperation>(family).map((operation) => [operation.name, operation] as const)
  ),
);

/** Operations that the gateway serves, without named special cases that share a path. */
export const gatewayOperations: readonly AnyOperation[] = [...operations.values()].filter(
  ({ group, variantOf }) => group !== null && variantOf === undefined,
);

/** Finds an operation by our name or by the broker's name. */
export function findOperation(name: string): AnyOperation | undefined {
  return operations.get(name) ??
    [...operations.values()].find((each) => each.wire === name && each.variantOf === undefined);
}
