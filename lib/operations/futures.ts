/**
 * Futures: funds, positions, products, orders and fills.
 *
 * @module
 */
import {
  FuturesOrderOption,
  FuturesOrderType,
  FuturesValidity,
  MarginStatus,
  PositionStatus,
} from "../dictionaries/futures.ts";
import { OrderStatus } from "../dictionaries/order_status.ts";
import { SecurityType } from "../dictionaries/security_type.ts";
import { Side } from "../dictionaries/side.ts";
import { family, operation, type Proof } from "./operation.ts";
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
import {
  cancelledAnother,
  checkCommon,
  checkLimitPrice,
  dateRange,
  fillIdentity,
  orderIdAnswer,
  orderIdentity,
  pageCounters,
  pageNumbers,
} from "./shared.ts";
import {
  anyOf,
  asInt,
  asText,
  date,
  dateDash,
  decimal,
  flagInt,
  int32,
  int64,
  listingCode,
  oneOf,
  orderId,
  positiveDecimal,
  priceDecimal,
  secret,
  text,
  timeOfDay,
} from "./types.ts";

/** Fields of the futures funds. */
export const futuresFundsFields = {
  /** Net asset value. */
  netAssets: field("assetBalance", decimal),
  /** Purchasing power. */
  available: field("enableBalance", decimal),
  /** Margin call. */
  marginCall: field("marginCall", decimal),
  /** Profit on positions. */
  positionProfit: field("incomeBalance", decimal),
  /** Realised profit. */
  realisedProfit: field("closeProfit", decimal),
  /** Cash. */
  cash: field("cashBal", decimal),
  /** Cash in Hong Kong dollars. */
  cashHkd: field("cashBalHKD", decimal),
  /** Cash in US dollars. */
  cashUsd: field("cashBalUSD", decimal),
  /** Cash in offshore renminbi. */
  cashCnh: field("cashBalCNH", decimal),
  /** Hong Kong dollars for one US dollar. */
  usdHkdRate: field("cycRateUSDtoHSD", decimal),
  /** Initial margin. */
  initialMargin: field("iMargin", decimal),
  /** Maintenance margin. */
  maintenanceMargin: field("mMargin", decimal),
  /** Margin level. */
  marginLevel: field("marginLevel", decimal),
  /** Maximum margin. */
  maxMargin: field("maxMargin", decimal),
  /** State of the margin. */
  marginStatus: field("marginStatus", anyOf(MarginStatus)),
  /** Percentage in the risk chart. */
  riskPercent: field("statusPercent", decimal),
  /** Credit limit. */
  creditLimit: field("creditLimit", decimal),
  /** Control level, as the broker's code. */
  controlLevel: field("ctrlLevel", text),
  /** Margin class, as the broker's code. */
  marginClass: field("marginClass", text),
  /** Account executive. */
  accountExecutive: field("aeId", text),
};
const fundsRecord = answerRecord(futuresFundsFields, ["FuturesFundInfoVo"]);
/** Futures funds, in Hong Kong dollars unless named otherwise. */
export type FuturesFunds = RecordOf<typeof futuresFundsFields>;

/** Fields of a futures position. */
export const futuresHoldingFields = {
  /** Contract code; Hong Kong codes carry `.HK`. */
  symbol: key("stockCode", text),
  /** Name of the contract. */
  name: field("stockName", text),
  /** Hong Kong or US future. */
  securityType: field("dataType", asText(anyOf(SecurityType))),
  /** Quantity carried over plus today's net quantity, in contracts; short is negative. */
  quantity: field("currentQty", decimal),
  /** Cost price. */
  costPrice: field("costPrice", decimal),
  /** Quantity carried over from the day before. */
  previousQuantity: field("lastDayQty", decimal),
  /** Price carried over from the day before. */
  previousPrice: field("lastDayPrice", decimal),
  /** Quantity deposited. */
  depositedQuantity: field("depQty", decimal),
  /** Quantity bought today. */
  dayLongQuantity: field("dayLongQty", decimal),
  /** Average price of the quantity bought today. */
  dayLongPrice: field("dayLongPrice", decimal),
  /** Quantity sold today. */
  dayShortQuantity: field("dayShortQty", decimal),
  /** Average price of the quantity sold today. */
  dayShortPrice: field("dayShortPrice", decimal),
  /** Today's net quantity. */
  dayNetQuantity: field("dayNetQty", decimal),
  /** Average price of today's net quantity. */
  dayNetPrice: field("dayNetPrice", decimal),
  /** @deprecated Last price; some sources call it unreliable. Query a quote. */
  lastPrice: field("lastPrice", decimal),
  /** Close of the previous day. */
  previousClose: field("preClosePrice", decimal),
  /** Profit in the contract's currency. */
  profit: field("profitLoss", decimal),
  /** Profit in the base currency. */
  profitInBaseCurrency: field("profitLossBaseCcy", decimal),
  /** Realised profit. */
  realisedProfit: field("closeProfit", decimal),
  /** Realised profit in Hong Kong dollars. */
  realisedProfitHkd: field("closeProfitHKD", decimal),
  /** Value of the contracts. */
  contractValue: field("contractValue", decimal),
  /** Currency of the contract. */
  currency: field("ccy", text),
  /** Exchange rate of the contract's currency to the base currency. */
  currencyRate: field("ccyRate", decimal),
};
const holdingRecord = record(futuresHoldingFields, ["FuturesHoldsVo"]);
/** A futures position. */
export type FuturesHolding = RecordOf<typeof futuresHoldingFields>;

