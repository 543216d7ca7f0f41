/**
 * What commands share by which a person decides about one run.
 *
 * @module
 */
import type { Ledger } from "../../../lib/runner/ledger.ts";
import { findRun, type RunRow } from "../../../lib/runner/run_rows.ts";
import { UsageError } from "../exit_codes.ts";
import type { Host } from "../host.ts";

/** Who sits here, for the record. */
export function actorOf(flags: { readonly by?: string }, host: Pick<Host, "env">): string {
  return flags.by ?? host.env("USER") ?? host.env("USERNAME") ?? "a person";
}

/** Finds the run that a person names. @throws {UsageError} When the ledger has none. */
export function runOf(ledger: Ledger, key: string, verb: string): RunRow {
  const row = findRun(ledger, key);
  if (row !== undefined) return row;
  throw new UsageError(
    `Cannot ${verb} "${key}": the ledger has no such run; "runs" lists those that it has`,
  );
}
