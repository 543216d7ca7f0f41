/**
 * Records and lists: types made of fields, for parameters and for answers.
 *
 * @module
 */
import type { Issue } from "../errors.ts";
import {
  type FieldInfo,
  type FieldsInfo,
  InexactNumber,
  Mismatch,
  MissingAnswer,
  type Shape,
  type ValueType,
} from "./types.ts";

/** How a field's presence shows in the types: always there, or possibly absent. */
export type Presence = "required" | "optional";

/** One member of a record. */
export interface Field<T = unknown, P extends Presence = Presence> extends FieldInfo {
  readonly type: ValueType<T>;
  readonly presence: P;
}

/** Fields of a record, by our names. */
export type Fields = Readonly<Record<string, Field>>;

/** Details of a field. */
export interface FieldOptions {
  /** Other names that servers have been seen to use for it. */
  aliases?: readonly string[];
  /** Why the socket has no field for it. */
  gap?: string;
}

/** A member that a request must carry. In an answer, a member that servers may leave out. */
export function field<T>(
  wire: string,
  type: ValueType<T>,
  options?: FieldOptions,
): Field<T, "required">;
/** A member with a fallback, which a request may therefore leave out. */
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

/** A member that a request may leave out. */
export function optional<T>(
  wire: string,
  type: ValueType<T>,
  options: FieldOptions = {},
): Field<T, "optional"> {
  return { wire, type, optional: true, presence: "optional", ...options };
}

/**
 * A member that an answer promises: without it the answer is an error. A list that is left out is an empty list, as
 * servers leave out members at zero (vendor Go SDK); a list that is `null` is an error like any other member.
 */
export function key<T>(
  wire: string,
  type: ValueType<T>,
  options: FieldOptions = {},
): Field<T, "required"> & { readonly key: true } {
  return { wire, type, optional: false, presence: "required", key: true, ...options };
}

type Simplify<T> = { [K in keyof T]: T[K] };
type ValueOf<F> = F extends { readonly type: ValueType<infer T> } ? T : never;
type MayBeAbsent<F> = F extends { readonly key: true } ? false : true;

/** Parameters made of such fields. */
export type ParamsOf<F extends Fields> = Simplify<
  & { [K in keyof F as F[K]["presence"] extends "required" ? K : never]: ValueOf<F[K]> }
  & { [K in keyof F as F[K]["presence"] extends "required" ? never : K]?: ValueOf<F[K]> }
>;

/** An answer's record made of such fields. */
export type RecordOf<F extends Fields> = Simplify<
  & { [K in keyof F as MayBeAbsent<F[K]> extends true ? never : K]: ValueOf<F[K]> }
  & { [K in keyof F as MayBeAbsent<F[K]> extends true ? K : never]?: ValueOf<F[K]> }
>;

/**
 * Something that is wrong only in view of several parameters at once. It sees those that are right by themselves,
 * so that one mistake does not hide another.
 */
export type Refine<T> = (params: Partial<T>, wrong: (path: string, expected: string) => void) => void;

const isNothing = (value: unknown) => value === undefined || value === null || value === "";
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Parameters of a request. Members that nobody described are refused, as a typo would otherwise be lost. */
export function params<F extends Fields>(
  fields: F,
  refine?: Refine<ParamsOf<F>>,
  proto: readonly string[] = [],
): ValueType<ParamsOf<F>> {
  const entries = Object.entries(fields);
  // Next to a secret, a misspelt or misplaced value may be the secret itself.
  const holdsSecret = entries.some(([, { type }]) => type.secret);
  const shown = (value: unknown) => holdsSecret ? "[secret]" : value;
  return {
    name: "parameters",
    expected: "an object of parameters",
    shape: shapeOf(fields),
    proto,
    fields,
    check(value, path, issues) {
      if (!isObject(value)) {
        issues.push({ path, value: shown(value), expected: "an object of parameters" });
        return;
      }
      for (const name of Object.keys(value)) {
        if (!Object.hasOwn(fields, name)) {
          const known = entries.length === 0
            ? "no parameters at all"
            : `only ${entries.map(([each]) => each).join(", ")}`;
          issues.push({ path: [...path, name], value: shown(value[name]), expected: known });
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
      // Each member has just passed its own check, so what is there has the shape of the parameters.
      refine?.(right as Partial<ParamsOf<F>>, (name, expected) => {
        if (!faulty.has(name)) issues.push({ path: [...path, name], value: value[name], expected });
      });
    },
    encode: (value) => encodeFields(entries, value as Record<string, unknown>),
    decode: (value) => decodeParams(entries, value) as ParamsOf<F>,
  };
}

function shapeOf(fields: Fields): Shape {
  const members = Object.entries(fields).map(([name, { type }]) => [name, type.shape] as const);
  return { kind: "record", members: Object.fromEntries(members) };
}

/** Checks a value, and hides it in the issues when it is a secret. */
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

/** Reads a request backwards, for whoever serves it: absent members stay absent, unknown ones are passed over. */
function decodeParams(entries: [string, FieldInfo][], value: unknown): Record<string, unknown> {
  if (!isObject(value)) throw new Mismatch("an object of parameters", value);
  const out: Record<string, unknown> = {};
  for (const [name, { wire, type, fallback }] of entries) {
    const given = value[wire];
    const present = given !== undefined && given !== null && given !== "";
    // Some clients write whole numbers where text belongs; whoever serves them reads those all the same.
    const isLoose = Number.isSafeInteger(given) && type.proto.includes("string");
    if (present) out[name] = within(name, () => type.decode(isLoose ? String(given) : given));
    else if (fallback !== undefined) out[name] = fallback;
  }
  return out;
}

/** A record of an answer, or within one. */
export function record<F extends Fields>(
  fields: F,
  proto: readonly string[] = [],
): ValueType<RecordOf<F>> {
  const entries = Object.entries(fields);
  let fast: ((value: Record<string, unknown>) => RecordOf<F>) | undefined;
  return {
    name: "record",
    expected: "a record",
    shape: shapeOf(fields),
    proto,
    fields,
    check(value, path, issues) {
      if (!isObject(value)) issues.push({ path, value, expected: "a record" });
      else {
        for (const [name, { type }] of entries) {
          if (value[name] !== undefined) type.check(value[name], [...path, name], issues);
        }
      }
    },
    encode: (value) => encodeFields(entries, value as Record<string, unknown>),
    decode(value) {
      if (!isObject(value)) throw new Mismatch("a record", value);
      fast ??= compileDecoder<RecordOf<F>>(fields);
      try {
        return fast(value);
      } catch (error) {
        // The fast reader does not know where it was: find the member again, now with its path.
        if (error instanceof Mismatch) locate(entries, value);
        throw error;
      }
    },
  };
}

/** The answer of a command, which servers may leave out altogether. */
export function commandAnswer<F extends Fields>(
  fields: F,
  proto: readonly string[] = [],
): ValueType<RecordOf<F>> {
  const type = record(fields, proto);
  return { ...type, decode: (value) => type.decode(value ?? {}) };
}

/** An answer that is one record. One without any member that the catalogue knows tells nothing, and is an error. */
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
      // A key list that was left out is empty in ours: what counts is what came.
      if (isObject(value) && !holdsAny(fields, value)) {
        throw new Mismatch(`a record with ${membersOf(fields)}`, value);
      }
      return answer;
    },
  };
}

