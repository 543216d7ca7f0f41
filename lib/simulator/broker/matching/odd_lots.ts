/**
 * Simulates Hong Kong's market for odd lots: orders of less than one board lot.
 *
 * The automatic matching of the exchange does not accept such orders. They are listed on a separate board, without
 * priority by price or time, until another participant takes a whole order by hand, usually at a worse price than the
 * price of board lots. Sources: `orion`, `oddlot-hk`; a table in `docs/simulator.md` lists them. How often a
 * participant looks at the board, and at which prices, is not published. Here the seed decides both: in most periods of
 * five minutes, one participant buys at a discount and sells at a premium.
 *
 * @module
 */
import { randomFrom } from "../../../time.ts";
import type { SimulatedMarket } from "../../market/mod.ts";
import { hashText, mix } from "../../market/random.ts";
import { readPrice, writePrice } from "../account/money.ts";
import { type BookDay, MINUTE_MS } from "../sessions.ts";

/**
 * One look of a participant at the board: its time, and the distance of the prices from the last price of board lots.
 */
interface Visit {
  at: number;
  /** In ten-thousandths of the price. */
  distance: bigint;
}

const EVERY_MS = 5 * MINUTE_MS;
const SECOND_MS = 1_000;
/** Fraction of the five-minute periods in which a participant looks at the board. */
const PRESENT = 0.7;
/** Smallest and largest distance, in ten-thousandths of the price. */
const LEAST = 30;
const MOST = 200;

/** The odd-lot market of one seed. */
export class OddLots {
  readonly #seed: number;
  readonly #market: SimulatedMarket;

  constructor(seed: number, market: SimulatedMarket) {
    this.#seed = seed;
    this.#market = market;
  }

  /**
   * Returns when a participant takes an order: later than `after`, and not later than `until`. Returns `undefined` if
   * nobody takes it.
   */
  next(
    symbol: string,
    { day, isSell, limit, after, until }: {
      day: BookDay;
      isSell: boolean;
      limit: bigint;
      after: number;
      until: number;
    },
  ): number | undefined {
    for (const { from, to } of day.segments) {
      const first = Math.max(0, Math.floor((after - from) / EVERY_MS));
      for (let start = from + first * EVERY_MS; start < Math.min(to, until); start += EVERY_MS) {
        const visit = this.#visit(symbol, start);
        if (visit === undefined || visit.at <= after || visit.at > until) continue;
        if (!this.#market.isOpen(symbol, visit.at)) continue;
        const price = this.price(symbol, { day, isSell, at: visit.at });
        if (price !== undefined && (isSell ? price >= limit : price <= limit)) return visit.at;
      }
    }
    return undefined;
  }

  /** Returns the price that a participant pays, or asks for, at the instant of a visit; `undefined` without a visit. */
  price(
    symbol: string,
    { day, isSell, at }: { day: BookDay; isSell: boolean; at: number },
  ): bigint | undefined {
    const segment = day.segments.find(({ from, to }) => at >= from && at < to);
    if (segment === undefined) return undefined;
    const visit = this.#visit(symbol, at - (at - segment.from) % EVERY_MS);
    if (visit?.at !== at) return undefined;
    const last = readPrice(this.#market.lastPrice(symbol, at));
    const far = last * visit.distance / 10_000n;
    const onGrid = (price: bigint, near: bigint) => {
      const tick = readPrice(this.#market.tickSize(symbol, day.date, writePrice(near)));
      return (isSell ? price : price + tick - 1n) / tick * tick;
    };
    const price = onGrid(isSell ? last - far : last + far, last);
    // The rounded price may be in a part of the grid with larger steps, so round it a second time.
    return onGrid(price, price);
  }

  #visit(symbol: string, start: number): Visit | undefined {
    const next = randomFrom(mix(this.#seed, hashText(`odd lots:${symbol}`), Math.floor(start / SECOND_MS)));
    if (next() >= PRESENT) return undefined;
    const at = start + Math.floor(next() * EVERY_MS / SECOND_MS) * SECOND_MS;
    return { at, distance: BigInt(LEAST + Math.floor(next() * (MOST - LEAST + 1))) };
  }
}
