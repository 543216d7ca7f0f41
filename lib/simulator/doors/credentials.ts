/**
 * Credentials of a simulated gateway. They follow from the seed and protect nothing.
 *
 * @module
 */
import { createHash } from "node:crypto";

/** What a client needs for the trade login. */
export interface SimulatedCredentials {
  /** The plain trade password. */
  tradePassword: string;
  /** Key that it travels under, Base64 of 16 bytes. */
  tradePasswordKey: string;
}

/** Makes the password and the key of a seed; two gateways of one seed have the same ones. */
export function simulatedCredentials(seed: number): SimulatedCredentials {
  const digest = (what: string) => createHash("sha256").update(`${what} of simulator ${seed}`).digest();
  const key = new Uint8Array(digest("key")).subarray(0, 16);
  return {
    tradePassword: `sim-${digest("password").toString("hex").slice(0, 8)}`,
    tradePasswordKey: key.toBase64(),
  };
}
