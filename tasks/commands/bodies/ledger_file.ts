/**
 * The ledger's file: where it lies, and who is paused in it.
 *
 * @module
 */
import type { Ledger } from "../../../lib/runner/ledger.ts";
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
  const { Ledger } = await import("../../../lib/runner/ledger.ts");
  return new Ledger(path);
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
