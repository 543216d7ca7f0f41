/**
 * Finds the PostgreSQL server for tests: the one in `HSGATE_TEST_POSTGRES`, or otherwise one on this machine; none if
 * the variable is `off`. Each test has its own schema.
 *
 * @module
 */
import pg from "pg";

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3_000 });
  client.on("error", () => {}); // after any error, the query fails too
  try {
    await client.connect();
    await client.query("select 1");
    return true;
  } catch {
    return false;
  } finally {
    await client.end();
  }
}

/**
 * Returns the URL of a database that answers, or `undefined` if there is none.
 *
 * @throws {TypeError} If the database that `HSGATE_TEST_POSTGRES` names does not answer.
 */
export async function findPostgres(): Promise<string | undefined> {
  const given = Deno.env.get("HSGATE_TEST_POSTGRES");
  if (given === "off") return undefined;
  if (given !== undefined) {
    if (await answers(given)) return given;
    throw new TypeError("Cannot reach the database that HSGATE_TEST_POSTGRES names");
  }
  const user = Deno.env.get("PGUSER") ?? Deno.env.get("USER") ?? "root";
  for (const host of ["/var/run/postgresql", "127.0.0.1"]) {
    const url = `postgres://${encodeURIComponent(user)}@localhost/postgres?host=${host}`;
    if (await answers(url)) return url;
  }
  return undefined;
}

/**
 * Returns a URL with the name of a new schema. The first store that opens the URL creates the schema; the disposal
 * drops it.
 */
export function temporarySchema(
  url: string,
): { url: string; schema: string } & AsyncDisposable {
  const schema = `test_${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`;
  const named = new URL(url);
  named.searchParams.set("schema", schema);
  return {
    url: named.href,
    schema,
    async [Symbol.asyncDispose]() {
      await asAdmin(url, `drop schema if exists ${schema} cascade`);
    },
  };
}

/** Runs a statement as the user of the URL, on its own connection and outside every store. Resolves to the rows. */
export async function asAdmin(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const plain = new URL(url);
  plain.searchParams.delete("schema");
  const client = new pg.Client({ connectionString: plain.href });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