/** Fields of both futures orders and fills: the broker uses the same record for them. */
export const futuresOrderFields = {
  /** Contract code; Hong Kong codes carry `.HK`. */
  symbol: key("stockCode", text),
  /** Name of the contract. */
  name: field("stockName", text),
  /** The broker's order number. */
  orderId: field("entrustId", orderId),
  /** Bought or sold. */
  side: key("entrustBs", anyOf(Side)),
  /** Order type. */
  orderType: field("entrustTypeNum", anyOf(FuturesOrderType)),
  /** Order type in the broker's words. */
  orderTypeText: field("entrustType", text),
  /** Limit price, in index points or the contract's currency. */
  price: field("entrustPrice", decimal),
  /** Quantity ordered, in contracts. */
  quantity: field("entrustAmount", decimal),
  /** Price of the fill. */
  fillPrice: field("businessPrice", decimal),
  /** Quantity filled, in contracts. */
  filledQuantity: field("businessAmount", decimal),
  /** Day of the order in lists of orders, day of the fill in lists of fills. */
  date: field("date", date),
  /** Time of the order. */
  orderTime: field("entrustTime", timeOfDay),
  /** Time of the fill. */
  fillTime: field("businessTime", timeOfDay),
  /** State of the order. */
  status: field("status", anyOf(OrderStatus)),
  /** State in the broker's words; free text. */
  statusText: field("statusDesc", text),
  /** Whether it can be cancelled now. */
  canCancel: field("canBeCanceled", flagInt),
  /** Whether it can be amended now. */
  canAmend: field("canBeUpdated", flagInt),
  /** Whether the order is valid. */
  isValid: field("isValid", flagInt),
  /** Kind of validity. */
  validity: field("validType", anyOf(FuturesValidity)),
  /** Validity in words; a date for `until-date`. */
  validityText: field("validTypeDesc", text),
  /** Last day of the order. */
  validUntil: field("validTime", { ...date, encode: (value: string) => value.replaceAll("-", "/") }),
  /** Whether it may trade in the after-hours session. */
  session: field("orderOptions", asInt(anyOf(FuturesOrderOption))),
  /** Position of the row in its list. */
  cursor: field("queryParamStr", text),
};
const orderRecord = record(futuresOrderFields, ["FuturesOrderVo"]);
/** A futures order or fill. */
export type FuturesOrder = RecordOf<typeof futuresOrderFields>;

/** Fields of a futures product. */
export const futuresProductFields = {
  /** Contract code. */
  symbol: key("prodCode", text),
  /** Contract series. */
  series: field("instCode", text),
  /** Smallest quantity. */
  lotSize: field("lotSize", int32()),
  /** Number of decimals of a price. */
  priceDecimals: field("decInPrice", int32()),
  /** Number of decimals of a price, as text. */
  priceDecimalsText: field("priceDecimalPoint", text),
  /** Value of one index point. */
  contractSize: field("contractSize", decimal),
  /** Last trading day. */
  expiry: field("expiryDate", dateDash),
  /** Whether it trades in the after-hours session. */
  afterHours: field("isSupportT1", flagInt),
};
const productRecord = record(futuresProductFields, ["FuturesProductInfoVo"]);
/** A futures contract and its terms. */
export type FuturesProduct = RecordOf<typeof futuresProductFields>;

const page = (message: string) =>
  answerRecord({
    /** Orders or fills of this page. */
    rows: key("data", listOf(orderRecord)),
    ...pageCounters,
    /** @deprecated Total number of pages; the broker calls it obsolete. */
    totalPages: field("totalPageNo", int32()),
    /** Whether this is the last page. */
    isLast: field("lastPage", flagInt),
  }, [message]);

/** Futures orders are listed separately from other orders. */
const futuresProof: Proof = { lists: ["futures.ordersToday", "futures.fillsToday"] };

