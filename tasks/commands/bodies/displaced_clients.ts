/**
 * Connections after another device took the login over: the old one stays as it is, closed to everything, until a
 * person has resumed; whoever is then allowed to ask gets a new one.
 *
 * @module
 */
import type { Client } from "../../../lib/client/client.ts";
import { displacedBy } from "../../../lib/runner/displaced.ts";
import type { Ledger } from "../../../lib/runner/ledger.ts";
import type { CompiledRecipe } from "../../../lib/steps/mod.ts";
import type { Connections } from "./run_connections.ts";

/** Hands out the connections of a process that outlives a displaced login. */
export function renewedClients(ledger: Ledger, connections: Connections): {
  client(recipe: CompiledRecipe): Promise<Client>;
  /** To be told of every run that found the login taken over. */
  onDisplaced(recipe: CompiledRecipe): void;
} {
  const stale = new Set<string>();
  return {
    async client(recipe) {
      const account = connections.accountOf(recipe);
      if (stale.has(account) && displacedBy(ledger, account) === undefined) {
        stale.delete(account);
        await connections.forget(recipe);
      }
      return await connections.of(recipe);
    },
    onDisplaced(recipe) {
      stale.add(connections.accountOf(recipe));
    },
  };
}
