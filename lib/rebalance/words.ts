/**
 * Writes the figures of a plan for people.
 *
 * @module
 */
import { type Decimal, divide, isZero, multiply, normalize, round, subtract } from "../decimal.ts";
import type { Plan, PlannedTrade } from "./plan.ts";

/** Returns a weight in percent with two decimals. */
export const percentText = (weight: Decimal): string => `${round(multiply(weight, "100"), 2, "half-even")}%`;

/** Returns a drift in percent, with its sign. */
export function driftText(drift: Decimal): string {
  const text = percentText(drift).replace(/^-(0\.00%)$/, "$1");
  return text.startsWith("-") || text === "0.00%" ? text : `+${text}`;
}

/** Returns an amount of money with two decimals and groups of thousands. */
export const moneyText = (amount: Decimal): string =>
  round(amount, 2, "half-even").replace(/\B(?=(\d{3})+(?=\.))/g, ",");

/** Returns a number of shares to trade with its sign; empty for none. */
export const tradeText = (quantity: Decimal): string =>
  isZero(quantity) ? "" : quantity.startsWith("-") ? quantity : `+${quantity}`;

/** Returns the trades of a plan with the currencies of their prices. */
export function tradesWithCurrency({ trades, positions }: Plan): (PlannedTrade & { currency: string })[] {
  const keyOf = ({ market, symbol }: { market: string; symbol: string }) => `${market} ${symbol}`;
  const currencies = new Map(positions.map((position) => [keyOf(position), position.currency]));
  return trades.map((trade) => ({ ...trade, currency: currencies.get(keyOf(trade))! })); // each trade has its position
}

/** Returns a sum of squared drifts with four digits that count. */
export function sumText(sum: Decimal): string {
  const zeros = /^0\.(0*)/.exec(sum)?.[1]?.length ?? 0;
  return normalize(round(sum, zeros + 4, "half-even"));
}

/** Returns the lower bound, and how far the plan is above it at most. */
export function boundText({ optimal, sumSquaredDrift, lowerBound }: Plan): string {
  if (optimal) return `${sumText(lowerBound)}: this is the best possible plan`;
  if (isZero(lowerBound)) return lowerBound;
  const above = divide(multiply(subtract(sumSquaredDrift, lowerBound), "100"), lowerBound, 3, "up");
  return `${sumText(lowerBound)}: the plan is at most ${normalize(above)} % above it`;
}
