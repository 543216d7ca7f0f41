/**
 * Finds the run and the person for commands that record a decision.
 *
 * @module
 */
import type { Store } from "../../../lib/store/store.ts";
import { findRun, type RunRow } from "../../../lib/runner/queries/runs.ts";
import { keysBeginning } from "../../../lib/runner/queries/run_lookups.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";

/** Returns the name of the person who decides, for the record. */
export function actorOf(flags: { readonly by?: string }, host: Pick<Host, "env">): string {
  return flags.by ?? host.env("USER") ?? host.env("USERNAME") ?? "a person";
}

/** Maximum number of keys to list if the given text matches several. */
const MOST_KEYS = 10;

/**
 * Returns the run with this key, or with the only key that begins with this text.
 *
 * @throws {UsageError} If the store has no such run, or several keys begin with the text.
 */
export async function runOf(store: Store, given: string, verb: string): Promise<RunRow> {
  const [key, ...others] = await findRun(store, given) !== undefined
    ? [given]
    : given === ""
    ? []
    : await keysBeginning(store, given, MOST_KEYS + 1);
  const row = key === undefined ? undefined : await findRun(store, key);
  if (row === undefined) {
    throw new UsageError(
      `Cannot ${verb} "${given}": the store has no such run; "runs" lists all runs`,
    );
  }
  if (others.length === 0) return row;
  const keys = [row.run_key, ...others];
  const more = keys.length > MOST_KEYS ? ["and more"] : [];
  throw new UsageError(
    `Cannot ${verb} "${given}": several keys begin with it; write more of one of these keys:\n${
      [...keys.slice(0, MOST_KEYS), ...more].map((each) => `  ${each}`).join("\n")
    }`,
  );
}
