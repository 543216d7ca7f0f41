/**
 * Fills, with their fees.
 *
 * @module
 */
import { FeeItem } from "../dictionaries/fee_item.ts";
import { family, operation } from "./operation.ts";
import { orderFields } from "./orders.ts";
import { type Field, field, key, params, record, type RecordOf, rows } from "./records.ts";
import { checkCommon, cursorPaging, dateRange, fillIdentity, market } from "./shared.ts";
import { completeFees } from "./socket_fees.ts";
import { decimal } from "./types.ts";

type FeeFields = Record<FeeItem, Field<string, "required">>;

/** The items that the published message lacks: the broker added them later and published no field numbers. */
const withoutNumber = new Set(["fare8", "fare9"]);

/** Fee items from their code table: each name maps to its `fareVo` member. */
export const feeFields: FeeFields = Object.fromEntries(
  FeeItem.entries.map(({ code, name }) => [
    name,
    field(code, decimal, withoutNumber.has(code) ? { gap: "field number not published" } : {}),
  ]),
) as FeeFields; // one field for each name of the table; the type of `fromEntries` cannot express that

const feesRecord = record(feeFields, ["FareVo"]);
/** Fees of one fill, in the listing's currency. Contains only the items that apply in the market. */
export type Fees = RecordOf<FeeFields>;

/** Fields of a fill. */
export const fillFields = {
  ...orderFields,
  /** Price of the fill, in the listing's currency. */
  fillPrice: key("businessPrice", decimal),
  /** Quantity filled, in shares or contracts. */
  filledQuantity: key("businessAmount", decimal),
  /** Fees; absent until clearing. */
  fees: field("fareVo", feesRecord),
};

const fillRecord = record(fillFields, ["OrderVo"]);
/** A fill in the lists of fills. */
export type Fill = RecordOf<typeof fillFields>;

/** Fills. */
export const fills = family("fills", {
  /** Yields today's fills. Fees are absent until clearing; read them from `fills.history`. */
  today: operation({
    wire: "TradeQueryRealDeliverList",
    group: "trade",
    effect: "read",
    answers: "now",
    instead: "fills.history",
    needs: "trade-login",
    source: "API document 4.4",
    request: params({ market, ...cursorPaging }),
    response: rows("data", fillRecord, { proto: ["TradeQueryRealDeliverListResponse"] }),
    paging: { style: "cursor", last: "short", identity: fillIdentity },
    socket: {
      request: "TradeQueryRealDeliverListRequest",
      response: "TradeQueryRealDeliverListResponse",
      complete: completeFees,
    },
  }),

  /** Yields the fills of past days with their fees. Hong Kong fills are merged and do not map to orders one to one. */
  history: operation({
    wire: "TradeQueryHistoryDeliverList",
    group: "trade",
    effect: "read",
    needs: "trade-login",
    source: "API document 4.4",
    request: params({ market, ...dateRange, ...cursorPaging }, checkCommon),
    response: rows("data", fillRecord, { proto: ["TradeQueryHistoryDeliverListResponse"] }),
    paging: { style: "cursor", last: "short", identity: fillIdentity },
    socket: {
      request: "TradeQueryHistoryDeliverListRequest",
      response: "TradeQueryHistoryDeliverListResponse",
      complete: completeFees,
    },
  }),
});
