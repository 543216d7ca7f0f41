/**
 * Applies faults that break the rules of paging. By these rules the cursor of the last row leads to the next page, and
 * a short page is the last page.
 *
 * @module
 */
import type { AnyOperation } from "../../operations/operation.ts";
import type { FaultKind, Faults } from "./faults.ts";

interface Row {
  cursor?: string;
}

/** The call whose answer a fault may change. */
interface PagedCall {
  operation: AnyOperation;
  params: unknown;
  result: unknown;
  /** Executes the same operation with other parameters. */
  answer: (params: unknown) => unknown;
}

/** The members that all paged operations share. */
interface PageParams {
  cursor?: string;
  limit?: number;
}

/** Faults that change the cursor of a page's last row, with the replacement. */
const lastCursor: readonly [FaultKind, (rows: readonly Row[], params: PageParams) => string | undefined][] = [
  ["cursor-repeat", (_, { cursor }) => cursor],
  ["cursor-backward", (rows) => rows[0]?.cursor],
  ["cursor-empty", () => undefined],
];

/** Number of rows that faults have added at the start of a list, by operation. */
const inserted = new WeakMap<Faults, Map<string, number>>();

/**
 * Changes a page if a fault is armed for it. The broker's own rows are not changed.
 *
 * @returns The page; `null` for a page without a list.
 */
export function spoilPage(faults: Faults, call: PagedCall): unknown {
  const { operation } = call;
  if (operation.paging === undefined) return call.result;
  if (faults.strikeCall("empty-page", operation) !== undefined) return null;
  // These are the validated parameters of a paged operation.
  const params = call.params as PageParams;
  const result = operation.paging.style === "cursor" ? withInserted(faults, call, params) : call.result;
  const rows = rowsOf(result);
  if (rows === undefined || rows.length === 0) return result;
  let spoilt: readonly Row[] = rows;
  if (rows.length === params.limit && faults.strikeCall("short-page", operation) !== undefined) {
    spoilt = rows.slice(0, Math.floor(rows.length / 2));
  }
  const last = spoilt.at(-1);
  for (const [kind, cursorOf] of lastCursor) {
    if (operation.paging.style !== "cursor" || last === undefined) continue;
    if (faults.strikeCall(kind, operation) === undefined) continue;
    const { cursor: _, ...rest } = last;
    const cursor = cursorOf(rows, params);
    spoilt = [...spoilt.slice(0, -1), cursor === undefined ? rest : { ...rest, cursor }];
  }
  // A result with rows is a list, or a record with a list.
  return Array.isArray(result) ? spoilt : { ...result as object, rows: spoilt };
}

/**
 * Returns the page of a list to which faults have added rows at the start. Each added row moves all other rows back by
 * one. Cursors are positions in the list.
 */
function withInserted(faults: Faults, call: PagedCall, params: PageParams): unknown {
  const { operation, result, answer } = call;
  const isArmed = faults.armed.some(({ kind, operation: only }) =>
    kind === "insert-row" && (only === undefined || only === operation.name || only === operation.wire)
  );
  let counts = inserted.get(faults);
  const count = (counts?.get(operation.name) ?? 0) +
    (faults.strikeCall("insert-row", operation) === undefined ? 0 : 1);
  if (!isArmed && count === 0) return result;
  if (counts === undefined) inserted.set(faults, counts = new Map());
  counts.set(operation.name, count);
  const all: Row[] = [];
  for (let cursor: string | undefined = "0"; cursor !== undefined;) {
    const rows: readonly Row[] = rowsOf(answer({ ...params, cursor, limit: WHOLE })) ?? [];
    all.push(...rows);
    cursor = rows.at(-1)?.cursor;
  }
  const added = Array.from(
    { length: count },
    (_, index) => ({ ...all[0], orderId: `inserted-${count - index}` }),
  );
  const start = Number(params.cursor ?? "0");
  return [...added, ...all].map((row, index) => ({ ...row, cursor: String(index + 1) }))
    .slice(start, start + (params.limit ?? 20));
}

const WHOLE = 10_000;

function rowsOf(result: unknown): readonly Row[] | undefined {
  if (Array.isArray(result)) return result;
  if (typeof result !== "object" || result === null || !("rows" in result)) return undefined;
  return Array.isArray(result.rows) ? result.rows : undefined;
}
