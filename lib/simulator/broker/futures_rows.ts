/**
 * Rows of the futures lists, and their pages.
 *
 * @module
 */
import { divide } from "../../decimal.ts";
import type { FuturesOrder } from "../../operations/futures.ts";
import type { DayList } from "./day_list.ts";
import { filledCentsOf, filledOf, isOpen, type LiveFill, type LiveOrder } from "./live_order.ts";
import { meanPrice, writePrice } from "./money.ts";
import { statusText } from "./rows.ts";
import { localTime } from "./sessions.ts";

/** Index points are whole; a mean of several may not be. */
export function points(price: bigint): string {
  const text = writePrice(price, 0);
  return text.includes(".") ? divide(text, "1", 4, "half-up") : text;
}

const validityTexts: Record<string, string> = {
  "day": "day",
  "fill-and-cancel": "fill and cancel rest",
  "fill-or-cancel": "fill or cancel",
  "until-expiry": "until expiry",
};

/** Writes an order, or one fill of it. */
export function futuresRow(order: LiveOrder, fill?: LiveFill): FuturesOrder {
  const { instrument, day, futures, fills, status, price } = order;
  const last = fill ?? fills.at(-1);
  const filled = fill?.quantity ?? filledOf(order);
  const mean = fill?.price ?? meanPrice(filledCentsOf(order), filled, order.multiplier);
  const [fillDate, fillTime] = last === undefined ? [] : localTime(day, last.at).split(" ");
  const canChange = fill === undefined && isOpen(order);
  const orderType = futures?.orderType ?? "limit";
  return {
    symbol: instrument.symbol,
    name: instrument.name,
    orderId: order.id,
    side: order.isSell ? "sell" : "buy",
    orderType,
    orderTypeText: orderType,
    price: points(price),
    quantity: String(order.quantity),
    fillPrice: points(mean),
    filledQuantity: String(filled),
    date: fill === undefined ? day.date : fillDate ?? day.date,
    orderTime: localTime(day, order.placedAt).slice(11),
    ...(fillTime === undefined ? {} : { fillTime }),
    status,
    statusText: statusText(status),
    canCancel: canChange,
    canAmend: canChange,
    isValid: canChange,
    validity: futures?.validity ?? "day",
    validityText: futures?.validUntil?.replaceAll("-", "/") ?? validityTexts[futures?.validity ?? "day"] ??
      "day",
    ...(futures?.validUntil === undefined ? {} : { validUntil: futures.validUntil }),
    session: futures?.session ?? "default",
  };
}

/** Gives the rows of today their cursors. */
export function numbered(rows: FuturesOrder[]): FuturesOrder[] {
  return rows.map((row, index) => ({ ...row, cursor: String(index + 1) }));
}

/** Returns a page of history by its number. */
export function pageOf(
  list: DayList<FuturesOrder>,
  { from, to, page = 1, limit = 20 }: { from: string; to: string; page?: number; limit?: number },
) {
  const { start, end } = list.range(from, to);
  const rows = list.slice(start + (page - 1) * limit, end, limit);
  const totalPages = Math.max(1, Math.ceil((end - start) / limit));
  return { rows, page, limit, totalPages, isLast: page >= totalPages };
}
