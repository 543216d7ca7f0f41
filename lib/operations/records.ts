/**
 * Builds the types of parameters and answers: records, lists, and answers that servers write in several forms.
 *
 * @module
 */
import type { Issue } from "../errors.ts";
import {
  type FieldInfo,
  type FieldsInfo,
  Mismatch,
  MissingAnswer,
  type Shape,
  type ValueType,
} from "./types.ts";

/** Whether a field is always present in the type or may be absent. */
type Presence = "required" | "optional";

/** A member of a record. */
export interface Field<T = unknown, P extends Presence = Presence> extends FieldInfo {
  readonly type: ValueType<T>;
  readonly presence: P;
}

/** Fields of a record, by hsgate's names. */
export type Fields = Readonly<Record<string, Field>>;

/** Options of a field. */
interface FieldOptions {
  /** Other names that some servers use for it. */
  aliases?: readonly string[];
  /** Why the socket has no field for it. */
  gap?: string;
}

/** Defines a member that a request must contain. An answer may omit the member. */
export function field<T>(
  wire: string,
  type: ValueType<T>,
  options?: FieldOptions,
): Field<T, "required">;
/** Defines a member with a fallback, which a request may omit. */
export function field<T>(
  wire: string,
  type: ValueType<T>,
  options: FieldOptions & { fallback: NoInfer<T> },
): Field<T, "optional">;
export function field<T>(
  wire: string,
  type: ValueType<T>,
  options: FieldOptions & { fallback?: T } = {},
): Field<T> {
  const isOptional = options.fallback !== undefined;
  return { wire, type, optional: isOptional, presence: isOptional ? "optional" : "required", ...options };
}

/** Defines a member that a request may omit. */
export function optional<T>(
  wire: string,
  type: ValueType<T>,
  options: FieldOptions = {},
): Field<T, "optional"> {
  return { wire, type, optional: true, presence: "optional", ...options };
}

/**
 * Defines a member without which an answer is invalid. A missing list is an exception: it counts as empty, because
 * servers omit empty members (vendor Go SDK). A list that is `null` is invalid.
 */
export function key<T>(
  wire: string,
  type: ValueType<T>,
  options: FieldOptions = {},
): Field<T, "required"> & { readonly key: true } {
  return { wire, type, optional: false, presence: "required", key: true, ...options };
}

type Simplify<T> = { [K in keyof T]: T[K] };
type ValueOf<F> = F extends { readonly type: infer V } ? Decoded<V> : never;
type MayBeAbsent<F> = F extends { readonly key: true } ? false : true;

/** The parameters type of a set of fields. */
type ParamsOf<F extends Fields> = Simplify<
  & { [K in keyof F as F[K]["presence"] extends "required" ? K : never]: ValueOf<F[K]> }
  & { [K in keyof F as F[K]["presence"] extends "required" ? never : K]?: ValueOf<F[K]> }
>;

/** The type of a decoded value. */
export type Decoded<V> = V extends ValueType<infer T> ? T : never;

/** The record type of a set of fields in an answer. */
export type RecordOf<F extends Fields> = Simplify<
  & { [K in keyof F as MayBeAbsent<F[K]> extends true ? never : K]: ValueOf<F[K]> }
  & { [K in keyof F as MayBeAbsent<F[K]> extends true ? K : never]?: ValueOf<F[K]> }
>;

/**
 * Checks rules that involve several parameters. It gets only the parameters that passed their own checks, and runs even
 * if another parameter is invalid.
 */
type Refine<T> = (params: Partial<T>, wrong: (path: string, expected: string) => void) => void;

const isNothing = (value: unknown) => value === undefined || value === null || value === "";
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Defines the parameters of a request. Rejects unknown members, because a misspelt parameter would otherwise be
 * ignored.
 */
