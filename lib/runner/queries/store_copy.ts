/**
 * Copies every row of a store into an empty one, including from SQLite to PostgreSQL and back, and verifies the copy.
 *
 * @module
 */
import { createHash, type Hash } from "node:crypto";
import type { SqlValue, Store } from "../../store/store.ts";
import { StoreError } from "../../store/store_error.ts";

/** Tables and their keys; each table comes after the tables that it references. */
const tables: readonly (readonly [table: string, ...key: string[]])[] = [
  ["store", "one"],
  ["account_write", "account"],
  ["schedule", "recipe", "schedule_id"],
  ["lease", "name"],
  ["pruned", "recipe"],
  ["run", "run_key"],
  ["step_run", "run_key", "step_id", "round", "attempt"],
  ["artifact", "dataset", "business_day", "revision"],
  ["outbox", "dedupe_key"],
  ["event", "seq"],
  ["log", "seq"],
  ["intent", "id"],
  ["intent_change", "intent", "seq"],
  ["halt", "account"],
  ["rebalance", "account", "hash"],
];

/** How many rows are read and written at a time. */
const PART = 200;

/** Result for one table. */
interface CopiedTable {
  table: string;
  rows: number;
  /** SHA-256 of all values, in key order; the same in both stores. */
  sha256: string;
}

type Row = Record<string, SqlValue>;

/**
 * Copies all rows, as of one moment. Both stores are locked during the copy.
 *
 * @returns For each table, the count and digest read from the copy, which match the source.
 * @throws {StoreError} `not-empty` if the target has rows, `damaged-store` if the copy differs; then the copy is rolled
 * back.
 */
export async function copyStore(from: Store, to: Store): Promise<CopiedTable[]> {
  return await from.transaction(() =>
    to.transaction(async () => {
      for (const [table] of tables) {
        const found = table === "store" ? undefined : await to.get(`select 1 as there from ${table} limit 1`);
        if (found === undefined) continue;
        throw new StoreError(
          `Cannot copy into the store "${to.name}": it contains rows already; name an empty store`,
          {
            code: "not-empty",
          },
        );
      }
      // Deletes the id of the target: the copy gets the id of the source.
      await to.run("delete from store");
      const copied: CopiedTable[] = [];
      for (const [table, ...key] of tables) {
        const source = await eachPart(from, { table, key }, (rows) => insert(to, table, rows));
        const target = await eachPart(to, { table, key }, () => Promise.resolve());
        if (source.sha256 !== target.sha256 || source.rows !== target.rows) {
          throw new StoreError(
            `Cannot copy into the store "${to.name}": its table "${table}" differs from the source; it has ${target.rows} of ` +
              `${source.rows} rows`,
            { code: "damaged-store" },
          );
        }
        copied.push(target);
      }
      await to.continueNumbering();
      return copied;
    })
  );
}

/** Reads a table in key order, part by part. */
async function eachPart(
  store: Store,
  { table, key }: { table: string; key: readonly string[] },
  use: (rows: readonly Row[]) => Promise<void>,
): Promise<CopiedTable> {
  const hash = createHash("sha256");
  const columns = key.join(", ");
  const after = `where (${columns}) > (${key.map(() => "?").join(", ")})`;
  let count = 0;
  let last: Row | undefined;
  for (;;) {
    const from = last;
    const rows: Row[] = await store.all<Row>(
      `select * from ${table} ${from === undefined ? "" : after} order by ${columns} limit ${PART}`,
      ...from === undefined ? [] : key.map((name) => from[name]),
    );
    if (rows.length === 0) return { table, rows: count, sha256: hash.digest("hex") };
    for (const row of rows) digest(hash, row);
    await use(rows);
    count += rows.length;
    last = rows.at(-1);
  }
}

function digest(hash: Hash, row: Row): void {
  const values = Object.keys(row).sort().map((name) => [name, row[name] ?? null]);
  hash.update(`${JSON.stringify(values)}\n`);
}

async function insert(store: Store, table: string, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const places = `(${columns.map(() => "?").join(", ")})`;
  await store.run(
    `insert into ${table} (${columns.join(", ")}) values ${rows.map(() => places).join(", ")}`,
    ...rows.flatMap((row) => columns.map((name) => row[name])),
  );
}
