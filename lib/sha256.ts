/**
 * Computes the SHA-256 digests that identify files and texts.
 *
 * @module
 */
/** Returns the SHA-256 of bytes or of a text, in hex. */
export async function sha256(bytes: Uint8Array<ArrayBuffer> | string): Promise<string> {
  const data = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", data)).toHex();
}
