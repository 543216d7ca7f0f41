/**
 * Signs and encrypts plain bodies into frames for the direct socket, and verifies and decrypts such frames.
 *
 * | Frame | Cipher | Signature |
 * |---|---|---|
 * | request or answer, serial 0 | RSA, with the other side's public key | over the plain body |
 * | push, serial 0 | none | over the plain body |
 * | any other serial | AES, with the session key | over the plain body |
 * | heartbeat | none, and no body | none |
 * | no body at all | none | over no bytes |
 *
 * A signature is SHA1WithRSA (PKCS#1 v1.5) over the plain body, before it is encrypted. The first request is
 * signed like any other. Both ends use the same {@linkcode Sealing}, each with its own private key and the
 * other side's public key.
 *
 * @see API document 4.8, 5
 * @module
 */
import type { FrameType } from "../dictionaries/header.ts";
import { nodeCrypto } from "../std/node_crypto.ts";
import { decryptSegments, encryptSegments, SessionCipher } from "./cipher.ts";
import { wireError } from "./faults.ts";
import { encodeFrame, type Frame, SIGNATURE_LENGTH } from "./framing.ts";
import { KEY_BITS, type PrivateKey, type PublicKey } from "./keys.ts";
import { likelyReading, pad, type Padding, readings } from "./padding.ts";

/** Keys and options of one side. */
export interface SealingOptions {
  /** This side's private key: signs the frames to send, and decrypts RSA frames of the other side. */
  privateKey: PrivateKey;
  /** The other side's public key: verifies its frames, and encrypts the RSA frames to send. */
  publicKey: PublicKey;
  /**
   * Accept frames without a signature, for a server that does not sign. A wrong signature is still rejected.
   * @default {false}
   */
  allowUnsigned?: boolean;
  /** Padding of the bodies to send. Received bodies may use PKCS#7 or the `mod_len` rule. @default {"pkcs7"} */
  padding?: Padding;
  /** Maximum number of bytes of an RSA segment to send; the vendor's client uses 100. @default {117} */
  segmentLength?: number;
  /** Maximum number of RSA segments of a body to decrypt. @default {64} */
  mostSegments?: number;
  /**
   * Value of the last field of the header. The vendor's client writes 1; the document does not mention it.
   * @default {1n}
   */
  reserved?: bigint;
}

/** A verified and decrypted frame. */
export interface OpenedFrame {
  /**
   * The plain body. A body that was not encrypted is a view of the decoder's buffer: read it immediately, or copy
   * it. The body of a heartbeat is dropped, because it is not signed.
   */
  readonly body: Uint8Array;
  /** Whether the other side signed the frame. `none` occurs only for heartbeats and with `allowUnsigned`. */
  readonly signature: "ok" | "none";
}

/** A body to send. */
export interface PlainFrame {
  /** Type of the frame. */
  readonly type: FrameType;
  /** Serial number; 0 for the first request, its answer, heartbeats, and pushes that are not encrypted. */
  readonly serial: number;
  /** The body before encryption. */
  readonly body: Uint8Array;
}

const EMPTY = new Uint8Array(0);

/** Returns how the body of a frame is encrypted. */
export function cipherOf(type: FrameType, serial: number): "none" | "rsa" | "aes" {
  if (type === "heartbeat") return "none";
  if (serial !== 0) return "aes";
  return type === "push" ? "none" : "rsa";
}

/** Seals and opens frames on one side of one session. Dispose it with the session. */
export class Sealing implements Disposable {
  readonly #options: SealingOptions;
  #cipher: SessionCipher | undefined;

  /**
   * Creates a session without a session key; {@linkcode Sealing.useSessionKey} sets it later.
   *
   * @throws {TypeError} If a key does not have 1024 bits.
   */
  constructor(options: SealingOptions) {
    checkSigningKey(options.privateKey);
    checkSigningKey(options.publicKey);
    this.#options = options;
  }

  /**
   * Sets the session key from the first answer; replaces an earlier one.
   *
   * @throws {ProtocolError} With code `cipher-key` if it does not have 16 bytes.
   */
  useSessionKey(key: Uint8Array): void {
    const cipher = new SessionCipher(key);
    this.#cipher?.[Symbol.dispose]();
    this.#cipher = cipher;
  }

