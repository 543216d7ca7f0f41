/**
 * Finds the trades with the least sum of squared drifts. Among several such solutions, chooses the one with the least
 * turnover.
 *
 * 1. `relax.ts` finds prices of cash and turnover, and with them a lower bound for every plan.
 * 2. `improve.ts` makes a good plan from the trades that are best at these prices.
 * 3. The gap between plan and bound limits what a better plan can contain. At the prices, each trade has an excess: its
 * cost minus the cost of the best trade of its item. If the excess is larger than the gap, no better plan contains the
 * trade. The remaining combinations are searched completely, if they are few enough.
 *
 * The search counts its steps and does not read a clock, so the same problem always gives the same plan.
 *
 * @module
 */
import { Trades } from "./improve.ts";
import { driftOf, type Item, next, type Problem, type Solution, turnoverOf, useOf } from "./problem.ts";
import {
  type ExactPrices,
  exactPrices,
  findPrices,
  type Hint,
  hintsOf,
  PricedItem,
  pricedLimits,
  type Prices,
  respond,
} from "./relax.ts";

/** Limits of a search. */
export interface Effort {
  /** Steps of the complete search. @default 2000000 for up to a hundred items, and 200000 for more */
  steps?: number;
}

/** With more items than this, the bound is close to the best plan, so less work is enough. */
const FEW_ITEMS = 100;
/** How many modified start plans the search tries for a problem with few items. */
const MOST_STARTS = 1_000;

/** The complete search considers at most this number of trades, of all items together. */
const MOST_CHOICES = 50_000;

/** Returns the best plan, or a good plan with a bound; `undefined` if it finds no plan within the limits. */
export function solve(problem: Problem, effort: Effort = {}): Solution | undefined {
  const { turnover, ...free } = problem;
  const apart = solveApart(free, effort);
  // If the best plan without the turnover limit stays within that limit, it is also the best plan with the limit.
  if (turnover === undefined || apart === undefined || apart.turnover <= turnover) return apart;
  const limited = solveTogether(problem, effort);
  return limited === undefined || limited.bound > apart.bound ? limited : { ...limited, bound: apart.bound };
}

/** Solves each currency separately: without a turnover limit, the currencies do not depend on each other. */
function solveApart(problem: Problem, effort: Effort): Solution | undefined {
  const lots = problem.items.map(() => 0);
  const whole: Solution = { lots, drift: 0n, turnover: 0n, bound: 0n, isBest: true };
  for (const pool of problem.budgets.keys()) {
    const indexes = problem.items.flatMap((item, index) => item.pool === pool ? [index] : []);
    const part = solveTogether({
      ...problem,
      items: indexes.map((index) => ({ ...problem.items[index]!, pool: 0 })),
      budgets: [problem.budgets[pool]!],
      rates: [problem.rates[pool]!],
    }, effort);
    if (part === undefined) return undefined;
    indexes.forEach((index, place) => lots[index] = part.lots[place]!);
    whole.drift += part.drift;
    whole.turnover += part.turnover;
    whole.bound += part.bound;
    whole.isBest &&= part.isBest;
  }
  return whole;
}

function solveTogether(problem: Problem, effort: Effort): Solution | undefined {
  const hasFew = problem.items.length <= FEW_ITEMS;
  const { steps = hasFew ? 2_000_000 : 200_000 } = effort;
  const hints = hintsOf(problem);
  const prices = findPrices(problem, hints);
  const start = startOf(problem, hints, prices.plan);
  const found = start === undefined || problem.turnover === undefined || !hasFew
    ? start
    : improveByChanges(problem, hints, start);
  const exact = exactPrices(problem, prices.bound);
  const items = problem.items.map((item) => new PricedItem(item, exact));
  const least = items.map((item) => item.least());
  const bound = least.reduce((sum, cost) => sum + cost, 0n) - pricedLimits(problem, exact);
  const gap = found === undefined ? undefined : found.drift - bound;
  const choices: Choice[][] = [];
  let left = MOST_CHOICES;
  for (const [index, item] of items.entries()) {
    const list = steps === 0 ? undefined : item.upTo(
      gap === undefined ? undefined : least[index]! + gap,
      left,
    );
    if (list === undefined) break;
    left -= list.length;
    choices.push(
      list.map(({ lots, cost }) => ({
        lots,
        excess: cost - least[index]!,
        use: useOf(item.item, lots),
        drift: driftOf(item.item, lots),
        turnover: turnoverOf(item.item, lots),
      })).sort((a, b) =>
        a.excess < b.excess ? -1 : a.excess > b.excess ? 1 : Math.abs(a.lots) - Math.abs(b.lots)
      ),
    );
  }
  if (choices.length < items.length) {
    return found && { ...found, bound: limitedBound(bound, found.drift), isBest: false };
  }
  const search = new Search(problem, choices, { bound, prices: exact, steps, found });
  const isExhausted = search.run();
  const { best } = search;
  return best &&
    { ...best, bound: isExhausted ? best.drift : limitedBound(bound, best.drift), isBest: isExhausted };
}

