/**
 * Encrypts and decrypts with the two ciphers of the direct socket: RSA in segments for the first request and
 * its answer, AES in ECB mode for every encrypted body after that.
 *
 * @see API document 5
 * @module
 */
import { Buffer } from "node:buffer";
import { constants, createCipheriv, createDecipheriv, privateDecrypt } from "node:crypto";
import { nodeCrypto } from "../std/node_crypto.ts";
import { wireError } from "./faults.ts";
import type { PrivateKey, PublicKey } from "./keys.ts";
import { BLOCK_LENGTH } from "./padding.ts";

/** Number of bytes of each segment that PKCS#1 v1.5 itself needs. */
const SEGMENT_OVERHEAD = 11;
/**
 * Default maximum number of segments to decrypt. Decrypting a longer body would only keep the process busy before its
 * signature can be checked.
 */
const MAX_SEGMENTS = 64;
/** Maximum number of segments of the first answer, which contains a key or a rejection of a few hundred bytes. */
export const FIRST_ANSWER_SEGMENTS = 16;
/** Length of a session key in bytes. */
export const SESSION_KEY_LENGTH = 16;

const padding = constants.RSA_PKCS1_PADDING;

/** Options of {@linkcode encryptSegments}. */
interface SegmentOptions {
  /** Maximum number of bytes per segment. @default {what the key allows: 117 for a key of 1024 bits} */
  segmentLength?: number;
}

/**
 * Encrypts bytes of any length with RSA PKCS#1 v1.5, segment by segment. An empty input results in no segments.
 *
 * @throws {RangeError} If `segmentLength` is not a whole number from 1 to the maximum of the key.
 */
export function encryptSegments(plain: Uint8Array, key: PublicKey, options: SegmentOptions = {}): Uint8Array {
  const most = key.length - SEGMENT_OVERHEAD;
  const { segmentLength = most } = options;
  if (!Number.isInteger(segmentLength) || segmentLength < 1 || segmentLength > most) {
    throw new RangeError(
      `Cannot encrypt: segments of ${segmentLength} bytes do not fit the key, which allows 1 to ${most}`,
    );
  }
  const segments: Uint8Array[] = [];
  for (let at = 0; at < plain.length; at += segmentLength) {
    // Look up `publicEncrypt` at each call, because `hsgate swarm` replaces it: its padding is random.
    segments.push(
      nodeCrypto().publicEncrypt({ key: key.handle, padding }, plain.subarray(at, at + segmentLength)),
    );
  }
  return Buffer.concat(segments);
}

/**
 * Decrypts the output of {@linkcode encryptSegments} or of another client. The plain segments may have any length.
 *
 * Always decrypts all segments before it reports a damaged one, and the error does not name the segment. So an attacker
 * who sends damaged segments learns nothing about the key from the error or its timing.
 *
 * @throws {ProtocolError} With code `cipher-segment` if a segment is truncated or encrypted for another key, or if
 * there are more segments than allowed.
 */
export function decryptSegments(
  encrypted: Uint8Array,
  key: PrivateKey,
  mostSegments: number = MAX_SEGMENTS,
): Uint8Array {
  if (encrypted.length % key.length !== 0) {
    throw wireError(
      "cipher-segment",
      `Cannot decrypt: ${encrypted.length} bytes are not a whole number of segments of ${key.length} bytes`,
    );
  }
  const count = encrypted.length / key.length;
  if (count > mostSegments) {
    throw wireError(
      "cipher-segment",
      `Cannot decrypt: ${count} segments are more than the ${mostSegments} allowed`,
    );
  }
  const parts: Uint8Array[] = [];
  let isDamaged = false;
  for (let at = 0; at < encrypted.length; at += key.length) {
    try {
      parts.push(privateDecrypt({ key: key.handle, padding }, encrypted.subarray(at, at + key.length)));
    } catch {
      isDamaged = true;
    }
  }
  if (isDamaged) {
    throw wireError("cipher-segment", "Cannot decrypt: a segment is damaged, or encrypted for another key");
  }
  return Buffer.concat(parts);
}

/**
 * Reads the session key from the answer to the first request.
 *
 * @param encryptedKey Base64 of 16 bytes. A secret.
 * @throws {ProtocolError} With code `cipher-key` if it is not Base64 of 16 bytes.
 */
export function readSessionKey(encryptedKey: string): Uint8Array {
  const key = Buffer.from(encryptedKey, "base64");
  if (key.length !== SESSION_KEY_LENGTH || key.toString("base64") !== encryptedKey) {
    throw wireError("cipher-key", "Cannot read session key: it is not Base64 of 16 bytes");
  }
  return new Uint8Array(key);
}

/**
 * Encrypts and decrypts whole blocks with AES-128 in ECB mode. In this mode blocks are independent, so the whole
 * session can use one cipher for each direction. That is three to four times as fast as a new cipher for each body.
 * Both ciphers are resources of the runtime; dispose them with the session.
 */
export class SessionCipher implements Disposable {
  readonly #encrypting: ReturnType<typeof createCipheriv>;
  readonly #decrypting: ReturnType<typeof createDecipheriv>;
  #closed = false;

  /**
   * Creates both ciphers.
   *
   * @param key The session key, 16 bytes.
   * @throws {ProtocolError} With code `cipher-key` if it has another length.
   */
  constructor(key: Uint8Array) {
    if (key.length !== SESSION_KEY_LENGTH) {
      throw wireError("cipher-key", `Cannot use session key: it has ${key.length} bytes instead of 16`);
    }
    this.#encrypting = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
    this.#decrypting = createDecipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  }

  /**
   * Encrypts whole blocks; does not add padding.
   *
   * @throws {ProtocolError} With code `cipher-block` if the input is not a whole number of blocks.
   */
  encrypt(padded: Uint8Array): Uint8Array {
    checkBlocks(padded);
    return this.#encrypting.update(padded);
  }

  /**
   * Decrypts whole blocks; does not remove the padding.
   *
   * @throws {ProtocolError} With code `cipher-block` if the input is not a whole number of blocks.
   */
  decrypt(encrypted: Uint8Array): Uint8Array {
    checkBlocks(encrypted);
    return this.#decrypting.update(encrypted);
  }

  /** Releases both ciphers. They cannot be used after that. */
  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#encrypting.final();
    this.#decrypting.final();
  }
}

function checkBlocks(bytes: Uint8Array): void {
  if (bytes.length % BLOCK_LENGTH === 0) return;
  throw wireError(
    "cipher-block",
    `Cannot encrypt or decrypt a body: ${bytes.length} bytes are not a whole number of blocks of 16`,
  );
}
