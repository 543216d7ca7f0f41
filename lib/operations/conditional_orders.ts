/**
 * Conditional orders: lists of take-profit, stop-loss and trailing stop orders. To place, amend or cancel them, use the
 * `orders` family.
 *
 * @module
 */
import { ConditionalOrderStatus, TrailBy } from "../dictionaries/conditional_order.ts";
import { Market } from "../dictionaries/market.ts";
import { OrderType } from "../dictionaries/order_type.ts";
import { SecurityType } from "../dictionaries/security_type.ts";
import { Side } from "../dictionaries/side.ts";
import { TradingHours } from "../dictionaries/trading_hours.ts";
import { family, operation } from "./operation.ts";
import { answerRecord, field, key, listOf, optional, params, record, type RecordOf } from "./records.ts";
import { checkCommon, market, pageCounters, pageNumbers, pageNumbersText } from "./shared.ts";
import { anyOf, asText, dateTime, decimal, flagText, int64, listingCode, orderId, text } from "./types.ts";

/** Fields of a conditional order. */
export const conditionalOrderFields = {
  /** The broker's number of the conditional order. */
  orderId: key("condOrderId", orderId),
  /** Type of the security. */
  securityType: field("dataType", asText(anyOf(SecurityType))),
  /** Listing code. */
  symbol: key("stockCode", text),
  /** Name of the listing. */
  name: field("stockName", text),
  /** Name in traditional Chinese. */
  nameTc: field("stockNameTc", text),
  /** Name in English. */
  nameEn: field("stockNameEn", text),
  /** Market of the listing. */
  market: field("exchangeType", anyOf(Market)),
  /** Type of the condition, and of the order that it sends. */
  orderType: field("entrustType", anyOf(OrderType)),
  /** Trading hours in which it is active. */
  tradingHours: field("sessionType", anyOf(TradingHours)),
  /** State of the conditional order. */
  status: field("status", anyOf(ConditionalOrderStatus)),
  /** Whether it can be cancelled now. */
  canCancel: field("canBeCancel", flagText),
  /** Whether it can be amended now. */
  canAmend: field("canBeModify", flagText),
  /** Buy opens a long position and sell closes it; short open and short close do the same for a short position. */
  side: field("entrustBs", anyOf(Side)),
  /** Quantity that it will order. */
  quantity: field("entrustAmount", decimal),
  /** Time when it was created, in the exchange's time zone. */
  createdAt: field("createTime", text),
  /** Start of its validity; absent if it is valid immediately. */
  startsAt: field("startTime", text),
  /** End of its validity; absent if it ends with the day. */
  endsAt: field("endTime", text),
  /** Error code. */
  errorCode: field("errorCode", text),
  /** Error text. */
  errorText: field("errorMsg", text),
  /** Value that triggers it: a price, a spread or a percentage. */
  triggerValue: field("condValue", decimal),
  /** Price of the order that it sends. */
  price: field("condPrice", decimal),
  /** Unit of the trailing distance. */
  trailBy: field("condTrackType", anyOf(TrailBy)),
};

const conditionalOrderRecord = record(conditionalOrderFields, ["CondOrderVo"]);
/** A conditional order in the lists of conditional orders. */
export type ConditionalOrder = RecordOf<typeof conditionalOrderFields>;

const page = (message: string) =>
  answerRecord({
    /** Conditional orders of this page. */
    rows: key("data", listOf(conditionalOrderRecord)),
    ...pageCounters,
    /** Total number of pages. */
    totalPages: field("totalPages", int64),
  }, [message]);

/** Conditional orders. */
export const conditionalOrders = family("conditionalOrders", {
  /** Yields today's conditional orders. */
  today: operation({
    wire: "TradeQueryRealCondOrderList",
    group: "trade",
    effect: "read",
    answers: "now",
    instead: "conditionalOrders.history",
    needs: "trade-login",
    source: "API document 4.4",
    request: params({
      market,
      /** Only this listing. */
      symbol: optional("stockCode", listingCode),
      ...pageNumbers,
    }, checkCommon),
    response: page("TradeQueryRealCondOrderListResponse"),
    paging: { style: "page", last: "total", identity: ["orderId"] },
    socket: {
      request: "TradeQueryRealCondOrderListRequest",
      response: "TradeQueryRealCondOrderListResponse",
    },
  }),

  /** Yields the conditional orders between two times. */
  history: operation({
    wire: "TradeQueryHistoryCondOrderList",
    group: "trade",
    effect: "read",
    needs: "trade-login",
    source: "API document 4.4",
    request: params({
      market,
      /** Only this listing. */
      symbol: optional("stockCode", listingCode),
      /** Start, in the exchange's time zone. */
      from: field("startTime", dateTime),
      /** End, in the exchange's time zone. */
      to: field("endTime", dateTime),
      ...pageNumbersText,
    }, checkCommon),
    response: page("TradeQueryHistoryCondOrderListResponse"),
    paging: { style: "page", last: "total", identity: ["orderId"] },
    socket: {
      request: "TradeQueryHistoryCondOrderListRequest",
      response: "TradeQueryHistoryCondOrderListResponse",
    },
  }),
});
