/**
 * Finds the pauses that large moves of a price cause: Hong Kong's volatility control mechanism, for stocks and index
 * futures, and the price bands of the United States (limit up, limit down).
 *
 * The price path of a day does not depend on the account. So its pauses do not depend on the account either: the same
 * seed gives the same pauses. The path itself continues in a pause, but its trades outside the allowed prices fill no
 * order of the account, and trigger no conditional order.
 *
 * - **Hong Kong's stocks:** a trade more than 10% from the price five minutes earlier starts a pause of five minutes,
 *   in which only prices within these 10% trade. There is at most one pause per morning and one per afternoon. No pause
 *   starts in the first 15 minutes of the morning or the afternoon, or in the last 20 minutes of the afternoon. Source:
 *   `hkpy`, `charl`, `exc`.
 * - **Index futures:** the same rules with 5% instead of 10%, only for the two nearest months. The number of pauses has
 *   no limit. Source: `vcm`, `wvcm`.
 * - **United States:** the band is 5% above and below a reference price, and from 15:35 twice as wide. The reference
 *   price is the mean of the last five minutes' trades; a new mean replaces it only if it differs by 1% or more. If the
 *   previous close is 3.00 or less, the band is 20% instead of 5%. If the previous close is below 0.75, the band is
 *   75%, but at most 0.15. A trade at or beyond the band starts 15 seconds in which only prices within the band trade.
 *   A trade strictly inside the band ends the 15 seconds early. If there is no such trade, nothing trades for five
 *   minutes, or until the close. Options pause with their stock. Source: `luld2`.
 *
 * A table in `docs/simulator.md` lists the sources.
 *
 * @module
 */
import { futureContracts } from "../../../facts/contracts.ts";
import type { Instrument, SimulatedMarket } from "../../market/mod.ts";
import { divideHalfUp, readPrice, writePrice } from "../account/money.ts";
import { MINUTE_MS } from "../sessions.ts";

/** Why trading is restricted: a cooling-off period, the seconds at a price band, or a trading pause. */
export type PauseKind = "cooling-off" | "limit-state" | "trading-pause";

/** A period in which a listing trades only within two prices, or not at all. */
export interface Pause {
  kind: PauseKind;
  /**
   * First instant of the period, epoch milliseconds: the time of the trade that started it; for a trading pause, the
   * end of the limit state.
   */
  from: number;
  /** First instant after the period. */
  until: number;
  /** Lowest and highest price that trade; absent if nothing trades. */
  band?: { low: bigint; high: bigint };
}

interface Trade {
  at: number;
  price: bigint;
  volume: bigint;
}

interface Segment {
  from: number;
  to: number;
}

const SECOND_MS = 1_000;
const WINDOW_MS = 5 * MINUTE_MS;
const LIMIT_STATE_MS = 15 * SECOND_MS;
/** Times without volatility control, at the start of each session and at the end of the day. */
const QUIET = { start: 15 * MINUTE_MS, end: 20 * MINUTE_MS };
/** Time before the close in which the bands of the United States are doubled. */
const DOUBLED_MS = 25 * MINUTE_MS;
const CENT = readPrice("0.01");

/** The pauses of a market's listings. */
export class Pauses {
  readonly #market: SimulatedMarket;
  readonly #days = new Map<string, readonly Pause[]>();

  constructor(market: SimulatedMarket) {
    this.#market = market;
  }

  /** Returns the pauses that overlap a period, in order of time. */
  between(symbol: string, after: number, until: number): Pause[] {
    return this.#market.tradingDays(symbol, after, until)
      .flatMap((day) => this.#pausesOn(symbol, day))
      .filter((pause) => pause.from <= until && pause.until > after);
  }

  /** Returns the pause at an instant. */
  at(symbol: string, at: number): Pause | undefined {
    return this.between(symbol, at, at).find(({ from, until }) => at >= from && at < until);
  }

  #pausesOn(symbol: string, day: ReturnType<SimulatedMarket["tradingDays"]>[number]): readonly Pause[] {
    const key = `${symbol} ${day.date}`;
    let pauses = this.#days.get(key);
    if (pauses === undefined) this.#days.set(key, pauses = this.#find(symbol, day));
    return pauses;
  }

