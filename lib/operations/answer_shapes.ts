/**
 * Describes an answer as the broker sent it, without its values: the members with their types, forms and lengths, and
 * the differences from the catalogue. Also writes sample texts and numbers of each form.
 *
 * @module
 */
import { Currency } from "../dictionaries/currency.ts";
import { ResponseCode } from "../dictionaries/response_code.ts";
import type { Issue } from "../errors.ts";
import { operations } from "./mod.ts";
import { type AnyOperation, parseRefusal } from "./operation.ts";
import { type FieldInfo, type FieldsInfo, InexactNumber, type ValueType } from "./types.ts";

/** How often a form was seen, and the shortest and the longest length in characters. */
export type Lengths = readonly [times: number, shortest: number, longest: number];

/**
 * What was seen at one place of an answer. Contains counts, forms and lengths, and no value except short codes of
 * members that have a code table.
 */
export interface Seen {
  /** How many values were at this place. */
  times: number;
  /** How many of them were `null`. */
  null?: number;
  /** How many of them were true, and how many false. */
  flags?: readonly [trues: number, falses: number];
  /** Texts, by form. */
  texts?: Record<string, Lengths>;
  /** Numbers, by form. */
  numbers?: Record<string, Lengths>;
  /** The codes of a code table; a text code is in quotes. */
  codes?: string[];
  /** Lists: how many, the smallest and the largest size, and their items. */
  list?: { times: number; sizes: readonly [least: number, most: number]; of?: Seen };
  /** Records: how many, and their members. A member with fewer `times` was missing in the other records. */
  record?: { times: number; members: Record<string, Seen> };
}

/** An answer without its values. */
export interface SeenAnswer {
  /** The interface that sent it: the gateway's HTTP, the platform's HTTP, or a socket. */
  over: "gateway" | "platform" | "socket";
  /** The HTTP status; absent for a socket. */
  status?: number;
  /** The whole body of an HTTP answer, or the text of a socket's answer. */
  body?: Seen;
  /** The type number of a socket's answer. */
  type?: number;
  /** The code of a socket's answer. */
  code?: string;
  /** The name of the message in a socket's answer. */
  message?: string;
  /** The members of the message. */
  payload?: Seen;
}

/** The kind of a difference. */
export type DifferenceKind =
  /** A member of the catalogue that an answer did not contain. */
  | "missing"
  /** A member that the catalogue does not list. */
  | "extra"
  /** A value of another JSON type, such as a number for a text. */
  | "type"
  /** A value of the right type that is not written as the catalogue says. */
  | "form"
  /** A code that its code table does not list. */
  | "code"
  /** A member that is `null`. */
  | "null"
  /** A member under one of its aliases. */
  | "alias"
  /** The envelope (the record around the result), or the place of the result in it, differs from the catalogue. */
  | "envelope"
  /** A list that is not split into pages as the catalogue says. */
  | "paging";

/**
 * What a difference means. `breaks`: hsgate cannot read the answer. `differs`: hsgate reads it, but the catalogue is
 * not right or not complete. `absent`: a member that servers may leave out is missing.
 */
export type Weight = "breaks" | "differs" | "absent";

/** One difference between an answer and the catalogue. */
export interface Difference {
  /** Path of the member, with the broker's names: `data.data[].fareVo.fare10`. */
  path: string;
  kind: DifferenceKind;
  weight: Weight;
  /** Number of values in which it was found; `of` is the number of all values at this place. */
  times: number;
  of: number;
  /** What the catalogue expects, and what the answer had instead; contains no value of the answer. */
  text: string;
}

/** A number with its digits as they were written. */
class WrittenNumber {
  constructor(readonly source: string) {}
}

/** Parses JSON and keeps the digits of each number. @throws {SyntaxError} If it is not JSON. */
function parseWritten(text: string): unknown {
  // TypeScript has no type for the third argument yet. It contains the source text of a primitive.
  type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;
  const keepDigits: Reviver = (_key, value, context) =>
    typeof value === "number" ? new WrittenNumber(context?.source ?? String(value)) : value;
  return JSON.parse(text, keepDigits);
}

