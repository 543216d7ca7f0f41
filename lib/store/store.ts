/**
 * What every store can do: statements and transactions, one SQL text for SQLite and PostgreSQL.
 *
 * A store has one connection. Transactions of one process come one after the other, and which transaction a statement
 * belongs to follows from the asynchronous call that it is made in: functions that take a store need nothing else.
 *
 * A statement about many rows takes them as one value, {@linkcode rowsValue}, and reads them from `json_each(?) as given`:
 * `given.value ->> 0` is the first column of a row, `given.key` gives the order. Over a network, one statement takes as long as thousands of rows.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type Machine, machineWith } from "../time.ts";
import { StoreError } from "./store_error.ts";

/** Values that a statement takes; `undefined` is stored as null. */
export type SqlValue = string | number | undefined | null;

/** Returns rows as the one value that `json_each(?) as given` reads. */
export function rowsValue(rows: readonly (readonly SqlValue[])[]): string {
  // JSON writes `undefined` in a list as null, which is also how a statement stores it.
  return JSON.stringify(rows);
}

/** What a statement is to return: the first row, every row, or how many rows it changed. */
export type Wanted = "row" | "rows" | "changes";

interface Transaction {
  hasEnded: boolean;
  /** The first statement that failed: nothing of the transaction is kept. */
  failure?: { error: unknown };
}

/** A store that is open. */
export abstract class Store implements AsyncDisposable {
  /** What messages call it: its path, or its URL without the password. */
  abstract readonly name: string;
  /** Why it may lose what it confirmed; the runner then sends no write to the broker. */
  abstract readonly doubt: string | undefined;
  /** Why this machine's clock is wrong by the one that all users of the store share; the runner then sends no write. */
  abstract readonly clockFault: string | undefined;

  readonly #context = new AsyncLocalStorage<Transaction>();
  /** Resolves when the statement or transaction that was asked for last has ended. */
  #last: Promise<void> | undefined;

  /** Executes one statement on the connection. */
  protected abstract execute(sql: string, values: readonly SqlValue[], wanted: Wanted): unknown;
  /** Executes one statement outside of a transaction. */
  protected abstract executeAlone(sql: string, values: readonly SqlValue[], wanted: Wanted): unknown;
  /** Begins a transaction that no other process can come between. */
  protected abstract begin(): void | Promise<void>;
  protected abstract commit(): void | Promise<void>;
  /** Never throws: whatever made the transaction fail is what the caller hears of. */
  protected abstract rollback(): void | Promise<void>;
  protected abstract close(): void | Promise<void>;

  /** The time by the clock that all users of the store share; nothing when it is this machine's own. */
  abstract now(): number | undefined;
  /** Makes the last writes of all accounts known outside of the store, where that is needed, before a write is sent. */
  abstract mark(): Promise<void>;

  /** Returns the first row; the type says what the statement selects. */
  async get<Row>(sql: string, ...values: SqlValue[]): Promise<Row | undefined> {
    // A column holds what its declaration says, in both databases.
    return await this.#statement(sql, values, "row") as Row | undefined;
  }

  /** Returns every row; the type says what the statement selects. */
  async all<Row>(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    return await this.#statement(sql, values, "rows") as Row[]; // as in `get`
  }

  /** Executes a statement and returns how many rows it changed. */
  async run(sql: string, ...values: SqlValue[]): Promise<number> {
    return await this.#statement(sql, values, "changes") as number; // as the connection is asked for
  }

  /**
   * Does everything in one transaction that no other process can come between, or nothing of it when it throws.
   * Within another transaction it is part of that one.
   *
   * @throws {StoreError} `unknown-commit` when the connection was lost while the transaction was being committed.
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

  /** Lets rows that a copy has brought keep their numbers: later ones count on from there. */
  async countOn(): Promise<void> {}

  /** Returns space that removed rows have left to the file system, a little at a time. A database does so by itself. */
  async giveBackSpace(): Promise<void> {}

  /** Records something that happened. */
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inTurn(() => this.close());
  }

  /** Whether the caller is in a transaction of this store. */
  protected get isInTransaction(): boolean {
    return this.#context.getStore()?.hasEnded === false;
  }

  async #statement(sql: string, values: readonly SqlValue[], wanted: Wanted): Promise<unknown> {
    const transaction = this.#context.getStore();
    if (transaction === undefined) {
      return await this.#inTurn(() => this.executeAlone(sql, values, wanted));
    }
    this.#check(transaction);
    try {
      return await this.execute(sql, values, wanted);
    } catch (error) {
      transaction.failure ??= { error };
      throw error;
    }
  }

  #check({ hasEnded, failure }: Transaction): void {
    if (hasEnded) {
      throw new StoreError(`Cannot use the store "${this.name}" now: the transaction has ended already`, {
        code: "ended",
      });
    }
    // PostgreSQL takes no statement after one that failed; SQLite would, and must not differ.
    if (failure !== undefined) {
      throw new StoreError(`Cannot use the store "${this.name}" now: an earlier statement failed`, {
        code: "failed",
        cause: failure.error,
      });
    }
  }

  /** Does something when everything that was asked for before has ended. */
  async #inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    if (before !== undefined) await before;
    try {
      return await work();
    } finally {
      if (this.#last === promise) this.#last = undefined;
      resolve();
    }
  }
}

/** Returns the machine with the clock that all users of the store share; the machine itself where that is its own. */
export function withSharedClock(machine: Machine, store: Pick<Store, "now">): Machine {
  if (store.now() === undefined) return machine;
  return { ...machineWith(machine), now: () => store.now() ?? machine.now() };
}
