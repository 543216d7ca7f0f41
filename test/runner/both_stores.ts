/**
 * What the runner promises, as tests that run once over each kind of store.
 *
 * @module
 */
import { kinds } from "../support/stores.ts";
import { withStores } from "./support.ts";

/** A test that is run over SQLite in memory, and over PostgreSQL where there is one. Each store that it opens is new. */
export function testBoth(name: string, run: () => Promise<void>): void {
  for (const kind of kinds) {
    Deno.test({
      name: `${name} (${kind.name})`,
      ignore: kind.isMissing,
      async fn() {
        if (kind.name === "SQLite") return await run();
        await using places = new AsyncDisposableStack();
        await withStores(async () => await places.use(await kind.place()).open(), run);
      },
    });
  }
}
