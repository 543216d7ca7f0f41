/**
 * An order of the current trading day, and what the lists and pushes show of it.
 *
 * @module
 */
import type { FuturesOrderOption, FuturesOrderType, FuturesValidity } from "../../dictionaries/futures.ts";
import type { OrderStatus } from "../../dictionaries/order_status.ts";
import type { OrderType } from "../../dictionaries/order_type.ts";
import type { OrderUpdate } from "../../operations/pushes.ts";
import type { Order } from "../../operations/orders.ts";
import type { Instrument } from "../market/mod.ts";
import { hashText, mix } from "../market/random.ts";
import { amountOf, writeCents, writePrice } from "./money.ts";
import type { OrderFacts } from "./rows.ts";
import { type Book, type BookDay, localTime } from "./sessions.ts";

/** A fill of today. */
export interface LiveFill {
  id: string;
  price: bigint;
  quantity: bigint;
  at: number;
}

/** What a futures order has beyond the others. */
export interface FuturesTerms {
  orderType: FuturesOrderType;
  validity: FuturesValidity;
  validUntil?: string;
  session: FuturesOrderOption;
}

/** An order of today. */
export interface LiveOrder {
  id: string;
  book: Book;
  instrument: Instrument;
  multiplier: bigint;
  isSell: boolean;
  /** Futures keep theirs in {@linkcode LiveOrder.futures}. */
  orderType: OrderType;
  /** Limit; zero takes any price up to what cash was frozen for. */
  price: bigint;
  /** Price that a purchase freezes cash at. */
  frozenPrice: bigint;
  quantity: bigint;
  /** Day on which it was placed. */
  day: BookDay;
  placedAt: number;
  /** Works in the hours before and after the market too. */
  extended: boolean;
  status: OrderStatus;
  remark?: string;
  venue?: Order["venue"];
  fills: LiveFill[];
  /** Parts in which what is left will be filled. */
  slices: bigint[];
  /** Earliest instant of the next fill, on a whole second. */
  readyAt: number;
  /** Up to where the market was looked through without finding the next fill. */
  scannedUntil: number;
  /** The next fill, when it is known. */
  next?: { at: number; price: bigint };
  futures?: FuturesTerms;
}

/** Milliseconds from an order's acceptance to its first fill, and from one fill to the next. */
export const FIRST_FILL_MS = 1_000;
/** Milliseconds between the fills of an order. */
export const NEXT_FILL_MS = 2_000;

/** Quantities of this many lots and less are filled at once, and of so many shares where a lot is one share. */
const LOTS_AT_ONCE = 4n;
const SHARES_AT_ONCE = 100n;

const openStatuses: readonly OrderStatus[] = ["accepted", "part-filled"];

/** Tells whether an order can still be filled. */
export function isOpen({ status }: LiveOrder): boolean {
  return openStatuses.includes(status);
}

/** Quantity filled so far. */
export function filledOf({ fills }: LiveOrder): bigint {
  return fills.reduce((sum, { quantity }) => sum + quantity, 0n);
}

/** Amount filled so far, cents. */
export function filledCentsOf({ fills, multiplier }: LiveOrder): bigint {
  return fills.reduce((sum, { price, quantity }) => sum + amountOf(price, quantity, multiplier), 0n);
}

/** Quantity that is left to fill. */
export function leftOf(order: LiveOrder): bigint {
  return isOpen(order) ? order.quantity - filledOf(order) : 0n;
}

/** Parts what is left of an order; a small one stays whole. */
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
  order.readyAt = Math.ceil((at + FIRST_FILL_MS) / 1000) * 1000;
  order.scannedUntil = 0;
  delete order.next;
}

/** Returns what a row of the lists is written from. */
export function factsOf(order: LiveOrder): OrderFacts {
  const { book, day, placedAt, fills } = order;
  const last = fills.at(-1);
  return {
    symbol: order.instrument.symbol,
    name: order.instrument.name,
    // Futures have rows of their own kind, which leave the market out.
    market: book === "futures" ? "hk" : book,
    orderId: order.id,
    side: order.isSell ? "sell" : "buy",
    orderType: order.orderType,
    price: order.price,
    quantity: order.quantity,
    filled: filledOf(order),
    filledCents: filledCentsOf(order),
    multiplier: order.multiplier,
    date: day.date,
    orderTime: localTime(day, placedAt).slice(11),
    ...(last === undefined ? {} : { fillTime: localTime(day, last.at).slice(11) }),
    status: order.status,
    canCancel: isOpen(order),
    // Stock Connect takes no amendments.
    canAmend: isOpen(order) && book !== "shanghai" && book !== "shenzhen",
    ...(order.remark === undefined ? {} : { remark: order.remark }),
    ...(order.venue === undefined ? {} : { venue: order.venue }),
  };
}

/** What a push tells beyond the order's state. */
export interface UpdateDetails {
  fill?: LiveFill;
  /** Quantity and price before an amendment. */
  original?: { quantity: bigint; price: bigint };
}

/** Writes what is pushed after a change. */
export function updateOf(order: LiveOrder, at: number, { fill, original }: UpdateDetails = {}): OrderUpdate {
  const filled = filledOf(order);
  const [date, time] = localTime(order.day, at).split(" ");
  return {
    symbol: order.instrument.symbol,
    name: order.instrument.name,
    ...(order.book === "futures" ? {} : { market: order.book }),
    orderId: order.id,
    side: order.isSell ? "sell" : "buy",
    status: order.status,
    price: writePrice(order.price),
    quantity: String(order.quantity),
    filledQuantity: String(filled),
    filledAmount: writeCents(filledCentsOf(order)),
    unfilledQuantity: String(order.quantity - filled),
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
