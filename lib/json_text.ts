/**
 * Reads JSON that a person or another program wrote, without silent changes: `JSON.parse` alone rounds numbers, and of
 * two members with the same name it keeps the last one.
 *
 * @module
 */

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
