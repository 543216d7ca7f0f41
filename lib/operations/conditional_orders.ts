/**
 * Conditional orders: take-profit, stop-loss and trailing stops. They are placed, amended and cancelled through
 * the family of orders, and listed here.
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
  /** What kind of security it is. */
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
  /** Kind of condition and of the order that it sends. */
  orderType: field("entrustType", anyOf(OrderType)),
  /** Hours in which it works. */
  tradingHours: field("sessionType", anyOf(TradingHours)),
  /** State. */
  status: field("status", anyOf(ConditionalOrderStatus)),
  /** Whether it can be cancelled now. */
  canCancel: field("canBeCancel", flagText),
  /** Whether it can be amended now. */
  canAmend: field("canBeModify", flagText),
  /** Buy opens long, sell closes it; short close and short open as named. */
  side: field("entrustBs", anyOf(Side)),
  /** Quantity that it will order. */
  quantity: field("entrustAmount", decimal),
  /** When it was made, in the exchange's zone. */
  createdAt: field("createTime", text),
  /** From when it works; absent means at once. */
  startsAt: field("startTime", text),
  /** Until when it works; absent means the end of the day. */
  endsAt: field("endTime", text),
  /** Code of what went wrong. */
  errorCode: field("errorCode", text),
  /** What went wrong. */
  errorText: field("errorMsg", text),
  /** What it waits for: a price, a spread or a percentage. */
  triggerValue: field("condValue", decimal),
  /** Price of the order that it sends. */
  price: field("condPrice", decimal),
  /** How a trailing order measures its distance. */
  trailBy: field("condTrackType", anyOf(TrailBy)),
};

const conditionalOrderRecord = record(conditionalOrderFields, ["CondOrderVo"]);
/** A conditional order as its lists show it. */
export type ConditionalOrder = RecordOf<typeof conditionalOrderFields>;

const page = (message: string) =>
  answerRecord({
    /** Conditional orders of this page. */
    rows: key("data", listOf(conditionalOrderRecord)),
    ...pageCounters,
    /** Pages in all. */
    totalPages: field("totalPages", int64),
  }, [message]);

/** Conditional orders. */
export const conditionalOrders = family("conditionalOrders", {
  /** Yields the conditional orders of today. */
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

  /** Yields the conditional orders of a span of time. */
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
      /** From this moment, in the exchange's zone. */
      from: field("startTime", dateTime),
      /** Until this moment, in the exchange's zone. */
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
