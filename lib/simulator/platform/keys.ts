/**
 * Generates the keys of the simulated platform and of its developer from the seed. Two runs with one seed
 * have the same keys, and the keys protect nothing.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { checkPrimeSync, createHash, createPrivateKey } from "node:crypto";
import { KEY_BITS, type KeyPair, publicKeyOf } from "../../wire/keys.ts";

/** Both pairs of keys. */
interface SimulatedKeys {
  /** The developer's pair: signs requests, and decrypts the token and the session key. */
  readonly developer: KeyPair;
  /** The platform's pair: signs answers and pushes, and decrypts passwords and the first request. */
  readonly platform: KeyPair;
}

const EXPONENT = 65_537n;
/** Small primes, to exclude most candidates before the long test. */
const small = smallPrimes(2000);
const made = new Map<number, SimulatedKeys>();

/** Returns the keys of a seed. They are generated once per process, because generating them is slow. */
export function simulatedKeys(seed: number): SimulatedKeys {
  const known = made.get(seed);
  if (known !== undefined) return known;
  const keys = { developer: makePair(`developer ${seed}`), platform: makePair(`platform ${seed}`) };
  made.set(seed, keys);
  return keys;
}

function makePair(name: string): KeyPair {
  const p = makePrime(`${name} p`);
  const q = makePrime(`${name} q`);
  const d = inverse(EXPONENT, (p - 1n) * (q - 1n));
  const jwk = {
    kty: "RSA",
    n: base64Url(p * q),
    e: base64Url(EXPONENT),
    d: base64Url(d),
    p: base64Url(p),
    q: base64Url(q),
    dp: base64Url(d % (p - 1n)),
    dq: base64Url(d % (q - 1n)),
    qi: base64Url(inverse(q, p)),
  };
  const handle = createPrivateKey({ key: jwk, format: "jwk" });
  const privateKey = { type: "private", handle, length: KEY_BITS / 8 } as const;
  return { privateKey, publicKey: publicKeyOf(privateKey) };
}

/**
 * Returns the first prime in a sequence of digests. Its two highest bits are set, so the modulus has its full
 * length.
 */
function makePrime(name: string): bigint {
  for (let round = 0;; round++) {
    const bytes = createHash("sha512").update(`prime of simulator, ${name}, ${round}`).digest();
    bytes[0] = bytes[0]! | 0xc0;
    bytes[63] = bytes[63]! | 1;
    const candidate = BigInt(`0x${bytes.toString("hex")}`);
    if ((candidate - 1n) % EXPONENT === 0n || small.some((prime) => candidate % prime === 0n)) continue;
    if (checkPrimeSync(candidate)) return candidate;
  }
}

function smallPrimes(below: number): bigint[] {
  const found: bigint[] = [];
  for (let number = 3; number < below; number += 2) {
    const candidate = BigInt(number);
    if (found.every((prime) => candidate % prime !== 0n)) found.push(candidate);
  }
  return found;
}

/** Returns the inverse of `value` modulo `modulus`. */
function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (b !== 0n) {
    const quotient = a / b;
    [a, b] = [b, a - quotient * b];
    [x, y] = [y, x - quotient * y];
  }
  return (x % modulus + modulus) % modulus;
}

function base64Url(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex").toString("base64url");
}
