/**
 * JSON with its digits: answers whose numbers a double cannot hold are read again, exactly.
 *
 * @module
 */
import { Mismatch, type ValueType } from "../operations/types.ts";
import { needsDigits } from "../operations/records.ts";

/** Parses JSON with every number kept as the text that stands there. */
export function parseWithDigits(text: string): unknown {
  return parseNumbers(text, (source) => source);
}

/** Parses JSON so that `JSON.stringify` writes every number as it stands there. */
export function parseAsWritten(text: string): unknown {
  // TypeScript does not know it yet: it makes an object that `JSON.stringify` writes as that text.
  const { rawJSON } = JSON as unknown as { rawJSON(source: string): unknown };
  return parseNumbers(text, rawJSON);
}

function parseNumbers(text: string, read: (source: string) => unknown): unknown {
  // TypeScript does not know the third argument yet, which holds the source text of a primitive.
  type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;
  const keepDigits: Reviver = (_key, value, context) =>
    typeof value === "number" && context?.source !== undefined ? read(context.source) : value;
  return JSON.parse(text, keepDigits);
}

/**
 * Decodes a member of a JSON text that is already parsed. The text is parsed a second time only when a number
 * turns up where digits count, so that the usual answer pays nothing.
 *
 * @throws {Mismatch} When the answer does not fit its type.
 */
export function decodeExactly<T>(type: ValueType<T>, parsed: unknown, reparse: () => unknown): T {
  try {
    return type.decode(parsed);
  } catch (error) {
    if (!needsDigits(error)) throw error;
    return type.decode(reparse());
  }
}

/** Says in words where an answer does not fit. */
export function describeMismatch(error: Mismatch): string {
  return `${["data", ...error.path].join(".")}: ${error.message}`;
}
