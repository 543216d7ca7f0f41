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

/** Remembers for each row of an answer what the broker sent. `data` is what the answer was decoded from. */
export function rememberWire({ response }: AnyOperation, answer: unknown, data: unknown): void {
  const ours = listOf(isRecord(answer) ? answer.rows : answer);
  const { rows } = response.fields ?? {};
  const theirs = listOf(
    "wireList" in response && typeof response.wireList === "function"
      ? response.wireList(data)
      : isRecord(data) && rows !== undefined
      ? data[rows.wire]
      : undefined,
  );
  if (ours.length !== theirs.length) return;
  for (const [index, row] of ours.entries()) {
    const wire = theirs[index];
    if (isRecord(row) && isRecord(wire)) (row as Remembering)[WIRE] = wire;
  }
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
      if (inner !== undefined && isRecord(value)) eachUnknown(inner, value, found, `${within}${name}.`);
    }
  }
}
