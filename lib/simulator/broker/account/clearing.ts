/**
 * Clears a day: charges the fees, merges Hong Kong's fills, and moves the day into history.
 *
 * @module
 */
import type { Market } from "../../../dictionaries/market.ts";
import type { FeeItems } from "../../../facts/fees.ts";
import type { Fill } from "../../../operations/fills.ts";
import type { JournalEntry } from "../../../operations/fund_journal.ts";
import { totalOf, tradeLine } from "../past/history.ts";
import { factsOf, filledCentsOf, filledOf, type LiveOrder } from "../orders/live_order.ts";
import { amountOf, meanPrice, readCents, readPrice } from "./money.ts";
import { fillRow, journalRow, orderRow } from "../rows.ts";
import { bookRules, localTime } from "../sessions.ts";
import { chargeInterest } from "./shorts.ts";
import type { State } from "../state.ts";

interface ClearedRow {
  at: number;
  fill: Fill;
  line: JournalEntry;
}

/** Clears a market's day. Call it only when all orders of the day have ended. */
export function clearMarket(state: State, market: Market): void {
  const today = state.today[market];
  const { day, orders } = today;
  const rows: ClearedRow[] = [];
  for (const order of orders) {
    if (order.fills.length === 0) continue;
    const fees = state.charges(order);
    const total = totalOf(fees);
    const currency = bookRules[market].currency;
    state.cash[currency] -= total;
    const holding = state.holdings[market].get(order.instrument.symbol);
    // The fees of a trade that opens a position are part of its cost.
    const isOpening = order.isSell === (order.isShort ?? false);
    if (isOpening && holding !== undefined) holding.costCents += total;
    rows.push(...market === "hk" ? [mergedRow(order, fees)] : singleRows(order, fees));
  }
  // A stable sort keeps fills of the same second in the order in which they were made.
  rows.sort((a, b) => a.at - b.at);
  state.histories[market].append(day.date, {
    orders: orders.map((order) => orderRow(factsOf(order))),
    fills: rows.map(({ fill }) => fill),
    journal: [
      ...today.lines,
      ...expireOptions(state, market),
      ...chargeInterest(state, market),
      ...rows.map(({ line }) => line),
    ],
  });
  for (const { id } of orders) state.byId.delete(id);
}

function singleRows(order: LiveOrder, fees: readonly FeeItems[]): ClearedRow[] {
  const facts = factsOf(order);
  return order.fills.map(({ at, price, quantity }, place) => {
    const time = localTime(order.day, at);
    const charged = fees[place];
    return {
      at,
      fill: fillRow(facts, {
        price,
        quantity,
        time: time.slice(11),
        ...(charged && { fees: { ...charged } }),
      }),
      line: tradeLine(
        order.isSell,
        amountOf(price, quantity, order.multiplier),
        readCents(charged?.total ?? "0"),
        time,
      ),
    };
  });
}

/** Returns all fills of an order on one day as one row with their mean price. */
function mergedRow(order: LiveOrder, fees: readonly FeeItems[]): ClearedRow {
  const at = order.fills.at(-1)?.at ?? order.placedAt;
  const time = localTime(order.day, at);
  const [quantity, cents] = [filledOf(order), filledCentsOf(order)];
  const price = meanPrice(cents, quantity, order.multiplier);
  const [charged] = fees;
  return {
    at,
    fill: fillRow(factsOf(order), {
      price,
      quantity,
      time: time.slice(11),
      ...(charged && { fees: { ...charged } }),
    }),
    line: tradeLine(order.isSell, cents, totalOf(fees), time),
  };
}

/** Removes options from the account on their last day. If an option has a value, adds this value to the cash. */
function expireOptions(state: State, market: Market): JournalEntry[] {
  const { day } = state.today[market];
  const lines: JournalEntry[] = [];
  for (const [symbol, { quantity }] of [...state.holdings[market]]) {
    const option = state.market.instrument(symbol)?.option;
    if (option === undefined || option.expiry > day.date) continue;
    const spot = state.tape.price(option.underlying, day.closeAt);
    const strike = readPrice(option.strike);
    const value = option.optionType === "call" ? spot - strike : strike - spot;
    const cents = value > 0n ? amountOf(value, quantity, 100n) : 0n;
    state.cash[bookRules[market].currency] += cents;
    state.holdings[market].delete(symbol);
    const time = localTime(day, day.closeAt);
    lines.push(journalRow(cents > 0n ? "option-auto-exercise" : "option-expiry", cents, time));
  }
  return lines;
}
