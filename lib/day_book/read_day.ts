/**
 * Reads all lists of one day into files, a few at the same time, and chooses between the broker's two lists of a
 * day that is not long over.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { compare, DecimalSum } from "../decimal.ts";
import { futuresLists, type ListSpec, marketLists } from "./lists.ts";
import type { MarketDay } from "./market_days.ts";
import { Part } from "./part.ts";
import type { DayBookEvent, DayBookFormat, DayBookMarket, Origin } from "./types.ts";

/** What a day is read with. */
export interface ReadDayOptions {
  client: Client;
  day: string;
  markets: readonly MarketDay[];
  folder: string;
  formats: readonly DayBookFormat[];
  concurrency: number;
  signal: AbortSignal;
  onRows: (rows: Omit<Extract<DayBookEvent, { type: "rows" }>, "type" | "day">) => void;
}

/** Lists that a market has. */
export function listsOf(market: DayBookMarket): readonly ListSpec[] {
  return market === "futures" ? futuresLists : marketLists;
}

/**
 * Resolves to the chosen part of every list, in the order of markets and lists. The first failure stops all, and
 * nothing runs any more when it is thrown.
 */
export async function readDay(options: ReadDayOptions): Promise<Part[]> {
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const slot = slots(options.concurrency);
  let failure: { error: unknown } | undefined;
  const guarded = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await slot(() => {
        signal.throwIfAborted();
        return work();
      });
    } catch (error) {
      failure ??= { error };
      stop.abort(error);
      return undefined;
    }
  };
  const read = (market: MarketDay, spec: ListSpec, origin: Origin) =>
    guarded(() => {
      const { client, day, folder, formats, onRows } = options;
      const part = new Part({
        client,
        spec,
        market: market.market,
        day,
        origin,
        folder,
        formats,
        paging: { signal },
        runningDay: market.runningDay,
        onRows: (added, rows) => onRows({ market: market.market, list: spec.list, origin, added, rows }),
      });
      return part.read();
    });
  // Walks are queued in order, so that no walk waits for one behind it.
  const pending = options.markets.filter(({ hasBegun }) => hasBegun).map((market) =>
    listsOf(market.market).map((spec) => ({
      market,
      history: read(market, spec, "history"),
      today: market.isRecent ? read(market, spec, "today") : undefined,
    }))
  );
  const chosen: Part[] = [];
  for (const lists of pending) {
    const both = await Promise.all(
      lists.map(async ({ market, history, today }) => ({
        market,
        history: await history,
        today: await today,
      })),
    );
    const dates = both.map(({ today }) => today?.lastDate).filter((date) => date !== undefined);
    const brokersDay = dates.sort().at(-1);
    for (const { market, history, today } of both) {
      if (history !== undefined) chosen.push(choose(history, today, brokersDay ?? market.runningDay));
    }
  }
  if (failure !== undefined) throw failure.error;
  return chosen;
}

/**
 * Takes the list of today when it holds more than the history, which is then not complete yet. Lines of today's
 * journal carry no date: they belong to the day that the broker's other lists of today show.
 */
function choose(history: Part, today: Part | undefined, brokersDay: string): Part {
  if (today === undefined || today.tally.rows === 0) return history;
  if (today.spec.list === "fund_journal" && brokersDay !== history.day) return history;
  const more = history.spec.list === "fills"
    // Hong Kong's fills are merged in the history, so rows cannot be compared, but quantities can.
    ? compare(filledOf(today), filledOf(history)) > 0
    : today.tally.rows > history.tally.rows;
  return more ? today : history;
}

function filledOf({ tally: { filled } }: Part): string {
  const sum = new DecimalSum();
  for (const name of filled.names) sum.add(filled.get(name) ?? "0");
  return sum.toString();
}

/** Lets at most so many run at the same time, in the order in which they came. */
function slots(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = most;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free--;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
