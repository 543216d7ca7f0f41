/**
 * Algorithmic orders. Their socket messages are not published.
 *
 * @module
 */
import { compare } from "../decimal.ts";
import {
  AlgoAction,
  AlgoOrderStatus,
  AlgoOrderType,
  AlgoSensitivity,
  AlgoStrategy,
  AlgoStrategyStatus,
} from "../dictionaries/algo.ts";
import { Market } from "../dictionaries/market.ts";
import { Side } from "../dictionaries/side.ts";
import { TradingHours } from "../dictionaries/trading_hours.ts";
import { family, gap, operation, type Proof } from "./operation.ts";
import { type Decoded, field, key, optional, params, record, type RecordOf, rows } from "./records.ts";
import {
  cancelledAnother,
  checkCommon,
  checkLimitPrice,
  dateRange,
  market,
  orderIdAnswer,
  pageNumbersText,
  symbol,
} from "./shared.ts";
import {
  anyOf,
  date,
  decimal,
  int32,
  listingCode,
  oneOf,
  orderId,
  positiveDecimal,
  priceDecimal,
  text,
  timeOfDay,
  wholeText,
} from "./types.ts";

const noMessage = gap("message definition and number not published");

/** The lists of orders contain the child orders that an algorithmic order sends, but not the algorithmic order. */
const algoProof: Proof = { lists: ["algo.list"] };

const strategyFields = {
  /** Start, Hong Kong time. `00:00:00` means the open, or immediately if the market is open. */
  startTime: field("origStartTime", timeOfDay, { fallback: "00:00:00" }),
  /** End, Hong Kong time; `00:00:00` means the close. */
  endTime: field("origEndTime", timeOfDay, { fallback: "00:00:00" }),
  /** Maximum size of one child order, in shares. */
  maxChildQuantity: optional("maxVolume", positiveDecimal),
  /** Minimum size of one child order, as an amount. */
  minChildAmount: optional("minAmount", decimal),
  /** How aggressively it trades. */
  sensitivity: optional("sensitivity", oneOf(AlgoSensitivity)),
  /** Visible quantity; only for iceberg. */
  displayQuantity: optional("showQty", positiveDecimal),
  /** Percentage of the volume (`pov`) or of the order book (`tpov`). */
  percent: optional("qtyPercent", wholeText(1, 99)),
  /** Seconds between reports; only for `pov`. */
  intervalSec: optional("interval", int32(1, 86_400)),
};
/** Settings of the strategy in a request. */
export const strategyParams = params(strategyFields);
/** Settings of the strategy of an algorithmic order. */
export type AlgoSettings = Decoded<typeof strategyParams>;

/** Settings of the strategy in an answer. */
const strategyRecord = record({
  /** Start, Hong Kong time. */
  startTime: field("origStartTime", timeOfDay),
  /** End, Hong Kong time. */
  endTime: field("origEndTime", timeOfDay),
  /** Maximum size of one child order, in shares. */
  maxChildQuantity: field("maxVolume", decimal),
  /** Minimum size of one child order, as an amount. */
  minChildAmount: field("minAmount", decimal),
  /** How aggressively it trades. */
  sensitivity: field("sensitivity", anyOf(AlgoSensitivity)),
  /** Visible quantity. */
  displayQuantity: field("showQty", decimal),
  /** Percentage of the volume or of the order book. */
  percent: field("qtyPercent", decimal),
  /** Seconds between reports. */
  intervalSec: field("interval", int32()),
});

/** Fields of an algorithmic order. */
export const algoOrderFields = {
  /** The broker's number of the algorithmic order. */
  orderId: key("orderId", orderId),
  /** Listing code. */
  symbol: key("stockCode", text),
  /** Market of the listing. */
  market: field("exchangeType", anyOf(Market)),
  /** Day on which it trades. */
  date: field("tradeDate", date),
  /** Limit or market. */
  orderType: field("entrustType", anyOf(AlgoOrderType)),
  /** Limit price. */
  price: field("entrustPrice", decimal),
  /** Quantity ordered. */
  quantity: field("entrustAmount", decimal),
  /** Quantity filled. */
  filledQuantity: field("cumQty", decimal),
  /** Quantity left. */
  unfilledQuantity: field("leavesQty", decimal),
  /** Average price of the fills. */
  averagePrice: field("avgPx", decimal),
  /** State of the order. */
  status: field("status", anyOf(AlgoOrderStatus)),
  /** Buy or sell. */
  side: field("entrustBs", anyOf(Side)),
  /** Strategy. */
  strategy: field("targetStrategy", anyOf(AlgoStrategy)),
  /** State of the strategy. */
  strategyStatus: field("strategyStatus", anyOf(AlgoStrategyStatus)),
  /** Settings of the strategy. */
  settings: field("strategyParam", strategyRecord),
  /** Board lot. */
  lotSize: field("roundLot", decimal),
  /** Time when it was sent. */
  sentAt: field("sendingTime", text),
  /** Time of the last change. */
  changedAt: field("transactionTime", text),
};

const algoOrderRecord = record(algoOrderFields, ["AlgoOrder"]);
/** An algorithmic order in the list of algorithmic orders. */
export type AlgoOrder = RecordOf<typeof algoOrderFields>;

/** The broker's number of the algorithmic order. */
const algoOrderId = field("orderId", orderId);

