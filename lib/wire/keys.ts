/**
 * RSA keys: read in the forms in which they are handed round, made, and written.
 *
 * The runtime's own crypto (`node:crypto`) reads and uses them. Measured against node-forge, it signs at least
 * 9 times and verifies at least 3 times as fast (`test/bench/wire_bench.ts`); node-forge checks it in the
 * tests. Only what talks to the direct socket loads this module.
 *
 * @see API document 5
 * @module
 */
import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";

/** Bits of the keys that the interface uses; the header has room for their signatures alone. */
export const KEY_BITS = 1024;

/** A private RSA key, ready for use. */
export interface PrivateKey {
  /** Which half it is. */
  readonly type: "private";
  /** The key as the runtime's crypto holds it, out of sight. */
  readonly handle: KeyObject;
  /** Bytes of the modulus, so of a signature and of an encrypted segment: 128 for 1024 bits. */
  readonly length: number;
}

/** A public RSA key, ready for use. */
export interface PublicKey {
  /** Which half it is. */
  readonly type: "public";
  /** The key as the runtime's crypto holds it. */
  readonly handle: KeyObject;
  /** Bytes of the modulus, so of a signature and of an encrypted segment: 128 for 1024 bits. */
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
 * Reads a private key without a password: PKCS#8 or PKCS#1, as PEM or as the bare Base64 of its DER form.
 * What the armour says is not asked: the vendor's client itself writes "RSA PRIVATE KEY" around PKCS#8.
 *
 * @throws {TypeError} When it is no such key. The message says what it is instead and never shows any of it.
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
          ? "it is neither PKCS#8 nor PKCS#1, or damaged"
          : "it is a public key; the private one is needed"
      }`,
    );
  }
  return { type: "private", handle, length: modulusLength(handle, "private") };
}

/**
 * Reads a public key: SubjectPublicKeyInfo or PKCS#1, as PEM or as the bare Base64 of its DER form.
 *
 * @throws {TypeError} When it is no such key. The message never shows any of it.
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
          ? "it is neither SubjectPublicKeyInfo nor PKCS#1, or damaged"
          : "it is a private key; the public one is needed"
      }`,
    );
  }
  return { type: "public", handle, length: modulusLength(handle, "public") };
}

/** The public half of a private key. */
export function publicKeyOf({ handle, length }: PrivateKey): PublicKey {
  return { type: "public", handle: createPublicKey(handle), length };
}

/** Makes a new pair from the system's randomness. */
export function generateKeyPair(bits: number = KEY_BITS): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: bits });
  return {
    privateKey: { type: "private", handle: privateKey, length: modulusLength(privateKey, "private") },
    publicKey: { type: "public", handle: publicKey, length: modulusLength(publicKey, "public") },
  };
}

/** Writes a private key as PKCS#8 in PEM, for a file that its owner alone can read. A secret. */
export function exportPrivateKey({ handle }: PrivateKey): string {
  return String(handle.export({ type: "pkcs8", format: "pem" }));
}

/**
 * Writes a public key as the bare Base64 of its SubjectPublicKeyInfo, the form that the platform registers.
 */
export function exportPublicKey({ handle }: PublicKey): string {
  return Buffer.from(handle.export({ type: "spki", format: "der" })).toString("base64");
}

/** Takes off the armour and decodes the Base64. */
function derOf(text: string, half: "private" | "public"): Buffer {
  const armour = /-----BEGIN ([A-Z0-9 ]+)-----([\s\S]*?)-----END \1-----/.exec(text);
  if (armour === null && text.includes("-----")) {
    throw new TypeError(`Cannot read ${half} key: its PEM armour is damaged`);
  }
  const [, label = "", armoured = text] = armour ?? [];
  if (label.includes("ENCRYPTED") || /^(Proc-Type|DEK-Info):/m.test(armoured)) {
    throw new TypeError(
      `Cannot read ${half} key: it is protected by a password; keys without one are needed`,
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

/** The first reading that succeeds. What the library says of the others helps nobody, and is not kept. */
function firstOf<T>(...readings: (() => T)[]): T | undefined {
  for (const read of readings) {
    try {
      return read();
    } catch {
      // Not in this form: the next one is tried.
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
