/**
 * Operations of the catalogue as steps.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { AnyOperation } from "../operations/operation.ts";

/** Calls an operation once; lists are walked to their end. */
export async function callOperation(
  client: Client,
  operation: AnyOperation,
  { params, signal }: { params: unknown; signal: AbortSignal },
): Promise<unknown> {
  // A write is not given up half-way: its outcome would be unknown.
  if (operation.effect === "write") return await client.call(operation, params);
  if (operation.paging === undefined) return await client.call(operation, params, { signal });
  const [family = "", method = ""] = operation.name.split(".");
  // The client has one function for each operation of the catalogue, under the same names.
  const families = client as unknown as Record<string, Record<string, ListMethod>>;
  return await families[family]![method]!(params, { signal }).toArray();
}

type ListMethod = (params: unknown, options: { signal: AbortSignal }) => { toArray(): Promise<unknown[]> };
