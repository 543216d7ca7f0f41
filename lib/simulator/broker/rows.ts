/**
 * Creates the rows of the lists, including the texts for their codes.
 *
 * @module
 */
import type { Dictionary } from "../../dictionaries/dictionary.ts";
import { FundJournalType } from "../../dictionaries/fund_journal_type.ts";
import type { Market } from "../../dictionaries/market.ts";
import { OrderStatus } from "../../dictionaries/order_status.ts";
import { OrderType } from "../../dictionaries/order_type.ts";
import type { Side } from "../../dictionaries/side.ts";
import type { Fees, Fill } from "../../operations/fills.ts";
import type { JournalEntry } from "../../operations/fund_journal.ts";
import type { Order } from "../../operations/orders.ts";
import { amountOf, meanPrice, writeCents, writePrice } from "./account/money.ts";

/** Values for an order row. */
export interface OrderFacts {
  symbol: string;
  name: string;
  market: Market;
  orderId: string;
  side: Side;
  orderType: OrderType;
  /** Limit price; zero for a market order. */
  price: bigint;
  quantity: bigint;
  filled: bigint;
  /** Filled amount, in cents. */
  filledCents: bigint;
  multiplier: bigint;
  /** `yyyy-MM-dd`. */
  date: string;
  /** `HH:mm:ss`. */
  orderTime: string;
  /** Time of the last fill. */
  fillTime?: string;
  status: OrderStatus;
  canCancel?: boolean;
  canAmend?: boolean;
  remark?: string;
  venue?: Order["venue"];
}

/** Values that a fill row has in addition to those of its order. */
interface FillFacts {
  price: bigint;
  quantity: bigint;
  time: string;
  fees?: Fees;
  counterpartySeat?: string;
}

function labelsOf<Name extends string>(table: Dictionary<Name>): Map<string, string> {
  return new Map(table.entries.map(({ name, label }) => [name, label]));
}

const statusLabels = labelsOf(OrderStatus);
const typeLabels = labelsOf(OrderType);
const journalLabels = labelsOf(FundJournalType);

/** Returns a status as text. */
export function statusText(status: OrderStatus): string {
  return statusLabels.get(status) ?? status;
}

/** Returns the row of an order. */
export function orderRow(order: OrderFacts): Order {
  const { filled, filledCents, multiplier } = order;
  return {
    symbol: order.symbol,
    name: order.name,
    market: order.market,
    orderId: order.orderId,
    side: order.side,
    orderType: order.orderType,
    orderTypeText: typeLabels.get(order.orderType) ?? order.orderType,
    price: writePrice(order.price),
    quantity: String(order.quantity),
    fillPrice: writePrice(meanPrice(filledCents, filled, multiplier)),
    filledQuantity: String(filled),
    unfilledQuantity: String(order.quantity - filled),
    fillAmount: writeCents(filledCents),
    date: order.date,
    orderTime: order.orderTime,
    ...(order.fillTime === undefined ? {} : { fillTime: order.fillTime }),
    status: order.status,
    statusText: statusText(order.status),
    canCancel: order.canCancel ?? false,
    canAmend: order.canAmend ?? false,
    remarkType: "none",
    ...(order.remark === undefined ? {} : { remark: order.remark }),
    ...(order.venue === undefined ? {} : { venue: order.venue }),
  };
}

/** Returns the row of a fill. */
export function fillRow(order: OrderFacts, fill: FillFacts): Fill {
  return {
    ...orderRow(order),
    canCancel: false,
    canAmend: false,
    fillPrice: writePrice(fill.price),
    filledQuantity: String(fill.quantity),
    fillAmount: writeCents(amountOf(fill.price, fill.quantity, order.multiplier)),
    fillTime: fill.time,
    ...(fill.counterpartySeat === undefined ? {} : { counterpartySeat: fill.counterpartySeat }),
    ...(fill.fees === undefined ? {} : { fees: fill.fees }),
  };
}

/** Invented codes for groups of journal types, because the broker's own codes are not published. */
const GROUPS: Partial<Record<FundJournalType, string>> = {
  "buy-securities": "1",
  "sell-securities": "1",
  "fx-in": "3",
  "fx-out": "3",
  "market-data-fee-charged": "4",
  "platform-fee-rebate": "4",
  "interest-or-penalty-adjustment": "4",
};

/** Returns a line of the fund journal; today's lines have no time. */
export function journalRow(type: FundJournalType, cents: bigint, time?: string): JournalEntry {
  return {
    amount: writeCents(cents),
    type,
    typeText: journalLabels.get(type) ?? type,
    parentType: GROUPS[type] ?? "2",
    ...(time === undefined ? {} : { time }),
  };
}
