/**
 * Defines the interface of all stores: statements and transactions, with one SQL text for SQLite and PostgreSQL.
 *
 * A store has one connection, and its transactions run one after the other. A statement that is called in the work of a
 * transaction belongs to that transaction, so functions need only the store as a parameter.
 *
 * A statement about many rows gets the rows as one value, made by {@linkcode rowsValue}, and reads it with
 * `json_each(?) as given`:
 * `given.value ->> 0` is the first column of a row, and `given.key` is the row's position.
 * Over a network, an additional statement takes as much time as thousands of additional rows in one statement.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { isDeeper } from "../foreign_values.ts";
import { type Machine, machineWith } from "../time.ts";
import { StoreError } from "./store_error.ts";

/** Parameter of a statement; `undefined` is stored as null. */
export type SqlValue = string | number | undefined | null;

/** Returns rows as one value for `json_each(?) as given`. */
export function rowsValue(rows: readonly (readonly SqlValue[])[]): string {
  // In a list, JSON replaces `undefined` with null. A statement stores `undefined` as null, too.
  return JSON.stringify(rows);
}

/** What a statement returns: the first row, every row, or the number of changed rows. */
export type StatementResult = "row" | "rows" | "changes";

/** Returns whether a statement changes nothing. */
export const isRead = (sql: string): boolean => /^\s*select\b/i.test(sql);

interface Transaction {
  hasEnded: boolean;
  /** The error of the first statement that failed. The transaction is then rolled back. */
  failure?: { error: unknown };
}

/** An open store. */
export abstract class Store implements AsyncDisposable {
  /** Name for messages: the path, or the URL without the password. */
  abstract readonly name: string;
  /** Why this store may lose committed data; the runner then sends no write to the broker. */
  abstract readonly risk: string | undefined;
  /** Why this machine's clock differs too much from the shared clock; the desk and the runner then send no write. */
  abstract readonly clockFault: string | undefined;

  /**
   * Counter of the writing statements of this process. While the counter stays the same, this process has not changed
   * the data that it has read.
   */
  writes = 0;
  readonly #context = new AsyncLocalStorage<Transaction>();
  /** Resolves when the last requested statement or transaction has ended. */
  #last: Promise<void> | undefined;

  /** Executes one statement on the connection. */
  protected abstract execute(sql: string, values: readonly SqlValue[], wanted: StatementResult): unknown;
  /** Executes one statement outside of a transaction. */
  protected abstract executeAlone(sql: string, values: readonly SqlValue[], wanted: StatementResult): unknown;
  /** Begins a transaction that excludes all other processes. */
  protected abstract begin(): void | Promise<void>;
  /** Commits the transaction. */
  protected abstract commit(): void | Promise<void>;
  /** Rolls the transaction back. Must not throw: the caller needs the error that made the transaction fail. */
  protected abstract rollback(): void | Promise<void>;
  /** Closes the connection. */
  protected abstract close(): void | Promise<void>;

  /** Returns the time of the clock that all users of the store share; `undefined` if that is this machine's clock. */
  abstract now(): number | undefined;
  /**
   * Records the last writes of all accounts outside of the store, if the kind of store needs that. Call it before each
   * write is sent.
   */
  abstract mark(): Promise<void>;

  /**
   * Returns the first row; `undefined` if there is none. The caller gives the type of the row, with the columns that
   * the statement selects.
   *
   * @throws {StoreError} `value` if a number of the row is too large.
   */
  async get<Row>(sql: string, ...values: SqlValue[]): Promise<Row | undefined> {
    // In both databases, the values of a column have its declared type.
    const row = await this.#statement(sql, values, "row") as Row & Record<string, unknown> | undefined;
    if (row !== undefined) checkNumbers(sql, [row]);
    return row;
  }

  /**
   * Returns every row. The caller gives the type of a row, as for {@linkcode Store.get}.
   *
   * @throws {StoreError} `value` if a number of a row is too large.
   */
  async all<Row>(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    const rows = await this.#statement(sql, values, "rows") as (Row & Record<string, unknown>)[]; // see `get`
    checkNumbers(sql, rows);
    return rows;
  }

