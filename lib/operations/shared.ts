/**
 * Defines fields and checks that several families of operations share.
 *
 * @module
 */
import { isZero } from "../decimal.ts";
import { Market } from "../dictionaries/market.ts";
import { SecurityType } from "../dictionaries/security_type.ts";
import { commandAnswer, type Decoded, field, key, params, record, single } from "./records.ts";
import { acceptedOrderId, anyOf, date, flag, int32, int32Text, listingCode, oneOf, text } from "./types.ts";

/** Market of the listing, or of the account to query. */
export const market = field("exchangeType", oneOf(Market));
/** Listing code; Hong Kong codes carry `.HK`. */
export const symbol = field("stockCode", listingCode);

/** Paging of a cursor query. */
export const cursorPaging = {
  /** Rows per page, 1 to 99. */
  limit: field("queryCount", int32(1, 99), { fallback: 20 }),
  /** Cursor of the last row of the page before; `"0"` for the first page. */
  cursor: field("queryParamStr", text, { fallback: "0" }),
};

/** Members that identify a fill. Clearing adds the fees, but does not change these members. */
export const fillIdentity: readonly string[] = [
  "orderId",
  "symbol",
  "side",
  "fillTime",
  "fillPrice",
  "filledQuantity",
];
/** Members that identify an order in any state. */
export const orderIdentity: readonly string[] = ["orderId", "symbol", "side"];
/** Members that identify a fund journal entry. They are the same in today's journal and in the history. */
export const journalIdentity: readonly string[] = ["amount", "type", "typeText", "parentType"];

/** Days of a history query, both included. */
export const dateRange = {
  /** First day. */
  from: field("startDate", date),
  /** Last day. */
  to: field("endDate", date),
};

/** Paging by page numbers, sent as numbers. */
export const pageNumbers = {
  /** Page, counted from 1. */
  page: field("pageNo", int32(1, 1_000_000), { fallback: 1 }),
  /** Rows per page, 1 to 99. */
  limit: field("pageSize", int32(1, 99), { fallback: 20 }),
};

/** Paging by page numbers, for operations where the gateway expects them as text. */
export const pageNumbersText = {
  /** Page, counted from 1. */
  page: field("pageNo", int32Text(1, 1_000_000), { fallback: 1 }),
  /** Rows per page, 1 to 99. */
  limit: field("pageSize", int32Text(1, 99), { fallback: 20 }),
};

/** Maximum number of subscribed securities, over all topics. */
export const maxSubscriptions = 200;

/** A security of market data. */
export const securityParams = params(
  {
    /** Type of the security. */
    type: field("dataType", oneOf(SecurityType)),
    /** Listing code, with the suffix `.HK`, `.SH` or `.SZ` if the exchange has one. */
    symbol: field("code", listingCode),
  },
  undefined,
  ["Security"],
);
/** A security as the market-data operations expect it. */
export type Security = Decoded<typeof securityParams>;

/** A security in an answer. */
export const securityRecord = record({
  /** Type of the security. */
  type: field("dataType", anyOf(SecurityType)),
  /** Listing code with its suffix. */
  symbol: key("code", text),
}, ["Security"]);
/** The security of an answer or a push. */
export type AnsweredSecurity = Decoded<typeof securityRecord>;

/** The answer of an order operation. */
export const orderIdAnswer = single(
  record({
    /** The broker's order number. */
    orderId: key("data", acceptedOrderId, { aliases: ["orderId"] }),
  }, ["CommonStringResponse"]),
  "data",
);
/** The answer of an operation that places, amends or cancels one order. */
export type OrderAnswer = Decoded<typeof orderIdAnswer>;

/**
 * Returns the id of the order to cancel if the answer names another order; otherwise an empty list. The operations
 * that cancel one order use it as `unmentioned`.
 */
export function cancelledAnother({ orderId }: { orderId: string }, answered: { orderId: string }): string[] {
  return answered.orderId === orderId ? [] : [orderId];
}

/** Reports a Hong Kong code without its suffix, and a date range that ends before it starts. */
export function checkCommon(
  given: { market?: string; symbol?: string; from?: string; to?: string },
  wrong: (path: string, expected: string) => void,
): void {
  if (given.market === "hk" && given.symbol !== undefined && !given.symbol.endsWith(".HK")) {
    wrong("symbol", 'a Hong Kong code with its suffix, such as "00700.HK"');
  }
  if (given.from !== undefined && given.to !== undefined && given.to < given.from) {
    wrong("to", `a day that is not before "${given.from}"`);
  }
}

/** Reports a limit order with the price zero, which only an order at the market's price may have. */
export function checkLimitPrice(
  { price, orderType }: { price?: string; orderType?: string },
  wrong: (path: string, expected: string) => void,
): void {
  if (orderType === "limit" && price !== undefined && isZero(price)) {
    wrong("price", 'a price above zero for a "limit" order');
  }
}

/** An answer that reports only success. */
export const successAnswer = commandAnswer({
  /** True on success; absent if the answer does not report it. */
  success: field("success", flag),
  /** A text that some gateways send instead of `success`. */
  text: field("data", text, { gap: "seen from gateways only" }),
}, ["CommonBoolResponse"]);
/** An answer that reports only success. */
export type SuccessAnswer = Decoded<typeof successAnswer>;

/** Page counters of an answer. */
export const pageCounters = {
  /** Number of this page, counted from 1. */
  page: field("curPageNo", int32()),
  /** Number of rows requested. */
  limit: field("curPageSize", int32()),
};