export function params<F extends Fields>(
  fields: F,
  refine?: Refine<ParamsOf<F>>,
  proto: readonly string[] = [],
): ValueType<ParamsOf<F>> {
  const entriesOf = entriesOnce(fields);
  return {
    name: "parameters",
    expected: "an object of parameters",
    shape: () => shapeOf(fields),
    proto,
    fields,
    check(value, path, issues) {
      const entries = entriesOf();
      // If one member is a secret, a value under a wrong name may be that secret.
      const hasSecret = entries.some(([, { type }]) => type.secret);
      const valueInIssue = (value: unknown) => hasSecret ? "[secret]" : value;
      if (!isObject(value)) {
        issues.push({ path, value: valueInIssue(value), expected: "an object of parameters" });
        return;
      }
      for (const name of Object.keys(value)) {
        if (!Object.hasOwn(fields, name)) {
          const known = entries.length === 0
            ? "no parameters at all"
            : `only ${entries.map(([each]) => each).join(", ")}`;
          issues.push({ path: [...path, name], value: valueInIssue(value[name]), expected: known });
        }
      }
      const right: Record<string, unknown> = {};
      const faulty = new Set<string>();
      for (const [name, { type, optional }] of entries) {
        const given = value[name];
        const before = issues.length;
        if (given === undefined) {
          if (!optional) issues.push({ path: [...path, name], value: given, expected: type.expected });
        } else checkShown(type, given, [...path, name], issues);
        if (issues.length > before) faulty.add(name);
        else if (given !== undefined) right[name] = given;
      }
      // Each member in `right` passed its own check, so the cast is safe.
      refine?.(right as Partial<ParamsOf<F>>, (name, expected) => {
        if (!faulty.has(name)) issues.push({ path: [...path, name], value: value[name], expected });
      });
    },
    encode: (value) => encodeFields(entriesOf(), value as Record<string, unknown>),
    decode: (value) => decodeParams(entriesOf(), value) as ParamsOf<F>,
  };
}

/** Returns a function that lists the fields at its first call, because most programs use few records. */
function entriesOnce(fields: Fields): () => [string, FieldInfo][] {
  let entries: [string, FieldInfo][] | undefined;
  return () => entries ??= Object.entries(fields);
}

function shapeOf(fields: Fields): Shape {
  const members = Object.entries(fields).map(([name, { type }]) => [name, type.shape()] as const);
  return { kind: "record", members: Object.fromEntries(members) };
}

/** Checks a value. Issues do not show the value of a secret. */
function checkShown(type: FieldInfo["type"], value: unknown, path: Issue["path"], issues: Issue[]): void {
  const before = issues.length;
  type.check(value, path, issues);
  if (type.secret) { for (const issue of issues.slice(before)) issue.value = "[secret]"; }
}

function encodeFields(
  entries: [string, FieldInfo][],
  value: Record<string, unknown>,
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, { wire, type, fallback }] of entries) {
    const given = value[name] ?? fallback;
    if (given !== undefined) out[wire] = type.encode(given);
  }
  return out;
}

/** Decodes a request on the server side. Absent members stay absent, and unknown members are ignored. */
function decodeParams(entries: [string, FieldInfo][], value: unknown): Record<string, unknown> {
  if (!isObject(value)) throw new Mismatch("an object of parameters", value);
  const out: Record<string, unknown> = {};
  for (const [name, { wire, type, fallback }] of entries) {
    const given = value[wire];
    const present = given !== undefined && given !== null && given !== "";
    // Some clients send integers instead of text; accept them.
    const isLoose = Number.isSafeInteger(given) && type.proto.includes("string");
    if (present) out[name] = within(name, () => type.decode(isLoose ? String(given) : given));
    else if (fallback !== undefined) out[name] = fallback;
  }
  return out;
}

/** Defines a record in an answer. */
export function record<F extends Fields>(
  fields: F,
  proto: readonly string[] = [],
): ValueType<RecordOf<F>> {
  const entriesOf = entriesOnce(fields);
  let fast: ((value: Record<string, unknown>) => RecordOf<F>) | undefined;
  return {
    name: "record",
    expected: "a record",
    shape: () => shapeOf(fields),
    proto,
    fields,
    check(value, path, issues) {
      if (!isObject(value)) issues.push({ path, value, expected: "a record" });
      else {
        for (const [name, { type }] of entriesOf()) {
          if (value[name] !== undefined) type.check(value[name], [...path, name], issues);
        }
      }
    },
    encode: (value) => encodeFields(entriesOf(), value as Record<string, unknown>),
    decode(value) {
      if (!isObject(value)) throw new Mismatch("a record", value);
      fast ??= compileDecoder<RecordOf<F>>(fields);
      try {
        return fast(value);
      } catch (error) {
        // The compiled decoder does not report the path of the wrong member: decode again to find it.
        if (error instanceof Mismatch) locate(entriesOf(), value);
        throw error;
      }
    },
  };
}

