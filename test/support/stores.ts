/**
 * Provides both kinds of store, for test suites that must pass with each.
 *
 * @module
 */
import { openPostgres } from "../../lib/store/postgres.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { Store } from "../../lib/store/store.ts";
import { findPostgres, temporarySchema } from "./postgres.ts";

/** The database of one test; several stores may open it at once. */
export interface Place extends AsyncDisposable {
  /** Path or URL, as `--store` takes it. */
  where: string;
  open(options?: { waitMs?: number }): Promise<Store>;
}

/** One kind of store. */
export interface Kind {
  name: "SQLite" | "PostgreSQL";
  /** Whether this machine lacks this kind of store. */
  isMissing: boolean;
  place(): Promise<Place>;
}

/** URL of the database for tests with PostgreSQL, or `undefined` if there is none. */
export const postgres: string | undefined = await findPostgres();

export const kinds: readonly Kind[] = [
  {
    name: "SQLite",
    isMissing: false,
    async place() {
      const folder = await Deno.makeTempDir({ prefix: "hsgate-store-" });
      const where = `${folder}/hsgate.db`;
      return {
        where,
        open: (options) => openSqlite(where, options),
        [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
      };
    },
  },
  {
    name: "PostgreSQL",
    isMissing: postgres === undefined,
    place() {
      const schema = temporarySchema(postgres!); // without PostgreSQL the test is skipped
      return Promise.resolve({
        where: schema.url,
        open: (options) => openPostgres(schema.url, options),
        [Symbol.asyncDispose]: () => schema[Symbol.asyncDispose](),
      });
    },
  },
];

/** Registers a test for each kind of store. */
export function testBoth(name: string, run: (place: Place, kind: Kind) => Promise<void>): void {
  for (const kind of kinds) {
    Deno.test({
      name: `${name} (${kind.name})`,
      ignore: kind.isMissing,
      async fn() {
        await using place = await kind.place();
        await run(place, kind);
      },
    });
  }
}
