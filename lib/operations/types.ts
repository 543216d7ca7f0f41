/**
 * Defines the types of single values: which values a request may contain, and how values are encoded and decoded.
 *
 * @module
 */
import { add, type Decimal, isDecimal } from "../decimal.ts";
import type { Dictionary, Unlisted } from "../dictionaries/dictionary.ts";
import { type Issue, showValue } from "../errors.ts";
import { isDate } from "../time.ts";

/** Thrown when a value in an answer does not fit its type. Each caller adds its part to the path. */
export class Mismatch extends Error {
  /** Path of the value in the answer. */
  readonly path: (string | number)[] = [];
  constructor(readonly expected: string, readonly value: unknown) {
    super(`expected ${expected}, got ${showValue(value)}`);
  }
}

/** Thrown when an answer, or the list in it, is missing. */
export class MissingAnswer extends Mismatch {}

/** Returns the error code for an invalid answer: `no-answer` if it is missing, else `unexpected-shape`. */
export function codeOfMismatch(error: Mismatch): string {
  return error instanceof MissingAnswer ? "no-answer" : "unexpected-shape";
}

/** Describes which member of an answer does not fit its type, and why. */
export function describeMismatch(error: Mismatch): string {
  return `${["data", ...error.path].join(".")}: ${error.message}`;
}

/**
 * Thrown for a number whose exact digits matter, but which JSON parsing has already converted to a double. The caller
 * then parses the JSON text again and keeps the digits.
 */
export class InexactNumber extends Error {}

/**
 * The form of a text: a decimal or an integer as text, a date `2025-08-15`, an instant `2025-08-15T02:00:00Z`, a code
 * (of a listing or an order), or any other text.
 */
export type TextForm = "decimal" | "whole" | "date" | "instant" | "code" | "other";

/**
 * The shape of a decoded value, for code that reads members by name, such as expressions in recipes and columns of
 * reports.
 */
export type Shape =
  /** Text, with its form if known; `names` are the names of its code table. */
  | {
    readonly kind: "text";
    readonly form?: TextForm;
    readonly names?: readonly string[];
  }
  | { readonly kind: "number" }
  | { readonly kind: "flag" }
  | { readonly kind: "list"; readonly of: Shape }
  /** Members by name; some may be absent. */
  | { readonly kind: "record"; readonly members: Readonly<Record<string, Shape>> }
  /** Values under names that are not known in advance. */
  | { readonly kind: "map"; readonly of: Shape };

const textShape: Shape = { kind: "text" };
const decimalShape: Shape = { kind: "text", form: "decimal" };
const dateShape: Shape = { kind: "text", form: "date" };
const timeShape: Shape = { kind: "text", form: "other" };
const codeShape: Shape = { kind: "text", form: "code" };
const numberShape: Shape = { kind: "number" };

/** A type of value in the catalogue. */
export interface ValueType<T> {
  /** Short name for documentation. */
  readonly name: string;
  /** Describes the allowed values; completes a sentence that starts with "expected". */
  readonly expected: string;
  /** Returns the shape of a decoded value. */
  readonly shape: () => Shape;
  /** Scalar types of the protobuf fields that can contain the value; the message name for records. */
  readonly proto: readonly string[];
  /** Code table of the value. */
  readonly dictionary?: Dictionary;
  /** True if the value must not appear in messages or logs. */
  readonly secret?: true;
  /** Set if each transport encrypts the value before sending. */
  readonly encrypt?: "trade-password";
  /** Whether it is a list. */
  readonly isList?: true;
  /** Type of the items, for lists. */
  readonly item?: ValueType<unknown>;
  /** Inner fields, for records and lists of records. */
  readonly fields?: FieldsInfo;
  /** Adds an issue for each mistake in a value to be sent. */
  check(value: unknown, path: Issue["path"], issues: Issue[]): void;
  /** Converts hsgate's value to the value on the wire. */
  encode(value: T): unknown;
  /** Converts a value on the wire to hsgate's value. Throws {@linkcode Mismatch} or {@linkcode InexactNumber}. */
  decode(value: unknown): T;
}

