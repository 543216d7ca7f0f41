/**
 * The lists of a day book: where each comes from, and what identifies a row of it.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { isListChanged, type Page, type Paged, type PagingOptions } from "../client/paging.ts";
import { isNoAnswer } from "../client/page_walk.ts";
import { fillFields, fills } from "../operations/fills.ts";
import { fundJournal, journalFields } from "../operations/fund_journal.ts";
import { futures, futuresOrderFields } from "../operations/futures.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { isListMissing, LIST_LEFT_OUT } from "../operations/wire_rows.ts";
import { orderFields, orders } from "../operations/orders.ts";
import { fillIdentity, journalIdentity, orderIdentity } from "../operations/shared.ts";
import type { FieldsInfo } from "../operations/types.ts";
import type { AnyRow } from "./columns.ts";
import type { DayBookList, DayBookMarket } from "./types.ts";

/** Pages of rows, and what is known about the end of the list. */
export interface Source {
  pages: AsyncIterable<Page<AnyRow>>;
  /** Whether the walk reached the end. */
  isComplete: () => boolean;
  /** Why the list may go on behind the last row of the walk; `undefined` when the broker has shown that it ends. */
  unproven: () => string | undefined;
  /** The answer had no list, as that of a server that leaves out empty lists; alone that proves nothing. */
  isLeftOut: () => boolean;
}

/** One list: the operations that answer it, and what identifies a row. */
export interface ListSpec {
  readonly list: DayBookList;
  /** Rows of past days. */
  readonly history: AnyOperation;
  /** Rows of the running day. They are kept to the day by their date. */
  readonly today: AnyOperation;
  /** The most rows of the running day that the broker answers with, where there is a limit. */
  readonly cap?: number;
  /** Member with the day of a row in the history. */
  readonly dated: "date" | "time";
  /**
   * Fields that identify a row. They are the same before and after clearing, so that a row keeps its key when its
   * fees arrive; only Hong Kong's fills are merged then, and get the keys of the merged rows.
   */
  readonly identity: readonly string[];
  /** What the rows are on the wire. */
  readonly fields: FieldsInfo;
}

/** Lists of each market. */
export const marketLists: readonly ListSpec[] = [
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

/** Lists that an account has. */
export function listsOf(market: DayBookMarket): readonly ListSpec[] {
  return market === "futures" ? futuresLists : marketLists;
}

/** Rows of a page. */
const PAGE_ROWS = 99;

/** What a list is asked for; each operation takes what it knows of. */
export interface Wanted {
  market: DayBookMarket;
  from: string;
  to: string;
}

/** Walks the list of an operation. */
export function sourceOf(
  client: Client,
  operation: AnyOperation,
  wanted: Wanted,
  options: PagingOptions,
): Source {
  const given: Readonly<Record<string, unknown>> = { ...wanted, limit: PAGE_ROWS };
  const names = Object.keys(operation.request.fields ?? {}).filter((name) => given[name] !== undefined);
  const asked: Asked = {
    client,
    operation,
    params: Object.fromEntries(names.map((name) => [name, given[name]])),
    options,
  };
  return orNothing(operation.paging === undefined ? whole(asked) : walk(asked));
}

/**
 * Takes an answer without a list for an empty list that nobody has shown to be empty, so that what is kept of the day
 * is compared with it. A list that breaks off behind its first page is an error.
 */
function orNothing({ pages, isComplete, unproven, isLeftOut }: Source): Source {
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

interface Asked {
  client: Client;
  operation: AnyOperation;
  params: Readonly<Record<string, unknown>>;
  options: PagingOptions;
}

/** A list that comes at once. */
function whole({ client, operation, params, options }: Asked): Source {
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

/** A list that comes in pages. One that changes while it is read stays with what came, and says so. */
function walk({ client, operation, params, options }: Asked): Source {
  const [family = "", name = ""] = operation.name.split(".");
  // The client has a method for each operation of the catalogue, under its name.
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

/** Rows of an answer: lists come bare, or with counters beside them. */
function rowsOf(answer: unknown): AnyRow[] {
  // The catalogue decodes both into records.
  return Array.isArray(answer) ? answer : (answer as { rows: AnyRow[] }).rows;
}

/**
 * Walks pages with one asked for ahead, so that the broker works on the next page while this one is written.
 * At most two pages are held.
 */
export async function* ahead<T>(pages: AsyncIterable<T>): AsyncGenerator<T> {
  const walk = pages[Symbol.asyncIterator]();
  let next = walk.next();
  try {
    while (true) {
      const { done, value } = await next;
      if (done) return;
      next = walk.next();
      next.catch(() => {}); // awaited above, unless whoever reads stops first
      yield value;
    }
  } finally {
    await walk.return?.();
  }
}
