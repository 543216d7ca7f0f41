/**
 * Pushes: messages that the broker sends without a request.
 *
 * @module
 */
import { Market } from "../dictionaries/market.ts";
import { OrderStatus } from "../dictionaries/order_status.ts";
import { BookSide, BrokerSide, QuoteSession } from "../dictionaries/quote.ts";
import { Side } from "../dictionaries/side.ts";
import { bookLevelRecord, brokerRecord, quoteRecord, tickRecord } from "./quotes.ts";
import { field, key, listOf, record, type RecordOf } from "./records.ts";
import type { PushedEvent } from "./pushed_event.ts";
import { securityRecord } from "./shared.ts";
import { anyOf, date, decimal, int32, orderId, text, timeOfDay, type ValueType } from "./types.ts";

export const orderUpdateFields = {
  /** Listing code. */
  symbol: key("stockCode", text),
  /** Name of the listing. */
  name: field("stockName", text),
  /** Market of the listing; absent for futures. */
  market: field("exchangeType", anyOf(Market)),
  /** The broker's order number. */
  orderId: field("entrustNo", orderId),
  /** Bought or sold. */
  side: field("entrustBs", anyOf(Side)),
  /** State of the order. */
  status: field("entrustStatus", anyOf(OrderStatus)),
  /** Limit price. */
  price: field("entrustPrice", decimal),
  /** Quantity ordered. */
  quantity: field("entrustAmount", decimal),
  /** Price of this fill. */
  fillPrice: field("businessPrice", decimal),
  /** Quantity of this fill. */
  fillQuantity: field("businessAmount", decimal),
  /** Quantity filled so far. */
  filledQuantity: field("sumBusinessAmount", decimal),
  /** Amount filled so far. */
  filledAmount: field("sumBusinessBalance", decimal),
  /** Quantity left. */
  unfilledQuantity: field("leftAmount", decimal),
  /** Quantity before an amendment. */
  originalQuantity: field("originalAmount", decimal),
  /** Price before an amendment. */
  originalPrice: field("originalPrice", decimal),
  /** Day. */
  date: field("businessDate", date),
  /** Time of day. */
  time: field("businessTime", timeOfDay),
  /** Number of the fill; only in pushes about a fill. */
  matchId: field("matchNo", text),
  /** Number of the record; the same as the order number. */
  recordId: field("recordNo", text),
  /** Client that placed the order. */
  clientId: field("clientId", text),
  /** Remark. */
  remark: field("remark", text),
};
/** A change of an order's state, usually a fill. The account number is left out because it is personal data. */
export type OrderUpdate = RecordOf<typeof orderUpdateFields>;

const quotePush = record({
  /** The security. */
  security: field("security", securityRecord),
  /** Its quote. */
  quote: field("basicQot", quoteRecord),
}, [
  "BasicQotNotify",
]);
const tickPush = record({
  /** The security. */
  security: field("security", securityRecord),
  /** The trade. */
  tick: field("ticker", tickRecord),
}, [
  "TickerNotify",
]);
const brokerPush = record({
  /** The security. */
  security: field("security", securityRecord),
  /**
   * Side of the queue. Sources disagree about its codes. As in the message definitions, 0 is buy and 1 is sell. A 2
   * arrives as `unlisted:2` and can only mean sell.
   */
  side: field("side", anyOf(BrokerSide)),
  /** The number that the broker sent for the side. */
  sideCode: field("side", int32()),
  /** Broker queue entries of that side. */
  brokers: key("brokerList", listOf(brokerRecord)),
}, ["BrokerNotify"]);
const bookPush = record({
  /** The security. */
  security: field("security", securityRecord),
  /** Side of the book. */
  side: field("side", anyOf(BookSide)),
  /** The number that the broker sent for the side; the API document gives 0 and 1 in one place, 1 and 2 in another. */
  sideCode: field("side", int32()),
  /** Levels of that side. */
  levels: key("orderBookList", listOf(bookLevelRecord)),
  /** Trading session, US only. */
  session: field("mktTmType", anyOf(QuoteSession)),
}, ["OrderBookFullNotify"]);

/** Maps push numbers to a typed event. */
interface PushInit<Type extends string, T> {
  /** Name of the event. */
  type: Type;
  /** Names of the push numbers, without their suffix. */
  notify: readonly string[];
  /** Message of the payload. */
  message: string;
  /** Type of the payload. */
  payload: ValueType<T>;
  /** True if a newer value of the same security may replace an older one while the reader is slow. */
  conflate: boolean;
}

const push = <Type extends string, T>(init: PushInit<Type, T>): PushInit<Type, T> => init;

/** Every push, by the name of its event. */
export const pushes = {
  order: push({
    type: "order",
    notify: ["TradeStockDeliver", "FuturesTradeStockDeliver", "TrsStockDeliver"],
    message: "TradeStockDeliverNotify",
    payload: record(orderUpdateFields, ["TradeStockDeliverNotify"]),
    conflate: false,
  }),
  quote: push({
    type: "quote",
    notify: ["BasicQotNotify"],
    message: "BasicQotNotify",
    payload: quotePush,
    conflate: true,
  }),
  tick: push({
    type: "tick",
    notify: ["TickerNotify"],
    message: "TickerNotify",
    payload: tickPush,
    conflate: false,
  }),
  brokers: push({
    type: "brokers",
    notify: ["BrokerQueueNotify"],
    message: "BrokerNotify",
    payload: brokerPush,
    conflate: true,
  }),
  book: push({
    type: "book",
    notify: ["OrderBookNotify"],
    message: "OrderBookFullNotify",
    payload: bookPush,
    conflate: true,
  }),
};

/** A push as a typed event, from the catalogue; a test compares it with `PushEvent`. */
export type DerivedPushEvent = {
  [K in keyof typeof pushes]: (typeof pushes)[K] extends PushInit<infer Type, infer T>
    ? PushedEvent & { type: Type; data: T }
    : never;
}[keyof typeof pushes];
