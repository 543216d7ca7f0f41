/**
 * What a client of the simulated platform logs in with. It follows from the seed and protects nothing.
 *
 * @module
 */
import { createHash } from "node:crypto";

/** Login of the simulated account. */
export interface PlatformCredentials {
  /** Country of the phone as the wire has it, such as `CHN`. */
  countryCode: string;
  /** Login phone. */
  mobile: string;
  /** The plain login password. */
  loginPassword: string;
}

/** Makes the login of a seed. No phone number in China begins with 100. */
export function platformCredentials(seed: number): PlatformCredentials {
  const digest = createHash("sha256").update(`login of simulator ${seed}`).digest();
  const digits = String(digest.readUInt32BE(0) % 100_000_000).padStart(8, "0");
  return {
    countryCode: "CHN",
    mobile: `100${digits}`,
    loginPassword: `login-${digest.toString("hex").slice(8, 16)}`,
  };
}
