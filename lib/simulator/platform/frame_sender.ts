/**
 * Opens and seals the frames of one socket, and damages outgoing frames if a fault is armed.
 *
 * @module
 */
import type { AnyOperation } from "../../operations/operation.ts";
import { SESSION_KEY_LENGTH, SessionCipher } from "../../wire/cipher.ts";
import { encodeFrame, encodeHeader, type Frame, HEADER_LENGTH } from "../../wire/framing.ts";
import { BLOCK_LENGTH, pad, type Padding } from "../../wire/padding.ts";
import {
  type OpenedFrame,
  type PlainFrame,
  Sealing,
  type SealingOptions,
  signBody,
} from "../../wire/sealing.ts";
import type { Fault, FaultKind, FaultPush, Faults } from "../endpoints/faults.ts";
import { joinBytes } from "../../bytes.ts";
import { FrameWriter } from "../../endpoints/frame_writer.ts";

/** Options of {@linkcode FrameSender}. */
interface FrameSenderOptions {
  keys: SealingOptions;
  faults: Faults;
  /** Maximum number of bytes that wait for a slow reader; beyond it, the reader is disconnected. */
  bufferLimit: number;
}

/** Returns a fault of a kind that matches the outgoing frame, and counts it. */
type Strike = (kind: FaultKind) => Fault | undefined;

const HUGE_BYTES = 32 * 1024 * 1024;
const PIECE_BYTES = 40;
const MERGE_MS = 50;