/** Calls `found` with each text and each number in a parsed answer, at any depth. */
function eachValue(answer: unknown, found: (text: string) => void): void {
  const left = [answer];
  while (left.length > 0) {
    const value = left.pop();
    if (value instanceof WrittenNumber) found(value.source);
    else if (typeof value === "string") found(value);
    else if (typeof value === "number" || typeof value === "bigint") found(String(value));
    else if (value instanceof Uint8Array) found(value.toBase64());
    else if (typeof value === "object" && value !== null) {
      for (const each of Object.values(value)) left.push(each);
    }
  }
}

const NAME = /^[a-z][A-Za-z]{0,39}\d{0,2}$/;

let listed: Set<string> | undefined;

/** Returns every name of a member that the catalogue lists. They are the same for every account. */
export function listedNames(): ReadonlySet<string> {
  if (listed !== undefined) return listed;
  const names = listed = new Set(["ok", "err", "data", "respCode", "respMsg", "responseMsg", "payload", ""]);
  const add = (fields: FieldsInfo) => {
    for (const { wire, aliases = [], type } of Object.values(fields)) {
      for (const name of [wire, ...aliases]) names.add(name);
      if (type.fields !== undefined) add(type.fields);
    }
  };
  for (const { response } of operations.values()) add(response.fields ?? {});
  for (const { code, name } of Currency.entries) names.add(code).add(name);
  return names;
}

/**
 * Returns a member's name. If the name could be a value, such as an account number, a symbol or the name of a person,
 * returns only its length. A record that the catalogue does not list may be a map with such names, so only listed names
 * are shown there.
 */
function safeName(name: string, isKnownRecord: boolean): string {
  const isSafe = listedNames().has(name) || isKnownRecord && NAME.test(name) || /^#\d{1,9}$/.test(name);
  return isSafe ? name : `[name of ${name.length} characters]`;
}

/** Maximum length of an invented text. */
const MOST_SAMPLE = 100_000;
const repeated = (text: string, times: number) => text.repeat(Math.min(MOST_SAMPLE, Math.max(0, times)));
const ones = (times: number) => repeated("1", times);