/** Contract code; Hong Kong codes carry `.HK`. */
const contract = field("stockCode", listingCode);
const terms = {
  /** Contract code; Hong Kong codes carry `.HK`. */
  symbol: contract,
  /** Limit price; the broker requires one for a market order too. */
  price: field("entrustPrice", priceDecimal),
  /** Quantity, in contracts. */
  quantity: field("entrustAmount", positiveDecimal),
  /** Buy or sell. */
  side: field("entrustBs", oneOf(Side, ["buy", "sell"])),
  /** Kind of validity. */
  validity: field("validTimeType", oneOf(FuturesValidity)),
  /** Last day of the order; only for `until-date`. */
  validUntil: optional("validTime", date),
  /** Whether it may trade in the after-hours session. */
  session: field("orderOptions", oneOf(FuturesOrderOption), { fallback: "default" }),
};

function checkValidity(
  order: { validity?: FuturesValidity; validUntil?: string },
  wrong: (path: string, expected: string) => void,
): void {
  if (order.validity === "until-date" && order.validUntil === undefined) {
    wrong("validUntil", "the last day of the order");
  }
  if (order.validity === undefined) return;
  if (order.validity !== "until-date" && order.validUntil !== undefined) {
    wrong("validUntil", `no value, because the validity is "${order.validity}"`);
  }
}

