/**
 * Long lists, page after page.
 *
 * @module
 */
import { ProtocolError } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import type { CallOptions } from "../transports/transport.ts";

/** Options of a walk through pages. */
export interface PagingOptions extends CallOptions {
  /**
   * Most pages to ask for. Reaching it is an error, as a list that ends early looks like a whole one.
   *
   * @default 1000000
   */
  maxPages?: number;
}

/** One page of a list. */
export interface Page<Row> {
  /** Rows of this page, in the broker's order. */
  rows: Row[];
  /** Number of this page, counted from 1. */
  number: number;
  /** Whether the broker has no more. */
  isLast: boolean;
}

/** A list that comes page after page: `for await` over the rows, or over {@linkcode Paged.pages}. */
export interface Paged<Row> extends AsyncIterable<Row> {
  /**
   * Walks page by page. Each walk asks the broker anew.
   *
   * @throws {ProtocolError} When a cursor repeats or runs backwards, so that the rest cannot be told.
   */
  pages(): AsyncIterable<Page<Row>>;
  /** Collects every row. */
  toArray(): Promise<Row[]>;
  /** Whether the last walk reached the end; false before, after an error and after leaving it early. */
  readonly isComplete: boolean;
}

/** Rows asked for at once when the caller does not say: the most that the broker takes. */
const PAGE_SIZE = 99;
const MAX_PAGES = 1_000_000;

type Call = (
  operation: AnyOperation,
  params: Record<string, unknown>,
  options: CallOptions,
) => Promise<unknown>;

interface Walk {
  operation: AnyOperation;
  params: Record<string, unknown>;
  options: PagingOptions;
  call: Call;
}

/** Makes the list of an operation that answers in pages. */
export function paged<Row>(
  operation: AnyOperation,
  params: Record<string, unknown>,
  options: PagingOptions,
  call: Call,
): Paged<Row> {
  const walk: Walk = { operation, params: { limit: PAGE_SIZE, ...params }, options, call };
  let isComplete = false;
  async function* pages(): AsyncGenerator<Page<Row>> {
    isComplete = false;
    const source = operation.paging?.style === "cursor" ? byCursor<Row>(walk) : byNumber<Row>(walk);
    for await (const page of source) {
      yield page;
      if (page.isLast) isComplete = true;
    }
  }
  async function* rows(): AsyncGenerator<Row> {
    for await (const page of pages()) yield* page.rows;
  }
  return {
    pages,
    [Symbol.asyncIterator]: rows,
    async toArray() {
      const all: Row[] = [];
      for await (const page of pages()) for (const row of page.rows) all.push(row);
      return all;
    },
    get isComplete() {
      return isComplete;
    },
  };
}

async function* byCursor<Row>(walk: Walk): AsyncGenerator<Page<Row>> {
  const limit = Number(walk.params.limit);
  const seen = new Set<string>();
  let cursor = typeof walk.params.cursor === "string" ? walk.params.cursor : "0";
  for (let number = 1;; number++) {
    checkPageCount(walk, number);
    // Every operation with a cursor answers with a list of records that carry one; a test holds that.
    const rows = await walk.call(walk.operation, { ...walk.params, cursor }, walk.options) as Row[];
    const isLast = rows.length < limit;
    checkCursors(walk, cursor, rows, seen);
    yield { rows, number, isLast };
    if (isLast) return;
    cursor = cursorOf(rows.at(-1)) ??
      fault(walk, "cursor-missing", "the last row of a full page has no cursor");
  }
}

/** Rows stand in rising order of their cursors; a row that does not move on was given before. */
function checkCursors(walk: Walk, from: string, rows: unknown[], seen: Set<string>): void {
  let previous = from;
  for (const row of rows) {
    const cursor = cursorOf(row);
    if (cursor === undefined) continue;
    if (seen.has(cursor) || cursor === previous) {
      fault(walk, "cursor-repeated", `cursor "${cursor}" came twice`);
    }
    if (isBefore(cursor, previous)) {
      fault(walk, "cursor-backwards", `cursor "${cursor}" came after "${previous}"`);
    }
    previous = cursor;
  }
  // Only texts that cannot be ordered need remembering; numbers that rise cannot repeat.
  if (!isWhole(previous)) { for (const row of rows) seen.add(cursorOf(row) ?? ""); }
}

const isWhole = (cursor: string) => /^\d+$/.test(cursor);

function isBefore(cursor: string, previous: string): boolean {
  if (!isWhole(cursor) || !isWhole(previous)) return false;
  return cursor.length === previous.length ? cursor < previous : cursor.length < previous.length;
}

function cursorOf(row: unknown): string | undefined {
  const cursor = typeof row === "object" && row !== null ? (row as { cursor?: unknown }).cursor : undefined;
  return typeof cursor === "string" ? cursor : undefined;
}

async function* byNumber<Row>(walk: Walk): AsyncGenerator<Page<Row>> {
  const limit = Number(walk.params.limit);
  const last = walk.operation.paging?.last;
  let before: string | undefined;
  for (let number = 1, wanted = Number(walk.params.page ?? 1);; number++, wanted++) {
    checkPageCount(walk, number);
    const answer = await walk.call(walk.operation, { ...walk.params, page: wanted }, walk.options);
    // Lists come bare, or with counters beside them, as the operation's answer type says.
    const { rows, page, totalPages, isLast: marked } = Array.isArray(answer)
      ? { rows: answer as Row[], page: 0, totalPages: "", isLast: false }
      : answer as { rows: Row[]; page: number; totalPages: string; isLast?: boolean };
    if (page !== 0 && page !== wanted) {
      fault(walk, "page-repeated", `page ${wanted} was asked for and page ${page} came`);
    }
    if (page === 0) {
      // The answer does not say which page it is, so its content has to.
      const content = JSON.stringify(rows);
      if (rows.length > 0 && content === before) {
        fault(walk, "page-repeated", `page ${wanted} is the one before`);
      }
      before = content;
    }
    const isShort = rows.length < limit;
    // Without a number of pages, as with a member at zero that is left out, only a short page tells the end.
    const total = Number(totalPages) || undefined;
    const isLast = last === "mark"
      ? marked === true || isShort
      : last === "total" && total !== undefined
      ? wanted >= total || rows.length === 0
      : isShort;
    yield { rows, number, isLast };
    if (isLast) return;
  }
}

function checkPageCount({ operation, options }: Walk, number: number): void {
  const most = options.maxPages ?? MAX_PAGES;
  if (number > most) {
    throw new ProtocolError(`Cannot read ${operation.name} to its end: more than ${most} pages`, {
      code: "page-cap",
      operation: operation.name,
    });
  }
}

function fault({ operation }: Walk, code: string, reason: string): never {
  throw new ProtocolError(`Cannot read ${operation.name} to its end: ${reason}`, {
    code,
    operation: operation.name,
  });
}
