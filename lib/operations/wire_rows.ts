/**
 * Keeps the broker's original rows together with the decoded ones, to find members that the catalogue does not list.
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

/** Returns an answer as the broker sent it. @returns `undefined` if the call did not request the broker's rows. */
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

/** Returns a row as the broker sent it. @returns `undefined` if the call did not request the broker's rows. */
export function wireOf(row: Readonly<Record<string, unknown>>): WireRow | undefined {
  return (row as Remembering)[WIRE];
}

/** Fields of nested records by wire name; `undefined` for members that are not records. */
type FieldsByName = ReadonlyMap<string, FieldsInfo | undefined>;
const known = new WeakMap<FieldsInfo, FieldsByName>();

function knownOf(fields: FieldsInfo): FieldsByName {
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
