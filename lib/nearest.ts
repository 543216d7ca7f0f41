/**
 * The name that somebody meant, for errors that help.
 *
 * @module
 */

/** Returns the name that is most like what was given, when it is like enough to have been meant. */
export function nearest(given: string, names: Iterable<string>): string | undefined {
  const typed = given.toLowerCase();
  let best: string | undefined;
  let least = Math.max(1, Math.ceil(typed.length / 3)) + 0.5;
  for (const name of names) {
    const distance = distanceOf(typed, name.toLowerCase());
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** Writes the question that follows a refusal, or nothing when no name is near. */
export function didYouMean(given: string, names: Iterable<string>): string {
  const name = nearest(given, names);
  return name === undefined ? "" : `; did you mean "${name}"?`;
}

/** Counts the letters to add, drop, change, or swap with their neighbour. */
function distanceOf(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min(row[j - 1]! + 1, above[j]! + 1, above[j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, before[j - 2]! + 1);
      }
      row.push(least);
    }
    [before, above] = [above, row];
  }
  return above[b.length]!;
}
