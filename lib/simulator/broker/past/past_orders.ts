/**
 * Adds conditional and algorithmic orders to the generated past. They explain ordinary orders that the past already
 * has: a triggered conditional order sent one of them, and the child of an algorithmic order is one of them. So the
 * lists agree with each other. There are no such orders for options.
 *
 * @module
 */
import { SecurityType } from "../../../dictionaries/security_type.ts";
import type { AlgoOrder } from "../../../operations/algo.ts";
import type { ConditionalOrder } from "../../../operations/conditional_orders.ts";
import { gridOf } from "../../market/grid.ts";
import type { Instrument, SimulatedMarket } from "../../market/mod.ts";
import { toUnits } from "../../market/packing.ts";
import { FIRST_DATE } from "../../market/timeline.ts";
import { amountOf, meanPrice, writePrice } from "../account/money.ts";
import { type Past, pastStatuses } from "./past.ts";
import { toPrice } from "./past_prices.ts";
import { clockText, orderNumber } from "../sessions.ts";

/** An algorithmic order of the past, with the order numbers of its children. */
export interface PastAlgo {
  row: AlgoOrder;
  children: readonly string[];
}

/** The conditional and algorithmic orders of one market's past, oldest first. */
export interface PastOrders {
  conditional: readonly ConditionalOrder[];
  algo: readonly PastAlgo[];
}

/**
 * In each period of this many days: one day has a triggered conditional order, one has an untriggered one, and one has
 * none.
 */
const CONDITIONAL_EVERY = 3;
/** One of this many days has an algorithmic order. */
const ALGO_EVERY = 5;
const HALF_HOUR = 1_800;
/** First digits of order numbers. */
const CONDITIONAL_DIGIT = 8;
const ALGO_DIGIT = 7;
const DEFAULT_INTERVAL = 60;

/** Makes the conditional and algorithmic orders of a market's past. */
export function makePastOrders(past: Past, simulated: SimulatedMarket): PastOrders {
  const conditional: ConditionalOrder[] = [];
  const algo: PastAlgo[] = [];
  let place = 0;
  past.days.forEach(({ date }, day) => {
    const orders = Array.from({ length: past.orderCounts[day] ?? 0 }, (_, each) => place + each);
    place += orders.length;
    // The market has no prices before its first day. The simulator invents such prices from later days, so no trigger
    // can be checked.
    if (date < FIRST_DATE) return;
    const filled = orders.filter((order) => (past.orderFillCount[order] ?? 0) > 0)
      .map((order) => readOrder(past, order, simulated))
      .filter(({ instrument }) => instrument.kind !== "option");
    const [first, last] = [filled[0], filled.at(-1)];
    if (first === undefined || last === undefined) return;
    if (day % CONDITIONAL_EVERY === 1) conditional.push(triggered(first, day));
    if (day % CONDITIONAL_EVERY === 2) conditional.push(untriggered(first, day, simulated));
    if (day % ALGO_EVERY === 3 && last !== first) algo.push(algoOf(last));
  });
  return { conditional, algo };
}

/** An ordinary order of the past. */
interface PastOrderFacts {
  id: string;
  date: string;
  /** Second of the local day. */
  second: number;
  instrument: Instrument;
  isSell: boolean;
  quantity: number;
  price: bigint;
  filled: bigint;
  filledCents: bigint;
  isComplete: boolean;
  /** Second of the local day at which the market closes. */
  closes: number;
}

function readOrder(past: Past, order: number, simulated: SimulatedMarket): PastOrderFacts {
  const day = past.days[past.orderDay[order] ?? 0]!; // an order has a day
  const symbol = past.symbols[past.orderSymbol[order] ?? 0] ?? "";
  const instrument = simulated.instrument(symbol, day.date);
  if (instrument === undefined) {
    throw new RangeError(`Cannot find "${symbol}": the simulated market does not trade it`);
  }
  const [first, count] = [past.orderFirstFill[order] ?? 0, past.orderFillCount[order] ?? 0];
  let [filled, filledCents] = [0n, 0n];
  for (let fill = first; fill < first + count; fill++) {
    const quantity = BigInt(past.fillQuantity[fill] ?? 0);
    filled += quantity;
    filledCents += amountOf(past.fillPrice[fill] ?? 0n, quantity, BigInt(instrument.multiplier));
  }
  const midnight = Date.parse(`${day.date}T00:00:00Z`) - day.offset;
  return {
    id: orderNumber(past.market, day.date, past.orderPlace[order] ?? 0),
    date: day.date,
    second: past.orderSecond[order] ?? 0,
    instrument,
    isSell: past.orderIsSell[order] === 1,
    quantity: past.orderQuantity[order] ?? 0,
    price: past.orderPrice[order] ?? 0n,
    filled,
    filledCents,
    isComplete: pastStatuses[past.orderStatus[order] ?? 0] === "filled",
    closes: (day.closeAt - midnight) / 1000,
  };
}