/** The fields of a record, without their exact value types. */
export type FieldsInfo = Readonly<Record<string, FieldInfo>>;

/** A field, without its exact value type. */
export interface FieldInfo {
  /** The member's name on the wire. */
  readonly wire: string;
  /** Type of its value. */
  readonly type: ValueType<unknown>;
  /** Whether a request may omit it. */
  readonly optional: boolean;
  /** True if an answer without it is invalid. */
  readonly key?: true;
  /** Value that is sent if the parameter is omitted. */
  readonly fallback?: unknown;
  /** Other names that some servers use for it. */
  readonly aliases?: readonly string[];
  /** Why the socket has no field for it. */
  readonly gap?: string;
}

interface Scalar<T> {
  name: string;
  expected: string;
  /** @default text */
  shape?: Shape;
  proto: readonly string[];
  accepts: (value: unknown) => boolean;
  encode?: (value: T) => unknown;
  decode: (value: unknown) => T;
}

function scalar<T>(
  { name, expected, shape = textShape, proto, accepts, encode, decode }: Scalar<T>,
): ValueType<T> {
  return {
    name,
    expected,
    shape: () => shape,
    proto,
    check(value: unknown, path: Issue["path"], issues: Issue[]) {
      if (!accepts(value)) issues.push({ path, value, expected });
    },
    encode: encode ?? ((value: T): unknown => value),
    decode,
  };
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new InexactNumber();
    return String(value);
  }
  throw new Mismatch("text", value);
}

function numberOf(value: unknown): number {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  if (typeof number !== "number" || Number.isNaN(number)) throw new Mismatch("a number", value);
  return number;
}

function textLike(name: string, expected: string, pattern: RegExp, shape?: Shape) {
  const accepts = (value: unknown) => typeof value === "string" && pattern.test(value);
  return scalar<string>({ name, expected, proto: ["string"], accepts, decode: textOf, shape });
}

/** Free text that is not empty. */
export const text: ValueType<string> = textLike("text", "text that is not empty", /\S/);

/** The broker's code for a stock, option or future; Hong Kong codes carry `.HK`. */
export const listingCode: ValueType<string> = textLike(
  "listing code",
  'a listing code such as "00700.HK" or "AAPL"',
  /^[\w.&/-]{1,40}$/,
  codeShape,
);

function isOrderId(value: unknown): boolean {
  return typeof value === "string" && /^\S{1,64}$/.test(value);
}

/** An order number. Always text, even if a server sends a number. */
export const orderId: ValueType<string> = scalar<string>({
  name: "order id",
  expected: "an order number as text",
  shape: codeShape,
  proto: ["string"],
  accepts: isOrderId,
  decode: (value) => {
    const id = textOf(value);
    if (!isOrderId(id)) throw new Mismatch("an order number as text", value);
    return id;
  },
});