/** Sends and opens frames at one end of a socket. */
export class FrameSender implements Disposable {
  readonly #options: FrameSenderOptions;
  readonly #sealing: Sealing;
  readonly #writer: FrameWriter;
  #sessionKey: Uint8Array | undefined;
  #muted = false;
  #pushSerial = 0;
  #waiting: Uint8Array[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(conn: Deno.TcpConn, options: FrameSenderOptions) {
    this.#options = options;
    this.#sealing = new Sealing(options.keys);
    this.#writer = new FrameWriter(conn, options.bufferLimit);
  }

  /** Resolves when the connection is closed and the last write has ended. */
  get done(): Promise<void> {
    return this.#writer.done;
  }

  /** Whether there is a session key. Without one, only the first answer can be encrypted. */
  get hasSessionKey(): boolean {
    return this.#sessionKey !== undefined;
  }

  /** Sets the key of a new session. */
  useSessionKey(key: Uint8Array): void {
    this.#sessionKey = key;
    this.#sealing.useSessionKey(key);
  }

  /** Decrypts and verifies a frame. @throws {ProtocolError} If it is invalid. */
  open(frame: Frame): OpenedFrame {
    return this.#sealing.open(frame);
  }

  /** Sends nothing from now on, although the connection stays open. */
  mute(): void {
    this.#muted = true;
  }

  /** Sends an answer. Faults that are armed for the operation apply to it. */
  answer(serial: number, body: Uint8Array, operation?: AnyOperation): void {
    const { faults } = this.#options;
    const strike: Strike = (kind) =>
      operation && faults.strikeCall(kind, operation, ({ push }) => push === undefined);
    this.#send({ type: "response", serial, body }, strike);
  }

  /** Sends only `bytes` of an answer, by default half of it, then closes. */
  cutAnswer(serial: number, body: Uint8Array, bytes?: number): void {
    const frame = this.#sealing.seal({ type: "response", serial, body });
    this.#write(frame.subarray(0, bytes ?? frame.length >>> 1));
    this.end();
  }

  /** Sends an answer with a valid header and a huge body of zero bytes. */
  hugeAnswer(serial: number, bytes: number = HUGE_BYTES): void {
    if (this.#muted) return;
    const header = encodeHeader({ type: "response", serial, bodyLength: bytes });
    this.#writer.sendPieces(joinBytes([header, new Uint8Array(bytes)]), HEADER_LENGTH + bytes);
  }

  /** Sends a push. Pushes have their own serial numbers, from 1 on each connection. */
  push(push: FaultPush, body: Uint8Array): void {
    const strike: Strike = (kind) => {
      const armed = this.#options.faults.findPush(kind, push, (fault) => fault.push !== undefined);
      armed?.strike();
      return armed?.fault;
    };
    this.#pushSerial += 1;
    this.#send({ type: "push", serial: this.#pushSerial, body }, strike);
  }

  /** Sends only part of a push, then closes. */
  cutPush(body: Uint8Array, bytes: number): void {
    this.#pushSerial += 1;
    this.#write(this.#sealing.seal({ type: "push", serial: this.#pushSerial, body }).subarray(0, bytes));
    this.end();
  }

  /** Sends a heartbeat. */
  heartbeat(): void {
    this.#write(encodeFrame({ type: "heartbeat" }));
  }

  /** Closes the connection when all queued frames are written. */
  end(): void {
    this.#flush();
    this.#writer.end();
  }

  /** Closes immediately. */
  close(): void {
    this.#writer.close();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#sealing[Symbol.dispose]();
  }

  #send(plain: PlainFrame, strike: Strike): void {
    const frame = this.#spoil(plain, strike);
    const truncated = strike("truncated-frame");
    if (truncated !== undefined) return this.#write(frame.subarray(0, truncated.bytes ?? frame.length >>> 1));
    const split = strike("split-frame");
    if (split !== undefined) {
      this.#flush();
      if (!this.#muted) this.#writer.sendPieces(frame, split.bytes ?? PIECE_BYTES);
      return;
    }
    const merged = strike("merged-frames");
    if (merged !== undefined) return this.#hold(frame, merged.ms ?? MERGE_MS);
    this.#write(frame);
  }

  /** Seals a frame, damaged if a fault strikes. */
  #spoil(plain: PlainFrame, strike: Strike): Uint8Array {
    if (strike("wrong-signature") !== undefined) {
      const frame = this.#sealing.seal(plain);
      frame[14] = frame[14]! ^ 0xff;
      frame[141] = frame[141]! ^ 0xff;
      return frame;
    }
    // Frames that are encrypted with RSA do not use this padding.
    if (plain.serial === 0 || this.#sessionKey === undefined) return this.#sealing.seal(plain);
    if (strike("wrong-padding") !== undefined) return this.#sealPadded(plain, badlyPadded(plain.body));
    const other = strike("other-padding");
    if (other === undefined) return this.#sealing.seal(plain);
    const padding: Padding = other.padding ?? "mod_len";
    return this.#sealPadded(plain, pad(plain.body, padding));
  }

  #sealPadded({ type, serial, body }: PlainFrame, padded: Uint8Array): Uint8Array {
    const signature = signBody(body, this.#options.keys.privateKey);
    using cipher = new SessionCipher(this.#sessionKey ?? new Uint8Array(SESSION_KEY_LENGTH));
    return encodeFrame({ type, serial, signature, reserved: 1n }, cipher.encrypt(padded));
  }

  #hold(frame: Uint8Array, ms: number): void {
    this.#waiting.push(frame);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#flush(), ms);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    if (this.#waiting.length > 0) this.#write();
  }

  /** Writes the waiting bytes and the frame together. */
  #write(frame?: Uint8Array): void {
    if (this.#muted) return;
    clearTimeout(this.#timer);
    const frames = frame === undefined ? this.#waiting : [...this.#waiting, frame];
    this.#waiting = [];
    this.#writer.send(joinBytes(frames));
  }
}

/** Returns a body padded to whole blocks, whose last byte no padding rule accepts as a length. */
function badlyPadded(body: Uint8Array): Uint8Array {
  const padded = pad(body);
  padded.fill(0x99, padded.length - (BLOCK_LENGTH - body.length % BLOCK_LENGTH));
  return padded;
}
