/**
 * The futures account: cash, positions, and what its history consists of.
 *
 * Cash is what was paid in, plus realised profit, minus fees; a position's profit is not in cash until it is
 * closed or settled at the last price of its last trading day. Fees are charged with the fill.
 *
 * @module
 */
import { feesOf, type Tariff } from "../../facts/fees.ts";
import { futureContract, futureContracts } from "../../facts/futures.ts";
import { OrderStatus } from "../../dictionaries/order_status.ts";
import type { FuturesOrder } from "../../operations/futures.ts";
import type { SimulatedMarket } from "../market/mod.ts";
import { FIRST_DATE } from "../market/timeline.ts";
import { DayList } from "./day_list.ts";
import { amountOf, readCents, readPrice, writePrice } from "./money.ts";
import { type BookDay, orderNumber } from "./sessions.ts";

/** A position; short is negative. */
export interface Position {
  quantity: bigint;
  /** Value at the prices paid, without a sign, cents. */
  costCents: bigint;
  realisedCents: bigint;
}

/** One trade of a contract. */
export interface FutureTrade {
  symbol: string;
  date: string;
  isSell: boolean;
  price: bigint;
  quantity: bigint;
}

/** What was paid in before the first day, cents. */
export const FUTURES_DEPOSIT = 100_000_000n;

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

  /** Books a trade: fees, and the profit of what it closes. */
  trade({ symbol, date, isSell, price, quantity }: FutureTrade): void {
    const fills = [{ price: writePrice(price), quantity: String(quantity) }];
    const side = isSell ? "sell" : "buy";
    const { order } = feesOf({ market: "hk-future", symbol, date, side, fills }, this.#tariff);
    const fee = readCents(order.total);
    this.fees += fee;
    this.cash -= fee;
    this.#change(symbol, isSell ? -quantity : quantity, price);
  }

  /** Settles the positions of contracts whose last day has ended. */
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

/** Decimals of an index future's price. */
const POINTS = 0;

/** Makes the past of the futures account: each day a contract bought and sold, some kept over night. */
export function makeFuturesPast(
  account: FuturesAccount,
  days: readonly BookDay[],
  market: SimulatedMarket,
): void {
  let kept: string | undefined;
  days.forEach(({ date }, index) => {
    if (date < FIRST_DATE) return;
    const isLast = index === days.length - 1;
    const trades: { symbol: string; isSell: boolean; time: string; open: boolean }[] = [];
    if (kept !== undefined) trades.push({ symbol: kept, isSell: true, time: "09:31:10", open: true });
    const symbol = kept === undefined || isLast ? frontContract(date) : undefined;
    kept = undefined;
    if (symbol !== undefined) {
      trades.push({ symbol, isSell: false, time: "10:05:42", open: true });
      if (index % 5 === 3 || isLast) kept = symbol;
      else trades.push({ symbol, isSell: true, time: "15:20:07", open: false });
    }
    const rows = trades.flatMap(({ symbol, isSell, time, open }, place) => {
      const bar = market.dayBar(symbol, date);
      if (bar === undefined) return [];
      const price = readPrice(open ? bar.open : bar.close);
      account.trade({ symbol, date, isSell, price, quantity: 1n });
      const side = isSell ? "sell" as const : "buy" as const;
      const text = writePrice(price, POINTS);
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
        session: "default" as const,
      }];
    });
    account.orders.append(date, rows);
    account.fills.append(date, rows);
  });
}

/** The nearest mini contract that does not end within the next days. */
function frontContract(date: string): string | undefined {
  const soon = new Date(Date.parse(`${date}T00:00:00Z`) + 7 * 86_400_000).toISOString().slice(0, 10);
  return futureContracts(date).find(({ product, lastTradingDay }) =>
    product === "MHI" && lastTradingDay > soon
  )?.symbol;
}
