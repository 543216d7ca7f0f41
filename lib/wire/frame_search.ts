/**
 * Frames in bytes that are all there, damaged or not: finds where each begins and ends, and goes on after
 * damage.
 *
 * The decoder of the socket trusts lengths, as it must; here all bytes are known, so a length that leads
 * nowhere is checked against where the next header really stands.
 *
 * @module
 */
import { ProtocolError } from "../errors.ts";
import { Frame } from "./framing.ts";
import { bodyLengthAt, HEADER_LENGTH, headerError, headerFault } from "./header.ts";

/** A stretch of the bytes: a frame, or what is none and why. */
export interface Stretch {
  /** Where it starts. */
  readonly offset: number;
  /** How many bytes it takes. */
  readonly length: number;
  /** The frame, when it is whole. */
  readonly frame?: Frame;
  /** What is wrong, when it is not. */
  readonly fault?: ProtocolError;
}

/** Bytes of a header that have to be there before it is believed in the middle of damage. */
const ENOUGH = 14;

/**
 * Yields the stretches of some bytes, in order and without gaps.
 *
 * @param isSound Asked about a frame behind which no other begins: whether its content proves its length.
 *   When not, a header inside it counts as the next frame.
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

/** Where the next header stands, from one offset up to another. */
function nextHeader(bytes: Uint8Array, from: number, to: number): number | undefined {
  for (let at = bytes.indexOf(0x48, from); at !== -1 && at < to; at = bytes.indexOf(0x48, at + 1)) {
    const have = bytes.length - at;
    if (have >= ENOUGH && headerFault(bytes, at, have, {}) === undefined) return at;
  }
  return undefined;
}
