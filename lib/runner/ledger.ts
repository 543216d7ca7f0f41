/**
 * The ledger: one SQLite file that knows every slot, run and step. Durable at each commit, shared by processes.
 *
 * @module
 */
import { backup, DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { PRIVATE_FILE } from "../private_files.ts";
import { isBusy, LedgerError } from "./ledger_damage.ts";
import {
  type LastWrite,
  lostLedger,
  type Mark,
  readMark,
  sizeOf,
  whyCutOff,
  whyOlder,
  writeMark,
} from "./ledger_mark.ts";
import { migrations } from "./migrations.ts";

export { LedgerError };

/** Values that a statement takes; `undefined` is stored as null. */
export type SqlValue = string | number | undefined | null;

/** How long SQLite waits for another process's transaction before it says so. */
const TURN_MS = 1_000;

/** How a ledger is opened. */
export interface LedgerOptions {
  /** Why it may not outlive the process, where somebody has looked and it is so; nothing is written to the broker. */
  doubt?: string;
  /**
   * What becomes of the mark beside the file: `check` refuses a ledger that is older than its mark, and keeps the mark
   * up to date; `leave` neither reads nor writes it, and is for copies; `replace` does not read it, and writes it when
   * {@linkcode Ledger.mark} is called. @default "check"
   */
  mark?: "check" | "leave" | "replace";
  /**
   * How long to wait while another process keeps the ledger locked, in whole seconds. Nothing else goes on in this
   * process meanwhile. @default 5 s
   */
  waitMs?: number;
  /** The same while the ledger is opened. @default as `waitMs` */
  openMs?: number;
  /** Told once for each wait that takes more than a second, with the time that it may take. */
  onBusy?(mostMs: number): void;
  /** Draws the id of a ledger that is new. @default a random UUID */
  drawId?(): string;
}

/** A ledger that is open. */
export class Ledger implements Disposable {
  /** Where it lies; `:memory:` for one that is not kept. */
  readonly path: string;
  /** Why it may not outlive the process, where somebody has looked and it is so; nothing is written to the broker. */
  readonly doubt?: string;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** Whether a mark beside the file is kept. */
  readonly #isMarked: boolean;
  readonly #onBusy: (mostMs: number) => void;
  #waitMs: number;

  constructor(
    path: string,
    {
      doubt,
      mark = "check",
      drawId = () => crypto.randomUUID(),
      waitMs = 5_000,
      openMs = waitMs,
      onBusy = () => {},
    }: LedgerOptions = {},
  ) {
    this.path = path;
    this.#onBusy = onBusy;
    this.#waitMs = openMs;
    if (doubt !== undefined) this.doubt = doubt;
    this.#isMarked = mark !== "leave" && path !== ":memory:" && path !== "";
    const isChecked = this.#isMarked && mark === "check";
    // Read before anything else: whatever the mark names stood in the ledger by then.
    const known = isChecked ? readMark(path) : undefined;
    const cutOff = isChecked ? whyCutOff(path, known) : undefined;
    if (cutOff !== undefined) throw lostLedger(path, cutOff, known !== undefined);
    const isNew = path !== ":memory:" && path !== "" && sizeOf(path) === undefined;
    this.#db = new DatabaseSync(path, { timeout: Math.min(TURN_MS, openMs, waitMs) });
    try {
      // SQLite gives the files that it adds beside this one the same mode.
      if (isNew && Deno.build.os !== "windows") Deno.chmodSync(path, PRIVATE_FILE);
      this.#refuseOther();
      const older = known === undefined ? undefined : whyOlder(known, this.ownMark());
      if (older !== undefined) throw lostLedger(path, older, true);
      this.#exec("pragma journal_mode = wal");
      this.#exec("pragma synchronous = full");
      this.#exec("pragma foreign_keys = on");
      this.#migrate(drawId);
      if (isChecked && JSON.stringify(known) !== JSON.stringify(this.ownMark())) this.mark();
      this.#waitMs = waitMs;
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

  /** Whether a table is there. */
  #has(table: string): boolean {
    return this.get("select 1 as there from sqlite_master where type = 'table' and name = ?", table) !==
      undefined;
  }

  #version(): number {
    return this.get<{ version: number | null }>("select max(version) as version from migration")?.version ??
      0;
  }

  /** Runs the migrations that are missing; processes that start together do so one after the other. */
  #migrate(drawId: () => string): void {
    // Whoever only looks at a ledger waits for nobody who writes.
    if (this.#has("migration") && this.#version() === migrations.length) return;
    this.transaction(() => {
      this.run("create table if not exists migration (version integer primary key) strict");
      const version = this.#version();
      if (version > migrations.length) {
        throw new LedgerError(
          `Cannot open the ledger "${this.path}": it has version ${version}, this program knows ${migrations.length}`,
          { code: "newer-ledger" },
        );
      }
      for (const [index, statements] of migrations.entries()) {
        if (index < version) continue;
        for (const sql of statements) this.#exec(sql.startsWith("create table") ? `${sql} strict` : sql);
        this.run("insert into migration (version) values (?)", index + 1);
      }
      this.run("insert into store (one, id) values (1, ?) on conflict do nothing", drawId());
    });
  }

  /** What a mark of this ledger says; nothing when it is new, or as old as the first versions. */
  ownMark(): Mark | undefined {
    if (!this.#has("store")) return undefined;
    const store = this.get<{ id: string }>("select id from store")?.id;
    if (store === undefined) return undefined;
    const rows = this.all<{ account: string; number: number; run_key: string; step_id: string; at: number }>(
      "select * from account_write order by account",
    );
    const lastWrites = rows.map((
      { account, number, run_key: run, step_id: step, at },
    ): [string, LastWrite] => [
      account,
      { number, run, step, at: new Date(at).toISOString() },
    ]);
    return { store, lastWrites: Object.fromEntries(lastWrites) };
  }

  /** Counts a write that is about to begin, in the transaction that begins it. {@linkcode mark} makes it known outside. */
  countWrite(
    { account, runKey, step, at }: { account: string; runKey: string; step: string; at: number },
  ): void {
    this.run(
      `insert into account_write (account, number, run_key, step_id, at) values (?, 1, ?, ?, ?)
        on conflict (account) do update set number = account_write.number + 1, run_key = excluded.run_key,
          step_id = excluded.step_id, at = excluded.at`,
      account,
      runKey,
      step,
      at,
    );
  }

  /**
   * Writes the last writes of all accounts into the mark beside the file, durably. A write is sent only after this.
   *
   * @throws When the mark cannot be written: nothing may be sent then.
   */
  mark(): void {
    if (!this.#isMarked) return;
    if (this.#db.isTransaction) {
      throw new TypeError("Cannot write the mark: what it names is not committed yet");
    }
    // Within a transaction, so that processes write it one after the other and it never goes back.
    this.transaction(() => {
      const mark = this.ownMark();
      if (mark !== undefined) writeMark(this.path, mark);
    });
  }

  /** Does something as soon as no other process keeps the ledger locked. @throws {LedgerError} `busy` */
  #whenFree<T>(work: () => T): T {
    // Where the whole wait is shorter, SQLite's own is all of it.
    const turnMs = Math.min(TURN_MS, this.#waitMs);
    for (let waitedMs = turnMs;; waitedMs += turnMs) {
      try {
        return work();
      } catch (error) {
        if (!isBusy(error) || this.#db.isTransaction) throw error;
        if (waitedMs >= this.#waitMs) {
          throw new LedgerError(
            `Cannot use the ledger "${this.path}": another process has kept it locked for ${
              waitedMs / 1000
            } s; end that process, or try again later`,
            { code: "busy", cause: error },
          );
        }
        if (waitedMs === turnMs) this.#onBusy(this.#waitMs);
      }
    }
  }

  #exec(sql: string): void {
    this.#whenFree(() => this.#db.exec(sql));
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
    this.#exec("begin immediate");
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
    return this.#whenFree(() => Number(this.#statement(sql).run(...bind(values)).changes));
  }

  /** Returns the first row; the type says what the statement selects. */
  get<Row>(sql: string, ...values: SqlValue[]): Row | undefined {
    // Tables are strict: a column holds what its declaration says.
    return this.#whenFree(() => this.#statement(sql).get(...bind(values)) as Row | undefined);
  }

  /** Returns every row; the type says what the statement selects. */
  all<Row>(sql: string, ...values: SqlValue[]): Row[] {
    return this.#whenFree(() => this.#statement(sql).all(...bind(values)) as Row[]); // as in `get`
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
    if (Deno.build.os !== "windows") Deno.chmodSync(path, PRIVATE_FILE);
  }

  [Symbol.dispose](): void {
    this.#statements.clear();
    this.#db.close();
  }
}

function bind(values: readonly SqlValue[]): SQLInputValue[] {
  return values.map((value) => value ?? null);
}