function holdsAny(fields: FieldsInfo, value: Record<string, unknown>): boolean {
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
 * Writes a reader for one record as straight code. A loop over fields reads and stores members by computed
 * names, which costs about ten times as much, and answers hold thousands of members.
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

/** A list. A lone item stands for a list of one, as some servers write it. */
export function listOf<T>(type: ValueType<T>, most = Infinity): ValueType<T[]> {
  const expected = `a list of 1 to ${most === Infinity ? "any number of" : most} items`;
  return {
    name: `list of ${type.name}`,
    expected,
    shape: { kind: "list", of: type.shape },
    proto: type.proto,
    isList: true,
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

/** What {@linkcode rows} needs beyond the record. */
export interface RowsOptions {
  /** Other names that servers have been seen to use for the list. */
  aliases?: readonly string[];
  /** Names of the messages that carry it on the socket. */
  proto?: readonly string[];
}

/**
 * An answer that is a list: under its member, under an alias, bare, one level deeper under `data`, or one row
 * written inline. A record without any member is an empty list, as servers leave out empty lists, and
 * `isListMissing` says that it proves nothing. A record of other members, no answer at all and `null` in the place of
 * the list are errors.
 */
export function rows<T>(member: string, type: ValueType<T>, options: RowsOptions = {}): RowsType<T> {
  const list = listOf(type);
  const names = [member, ...options.aliases ?? []];
  // Returns `undefined` where the answer has no list at all.
  const find = (value: unknown): unknown => {
    if (Array.isArray(value)) return value;
    if (isNothing(value)) throw new MissingAnswer("a list", value);
    if (!isObject(value)) throw new Mismatch("a list", value);
    const name = names.find((each) => value[each] !== undefined);
    if (name !== undefined) return find1(value[name]);
    return isRow(value) ? [value] : undefined;
  };
  const find1 = (value: unknown): unknown => {
    if (!isObject(value)) return value;
    if (names.some((each) => each in value)) return find(value);
    return isRow(value) ? value : undefined;
  };
  // Returns whether a record in the place of the list is one row; one without members is neither a row nor an error.
  const isRow = (value: Record<string, unknown>): boolean => {
    if (Object.values(type.fields ?? {}).some(({ wire }) => value[wire] !== undefined)) return true;
    // Fields of a message without a definition, `#17`, say nothing about the list.
    const others = Object.keys(value).filter((each) => value[each] !== undefined && !each.startsWith("#"));
    if (others.length === 0) return false;
    // What has other members, or a list under another name, must not pass for an empty list.
    const strange = others.find((each) => Array.isArray(value[each]));
    throw new Mismatch(
      `a list under "${member}"`,
      strange === undefined ? value : `a list under "${strange}"`,
    );
  };
  return {
    ...list,
    proto: options.proto ?? [],
    fields: { rows: { wire: member, type: list, optional: false } },
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

/** An answer that is a list of records. */
export interface RowsType<T> extends ValueType<T[]> {
  /** What one row is. */
  readonly rows: ValueType<T>;
  /** Finds the rows as the broker sent them; `undefined` where the answer has no list at all. */
  readonly wireList: (value: unknown) => unknown;
}

/** An answer that is one record, under a member or flat, as servers write both. */
export function nested<T>(member: string, type: ValueType<T>, proto: string): ValueType<T> {
  return {
    ...type,
    proto: [proto],
    fields: { record: { wire: member, type, optional: false } },
    encode: (value) => ({ [member]: type.encode(value) }),
    decode: (value) => type.decode(isObject(value) && isObject(value[member]) ? value[member] : value),
  };
}

/** An answer that is one value: under its member, under an alias, or bare, as servers write all three. */
export function single<T>(type: ValueType<T>, member: string): ValueType<T> {
  return { ...type, decode: (value) => type.decode(isObject(value) ? value : { [member]: value }) };
}

/** Tells whether an answer has to be parsed again with its digits kept. */
export function needsDigits(error: unknown): boolean {
  return error instanceof InexactNumber;
}
