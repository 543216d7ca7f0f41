/**
 * Makes untrusted text safe to show. Control characters can write anywhere on a screen. Invisible characters, and
 * characters that change the writing direction, can make a text look like a different one.
 *
 * @module
 */

/** Unicode control and format characters and the two Unicode line separators, except line end and tab. */
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Replaces every control, direction and invisible character with a space; line ends and tabs stay. */
export function shownText(text: string): string {
  return text.replace(HIDDEN, " ");
}

/** Replaces every control, direction and invisible character with a space, line ends and tabs included. */
export function shownLine(text: string): string {
  return shownText(text).replace(/[\t\n]/g, " ");
}

/** Replaces the same characters in JSON with `\u` escapes, so that parsing it returns the original text. */
export function shownJson(json: string): string {
  return json.replace(
    HIDDEN,
    (found) =>
      found.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  );
}
