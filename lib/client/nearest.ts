/**
 * The name that somebody meant, for errors that help.
 *
 * @module
 */
import { levenshteinDistance } from "@std/text";

/** Returns the name that is most like what was given, when it is like enough to have been meant. */
export function nearest(given: string, names: Iterable<string>): string | undefined {
  const typed = given.toLowerCase();
  let best: string | undefined;
  // A third of the letters may be wrong, and two swapped ones count twice.
  let least = Math.max(2, Math.ceil(typed.length / 3)) + 0.5;
  for (const name of names) {
    const distance = levenshteinDistance(typed, name.toLowerCase());
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** Writes the question that follows a refusal, or nothing when no name is near. */
export function didYouMean(given: string, names: Iterable<string>): string {
  const name = nearest(given, names);
  return name === undefined ? "" : `; did you mean "${name}"?`;
}
