/**
 * Exact decimal arithmetic on strings, for prices, amounts and quantities.
 *
 * A value is a whole coefficient (`bigint`) and a count of decimals, so sums and products are exact at any
 * size, and nothing is rounded unless the caller names the number of decimals and the rule.
 *
 * @module
 */

/** A decimal number written out, such as `"-12.50"`. Never a JavaScript number. */
export type Decimal = string;

/**
 * How a result that does not fit is brought onto the wanted decimals.
 * `exact` refuses instead of rounding; `half-up` and `up` count away from zero.
 */
export type Rounding = "exact" | "half-up" | "half-even" | "up" | "down";

interface Parts {
  coefficient: bigint;
  scale: number;
}

const PLAIN = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;

/** Wide enough for anything a wire carries, small enough that a hostile exponent cannot exhaust memory. */
const MAX_SCALE = 1_000;

/** Whole numbers of so many digits are exact in a double, which reads digits much faster than a pattern does. */
const FAST_DIGITS = 15;

/** Reads a short plain decimal such as `-12.50`; `undefined` for anything that needs the pattern. */
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
  const shift = Number(exponent);
  let scale = fraction.length - shift;
  let coefficient = BigInt(whole + fraction);
  if (Math.abs(scale) > MAX_SCALE) {
    throw new RangeError(`Cannot read "${value}" as a decimal: more than ${MAX_SCALE} places`);
  }
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

/** Divides whole numbers by a rule; the one place where anything is rounded. */
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

/** Tells whether a value is a decimal that these helpers can read. */
export function isDecimal(value: unknown): value is Decimal {
  if (typeof value !== "string") return false;
  if (parseShort(value) !== undefined) return true;
  const match = PLAIN.exec(value);
  return match !== null && Boolean(match[2] || match[3]);
}

/** Returns the exact sum; the most decimals of any part are kept (`"1.50" + "1"` is `"2.50"`). */
export function add(...values: Decimal[]): Decimal {
  const parts = values.map(parse);
  const scale = parts.reduce((most, part) => Math.max(most, part.scale), 0);
  return write({ coefficient: parts.reduce((sum, part) => sum + rescale(part, scale), 0n), scale });
}

/** Returns the exact difference `a - b`. */
export function subtract(a: Decimal, b: Decimal): Decimal {
  return add(a, negate(b));
}

/** Returns the value with its sign turned; zero has no sign. */
export function negate(value: Decimal): Decimal {
  const { coefficient, scale } = parse(value);
  return write({ coefficient: -coefficient, scale });
}

/** Returns the value without its sign. */
export function absolute(value: Decimal): Decimal {
  return compare(value, "0") < 0 ? negate(value) : value;
}

/** Returns the exact product, with the decimals of both factors added (`"1.5" * "0.20"` is `"0.300"`). */
export function multiply(a: Decimal, b: Decimal): Decimal {
  const [left, right] = [parse(a), parse(b)];
  return write({ coefficient: left.coefficient * right.coefficient, scale: left.scale + right.scale });
}

/**
 * Returns `a / b` to a named number of decimals.
 *
 * @throws {RangeError} When `b` is zero, or the rule is `exact` and the quotient does not fit.
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
 * Brings a value to exactly `places` decimals.
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
 * Brings a value onto a multiple of `step`, for tick sizes and board lots.
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

/** Compares by value: below zero when `a < b`, zero when equal (`"1.50"` equals `"1.5"`). */
export function compare(a: Decimal, b: Decimal): number {
  const [left, right] = [parse(a), parse(b)];
  const scale = Math.max(left.scale, right.scale);
  const difference = rescale(left, scale) - rescale(right, scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Tells whether `a` times `b` is `product`, by value. */
export function isProduct(a: Decimal, b: Decimal, product: Decimal): boolean {
  const [left, right, whole] = [parse(a), parse(b), parse(product)];
  const scale = left.scale + right.scale;
  const most = Math.max(scale, whole.scale);
  const coefficient = left.coefficient * right.coefficient;
  return rescale({ coefficient, scale }, most) === rescale(whole, most);
}

/** Tells whether a value is zero, however many decimals it is written with. */
export function isZero(value: Decimal): boolean {
  return parse(value).coefficient === 0n;
}

/** Drops trailing zeros after the point (`"1.500"` becomes `"1.5"`), for comparing texts. */
export function normalize(value: Decimal): Decimal {
  const text = write(parse(value));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A running exact sum, for totals over many rows: each addition costs one parse and one bigint addition. */
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

  /** Takes one value away. */
  subtract(value: Decimal): this {
    return this.add(negate(value));
  }

  /** Whether the sum so far is zero. */
  get isZero(): boolean {
    return this.#coefficient === 0n;
  }

  /** The sum so far, with the most decimals that any added value had. */
  toString(): Decimal {
    return write({ coefficient: this.#coefficient, scale: this.#scale });
  }
}
