/**
 * Compares a report with a stored report.
 *
 * @module
 */

/** Number of unchanged lines to show before and after a difference. */
const AROUND = 2;

/**
 * Returns the differences between two texts: missing lines begin with `-`, new lines with `+`, and some unchanged lines
 * around them with a blank. Returns no lines if the texts are the same.
 */
export function differences(kept: string, found: string): string[] {
  if (kept === found) return [];
  const [before, after] = [kept.split("\n"), found.split("\n")];
  const marked = align(before, after);
  const near = marked.map((_, index) =>
    marked.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(({ mark }) => mark !== " ")
  );
  const lines: string[] = [];
  for (const [index, { mark, line }] of marked.entries()) {
    if (near[index]) lines.push(`${mark} ${line}`.trimEnd());
    else if (near[index - 1]) lines.push("  …");
  }
  return lines;
}

interface Marked {
  mark: " " | "-" | "+";
  line: string;
}

/**
 * Marks each line as common, missing or new. First handles equal lines at the start and end, because most lines are
 * equal.
 */
function align(before: readonly string[], after: readonly string[]): Marked[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const room = Math.min(before.length, after.length) - start;
  while (end < room && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const same = (line: string): Marked => ({ mark: " ", line });
  return [
    ...before.slice(0, start).map(same),
    ...alignMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}

/** Maximum number of pairs of lines to compare; they need about 100 MiB. */
const MOST_PAIRS = 25_000_000;

function alignMiddle(before: readonly string[], after: readonly string[]): Marked[] {
  if (before.length * after.length > MOST_PAIRS) {
    const missing = before.map((line): Marked => ({ mark: "-", line }));
    return [...missing, ...after.map((line): Marked => ({ mark: "+", line }))];
  }
  // lengths[i][j]: length of the longest common subsequence of the lines from i and the lines from j.
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j]!; // the index is valid
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i * width + j] = before[i] === after[j]
        ? at(i + 1, j + 1) + 1
        : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const marked: Marked[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      marked.push({ mark: " ", line: before[i]! }); // the condition above checked it
      i++;
      j++;
    } else if (i < before.length && (j >= after.length || at(i + 1, j) >= at(i, j + 1))) {
      marked.push({ mark: "-", line: before[i++]! }); // the condition above checked the index
    } else marked.push({ mark: "+", line: after[j++]! }); // lines of `after` remain in this branch
  }
  return marked;
}
