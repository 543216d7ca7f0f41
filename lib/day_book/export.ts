/**
 * Exports trading days: fills with their fees, orders and the fund journal, checked against each other.
 *
 * Each day has a folder of its own, `<out>/2025-08-15/`, which is there whole or not at all. Days are read one
 * after the other and never held in memory; a run that stops, however it stops, is repeated with the same call.
 *
 * A day is final when every market's rows come from the broker's history, every fill has its total of fees, the
 * session is over and everything adds up; without fills, once the market's next date has begun. Anything else is
 * provisional, and the next export writes it anew. Final days are kept as they are, except the last session's: the
 * broker may still book something on its evening, so it is read again and replaced when it has changed.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { isDate } from "../calendars/check_data.ts";
import { Market } from "../dictionaries/market.ts";
import {
  BusyError,
  DisplacedError,
  InvalidParamsError,
  type Issue,
  LoginExpiredError,
  RejectedError,
  UnmappedError,
} from "../errors.ts";
import { dayBookFailure } from "./failure.ts";
import { datesBetween, type MarketDay, marketDay, mayTrade } from "./market_days.ts";
import { KEPT_DIFFERENCES } from "./part.ts";
import { readDay } from "./read_day.ts";
import { type KeptDay, keptDay } from "./kept_day.ts";
import { Shelf } from "./shelf.ts";
import { isSettled, marketResults, type Settings } from "./summary.ts";
import type {
  DayBookEvent,
  DayBookFormat,
  DayBookOptions,
  DayBookResult,
  DayResult,
  DayStage,
} from "./types.ts";
import { inOrder, writeDay } from "./write_day.ts";

const formatNames: readonly DayBookFormat[] = ["csv", "jsonl"];
const NO_STOP = new AbortController().signal;

/**
 * Exports the days of some markets and resolves to what was done.
 *
 * @throws {InvalidParamsError} When an option is wrong; nothing was read or written.
 * @throws {DayBookError} When it stopped; it names the day, the days that are kept, and what to do.
 * @example
 * ```ts ignore
 * import { connect } from "hsgate";
 * import { exportDayBook } from "hsgate/day-book";
 *
 * await using client = await connect({ gateway: "http://127.0.0.1:11111" });
 * const book = await exportDayBook(client, {
 *   markets: ["hk", "us"],
 *   from: "2025-08-11",
 *   to: "2025-08-15",
 *   out: "day-books",
 *   now: Date.now,
 * });
 * if (!book.ok) console.error(book.differences);
 * ```
 */
export async function exportDayBook(client: Client, options: DayBookOptions): Promise<DayBookResult> {
  checkOptions(options);
  return await new Export(client, options).run();
}

function checkOptions(options: DayBookOptions): void {
  const issues: Issue[] = [];
  const expect = (path: string, value: unknown, fits: boolean, expected: string) =>
    void (fits || issues.push({ path: [path], value, expected }));
  const { markets, from, to, out, formats = formatNames, concurrency = 4 } = options;
  const names = Market.names.map((name) => `"${name}"`).join(", ");
  expect(
    "markets",
    markets,
    markets.length > 0 && markets.every((each) => Market.has(each)),
    `some of ${names}`,
  );
  expect("from", from, isDate(from), 'a date such as "2025-08-15"');
  expect("to", to, isDate(to) && !(isDate(from) && to < from), "a date that is not before `from`");
  expect("out", out, typeof out === "string" && out !== "", "a folder");
  const known = formats.length > 0 && formats.every((each) => formatNames.includes(each));
  expect("formats", formats, known, '"csv", "jsonl" or both');
  expect(
    "concurrency",
    concurrency,
    Number.isInteger(concurrency) && concurrency > 0,
    "a whole number above zero",
  );
  expect("now", typeof options.now, typeof options.now === "function", "a clock");
  if (issues.length > 0) throw new InvalidParamsError("export day books", issues);
}

class Export {
  readonly #client: Client;
  readonly #options: DayBookOptions;
  readonly #markets: Market[];
  readonly #formats: DayBookFormat[];
  readonly #signal: AbortSignal;
  readonly #result: DayBookResult;
  #day: string | undefined;

