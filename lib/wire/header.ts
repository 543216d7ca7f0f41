/**
 * Encodes and decodes the header of a frame: 151 bytes before each body, on the push stream and on the direct socket.
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
 * Returns the first fault of a header, which may still be incomplete. Each field is checked as soon as it has
 * arrived, so a wrong stream is rejected immediately and not only after 151 bytes.
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
