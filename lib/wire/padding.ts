/**
 * How a body is filled up to whole blocks of 16 bytes before AES, and how the filling is told apart again.
 *
 * The API document says two things that cannot both hold: the body has "PKCS5 padding" by "standard
 * libraries", and its last byte holds `mod_len`, the length modulo 16. Both add 1 to 16 bytes and come to
 * the same length. With `m` for the length modulo 16:
 *
 * | m | PKCS#7 | mod_len over zeros | mod_len over PKCS#7 |
 * |---|---|---|---|
 * | 0 | sixteen `10` | sixteen `00` | fifteen `10`, then `00` |
 * | 1 | fifteen `0f` | fourteen `00`, then `01` | fourteen `0f`, then `01` |
 * | 8 | eight `08` | seven `00`, then `08` | eight `08` |
 * | 15 | `01` | `0f` | `0f` |
 *
 * The rule fixes the last byte alone; which bytes stand before it is not said, and the reader does not ask.
 * The vendor's own client sends and reads PKCS#7, so that is what is sent. A body that came may end in
 * either way: its last byte 1 can mean one byte of PKCS#7, or fifteen bytes of the other rule, and what
 * precedes it is no proof, as a message may end in those bytes itself. There are never more than two
 * readings, and {@linkcode readings} gives both: the signature of the plain body tells which is right. Where
 * nobody signs, the form alone has to do; {@linkcode likelyReading} says how, and it can be wrong.
 *
 * @see API document 5
 * @module
 */
import { wireError } from "./faults.ts";

/** Bytes of a block. */
export const BLOCK_LENGTH = 16;

/** How a body is filled up: PKCS#7, or the last byte `mod_len` over zeros or over PKCS#7. */
export type Padding = "pkcs7" | "mod_len" | "mod_len_over_pkcs7";

/** Fills a body up to whole blocks; a body of whole blocks gains one. */
export function pad(plain: Uint8Array, padding: Padding = "pkcs7"): Uint8Array<ArrayBuffer> {
  const rest = plain.length % BLOCK_LENGTH;
  const padded = new Uint8Array(plain.length - rest + BLOCK_LENGTH);
  padded.set(plain);
  if (padding !== "mod_len") padded.fill(BLOCK_LENGTH - rest, plain.length);
  if (padding !== "pkcs7") padded[padded.length - 1] = rest;
  return padded;
}

/**
 * Lengths that the body may have had, one or two, the PKCS#7 reading first.
 *
 * @throws {ProtocolError} With code `cipher-padding` when no rule makes such an ending, `cipher-block` when
 *   the bytes are no whole blocks.
 */
export function readings(padded: Uint8Array): number[] {
  const standard = pkcs7Length(padded);
  const other = modLenLength(padded);
  if (standard === undefined && other === undefined) {
    throw wireError(
      "cipher-padding",
      "Cannot read body: its padding follows no rule; is the session key right?",
    );
  }
  if (standard === undefined || other === undefined) return [(standard ?? other)!];
  return standard === other ? [standard] : [standard, other];
}

/**
 * Chooses between the readings by the form alone: PKCS#7 where its bytes are complete, except where the
 * fourteen bytes before a last `01` are what `mod_len` leaves there, zeros or `0f`. Right for the whole
 * table over random bodies; a body that ends in such bytes itself is read wrong, so this is only for those
 * who cannot check a signature.
 *
 * @throws {ProtocolError} As {@linkcode readings}.
 */
export function likelyReading(padded: Uint8Array): number {
  const [standard, other] = readings(padded);
  if (other === undefined || padded.at(-1) !== 1) return standard!;
  const filling = padded.subarray(-15, -1);
  return filling.every((byte) => byte === 0) || filling.every((byte) => byte === 15) ? other : standard!;
}

function pkcs7Length(padded: Uint8Array): number | undefined {
  const count = lastByte(padded);
  if (count < 1 || count > BLOCK_LENGTH) return undefined;
  for (let at = padded.length - count; at < padded.length; at++) {
    if (padded[at] !== count) return undefined;
  }
  return padded.length - count;
}

function modLenLength(padded: Uint8Array): number | undefined {
  const rest = lastByte(padded);
  return rest < BLOCK_LENGTH ? padded.length - BLOCK_LENGTH + rest : undefined;
}

function lastByte(padded: Uint8Array): number {
  if (padded.length === 0 || padded.length % BLOCK_LENGTH !== 0) {
    throw wireError("cipher-block", `Cannot read body: ${padded.length} bytes are no whole blocks of 16`);
  }
  return padded[padded.length - 1]!;
}
