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
import { decimal } from "./types.ts";
import { add, compare, type Decimal, isDecimal, multiply, subtract, sumOf } from "../decimal.ts";

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
export type Fees = RecordOf<typeof feeFields>;

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

/**
 * The fee without a field number, by market. Hong Kong and the United States have one each, other markets none. The
 * published socket message `FareVo` lacks `fare8` and `fare9`, but its total includes them. So the missing fee is the
 * total minus all other items.
 */
const unnumbered: Readonly<Record<string, FeeItem>> = { hk: "disputeCouncilLevy", us: "auditTrailFee" };

/**
 * Limits of the missing fee: a fraction of the amount, plus five cents. Real charges are far below these limits
 * (0.00015 % in Hong Kong, a few millionths of a dollar per share in the United States). If the difference is larger,
 * the total is wrong. Then no fee is added, and the check of the fees finds the wrong total.
 */
const MOST_OF_AMOUNT = "0.0001";
const MOST_EXTRA = "0.05";

/** The members of a fill from which the fee is computed; amounts in the listing's currency. */
interface FillWithFees {
  market?: string;
  fillAmount?: Decimal;
  fees?: Partial<Record<FeeItem, Decimal>>;
}

/** Adds the fee without a field number to each fill that has a total. */
export function completeFees(fills: readonly FillWithFees[]): FillWithFees[] {
  return fills.map((fill) => {
    const item = unnumbered[fill.market ?? ""];
    const rest = item === undefined || fill.fees?.[item] !== undefined ? undefined : restOf(fill);
    return item === undefined || rest === undefined
      ? fill
      : { ...fill, fees: { ...fill.fees, [item]: rest } };
  });
}

/**
 * Returns the total minus the other items, with at least as many decimals as the total.
 *
 * @returns `undefined` if the difference cannot be the missing fee.
 */
function restOf({ fees: { total, ...items } = {}, fillAmount }: FillWithFees): Decimal | undefined {
  const listed = Object.values(items);
  if (total === undefined || fillAmount === undefined) return undefined;
  if (![total, fillAmount, ...listed].every(isDecimal)) return undefined;
  const rest = subtract(total, sumOf(listed));
  const most = add(multiply(fillAmount.replace(/^-/, ""), MOST_OF_AMOUNT), MOST_EXTRA);
  if (rest.startsWith("-") || compare(rest, most) > 0) return undefined;
  const [whole = "0", decimals = ""] = rest.split(".");
  const places = total.split(".")[1]?.length ?? 0;
  return decimals.length >= places ? rest : `${whole}.${decimals.padEnd(places, "0")}`;
}
