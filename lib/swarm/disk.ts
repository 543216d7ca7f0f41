/**
 * Simulates the disk of a world with real SQLite files. Statements can be made to fail, and a database closes when its
 * process dies.
 *
 * The statements of `node:sqlite` are synchronous, so a process dies between two statements. A call of a dead process
 * returns a promise that never resolves. The machine closes the database of a dead process, which rolls its transaction
 * back. A process can stop for a time before a transaction begins. Other processes then use the store, and the
 * transaction begins later.
 *
 * @module
 */
import { DatabaseSync, StatementSync } from "node:sqlite";
import { SqliteStore, waitsForDisk } from "../store/sqlite.ts";
import { currentProcess, forever, outside, type Process } from "./world.ts";

// deno-lint-ignore no-explicit-any -- the replaced methods have many shapes
type Any = any;

/** Returns whether a statement changes something. */
const isWriting = (sql: string) =>
  /^\s*(insert|update|delete|create|drop|alter|begin|commit|pragma \w+ =)/i.test(sql);

/** An error of SQLite with its number and text. */
export class SqliteError extends Error {
  readonly code = "ERR_SQLITE_ERROR";
  constructor(message: string, readonly errcode: number) {
    super(message);
  }
}

/** Effects of a statement. Computed once for each prepared statement, and once for each text that `exec` runs. */
interface StatementEffects {
  db: DatabaseSync;
  sql: string;
  /** Whether it changes something that the invariants compare. */
  isOfDesk: boolean;
  /** Returns the id of the intent that the statement changes; `undefined` if it may change several intents. */
  intentOf(values: readonly unknown[]): unknown;
}

/** The disk of a world. */
export class Disk implements Disposable {
  /** Number of transactions so far that have changed intents or halts. */
  deskWrites = 0;
  /** The process that last changed an intent, by the intent's id. */
  readonly writers = new Map<string, Process>();
  #ids = new Set<string>();
  #isMany = false;
  /**
   * Ids of the intents that open transactions have changed. `undefined` in a set means that any intent may have
   * changed.
   */
  readonly #changing = new WeakMap<DatabaseSync, Set<unknown>>();
  readonly #undo: (() => void)[] = [];

  constructor() {
    const known = new WeakMap<object, StatementEffects>();
    const database = DatabaseSync.prototype as Any;
    const statement = StatementSync.prototype as Any;
    const knownExec = new Map<string, Omit<StatementEffects, "db">>();
    this.#replace(database, "exec", (original) =>
      this.#guarded(original, (db, [sql]) => {
        let found = knownExec.get(sql);
        if (found === undefined) knownExec.set(sql, found = aboutOf(sql));
        return { ...found, db };
      }));
    const prepare = database.prepare;
    this.#replace(database, "prepare", () =>
      function (this: Any, sql: string) {
        const process = currentProcess();
        if (process !== undefined && !process.isAlive) return dead;
        own(process, this);
        const made = prepare.call(this, sql);
        known.set(made, { ...aboutOf(sql), db: this });
        return made;
      });
    this.#replace(SqliteStore.prototype as Any, "begin", (original) =>
      function (this: Any) {
        const process = currentProcess();
        const ms = process?.isAlive ? process.onTransaction?.() : undefined;
        return ms === undefined ? original.call(this) : process!.pause(ms).then(() => original.call(this));
      });
    for (const name of ["get", "all", "run"]) {
      // Every statement comes from `prepare`, so it is in the map.
      this.#replace(statement, name, (original) => this.#guarded(original, (self) => known.get(self)!));
    }
  }

  /**
   * Returns the ids of the intents that have changed since the last call; `undefined` if any intent may have changed.
   */
  takeChanged(): ReadonlySet<string> | undefined {
    const ids = this.#isMany ? undefined : this.#ids;
    this.#ids = new Set();
    this.#isMany = false;
    return ids;
  }

  /** Makes the next check read every intent again, because the files of the store were replaced. */
  forget(): void {
    this.#isMany = true;
    this.deskWrites++;
  }

  [Symbol.dispose](): void {
    for (const each of this.#undo.reverse()) each();
  }

  #replace(on: Any, name: string, make: (original: Any) => Any): void {
    const original = on[name];
    on[name] = make(original);
    this.#undo.push(() => on[name] = original);
  }

  #guarded(original: Any, aboutOf: (self: Any, args: Any[]) => StatementEffects): Any {
    const count = ({ db, isOfDesk, intentOf }: StatementEffects, args: Any[]) => {
      let changing = this.#changing.get(db);
      if (isOfDesk) {
        if (changing === undefined) this.#changing.set(db, changing = new Set());
        const id = intentOf(args);
        changing.add(id);
        const process = currentProcess();
        if (typeof id === "string" && process !== undefined) this.writers.set(id, process);
      }
      if (changing === undefined || db.isTransaction) return;
      // Here the transaction is over: a commit, a rollback, or a statement outside a transaction. A rollback counts,
      // too.
      this.#changing.delete(db);
      this.deskWrites++;
      for (const id of changing) {
        if (typeof id === "string") this.#ids.add(id);
        else this.#isMany = true;
      }
    };
    return function (this: Any, ...args: Any[]) {
      const process = currentProcess();
      if (process === undefined) return original.apply(this, args);
      if (!process.isAlive) return forever();
      const about = aboutOf(this, args);
      own(process, about.db);
      process.statements++;
      process.onStatement?.(about.sql, "before", about.db);
      if (!process.isAlive) return forever();
      const result = original.apply(this, args);
      count(about, args);
      process.onStatement?.(about.sql, "after", about.db);
      return process.isAlive ? result : forever();
    };
  }
}