/** Futures. */
export const futures = family("futures", {
  /** Resolves to the funds of the futures account. */
  funds: operation({
    wire: "FuturesQueryFundInfo",
    group: "trade",
    effect: "read",
    answers: "now",
    needs: "trade-login",
    source: "API document 2.5, 4.5",
    request: params({}),
    response: record({
      /** Funds of the futures account. */
      funds: key("fundInfo", fundsRecord),
    }, ["FuturesQueryFundInfoResponse"]),
    socket: { request: "FuturesQueryFundInfoRequest", response: "FuturesQueryFundInfoResponse" },
  }),

  /** Resolves to the positions and the funds of the futures account. */
  holdings: operation({
    wire: "FuturesQueryHoldsList",
    group: "trade",
    effect: "read",
    answers: "now",
    needs: "trade-login",
    source: "API document 2.5, 4.5",
    request: params({}),
    response: answerRecord({
      /** Funds of the futures account. */
      funds: field("fundInfo", fundsRecord),
      /** Positions. */
      holdings: key("holdsList", listOf(holdingRecord)),
    }, ["FuturesQueryHoldsListResponse"]),
    socket: { request: "FuturesQueryHoldsListRequest", response: "FuturesQueryHoldsListResponse" },
  }),

  /** Resolves to the maximum number of contracts to buy and to sell. */
  maxQuantity: operation({
    wire: "FuturesQueryMaxBuySellAmount",
    group: "trade",
    effect: "read",
    answers: "now",
    needs: "trade-login",
    source: "API document 4.5, 4.8",
    request: params({
      /** Contract code; Hong Kong codes carry `.HK`. */
      symbol: contract,
    }),
    response: answerRecord({
      /** Whether there is no position, a long one or a short one. */
      position: field("positionStatus", asInt(anyOf(PositionStatus))),
      /** Maximum number of contracts to buy. */
      maxBuy: field("maxBuyAmount", int64),
      /** Maximum number of contracts to sell. */
      maxSell: field("maxSellAmount", int64),
      /** Initial margin of one contract. */
      initialMargin: field("initialMargin", decimal),
      /** Currency of the margin. */
      currency: field("ccy", text),
    }, ["FuturesQueryBuySellAmountResponse"]),
    socket: {
      request: "FuturesQueryMaxBuySellAmountRequest",
      response: "FuturesQueryBuySellAmountResponse",
      responseType: "FuturesQueryBuySellAmount",
    },
  }),

  /** Resolves to the product details of contracts. */
  products: operation({
    wire: "FuturesQueryProductInfo",
    group: "trade",
    effect: "read",
    answers: "now",
    needs: "trade-login",
    source: "API document 2.5, 4.5, 4.8",
    request: params({
      /** Contract codes. */
      symbols: field("stockCode", listOf(listingCode)),
    }),
    response: rows("productInfoVos", productRecord, { proto: ["FuturesQueryProductInfoResponse"] }),
    socket: { request: "FuturesQueryProductInfoRequest", response: "FuturesQueryProductInfoResponse" },
  }),

  /** Places a futures order and resolves to its order id. */
  place: operation({
    wire: "FuturesEntrust",
    group: "trade",
    effect: "write",
    order: "place",
    provenBy: [futuresProof],
    needs: "trade-login",
    extra: true,
    source: "vendor Python SDK 1.1.2, community Go SDK, vendor gateway SDK 2.3.0",
    request: params({
      ...terms,
      /** Order type. */
      orderType: field("entrustType", oneOf(FuturesOrderType)),
    }, (order, wrong) => {
      checkValidity(order, wrong);
      checkLimitPrice(order, wrong);
    }),
    response: orderIdAnswer,
    socket: { request: "FuturesEntrustRequest", response: "CommonStringResponse" },
  }),

  /** Amends a futures order and resolves to its order id. */
  amend: operation({
    wire: "FuturesModifyEntrust",
    group: "trade",
    effect: "write",
    order: "amend",
    provenBy: [futuresProof],
    needs: "trade-login",
    extra: true,
    source: "vendor Python SDK 1.1.2, community Go SDK, vendor gateway SDK 2.3.0",
    request: params({
      /** The broker's order number. */
      orderId: field("entrustId", orderId),
      ...terms,
    }, checkValidity),
    response: orderIdAnswer,
    socket: { request: "FuturesModifyEntrustRequest", response: "CommonStringResponse" },
  }),

  /** Cancels a futures order and resolves to its order id. */
  cancel: operation({
    wire: "FuturesCancelEntrust",
    group: "trade",
    effect: "write",
    order: "cancel",
    provenBy: [futuresProof],
    unmentioned: cancelledAnother,
    needs: "trade-login",
    extra: true,
    source: "vendor Python SDK 1.1.2, community Go SDK, vendor gateway SDK 2.3.0",
    request: params({
      /** The broker's order number. */
      orderId: field("entrustId", orderId),
      /** Contract code; Hong Kong codes carry `.HK`. */
      symbol: contract,
    }),
    response: orderIdAnswer,
    socket: { request: "FuturesCancelEntrustRequest", response: "CommonStringResponse" },
  }),

  /** Resolves to today's futures orders, at most 500. */
  ordersToday: operation({
    wire: "FuturesQueryRealEntrustList",
    group: "trade",
    effect: "read",
    answers: "now",
    instead: "futures.ordersHistory",
    needs: "trade-login",
    extra: true,
    source: "vendor Python SDK 1.1.2, community Go SDK, vendor gateway SDK 2.3.0",
    request: params({}),
    response: rows("data", orderRecord, { proto: ["FuturesQueryRealEntrustListResponse"] }),
    socket: {
      request: "FuturesQueryRealEntrustListRequest",
      response: "FuturesQueryRealEntrustListResponse",
    },
  }),

  /** Yields the futures orders of past days. */
  ordersHistory: operation({
    wire: "FuturesQueryHistoryEntrustList",
    group: "trade",
    effect: "read",
    needs: "trade-login",
    extra: true,
    source: "vendor Python SDK 1.1.2, community Go SDK, vendor gateway SDK 2.3.0",
    request: params({ ...dateRange, ...pageNumbers }, checkCommon),
    response: page("FuturesQueryHistoryEntrustListResponse"),
    paging: { style: "page", last: "mark", identity: orderIdentity },
    socket: {
      request: "FuturesQueryHistoryEntrustListRequest",
      response: "FuturesQueryHistoryEntrustListResponse",
    },
  }),

  /** Resolves to today's futures fills, at most 200. */
  fillsToday: operation({
    wire: "FuturesQueryRealDeliverList",
    group: "trade",
    effect: "read",
    answers: "now",
    instead: "futures.fillsHistory",
    needs: "trade-login",
    source: "API document 2.5, 4.5, 8",
    request: params({}),
    response: rows("data", orderRecord, { proto: ["FuturesQueryRealDeliverListResponse"] }),
    socket: {
      request: "FuturesQueryRealDeliverListRequest",
      response: "FuturesQueryRealDeliverListResponse",
    },
  }),

  /** Yields the futures fills of past days. */
  fillsHistory: operation({
    wire: "FuturesQueryHistoryDeliverList",
    group: "trade",
    effect: "read",
    needs: "trade-login",
    source: "API document 2.5, 4.5",
    request: params({ ...dateRange, ...pageNumbers }, checkCommon),
    response: page("FuturesQueryHistoryDeliverListResponse"),
    paging: { style: "page", last: "mark", identity: fillIdentity },
    socket: {
      request: "FuturesQueryHistoryDeliverListRequest",
      response: "FuturesQueryHistoryDeliverListResponse",
    },
  }),

  /**
   * Sets a new futures password; only over the socket. Of the answer, the broker's documents describe only the code.
   */
  resetPassword: operation({
    wire: "FuturesResetPwd",
    group: null,
    effect: "write",
    provenBy: [],
    needs: "trade-login",
    extra: true,
    source: "vendor Python SDK 1.1.2",
    request: params({
      /** The new password. */
      password: field("newPwd", secret),
    }),
    response: commandAnswer({}),
    socket: { request: "FuturesResetPwdRequest", response: null, responseType: "Common" },
  }),
});
