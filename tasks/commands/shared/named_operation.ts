/**
 * Finds the operation that a person named, and checks its parameters.
 *
 * @module
 */
import { didYouMean } from "../../../lib/client/nearest.ts";
import { InvalidParamsError, type Issue } from "../../../lib/errors.ts";
import { catalogue, findOperation, operations } from "../../../lib/operations/mod.ts";
import type { AnyOperation } from "../../../lib/operations/operation.ts";
import { UsageError } from "../../terminal/exit_codes.ts";

/**
 * Returns an operation by its hsgate name, the broker's name, or a gateway path such as `trade/TradeEntrust`.
 *
 * @throws {UsageError} If there is no such operation. The message names a similar one, or the operations of a family.
 */
export function namedOperation(given: string): AnyOperation {
  const last = given.split("/").at(-1) ?? "";
  const operation = findOperation(given) ?? findOperation(last.replace(/Request(MsgType)?$/, ""));
  if (operation !== undefined) return operation;
  const family = Object.entries(catalogue).find(([name]) => name === given);
  if (family !== undefined) {
    const names = Object.values<AnyOperation>(family[1]).map(({ name }) => name);
    throw new UsageError(
      `Cannot call "${given}": it is a family of operations; use one of ${names.join(", ")}`,
    );
  }
  const names = [...operations.values()].flatMap(({ name, wire }) => [name, wire]);
  throw new UsageError(
    `Cannot find operation "${given}"${didYouMean(given, names) || '; "hsgate operations" lists them all'}`,
  );
}

/**
 * Checks the parameters of a call. @throws {InvalidParamsError} If a parameter is wrong. The error lists every wrong
 * parameter.
 */
export function checkParams(operation: AnyOperation, params: unknown): void {
  const issues: Issue[] = [];
  operation.request.check(params, [], issues);
  if (issues.length > 0) {
    throw new InvalidParamsError(`call ${operation.name}`, issues, { operation: operation.name });
  }
}
