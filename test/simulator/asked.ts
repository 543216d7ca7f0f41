/**
 * Asks a simulated broker like the endpoints do, and checks that the catalogue can encode every member of an answer.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { operations } from "../../lib/operations/mod.ts";
import type { Broker } from "../../lib/simulator/broker/broker.ts";
import type { OperationName } from "../../lib/simulator/contract.ts";

/** A range of dates that contains every day of the tests. */
export const always = { from: "2000-01-01", to: "2099-12-31" };

/** Checks the parameters, calls the broker, and checks that its answer stays the same when it is encoded and decoded. */
export function ask<T>(broker: Broker, name: OperationName, params: unknown): T {
  const { request, response } = operations.get(name)!; // the catalogue has it
  const issues: [] = [];
  request.check(params, [], issues);
  assertEquals(issues, [], name);
  const result = broker.call(name, params);
  assertEquals(response.decode(JSON.parse(JSON.stringify(response.encode(result)))), result, name);
  return result as T; // the caller names the result type of the operation
}

/** Returns all rows of a list that is read by cursor. */
export function all<T extends { cursor?: string }>(broker: Broker, name: OperationName, params: object): T[] {
  const rows: T[] = [];
  for (let cursor = "0";;) {
    const page = ask<T[]>(broker, name, { ...params, limit: 99, cursor });
    rows.push(...page);
    if (page.length < 99) return rows;
    cursor = page.at(-1)?.cursor ?? "0";
  }
}
