/**
 * Formats sets of numbers for crontabs and timers.
 *
 * @module
 */

/** How a crontab or a timer writes a set of numbers. */
interface Spelling {
  /** All possible values. */
  all: readonly number[];
  /** Separator between the ends of a range. */
  through: string;
  /** Formats a step: every nth value from the first one, such as `00/10`. */
  stepped(step: number): string;
  /** Formats one value. */
  of(value: number): string;
}

/** Returns the shortest notation of a set: `*`, a step, ranges, or a list. */
export function spell(values: readonly number[], { all, through, stepped, of }: Spelling): string {
  if (values.length === all.length) return "*";
  const step = values.length > 2 ? values[1]! - values[0]! : 0;
  const isStepped = step > 1 && values[0] === all[0] && all.length % step === 0 &&
    values.length === all.length / step && values.every((value, index) => value === all[index * step]);
  if (isStepped) return stepped(step);
  return runsOf(values).map(([first, last]) =>
    first === last
      ? of(first)
      : last === first + 1
      ? `${of(first)},${of(last)}`
      : `${of(first)}${through}${of(last)}`
  ).join(",");
}

/** Returns the ranges of neighbouring numbers in a sorted set. */
export function runsOf(values: readonly number[]): [first: number, last: number][] {
  const runs: [number, number][] = [];
  for (const value of values) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === value - 1) last[1] = value;
    else runs.push([value, value]);
  }
  return runs;
}

/** Returns a number with two digits. */
export const twoDigits = (value: number): string => String(value).padStart(2, "0");
