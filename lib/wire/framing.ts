/**
 * Splits a stream of bytes into frames, however the reads divide the stream. Encodes and decodes the header of a frame:
 * 151 bytes before each body, on the push stream and on the direct socket.
 *
 * | Offset | Size | Field |
 * |---|---|---|
 * | 0 | 2 | `HS` |
 * | 2 | 2 | type of the frame; all numbers here are little-endian |
 * | 4 | 1 | format of the body |
 * | 5 | 1 | version |
 * | 6 | 4 | serial number |
 * | 10 | 4 | length of the body as sent, after encryption |
 * | 14 | 128 | SHA1WithRSA signature of the plain body; zero bytes mean unsigned |
 * | 142 | 1 | compression |
 * | 143 | 8 | reserved; some senders write 1 |
 *
 * @see API document 4.8
 * @module
 */
import { BodyFormat, Compression, FrameType } from "../dictionaries/header.ts";
import { ProtocolError } from "../errors.ts";

/** Default initial size of a decoder's buffer, in bytes. */
const BUFFER_LENGTH = 256 * 1024;
/** Smallest free space that a decoder offers, in bytes. A smaller buffer offers its whole length. */
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
 * that actually arrive, up to the longest frame. After a wrong header, the start of the next frame is unknown. So a
 * wrong header ends the stream with a {@linkcode ProtocolError}, unless `resynchronise` is set.
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

  /** Number of buffered bytes that are not part of a frame returned so far. */
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
      throw new RangeError(
        `Cannot accept ${count} bytes: the buffer has space for only ${this.#bytes.length - this.#end}`,
      );
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
   * @throws {ProtocolError} If the header is wrong and `resynchronise` is not set. Every later call then throws, too.
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
      if (this.#skipping > 0) this.#reportPassedOver();
      const end = this.#start + HEADER_LENGTH + bodyLengthAt(this.#bytes, this.#start);
      if (end > this.#end) return undefined;
      const frame = new Frame(this.#bytes, this.#start, end);
      this.#start = end;
      return frame;
    }
  }

  /**
   * Adds bytes and yields the frames that are now complete. They are valid until the next call of `room`, `write` or
   * `frames`.
   */
  *frames(chunk: Uint8Array): Generator<Frame, void, undefined> {
    this.write(chunk);
    for (let frame = this.next(); frame !== undefined; frame = this.next()) yield frame;
  }

  /** Handles a wrong header: throws its fault, or with `resynchronise` skips to the next `H` after its first byte. */
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

  #reportPassedOver(): void {
    const bytes = this.#skipping;
    this.#skipping = 0;
    // Skipping starts with a rejected header, so there is a fault.
    this.#onPassedOver?.(bytes, this.#fault!);
  }

  /**
   * Moves the buffered bytes to the front. Enlarges the buffer if that does not make enough room, and shrinks an empty
   * buffer to its initial size.
   */
  #makeRoom(wanted: number): void {
    const have = this.#end - this.#start;
    const most = HEADER_LENGTH + this.#limits.maxBodyLength;
    if (have >= most) {
      throw new RangeError(
        `Cannot accept more bytes: ${have} bytes are already waiting; read the frames first`,
      );
    }
    const needed = have + wanted;
    if (needed > this.#bytes.length) {
      // Doubling keeps the total copying linear. Do not allocate as many bytes as a header announces, because the
      // header may be false.
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

/** Bytes of a header. */
export const HEADER_LENGTH = 151;
/** Bytes of the signature. */
export const SIGNATURE_LENGTH = 128;
/** Longest body that is accepted by default: 8 MiB. */
export const MAX_BODY_LENGTH = 8 * 1024 * 1024;

const SIGNATURE_AT = 14;
const COMPRESSION_AT = 142;
const RESERVED_AT = 143;
const H = 0x48;
const S = 0x53;

/** A decoded header. */
export interface Header {
  /** Type of the frame. */
  readonly type: FrameType;
  /** Format of the body, a code of `BodyFormat`. */
  readonly format: number;
  /** Version of the protocol. */
  readonly version: number;
  /** Serial number, unsigned. */
  readonly serial: number;
  /** Length of the body in bytes, unsigned. */
  readonly bodyLength: number;
  /** Signature of the plain body, 128 bytes. */
  readonly signature: Uint8Array;
  /** Compression of the body, a code of `Compression`. */
  readonly compression: number;
  /** The last 8 bytes, as a signed number. */
  readonly reserved: bigint;
}

/** A header to encode; absent fields are zero. */
export type HeaderInit = Pick<Header, "type"> & Partial<Header>;

/** Which headers to accept. */
export interface HeaderLimits {
  /** Longest body, in bytes. @default {MAX_BODY_LENGTH} */
  maxBodyLength?: number;
  /** Supported versions. @default {[0]} */
  versions?: readonly number[];
}

/** Faults of a header, as the `code` of the error. */
export type HeaderFault =
  | "frame-flag"
  | "frame-type"
  | "frame-format"
  | "frame-version"
  | "frame-compression"
  | "frame-too-large";

const typeNames: readonly FrameType[] = FrameType.entries.map(({ name }) => name);
const typeCodes = new Map(FrameType.entries.map(({ code, name }) => [name, Number(code)]));
const formats = new Set(BodyFormat.entries.map(({ code }) => Number(code)));
const compressions = new Set(Compression.entries.map(({ code }) => Number(code)));

/** Returns the 16 bits of the frame's type. */
function typeAt(bytes: Uint8Array, at: number): number {
  return bytes[at + 2]! | bytes[at + 3]! << 8;
}

/** Returns 32 bits, unsigned. */
function unsignedAt(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16 | bytes[at + 3]! << 24) >>> 0;
}

