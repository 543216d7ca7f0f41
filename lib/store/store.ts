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
export type Wanted = "row" | "rows" | "changes";

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
  /** Why this machine's clock differs too much from the shared clock; the runner then sends no write. */
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
  protected abstract execute(sql: string, values: readonly SqlValue[], wanted: Wanted): unknown;
  /** Executes one statement outside of a transaction. */
  protected abstract executeAlone(sql: string, values: readonly SqlValue[], wanted: Wanted): unknown;
  /** Begins a transaction that excludes all other processes. */
  protected abstract begin(): void | Promise<void>;
  /** Commits the transaction. */
  protected abstract commit(): void | Promise<void>;
  /** Rolls the transaction back. Never throws, because the caller gets the error that made the transaction fail. */
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

  /** Returns the first row; the type says what the statement selects. */
  async get<Row>(sql: string, ...values: SqlValue[]): Promise<Row | undefined> {
    // In both databases, the values of a column have its declared type.
    return await this.#statement(sql, values, "row") as Row | undefined;
  }

  /** Returns every row; the type says what the statement selects. */
  async all<Row>(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    return await this.#statement(sql, values, "rows") as Row[]; // see `get`
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
   * @throws {StoreError} `unknown-commit` if the connection was lost during the commit.
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

  /** Gives some space of removed rows back to the file system. PostgreSQL does this by itself. */
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

  #statement(sql: string, values: readonly SqlValue[], wanted: Wanted): unknown {
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
 * Does work in the store. If the connection was lost and nothing was saved, does the work again, so that a short
 * restart of the database does not prevent an order from being sent.
 */
export async function onceMore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "lost-connection") throw error;
    return await work();
  }
}
