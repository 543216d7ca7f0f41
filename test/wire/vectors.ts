/**
 * Frames made by the vendor's own client, with throw-away keys.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createDecipheriv } from "node:crypto";
import { HEADER_LENGTH } from "../../lib/wire/framing.ts";
import wire from "../vectors/wire.json" with { type: "json" };

/** One frame of the vectors. */
export interface Vector {
  kind: string;
  encryption: string;
  serial: number;
  message: string | null;
  payload: Record<string, unknown> | null;
  outer: Record<string, unknown> | null;
  /** The whole frame as it was sent. */
  frame: Uint8Array;
  /** The body before encryption. */
  plainBody: Uint8Array;
}

export const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"));

/** All frames, in the order of the file. */
export const vectors: Vector[] = wire.frames.map((each) => ({
  kind: each.kind,
  encryption: each.encryption,
  serial: each.serialNo,
  message: each.payloadType,
  payload: each.payload,
  outer: each.outer,
  frame: bytesOf(each.frameBase64),
  plainBody: bytesOf(each.plainBodyBase64),
}));

/** All frames, one after the other. */
export const joined: Uint8Array = new Uint8Array(Buffer.concat(vectors.map(({ frame }) => frame)));

/** The throw-away keys, in Base64. */
export const wireKeys = wire.keys;

/** Bodies, each with its AES encryption under PKCS#7 padding. */
export const aesPairs = wire.aesPadding.map((each) => ({
  plain: bytesOf(each.plainBase64),
  encrypted: bytesOf(each.cipherBase64),
}));

/** Bodies, each with its RSA segments of 100 bytes for the developer's key and with the developer's signature. */
export const rsaTriples = wire.rsaSegments.map((each) => ({
  plain: bytesOf(each.plainBase64),
  encrypted: bytesOf(each.cipherBase64),
  signature: bytesOf(each.signatureBase64),
}));

/** Returns the body of a frame, decrypted if it is AES. Uses none of the toolkit's ciphers. */
export function openBody({ frame, encryption }: Vector): Uint8Array {
  const body = frame.subarray(HEADER_LENGTH);
  if (encryption !== "aes") return body;
  const cipher = createDecipheriv("aes-128-ecb", bytesOf(wire.keys.aesKeyBase64), null);
  return new Uint8Array(Buffer.concat([cipher.update(body), cipher.final()]));
}
