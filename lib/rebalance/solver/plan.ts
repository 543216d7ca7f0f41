/**
 * Makes the plan of a rebalancing: which listings to buy and sell, what it costs, and how far the portfolio is from its
 * targets after these trades.
 *
 * A weight is the value of a position at the plan's prices, divided by the account's value before the plan. The best
 * plan has the least sum of squared drifts; among equal plans, it has the least turnover.
 *
 * @module
 */
import {
  add,
  compare,
  type Decimal,
  divide,
  multiply,
  negate,
  normalize,
  round,
  subtract,
  sumOf,
} from "../../decimal.ts";
import type { Market } from "../../dictionaries/market.ts";
import { sha256 } from "../../sha256.ts";
import type { Account } from "../input/account.ts";
import { type Position, prepare, type Prepared } from "./prepare.ts";
import { isDerivative } from "../input/rows.ts";
import { type RebalanceFile, WEIGHT_PLACES } from "../input/plan_file.ts";
import { reasonOf } from "./left_out.ts";
import { type Effort, solve } from "./solve.ts";
import { impossible } from "./impossible.ts";

/** Number of decimals of a sum of squared drifts. */
const DRIFT_PLACES = 20;

/** An order that a plan asks for. */
export interface PlannedTrade {
  market: Market;
  symbol: string;
  side: "buy" | "sell";
  /** Shares. */
  quantity: Decimal;
  /** Price in the currency of the listing. */
  price: Decimal;
  /** Price times quantity, in the currency of the listing. */
  value: Decimal;
  /** Estimated fees in the currency of the listing. */
  fees: Decimal;
  /** Present if the quantity is less than a board lot; absent for whole lots. */
  isOddLot?: true;
}

/** A position before and after the plan. */
export interface PlannedPosition {
  market: Market;
  symbol: string;
  currency: string;
  quantity: Decimal;
  price: Decimal;
  target: Decimal;
  weight: Decimal;
  /** Weight minus target. */
  drift: Decimal;
  /** Shares to buy, or to sell if it is below zero. */
  trade: Decimal;
  weightAfter: Decimal;
  driftAfter: Decimal;
}

/** A plan. The members up to `leftOut` are what `hsgate rebalance --json` prints first. */
export interface Plan {
  /** Currency in which the account's value is given. */
  base: string;
  /** Sales first, then purchases. */
  trades: PlannedTrade[];
  /** Cash after the trades and their fees, by currency. */
  cashAfter: Record<string, Decimal>;
  /** Weights after the trades. */
  weightsAfter: Record<string, Decimal>;
  /** Sum of the squares of the drifts after the trades, over every symbol that is held or named in the file. */
  sumSquaredDrift: Decimal;
  /** A proven lower bound of the sum: no plan within the same limits has a lower sum. */
  lowerBound: Decimal;
  /**
   * What the plan leaves out: symbols that are off their target but not traded; excluded symbols that the account does
   * not hold and the file does not target; held options and futures.
   */
  leftOut: { symbol: string; reason: string }[];
  /** Whether the plan is proven to be the best one. */
  optimal: boolean;
  /** Trade date. */
  date: string;
  /** The account's value before the plan, in the base currency. */
  value: Decimal;
  /** Sum of the squared drifts before the plan. */
  sumSquaredDriftBefore: Decimal;
  /** Value of all trades, as a fraction of the account's value. */
  turnover: Decimal;
  cash: Record<string, Decimal>;
  cashBuffer: Record<string, Decimal>;
  /** Fees of all trades, by currency. */
  fees: Record<string, Decimal>;
  positions: PlannedPosition[];
  /** By market: whether the proceeds of sales pay for purchases of the same plan. Absent if they do in every market. */
  proceeds?: RebalanceFile["proceeds"];
  /** SHA-256 of the other members of the plan and of its settings, in hex. */
  hash: string;
}

/**
 * Makes a plan. Nothing is sent.
 *
 * @throws {InvalidParamsError} If a target, a price, a lot or a rate is wrong or missing, or if no plan stays within
 * the cash buffers and `maxTurnover`. It lists every mistake.
 */
