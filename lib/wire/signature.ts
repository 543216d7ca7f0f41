/**
 * The signature in the header: SHA1WithRSA (PKCS#1 v1.5) over the plain body, before it is encrypted.
 *
 * @see API document 4.8, 5
 * @module
 */
import { sign, verify } from "node:crypto";
import { SIGNATURE_LENGTH } from "./header.ts";
import { KEY_BITS, type PrivateKey, type PublicKey } from "./keys.ts";

const ALGORITHM = "RSA-SHA1";

/**
 * Signs a plain body.
 *
 * @returns The 128 bytes for the header.
 * @throws {TypeError} When the key is not of 1024 bits: other signatures do not fit the header.
 */
export function signBody(plain: Uint8Array, key: PrivateKey): Uint8Array {
  checkSigningKey(key);
  return sign(ALGORITHM, plain, key.handle);
}

/** Tells whether a signature is that of a plain body. */
export function verifyBody(plain: Uint8Array, signature: Uint8Array, key: PublicKey): boolean {
  checkSigningKey(key);
  return verify(ALGORITHM, plain, key.handle, signature);
}

/** Tells whether a header carries no signature: zero bytes. */
export function isUnsigned(signature: Uint8Array): boolean {
  for (let at = 0; at < signature.length; at++) if (signature[at] !== 0) return false;
  return true;
}

/**
 * Refuses a key whose signatures do not fit the header.
 *
 * @throws {TypeError} When the key is not of 1024 bits.
 */
export function checkSigningKey({ type, length }: PrivateKey | PublicKey): void {
  if (length === SIGNATURE_LENGTH) return;
  throw new TypeError(
    `Cannot use ${type} key for signatures: it has ${
      length * 8
    } bits, and the header's 128 bytes need ${KEY_BITS}`,
  );
}