  /**
   * Signs, encrypts and frames a body.
   *
   * @throws {ProtocolError} With code `cipher-key` if the session has no key yet.
   */
  seal({ type, serial, body }: PlainFrame): Uint8Array<ArrayBuffer> {
    const { privateKey, reserved = 1n } = this.#options;
    if (type === "heartbeat") return encodeFrame({ type, reserved });
    // Check for the session key before signing, because signing is slow.
    const cipher = body.length === 0 ? "none" : cipherOf(type, serial);
    if (cipher === "aes") this.#session();
    const signature = signBody(body, privateKey);
    return encodeFrame({ type, serial, signature, reserved }, this.#encrypt(body, cipher));
  }

  /**
   * Decrypts a frame and verifies it. With `allowUnsigned`, also returns the body of a frame without a signature.
   *
   * @throws {ProtocolError} With a `BodyFault` as its code.
   */
  open(frame: Frame): OpenedFrame {
    const { type, body, header: { signature, serial } } = frame;
    if (type === "heartbeat") return { body: EMPTY, signature: "none" };
    const cipher = body.length === 0 ? "none" : cipherOf(type, serial);
    if (isUnsigned(signature)) {
      if (this.#options.allowUnsigned !== true) {
        throw wireError(
          "signature-missing",
          `Cannot accept the ${type} with serial number ${serial}: it is not signed`,
        );
      }
      return { body: this.#decryptUnsigned(body, cipher), signature: "none" };
    }
    const { publicKey } = this.#options;
    let candidates: Uint8Array[];
    try {
      candidates = this.#decrypt(body, cipher);
    } catch (error) {
      // Spend the time of a verification here too. Otherwise the duration would show which of the two steps failed.
      if (cipher === "rsa") verifyBody(EMPTY, signature, publicKey);
      throw error;
    }
    for (const candidate of candidates) {
      if (verifyBody(candidate, signature, publicKey)) return { body: candidate, signature: "ok" };
    }
    throw wireError(
      "signature-bad",
      `Cannot accept the ${type} with serial number ${serial}: its signature does not match its body`,
    );
  }

  /** Discards the session key. */
  [Symbol.dispose](): void {
    this.#cipher?.[Symbol.dispose]();
    this.#cipher = undefined;
  }

  #encrypt(body: Uint8Array, cipher: "none" | "rsa" | "aes"): Uint8Array {
    if (cipher === "none") return body;
    const { publicKey, segmentLength, padding } = this.#options;
    if (cipher === "rsa") return encryptSegments(body, publicKey, { segmentLength });
    return this.#session().encrypt(pad(body, padding));
  }

  /** Returns all possible plain bodies; more than one only if the padding is ambiguous. */
  #decrypt(body: Uint8Array, cipher: "none" | "rsa" | "aes"): Uint8Array[] {
    if (cipher === "none") return [body];
    if (cipher === "rsa") {
      return [decryptSegments(body, this.#options.privateKey, this.#options.mostSegments)];
    }
    const padded = this.#session().decrypt(body);
    return readings(padded).map((length) => padded.subarray(0, length));
  }

  #decryptUnsigned(body: Uint8Array, cipher: "none" | "rsa" | "aes"): Uint8Array {
    if (cipher !== "aes") return this.#decrypt(body, cipher)[0]!;
    const padded = this.#session().decrypt(body);
    return padded.subarray(0, likelyReading(padded));
  }

  #session(): SessionCipher {
    if (this.#cipher === undefined) {
      throw wireError("cipher-key", "Cannot encrypt or decrypt: the session has no key yet");
    }
    return this.#cipher;
  }
}

const ALGORITHM = "RSA-SHA1";

/**
 * Signs a plain body.
 *
 * @returns The 128 bytes for the header.
 * @throws {TypeError} If the key does not have 1024 bits: other signatures do not fit the header.
 */
export function signBody(plain: Uint8Array, key: PrivateKey): Uint8Array {
  checkSigningKey(key);
  // Look up the function at each call, because `hsgate swarm` replaces it. The same is true of `verify` below.
  return nodeCrypto().sign(ALGORITHM, plain, key.handle);
}

/** Returns whether a signature belongs to a plain body. */
export function verifyBody(plain: Uint8Array, signature: Uint8Array, key: PublicKey): boolean {
  checkSigningKey(key);
  return nodeCrypto().verify(ALGORITHM, plain, key.handle, signature);
}

/** Returns whether a header has no signature: its bytes are zero. */
export function isUnsigned(signature: Uint8Array): boolean {
  for (let at = 0; at < signature.length; at++) if (signature[at] !== 0) return false;
  return true;
}

/**
 * Throws if the signatures of a key do not fit the header.
 *
 * @throws {TypeError} If the key does not have 1024 bits.
 */
export function checkSigningKey({ type, length }: PrivateKey | PublicKey): void {
  if (length === SIGNATURE_LENGTH) return;
  throw new TypeError(
    `Cannot use ${type} key for signatures: it has ${
      length * 8
    } bits, and the header's 128 bytes need ${KEY_BITS}`,
  );
}