/** Every form of a text: how to recognize it, and how to write a text of this form and length. */
export const textForms: Readonly<Record<string, readonly [is: RegExp, sample: (length: number) => string]>> =
  {
    "empty": [/^$/, () => ""],
    "spaces": [/^\s+$/, (length) => repeated(" ", length)],
    "yyyymmdd": [/^(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/, () => "20250102"],
    "yyyymmddhhmmss": [
      /^(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])[0-5]\d[0-5]\d$/,
      () => "20250102030405",
    ],
    "yyyy-mm-dd": [/^\d{4}-\d\d-\d\d$/, () => "2025-01-02"],
    "yyyy/mm/dd": [/^\d{4}\/\d\d\/\d\d$/, () => "2025/01/02"],
    "hh:mm": [/^\d\d:\d\d$/, () => "03:04"],
    "hh:mm:ss": [/^\d\d:\d\d:\d\d$/, () => "03:04:05"],
    "yyyy-mm-dd hh:mm:ss": [/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, () => "2025-01-02 03:04:05"],
    "yyyy-mm-ddThh:mm:ss": [
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/,
      (length) => `2025-01-02T03:04:05${repeated("Z", length - 19)}`,
    ],
    "digits": [/^\d+$/, (length) => ones(length)],
    "-digits": [/^-\d+$/, (length) => `-${ones(length - 1)}`],
    "decimal": [/^\d+\.\d+$/, (length) => `${ones(length - 2)}.1`],
    "-decimal": [/^-\d+\.\d+$/, (length) => `-${ones(length - 3)}.1`],
    "decimal without its zero": [/^-?\.\d+$|^-?\d+\.$/, (length) => `.${ones(length - 1)}`],
    "exponent": [/^[+-]?(?:\d+(?:\.\d+)?|\.\d+)e[+-]?\d+$/i, (length) => `${ones(length - 2)}e1`],
    "grouped digits": [
      /^-?\d{1,3}(,\d{3})+(\.\d+)?$/,
      (length) => length < 7 ? `${ones(length - 4)},111` : `1,111.${ones(length - 6)}`,
    ],
    "percentage": [/^[+-]?\d+(\.\d+)?%$/, (length) => `${ones(length - 1)}%`],
    "letters": [/^[A-Za-z]+$/, (length) => repeated("A", length)],
    "code": [/^[\w.:#&/-]+$/, (length) => `A${ones(length - 1)}`],
    "text": [
      /^[\x20-\x7e]+$/,
      (length) => length < 3 ? repeated("+", length) : `a ${repeated("a", length - 2)}`,
    ],
    "control characters": [/\p{Cc}/u, (length) => repeated("\u0001", length)],
    "other characters": [/^/, (length) => repeated("\u6587", length)],
  };

/** Every form of a number. */
export const numberForms: typeof textForms = {
  "whole": [/^\d+$/, (length) => ones(length)],
  "-whole": [/^-\d+$/, (length) => `-${ones(length - 1)}`],
  "fraction": [/^\d+\.\d+$/, (length) => `${ones(length - 2)}.1`],
  "-fraction": [/^-\d+\.\d+$/, (length) => `-${ones(length - 3)}.1`],
  "exponent": [/^/, (length) => `${ones(Math.max(1, length - 2))}e1`],
};

const formOf = (forms: typeof textForms, text: string) =>
  Object.entries(forms).find(([, [is]]) => is.test(text))![0]; // the last form accepts every text

function count(lengths: Record<string, Lengths>, form: string, length: number): void {
  const [times, shortest, longest] = lengths[form] ?? [0, length, length];
  lengths[form] = [times + 1, Math.min(shortest, length), Math.max(longest, length)];
}

/** Maximum number of unlisted codes of a member that are shown. If there are more, none of them is shown. */
const MOST_UNLISTED = 5;

/** Returns a code if it is safe to show (listed, or like the listed codes). Otherwise returns `undefined`. */
function shownCode(type: ValueType<unknown>, code: string): string | undefined {
  const codes = type.dictionary?.entries.map((each) => each.code) ?? [];
  if (codes.includes(code)) return code;
  const most = Math.min(5, Math.max(0, ...codes.map(({ length }) => length)));
  const isNumber = codes.every((each) => /^-?\d+$/.test(each));
  const looksAlike = isNumber
    ? /^-?\d{1,5}$/.test(code) && code.length <= most
    : /^[A-Za-z\d]{1,2}$/.test(code);
  return looksAlike ? code : undefined;
}

/** Returns the JSON types in which the catalogue expects a value. */
function expectedKinds({ isList, fields, proto }: ValueType<unknown>): readonly string[] {
  if (isList) return ["list"];
  if (fields !== undefined || proto.length === 0) return ["record"];
  if (proto.includes("bool")) return ["true or false"];
  if (proto.some((each) => each === "int64" || each === "uint64")) return ["number", "text"];
  return [proto.includes("string") ? "text" : "number"];
}

function kindOf(value: unknown): string {
  if (value instanceof WrittenNumber || typeof value === "number") return "number";
  if (typeof value === "string") return "text";
  if (typeof value === "boolean") return "true or false";
  return Array.isArray(value) ? "list" : value === null ? "null" : "record";
}

/** Maximum number of levels of an answer that are described. The deepest documented answer has five. */
const MOST_LEVELS = 25;

/** Returns what was seen of a member. Ignores inherited properties, because a member may be named "constructor". */
function memberOf(members: Record<string, Seen>, name: string): Seen {
  if (!Object.hasOwn(members, name)) members[name] = { times: 0 };
  return members[name]!;
}

/** Walks through an answer; collects what was seen and what differs. */
class Walker {
  readonly differences = new Map<string, Difference>();
  /** How many values a place had, by path. */
  readonly #values = new Map<string, number>();
  readonly #unlisted = new Map<Seen, Set<string>>();
  /** Path of the record that lacks a member, by the path of the member. */
  readonly #parents = new Map<string, string>();
  readonly #over: WireAnswer["over"];
  #depth = 0;

  constructor(over: WireAnswer["over"]) {
    this.#over = over;
  }

  add(path: string, kind: DifferenceKind, weight: Weight, text: string): void {
    const key = `${path} ${kind} ${text}`;
    const known = this.differences.get(key);
    if (known === undefined) this.differences.set(key, { path, kind, weight, times: 1, of: 1, text });
    else known.times++;
  }

  /** Returns the differences, with the number of values at their places. */
  finalDifferences(): Difference[] {
    const all = [...this.differences.values()];
    const hasTooManyCodes = ({ path, kind }: Difference) =>
      kind === "code" &&
      all.filter((each) => each.kind === "code" && each.path === path).length > MOST_UNLISTED;
    const summaries = [...new Set(all.filter(hasTooManyCodes).map(({ path }) => path))].map((
      path,
    ): Difference => ({
      path,
      kind: "code",
      weight: "differs",
      times: all.filter((each) => each.path === path && hasTooManyCodes(each)).reduce(
        (sum, { times }) => sum + times,
        0,
      ),
      of: 1,
      text: `more than ${MOST_UNLISTED} codes are not in the code table`,
    }));
    return [...all.filter((each) => !hasTooManyCodes(each)), ...summaries].map((each) => {
      const place = each.kind === "missing" ? this.#parents.get(each.path) : each.path;
      return { ...each, of: Math.max(each.times, this.#values.get(place ?? each.path) ?? 1) };
    });
  }

  /** Adds a value to what was seen at its place. Does not look below `MOST_LEVELS` levels. */
  value(seen: Seen, value: unknown, path: string, type: ValueType<unknown> | undefined): void {
    if (this.#depth > MOST_LEVELS) {
      return this.add(path, "envelope", "differs", `more than ${MOST_LEVELS} levels of lists and records`);
    }
    this.#depth++;
    try {
      this.#value(seen, value, path, type);
    } finally {
      this.#depth--;
    }
  }

  #value(seen: Seen, value: unknown, path: string, type: ValueType<unknown> | undefined): void {
    seen.times++;
    this.#values.set(path, (this.#values.get(path) ?? 0) + 1);
    const kind = kindOf(value);
    if (kind === "null") seen.null = (seen.null ?? 0) + 1;
    else if (kind === "true or false") {
      const [trues, falses] = seen.flags ?? [0, 0];
      seen.flags = value ? [trues + 1, falses] : [trues, falses + 1];
    } else if (kind === "list") this.#list(seen, value as unknown[], path, type);
    else if (kind === "record") this.#record(seen, value as Record<string, unknown>, path, type);
    else {
      const isText = typeof value === "string";
      const text = isText ? value : value instanceof WrittenNumber ? value.source : String(value);
      const form = formOf(isText ? textForms : numberForms, text);
      count(isText ? seen.texts ??= {} : seen.numbers ??= {}, form, [...text].length);
      if (type?.dictionary !== undefined && text !== "") this.#code(seen, type, { text, isText });
    }
    if (type !== undefined && kind !== "null" && kind !== "list" && kind !== "record") {
      this.#scalar(value, kind, path, type);
    }
  }

  #code(seen: Seen, type: ValueType<unknown>, { text, isText }: { text: string; isText: boolean }): void {
    const code = shownCode(type, text);
    if (code === undefined) return;
    const isListed = type.dictionary!.entries.some((each) => each.code === code);
    if (!isListed) {
      let unlisted = this.#unlisted.get(seen);
      if (unlisted === undefined) this.#unlisted.set(seen, unlisted = new Set());
      unlisted.add(code);
      if (unlisted.size > MOST_UNLISTED) {
        seen.codes = seen.codes?.filter((each) => !unlisted.has(each.replaceAll('"', "")));
        return;
      }
    }
    const shown = isText ? `"${code}"` : code;
    seen.codes ??= [];
    if (!seen.codes.includes(shown)) seen.codes.push(shown);
  }

  #scalar(value: unknown, kind: string, path: string, type: ValueType<unknown>): void {
    const expected = expectedKinds(type);
    if (value === "") return; // servers send an empty text for a value that a row does not have
    const isOther = !expected.includes(kind);
    let decoded: unknown;
    try {
      decoded = decodeWritten(type, value);
    } catch {
      const came = isOther ? kind : this.#formName(value);
      this.add(path, isOther ? "type" : "form", "breaks", `expected ${this.#expected(type)}, came: ${came}`);
      return;
    }
    if (isOther) this.add(path, "type", "differs", `expected ${expected.join(" or ")}, came: ${kind}`);
    if (typeof decoded === "string" && type.dictionary !== undefined && decoded.startsWith("unlisted:")) {
      const code = shownCode(type, decoded.slice("unlisted:".length));
      const unlisted = code === undefined ? "a code" : `the code ${code}`;
      this.add(path, "code", "differs", `${unlisted} is not in the table ${type.dictionary.wire}`);
      return;
    }
    const issues: Issue[] = [];
    type.check(decoded, [], issues);
    if (issues.length > 0) {
      this.add(path, "form", "differs", `expected ${this.#expected(type)}, came: ${this.#formName(value)}`);
    }
  }

  #expected({ expected, dictionary }: ValueType<unknown>): string {
    return dictionary === undefined ? expected : `a code of ${dictionary.wire}`;
  }

  #formName(value: unknown): string {
    if (typeof value === "string") return `text in the form "${formOf(textForms, value)}"`;
    const text = value instanceof WrittenNumber ? value.source : String(value);
    return value instanceof WrittenNumber || typeof value === "number"
      ? `a number in the form "${formOf(numberForms, text)}"`
      : kindOf(value);
  }

  #list(seen: Seen, items: unknown[], path: string, type: ValueType<unknown> | undefined): void {
    const list = seen.list ??= { times: 0, sizes: [items.length, items.length] };
    list.times++;
    list.sizes = [Math.min(list.sizes[0], items.length), Math.max(list.sizes[1], items.length)];
    const item = type?.isList ? type.item : type;
    const { rows } = type?.fields ?? {};
    if (rows?.type.isList) {
      this.add(
        path,
        "envelope",
        "differs",
        `expected the list in member "${rows.wire}", came: a list outside of it`,
      );
    }
    if (type !== undefined && !type.isList && items.length > 0) {
      const kinds = expectedKinds(type);
      if (!kinds.includes("list")) {
        this.add(
          path,
          "type",
          this.#reads(type, items) ? "differs" : "breaks",
          `expected ${kinds[0]}, came: list`,
        );
      }
    }
    for (const each of items) {
      list.of ??= { times: 0 };
      if (each === null && type !== undefined) {
        this.add(`${path}[]`, "null", "breaks", "expected an item, came: null");
      }
      this.value(list.of, each, `${path}[]`, item);
    }
  }

  #record(
    seen: Seen,
    value: Record<string, unknown>,
    path: string,
    type: ValueType<unknown> | undefined,
  ): void {
    const record = seen.record ??= { times: 0, members: {} };
    record.times++;
    const fields = type?.fields;
    if (type !== undefined && fields === undefined) {
      const kinds = expectedKinds(type);
      if (kinds[0] !== "record") {
        this.add(
          path,
          "type",
          this.#reads(type, value) ? "differs" : "breaks",
          `expected ${kinds[0]}, came: record`,
        );
      } else if (!this.#reads(type, value)) {
        this.add(path, "form", "breaks", `expected ${type.expected}`);
      }
    }
    const { known, place } = fieldsFor(fields, value);
    if (type?.isList && known === fields && !fields?.rows?.type.isList) {
      this.add(
        path,
        "type",
        this.#reads(type, value) ? "differs" : "breaks",
        "expected a list, came: record",
      );
    }
    if (place !== undefined) this.add(path, "envelope", "differs", place);
    const names = new Map(
      Object.values(known ?? {}).flatMap((info) =>
        [info.wire, ...info.aliases ?? []].map((name) => [name, info] as const)
      ),
    );
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      const info = names.get(name);
      const shown = safeName(name, known !== undefined);
      const inner = path === "" ? shown : `${path}.${shown}`;
      if (known !== undefined && info === undefined) {
        this.add(inner, "extra", "differs", `the catalogue has no such member; came: ${kindOf(member)}`);
      }
      if (info !== undefined && info.wire !== name) {
        this.add(inner, "alias", "differs", `expected the name "${info.wire}"`);
      }
      if (info !== undefined && member === null) {
        const weight = info.key ? "breaks" : "differs";
        this.add(inner, "null", weight, `expected ${info.type.expected}, came: null`);
      }
      this.value(memberOf(record.members, shown), member, inner, info?.type);
    }
    for (const info of Object.values(known ?? {})) this.#missing(info, value, path);
  }

  #missing(
    { wire, aliases = [], key, type, gap }: FieldInfo,
    value: Record<string, unknown>,
    path: string,
  ): void {
    const came = [wire, ...aliases].map((name) => Object.hasOwn(value, name) ? value[name] : undefined)
      .find((each) => each !== undefined);
    if (came === null || came !== undefined && (came !== "" || !key)) return;
    // The messages of a socket have no field for a member with `gap`.
    if (this.#over === "socket" && gap !== undefined) return;
    // The messages of a socket leave out members that have their default values.
    const breaks = key === true && this.#over !== "socket" && !(type.isList && came === undefined);
    const inner = path === "" ? wire : `${path}.${wire}`;
    this.#parents.set(inner, path);
    const what = came === "" ? "the member is empty" : "the member is missing";
    this.add(inner, "missing", breaks ? "breaks" : "absent", what);
  }

  #reads(type: ValueType<unknown>, value: unknown): boolean {
    try {
      decodeWritten(type, value);
      return true;
    } catch {
      return false;
    }
  }
}

