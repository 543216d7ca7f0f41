/**
 * Market data: quotes, order books, broker queues, ticks, bars, option chains, subscriptions.
 *
 * @module
 */
import { barDayLimits, BarInterval, Direction, PriceAdjustment } from "../dictionaries/bar.ts";
import { Moneyness, OptionType } from "../dictionaries/option.ts";
import { PushTopic } from "../dictionaries/push.ts";
import { YesNo } from "../dictionaries/query.ts";
import { BrokerItemType, DepthFeed, QuoteSession, TickSide } from "../dictionaries/quote.ts";
import { family, gap, operation } from "./operation.ts";
import {
  answerRecord,
  commandAnswer,
  type Decoded,
  field,
  key,
  listOf,
  optional,
  params,
  record,
  type RecordOf,
  rows,
} from "./records.ts";
import { maxSubscriptions, securityParams, securityRecord } from "./shared.ts";
import {
  anyOf,
  asInt,
  asText,
  date as dateType,
  dateDash,
  dateInt,
  dateSlash,
  decimal,
  flag,
  int32,
  int64,
  listingCode,
  oneOf,
  quoteDecimal,
  text,
} from "./types.ts";

/** Additional quote fields of a future. */
export const futureQuoteRecord = record({
  /** Last trading day. */
  expiry: field("expiryDate", dateType),
  /** Days until the last trading day. */
  daysToExpiry: field("expiryDateDistance", int32()),
  /** Settlement price of the previous day. */
  previousSettlement: field("preSettle", decimal),
  /** Open interest. */
  openInterest: field("openInterest", decimal),
  /** Open interest of the previous day. */
  previousOpenInterest: field("preOpenInterest", decimal),
  /** Change of the open interest today. */
  openInterestChange: field("dailyIncrement", decimal),
  /** Value of one index point. */
  multiplier: field("multiplier", decimal),
  /** For a main contract's code: the code of the contract that it currently stands for. */
  mainContract: field("mainContractCode", text),
}, ["FutureBasicQotExData"]);
/** Additional quote fields of a future. */
export type FutureQuote = Decoded<typeof futureQuoteRecord>;

/** Additional quote fields of an option. */
export const optionQuoteRecord = record({
  /** Strike price. */
  strikePrice: field("strikePrice", decimal),
  /** Open interest. */
  openInterest: field("openInterest", decimal),
  /** Expiry. */
  expiry: field("expireDate", dateType),
  /** Premium, in percent. */
  premium: field("premium", decimal),
  /** Intrinsic value. */
  intrinsicValue: field("intrinsicValue", decimal),
  /** Days until expiry. */
  daysToExpiry: field("dueDate", decimal),
  /** Implied volatility. */
  impliedVolatility: field("iv", decimal),
  /** Time value. */
  timeValue: field("timeValue", decimal),
  /** Actual leverage. */
  leverage: field("actualLeverage", decimal),
  /** Delta. */
  delta: field("delta", decimal),
  /** Gamma. */
  gamma: field("gamma", decimal),
  /** Vega. */
  vega: field("vega", decimal),
  /** Theta. */
  theta: field("theta", decimal),
  /** Rho. */
  rho: field("rho", decimal),
}, ["OptionBasicQotExData"]);
/** Additional quote fields of an option. */
export type OptionQuote = Decoded<typeof optionQuoteRecord>;

/** Fields of a quote. The broker sends prices and amounts as doubles; here they are decimal strings. */
export const quoteFields = {
  /** The security. */
  security: field("security", securityRecord),
  /** Last price. */
  lastPrice: field("lastPrice", quoteDecimal),
  /** Opening price. */
  openPrice: field("openPrice", quoteDecimal),
  /** Highest price of the day. */
  highPrice: field("highPrice", quoteDecimal),
  /** Lowest price of the day. */
  lowPrice: field("lowPrice", quoteDecimal),
  /** Close of the previous day. */
  previousClose: field("lastClosePrice", quoteDecimal),
  /** Tick size. */
  priceStep: field("priceSpread", quoteDecimal),
  /** Volume, in shares or contracts. */
  volume: field("volume", int64),
  /** Volume as text from the server, which keeps every digit. */
  volumeText: field("volumeStr", text),
  /** Turnover, in the listing's currency. */
  turnover: field("turnover", quoteDecimal),
  /** Turnover rate, in percent. */
  turnoverRate: field("turnoverRate", quoteDecimal),
  /** Amplitude, in percent. */
  amplitude: field("amplitude", quoteDecimal),
  /** Whether trading is suspended. */
  isSuspended: field("isSuspended", flag),
  /** State of the security; no source lists its codes. */
  securityStatus: field("secStatus", int32()),
  /** State of the security as text, which also shows a code of zero. */
  securityStatusText: field("stockStatus", text),
  /** Board lot. */
  lotSize: field("lotSize", int32()),
  /** Day of listing; the broker does not currently send it. */
  listedOn: field("listTime", text),
  /** Time of the last trade, `yyyyMMddHHmmss` in the exchange's time zone. */
  tradeTime: field("tradeTime", text),
  /** Time of the market, `yyyyMMddHHmmss` in the exchange's time zone. */
  marketTime: field("marketTime", text),
  /** Trading session of the quote, US only. */
  session: field("mktTmType", anyOf(QuoteSession)),
  /** Additional fields of a future. */
  future: field("futureExData", futureQuoteRecord),
  /** Additional fields of an option. */
  option: field("optionExData", optionQuoteRecord),
};
/** A quote; its wire name is `BasicQot`. */
export const quoteRecord = record(quoteFields, ["BasicQot"]);
/**
 * A quote in an answer. A quote without its security is invalid, because the caller could not know to which security it
 * belongs.
 */