function aboutOf(sql: string): Omit<StatementEffects, "db"> {
  const isOfDesk = /^\s*(insert into|update|delete from) (intent|halt)\b/i.test(sql);
  // `at` is the number of the placeholder that has the intent's id, counted from 1.
  const before = /^\s*update intent set [^]*? where id = (?=\?)|^\s*insert into intent \(id,/i.exec(sql);
  const at = before?.[0].split("?").length;
  const intentOf = (values: readonly unknown[]) => at === undefined ? undefined : values[at - 1];
  return { sql, isOfDesk, intentOf };
}

const owned = new WeakMap<DatabaseSync, Process>();

/** Makes a process own a database: the database closes when the process dies, as its machine would close it. */
function own(process: Process | undefined, db: DatabaseSync): void {
  if (process === undefined || owned.has(db)) return;
  owned.set(db, process);
  process.atDeath.add(() => {
    try {
      db.close();
    } catch {
      // The database was already closed.
    }
  });
}

/** Replaces the statements of a dead process: their calls never return a result. */
const dead = { get: forever, all: forever, run: forever };

/** The files of a store. */
interface StoreFiles {
  db: Uint8Array;
  /** The write-ahead log. */
  wal: Uint8Array;
}

/** Reads the files of a store. */
export function readStore(path: string): StoreFiles {
  return { db: Deno.readFileSync(path), wal: Deno.readFileSync(`${path}-wal`) };
}

/** Replaces the files of a store that no process has open. */
export function writeStore(path: string, { db, wal }: StoreFiles): void {
  for (const name of [`${path}-wal`, `${path}-shm`]) {
    try {
      Deno.removeSync(name);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  Deno.writeFileSync(path, db);
  Deno.writeFileSync(`${path}-wal`, wal);
}

/** Size of the header of a write-ahead log, bytes. */
const WAL_HEADER = 32;

/**
 * Returns the files that a power cut leaves when it strikes during a commit. A part of what the commit has written to
 * the log is missing. If the store does not wait for the disk at each commit, earlier commits are missing, too.
 *
 * @param part Fraction that is written, at least 0 and below 1: of the commit's bytes, or of the log before the commit
 * if the store does not wait for the disk.
 * @returns `undefined` if the commit has written less than two bytes to the log, or has also changed the database.
 */
export function tornStore(
  db: DatabaseSync,
  { before, after, part }: { before: StoreFiles; after: StoreFiles; part: number },
): StoreFiles | undefined {
  const isSameByte = (at: number) => before.wal[at] === after.wal[at];
  let first = 0;
  while (first < after.wal.length && isSameByte(first)) first++;
  let last = after.wal.length - 1;
  while (last > first && isSameByte(last)) last--;
  const isSame = before.db.length === after.db.length && before.db.every((byte, at) => byte === after.db[at]);
  if (first >= last || !isSame) return undefined;
  // Run this query outside of the simulated process, so that it does not count as a statement of the program.
  if (!outside(() => waitsForDisk(db))) {
    return { db: after.db, wal: after.wal.slice(0, WAL_HEADER + Math.floor(part * (first - WAL_HEADER))) };
  }
  // At least the last byte that the commit has written is missing.
  const wal = before.wal.length >= last
    ? before.wal.slice()
    : new Uint8Array(first + Math.floor(part * (last - first)));
  wal.set(after.wal.subarray(0, first + Math.floor(part * (last - first))));
  return { db: after.db, wal };
}

export { isWriting };