/** Returns the fields of a record, and a text if the record is not at its usual place. */
function fieldsFor(
  fields: FieldsInfo | undefined,
  value: Record<string, unknown>,
): { known: FieldsInfo | undefined; place?: string } {
  const wrapped = fields?.rows ?? fields?.record;
  const isWrapper = wrapped !== undefined && Object.keys(fields!).length === 1;
  if (!isWrapper) return { known: fields };
  const inner = wrapped.type.fields;
  const names = [wrapped.wire, "data", ...wrapped.aliases ?? []];
  if (names.some((name) => name in value) || inner === undefined) return { known: fields };
  const isInline = Object.values(inner).some(({ wire }) => wire in value);
  return isInline
    ? {
      known: inner,
      place: `expected the record in member "${wrapped.wire}", came: the record outside of it`,
    }
    : { known: fields };
}

/** Decodes a value; a number whose digits matter is decoded from its text. */
function decodeWritten(type: ValueType<unknown>, value: unknown): unknown {
  try {
    return type.decode(plainOf(value, Number));
  } catch (error) {
    if (!(error instanceof InexactNumber)) throw error;
    return type.decode(plainOf(value, (text) => text));
  }
}

/** Returns a copy in which `read` has converted each written number. */
function plainOf(value: unknown, read: (source: string) => unknown): unknown {
  if (value instanceof WrittenNumber) return read(value.source);
  if (Array.isArray(value)) return value.map((each) => plainOf(each, read));
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plainOf(each, read)]));
}

