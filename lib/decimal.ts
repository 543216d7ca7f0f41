/**
 * Calculates exactly with decimal strings, for prices, amounts and quantities.
 *
 * A value is an integer coefficient (`bigint`) and a number of decimals, so sums and products of any size are
 * exact. Nothing is rounded unless the caller names the number of decimals and the rounding rule.
 *
 * @module
 */

/** A decimal number written out, such as `"-12.50"`. Never a JavaScript number. */
export type Decimal = string;

/**
 * How to round a result that has too many decimals. `exact` throws instead of rounding. `up` rounds away from zero,
 * `down` rounds towards zero. `half-up` and `half-even` round to the nearest value. A half is rounded away from zero by
 * `half-up`, and to the even neighbour by `half-even`.
 */
type Rounding = "exact" | "half-up" | "half-even" | "up" | "down";

interface Parts {
  coefficient: bigint;
  scale: number;
}

const PLAIN = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;

/**
 * Maximum number of decimal places, so that a hostile exponent cannot exhaust memory. The broker's numbers have far
 * fewer.
 */
const MAX_SCALE = 1_000;
/** Maximum number of digits, for the same reason. */
const MAX_DIGITS = 2_000;

/** Integers of up to this many digits are exact in a double, so a short text is parsed without the slower pattern. */
const FAST_DIGITS = 15;

/** Parses a short plain decimal such as `-12.50`. Returns `undefined` for any other text, which `parse` handles. */
function parseShort(value: Decimal): Parts | undefined {
  const { length } = value;
  const negative = value.charCodeAt(0) === 45;
  const start = negative ? 1 : 0;
  if (length === start || length > FAST_DIGITS) return undefined;
  let [digits, point] = [0, -1];
  for (let index = start; index < length; index++) {
    const code = value.charCodeAt(index);
    if (code >= 48 && code <= 57) digits = digits * 10 + code - 48;
    else if (code === 46 && point < 0 && length > start + 1) point = index;
    else return undefined;
  }
  return { coefficient: BigInt(negative ? -digits : digits), scale: point < 0 ? 0 : length - point - 1 };
}

function parse(value: Decimal): Parts {
  const short = typeof value === "string" ? parseShort(value) : undefined;
  if (short !== undefined) return short;
  const match = typeof value === "string" ? PLAIN.exec(value) : null;
  if (match === null || !(match[2] || match[3])) {
    throw new TypeError(`Cannot read ${JSON.stringify(value)} as a decimal: write it like "-12.50"`);
  }
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  if (whole.length + fraction.length > MAX_DIGITS) {
    throw new RangeError(`Cannot read "${value.slice(0, 20)}…" as a decimal: more than ${MAX_DIGITS} digits`);
  }
  let scale = fraction.length - Number(exponent);
  if (Math.abs(scale) > MAX_SCALE) {
    throw new RangeError(`Cannot read "${value}" as a decimal: more than ${MAX_SCALE} places`);
  }
  let coefficient = BigInt(whole + fraction);
  if (scale < 0) {
    coefficient *= 10n ** BigInt(-scale);
    scale = 0;
  }
  return { coefficient: sign === "-" ? -coefficient : coefficient, scale };
}

function write({ coefficient, scale }: Parts): Decimal {
  const negative = coefficient < 0n;
  const digits = (negative ? -coefficient : coefficient).toString().padStart(scale + 1, "0");
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return negative ? `-${text}` : text;
}

const rescale = (part: Parts, scale: number): bigint =>
  scale === part.scale ? part.coefficient : part.coefficient * 10n ** BigInt(scale - part.scale);

/** Divides integers and rounds the quotient by the rule. Every rounding in this file uses this function. */
function divideWhole(numerator: bigint, denominator: bigint, rounding: Rounding, what: () => string): bigint {
  const quotient = numerator / denominator;
  const remainder = numerator % denominator;
  if (remainder === 0n || rounding === "down") return quotient;
  if (rounding === "exact") throw new RangeError(`Cannot ${what()} without rounding: name a rounding rule`);
  const away = (numerator < 0n) === (denominator < 0n) ? 1n : -1n;
  if (rounding === "up") return quotient + away;
  const twice = 2n * (remainder < 0n ? -remainder : remainder);
  const size = denominator < 0n ? -denominator : denominator;
  const goesUp = twice > size || (twice === size && (rounding === "half-up" || quotient % 2n !== 0n));
  return goesUp ? quotient + away : quotient;
}

/** Returns whether a value is a decimal that these helpers can parse. */
export function isDecimal(value: unknown): value is Decimal {
  if (typeof value !== "string") return false;
  if (parseShort(value) !== undefined) return true;
  const [text, , whole = "", fraction = "", exponent = "0"] = PLAIN.exec(value) ?? [];
  const digits = whole.length + fraction.length;
  return text !== undefined && digits > 0 && digits <= MAX_DIGITS &&
    Math.abs(fraction.length - Number(exponent)) <= MAX_SCALE;
}

/** Returns the exact sum, with as many decimals as the value with the most decimals (`"1.50" + "1"` is `"2.50"`). */
export function add(...values: Decimal[]): Decimal {
  const parts = values.map(parse);
  const scale = parts.reduce((most, part) => Math.max(most, part.scale), 0);
  return write({ coefficient: parts.reduce((sum, part) => sum + rescale(part, scale), 0n), scale });
}

/**
 * Returns the exact sum of a list of any length, with as many decimals as the value with the most decimals; `"0"` for
 * an empty list. Use it for lists: JavaScript cannot pass more than about 100,000 values as the parameters of `add`.
 */
