/**
 * Defines the error of a store, and interprets SQLite's errors. This is a separate file, because every command uses
 * these functions for its errors, and most commands load no database.
 *
 * @module
 */
import { BrokerError } from "../errors.ts";

/** Meaning of the `code` of a {@linkcode StoreError}. */
type StoreErrorCode =
  /** Another process has kept the store locked for too long; the operation may be tried again. */
  | "busy"
  /** The store cannot be reached, or the connection was lost; the transaction is rolled back. */
  | "lost-connection"
  /** The connection was lost during a commit: it is unknown whether it was committed. */
  | "unknown-commit"
  /** The server's disk, memory or connections are exhausted. */
  | "full"
  /** The database rejects the password, a permission, or an invalid address. */
  | "no-access"
  /** The database belongs to another program, or its tables are not those that hsgate creates. */
  | "not-a-store"
  /** A newer version of this program has written the store. */
  | "newer-store"
  /** A value that this program never writes, or that is too large. */
  | "value"
  /** A statement came after the end of its transaction. */
  | "ended"
  /** The server itself has failed, or an earlier statement of the transaction has failed. */
  | "failed"
  /** The file name is a symbolic link without a target, or a file beside the store makes it unsafe to open. */
  | "link"
  /** The file is cut off, or lacks writes that its mark (the file `FILE.mark` beside the store) records. */
  | "lost-store"
  /** The mark is damaged. */
  | "unreadable-mark"
  /** The mark cannot be written. */
  | "mark"
  /** A copy is damaged, or differs from the store. */
  | "damaged-store"
  /** The file exists already. */
  | "file-exists"
  /** The target of a copy contains rows. */
  | "not-empty"
  /** Any other error of SQLite. */
  | "sqlite";

/**
 * Thrown if a store cannot be used, or if it is unknown whether the store saved a transaction. The `code` is a
 * {@linkcode StoreErrorCode}.
 */
export class StoreError extends BrokerError {
  override readonly name: string = "StoreError";

  constructor(message: string, context: { code: StoreErrorCode; cause?: unknown }) {
    super(message, context);
  }
}

/** Returns the kind of damage that an error reports; `undefined` for other errors. */
export function damageOf(error: unknown): "damaged" | "no-database" | undefined {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "ERR_SQLITE_ERROR") return undefined;
  // Compare SQLite's own texts, because some calls of the runtime do not keep the error number.
  if (error.message.includes("file is not a database")) return "no-database";
  return /disk image is malformed|malformed database schema/.test(error.message) ? "damaged" : undefined;
}

/** Returns whether an error says that another process has locked the store; the operation may then be tried again. */
export function isBusy(error: unknown): boolean {
  if (error instanceof StoreError) return error.code === "busy";
  return error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR" &&
    /^database (table )?is locked/.test(error.message);
}

/** Returns whether a failed operation on a store may succeed if it is tried again. */
export function isTemporary(error: unknown): boolean {
  const temporary: readonly unknown[] = ["busy", "lost-connection", "unknown-commit", "full"];
  return isBusy(error) || error instanceof StoreError && temporary.includes(error.code);
}
