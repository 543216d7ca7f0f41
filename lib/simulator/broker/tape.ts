/**
 * Looking through the market between two instants for the first moment at which something holds.
 *
 * Moments are whole seconds and each stretch is looked at as a whole first, so what is found does not depend on
 * how often anybody looks.
 *
 * @module
 */
import type { SimulatedMarket } from "../market/mod.ts";
import { readPrice } from "./money.ts";

/** What was traded in a stretch of time. */
export interface Range {
  high: bigint;
  low: bigint;
}

const SECOND_MS = 1_000;
/** Stretches remembered at most; many orders of one listing ask for the same ones. */
const MOST_KEPT = 20_000;

/** The market's prices as the books count them. */
export class Tape {
  readonly #market: SimulatedMarket;
  readonly #ranges = new Map<string, Range | undefined>();

  constructor(market: SimulatedMarket) {
    this.#market = market;
  }

  /** The last price at an instant. */
  price(symbol: string, at: number): bigint {
    return readPrice(this.#market.lastPrice(symbol, at));
  }

  /** Tells whether the listing trades at an instant. */
  isOpen(symbol: string, at: number): boolean {
    return this.#market.isOpen(symbol, at);
  }

  /** What was traded after one instant and up to another. */
  range(symbol: string, after: number, until: number): Range | undefined {
    const key = `${symbol} ${after} ${until}`;
    if (this.#ranges.has(key)) return this.#ranges.get(key);
    const traded = this.#market.traded(symbol, after, until);
    const range = traded && { high: readPrice(traded.high), low: readPrice(traded.low) };
    if (this.#ranges.size >= MOST_KEPT) this.#ranges.clear();
    this.#ranges.set(key, range);
    return range;
  }

  /**
   * Returns the first whole second after one instant and up to another in which something holds.
   *
   * @param holds Is asked about stretches in order of time, each followed by its parts when it says yes. It may
   *   remember what it saw in stretches that it declined.
   */
  find(symbol: string, after: number, until: number, holds: (range: Range) => boolean): number | undefined {
    if (until <= after) return undefined;
    const range = this.range(symbol, after, until);
    if (range === undefined || !holds(range)) return undefined;
    if (until - after <= SECOND_MS) return until;
    const middle = after + Math.ceil((until - after) / (2 * SECOND_MS)) * SECOND_MS;
    return this.find(symbol, after, middle, holds) ?? this.find(symbol, middle, until, holds);
  }
}

/** Brings an instant down to a whole second. */
export function wholeSecond(at: number): number {
  return Math.floor(at / SECOND_MS) * SECOND_MS;
}
