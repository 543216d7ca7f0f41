/**
 * A store in one SQLite file: durable at each commit, shared by the processes of one machine.
 *
 * @module
 */
import { backup, DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { isLink, PRIVATE_FILE } from "../private_files.ts";
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
import { type SqlValue, Store, type Wanted } from "./store.ts";
import { StoreError } from "./store_error.ts";

/** How long SQLite itself waits for another process's transaction; nothing else goes on in this process meanwhile. */
const TURN_MS = 100;
/** Pages of 4 kB that are given back at a time. */
const GIVEN_BACK = 2_000;
/** A wait that takes longer is told. */
const TOLD_MS = 1_000;

/** How a file is opened. */
export interface SqliteOptions {
  /** Why it may not outlive the process, where somebody has looked and it is so; nothing is written to the broker. */
  doubt?: string;
  /**
   * What becomes of the mark beside the file: `check` refuses a store that is older than its mark, and keeps the mark
   * up to date; `leave` neither reads nor writes it, and is for copies; `replace` does not read it, and writes it when
   * {@linkcode SqliteStore.mark} is called. @default "check"
   */
  mark?: "check" | "leave" | "replace";
  /** How long to wait while another process keeps the store locked. @default 5 s */
  waitMs?: number;
  /** The same while the store is opened. @default as `waitMs` */
  openMs?: number;
  /** Told once for each wait that takes more than a second, with the time that it may take. */
  onBusy?(mostMs: number): void;
  /** Draws the id of a store that is new. @default a random UUID */
  drawId?(): string;
}

/** Opens a file, or makes it; `:memory:` is one that is not kept. */
export async function openSqlite(path: string, options: SqliteOptions = {}): Promise<SqliteStore> {
  const {
    doubt,
    mark = "check",
    drawId = () => crypto.randomUUID(),
    waitMs = 5_000,
    openMs = waitMs,
    onBusy = () => {},
  } = options;
  const isFile = path !== ":memory:" && path !== "";
  const isMarked = mark !== "leave" && isFile;
  const isChecked = isMarked && mark === "check";
  // Read before anything else: whatever the mark names stood in the store by then.
  const known = isChecked ? readMark(path) : undefined;
  const cutOff = isChecked ? whyCutOff(path, known) : undefined;
  if (cutOff !== undefined) throw lostStore(path, cutOff, known !== undefined);
  if (isFile && !sizeOf(path)) makeFile(path);
  const db = new DatabaseSync(path, { timeout: Math.min(TURN_MS, openMs, waitMs) });
  try {
    const store = new SqliteStore(db, { name: path, doubt, isMarked, waitMs: openMs, onBusy });
    await store.prepare(drawId, known);
    if (isChecked && JSON.stringify(known) !== JSON.stringify(await store.ownMark())) await store.mark();
    store.waitMs = waitMs;
    return store;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** A store in a file that is open. */
export class SqliteStore extends Store {
  readonly name: string;
  readonly doubt: string | undefined;
  /** How long to wait while another process keeps the store locked. */
  waitMs: number;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** Whether a mark beside the file is kept. */
  readonly #isMarked: boolean;
  readonly #onBusy: (mostMs: number) => void;

  constructor(
    db: DatabaseSync,
    { name, doubt, isMarked, waitMs, onBusy }: {
      name: string;
      doubt?: string;
      isMarked: boolean;
      waitMs: number;
      onBusy(mostMs: number): void;
    },
  ) {
    super();
    this.#db = db;
    this.name = name;
    this.doubt = doubt;
    this.waitMs = waitMs;
    this.#isMarked = isMarked;
    this.#onBusy = onBusy;
  }

  /** Makes the file this program's, and its tables those of this version. */
  async prepare(drawId: () => string, known: Mark | undefined): Promise<void> {
    const tables = await this.all<{ name: string }>("select name from sqlite_master where type = 'table'");
    if (tables.length > 0 && !tables.some(({ name }) => name === "migration")) {
      throw new StoreError(`Cannot use the store "${this.name}": it is the database of another program`, {
        code: "not-a-store",
      });
    }
    const older = known === undefined ? undefined : whyOlder(known, await this.ownMark());
    if (older !== undefined) throw lostStore(this.name, older, true);
    // How a file gives back space must be said before its first table.
    for (
      const each of [
        "auto_vacuum = incremental",
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

  /** A file is used on one machine, which has one clock. */
  now(): undefined {
    return undefined;
  }

  /** What a mark of this store says; nothing when it is new. */
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
   * Writes the last writes of all accounts into the mark beside the file, durably. A write is sent only after this.
   *
   * @throws When the mark cannot be written: nothing may be sent then.
   */
  async mark(): Promise<void> {
    if (!this.#isMarked) return;
    if (this.isInTransaction) {
      throw new TypeError("Cannot write the mark: what it names is not committed yet");
    }
    // Within a transaction, so that processes write it one after the other and it never goes back.
    await this.transaction(async () => {
      const mark = await this.ownMark();
      if (mark !== undefined) writeMark(this.name, mark);
    });
  }

  /** Makes the file smaller while more than a quarter of it is free; less is kept for new rows. */
  override async giveBackSpace(): Promise<void> {
    const pages = await this.get<{ page_count: number }>("pragma page_count");
    const free = await this.get<{ freelist_count: number }>("pragma freelist_count");
    if (pages === undefined || free === undefined || free.freelist_count <= pages.page_count / 4) return;
    await this.all(`pragma incremental_vacuum(${GIVEN_BACK})`); // it returns a page at each step
  }

  /** Writes a copy of one moment to a file that is not there yet. */
  async copyTo(path: string): Promise<void> {
    // SQLite itself would follow a link of that name.
    Deno.openSync(path, { write: true, createNew: true, mode: PRIVATE_FILE }).close();
    // `vacuum into` attaches the file, which a process with less than all permissions may not.
    await backup(this.#db, path);
  }

  protected execute(sql: string, values: readonly SqlValue[], wanted: Wanted): unknown {
    const statement = this.#statement(sql);
    const bound = values.map((value): SQLInputValue => value ?? null);
    if (wanted === "row") return statement.get(...bound);
    return wanted === "rows" ? statement.all(...bound) : Number(statement.run(...bound).changes);
  }

  protected async executeAlone(sql: string, values: readonly SqlValue[], wanted: Wanted): Promise<unknown> {
    return await this.#whenFree(() => this.execute(sql, values, wanted));
  }

  protected async begin(): Promise<void> {
    await this.#whenFree(() => this.#db.exec("begin immediate"));
  }

  protected commit(): void {
    this.#db.exec("commit");
  }

  protected rollback(): void {
    // SQLite itself has rolled back after some errors, such as a full disk.
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

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) this.#statements.set(sql, statement = this.#db.prepare(sql));
    return statement;
  }

  /** Does something as soon as no other process keeps the store locked. @throws {StoreError} `busy` */
  async #whenFree<T>(work: () => T): Promise<T> {
    // Where the whole wait is shorter, SQLite's own is all of it.
    const turnMs = Math.min(TURN_MS, this.waitMs);
    for (let waitedMs = turnMs, isTold = false;; waitedMs += turnMs) {
      try {
        return work();
      } catch (error) {
        if (!isBusy(error)) throw error;
        if (waitedMs >= this.waitMs) {
          throw new StoreError(
            `Cannot use the store "${this.name}": another process has kept it locked for ${
              waitedMs / 1000
            } s; end that process, or try again later`,
            { code: "busy", cause: error },
          );
        }
        if (waitedMs >= TOLD_MS && !isTold) this.#onBusy(this.waitMs);
        isTold = waitedMs >= TOLD_MS;
      }
      // Whatever else is ready in this process goes on between two tries.
      await new Promise<void>((resolve) => setTimeout(resolve));
    }
  }
}

/**
 * Makes the empty file of a new store: SQLite itself would make it where a link leads to. SQLite gives the files that
 * it adds beside this one the same mode.
 */
function makeFile(path: string): void {
  if (isLink(path)) {
    throw new StoreError(
      `Cannot make the store "${path}": it is a symbolic link to a file that is not there or is empty; remove the ` +
        "link, or name the file that it leads to with --store",
      { code: "link" },
    );
  }
  try {
    Deno.openSync(path, { write: true, createNew: true, mode: PRIVATE_FILE }).close();
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error; // another process has made it
  }
}
