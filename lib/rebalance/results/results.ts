/**
 * Reports what the execution of a plan did, from the intents of the plan and the broker's lists.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import {
  add,
  compare,
  type Decimal,
  divide,
  isZero,
  multiply,
  negate,
  normalize,
  subtract,
  sumOf,
} from "../../decimal.ts";
import { isSameSymbol, zoneOfMarket } from "../../desk/broker_lists.ts";
import { currencyOf } from "../../desk/guards/order.ts";
import type { Intent } from "../../desk/intent.ts";
import { dateAt } from "../../calendars/mod.ts";
import type { Market } from "../../dictionaries/market.ts";
import { BrokerError } from "../../errors.ts";
import type { Plan, PlannedPosition } from "../solver/plan.ts";
import { missingOf, type Progress, progressOf } from "../execution/progress.ts";
import type { PlanRecord } from "../queries.ts";
import type { RebalanceReport, Slippage, TradeReport } from "./report.ts";

/** Decimals of an average price. */
export const PRICE_PLACES = 6;
/** Decimals of a fraction, and of a sum of squared drifts. */
const PART_PLACES = 8;
const DRIFT_PLACES = 20;

/** The fills of one or more orders, as the broker's lists show them. */
export interface Filled {
  quantity: Decimal;
  amount: Decimal;
  /** Absent until the broker has booked the fees. */
  fees?: Decimal;
}

/**
 * Reads the fills of a plan's orders. If a list of a market cannot be read, the prices, the fees or both stay unknown
 * for that market.
 */
async function readFilled(
  client: Client,
  plan: Plan,
  { now, signal }: { now: number; signal?: AbortSignal | undefined },
): Promise<ReadonlyMap<string, Filled>> {
  const filled = new Map<string, Filled>();
  const options = signal === undefined ? {} : { signal };
  for (const market of new Set(plan.trades.map((trade) => trade.market))) {
    try {
      await readMarket(client, market, { plan, now, options, filled });
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
    }
  }
  return filled;
}

async function readMarket(
  client: Client,
  market: Market,
  { plan, now, options, filled }: {
    plan: Plan;
    now: number;
    options: { signal?: AbortSignal };
    filled: Map<string, Filled>;
  },
): Promise<void> {
  const today = dateAt(now, zoneOfMarket(market));
  const days = { from: plan.date < today ? plan.date : today, to: today };
  const rows = [
    ...await client.orders.history({ market, ...days }, options).toArray(),
    ...await client.orders.today({ market }, options).toArray(),
  ];
  for (const { orderId, filledQuantity = "0", fillAmount, fillPrice } of rows) {
    const amount = fillAmount ?? (fillPrice === undefined ? undefined : multiply(fillPrice, filledQuantity));
    if (isZero(filledQuantity) || amount === undefined) continue;
    filled.set(orderId, { quantity: filledQuantity, amount });
  }
  // The broker books fees after the day, so only the history contains them.
  const charged = new Map<string, { quantity: Decimal; fees: Decimal }>();
  for await (const { orderId, filledQuantity, fees } of client.fills.history({ market, ...days }, options)) {
    if (orderId === undefined || fees?.total === undefined) continue;
    const before = charged.get(orderId) ?? { quantity: "0", fees: "0" };
    charged.set(orderId, {
      quantity: add(before.quantity, filledQuantity),
      fees: add(before.fees, fees.total),
    });
  }
  for (const [orderId, { quantity, fees }] of charged) {
    const order = filled.get(orderId);
    if (order !== undefined && compare(order.quantity, quantity) === 0) order.fees = fees;
  }
}

/** Returns the orders that have an intent's fills. The fills of an algorithmic order are fills of its child orders. */
export const filledIdsOf = ({ orderIds, childIds }: Intent): readonly string[] =>
  childIds.length > 0 ? childIds : orderIds;

/**
 * Returns the sum of the fills of some orders; `undefined` if nothing is filled, or if the lists do not show the whole
 * filled quantity.
 */
export function filledOf(
  orders: ReadonlyMap<string, Filled>,
  { orderIds, filled }: { orderIds: readonly string[]; filled: Decimal },
): Filled | undefined {
  const rows = orderIds.flatMap((id) => orders.get(id) ?? []);
  const quantity = sumOf(rows.map((row) => row.quantity));
  if (isZero(filled) || compare(quantity, filled) !== 0) return undefined;
  const fees = rows.map((row) => row.fees).filter((each) => each !== undefined);
  return {
    quantity,
    amount: sumOf(rows.map((row) => row.amount)),
    ...fees.length === rows.length && { fees: sumOf(fees) },
  };
}

/** Returns how much some fills cost compared with the arrival price. */
export function slippageOf(
  side: "buy" | "sell",
  { amount, quantity }: Filled,
  arrival: Decimal,
): Slippage {
  const atArrival = multiply(arrival, quantity);
  const more = subtract(amount, atArrival);
  const money = normalize(side === "buy" ? more : negate(more));
  return {
    money,
    part: isZero(atArrival) ? "0" : normalize(divide(money, atArrival, PART_PLACES, "half-even")),
  };
}

/** Options of {@linkcode reportOf}. */
export interface ReportOptions {
  /** The time at the broker. */
  now: number;
  signal?: AbortSignal | undefined;
}

/**
 * Resolves to what the execution of a plan has done so far. Reads the broker's lists for prices and fees; sends no
 * write. A later report may have more fees, because the broker books them after the day.
 *
 * @param intents The intents of the plan.
 */
