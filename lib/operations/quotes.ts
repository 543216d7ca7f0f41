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
  field,
  key,
  listOf,
  optional,
  params,
  record,
  type RecordOf,
  rows,
} from "./records.ts";
import { securityParams, securityRecord } from "./shared.ts";
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

/** Fields that a future adds to its quote. */
const futureQuoteRecord = record({
  /** Last day. */
  expiry: field("expiryDate", dateType),
  /** Days until then. */
  daysToExpiry: field("expiryDateDistance", int32()),
  /** Settlement price of the day before. */
  previousSettlement: field("preSettle", decimal),
  /** Open interest. */
  openInterest: field("openInterest", decimal),
  /** Open interest of the day before. */
  previousOpenInterest: field("preOpenInterest", decimal),
  /** Change of the open interest today. */
  openInterestChange: field("dailyIncrement", decimal),
  /** Money per point. */
  multiplier: field("multiplier", decimal),
  /** Contract that a "main" alias stands for. */
  mainContract: field("mainContractCode", text),
}, ["FutureBasicQotExData"]);

/** Fields that an option adds to its quote. */
const optionQuoteRecord = record({
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
  /** Greek. */
  delta: field("delta", decimal),
  /** Greek. */
  gamma: field("gamma", decimal),
  /** Greek. */
  vega: field("vega", decimal),
  /** Greek. */
  theta: field("theta", decimal),
  /** Greek. */
  rho: field("rho", decimal),
}, ["OptionBasicQotExData"]);

/** Fields of a quote. Prices and amounts are doubles on the wire, and decimal text here. */
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
  /** Close of the day before. */
  previousClose: field("lastClosePrice", quoteDecimal),
  /** Smallest step of the price. */
  priceStep: field("priceSpread", quoteDecimal),
  /** Volume, in shares or contracts. */
  volume: field("volume", int64),
  /** Volume as the server's own text, for callers that lose digits. */
  volumeText: field("volumeStr", text),
  /** Turnover, in the listing's currency. */
  turnover: field("turnover", quoteDecimal),
  /** Turnover rate, in percent. */
  turnoverRate: field("turnoverRate", quoteDecimal),
  /** Amplitude, in percent. */
  amplitude: field("amplitude", quoteDecimal),
  /** Whether trading is suspended. */
  isSuspended: field("isSuspended", flag),
  /** State of the security; no source lists the numbers. */
  securityStatus: field("secStatus", int32()),
  /** The same as text, which keeps a zero. */
  securityStatusText: field("stockStatus", text),
  /** Board lot. */
  lotSize: field("lotSize", int32()),
  /** Day of listing; not returned at present. */
  listedOn: field("listTime", text),
  /** Time of the last trade, `yyyyMMddHHmmss` in the exchange's zone. */
  tradeTime: field("tradeTime", text),
  /** Time of the market, `yyyyMMddHHmmss` in the exchange's zone. */
  marketTime: field("marketTime", text),
  /** Session that the quote belongs to, US. */
  session: field("mktTmType", anyOf(QuoteSession)),
  /** What a future adds. */
  future: field("futureExData", futureQuoteRecord),
  /** What an option adds. */
  option: field("optionExData", optionQuoteRecord),
};
/** A quote, on the wire `BasicQot`. */
export const quoteRecord = record(quoteFields, ["BasicQot"]);
/** A quote that was asked for: without its security it could be anybody's. */
const askedQuoteRecord = record({ ...quoteFields, security: key("security", securityRecord) }, ["BasicQot"]);
/** A quote. */
export type Quote = RecordOf<typeof quoteFields>;

const brokerFields = {
  /** Position in the queue. */
  level: field("level", int32()),
  /** Broker code, or the level where no broker stands. */
  broker: field("item", text),
  /** What `broker` holds. */
  kind: field("type", anyOf(BrokerItemType)),
  /** Name of the broker. */
  name: field("name", text),
};
/** One place of the broker queue, on the wire `Broker`. */
export const brokerRecord = record(brokerFields, ["Broker"]);
/** One place of the broker queue. */
export type BrokerPlace = RecordOf<typeof brokerFields>;

const bookLevelFields = {
  /** Level, counted from 1. */
  level: field("level", int32()),
  /** Price. */
  price: field("price", quoteDecimal),
  /** Quantity. */
  volume: field("volume", int64),
  /** Orders at this level. */
  orderCount: field("orederCount", int32()),
  /** Exchange that the quantity stands on. */
  venue: field("brokeId", text),
};
/** One level of the order book, on the wire `OrderBook`. */
export const bookLevelRecord = record(bookLevelFields, ["OrderBook"]);
/** One level of the order book. */
export type BookLevel = RecordOf<typeof bookLevelFields>;

const tickFields = {
  /** Time of the trade in the exchange's zone. */
  time: field("time", text),
  /** Time of the trade, Unix milliseconds. */
  timestamp: field("timestamp", int64),
  /** Side that started the trade. */
  side: field("side", anyOf(TickSide)),
  /** Price. */
  price: key("price", quoteDecimal),
  /** Quantity. */
  volume: field("volume", int64),
  /** Turnover, in the listing's currency. */
  turnover: field("turnover", quoteDecimal),
  /** Type of the trade; no source lists the numbers. */
  tickType: field("type", int32()),
  /** Session that it belongs to, US. */
  session: field("mktTmType", anyOf(QuoteSession)),
};
/** One trade of the market, on the wire `Ticker`. */
export const tickRecord = record(tickFields, ["Ticker"]);
/** One trade of the market. */
export type Tick = RecordOf<typeof tickFields>;

