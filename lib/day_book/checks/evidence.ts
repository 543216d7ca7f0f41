/**
 * Finds evidence that a market without any row really had no trades or entries on a day.
 *
 * With a broken gateway, a day's lists are empty too. So the export sends other queries that cover the day: the lists
 * from the day before to the day after, then those of the surrounding weeks. If these longer lists show rows of other
 * days, the lists work and this day is empty. If the longer lists are empty too, the account may have few trades. Then
 * two conditions must hold: the query for the account's funds returns amounts, and no day of those weeks that was
 * exported earlier has rows.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import { isDecimal } from "../../decimal.ts";
import { isRefusal, ProtocolError } from "../../errors.ts";
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
  /**
   * Among the days of a range, returns the first one that was exported earlier and has rows of the market; `undefined`
   * if there is none.
   */
  keptWithRows: (market: DayBookMarket, from: string, to: string) => string | undefined;
}

interface Range {
  from: string;
  to: string;
}

const WEEK = 7;
const PASSED: ListCheck = {
  result: "passed",
  detail: "another answer of the broker confirms that the day is empty",
  findings: [],
};
const notCheckable = (detail: string): ListCheck => ({ result: "not-checkable", detail, findings: [] });

/** Finds evidence about empty days. Queries each range of days once, and the funds of each market once. */
export class Evidence {
  readonly #options: EvidenceOptions;
  readonly #ranges = new Map<string, Promise<RangeRows>>();
  readonly #funds = new Map<DayBookMarket, Promise<string | undefined>>();

  constructor(options: EvidenceOptions) {
    this.#options = options;
  }

  /**
   * Resolves to the check of a day with empty lists: passed if something confirms that the day is empty. If no answer
   * of the day had a list (`isLeftOut`), only rows of other days can confirm that.
   */
  readonly confirmEmpty = async (
    { market, day, runningDay }: MarketDay,
    isLeftOut: boolean,
  ): Promise<ListCheck> => {
    const range = weeksAround(day, runningDay);
    // Usually a list with rows is enough to show that the lists work. If no answer of the day had a list, read every
    // row of every list, because any row may belong to the day itself.
    const all = isLeftOut;
    const near = await this.#readRange(market, daysAround(day, runningDay), { most: Infinity, all });
    const result = near.resultFor(day) ??
      (await this.#readRange(market, range, { most: isLeftOut ? Infinity : 1, all })).resultFor(day);
    if (result !== undefined) return result;
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

  /**
   * Reads the lists of a range. Stops at the first list with rows unless `all` is set. Reads each range only once.
   *
   * @param most After this number of rows, no further page of a list is read.
   */
  #readRange(
    market: DayBookMarket,
    range: Range,
    { most, all }: { most: number; all: boolean },
  ): Promise<RangeRows> {
    return remembered(this.#ranges, `${market} ${range.from} ${range.to} ${most} ${all}`, async () => {
      const found = new RangeRows(range);
      for (const spec of listsOf(market)) {
        await this.#read(market, spec, { range, most, found });
        if (found.rows > 0 && !all) break;
      }
      return found;
    });
  }

  async #read(
    market: DayBookMarket,
    { list, history, dated }: ListSpec,
    { range, most, found }: { range: Range; most: number; found: RangeRows },
  ): Promise<void> {
    const { client, signal } = this.#options;
    const source = sourceOf(client, history, { market, ...range }, { signal });
    try {
      for await (const { rows } of source.pages) {
        for (const row of rows) {
          const date = dayAtStart(row[dated]);
          if (date === undefined) return void found.reasons.push(`a row of ${list} has no date`);
          found.add(list, date);
        }
        if (found.rows >= most) return;
      }
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return void found.reasons.push(error.message);
    }
    const why = source.unproven();
    if (why !== undefined) found.reasons.push(`${list} may be incomplete: ${why}`);
  }

  /** Resolves to the reason why the funds do not prove that the broker answers; `undefined` if they prove it. */
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

/** The rows of each day in the lists of a range. */
class RangeRows {
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
    const known = this.#days.get(day);
    if (known !== undefined && known.list !== list) return; // the first list with rows of the day is named
    this.#days.set(day, { list, rows: (known?.rows ?? 0) + 1 });
  }

  /**
   * Returns the result of these lists for a day whose own lists are empty; `undefined` if these lists are empty too.
   */
  resultFor(day: string): ListCheck | undefined {
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
 * Returns a range of three weeks, which start on Thursdays: the week of the day, the week before and the week after.
 * The range ends on the current day at the latest.
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
