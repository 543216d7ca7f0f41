/**
 * Finds a good plan quickly. It repairs given trades until they stay within the limits. Then it improves single trades
 * and pairs of trades. Floating-point numbers choose which trades to try. Exact integers decide whether a trade stays
 * within the limits.
 *
 * @module
 */
import { driftOf, next, type Problem, turnoverOf, useOf } from "./problem.ts";
import { driftHint, type Hint, respond, turnoverHint, useHint } from "./relax.ts";

/** Maximum number of rounds of improvement. More than a few are rarely needed. */
const MOST_ROUNDS = 40;
/** Maximum number of changes that a repair makes. */
const MOST_REPAIRS = 2_000;
/** A round is the last one if it improves no single trade, and its pairs reduce the drift by at most this fraction. */
const LITTLE = 1e-6;
/** Improvements below this are rounding errors of floating-point numbers. */
const NOISE = 1e-18;

/** A change of one trade to `lots`, with the increases of drift, cash use and turnover that it causes. */
interface Move {
  index: number;
  lots: number;
  drift: number;
  use: number;
  turnover: number;
}

/** The trades during the search, with what is left of the limits. */
export class Trades {
  readonly lots: number[];
  readonly #problem: Problem;
  readonly #hints: readonly Hint[];
  /** Cash that is left, by pool. */
  readonly #cash: bigint[];
  #turnover: bigint | undefined;
  /** Approximate cash and turnover that are left, to choose moves fast; absent if they must be computed again. */
  #left: { cash: number[]; turnover: number } | undefined;

  constructor(problem: Problem, hints: readonly Hint[], lots: readonly number[]) {
    this.#problem = problem;
    this.#hints = hints;
    this.lots = [...lots];
    this.#cash = [...problem.budgets];
    this.#turnover = problem.turnover;
    problem.items.forEach((item, index) => {
      this.#cash[item.pool]! -= useOf(item, lots[index]!);
      if (this.#turnover !== undefined) this.#turnover -= turnoverOf(item, lots[index]!);
    });
  }

  /** Whether the trades stay within every limit. */
  get isWithin(): boolean {
    return this.#cash.every((cash) => cash >= 0n) && (this.#turnover ?? 0n) >= 0n;
  }

  /**
   * Changes trades step by step until they stay within the limits, or until no change helps.
   *
   * @param unchanged Index of a trade that must not change.
   */
  repair(unchanged?: number): void {
    for (let turn = 0; turn < MOST_REPAIRS && !this.isWithin; turn++) {
      const overTurnover = this.#turnover !== undefined && this.#turnover < 0n;
      let best: Move | undefined;
      let least = Infinity;
      for (const move of this.#moves()) {
        if (move.index === unchanged) continue;
        const overCash = this.#cash[this.#hints[move.index]!.pool]! < 0n;
        const freed = overCash ? -move.use : overTurnover ? -move.turnover : 0;
        if (freed <= 0 || (!overCash && !this.#fits([move], true))) continue;
        const price = move.drift / freed;
        if (price < least) [best, least] = [move, price];
      }
      if (best === undefined) return;
      this.#take([this.#far(best)]);
    }
  }

  /**
   * Returns a larger version of a repair, which frees about an eighth of what is missing. Returns the repair itself if
   * a larger one is not possible.
   */
  #far(move: Move): Move {
    const { item: { buys, sells }, pool } = this.#hints[move.index]!;
    const now = this.lots[move.index]!;
    const { rates, value } = this.#problem;
    const missing = -Number(this.#cash[pool]! * rates[pool]!) / Number(value);
    const overTurnover = -Number(this.#turnover ?? 0n) / Number(value);
    const [most, freed] = missing > 0 ? [missing, -move.use] : [overTurnover, -move.turnover];
    const steps = Math.floor(most / freed / 8);
    const range = move.lots > 0 ? buys : sells;
    if (steps <= 1 || range === undefined || Math.abs(move.lots - now) !== 1) return move;
    const lots = move.lots + Math.sign(move.lots - now) * steps;
    if (Math.sign(lots) !== Math.sign(move.lots)) return move;
    return this.#isPossible(move.index, lots) ? this.#move(move.index, lots) : move;
  }

  /** Improves the trades within the limits, until a round gains almost nothing. */
  improve(): void {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const singles = this.#improveSingles();
      const gained = this.#improvePairs();
      if (!singles && gained <= this.#driftHint() * LITTLE) return;
    }
  }

  /** Returns the approximate sum of squared drifts. */
  #driftHint(): number {
    return this.#hints.reduce((sum, hint, index) => sum + driftHint(hint, this.lots[index]!), 0);
  }

  #improveSingles(): boolean {
    let changed = false;
    this.#hints.forEach((hint, index) => {
      const now = this.lots[index]!;
      const ideal = respond(hint, 0, 0);
      if (ideal === now) return;
      const direct = this.#move(index, ideal);
      if (direct.drift < -NOISE && this.#fits([direct])) {
        this.#take([direct]);
        changed = true;
        return;
      }
      // Use bisection to find an allowed trade that is near the ideal.
      let [near, far] = [now, ideal];
      while (Math.abs(far - near) > 1) {
        const middle = Math.trunc((near + far) / 2);
        const move = this.#isPossible(index, middle) ? this.#move(index, middle) : undefined;
        if (move !== undefined && this.#fits([move])) near = middle;
        else far = middle;
      }
      if (near === now) return;
      const move = this.#move(index, near);
      if (move.drift < -NOISE) {
        this.#take([move]);
        changed = true;
      }
    });
    return changed;
  }

  /**
   * Combines an improvement that exceeds the limits with another move, so that both together fit. Returns by how much
   * the sum of squared drifts has fallen.
   */
  #improvePairs(): number {
    const sharesTurnover = this.#turnover !== undefined;
    const moves = this.#hints.map((_, index) => this.#movesOf(index));
    let gained = 0;
    for (const [index, hint] of this.#hints.entries()) {
      for (const move of moves[index]!) {
        if (move.drift >= -NOISE) continue;
        let best: Move | undefined;
        let least = -NOISE;
        for (const others of moves) {
          for (const other of others) {
            const drift = move.drift + other.drift;
            if (drift >= least || other.index === index) continue;
            if (!sharesTurnover && this.#hints[other.index]!.pool !== hint.pool) continue;
            if (!this.#mayFit(move, other, false) || !this.#fits([move, other])) continue;
            [best, least] = [other, drift];
          }
        }
        if (best === undefined) continue;
        this.#take([move, best]);
        gained -= least;
        for (const each of [index, best.index]) moves[each] = this.#movesOf(each);
        break; // this item's trade has changed, so its other moves are outdated
      }
    }
    return gained;
  }

  #isPossible(index: number, lots: number): boolean {
    const { buys, sells, closing } = this.#hints[index]!.item;
    if (lots === 0 || lots === closing?.lots) return true;
    const range = lots > 0 ? buys : sells;
    return range !== undefined && Math.abs(lots) >= range.least && Math.abs(lots) <= range.most;
  }

  #moves(): Move[] {
    return this.#hints.flatMap((_, index) => this.#movesOf(index));
  }