  /** Executes a statement and returns how many rows it changed. */
  async run(sql: string, ...values: SqlValue[]): Promise<number> {
    this.writes++;
    return await this.#statement(sql, values, "changes") as number; // `changes` returns a number
  }

  /**
   * Runs work in one transaction that excludes all other processes; rolls back if the work throws. Inside another
   * transaction, the work becomes part of it.
   *
   * @throws {StoreError} `unknown-commit` if the connection was lost during the commit and the server did not say
   * whether it committed; `lost-connection` if it did not commit.
   */
  async transaction<T>(work: () => T | Promise<T>): Promise<T> {
    const outer = this.#context.getStore();
    if (outer !== undefined) {
      this.#check(outer);
      return await work();
    }
    return await this.#inTurn(async () => {
      await this.begin();
      const transaction: Transaction = { hasEnded: false };
      try {
        const result = await this.#context.run(transaction, work);
        transaction.hasEnded = true;
        if (transaction.failure !== undefined) throw transaction.failure.error;
        await this.commit();
        return result;
      } catch (error) {
        transaction.hasEnded = true;
        await this.rollback();
        throw error;
      }
    });
  }

  /** After a copy, makes sure that new rows get higher numbers than the copied rows. */
  async continueNumbering(): Promise<void> {}

  /** Gives some space of removed rows back to the file system. Does nothing for PostgreSQL, which does this itself. */
  async giveBackSpace(): Promise<void> {}

  /** Records an event. */
  async event(
    at: number,
    kind: string,
    data: Readonly<Record<string, unknown>>,
    runKey?: string,
  ): Promise<void> {
    await this.run(
      "insert into event (at, run_key, kind, data) values (?, ?, ?, ?)",
      at,
      runKey,
      kind,
      JSON.stringify(data),
    );
  }

  /** Closes the store. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inTurn(() => this.close());
  }

  /** Whether the caller is in a transaction of this store. */
  protected get isInTransaction(): boolean {
    return this.#context.getStore()?.hasEnded === false;
  }

  #statement(sql: string, values: readonly SqlValue[], wanted: StatementResult): unknown {
    const transaction = this.#context.getStore();
    if (transaction === undefined) return this.#inTurn(() => this.executeAlone(sql, values, wanted));
    this.#check(transaction);
    const fail = (error: unknown): never => {
      transaction.failure ??= { error };
      throw error;
    };
    try {
      const result = this.execute(sql, values, wanted);
      return result instanceof Promise ? result.catch(fail) : result;
    } catch (error) {
      return fail(error);
    }
  }

  #check({ hasEnded, failure }: Transaction): void {
    if (hasEnded) {
      throw new StoreError(`Cannot use the store "${this.name}" now: the transaction has ended already`, {
        code: "ended",
      });
    }
    // PostgreSQL rejects statements after a failed one, but SQLite accepts them. This check makes both behave alike.
    if (failure !== undefined) {
      throw new StoreError(`Cannot use the store "${this.name}" now: an earlier statement failed`, {
        code: "failed",
        cause: failure.error,
      });
    }
  }

  /** Runs work when everything requested before has ended; immediately if nothing else is in progress. */
  #inTurn<T>(work: () => T | Promise<T>): T | Promise<T> {
    const before = this.#last;
    const result = before === undefined ? work() : before.then(work);
    // SQLite has already executed a single statement at this point.
    if (!(result instanceof Promise)) return result;
    const ended = () => {
      if (this.#last === last) this.#last = undefined;
    };
    const last: Promise<void> = result.then(ended, ended);
    this.#last = last;
    return result;
  }
}

/** Largest time in milliseconds that JavaScript can represent. */
export const MOST_TIME = 8_640_000_000_000_000;
/** Names of columns with a time. */
const times = /(^|_)(at|until)$|^(watermark|next_try|look_since)$/;

/** Where a value is stored. */
interface StoredPlace {
  table?: string;
  column: string;
  /** The key of the row. */
  row?: string | number;
}

/** Maximum number of characters of a row's key that an error contains. */
const MOST_KEY = 100;

/**
 * Returns the error for a value that this program never writes. Somebody else may have made a file or a database with
 * the right tables and wrong values. Without this error, a command that reads such a value would report an internal
 * error.
 */
