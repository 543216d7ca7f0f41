/**
 * Checks the store for `hsgate doctor`, if there is one.
 *
 * @module
 */
import { StoreError } from "../../../lib/store/store_error.ts";
import { countUnsent, unsentNotices } from "../../../lib/runner/notify/outbox.ts";
import type { Host } from "../../terminal/host.ts";
import { failed, type Finding, ok, warning } from "./findings.ts";
import type { StoreFlags } from "../shared/session.ts";
import { openStore, storeExists } from "../shared/store_file.ts";

/** Checks for notices that could not be sent, or that no scheduler has tried to send yet. */
export async function storeFindings(flags: StoreFlags, host: Host): Promise<Finding[]> {
  if (!await storeExists(flags, host)) return [];
  try {
    await using store = await openStore(flags, { host, mustExist: true });
    const { queued, failed: waiting, givenUp } = await countUnsent(store);
    if (waiting + givenUp === 0) {
      return [
        ok(
          "notices",
          queued === 0 ? "all notices were sent" : `${queued} not tried yet; a scheduler sends them`,
        ),
      ];
    }
    const [first] = await unsentNotices(store, { failedOnly: true, limit: 1 });
    const reason = first?.error === undefined ? "" : `; the oldest: ${first.error}`;
    return [
      warning(
        "notices",
        `${waiting + givenUp} not sent, ${givenUp} of them given up${reason}`,
        '"hsgate notices" lists them, and with --send tries again; "hsgate notify --test RECIPE" tries the channels ' +
          "of a recipe",
      ),
    ];
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return [failed("store", error.message, "Nothing can run with this store until that is fixed", 1)];
  }
}
