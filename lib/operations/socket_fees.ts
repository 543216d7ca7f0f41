/**
 * Computes fees for which the socket message has no field.
 *
 * The published message `FareVo` lacks `fare8` and `fare9`, but its total includes them. Each market has only one of the
 * two, so the missing fee is the total minus all other items.
 *
 * @module
 */
import type { FeeItem } from "../dictionaries/fee_item.ts";
import { add, compare, type Decimal, isDecimal, multiply, subtract } from "../decimal.ts";

/** The item without a field number in each market. Other markets have neither item. */
const unnumbered: Readonly<Record<string, FeeItem>> = { hk: "disputeCouncilLevy", us: "auditTrailFee" };

/**
 * Limits of the missing fee: a fraction of the amount, plus five cents. Real charges are far below these limits
 * (0.00015 % in Hong Kong, a few millionths of a dollar per share in the United States). If the difference is larger,
 * the total is wrong. No fee is added then, so that the wrong total is noticed.
 */
const MOST_OF_AMOUNT = "0.0001";
const MOST_BESIDE = "0.05";

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
 * Returns the total minus the other items, with as many decimals as the total.
 *
 * @returns `undefined` if the difference cannot be the missing fee.
 */
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
