/**
 * The disk of a world: real SQLite files, whose statements can fail, and whose databases close when a process dies.
 *
 * The statements of `node:sqlite` are synchronous, so a process dies between two of them: a call of a dead process returns
 * a promise that never resolves, and the machine closes the database, which rolls its transaction back.
 *
 * @module
 */
import { DatabaseSync, StatementSync } from "node:sqlite";
import { currentProcess, forever, type Process } from "./world.ts";

// deno-lint-ignore no-explicit-any -- the replaced methods have many shapes
type Any = any;

/** Statements that change something. */
const isWriting = (sql: string) =>
  /^\s*(insert|update|delete|create|drop|alter|begin|commit|pragma \w+ =)/i.test(sql);

/** An error of SQLite with its number and text. */
export class SqliteError extends Error {
  readonly code = "ERR_SQLITE_ERROR";
  constructor(message: string, readonly errcode: number) {
    super(message);
  }
}

/** Counts of the disk of a world. */
export class Disk implements Disposable {
  /** Number of writing statements so far, for everyone who wants to know whether something changed. */
  writes = 0;
  /** The same, only for statements about intents, halts and runs. */
  deskWrites = 0;
  readonly #undo: (() => void)[] = [];

  constructor() {
    const sqlOf = new WeakMap<object, string>();
    const database = DatabaseSync.prototype as Any;
    const statement = StatementSync.prototype as Any;
    this.#replace(database, "exec", (original) => this.#guarded(original, (_self, [sql]) => String(sql)));
    const prepare = database.prepare;
    this.#replace(database, "prepare", () =>
      function (this: Any, sql: string) {
        const process = currentProcess();
        if (process !== undefined && !process.isAlive) return dead;
        own(process, this);
        const made = prepare.call(this, sql);
        sqlOf.set(made, sql);
        return made;
      });
    for (const name of ["get", "all", "run"]) {
      this.#replace(statement, name, (original) => this.#guarded(original, (self) => sqlOf.get(self) ?? ""));
    }
  }

  [Symbol.dispose](): void {
    for (const each of this.#undo.reverse()) each();
  }

  #replace(on: Any, name: string, make: (original: Any) => Any): void {
    const original = on[name];
    on[name] = make(original);
    this.#undo.push(() => on[name] = original);
  }

  #guarded(original: Any, sqlOf: (self: Any, args: Any[]) => string): Any {
    const count = (sql: string) => {
      if (!isWriting(sql)) return;
      this.writes++;
      if (/\b(intent|halt)\b|^commit/.test(sql)) this.deskWrites++;
    };
    return function (this: Any, ...args: Any[]) {
      const process = currentProcess();
      if (process === undefined) return original.apply(this, args);
      if (!process.isAlive) return forever();
      const sql = sqlOf(this, args);
      if (this instanceof DatabaseSync) own(process, this);
      process.statements++;
      process.onStatement?.(sql, "before");
      if (!process.isAlive) return forever();
      const result = original.apply(this, args);
      count(sql);
      process.onStatement?.(sql, "after");
      return process.isAlive ? result : forever();
    };
  }
}

const owned = new WeakMap<DatabaseSync, Process>();

/** The machine of a process closes its databases when it dies. */
function own(process: Process | undefined, db: DatabaseSync): void {
  if (process === undefined || owned.has(db)) return;
  owned.set(db, process);
  process.atDeath.add(() => {
    try {
      db.close();
    } catch {
      // It was closed already.
    }
  });
}

/** A statement of a dead process. */
const dead = { get: forever, all: forever, run: forever };
export { isWriting };
