/**
 * The lists of a day book: where each comes from, and what identifies a row of it.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { Page, Paged, PagingOptions } from "../client/paging.ts";
import type { Market } from "../dictionaries/market.ts";
import type { AnyRow } from "./columns.ts";
import type { DayBookList } from "./types.ts";

/** Pages of rows, and whether the list may have been cut. */
export interface Source {
  pages: AsyncIterable<Page<AnyRow>>;
  /** Whether the walk reached the end. */
  isComplete: () => boolean;
  /** The most rows that the broker answers with, where there is a limit. */
  cap?: number;
}

/** One list. */
export interface ListSpec {
  readonly list: DayBookList;
  /**
   * Fields that identify a row. They are the same before and after clearing, so that a row keeps its key when its
   * fees arrive; only Hong Kong's fills are merged then, and get the keys of the merged rows.
   */
  readonly identity: readonly string[];
  history: (client: Client, market: Market, day: string, options: PagingOptions) => Source;
  /** The list of the running day. Its rows are kept to the day by their date. */
  today: (client: Client, market: Market, options: PagingOptions) => Source;
}

const fillIdentity = ["orderId", "symbol", "side", "fillTime", "fillPrice", "filledQuantity"];

function walk<Row extends object>(paged: Paged<Row>): Source {
  // A record of the catalogue is a plain object; its type only lacks the index signature.
  return { pages: paged.pages() as AsyncIterable<Page<AnyRow>>, isComplete: () => paged.isComplete };
}

/** A list that comes at once, with a limit on its rows. */
function whole<Row extends object>(fetch: () => Promise<Row[]>, cap: number): Source {
  let isComplete = false;
  async function* pages(): AsyncGenerator<Page<AnyRow>> {
    const rows = await fetch();
    isComplete = true;
    yield { rows: rows as unknown as AnyRow[], number: 1, isLast: true }; // as above
  }
  return { pages: pages(), isComplete: () => isComplete, cap };
}

/** Lists of each market. */
export const marketLists: readonly ListSpec[] = [
  {
    list: "fills",
    identity: fillIdentity,
    history: (client, market, day, options) =>
      walk(client.fills.history({ market, from: day, to: day, limit: 99 }, options)),
    today: (client, market, options) => walk(client.fills.today({ market, limit: 99 }, options)),
  },
  {
    list: "orders",
    identity: ["orderId", "symbol", "side"],
    history: (client, market, day, options) =>
      walk(client.orders.history({ market, from: day, to: day, limit: 99 }, options)),
    today: (client, market, options) => walk(client.orders.today({ market, limit: 99 }, options)),
  },
  {
    list: "fund_journal",
    identity: ["amount", "type", "typeText", "parentType"],
    history: (client, market, day, options) =>
      walk(client.fundJournal.history({ market, from: day, to: day, limit: 99 }, options)),
    today: (client, market, options) => walk(client.fundJournal.today({ market, limit: 99 }, options)),
  },
];

/** Lists of the futures account, which has no markets. */
export const futuresLists: readonly ListSpec[] = [
  {
    list: "futures_fills",
    identity: fillIdentity,
    history: (client, _, day, options) =>
      walk(client.futures.fillsHistory({ from: day, to: day, limit: 99 }, options)),
    today: (client, _, options) => whole(() => client.futures.fillsToday({}, options), 200),
  },
  {
    list: "futures_orders",
    identity: ["orderId", "symbol", "side"],
    history: (client, _, day, options) =>
      walk(client.futures.ordersHistory({ from: day, to: day, limit: 99 }, options)),
    today: (client, _, options) => whole(() => client.futures.ordersToday({}, options), 500),
  },
];

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
