/**
 * Checks whether a market without any row had nothing on a day, or whether its lists just do not work.
 *
 * A broken gateway and a quiet day look the same in the day's lists. So the export sends other queries that
 * cover the day: the lists from the day before to the day after, then those of the surrounding weeks. If they
 * show other days, the lists work and this day is empty. If they are empty as well, the account may be a
 * quiet one. In that case the query for the account's funds must return amounts, and no kept day of those
 * weeks may have rows.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import { isRefusal } from "../../client/page_walk.ts";
import { isDecimal } from "../../decimal.ts";
import { ProtocolError } from "../../errors.ts";
import { LIST_LEFT_OUT } from "../../operations/wire_rows.ts";
import type { ListCheck } from "./day_checks.ts";
import { listsOf, type ListSpec, sourceOf } from "../reading/lists.ts";
import type { MarketDay } from "../market_days.ts";
import { dayAtStart } from "./tally.ts";
import type { DayBookMarket } from "../types.ts";

/** Options for {@linkcode Evidence}. */
interface EvidenceOptions {
  client: Client;
  signal: AbortSignal;
  /** Returns the first day of a range that is kept with rows of a market, or `undefined`. */
  keptWithRows: (market: DayBookMarket, from: string, to: string) => string | undefined;
}

interface Range {
  from: string;
  to: string;
}

const WEEK = 7;
const PASSED: ListCheck = {
  result: "passed",
  detail: "an answer besides the day's empty lists covers the day and shows nothing on it",
  findings: [],
};
const notCheckable = (detail: string): ListCheck => ({ result: "not-checkable", detail, findings: [] });

/** Looks for evidence about empty days. Queries each range of weeks once, and the funds once. */
export class Evidence {
  readonly #options: EvidenceOptions;
  readonly #shown = new Map<string, Promise<Shown>>();
  readonly #funds = new Map<DayBookMarket, Promise<string | undefined>>();

  constructor(options: EvidenceOptions) {
    this.#options = options;
  }

  /**
   * Resolves to whether anything confirms that a market had nothing on a day with empty lists. If no answer
   * of the day had a list (`isLeftOut`), only rows of other days show that the lists work.
   */
  readonly confirmEmpty = async (
    { market, day, runningDay }: MarketDay,
    isLeftOut: boolean,
  ): Promise<ListCheck> => {
    const near = await this.#whatShows(market, daysAround(day, runningDay));
    const range = weeksAround(day, runningDay);
    // For the weeks one row is enough: it shows that the lists work.
    const most = isLeftOut ? Infinity : 1;
    const said = near.said(day) ?? (await this.#whatShows(market, range, most)).said(day);
    if (said !== undefined) return said;
    const kept = this.#options.keptWithRows(market, range.from, range.to);
    if (kept !== undefined) {
      return notCheckable(
        `the lists from ${range.from} to ${range.to} are empty too, but the kept day ${kept} has rows`,
      );
    }
    if (isLeftOut) {
      return notCheckable(`no list from ${range.from} to ${range.to} has a row: ${LIST_LEFT_OUT}`);
    }
    const why = await remembered(this.#funds, market, () => this.#whyNoFunds(market));
    return why === undefined ? PASSED : notCheckable(why);
  };

  /** Reads the lists of a range until one of them shows rows. Reads each range only once. */
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
          if (date === undefined) return void shown.reasons.push(`a row of ${list} has no date`);
          shown.add(list, date);
        }
        if (shown.rows >= most) return;
      }
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return void shown.reasons.push(error.message);
    }
    const why = source.unproven();
    if (why !== undefined) shown.reasons.push(`${list} may be incomplete: ${why}`);
  }

  /** Resolves to why the funds are no proof that the account answers; `undefined` if they are. */
  async #whyNoFunds(market: DayBookMarket): Promise<string | undefined> {
    const { client, signal } = this.#options;
    try {
      const funds = market === "futures"
        ? (await client.futures.funds({}, { signal })).funds ?? {}
        : await client.account.funds({ market }, { signal });
      return Object.values(funds).some(isDecimal) ? undefined : "the answer to the funds query has no amount";
    } catch (error) {
      if (isRefusal(error) || error instanceof ProtocolError) {
        return `the funds could not be read either: ${error.message}`;
      }
      throw error;
    }
  }
}

/** Rows by day that the lists of a range show. */
class Shown {
  rows = 0;
  /** Why the lists prove nothing. */
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

  /**
   * Returns what these lists show about a day whose own lists are empty; `undefined` if these are empty too.
   */
  said(day: string): ListCheck | undefined {
    const { from, to } = this.#range;
    const found = this.#days.get(day);
    if (found !== undefined) {
      const [expected, actual] = [`${found.rows} rows`, "no rows"];
      const message =
        `${found.list} from ${from} to ${to} show ${expected} of this day, but the query for the day ` +
        "itself shows none";
      return {
        result: "differs",
        detail: message,
        findings: [{ check: "empty", expected, actual, message }],
      };
    }
    if (this.reasons.length > 0) {
      return notCheckable(`the lists around the day prove nothing: ${this.reasons.join("; ")}`);
    }
    return this.rows > 0 ? PASSED : undefined;
  }
}

function daysAround(day: string, runningDay: string): Range {
  const date = Temporal.PlainDate.from(day);
  const after = date.add({ days: 1 }).toString();
  return { from: date.subtract({ days: 1 }).toString(), to: after < runningDay ? after : runningDay };
}

/**
 * Returns three weeks, which start on Thursdays: the one with the day, the one before and the one after. The
 * range ends on the running day at the latest.
 */
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