export async function makePlan(file: RebalanceFile, account: Account, effort: Effort = {}): Promise<Plan> {
  const prepared = prepare(file, account);
  const { problem, positions, currencies, scales } = prepared;
  const solution = solve(problem, effort);
  if (solution === undefined) throw impossible(prepared, file);
  const lotsOf = new Map(prepared.traded.map((position, index) => [position, solution.lots[index]!]));
  const trades = positions.flatMap((position) => tradesOf(prepared, position, lotsOf.get(position) ?? 0))
    .sort((a, b) => a.side === b.side ? order(a, b) : a.side === "sell" ? -1 : 1);
  const square = String(problem.unit * problem.unit);
  const still = positions.filter((position) => !lotsOf.has(position))
    .reduce((sum, { start }) => sum + start * start, 0n);
  const drift = (parts: bigint, rounding: "half-even" | "down") =>
    normalize(divide(String(parts), square, DRIFT_PLACES, rounding));
  const sumSquaredDrift = drift(solution.drift + still, "half-even");
  const rows = positions.map((position) => positionOf(prepared, position, lotsOf.get(position) ?? 0));
  const money = (amount: Decimal) =>
    compare(amount, round(amount, 2, "down")) === 0 ? round(amount, 2, "down") : normalize(amount);
  const byCurrency = (of: (currency: string) => Decimal) =>
    Object.fromEntries(currencies.map((currency) => [currency, money(of(currency))]));
  const currencyOf = new Map(
    positions.map(({ market, symbol, currency }) => [`${market} ${symbol}`, currency]),
  );
  const sums = (of: (trade: PlannedTrade) => Decimal) => (currency: string) =>
    sumOf(trades.filter(({ market, symbol }) => currencyOf.get(`${market} ${symbol}`) === currency).map(of));
  const cashOf = (currency: string) => account.cash[currency] ?? "0";
  const spent = sums(({ side, value, fees }) =>
    side === "buy" ? negate(add(value, fees)) : subtract(value, fees)
  );
  const plan = {
    base: file.base,
    trades,
    cashAfter: byCurrency((currency) => add(cashOf(currency), spent(currency))),
    weightsAfter: Object.fromEntries(rows.map(({ symbol, weightAfter }) => [symbol, weightAfter])),
    sumSquaredDrift,
    lowerBound: solution.isBest ? sumSquaredDrift : drift(solution.bound + still, "down"),
    leftOut: [
      ...positions.flatMap((position) => {
        const lots = lotsOf.get(position) ?? 0;
        if (lots !== 0 || position.start === 0n) return [];
        return [{ symbol: position.symbol, reason: reasonOf(prepared, position, solution) }];
      }),
      ...prepared.idle.map((symbol) => ({ symbol, reason: "excluded, and neither held nor a target" })),
      ...account.holdings.filter(isDerivative).map(({ symbol }) => ({
        symbol,
        reason: "the plan leaves out options and futures, and the account's value does not include them",
      })),
    ],
    optimal: solution.isBest,
    date: account.date,
    value: money(divide(String(problem.value), `1${"0".repeat(scales.base)}`, scales.base, "exact")),
    sumSquaredDriftBefore: drift(positions.reduce((sum, { start }) => sum + start * start, 0n), "half-even"),
    turnover: normalize(
      divide(String(solution.turnover), String(problem.value), WEIGHT_PLACES, "half-even"),
    ),
    cash: byCurrency(cashOf),
    cashBuffer: byCurrency((currency) => file.cashBuffer[currency] ?? "0"),
    fees: byCurrency(sums(({ fees }) => fees)),
    positions: rows,
    ...Object.values(file.proceeds).includes("later") && { proceeds: file.proceeds },
  };
  return { ...plan, hash: await sha256(canonical({ settings: file, plan })) };
}

const order = (a: { market: string; symbol: string }, b: { market: string; symbol: string }) =>
  a.market < b.market ? -1 : a.market > b.market ? 1 : a.symbol < b.symbol ? -1 : a.symbol > b.symbol ? 1 : 0;

/** Returns the orders of a position: one, or two if it sells whole lots and an odd lot. */
function tradesOf(prepared: Prepared, position: Position, lots: number): PlannedTrade[] {
  if (lots === 0) return [];
  return prepared.ordersOf(position, lots).map(({ quantity, fees }) => ({
    market: position.market,
    symbol: position.symbol,
    side: lots > 0 ? "buy" : "sell",
    quantity,
    price: position.price,
    value: normalize(multiply(position.price, quantity)),
    fees,
    ...compare(quantity, position.lot) < 0 && { isOddLot: true as const },
  }));
}

function positionOf(prepared: Prepared, position: Position, lots: number): PlannedPosition {
  const { market, symbol, currency, quantity, price, target } = position;
  const { unit } = prepared.problem;
  const weight = (parts: bigint) =>
    normalize(divide(String(parts), String(unit), WEIGHT_PLACES, "half-even"));
  const orders = lots === 0 ? [] : prepared.ordersOf(position, lots);
  const traded = sumOf(orders.map((each) => each.quantity));
  const after = position.start + prepared.weightOf(position, lots);
  return {
    market,
    symbol,
    currency,
    quantity,
    price,
    target,
    weight: weight(position.start + position.targetParts),
    drift: weight(position.start),
    trade: normalize(lots < 0 ? negate(traded) : traded),
    weightAfter: weight(after + position.targetParts),
    driftAfter: weight(after),
  };
}

/** Returns JSON whose members are sorted by name, so that equal values have equal texts. */
export function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const members = Object.entries(value).filter(([, each]) => each !== undefined).sort(([a], [b]) =>
    a < b ? -1 : 1
  );
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${canonical(each)}`).join(",")}}`;
}
