/**
 * Splits a stream of bytes into frames, independent of how the reads divide the stream.
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

/** Initial size of a decoder's buffer. */
const BUFFER_LENGTH = 256 * 1024;
/** Smallest free space that a decoder offers. */
const LEAST_ROOM = 16 * 1024;

/** Options of a {@linkcode FrameDecoder}. */
interface FrameDecoderOptions extends HeaderLimits {
  /** Initial size of the buffer. A buffer that a long frame has enlarged shrinks to this size. @default {262_144} */
  bufferLength?: number;
  /** Search for the next header after a wrong one, instead of rejecting the stream. @default {false} */
  resynchronise?: boolean;
  /** Called with the number of bytes skipped before the next header, and the fault. */
  onPassedOver?: (bytes: number, fault: ProtocolError) => void;
}

/**
 * One whole frame. Body and signature are views of the decoder's buffer, and valid only until the next call of
 * `room()`, `write()` or `frames()`. Copy them to keep them longer.
 */
export class Frame {
  readonly #bytes: Uint8Array;
  readonly #at: number;
  /** Type of the frame. */
  readonly type: FrameType;
  /** Body as it was sent; on the direct socket it is still encrypted. */
  readonly body: Uint8Array;

  /** Creates a frame from a buffer in which its header has been checked. */
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

  /** All fields of the header. They are only decoded on demand, because most frames do not need them. */
  get header(): Header {
    return readHeader(this.#bytes, this.#at);
  }
}

/**
 * A decoder without I/O: it accepts bytes, returns whole frames and buffers the rest. The buffer grows with the bytes
 * that actually arrive, up to the longest frame. A wrong header ends the stream with a {@linkcode ProtocolError}
 * unless `resynchronise` is set, because the start of the next frame is then unknown.
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

  /** Number of bytes that belong to an incomplete frame. */
  get pending(): number {
    return this.#end - this.#start;
  }

  /** Size of the buffer. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** Number of bytes skipped so far while searching for a header. */
  get passedOver(): number {
    return this.#passedOver;
  }

  /** Returns the free end of the buffer to write into; then call `filled`. Invalidates earlier views. */
  room(): Uint8Array<ArrayBuffer> {
    if (this.#bytes.length - this.#end < Math.min(LEAST_ROOM, this.#bytes.length)) this.#makeRoom(LEAST_ROOM);
    else if (this.#start === this.#end) this.#makeRoom(0);
    return this.#bytes.subarray(this.#end);
  }

  /** Adds the first `count` bytes of `room()`, which the caller has written. */
  filled(count: number): void {
    if (!Number.isInteger(count) || count < 0 || count > this.#bytes.length - this.#end) {
      throw new RangeError(`Cannot accept ${count} bytes: the room has ${this.#bytes.length - this.#end}`);
    }
    this.#end += count;
  }

  /** Copies bytes into the buffer. Invalidates earlier views. */
  write(chunk: Uint8Array): void {
    if (this.#start === this.#end || this.#bytes.length - this.#end < chunk.length) {
      this.#makeRoom(chunk.length);
    }
    this.#bytes.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /**
   * Returns the next whole frame, or `undefined` if more bytes are needed.
   *
   * @throws {ProtocolError} If the header is wrong. Without `resynchronise`, every later call throws too.
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

  /** Adds bytes and yields the frames that are now complete. They are valid until the next call that adds bytes. */
  *frames(chunk: Uint8Array): Generator<Frame, void, undefined> {
    this.write(chunk);
    for (let frame = this.next(); frame !== undefined; frame = this.next()) yield frame;
  }

  /** Handles a wrong header: ends the stream, or skips to the next `H` after its first byte. */
  #refuse(fault: HeaderFault): void {
    // Report one error for all skipped bytes, because every single byte of garbage is a wrong header.
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
    // Skipping starts with a rejected header, so there is a fault.
    this.#onPassedOver?.(bytes, this.#fault!);
  }

  /** Moves the buffered bytes to the front, and enlarges the buffer if that does not make enough room. */
  #makeRoom(wanted: number): void {
    const have = this.#end - this.#start;
    const most = HEADER_LENGTH + this.#limits.maxBodyLength;
    if (have >= most) {
      throw new RangeError(`Cannot accept more bytes: ${have} are waiting already, read the frames first`);
    }
    const needed = have + wanted;
    if (needed > this.#bytes.length) {
      // Doubling keeps the total copying linear. Do not reserve the length in a header, which may be false.
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
 * Returns an encoded frame.
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
