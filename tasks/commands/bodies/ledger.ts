/**
 * What `hsgate ledger backup` and `hsgate ledger verify` do.
 *
 * @module
 */
import { backupLedger, verifyLedger } from "../../../lib/runner/ledger_care.ts";
import type { LedgerBackupInput } from "../ledger_backup.ts";
import type { LedgerVerifyInput } from "../ledger_verify.ts";
import { plain } from "../print.ts";
import { ledgerError, openLedger, readable } from "./ledger_file.ts";

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
  using ledger = await openLedger(flags, { host, mustExist: true });
  const faults = readable(ledger.path, () => verifyLedger(ledger));
  if (flags.json) host.out(JSON.stringify({ ok: faults.length === 0, faults }));
  else if (faults.length === 0) host.out(`"${ledger.path}" holds together`);
  else for (const fault of faults) host.out(plain(fault));
  return faults.length === 0 ? 0 : 7;
}
