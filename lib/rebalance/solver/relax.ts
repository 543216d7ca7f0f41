/**
 * Solves the relaxed problem: cash and turnover have prices instead of limits, so each listing is decided separately.
 *
 * For any prices, the sum of the listings' least costs, minus the cost of the limits, is a lower bound: no plan within
 * the limits has a lower drift (Lagrangian duality). {@linkcode PricedItem} and {@linkcode pricedLimits} compute this
 * bound exactly, with whole lots, fees and smallest trades. So it is never below the bound of the problem with
 * fractions of lots. {@linkcode findPrices} searches for prices with a high bound.
 *
 * @module
 */
import { driftOf, type Item, type Problem, type Range, turnoverOf, useOf } from "./problem.ts";

/** A listing in floating-point numbers, as fractions of the account's value. */
export interface Hint {
  item: Item;
  pool: number;
  /** Weight minus target. */
  start: number;
  /** Weight of a lot. */
  step: number;
  closing: number;
  /** Value of one unit of the currency, as a fraction of the account's value. */
  unit: number;
  /** Increase of the fees with each lot. */
  buySlope: number;
  sellSlope: number;
}

/** Returns a problem's items in floating-point numbers. */
export function hintsOf({ items, rates, value, unit }: Problem): Hint[] {
  const whole = Number(unit);
  return items.map((item) => {
    const cash = Number(rates[item.pool]!) / Number(value);
    const slope = (range: Range | undefined, sign: 1 | -1) =>
      range === undefined || range.most === range.least
        ? 0
        : (item.feeHint(sign * range.most) - item.feeHint(sign * range.least)) * cash /
          (range.most - range.least);
    return {
      item,
      pool: item.pool,
      start: Number(item.start) / whole,
      step: Number(item.step) / whole,
      closing: Number(item.closing?.step ?? 0n) / whole,
      unit: cash,
      buySlope: slope(item.buys, 1),
      sellSlope: slope(item.sells, -1),
    };
  });
}

const isClosing = ({ item: { closing } }: Hint, lots: number) =>
  closing !== undefined && lots === closing.lots;

/** Returns the approximate squared drift after a trade. */
export function driftHint(hint: Hint, lots: number): number {
  const left = isClosing(hint, lots) ? hint.start - hint.closing : hint.start + lots * hint.step;
  return left * left;
}

/** Returns the approximate value of a trade. */
export function turnoverHint(hint: Hint, lots: number): number {
  return isClosing(hint, lots) ? hint.closing : Math.abs(lots) * hint.step;
}

/** Returns the approximate cash that a trade uses. */
export function useHint(hint: Hint, lots: number): number {
  if (lots === 0) return 0;
  const fee = hint.item.feeHint(lots) * hint.unit;
  if (lots > 0) return turnoverHint(hint, lots) + fee;
  return hint.item.salesPay ? fee - turnoverHint(hint, lots) : 0;
}

const clamp = (value: number, { least, most }: Range) => Math.max(least, Math.min(most, value));

/** Returns approximately the best trade of a listing at given prices of cash and turnover. */
export function respond(hint: Hint, cashPrice: number, turnoverPrice: number): number {
  const { item: { buys, sells, closing, salesPay }, start, step, buySlope, sellSlope } = hint;
  let best = 0;
  let least = start * start;
  const consider = (lots: number) => {
    const cost = driftHint(hint, lots) + cashPrice * useHint(hint, lots) +
      turnoverPrice * turnoverHint(hint, lots);
    if (cost < least) [best, least] = [lots, cost];
  };
  if (buys !== undefined && start < 0) {
    const ideal = -(start + (cashPrice * (1 + buySlope / step) + turnoverPrice) / 2) / step;
    const floor = clamp(Math.floor(ideal), buys);
    consider(floor);
    if (floor < buys.most) consider(floor + 1);
    if (floor > buys.least) consider(buys.least);
  }
  if (sells !== undefined && (start > 0 || cashPrice > 0)) {
    const priced = salesPay ? cashPrice * (1 - sellSlope / step) : 0;
    const ideal = (start + (priced - turnoverPrice) / 2) / step;
    const floor = clamp(Math.floor(ideal), sells);
    consider(-floor);
    if (floor < sells.most) consider(-floor - 1);
    if (floor > sells.least) consider(-sells.least);
  }
  if (closing !== undefined) consider(closing.lots);
  return best;
}

/**
 * Prices of cash (by pool) and of turnover, in squared drifts. The price of cash is what it costs to use cash worth the
 * whole account. The price of turnover is what it costs to trade that value.
 */
