/**
 * Connections after a login was taken over or refused: the old one stays as it is, closed to everything, until a person
 * has resumed or the time to wait is over; the run that may then ask gets a new one.
 *
 * @module
 */
import type { Client } from "../../../lib/client/client.ts";
import { displacedBy } from "../../../lib/runner/displaced.ts";
import { refusedLoginOn } from "../../../lib/runner/refused_login.ts";
import type { Ledger } from "../../../lib/runner/ledger.ts";
import type { CompiledRecipe } from "../../../lib/steps/mod.ts";
import type { Connections } from "./run_connections.ts";

/** Returns the connections of a process that outlives its login. */
export function renewedClients(ledger: Ledger, connections: Connections, now: () => number): {
  client(recipe: CompiledRecipe): Promise<Client>;
  /** To be told of every run that found the login taken over or refused. */
  onLoginLost(recipe: CompiledRecipe): void;
} {
  const stale = new Set<string>();
  return {
    async client(recipe) {
      const account = connections.accountOf(recipe);
      const held = { now: now(), needsAccount: true };
      const isOut = displacedBy(ledger, account) ?? refusedLoginOn(ledger, account, held);
      if (stale.has(account) && isOut === undefined) {
        stale.delete(account);
        await connections.forget(recipe);
      }
      return await connections.of(recipe);
    },
    onLoginLost(recipe) {
      stale.add(connections.accountOf(recipe));
    },
  };
}
