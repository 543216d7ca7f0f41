/**
 * Prints answers: a table or a list for people, JSON for programs.
 *
 * @module
 */
import type { AnyOperation } from "../../../lib/operations/operation.ts";
import type { Host } from "../host.ts";
import { cellOf, columnsOf, list, table } from "../print.ts";

/** How an answer is printed. */
export interface AnswerOptions {
  operation: AnyOperation;
  params: unknown;
  /** Whether the rows are all that there are. */
  isWhole: boolean;
  asJson: boolean;
  host: Host;
}

type Row = Record<string, unknown>;

/** Prints an answer to stdout; what is left out is said on stderr. */
export function printAnswer(
  answer: unknown,
  { operation, params, isWhole, asJson, host }: AnswerOptions,
): void {
  const value = answer ?? {};
  const rows = rowsOf(value);
  if (rows !== undefined && !isWhole && mayHaveMore(operation, params, value, rows)) {
    host.note("hsgate: this is one page and there may be more; --all walks all of them");
  }
  if (asJson) return host.out(JSON.stringify(value));
  if (!host.isTerminal) return host.out(JSON.stringify(value, undefined, 2));
  if (rows !== undefined && rows.every(isRow)) return printRows(rows, params, host);
  if (!isRow(value)) return host.out(JSON.stringify(value, undefined, 2));
  const entries = Object.entries(value);
  if (entries.length === 0) return host.out("done");
  printRecord(value, params, host);
}

const isRow = (value: unknown): value is Row =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The rows of a list, bare or beside page counters, in either spelling. */
function rowsOf(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value;
  const lists = isRow(value) ? Object.entries(value).filter(([, each]) => Array.isArray(each)) : [];
  const [only] = lists;
  return only !== undefined && lists.length === 1 && (only[0] === "rows" || only[0] === "data")
    ? only[1] as unknown[]
    : undefined;
}

function mayHaveMore({ paging }: AnyOperation, params: unknown, value: unknown, rows: unknown[]): boolean {
  if (paging === undefined) return false;
  if (isRow(value) && value.isLast === true) return false;
  if (isRow(value) && typeof value.totalPages === "string" && isRow(params)) {
    return Number(params.page ?? 1) < Number(value.totalPages);
  }
  return isRow(params) && rows.length >= Number(params.limit ?? 20);
}

/** Prints rows as a table that fits the terminal. */
function printRows(rows: readonly Row[], params: unknown, host: Host): void {
  if (rows.length === 0) return host.out("no rows");
  const { lines, left } = table(host, columnsOf(rows, isRow(params) ? params : {}), rows);
  for (const line of lines) host.out(line);
  if (left > 0) {
    host.note(`hsgate: ${left} more ${left === 1 ? "column does" : "columns do"} not fit; --json shows all`);
  }
}

function printRecord(value: Row, params: unknown, host: Host): void {
  const simple = Object.entries(value).filter(([, each]) => !isTable(each));
  for (const line of list(host, simple.map(([name, each]) => [name, cellOf(each)] as const))) host.out(line);
  for (const [name, each] of Object.entries(value)) {
    if (!isTable(each)) continue;
    host.out(`${simple.length > 0 ? "\n" : ""}${name}`);
    printRows(each, params, host);
  }
}

const isTable = (value: unknown): value is Row[] =>
  Array.isArray(value) && value.length > 0 && value.every(isRow);
