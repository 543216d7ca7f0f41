/**
 * Makes the index of the operations. From the index, a client knows its method names before it loads the descriptions.
 *
 * @module
 */
import { catalogue } from "../../lib/operations/mod.ts";
import type { AnyOperation } from "../../lib/operations/operation.ts";
import { provingLists } from "../../lib/operations/proof.ts";

function entryOf(operation: AnyOperation): object {
  return {
    ...operation.paging !== undefined && { paged: true },
    ...operation.instead !== undefined && { instead: operation.instead },
    ...operation.provenBy !== undefined && { lists: provingLists(operation) },
  };
}

/** Returns the text of `lib/operations/index.json`. */
export function operationIndex(): string {
  const families = Object.entries(catalogue).map(([name, family]) => [
    name,
    Object.fromEntries(Object.entries<AnyOperation>(family).map(([key, each]) => [key, entryOf(each)])),
  ]);
  return JSON.stringify(Object.fromEntries(families));
}
