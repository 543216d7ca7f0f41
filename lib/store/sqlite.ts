/**
 * A store in one SQLite file, durable at each commit, which the processes of one machine may share.
 *
 * @module
 */
import { backup, DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { isLink, makePrivate, PRIVATE_FILE } from "../private_files.ts";
import { checkBeside, LIMITED } from "./distrust.ts";
import { isBusy } from "./store_error.ts";
import {
  type LastWrite,
  lostStore,
  type Mark,
  readMark,
  sizeOf,
  whyCutOff,
  whyOlder,
  writeMark,
} from "./mark.ts";
import { migrate } from "./migrations.ts";
import { FOREIGN_TABLES, tablesIn } from "./read_only.ts";
import { checkNumbers, isRead, type SqlValue, type StatementResult, Store } from "./store.ts";
import { StoreError } from "./store_error.ts";

/**
 * How long SQLite itself waits for another process's transaction. Nothing else in this process runs during this wait.
 */
const TURN_MS = 100;
/** Maximum number of pages of 4 kB that are returned to the file system at a time. */
const MOST_FREED_PAGES = 2_000;
/** A wait longer than this is reported. */
const REPORTED_WAIT_MS = 1_000;

/** Options of a file store. */
export interface SqliteOptions {
  /** Why the file may be lost or corrupted. If this is given, the runner sends no write to the broker. */
  risk?: string;
  /**
   * What to do with the mark file. `check` rejects a store that is older than its mark, and keeps the mark up to date.
   * `leave` neither reads nor writes the mark; use it for copies. `replace` does not read the mark, and the next call
   * of {@linkcode SqliteStore.mark} writes a new mark. @default "check"
   */
  mark?: "check" | "leave" | "replace";
  /** How long to wait while another process keeps the store locked. @default 5 s */
  waitMs?: number;
  /** How long to wait for a locked store while opening it. @default `waitMs` */
  openMs?: number;
  /** Called once for each wait of more than a second, with the maximum length of the wait. */
  onBusy?(mostMs: number): void;
  /** Returns an id for a new store. @default a random UUID */
  drawId?(): string;
}

/** Opens or creates a file; `:memory:` is a temporary store. */
export async function openSqlite(path: string, options: SqliteOptions = {}): Promise<SqliteStore> {
  const {
    risk,
    mark = "check",
    drawId = () => crypto.randomUUID(),
    waitMs = 5_000,
    openMs = waitMs,
    onBusy = () => {},
  } = options;
  const isFile = path !== ":memory:" && path !== "";
  const isMarked = mark !== "leave" && isFile;
  const isChecked = isMarked && mark === "check";
  // Read the mark before the store. Otherwise another process could add a write to both between the two reads.
  const known = isChecked ? readMark(path) : undefined;
  const cutOff = isChecked ? whyCutOff(path, known) : undefined;
  if (cutOff !== undefined) throw lostStore(path, cutOff, known !== undefined);
  if (isFile) {
    checkBeside(path);
    if (!sizeOf(path)) makeFile(path);
    // Make the files private before SQLite opens the store, because SQLite gives its own files the same access mode.
    for (const each of [path, `${path}-wal`, `${path}-shm`]) makePrivate(each);
  }
  const db = new DatabaseSync(path, { ...LIMITED, timeout: Math.min(TURN_MS, openMs, waitMs) });
  try {
    const store = new SqliteStore(db, { name: path, risk, isMarked, waitMs: openMs, onBusy });
    await store.prepare(drawId, known);
    if (isChecked && JSON.stringify(known) !== JSON.stringify(await store.ownMark())) await store.mark();
    store.waitMs = waitMs;
    return store;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Returns whether each commit of a database returns only after its data is on the disk. */
export const waitsForDisk = (db: DatabaseSync): boolean =>
  Number(db.prepare("pragma synchronous").get()?.synchronous) >= 2; // 2 is "full"

/** An open store in a file. */
export class SqliteStore extends Store {
  readonly name: string;
  readonly risk: string | undefined;
  /** How long to wait for another process that has locked the store. */
  waitMs: number;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** Whether the mark file is kept up to date. */
  readonly #isMarked: boolean;
  readonly #onBusy: (mostMs: number) => void;

  constructor(
    db: DatabaseSync,
    { name, risk, isMarked, waitMs, onBusy }: {
      name: string;
      risk?: string;
      isMarked: boolean;
      waitMs: number;
      onBusy(mostMs: number): void;
    },
  ) {
    super();
    this.#db = db;
    this.name = name;
    this.risk = risk;
    this.waitMs = waitMs;
    this.#isMarked = isMarked;
    this.#onBusy = onBusy;
  }

  /** Checks that the file is a store and not older than its mark, and creates or updates its tables. */
  async prepare(drawId: () => string, known: Mark | undefined): Promise<void> {
    const tables = await this.all<{ name: string }>("select name from sqlite_master where type = 'table'");
    if (tables.length > 0 && !tables.some(({ name }) => name === "migration")) {
      throw new StoreError(`Cannot use the store "${this.name}": it is the database of another program`, {
        code: "not-a-store",
      });
    }
    // A file that somebody else made may contain triggers that change other rows, and views that never end.
    const kind = await this.#whenFree(() => tablesIn(this.#db));
    if (kind === "foreign") {
      throw new StoreError(`Cannot use the store "${this.name}": ${FOREIGN_TABLES}`, { code: "not-a-store" });
    }
    // If a newer hsgate wrote the store, `migrate` below throws the error for that.
    const isCompared = known !== undefined && kind !== "newer";
    const older = isCompared ? whyOlder(known, await this.ownMark()) : undefined;
    if (older !== undefined) throw lostStore(this.name, older, true);
    for (
      const each of [
        // Lets the file shrink later. The statement has an effect only before the first table exists. It is not used
        // for an existing store, because it writes, and opening a store must not wait for another writer.
        ...tables.length === 0 ? ["auto_vacuum = incremental"] : [],
        "journal_mode = wal",
        "synchronous = full",
        "foreign_keys = on",
      ]
    ) {
      await this.#whenFree(() => this.#db.exec(`pragma ${each}`));
    }
    await migrate(this, {
      has: (table) => this.#has(table),
      translate: (sql) => sql.startsWith("create table") ? `${sql} strict` : sql,
      drawId,
    });
  }

  readonly clockFault = undefined;

  /** Returns `undefined`: only one machine uses the file, so there is no shared clock. */
  now(): undefined {
    return undefined;
  }

  /** Returns the mark for the current content; `undefined` for a new store. */
  async ownMark(): Promise<Mark | undefined> {
    if (!await this.#has("store")) return undefined;
    const store = (await this.get<{ id: string }>("select id from store"))?.id;
    if (store === undefined) return undefined;
    const rows = await this.all<
      { account: string; number: number; run_key: string; step_id: string; at: number }
    >("select * from account_write order by account");
    const lastWrites = rows.map((
      { account, number, run_key: run, step_id: step, at },
    ): [string, LastWrite] => [
      account,
      { number, run, step, at: new Date(at).toISOString() },
    ]);
    return { store, lastWrites: Object.fromEntries(lastWrites) };
  }

  /**
   * Writes the last writes of all accounts to the mark file, durably. A write is sent only after this.
   *
   * @throws If the mark cannot be written: then nothing may be sent.
   */
  async mark(): Promise<void> {
    if (!this.#isMarked) return;
    if (this.isInTransaction) {
      throw new TypeError("Cannot write the mark: the transaction is not committed yet");
    }
    // Write the mark in a transaction, so that processes do this one after the other, and never replace a newer mark
    // with an older one.
    await this.transaction(async () => {
      const mark = await this.ownMark();
      if (mark !== undefined) writeMark(this.name, mark);
    });
  }

  /**
   * Makes the file smaller by up to {@linkcode MOST_FREED_PAGES} pages if more than a quarter of it is free. If less is
   * free, the free space is kept for new rows.
   */
  override async giveBackSpace(): Promise<void> {
    const pages = await this.get<{ page_count: number }>("pragma page_count");
    const free = await this.get<{ freelist_count: number }>("pragma freelist_count");
    if (pages === undefined || free === undefined || free.freelist_count <= pages.page_count / 4) return;
    await this.all(`pragma incremental_vacuum(${MOST_FREED_PAGES})`); // `all`: each row that is read frees one page
  }

  /** Writes a copy, as of one moment, to a new file. */
  async copyTo(path: string): Promise<void> {
    // If a link had this name, SQLite would follow it.
    Deno.openSync(path, { write: true, createNew: true, mode: PRIVATE_FILE }).close();
    checkBeside(path);
    // `vacuum into` is not used, because it attaches the file, which requires all permissions in Deno.
    await backup(this.#db, path);
  }

  protected execute(sql: string, values: readonly SqlValue[], wanted: StatementResult): unknown {
    const statement = this.#statement(sql);
    const bound = values.map((value): SQLInputValue => value ?? null);
    try {
      if (wanted === "changes") return Number(statement.run(...bound).changes);
      return wanted === "row" ? statement.get(...bound) : statement.all(...bound);
    } catch (error) {
      if (error instanceof Error && error.message === "string or blob too big") {
        throw new StoreError(
          `Cannot use the store "${this.name}": a value is larger than ${
            LIMITED.limits.length / 1_000_000
          } MB`,
          { code: "value", cause: error },
        );
      }
      // A number is too large for JavaScript. Only a second reading with `bigint` shows which one.
      if (error instanceof RangeError && isRead(sql)) checkNumbers(sql, this.#withBigInts(sql, bound));
      throw error;
    }
  }

  protected executeAlone(sql: string, values: readonly SqlValue[], wanted: StatementResult): unknown {
    return this.#whenFree(() => this.execute(sql, values, wanted));
  }

  protected begin(): void | Promise<void> {
    return this.#whenFree(() => this.#db.exec("begin immediate"));
  }

  protected commit(): void {
    this.#db.exec("commit");
  }

  protected rollback(): void {
    // After some errors, such as a full disk, SQLite has already rolled back.
    if (this.#db.isTransaction) this.#db.exec("rollback");
  }

  protected close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  async #has(table: string): Promise<boolean> {
    const found = await this.get(
      "select 1 as there from sqlite_master where type = 'table' and name = ?",
      table,
    );
    return found !== undefined;
  }

  #withBigInts(sql: string, bound: readonly SQLInputValue[]): Record<string, unknown>[] {
    const statement = this.#db.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all(...bound).map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([column, value]) => [
          column,
          typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value,
        ]),
      )
    );
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) this.#statements.set(sql, statement = this.#db.prepare(sql));
    return statement;
  }

  /** Runs work as soon as no other process keeps the store locked. @throws {StoreError} `busy` */
  #whenFree<T>(work: () => T): T | Promise<T> {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      return this.#retry(work, error);
    }
  }

  /** Repeats work that found the store locked, until the longest wait is over. */
  async #retry<T>(work: () => T, cause: unknown): Promise<T> {
    // If the whole wait is shorter than one try of SQLite, SQLite itself does all of the waiting.
    const turnMs = Math.min(TURN_MS, this.waitMs);
    for (let waitedMs = turnMs, isReported = false;; waitedMs += turnMs) {
      if (waitedMs >= this.waitMs) {
        throw new StoreError(
          `Cannot use the store "${this.name}": another process has kept it locked for ${
            waitedMs / 1000
          } s; end that process, or try again later`,
          { code: "busy", cause },
        );
      }
      if (waitedMs >= REPORTED_WAIT_MS && !isReported) this.#onBusy(this.waitMs);
      isReported = waitedMs >= REPORTED_WAIT_MS;
      // Other work of this process can run between two tries.
      await new Promise<void>((resolve) => setTimeout(resolve));
      try {
        return work();
      } catch (error) {
        if (!isBusy(error)) throw error;
        cause = error;
      }
    }
  }
}

/**
 * Creates the empty file of a new store. If SQLite created the file, it would follow a link of this name. SQLite gives
 * its other files the access mode of this file.
 */
function makeFile(path: string): void {
  if (isLink(path)) {
    throw new StoreError(
      `Cannot create the store "${path}": it is a symbolic link to a file that is missing or empty; remove the ` +
        "link, or name the target file with --store",
      { code: "link" },
    );
  }
  try {
    Deno.openSync(path, { write: true, createNew: true, mode: PRIVATE_FILE }).close();
  } catch (error) {
    // If the file exists, it is empty, or another process has just created it.
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}
