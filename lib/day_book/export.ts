/**
 * Exports trading days: fills with their fees, orders and the fund journal, checked against each other.
 *
 * Each day has its own folder, `<out>/2025-08-15/`, which is either complete or absent. The export reads one day
 * after another and never keeps a whole day in memory. If an export stops for any reason, repeat the same call to
 * continue.
 *
 * A day is final when, among others, all of these are true (`summary.ts` has the whole list):
 * - Every list was read from the broker's history, to an end that the broker confirmed.
 * - Every fill has its total of fees.
 * - The session is over, and the clocks of this machine and of the broker agree.
 * - No check found a difference.
 * - If all lists of a market are empty, another answer of the broker confirms that the day is empty.
 *
 * Any other day is provisional, and the next export reads it again. The export keeps final days without reading them.
 * The days from the last session on are an exception: the broker may book something in the evening, so the export reads
 * them again.
 *
 * A new reading replaces a day only if it contains everything that earlier readings of the day contained. Otherwise
 * the export keeps both readings and lists each missing row.
 *
 * @module
 */
import { isDate } from "../time.ts";
import { builtInCalendars, type Calendars } from "../calendars/mod.ts";
import { askQuoteTime, BrokerClock, describeDifference } from "../client/broker_clock.ts";
import type { Client } from "../client/client.ts";
import { Market } from "../dictionaries/market.ts";
import { InvalidParamsError, type Issue } from "../errors.ts";
import { Evidence } from "./checks/evidence.ts";
import { hasRows, isComplete, type KeptDay, keptDay, summaryIn } from "./folder/kept_day.ts";
import { datesBetween, type MarketDay, marketDay } from "./market_days.ts";
import { checkOwner } from "./folder/owner.ts";
import { type Placed, placeReading } from "./folder/place_reading.ts";
import type { Part } from "./reading/part.ts";
import { type DayReading, readDay } from "./reading/read_day.ts";
import { RebalanceList } from "./reading/rebalance_list.ts";
import { DifferenceFile, KEPT_DIFFERENCES } from "./rows/files.ts";
import { ExportFolder } from "./folder/export_folder.ts";
import { isDone, marketResults, NO_STORE, type Settings, type Summary } from "./folder/summary.ts";
import {
  type DayBookAccount,
  type DayBookEvent,
  dayBookFailure,
  type DayBookFormat,
  type DayBookMarket,
  type DayBookOptions,
  type DayBookResult,
  type DayResult,
  type DayStage,
} from "./types.ts";

const accountNames: readonly DayBookAccount[] = ["securities", "futures"];
const formatNames: readonly DayBookFormat[] = ["csv", "jsonl"];
const NO_STOP = new AbortController().signal;

