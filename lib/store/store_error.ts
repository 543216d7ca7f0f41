/**
 * The error of a store, and what SQLite says of files that are damaged or busy. Apart from the stores themselves, as
 * every command asks it of its errors.
 *
 * @module
 */
import { BrokerError } from "../errors.ts";

/** What the `code` of a {@linkcode StoreError} says. */
export type StoreErrorCode =
  /** Another process has kept the store locked for too long: what was asked for may be asked again. */
  | "busy"
  /** The store cannot be reached, or the connection was lost; nothing of the transaction is kept. */
  | "lost-connection"
  /** The connection was lost while a transaction was being committed: nobody knows whether it was. */
  | "unknown-commit"
  /** The server has no room left: its disk, its memory, or its connections. */
  | "full"
  /** The database refuses: the password, a permission, or an address that is none. */
  | "no-access"
  /** The database belongs to another program. */
  | "not-a-store"
  /** A newer version of this program has written it. */
  | "newer-store"
  /** A value that this program cannot hold. */
  | "value"
  /** A statement came after its transaction had ended, or after another one in it had failed. */
  | "ended"
  | "failed"
  /** The file name is a symbolic link that leads nowhere. */
  | "link"
  /** The file lacks what its mark names, or is cut off. */
  | "lost-store"
  /** The mark cannot be read, or cannot be written. */
  | "unreadable-mark"
  | "mark"
  /** A copy does not hold together. */
  | "damaged-store"
  /** There is a file of that name. */
  | "file-exists"
  /** The target of a copy has rows. */
  | "not-empty"
  /** Whatever else SQLite says. */
  | "sqlite";

/** A store that cannot be used, or whose answer is unknown; `code` is a {@linkcode StoreErrorCode}. */
export class StoreError extends BrokerError {
  override readonly name: string = "StoreError";

  constructor(message: string, context: { code: StoreErrorCode; cause?: unknown }) {
    super(message, context);
  }
}

/** Tells whether an error is about what a file holds; nothing when it is about something else. */
export function damageOf(error: unknown): "damaged" | "no-database" | undefined {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "ERR_SQLITE_ERROR") return undefined;
  // Not every call of the runtime hands the number of the error on; the words are those of SQLite itself.
  if (error.message.includes("file is not a database")) return "no-database";
  return /disk image is malformed|malformed database schema/.test(error.message) ? "damaged" : undefined;
}

/** Tells whether an error says that another process keeps the store locked: what was asked for may be asked again. */
export function isBusy(error: unknown): boolean {
  if (error instanceof StoreError) return error.code === "busy";
  return error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR" &&
    /^database (table )?is locked/.test(error.message);
}

/** Returns whether what was asked of a store may succeed when it is asked again. */
export function isPassing(error: unknown): boolean {
  const passing: readonly unknown[] = ["busy", "lost-connection", "unknown-commit", "full"];
  return isBusy(error) || error instanceof StoreError && passing.includes(error.code);
}
