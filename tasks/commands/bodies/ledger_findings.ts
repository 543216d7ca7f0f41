/**
 * What `hsgate doctor` finds in the ledger, where there is one.
 *
 * @module
 */
import { LedgerError } from "../../../lib/runner/ledger.ts";
import { countUnsent, unsentNotices } from "../../../lib/runner/outbox.ts";
import type { Host } from "../host.ts";
import { failed, type Finding, ok, warning } from "./finding.ts";
import { ledgerExists, type LedgerFlags, openLedger } from "./ledger_file.ts";

/** Looks for notices that reached nobody. */
export async function ledgerFindings(flags: LedgerFlags, host: Host): Promise<Finding[]> {
  if (!await ledgerExists(flags, host)) return [];
  try {
    using ledger = await openLedger(flags, { host, mustExist: true });
    const { failed: waiting, givenUp } = countUnsent(ledger);
    if (waiting + givenUp === 0) return [ok("notices", "every notice was sent")];
    const [first] = unsentNotices(ledger, { failedOnly: true, limit: 1 });
    const reason = first?.error === undefined ? "" : `; the oldest: ${first.error}`;
    return [
      warning(
        "notices",
        `${waiting + givenUp} not sent, ${givenUp} of them given up${reason}`,
        '"hsgate notices" lists them, --send tries again; "hsgate notify --test RECIPE" tries its channels',
      ),
    ];
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    return [failed("ledger", error.message, "Nothing can be run with it until that is mended", 1)];
  }
}
