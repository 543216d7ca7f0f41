/**
 * Runs `hsgate lease`.
 *
 * @module
 */
import { describeHolder, leaseHolders } from "../../../lib/transports/direct/lease.ts";
import { leaseFolderOf } from "./account_lease.ts";
import type { LeaseInput } from "../lease.ts";
import { settingsOf } from "../shared/session.ts";

/** Prints the holders of all leases; each account has its own lease. */
export async function run({ flags, host }: LeaseInput): Promise<number> {
  const { settings } = await settingsOf(flags, host);
  const holders = [...await leaseHolders(leaseFolderOf(settings, host))];
  if (flags.json) host.out(JSON.stringify(holders.map(([name, holder]) => ({ lease: name, ...holder }))));
  else if (holders.length === 0) host.out("no process on this machine has a trade connection");
  else for (const [name, holder] of holders) host.out(`${name}: ${describeHolder(holder)}`);
  return 0;
}