/**
 * Returns a conditional order that was placed half an hour before this ordinary order and sent it when it triggered.
 */
function triggered(order: PastOrderFacts, day: number): ConditionalOrder {
  const kind = Math.floor(day / CONDITIONAL_EVERY) % 2 === 0 ? "stop-loss-limit" : "take-profit-limit";
  return conditionalRow(order, {
    orderType: kind,
    status: "triggered",
    second: Math.max(0, order.second - HALF_HOUR),
    price: order.price,
    quantity: order.quantity,
  });
}

/** Returns a stop-loss sale far below the market, which expired or was deleted. */
function untriggered(order: PastOrderFacts, day: number, simulated: SimulatedMarket): ConditionalOrder {
  const { instrument: { symbol, market, lotSize, kind }, date } = order;
  const low = toUnits(simulated.dayBar(symbol, date)?.low ?? "0");
  return conditionalRow({ ...order, isSell: true }, {
    orderType: "stop-loss-limit",
    status: Math.floor(day / CONDITIONAL_EVERY) % 2 === 0 ? "expired" : "deleted",
    second: order.second,
    price: toPrice(gridOf(market, date, kind).snap(low * 0.7)),
    quantity: lotSize,
  });
}

function conditionalRow(
  { instrument, date, isSell }: PastOrderFacts,
  { orderType, status, second, price, quantity }: {
    orderType: ConditionalOrder["orderType"];
    status: ConditionalOrder["status"];
    second: number;
    price: bigint;
    quantity: number;
  },
): ConditionalOrder {
  const next = new Date(Date.parse(`${date}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
  return {
    orderId: numberOf(CONDITIONAL_DIGIT, instrument, date),
    securityType: SecurityType.decode(instrument.dataType),
    symbol: instrument.symbol,
    name: instrument.name,
    nameTc: instrument.nameTc,
    nameEn: instrument.name,
    market: instrument.market,
    orderType,
    tradingHours: "regular",
    status,
    canCancel: false,
    canAmend: false,
    side: isSell ? "sell" : "buy",
    quantity: String(quantity),
    createdAt: `${date} ${clockText(second)}`,
    endsAt: `${next} ${clockText(second)}`,
    triggerValue: writePrice(price),
    price: writePrice(price),
  };
}

/** Returns an iceberg order whose only child is this ordinary order. */
function algoOf(order: PastOrderFacts): PastAlgo {
  const { instrument, date, second, quantity, filled, filledCents, price, isComplete, closes } = order;
  const row: AlgoOrder = {
    orderId: numberOf(ALGO_DIGIT, instrument, date),
    symbol: instrument.symbol,
    market: instrument.market,
    date,
    orderType: "limit",
    price: writePrice(price),
    quantity: String(quantity),
    filledQuantity: String(filled),
    unfilledQuantity: String(BigInt(quantity) - filled),
    averagePrice: writePrice(meanPrice(filledCents, filled, BigInt(instrument.multiplier))),
    status: isComplete ? "filled" : "done-for-the-day",
    side: order.isSell ? "sell" : "buy",
    strategy: "iceberg",
    strategyStatus: isComplete ? "start" : "stop",
    settings: {
      displayQuantity: String(quantity),
      startTime: "00:00:00",
      endTime: "00:00:00",
      intervalSec: DEFAULT_INTERVAL,
    },
    lotSize: String(instrument.lotSize),
    sentAt: `${date} ${clockText(second)}`,
    changedAt: `${date} ${clockText(isComplete ? second : closes)}`,
  };
  return { row, children: [order.id] };
}

/** Returns an order number. Each market has at most one such order a day; the last digit identifies the market. */
function numberOf(digit: number, { market }: Instrument, date: string): string {
  return `${digit}${date.slice(2).replaceAll("-", "")}${
    orderNumber(market, date, 1).slice(0, 1).padStart(6, "0")
  }`;
}