/**
 * Limits a bound to the range from zero to the drift of a known plan. A sum of squares is never negative, so zero is a
 * valid bound too.
 */
const limitedBound = (bound: bigint, drift: bigint) => bound < 0n ? 0n : bound > drift ? drift : bound;

type PlanLots = Pick<Solution, "lots" | "drift" | "turnover">;

/** Returns a good plan; `undefined` if neither of the two start plans leads to one. */
function startOf(
  problem: Problem,
  hints: readonly Hint[],
  prices: Prices,
): PlanLots | undefined {
  const priced = hints.map((hint) => respond(hint, prices.cash[hint.pool]!, prices.turnover));
  for (const lots of [priced, hints.map(() => 0)]) {
    const trades = new Trades(problem, hints, lots);
    trades.repair();
    if (!trades.isWithin) continue;
    trades.improve();
    return { lots: trades.lots, ...trades.result() };
  }
  return undefined;
}

/**
 * Changes one trade of a plan at a time, repairs and improves the other trades, and keeps each plan that is
 * better. With a turnover limit, each trade affects all others. So a better plan may differ in three or more
 * trades, and improving single trades and pairs does not find it.
 */
function improveByChanges(problem: Problem, hints: readonly Hint[], found: PlanLots): PlanLots {
  let best = found;
  let left = MOST_STARTS;
  for (let isBetter = true; isBetter && left > 0;) {
    isBetter = false;
    for (const [index, hint] of hints.entries()) {
      const now = best.lots[index]!;
      const others = [0, respond(hint, 0, 0), next(hint.item, now, 1), next(hint.item, now, -1)];
      for (const lots of new Set(others)) {
        if (lots === undefined || lots === now || left-- <= 0) continue;
        const trades = new Trades(problem, hints, best.lots.with(index, lots));
        trades.repair(index);
        if (!trades.isWithin) continue;
        trades.improve();
        const result = trades.result();
        if (result.drift >= best.drift) continue;
        best = { lots: trades.lots, ...result };
        isBetter = true;
        break;
      }
    }
  }
  return best;
}

/** A trade that a better plan could contain. */
interface Choice {
  lots: number;
  /** Cost at the prices, minus the least cost of the item. */
  excess: bigint;
  use: bigint;
  drift: bigint;
  turnover: bigint;
}

/** Returns a text that is the same for items with the same choices. */
const kindOf = (choices: readonly Choice[]): string =>
  choices.map(({ lots, excess, use, drift, turnover }) => [lots, excess, use, drift, turnover].join()).join(
    ";",
  );

/** Bounds of the sums over the choices of one item and all later items. */
interface Rest {
  leastUse: bigint[];
  mostUse: bigint[];
  leastTurnover: bigint;
  mostTurnover: bigint;
}

/** Searches all combinations of choices that could be better than the best plan so far. */
class Search {
  best: PlanLots | undefined;
  readonly #problem: Problem;
  readonly #order: number[];
  readonly #choices: readonly (readonly Choice[])[];
  readonly #rests: Rest[];
  readonly #bound: bigint;
  readonly #prices: ExactPrices;
  /**
   * Whether an item has the same choices as the item before it. Exchanging the choices of such items gives an equal
   * plan, so only one of the two combinations is tried.
   */
  readonly #isTwin: readonly boolean[];
  readonly #taken: Choice[] = [];
  /** Index of the choice that is being tried, by item. */
  readonly #places: number[] = [];
  readonly #used: bigint[];
  #steps: number;

