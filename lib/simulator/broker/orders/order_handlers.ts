/**
 * Handles the operations on orders, fills, journals, and conditional and algorithmic orders.
 *
 * @module
 */
import type { Market } from "../../../dictionaries/market.ts";
import type { JournalEntry } from "../../../operations/fund_journal.ts";
import { Refusal } from "../../contract.ts";
import type { BrokerName, Handlers } from "../../contract.ts";
import type { AlgoDesk } from "./algo.ts";
import { checkChange, invalid } from "./checks.ts";
import { type ConditionalDesk, isConditional } from "./conditional.ts";
import { factsOf, type LiveOrder, shownTerms } from "./live_order.ts";
import { amountOf, readPrice } from "../account/money.ts";
import { amendOrder, findOpen, placeOrder, requestCancel } from "./orders.ts";
import { fillRow, journalRow, orderRow } from "../rows.ts";
import { type Book, localTime } from "../sessions.ts";
import type { State } from "../state.ts";

type Names = Extract<
  BrokerName,
  `${"orders" | "fills" | "fundJournal" | "conditionalOrders" | "algo"}.${string}`
>;

/** Returns the books that a batch cancellation of a market covers: both mainland books for either mainland market. */
function booksToCancel(market: Market): readonly Book[] {
  return market === "shanghai" || market === "shenzhen" ? ["shanghai", "shenzhen"] : [market];
}

