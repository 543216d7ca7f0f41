/**
 * The ledger's error, and what SQLite says of files that are damaged or busy. Apart from the ledger itself, as every
 * command asks it of its errors.
 *
 * @module
 */
import { BrokerError } from "../errors.ts";

/** The ledger cannot be used: damaged, lost, locked for too long, or written by a newer version. */
export class LedgerError extends BrokerError {
  override readonly name: string = "LedgerError";
}

/** Tells whether an error is about what a file holds; nothing when it is about something else. */
export function damageOf(error: unknown): "damaged" | "no-database" | undefined {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "ERR_SQLITE_ERROR") return undefined;
  // Not every call of the runtime hands the number of the error on; the words are those of SQLite itself.
  if (error.message.includes("file is not a database")) return "no-database";
  return /disk image is malformed|malformed database schema/.test(error.message) ? "damaged" : undefined;
}

/** Tells whether an error says that another process keeps the ledger locked: what was asked for may be asked again. */
export function isBusy(error: unknown): boolean {
  if (error instanceof LedgerError) return error.code === "busy";
  return error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR" &&
    /^database (table )?is locked/.test(error.message);
}
