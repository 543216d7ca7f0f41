/**
 * Generates repeatable random numbers: the same seed and the same names give the same numbers, in any order of the
 * calls.
 *
 * @module
 */

/** Returns random numbers, at least 0 and below 1. */
export type Stream = () => number;

/** Mixes whole numbers into one whole number of 32 bits (the finalizer of MurmurHash3 over a running state). */
export function mix(...parts: number[]): number {
  let state = 0x9e3779b9;
  for (const part of parts) {
    state = Math.imul(state ^ (part | 0), 0x85ebca6b);
    state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
    state ^= state >>> 16;
  }
  return state >>> 0;
}

/** Turns a text into a whole number of 32 bits (FNV-1a over code units). */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/**
 * Returns a bell-shaped random number with mean 0 and standard deviation 1, never beyond 3.5. It is a sum of four
 * uniform random numbers.
 */
export function bell(next: Stream): number {
  return (next() + next() + next() + next() - 2) * Math.sqrt(3);
}

/** Splits a whole number into `count` whole parts of at least `least` each, with random weights. */
export function split(total: number, count: number, least: number, next: Stream): number[] {
  const weights = Array.from({ length: count }, () => 0.3 + next());
  return splitByWeights(total, weights, least);
}

/**
 * Splits a whole number by weights, each part at least `least`; the last part gets the rounding remainder.
 */
export function splitByWeights(total: number, weights: readonly number[], least: number): number[] {
  const free = total - least * weights.length;
  if (free < 0) {
    throw new RangeError(`Cannot split ${total} into ${weights.length} parts of ${least} or more`);
  }
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const parts = weights.map((weight) => least + Math.floor(free * weight / sum));
  const last = parts.length - 1;
  parts[last] = (parts[last] ?? 0) + total - parts.reduce((all, part) => all + part, 0);
  return parts;
}
