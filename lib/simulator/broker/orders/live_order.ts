/**
 * Defines an order of the current trading day, and returns its values for lists and pushes.
 *
 * @module
 */
import type { FuturesOrderOption, FuturesOrderType, FuturesValidity } from "../../../dictionaries/futures.ts";
import type { OrderStatus } from "../../../dictionaries/order_status.ts";
import type { OrderType } from "../../../dictionaries/order_type.ts";
import type { Side } from "../../../dictionaries/side.ts";
import type { OrderUpdate } from "../../../operations/pushes.ts";
import type { Order } from "../../../operations/orders.ts";
import type { ExtendedSession } from "../../../calendars/mod.ts";
import type { Instrument } from "../../market/mod.ts";
import { hashText, mix } from "../../market/random.ts";
import { amountOf, writeCents, writePrice } from "../account/money.ts";
import type { OrderFacts } from "../rows.ts";
import { type Book, type BookDay, localTime } from "../sessions.ts";

/**
 * How a fill came about: the order took a level of the book; a trade at its limit passed the volume ahead of it; the
 * market traded beyond its limit; an auction matched it; or a participant of the odd-lot market took it.
 */
export type FillRule = "book" | "queue" | "through" | "opening-auction" | "closing-auction" | "odd-lot";

/** A fill of today. */
export interface LiveFill {
  id: string;
  price: bigint;
  quantity: bigint;
  at: number;
  /** Why the market filled it; the broker does not show this to clients. */
  rule: FillRule;
  /** The session of the trade if it was outside the regular hours. */
  session?: ExtendedSession;
}

/** Terms that only futures orders have. */
interface FuturesTerms {
  orderType: FuturesOrderType;
  validity: FuturesValidity;
  validUntil?: string;
  session: FuturesOrderOption;
}

/** An amendment on its way to the exchange. */
export interface Amendment {
  /** When the broker accepted it. */
  sentAt: number;
  quantity: bigint;
  /** Quantity above the single-order maximum, for further orders. */
  further: bigint;
  price: bigint;
  frozenPrice: bigint;
  /** Terms that only futures orders have. */
  futures?: Pick<FuturesTerms, "validity" | "validUntil">;
}

/** An order of today. */
export interface LiveOrder {
  id: string;
  book: Book;
  instrument: Instrument;
  multiplier: bigint;
  isSell: boolean;
  /** Whether the order opens or closes a short position. */
  isShort?: boolean;
  /** Type of the order; futures orders have their type in {@linkcode LiveOrder.futures}. */
  orderType: OrderType;
  /** Limit price. Zero means any price; for a purchase, any price up to `frozenPrice`. */
  price: bigint;
  /** Price for which a purchase freezes cash, and a short sale margin. */
  frozenPrice: bigint;
  quantity: bigint;
  /** Day on which the order was placed. */
  day: BookDay;
  placedAt: number;
  /** Whether the order is also valid in extended hours, or in the night session of futures. */
  extended: boolean;
  status: OrderStatus;
  remark?: string;
  venue?: Order["venue"];
  fills: LiveFill[];
  /** Quantities of the parts into which the unfilled rest is split. They take from the order book one after another. */
  slices: bigint[];
  /** Earliest instant at which the order can take from the order book, on a whole second. */
  readyAt: number;
  /**
   * Whether the broker has sent the order to the exchange. The broker holds back an order whose price is too far from
   * the market.
   */
  isSent?: boolean;
  /**
   * Furthest limit with which the broker sends the order to the exchange: the highest for a purchase, the
   * lowest for a sale. If the order's own limit is less far, the broker sends the order with its own limit.
   */
  furthest?: bigint;
  /** Volume ahead of the order in the queue at its limit; absent until the order has joined the queue. */
  ahead?: bigint;
  /** Instant up to which the market was searched for the next match without success. */
  scannedUntil: number;
  /** When a cancellation that has been sent reaches the exchange; `Infinity` if the exchange never accepts it. */
  cancelAt?: number;
  /** An amendment that has not reached the exchange. Until then, the order is matched with its other terms. */
  amendment?: Amendment;
  /** Second in which the market may next fill the order; absent if it is not known yet. */
  next?: number;
  futures?: FuturesTerms;
}

/** Milliseconds from the acceptance of an order, an amendment or a cancellation until the exchange has it. */
const EXCHANGE_DELAY_MS = 1_000;
/** Milliseconds between the parts of an order that take from the order book. */
export const NEXT_FILL_MS = 2_000;

/**
 * Maximum size of an order that is not split: in shares for a stock whose lot is one share, otherwise in lots or
 * contracts.
 */
const LOTS_AT_ONCE = 4n;
const SHARES_AT_ONCE = 100n;

const openStatuses: readonly OrderStatus[] = [
  "accepted",
  "part-filled",
  "cancel-pending",
  "part-filled-cancel-pending",
  "amend-pending",
  "part-filled-amend-pending",
];

/** Returns whether an order can still be filled. */
export function isOpen({ status }: Pick<LiveOrder, "status">): boolean {
  return openStatuses.includes(status);
}

/** Returns the quantity filled so far. */
export function filledOf({ fills }: LiveOrder): bigint {
  return fills.reduce((sum, { quantity }) => sum + quantity, 0n);
}

/** Returns the amount filled so far, cents. */
export function filledCentsOf({ fills, multiplier }: LiveOrder): bigint {
  return fills.reduce((sum, { price, quantity }) => sum + amountOf(price, quantity, multiplier), 0n);
}

