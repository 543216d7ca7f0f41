/**
 * Describes the captured bytes of one direction of a connection frame by frame, for people who investigate a problem.
 * The transports reject a faulty frame. This module shows as much of the frame as possible and describes the fault.
 *
 * @module
 */
import type { FrameType } from "../dictionaries/header.ts";
import { NotifyType, RequestType, ResponseType } from "../dictionaries/message_type.ts";
import { ProtocolError } from "../errors.ts";
import { searchFrames, type Stretch } from "./capture.ts";
import { decryptSegments, readSessionKey, SessionCipher } from "./cipher.ts";
import { wireError } from "./faults.ts";
import { type Frame, HEADER_LENGTH } from "./framing.ts";
import { exportPublicKey, type PrivateKey, type PublicKey, publicKeyOf } from "./keys.ts";
import type { Messages } from "./messages.ts";
import { likelyReading, readings } from "./padding.ts";
import { cipherOf, isUnsigned, verifyBody } from "./sealing.ts";

/** Keys and definitions for the inspection. Parts that need a missing key are not decoded. */
export interface InspectOptions {
  /** The message definitions. */
  messages: Messages;
  /** Session key, 16 bytes. @default the key in the first answer, if the capture contains it */
  aesKey?: Uint8Array;
  /** The developer's private key: decrypts the first answer, and its public half verifies requests. */
  privateKey?: PrivateKey;
  /** The platform's public key: verifies answers and pushes. */
  platformKey?: PublicKey;
}

/** Fields of the header by their names in the API document. */
interface HeaderMembers {
  /** Type of the frame. */
  msgType: number;
  /** Format of the body, 0 for protobuf. */
  protoFmtType: number;
  /** Version of the protocol. */
  protoVer: number;
  /** Serial number, unsigned. */
  serialNo: number;
  /** Length of the body as sent. */
  bodyLen: number;
  /** Compression, 0 for none. */
  compressAlgorithm: number;
  /** 64 bits, as decimal text. */
  reserved: string;
}

/** Result of checking a signature; `unchecked` if the key or the plain body is missing. */
type SignatureState = "ok" | "bad" | "none" | "unchecked";

/** One frame, or bytes that are not a frame. Can be written as JSON. */
export interface InspectedFrame extends Partial<HeaderMembers> {
  /** Offset of its first byte. */
  offset: number;
  /** Number of its bytes. */
  length: number;
  /** Type of the frame: heartbeat, request, response, push. */
  kind?: string;
  /** Encryption of its body: none, rsa, aes. */
  cipher?: string;
  /** Result of checking its signature. */
  signature?: SignatureState;
  /** Name of the message's type number, such as `TradeEntrust`. */
  message?: string;
  /** Members of the envelope without the payload; the token is hidden. */
  envelope?: Record<string, unknown>;
  /** Name of the payload's message. */
  payloadType?: string;
  /**
   * The whole payload as protobuf JSON, because the user has provided the keys to see it. Passwords in it are
   * encrypted.
   */
  payload?: Record<string, unknown>;
  /** The fault, as a code of `WireFault`. */
  error?: string;
  /** Description of the fault. */
  reason?: string;
}

const envelopes = {
  request: ["PBRequest", "requestMsgType", RequestType],
  response: ["PBResponse", "responseMsgType", ResponseType],
  push: ["PBNotify", "notifyMsgType", NotifyType],
} as const;

const EMPTY = new Uint8Array(0);

/** Yields a description of every frame in captured bytes, and of every range that is not a frame. */
export function* inspectFrames(bytes: Uint8Array, options: InspectOptions): Generator<InspectedFrame> {
  using inspector = new Inspector(options);
  for (const stretch of searchFrames(bytes, (frame) => inspector.isSigned(frame))) {
    yield inspector.line(bytes, stretch);
  }
}

/** All possible plain bodies of a frame, the most likely first. */
interface Decrypted {
  cipher: string;
  bodies: Uint8Array[];
}

class Inspector implements Disposable {
  readonly #options: InspectOptions;
  #cipher: SessionCipher | undefined;
  /** Verifies requests; `undefined` if no private key is given, or if it is known to be the platform's. */
  #developerKey: PublicKey | undefined;

  constructor(options: InspectOptions) {
    const { aesKey, privateKey, platformKey } = options;
    this.#options = options;
    if (aesKey !== undefined) this.#cipher = new SessionCipher(aesKey);
    if (privateKey === undefined) return;
    const half = publicKeyOf(privateKey);
    const isPlatforms = platformKey !== undefined && exportPublicKey(platformKey) === exportPublicKey(half);
    if (!isPlatforms) this.#developerKey = half;
  }

  /** Returns whether a frame's signature proves that it is complete. */
  isSigned(frame: Frame): boolean {
    try {
      return this.#verified(frame, this.#decrypt(frame).bodies) !== undefined;
    } catch (error) {
      if (error instanceof ProtocolError) return false;
      throw error;
    }
  }

  line(bytes: Uint8Array, { offset, length, frame, fault }: Stretch): InspectedFrame {
    const line: InspectedFrame = { offset, length };
    const isHeader = fault?.code !== "frame-flag" && bytes.length - offset >= HEADER_LENGTH;
    if (isHeader) Object.assign(line, headerMembers(bytes, offset));
    try {
      if (fault !== undefined) throw fault;
      if (frame !== undefined) this.#describe(line, frame);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      line.error = error.code;
      line.reason = error.message;
    }
    return line;
  }

  [Symbol.dispose](): void {
    this.#cipher?.[Symbol.dispose]();
  }

