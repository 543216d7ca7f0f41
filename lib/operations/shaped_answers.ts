/**
 * Invents answers from the shape of an answer that the broker sent. A shape has the types, forms and codes of an
 * answer, but no other values. Every type, form and code of the shape occurs in at least one of the invented answers.
 *
 * @module
 */
import type { FieldsInfo } from "./types.ts";
import { numberForms, type Seen, type SeenAnswer, textForms } from "./answer_shapes.ts";

/** One answer to send. */
export type ShapedAnswer =
  | { readonly over: "gateway" | "platform"; readonly status: number; readonly text: string }
  | {
    readonly over: "socket";
    readonly type: number;
    readonly code: string;
    readonly text: string;
    readonly payload?: { readonly name: string; readonly members: Record<string, unknown> };
  };

/** A shape for the answers of an operation. */
export interface AnswerShape {
  /** hsgate's name of the operation. */
  readonly operation: string;
  /** The codes of the request that got this answer, with hsgate's names: `market` is `hk`. */
  readonly codes: Readonly<Record<string, string>>;
  /** The answer without its values. */
  readonly answer: SeenAnswer;
}

/** Thrown if answers in the shape of a report cannot be made or sent. The message says why. */
export class ShapeError extends TypeError {
  /** Name of the error class. */
  override name = "ShapeError";
}

/** Maximum number of rows in an invented list, and of answers for one shape. */
const MOST = 64;

/**
 * How many characters may still be invented. A report from somebody else may describe lists inside lists, which would
 * need endless answers.
 */
export interface Room {
  /** Number of characters. */
  left: number;
}

/** Maximum number of characters of all answers that are invented together. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/** Returns the number of characters that may be invented for a report. */
export const newRoom = (): Room => ({ left: MOST_CHARACTERS });

/**
 * Returns the answers that show everything that a shape contains.
 *
 * @throws {ShapeError} If the answers need more characters than allowed.
 */
export function answersOf(
  { over, status = 200, body, type = 0, code = "", message, payload }: SeenAnswer,
  room: Room = newRoom(),
): ShapedAnswer[] {
  if (over !== "socket") {
    return Array.from(
      { length: alternatives(body) },
      (_, index) => ({ over, status, text: json(body, index, room) }),
    );
  }
  const text = JSON.parse(json(body, 0, room));
  const head = { over, type, code, text: typeof text === "string" ? text : "" } as const;
  if (message === undefined) return [head];
  return Array.from({ length: alternatives(payload) }, (_, index) => {
    const members: unknown = JSON.parse(
      json(payload, index, room),
      (name, value) => name.startsWith("#") ? undefined : value,
    ); // names with `#` are fields without a definition, which readers skip
    const isRecord = typeof members === "object" && members !== null;
    return {
      ...head,
      payload: { name: message, members: isRecord ? members as Record<string, unknown> : {} },
    };
  });
}

/**
 * Returns the JSON of sample scalars for one place of a shape: each flag and `null` that was seen, and each code or
 * empty text. If no code was seen, the shortest and the longest sample of each form of a text or a number.
 */
function scalars(
  { null: nulls = 0, flags: [trues, falses] = [0, 0], texts = {}, numbers = {}, codes = [] }: Seen,
): string[] {
  const written = codes.length > 0 ? codes : [
    ...samples(texts, textForms).map((text) => JSON.stringify(text)),
    ...samples(numbers, numberForms),
  ];
  const hasText = Object.hasOwn(texts, "empty") && codes.length > 0 ? ['""'] : [];
  return [
    ...written,
    ...hasText,
    ...trues > 0 ? ["true"] : [],
    ...falses > 0 ? ["false"] : [],
    ...nulls > 0 ? ["null"] : [],
  ];
}

function samples(lengths: NonNullable<Seen["texts"]>, forms: typeof textForms): string[] {
  return Object.entries(lengths).flatMap(([form, [, shortest, longest]]) => {
    const sample = forms[form]?.[1];
    return sample === undefined ? [] : [...new Set([sample(longest), sample(shortest)])];
  });
}

/**
 * Returns how many records are needed to show every variant of a member. If the member was sometimes missing, this
 * includes a record without it.
 */
const turns = (member: Seen, records: number) => alternatives(member) + (member.times < records ? 1 : 0);

