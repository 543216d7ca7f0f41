/**
 * Defines the faults of received frames and of frames to send, as the `code` of a {@linkcode ProtocolError}.
 *
 * @module
 */
import { ProtocolError } from "../errors.ts";
import type { HeaderFault } from "./framing.ts";

/** Faults of a frame after its header. */
export type BodyFault =
  /** The frame is not signed, and unsigned frames are not allowed. */
  | "signature-missing"
  /** The signature belongs to another body or another key. */
  | "signature-bad"
  /** The key to encrypt or decrypt with is missing, or the session key is not 16 bytes in Base64. */
  | "cipher-key"
  /** An RSA segment is truncated, damaged or encrypted for another key. Or there are more segments than allowed. */
  | "cipher-segment"
  /** An AES body is not a whole number of blocks. */
  | "cipher-block"
  /** The padding follows neither PKCS#7 nor the `mod_len` rule, so the session key is probably wrong. */
  | "cipher-padding"
  /** The bytes are not protobuf, or not this message. */
  | "message-damaged"
  /** No definition describes this payload. */
  | "message-unknown"
  /** A member of a message to send has an invalid value. */
  | "message-field"
  /** The answer matches no waiting request. */
  | "answer-unasked";

/** All faults of a frame, as the `code` of the error. `frame-short`: the frame is incomplete. */
export type WireFault = HeaderFault | "frame-short" | BodyFault;

/** Returns the error for a fault after the header. */
export function wireError(fault: BodyFault, message: string, cause?: unknown): ProtocolError {
  return new ProtocolError(message, { code: fault, cause });
}