export function sumOf(values: Iterable<Decimal>): Decimal {
  const total = new DecimalSum();
  for (const value of values) total.add(value);
  return total.toString();
}

/** Returns the exact difference `a - b`. */
export function subtract(a: Decimal, b: Decimal): Decimal {
  return add(a, negate(b));
}

/** Returns the value with the opposite sign; zero has no sign. */
export function negate(value: Decimal): Decimal {
  const { coefficient, scale } = parse(value);
  return write({ coefficient: -coefficient, scale });
}

/** Returns the value without its sign. */
export function absolute(value: Decimal): Decimal {
  return compare(value, "0") < 0 ? negate(value) : value;
}

/** Returns the exact product. It has as many decimals as both factors together (`"1.5" * "0.20"` is `"0.300"`). */
export function multiply(a: Decimal, b: Decimal): Decimal {
  const [left, right] = [parse(a), parse(b)];
  return write({ coefficient: left.coefficient * right.coefficient, scale: left.scale + right.scale });
}

/**
 * Returns `a / b` with the given number of decimals.
 *
 * @throws {RangeError} When `b` is zero, or when the rule is `exact` and the quotient needs more decimals.
 */
export function divide(a: Decimal, b: Decimal, places: number, rounding: Rounding): Decimal {
  const [left, right] = [parse(a), parse(b)];
  if (right.coefficient === 0n) throw new RangeError(`Cannot divide "${a}" by zero`);
  const numerator = left.coefficient * 10n ** BigInt(places + right.scale);
  const denominator = right.coefficient * 10n ** BigInt(left.scale);
  const what = () => `divide "${a}" by "${b}" to ${places} decimals`;
  return write({ coefficient: divideWhole(numerator, denominator, rounding, what), scale: places });
}

/**
 * Returns a value with exactly `places` decimals.
 *
 * @throws {RangeError} When the rule is `exact` and digits would be lost.
 */
export function round(value: Decimal, places: number, rounding: Rounding): Decimal {
  const part = parse(value);
  if (part.scale <= places) return write({ coefficient: rescale(part, places), scale: places });
  const what = () => `write "${value}" with ${places} decimals`;
  const unit = 10n ** BigInt(part.scale - places);
  return write({ coefficient: divideWhole(part.coefficient, unit, rounding, what), scale: places });
}

/**
 * Rounds a value to a multiple of `step`, for tick sizes and board lots.
 *
 * @example
 * ```ts
 * import { toStep } from "./decimal.ts";
 * if (toStep("37.454", "0.05", "half-up") !== "37.45") throw new Error("off the grid");
 * ```
 */
export function toStep(value: Decimal, step: Decimal, rounding: Rounding): Decimal {
  const unit = parse(step);
  if (unit.coefficient <= 0n) throw new RangeError(`Cannot use "${step}" as a step: it must be above zero`);
  const steps = divide(value, step, 0, rounding);
  return write({ coefficient: BigInt(steps) * unit.coefficient, scale: unit.scale });
}

/** Compares by value. Returns -1 when `a < b`, 0 when equal (`"1.50"` equals `"1.5"`), and 1 when `a > b`. */
export function compare(a: Decimal, b: Decimal): number {
  const [left, right] = [parse(a), parse(b)];
  const scale = Math.max(left.scale, right.scale);
  const difference = rescale(left, scale) - rescale(right, scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Returns whether `a` times `b` equals `product` by value (`"1.50"` equals `"1.5"`). */
export function isProduct(a: Decimal, b: Decimal, product: Decimal): boolean {
  const [left, right, whole] = [parse(a), parse(b), parse(product)];
  const scale = left.scale + right.scale;
  const most = Math.max(scale, whole.scale);
  const coefficient = left.coefficient * right.coefficient;
  return rescale({ coefficient, scale }, most) === rescale(whole, most);
}

/** Returns whether a value is zero; `"0.00"` is zero too. */
export function isZero(value: Decimal): boolean {
  return parse(value).coefficient === 0n;
}

/** Removes trailing zeros after the point (`"1.500"` becomes `"1.5"`), so that equal values are equal texts. */
export function normalize(value: Decimal): Decimal {
  const text = write(parse(value));
  if (!text.includes(".")) return text;
  let end = text.length;
  while (text[end - 1] === "0") end--; // a regular expression would take time that grows with the square of the length
  return text.slice(0, text[end - 1] === "." ? end - 1 : end);
}

/** Adds up many values exactly. Each addition costs one parse and one bigint addition. */
export class DecimalSum {
  #coefficient = 0n;
  #scale = 0;

  /** Adds one value. */
  add(value: Decimal): this {
    const part = parse(value);
    if (part.scale > this.#scale) {
      this.#coefficient *= 10n ** BigInt(part.scale - this.#scale);
      this.#scale = part.scale;
    }
    this.#coefficient += rescale(part, this.#scale);
    return this;
  }

  /** Subtracts one value. */
  subtract(value: Decimal): this {
    return this.add(negate(value));
  }

  /** Whether the sum so far is zero. */
  get isZero(): boolean {
    return this.#coefficient === 0n;
  }

  /** The sum so far, with as many decimals as the added value with the most decimals. */
  toString(): Decimal {
    return write({ coefficient: this.#coefficient, scale: this.#scale });
  }
}

/** Formats a price with two to four decimals. Returns an empty text for an absent price. */
export function priceText(value: Decimal | undefined): string {
  return value === undefined ? "" : round(value, 4, "half-even").replace(/(\.\d\d\d*?)0+$/, "$1");
}