/** Returns how many different values are needed to show everything that was seen at a place. */
const alternatives = (seen: Seen | undefined): number =>
  seen === undefined ? 1 : counted.getOrInsertComputed(seen, countAlternatives);

/** Caches the results of `alternatives`, because each value of a list needs the results of all places below it. */
const counted = new WeakMap<Seen, number>();

function countAlternatives(seen: Seen): number {
  const { list, record } = seen;
  const lists = list === undefined ? 0 : 1 + (list.sizes[0] === 0 && list.sizes[1] > 0 ? 1 : 0);
  const records = Object.values(record?.members ?? {}).reduce(
    (most, member) => Math.max(most, turns(member, record!.times)), // a shape with members has a record
    record === undefined ? 0 : 1,
  );
  return Math.min(MOST, Math.max(1, scalars(seen).length + lists + records));
}

/** Returns the JSON of one of the values of a place. */
function json(seen: Seen | undefined, index: number, room: Room): string {
  const text = jsonOf(seen, index, room);
  // A text inside another one counts again, which only makes the limit stricter for deep values.
  room.left -= text.length;
  if (room.left < 0) {
    throw new ShapeError(
      `Cannot invent answers in the report's shape: they have more than ${MOST_CHARACTERS} characters`,
    );
  }
  return text;
}

function jsonOf(seen: Seen | undefined, index: number, room: Room): string {
  if (seen === undefined) return "null";
  const { list, record } = seen;
  const plain = scalars(seen);
  const makers: (() => string)[] = plain.map((text) => () => text);
  if (list !== undefined) {
    makers.push(() => `[${rowsOf(list, room).join(",")}]`);
    if (list.sizes[0] === 0 && list.sizes[1] > 0) makers.push(() => "[]");
  }
  if (record === undefined) return (makers[index % Math.max(1, makers.length)] ?? (() => "null"))();
  // Every value after `makers` is a record. Each record contains the next variant of every member.
  const nth = index < makers.length ? undefined : index - makers.length;
  if (nth === undefined) return makers[index]!();
  const members = Object.entries(record.members).flatMap(([name, member]) => {
    const turn = nth % turns(member, record.times);
    const isMissing = turn === alternatives(member);
    return isMissing ? [] : [`${JSON.stringify(wireName(name))}:${json(member, turn, room)}`];
  });
  return `{${members.join(",")}}`;
}

function rowsOf({ sizes, of }: NonNullable<Seen["list"]>, room: Room): string[] {
  if (of === undefined || sizes[1] === 0) return [];
  return Array.from({ length: alternatives(of) }, (_, index) => varied(json(of, index, room), index));
}

/** Changes the last digits of longer texts of digits, so that each row has its own cursor and order number. */
function varied(row: string, index: number): string {
  return row.replaceAll(
    /"(1+)11"/g,
    (_, start) => `"${start}${String((11 + index) % 100).padStart(2, "0")}"`,
  );
}

/** Returns a name for a member whose name the shape hides. */
function wireName(name: string): string {
  const [, length] = /^\[name of (\d+) characters\]$/.exec(name) ?? [];
  return length === undefined ? name : "N".repeat(Math.min(100, Number(length)));
}

/**
 * Returns the parameters of a request that are names of a code table, with hsgate's names. They never contain values of
 * an account.
 */
export function codesOf(
  fields: FieldsInfo,
  params: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const codes: Record<string, string> = {};
  for (const [name, { type }] of Object.entries(fields)) {
    const value = params[name];
    const first = Array.isArray(value) ? value[0] : value;
    if (type.dictionary?.has(first)) codes[name] = first;
    else if (type.fields !== undefined && typeof first === "object" && first !== null) {
      Object.assign(codes, codesOf(type.fields, first as Record<string, unknown>));
    }
  }
  return codes;
}

/** Returns the shape of a page after the last row: every list is empty. */
export function withoutRows(answer: SeenAnswer): SeenAnswer {
  const empty = (seen: Seen): Seen => ({
    ...seen,
    ...seen.list !== undefined && { list: { times: seen.list.times, sizes: [0, 0] } },
    ...seen.record !== undefined && {
      record: {
        ...seen.record,
        members: Object.fromEntries(
          Object.entries(seen.record.members).map(([name, each]) => [name, empty(each)]),
        ),
      },
    },
  });
  const { body, payload } = answer;
  return { ...answer, ...body && { body: empty(body) }, ...payload && { payload: empty(payload) } };
}
