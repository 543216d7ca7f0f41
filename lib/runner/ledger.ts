/**
 * The ledger: one SQLite file that knows every slot, run and step. Durable at each commit, shared by processes.
 *
 * @module
 */
import { backup, DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { BrokerError } from "../errors.ts";
import { migrations } from "./migrations.ts";

/** The ledger cannot be used: damaged, locked for too long, or written by a newer version. */
export class LedgerError extends BrokerError {
  override readonly name: string = "LedgerError";
}

/** Values that a statement takes; `undefined` is stored as null. */
export type SqlValue = string | number | undefined | null;

/** How long a process waits for another one's transaction. */
const BUSY_MS = 5_000;

/** A ledger that is open. */
export class Ledger implements Disposable {
  /** Where it lies; `:memory:` for one that is not kept. */
  readonly path: string;
  /** Why it may not outlive the process, where somebody has looked and it is so; nothing is written to the broker. */
  readonly doubt?: string;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(path: string, { doubt }: { doubt?: string } = {}) {
    this.path = path;
    if (doubt !== undefined) this.doubt = doubt;
    this.#db = new DatabaseSync(path, { timeout: BUSY_MS });
    try {
      this.#refuseOther();
      this.#db.exec("pragma journal_mode = wal");
      this.#db.exec("pragma synchronous = full");
      this.#db.exec("pragma foreign_keys = on");
      this.#migrate();
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  /** Nothing is written to a file that another program keeps its data in. */
  #refuseOther(): void {
    const tables = this.all<{ name: string }>("select name from sqlite_master where type = 'table'");
    if (tables.length === 0 || tables.some(({ name }) => name === "migration")) return;
    throw new LedgerError(`Cannot use the ledger "${this.path}": it is the database of another program`, {
      code: "not-a-ledger",
    });
  }

  /** Runs the migrations that are missing; processes that start together do so one after the other. */
  #migrate(): void {
    this.transaction(() => {
      this.run("create table if not exists migration (version integer primary key) strict");
      const version = this.get<{ version: number | null }>("select max(version) as version from migration")
        ?.version ?? 0;
      if (version > migrations.length) {
        throw new LedgerError(
          `Cannot open the ledger "${this.path}": it has version ${version}, this program knows ${migrations.length}`,
          { code: "newer-ledger" },
        );
      }
      for (const [index, statements] of migrations.entries()) {
        if (index < version) continue;
        for (const sql of statements) this.#db.exec(sql.startsWith("create table") ? `${sql} strict` : sql);
        this.run("insert into migration (version) values (?)", index + 1);
      }
    });
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) this.#statements.set(sql, statement = this.#db.prepare(sql));
    return statement;
  }

  /**
   * Does everything in one transaction that no other process can come between, or nothing of it when it throws.
   * Within another transaction it is part of that one.
   */
  transaction<T>(work: () => T): T {
    if (this.#db.isTransaction) return work();
    this.#db.exec("begin immediate");
    try {
      const result = work();
      this.#db.exec("commit");
      return result;
    } catch (error) {
      // SQLite itself has rolled back after some errors, such as a full disk.
      if (this.#db.isTransaction) this.#db.exec("rollback");
      throw error;
    }
  }

  /** Executes a statement and returns how many rows it changed. */
  run(sql: string, ...values: SqlValue[]): number {
    return Number(this.#statement(sql).run(...bind(values)).changes);
  }

  /** Returns the first row; the type says what the statement selects. */
  get<Row>(sql: string, ...values: SqlValue[]): Row | undefined {
    // Tables are strict: a column holds what its declaration says.
    return this.#statement(sql).get(...bind(values)) as Row | undefined;
  }

  /** Returns every row; the type says what the statement selects. */
  all<Row>(sql: string, ...values: SqlValue[]): Row[] {
    return this.#statement(sql).all(...bind(values)) as Row[]; // as in `get`
  }

  /** Records something that happened. */
  event(at: number, kind: string, data: Readonly<Record<string, unknown>>, runKey?: string): void {
    this.run(
      "insert into event (at, run_key, kind, data) values (?, ?, ?, ?)",
      at,
      runKey,
      kind,
      JSON.stringify(data),
    );
  }

  /** Writes a copy of one moment to a file that is not there yet. */
  async copyTo(path: string): Promise<void> {
    // `vacuum into` attaches the file, which a process with less than all permissions may not.
    await backup(this.#db, path);
  }

  [Symbol.dispose](): void {
    this.#statements.clear();
    this.#db.close();
  }
}

function bind(values: readonly SqlValue[]): SQLInputValue[] {
  return values.map((value) => value ?? null);
}
