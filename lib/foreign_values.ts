/**
 * Checks values that somebody else may have written: their types, how many other values they contain, and how deeply
 * these are nested. Other code can then read such a value recursively without a risk.
 *
 * @module
 */

/** Limits for {@linkcode countValues}. */
export interface NestingLimits {
  /** Maximum number of lists and maps inside each other. */
  levels: number;
  /** Counting stops above this number of values. @default {Infinity} */
  values?: number;
}

/**
 * Returns how many values a value contains, itself included. The values of a YAML alias count again at each use. If
 * there are more than `values`, stops early and returns some number above `values`.
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

/**
 * Returns whether a value has a member inside more than `levels` nested lists and maps. An empty list or map has no
 * members. Not recursive, so a deeply nested value cannot overflow the stack.
 */
export function isDeeper(value: unknown, levels: number): boolean {
  let inner: unknown[] = [value];
  for (let level = 0; inner.length > 0; level++) {
    if (level > levels) return true;
    inner = inner.flatMap((each) => typeof each === "object" && each !== null ? Object.values(each) : []);
  }
  return false;
}

/** Returns whether a value is a map: an object that is not a list. */
export const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
/** Returns whether a value is text. */
export const isText = (value: unknown): value is string => typeof value === "string";
/** Returns whether a value is absent or text. */
export const isMaybeText = (value: unknown): boolean => value === undefined || isText(value);
/** Returns whether a value is a list of texts. */
export const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);
