/**
 * Defines the lists of a day book: the operations that return each list, and the fields that identify a row.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import { isListChanged, type Paged, type PagingOptions } from "../../client/paging.ts";
import { isNoAnswer, type Page } from "../../client/page_walk.ts";
import { fillFields, fills } from "../../operations/fills.ts";
import { fundJournal, journalFields } from "../../operations/fund_journal.ts";
import { futures, futuresOrderFields } from "../../operations/futures.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import { isListMissing, LIST_LEFT_OUT } from "../../operations/wire_rows.ts";
import { orderFields, orders } from "../../operations/orders.ts";
import { fillIdentity, journalIdentity, orderIdentity } from "../../operations/shared.ts";
import type { FieldsInfo } from "../../operations/types.ts";
import type { AnyRow } from "../rows/columns.ts";
import type { DayBookList, DayBookMarket } from "../types.ts";

/** Pages of rows, and functions that report how the list ended. */
export interface Source {
  pages: AsyncIterable<Page<AnyRow>>;
  /** Returns whether paging reached the end. */
  isComplete: () => boolean;
  /**
   * Returns why rows may be missing after the last one. Returns `undefined` if the broker has confirmed the end, or has
   * left out the list ({@linkcode isLeftOut}). Always returns `undefined` for a list that comes in one answer, even if
   * it has as many rows as its {@linkcode ListSpec.cap}.
   */
  unproven: () => string | undefined;
  /**
   * Returns whether the answer had no list. Some servers leave out empty lists, so this does not prove an error.
   */
  isLeftOut: () => boolean;
}

/** One list: the operations that return it, and the fields that identify a row. */
export interface ListSpec {
  readonly list: DayBookList;
  /** Returns rows of past days. */
  readonly history: AnyOperation;
  /** Returns rows of the current day. The export selects them by their date. */
  readonly today: AnyOperation;
  /** Maximum number of rows of the current day that the broker returns, if there is a limit. */
  readonly cap?: number;
  /** Member that contains the day of a history row. */
  readonly dated: "date" | "time";
  /**
   * Fields that identify a row. Clearing does not change them, so a row keeps its key when its fees arrive. Hong
   * Kong's fills are an exception: clearing merges them, and the merged rows have new keys.
   */
  readonly identity: readonly string[];
  /** Fields of the rows on the wire. */
  readonly fields: FieldsInfo;
}

/** Lists of each market. */
const marketLists: readonly ListSpec[] = [
  {
    list: "fills",
    history: fills.history,
    today: fills.today,
    dated: "date",
    identity: fillIdentity,
    fields: fillFields,
  },
  {
    list: "orders",
    history: orders.history,
    today: orders.today,
    dated: "date",
    identity: orderIdentity,
    fields: orderFields,
  },
  {
    list: "fund_journal",
    history: fundJournal.history,
    today: fundJournal.today,
    dated: "time",
    identity: journalIdentity,
    fields: journalFields,
  },
];

/** Lists of the futures account, which has no markets. */
export const futuresLists: readonly ListSpec[] = [
  {
    list: "futures_fills",
    history: futures.fillsHistory,
    today: futures.fillsToday,
    cap: 200,
    dated: "date",
    identity: fillIdentity,
    fields: futuresOrderFields,
  },
  {
    list: "futures_orders",
    history: futures.ordersHistory,
    today: futures.ordersToday,
    cap: 500,
    dated: "date",
    identity: orderIdentity,
    fields: futuresOrderFields,
  },
];

/** Returns the lists of a market or of the futures account. */
export function listsOf(market: DayBookMarket): readonly ListSpec[] {
  return market === "futures" ? futuresLists : marketLists;
}

/** Rows per page. */
const PAGE_ROWS = 99;

/** Parameters for any list. Each operation gets only the parameters that it has. */
interface ListParams {
  market: DayBookMarket;
  from: string;
  to: string;
}