/** An answer as a transport received it. */
export type WireAnswer =
  | { readonly over: "gateway" | "platform"; readonly status: number; readonly text: string }
  | {
    readonly over: "socket";
    readonly type: number;
    readonly code: string;
    readonly text: string;
    /** The message by name, and its members; `undefined` if they could not be read. */
    readonly payload?: { readonly name: string; readonly members: unknown };
  };

/** An answer without its values, and its differences from the catalogue. */
export interface Examined {
  answer: SeenAnswer;
  differences: Difference[];
  /** Every text and every number of the answer. Never stored. */
  values: Set<string>;
}

/** Describes an answer of an operation, and compares it with the catalogue. */
export function examine(operation: AnyOperation, wire: WireAnswer): Examined {
  const walker = new Walker(wire.over);
  const values = new Set<string>();
  const collect = (value: unknown) => eachValue(value, (text) => values.add(text));
  const ended = (answer: SeenAnswer) => ({ answer, differences: walker.finalDifferences(), values });
  const body: Seen = { times: 0 };
  if (wire.over === "socket") {
    const { type, code, text, payload } = wire;
    collect([text, payload?.members]);
    walker.value(body, text, "responseMsg", undefined);
    const head: SeenAnswer = { over: "socket", body, type, code: shownResponseCode(code) ?? "" };
    if (payload === undefined) return ended(head);
    const message = /^[A-Z][A-Za-z]{1,60}$/.test(payload.name) ? payload.name : "";
    if (payload.members === undefined) return ended({ ...head, message });
    const seen: Seen = { times: 0 };
    walker.value(seen, payload.members, "payload", operation.response);
    return ended({ ...head, message, payload: seen });
  }
  const { over, status, text } = wire;
  const refusal = parseRefusal(text);
  let parsed: unknown;
  try {
    if (refusal !== undefined) throw new SyntaxError(refusal.reason);
    parsed = parseWritten(text);
  } catch {
    collect(text);
    walker.add("", "envelope", "breaks", "expected JSON, came: another text");
    return ended({ over, status });
  }
  collect(parsed);
  envelope(walker, body, { operation, over, body: parsed });
  return ended({ over, status, body });
}

