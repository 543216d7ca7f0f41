/**
 * Counts the values of a file that somebody else may have written, before anything reads them recursively.
 *
 * @module
 */

/** Limits for {@linkcode countValues}. */
export interface NestingLimits {
  /** Maximum number of lists and maps inside each other. */
  levels: number;
  /** Number of values at which counting ends. @default {Infinity} */
  values?: number;
}

/**
 * Returns the number of values; the values of a YAML alias count again at each use. If there are more than `values`,
 * returns any number above it.
 *
 * @throws {RangeError} If values are nested deeper than allowed, or a list or map contains itself.
 */
export function countValues(value: unknown, { levels, values = Infinity }: NestingLimits): number {
  if (typeof value !== "object" || value === null) return 1;
  if (levels === 0) throw new RangeError("lists and maps are nested too deep, or contain themselves");
  let count = 1;
  for (const each of Object.values(value)) {
    if (count > values) break;
    count += countValues(each, { levels: levels - 1, values: values - count });
  }
  return count;
}
