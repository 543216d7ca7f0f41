/**
 * Computes the order book and the broker queue around the last price.
 *
 * In the regular hours, the last price is the best bid or the best ask. In the other sessions, each of the two is up to
 * five price steps further away. Further levels follow the grid. Sizes change every three seconds while the market
 * trades, and with each new last price. They do not change at other times.
 *
 * @module
 */
import { priceLimits } from "../../facts/price_rules.ts";
import { toDecimal, toDouble } from "./grid.ts";
import { toUnits } from "./packing.ts";
import { hashText, mix } from "./random.ts";
import { randomFrom } from "../../time.ts";
import type { AssetState } from "./state.ts";
import { lastOpenInstant } from "./timeline.ts";
import type { BookLevel, BookView, BrokersView, BrokerView } from "./views.ts";

/** Options of {@linkcode makeBook}. */
export interface BookOptions {
  /** Levels on each side. @default 10 */
  levels?: number;
  /** Depth feed of the United States, whose levels name a venue. @default none */
  feed?: "total-view" | "arca-book";
}

const REFRESH_MS = 3_000;

/** Outside the regular hours, the best price of each side is up to `WIDEST - 1` price steps further away. */
const WIDEST = 6;

/** Venue of each depth feed. */
const VENUE = { "total-view": "NSDQ", "arca-book": "ARCA" } as const;

/** Invented brokers: four-digit codes as in Hong Kong, and fictitious names. */
const BROKERS = Array.from({ length: 40 }, (_, index) => ({
  broker: String(1100 + index * 37),
  name: `Simulated broker ${index + 1}`,
}));

/** Returns a random stream. It changes every three seconds while the market trades, and with each new last price. */
function streamAt({ asset, day, last }: AssetState, at: number, seed: number, purpose: string) {
  const moment = Math.floor(lastOpenInstant(day, at) / REFRESH_MS);
  return randomFrom(mix(seed, hashText(`${purpose}:${asset.symbol}`), moment, last));
}

function limitsOf({ asset, day, previousClose }: AssetState): { low: number; high: number } {
  const { market, symbol } = asset.describe(day.date);
  const limits = priceLimits({ market, symbol, date: day.date, previousClose: toDecimal(previousClose) });
  return limits === undefined
    ? { low: 1, high: Infinity }
    : { low: toUnits(limits.low), high: toUnits(limits.high) };
}

/** Returns the book. A side has fewer levels if its prices reach zero or a price limit. */
export function makeBook(
  state: AssetState,
  { at, seed, levels = 10, feed }: BookOptions & { at: number; seed: number },
): BookView {
  const { asset, day, last } = state;
  const next = streamAt(state, at, seed, `book ${feed ?? ""}`);
  const grid = asset.grid(day.date);
  const { lotSize } = asset.describe(day.date);
  const limits = limitsOf(state);
  const side = (best: number, step: (price: number) => number): BookLevel[] => {
    const rows: BookLevel[] = [];
    for (
      let price = best;
      rows.length < levels && price >= limits.low && price <= limits.high;
      price = step(price)
    ) {
      const lots = levelLots(state, lotSize, next);
      const row: BookLevel = {
        level: rows.length + 1,
        price: toDouble(price),
        volume: String(lots * lotSize),
        orderCount: 1 + Math.floor(Math.min(lots, 60) * next()),
      };
      rows.push(feed === undefined ? row : { ...row, venue: VENUE[feed] });
    }
    return rows;
  };
  const [down, up] = [(price: number) => grid.down(price), (price: number) => grid.up(price)];
  const lastIsBid = next() < 0.5;
  /** Outside the regular hours, returns a price up to a few steps away; otherwise the price itself. */
  const away = (price: number, step: (price: number) => number) => {
    let far = price;
    if (asset.session !== undefined) {
      for (let left = Math.floor(next() * WIDEST); left > 0; left--) far = step(far);
    }
    return far;
  };
  const bids = side(away(lastIsBid ? last : down(last), down), down);
  const asks = side(away(lastIsBid ? up(last) : last, up), up);
  return { priceStep: toDouble(grid.tick(last)), asks, bids };
}

/**
 * Returns the volume that is ahead of an order when the order joins the queue at a price. At a level of the book, this
 * is the level's volume. At a price better than the best price of its side, it is zero. Behind the last level, it is a
 * volume that depends only on the price.
 */
export function makeQueue(
  state: AssetState,
  { at, seed, price, isBid }: { at: number; seed: number; price: number; isBid: boolean },
): number {
  const { bids, asks } = makeBook(state, { at, seed });
  const levels = isBid ? bids : asks;
  const found = levels.find((level) => level.price === toDouble(price));
  if (found !== undefined) return Number(found.volume);
  const best = levels[0]?.price;
  if (best === undefined || (isBid ? toDouble(price) > best : toDouble(price) < best)) return 0;
  const { lotSize } = state.asset.describe(state.day.date);
  const next = randomFrom(mix(seed, hashText(`queue:${state.asset.symbol}`), price));
  return levelLots(state, lotSize, next) * lotSize;
}

/** Returns a random size of a level in lots, around the volume that trades in a quarter of a minute. */
function levelLots({ asset, day }: AssetState, lotSize: number, next: () => number): number {
  const typical = Math.max(2, asset.bar(day.index).volume / day.minutes / 4 / lotSize);
  return 1 + Math.floor(typical * (0.2 + 1.6 * next()));
}

/** Number of levels in the broker queue. */
const QUEUE_LEVELS = 5;

/** Returns the broker queue of a Hong Kong stock; for any other instrument both sides are empty. */
export function makeBrokers(state: AssetState, at: number, seed: number): BrokersView {
  const { asset, day } = state;
  const { market, kind } = asset.describe(day.date);
  if (market !== "hk" || kind === "future") return { asks: [], bids: [] };
  const side = (purpose: string): BrokerView[] => {
    const next = streamAt(state, at, seed, purpose);
    return Array.from({ length: QUEUE_LEVELS }, (_, index) => {
      const level = index + 1;
      const mark: BrokerView = { level, broker: String(level), kind: "level", name: "" };
      const queue = Array.from({ length: 1 + Math.floor(next() * 5) }, () => {
        const { broker = "", name = "" } = BROKERS[Math.floor(next() * BROKERS.length)] ?? {};
        return { level, broker, kind: "broker" as const, name };
      });
      return level === 1 ? queue : [mark, ...queue];
    }).flat();
  };
  return { asks: side("ask brokers"), bids: side("bid brokers") };
}
