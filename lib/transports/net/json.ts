/**
 * Parses JSON without losing digits. Parses an answer a second time, exactly, if a double cannot represent one of its
 * numbers.
 *
 * @module
 */
import { Mismatch, type ValueType } from "../../operations/types.ts";
import { needsDigits } from "../../operations/records.ts";

/**
 * Maximum nesting of an answer that is parsed. Millions of levels would take many seconds, in which nothing else runs.
 */
export const MOST_PARSED_LEVELS = 50_000;

/** Returns whether JSON is nested too deeply to be parsed. Reads only texts that are long enough for it. */
export function isTooDeep(text: string): boolean {
  if (text.length <= MOST_PARSED_LEVELS) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5b || code === 0x7b) {
      if (++depth > MOST_PARSED_LEVELS) return true;
    } else if (code === 0x5d || code === 0x7d) {
      depth--;
    } else if (code === 0x22) {
      // Brackets in texts do not count as levels.
      for (at++; at < text.length && text.charCodeAt(at) !== 0x22; at++) {
        if (text.charCodeAt(at) === 0x5c) at++;
      }
    }
  }
  return false;
}

/** Parses JSON and keeps every number as its source text. */
export function parseWithDigits(text: string): unknown {
  return parseNumbers(text, (source) => source);
}

/** Parses JSON so that `JSON.stringify` writes every number exactly as in the source. */
export function parseAsWritten(text: string): unknown {
  // TypeScript has no type for `rawJSON` yet. It returns an object that `JSON.stringify` writes as the given text.
  const { rawJSON } = JSON as unknown as { rawJSON(source: string): unknown };
  return parseNumbers(text, rawJSON);
}

function parseNumbers(text: string, read: (source: string) => unknown): unknown {
  // TypeScript has no type for the third argument yet. It contains the source text of a primitive.
  type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;
  const keepDigits: Reviver = (_key, value, context) =>
    typeof value === "number" && context?.source !== undefined ? read(context.source) : value;
  return JSON.parse(text, keepDigits);
}

/**
 * Decodes a member of a JSON text that is already parsed. Parses the text a second time only if a number
 * needs its exact digits, so the usual answer costs nothing extra.
 *
 * @throws {Mismatch} If the answer does not fit its type.
 */
export function decodeExactly<T>(type: ValueType<T>, parsed: unknown, reparse: () => unknown): T {
  try {
    return type.decode(parsed);
  } catch (error) {
    if (!needsDigits(error)) throw error;
    return type.decode(reparse());
  }
}

/** Describes which member of an answer does not fit its type, and why. */
export function describeMismatch(error: Mismatch): string {
  return `${["data", ...error.path].join(".")}: ${error.message}`;
}