const envelopes = {
  gateway: ["ok", "err", "data"],
  platform: ["respCode", "respMsg", "data"],
} as const;

/** Walks through an envelope and the result in it. */
function envelope(
  walker: Walker,
  seen: Seen,
  { operation, over, body }: { operation: AnyOperation; over: keyof typeof envelopes; body: unknown },
): void {
  if (kindOf(body) !== "record") {
    walker.value(seen, body, "", undefined);
    walker.add("", "envelope", "breaks", `expected a record, came: ${kindOf(body)}`);
    return;
  }
  const members = body as Record<string, unknown>; // `kindOf` has checked it
  seen.times++;
  seen.record = { times: 1, members: {} };
  const isOk = over === "gateway" ? members.ok === true : String(wholeOf(members.respCode)) === "0000";
  for (const [name, value] of Object.entries(members)) {
    const isListed = (envelopes[over] as readonly string[]).includes(name);
    const shown = safeName(name, true);
    const inner = memberOf(seen.record.members, shown);
    if (!isListed) {
      walker.add(shown, "envelope", "differs", `the envelope has no such member; came: ${kindOf(value)}`);
    }
    // The catalogue does not describe the result of a rejection.
    const type = name === "data" && isOk && value !== null ? operation.response : undefined;
    walker.value(inner, value, shown, type);
    if (name === "err" || name === "respCode") {
      const code = shownResponseCode(/^\s*(\d{3,5})(?!\d)/.exec(String(wholeOf(value)))?.[1] ?? "");
      if (code !== undefined) inner.codes = [`"${code}"`];
    }
    if (name === "data" && isOk && value === null && operation.response.fields !== undefined) {
      walker.add("data", "null", "breaks", `expected ${operation.response.expected}, came: null`);
    }
  }
  for (const name of envelopes[over]) {
    if (members[name] !== undefined || name === "respMsg" || name === "err") continue;
    walker.add(name, "envelope", name === "data" && isOk ? "differs" : "breaks", "the member is missing");
  }
}

const wholeOf = (value: unknown) => value instanceof WrittenNumber ? value.source : value;

/** Returns an answer's code if it is safe to show: it is listed or has four digits. Otherwise returns `undefined`. */
function shownResponseCode(code: string): string | undefined {
  return ResponseCode.entries.some((each) => each.code === code) || /^\d{4}$/.test(code) ? code : undefined;
}
