/**
 * Keeps the futures account: cash, positions, and a generated history.
 *
 * Cash is the deposits plus realised profit minus fees. A position's profit becomes cash when the position is
 * closed, or when it is settled at the last price of its last trading day. Fees are charged with each fill.
 *
 * @module
 */
import { type Decimal, divide } from "../../../decimal.ts";
import type { FuturesOrderOption } from "../../../dictionaries/futures.ts";
import { OrderStatus } from "../../../dictionaries/order_status.ts";
import { futureContract, futureContracts } from "../../../facts/contracts.ts";
import { feesOf, type Tariff } from "../../../facts/fees.ts";
import type { FuturesOrder } from "../../../operations/futures.ts";
import type { SimulatedMarket } from "../../market/mod.ts";
import { FIRST_DATE } from "../../market/timeline.ts";
import { DayList } from "../past/day_list.ts";
import {
  filledCentsOf,
  filledOf,
  isOpen,
  type LiveFill,
  type LiveOrder,
  shownTerms,
} from "../orders/live_order.ts";
import { amountOf, meanPrice, readCents, readPrice, writePrice } from "./money.ts";
import { statusText } from "../rows.ts";
import { type BookDay, localTime, orderNumber } from "../sessions.ts";

/** A position; a short position has a negative quantity. */
export interface Position {
  quantity: bigint;
  /** Absolute value at the prices paid, cents. */
  costCents: bigint;
  realisedCents: bigint;
}

/** One trade of a contract. */
interface FutureTrade {
  symbol: string;
  date: string;
  isSell: boolean;
  price: bigint;
  quantity: bigint;
}

/** Deposit before the first day, cents. */
const FUTURES_DEPOSIT = 100_000_000n;

const magnitude = (value: bigint) => value < 0n ? -value : value;

/** Cash and positions of futures. */
export class FuturesAccount {
  cash: bigint = FUTURES_DEPOSIT;
  realised = 0n;
  fees = 0n;
  readonly positions = new Map<string, Position>();
  readonly orders = new DayList<FuturesOrder>();
  readonly fills = new DayList<FuturesOrder>();
  readonly #tariff: Tariff;

  constructor(tariff: Tariff) {
    this.#tariff = tariff;
  }

  /** Records a trade: its fees, and the profit of the contracts that it closes. */
  trade({ symbol, date, isSell, price, quantity }: FutureTrade): void {
    const fills = [{ price: writePrice(price), quantity: String(quantity) }];
    const side = isSell ? "sell" : "buy";
    const { order } = feesOf({ market: "hk-future", symbol, date, side, fills }, this.#tariff);
    const fee = readCents(order.total);
    this.fees += fee;
    this.cash -= fee;
    this.#change(symbol, isSell ? -quantity : quantity, price);
  }

  /** Settles the positions in contracts whose last trading day has ended. */
  settle(date: string, priceOf: (symbol: string) => bigint): void {
    for (const [symbol, { quantity }] of [...this.positions]) {
      const contract = futureContract(symbol);
      if (contract === undefined || contract.lastTradingDay > date || quantity === 0n) continue;
      this.#change(symbol, -quantity, priceOf(symbol));
      this.positions.delete(symbol);
    }
  }

  #change(symbol: string, change: bigint, price: bigint): void {
    const multiplier = BigInt(futureContract(symbol)?.multiplier ?? "1");
    const held = this.positions.get(symbol) ?? { quantity: 0n, costCents: 0n, realisedCents: 0n };
    const isClosing = held.quantity !== 0n && held.quantity > 0n !== change > 0n;
    const closed = isClosing
      ? (magnitude(change) < magnitude(held.quantity) ? magnitude(change) : magnitude(held.quantity))
      : 0n;
    const cost = closed === 0n ? 0n : held.costCents * closed / magnitude(held.quantity);
    const value = amountOf(price, closed, multiplier);
    const profit = held.quantity > 0n ? value - cost : cost - value;
    const opened = magnitude(change) - closed;
    this.positions.set(symbol, {
      quantity: held.quantity + change,
      costCents: held.costCents - cost + amountOf(price, opened, multiplier),
      realisedCents: held.realisedCents + profit,
    });
    this.realised += profit;
    this.cash += profit;
  }
}

/** Number of decimals of an index future's price. */
const DECIMALS = 0;

/** In each period of this many days, one day begins with trades of its night session. */
const NIGHT_EVERY = 4;

/**
 * Generates the history of the futures account. On each day, the account buys one contract, sells one contract, or does
 * both. It keeps some contracts overnight. On some days, it also buys and sells one contract in the night session with
 * which the day begins.
 */
