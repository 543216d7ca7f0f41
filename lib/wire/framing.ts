/**
 * Frames out of a stream of bytes, however the stream is cut.
 *
 * @module
 */
import type { FrameType } from "../dictionaries/header.ts";
import { ProtocolError } from "../errors.ts";
import {
  bodyLengthAt,
  frameTypeAt,
  type Header,
  HEADER_LENGTH,
  headerError,
  type HeaderFault,
  headerFault,
  type HeaderInit,
  type HeaderLimits,
  MAX_BODY_LENGTH,
  readHeader,
  serialAt,
  writeHeader,
} from "./header.ts";

/** Bytes of a decoder's buffer at first. */
const BUFFER_LENGTH = 256 * 1024;
/** Room that a decoder offers at least. */
const LEAST_ROOM = 16 * 1024;

/** How a {@linkcode FrameDecoder} works. */
export interface FrameDecoderOptions extends HeaderLimits {
  /** Bytes of the buffer at first; it returns to them after a long frame. @default {262_144} */
  bufferLength?: number;
  /** Search for the next header after a wrong one, rather than refuse the stream. @default {false} */
  resynchronise?: boolean;
  /** Told how many bytes were passed over before the next header, and for what fault. */
  onPassedOver?: (bytes: number, fault: ProtocolError) => void;
}

/**
 * One whole frame. Body and signature are views of the decoder's buffer: they hold until the next call of
 * `room()`, `write()` or `frames()`. Whoever keeps them longer copies them.
 */
export class Frame {
  readonly #bytes: Uint8Array;
  readonly #at: number;
  /** What the frame is. */
  readonly type: FrameType;
  /** Body as it was sent, so still encrypted on the direct socket. */
  readonly body: Uint8Array;

  /** Takes a frame out of a buffer in which its header has been checked. */
  constructor(bytes: Uint8Array, at: number, end: number) {
    this.#bytes = bytes;
    this.#at = at;
    this.type = frameTypeAt(bytes, at);
    this.body = bytes.subarray(at + HEADER_LENGTH, end);
  }

