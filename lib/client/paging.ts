/**
 * Long lists, page after page.
 *
 * @module
 */
import { ProtocolError } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { LIST_CHANGED, LIST_EMPTIED, walkPages } from "./page_walk.ts";
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
   * Walks page by page. Each walk asks the broker anew, and once more at the end to prove that nothing follows.
   *
   * @throws {ProtocolError} When the list cannot be read to its end. Its `code` says why: `page-missing` (a page came
   * without rows, and more should follow), `page-repeated`, `cursor-repeated`, `cursor-backwards`, `cursor-missing`,
   * `list-changed` (rows came in or went while it was read: read it again), `list-emptied` (rows that came are gone,
   * as after midnight in a list of today) or `page-cap`.
   */
  pages(): AsyncIterable<Page<Row>>;
  /**
   * Collects every row. Reads up to three times a list into which rows come while it is read.
   *
   * @throws {ProtocolError} As {@linkcode Paged.pages}.
   */
  toArray(): Promise<Row[]>;
  /** Whether the last walk reached the end; false before, after an error and after leaving it early. */
  readonly isComplete: boolean;
  /**
   * Why rows may be missing behind the last one, although the walk reached the end: the broker's last page was a
   * short one, and the broker did not answer what follows, or its answer had no list at all (`{}`). `undefined` when the broker has shown that nothing follows.
   */
  readonly unproven: string | undefined;
}

/** Rows asked for at once when the caller does not say: the most that the broker takes. */
const PAGE_SIZE = 99;
const MAX_PAGES = 1_000_000;

type Call = (
  operation: AnyOperation,
  params: Record<string, unknown>,
  options: CallOptions,
) => Promise<unknown>;

/** How often `toArray` reads a list that changes while it is read. */
const READINGS = 3;

/** Makes the list of an operation that answers in pages. */
export function paged<Row>(
  operation: AnyOperation,
  params: Record<string, unknown>,
  { maxPages = MAX_PAGES, ...options }: PagingOptions,
  call: Call,
): Paged<Row> {
  let isComplete = false;
  let unproven: string | undefined;
  async function* pages(): AsyncGenerator<Page<Row>> {
    isComplete = false;
    unproven = undefined;
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
    for await (const page of pages()) for (const row of page.rows) all.push(row);
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

/** Returns whether a walk ended because the list became another one while it was read. */
export function isListChanged(error: unknown): error is ProtocolError {
  return error instanceof ProtocolError && (error.code === LIST_CHANGED || error.code === LIST_EMPTIED);
}
