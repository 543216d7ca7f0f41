/**
 * Formats the figures of a plan for people.
 *
 * @module
 */
import { type Decimal, divide, isZero, multiply, normalize, round, subtract } from "../../decimal.ts";
import type { Plan, PlannedTrade } from "../solver/plan.ts";
import type { RebalanceReport, Slippage, TradeReport } from "./report.ts";
import type { ExecutionTerms } from "../input/terms.ts";

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

/** Returns how a plan is executed, in words. */
export function termsText(
  { peg, collar, repriceEvery, maxReprices, deadline, algorithm }: ExecutionTerms,
): string {
  const part = `at most ${normalize(multiply(collar, "100"))} % from the plan's price`;
  const end = /^\d{4}-/.test(deadline) ? `until ${deadline}` : `for at most ${deadline}`;
  if (algorithm !== undefined) {
    const { strategy, percent } = algorithm;
    const share = percent === undefined ? "" : ` of ${percent} % of the volume`;
    return `${strategy.toUpperCase()} orders of the broker${share}, ${part}, ${end}`;
  }
  const again = maxReprices === 0
    ? "not repriced"
    : `repriced every ${repriceEvery}, at most ${maxReprices} times`;
  return `limit orders at the ${peg} price, ${part}, ${again}, ${end}`;
}

/** Returns money of several currencies: `12.30 HKD, 4.00 USD`. */
export const moneyOf = (amounts: Readonly<Record<string, Decimal>>): string =>
  Object.entries(amounts).map(([currency, amount]) => `${moneyText(amount)} ${currency}`).join(", ") ||
  "none";

/** Returns a slippage in basis points, with its sign; a positive slippage is a cost. */
export function slippageText({ part }: Slippage): string {
  const points = round(multiply(part, "10000"), 1, "half-even").replace(/^-(0\.0)$/, "$1");
  return `${points.startsWith("-") || points === "0.0" ? "" : "+"}${points} bp`;
}

/** Returns the results of an execution, as pairs of a title and a text. */
export function reportFacts(
  { state, reason, trades, slippage, fees, drift }: RebalanceReport,
): [string, string][] {
  const isNothingLeft = trades.every(({ remaining, open, unknown }) =>
    [remaining, open, unknown].every(isZero)
  );
  const left = isNothingLeft ? "nothing remains" : "something remains";
  const booked = fees.booked === undefined ? "not booked yet" : `${moneyOf(fees.booked)} booked`;
  return [
    ["execution", `${state}, ${left}${reason === undefined ? "" : `: ${reason}`}`],
    ["slippage", `${moneyOf(slippage)}, compared with the prices when it began; above zero is a cost`],
    ["fees", `${moneyOf(fees.estimated)} estimated, ${booked}`],
    [
      "sum of squared drifts",
      `${sumText(drift.before)} before, ${sumText(drift.planned)} planned, ${sumText(drift.reached)} reached`,
    ],
  ];
}

/** Returns why a part of a trade is not filled; empty if everything is filled. */
export const remainsText = ({ remaining, open, unknown, reason }: TradeReport): string =>
  [
    ...isZero(open) ? [] : [`${open} open`],
    ...isZero(unknown) ? [] : [`${unknown} with an unknown outcome`],
    ...isZero(remaining) ? [] : [`${remaining} remain${reason === undefined ? "" : `: ${reason}`}`],
  ].join("; ");

/** Returns a number of shares to trade, with its sign; empty for zero. */
export const tradeText = (quantity: Decimal): string =>
  isZero(quantity) ? "" : quantity.startsWith("-") ? quantity : `+${quantity}`;

/** Returns the trades of a plan, each with the currency of its price. */
export function tradesWithCurrency({ trades, positions }: Plan): (PlannedTrade & { currency: string })[] {
  const keyOf = ({ market, symbol }: { market: string; symbol: string }) => `${market} ${symbol}`;
  const currencies = new Map(positions.map((position) => [keyOf(position), position.currency]));
  return trades.map((trade) => ({ ...trade, currency: currencies.get(keyOf(trade))! })); // each trade has its position
}

/** Returns a sum of squared drifts with four significant digits. */
export function sumText(sum: Decimal): string {
  const zeros = /^0\.(0*)/.exec(sum)?.[1]?.length ?? 0;
  return normalize(round(sum, zeros + 4, "half-even"));
}

/** Returns the lower bound, and how far the plan can be above it. */
export function boundText({ optimal, sumSquaredDrift, lowerBound }: Plan): string {
  if (optimal) return `${sumText(lowerBound)}: this is the best possible plan`;
  if (isZero(lowerBound)) return lowerBound;
  const above = divide(multiply(subtract(sumSquaredDrift, lowerBound), "100"), lowerBound, 3, "up");
  return `${sumText(lowerBound)}: the plan is at most ${normalize(above)} % above it`;
}
