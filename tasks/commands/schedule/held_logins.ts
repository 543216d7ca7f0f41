/**
 * Connections after a login was taken over or refused: the old one stays as it is, closed to everything, until a person
 * has resumed or the time to wait is over; the run that may then ask gets a new one.
 *
 * @module
 */
import type { Client } from "../../../lib/client/client.ts";
import { refusedLoginOn, takenOverBy } from "../../../lib/runner/claims/login_holds.ts";
import type { Store } from "../../../lib/store/store.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import type { Connections } from "../run/connections.ts";

/** Returns the connections of a process that outlives its login. */
export function renewedClients(store: Store, connections: Connections, now: () => number): {
  client(recipe: CompiledRecipe): Promise<Client>;
  /** To be told of every run that found the login taken over or refused. */
  onLoginLost(recipe: CompiledRecipe): void;
} {
  const stale = new Set<string>();
  return {
    async client(recipe) {
      const account = connections.accountOf(recipe);
      const held = { now: now(), needsAccount: true };
      const isOut = await takenOverBy(store, account) ?? await refusedLoginOn(store, account, held);
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
