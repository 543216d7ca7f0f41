/**
 * Doubles of market data as decimal text.
 *
 * @module
 */
import { add, type Decimal } from "../decimal.ts";

/** Texts that are remembered; a power of two. */
const REMEMBERED = 8192;
const SHIFT = 32 - Math.log2(REMEMBERED);

const known = new Float64Array(REMEMBERED).fill(NaN);
const texts: Decimal[] = new Array(REMEMBERED).fill("");
const bits = new Float64Array(1);
const [low, high] = [new Uint32Array(bits.buffer, 0, 1), new Uint32Array(bits.buffer, 4, 1)];

/**
 * Writes a double as the shortest decimal that gives back the same double, in plain digits. Returns `undefined` for
 * infinity and what is not a number.
 *
 * Quotes repeat their prices all the time. Writing one costs six times as much as finding its text again, which is
 * what a stream of quotes has time for.
 */
export function doubleText(value: number): Decimal | undefined {
  bits[0] = value;
  const place = Math.imul(low[0]! ^ (high[0]! * 31), 0x9E37_79B1) >>> SHIFT;
  if (known[place] === value) return texts[place]!;
  if (known[place ^ 1] === value) return texts[place ^ 1]!;
  return Number.isFinite(value) ? remember(value, place) : undefined;
}

/** Puts a text in its place, and the one that was there beside it. */
function remember(value: number, place: number): Decimal {
  const digits = String(value);
  known[place ^ 1] = known[place]!;
  texts[place ^ 1] = texts[place]!;
  known[place] = value;
  return texts[place] = digits.includes("e") ? add(digits) : digits;
}
