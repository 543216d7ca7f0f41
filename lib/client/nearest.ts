/**
 * Finds the name that a user probably meant, for error messages.
 *
 * @module
 */
import { levenshteinDistance } from "../std/text.ts";

/**
 * Maximum length of a given name that is compared, and of a name that a message lists. A recipe from somebody else may
 * have many long names.
 */
const MOST_LENGTH = 100;
/** Maximum number of names to compare. */
const MOST_NAMES = 1000;

/** Returns the most similar name, or `undefined` if none is similar enough or the given name is very long. */
export function nearest(given: string, names: Iterable<string>): string | undefined {
  if (given.length > MOST_LENGTH) return undefined;
  const typed = given.toLowerCase();
  let best: string | undefined;
  // A third of the letters, but at least two, may differ; two swapped letters count as two differences.
  let least = Math.max(2, Math.ceil(typed.length / 3)) + 0.5;
  let compared = 0;
  for (const name of names) {
    if (++compared > MOST_NAMES) break;
    if (name.length > 2 * MOST_LENGTH) continue;
    const distance = levenshteinDistance(typed, name.toLowerCase());
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** Maximum number of names that a message lists. */
const MOST_LISTED = 10;

/**
 * Returns the end of a message about an unknown name: the nearest name, and up to ten known names after `known:`. If
 * there are no known names, returns `; there are none`.
 */
export function knownNames(given: string, names: Iterable<string>): string {
  const all = [...names].filter((name) => name.length <= MOST_LENGTH).sort();
  if (all.length === 0) return "; there are none";
  const more = all.length > MOST_LISTED ? ` and ${all.length - MOST_LISTED} more` : "";
  const list = all.slice(0, MOST_LISTED).map((name) => `"${name}"`).join(", ");
  return `${didYouMean(given, all)}${didYouMean(given, all) === "" ? ";" : ""} known: ${list}${more}`;
}

/** Returns the question `; did you mean …?`, or an empty text if no name is similar enough. */
export function didYouMean(given: string, names: Iterable<string>): string {
  const name = nearest(given, names);
  return name === undefined ? "" : `; did you mean "${name}"?`;
}
