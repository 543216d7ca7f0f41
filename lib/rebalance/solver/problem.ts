/**
 * Defines the mathematical problem of a plan: whole numbers of lots that bring the weights near the targets, within the
 * cash.
 *
 * All amounts are integers, so sums and comparisons are exact. For the search, `relax.ts` converts the amounts to
 * floating-point numbers, which are fractions of the account's value. These numbers only guide the search.
 *
 * @module
 */

/** Numbers of lots, from `least` to `most`. */
export interface Range {
  least: number;
  most: number;
}

/**
 * A listing that may be traded. A trade is a number of lots: above zero to buy, below zero to sell. The number
 * {@linkcode Item.closing} `.lots` means the sale of the whole position, including shares that do not make a whole lot.
 */
export interface Item {
  /** Index of the currency that pays for it. */
  pool: number;
  /** Weight minus target before the trade, in parts of {@linkcode Problem.unit}. */
  start: bigint;
  /** Weight of a lot, in parts of {@linkcode Problem.unit}. */
  step: bigint;
  /** Price of a lot in its currency. */
  cash: bigint;
  /** Price of a lot in the base currency. */
  base: bigint;
  buys?: Range;
  sells?: Range;
  /** Whether the proceeds of a sale pay for purchases of the same plan. */
  salesPay: boolean;
  closing?: { lots: number; step: bigint; cash: bigint; base: bigint };
  /** Returns the fees of a trade in the currency. The fees of a side never fall when the number of lots grows. */
  fee(lots: number): bigint;
  /** Returns the approximate fees, fast. */
  feeHint(lots: number): number;
}

/** The problem that a plan solves. */
export interface Problem {
  items: readonly Item[];
  /** Cash that may be spent, by pool; below zero if sales must raise that much. */
  budgets: readonly bigint[];
  /** Exchange rate of each pool to the base currency, times the same power of ten for all pools. */
  rates: readonly bigint[];
  /** The account's value in the base currency. */
  value: bigint;
  /** The integer that represents a weight of 1 in {@linkcode Item.start}. */
  unit: bigint;
  /** Largest value of all trades in the base currency; absent if it is not limited. */
  turnover?: bigint;
}

/** The trades of a plan. */
export interface Solution {
  /** Number of lots of each item. */
  lots: number[];
  /** Sum of squared drifts, in parts of the square of {@linkcode Problem.unit}. */
  drift: bigint;
  /** Value of all trades in the base currency. */
  turnover: bigint;
  /** A proven lower bound: no plan has a lower sum of squared drifts. */
  bound: bigint;
  /** Whether this is proven to be the best plan: the least drift, and among equals the least turnover. */
  isBest: boolean;
}

/** Returns the number of lots without its sign. */
export const sizeOf = (lots: number): number => Math.abs(lots);

const isClosing = (item: Item, lots: number) => item.closing !== undefined && lots === item.closing.lots;

/** Returns the squared drift after a trade. */
export function driftOf(item: Item, lots: number): bigint {
  const left = isClosing(item, lots)
    ? item.start - item.closing!.step
    : item.start + BigInt(lots) * item.step;
  return left * left;
}

/** Returns the value of a trade in the base currency. */
export function turnoverOf(item: Item, lots: number): bigint {
  return isClosing(item, lots) ? item.closing!.base : BigInt(sizeOf(lots)) * item.base;
}

/** Returns the value of a trade in its currency. */
export function amountOf(item: Item, lots: number): bigint {
  return isClosing(item, lots) ? item.closing!.cash : BigInt(sizeOf(lots)) * item.cash;
}

/** Returns the cash that a trade uses; negative if the trade adds to the cash that purchases may spend. */
export function useOf(item: Item, lots: number): bigint {
  if (lots === 0) return 0n;
  if (lots > 0) return amountOf(item, lots) + item.fee(lots);
  return item.salesPay ? item.fee(lots) - amountOf(item, lots) : 0n;
}

/** Returns the next possible number of lots in a direction; `undefined` at the end. */
export function next(item: Item, lots: number, direction: 1 | -1): number | undefined {
  const { buys, sells, closing } = item;
  if (direction > 0) {
    if (closing !== undefined && lots === closing.lots) return sells === undefined ? 0 : -sells.most;
    if (lots < 0) return lots === -sells!.least ? 0 : lots + 1; // a sale that is not the closing one is in `sells`
    if (lots === 0) return buys?.least;
    return lots === buys!.most ? undefined : lots + 1; // a purchase is in `buys`
  }
  if (lots > 0) return lots === buys!.least ? 0 : lots - 1; // a purchase is in `buys`
  if (lots === 0) return sells === undefined ? closing?.lots : -sells.least;
  if (closing !== undefined && lots === closing.lots) return undefined;
  return lots === -sells!.most ? closing?.lots : lots - 1; // a sale that is not the closing one is in `sells`
}
