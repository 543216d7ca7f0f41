/**
 * Describes Hong Kong's two auctions: the pre-opening session, which matches between 09:20 and 09:22, and the closing
 * auction session, which matches between 16:08 and 16:10 (12:08 and 12:10 on half-days).
 *
 * The seed decides in which second an auction matches (the same second for all stocks), and its volume. The opening
 * auction matches at the day's open and the closing auction at the day's close, so all other data of the day agree with
 * them. If a script halts the stock at the open, the opening auction matches at the price at which the stock would have
 * opened.
 *
 * @module
 */
import { randomFrom } from "../../../time.ts";
import type { SimulatedMarket } from "../../market/mod.ts";
import { hashText, mix } from "../../market/random.ts";
import { readPrice, writePrice } from "../account/money.ts";
import { type BookDay, MINUTE_MS } from "../sessions.ts";

/** The name of an auction. */
export type AuctionName = "opening" | "closing";

/** Hong Kong's phases of a trading day. In the locked phases, orders can be placed, but not amended or cancelled. */
export type Phase =
  | "closed"
  | "opening"
  | "opening-locked"
  | "before-open"
  | "continuous"
  | "lunch-locked"
  | "lunch"
  | "before-closing"
  | "closing"
  | "closing-locked";

/** Prices that an auction accepts. */
export interface AuctionLimits {
  low: bigint;
  high: bigint;
}

const SECOND_MS = 1_000;
/** Smallest and largest part of the day's volume that an auction trades. */
const PART_OF_DAY = { opening: [0.005, 0.02], closing: [0.04, 0.12] } as const;
/** Smallest and largest distance of a locked phase's price limits from the match price, in price steps. */
const LEAST_STEPS = 1;
const MOST_STEPS = 12;

/** The auctions of one seed. */
export class Auctions {
  readonly #seed: number;
  readonly #market: SimulatedMarket;

  constructor(seed: number, market: SimulatedMarket) {
    this.#seed = seed;
    this.#market = market;
  }

  /** Returns the instant at which an auction matches. */
  matchAt({ date, openAt, closeAt }: BookDay, auction: AuctionName): number {
    const from = auction === "opening" ? openAt - 10 * MINUTE_MS : closeAt + 8 * MINUTE_MS;
    const next = randomFrom(mix(this.#seed, hashText(`auction:${auction}:${date}`)));
    return from + Math.floor(next() * 120) * SECOND_MS;
  }

  /** Returns the phase of a Hong Kong day at an instant. */
  phase(day: BookDay, at: number): Phase {
    const { openAt, closeAt, segments } = day;
    const ends: [Phase, number][] = [
      ["closed", openAt - 30 * MINUTE_MS],
      ["opening", openAt - 15 * MINUTE_MS],
      ["opening-locked", this.matchAt(day, "opening")],
      ["before-open", openAt],
      ...segments.slice(1).flatMap(({ from }, index): [Phase, number][] => [
        ["continuous", segments[index]?.to ?? from],
        ["lunch-locked", from - 30 * MINUTE_MS],
        ["lunch", from],
      ]),
      ["continuous", closeAt],
      ["before-closing", closeAt + MINUTE_MS],
      ["closing", closeAt + 6 * MINUTE_MS],
      ["closing-locked", this.matchAt(day, "closing")],
    ];
    return ends.find(([, end]) => at < end)?.[0] ?? "closed";
  }

  /** Returns the price and the volume of an auction's match; `undefined` if the stock is halted then. */
  match(symbol: string, day: BookDay, auction: AuctionName): { price: bigint; volume: bigint } | undefined {
    return this.#market.isHalted(symbol, this.matchAt(day, auction))
      ? undefined
      : this.#termsOf(symbol, day, auction);
  }

  #termsOf(symbol: string, { date }: BookDay, auction: AuctionName): { price: bigint; volume: bigint } {
    // The opening auction comes before the halts of the day, so it uses the bar without them.
    const bar = this.#market.dayBar(symbol, date, { unhalted: auction === "opening" });
    if (bar === undefined) return { price: 0n, volume: 0n };
    const [low, high] = PART_OF_DAY[auction];
    const part = low + (high - low) * this.#stream(symbol, date, `volume:${auction}`)();
    const price = readPrice(auction === "opening" ? bar.open : bar.close);
    return { price, volume: BigInt(Math.floor(Number(bar.volume) * part)) };
  }

  /**
   * Returns how much an order at exactly the match price gets, in thousandths of the account's share of the auction. It
   * does not get the whole share, because orders of others at that price are ahead of it.
   */
  partAtPrice(symbol: string, { date }: BookDay, auction: AuctionName): bigint {
    return BigInt(Math.floor(this.#stream(symbol, date, `queue:${auction}`)() * 1000));
  }

  /** Returns the prices that an auction accepts in a phase; `undefined` outside the auctions. */
  limits(symbol: string, day: BookDay, phase: Phase): AuctionLimits | undefined {
    const reference = this.reference(symbol, day, phase);
    if (reference === undefined) return undefined;
    if (phase === "opening") return around(reference, 15n);
    if (phase === "closing") return around(reference, 5n);
    const { price } = this.#termsOf(symbol, day, phase === "opening-locked" ? "opening" : "closing");
    const step = readPrice(this.#market.tickSize(symbol, day.date, writePrice(price)));
    const next = this.#stream(symbol, day.date, `book:${phase}`);
    const steps = () => BigInt(LEAST_STEPS + Math.floor(next() * (MOST_STEPS - LEAST_STEPS + 1)));
    return { low: price - steps() * step, high: price + steps() * step };
  }

  /** Returns the reference price of the auction in a phase; `undefined` outside the auctions. */
  reference(symbol: string, day: BookDay, phase: Phase): bigint | undefined {
    if (phase === "opening" || phase === "opening-locked") {
      return readPrice(this.#market.previousClose(symbol, day.openAt - SECOND_MS));
    }
    return phase === "closing" || phase === "closing-locked" ? this.#median(symbol, day) : undefined;
  }

  /** Returns the reference price of the closing auction: the median of five prices of the last minute. */
  #median(symbol: string, { closeAt }: BookDay): bigint {
    const prices = [60, 45, 30, 15, 0].map((seconds) =>
      readPrice(this.#market.lastPrice(symbol, closeAt - seconds * SECOND_MS))
    );
    return prices.sort((a, b) => a < b ? -1 : a > b ? 1 : 0)[2] ?? 0n;
  }

  #stream(symbol: string, date: string, purpose: string) {
    return randomFrom(mix(this.#seed, hashText(`auction ${purpose}:${symbol}:${date}`)));
  }
}

function around(price: bigint, percent: bigint): AuctionLimits {
  return { low: price * (100n - percent) / 100n, high: price * (100n + percent) / 100n };
}
