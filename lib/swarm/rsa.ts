/**
 * Simulates RSA in a world: the padding comes from the seed, and signing takes no real time.
 *
 * A signature of a world has the length of a real one and depends on the key and the text, but it is not secure:
 * anybody could make it. Real signatures would take most of the time of a world with the direct transport. Tests of the
 * wire use real ones.
 *
 * @module
 */
import type { KeyObject } from "node:crypto";
import { nodeCrypto } from "../std/node_crypto.ts";

/** A key with its padding, in the form that `publicEncrypt` accepts. */
export interface PaddedKey {
  key: KeyObject;
  padding: number;
}

/** Encrypts with PKCS#1 v1.5. The random bytes come from a generator. */
export function encryptWith(
  random: () => number,
  encrypt: (key: PaddedKey, plain: Uint8Array) => Uint8Array,
  { key, padding }: PaddedKey,
  plain: Uint8Array,
): Uint8Array {
  const { RSA_NO_PADDING, RSA_PKCS1_PADDING } = nodeCrypto().constants;
  if (padding !== RSA_PKCS1_PADDING) return encrypt({ key, padding }, plain);
  const padded = new Uint8Array(lengthOf(key));
  padded[1] = 2;
  const at = padded.length - plain.length;
  for (let each = 2; each < at - 1; each++) padded[each] = 1 + Math.floor(random() * 255);
  padded.set(plain, at);
  return encrypt({ key, padding: RSA_NO_PADDING }, padded);
}

/** Makes a signature of a text. */
export function sign(algorithm: string, text: Uint8Array, key: KeyObject): Uint8Array {
  const signature = new Uint8Array(lengthOf(key));
  let first = hashOf(keyHash(key), algorithm.length, (at) => algorithm.charCodeAt(at));
  let second = first ^ 0x5bd1e995;
  for (const byte of text) {
    first = Math.imul(first ^ byte, 0x01000193);
    second = Math.imul(second + byte, 0x85ebca6b) ^ (second >>> 13);
  }
  for (let at = 0; at < signature.length; at++) {
    first = Math.imul(first ^ second, 0x01000193) + at;
    second = Math.imul(second ^ (first >>> 15), 0x85ebca6b);
    signature[at] = second >>> 24;
  }
  return signature;
}

/** Returns whether a signature was made with a key for a text. */
export function verify(algorithm: string, text: Uint8Array, key: KeyObject, signature: Uint8Array): boolean {
  const own = sign(algorithm, text, key);
  if (own.length !== signature.length) return false;
  for (let at = 0; at < own.length; at++) if (own[at] !== signature[at]) return false;
  return true;
}

const hashes = new WeakMap<KeyObject, number>();

/** Returns a hash of the public key. A private key and its public key have the same hash. */
function keyHash(key: KeyObject): number {
  let hash = hashes.get(key);
  if (hash === undefined) {
    const own = key.type === "private" ? nodeCrypto().createPublicKey(key) : key;
    const bytes = own.export({ format: "der", type: "spki" });
    hash = hashOf(0x811c9dc5, bytes.length, (at) => bytes[at]!);
    hashes.set(key, hash);
  }
  return hash;
}

/** Returns an FNV-1a hash of numbers. */
function hashOf(from: number, length: number, numberAt: (at: number) => number): number {
  let hash = from;
  for (let at = 0; at < length; at++) hash = Math.imul(hash ^ numberAt(at), 0x01000193);
  return hash;
}

const lengths = new WeakMap<KeyObject, number>();

/** Returns the number of bytes of a key. The result is kept, because asking the runtime takes as long as a hash. */
function lengthOf(key: KeyObject): number {
  let length = lengths.get(key);
  // All keys here are RSA keys.
  if (length === undefined) lengths.set(key, length = key.asymmetricKeyDetails!.modulusLength! / 8);
  return length;
}
