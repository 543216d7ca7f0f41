/**
 * The ledger's file: where it lies, and who is paused in it.
 *
 * @module
 */
import { didYouMean } from "../../../lib/client/nearest.ts";
import { Ledger, LedgerError } from "../../../lib/runner/ledger.ts";
import { UsageError } from "../exit_codes.ts";

/** The ledger when none is named. */
export const LEDGER = "hsgate.db";

/**
 * Opens a ledger.
 *
 * @throws {UsageError} When one that must be there is not.
 */
export async function openLedger(path = LEDGER, { mustExist }: { mustExist: boolean }): Promise<Ledger> {
  if (mustExist && !(await exists(path))) {
    throw new UsageError(
      `Cannot open the ledger: there is no "${path}"; "schedule" makes it, --ledger names another`,
    );
  }
  return readable(path, () => new Ledger(path));
}

/** Gives what SQLite itself says of a file the form of our own errors. */
export function readable<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const isOfSqlite = error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";
    if (!isOfSqlite) throw error;
    throw new LedgerError(`Cannot use the ledger "${path}": ${error.message}`, {
      code: "sqlite",
      cause: error,
    });
  }
}

/** Refuses a recipe that the ledger has never seen. @throws {UsageError} With the nearest name. */
export function checkKnown(ledger: Ledger, recipe: string): void {
  const names = ledger.all<{ recipe: string }>("select recipe from schedule union select recipe from run")
    .map(({ recipe }) => recipe);
  if (names.includes(recipe)) return;
  throw new UsageError(
    `Cannot find "${recipe}": the ledger knows no such recipe${didYouMean(recipe, names)}`,
  );
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Schedules that stand still, as `recipe/schedule` with the reason. */
export function pausedOf(ledger: Ledger): Map<string, string> {
  const rows = ledger.all<{ recipe: string; schedule_id: string; paused_reason: string }>(
    "select recipe, schedule_id, paused_reason from schedule where paused_reason is not null",
  );
  return new Map(
    rows.map(({ recipe, schedule_id, paused_reason }) => [`${recipe}/${schedule_id}`, paused_reason]),
  );
}
