/**
 * What `hsgate ledger backup` and `hsgate ledger verify` do.
 *
 * @module
 */
import { backupLedger, verifyLedgerFile } from "../../../lib/runner/ledger_care.ts";
import type { LedgerBackupInput } from "../ledger_backup.ts";
import type { LedgerVerifyInput } from "../ledger_verify.ts";
import { plain } from "../print.ts";
import { existingLedger, ledgerError, openLedger, readable } from "./ledger_file.ts";

/** Copies the ledger. */
export async function backup({ args: [file = ""], flags, host }: LedgerBackupInput): Promise<number> {
  using ledger = await openLedger(flags, { host, mustExist: true });
  await backupLedger(ledger, file).catch((error) => {
    throw ledgerError(ledger.path, error);
  });
  if (flags.json) host.out(JSON.stringify({ file, ok: true }));
  else host.out(`wrote "${file}", and it holds together`);
  return 0;
}

/** Checks the ledger; ends with 7 when something is wrong. */
export async function verify({ flags, host }: LedgerVerifyInput): Promise<number> {
  const path = await existingLedger(flags, host);
  const faults = readable(path, () => verifyLedgerFile(path));
  if (flags.json) host.out(JSON.stringify({ ok: faults.length === 0, faults }));
  else if (faults.length === 0) host.out(`"${path}" holds together`);
  else for (const fault of faults) host.out(`${path}: ${plain(fault)}`);
  if (faults.length === 0) return 0;
  host.note(
    "  -> Stop the scheduler, keep this file, and copy the last backup to its place. The backup knows nothing of what " +
      "ran after it: look at the orders since then before anything writes again",
  );
  return 7;
}
