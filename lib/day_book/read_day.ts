/**
 * Reads all lists of one day into files, a few at the same time, and chooses between the broker's two lists of a
 * day that is not long over.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { isRefusal } from "../client/page_walk.ts";
import { compare, DecimalSum } from "../decimal.ts";
import { journalTie } from "./day_checks.ts";
import type { DifferenceFile } from "./differences.ts";
import { futuresLists, listsOf, type ListSpec } from "./lists.ts";
import type { CallOptions } from "../transports/transport.ts";
import { lossesOf } from "./losses.ts";
import type { MarketDay } from "./market_days.ts";
import { Part } from "./part.ts";
import type { DayBookEvent, DayBookFormat, DayBookList, DayBookMarket, Origin } from "./types.ts";

/** What a day is read with. */
export interface ReadDayOptions {
  client: Client;
  day: string;
  markets: readonly MarketDay[];
  folder: string;
  formats: readonly DayBookFormat[];
  wire: boolean;
  exactCsv: boolean;
  concurrency: number;
  signal: AbortSignal;
  onBrokerTime: NonNullable<CallOptions["onBrokerTime"]>;
  /** Gets what the two lists of a day have to say against each other. */
  differences: DifferenceFile;
  onRows: (rows: Omit<Extract<DayBookEvent, { type: "rows" }>, "type" | "day">) => void;
}

/** A list that the broker refused. */
export interface NotRead {
  market: DayBookMarket;
  list: DayBookList;
  /** What the broker said. */
  reason: string;
}

/** What was read of a day. */
export interface DayReading {
  /** The chosen part of every list, in the order of markets and lists. */
  parts: Part[];
  /** The other list of a part: the history that is not whole yet, or the one that contradicts the chosen list. */
  others: Part[];
  notRead: NotRead[];
}

interface Both {
  market: MarketDay;
  spec: ListSpec;
  history: Part | undefined;
  today: Part | undefined;
}

/**
 * Resolves to what the lists of a day hold. The first failure stops all, and nothing runs any more when it is thrown.
 * Only a list of the futures account may be refused: it is left out and named.
 */
export async function readDay(options: ReadDayOptions): Promise<DayReading> {
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const slot = slots(options.concurrency);
  const refused = new Map<string, string>();
  let failure: { error: unknown } | undefined;
  const read = async (market: MarketDay, spec: ListSpec, origin: Origin): Promise<Part | undefined> => {
    const { client, day, folder, formats, wire, exactCsv, onBrokerTime, onRows } = options;
    try {
      return await slot(() => {
        signal.throwIfAborted();
        const part = new Part({
          client,
          spec,
          market: market.market,
          day,
          origin,
          folder,
          formats,
          wire,
          exactCsv,
          paging: { signal, onBrokerTime },
          runningDay: market.runningDay,
          onRows: (added, rows) => onRows({ market: market.market, list: spec.list, origin, added, rows }),
        });
        return part.read();
      });
    } catch (error) {
      if (market.market === "futures" && isRefusal(error)) {
        refused.set(`${spec.list} ${origin}`, error.message);
      } else {
        failure ??= { error };
        stop.abort(error);
      }
      return undefined;
    }
  };
  // Walks are queued in order, so that no walk waits for one behind it.
  const pending = options.markets.filter(({ hasBegun }) => hasBegun).map((market) =>
    listsOf(market.market).map((spec) => ({
      market,
      spec,
      history: read(market, spec, "history"),
      today: market.isRecent ? read(market, spec, "today") : undefined,
    }))
  );
  const all: Both[][] = [];
  for (const lists of pending) {
    all.push(
      await Promise.all(
        lists.map(async (each) => ({ ...each, history: await each.history, today: await each.today })),
      ),
    );
  }
  if (failure !== undefined) throw failure.error;
  const others: Part[] = [];
  const parts = all.flatMap((lists) => chooseAll(lists, { others, differences: options.differences }));
  // Both lists of a day may be refused, in any order.
  const notRead = futuresLists.flatMap(({ list }): NotRead[] => {
    const reason = refused.get(`${list} history`) ?? refused.get(`${list} today`);
    return reason === undefined ? [] : [{ market: "futures", list, reason }];
  });
  return { parts, others, notRead };
}

/** What choosing between two lists brings up. */
interface Found {
  others: Part[];
  differences: DifferenceFile;
}

/** Chooses one part for each list of a market. */
function chooseAll(lists: readonly Both[], found: Found): Part[] {
  const brokersDay = lists.map(({ today }) => today?.lastDate).filter((date) => date !== undefined).sort().at(
    -1,
  );
  const chosen: Part[] = [];
  for (const { market, spec, history, today } of lists) {
    if (history === undefined || today === undefined) {
      if (history ?? today) chosen.push((history ?? today)!);
      continue;
    }
    // Lines of today's journal carry no date: they belong to the day that the other lists of today show.
    const isOther = spec.list === "fund_journal" && (brokersDay ?? market.runningDay) !== history.day;
    const fills = chosen.find((part) => part.spec.list === "fills");
    chosen.push(
      isOther || today.tally.rows === 0 ? history : choose({ history, today, fills, ...found }),
    );
  }
  return chosen;
}

interface Choice extends Found {
  history: Part;
  today: Part;
  /** The chosen fills, which show whether a journal is whole. */
  fills: Part | undefined;
}

/**
 * Takes the history when it has all that the list of today has, and otherwise the list of today, as the history is
 * not whole yet; its rows are kept too, as they have fees already. When each has something that the other one lacks,
 * what the chosen one lacks is named.
 */
function choose({ history, today, fills, others, differences }: Choice): Part {
  const isTied = history.spec.list === "fund_journal" && fills !== undefined && fills.tally.rows > 0 &&
    journalTie({ fills, journal: history }).result === "passed";
  const [past, running] = [history.reading("the history", false), today.reading("the list of today", false)];
  const options = { isOneReading: true, isTied };
  const missing = [...lossesOf(running, past, options)];
  if (missing.length === 0) return history;
  const alone = [...lossesOf(past, running, options)];
  if (alone.length === 0) {
    if (history.tally.rows > 0) others.push(history);
    return today;
  }
  const isMore = history.spec.list === "fills"
    // Hong Kong's fills are merged in the history, so rows cannot be compared, but quantities can.
    ? compare(filledOf(today), filledOf(history)) > 0
    : today.tally.rows > history.tally.rows;
  const { day, market, spec: { list } } = history;
  for (const { id: _, ...loss } of isMore ? alone : missing) {
    differences.add({ day, market, list, check: "rows", ...loss });
  }
  others.push(isMore ? history : today);
  return isMore ? today : history;
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