  constructor(client: Client, options: DayBookOptions) {
    this.#client = client;
    this.#options = options;
    this.#markets = inOrder(Market.names, options.markets);
    this.#formats = formatNames.filter((each) => (options.formats ?? formatNames).includes(each));
    this.#signal = options.signal ?? NO_STOP;
    this.#result = {
      out: options.out,
      days: [],
      rows: 0,
      differences: [],
      differenceCount: 0,
      notBegun: [],
      ok: true,
    };
  }

  async run(): Promise<DayBookResult> {
    try {
      this.#signal.throwIfAborted();
      using shelf = Shelf.open(this.#options.out);
      await this.#run(shelf);
    } catch (error) {
      throw dayBookFailure(error, {
        out: this.#options.out,
        day: this.#day,
        kept: this.#result.days.map(({ day }) => day),
        aborted: this.#signal.aborted,
      });
    }
    const { days, differenceCount } = this.#result;
    this.#result.ok = differenceCount === 0 && days.every(({ incomplete }) => incomplete.length === 0);
    this.#tell({ type: "done", result: this.#result });
    return this.#result;
  }

  async #run(shelf: Shelf): Promise<void> {
    const { from, to, out } = this.#options;
    const settings: Settings = {
      markets: this.#markets,
      formats: this.#formats,
      futures: await this.#hasFutures(to),
    };
    const dates = datesBetween(from, to);
    this.#tell({ type: "started", days: dates.length, markets: this.#markets, out });
    for (const [index, day] of dates.entries()) {
      this.#day = day;
      this.#signal.throwIfAborted();
      const place = { day, index, days: dates.length };
      this.#tell({ type: "day-started", ...place });
      const result = await this.#exportDay(shelf, day, settings);
      if (result !== undefined) {
        this.#result.days.push(result);
        this.#result.rows += Object.values(result.rows).reduce((sum, rows) => sum + rows, 0);
      }
      this.#tell({ type: "day-done", ...place, result });
    }
    this.#day = undefined;
  }

  async #exportDay(shelf: Shelf, day: string, settings: Settings): Promise<DayResult | undefined> {
    const now = this.#options.now();
    const accounts = settings.futures ? [...settings.markets, "futures" as const] : settings.markets;
    const markets = accounts.map((market) => marketDay(market, day, now));
    if (!markets.some(({ hasBegun }) => hasBegun)) {
      this.#result.notBegun.push(day);
      return undefined;
    }
    const before = keptDay(shelf.path(day), settings);
    const isRecent = markets.some((market) => market.isRecent);
    if (before?.isWhole && isSettled(before.summary) && !isRecent && !this.#options.refresh) {
      return this.#dayResult(before, shelf.path(day), "kept");
    }
    before?.refuseNarrower();
    try {
      return await this.#replaceDay(shelf, { day, markets, settings, before });
    } catch (error) {
      try {
        shelf.discard(day);
      } catch {
        // the next export removes it; what went wrong first is what counts
      }
      throw error;
    }
  }

  async #replaceDay(
    shelf: Shelf,
    { day, markets, settings, before }: {
      day: string;
      markets: MarketDay[];
      settings: Settings;
      before: KeptDay | undefined;
    },
  ): Promise<DayResult | undefined> {
    const onStage = (stage: DayStage) => this.#tell({ type: "stage", day, stage });
    const folder = shelf.begin(day);
    onStage("begun");
    const parts = await readDay({
      client: this.#client,
      day,
      markets,
      folder,
      formats: this.#formats,
      concurrency: this.#options.concurrency ?? 4,
      signal: this.#signal,
      onRows: (rows) => this.#tell({ type: "rows", day, ...rows }),
    });
    onStage("read");
    const path = shelf.path(day);
    if (before === undefined && !markets.some(mayTrade) && parts.every(({ tally }) => tally.rows === 0)) {
      shelf.discard(day);
      return undefined;
    }
    const written = await writeDay({ day, markets, parts, folder, settings });
    onStage("sealed");
    if (before?.isWhole && before.text === written.summaryText) {
      shelf.discard(day);
      return this.#dayResult(written, path, "unchanged");
    }
    if (
      before?.isWhole && before.isSame && isSettled(before.summary) &&
      written.summary.status !== "final"
    ) {
      shelf.discard(day);
      const { differences, checks } = written.summary;
      const summary = { ...before.summary, differences, checks };
      return this.#dayResult({ summary, differences: written.differences }, path, "kept-final");
    }
    shelf.publish(day, onStage);
    return this.#dayResult(written, path, before === undefined ? "written" : "replaced");
  }

  #dayResult(
    { summary, differences }: Pick<KeptDay, "summary" | "differences">,
    path: string,
    action: DayResult["action"],
  ): DayResult {
    const { day, status, rows, incomplete } = summary;
    const room = KEPT_DIFFERENCES - this.#result.differences.length;
    this.#result.differences.push(...differences.slice(0, room));
    this.#result.differenceCount += summary.differences;
    return {
      day,
      status,
      action,
      path,
      rows,
      markets: marketResults(summary),
      differences: summary.differences,
      provisionalBecause: summary.provisionalBecause,
      incomplete,
    };
  }

  /** An account without futures is refused their lists; any other trouble is one. */
  async #hasFutures(day: string): Promise<boolean> {
    const { futures = "auto" } = this.#options;
    if (futures !== "auto") return futures;
    const paged = this.#client.futures.fillsHistory({ from: day, to: day, limit: 1 }, {
      signal: this.#signal,
    });
    try {
      for await (const _ of paged.pages()) break;
      return true;
    } catch (error) {
      const passing = [LoginExpiredError, DisplacedError, BusyError].some((kind) => error instanceof kind);
      if (!(error instanceof UnmappedError || (error instanceof RejectedError && !passing))) throw error;
      this.#result.futuresRefused = error.message;
      return false;
    }
  }

  #tell(event: DayBookEvent): void {
    this.#options.onProgress?.(event);
  }
}