  #find(symbol: string, day: ReturnType<SimulatedMarket["tradingDays"]>[number]): readonly Pause[] {
    const { date, segments, openAt, closeAt } = day;
    const instrument = this.#market.instrument(symbol, date);
    if (instrument === undefined) return [];
    if (instrument.option !== undefined) {
      return this.#pausesOn(instrument.option.underlying, day).filter(({ kind }) => kind === "trading-pause");
    }
    const percent = percentOf(instrument, date);
    const bar = this.#market.dayBar(symbol, date);
    if (percent === undefined || bar === undefined) return [];
    const [low, high] = [readPrice(bar.low), readPrice(bar.high)];
    // If the range of the whole day is smaller than the move that starts a pause, the day has none, like most days.
    if ((high - low) * 100n < low * percent) return [];
    const trades = this.#market.prints(symbol, openAt - SECOND_MS, closeAt)
      .map(({ at, price, volume }) => ({ at, price: readPrice(price), volume: BigInt(volume) }));
    if (instrument.market === "us") {
      const previousClose = readPrice(this.#market.previousClose(symbol, openAt));
      return bandPauses(trades, { closeAt, distance: bandDistance(previousClose) });
    }
    const tick = (price: bigint) => readPrice(this.#market.tickSize(symbol, date, writePrice(price)));
    return coolingOffs(trades, { segments, percent, repeats: instrument.kind === "future", tick });
  }
}

/**
 * Returns the smallest move, in percent, that can start a pause; `undefined` if the listing has no pauses. A
 * stock of at most 3.00 in the United States needs a larger move: `bandDistance` computes it.
 */
function percentOf({ kind, market, symbol }: Instrument, date: string): bigint | undefined {
  if (market === "us") return 5n;
  if (kind === "future") {
    const product = symbol.match(/^[A-Z]+/)?.[0];
    const months = futureContracts(date).filter((contract) => contract.product === product)
      .toSorted((a, b) => a.lastTradingDay < b.lastTradingDay ? -1 : 1);
    return months.slice(0, 2).some((contract) => contract.symbol === symbol) ? 5n : undefined;
  }
  return market === "hk" && kind === "stock" ? 10n : undefined;
}

/** Returns the cooling-off periods of a day. */
function coolingOffs(
  trades: readonly Trade[],
  { segments, percent, repeats, tick }: {
    segments: readonly Segment[];
    percent: bigint;
    repeats: boolean;
    tick: (price: bigint) => bigint;
  },
): Pause[] {
  const found: Pause[] = [];
  segments.forEach(({ from, to }, index) => {
    const isLast = index === segments.length - 1 && segments.length > 1;
    const ends = isLast ? to - QUIET.end : to;
    const own = trades.filter(({ at }) => at >= from && at < to);
    let [free, before] = [from + QUIET.start, 0];
    for (const { at, price } of own) {
      while ((own[before + 1]?.at ?? Infinity) <= at - WINDOW_MS) before++;
      const reference = own[before]?.price;
      if (at < free || at >= ends || reference === undefined) continue;
      const distance = reference * percent / 100n;
      const [lowest, highest] = [reference - distance, reference + distance];
      // Only prices on the grid trade, so the limits are the outermost grid prices within the distance.
      const band = {
        low: (lowest + tick(lowest) - 1n) / tick(lowest) * tick(lowest),
        high: highest / tick(highest) * tick(highest),
      };
      if (price >= band.low && price <= band.high) continue;
      const until = Math.min(at + WINDOW_MS, to);
      found.push({ kind: "cooling-off", from: at, until, band });
      free = repeats ? until : Infinity;
    }
  });
  return found;
}

/** Returns the limit states and trading pauses of a day in the United States. */
function bandPauses(
  trades: readonly Trade[],
  { closeAt, distance }: { closeAt: number; distance: (reference: bigint) => bigint },
): Pause[] {
  const found: Pause[] = [];
  let recent: Trade[] = [];
  let reference: bigint | undefined;
  let pausedUntil = 0;
  for (let index = 0; index < trades.length; index++) {
    const trade = trades[index]!; // below the length
    const { at, price } = trade;
    if (at < pausedUntil) continue;
    const factor = at >= closeAt - DOUBLED_MS ? 2n : 1n;
    const band = reference === undefined ? undefined : bandOf(reference, distance(reference) * factor);
    if (band !== undefined && (price <= band.low || price >= band.high)) {
      const until = Math.min(at + LIMIT_STATE_MS, closeAt);
      const inside = trades.slice(index + 1).find((next) =>
        next.at < until && next.price > band.low && next.price < band.high
      );
      found.push({ kind: "limit-state", from: at, until: inside?.at ?? until, band });
      pausedUntil = inside?.at ?? until;
      if (inside === undefined && until < closeAt) {
        pausedUntil = Math.min(until + WINDOW_MS, closeAt);
        found.push({ kind: "trading-pause", from: until, until: pausedUntil });
        // The first trade after the pause is the next reference.
        [recent, reference] = [[], undefined];
      }
      continue;
    }
    recent = [...recent.filter((each) => each.at > at - WINDOW_MS), trade];
    const mean = recent.reduce((sum, each) => sum + each.price, 0n) / BigInt(recent.length);
    const change = reference === undefined
      ? undefined
      : mean > reference
      ? mean - reference
      : reference - mean;
    if (reference === undefined || (change ?? 0n) * 100n >= reference) reference = mean;
  }
  return found;
}

/** Returns how far the bands of a day are from a reference price; the previous close decides the percentage. */
function bandDistance(previousClose: bigint): (reference: bigint) => bigint {
  if (previousClose > readPrice("3")) return (reference) => reference * 5n / 100n;
  if (previousClose >= readPrice("0.75")) return (reference) => reference * 20n / 100n;
  const most = readPrice("0.15");
  return (reference) => {
    const distance = reference * 75n / 100n;
    return distance < most ? distance : most;
  };
}

function bandOf(reference: bigint, distance: bigint): { low: bigint; high: bigint } {
  const cents = (price: bigint) => divideHalfUp(price, CENT) * CENT;
  return { low: cents(reference - distance), high: cents(reference + distance) };
}
