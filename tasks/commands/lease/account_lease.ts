/**
 * Finds the lease of the account's trade connection and its holder.
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

/** Returns the folder of leases. */
export function leaseFolderOf({ leaseFolder }: Settings, host: Pick<Host, "env">): string {
  return leaseFolder ?? defaultLeaseFolder(host.env);
}

/** Returns the holder of the account's lease; `undefined` if it is free. */
export async function accountHolder(
  developerPrivateKey: string,
  settings: Settings,
  host: Pick<Host, "env">,
): Promise<LeaseHolder | undefined> {
  const account = exportPublicKey(publicKeyOf(readPrivateKey(developerPrivateKey)));
  return await leaseHolder(leaseFolderOf(settings, host), await leaseName(account));
}

/**
 * Throws if another process has the account's trade connection. If this program logged in, even to read a single
 * quote, the platform would end the login of the other process.
 *
 * @throws {TransportError} With code `lease-held`, if another process has the connection.
 */
export async function refuseWhileHeld(
  developerPrivateKey: string,
  settings: Settings,
  host: Pick<Host, "env">,
): Promise<void> {
  const holder = await accountHolder(developerPrivateKey, settings, host);
  if (holder === undefined) return;
  throw new TransportError(
    `Cannot log in: the account's only trade connection is in use, ${
      describeHolder(holder)
    }; logging in would ` +
      "end the other program's session",
    { code: "lease-held", transport: "direct" },
  );
}