export function makeFuturesPast(
  account: FuturesAccount,
  days: readonly BookDay[],
  market: SimulatedMarket,
): void {
  let kept: string | undefined;
  days.forEach((day, index) => {
    const { date } = day;
    if (date < FIRST_DATE) return;
    const isLast = index === days.length - 1;
    const bars = (symbol: string) => market.dayBar(symbol, date);
    const trades = index % NIGHT_EVERY === 1 ? nightTrades(day, market) : [];
    if (kept !== undefined) {
      trades.push({
        symbol: kept,
        isSell: true,
        time: "09:31:10",
        price: bars(kept)?.open,
        session: "default",
      });
    }
    const symbol = kept === undefined || isLast ? frontContract(date) : undefined;
    kept = undefined;
    if (symbol !== undefined) {
      const bar = bars(symbol);
      trades.push({ symbol, isSell: false, time: "10:05:42", price: bar?.open, session: "default" });
      if (index % 5 === 3 || isLast) kept = symbol;
      else trades.push({ symbol, isSell: true, time: "15:20:07", price: bar?.close, session: "default" });
    }
    const rows = trades.flatMap(({ symbol, isSell, time, session, ...traded }, place) => {
      if (traded.price === undefined) return [];
      const price = readPrice(traded.price);
      account.trade({ symbol, date, isSell, price, quantity: 1n });
      const side = isSell ? "sell" as const : "buy" as const;
      const text = writePrice(price, DECIMALS);
      return [{
        symbol,
        name: futureContract(symbol)?.name ?? symbol,
        orderId: orderNumber("futures", date, place + 1),
        side,
        orderType: "limit" as const,
        orderTypeText: "limit",
        price: text,
        quantity: "1",
        fillPrice: text,
        filledQuantity: "1",
        date,
        orderTime: time,
        fillTime: time,
        status: "filled" as const,
        statusText: OrderStatus.entries.find(({ name }) => name === "filled")?.label ?? "filled",
        canCancel: false,
        canAmend: false,
        isValid: true,
        validity: "day" as const,
        validityText: "day",
        session,
      }];
    });
    account.orders.append(date, rows);
    account.fills.append(date, rows);
  });
}

/** A trade of the generated history; without a price if the contract did not trade. */
interface PastTrade {
  symbol: string;
  isSell: boolean;
  /** Local time. */
  time: string;
  price: Decimal | undefined;
  session: FuturesOrderOption;
}

/** Returns a purchase and a sale of the night session with which a day begins; none if there was no such session. */
function nightTrades(day: BookDay, market: SimulatedMarket): PastTrade[] {
  const [night] = day.extended;
  const symbol = frontContract(day.date);
  if (night === undefined || symbol === undefined) return [];
  return [{ isSell: false, after: 3_600 }, { isSell: true, after: 16_200 }].map(({ isSell, after }) => {
    const at = night.from + after * 1000;
    // Before the first day of the market there are no prices.
    const isKnown = market.sessionAt(symbol, at) !== undefined;
    return {
      symbol,
      isSell,
      time: localTime(day, at).slice(11),
      price: isKnown ? market.lastPrice(symbol, at, { extended: true }) : undefined,
      session: "after-hours",
    };
  });
}

/** Returns the nearest mini contract that does not expire within the next week. */
function frontContract(date: string): string | undefined {
  const soon = new Date(Date.parse(`${date}T00:00:00Z`) + 7 * 86_400_000).toISOString().slice(0, 10);
  return futureContracts(date).find(({ product, lastTradingDay }) =>
    product === "MHI" && lastTradingDay > soon
  )?.symbol;
}

/** Returns a price in index points. Prices are whole points, but a mean price may have decimals. */
export function points(price: bigint): string {
  const text = writePrice(price, DECIMALS);
  return text.includes(".") ? divide(text, "1", 4, "half-up") : text;
}

const validityTexts: Record<string, string> = {
  "day": "day",
  "fill-and-cancel": "fill and cancel rest",
  "fill-or-cancel": "fill or cancel",
  "until-expiry": "until expiry",
};

/** Returns the row of an order. With `fill`, returns the row of that fill, whose trading day is `date`. */
export function futuresRow(order: LiveOrder, fill?: LiveFill & { date: string }): FuturesOrder {
  const { instrument, day, fills, status, amendment } = order;
  const { price, quantity } = shownTerms(order);
  const futures = order.futures && { ...order.futures, ...amendment?.futures };
  const last = fill ?? fills.at(-1);
  const filled = fill?.quantity ?? filledOf(order);
  const mean = fill?.price ?? meanPrice(filledCentsOf(order), filled, order.multiplier);
  const [, fillTime] = last === undefined ? [] : localTime(day, last.at).split(" ");
  const canChange = fill === undefined && isOpen(order) && order.cancelAt === undefined;
  const orderType = futures?.orderType ?? "limit";
  return {
    symbol: instrument.symbol,
    name: instrument.name,
    orderId: order.id,
    side: order.isSell ? "sell" : "buy",
    orderType,
    orderTypeText: orderType,
    price: points(price),
    quantity: String(quantity),
    fillPrice: points(mean),
    filledQuantity: String(filled),
    date: fill?.date ?? day.date,
    orderTime: localTime(day, order.placedAt).slice(11),
    ...(fillTime === undefined ? {} : { fillTime }),
    status,
    statusText: statusText(status),
    canCancel: canChange,
    canAmend: canChange && amendment === undefined,
    isValid: canChange,
    validity: futures?.validity ?? "day",
    validityText: futures?.validUntil?.replaceAll("-", "/") ?? validityTexts[futures?.validity ?? "day"] ??
      "day",
    ...(futures?.validUntil === undefined ? {} : { validUntil: futures.validUntil }),
    session: futures?.session ?? "default",
  };
}

/** Returns today's rows with their cursors, which count from 1. */
export function numbered(rows: FuturesOrder[]): FuturesOrder[] {
  return rows.map((row, index) => ({ ...row, cursor: String(index + 1) }));
}

/** Returns a page of history by page number. */
export function pageOf(
  list: DayList<FuturesOrder>,
  { from, to, page = 1, limit = 20 }: { from: string; to: string; page?: number; limit?: number },
) {
  const { start, end } = list.range(from, to);
  const rows = list.slice(start + (page - 1) * limit, end, limit);
  const totalPages = Math.max(1, Math.ceil((end - start) / limit));
  return { rows, page, limit, totalPages, isLast: page >= totalPages };
}