/**
 * Exports the days of some markets. Resolves to the days that were written or kept, and to the differences that were
 * found.
 *
 * @throws {InvalidParamsError} If an option is invalid. Nothing was read or written.
 * @throws {DayBookError} If the export stopped. The message names the day and the kept days, and says what to do.
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
  const { markets, accounts = accountNames, from, to, out, formats = formatNames, concurrency = 4 } = options;
  const areKnown = <T>(given: readonly T[], names: readonly T[]) =>
    given.length > 0 && given.every((each) => names.includes(each));
  expect("accounts", accounts, areKnown(accounts, accountNames), someOf(accountNames));
  const needsMarkets = accounts.includes("securities");
  expect("markets", markets, !needsMarkets || areKnown(markets, Market.names), someOf(Market.names));
  expect("from", from, isDate(from), 'a date such as "2025-08-15"');
  expect("to", to, isDate(to) && !(isDate(from) && to < from), "a date that is not before `from`");
  expect("out", out, typeof out === "string" && out !== "", "a folder");
  expect("formats", formats, areKnown(formats, formatNames), someOf(formatNames));
  const isCount = Number.isInteger(concurrency) && concurrency > 0;
  expect("concurrency", concurrency, isCount, "a whole number above zero");
  expect("now", typeof options.now, typeof options.now === "function", "a clock");
  const { owner } = options;
  const isName = owner === undefined || (typeof owner === "string" && owner.trim() !== "");
  expect("owner", owner, isName, "a name for the account");
  if (issues.length > 0) throw new InvalidParamsError("export day books", issues);
}

const someOf = (names: readonly string[]) => `some of ${names.map((name) => `"${name}"`).join(", ")}`;

class Export {
  readonly #client: Client;
  readonly #options: DayBookOptions;
  readonly #settings: Settings;
  readonly #signal: AbortSignal;
  readonly #result: DayBookResult;
  readonly #calendars: Calendars;
  readonly #clock: BrokerClock;
  #day: string | undefined;
  #hasAskedClock = false;
  /** Why the folder may belong to another account. */
  #unconfirmedOwner: string | undefined;

  constructor(client: Client, options: DayBookOptions) {
    const { accounts = accountNames, formats = formatNames, wire = false } = options;
    this.#client = client;
    this.#options = options;
    this.#calendars = options.calendars ?? builtInCalendars;
    this.#clock = new BrokerClock(options.now, this.#calendars);
    this.#settings = {
      markets: accounts.includes("securities") ? inOrder(Market.names, options.markets) : [],
      accounts: inOrder(accountNames, accounts),
      formats: inOrder(formatNames, formats),
      wire,
      ...options.rebalanceTrades !== undefined && accounts.includes("securities") &&
        { rebalanceTrades: true },
    };
    this.#signal = options.signal ?? NO_STOP;
    this.#result = {
      out: options.out,
      days: [],
      rows: 0,
      differences: [],
      differenceCount: 0,
      notBegun: [],
      ...this.#settings.markets.length > 0 && options.rebalanceTrades === undefined &&
        { withoutRebalanceTrades: NO_STORE },
      ok: true,
    };
  }

  async run(): Promise<DayBookResult> {
    try {
      this.#signal.throwIfAborted();
      using exportFolder = ExportFolder.open(this.#options.out);
      await this.#run(exportFolder);
    } catch (error) {
      throw dayBookFailure(error, {
        out: this.#options.out,
        day: this.#day,
        kept: this.#result.days.map(({ day }) => day),
        aborted: this.#signal.aborted,
      });
    }
    const { days, differenceCount } = this.#result;
    this.#result.ok = differenceCount === 0 && this.#clock.wrong === undefined &&
      days.every(({ incomplete, beside: disputedReadings }) =>
        incomplete.length === 0 && disputedReadings.length === 0
      );
    this.#report({ type: "done", result: this.#result });
    return this.#result;
  }

  async #run(exportFolder: ExportFolder): Promise<void> {
    const { from, to, out, owner, now } = this.#options;
    const [client, settings, signal] = [this.#client, this.#settings, this.#signal];
    this.#unconfirmedOwner = await checkOwner({
      client,
      exportFolder,
      settings,
      owner,
      from,
      to,
      now: now(),
      calendars: this.#calendars,
      signal,
    });
    const evidence = new Evidence({
      client,
      signal,
      keptWithRows: (market, first, last) => keptWithRows(exportFolder, market, { from: first, to: last }),
    });
    const dates = datesBetween(from, to);
    this.#report({ type: "started", days: dates.length, markets: settings.markets, out });
    for (const [index, day] of dates.entries()) {
      this.#day = day;
      signal.throwIfAborted();
      const place = { day, index, days: dates.length };
      this.#report({ type: "day-started", ...place });
      const result = await this.#exportDay(exportFolder, day, evidence);
      if (result !== undefined) {
        this.#result.days.push(result);
        this.#result.rows += Object.values(result.rows).reduce((sum, rows) => sum + rows, 0);
      }
      this.#report({ type: "day-done", ...place, result });
    }
    this.#day = undefined;
  }

  async #exportDay(
    exportFolder: ExportFolder,
    day: string,
    evidence: Evidence,
  ): Promise<DayResult | undefined> {
    const markets = this.#marketDays(day);
    if (!markets.some(({ hasBegun }) => hasBegun)) {
      this.#result.notBegun.push(day);
      return undefined;
    }
    const hasTrades = (await this.#rebalance(day, []) ?? { rows: 0 }).rows > 0;
    const keptDayIn = (name: string) => keptDay(exportFolder.path(name), this.#settings, { hasTrades });
    const before = await keptDayIn(day);
    const disputedReadings: KeptDay[] = [];
    for (const name of exportFolder.disputed(day)) {
      const reading = await keptDayIn(name);
      if (reading !== undefined) disputedReadings.push(reading);
    }
    const isRecent = markets.some((market) => market.isRecent);
    const isKept = before !== undefined && isComplete(before) && isDone(before.summary) &&
      disputedReadings.length === 0;
    if (isKept && !isRecent && !this.#options.refresh) return this.#keep(before, exportFolder);
    before?.throwIfNarrower();
    try {
      return await this.#readAndPlace(exportFolder, { day, markets, before, disputedReadings, evidence });
    } catch (error) {
      try {
        exportFolder.discard(day);
      } catch {
        // The next export removes it; report the first error.
      }
      throw error;
    }
  }

  #marketDays(day: string): MarketDay[] {
    const { markets, accounts } = this.#settings;
    const now = this.#options.now();
    const all = [...markets, ...accounts.includes("futures") ? ["futures" as const] : []];
    return all.map((market) => marketDay(this.#calendars, market, day, now));
  }

  /**
   * Reads a day and places the reading in the folder. Reads the day again if a market's date changed during the
   * reading, because today's lists have then changed too.
   */
  async #readAndPlace(
    exportFolder: ExportFolder,
    options: DayDetails & { markets: MarketDay[] },
  ): Promise<DayResult | undefined> {
    const { day, markets, ...known } = options;
    let [folder, reading] = await this.#read(exportFolder, day, markets);
    let at = markets;
    const later = this.#marketDays(day);
    if (later.some(({ runningDay }, index) => runningDay !== markets[index]?.runningDay)) {
      reading.contradictions.close();
      [folder, reading] = await this.#read(exportFolder, day, at = later);
    }
    this.#onStage(day)("read");
    await this.#askClock();
    this.#reportClock();
    const rebalance = await this.#rebalance(day, reading.parts);
    const place = await placeReading({
      rebalance,
      exactCsv: this.#options.exactCsv ?? false,
      exportFolder,
      folder,
      day,
      markets: at,
      settings: this.#settings,
      clock: this.#clock,
      unconfirmedOwner: this.#unconfirmedOwner,
      ...reading,
      ...known,
      hasSecret: this.#options.hasSecret ?? (() => false),
      onStage: this.#onStage(day),
    });
    return place === undefined ? undefined : this.#dayResult(place, exportFolder);
  }

  /**
   * Reads the rebalancing trades of a day. If `parts` is empty, the trades lack the data from fills; use only their
   * number.
   */
  async #rebalance(day: string, parts: readonly Part[]): Promise<RebalanceList | undefined> {
    const { rebalanceTrades: source } = this.#options;
    const { markets, rebalanceTrades } = this.#settings;
    return source === undefined || !rebalanceTrades
      ? undefined
      : await RebalanceList.read({ source, day, markets, parts });
  }

  async #read(
    exportFolder: ExportFolder,
    day: string,
    markets: MarketDay[],
  ): Promise<[string, DayReading & { contradictions: DifferenceFile }]> {
    const folder = exportFolder.begin(day);
    this.#onStage(day)("begun");
    const contradictions = new DifferenceFile(`${folder}/contradictions.part`);
    const { formats, wire } = this.#settings;
    try {
      const reading = await readDay({
        client: this.#client,
        day,
        markets,
        folder,
        formats,
        wire,
        exactCsv: this.#options.exactCsv ?? false,
        concurrency: this.#options.concurrency ?? 4,
        signal: this.#signal,
        onBrokerTime: this.#clock.take,
        differences: contradictions,
        onRows: (rows) => this.#report({ type: "rows", day, ...rows }),
      });
      return [folder, { ...reading, contradictions }];
    } catch (error) {
      contradictions.close();
      throw error;
    }
  }

  #keep({ summary, differences }: KeptDay, exportFolder: ExportFolder): DayResult {
    return this.#dayResult(
      { summary, differences, count: summary.differences, action: "kept" },
      exportFolder,
    );
  }

  #dayResult({ summary, differences, count, action }: Placed, exportFolder: ExportFolder): DayResult {
    const { day, status, rows, incomplete, provisionalBecause } = summary;
    const disputedReadings = exportFolder.disputed(day).map((name) => exportFolder.path(name));
    const room = KEPT_DIFFERENCES - this.#result.differences.length;
    this.#result.differences.push(...differences.slice(0, room));
    this.#result.differenceCount += count;
    const contradicted = disputedReadings.map((path) => `${path} contradicts this day`);
    return {
      day,
      // While another reading contradicts a day, the day is not final, even if its summary says `final`.
      status: disputedReadings.length === 0 ? status : "provisional",
      action,
      path: exportFolder.path(day),
      beside: disputedReadings,
      rows,
      markets: markets(summary, disputedReadings.length > 0),
      differences: count,
      provisionalBecause: [...provisionalBecause, ...contradicted],
      incomplete,
      ...summary.rebalance !== undefined && { rebalance: summary.rebalance },
    };
  }

  /** Requests one quote if no answer so far contained the broker's time. */
  async #askClock(): Promise<void> {
    if (this.#hasAskedClock || this.#clock.last !== undefined) return;
    this.#hasAskedClock = true;
    const time = await askQuoteTime(this.#client, this.#signal);
    if (time !== undefined) this.#clock.takeQuote(time);
    if (!this.#clock.isUnknown) return;
    this.#result.brokerClock = "unknown";
    const message = "the broker's time is unknown: no day that ended within the last week becomes final";
    this.#report({ type: "clock-unknown", message });
  }

  #reportClock(): void {
    const { wrong } = this.#clock;
    if (wrong === undefined) return;
    const isNew = this.#result.clockDifferenceMs === undefined;
    this.#result.clockDifferenceMs = wrong.ms;
    if (!isNew) return;
    const message = `${
      describeDifference(wrong)
    } (${wrong.source}): no day that this export reads becomes final`;
    this.#report({ type: "clock-differs", differenceMs: wrong.ms, message });
  }

  #onStage(day: string): (stage: DayStage) => void {
    return (stage) => this.#report({ type: "stage", day, stage });
  }

  #report(event: DayBookEvent): void {
    this.#options.onProgress?.(event);
  }
}

/**
 * Returns the markets of a summary. A market with differences is provisional if another reading contradicts
 * the day.
 */
function markets(summary: Summary, isContradicted: boolean): DayResult["markets"] {
  const results = marketResults(summary);
  for (const each of Object.values(results)) {
    if (isContradicted && each.differences > 0) each.status = "provisional";
  }
  return results;
}

/** Details of a day that are known before the export reads it. */
interface DayDetails {
  day: string;
  before: KeptDay | undefined;
  disputedReadings: readonly KeptDay[];
  evidence: Evidence;
}

/**
 * Among the days of a range, returns the first one whose kept folder has rows of a market; `undefined` if there is
 * none.
 */
function keptWithRows(
  exportFolder: ExportFolder,
  market: DayBookMarket,
  { from, to }: { from: string; to: string },
): string | undefined {
  return exportFolder.days().filter((day) => day >= from && day <= to).find((day) => {
    const summary = summaryIn(exportFolder.path(day));
    return summary !== undefined && hasRows(summary, market);
  });
}

/**
 * Returns the given names in table order, each once, so that the caller's order has no effect.
 */
function inOrder<T>(names: readonly T[], given: readonly T[]): T[] {
  return names.filter((name) => given.includes(name));
}