/** Algorithmic orders. */
export const algo = family("algo", {
  /** Places an algorithmic order and resolves to its order id. */
  place: operation({
    wire: "AlgoAddOrder",
    group: "trade",
    effect: "write",
    order: "place",
    provenBy: [algoProof],
    needs: "trade-login",
    source: "API document 4.3",
    request: params({
      market,
      symbol,
      /** Buy or sell. */
      side: field("entrustBs", oneOf(Side, ["buy", "sell"])),
      /** Limit or market. */
      orderType: field("entrustType", oneOf(AlgoOrderType)),
      /** Limit price; the broker requires one for a market order too. */
      price: field("entrustPrice", priceDecimal),
      /** Quantity, in shares. */
      quantity: field("entrustAmount", positiveDecimal),
      /** Strategy; the broker's documents call `pov` (code 1005) both POV and INLINE. */
      strategy: field("targetStrategy", oneOf(AlgoStrategy)),
      /** Whether to trade in extended hours too. */
      tradingHours: field("sessionType", oneOf(TradingHours, ["no-extended", "extended"]), {
        fallback: "no-extended",
      }),
      /** Settings of the strategy. */
      settings: field("strategyParam", strategyParams),
    }, (order, wrong) => {
      checkCommon(order, wrong);
      checkLimitPrice(order, wrong);
      const { strategy, settings, quantity } = order;
      if (settings === undefined) return;
      if (strategy === "iceberg" && settings.displayQuantity === undefined) {
        wrong("settings", "settings with a displayQuantity for the iceberg strategy");
      }
      const { displayQuantity } = settings;
      if (displayQuantity !== undefined && quantity !== undefined && compare(displayQuantity, quantity) > 0) {
        wrong("settings", `settings with a displayQuantity of at most "${quantity}"`);
      }
      if ((strategy === "pov" || strategy === "tpov") && settings.percent === undefined) {
        wrong("settings", `settings with a percent from 1 to 99 for the ${strategy} strategy`);
      }
    }),
    response: orderIdAnswer,
    socket: noMessage,
  }),

  /** Amends an algorithmic order and resolves to its order id. The listing cannot be changed. */
  amend: operation({
    wire: "AlgoChangeOrder",
    group: "trade",
    effect: "write",
    order: "amend",
    provenBy: [algoProof],
    needs: "trade-login",
    extra: true,
    source: "community Go SDK, vendor gateway SDK 2.3.0",
    request: params({
      orderId: algoOrderId,
      /** Market of the listing. */
      market: optional("exchangeType", oneOf(Market)),
      /** Listing code; cannot be changed. */
      symbol: optional("stockCode", listingCode),
      /** New price. */
      price: optional("entrustPrice", priceDecimal),
      /** New quantity. */
      quantity: optional("entrustAmount", positiveDecimal),
      /** New settings of the strategy. */
      settings: optional("strategyParam", strategyParams),
    }, checkCommon),
    response: orderIdAnswer,
    socket: noMessage,
  }),

  /** Cancels the unfilled rest of an algorithmic order, and resolves to its order id. */
  cancel: operation({
    wire: "AlgoCancelOrder",
    group: "trade",
    effect: "write",
    order: "cancel",
    provenBy: [algoProof],
    unmentioned: cancelledAnother,
    needs: "trade-login",
    extra: true,
    source: "community Go SDK, vendor gateway SDK 2.3.0",
    request: params({ orderId: algoOrderId, market }),
    response: orderIdAnswer,
    socket: noMessage,
  }),

  /** Cancels one child order of an algorithmic order and resolves to its order id. */
  cancelChild: operation({
    wire: "AlgoCancelEntrust",
    group: "trade",
    effect: "write",
    order: "cancel",
    provenBy: [{ lists: ["algo.children", "orders.today", "fills.today"] }],
    needs: "trade-login",
    extra: true,
    source: "community Go SDK, vendor gateway SDK 2.3.0",
    request: params({
      orderId: algoOrderId,
      /** The child's order number. */
      childOrderId: field("entrustId", orderId),
      market,
    }),
    response: orderIdAnswer,
    socket: noMessage,
  }),

  /** Starts, stops, suspends or resumes the strategy of an algorithmic order. */
  act: operation({
    wire: "AlgoActionOrder",
    group: "trade",
    effect: "write",
    order: "amend",
    provenBy: [algoProof],
    needs: "trade-login",
    extra: true,
    source: "community Go SDK, vendor gateway SDK 2.3.0",
    request: params({
      orderId: algoOrderId,
      /** Action on the strategy. */
      action: field("action", oneOf(AlgoAction)),
      /** Strategy of the order. */
      strategy: field("targetStrategy", oneOf(AlgoStrategy)),
      market,
    }),
    response: orderIdAnswer,
    socket: noMessage,
  }),

  /** Yields the algorithmic orders of a range of days. */
  list: operation({
    wire: "AlgoQueryOrderList",
    group: "trade",
    effect: "read",
    needs: "trade-login",
    extra: true,
    source: "community Go SDK, vendor gateway SDK 2.3.0",
    request: params({
      ...dateRange,
      /** Market; required if a listing is given. */
      market: optional("exchangeType", oneOf(Market)),
      /** Only this listing. */
      symbol: optional("stockCode", listingCode),
      ...pageNumbersText,
    }, (query, wrong) => {
      checkCommon(query, wrong);
      if (query.symbol !== undefined && query.market === undefined) {
        wrong("market", "the market of the listing");
      }
    }),
    response: rows("algoOrderList", algoOrderRecord),
    paging: { style: "page", last: "short", identity: ["orderId"] },
    socket: noMessage,
  }),

  /** Lists the order numbers of the child orders of an algorithmic order. */
  children: operation({
    wire: "AlgoQueryEntrustIdList",
    group: "trade",
    effect: "read",
    needs: "trade-login",
    extra: true,
    source: "community Go SDK, vendor gateway SDK 2.3.0",
    request: params({
      orderId: algoOrderId,
      /** Day on which it traded. */
      date: field("tradeDate", date),
      market,
    }),
    response: rows("entrustId", orderId),
    socket: noMessage,
  }),
});
