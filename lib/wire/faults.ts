/**
 * Everything that can be wrong with what came over the direct socket, as the `code` of a
 * {@linkcode ProtocolError}.
 *
 * @module
 */
import { ProtocolError } from "../errors.ts";
import type { HeaderFault } from "./header.ts";

/** What is wrong with a frame behind its header. */
export type BodyFault =
  | "signature-missing"
  | "signature-bad"
  | "cipher-key"
  | "cipher-segment"
  | "cipher-block"
  | "cipher-padding"
  | "message-damaged"
  | "message-unknown"
  | "message-field"
  | "answer-unasked";

/** What is wrong with a frame, as the `code` of the error. */
export type WireFault = HeaderFault | "frame-short" | BodyFault;

/** What each fault means. */
export const wireFaults: Readonly<Record<WireFault, string>> = {
  "frame-flag": 'does not start with "HS"',
  "frame-type": "a type that no frame has",
  "frame-format": "a body that is no protobuf",
  "frame-version": "a version of the protocol that is not known",
  "frame-compression": "a compression that is not known",
  "frame-too-large": "a length that is huge, or negative to whoever reads it as signed",
  "frame-short": "ends before it is whole",
  "signature-missing": "not signed, and nobody allowed that",
  "signature-bad": "the signature is another body's or another key's",
  "cipher-key": "encrypted under a session key that is not there, or a session key of the wrong length",
  "cipher-segment": "an RSA segment that is cut or meant for another key",
  "cipher-block": "an AES body that is no whole number of blocks",
  "cipher-padding": "the padding follows no rule, so the session key is another one",
  "message-damaged": "no protobuf, or not of this message",
  "message-unknown": "a payload that no definition describes",
  "message-field": "a member that does not fit, on the way out",
  "answer-unasked": "an answer to a request that nobody made",
};

/** Makes the error of a fault behind the header. */
export function wireError(fault: BodyFault, message: string, cause?: unknown): ProtocolError {
  return new ProtocolError(message, { code: fault, cause });
}
