/**
 * Keeps the broker's original rows together with the decoded ones, to find members that the catalogue does not list.
 * Decides which answers are too large to be parsed.
 *
 * @module
 */
import type { AnyOperation } from "./operation.ts";
import type { FieldsInfo } from "./types.ts";

/** A row in the broker's spelling. */
type WireRow = Readonly<Record<string, unknown>>;

/**
 * Member of a decoded row that contains the broker's row. JSON omits symbols, and a `WeakMap` is several times
 * slower.
 */
const WIRE = Symbol("the row as the broker sent it");

interface Remembering {
  [WIRE]?: WireRow;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const answers = new WeakMap<object, unknown>();

/** Returns an answer as the broker sent it. @returns `undefined` if the call did not request it. */
export function wireAnswerOf(answer: unknown): unknown {
  return typeof answer === "object" && answer !== null ? answers.get(answer) : undefined;
}

/**
 * Stores what the broker sent for an answer and for each of its rows.
 *
 * @param data The broker's data, before it was decoded to `answer`.
 */
export function rememberWire(operation: AnyOperation, answer: unknown, data: unknown): void {
  if (typeof answer === "object" && answer !== null) answers.set(answer, data);
  const ours = listOf(isRecord(answer) ? answer.rows : answer);
  const theirs = listOf(wireListOf(operation, data));
  if (ours.length !== theirs.length) return;
  for (const [index, row] of ours.entries()) {
    const wire = theirs[index];
    if (isRecord(row) && isRecord(wire)) (row as Remembering)[WIRE] = wire;
  }
}

/** Returns the list of an answer as the broker sent it. @returns `undefined` if the answer has no list. */
function wireListOf({ response }: AnyOperation, data: unknown): unknown {
  const { rows } = response.fields ?? {};
  return "wireList" in response && typeof response.wireList === "function"
    ? response.wireList(data)
    : isRecord(data) && rows !== undefined
    ? data[rows.wire]
    : undefined;
}

const withoutList = new WeakSet<object>();

/**
 * Marks the answer of a list operation if it contains no list: the broker sent `null`, `{}` or nothing. Only `[]` would
 * mean that there are no rows.
 */
export function rememberMissingList(operation: AnyOperation, answer: unknown, data: unknown): void {
  if (typeof answer !== "object" || answer === null) return;
  const list = wireListOf(operation, data);
  if (list === undefined || list === null) withoutList.add(answer);
}

/** Explains why an answer without a list does not prove that there are no rows. */
export const LIST_LEFT_OUT =
  "the answer contains no list; some servers omit an empty list, and a broken answer looks the same";

/**
 * Returns whether an answer lacks the page or list that it should contain. Always false over the socket, which cannot
 * distinguish an empty list from a missing one.
 */
export function isListMissing(answer: object): boolean {
  return withoutList.has(answer);
}

function listOf(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Returns a row as the broker sent it. @returns `undefined` if the call did not request it. */
export function wireOf(row: Readonly<Record<string, unknown>>): WireRow | undefined {
  return (row as Remembering)[WIRE];
}

/** Fields of nested records by wire name; `undefined` for members that are not records. */
type Known = ReadonlyMap<string, FieldsInfo | undefined>;
const known = new WeakMap<FieldsInfo, Known>();

function knownOf(fields: FieldsInfo): Known {
  let names = known.get(fields);
  if (names === undefined) {
    names = new Map(
      Object.values(fields).flatMap(({ wire, aliases = [], type }) =>
        [wire, ...aliases].map((name) => [name, type.fields] as const)
      ),
    );
    known.set(fields, names);
  }
  return names;
}

/** Returns whether a member is empty. Servers send empty members for values that a row does not have. */
function isNothing(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === "";
}

/** Calls `found` for each member that is not listed in `fields` and not empty: `matchNo`, `fareVo.fare10`. */
export function eachUnknown(
  fields: FieldsInfo,
  row: WireRow,
  found: (path: string, value: unknown) => void,
  within = "",
): void {
  const names = knownOf(fields);
  for (const name in row) {
    const value = row[name];
    if (!names.has(name)) {
      if (!isNothing(value)) found(within + name, value);
    } else {
      const inner = names.get(name);
      if (inner === undefined) continue;
      for (const each of Array.isArray(value) ? value : [value]) {
        if (isRecord(each)) eachUnknown(inner, each, found, `${within}${name}.`);
      }
    }
  }
}

/**
 * Returns the paths of members in the broker's answer that the catalogue does not list, with the number of
 * occurrences.
 */
export function unknownMembers(operation: AnyOperation, data: unknown): Map<string, number> {
  const counts = new Map<string, number>();
  const count = (path: string) => counts.set(path, (counts.get(path) ?? 0) + 1);
  const { response } = operation;
  const fields = response.fields ?? {};
  const { record } = fields;
  const isList = "wireList" in response;
  const inner = record !== undefined && isRecord(data) ? data[record.wire] : undefined;
  const rows = isList ? listOf(wireListOf(operation, data)) : [isRecord(inner) ? inner : data];
  const known = isList ? fields.rows?.type.fields : record?.type.fields ?? response.fields;
  if (known !== undefined) { for (const row of rows) if (isRecord(row)) eachUnknown(known, row, count); }
  return counts;
}

/**
 * Maximum nesting of an answer that is parsed. Millions of levels would take many seconds, in which nothing else runs.
 */
export const MOST_PARSED_LEVELS = 50_000;

/**
 * Maximum number of commas and opening brackets in an answer that is parsed. This limits its values: an empty list
 * needs three bytes in the text, but more than a hundred in memory.
 */
export const MOST_PARSED_VALUES = 2_000_000;

/** Why an answer is not parsed. */
export interface ParseRefusal {
  /** What the answer has too much of, for messages. */
  reason: string;
  code: "too-deep" | "too-many-values";
}

/**
 * Returns why JSON is not parsed: it has too many levels or values. Does not scan short texts, which cannot exceed the
 * limits.
 */
export function parseRefusal(text: string): ParseRefusal | undefined {
  if (text.length <= MOST_PARSED_LEVELS) return undefined;
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5b || code === 0x7b) {
      values++;
      if (++depth > MOST_PARSED_LEVELS) return tooDeep(MOST_PARSED_LEVELS);
    } else if (code === 0x5d || code === 0x7d) {
      depth--;
    } else if (code === 0x2c) {
      values++;
    } else if (code === 0x22) {
      // Brackets and commas in texts do not count.
      for (at++; at < text.length && text.charCodeAt(at) !== 0x22; at++) {
        if (text.charCodeAt(at) === 0x5c) at++;
      }
    }
    if (values > MOST_PARSED_VALUES) {
      return { reason: `it has more than ${MOST_PARSED_VALUES} values`, code: "too-many-values" };
    }
  }
  return undefined;
}

/** Returns the refusal of an answer with more than `most` levels. */
export function tooDeep(most: number): ParseRefusal {
  return { reason: `it has more than ${most} levels of lists and objects`, code: "too-deep" };
}
