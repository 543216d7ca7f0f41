/**
 * Encrypts the trade password for the gateway: AES in ECB mode with PKCS#7, then Base64.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createCipheriv } from "node:crypto";

function keyBytes(key: string | undefined): { bytes: Buffer; algorithm: string } {
  if (key === undefined || key === "") {
    throw new TypeError("Cannot encrypt the trade password: its key is missing (setting tradePasswordKey)");
  }
  const bytes = Buffer.from(key, "base64");
  if (
    ![16, 24, 32].includes(bytes.length) ||
    bytes.toString("base64").replace(/=+$/, "") !== key.replace(/=+$/, "")
  ) {
    throw new TypeError("Cannot encrypt the trade password: its key must be Base64 of 16, 24 or 32 bytes");
  }
  return { bytes, algorithm: `aes-${bytes.length * 8}-ecb` };
}

/**
 * Encrypts a trade password for the gateway.
 *
 * @throws {TypeError} If the key is missing or has another length; the message contains neither key nor
 * password.
 * @see API document 4.2, 5
 */
export function encryptTradePassword(password: string, key: string | undefined): string {
  const { bytes, algorithm } = keyBytes(key);
  const cipher = createCipheriv(algorithm, bytes, null);
  return Buffer.concat([cipher.update(password, "utf8"), cipher.final()]).toString("base64");
}
