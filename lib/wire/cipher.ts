/**
 * The two ciphers of the direct socket: RSA in segments for the first request and its answer, AES in ECB
 * mode for all that follows.
 *
 * @see API document 5
 * @module
 */
import { Buffer } from "node:buffer";
import { constants, createCipheriv, createDecipheriv, privateDecrypt, publicEncrypt } from "node:crypto";
import { wireError } from "./faults.ts";
import type { PrivateKey, PublicKey } from "./keys.ts";
import { BLOCK_LENGTH } from "./padding.ts";

/** Bytes that PKCS#1 v1.5 takes of each segment. */
const SEGMENT_OVERHEAD = 11;
/**
 * Most segments that are decrypted by default. Longer bodies would only keep the process busy before their signature
 * could be looked at.
 */
const MAX_SEGMENTS = 64;
/** Most segments of the first answer: it holds a key or a refusal, a few hundred bytes. */
export const FIRST_ANSWER_SEGMENTS = 16;
/** Bytes of a session key. */
export const SESSION_KEY_LENGTH = 16;

const padding = constants.RSA_PKCS1_PADDING;

/** How {@linkcode encryptSegments} cuts. */
export interface SegmentOptions {
  /** Most bytes of a segment. @default {117, or what the key allows} */
  segmentLength?: number;
}

/**
 * Encrypts bytes of any length with RSA PKCS#1 v1.5, segment by segment. No bytes make no segments.
 *
 * @throws {RangeError} When a segment is longer than the key allows.
 */
export function encryptSegments(plain: Uint8Array, key: PublicKey, options: SegmentOptions = {}): Uint8Array {
  const most = key.length - SEGMENT_OVERHEAD;
  const { segmentLength = most } = options;
  if (!Number.isInteger(segmentLength) || segmentLength < 1 || segmentLength > most) {
    throw new RangeError(
      `Cannot encrypt: segments of ${segmentLength} bytes do not fit the key, 1 to ${most} do`,
    );
  }
  const segments: Uint8Array[] = [];
  for (let at = 0; at < plain.length; at += segmentLength) {
    segments.push(publicEncrypt({ key: key.handle, padding }, plain.subarray(at, at + segmentLength)));
  }
  return Buffer.concat(segments);
}

/**
 * Decrypts what {@linkcode encryptSegments} or another client made; segments may be cut at any length.
 *
 * All segments are decrypted before one that is damaged is told of, and no error says which one it was: whoever sends
 * damaged segments learns nothing about the key from the answer or its time.
 *
 * @throws {ProtocolError} With code `cipher-segment` when a segment is cut short or meant for another key, or
 *   there are more than allowed.
 */
export function decryptSegments(
  encrypted: Uint8Array,
  key: PrivateKey,
  mostSegments: number = MAX_SEGMENTS,
): Uint8Array {
  if (encrypted.length % key.length !== 0) {
    throw wireError(
      "cipher-segment",
      `Cannot decrypt: ${encrypted.length} bytes are no whole segments of ${key.length}`,
    );
  }
  const count = encrypted.length / key.length;
  if (count > mostSegments) {
    throw wireError(
      "cipher-segment",
      `Cannot decrypt: ${count} segments are more than the ${mostSegments} taken`,
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
    throw wireError("cipher-segment", "Cannot decrypt: a segment is damaged or meant for another key");
  }
  return Buffer.concat(parts);
}

/**
 * Reads the session key out of the answer to the first request.
 *
 * @param encryptedKey Base64 of 16 bytes. A secret.
 * @throws {ProtocolError} With code `cipher-key` when it is no such thing.
 */
export function readSessionKey(encryptedKey: string): Uint8Array {
  const key = Buffer.from(encryptedKey, "base64");
  if (key.length !== SESSION_KEY_LENGTH || key.toString("base64") !== encryptedKey) {
    throw wireError("cipher-key", "Cannot read session key: it is not Base64 of 16 bytes");
  }
  return new Uint8Array(key);
}

/**
 * AES-128 in ECB mode over whole blocks. A block depends on no other in this mode, so one cipher for each
 * direction lasts as long as the session: three to four times as fast as one for each body. Both are
 * resources of the runtime; dispose of them with the session.
 */
export class SessionCipher implements Disposable {
  readonly #encrypting: ReturnType<typeof createCipheriv>;
  readonly #decrypting: ReturnType<typeof createDecipheriv>;
  #closed = false;

  /**
   * Makes both ciphers.
   *
   * @param key The session key, 16 bytes.
   * @throws {ProtocolError} With code `cipher-key` when it has another length.
   */
  constructor(key: Uint8Array) {
    if (key.length !== SESSION_KEY_LENGTH) {
      throw wireError("cipher-key", `Cannot use session key: it has ${key.length} bytes instead of 16`);
    }
    this.#encrypting = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
    this.#decrypting = createDecipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  }

  /** Encrypts whole blocks. */
  encrypt(padded: Uint8Array): Uint8Array {
    checkBlocks(padded);
    return this.#encrypting.update(padded);
  }

  /**
   * Decrypts whole blocks; the padding is still there.
   *
   * @throws {ProtocolError} With code `cipher-block` when they are not whole.
   */
  decrypt(encrypted: Uint8Array): Uint8Array {
    checkBlocks(encrypted);
    return this.#decrypting.update(encrypted);
  }

  /** Gives both ciphers back to the runtime; nothing can be encrypted any more. */
  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#encrypting.final();
    this.#decrypting.final();
  }
}

function checkBlocks(bytes: Uint8Array): void {
  if (bytes.length % BLOCK_LENGTH === 0) return;
  throw wireError("cipher-block", `Cannot read body: ${bytes.length} bytes are no whole blocks of 16`);
}
