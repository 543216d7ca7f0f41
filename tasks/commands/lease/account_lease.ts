/**
 * The lease of the account's trade connection, as commands see it: where it lies, and who holds it.
 *
 * @module
 */
import type { Settings } from "../../../lib/client/settings.ts";
import { TransportError } from "../../../lib/errors.ts";
import {
  defaultLeaseFolder,
  describeHolder,
  type LeaseHolder,
  leaseHolder,
  leaseName,
} from "../../../lib/transports/direct/lease.ts";
import { exportPublicKey, publicKeyOf, readPrivateKey } from "../../../lib/wire/keys.ts";
import type { Host } from "../../terminal/host.ts";

/** Folder of leases of these settings. */
export function leaseFolderOf({ leaseFolder }: Settings, host: Pick<Host, "env">): string {
  return leaseFolder ?? defaultLeaseFolder(host.env);
}

/** Who holds the lease of the account; nothing when it is free. */
export async function accountHolder(
  developerPrivateKey: string,
  settings: Settings,
  host: Pick<Host, "env">,
): Promise<LeaseHolder | undefined> {
  const account = exportPublicKey(publicKeyOf(readPrivateKey(developerPrivateKey)));
  return await leaseHolder(leaseFolderOf(settings, host), await leaseName(account));
}

/**
 * Refuses to go on while another process has the account's trade connection: the platform ends its login when
 * anybody logs in anew, and be it for one quote.
 *
 * @throws {TransportError} With code `lease-held`.
 */
export async function refuseWhileHeld(
  developerPrivateKey: string,
  settings: Settings,
  host: Pick<Host, "env">,
): Promise<void> {
  const holder = await accountHolder(developerPrivateKey, settings, host);
  if (holder === undefined) return;
  throw new TransportError(
    `Cannot log in: the account's one trade connection is taken, ${
      describeHolder(holder)
    }; a second login would ` +
      "end that one's",
    { code: "lease-held", transport: "direct" },
  );
}