export const askedQuoteRecord = record({
  ...quoteFields,
  /** The security. */
  security: key("security", securityRecord),
}, ["BasicQot"]);
/** A quote in the answer of `quotes.latest`, which always names its security. */
export type AskedQuote = Decoded<typeof askedQuoteRecord>;
/** A quote. */
export type Quote = RecordOf<typeof quoteFields>;

export const brokerFields = {
  /** Position in the queue. */
  level: field("level", int32()),
  /** Broker code, or the number of the level if there is no broker at this position. */
  broker: field("item", text),
  /** Whether `broker` is a broker code or a level. */
  kind: field("type", anyOf(BrokerItemType)),
  /** Name of the broker. */
  name: field("name", text),
};
/** An entry of the broker queue; its wire name is `Broker`. */
export const brokerRecord = record(brokerFields, ["Broker"]);
/** An entry of the broker queue. */
export type BrokerPlace = RecordOf<typeof brokerFields>;

export const bookLevelFields = {
  /** Level, counted from 1. */
  level: field("level", int32()),
  /** Price. */
  price: field("price", quoteDecimal),
  /** Quantity. */
  volume: field("volume", int64),
  /** Number of orders at this level. */
  orderCount: field("orederCount", int32()),
  /** The exchange that has this quantity. */
  venue: field("brokeId", text),
};
/** One level of the order book; its wire name is `OrderBook`. */
export const bookLevelRecord = record(bookLevelFields, ["OrderBook"]);
/** One level of the order book. */
export type BookLevel = RecordOf<typeof bookLevelFields>;

export const tickFields = {
  /** Time of the trade in the exchange's time zone. */
  time: field("time", text),
  /** Time of the trade, Unix milliseconds. */
  timestamp: field("timestamp", int64),
  /** Side that initiated the trade. */
  side: field("side", anyOf(TickSide)),
  /** Price. */
  price: key("price", quoteDecimal),
  /** Quantity. */
  volume: field("volume", int64),
  /** Turnover, in the listing's currency. */
  turnover: field("turnover", quoteDecimal),
  /** Type of the trade; no source lists its codes. */
  tickType: field("type", int32()),
  /** Trading session of the trade, US only. */
  session: field("mktTmType", anyOf(QuoteSession)),
};
/** A trade in the market; its wire name is `Ticker`. */
export const tickRecord = record(tickFields, ["Ticker"]);
/** A trade in the market. */
export type Tick = RecordOf<typeof tickFields>;

export const barFields = {
  /** Day. */
  date: field("date", dateDash),
  /** Time of day, `HH:mm`; only in minute bars. */
  time: field("time", text),
  /** Start of the bar, Unix milliseconds. */
  timestamp: field("timestamp", int64),
  /** Opening price. */
  openPrice: field("openPrice", quoteDecimal),
  /** Highest price. */
  highPrice: field("highPrice", quoteDecimal),
  /** Lowest price. */
  lowPrice: field("lowPrice", quoteDecimal),
  /** Closing price. */
  closePrice: key("closePrice", quoteDecimal),
  /** Close of the previous bar. */
  previousClose: field("lastClosePrice", quoteDecimal),
  /** Volume. */
  volume: field("volume", int64),
  /** Turnover, in the listing's currency. */
  turnover: field("turnover", quoteDecimal),
};
const barRecord = record(barFields, ["KLine"]);
/** A bar; its wire name is `KLine`. */
export type Bar = RecordOf<typeof barFields>;