/** Returns the handlers. */
export function orderHandlers(
  state: State,
  { conditional, algo }: { conditional: ConditionalDesk; algo: AlgoDesk },
): Handlers<Names> {
  /** Cancels orders one by one. Returns the cancelled orders, and the others with the reasons. */
  const cancelEach = (market: Market, ids: readonly string[]) => {
    const cancelled: string[] = [];
    const failed: { orderId: string; remark: string }[] = [];
    for (const orderId of ids) {
      try {
        const order = findOpen(state, orderId, (book) => booksToCancel(market).includes(book));
        checkChange(state, order, "cancelled");
        requestCancel(state, order);
        cancelled.push(orderId);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        failed.push({ orderId, remark: error.text });
      }
    }
    return { cancelled, failed };
  };
  const findIn = (market: Market, id: string, symbol: string): LiveOrder => {
    const order = findOpen(state, id, (book) => book === market);
    if (order.instrument.symbol !== symbol) throw invalid(`order "${id}" is for another stock code`);
    return order;
  };

  return {
    "orders.place": (order) =>
      isConditional(order.orderType)
        ? { orderId: conditional.place(order) }
        : { orderId: placeOrder(state, { ...order, extended: order.tradingHours === "extended" }).id },
    "orders.amend": ({ market, symbol, orderId, quantity, price, orderType, ...terms }) => {
      if (isConditional(orderType)) {
        conditional.amend(orderId, {
          quantity,
          ...terms,
          ...(price === undefined ? {} : { price }),
        });
        return { orderId };
      }
      const order = findIn(market, orderId, symbol);
      amendOrder(state, order, { quantity, price: price ?? "0" });
      return { orderId };
    },
    "orders.cancel": ({ market, symbol, orderId, quantity, price, orderType }) => {
      if (isConditional(orderType)) {
        conditional.cancel(orderId);
        return { orderId };
      }
      const order = findIn(market, orderId, symbol);
      const shown = shownTerms(order);
      if (quantity !== undefined && readPrice(quantity) !== readPrice(String(shown.quantity))) {
        throw invalid(`the quantity of order "${orderId}" is ${shown.quantity}, not "${quantity}"`);
      }
      if (
        price !== undefined && shown.price !== 0n && /[1-9]/.test(price) && readPrice(price) !== shown.price
      ) {
        throw invalid(`the price of order "${orderId}" is not "${price}"`);
      }
      checkChange(state, order, "cancelled");
      requestCancel(state, order);
      return { orderId };
    },
    "orders.cancelMany": ({ market, orderIds }) => cancelEach(market, orderIds),
    "orders.cancelAll": ({ market }) =>
      cancelEach(
        market,
        booksToCancel(market).flatMap((book) => state.openOrders(book)).map(({ id }) => id),
      ),
    "orders.today": ({ market, limit = 20, cursor, orderIds }) => {
      const orders = state.today[market].orders.map((order, index) => ({ order, index }));
      const wanted = orderIds === undefined
        ? orders.slice(startAfter(cursor)).slice(0, limit)
        : orders.filter(({ order }) => orderIds.includes(order.id));
      return wanted.map(({ order, index }) => ({ ...orderRow(factsOf(order)), cursor: String(index + 1) }));
    },
    "orders.history": ({ market, cursor, ...query }) =>
      state.histories[market].orders.page({ ...query, after: startAfter(cursor) }),
    "fills.today": ({ market, limit = 20, cursor }) => {
      const start = startAfter(cursor);
      return state.today[market].fills.slice(start, start + limit).map(({ order, fill }, index) => ({
        ...fillRow(factsOf(order), {
          price: fill.price,
          quantity: fill.quantity,
          time: localTime(order.day, fill.at).slice(11),
          counterpartySeat: "0000",
        }),
        cursor: String(start + index + 1),
      }));
    },
    "fills.history": ({ market, cursor, ...query }) =>
      state.histories[market].fills.page({ ...query, after: startAfter(cursor) }),
    "fundJournal.today": ({ market, limit = 20, cursor }) => {
      const start = startAfter(cursor);
      const { lines, fills } = state.today[market];
      // A line of today has no time.
      const rows = [...lines.map(({ time: _, ...line }) => line), ...fills.map(journalLineOf)];
      return rows.slice(start, start + limit)
        .map((row, index) => ({ ...row, cursor: String(start + index + 1) }));
    },
    "fundJournal.history": ({ market, cursor, ...query }) =>
      state.histories[market].journal.page({ ...query, after: startAfter(cursor) }),
    "conditionalOrders.today": ({ market, symbol, page = 1, limit = 20 }) =>
      pageOf(conditional.today(market, symbol), page, limit),
    "conditionalOrders.history": ({ market, page = 1, limit = 20, ...query }) =>
      pageOf(conditional.history(market, query), page, limit),
    "algo.place": (order) => ({ orderId: algo.place(order) }),
    "algo.amend": ({ orderId, price, quantity, settings }) => {
      algo.amend(orderId, {
        ...(price === undefined ? {} : { price }),
        ...(quantity === undefined ? {} : { quantity }),
        ...(settings === undefined ? {} : { settings }),
      });
      return { orderId };
    },
    "algo.cancel": ({ orderId }) => {
      algo.cancel(orderId);
      return { orderId };
    },
    "algo.cancelChild": ({ orderId, childOrderId }) => {
      algo.cancelChild(orderId, childOrderId);
      return { orderId: childOrderId };
    },
    "algo.act": ({ orderId, action }) => {
      algo.act(orderId, action);
      return { orderId };
    },
    "algo.list": ({ from, to, market, symbol, page = 1, limit = 20 }) => {
      const only = {
        ...(market === undefined ? {} : { market }),
        ...(symbol === undefined ? {} : { symbol }),
      };
      return algo.list(from, to, only).slice((page - 1) * limit, page * limit);
    },
    "algo.children": ({ orderId, date }) => algo.children(orderId, date),
  };
}

/** Returns the index of the row after a cursor. A cursor is the position of a row, from 1. */
function startAfter(cursor = "0"): number {
  if (!/^\d{1,15}$/.test(cursor)) throw invalid(`"${cursor}" is not a cursor of this list`);
  return Number(cursor);
}

/** Returns the journal line of a fill of today; its fees are charged later. */
function journalLineOf({ order, fill }: State["today"][Market]["fills"][number]): JournalEntry {
  const amount = amountOf(fill.price, fill.quantity, order.multiplier);
  return order.isSell ? journalRow("sell-securities", amount) : journalRow("buy-securities", -amount);
}

function pageOf<Row>(rows: readonly Row[], page: number, limit: number) {
  return {
    rows: rows.slice((page - 1) * limit, page * limit),
    page,
    limit,
    totalPages: String(Math.max(1, Math.ceil(rows.length / limit))),
  };
}
