/**
 * What `hsgate ledger backup`, `hsgate ledger verify` and `hsgate ledger accept` do.
 *
 * @module
 */
import { acceptLoss, backupLedger, verifyLedgerFile } from "../../../lib/runner/ledger_care.ts";
import { whyUnmarked } from "../../../lib/runner/ledger_mark.ts";
import { UsageError } from "../exit_codes.ts";
import type { LedgerAcceptInput } from "../ledger_accept.ts";
import type { LedgerBackupInput } from "../ledger_backup.ts";
import type { LedgerVerifyInput } from "../ledger_verify.ts";
import { plain } from "../print.ts";
import { actorOf } from "./decide.ts";
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
  const unmarked = faults.length === 0 ? whyUnmarked(path) : undefined;
  const warnings = unmarked === undefined ? [] : [unmarked];
  if (flags.json) host.out(JSON.stringify({ ok: faults.length === 0, faults, warnings }));
  else if (faults.length === 0) host.out(`"${path}" holds together`);
  else for (const fault of faults) host.out(`${path}: ${plain(fault)}`);
  for (const warning of warnings) host.note(`hsgate: warning: ${path}: ${plain(warning)}`);
  if (faults.length === 0) return 0;
  host.note(
    "  -> Stop the scheduler, keep this file, and copy the last backup to its place. The backup knows nothing of what " +
      'ran after it: look at the orders since then, and then run "ledger accept"',
  );
  return 7;
}

/** Goes on with a ledger that lacks what its mark names. */
export async function accept({ flags, host }: LedgerAcceptInput): Promise<number> {
  const { because } = flags;
  if (because === undefined || because.trim() === "") {
    throw new UsageError('Cannot accept the loss without a reason: write --because "what you saw"');
  }
  const path = await existingLedger(flags, host);
  const actor = actorOf(flags, host);
  const lost = readable(path, () => acceptLoss(path, { actor, because, now: host.now() }));
  if (lost === undefined) {
    throw new UsageError(`Cannot accept a loss of "${path}": it has everything that its mark names`);
  }
  if (flags.json) host.out(JSON.stringify({ ledger: path, lost, actor, because }));
  else {
    host.out(`"${path}" is used again, though ${plain(lost)}`);
    host.out("all schedules begin now; writes that waited are skipped; pauses since the copy are lost");
  }
  return 0;
}
