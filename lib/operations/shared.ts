/**
 * Fields and rules that several families use.
 *
 * @module
 */
import { Market } from "../dictionaries/market.ts";
import { SecurityType } from "../dictionaries/security_type.ts";
import { commandAnswer, field, key, params, record, single } from "./records.ts";
import { anyOf, date, flag, int32, int32Text, listingCode, oneOf, takenOrderId, text } from "./types.ts";

/** Market of the listing, or of the account asked about. */
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

/** Members that tell one fill from another. They are the same before and after clearing, which adds the fees. */
export const fillIdentity: readonly string[] = [
  "orderId",
  "symbol",
  "side",
  "fillTime",
  "fillPrice",
  "filledQuantity",
];
/** Members that tell one order from another, whatever its state. */
export const orderIdentity: readonly string[] = ["orderId", "symbol", "side"];
/** Members that tell one line of the journal from another. They are the same on its day and later. */
export const journalIdentity: readonly string[] = ["amount", "type", "typeText", "parentType"];

/** Days of a history query, both included. */
export const dateRange = {
  /** First day. */
  from: field("startDate", date),
  /** Last day. */
  to: field("endDate", date),
};

/** Paging by page numbers, written as numbers. */
export const pageNumbers = {
  /** Page, counted from 1. */
  page: field("pageNo", int32(1, 1_000_000), { fallback: 1 }),
  /** Rows per page, 1 to 99. */
  limit: field("pageSize", int32(1, 99), { fallback: 20 }),
};

/** Paging by page numbers, which the gateway wants as text here. */
export const pageNumbersText = {
  /** Page, counted from 1. */
  page: field("pageNo", int32Text(1, 1_000_000), { fallback: 1 }),
  /** Rows per page, 1 to 99. */
  limit: field("pageSize", int32Text(1, 99), { fallback: 20 }),
};

/** A security of market data. */
export const securityParams = params(
  {
    /** What kind of security it is. */
    type: field("dataType", oneOf(SecurityType)),
    /** Listing code, with the suffix `.HK`, `.SH` or `.SZ` where the exchange has one. */
    symbol: field("code", listingCode),
  },
  undefined,
  ["Security"],
);

/** A security as an answer names it. */
export const securityRecord = record({
  /** What kind of security it is. */
  type: field("dataType", anyOf(SecurityType)),
  /** Listing code with its suffix. */
  symbol: key("code", text),
}, ["Security"]);

/** The answer of an order operation. */
export const orderIdAnswer = single(
  record({
    /** The broker's order number. */
    orderId: key("data", takenOrderId, { aliases: ["orderId"] }),
  }, ["CommonStringResponse"]),
  "data",
);

/** The order of a cancellation whose answer names another one: `unmentioned` of each operation that cancels one. */
export function cancelledAnother({ orderId }: { orderId: string }, answered: { orderId: string }): string[] {
  return answered.orderId === orderId ? [] : [orderId];
}

/** Refuses a Hong Kong code without its suffix, and a range of days that ends before it starts. */
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

/** An answer that says only that it worked. */
export const successAnswer = commandAnswer({
  /** True when it worked; absent when the answer does not say. */
  success: field("success", flag),
  /** A text that some gateways send in its place. */
  text: field("data", text, { gap: "seen from gateways only" }),
}, ["CommonBoolResponse"]);

/** Page counters of an answer. */
export const pageCounters = {
  /** Page that this is, counted from 1. */
  page: field("curPageNo", int32()),
  /** Rows asked for. */
  limit: field("curPageSize", int32()),
};
