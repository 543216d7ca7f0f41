/**
 * Pads a body to whole blocks of 16 bytes for AES, and finds the padding again.
 *
 * The API document makes two statements that contradict each other. The body has "PKCS5 padding" by "standard
 * libraries". Its last byte contains `mod_len`, the length modulo 16. Both rules add 1 to 16 bytes and result in the
 * same length. With `m` for the length modulo 16:
 *
 * | m | PKCS#7 | mod_len over zeros | mod_len over PKCS#7 |
 * |---|---|---|---|
 * | 0 | sixteen `10` | sixteen `00` | fifteen `10`, then `00` |
 * | 1 | fifteen `0f` | fourteen `00`, then `01` | fourteen `0f`, then `01` |
 * | 8 | eight `08` | seven `00`, then `08` | eight `08` |
 * | 15 | `01` | `0f` | `0f` |
 *
 * The `mod_len` rule only defines the last byte. The preceding padding bytes may have any value, and a reader ignores
 * them. The vendor's own client sends and reads PKCS#7, so hsgate sends PKCS#7. A received body may use either rule. A
 * last byte of 1 can mean one byte of PKCS#7, or fifteen bytes of the other rule. The preceding bytes do not decide
 * that, because a message may itself end in such bytes. {@linkcode readings} returns both possible lengths, and the
 * signature of the plain body shows which one is right. Without a signature, {@linkcode likelyReading} chooses by the
 * form of the padding, which can be wrong.
 *
 * @see API document 5
 * @module
 */
import { wireError } from "./faults.ts";

/** Length of a block in bytes. */
export const BLOCK_LENGTH = 16;

/** The padding of a body: PKCS#7, or the last byte `mod_len` after zeros or after PKCS#7 bytes. */
export type Padding = "pkcs7" | "mod_len" | "mod_len_over_pkcs7";

/** Pads a body to whole blocks. A body of whole blocks gets one more block. */
export function pad(plain: Uint8Array, padding: Padding = "pkcs7"): Uint8Array<ArrayBuffer> {
  const rest = plain.length % BLOCK_LENGTH;
  const padded = new Uint8Array(plain.length - rest + BLOCK_LENGTH);
  padded.set(plain);
  if (padding !== "mod_len") padded.fill(BLOCK_LENGTH - rest, plain.length);
  if (padding !== "pkcs7") padded[padded.length - 1] = rest;
  return padded;
}

/**
 * Returns the one or two possible lengths of the body, the length by PKCS#7 first.
 *
 * @throws {ProtocolError} With code `cipher-padding` if the ending follows neither rule, or `cipher-block` if the
 * bytes are not a whole number of blocks.
 */
export function readings(padded: Uint8Array): number[] {
  const standard = pkcs7Length(padded);
  const other = modLenLength(padded);
  if (standard === undefined && other === undefined) {
    throw wireError(
      "cipher-padding",
      "Cannot read body: its padding follows neither rule, so the session key is probably wrong",
    );
  }
  if (standard === undefined || other === undefined) return [(standard ?? other)!];
  return standard === other ? [standard] : [standard, other];
}

/**
 * Returns the more likely length of the body, judged only by the form of the padding. That is the PKCS#7 length if the
 * PKCS#7 padding is complete. The exception is a last `01` after fourteen zeros or fourteen `0f`, as `mod_len` writes
 * them. The result is wrong for a body that itself ends in such bytes, so use this function only without a signature.
 *
 * @throws {ProtocolError} Like {@linkcode readings}.
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
    throw wireError(
      "cipher-block",
      `Cannot read body: ${padded.length} bytes are not a whole number of blocks of 16`,
    );
  }
  return padded[padded.length - 1]!;
}
