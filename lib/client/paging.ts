/**
 * Turns lists that the broker returns page by page into iterables and arrays.
 *
 * @module
 */
import { ProtocolError } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { LIST_CHANGED, LIST_EMPTIED, type Page, walkPages } from "./page_walk.ts";
import type { CallOptions } from "../transports/transport.ts";

/** Options for reading pages. */
export interface PagingOptions extends CallOptions {
  /**
   * Maximum number of pages to request. A longer list is an error, because a truncated list looks like a complete
   * one.
   *
   * @default 1000000
   */
  maxPages?: number;
  /**
   * Approximate maximum size of the list that {@linkcode Paged.toArray} keeps in memory, in bytes. A larger list is an
   * error, so that a server whose list never ends does not fill the memory.
   *
   * @default 1073741824
   */
  maxListBytes?: number;
}

/** A paged list: iterate with `for await` over its rows, or over {@linkcode Paged.pages}. */
export interface Paged<Row> extends AsyncIterable<Row> {
  /**
   * Yields the pages. Each iteration queries the broker again. Unless an answer shows which page is the last one,
   * further queries at the end check that nothing follows.
   *
   * @throws {ProtocolError} If the list cannot be read to its end. Its `code` says why: `page-missing` (a
   * page came without rows although more should follow), `page-repeated`, `cursor-repeated`,
   * `cursor-backwards`, `cursor-missing`, `list-changed` (rows were added or removed during the reading: read
   * it again), `list-emptied` (rows already read are gone, for example from today's list after midnight) or
   * `page-cap`.
   */
  pages(): AsyncIterable<Page<Row>>;
  /**
   * Returns every row. If rows are added or removed during the reading, reads the list again, up to three times in
   * total.
   *
   * @throws {ProtocolError} Like {@linkcode Paged.pages}, and with the code `list-too-large`.
   */
  toArray(): Promise<Row[]>;
  /**
   * Whether the last iteration reached the end; false before it, after an error, and after leaving it early.
   */
  readonly isComplete: boolean;
  /**
   * Why rows may be missing after the last one, although the last iteration reached the end. Possible reasons: the
   * broker rejected the query for further rows, the last row has no cursor for such a query, or an answer had no list
   * (`{}`). `undefined` if the broker has shown that nothing follows.
   */
  readonly unproven: string | undefined;
}

/** Default number of rows per page: the most that the broker allows. */
const PAGE_SIZE = 99;
const MAX_PAGES = 1_000_000;
const MAX_LIST_BYTES = 2 ** 30;
/** Approximate memory of a value besides its text, bytes. */
const VALUE_BYTES = 16;

type Call = (
  operation: AnyOperation,
  params: Record<string, unknown>,
  options: CallOptions,
) => Promise<unknown>;

/** Maximum number of times that `toArray` reads a list that changes during the reading. */
const READINGS = 3;

/** Returns the list of a paged operation. Loads the operation at the first iteration. */
export function paged<Row>(
  load: () => Promise<AnyOperation>,
  params: Record<string, unknown>,
  { maxPages = MAX_PAGES, maxListBytes = MAX_LIST_BYTES, ...options }: PagingOptions,
  call: Call,
): Paged<Row> {
  let isComplete = false;
  let unproven: string | undefined;
  async function* pages(): AsyncGenerator<Page<Row>> {
    isComplete = false;
    unproven = undefined;
    const operation = await load();
    const source = walkPages<Row>({
      operation,
      params: { limit: PAGE_SIZE, ...params },
      maxPages,
      ask: (asked) => call(operation, asked, options),
      onUnproven: (reason) => unproven = reason,
    });
    for await (const page of source) {
      yield page;
      if (page.isLast) isComplete = true;
    }
  }
  async function* rows(): AsyncGenerator<Row> {
    for await (const page of pages()) yield* page.rows;
  }
  async function readOnce(): Promise<Row[]> {
    const all: Row[] = [];
    let bytes = 0;
    for await (const page of pages()) {
      for (const row of page.rows) {
        bytes += sizeOf(row);
        all.push(row);
      }
      if (bytes <= maxListBytes) continue;
      const { name } = await load();
      throw new ProtocolError(
        `Cannot read ${name} to its end: its rows need more than ${maxListBytes} bytes of memory`,
        { code: "list-too-large", operation: name },
      );
    }
    return all;
  }
  return {
    pages,
    [Symbol.asyncIterator]: rows,
    async toArray() {
      for (let reading = 1;; reading++) {
        try {
          return await readOnce();
        } catch (error) {
          const mayHelp = error instanceof ProtocolError && error.code === LIST_CHANGED;
          if (reading === READINGS || !mayHelp) throw error;
        }
      }
    },
    get isComplete() {
      return isComplete;
    },
    get unproven() {
      return unproven;
    },
  };
}

/**
 * Returns approximately how many bytes of memory a row needs. The catalogue decodes rows, so they are not nested
 * deeply.
 */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return VALUE_BYTES + value.length;
  if (typeof value !== "object" || value === null) return VALUE_BYTES;
  let bytes = VALUE_BYTES;
  for (const each of Object.values(value)) bytes += sizeOf(each);
  return bytes;
}

/** Returns whether paging ended because the list changed during the reading. */
export function isListChanged(error: unknown): error is ProtocolError {
  return error instanceof ProtocolError && (error.code === LIST_CHANGED || error.code === LIST_EMPTIED);
}
