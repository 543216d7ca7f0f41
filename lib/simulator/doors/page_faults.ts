/**
 * Pages that break the rule of paging: the cursor of the last row leads to the next page, a short page is the last.
 *
 * @module
 */
import type { AnyOperation } from "../../operations/operation.ts";
import type { FaultKind, Faults } from "./faults.ts";

interface Row {
  cursor?: string;
}

/** What is known of the call whose answer is to be spoilt. */
export interface PagedCall {
  operation: AnyOperation;
  params: unknown;
  result: unknown;
}

/** The members that all paged operations share. */
interface PageParams {
  cursor?: string;
  limit?: number;
}

/** What the last row of a page carries in the place of its cursor. */
const lastCursor: readonly [FaultKind, (rows: readonly Row[], params: PageParams) => string | undefined][] = [
  ["cursor-repeat", (_, { cursor }) => cursor],
  ["cursor-backward", (rows) => rows[0]?.cursor],
  ["cursor-empty", () => undefined],
];

/** Spoils a page when a fault says so. The broker's own rows stay as they are. */
export function spoilPage(faults: Faults, call: PagedCall): unknown {
  const { operation, result } = call;
  if (operation.paging === undefined) return result;
  // Checked parameters of an operation that hands out pages.
  const params = call.params as PageParams;
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
  // What holds rows is a list or a record around one.
  return Array.isArray(result) ? spoilt : { ...result as object, rows: spoilt };
}

function rowsOf(result: unknown): readonly Row[] | undefined {
  if (Array.isArray(result)) return result;
  if (typeof result !== "object" || result === null || !("rows" in result)) return undefined;
  return Array.isArray(result.rows) ? result.rows : undefined;
}
