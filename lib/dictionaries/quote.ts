/**
 * Code tables for quotes: sessions, depth feeds, and the sides of ticks, order books and broker queues.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const quoteSessionCodes = {
  "-3": ["overnight", "overnight"],
  "-2": ["after-hours", "after-hours"],
  "-1": ["pre-market", "pre-market"],
  "0": ["unset", "not set, as HK pushes show"],
  "1": ["regular", "regular"],
} as const;
/** Trading session of a quote or a trade, US only. */
export const QuoteSession: DictionaryOf<typeof quoteSessionCodes> = dictionary({
  wire: "mktTmType",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: quoteSessionCodes,
});
/** Trading session of a quote or a trade, US only. */
export type QuoteSession = NameOf<typeof QuoteSession>;

const depthFeedCodes = {
  "2": ["total-view", "TotalView feed"],
  "3": ["arca-book", "ArcaBook feed"],
} as const;
/** Depth feed of an order book, US only. */
export const DepthFeed: DictionaryOf<typeof depthFeedCodes> = dictionary({
  wire: "depthBookType",
  type: "int",
  source: "vendor Python SDK 1.1.2, community Go SDK",
  values: depthFeedCodes,
});
/** Depth feed of an order book, US only. */
export type DepthFeed = NameOf<typeof DepthFeed>;

const tickSideCodes = {
  "0": ["flat", "flat"],
  "1": ["buy", "buy"],
  "2": ["sell", "sell"],
} as const;
/** Side that initiated a trade in the market. */
export const TickSide: DictionaryOf<typeof tickSideCodes> = dictionary({
  wire: "tickerSide",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2, protos 2.2.0",
  values: tickSideCodes,
});
/** Side that initiated a trade in the market. */
export type TickSide = NameOf<typeof TickSide>;

const bookSideCodes = {
  "0": ["buy", "buy"],
  "1": ["sell", "sell"],
} as const;
/** Side of an order book in a push. */
export const BookSide: DictionaryOf<typeof bookSideCodes> = dictionary({
  wire: "orderBookNotifySide",
  type: "int",
  source: "vendor Python SDK 1.1.2, protos 2.2.0",
  values: bookSideCodes,
});
/** Side of an order book in a push. */
export type BookSide = NameOf<typeof BookSide>;

const brokerSideCodes = {
  "0": ["buy", "buy"],
  "1": ["sell", "sell"],
} as const;
/** Side of a broker queue in a push. */
export const BrokerSide: DictionaryOf<typeof brokerSideCodes> = dictionary({
  wire: "brokerNotifySide",
  type: "int",
  source: "vendor Python SDK 1.1.2, protos 2.2.0",
  values: brokerSideCodes,
});
/** Side of a broker queue in a push. */
export type BrokerSide = NameOf<typeof BrokerSide>;

const brokerItemTypeCodes = {
  "66": ["broker", "item is a broker code (letter B)"],
  "83": ["level", "no broker here, item is the level (letter S)"],
} as const;
/** Whether an entry of the broker queue is a broker code or a level. */
export const BrokerItemType: DictionaryOf<typeof brokerItemTypeCodes> = dictionary({
  wire: "brokerType",
  type: "int",
  source: "API document",
  values: brokerItemTypeCodes,
});
/** Whether an entry of the broker queue is a broker code or a level. */
export type BrokerItemType = NameOf<typeof BrokerItemType>;

/** Type of a tick (Ticker.type); no source lists its codes. */
export const TickType = dictionary({
  wire: "tickerType",
  type: "int",
  source: "no list was found anywhere; the raw code is kept",
  values: {},
});
/** Type of a tick (Ticker.type); no source lists its codes. */
export type TickType = NameOf<typeof TickType>;

/** State of a security (BasicQot.secStatus); no source lists its codes. */
export const SecurityStatus = dictionary({
  wire: "secStatus",
  type: "int",
  source: "no list was found anywhere; the raw code is kept",
  values: {},
});
/** State of a security (BasicQot.secStatus); no source lists its codes. */
export type SecurityStatus = NameOf<typeof SecurityStatus>;