  #movesOf(index: number): Move[] {
    const { item } = this.#hints[index]!;
    return ([1, -1] as const).flatMap((direction) => {
      const lots = next(item, this.lots[index]!, direction);
      return lots === undefined ? [] : [this.#move(index, lots)];
    });
  }

  #move(index: number, lots: number): Move {
    const hint = this.#hints[index]!;
    const now = this.lots[index]!;
    return {
      index,
      lots,
      drift: driftHint(hint, lots) - driftHint(hint, now),
      use: useHint(hint, lots) - useHint(hint, now),
      turnover: turnoverHint(hint, lots) - turnoverHint(hint, now),
    };
  }

  /**
   * Returns whether the limits allow the moves: first with approximate numbers, then exactly. The exact test also
   * accepts a pool whose cash stays below zero, if the moves do not make that worse.
   */
  #fits(moves: readonly Move[], cashOnly = false): boolean {
    if (!this.#mayFit(moves[0]!, moves[1], cashOnly)) return false;
    const after = this.#after(moves);
    return after.cash.every((cash, pool) => cash >= 0n || cash >= this.#cash[pool]!) &&
      (cashOnly || (after.turnover ?? 0n) >= 0n);
  }

  /** Returns whether the limits probably allow one move or two. Uses approximate numbers. */
  #mayFit(move: Move, other: Move | undefined, cashOnly: boolean): boolean {
    const left = this.#left ??= this.#leftHints();
    if (!cashOnly && move.turnover + (other?.turnover ?? 0) > left.turnover) return false;
    const pool = this.#hints[move.index]!.pool;
    if (other === undefined) return move.use <= left.cash[pool]!;
    const otherPool = this.#hints[other.index]!.pool;
    if (pool === otherPool) return move.use + other.use <= left.cash[pool]!;
    return move.use <= left.cash[pool]! && other.use <= left.cash[otherPool]!;
  }

  /** Returns what is left of the limits as parts of the account's value, with room for the errors of the hints. */
  #leftHints(): { cash: number[]; turnover: number } {
    const { rates, value } = this.#problem;
    const room = 1e-9;
    return {
      cash: this.#cash.map((cash, pool) => Number(cash * rates[pool]!) / Number(value) + room),
      turnover: this.#turnover === undefined ? Infinity : Number(this.#turnover) / Number(value) + room,
    };
  }

  #after(moves: readonly Move[]): { cash: bigint[]; turnover: bigint | undefined } {
    const cash = [...this.#cash];
    let turnover = this.#turnover;
    for (const { index, lots } of moves) {
      const { item } = this.#hints[index]!;
      cash[item.pool]! -= useOf(item, lots) - useOf(item, this.lots[index]!);
      if (turnover !== undefined) turnover -= turnoverOf(item, lots) - turnoverOf(item, this.lots[index]!);
    }
    return { cash, turnover };
  }

  #take(moves: readonly Move[]): void {
    this.#left = undefined;
    const { cash, turnover } = this.#after(moves);
    cash.forEach((each, pool) => this.#cash[pool] = each);
    this.#turnover = turnover;
    for (const { index, lots } of moves) this.lots[index] = lots;
  }

  /** Returns the exact sum of squared drifts and the exact turnover. */
  result(): { drift: bigint; turnover: bigint } {
    const { items } = this.#problem;
    return {
      drift: items.reduce((sum, item, index) => sum + driftOf(item, this.lots[index]!), 0n),
      turnover: items.reduce((sum, item, index) => sum + turnoverOf(item, this.lots[index]!), 0n),
    };
  }
}
