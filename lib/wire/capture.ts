/**
 * Decodes captured bytes from hex or Base64, and finds the frames in them even if some are damaged.
 *
 * On a live socket, the decoder has to trust the length in a header. In a capture all bytes are known, so this module
 * checks the length: the next header must follow directly after the body.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { ProtocolError } from "../errors.ts";
import { bodyLengthAt, Frame, HEADER_LENGTH, headerError, headerFault } from "./framing.ts";

/** The encoding of captured bytes. */
type CaptureForm = "raw" | "hex" | "base64";

/**
 * Detects the encoding of captured bytes and decodes them. Raw frames contain zero bytes, so bytes that are only text
 * are hex or Base64. Returns any other text unchanged.
 *
 * Hex may contain spaces, commas, colons, line breaks and `0x`. Base64 may contain line breaks, use either alphabet,
 * and be several texts in succession, such as one frame per line.
 */
export function readCaptured(given: Uint8Array): { form: CaptureForm; bytes: Uint8Array } {
  if (!given.every(isTextual)) return { form: "raw", bytes: given };
  const text = Buffer.from(given).toString("latin1");
  const hex = text.replace(/0x/gi, "").replace(/[\s,:]+/g, "");
  if (hex.length > 0 && hex.length % 2 === 0 && /^[0-9a-f]+$/i.test(hex)) {
    return { form: "hex", bytes: new Uint8Array(Buffer.from(hex, "hex")) };
  }
  const base64 = text.replace(/\s+/g, "");
  if (base64.length > 0 && /^[A-Za-z0-9+/_=-]+$/.test(base64)) {
    // Padding ends a text; another text may follow.
    const texts = base64.match(/[^=]+=*/g) ?? [];
    return {
      form: "base64",
      bytes: new Uint8Array(Buffer.concat(texts.map((each) => Buffer.from(each, "base64")))),
    };
  }
  return { form: "raw", bytes: given };
}

/** Returns whether a byte is printable ASCII or white space. */
function isTextual(byte: number): boolean {
  return byte >= 0x20 && byte < 0x7f || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** A range of the bytes: a whole frame, or bytes that are not a frame, with the reason. */
export interface Stretch {
  /** Offset of its first byte. */
  readonly offset: number;
  /** Number of its bytes. */
  readonly length: number;
  /** The frame, if it is complete. */
  readonly frame?: Frame;
  /** The fault, if there is no frame. */
  readonly fault?: ProtocolError;
}

/** After damage, a header counts as found only if at least this many of its bytes are present and valid. */
const ENOUGH = 14;

/**
 * Yields the ranges of some bytes, in order and without gaps.
 *
 * @param isSound Called for a frame that is not followed by a valid header. Returns whether the content confirms the
 * frame's length. If not, a header inside the frame counts as the start of the next frame.
 */
export function* searchFrames(bytes: Uint8Array, isSound: (frame: Frame) => boolean): Generator<Stretch> {
  for (let at = 0; at < bytes.length;) {
    const stretch = stretchAt(bytes, at, isSound);
    yield stretch;
    at += stretch.length;
  }
}

function stretchAt(bytes: Uint8Array, at: number, isSound: (frame: Frame) => boolean): Stretch {
  const fault = headerFault(bytes, at, bytes.length - at, {});
  if (fault !== undefined) {
    const next = nextHeader(bytes, at + 1, bytes.length);
    return { offset: at, length: (next ?? bytes.length) - at, fault: headerError(fault, bytes, at, {}) };
  }
  const have = bytes.length - at;
  const length = have < HEADER_LENGTH ? Infinity : HEADER_LENGTH + bodyLengthAt(bytes, at);
  if (length > have) return cutShort(bytes, at, nextHeader(bytes, at + 2, bytes.length), length);
  const frame = new Frame(bytes, at, at + length);
  const isFollowed = length === have || headerFault(bytes, at + length, have - length, {}) === undefined;
  if (!isFollowed && !isSound(frame)) {
    const inside = nextHeader(bytes, at + 2, at + length);
    if (inside !== undefined) return cutShort(bytes, at, inside, length);
  }
  return { offset: at, length, frame };
}

function cutShort(bytes: Uint8Array, at: number, next: number | undefined, length: number): Stretch {
  const have = (next ?? bytes.length) - at;
  const wanted = length === Infinity ? `the header's ${HEADER_LENGTH}` : length;
  const end = next === undefined ? "the bytes end" : "another frame begins";
  const fault = new ProtocolError(`Cannot read frame: ${end} after ${have} of ${wanted} bytes`, {
    code: "frame-short",
  });
  return { offset: at, length: have, fault };
}

/** Returns the offset of the first header from `from` to before `to`; `undefined` if there is none. */
function nextHeader(bytes: Uint8Array, from: number, to: number): number | undefined {
  for (let at = bytes.indexOf(0x48, from); at !== -1 && at < to; at = bytes.indexOf(0x48, at + 1)) {
    const have = bytes.length - at;
    if (have >= ENOUGH && headerFault(bytes, at, have, {}) === undefined) return at;
  }
  return undefined;
}
