/**
 * Defines tests of the runner that run once with each kind of store.
 *
 * @module
 */
import { type Kind, kinds } from "../support/stores.ts";
import { withStores } from "./support.ts";

/**
 * Defines a test that runs with SQLite in memory, and with PostgreSQL if there is one. Each store that it opens is new.
 * To open the same store twice, a test calls `kind.place()` and opens the store from the result.
 */
export function testBoth(name: string, run: (kind: Kind) => Promise<void>): void {
  for (const kind of kinds) {
    Deno.test({
      name: `${name} (${kind.name})`,
      ignore: kind.isMissing,
      async fn() {
        if (kind.name === "SQLite") return await run(kind);
        await using places = new AsyncDisposableStack();
        await withStores(async () => await places.use(await kind.place()).open(), () => run(kind));
      },
    });
  }
}