/** Defines the answer to a command, which may be empty. */
export function commandAnswer<F extends Fields>(
  fields: F,
  proto: readonly string[] = [],
): ValueType<RecordOf<F>> {
  const type = record(fields, proto);
  return { ...type, decode: (value) => type.decode(value ?? {}) };
}

/** Defines an answer that is one record. A record without any known member is invalid. */
export function answerRecord<F extends Fields>(
  fields: F,
  proto: readonly string[] = [],
): ValueType<RecordOf<F>> {
  const type = record(fields, proto);
  return {
    ...type,
    decode(value) {
      if (isNothing(value)) throw new MissingAnswer("a record", value);
      const answer = type.decode(value);
      // Check the broker's record. The decoded record always contains the lists, because decoding adds an empty list if
      // a list is missing.
      if (isObject(value) && !hasAny(fields, value)) {
        throw new Mismatch(`a record with ${membersOf(fields)}`, value);
      }
      return answer;
    },
  };
}

function hasAny(fields: FieldsInfo, value: Record<string, unknown>): boolean {
  return Object.values(fields).some(({ wire, aliases = [] }) =>
    [wire, ...aliases].some((name) => value[name] !== undefined && value[name] !== null && value[name] !== "")
  );
}

function membersOf(fields: FieldsInfo): string {
  const [first, ...rest] = Object.values(fields).map(({ wire }) => `"${wire}"`);
  return rest.length === 0 ? `${first}` : `${first} or another of its members`;
}

function locate(entries: [string, FieldInfo][], value: Record<string, unknown>): void {
  for (const [, { wire, type, aliases = [], key }] of entries) {
    const member = [wire, ...aliases].find((name) =>
      value[name] !== undefined && value[name] !== null && value[name] !== ""
    );
    if (member !== undefined) within(member, () => type.decode(value[member]));
    else if (key && type.isList) {
      const given = [wire, ...aliases].find((name) => value[name] !== undefined);
      if (given !== undefined) within(given, () => type.decode(value[given]));
    } else if (key) within(wire, () => absent(type.expected));
  }
}

function absent(expected: string): never {
  throw new Mismatch(expected, undefined);
}

function within<T>(step: string | number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Mismatch) error.path.unshift(step);
    throw error;
  }
}

/**
 * Generates the code of a decoder for one record. A loop over the fields would access members by computed names,
 * which is about ten times slower. Answers contain thousands of members.
 */
function compileDecoder<T>(fields: Fields): (value: Record<string, unknown>) => T {
  const entries = Object.entries(fields) as [string, FieldInfo][];
  const lines = entries.map(([name, { wire, aliases = [], type, key }], index) => {
    const target = `out[${JSON.stringify(name)}]`;
    const read = [wire, ...aliases].map((member) => `value[${JSON.stringify(member)}]`).join(" ?? ");
    if (key && type.isList) {
      const left = [wire, ...aliases].map((member) => `value[${JSON.stringify(member)}] === undefined`).join(
        " && ",
      );
      return `${target} = ${left} ? [] : decode${index}(${read});`;
    }
    const otherwise = key ? ` else absent(types[${index}].expected);` : "";
    return `v = ${read}; if (v !== undefined && v !== null && v !== "") ${target} = decode${index}(v);${otherwise}`;
  });
  const decoders = entries.map((_, index) => `const decode${index} = types[${index}].decode;`);
  const body = `${decoders.join("\n")}\nreturn (value) => { const out = {}; let v;\n${
    lines.join("\n")
  }\nreturn out; };`;
  const build = new Function("types", "absent", body);
  return build(entries.map(([, { type }]) => type), absent);
}

/** Defines a list. A single item counts as a list of one, because some servers send a single item without a list. */
export function listOf<T>(type: ValueType<T>, most = Infinity): ValueType<T[]> {
  const expected = most === Infinity ? "a list of at least 1 item" : `a list of 1 to ${most} items`;
  return {
    name: `list of ${type.name}`,
    expected,
    shape: () => ({ kind: "list", of: type.shape() }),
    proto: type.proto,
    isList: true,
    // The cast is safe: the list encodes and decodes its items with `type`, never with `item`.
    item: type as ValueType<unknown>,
    ...(type.dictionary && { dictionary: type.dictionary }),
    ...(type.fields && { fields: type.fields }),
    check(value, path, issues) {
      if (!Array.isArray(value) || value.length === 0 || value.length > most) {
        issues.push({ path, value: Array.isArray(value) ? `${value.length} items` : value, expected });
      } else value.forEach((item, index) => type.check(item, [...path, index], issues));
    },
    encode: (value) => value.map((item) => type.encode(item)),
    decode(value) {
      if (isNothing(value)) throw new MissingAnswer("a list", value);
      const items: unknown[] = Array.isArray(value) ? value : [value];
      const out: T[] = new Array(items.length);
      for (let index = 0; index < items.length; index++) {
        try {
          if (items[index] === null) throw new Mismatch(type.expected, null);
          out[index] = type.decode(items[index]);
        } catch (error) {
          if (error instanceof Mismatch) error.path.unshift(index);
          throw error;
        }
      }
      return out;
    },
  };
}