  /** Serial number, unsigned. */
  get serial(): number {
    return serialAt(this.#bytes, this.#at);
  }

  /** All fields of the header; read on demand, as a stream of quotes needs none of the others. */
  get header(): Header {
    return readHeader(this.#bytes, this.#at);
  }
}

/**
 * A pure decoder: bytes in, whole frames out, the rest is kept. One buffer holds the rest; it grows with the
 * bytes that really came, up to the longest frame. A wrong header ends the stream with a {@linkcode ProtocolError}
 * unless `resynchronise` is set, since a length that was misread makes nonsense of all that follows.
 *
 * @example Read a socket without copying
 * ```ts ignore
 * for (let n; (n = await conn.read(decoder.room())) !== null;) {
 *   decoder.filled(n);
 *   for (let frame; (frame = decoder.next()) !== undefined;) handle(frame);
 * }
 * ```
 */
export class FrameDecoder {
  readonly #limits: Required<HeaderLimits>;
  readonly #bufferLength: number;
  readonly #resynchronise: boolean;
  readonly #onPassedOver: FrameDecoderOptions["onPassedOver"];
  #bytes: Uint8Array<ArrayBuffer>;
  #start = 0;
  #end = 0;
  #fault: ProtocolError | undefined;
  #skipping = 0;
  #passedOver = 0;

  constructor(options: FrameDecoderOptions = {}) {
    const { maxBodyLength = MAX_BODY_LENGTH, versions = [0], bufferLength = BUFFER_LENGTH } = options;
    this.#limits = { maxBodyLength, versions };
    this.#bufferLength = Math.max(bufferLength, HEADER_LENGTH);
    this.#resynchronise = options.resynchronise ?? false;
    this.#onPassedOver = options.onPassedOver;
    this.#bytes = new Uint8Array(this.#bufferLength);
  }

  /** Bytes that wait for the rest of their frame. */
  get pending(): number {
    return this.#end - this.#start;
  }

  /** Bytes of the buffer. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** Bytes passed over so far in search of a header. */
  get passedOver(): number {
    return this.#passedOver;
  }

  /** The free end of the buffer, for a reader to fill; then call `filled`. Ends the life of earlier views. */
  room(): Uint8Array<ArrayBuffer> {
    if (this.#bytes.length - this.#end < Math.min(LEAST_ROOM, this.#bytes.length)) this.#makeRoom(LEAST_ROOM);
    else if (this.#start === this.#end) this.#makeRoom(0);
    return this.#bytes.subarray(this.#end);
  }

  /** Says how many bytes of `room()` were filled. */
  filled(count: number): void {
    if (!Number.isInteger(count) || count < 0 || count > this.#bytes.length - this.#end) {
      throw new RangeError(`Cannot take ${count} bytes: the room has ${this.#bytes.length - this.#end}`);
    }
    this.#end += count;
  }

  /** Takes bytes from elsewhere; they are copied. Ends the life of earlier views. */
  write(chunk: Uint8Array): void {
    if (this.#start === this.#end || this.#bytes.length - this.#end < chunk.length) {
      this.#makeRoom(chunk.length);
    }
    this.#bytes.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /**
   * Returns the next whole frame, or nothing when more bytes are needed.
   *
   * @throws {ProtocolError} When the header is wrong; again at every later call, as nothing can be read any more.
   */
  next(): Frame | undefined {
    if (this.#fault !== undefined && !this.#resynchronise) throw this.#fault;
    while (true) {
      const have = this.#end - this.#start;
      const fault = headerFault(this.#bytes, this.#start, have, this.#limits);
      if (fault !== undefined) {
        this.#refuse(fault);
        continue;
      }
      if (have < HEADER_LENGTH) return undefined;
      if (this.#skipping > 0) this.#found();
      const end = this.#start + HEADER_LENGTH + bodyLengthAt(this.#bytes, this.#start);
      if (end > this.#end) return undefined;
      const frame = new Frame(this.#bytes, this.#start, end);
      this.#start = end;
      return frame;
    }
  }

  /** Takes bytes and yields the frames that are whole now; each holds until the call after the last. */
  *frames(chunk: Uint8Array): Generator<Frame, void, undefined> {
    this.write(chunk);
    for (let frame = this.next(); frame !== undefined; frame = this.next()) yield frame;
  }

  /** Ends the stream at a wrong header, or passes over its first byte and all up to the next `H`. */
  #refuse(fault: HeaderFault): void {
    // One error for all that is passed over; garbage may be wrong at every byte.
    if (this.#skipping === 0) this.#fault = headerError(fault, this.#bytes, this.#start, this.#limits);
    if (!this.#resynchronise) {
      this.#start = this.#end = 0;
      throw this.#fault;
    }
    const next = this.#bytes.subarray(0, this.#end).indexOf(0x48, this.#start + 1);
    const start = next === -1 ? this.#end : next;
    this.#skipping += start - this.#start;
    this.#passedOver += start - this.#start;
    this.#start = start;
  }

  #found(): void {
    const bytes = this.#skipping;
    this.#skipping = 0;
    // A header is only found after one was refused.
    this.#onPassedOver?.(bytes, this.#fault!);
  }

  /** Moves the rest to the front and lets the buffer grow when that is not enough. */
  #makeRoom(wanted: number): void {
    const have = this.#end - this.#start;
    const most = HEADER_LENGTH + this.#limits.maxBodyLength;
    if (have >= most) {
      throw new RangeError(`Cannot take more bytes: ${have} wait already, take the frames out first`);
    }
    const needed = have + wanted;
    if (needed > this.#bytes.length) {
      // Doubling keeps the copying linear; the length that a header claims reserves nothing.
      const grown = new Uint8Array(Math.max(needed, Math.min(this.#bytes.length * 2, most + LEAST_ROOM)));
      grown.set(this.#bytes.subarray(this.#start, this.#end));
      this.#bytes = grown;
    } else if (have === 0 && this.#bytes.length > this.#bufferLength && needed <= this.#bufferLength) {
      this.#bytes = new Uint8Array(this.#bufferLength);
    } else {
      this.#bytes.copyWithin(0, this.#start, this.#end);
    }
    this.#start = 0;
    this.#end = have;
  }
}

/**
 * Writes a frame.
 *
 * @param header Fields of the header; the body's length is taken from the body.
 * @param body Body as it is to be sent.
 */
export function encodeFrame(
  header: HeaderInit,
  body: Uint8Array = new Uint8Array(0),
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER_LENGTH + body.length);
  writeHeader(bytes, { ...header, bodyLength: body.length });
  bytes.set(body, HEADER_LENGTH);
  return bytes;
}