export function foreignValue({ table, column, row }: StoredPlace, why: string): StoreError {
  const key = String(row);
  const shown = key.length > MOST_KEY ? `${key.slice(0, MOST_KEY)}…` : key;
  return new StoreError(
    `Cannot read the store: the value of "${column}"${row === undefined ? "" : ` in the row "${shown}"`}${
      table === undefined ? "" : ` of the table "${table}"`
    } is not one that hsgate writes: ${why}`,
    { code: "value" },
  );
}

/** Maximum number of lists and maps inside each other in a JSON value of a store. */
const MOST_LEVELS = 200;

/**
 * Returns the value of a JSON column.
 *
 * @param isRight Returns whether this program may have written the value. It is called with values of any shape.
 * @throws {StoreError} `value` if the text is not JSON, is nested too deep, or is not right.
 */
export function readJson<T>(text: string, isRight: (value: unknown) => boolean, place: StoredPlace): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw foreignValue(place, "it is not JSON");
  }
  if (text.length > MOST_LEVELS && isDeeper(value, MOST_LEVELS)) {
    throw foreignValue(place, `it has more than ${MOST_LEVELS} lists and maps inside each other`);
  }
  if (!isRight(value)) throw foreignValue(place, "it has another shape");
  return value as T; // `isRight` has checked it
}

/** Columns that identify a row, in the order of preference. */
const keys = ["run_key", "id", "intent", "hash", "dedupe_key", "name", "recipe", "account", "seq"];

/**
 * Returns the largest valid number of a column. A value up to {@linkcode MOST_TIME} is valid in every column, so the
 * column's name is compared only for a larger value.
 */
const mostOf = (column: string, value: number) =>
  Math.abs(value) <= MOST_TIME || times.test(column) ? MOST_TIME : Number.MAX_SAFE_INTEGER;

/**
 * Checks the numbers of rows that a statement has returned.
 *
 * @throws {StoreError} `value` if a number is too large for a time, or not a number at all.
 */
export function checkNumbers(sql: string, rows: readonly Readonly<Record<string, unknown>>[]): void {
  for (const row of rows) {
    for (const column in row) {
      const value = row[column];
      if (typeof value === "string" || value === null) continue;
      if (typeof value === "number" && Math.abs(value) <= mostOf(column, value)) continue;
      const table = /\b(?:from|into|update)\s+"?(\w+)/i.exec(sql)?.[1];
      const key = keys.find((name) => typeof row[name] === "string" || typeof row[name] === "number");
      throw foreignValue({
        ...table !== undefined && { table },
        column,
        ...key !== undefined && key !== column && { row: String(row[key]) },
      }, "the number is too large");
    }
  }
}

/** Returns the machine with the store's shared clock; returns it unchanged if the store uses this machine's clock. */
export function withSharedClock(machine: Machine, store: Pick<Store, "now">): Machine {
  if (store.now() === undefined) return machine;
  return { ...machineWith(machine), now: () => store.now() ?? machine.now() };
}

/**
 * Counts a write in the transaction that begins it. {@linkcode Store.mark} then records it outside of the store.
 *
 * @returns The number of the write in the sequence of the account's writes.
 */
export async function countWrite(
  store: Store,
  { account, runKey, step, at }: {
    account: string;
    /** The key of the run, or the id of the intent. */
    runKey: string;
    step: string;
    at: number;
  },
): Promise<number> {
  await store.run(
    `insert into account_write (account, number, run_key, step_id, at) values (?, 1, ?, ?, ?)
      on conflict (account) do update set number = account_write.number + 1, run_key = excluded.run_key,
        step_id = excluded.step_id, at = excluded.at`,
    account,
    runKey,
    step,
    at,
  );
  const row = await store.get<{ number: number }>(
    "select number from account_write where account = ?",
    account,
  );
  return row!.number; // it was just written
}

/**
 * Does work in the store. If the connection was lost and nothing was saved, does the work once more: a short restart of
 * the database should not prevent an order.
 */
export async function onceMore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "lost-connection") throw error;
    return await work();
  }
}
