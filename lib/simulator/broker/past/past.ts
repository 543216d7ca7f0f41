/**
 * Stores the history of an account in one market in compact form: numbers in arrays instead of a record per row. So a
 * million fills fit in memory and load quickly. `history.ts` writes the rows.
 *
 * @module
 */
import type { FundJournalType } from "../../../dictionaries/fund_journal_type.ts";
import type { Market } from "../../../dictionaries/market.ts";
import type { BookDay } from "../sessions.ts";

/** Final states of orders in history. */
export const pastStatuses = ["filled", "part-filled-cancelled", "cancelled", "rejected"] as const;

/** A journal line without a fill. */
interface Movement {
  /** Index of the day. */
  day: number;
  /** Second of the local day. */
  second: number;
  type: FundJournalType;
  cents: bigint;
}

/** A holding of one listing. */
export interface Holding {
  quantity: bigint;
  /** Cost of the holding, including fees, in cents. */
  costCents: bigint;
}

/** Cash of a dividend that is not paid yet. */
export interface Entitlement {
  symbol: string;
  /** `yyyy-MM-dd`. */
  payDate: string;
  cents: bigint;
}

/** The history of one market. Orders and fills are sorted by time. */
export class Past {
  readonly market: Market;
  readonly days: readonly BookDay[];
  /** Symbols; the rows contain an index into this list. */
  readonly symbols: string[] = [];
  readonly movements: Movement[] = [];
  readonly holdings = new Map<string, Holding>();
  /** Dividends that are paid after the last day. */
  readonly entitlements: Entitlement[] = [];
  /** Cash at the end, cents. */
  cash = 0n;

  /** Rows per day. */
  readonly fillCounts: Int32Array;
  readonly orderCounts: Int32Array;
  readonly movementCounts: Int32Array;

  fills = 0;
  readonly fillOrder: Int32Array;
  readonly fillQuantity: Int32Array;
  readonly fillPrice: BigInt64Array;
  readonly fillSecond: Int32Array;
  /** Fees of the row, cents. */
  readonly fillFees: BigInt64Array;

  orders = 0;
  readonly orderSymbol: Uint16Array;
  readonly orderIsSell: Uint8Array;
  readonly orderQuantity: Int32Array;
  readonly orderPrice: BigInt64Array;
  readonly orderSecond: Int32Array;
  /** Index in {@linkcode pastStatuses}. */
  readonly orderStatus: Uint8Array;
  readonly orderDay: Int32Array;
  /** Position of the order within its day, from 1. */
  readonly orderPlace: Int32Array;
  readonly orderFirstFill: Int32Array;
  readonly orderFillCount: Uint8Array;

  constructor(market: Market, days: readonly BookDay[], fillsPerDay: number) {
    this.market = market;
    this.days = days;
    const fills = days.length * fillsPerDay;
    // For each order with fills there is at most one order without a fill.
    const orders = 2 * fills;
    this.fillCounts = new Int32Array(days.length);
    this.orderCounts = new Int32Array(days.length);
    this.movementCounts = new Int32Array(days.length);
    this.fillOrder = new Int32Array(fills);
    this.fillQuantity = new Int32Array(fills);
    this.fillPrice = new BigInt64Array(fills);
    this.fillSecond = new Int32Array(fills);
    this.fillFees = new BigInt64Array(fills);
    this.orderSymbol = new Uint16Array(orders);
    this.orderIsSell = new Uint8Array(orders);
    this.orderQuantity = new Int32Array(orders);
    this.orderPrice = new BigInt64Array(orders);
    this.orderSecond = new Int32Array(orders);
    this.orderStatus = new Uint8Array(orders);
    this.orderDay = new Int32Array(orders);
    this.orderPlace = new Int32Array(orders);
    this.orderFirstFill = new Int32Array(orders);
    this.orderFillCount = new Uint8Array(orders);
  }

  /** Records a cash movement. A day's movements come before its fills. */
  move(movement: Movement): void {
    this.movements.push(movement);
    this.movementCounts[movement.day]! += 1; // there is one counter per day
    this.cash += movement.cents;
  }

  /** Records an order and returns its index. */
  addOrder(order: PastOrder): number {
    const place = this.orders++;
    this.orderSymbol[place] = order.symbol;
    this.orderIsSell[place] = order.isSell ? 1 : 0;
    this.orderQuantity[place] = order.quantity;
    this.orderPrice[place] = order.price;
    this.orderSecond[place] = order.second;
    this.orderStatus[place] = pastStatuses.indexOf(order.status);
    this.orderDay[place] = order.day;
    this.orderFirstFill[place] = this.fills;
    this.orderPlace[place] = ++this.orderCounts[order.day]!; // there is one counter per day
    return place;
  }

  /** Records the next fill of the last order. */
  addFill(fill: PastFill): void {
    const place = this.fills++;
    const order = this.orders - 1;
    this.fillOrder[place] = order;
    this.fillQuantity[place] = fill.quantity;
    this.fillPrice[place] = fill.price;
    this.fillSecond[place] = fill.second;
    this.fillFees[place] = fill.feeCents;
    this.orderFillCount[order]! += 1;
    this.fillCounts[this.orderDay[order]!]! += 1; // the order was recorded before
  }
}

/** An order of the past. */
interface PastOrder {
  day: number;
  /** Index in {@linkcode Past.symbols}. */
  symbol: number;
  isSell: boolean;
  quantity: number;
  price: bigint;
  second: number;
  status: typeof pastStatuses[number];
}

/** A fill of the past. */
interface PastFill {
  quantity: number;
  price: bigint;
  second: number;
  feeCents: bigint;
}