/** Returns the name of the frame's type. The header must have been checked. */
export function frameTypeAt(bytes: Uint8Array, at: number): FrameType {
  return typeNames[typeAt(bytes, at)]!;
}

/** Returns the serial number of a header. */
export function serialAt(bytes: Uint8Array, at: number): number {
  return unsignedAt(bytes, at + 6);
}

/** Returns the length of the body after a header. */
export function bodyLengthAt(bytes: Uint8Array, at: number): number {
  return unsignedAt(bytes, at + 10);
}

/**
 * Returns the first fault of a header; `undefined` if the bytes so far are valid. Each field is checked as soon as it
 * has arrived, so a wrong stream is rejected immediately and not only after 151 bytes.
 *
 * @param bytes Buffer.
 * @param at Offset of the header.
 * @param have Number of header bytes that have arrived.
 */
export function headerFault(
  bytes: Uint8Array,
  at: number,
  have: number,
  { maxBodyLength = MAX_BODY_LENGTH, versions = [0] }: HeaderLimits,
): HeaderFault | undefined {
  if (have >= 1 && bytes[at] !== H || have >= 2 && bytes[at + 1] !== S) return "frame-flag";
  if (have >= 4 && typeAt(bytes, at) >= typeNames.length) return "frame-type";
  if (have >= 5 && !formats.has(bytes[at + 4]!)) return "frame-format";
  if (have >= 6 && !versions.includes(bytes[at + 5]!)) return "frame-version";
  if (have >= 14 && bodyLengthAt(bytes, at) > maxBodyLength) return "frame-too-large";
  if (have > COMPRESSION_AT && !compressions.has(bytes[at + COMPRESSION_AT]!)) return "frame-compression";
  return undefined;
}

/** Returns the error for a fault, with the value that was found. */
export function headerError(
  fault: HeaderFault,
  bytes: Uint8Array,
  at: number,
  { maxBodyLength = MAX_BODY_LENGTH }: HeaderLimits,
): ProtocolError {
  const hex = (byte: number | undefined) => byte === undefined ? "" : byte.toString(16).padStart(2, "0");
  const reasons: Record<HeaderFault, () => string> = {
    "frame-flag": () => `it starts with the bytes ${hex(bytes[at])} ${hex(bytes[at + 1])} instead of "HS"`,
    "frame-type": () => `the frame type ${typeAt(bytes, at)} is unknown`,
    "frame-format": () => `the body's format ${bytes[at + 4]} is unknown`,
    "frame-version": () => `the protocol version ${bytes[at + 5]} is unknown`,
    "frame-compression": () => `the compression ${bytes[at + COMPRESSION_AT]} is unknown`,
    "frame-too-large": () =>
      `a body of ${bodyLengthAt(bytes, at)} bytes is longer than the allowed ${maxBodyLength}`,
  };
  return new ProtocolError(`Cannot read frame: ${reasons[fault]()}`, { code: fault });
}

/** Decodes a header that was checked before. */
export function readHeader(bytes: Uint8Array, at: number): Header {
  return {
    type: frameTypeAt(bytes, at),
    format: bytes[at + 4]!,
    version: bytes[at + 5]!,
    serial: serialAt(bytes, at),
    bodyLength: bodyLengthAt(bytes, at),
    signature: bytes.subarray(at + SIGNATURE_AT, at + SIGNATURE_AT + SIGNATURE_LENGTH),
    compression: bytes[at + COMPRESSION_AT]!,
    reserved: new DataView(bytes.buffer, bytes.byteOffset + at + RESERVED_AT, 8).getBigInt64(0, true),
  };
}

/**
 * Encodes a header.
 *
 * @returns A new array of 151 bytes.
 * @throws {RangeError} If a value does not fit its field.
 */
export function encodeHeader(header: HeaderInit): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER_LENGTH);
  writeHeader(bytes, header);
  return bytes;
}

/** Encodes a header into the first bytes of a buffer, which must be zero. */
export function writeHeader(bytes: Uint8Array, header: HeaderInit): void {
  const { type, format = 0, version = 0, serial = 0, bodyLength = 0, signature, compression = 0 } = header;
  const code = typeCodes.get(type);
  if (code === undefined) throw new RangeError(`Cannot write frame: the type "${type}" is unknown`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEADER_LENGTH);
  bytes[0] = H;
  bytes[1] = S;
  view.setInt16(2, code, true);
  bytes[4] = within("format", format, 0xff);
  bytes[5] = within("version", version, 0xff);
  view.setUint32(6, within("serial", serial, 0xffff_ffff), true);
  view.setUint32(10, within("bodyLength", bodyLength, 0xffff_ffff), true);
  if (signature !== undefined) {
    if (signature.length !== SIGNATURE_LENGTH) {
      throw new RangeError(`Cannot write frame: a signature has 128 bytes, not ${signature.length}`);
    }
    bytes.set(signature, SIGNATURE_AT);
  }
  bytes[COMPRESSION_AT] = within("compression", compression, 0xff);
  view.setBigInt64(RESERVED_AT, header.reserved ?? 0n, true);
}

function within(field: string, value: number, most: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new RangeError(`Cannot write frame: ${field} ${value} is not a whole number from 0 to ${most}`);
}