/** Options of {@linkcode rows}. */
interface RowsOptions {
  /** Other names that some servers use for the list. */
  aliases?: readonly string[];
  /** Names of the socket messages that contain the list. */
  proto?: readonly string[];
}

/**
 * Defines an answer that is a list. Servers send the list under its member, under an alias, without a member, one level
 * deeper under `data`, or as a single row. A record without any members counts as an empty list, because servers omit
 * empty lists. Such a record does not prove that there are no rows, so `isListMissing` returns true for it. Rejects a
 * record that has members but not this list, a missing answer, and `null` in place of the list.
 */
export function rows<T>(member: string, type: ValueType<T>, options: RowsOptions = {}): RowsType<T> {
  const list = listOf(type);
  const names = [member, ...options.aliases ?? []];
  // Returns the list, or `undefined` if the answer has no list.
  const find = (value: unknown): unknown => {
    if (Array.isArray(value)) return value;
    if (isNothing(value)) throw new MissingAnswer("a list", value);
    if (!isObject(value)) throw new Mismatch("a list", value);
    const name = names.find((each) => value[each] !== undefined);
    if (name !== undefined) return findUnderName(value[name]);
    return isRow(value) ? [value] : undefined;
  };
  // Returns the list from the value of the member that should be the list.
  const findUnderName = (value: unknown): unknown => {
    if (!isObject(value)) return value;
    if (names.some((each) => each in value)) return find(value);
    return isRow(value) ? value : undefined;
  };
  // Returns whether a record in place of the list is a single row; false for a record without members. Throws
  // for any other record.
  const isRow = (value: Record<string, unknown>): boolean => {
    if (Object.values(type.fields ?? {}).some(({ wire }) => value[wire] !== undefined)) return true;
    // Ignore fields without a definition, such as `#17`: they do not show whether there is a list.
    const others = Object.keys(value).filter((each) => value[each] !== undefined && !each.startsWith("#"));
    if (others.length === 0) return false;
    // A record with other members, or with a list under another name, must not count as an empty list.
    const unexpectedList = others.find((each) => Array.isArray(value[each]));
    throw new Mismatch(
      `a list under "${member}"`,
      unexpectedList === undefined ? value : `a list under "${unexpectedList}"`,
    );
  };
  return {
    ...list,
    proto: options.proto ?? [],
    fields: {
      rows: { wire: member, type: list, optional: false, ...options.aliases && { aliases: options.aliases } },
    },
    encode: (value) => ({ [member]: list.encode(value) }),
    decode: (value) =>
      within(member, () => {
        const found = find(value);
        return found === undefined ? [] : list.decode(found);
      }),
    rows: type,
    wireList: find,
  };
}

/** The type of an answer that is a list. */
interface RowsType<T> extends ValueType<T[]> {
  /** Type of one row. */
  readonly rows: ValueType<T>;
  /** Returns the rows as the broker sent them; `undefined` if the answer has no list. */
  readonly wireList: (value: unknown) => unknown;
}

/** Defines an answer that is one record. Servers send it either under a member or without one. */
export function nested<T>(member: string, type: ValueType<T>, proto: string): ValueType<T> {
  return {
    ...type,
    proto: [proto],
    fields: { record: { wire: member, type, optional: false } },
    encode: (value) => ({ [member]: type.encode(value) }),
    decode: (value) => type.decode(isObject(value) && isObject(value[member]) ? value[member] : value),
  };
}

/** Defines an answer that is one value. Servers send it under its member, under an alias, or without a member. */
export function single<T>(type: ValueType<T>, member: string): ValueType<T> {
  return { ...type, decode: (value) => type.decode(isObject(value) ? value : { [member]: value }) };
}
