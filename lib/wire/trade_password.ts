/**
 * Encrypts the trade password for the gateway: AES in ECB mode with PKCS#7, then Base64.
 *
 * @module
 */
const BLOCK = 16;

function keyBytes(key: string | undefined): Uint8Array<ArrayBuffer> {
  if (key === undefined || key === "") {
    throw new TypeError("Cannot encrypt the trade password: its key is missing (setting tradePasswordKey)");
  }
  const bytes = fromBase64(key);
  if (
    ![16, 24, 32].includes(bytes.length) ||
    bytes.toBase64({ omitPadding: true }) !== key.replace(/=+$/, "")
  ) {
    throw new TypeError("Cannot encrypt the trade password: its key must be Base64 of 16, 24 or 32 bytes");
  }
  return bytes;
}

/**
 * Encrypts a trade password for the gateway. Uses Web Crypto, because loading `node:crypto` takes longer than running
 * an empty script. Web Crypto has no ECB mode, so each block is encrypted on its own as the first block of CBC mode.
 *
 * @throws {TypeError} If the key is missing, or is not Base64 of 16, 24 or 32 bytes. The message contains neither key
 * nor password.
 * @see API document 4.2, 5
 */
export async function encryptTradePassword(password: string, key: string | undefined): Promise<string> {
  const bytes = keyBytes(key);
  const aes = await crypto.subtle.importKey("raw", bytes, "AES-CBC", false, ["encrypt"]);
  const plain = new TextEncoder().encode(password);
  const padding = BLOCK - plain.length % BLOCK;
  const padded = new Uint8Array([...plain, ...new Uint8Array(padding).fill(padding)]);
  const blocks = Array.from(
    { length: padded.length / BLOCK },
    async (_, index) => {
      const block = padded.subarray(index * BLOCK, (index + 1) * BLOCK);
      const encrypted = await crypto.subtle.encrypt(
        { name: "AES-CBC", iv: new Uint8Array(BLOCK) },
        aes,
        block,
      );
      return new Uint8Array(encrypted, 0, BLOCK);
    },
  );
  return new Uint8Array((await Promise.all(blocks)).flatMap((block) => [...block])).toBase64();
}

/**
 * Returns the texts that messages must hide for an encrypted trade password: anyone can decrypt it with the key, which
 * the vendor publishes. The Base64 texts lack their padding, so that they are found with and without padding.
 */
export function secretsOfEncrypted(encrypted: string): string[] {
  const bytes = fromBase64(encrypted);
  if (bytes.length === 0) return [];
  const text = bytes.toBase64({ omitPadding: true });
  const url = bytes.toBase64({ omitPadding: true, alphabet: "base64url" });
  return [text, ...url === text ? [] : [url], bytes.toHex(), bytes.toHex().toUpperCase()];
}

/** Returns the bytes of Base64; an empty array if the text is not Base64. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    return new Uint8Array();
  }
}
