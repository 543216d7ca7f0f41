/**
 * How one value looks on both sides of the wire: what we accept, what is sent, what comes back.
 *
 * @module
 */
import type { Dictionary, Unlisted } from "../dictionaries/dictionary.ts";
import { add, type Decimal, isDecimal } from "../decimal.ts";
import { type Issue, showValue } from "../errors.ts";
import { doubleText } from "../wire/double.ts";
import { isLong, longText } from "../wire/long.ts";

/** An answer's value that does not fit its type; the path grows as it travels outwards. */
export class Mismatch extends Error {
  /** Where in the answer it stands. */
  readonly path: (string | number)[] = [];
  constructor(readonly expected: string, readonly value: unknown) {
    super(`expected ${expected}, got ${showValue(value)}`);
  }
}

/** An answer, or the list in it, is not there at all. */
export class MissingAnswer extends Mismatch {}

/** The code of an error about an answer that does not fit: `no-answer` when there is none. */
export function codeOfMismatch(error: Mismatch): string {
  return error instanceof MissingAnswer ? "no-answer" : "unexpected-shape";
}

/**
 * A number that JSON has already turned into a double, where the digits count. Whoever parsed the text parses
 * it again with the digits kept.
 */
export class InexactNumber extends Error {}

/**
 * What is known of a text: a decimal or a whole number kept as text, a date `2025-08-15`, an instant
 * `2025-08-15T02:00:00Z`, the code of a listing or the number of an order, or something that is none of these.
 */
export type TextForm = "decimal" | "whole" | "date" | "instant" | "code" | "other";

/**
 * What a value that was read looks like, for whoever reads its members by name: expressions of recipes, columns of
 * reports.
 */
export type Shape =
  /** Text, of a form where one is known; `names` are those of its code table. */
  | {
    readonly kind: "text";
    readonly form?: TextForm;
    readonly names?: readonly string[];
  }
  | { readonly kind: "number" }
  | { readonly kind: "flag" }
  | { readonly kind: "list"; readonly of: Shape }
  /** Members by their names; some may be absent. */
  | { readonly kind: "record"; readonly members: Readonly<Record<string, Shape>> }
  /** Values under names that nobody lists. */
  | { readonly kind: "map"; readonly of: Shape };

const textShape: Shape = { kind: "text" };
const decimalShape: Shape = { kind: "text", form: "decimal" };
const dateShape: Shape = { kind: "text", form: "date" };
const timeShape: Shape = { kind: "text", form: "other" };
const codeShape: Shape = { kind: "text", form: "code" };
const numberShape: Shape = { kind: "number" };

/** One type of value, as the catalogue uses it. */
export interface ValueType<T> {
  /** Short name for documentation. */
  readonly name: string;
  /** What is allowed, to end a sentence that starts with "expected". */
  readonly expected: string;
  /** What a value of it looks like. */
  readonly shape: Shape;
  /** Scalar types of a protobuf field that can carry it; a message name for records. */
  readonly proto: readonly string[];
  /** The code table behind the value. */
  readonly dictionary?: Dictionary;
  /** Never shown in messages or logs. */
  readonly secret?: true;
  /** Each transport encrypts it in its own way on the way out. */
  readonly encrypt?: "trade-password";
  /** Whether it is a list. */
  readonly isList?: true;
  /** Inner fields, for records and lists of records. */
  readonly fields?: FieldsInfo;
  /** Adds an issue for everything that is wrong with a value that somebody wants to send. */
  check(value: unknown, path: Issue["path"], issues: Issue[]): void;
  /** Our value, as the wire has it. */
  encode(value: T): unknown;
  /** The wire's value, as we have it. Throws {@linkcode Mismatch} or {@linkcode InexactNumber}. */
  decode(value: unknown): T;
}

/** What documentation and tests read of a record's fields. */
export type FieldsInfo = Readonly<Record<string, FieldInfo>>;

