/**
 * Reads the file of a store that may come from somebody else. The file stays unchanged, and none of its views and
 * triggers run. SQLite may create empty `-wal` and `-shm` files next to the store.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { checkBeside, LIMITED } from "./distrust.ts";
import { migrations } from "./migrations.ts";
import { MOST_TIME } from "./store.ts";

/** Endings of the files that SQLite and this program keep next to a store. */
export const STORE_SIDE_FILES = ["-wal", "-shm", "-journal", ".mark"] as const;

/** Why hsgate does not use a file with other tables than its own. */
export const FOREIGN_TABLES =
  "it is not a store as hsgate creates it: it contains other tables, views, triggers or indexes, or lacks some";

/** How long to wait for another process that has locked the file. */
const WAIT_MS = 5_000;

/**
 * Returns the id of a store.
 *
 * @returns `undefined` if the file is not a store as this program creates it.
 */
export function storeIdIn(path: string): string | undefined {
  const file = openReadOnly(path);
  try {
    return hasOwnTables(file) ? idIn(file) : undefined;
  } finally {
    file.close();
  }
}

/**
 * Returns the first damage that SQLite finds in the file of a store. Ends even if a damaged file contains an endless
 * loop of pages.
 *
 * @returns `undefined` if nothing is damaged.
 */
export function damageIn(path: string): string | undefined {
  const file = openReadOnly(path);
  try {
    const found = String(file.prepare("pragma quick_check(1)").get()?.quick_check);
    return found === "ok" ? undefined : found;
  } finally {
    file.close();
  }
}

/** Columns that contain JSON, by table, with the kind of value in each. */
const jsonColumns: Readonly<Record<string, Readonly<Record<string, "object" | "array" | "any">>>> = {
  schedule: { spec: "object" },
  run: { params: "object" },
  step_run: { output: "any" },
  outbox: { body: "any" },
  event: { data: "any" },
  intent: {
    params: "object",
    why: "object",
    order_ids: "array",
    child_ids: "array",
    known: "array",
    earlier: "any",
    absent: "any",
  },
  intent_change: { data: "object" },
  rebalance: {
    plan: "object",
    terms: "object",
    source: "object",
    arrival: "object",
    notes: "object",
    report: "object",
  },
};

/**
 * Returns the first column that contains a value which this program cannot have written: a text in a JSON column that
 * is not JSON of the right kind, or an integer outside the range of times. A command that reads such a value would fail
 * with an internal error. Call it only for a file with the tables of this program.
 *
 * @returns `undefined` if there is no such value.
 */
export function foreignValueIn(path: string): string | undefined {
  const file = openReadOnly(path);
  try {
    const tables = file.prepare("select name from sqlite_schema where type = 'table'").all();
    for (const table of tables.map(({ name }) => String(name))) {
      // The names in the text are safe: the caller has compared the tables with those of this program.
      for (const { name: column, type } of file.prepare(`pragma table_info("${table}")`).all()) {
        const isWrong = type === "INTEGER"
          ? `"${column}" not between ${-MOST_TIME} and ${MOST_TIME}`
          : wrongJson(String(column), jsonColumns[table]?.[String(column)]);
        if (isWrong === undefined) continue;
        const found = file.prepare(
          `select 1 as found from "${table}" where "${column}" is not null and ${isWrong} limit 1`,
        ).get();
        if (found === undefined) continue;
        return `a value of "${column}" in the table "${table}" is not one that hsgate writes`;
      }
    }
    return undefined;
  } finally {
    file.close();
  }
}

/**
 * Returns the SQL condition that finds values that are not JSON of the given kind; `undefined` for a column without
 * JSON.
 */
function wrongJson(column: string, kind: "object" | "array" | "any" | undefined): string | undefined {
  if (kind === undefined || kind === "any") return kind && `not json_valid("${column}")`;
  return `case when json_valid("${column}") then json_type("${column}") <> '${kind}' else 1 end`;
}

/**
 * Opens a database for reading. @throws {StoreError} If a file beside it is a link, or a journal that names another
 * file.
 */
export function openReadOnly(path: string): DatabaseSync {
  checkBeside(path);
  return new DatabaseSync(path, { ...LIMITED, readOnly: true, timeout: WAIT_MS });
}

/**
 * Returns what kind of tables a database contains: none, those of this program, those of a newer version, or other
 * tables.
 * Reads no row except the version.
 */
export function tablesIn(file: DatabaseSync): "none" | "own" | "newer" | "foreign" {
  // Read in one transaction, because another process may be updating the tables.
  file.exec("begin");
  try {
    const found = schemaOf(file);
    if (found?.size === 0) return "none";
    const isStore = found?.get(MIGRATIONS) === schemaAt(0).get(MIGRATIONS);
    if (isStore && versionIn(file) > migrations.length) return "newer";
    return hasOwnTables(file) ? "own" : "foreign";
  } finally {
    if (file.isTransaction) file.exec("rollback");
  }
}

function versionIn(file: DatabaseSync): number {
  // Limit the number, because reading a number that is too large for JavaScript throws.
  const sql = "select max(min(max(version), 1000000), -1) as version from migration";
  return Number(file.prepare(sql).get()?.version ?? 0);
}

function idIn(file: DatabaseSync): string | undefined {
  const id = file.prepare("select id from store").get()?.id;
  return typeof id === "string" ? id : undefined;
}

/** Tables and indexes by type and name, each with its table and its `create` statement. */
type Schema = ReadonlyMap<string, string>;

/**
 * Returns whether a file contains only tables and indexes of this program, each exactly as the migrations create it.
 * Views, triggers and computed columns could run forever.
 */
function hasOwnTables(file: DatabaseSync): boolean {
  const found = schemaOf(file);
  const start = schemaAt(0);
  if (found === undefined || found.get(MIGRATIONS) !== start.get(MIGRATIONS)) return false;
  const version = versionIn(file);
  // A newer store is compared with the newest known version. Opening that store then reports its version.
  const expected = schemaAt(Math.min(version, migrations.length));
  const hasEveryObject = version > migrations.length
    ? found.has("table store")
    : found.size === expected.size;
  return hasEveryObject && [...found].every(([name, sql]) => expected.get(name) === sql);
}

/** The schemas that were computed so far, by version. A store is compared with one of them when it is opened. */
const schemas = new Map<number, Schema>();

const schemaAt = (version: number): Schema => schemas.getOrInsertComputed(version, makeSchema);

function makeSchema(version: number): Schema {
  const memory = new DatabaseSync(":memory:");
  try {
    memory.exec("create table migration (version integer primary key) strict");
    for (const sql of migrations.slice(0, version).flat()) {
      memory.exec(sql.startsWith("create table") ? `${sql} strict` : sql);
    }
    return schemaOf(memory)!; // no name occurs twice
  } finally {
    memory.close();
  }
}

/** Maximum number of tables and indexes that are read: more than any version of this program creates. */
const MOST_OBJECTS = 200;

/** The table of the versions. */
const MIGRATIONS = "table migration";

/** Returns the schema of a file; `undefined` if a name occurs twice, or there are too many objects. */
function schemaOf(file: DatabaseSync): Schema | undefined {
  const rows = file.prepare(`select type, name, tbl_name, sql from sqlite_schema limit ${MOST_OBJECTS + 1}`)
    .all();
  // A trigger may have the name of a table, so the type belongs to the key.
  const schema = new Map(
    rows.map(({ type, name, tbl_name, sql }) => [`${type} ${name}`, JSON.stringify([tbl_name, sql])]),
  );
  return rows.length > MOST_OBJECTS || schema.size < rows.length ? undefined : schema;
}
