/**
 * Orders: place, amend, cancel and list orders.
 *
 * @module
 */
import { compare, isZero } from "../decimal.ts";
import { TrailBy } from "../dictionaries/conditional_order.ts";
import { Market } from "../dictionaries/market.ts";
import { OrderStatus, RemarkType } from "../dictionaries/order_status.ts";
import { conditionalTypes, OrderType, trailingTypes, unpricedTypes } from "../dictionaries/order_type.ts";
import { ClientType } from "../dictionaries/query.ts";
import { Side } from "../dictionaries/side.ts";
import { TradingHours } from "../dictionaries/trading_hours.ts";
import { RoutingVenue } from "../dictionaries/venue.ts";
import { family, gap, operation, type Proof } from "./operation.ts";
import {
  answerRecord,
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
import {
  cancelledAnother,
  checkCommon,
  cursorPaging,
  dateRange,
  market,
  orderIdAnswer,
  orderIdentity,
  successAnswer,
  symbol,
} from "./shared.ts";
import {
  anyOf,
  asInt,
  date,
  decimal,
  flagInt,
  oneOf,
  orderId,
  positiveDecimal,
  priceDecimal,
  text,
  timeOfDay,
  wholeText,
} from "./types.ts";

/** Order types that each market accepts. */
const typesByMarket: Readonly<Record<Market, readonly OrderType[]>> = {
  hk: ["auction-limit", "auction", "enhanced-limit", "limit", "special-limit", "dark-pool", "odd-lot"],
  us: ["limit", "market", "iceberg-market", "iceberg-limit", "hidden-market", "hidden-limit"],
  shanghai: ["limit"],
  shenzhen: ["limit"],
};
const conditionalTypesOfUs: readonly OrderType[] = [
  "take-profit-market",
  "stop-loss-market",
  "trailing-stop-market",
];
const icebergTypes: readonly OrderType[] = ["iceberg-market", "iceberg-limit"];
const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(", ");

/** Fields of both orders and fills: the broker uses the same record for them. */
export const orderFields = {
  /** Listing code; Hong Kong codes carry `.HK`. */
  symbol: key("stockCode", text),
  /** Name of the listing. */
  name: field("stockName", text),
  /** Market of the listing. */
  market: field("exchangeType", anyOf(Market)),
  /** The broker's order number. */
  orderId: field("entrustId", orderId),
  /** Bought or sold. */
  side: key("entrustBs", anyOf(Side)),
  /** Order type. */
  orderType: field("entrustTypeNum", anyOf(OrderType)),
  /** Order type in the broker's words. */
  orderTypeText: field("entrustType", text),
  /** Limit price in the listing's currency. */
  price: field("entrustPrice", decimal),
  /** Quantity ordered, in shares or contracts. */
  quantity: field("entrustAmount", decimal),
  /** Price of the fill, in the listing's currency. */
  fillPrice: field("businessPrice", decimal),
  /** Quantity filled. */
  filledQuantity: field("businessAmount", decimal),
  /** Quantity not filled. */
  unfilledQuantity: field("unBusinessAmount", decimal),
  /** Amount of the fill: price times quantity. */
  fillAmount: field("businessBalance", decimal),
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
  /** Seat of the counterparty; only on same-day fills. */
  counterpartySeat: field("opponentSeat", text),
  /** `voided-order` if the order was voided, otherwise `none`. */
  remarkType: field("remarkType", anyOf(RemarkType)),
  /** The broker's remark; free text. */
  remark: field("remark", text),
  /** Routing venue, US. */
  venue: field("exchange", anyOf(RoutingVenue)),
  /** Position of the row in its list, for paging. */
  cursor: field("queryParamStr", text),
};

export const listedOrderFields = {
  ...orderFields,
  /** The broker's order number. */
  orderId: key("entrustId", orderId),
};
/** An order in the lists of orders. */
const orderRecord = record(listedOrderFields, ["OrderVo"]);
/** An order in the lists of orders. */
export type Order = RecordOf<typeof listedOrderFields>;

/** An order of a batch cancellation that the broker could not cancel. */
export const cancelFailure = record({
  /** The broker's order number. */
  orderId: key("failEntrustId", orderId),
  /** Why the order was not cancelled, in the broker's words. */
  remark: field("remark", text),
});
/** An order of a batch cancellation that the broker could not cancel. */
export type CancelFailure = Decoded<typeof cancelFailure>;

/** The answer of a batch cancellation. */
export const cancelAnswer = answerRecord({
  /** Cancelled orders. */
  cancelled: key("successEntrustId", listOf(orderId)),
  /** Orders that were not cancelled, each with the reason. */
  failed: key("failCancelEntrust", listOf(cancelFailure)),
});
/** The answer of a batch cancellation. */
export type CancelAnswer = Decoded<typeof cancelAnswer>;

interface CancelManyParams {
  orderIds: readonly string[];
}

const notCancelled = ({ failed }: CancelAnswer) => failed.map(({ orderId }) => orderId);

const noMessage = gap("message definition not published");

/** An order that fills immediately may appear in the list of fills only. Conditional orders are in separate lists. */
const ordinaryProof: Proof = { lists: ["orders.today", "fills.today"] };
const conditionalProof: Proof = {
  lists: ["conditionalOrders.today"],
  when: { param: "orderType", isOneOf: conditionalTypes, what: "a conditional order" },
};

/** Orders. */
export const orders = family("orders", {
  /**
   * Places an order and resolves to the broker's order id.
   * The broker splits a quantity above the single-order maximum into several orders.
   */
  place: operation({
    wire: "TradeEntrust",
    group: "trade",
    effect: "write",
    order: "place",
    provenBy: [ordinaryProof, conditionalProof],
    needs: "trade-login",
    source: "API document 4.3, 4.8",
    request: params({
      market,
      symbol,
      /** Quantity, in shares or contracts. */
      quantity: field("entrustAmount", positiveDecimal),
      /** Limit price in the listing's currency. May be omitted for conditional orders; `"0"` for a market order. */
      price: optional("entrustPrice", priceDecimal),
      /**
       * Side. With a short position in the listing, the broker itself decides what the order opens or closes. Its
       * documents do not say how.
       */
      side: field("entrustBs", oneOf(Side)),
      /** Order type; must be one that the market accepts. */
      orderType: field("entrustType", oneOf(OrderType)),
      /** Client type of the request. */
      clientType: field("clientType", asInt(oneOf(ClientType)), { fallback: "internet" }),
      /** Routing venue, only for the US; the broker may ignore it. */
      venue: optional("exchange", oneOf(RoutingVenue)),
      /**
       * Trading hours of the order. An ordinary order accepts `no-extended` and `extended`. A conditional order accepts
       * the other names.
       */
      tradingHours: optional(
        "sessionType",
        oneOf(TradingHours, [
          "no-extended",
          "extended",
          "regular",
          "hk-regular-and-dark",
          "us-regular-and-extended",
        ]),
      ),
      /** Visible quantity of an iceberg order, above zero and at most the quantity. */
      displayQuantity: optional("iceBergDisplaySize", positiveDecimal),
      /** Validity of a conditional order, in calendar days. */
      validDays: optional("validDays", wholeText(1, 100)),
      /** Value that triggers a conditional order: a price, a spread or a percentage. */
      triggerValue: optional("condValue", decimal),
      /** Unit of the distance of a trailing order. */
      trailBy: optional("condTrackType", oneOf(TrailBy, ["percentage", "spread"])),
    }, (order, wrong) => {
      checkCommon(order, wrong);
      if (order.venue !== undefined && order.market !== undefined && order.market !== "us") {
        wrong("venue", "no value outside the US market");
      }
      const { orderType } = order;
      if (orderType === undefined) return; // all other checks depend on the type
      const isConditional = conditionalTypes.includes(orderType);
      checkType(orderType, isConditional, order.market, wrong);
      checkPrice(order.price, orderType, wrong);
      checkIceberg(order, wrong);
      checkConditional(order, isConditional, wrong);
      const hours: TradingHours[] = isConditional
        ? ["regular", "hk-regular-and-dark", "us-regular-and-extended"]
        : ["no-extended", "extended"];
      if (order.tradingHours !== undefined && !hours.includes(order.tradingHours)) {
        wrong(
          "tradingHours",
          `one of ${quoted(hours)} for ${isConditional ? "a conditional" : "an ordinary"} order`,
        );
      }
      if (isConditional && order.validDays === undefined) {
        wrong("validDays", "a whole number from 1 to 100 for a conditional order");
      }
    }),
    response: orderIdAnswer,
    socket: { request: "TradeEntrustRequest", response: "CommonStringResponse" },
  }),

  /**
   * Amends an order and resolves to its order id, which may be a new one.
   * The broker splits a quantity above the single-order maximum into several orders.
   */
  amend: operation({
    wire: "TradeChangeEntrust",
    group: "trade",
    effect: "write",
    order: "amend",
    provenBy: [ordinaryProof, conditionalProof],
    needs: "trade-login",
    source: "API document 4.3; field numbers from the vendor Python SDK 1.1.2",
    request: params({
      market,
      symbol,
      /** The broker's order number. */
      orderId: field("entrustId", orderId),
      /** New quantity. */
      quantity: field("entrustAmount", positiveDecimal),
      /** New price; may be omitted for a conditional order. */
      price: optional("entrustPrice", priceDecimal),
      /** Type of the placed order; required for a conditional order. */
      orderType: optional("entrustType", oneOf(OrderType)),
      /** Trading hours of a conditional order. */
      tradingHours: optional(
        "sessionType",
        oneOf(TradingHours, ["regular", "hk-regular-and-dark", "us-regular-and-extended"]),
      ),
      /** Validity of a conditional order, in calendar days. */
      validDays: optional("validDays", wholeText(1, 100)),
      /** Value that triggers a conditional order: a price, a spread or a percentage. */
      triggerValue: optional("condValue", decimal),
      /** Unit of the distance of a trailing order. */
      trailBy: optional("condTrackType", oneOf(TrailBy, ["percentage", "spread"])),
    }, (order, wrong) => {
      checkCommon(order, wrong);
      const isConditional = order.orderType !== undefined && conditionalTypes.includes(order.orderType);
      if (!isConditional && order.price === undefined) wrong("price", "the new price");
      checkConditional(order, isConditional, wrong);
    }),
    response: orderIdAnswer,
    socket: { request: "TradeChangeEntrustRequest", response: "CommonStringResponse" },
  }),

  /**
   * Cancels one order and resolves to its order id. If the answer names another order, the outcome is unknown and the
   * call throws an `OutcomeUnknownError`.
   */
  cancel: operation({
    wire: "TradeCancelEntrust",
    group: "trade",
    effect: "write",
    order: "cancel",
    provenBy: [ordinaryProof, conditionalProof],
    unmentioned: cancelledAnother,
    needs: "trade-login",
    source: "API document 4.3, 4.8",
    request: params({
      market,
      symbol,
      /** The broker's order number. */
      orderId: field("entrustId", orderId),
      /** If given, it must equal the quantity of the placed order. */
      quantity: optional("entrustAmount", positiveDecimal),
      /** Price of the placed order. */
      price: optional("entrustPrice", priceDecimal),
      /** Type of the placed order; required for a conditional order. */
      orderType: optional("entrustType", oneOf(OrderType)),
    }, checkCommon),
    response: orderIdAnswer,
    socket: { request: "TradeCancelEntrustRequest", response: "CommonStringResponse" },
  }),

  /**
   * Cancels the given orders of a market. Resolves to the orders that were cancelled and those that were not. The call
   * may time out on a day with many orders: then query the lists again and cancel the remaining orders. If the answer
   * omits a given order, or lists it both as cancelled and as failed, the call throws an `OutcomeUnknownError` that
   * names the order. Conditional orders must be cancelled one by one.
   */
  cancelMany: operation({
    wire: "TradeBatchCancelEntrust",
    group: "trade",
    effect: "write",
    order: "cancel",
    undone: notCancelled,
    provenBy: [ordinaryProof],
    unmentioned: ({ orderIds }: CancelManyParams, { cancelled, failed }: CancelAnswer) => {
      const left = new Set(failed.map(({ orderId }) => orderId));
      // The outcome is known only if the id is in exactly one of the two lists.
      return orderIds.filter((id) => cancelled.includes(id) === left.has(id));
    },
    needs: "trade-login",
    source: "API document 4.3",
    request: params({
      market,
      /** Order numbers, at least one. To cancel all orders, use `orders.cancelAll`. */
      orderIds: field("entrustId", listOf(orderId)),
    }),
    response: cancelAnswer,
    socket: noMessage,
  }),

  /**
   * Cancels every order of a market that can be cancelled. With `shanghai` or `shenzhen`, cancels the orders of both
   * exchanges. An answer without orders does not prove that no order is open: check `orders.today`.
   */
  cancelAll: operation({
    wire: "TradeBatchCancelEntrust",
    variantOf: "orders.cancelMany",
    constants: { entrustId: [] },
    group: "trade",
    effect: "write",
    order: "cancel",
    undone: notCancelled,
    provenBy: [ordinaryProof],
    unmentioned: (_params: unknown, { cancelled, failed }: CancelAnswer) =>
      notCancelled({ cancelled, failed }).filter((id) => cancelled.includes(id)),
    needs: "trade-login",
    source: "API document 4.3; the empty list from the community Go SDK",
    request: params({ market }),
    response: cancelAnswer,
    socket: noMessage,
  }),

  /** Yields today's orders, without conditional orders. */
  today: operation({
    wire: "TradeQueryRealEntrustList",
    group: "trade",
    effect: "read",
    answers: "now",
    instead: "orders.history",
    needs: "trade-login",
    source: "API document 4.4",
    request: params({
      market,
      ...cursorPaging,
      /** Only these orders, at most 100. If given, the broker ignores paging. */
      orderIds: optional("entrustId", listOf(orderId, 100)),
    }),
    response: rows("data", orderRecord, { proto: ["TradeQueryRealEntrustListResponse"] }),
    paging: { style: "cursor", last: "short", identity: orderIdentity, wholeWith: "orderIds" },
    socket: { request: "TradeQueryRealEntrustListRequest", response: "TradeQueryRealEntrustListResponse" },
  }),

  /** Yields the orders of past days. */
  history: operation({
    wire: "TradeQueryHistoryEntrustList",
    group: "trade",
    effect: "read",
    needs: "trade-login",
    source: "API document 4.4",
    request: params({ market, ...dateRange, ...cursorPaging }, checkCommon),
    response: rows("data", orderRecord, { proto: ["TradeQueryHistoryEntrustListResponse"] }),
    paging: { style: "cursor", last: "short", identity: orderIdentity },
    socket: {
      request: "TradeQueryHistoryEntrustListRequest",
      response: "TradeQueryHistoryEntrustListResponse",
    },
  }),

  /** Turns on order pushes for the trade session. They are on by default after connecting. */
  subscribe: operation({
    wire: "TradeSubscribe",
    group: "trade",
    effect: "session",
    needs: "trade-login",
    extra: true,
    source: "vendor Python SDK 1.1.2, community Go SDK",
    request: params({}),
    response: successAnswer,
    socket: { request: null, response: "CommonBoolResponse" },
  }),

  /** Turns off order pushes for the trade session. */
  unsubscribe: operation({
    wire: "TradeUnsubscribe",
    group: "trade",
    effect: "session",
    needs: "trade-login",
    extra: true,
    source: "vendor Python SDK 1.1.2, community Go SDK",
    request: params({}),
    response: successAnswer,
    socket: { request: null, response: "CommonBoolResponse" },
  }),
});

type Wrong = (path: string, expected: string) => void;

function checkType(type: OrderType, isConditional: boolean, market: Market | undefined, wrong: Wrong): void {
  if (market === undefined) return;
  const allowed = isConditional
    ? conditionalTypes.filter((each) => market === "us" || !conditionalTypesOfUs.includes(each))
    : typesByMarket[market];
  if (!allowed.includes(type)) wrong("orderType", `one of ${quoted(allowed)} in market "${market}"`);
}

function checkPrice(price: string | undefined, orderType: OrderType, wrong: Wrong): void {
  if (conditionalTypes.includes(orderType)) return;
  if (price === undefined) wrong("price", 'a price; a market order sends "0"');
  else if (isZero(price) && !unpricedTypes.includes(orderType)) {
    wrong("price", `a price above zero for a "${orderType}" order`);
  }
}

function checkIceberg(
  order: { displayQuantity?: string; quantity?: string; orderType?: OrderType },
  wrong: Wrong,
): void {
  const { displayQuantity, quantity, orderType } = order;
  if (orderType === undefined || !icebergTypes.includes(orderType)) {
    if (displayQuantity !== undefined) {
      wrong("displayQuantity", "no value, because this is not an iceberg order");
    }
  } else if (
    quantity !== undefined && (displayQuantity === undefined || compare(displayQuantity, quantity) > 0)
  ) {
    wrong("displayQuantity", `a display quantity above zero and at most "${quantity}"`);
  }
}

interface ConditionalParams {
  orderType?: OrderType;
  validDays?: number;
  triggerValue?: string;
  trailBy?: string;
}

function checkConditional(order: ConditionalParams, isConditional: boolean, wrong: Wrong): void {
  const isTrailing = order.orderType !== undefined && trailingTypes.includes(order.orderType);
  if (isConditional && order.triggerValue === undefined) {
    wrong("triggerValue", "a price, spread or percentage for a conditional order");
  }
  if (isTrailing && order.trailBy === undefined) {
    wrong("trailBy", '"percentage" or "spread" for a trailing order');
  }
  if (!isTrailing && order.trailBy !== undefined) {
    wrong("trailBy", "no value, because this is not a trailing order");
  }
  if (isConditional) return;
  if (order.triggerValue !== undefined) {
    wrong("triggerValue", "no value, because this is not a conditional order");
  }
  if (order.validDays !== undefined) wrong("validDays", "no value, because this is not a conditional order");
}