export async function reportOf(
  client: Client,
  record: PlanRecord,
  intents: readonly Intent[],
  { now, signal }: ReportOptions,
): Promise<RebalanceReport> {
  return reportFrom(record, intents, await readFilled(client, record.plan, { now, signal }));
}

/** Returns what the execution of a plan has done according to the store: without average prices and booked fees. */
export const storedReport = (record: PlanRecord, intents: readonly Intent[]): RebalanceReport =>
  reportFrom(record, intents, new Map());

function reportFrom(
  record: PlanRecord,
  intents: readonly Intent[],
  orders: ReadonlyMap<string, Filled>,
): RebalanceReport {
  const { plan, arrival, state, reason, startedAt = record.plannedAt, endedAt } = record;
  const progress = progressOf(plan, intents);
  const trades = plan.trades.map((trade, index): TradeReport => {
    const { filled, open, unknown, left, intents: own } = progress[index]!;
    const missing = missingOf(trade, progress[index]!);
    const known = filledOf(orders, { orderIds: own.flatMap(filledIdsOf), filled });
    const arrivalPrice = arrival[index]?.price;
    const why = whyLeft(record, index, { missing, left });
    return {
      market: trade.market,
      symbol: trade.symbol,
      currency: currencyOf(trade.market, trade.symbol),
      side: trade.side,
      planned: normalize(trade.quantity),
      filled: normalize(filled),
      open: normalize(open),
      unknown: normalize(unknown),
      remaining: normalize(missing),
      ...why !== undefined && { reason: why },
      orderIds: own.flatMap((intent) => [...intent.orderIds]),
      ...known && {
        averagePrice: normalize(divide(known.amount, known.quantity, PRICE_PLACES, "half-even")),
      },
      ...arrivalPrice !== undefined && { arrivalPrice },
      ...known && arrivalPrice !== undefined && { slippage: slippageOf(trade.side, known, arrivalPrice) },
      fees: {
        estimated: trade.fees,
        ...isZero(filled) && isZero(open) && isZero(unknown)
          ? { booked: "0" }
          : known?.fees !== undefined && { booked: known.fees },
      },
    };
  });
  const booked = trades.every(({ fees }) => fees.booked !== undefined);
  return {
    hash: plan.hash,
    state: state === "done" || state === "stopped" ? state : "running",
    ...reason !== undefined && { reason },
    startedAt,
    ...endedAt !== undefined && { endedAt },
    trades,
    slippage: sums(trades, ({ slippage }) => slippage?.money),
    fees: {
      estimated: sums(trades, ({ fees }) => fees.estimated),
      ...booked && { booked: sums(trades, ({ fees }) => fees.booked) },
    },
    drift: {
      before: plan.sumSquaredDriftBefore,
      planned: plan.sumSquaredDrift,
      reached: driftReached(plan, progress),
    },
  };
}

/** Returns why a part of a trade remains; `undefined` if nothing remains. */
export function whyLeft(
  { notes, reason }: Pick<PlanRecord, "notes" | "reason">,
  index: number,
  { missing, left }: { missing: Decimal; left: Decimal },
): string | undefined {
  if (isZero(missing)) return undefined;
  const why = isZero(left)
    ? "an order was reduced after it was sent; hsgate does not order the missing quantity again"
    : undefined;
  return notes[index]?.text ?? why ?? reason;
}

/** Returns sums by currency. Trades without a value are left out. */
function sums(
  trades: readonly TradeReport[],
  of: (trade: TradeReport) => Decimal | undefined,
): Record<string, Decimal> {
  const all: Record<string, Decimal> = {};
  for (const trade of trades) {
    const value = of(trade);
    if (value !== undefined) all[trade.currency] = normalize(add(all[trade.currency] ?? "0", value));
  }
  return all;
}

/** Returns the sum of squared drifts after the fills so far, at the plan's prices. */
export function driftReached(
  { base, value, positions, trades, sumSquaredDrift }: Plan,
  progress: readonly Progress[],
): Decimal {
  const filledOf = ({ market, symbol }: PlannedPosition) =>
    sumOf(trades.map((each, index) => {
      if (each.market !== market || !isSameSymbol(each.symbol, symbol)) return "0";
      const quantity = progress[index]!.filled;
      return each.side === "buy" ? quantity : negate(quantity);
    }));
  const driftText = (sum: Decimal, square: Decimal) =>
    normalize(divide(sum, square, DRIFT_PLACES, "half-even"));
  const squares = (parts: readonly Decimal[]) => sumOf(parts.map((part) => multiply(part, part)));
  // The weights of a plan are rounded. If all prices are in the base currency, the quantities give the exact drifts.
  if (positions.every(({ currency }) => currency === base)) {
    const parts = positions.map((each) =>
      subtract(multiply(add(each.quantity, filledOf(each)), each.price), multiply(each.target, value))
    );
    return driftText(squares(parts), multiply(value, value));
  }
  let sum = sumSquaredDrift;
  for (const position of positions) {
    const { trade, drift, driftAfter } = position;
    if (isZero(trade)) continue;
    // The drift changes in proportion to the quantity.
    const missing = multiply(subtract(driftAfter, drift), subtract(trade, filledOf(position)));
    const reached = subtract(driftAfter, divide(missing, trade, DRIFT_PLACES, "half-even"));
    sum = add(sum, multiply(reached, reached), negate(multiply(driftAfter, driftAfter)));
  }
  return compare(sum, "0") < 0 ? "0" : driftText(sum, "1");
}