const barFields = {
  /** Day. */
  date: field("date", dateDash),
  /** Time of day, `HH:mm`; minute bars alone. */
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
  /** Close of the bar before. */
  previousClose: field("lastClosePrice", quoteDecimal),
  /** Volume. */
  volume: field("volume", int64),
  /** Turnover, in the listing's currency. */
  turnover: field("turnover", quoteDecimal),
};
const barRecord = record(barFields, ["KLine"]);
/** A bar, on the wire `KLine`. */
export type Bar = RecordOf<typeof barFields>;

const timeSharePointFields = {
  /** Time of day. */
  time: field("time", text),
  /** Price. */
  price: key("price", quoteDecimal),
  /** Close of the day before. */
  previousClose: field("lastClosePrice", quoteDecimal),
  /** Mean price so far. */
  averagePrice: field("avgPrice", quoteDecimal),
  /** Volume of the minute. */
  volume: field("volume", int64),
  /** Turnover of the minute. */
  turnover: field("turnover", quoteDecimal),
};
const timeSharePoint = record(timeSharePointFields, ["TimeShare"]);
/** One minute of a day's price line. */
export type TimeSharePoint = RecordOf<typeof timeSharePointFields>;

/** The security. */
const security = field("security", securityParams);
const notInMessage = { gap: "the published message has no such field" };
/** Session, US. */
const session = optional("mktTmType", asInt(oneOf(QuoteSession)), notInMessage);

/** Most securities that may be subscribed at once, over all topics. */
export const maxSubscriptions = 200;

const subscription = {
  /** Topic; the ones with a number in their name are variants without documentation. */
  topic: field("topicId", oneOf(PushTopic)),
  /** Securities, at most 200 at once over all topics. */
  securities: field("security", listOf(securityParams, maxSubscriptions)),
};

/** Most bars that one answer holds. */
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
      /** Delayed data without the permission system, where delay is all that the account has. */
      delayed: optional("needDelayFlag", asText(oneOf(YesNo)), notInMessage),
      /** Session, US; without it a quote outside hours gives the last close. */
      session,
    }),
    response: rows("basicQot", askedQuoteRecord, { proto: ["BasicQotResponse"] }),
    socket: marketSocket("BasicQot"),
  }),

  /** Resolves to the broker queue; Hong Kong alone. */
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
      /** Brokers that sell. */
      asks: key("brokerAskList", listOf(brokerRecord)),
      /** Brokers that buy. */
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
      /** Session, US. */
      session: optional("mktTmType", asInt(oneOf(QuoteSession))),
      /** Depth feed, US. */
      feed: optional("depthBookType", asInt(oneOf(DepthFeed))),
    }, (query, wrong) => {
      if (query.security?.type === "us-otc-stock") wrong("security", "a security that is not OTC");
    }),
    response: answerRecord({
      /** The security. */
      security: field("security", securityRecord),
      /** Levels that sell, best first. */
      asks: key("orderBookAskList", listOf(bookLevelRecord)),
      /** Levels that buy, best first. */
      bids: key("orderBookBidList", listOf(bookLevelRecord)),
      /** Smallest step of the price. */
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
      /** Ticks wanted, 1 to 1000; the broker gives at most 100, and more (500 advised) for OTC stocks alone. */
      limit: field("limit", int32(1, 1000), { fallback: 100 }),
      /** Session, US. */
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

  /** Resolves to bars. The broker answers for subscribed securities alone. */
  bars: operation({
    wire: "KL",
    group: "hq",
    effect: "read",
    needs: "platform-login",
    source: "API document 2.3, 4.6, 4.8, 8",
    request: params({
      security,
      /** Day to start at. */
      start: field("startDate", dateInt),
      /** Towards older or newer bars. */
      direction: field("direction", oneOf(Direction), { fallback: "newer" }),
      /** Adjustment for splits and dividends. */
      adjustment: field("exRightFlag", oneOf(PriceAdjustment), { fallback: "none" }),
      /** Length of a bar. */
      interval: field("cycType", oneOf(BarInterval)),
      /** Minute bars: days, by the limits of each interval. Day bars and above: bars, at most 1500. */
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

  /** Resolves to the price line of the day, minute by minute. */
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
      /** Session, US. */
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
      /** In or out of the money; both when left out. */
      moneyness: optional("flagInOut", oneOf(Moneyness)),
      /** Calls or puts; both when left out. */
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

  /** Starts the pushes of a topic. To be called again after a reconnection; `client.watch` does all of it. */
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

  /** Stops the pushes of a topic, for the same securities. */
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

/** Market messages carry no prefix; their numbers are named with `HQ`. */
function marketSocket(name: string) {
  return { request: `${name}Request`, response: `${name}Response`, requestType: `HQ${name}` };
}