  #describe(line: InspectedFrame, frame: Frame): void {
    const { type, header: { signature } } = frame;
    const unsigned = isUnsigned(signature);
    line.kind = type;
    line.cipher = frame.body.length === 0 ? "none" : cipherOf(type, frame.serial);
    line.signature = unsigned ? "none" : "unchecked";
    const { cipher, bodies } = this.#decrypt(frame);
    line.cipher = cipher;
    const verified = unsigned ? undefined : this.#verified(frame, bodies);
    if (!unsigned && this.#keyFor(type) !== undefined) line.signature = verified === undefined ? "bad" : "ok";
    const body = verified ?? bodies[0]!;
    if (type === "heartbeat" || body.length === 0) return;
    this.#readEnvelope(line, type, body);
  }

  #readEnvelope(line: InspectedFrame, type: Exclude<FrameType, "heartbeat">, body: Uint8Array): void {
    const { messages } = this.#options;
    const [envelope, member, numbers] = envelopes[type];
    const { payload, ...members } = messages.decode(envelope, body);
    // The reader returns a number for an enumeration, and no member for 0.
    line.message = numbers.decode(String(members[member] ?? 0));
    // Hide the token: it gives access to the session and is useless for the inspection.
    line.envelope = protobufJson("token" in members ? { ...members, token: "[secret]" } : members);
    const any = messages.reader(envelope)(body).payload;
    if (payload === undefined || typeof any !== "object" || any === null) return;
    // The library's Any: a URL whose last part is the name of the message, and its bytes.
    const { type_url: url, value } = any as { type_url: string; value: unknown };
    line.payloadType = url.slice(url.lastIndexOf("/") + 1);
    const content = messages.decode(line.payloadType, value instanceof Uint8Array ? value : EMPTY);
    line.payload = protobufJson(content);
    if (line.payloadType === "InitConnectResp") this.#useSessionKey(content.encryptedKey);
  }

  /** Uses the session key in an answer. Ignores an invalid key, which the payload shows anyway. */
  #useSessionKey(encryptedKey: unknown): void {
    if (this.#options.aesKey !== undefined || typeof encryptedKey !== "string") return;
    try {
      const cipher = new SessionCipher(readSessionKey(encryptedKey));
      this.#cipher?.[Symbol.dispose]();
      this.#cipher = cipher;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
    }
  }

  #decrypt(frame: Frame): Decrypted {
    const { type, serial, body } = frame;
    const cipher = body.length === 0 ? "none" : cipherOf(type, serial);
    if (cipher === "none") return { cipher, bodies: [body] };
    if (cipher === "rsa") return { cipher, bodies: [this.#decryptRsa(frame)] };
    // The gateway's own pushes are never encrypted, even with a serial number.
    if (type === "push" && this.#isPlainPush(frame)) return { cipher: "none", bodies: [body] };
    if (this.#cipher === undefined) {
      throw wireError("cipher-key", "Cannot decrypt: the session key is not known");
    }
    const padded = this.#cipher.decrypt(body);
    const likely = likelyReading(padded);
    const lengths = [likely, ...readings(padded).filter((length) => length !== likely)];
    return { cipher, bodies: lengths.map((length) => padded.subarray(0, length)) };
  }

  #decryptRsa({ type, body }: Frame): Uint8Array {
    const { privateKey } = this.#options;
    if (privateKey === undefined) {
      throw wireError("cipher-key", "Cannot decrypt: the private key is not given");
    }
    const plain = decryptSegments(body, privateKey);
    // Only the platform can decrypt a first request. So this private key is the platform's, not the developer's.
    if (type === "request") this.#developerKey = undefined;
    return plain;
  }

  /**
   * Returns whether a body is an unencrypted push. Encrypted bytes would not decode as an envelope with a
   * URL.
   */
  #isPlainPush({ body }: Frame): boolean {
    try {
      const { payload } = this.#options.messages.reader("PBNotify")(body);
      return typeof payload === "object" && payload !== null && "type_url" in payload &&
        typeof payload.type_url === "string" && /^[\w.]*\/\w+$/.test(payload.type_url);
    } catch (error) {
      if (error instanceof ProtocolError) return false;
      throw error;
    }
  }

  #verified({ type, header: { signature } }: Frame, bodies: readonly Uint8Array[]): Uint8Array | undefined {
    const key = this.#keyFor(type);
    return key && bodies.find((body) => verifyBody(body, signature, key));
  }

  /**
   * Returns the key that verifies frames of a type. None for heartbeats: both sides send them, and few clients sign
   * them.
   */
  #keyFor(type: FrameType): PublicKey | undefined {
    if (type === "heartbeat") return undefined;
    return type === "request" ? this.#developerKey : this.#options.platformKey;
  }
}

function headerMembers(bytes: Uint8Array, at: number): HeaderMembers {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, HEADER_LENGTH);
  return {
    msgType: view.getInt16(2, true),
    protoFmtType: view.getUint8(4),
    protoVer: view.getUint8(5),
    serialNo: view.getUint32(6, true),
    bodyLen: view.getUint32(10, true),
    compressAlgorithm: view.getUint8(142),
    reserved: view.getBigInt64(143, true).toString(),
  };
}

/** Converts a decoded message to JSON: bytes as Base64, and numbers without a JSON form as text. */
function protobufJson(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(fit);
    if (value instanceof Uint8Array) return value.toBase64();
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    // The reader has made this a plain object of members by name.
    if (typeof value === "object" && value !== null) return protobufJson(value as Record<string, unknown>);
    return value;
  };
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, fit(value)]));
}