export interface Prices {
  cash: number[];
  turnover: number;
}

/** The highest price that is tried. Higher prices lead to the same trades. */
const HIGHEST = 1e6;

/** Returns the limits as parts of the account's value. */
export function limitHints(
  { budgets, rates, value, turnover }: Problem,
): { cash: number[]; turnover: number } {
  return {
    cash: budgets.map((budget, pool) => Number(budget * rates[pool]!) / Number(value)),
    turnover: turnover === undefined ? Infinity : Number(turnover) / Number(value),
  };
}

/** Prices for a good plan, and prices for a high bound. They differ only if the turnover is limited. */
export interface FoundPrices {
  /** The lowest prices at which the best trades stay within the limits. */
  plan: Prices;
  bound: Prices;
}

/** Number of steps in which the search finds the turnover price with the highest bound. */
const BOUND_STEPS = 24;

/** Finds prices of cash and turnover. */
export function findPrices(problem: Problem, hints: readonly Hint[]): FoundPrices {
  const limits = limitHints(problem);
  const pools = limits.cash.map((_, pool) => hints.filter((hint) => hint.pool === pool));
  const cashAt = (turnover: number, guess: readonly number[], precision = 1e-9) =>
    pools.map((members, pool) => {
      const fits = (price: number) => {
        let used = 0;
        for (const hint of members) used += useHint(hint, respond(hint, price, turnover));
        return used <= limits.cash[pool]!;
      };
      return lowest(fits, guess[pool]!, precision);
    });
  let cash = cashAt(0, limits.cash.map(() => 0));
  if (limits.turnover === Infinity) {
    const prices = { cash, turnover: 0 };
    return { plan: prices, bound: prices };
  }
  const turnover = lowest(
    (price) => {
      cash = cashAt(price, cash, 1e-5);
      let traded = 0;
      for (const hint of hints) traded += turnoverHint(hint, respond(hint, cash[hint.pool]!, price));
      return traded <= limits.turnover;
    },
    0,
    1e-7,
  );
  const plan = { cash: cashAt(turnover, cash), turnover };
  // The bound is concave in the price of the turnover, so a golden-section search finds its maximum.
  const boundAt = (price: number) => {
    cash = cashAt(price, cash, 1e-5);
    let sum = -price * limits.turnover;
    limits.cash.forEach((limit, pool) => sum -= cash[pool]! * limit);
    for (const hint of hints) {
      const lots = respond(hint, cash[hint.pool]!, price);
      sum += driftHint(hint, lots) + cash[hint.pool]! * useHint(hint, lots) +
        price * turnoverHint(hint, lots);
    }
    return sum;
  };
  const golden = (Math.sqrt(5) - 1) / 2;
  let [low, high] = [turnover / 2, turnover * 2];
  let [left, right] = [high - golden * (high - low), low + golden * (high - low)];
  let [atLeft, atRight] = [boundAt(left), boundAt(right)];
  for (let step = 0; step < BOUND_STEPS; step++) {
    if (atLeft < atRight) {
      [low, left, atLeft] = [left, right, atRight];
      right = low + golden * (high - low);
      atRight = boundAt(right);
    } else {
      [high, right, atRight] = [right, left, atLeft];
      left = high - golden * (high - low);
      atLeft = boundAt(left);
    }
  }
  const best = atLeft < atRight ? right : left;
  return { plan, bound: { cash: cashAt(best, cash), turnover: best } };
}

