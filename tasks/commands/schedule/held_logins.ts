/**
 * Replaces connections whose login was taken over or rejected. The runner blocks such a login until a person resumes
 * the recipe, the rejected password has changed, or the wait after another rejection is over. The next run then gets a
 * new connection.
 *
 * @module
 */
import type { Client } from "../../../lib/client/client.ts";
import { refusedLoginOn, takenOverBy } from "../../../lib/runner/claims/login_holds.ts";
import type { Store } from "../../../lib/store/store.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import type { Connections } from "../run/connections.ts";

/** Returns clients that can be replaced after a lost login. */
export function renewedClients(store: Store, connections: Connections, now: () => number): {
  client(recipe: CompiledRecipe): Promise<Client>;
  /** Call this for every run that found its login taken over or rejected, and for a rejected login outside of a run. */
  onLoginLost(recipe: CompiledRecipe): void;
} {
  const stale = new Set<string>();
  return {
    async client(recipe) {
      const account = connections.accountOf(recipe);
      const asOf = { now: now(), needsAccount: true };
      const whyOut = await takenOverBy(store, account) ?? await refusedLoginOn(store, account, asOf);
      if (stale.has(account) && whyOut === undefined) {
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