/** What documentation and tests read of one field. */
export interface FieldInfo {
  /** The member's name on the wire. */
  readonly wire: string;
  /** Its type. */
  readonly type: ValueType<unknown>;
  /** May be left out. */
  readonly optional: boolean;
  /** An answer without it is an error. */
  readonly key?: true;
  /** What is sent when it is left out. */
  readonly fallback?: unknown;
  /** Other names that servers have been seen to use for it. */
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
    shape,
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

/** A stock, option or future as the broker codes it; Hong Kong codes carry `.HK`. */
export const listingCode: ValueType<string> = textLike(
  "listing code",
  'a listing code such as "00700.HK" or "AAPL"',
  /^[\w.&/-]{1,40}$/,
  codeShape,
);

function isOrderId(value: unknown): boolean {
  return typeof value === "string" && /^\S{1,64}$/.test(value);
}

/** An order number. Text, also where a server sends digits. */
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

/** Whether a text can be the number of an order that the broker has taken. */
function isTakenOrderId(id: string): boolean {
  return isOrderId(id) && /^[\w.:#/][\w.:#/-]*$/.test(id) && /[1-9]/.test(id);
}

/**
 * The number of one order as the answer to a write has it. `0`, a negative number, a list of numbers and a word
 * without a digit name no order.
 */
export const takenOrderId: ValueType<string> = {
  ...orderId,
  decode: (value) => {
    const id = orderId.decode(value);
    if (!isTakenOrderId(id)) throw new Mismatch("the number of one order", value);
    return id;
  },
};

/** Text that must never be shown. */
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

/** The trade password: plain here, encrypted by each transport in its own way. */
export const tradePassword: ValueType<string> = { ...secret, encrypt: "trade-password" };

/** Writes `1e2`, `+5` and `.5` as `100`, `5` and `0.5`: a broker reads plain digits alone. */
function plainDigits(value: Decimal): Decimal {
  return /^-?\d+(\.\d+)?$/.test(value) ? value : add(value);
}

/** A number of JSON is a double by now, and even a whole one may have been another: only its text will do. */
function decimalOf(value: unknown): Decimal {
  if (typeof value === "number") throw new InexactNumber();
  return textOf(value);
}

/** A decimal number as text, of any sign; exact. */
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

/** A decimal of zero or more, for prices (a market order sends `"0"`). */
export const priceDecimal: ValueType<Decimal> = scalar<Decimal>({
  name: "decimal of zero or more",
  expected: 'a decimal of zero or more as text, such as "350.20"',
  shape: decimalShape,
  proto: ["string"],
  accepts: (value) => isDecimal(value) && !value.startsWith("-"),
  encode: plainDigits,
  decode: decimalOf,
});

/** A whole number of 32 bits within bounds. */
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

/** A whole number within bounds that the gateway wants as text. */
export function int32Text(min: number, max: number): ValueType<number> {
  return { ...int32(min, max), proto: ["int32"], encode: String };
}

/** A whole number within bounds that the broker's messages carry as text, such as a count of days. */
export function wholeText(min: number, max: number): ValueType<number> {
  return { ...int32(min, max), proto: ["string"], encode: String };
}

/** A whole number of 64 bits, as text: exact at any size. */
export const int64: ValueType<string> = scalar<string>({
  name: "64-bit whole number",
  expected: "a whole number as text",
  shape: { kind: "text", form: "whole" },
  proto: ["int64", "uint64", "int32"],
  accepts: (value) => typeof value === "string" && /^-?\d{1,20}$/.test(value),
  // JSON writes them as numbers; beyond the exact range of a double only text keeps the digits.
  encode: (value) => Number.isSafeInteger(Number(value)) ? Number(value) : value,
  decode: (value) => {
    // A protobuf reader hands over two halves; a stream of quotes wants the short way through.
    if (isLong(value)) return longText(value);
    const digits = textOf(value);
    if (!/^-?\d+$/.test(digits)) throw new Mismatch("a whole number", value);
    return digits;
  },
});

/**
 * A price, amount or ratio of market data: a double on the wire, decimal text here. Text on the wire stays as it is;
 * of a double it is the shortest text that gives back the same double.
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

/** Yes or no. */
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

/** Yes or no, which the wire writes as 1 or 0. */
export const flagInt: ValueType<boolean> = {
  ...flag,
  proto: ["int32"],
  encode: (value) => value ? 1 : 0,
};

/** Yes or no, which the wire writes as `"1"` or `"0"`. */
export const flagText: ValueType<boolean> = {
  ...flag,
  proto: ["string"],
  encode: (value) => value ? "1" : "0",
};

const ISO_DATE = /^\d{4}-\d{2}-\d{2}$/;

function isDate(value: unknown): boolean {
  if (typeof value !== "string" || !ISO_DATE.test(value)) return false;
  const time = Date.parse(`${value}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value);
}

/** Writes `2025-08-15` for `20250815` or `2025/08/15`; anything else stays as it came. */
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
/** A date that the wire writes as the number 20250815. */
export const dateInt: ValueType<string> = dateType(
  "date",
  ["int64", "int32"],
  (value) => Number(value.replaceAll("-", "")),
);
/** A date that the wire writes as `2025/08/15`. */
export const dateSlash: ValueType<string> = dateType(
  "date",
  ["string"],
  (value) => value.replaceAll("-", "/"),
);
/** A date that the wire writes as `2025-08-15`. */
export const dateDash: ValueType<string> = dateType("date", ["string"], (value) => value);

/** A time of day, `09:30:05` here and `093005` on the wire; anything else stays as it came. */
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

/** A date and time in the exchange's zone, such as `2025-08-15 09:30:05`. */
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

function coded<Name extends string, T extends string>(
  table: Dictionary<Name>,
  allowed: readonly string[],
  accepts: (value: unknown) => boolean,
): Scalar<T> & { dictionary: Dictionary } {
  return {
    name: table.wire,
    expected: allowed.length === 0 ? "a code" : `one of ${allowed.map((name) => `"${name}"`).join(", ")}`,
    shape: { kind: "text", form: "other", names: allowed },
    proto: table.type === "int" ? ["int32"] : ["string"],
    accepts,
    encode: (value) => table.encode(value as unknown as Name),
    decode: (value) => {
      if (typeof value === "string" || typeof value === "number") return table.decode(value) as unknown as T;
      throw new Mismatch(`a code of ${table.wire}`, value);
    },
    dictionary: table as unknown as Dictionary,
  };
}

/** A name from a code table, for sending: closed. `only` narrows the table. */
export function oneOf<Name extends string>(table: Dictionary<Name>): CodedType<Name>;
export function oneOf<Name extends string, Only extends Name>(
  table: Dictionary<Name>,
  only: readonly Only[],
): CodedType<Only>;
export function oneOf<Name extends string>(table: Dictionary<Name>, only: readonly Name[] = table.names) {
  const init = coded<Name, Name>(table, only, (value) => (only as readonly unknown[]).includes(value));
  return { ...scalar<Name>(init), dictionary: init.dictionary };
}

/** A type with a code table behind it. */
export type CodedType<T> = ValueType<T> & { readonly dictionary: Dictionary };

/** A name from a code table, for reading: open. A code that no table lists stays as `"unlisted:9"`. */
export function anyOf<Name extends string>(table: Dictionary<Name>): CodedType<Name | Unlisted> {
  const isUnlisted = (value: unknown) => typeof value === "string" && value.startsWith("unlisted:");
  const init = coded<Name, Name | Unlisted>(
    table,
    table.names,
    (value) => table.has(value) || isUnlisted(value),
  );
  return { ...scalar<Name | Unlisted>(init), dictionary: init.dictionary };
}

/** The same type for a member that the wire writes as text although its code table holds numbers. */
export function asText<V extends ValueType<unknown>>(type: V): V {
  return { ...type, proto: ["string"], encode: (value: unknown) => String(type.encode(value)) };
}

/** The same type for a member that the wire writes as a number although its code table holds text. */
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
