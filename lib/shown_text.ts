/**
 * Makes untrusted text safe to show in a terminal, a spreadsheet or a Markdown viewer. Control characters can write
 * anywhere on a screen. Invisible characters, and characters that change the writing direction, can make a text look
 * like a different one.
 *
 * Each pattern is built only when it is needed: building one takes a millisecond, and most programs need none.
 *
 * @module
 */

/**
 * Returns a pattern for Unicode control and format characters, for characters that show nothing or an empty cell, and
 * for the two Unicode line separators. Does not match line end and tab.
 */
export const hidden = (): RegExp => /(?![\n\t])[\p{Cc}\p{Cf}\p{DI}\u2028\u2029\u2800]/gu;

/**
 * Returns a pattern for the characters of {@linkcode hidden}, line ends and tabs. Also matches the backslash of a text
 * that already looks like an escape.
 */
const escapedCharacters = () => /[\p{Cc}\p{Cf}\p{DI}\u2028\u2029\u2800]|\\(?=u[\da-f]{4})/gu;
/**
 * Returns a pattern for a decoded escape: a character that `escapedCharacters` matches, or half of a surrogate pair.
 */
const unescapedCharacter = () => /^[\p{Cc}\p{Cf}\p{DI}\p{Cs}\u2028\u2029\u2800\\]$/u;

/**
 * Returns a pattern for a text that a spreadsheet may run as a formula. The signs `=`, `+`, `-` and `@` may be
 * full-width, and may follow spaces or invisible characters. They may also follow apostrophes: such a text gets one
 * apostrophe more, so that reading the cell returns exactly the text that was written.
 */
const formulaStart = () => /^['\s\p{Cc}\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^'*[\t\r\n]/u;
/** Like `formulaStart`, for the part after a `;`. A spreadsheet that splits there may also remove quotes. */
const formulaPart = () => /^['"\s\p{Cc}\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

/** Replaces every control, direction and invisible character with a space; keeps line ends and tabs. */
export function shownText(text: string): string {
  return text.replace(hidden(), " ");
}

/** Replaces every control, direction and invisible character, every line end and every tab with a space. */
export function shownLine(text: string): string {
  return shownText(text).replace(/[\t\n]/g, " ");
}

/** Replaces every control, direction and invisible character in JSON with a `\u` escape, which JSON parsers decode. */
export function shownJson(json: string): string {
  return json.replace(hidden(), escaped);
}

/**
 * Returns a text for a cell of a spreadsheet. {@linkcode plainText} returns the original text.
 *
 * A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@` as a formula, so such a text gets an apostrophe in
 * front, unless it is a number. In many countries spreadsheets split a CSV file at `;`, also within quotes, so such a
 * part after a `;` gets an apostrophe too. Control and invisible characters, line ends and tabs become `\u` escapes, so
 * that a row is one line.
 */
export function cellText(text: string): string {
  const whole = formulaStart().test(text) && !NUMBER.test(text) ? `'${text}` : text;
  const [first, ...rest] = whole.split(";");
  const parts = rest.map((part) => formulaPart().test(part) && !NUMBER.test(part) ? `'${part}` : part);
  return [first, ...parts].join(";").replace(escapedCharacters(), escaped);
}

/** Returns the original text of a cell that {@linkcode cellText} has returned. */
export function plainText(cell: string): string {
  const text = cell.replace(/\\u([\da-f]{4})/g, (found, hex: string) => {
    const unit = String.fromCharCode(Number.parseInt(hex, 16));
    return unescapedCharacter().test(unit) ? unit : found;
  });
  const [first = "", ...rest] = text.split(";");
  return [unguarded(first, formulaStart()), ...rest.map((part) => unguarded(part, formulaPart()))].join(";");
}

function unguarded(text: string, formula: RegExp): string {
  const rest = text.slice(1);
  return text.startsWith("'") && formula.test(rest) ? rest : text;
}

/** Returns a text for a cell of a Markdown table, or for a heading. Escapes links, tags and cell separators. */
export function markdownText(text: string): string {
  return shownLine(text).replaceAll(/[\\`|[]/g, "\\$&").replaceAll("<", "&lt;");
}

function escaped(found: string): string {
  return found.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}
