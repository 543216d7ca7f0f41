/**
 * Fees that the socket has no field for, worked out from those that it has.
 *
 * The published `FareVo` ends before `fare8` and `fare9`, while its total counts them. Each market has one of the
 * two, so that what the total holds beyond the other items is that one.
 *
 * @module
 */
import type { FeeItem } from "../dictionaries/fee_item.ts";
import { add, compare, type Decimal, isDecimal, multiply, subtract } from "../decimal.ts";

/** The item of each market that has no number; the others have neither. */
const unnumbered: Readonly<Record<string, FeeItem>> = { hk: "disputeCouncilLevy", us: "auditTrailFee" };

/**
 * Both charges are far below this part of the amount and these five cents (0.00015 % in Hong Kong, some millionths
 * of a dollar per share in the United States). What is larger is no such charge but a total that does not add up,
 * and stays visible as that.
 */
const MOST_OF_AMOUNT = "0.0001";
const MOST_BESIDE = "0.05";

/** What is needed of a fill; amounts in the listing's currency. */
export interface FillWithFees {
  market?: string;
  fillAmount?: Decimal;
  fees?: Partial<Record<FeeItem, Decimal>>;
}

/** Adds the fee without a number to each fill that has its total. */
export function completeFees(fills: readonly FillWithFees[]): FillWithFees[] {
  return fills.map((fill) => {
    const item = unnumbered[fill.market ?? ""];
    const rest = item === undefined || fill.fees?.[item] !== undefined ? undefined : restOf(fill);
    return item === undefined || rest === undefined
      ? fill
      : { ...fill, fees: { ...fill.fees, [item]: rest } };
  });
}

/** What the total holds beyond the items, with as many decimals; nothing when that cannot be one charge. */
function restOf({ fees: { total, ...items } = {}, fillAmount }: FillWithFees): Decimal | undefined {
  const listed = Object.values(items);
  if (total === undefined || fillAmount === undefined) return undefined;
  if (![total, fillAmount, ...listed].every(isDecimal)) return undefined;
  const rest = subtract(total, add("0", ...listed));
  const most = add(multiply(fillAmount.replace(/^-/, ""), MOST_OF_AMOUNT), MOST_BESIDE);
  if (rest.startsWith("-") || compare(rest, most) > 0) return undefined;
  const [whole = "0", decimals = ""] = rest.split(".");
  const places = total.split(".")[1]?.length ?? 0;
  return decimals.length >= places ? rest : `${whole}.${decimals.padEnd(places, "0")}`;
}
