/**
 * Converts numbers of protobuf messages to decimal text: 64-bit whole numbers, which the protobuf reader returns as
 * two halves, and doubles of market data.
 *
 * @module
 */
import { add, type Decimal } from "../decimal.ts";

/** A 64-bit whole number in two halves of 32 bits. */
interface Long {
  readonly low: number;
  readonly high: number;
  readonly unsigned: boolean;
}

const HIGH = 0x1_0000_0000;
/** If the high half is below this limit, a double represents every digit. */
const EXACT = 0x20_0000;

/** Returns whether a value is a 64-bit number in two halves. */
export function isLong(value: unknown): value is Long {
  return typeof value === "object" && value !== null && "low" in value && "high" in value &&
    typeof value.low === "number" && typeof value.high === "number";
}

/** Returns the number with all digits. Nearly all numbers fit a double and need no bigint. */
export function longText({ low, high, unsigned }: Long): string {
  const top = unsigned ? high >>> 0 : high;
  if (top < EXACT && top >= -EXACT) return String(top * HIGH + (low >>> 0));
  return String(BigInt(top) * BigInt(HIGH) + BigInt(low >>> 0));
}

/** Returns the number as a double. Loses digits beyond 2^53, so use it only for times. */
export function longNumber({ low, high, unsigned }: Long): number {
  return (unsigned ? high >>> 0 : high) * HIGH + (low >>> 0);
}

/** Number of texts of doubles to remember; a power of two. */
const REMEMBERED = 8192;
const SHIFT = 32 - Math.log2(REMEMBERED);

const known = new Float64Array(REMEMBERED).fill(NaN);
const texts: Decimal[] = new Array(REMEMBERED).fill("");
const bits = new Float64Array(1);
const [low, high] = [new Uint32Array(bits.buffer, 0, 1), new Uint32Array(bits.buffer, 4, 1)];

/**
 * Returns the shortest decimal without an exponent that converts back to the same double. Returns `undefined` for
 * infinity and NaN.
 *
 * Prices repeat in quotes. Formatting takes six times as long as finding a remembered text.
 */
export function doubleText(value: number): Decimal | undefined {
  bits[0] = value;
  const place = Math.imul(low[0]! ^ (high[0]! * 31), 0x9E37_79B1) >>> SHIFT;
  if (known[place] === value) return texts[place]!;
  if (known[place ^ 1] === value) return texts[place ^ 1]!;
  return Number.isFinite(value) ? remember(value, place) : undefined;
}

/** Remembers the text of a double, and moves the earlier text of that place to the neighbouring place. */
function remember(value: number, place: number): Decimal {
  const digits = String(value);
  known[place ^ 1] = known[place]!;
  texts[place ^ 1] = texts[place]!;
  known[place] = value;
  return texts[place] = digits.includes("e") ? add(digits) : digits;
}
