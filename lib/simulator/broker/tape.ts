/**
 * Searches the market between two instants for the first second in which a condition holds.
 *
 * Instants are whole seconds, and the search checks a period as a whole before it checks its parts. So the result does
 * not depend on how often the market is searched.
 *
 * @module
 */
import type { SimulatedMarket } from "../market/mod.ts";
import { readPrice, writePrice } from "./money.ts";

/** The range of prices traded in a period. */
export interface Range {
  high: bigint;
  low: bigint;
}

/** A trade of the market. */
interface Print {
  at: number;
  price: bigint;
  volume: bigint;
}

/** A price of the order book, with its volume. */
interface Level {
  price: bigint;
  volume: bigint;
}

const SECOND_MS = 1_000;
/** Maximum number of cached periods; many orders of one listing need the same periods. */
const MOST_KEPT = 20_000;

/** The market's prices in the units of the books. */
export class Tape {
  readonly #market: SimulatedMarket;
  readonly #ranges = new Map<string, Range | undefined>();

  constructor(market: SimulatedMarket) {
    this.#market = market;
  }

  /** Returns the last price at an instant. */
  price(symbol: string, at: number): bigint {
    return readPrice(this.#market.lastPrice(symbol, at));
  }

  /** Returns whether the listing trades at an instant. */
  isOpen(symbol: string, at: number): boolean {
    return this.#market.isOpen(symbol, at);
  }

  /** Returns the trades of the second that ends at an instant, oldest first. */
  prints(symbol: string, at: number): Print[] {
    return this.#market.prints(symbol, at - SECOND_MS, at).map(({ at, price, volume }) => ({
      at,
      price: readPrice(price),
      volume: BigInt(volume),
    }));
  }

  /** Returns the volume traded after one instant and up to another. */
  volume(symbol: string, after: number, until: number): bigint {
    return BigInt(this.#market.traded(symbol, after, until)?.volume ?? 0);
  }

  /** Returns one side of the order book, best price first. */
  levels(symbol: string, at: number, side: "bids" | "asks"): Level[] {
    return this.#market.orderBook(symbol, at)[side].map(({ price, volume }) => ({
      price: readPrice(String(price)),
      volume: BigInt(volume),
    }));
  }

  /** Returns the volume ahead of an order that joins the queue at a price. */
  queue(symbol: string, at: number, price: bigint, isBid: boolean): bigint {
    return BigInt(this.#market.queueAt(symbol, at, { price: writePrice(price), isBid }));
  }

  /** Returns what was traded after one instant and up to another. */
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
   * Returns the first whole second after one instant and up to another in which a condition holds.
   *
   * @param holds Called with periods in order of time. If it returns `true`, the search calls it with the parts of that
   *   period. It may remember data of periods for which it returned `false`.
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

/** Rounds an instant down to a whole second. */
export function wholeSecond(at: number): number {
  return Math.floor(at / SECOND_MS) * SECOND_MS;
}
