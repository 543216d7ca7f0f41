/**
 * Reads the file of a store that may come from somebody else. The file stays unchanged, and none of its views and
 * triggers run. SQLite may create empty `-wal` and `-shm` files next to the store.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { checkBeside } from "./distrust.ts";
import { migrations } from "./migrations.ts";

/** Endings of the files that SQLite and this program keep next to a store. */
export const BESIDE_STORE = ["-wal", "-shm", "-journal", ".mark"] as const;

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
 * Returns the first damage that SQLite finds in the file of a store. Ends even if a damaged file contains an endless loop
 * of pages.
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

/** Opens a database for reading. @throws {StoreError} If a file beside it is a link or names another file. */
export function openReadOnly(path: string): DatabaseSync {
  checkBeside(path);
  return new DatabaseSync(path, { readOnly: true, timeout: WAIT_MS });
}

function idIn(file: DatabaseSync): string | undefined {
  const id = file.prepare("select id from store").get()?.id;
  return typeof id === "string" ? id : undefined;
}

/** Tables and indexes, each with its `create` statement. */
type Schema = ReadonlyMap<string, string | null>;

/**
 * Returns whether a file contains only tables and indexes of this program, each exactly as the migrations create it.
 * Views, triggers and computed columns could run forever.
 */
function hasOwnTables(file: DatabaseSync): boolean {
  const found = schemaOf(file);
  const start = schemaAt(0);
  if (found.get("migration") !== start.get("migration")) return false;
  const version = Number(file.prepare("select max(version) as version from migration").get()?.version ?? 0);
  // Compares a newer store with the newest known version; opening that store then reports its version.
  const expected = schemaAt(Math.min(version, migrations.length));
  return found.has("store") && [...found].every(([name, sql]) => expected.get(name) === sql);
}

function schemaAt(version: number): Schema {
  const memory = new DatabaseSync(":memory:");
  try {
    memory.exec("create table migration (version integer primary key) strict");
    for (const sql of migrations.slice(0, version).flat()) {
      memory.exec(sql.startsWith("create table") ? `${sql} strict` : sql);
    }
    return schemaOf(memory);
  } finally {
    memory.close();
  }
}

/** Maximum number of tables and indexes that are read: more than any version of this program creates. */
const MOST_OBJECTS = 200;

function schemaOf(file: DatabaseSync): Schema {
  const rows = file.prepare(`select name, sql from sqlite_schema limit ${MOST_OBJECTS}`).all();
  return new Map(rows.map(({ name, sql }) => [String(name), sql === null ? null : String(sql)]));
}
