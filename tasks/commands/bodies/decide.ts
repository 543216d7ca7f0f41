/**
 * What commands share by which a person decides about one run.
 *
 * @module
 */
import type { Ledger } from "../../../lib/runner/ledger.ts";
import { findRun, keysBeginning, type RunRow } from "../../../lib/runner/run_rows.ts";
import { UsageError } from "../exit_codes.ts";
import type { Host } from "../host.ts";

/** Who sits here, for the record. */
export function actorOf(flags: { readonly by?: string }, host: Pick<Host, "env">): string {
  return flags.by ?? host.env("USER") ?? host.env("USERNAME") ?? "a person";
}

/** Keys that are listed when a person's text fits several. */
const MOST_KEYS = 10;

/**
 * Finds the run that a person names by its key, or by the beginning of its key.
 *
 * @throws {UsageError} When the ledger has none, or several keys begin so.
 */
export function runOf(ledger: Ledger, given: string, verb: string): RunRow {
  const [key, ...others] = findRun(ledger, given) !== undefined
    ? [given]
    : given === ""
    ? []
    : keysBeginning(ledger, given, MOST_KEYS + 1);
  const row = key === undefined ? undefined : findRun(ledger, key);
  if (row === undefined) {
    throw new UsageError(
      `Cannot ${verb} "${given}": the ledger has no such run; "runs" lists those that it has`,
    );
  }
  if (others.length === 0) return row;
  const keys = [row.run_key, ...others];
  const more = keys.length > MOST_KEYS ? ["and more"] : [];
  throw new UsageError(
    `Cannot ${verb} "${given}": several keys begin so; write more of one of\n${
      [...keys.slice(0, MOST_KEYS), ...more].map((each) => `  ${each}`).join("\n")
    }`,
  );
}
