/**
 * From a plain body to the frame that carries it over the direct socket, and back.
 *
 * | Frame | Cipher | Signature |
 * |---|---|---|
 * | request or answer, serial 0 | RSA, with the other side's public key | over the plain body |
 * | push, serial 0 | none | over the plain body |
 * | any other serial | AES, with the session key | over the plain body |
 * | heartbeat | none, and no body | none |
 * | no body at all | none | over no bytes |
 *
 * The first request is signed like any other. The same {@linkcode Sealing} serves both ends: each side has
 * its own private key and the other's public one.
 *
 * @see API document 4.8, 5
 * @module
 */
import type { FrameType } from "../dictionaries/header.ts";
import { decryptSegments, encryptSegments, SessionCipher } from "./cipher.ts";
import { wireError } from "./faults.ts";
import { encodeFrame, type Frame } from "./framing.ts";
import type { PrivateKey, PublicKey } from "./keys.ts";
import { likelyReading, pad, type Padding, readings } from "./padding.ts";
import { checkSigningKey, isUnsigned, signBody, verifyBody } from "./signature.ts";

/** Keys and choices of one side. */
export interface SealingOptions {
  /** Our private key: signs what we send, decrypts what is sent to us under RSA. */
  privateKey: PrivateKey;
  /** The other side's public key: verifies what it sends, encrypts what we send it under RSA. */
  publicKey: PublicKey;
  /**
   * Take frames without a signature: for a server that does not sign. A wrong one is refused all the same.
   * @default {false}
   */
  allowUnsigned?: boolean;
  /** How bodies that we send are filled up; both ways are understood. @default {"pkcs7"} */
  padding?: Padding;
  /** Most bytes of an RSA segment that we send; the vendor's client cuts at 100. @default {117} */
  segmentLength?: number;
  /** Most RSA segments of a body that is opened. @default {64} */
  mostSegments?: number;
  /**
   * What stands in the last field of the header: 1 is what the vendor's client writes, the document says
   * nothing.
   * @default {1n}
   */
  reserved?: bigint;
}

/** A frame that was opened. */
export interface Opened {
  /**
   * The plain body. A body that was not encrypted is a view of the decoder's buffer: read it at once, or
   * copy it. What a heartbeat carries is dropped, as nobody signs it.
   */
  readonly body: Uint8Array;
  /** Whether the other side signed it. `none` comes only from heartbeats and with `allowUnsigned`. */
  readonly signature: "ok" | "none";
}

/** A body to be sent. */
export interface PlainFrame {
  /** What the frame is. */
  readonly type: FrameType;
  /** Serial number; 0 for the first request, its answer, and heartbeats. */
  readonly serial: number;
  /** The body before encryption. */
  readonly body: Uint8Array;
}

const EMPTY = new Uint8Array(0);

/** How the body of a frame is encrypted. */
export function cipherOf(type: FrameType, serial: number): "none" | "rsa" | "aes" {
  if (type === "heartbeat") return "none";
  if (serial !== 0) return "aes";
  return type === "push" ? "none" : "rsa";
}

/** Seals and opens frames on one side of one session. Dispose of it with the session. */
export class Sealing implements Disposable {
  readonly #options: SealingOptions;
  #cipher: SessionCipher | undefined;

  /**
   * Takes keys and choices; the session key comes later.
   *
   * @throws {TypeError} When a key is not of 1024 bits.
   */
  constructor(options: SealingOptions) {
    checkSigningKey(options.privateKey);
    checkSigningKey(options.publicKey);
    this.#options = options;
  }

  /**
   * Takes the session key that the first answer brings; an earlier one is forgotten.
   *
   * @throws {ProtocolError} With code `cipher-key` when it is not of 16 bytes.
   */
  useSessionKey(key: Uint8Array): void {
    const cipher = new SessionCipher(key);
    this.#cipher?.[Symbol.dispose]();
    this.#cipher = cipher;
  }

  /**
   * Signs, encrypts and frames a body.
   *
   * @throws {ProtocolError} With code `cipher-key` when the session has no key yet.
   */
  seal({ type, serial, body }: PlainFrame): Uint8Array<ArrayBuffer> {
    const { privateKey, reserved = 1n } = this.#options;
    if (type === "heartbeat") return encodeFrame({ type, reserved });
    // The key is asked for first: signing is what takes time.
    const cipher = body.length === 0 ? "none" : cipherOf(type, serial);
    if (cipher === "aes") this.#session();
    const signature = signBody(body, privateKey);
    return encodeFrame({ type, serial, signature, reserved }, this.#encrypt(body, cipher));
  }

  /**
   * Decrypts a frame and verifies it; an unverified body never comes back.
   *
   * @throws {ProtocolError} With a code of {@linkcode wireFaults} that says what is wrong.
   */
  open(frame: Frame): Opened {
    const { type, body, header: { signature, serial } } = frame;
    if (type === "heartbeat") return { body: EMPTY, signature: "none" };
    const cipher = body.length === 0 ? "none" : cipherOf(type, serial);
    if (isUnsigned(signature)) {
      if (this.#options.allowUnsigned !== true) {
        throw wireError("signature-missing", `Cannot take ${type} ${serial}: it is not signed`);
      }
      return { body: this.#decryptUnsigned(body, cipher), signature: "none" };
    }
    for (const candidate of this.#decrypt(body, cipher)) {
      if (verifyBody(candidate, signature, this.#options.publicKey)) {
        return { body: candidate, signature: "ok" };
      }
    }
    throw wireError("signature-bad", `Cannot take ${type} ${serial}: its signature does not fit its body`);
  }

  /** Forgets the session key. */
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

  /** All that the body may have been; more than one only where its padding can be read in two ways. */
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
