/**
 * Reads the simulated market for the broker's matching: prices, trades, the order book, and the first second in which a
 * condition is true.
 *
 * A search uses whole seconds, and checks a period as a whole before it checks its parts. So the result does not depend
 * on how often the market is searched.
 *
 * @module
 */
import type { SimulatedMarket } from "../../market/mod.ts";
import { readPrice, writePrice } from "../account/money.ts";
import { type Pause, Pauses } from "./pauses.ts";

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

/**
 * The market's prices in the broker's internal price units. Leaves out trades at prices that a pause does not allow;
 * only `price` and `volume` include them.
 */
export class Tape {
  readonly #market: SimulatedMarket;
  /** Whether the tape has the sessions outside the regular hours too. */
  readonly #options: { extended: boolean };
  readonly #ranges = new Map<string, Range | undefined>();
  readonly #pauses: Pauses;

  constructor(market: SimulatedMarket, options = { extended: false }) {
    this.#market = market;
    this.#options = options;
    this.#pauses = new Pauses(market);
  }

  /** Returns the pause of a listing at an instant. */
  pause(symbol: string, at: number): Pause | undefined {
    return this.#pauses.at(symbol, at);
  }

  /** Returns whether the pauses allow a price at an instant. */
  allows(symbol: string, at: number, price: bigint): boolean {
    const pause = this.pause(symbol, at);
    return pause === undefined || isWithin(pause, price);
  }

  /** Returns the pauses of a listing that overlap a period, in order of time. */
  pauses(symbol: string, after: number, until: number): Pause[] {
    return this.#pauses.between(symbol, after, until);
  }

  /** Returns the last price at an instant. */
  price(symbol: string, at: number): bigint {
    return readPrice(this.#market.lastPrice(symbol, at, this.#options));
  }

  /** Returns whether the listing trades at an instant. */
  isOpen(symbol: string, at: number): boolean {
    return this.#market.isOpen(symbol, at, this.#options) && this.pause(symbol, at)?.kind !== "trading-pause";
  }

  /** Returns the trades of the second that ends at an instant, oldest first. */
  prints(symbol: string, at: number): Print[] {
    return this.#trades(symbol, at - SECOND_MS, at, this.#pauses.between(symbol, at - SECOND_MS, at));
  }

  #trades(symbol: string, after: number, until: number, pauses: readonly Pause[]): Print[] {
    const isAllowed = ({ at, price }: Print) =>
      pauses.every((pause) => at < pause.from || at >= pause.until || isWithin(pause, price));
    return this.#market.prints(symbol, after, until, this.#options)
      .map(({ at, price, volume }) => ({ at, price: readPrice(price), volume: BigInt(volume) }))
      .filter(isAllowed);
  }

  /** Returns the volume traded after one instant and up to another. */
  volume(symbol: string, after: number, until: number): bigint {
    return BigInt(this.#market.traded(symbol, after, until, this.#options)?.volume ?? 0);
  }

  /** Returns one side of the order book, best price first. */
  levels(symbol: string, at: number, side: "bids" | "asks"): Level[] {
    const pause = this.pause(symbol, at);
    return this.#market.orderBook(symbol, at, this.#options)[side]
      .map(({ price, volume }) => ({ price: readPrice(String(price)), volume: BigInt(volume) }))
      .filter(({ price }) => pause === undefined || isWithin(pause, price));
  }

  /** Returns the volume ahead of an order that joins the queue at a price. */
  queue(symbol: string, at: number, price: bigint, isBid: boolean): bigint {
    return BigInt(this.#market.queueAt(symbol, at, { price: writePrice(price), isBid, ...this.#options }));
  }

  /** Returns the range of prices traded after one instant and up to another; `undefined` if nothing was traded. */
  range(symbol: string, after: number, until: number): Range | undefined {
    const key = `${symbol} ${after} ${until}`;
    if (this.#ranges.has(key)) return this.#ranges.get(key);
    const pauses = this.#pauses.between(symbol, after, until);
    const traded = pauses.length === 0 ? this.#market.traded(symbol, after, until, this.#options) : undefined;
    const range = pauses.length > 0
      ? rangeOf(this.#trades(symbol, after, until, pauses))
      : traded && { high: readPrice(traded.high), low: readPrice(traded.low) };
    if (this.#ranges.size >= MOST_KEPT) this.#ranges.clear();
    this.#ranges.set(key, range);
    return range;
  }

  /**
   * Returns the first whole second after one instant and up to another in which a condition holds.
   *
   * @param holds Called with periods in order of time. If it returns `true`, the search calls it with the parts of that
   *   period. The function may remember data of periods for which it returned `false`.
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

/** Returns whether a price may trade in a pause. A price exactly at a limit may trade. */
function isWithin({ band }: Pause, price: bigint): boolean {
  return band !== undefined && price >= band.low && price <= band.high;
}

function rangeOf(trades: readonly Print[]): Range | undefined {
  const [first, ...others] = trades;
  if (first === undefined) return undefined;
  const range = { high: first.price, low: first.price };
  for (const { price } of others) {
    if (price > range.high) range.high = price;
    if (price < range.low) range.low = price;
  }
  return range;
}

/** Rounds an instant down to a whole second. */
export function wholeSecond(at: number): number {
  return Math.floor(at / SECOND_MS) * SECOND_MS;
}
