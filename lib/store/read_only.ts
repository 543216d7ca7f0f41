/**
 * Reads the file of a store that may come from somebody else. The file stays unchanged, and no view or trigger in it
 * runs. SQLite may create the empty files `-wal` and `-shm` next to it.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
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
  const file = new DatabaseSync(path, { readOnly: true, timeout: WAIT_MS });
  try {
    return hasOwnTables(file) ? idIn(file) : undefined;
  } finally {
    file.close();
  }
}

/**
 * Returns what is damaged in the file of a store, even if a damaged page tree would take forever to read.
 *
 * @returns `undefined` if nothing is damaged.
 */
export function damageIn(path: string): string | undefined {
  const file = new DatabaseSync(path, { readOnly: true, timeout: WAIT_MS });
  try {
    const found = String(file.prepare("pragma quick_check(1)").get()?.quick_check);
    return found === "ok" ? undefined : found;
  } finally {
    file.close();
  }
}

function idIn(file: DatabaseSync): string | undefined {
  const id = file.prepare("select id from store").get()?.id;
  return typeof id === "string" ? id : undefined;
}

/** Tables and indexes, each with its `create` statement. */
type Schema = ReadonlyMap<string, string | null>;

/**
 * Checks that a file contains only tables and indexes of this program, each exactly as the migrations create it. Views,
 * triggers and computed columns could run forever.
 */
function hasOwnTables(file: DatabaseSync): boolean {
  const found = schemaOf(file);
  const start = schemaAt(0);
  if (found.get("migration") !== start.get("migration")) return false;
  const version = Number(file.prepare("select max(version) as version from migration").get()?.version ?? 0);
  // Opening a newer store rejects it with its version.
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

/** More objects than this program ever creates; a longer list fits no version. */
const MOST_OBJECTS = 200;

function schemaOf(file: DatabaseSync): Schema {
  const rows = file.prepare(`select name, sql from sqlite_schema limit ${MOST_OBJECTS}`).all();
  return new Map(rows.map(({ name, sql }) => [String(name), sql === null ? null : String(sql)]));
}