export const timeSharePointFields = {
  /** Time of day. */
  time: field("time", text),
  /** Price. */
  price: key("price", quoteDecimal),
  /** Close of the previous day. */
  previousClose: field("lastClosePrice", quoteDecimal),
  /** Average price of the day so far. */
  averagePrice: field("avgPrice", quoteDecimal),
  /** Volume of the minute. */
  volume: field("volume", int64),
  /** Turnover of the minute. */
  turnover: field("turnover", quoteDecimal),
};
const timeSharePoint = record(timeSharePointFields, ["TimeShare"]);
/** One minute of an intraday price line. */
export type TimeSharePoint = RecordOf<typeof timeSharePointFields>;

/** The security. */
const security = field("security", securityParams);
const notInMessage = { gap: "the published message has no such field" };
/** Trading session, US only. */
const session = optional("mktTmType", asInt(oneOf(QuoteSession)), notInMessage);

const subscription = {
  /** Topic. Topics with a number in their name are undocumented variants. */
  topic: field("topicId", oneOf(PushTopic)),
  /** Securities; at most 200 over all topics. */
  securities: field("security", listOf(securityParams, maxSubscriptions)),
};

/** Maximum number of bars in one answer. */
const maxBars = 1500;

/** Market data. */
export const quotes = family("quotes", {
  /** Resolves to the quotes of securities. */
  latest: operation({
    wire: "BasicQot",
    group: "hq",
    effect: "read",
    answers: "now",
    instead: "quotes.bars",
    needs: "platform-login",
    source: "API document 2.3, 4.6, 4.8",
    request: params({
      /** Securities. */
      securities: field("security", listOf(securityParams)),
      /** Requests delayed data without a permission check, for an account that has access only to delayed data. */
      delayed: optional("needDelayFlag", asText(oneOf(YesNo)), notInMessage),
      /** Trading session, US only. Without it, a quote outside trading hours shows the last close. */
      session,
    }),
    response: rows("basicQot", askedQuoteRecord, { proto: ["BasicQotResponse"] }),
    socket: marketSocket("BasicQot"),
  }),

  /** Resolves to the broker queue of a Hong Kong security. */
  brokers: operation({
    wire: "Broker",
    group: "hq",
    effect: "read",
    answers: "now",
    needs: "platform-login",
    source: "API document 2.3, 4.6, 4.8",
    request: params({ security }, (query, wrong) => {
      if (query.security?.type.startsWith("hk-") === false) wrong("security", "a Hong Kong security");
    }),
    response: answerRecord({
      /** The security. */
      security: field("security", securityRecord),
      /** Brokers on the ask side. */
      asks: key("brokerAskList", listOf(brokerRecord)),
      /** Brokers on the bid side. */
      bids: key("brokerBidList", listOf(brokerRecord)),
    }, ["BrokerResponse"]),
    socket: marketSocket("Broker"),
  }),

  /** Resolves to the order book. */
  orderBook: operation({
    wire: "OrderBook",
    group: "hq",
    effect: "read",
    answers: "now",
    needs: "platform-login",
    source: "API document 2.3, 4.6, 4.8",
    request: params({
      security,
      /** Trading session, US only. */
      session: optional("mktTmType", asInt(oneOf(QuoteSession))),
      /** Depth feed, US only. */
      feed: optional("depthBookType", asInt(oneOf(DepthFeed))),
    }, (query, wrong) => {
      if (query.security?.type === "us-otc-stock") wrong("security", "a security that is not OTC");
    }),
    response: answerRecord({
      /** The security. */
      security: field("security", securityRecord),
      /** Ask levels, best first. */
      asks: key("orderBookAskList", listOf(bookLevelRecord)),
      /** Bid levels, best first. */
      bids: key("orderBookBidList", listOf(bookLevelRecord)),
      /** Tick size. */
      priceStep: field("spreadLevel", quoteDecimal),
    }, ["OrderBookResponse"]),
    socket: marketSocket("OrderBook"),
  }),

  /** Resolves to the most recent ticks. */
  ticks: operation({
    wire: "Ticker",
    group: "hq",
    effect: "read",
    answers: "now",
    instead: "quotes.bars",
    needs: "platform-login",
    source: "API document 2.3, 4.6, 4.8",
    request: params({
      security,
      /** Number of ticks, 1 to 1000. The broker sends at most 100; for OTC stocks it sends more (500 is advised). */
      limit: field("limit", int32(1, 1000), { fallback: 100 }),
      /** Trading session, US only. */
      session,
    }),
    response: answerRecord({
      /** The security. */
      security: field("security", securityRecord),
      /** Ticks, oldest first. */
      ticks: key("ticker", listOf(tickRecord), { aliases: ["tickerList"] }),
    }, ["TickerResponse"]),
    socket: marketSocket("Ticker"),
  }),

  /** Resolves to bars. The broker answers only for subscribed securities. */
  bars: operation({
    wire: "KL",
    group: "hq",
    effect: "read",
    needs: "platform-login",
    source: "API document 2.3, 4.6, 4.8, 8",
    request: params({
      security,
      /** First day; with the direction `older`, the last day. */
      start: field("startDate", dateInt),
      /** Whether to continue with older or with newer bars. */
      direction: field("direction", oneOf(Direction), { fallback: "newer" }),
      /** Adjustment for splits and dividends. */
      adjustment: field("exRightFlag", oneOf(PriceAdjustment), { fallback: "none" }),
      /** Length of a bar. */
      interval: field("cycType", oneOf(BarInterval)),
      /** For minute bars, the number of days; each interval has its own maximum. For other bars, at most 1500 bars. */
      limit: field("limit", int32(1, maxBars)),
    }, (query, wrong) => {
      const days = query.interval === undefined ? undefined : barDayLimits[query.interval];
      if (days !== undefined && query.limit !== undefined && query.limit > days) {
        wrong("limit", `at most ${days} days of ${query.interval} bars in one request`);
      }
    }),
    response: answerRecord({
      /** The security. */
      security: field("security", securityRecord),
      /** Bars, oldest first. */
      bars: key("kline", listOf(barRecord)),
    }, ["KLResponse"]),
    socket: marketSocket("KL"),
  }),

  /** Resolves to the intraday price line, minute by minute. */
  timeShare: operation({
    wire: "TimeShare",
    group: "hq",
    effect: "read",
    answers: "now",
    instead: "quotes.bars",
    needs: "platform-login",
    source: "API document 2.3, 4.6, 4.8",
    request: params({
      security,
      /** Trading session, US only. */
      session,
    }),
    response: answerRecord({
      /** The security. */
      security: field("security", securityRecord),
      /** Minutes, oldest first. */
      points: key("timeShare", listOf(timeSharePoint)),
    }, ["TimeShareResponse"]),
    socket: marketSocket("TimeShare"),
  }),

  /** Lists the expiries of the options on a US stock. */
  optionExpiries: operation({
    wire: "UsOptionChainExpireDate",
    group: "hq",
    effect: "read",
    answers: "now",
    needs: "platform-login",
    source: "API document 4.6",
    request: params({
      /** Underlying. */
      underlying: field("securityCode", listingCode),
    }),
    response: rows("expireDate", dateSlash),
    socket: gap("message number not published"),
  }),

  /** Lists the option codes of one expiry. */
  optionCodes: operation({
    wire: "UsOptionChainCode",
    group: "hq",
    effect: "read",
    answers: "now",
    needs: "platform-login",
    source: "API document 2.2, 4.6",
    request: params({
      /** Underlying. */
      underlying: field("securityCode", listingCode),
      /** Expiry. */
      expiry: field("expireDate", dateSlash),
      /** In or out of the money; both if omitted. */
      moneyness: optional("flagInOut", oneOf(Moneyness)),
      /** Calls or puts; both if omitted. */
      optionType: optional("optionType", oneOf(OptionType)),
    }),
    response: rows("optionCode", text),
    socket: gap("message number not published"),
  }),

  /** Lists the US securities that trade overnight. */
  overnightSymbols: operation({
    wire: "UsOverNightTradeCodes",
    group: "hq",
    effect: "read",
    answers: "now",
    needs: "platform-login",
    extra: true,
    source: "community Go SDK, vendor gateway SDK 2.3.0",
    request: params({}),
    response: rows("securityCodes", text),
    socket: gap("message definition and number not published"),
  }),

  /** Starts the pushes of a topic. Call it again after a reconnection; `client.watch` does this for you. */
  subscribe: operation({
    wire: "Subscribe",
    group: "hq",
    effect: "session",
    needs: "platform-login",
    source: "API document 4.6, 6.1; the limit of 200 from the community Go SDK",
    request: params(subscription),
    response: commandAnswer({}),
    socket: { request: "PushsubscribeRequest", response: null, requestType: "HQSubscribe" },
  }),

  /** Stops the pushes of a topic for the given securities. */
  unsubscribe: operation({
    wire: "Unsubscribe",
    group: "hq",
    effect: "session",
    needs: "platform-login",
    source: "API document 4.6, 6.1",
    request: params(subscription),
    response: commandAnswer({}),
    socket: { request: "PushunsubscribeRequest", response: null, requestType: "HQUnsubscribe" },
  }),
});

/** Returns the socket mapping of a market data message; only the names of the message numbers have the prefix `HQ`. */
function marketSocket(name: string) {
  return { request: `${name}Request`, response: `${name}Response`, requestType: `HQ${name}` };
}
