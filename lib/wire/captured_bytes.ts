/**
 * Captured bytes in the forms in which people pass them on: as they are, in hex, or in Base64.
 *
 * @module
 */
import { Buffer } from "node:buffer";

/** The form in which captured bytes were found. */
export type CaptureForm = "raw" | "hex" | "base64";

/**
 * Finds the form of captured bytes and decodes them. Every frame holds zero bytes, so what is all text is
 * hex or Base64; text that is neither stays as it is.
 *
 * Hex may be spaced, comma-separated, broken into lines, and carry `0x`. Base64 may be broken into lines,
 * use either alphabet, and be several texts one after the other, such as one frame per line.
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
    // Padding ends a text; what follows it is the next one.
    const texts = base64.match(/[^=]+=*/g) ?? [];
    return {
      form: "base64",
      bytes: new Uint8Array(Buffer.concat(texts.map((each) => Buffer.from(each, "base64")))),
    };
  }
  return { form: "raw", bytes: given };
}

/** Printable ASCII, or the white space between it. */
function isTextual(byte: number): boolean {
  return byte >= 0x20 && byte < 0x7f || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}