/** Returns whether a text can be the number of an order that the broker has accepted. */
function isAcceptedOrderId(id: string): boolean {
  return isOrderId(id) && /^[\w.:#/][\w.:#/-]*$/.test(id) && /[1-9]/.test(id);
}

/**
 * The order number in the answer to a write. `0`, negative numbers, lists of numbers and words without a digit are
 * invalid.
 */
export const acceptedOrderId: ValueType<string> = {
  ...orderId,
  decode: (value) => {
    const id = orderId.decode(value);
    if (!isAcceptedOrderId(id)) throw new Mismatch("the number of one order", value);
    return id;
  },
};

/** Text that must not appear in messages or logs. */
export const secret: ValueType<string> = {
  ...scalar<string>({
    name: "secret",
    expected: "text that is not empty",
    proto: ["string"],
    accepts: (value) => typeof value === "string" && value !== "",
    decode: (value) => {
      if (typeof value !== "string") throw new Mismatch("text", "[secret]");
      return value;
    },
  }),
  secret: true,
};

/** The trade password in plain text; each transport encrypts it before sending. */
export const tradePassword: ValueType<string> = { ...secret, encrypt: "trade-password" };

/** Returns a decimal in plain digits, because the broker accepts nothing else: `100` for `1e2`, `0.5` for `.5`. */
function plainDigits(value: Decimal): Decimal {
  return /^-?\d+(\.\d+)?$/.test(value) ? value : add(value);
}

/**
 * Decodes a decimal. Throws for a number: it is already a double, and may have lost digits. Does not check that a text
 * is a decimal.
 */
function decimalOf(value: unknown): Decimal {
  if (typeof value === "number") throw new InexactNumber();
  return textOf(value);
}

/** An exact decimal number as text, positive or negative. */
export const decimal: ValueType<Decimal> = scalar<Decimal>({
  name: "decimal",
  expected: 'a decimal as text, such as "12.50"',
  shape: decimalShape,
  proto: ["string"],
  accepts: isDecimal,
  encode: plainDigits,
  decode: decimalOf,
});

const isPositive = (value: unknown) =>
  isDecimal(value) && !value.startsWith("-") && /[1-9]/.test(value.split(/e/i)[0]!);

/** A decimal above zero, for quantities. */
export const positiveDecimal: ValueType<Decimal> = scalar<Decimal>({
  name: "decimal above zero",
  expected: 'a decimal above zero as text, such as "100"',
  shape: decimalShape,
  proto: ["string"],
  accepts: isPositive,
  encode: plainDigits,
  decode: decimalOf,
});

/** A decimal of zero or more, for prices (`"0"` for a market order). */
export const priceDecimal: ValueType<Decimal> = scalar<Decimal>({
  name: "decimal of zero or more",
  expected: 'a decimal of zero or more as text, such as "350.20"',
  shape: decimalShape,
  proto: ["string"],
  accepts: (value) => isDecimal(value) && !value.startsWith("-"),
  encode: plainDigits,
  decode: decimalOf,
});

/** An integer of 32 bits within bounds. */
export function int32(min = -2_147_483_648, max = 2_147_483_647): ValueType<number> {
  const bounded = min > -2_147_483_648 || max < 2_147_483_647;
  return scalar<number>({
    name: bounded ? `whole number ${min} to ${max}` : "whole number",
    expected: bounded ? `a whole number from ${min} to ${max}` : "a whole number",
    shape: numberShape,
    proto: ["int32"],
    accepts: (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
    decode: numberOf,
  });
}

/** An integer within bounds that the gateway expects as text. */
export function int32Text(min: number, max: number): ValueType<number> {
  return { ...int32(min, max), proto: ["int32"], encode: String };
}

/** An integer within bounds that the broker's messages contain as text, such as a number of days. */
export function wholeText(min: number, max: number): ValueType<number> {
  return { ...int32(min, max), proto: ["string"], encode: String };
}

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
function isLong(value: unknown): value is Long {
  return typeof value === "object" && value !== null && "low" in value && "high" in value &&
    typeof value.low === "number" && typeof value.high === "number";
}

/** Returns the number with all digits. Nearly all numbers fit a double and need no bigint. */
function longText({ low, high, unsigned }: Long): string {
  const top = unsigned ? high >>> 0 : high;
  if (top < EXACT && top >= -EXACT) return String(top * HIGH + (low >>> 0));
  return String(BigInt(top) * BigInt(HIGH) + BigInt(low >>> 0));
}

/** An integer of 64 bits, as text so that it stays exact. */
export const int64: ValueType<string> = scalar<string>({
  name: "64-bit whole number",
  expected: "a whole number as text",
  shape: { kind: "text", form: "whole" },
  proto: ["int64", "uint64", "int32"],
  accepts: (value) => typeof value === "string" && /^-?\d{1,20}$/.test(value),
  // Send a number. If a double cannot represent it exactly, send text.
  encode: (value) => Number.isSafeInteger(Number(value)) ? Number(value) : value,
  decode: (value) => {
    // The protobuf decoder returns two halves. Convert them first: this is the fastest path for quotes.
    if (isLong(value)) return longText(value);
    const digits = textOf(value);
    if (!/^-?\d+$/.test(digits)) throw new Mismatch("a whole number", value);
    return digits;
  },
});

/** How many texts of doubles {@linkcode doubleText} remembers; a power of two. */
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

/**
 * A price, amount or ratio of market data: a double on the wire, a decimal string here. A double becomes the shortest
 * text that converts back to the same double. Text on the wire is accepted too.
 */
export const quoteDecimal: ValueType<Decimal> = scalar<Decimal>({
  name: "decimal",
  expected: "a number",
  shape: decimalShape,
  proto: ["double"],
  accepts: isDecimal,
  encode: Number,
  decode: (value) => {
    if (typeof value === "number") {
      const text = doubleText(value);
      if (text !== undefined) return text;
    } else if (isDecimal(value)) return plainDigits(value);
    throw new Mismatch("a number", value);
  },
});

/** True or false. */
export const flag: ValueType<boolean> = scalar<boolean>({
  name: "true or false",
  expected: "true or false",
  shape: { kind: "flag" },
  proto: ["bool"],
  accepts: (value) => typeof value === "boolean",
  decode: (value) => {
    if (value === true || value === "true" || value === 1 || value === "1") return true;
    if (value === false || value === "false" || value === 0 || value === "0") return false;
    throw new Mismatch("true or false", value);
  },
});

/** True or false, sent as 1 or 0. */
export const flagInt: ValueType<boolean> = {
  ...flag,
  proto: ["int32"],
  encode: (value) => value ? 1 : 0,
};

/** True or false, sent as `"1"` or `"0"`. */
export const flagText: ValueType<boolean> = {
  ...flag,
  proto: ["string"],
  encode: (value) => value ? "1" : "0",
};

/** Returns `2025-08-15` for `20250815` or `2025/08/15`, and any other text unchanged. */
function isoDate(value: unknown): string {
  const raw = textOf(value);
  if (/^\d{8}$/.test(raw)) return `${raw.slice(0, 4)}-${raw.slice(4, 6)}-${raw.slice(6)}`;
  return /^\d{4}\/\d{2}\/\d{2}$/.test(raw) ? raw.replaceAll("/", "-") : raw;
}

function dateType(
  name: string,
  proto: readonly string[],
  encode: (date: string) => unknown,
): ValueType<string> {
  return scalar<string>({
    name,
    expected: 'a date that exists, such as "2025-08-15"',
    shape: dateShape,
    proto,
    accepts: isDate,
    encode,
    decode: isoDate,
  });
}

/** A date, `2025-08-15` here and `20250815` on the wire. */
export const date: ValueType<string> = dateType(
  "date",
  ["string", "int32"],
  (value) => value.replaceAll("-", ""),
);
/** A date, sent as the number 20250815. */
export const dateInt: ValueType<string> = dateType(
  "date",
  ["int64", "int32"],
  (value) => Number(value.replaceAll("-", "")),
);
/** A date, sent as `2025/08/15`. */
export const dateSlash: ValueType<string> = dateType(
  "date",
  ["string"],
  (value) => value.replaceAll("-", "/"),
);
/** A date, sent as `2025-08-15`. */
export const dateDash: ValueType<string> = dateType("date", ["string"], (value) => value);

/** A time of day, `09:30:05` here and `093005` on the wire. Any other text in an answer stays unchanged. */
export const timeOfDay: ValueType<string> = scalar<string>({
  name: "time of day",
  expected: 'a time of day such as "09:30:05"',
  shape: timeShape,
  proto: ["string"],
  accepts: (value) => typeof value === "string" && /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(value),
  encode: (value) => value.replaceAll(":", ""),
  decode: (value) => {
    const raw = textOf(value);
    return /^\d{6}$/.test(raw) ? `${raw.slice(0, 2)}:${raw.slice(2, 4)}:${raw.slice(4)}` : raw;
  },
});

/** A date and time in the exchange's time zone, such as `2025-08-15 09:30:05`. */
export const dateTime: ValueType<string> = scalar<string>({
  name: "date and time",
  expected: 'a date that exists with a time, such as "2025-08-15 09:30:05"',
  shape: timeShape,
  proto: ["string"],
  accepts: (value) =>
    typeof value === "string" && isDate(value.slice(0, 10)) &&
    /^ ([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(value.slice(10)),
  decode: textOf,
});

/** A type with a code table. */
type CodedType<T> = ValueType<T> & { readonly dictionary: Dictionary };

function coded<Name extends string, T extends string>(
  table: Dictionary<Name>,
  allowed: readonly string[],
  accepts: (value: unknown) => boolean,
): CodedType<T> {
  const expectedOf = () =>
    allowed.length === 0 ? "a code" : `one of ${allowed.map((name) => `"${name}"`).join(", ")}`;
  return {
    name: table.wire,
    get expected() {
      return expectedOf();
    },
    shape: () => ({ kind: "text", form: "other", names: allowed }),
    proto: table.type === "int" ? ["int32"] : ["string"],
    check(value: unknown, path: Issue["path"], issues: Issue[]) {
      if (!accepts(value)) issues.push({ path, value, expected: expectedOf() });
    },
    encode: (value) => table.encode(value as unknown as Name),
    decode: (value) => {
      if (typeof value === "string" || typeof value === "number") return table.decode(value) as unknown as T;
      throw new Mismatch(`a code of ${table.wire}`, value);
    },
    dictionary: table as unknown as Dictionary,
  };
}

/** A name from a code table, for requests: accepts only listed names. `only` limits the allowed names. */
export function oneOf<Name extends string>(table: Dictionary<Name>): CodedType<Name>;
export function oneOf<Name extends string, Only extends Name>(
  table: Dictionary<Name>,
  only: readonly Only[],
): CodedType<Only>;
export function oneOf<Name extends string>(table: Dictionary<Name>, only: readonly Name[] = table.names) {
  return coded<Name, Name>(table, only, (value) => (only as readonly unknown[]).includes(value));
}

/** A name from a code table, for answers: a code that the table does not list becomes `"unlisted:9"`. */
export function anyOf<Name extends string>(table: Dictionary<Name>): CodedType<Name | Unlisted> {
  const isUnlisted = (value: unknown) => typeof value === "string" && value.startsWith("unlisted:");
  return coded<Name, Name | Unlisted>(table, table.names, (value) => table.has(value) || isUnlisted(value));
}

/** Returns the type for a member that is sent as text although the codes of its table are numbers. */
export function asText<V extends ValueType<unknown>>(type: V): V {
  return { ...type, proto: ["string"], encode: (value: unknown) => String(type.encode(value)) };
}

/** Returns the type for a member that is sent as a number although the codes of its table are text. */
export function asInt<V extends ValueType<unknown>>(type: V): V {
  return { ...type, proto: ["int32"], encode: (value: unknown) => Number(type.encode(value)) };
}

/** A map of maps of decimals, such as the exchange rates. */
export const rateMap: ValueType<Record<string, Record<string, Decimal>>> = scalar({
  name: "map of maps of decimals",
  expected: "a map of currencies to maps of decimals",
  shape: { kind: "map", of: { kind: "map", of: decimalShape } },
  proto: [],
  accepts: (value) => typeof value === "object" && value !== null,
  decode: (value) => {
    const rates = mapValues(value, (inner) => mapValues(inner, rateOf));
    if (Object.keys(rates).length === 0) throw new Mismatch("a map of currencies to maps of decimals", value);
    return rates;
  },
});

function rateOf(value: unknown): Decimal {
  const rate = decimalOf(value);
  if (!isDecimal(rate)) throw new Mismatch("a decimal", value);
  return rate;
}

function mapValues<T>(value: unknown, change: (value: unknown) => T): Record<string, T> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Mismatch("a map", value);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, change(each)]));
}
