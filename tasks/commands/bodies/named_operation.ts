/**
 * From what somebody typed to an operation.
 *
 * @module
 */
import { didYouMean } from "../../../lib/client/nearest.ts";
import { catalogue, findOperation, operations } from "../../../lib/operations/mod.ts";
import type { AnyOperation } from "../../../lib/operations/operation.ts";
import { UsageError } from "../exit_codes.ts";

/**
 * Finds an operation by our name, by the broker's, or by a path of the gateway such as `trade/TradeEntrust`.
 *
 * @throws {UsageError} When there is none; names the nearest.
 */
export function namedOperation(given: string): AnyOperation {
  const last = given.split("/").at(-1) ?? "";
  const operation = findOperation(given) ?? findOperation(last.replace(/Request(MsgType)?$/, ""));
  if (operation !== undefined) return operation;
  const family = Object.entries(catalogue).find(([name]) => name === given);
  if (family !== undefined) {
    const names = Object.values<AnyOperation>(family[1]).map(({ name }) => name);
    throw new UsageError(`Cannot call "${given}": it is a family of operations: ${names.join(", ")}`);
  }
  const names = [...operations.values()].flatMap(({ name, wire }) => [name, wire]);
  throw new UsageError(
    `Cannot find operation "${given}"${
      didYouMean(given, names) || '; "deno task hsgate operations" lists them all'
    }`,
  );
}
