/**
 * Whole numbers of 64 bits as two halves, the way a protobuf reader hands them over.
 *
 * @module
 */

/** A 64-bit whole number in two halves of 32 bits. */
export interface Long {
  readonly low: number;
  readonly high: number;
  readonly unsigned: boolean;
}

const HIGH = 0x1_0000_0000;
/** Below this many units of the high half, a double holds every digit. */
const EXACT = 0x20_0000;

/** Tells whether a value is a 64-bit number in two halves. */
export function isLong(value: unknown): value is Long {
  return typeof value === "object" && value !== null && "low" in value && "high" in value &&
    typeof value.low === "number" && typeof value.high === "number";
}

/** Writes every digit. Numbers that a double holds, so nearly all, take the short way. */
export function longText({ low, high, unsigned }: Long): string {
  const top = unsigned ? high >>> 0 : high;
  if (top < EXACT && top >= -EXACT) return String(top * HIGH + (low >>> 0));
  return String(BigInt(top) * BigInt(HIGH) + BigInt(low >>> 0));
}

/** As a double; loses digits beyond 2^53, so for times alone. */
export function longNumber({ low, high, unsigned }: Long): number {
  return (unsigned ? high >>> 0 : high) * HIGH + (low >>> 0);
}