/** Returns the pages of an operation's list. */
export function sourceOf(
  client: Client,
  operation: AnyOperation,
  wanted: ListParams,
  options: PagingOptions,
): Source {
  const given: Readonly<Record<string, unknown>> = { ...wanted, limit: PAGE_ROWS };
  const names = Object.keys(operation.request.fields ?? {}).filter((name) => given[name] !== undefined);
  const asked: ListQuery = {
    client,
    operation,
    params: Object.fromEntries(names.map((name) => [name, given[name]])),
    options,
  };
  return withMissingAsEmpty(operation.paging === undefined ? readWhole(asked) : readPages(asked));
}

/**
 * Treats an answer without a list as an empty list with an unconfirmed end, so that the export compares it with the
 * kept day. After the first page, throws the error instead.
 */
function withMissingAsEmpty({ pages, isComplete, unproven, isLeftOut }: Source): Source {
  let missing: string | undefined;
  async function* tolerant(): AsyncGenerator<Page<AnyRow>> {
    let count = 0;
    try {
      for await (const page of pages) {
        count++;
        yield page;
      }
    } catch (error) {
      if (count > 0 || !isNoAnswer(error)) throw error;
      missing = `there is no list in the answer (${error.message})`;
      yield { rows: [], number: 1, isLast: true };
    }
  }
  return {
    pages: tolerant(),
    isComplete: () => missing !== undefined || isComplete(),
    unproven: () => missing ?? unproven(),
    isLeftOut,
  };
}

/** A query for a list. */
interface ListQuery {
  client: Client;
  operation: AnyOperation;
  params: Readonly<Record<string, unknown>>;
  options: PagingOptions;
}

/** Reads a list that the broker returns in one answer. */
function readWhole({ client, operation, params, options }: ListQuery): Source {
  let isComplete = false;
  let isLeftOut = false;
  async function* pages(): AsyncGenerator<Page<AnyRow>> {
    const answer: object = await client.call(operation, params, options);
    const rows = rowsOf(answer);
    isLeftOut = isListMissing(answer);
    isComplete = true;
    yield { rows, number: 1, isLast: true };
  }
  return {
    pages: pages(),
    isComplete: () => isComplete,
    unproven: () => undefined,
    isLeftOut: () => isLeftOut,
  };
}

/**
 * Reads a list in pages. If the list changes during the reading, keeps the rows so far and reports the
 * change.
 */
function readPages({ client, operation, params, options }: ListQuery): Source {
  const [family = "", name = ""] = operation.name.split(".");
  // The client has one method per operation of the catalogue, with the operation's name.
  const methods = client as unknown as Readonly<Record<string, Readonly<Record<string, PagedMethod>>>>;
  const paged = methods[family]![name]!(params, options);
  let changed: string | undefined;
  async function* pages(): AsyncGenerator<Page<AnyRow>> {
    try {
      yield* paged.pages();
    } catch (error) {
      if (!isListChanged(error)) throw error;
      changed = error.message;
    }
  }
  return {
    pages: pages(),
    isComplete: () => paged.isComplete || changed !== undefined,
    unproven: () => changed ?? (paged.unproven === LIST_LEFT_OUT ? undefined : paged.unproven),
    isLeftOut: () => paged.unproven === LIST_LEFT_OUT,
  };
}

type PagedMethod = (params: Readonly<Record<string, unknown>>, options: PagingOptions) => Paged<AnyRow>;

/** Returns the rows of an answer: either the answer is the list, or it has a list next to counters. */
function rowsOf(answer: unknown): AnyRow[] {
  // The catalogue decodes both forms into records.
  return Array.isArray(answer) ? answer : (answer as { rows: AnyRow[] }).rows;
}

/**
 * Yields pages and requests each page early, so that the broker prepares it while the export writes the page before
 * it. Keeps at most two pages in memory.
 */
export async function* ahead<T>(pages: AsyncIterable<T>): AsyncGenerator<T> {
  const walk = pages[Symbol.asyncIterator]();
  let next = walk.next();
  try {
    while (true) {
      const { done, value } = await next;
      if (done) return;
      next = walk.next();
      next.catch(() => {}); // the loop awaits it, unless the caller stops first
      yield value;
    }
  } finally {
    await walk.return?.();
  }
}
