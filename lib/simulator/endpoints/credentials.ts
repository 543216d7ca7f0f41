/**
 * Generates credentials of the simulated gateway and platform from the seed. They protect nothing.
 *
 * @module
 */
import { createDecipheriv, createHash } from "node:crypto";

/** What a client needs for the trade login. */
interface SimulatedCredentials {
  /** The plain trade password. */
  tradePassword: string;
  /** Key that encrypts the password, Base64 of 16 bytes. */
  tradePasswordKey: string;
}

/** Returns the password and the key of a seed. */
export function simulatedCredentials(seed: number): SimulatedCredentials {
  const digest = (what: string) => createHash("sha256").update(`${what} of simulator ${seed}`).digest();
  const key = new Uint8Array(digest("key")).subarray(0, 16);
  return {
    tradePassword: `sim-${digest("password").toString("hex").slice(0, 8)}`,
    tradePasswordKey: key.toBase64(),
  };
}

/** Login of the simulated account. */
export interface PlatformCredentials {
  /** Country of the phone as on the wire, such as `CHN`. */
  countryCode: string;
  /** Login phone. */
  mobile: string;
  /** The plain login password. */
  loginPassword: string;
}

/** Returns the login of a seed. The phone number is invented: no number in China begins with 100. */
export function platformCredentials(seed: number): PlatformCredentials {
  const digest = createHash("sha256").update(`login of simulator ${seed}`).digest();
  const digits = String(digest.readUInt32BE(0) % 100_000_000).padStart(8, "0");
  return {
    countryCode: "CHN",
    mobile: `100${digits}`,
    loginPassword: `login-${digest.toString("hex").slice(8, 16)}`,
  };
}

/**
 * Returns a function that decrypts trade passwords (Base64 of AES-ECB with PKCS#7). That function returns `undefined`
 * for a text that it cannot decrypt.
 *
 * @throws {TypeError} If the key is not Base64 of 16, 24 or 32 bytes.
 */
export function tradePasswordReader(keyText: string): (encrypted: string) => string | undefined {
  const key = fromBase64(keyText);
  if (key === undefined || ![16, 24, 32].includes(key.length)) {
    throw new TypeError(
      "Cannot start the gateway: the trade password key must be Base64 of 16, 24 or 32 bytes",
    );
  }
  return (encrypted) => {
    const bytes = fromBase64(encrypted);
    if (bytes === undefined || bytes.length === 0) return undefined;
    try {
      const decipher = createDecipheriv(`aes-${key.length * 8}-ecb`, key, null);
      const parts = [decipher.update(bytes), decipher.final()];
      return new TextDecoder("utf-8", { fatal: true }).decode(
        Uint8Array.from(parts.flatMap((part) => [...part])),
      );
    } catch {
      return undefined; // another key, a truncated text or wrong padding: the client learns only that the login failed
    }
  };
}

function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
