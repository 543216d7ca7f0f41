/**
 * Code tables for quotes: sessions, depth feeds, and the sides of ticks, order books and broker queues.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Names for `mktTmType`. */
export const QuoteSession = dictionary({
  wire: "mktTmType",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: {
    "-3": ["overnight", "overnight"],
    "-2": ["after-hours", "after-hours"],
    "-1": ["pre-market", "pre-market"],
    "0": ["unset", "not set, as HK pushes show"],
    "1": ["regular", "regular"],
  },
});
/** Names for `mktTmType`. */
export type QuoteSession = NameOf<typeof QuoteSession>;

/** Names for `depthBookType`. */
export const DepthFeed = dictionary({
  wire: "depthBookType",
  type: "int",
  source: "vendor Python SDK 1.1.2, community Go SDK",
  values: {
    "2": ["total-view", "TotalView feed"],
    "3": ["arca-book", "ArcaBook feed"],
  },
});
/** Names for `depthBookType`. */
export type DepthFeed = NameOf<typeof DepthFeed>;

/** Names for `tickerSide` (Ticker.side). */
export const TickSide = dictionary({
  wire: "tickerSide",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2, protos 2.2.0",
  values: {
    "0": ["flat", "flat"],
    "1": ["buy", "buy"],
    "2": ["sell", "sell"],
  },
});
/** Names for `tickerSide` (Ticker.side). */
export type TickSide = NameOf<typeof TickSide>;

/** Names for `orderBookNotifySide` (OrderBookFullNotify.side). */
export const BookSide = dictionary({
  wire: "orderBookNotifySide",
  type: "int",
  source: "vendor Python SDK 1.1.2, protos 2.2.0",
  values: {
    "0": ["buy", "buy"],
    "1": ["sell", "sell"],
  },
});
/** Names for `orderBookNotifySide` (OrderBookFullNotify.side). */
export type BookSide = NameOf<typeof BookSide>;

/** Names for `brokerNotifySide` (BrokerNotify.side). */
export const BrokerSide = dictionary({
  wire: "brokerNotifySide",
  type: "int",
  source: "vendor Python SDK 1.1.2, protos 2.2.0",
  values: {
    "0": ["buy", "buy"],
    "1": ["sell", "sell"],
  },
});
/** Names for `brokerNotifySide` (BrokerNotify.side). */
export type BrokerSide = NameOf<typeof BrokerSide>;

/** Names for `brokerType` (Broker.type). */
export const BrokerItemType = dictionary({
  wire: "brokerType",
  type: "int",
  source: "API document",
  values: {
    "66": ["broker", "item is a broker code (letter B)"],
    "83": ["level", "no broker here, item is the level (letter S)"],
  },
});
/** Names for `brokerType` (Broker.type). */
export type BrokerItemType = NameOf<typeof BrokerItemType>;

/** Names for `tickerType` (Ticker.type). */
export const TickType = dictionary({
  wire: "tickerType",
  type: "int",
  source: "no list was found anywhere; the raw code is kept",
  values: {},
});
/** Names for `tickerType` (Ticker.type). */
export type TickType = NameOf<typeof TickType>;

/** Names for `secStatus` (BasicQot.secStatus). */
export const SecurityStatus = dictionary({
  wire: "secStatus",
  type: "int",
  source: "no list was found anywhere; the raw code is kept",
  values: {},
});
/** Names for `secStatus` (BasicQot.secStatus). */
export type SecurityStatus = NameOf<typeof SecurityStatus>;
