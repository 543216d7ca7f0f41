/**
 * Reads all lists of one day into files, several at the same time. For a recent day, chooses between the
 * broker's history and its list of today.
 *
 * @module
 */
import { isRefusal } from "../../errors.ts";
import type { Client } from "../../client/client.ts";
import { compare, DecimalSum } from "../../decimal.ts";
import { checkMarketJournal } from "../checks/day_checks.ts";
import type { DifferenceFile } from "../rows/files.ts";
import { futuresLists, listsOf, type ListSpec } from "./lists.ts";
import type { CallOptions } from "../../transports/transport.ts";
import { lossesOf } from "../checks/losses.ts";
import type { MarketDay } from "../market_days.ts";
import { Part } from "./part.ts";
import type { DayBookEvent, DayBookFormat, DayBookList, DayBookMarket, Origin } from "../types.ts";

/** Options for reading a day. */
interface ReadDayOptions {
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
  /** Receives the differences between the two lists of a day. */
  differences: DifferenceFile;
  onRows: (rows: Omit<Extract<DayBookEvent, { type: "rows" }>, "type" | "day">) => void;
}

/** A list whose query the broker rejected. */
export interface NotRead {
  market: DayBookMarket;
  list: DayBookList;
  /** The broker's reason. */
  reason: string;
}

/** The lists of a day that were read. */
export interface DayReading {
  /** The chosen part of every list, in the order of markets and lists. */
  parts: Part[];
  /** The parts that were not chosen: incomplete histories, and lists that contradict the chosen ones. */
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
 * Reads the lists of a day. After the first failure, stops all reads, waits for their end, and throws the error. A
 * rejected query is a failure too, except for futures lists, which are then listed in `notRead`.
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
  // The reads are queued in the order in which the loop below awaits them. So the loop never waits for a read that is
  // queued behind reads of later lists.
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
  // The broker may reject the query for the history, the query for today's list, or both.
  const notRead = futuresLists.flatMap(({ list }): NotRead[] => {
    const reason = refused.get(`${list} history`) ?? refused.get(`${list} today`);
    return reason === undefined ? [] : [{ market: "futures", list, reason }];
  });
  return { parts, others, notRead };
}

/** Collects the unchosen parts and the differences. */
interface DayFindings {
  others: Part[];
  differences: DifferenceFile;
}

/** Returns the chosen part for each list of a market. */
function chooseAll(lists: readonly Both[], found: DayFindings): Part[] {
  const brokersDay = lists.map(({ today }) => today?.lastDate).filter((date) => date !== undefined).sort().at(
    -1,
  );
  const chosen: Part[] = [];
  for (const { market, spec, history, today } of lists) {
    if (history === undefined || today === undefined) {
      if (history ?? today) chosen.push((history ?? today)!);
      continue;
    }
    // Lines of today's journal have no date. They belong to the day that the other lists of today show.
    const isOther = spec.list === "fund_journal" && (brokersDay ?? market.runningDay) !== history.day;
    const fills = chosen.find((part) => part.spec.list === "fills");
    chosen.push(
      isOther || today.tally.rows === 0 ? history : choose({ history, today, fills, ...found }),
    );
  }
  return chosen;
}

interface Choice extends DayFindings {
  history: Part;
  today: Part;
  /** The chosen fills, which show whether a journal is complete. */
  fills: Part | undefined;
}

/**
 * Chooses between the history and today's list:
 * - The history, if it contains everything in today's list.
 * - Today's list, if it contains everything in the history. The history is then still incomplete. It is kept too,
 *   because its rows already have fees.
 * - Otherwise the list with more rows; for fills, the list with the larger filled quantity. Adds a difference for each
 *   row that the chosen list lacks, and keeps the other list too.
 */
function choose({ history, today, fills, others, differences }: Choice): Part {
  const journalAgrees = history.spec.list === "fund_journal" && fills !== undefined && fills.tally.rows > 0 &&
    checkMarketJournal({ fills, journal: history }).result === "passed";
  const [past, running] = [history.reading("the history", false), today.reading("today's list", false)];
  const options = { isOneReading: true, journalAgrees };
  const missing = [...lossesOf(running, past, options)];
  if (missing.length === 0) return history;
  const onlyInHistory = [...lossesOf(past, running, options)];
  if (onlyInHistory.length === 0) {
    if (history.tally.rows > 0) others.push(history);
    return today;
  }
  const isMore = history.spec.list === "fills"
    // The history merges Hong Kong's fills, so compare quantities instead of rows.
    ? compare(filledOf(today), filledOf(history)) > 0
    : today.tally.rows > history.tally.rows;
  const { day, market, spec: { list } } = history;
  for (const { id: _, ...loss } of isMore ? onlyInHistory : missing) {
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

/** Returns a function that runs at most `most` tasks at a time, in the order of the calls. */
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
