/**
 * Text from elsewhere, on its way to a person. Control characters could write anywhere on a screen, and characters
 * that turn the direction of writing, or cannot be seen, could show another text than the one that is there.
 *
 * @module
 */

/** Control and format characters, which Unicode names so, and its two line separators; not the line end and the tab. */
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Returns a text with a space in place of every control, direction and invisible character; lines and tabs stay. */
export function shownText(text: string): string {
  return text.replace(HIDDEN, " ");
}

/** The same for a text of one line: line ends and tabs become spaces too. */
export function shownLine(text: string): string {
  return shownText(text).replace(/[\t\n]/g, " ");
}

/** Writes the same characters of a JSON text as escapes, so that a reader of JSON gets the very text. */
export function shownJson(json: string): string {
  return json.replace(
    HIDDEN,
    (found) =>
      found.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  );
}
