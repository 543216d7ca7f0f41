/**
 * Rows of a list as the broker sent them, beside ours: for members that the catalogue does not know.
 *
 * @module
 */
import type { AnyOperation } from "./operation.ts";
import type { FieldsInfo } from "./types.ts";

/** A row in the broker's spelling. */
export type WireRow = Readonly<Record<string, unknown>>;

/** Member of our row with the broker's row; JSON leaves it out. A weak map costs several times as much. */
const WIRE = Symbol("the row as the broker sent it");

interface Remembering {
  [WIRE]?: WireRow;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const answers = new WeakMap<object, unknown>();

/** Returns an answer as the broker sent it; `undefined` when the call did not ask for it. */
export function wireAnswerOf(answer: unknown): unknown {
  return typeof answer === "object" && answer !== null ? answers.get(answer) : undefined;
}

/**
 * Remembers what the broker sent of an answer and of each of its rows. `data` is what the answer was decoded from.
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

/** The list of an answer as the broker sent it; nothing where the answer has none. */
function wireListOf({ response }: AnyOperation, data: unknown): unknown {
  const { rows } = response.fields ?? {};
  return "wireList" in response && typeof response.wireList === "function"
    ? response.wireList(data)
    : isRecord(data) && rows !== undefined
    ? data[rows.wire]
    : undefined;
}

const withoutList = new WeakSet<object>();

/** Remembers of a list that the broker sent none: `null`, `{}` or nothing where `[]` says that there are no rows. */
export function rememberMissingList(operation: AnyOperation, answer: unknown, data: unknown): void {
  const isList = operation.paging !== undefined || "wireList" in operation.response;
  if (!isList || typeof answer !== "object" || answer === null) return;
  const list = wireListOf(operation, data);
  if (list === undefined || list === null) withoutList.add(answer);
}

/** What an answer without a list says: nothing that proves that there are no rows. */
export const LIST_LEFT_OUT =
  "the answer holds no list; some servers leave out an empty one, and a broken one looks the same";

/** Returns whether a page or a list that comes at once came without a list. On a socket an empty list cannot be told from none: it never does. */
export function isListMissing(answer: object): boolean {
  return withoutList.has(answer);
}

function listOf(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Returns a row as the broker sent it; `undefined` when the call did not ask for it. */
export function wireOf(row: Readonly<Record<string, unknown>>): WireRow | undefined {
  return (row as Remembering)[WIRE];
}

/** Fields of nested records, by their names on the wire; `undefined` for plain members. */
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

/** Returns whether a member is empty: servers send empty members for what a row does not have. */
function isNothing(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === "";
}

/** Calls back for each member that the fields do not know and that is not empty: `matchNo`, `fareVo.fare10`. */
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

/** Counts the members of an answer, as the broker sent it, that the catalogue does not know; by their paths. */
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
