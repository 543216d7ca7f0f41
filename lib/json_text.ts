/**
 * Reads JSON that a person or another program wrote, without silent changes: `JSON.parse` alone rounds numbers, and of
 * two members with the same name it keeps the last one.
 *
 * @module
 */
import { messageOf } from "./errors.ts";

/** Matches texts that may have a number with more digits, or an exponent further from zero, than JavaScript keeps. */
const MAYBE_LONG = /(?:\d\.?){16}|\de[+-]?\d{3}/i;

/** Maximum number of characters of a number in a file. */
const MOST_DIGITS = 100;

/** Returns the value of a JSON text. @throws {SyntaxError} If the text is not JSON, or a number would lose digits. */
export function parseExactly(text: string): unknown {
  if (!MAYBE_LONG.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    if (typeof value !== "number" || source === undefined) return value;
    // Comparing the digits of a very long number would take too long.
    if (source.length > MOST_DIGITS || digitsOf(source) !== digitsOf(String(value))) {
      throw new SyntaxError(`the number ${source.slice(0, 80)} would lose digits: write it as a text`);
    }
    return value;
  });
}

/** Returns the significant digits of a number. */
const digitsOf = (number: string): string =>
  number.replace(/e.*$/i, "").replace(/\D/g, "").replace(/^0+/, "").replace(/0+$/, "");

/** Returns the name of a member that occurs twice in one map of a JSON text; `undefined` if there is none. */
export function repeatedMember(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  // A text before a colon is always the name of a member.
  for (const [token, name] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token === "{" || token === "[") open.push(token === "{" ? new Set() : undefined);
    else if (token === "}" || token === "]") open.pop();
    else if (name !== undefined) {
      const member: string = JSON.parse(name); // the whole text is valid JSON
      if (open.at(-1)?.has(member)) return member;
      open.at(-1)?.add(member);
    }
  }
  return undefined;
}

/** Returns what is wrong with a text that is not JSON, and at which offset; `undefined` if the text is JSON. */
export function jsonFault(text: string): { reason: string; offset: number } | undefined {
  const message = parseMessage(text);
  if (message === undefined) return undefined;
  // This message quotes the text, so a position in it may be a part of the text.
  const token = /^Unexpected token '([\s\S]*?)', /.exec(message)?.[1];
  if (token !== undefined) return { reason: `unexpected ${JSON.stringify(token)}`, offset: badTokenAt(text) };
  const after = / after JSON at position (\d+)/.exec(message)?.[1];
  if (after !== undefined) {
    return { reason: "more text follows after the end of the value", offset: Number(after) };
  }
  const [, reason = message, at = text.length] =
    /^([\s\S]*?)(?: in JSON at position (\d+).*)?$/.exec(message) ??
      [];
  const words = `${reason[0]!.toLowerCase()}${reason.slice(1).replace(" JSON input", " the text")}`;
  return { reason: words, offset: Number(at) };
}

function parseMessage(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Returns the offset of the wrong token by bisection, because `JSON.parse` does not report it. A text that is cut
 * before the token has a different error.
 */
function badTokenAt(text: string): number {
  let [fine, bad] = [0, text.length];
  while (bad - fine > 1) {
    const middle = (fine + bad) >> 1;
    if (parseMessage(text.slice(0, middle))?.startsWith("Unexpected token")) bad = middle;
    else fine = middle;
  }
  return fine;
}