/** Returns the quantity left to fill; zero if the order has ended. */
export function leftOf(order: LiveOrder): bigint {
  return isOpen(order) ? order.quantity - filledOf(order) : 0n;
}

/** Returns the largest quantity that may still be filled: with the order's terms, or with those of its amendment. */
export function mostLeftOf(order: LiveOrder): bigint {
  const { amendment } = order;
  const left = leftOf(order);
  if (amendment === undefined || !isOpen(order)) return left;
  const amended = amendment.quantity + amendment.further - filledOf(order);
  return amended > left ? amended : left;
}

/** Returns the price and the quantity for lists and pushes: those of an amendment from when the broker accepts it. */
export function shownTerms(order: LiveOrder): { price: bigint; quantity: bigint } {
  const { price, quantity } = order.amendment ?? order;
  const filled = filledOf(order);
  return { price, quantity: quantity > filled ? quantity : filled };
}

/** Returns the status of an order that is open. */
export function openStatus({ fills, cancelAt, amendment }: LiveOrder): OrderStatus {
  const isPart = fills.length > 0;
  if (cancelAt !== undefined) return isPart ? "part-filled-cancel-pending" : "cancel-pending";
  if (amendment !== undefined) return isPart ? "part-filled-amend-pending" : "amend-pending";
  return isPart ? "part-filled" : "accepted";
}

/** Returns the whole second at which a request that the broker accepts at an instant reaches the exchange. */
export function reachesExchange(at: number): number {
  return Math.ceil((at + EXCHANGE_DELAY_MS) / 1000) * 1000;
}

/**
 * Makes a new or amended order ready for the exchange: splits its unfilled rest into parts, and resets what is known
 * about its next match. A small rest is one part.
 */
export function makeReady(order: LiveOrder, at: number, seed: number): void {
  const left = order.quantity - filledOf(order);
  const lot = BigInt(order.instrument.lotSize);
  const lots = left / lot;
  const { kind, lotSize } = order.instrument;
  const atOnce = lotSize === 1 && kind !== "option" && kind !== "future" ? SHARES_AT_ONCE : LOTS_AT_ONCE;
  const count = lots <= atOnce ? 1n : 2n + BigInt(mix(seed, hashText(order.id)) % 3);
  const part = lots / count * lot;
  order.slices = Array.from(
    { length: Number(count) },
    (_, index) => index === 0 ? left - part * (count - 1n) : part,
  );
  order.readyAt = reachesExchange(at);
  order.scannedUntil = 0;
  delete order.ahead;
  delete order.next;
  delete order.isSent;
  delete order.furthest;
}

/** Returns the side of an order. */
function sideOf({ isSell, isShort = false }: LiveOrder): Side {
  return isShort ? (isSell ? "short-open" : "short-close") : isSell ? "sell" : "buy";
}

/** Returns the values for a row in the lists. */
export function factsOf(order: LiveOrder): OrderFacts {
  const { book, day, placedAt, fills } = order;
  const last = fills.at(-1);
  const { price, quantity } = shownTerms(order);
  const canChange = isOpen(order) && order.cancelAt === undefined;
  return {
    symbol: order.instrument.symbol,
    name: order.instrument.name,
    // Futures have their own kind of rows, without the market.
    market: book === "futures" ? "hk" : book,
    orderId: order.id,
    side: sideOf(order),
    orderType: order.orderType,
    price,
    quantity,
    filled: filledOf(order),
    filledCents: filledCentsOf(order),
    multiplier: order.multiplier,
    date: day.date,
    orderTime: localTime(day, placedAt).slice(11),
    ...(last === undefined ? {} : { fillTime: localTime(day, last.at).slice(11) }),
    status: order.status,
    canCancel: canChange,
    // Stock Connect does not allow amendments.
    canAmend: canChange && order.amendment === undefined && book !== "shanghai" && book !== "shenzhen",
    ...(order.remark === undefined ? {} : { remark: order.remark }),
    ...(order.venue === undefined ? {} : { venue: order.venue }),
  };
}

/** Content of a push besides the order's state. */
export interface UpdateDetails {
  fill?: LiveFill;
  /** Quantity and price before an amendment. */
  original?: { quantity: bigint; price: bigint };
}

/** Returns the push for a change. */
export function updateOf(order: LiveOrder, at: number, { fill, original }: UpdateDetails = {}): OrderUpdate {
  const filled = filledOf(order);
  const { price, quantity } = shownTerms(order);
  const [date, time] = localTime(order.day, at).split(" ");
  return {
    symbol: order.instrument.symbol,
    name: order.instrument.name,
    ...(order.book === "futures" ? {} : { market: order.book }),
    orderId: order.id,
    side: sideOf(order),
    status: order.status,
    price: writePrice(price),
    quantity: String(quantity),
    filledQuantity: String(filled),
    filledAmount: writeCents(filledCentsOf(order)),
    unfilledQuantity: String(quantity - filled),
    ...(date === undefined ? {} : { date }),
    ...(time === undefined ? {} : { time }),
    recordId: order.id,
    ...(order.remark === undefined ? {} : { remark: order.remark }),
    ...(fill === undefined
      ? {}
      : { fillPrice: writePrice(fill.price), fillQuantity: String(fill.quantity), matchId: fill.id }),
    ...(original === undefined ? {} : {
      originalQuantity: String(original.quantity),
      originalPrice: writePrice(original.price),
    }),
  };
}
