/**
 * Whether a market without any row had nothing on a day, or does not answer.
 *
 * A broken gateway and a quiet day look the same in the lists of the day. So other questions are asked, whose answers
 * cover the day too: the lists from the day before to the day after, and then those of the weeks around. When they
 * show other days, the broker answers, and has nothing for this one. When they are empty as well, the account may be a
 * quiet one: its funds must answer with amounts, and no day that is kept in the folder may say that it traded in those
 * weeks.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { isRefusal } from "../client/page_walk.ts";
import { isDecimal } from "../decimal.ts";
import { ProtocolError } from "../errors.ts";
import { LIST_LEFT_OUT } from "../operations/wire_rows.ts";
import type { ListCheck } from "./day_checks.ts";
import { listsOf, type ListSpec, sourceOf } from "./lists.ts";
import type { MarketDay } from "./market_days.ts";
import { dayAtStart } from "./tally.ts";
import type { DayBookMarket } from "./types.ts";

/** What the question is asked with. */
export interface EvidenceOptions {
  client: Client;
  signal: AbortSignal;
  /** Returns the first day of a range that is kept with rows of a market. */
  keptWithRows: (market: DayBookMarket, from: string, to: string) => string | undefined;
}

interface Range {
  from: string;
  to: string;
}

const WEEK = 7;
const PASSED: ListCheck = {
  result: "passed",
  detail: "something besides the empty lists of the day answered, and shows nothing of it",
  findings: [],
};
const notCheckable = (detail: string): ListCheck => ({ result: "not-checkable", detail, findings: [] });

/** Asks the broker once for each stretch of weeks, and once for the funds. */
export class Evidence {
  readonly #options: EvidenceOptions;
  readonly #shown = new Map<string, Promise<Shown>>();
  readonly #funds = new Map<DayBookMarket, Promise<string | undefined>>();

  constructor(options: EvidenceOptions) {
    this.#options = options;
  }

  /**
   * Resolves to whether anything confirms that a market had nothing on a day on which its lists are empty. When not one
   * answer of the day had a list, only rows of other days show that the lists answer.
   */
  readonly whyEmpty = async (
    { market, day, runningDay }: MarketDay,
    isLeftOut: boolean,
  ): Promise<ListCheck> => {
    const near = await this.#whatShows(market, daysAround(day, runningDay));
    const range = weeksAround(day, runningDay);
    // One row is enough in the weeks: it shows that the lists answer.
    const most = isLeftOut ? Infinity : 1;
    const said = near.said(day) ?? (await this.#whatShows(market, range, most)).said(day);
    if (said !== undefined) return said;
    const kept = this.#options.keptWithRows(market, range.from, range.to);
    if (kept !== undefined) {
      return notCheckable(
        `the lists from ${range.from} to ${range.to} are empty too, although ${kept} has rows here`,
      );
    }
    if (isLeftOut) {
      return notCheckable(`no list from ${range.from} to ${range.to} has a row: ${LIST_LEFT_OUT}`);
    }
    const why = await remembered(this.#funds, market, () => this.#whyNoFunds(market));
    return why === undefined ? PASSED : notCheckable(why);
  };

  /** Reads the lists of some days until one of them shows rows; each once for all who ask. */
  #whatShows(market: DayBookMarket, range: Range, most = Infinity): Promise<Shown> {
    return remembered(this.#shown, `${market} ${range.from} ${range.to} ${most}`, async () => {
      const shown = new Shown(range);
      for (const spec of listsOf(market)) {
        await this.#read(market, spec, { range, most, shown });
        if (shown.rows > 0) break;
      }
      return shown;
    });
  }

  async #read(
    market: DayBookMarket,
    { list, history, dated }: ListSpec,
    { range, most, shown }: { range: Range; most: number; shown: Shown },
  ): Promise<void> {
    const { client, signal } = this.#options;
    const source = sourceOf(client, history, { market, ...range }, { signal });
    try {
      for await (const { rows } of source.pages) {
        for (const row of rows) {
          const date = dayAtStart(row[dated]);
          if (date === undefined) return void shown.reasons.push(`a row of ${list} does not tell its day`);
          shown.add(list, date);
        }
        if (shown.rows >= most) return;
      }
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return void shown.reasons.push(error.message);
    }
    const why = source.unproven();
    if (why !== undefined) shown.reasons.push(`${list} may be cut: ${why}`);
  }

  /** Resolves to why the funds do not show that the account answers; `undefined` when they do. */
  async #whyNoFunds(market: DayBookMarket): Promise<string | undefined> {
    const { client, signal } = this.#options;
    try {
      const funds = market === "futures"
        ? (await client.futures.funds({}, { signal })).funds ?? {}
        : await client.account.funds({ market }, { signal });
      return Object.values(funds).some(isDecimal) ? undefined : "the funds came without any amount";
    } catch (error) {
      if (isRefusal(error) || error instanceof ProtocolError) {
        return `the funds could not be read either: ${error.message}`;
      }
      throw error;
    }
  }
}

/** What the lists of some days show. */
class Shown {
  rows = 0;
  /** Why nobody can tell. */
  readonly reasons: string[] = [];
  readonly #range: Range;
  readonly #days = new Map<string, { list: string; rows: number }>();

  constructor(range: Range) {
    this.#range = range;
  }

  add(list: string, day: string): void {
    this.rows++;
    this.#days.set(day, { list, rows: (this.#days.get(day)?.rows ?? 0) + 1 });
  }

  /** Returns what these lists show of a day whose own lists are empty; `undefined` when these are empty too. */
  said(day: string): ListCheck | undefined {
    const { from, to } = this.#range;
    const found = this.#days.get(day);
    if (found !== undefined) {
      const [expected, actual] = [`${found.rows} rows`, "no rows"];
      const message =
        `${found.list} asked for ${from} to ${to} show ${expected} of this day, and asked for the day ` +
        "show none";
      return {
        result: "differs",
        detail: message,
        findings: [{ check: "empty", expected, actual, message }],
      };
    }
    if (this.reasons.length > 0) {
      return notCheckable(`the lists around the day do not tell: ${this.reasons.join("; ")}`);
    }
    return this.rows > 0 ? PASSED : undefined;
  }
}

function daysAround(day: string, runningDay: string): Range {
  const date = Temporal.PlainDate.from(day);
  const after = date.add({ days: 1 }).toString();
  return { from: date.subtract({ days: 1 }).toString(), to: after < runningDay ? after : runningDay };
}

/** The week of a day, counted from any Thursday, with a week before and one behind; no later than the running day. */
function weeksAround(day: string, runningDay: string): Range {
  const date = Temporal.PlainDate.from(day);
  const intoWeek = date.since("1970-01-01").days % WEEK;
  const from = date.subtract({ days: intoWeek + WEEK }).toString();
  const to = date.add({ days: 2 * WEEK - 1 - intoWeek }).toString();
  return { from, to: to < runningDay ? to : runningDay };
}

function remembered<K, V>(known: Map<K, Promise<V>>, key: K, ask: () => Promise<V>): Promise<V> {
  let value = known.get(key);
  if (value === undefined) known.set(key, value = ask());
  return value;
}
