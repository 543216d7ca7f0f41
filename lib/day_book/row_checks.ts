/**
 * What one fill has to say about itself: its fees add up, and its amount is price times quantity.
 *
 * @module
 */
import {
  absolute,
  add,
  compare,
  type Decimal,
  DecimalSum,
  isProduct,
  multiply,
  subtract,
} from "../decimal.ts";
import { optionMultiplier } from "../facts/options.ts";
import { readOptionCode } from "../operations/option_code.ts";
import type { DayBookMarket } from "./types.ts";

/** Two values that should agree, and in words what is wrong. */
export interface Disagreement {
  expected: string;
  actual: string;
  message: string;
}

/** Compares the sum of the fee items with their total, exactly. */
export function checkFees(items: readonly Decimal[], total: Decimal): Disagreement | undefined {
  const rest = new DecimalSum();
  for (const item of items) rest.add(item);
  if (rest.subtract(total).isZero) return undefined;
  const sum = add("0", ...items);
  return { expected: sum, actual: total, message: `the fees add up to ${sum}, the total says ${total}` };
}

/** A fill's price, quantity and amount. */
export interface AmountInput {
  symbol: string;
  market: DayBookMarket;
  /** The price is a mean that the broker may have rounded. */
  merged: boolean;
  price: Decimal;
  quantity: Decimal;
  amount: Decimal;
}

/** Half a cent: an amount is written with two decimals in every currency of the account. */
const HALF_CENT = "0.005";

/** No market's ticks have more decimals; a price that has more is a mean. */
const TICK_DECIMALS = 3;

/**
 * Compares the amount with price times quantity. The amount may be rounded to the cent; a mean price that is off
 * the grid may besides be rounded in its last decimal, which counts times the quantity.
 */
export function checkAmount(input: AmountInput): Disagreement | undefined {
  const { symbol, market, merged, price, quantity, amount } = input;
  const isOption = market === "us" && readOptionCode(symbol) !== undefined;
  const units = isOption ? multiply(quantity, optionMultiplier) : quantity;
  if (isProduct(price, units, amount)) return undefined;
  const expected = multiply(price, units);
  const off = absolute(subtract(amount, expected));
  const decimals = decimalsOf(price);
  const slack = merged && decimals > TICK_DECIMALS
    ? add(HALF_CENT, multiply(`0.${"0".repeat(decimals)}5`, absolute(units)))
    : HALF_CENT;
  if (compare(off, slack) <= 0) return undefined;
  const times = isOption ? `, times ${optionMultiplier}` : "";
  return {
    expected,
    actual: amount,
    message: `${price} times ${quantity}${times} is ${expected}, the amount says ${amount} (off by ${off})`,
  };
}

function decimalsOf(price: Decimal): number {
  return price.split(/e/i)[0]!.split(".")[1]?.length ?? 0;
}