/** Returns approximately the lowest price at which `fits` is true. `fits` must be true at every higher price, too. */
function lowest(fits: (price: number) => boolean, guess: number, precision: number): number {
  if (fits(0)) return 0;
  let high = guess > 0 ? guess : 1e-6;
  let low = 0;
  if (fits(high)) {
    for (let lower = high / 4; lower > 1e-15; lower /= 4) {
      if (!fits(lower)) {
        low = lower;
        break;
      }
      high = lower;
    }
  } else {
    do {
      low = high;
      high *= 4;
    } while (high < HIGHEST && !fits(high));
  }
  for (let turn = 0; turn < 40 && high - low > high * precision; turn++) {
    const middle = (low + high) / 2;
    if (fits(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** Prices as integers, in parts of the square of {@linkcode Problem.unit}. */
export interface ExactPrices {
  cash: bigint[];
  turnover: bigint;
}

const FINE = 2 ** 60;

/** Returns prices as integers. The bound is valid for all prices, so rounding cannot make it wrong. */
export function exactPrices({ rates, value, unit, turnover }: Problem, prices: Prices): ExactPrices {
  const scaled = (price: number) => (BigInt(Math.round(price * FINE)) * unit * unit) / value;
  return {
    cash: prices.cash.map((price, pool) => (scaled(price) * rates[pool]!) / BigInt(FINE)),
    turnover: turnover === undefined ? 0n : scaled(prices.turnover) / BigInt(FINE),
  };
}

/** The exact cost of a listing's trades at given prices: squared drift plus priced cash and turnover. */
export class PricedItem {
  readonly item: Item;
  readonly #cash: bigint;
  readonly #turnover: bigint;

  constructor(item: Item, prices: ExactPrices) {
    this.item = item;
    this.#cash = prices.cash[item.pool]!;
    this.#turnover = prices.turnover;
  }

  /** Returns the cost of a trade. */
  cost(lots: number): bigint {
    return driftOf(this.item, lots) + this.#cash * useOf(this.item, lots) +
      this.#turnover * turnoverOf(this.item, lots);
  }

  /** Returns the lowest cost. */
  least(): bigint {
    let least = this.cost(0);
    const { closing } = this.item;
    if (closing !== undefined) {
      const cost = this.cost(closing.lots);
      if (cost < least) least = cost;
    }
    this.#visit(() => least, (_, cost) => {
      if (cost < least) least = cost;
    });
    return least;
  }

  /**
   * Returns every trade that costs at most `most`. If `most` is `undefined`, returns all trades. Returns `undefined` if
   * there are more than `limit`.
   */
  upTo(most: bigint | undefined, limit: number): { lots: number; cost: bigint }[] | undefined {
    const found: { lots: number; cost: bigint }[] = [];
    const keep = (lots: number, cost: bigint) => {
      if (most === undefined || cost <= most) found.push({ lots, cost });
      return found.length <= limit;
    };
    keep(0, this.cost(0));
    const { closing } = this.item;
    if (closing !== undefined) keep(closing.lots, this.cost(closing.lots));
    const isWithinLimit = this.#visit(() => most === undefined ? undefined : most + 1n, keep);
    return isWithinLimit ? found : undefined;
  }

  /**
   * Visits every purchase and partial sale that may cost less than `below()`. Divides the ranges into halves. Skips a
   * half if a lower bound of its costs is too high. This bound is the least value of the convex part, plus the fees of
   * the smallest trade. Returns false as soon as `found` returns false, and otherwise true.
   */
  #visit(
    below: () => bigint | undefined,
    found: (lots: number, cost: bigint) => boolean | void,
  ): boolean {
    const { item } = this;
    for (const [sign, range] of [[1, item.buys], [-1, item.sells]] as const) {
      if (range === undefined) continue;
      const priced = sign > 0 || item.salesPay ? this.#cash : 0n;
      const signed = BigInt(sign);
      const linear = 2n * signed * item.start * item.step + signed * priced * item.cash +
        this.#turnover * item.base;
      const square = item.step * item.step;
      const constant = item.start * item.start;
      const convex = (size: number) => {
        const count = BigInt(size);
        return (square * count + linear) * count + constant;
      };
      const ideal = Number(-linear / (2n * square)); // the neighbouring integers are tried
      const stack: [least: number, most: number][] = [[range.least, range.most]];
      for (let each = stack.pop(); each !== undefined; each = stack.pop()) {
        const [least, most] = each;
        if (least === most) {
          if (found(sign * least, this.cost(sign * least)) === false) return false;
          continue;
        }
        const limit = below();
        if (limit !== undefined) {
          const near = [ideal - 1, ideal, ideal + 1].map((size) => Math.max(least, Math.min(most, size)));
          const lowest = near.map(convex).reduce((a, b) => a < b ? a : b);
          if (lowest + priced * item.fee(sign * least) >= limit) continue;
        }
        const middle = least + Math.floor((most - least) / 2);
        const halves: [number, number][] = [[least, middle], [middle + 1, most]];
        // Visit the half that is nearer to the ideal first.
        stack.push(...ideal > middle ? halves : halves.reverse());
      }
    }
    return true;
  }
}

/** Returns the cost of the limits at the prices. The bound is the sum of the least costs minus this cost. */
export function pricedLimits({ budgets, turnover = 0n }: Problem, prices: ExactPrices): bigint {
  return budgets.reduce((sum, budget, pool) => sum + budget * prices.cash[pool]!, 0n) +
    turnover * prices.turnover;
}