  constructor(
    problem: Problem,
    choices: readonly (readonly Choice[])[],
    { bound, prices, steps, found }: {
      bound: bigint;
      prices: ExactPrices;
      steps: number;
      found: PlanLots | undefined;
    },
  ) {
    this.#problem = problem;
    this.best = found;
    this.#bound = bound;
    this.#prices = prices;
    this.#steps = steps;
    // Items whose second-best choice costs most come first, so that bad combinations are rejected early.
    const weight = (index: number) => choices[index]![1]?.excess ?? -1n;
    const kinds = choices.map(kindOf);
    this.#order = [...choices.keys()].sort((a, b) =>
      weight(a) < weight(b)
        ? 1
        : weight(a) > weight(b)
        ? -1
        : kinds[a]! < kinds[b]!
        ? -1
        : kinds[a]! > kinds[b]!
        ? 1
        : a - b
    );
    const { items } = problem;
    this.#isTwin = this.#order.map((index, place) => {
      const before = this.#order[place - 1];
      return before !== undefined && kinds[before] === kinds[index] &&
        items[before]!.pool === items[index]!.pool;
    });
    this.#choices = this.#order.map((index) => choices[index]!);
    this.#used = problem.budgets.map(() => 0n);
    this.#rests = this.#restsOf();
  }

  #restsOf(): Rest[] {
    const none = this.#problem.budgets.map(() => 0n);
    const rests: Rest[] = [{ leastUse: none, mostUse: none, leastTurnover: 0n, mostTurnover: 0n }];
    for (let at = this.#order.length - 1; at >= 0; at--) {
      const { pool } = this.#problem.items[this.#order[at]!]!;
      const later = rests[0]!;
      const [leastUse, mostUse] = [[...later.leastUse], [...later.mostUse]];
      const uses = this.#choices[at]!.map(({ use }) => use);
      leastUse[pool]! += uses.reduce((a, b) => a < b ? a : b);
      mostUse[pool]! += uses.reduce((a, b) => a > b ? a : b);
      const turnovers = this.#choices[at]!.map(({ turnover }) => turnover);
      rests.unshift({
        leastUse,
        mostUse,
        leastTurnover: later.leastTurnover + turnovers.reduce((a, b) => a < b ? a : b),
        mostTurnover: later.mostTurnover + turnovers.reduce((a, b) => a > b ? a : b),
      });
    }
    return rests;
  }

  /** Runs the search. Returns whether it was complete, and did not end because its steps were used up. */
  run(): boolean {
    const { leastUse, leastTurnover } = this.#rests[0]!;
    const { budgets, turnover = leastTurnover } = this.#problem;
    if (budgets.some((budget, pool) => leastUse[pool]! > budget) || leastTurnover > turnover) return true;
    this.#visit(0, 0n, 0n, 0n);
    return this.#steps > 0;
  }

  #visit(at: number, excess: bigint, drift: bigint, turnover: bigint): void {
    if (--this.#steps <= 0) return;
    const { items, budgets, turnover: mostTurnover } = this.#problem;
    if (at === this.#order.length) {
      const { best } = this;
      if (best !== undefined && (drift > best.drift || (drift === best.drift && turnover >= best.turnover))) {
        return;
      }
      const lots: number[] = [];
      this.#order.forEach((index, place) => lots[index] = this.#taken[place]!.lots);
      this.best = { lots, drift, turnover };
      return;
    }
    const { pool }: Item = items[this.#order[at]!]!;
    const rest = this.#rests[at + 1]!;
    const before = this.#used[pool]!;
    const choices = this.#choices[at]!;
    for (let place = this.#isTwin[at] ? this.#places[at - 1]! : 0; place < choices.length; place++) {
      const choice = choices[place]!;
      this.#places[at] = place;
      const sum = excess + choice.excess;
      const gap = this.best === undefined ? undefined : this.best.drift - this.#bound;
      if (gap !== undefined && sum > gap) break;
      const traded = turnover + choice.turnover;
      const least = traded + rest.leastTurnover;
      if (mostTurnover !== undefined && least > mostTurnover) continue;
      const used = before + choice.use;
      if (used + rest.leastUse[pool]! > budgets[pool]!) continue;
      // Add the price of cash and turnover that certainly remain unused.
      const { cash, turnover: turnoverPrice } = this.#prices;
      const idle = budgets[pool]! - used - rest.mostUse[pool]!;
      const unused = mostTurnover === undefined ? 0n : mostTurnover - traded - rest.mostTurnover;
      const cost = sum + (idle > 0n ? idle * cash[pool]! : 0n) + (unused > 0n ? unused * turnoverPrice : 0n);
      if (gap !== undefined && (cost > gap || (cost === gap && least >= this.best!.turnover))) continue;
      this.#used[pool] = used;
      this.#taken.push(choice);
      this.#visit(at + 1, sum, drift + choice.drift, traded);
      this.#taken.pop();
      this.#used[pool] = before;
      if (this.#steps <= 0) return;
    }
  }
}
