/**
 * The trade password on its way to the gateway: Base64 of AES-ECB with PKCS#7.
 *
 * @module
 */
import { createDecipheriv } from "node:crypto";

/**
 * Makes what reads encrypted trade passwords, and returns nothing for one that does not fit.
 *
 * @throws {TypeError} When the key is not Base64 of 16, 24 or 32 bytes.
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
      return undefined; // another key, a cut text, wrong padding: all the same to whoever logs in
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
