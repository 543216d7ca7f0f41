/**
 * RSA in a world: its padding comes from the seed, and signing takes no real time.
 *
 * A signature of a world has the length of a real one and belongs to one key and one text, but anybody could make it.
 * Making real ones takes most of the time of a world with the direct transport. Tests of the wire use real ones.
 *
 * @module
 */
import type { KeyObject } from "node:crypto";
import { nodeCrypto } from "../std/node_crypto.ts";

/** A key with its padding, as `publicEncrypt` takes them. */
export interface PaddedKey {
  key: KeyObject;
  padding: number;
}

/** Encrypts with PKCS#1 v1.5, with random bytes from a generator. */
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

/** Signs a text. */
export function sign(algorithm: string, text: Uint8Array, key: KeyObject): Uint8Array {
  const digest = nodeCrypto().createHash("sha512").update(algorithm).update(nameOf(key)).update(text)
    .digest();
  return Uint8Array.from({ length: lengthOf(key) }, (_, at) => digest[at % digest.length]!);
}

/** Returns whether a signature belongs to a text. */
export function verify(algorithm: string, text: Uint8Array, key: KeyObject, signature: Uint8Array): boolean {
  const own = sign(algorithm, text, key);
  return own.length === signature.length && own.every((byte, at) => byte === signature[at]);
}

const names = new WeakMap<KeyObject, string>();

/** Returns the public key in hexadecimal: a private key and its public key have one name. */
function nameOf(key: KeyObject): string {
  let name = names.get(key);
  if (name === undefined) {
    const own = key.type === "private" ? nodeCrypto().createPublicKey(key) : key;
    name = own.export({ format: "der", type: "spki" }).toString("hex");
    names.set(key, name);
  }
  return name;
}

const lengthOf = (key: KeyObject): number => key.asymmetricKeyDetails!.modulusLength! / 8; // only RSA keys come here
