/**
 * Reads RSA keys in their common formats, generates them, and writes them.
 *
 * The keys are for the runtime's own crypto (`node:crypto`). It signs at least 9 times and verifies at least 3 times
 * as fast as node-forge (`test/bench/wire_bench.ts`). The tests compare its results with those of node-forge. Only
 * code for the direct socket loads this module.
 *
 * @see API document 5
 * @module
 */
import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";

/** Number of bits of every key of the broker's API. The header has room only for signatures of this size. */
export const KEY_BITS = 1024;

/** A private RSA key, ready for use. */
export interface PrivateKey {
  /** Distinguishes it from a public key. */
  readonly type: "private";
  /** The key inside the runtime's crypto; it cannot be printed. */
  readonly handle: KeyObject;
  /** Length of the modulus in bytes, which is also the length of a signature and of an encrypted segment. */
  readonly length: number;
}

/** A public RSA key, ready for use. */
export interface PublicKey {
  /** Distinguishes it from a private key. */
  readonly type: "public";
  /** The key inside the runtime's crypto. */
  readonly handle: KeyObject;
  /** Length of the modulus in bytes, which is also the length of a signature and of an encrypted segment. */
  readonly length: number;
}

/** Both halves of a key. */
export interface KeyPair {
  /** Signs and decrypts. A secret. */
  readonly privateKey: PrivateKey;
  /** Verifies and encrypts. */
  readonly publicKey: PublicKey;
}

/**
 * Reads a private key without a password: PKCS#8 or PKCS#1, as PEM or as the plain Base64 of its DER form. Ignores
 * the PEM label, because the vendor's client writes "RSA PRIVATE KEY" around PKCS#8.
 *
 * @throws {TypeError} If the text is not such a key. The message describes the text but contains no part of it.
 */
export function readPrivateKey(text: string): PrivateKey {
  const der = derOf(text, "private");
  const handle = firstOf(
    () => createPrivateKey({ key: der, format: "der", type: "pkcs8" }),
    () => createPrivateKey({ key: der, format: "der", type: "pkcs1" }),
  );
  if (handle === undefined) {
    throw new TypeError(
      `Cannot read private key: ${
        publicHandle(der) === undefined
          ? "it is neither PKCS#8 nor PKCS#1, or it is damaged"
          : "it is a public key; the private one is needed"
      }`,
    );
  }
  return { type: "private", handle, length: modulusLength(handle, "private") };
}

/**
 * Reads a public key: SubjectPublicKeyInfo or PKCS#1, as PEM or as the plain Base64 of its DER form.
 *
 * @throws {TypeError} If the text is not such a key. The message contains no part of it.
 */
export function readPublicKey(text: string): PublicKey {
  const der = derOf(text, "public");
  const handle = publicHandle(der);
  if (handle === undefined) {
    const isPrivate = firstOf(
      () => createPrivateKey({ key: der, format: "der", type: "pkcs8" }),
      () => createPrivateKey({ key: der, format: "der", type: "pkcs1" }),
    );
    throw new TypeError(
      `Cannot read public key: ${
        isPrivate === undefined
          ? "it is neither SubjectPublicKeyInfo nor PKCS#1, or it is damaged"
          : "it is a private key; the public one is needed"
      }`,
    );
  }
  return { type: "public", handle, length: modulusLength(handle, "public") };
}

/** Returns the public half of a private key. */
export function publicKeyOf({ handle, length }: PrivateKey): PublicKey {
  return { type: "public", handle: createPublicKey(handle), length };
}

/** Generates a new key pair. */
export function generateKeyPair(bits: number = KEY_BITS): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: bits });
  return {
    privateKey: { type: "private", handle: privateKey, length: modulusLength(privateKey, "private") },
    publicKey: { type: "public", handle: publicKey, length: modulusLength(publicKey, "public") },
  };
}

/** Returns a private key as PKCS#8 in PEM. A secret: write it only to a file that no other user can read. */
export function exportPrivateKey({ handle }: PrivateKey): string {
  return String(handle.export({ type: "pkcs8", format: "pem" }));
}

/**
 * Returns a public key as the plain Base64 of its SubjectPublicKeyInfo, the format that the platform
 * registers.
 */
export function exportPublicKey({ handle }: PublicKey): string {
  return Buffer.from(handle.export({ type: "spki", format: "der" })).toString("base64");
}

/** Removes the PEM lines and decodes the Base64. */
function derOf(text: string, half: "private" | "public"): Buffer {
  const armour = /-----BEGIN ([A-Z0-9 ]+)-----([\s\S]*?)-----END \1-----/.exec(text);
  if (armour === null && text.includes("-----")) {
    throw new TypeError(`Cannot read ${half} key: its PEM armour is damaged`);
  }
  const [, label = "", armoured = text] = armour ?? [];
  if (label.includes("ENCRYPTED") || /^(Proc-Type|DEK-Info):/m.test(armoured)) {
    throw new TypeError(
      `Cannot read ${half} key: it is protected by a password; hsgate needs a key without a password`,
    );
  }
  const base64 = armoured.replace(/\s+/g, "");
  if (base64 === "") throw new TypeError(`Cannot read ${half} key: it is empty`);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) {
    throw new TypeError(`Cannot read ${half} key: it is neither PEM nor Base64`);
  }
  return Buffer.from(base64, "base64");
}

function publicHandle(der: Buffer): KeyObject | undefined {
  return firstOf(
    () => createPublicKey({ key: der, format: "der", type: "spki" }),
    () => createPublicKey({ key: der, format: "der", type: "pkcs1" }),
  );
}

/**
 * Returns the first successful result, or `undefined`. Ignores the library's errors, which do not help a user.
 */
function firstOf<T>(...readings: (() => T)[]): T | undefined {
  for (const read of readings) {
    try {
      return read();
    } catch {
      // Not in this format; try the next one.
    }
  }
  return undefined;
}

function modulusLength({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject, half: string): number {
  const bits = asymmetricKeyDetails?.modulusLength;
  if (asymmetricKeyType !== "rsa" || bits === undefined) {
    throw new TypeError(`Cannot read ${half} key: it is a key for "${asymmetricKeyType}"; RSA is needed`);
  }
  return Math.ceil(bits / 8);
}
