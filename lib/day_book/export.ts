/**
 * Exports trading days: fills with their fees, orders and the fund journal, checked against each other.
 *
 * Each day has a folder of its own, `<out>/2025-08-15/`, which is there whole or not at all. Days are read one
 * after the other and never held in memory; a run that stops, however it stops, is repeated with the same call.
 *
 * A day is final when every list was read to its proven end from the broker's history, every fill has its total of
 * fees, the session is over and everything adds up; a market without any row needs something
 * besides its lists that confirms it, and the clocks of this machine and of the broker must agree. Anything else is provisional, and the next export reads it again. Final days are kept as they are, except
 * the last session's: the broker may still book something on its evening, so it is read again.
 *
 * A reading replaces a day only when it has everything that was read of the day before. Otherwise both stay, the
 * day and the new reading beside it, and each row that is missing is named.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { askQuoteTime, BrokerClock, describeDifference } from "../client/broker_clock.ts";
import { isDate } from "../calendars/check_data.ts";
import { Market } from "../dictionaries/market.ts";
import { InvalidParamsError, type Issue } from "../errors.ts";
import { DifferenceFile, KEPT_DIFFERENCES } from "./differences.ts";
import { Evidence } from "./evidence.ts";
import { dayBookFailure } from "./failure.ts";
import { hasRows, isWhole, type KeptDay, keptDay, summaryIn } from "./kept_day.ts";
import { datesBetween, type MarketDay, marketDay } from "./market_days.ts";
import { checkOwner } from "./owner.ts";
import { type Placed, placeReading } from "./place_reading.ts";
import { type DayReading, readDay } from "./read_day.ts";
import { Shelf } from "./shelf.ts";
import { isSettled, marketResults, type Settings, type Summary } from "./summary.ts";
import type {
  DayBookAccount,
  DayBookEvent,
  DayBookFormat,
  DayBookMarket,
  DayBookOptions,
  DayBookResult,
  DayResult,
  DayStage,
} from "./types.ts";

const accountNames: readonly DayBookAccount[] = ["securities", "futures"];
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
  const { markets, accounts = accountNames, from, to, out, formats = formatNames, concurrency = 4 } = options;
  const known = <T>(given: readonly T[], names: readonly T[]) =>
    given.length > 0 && given.every((each) => names.includes(each));
  expect("accounts", accounts, known(accounts, accountNames), someOf(accountNames));
  const needsMarkets = accounts.includes("securities");
  expect("markets", markets, !needsMarkets || known(markets, Market.names), someOf(Market.names));
  expect("from", from, isDate(from), 'a date such as "2025-08-15"');
  expect("to", to, isDate(to) && !(isDate(from) && to < from), "a date that is not before `from`");
  expect("out", out, typeof out === "string" && out !== "", "a folder");
  expect("formats", formats, known(formats, formatNames), someOf(formatNames));
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
  readonly #clock: BrokerClock;
  #day: string | undefined;
  #hasAskedClock = false;
  /** Why the account may not be the folder's. */
  #doubt: string | undefined;

  constructor(client: Client, options: DayBookOptions) {
    const { accounts = accountNames, formats = formatNames, wire = false } = options;
    this.#client = client;
    this.#options = options;
    this.#clock = new BrokerClock(options.now);
    this.#settings = {
      markets: accounts.includes("securities") ? inOrder(Market.names, options.markets) : [],
      accounts: inOrder(accountNames, accounts),
      formats: inOrder(formatNames, formats),
      wire,
    };
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
    this.#result.ok = differenceCount === 0 && this.#clock.wrong === undefined &&
      days.every(({ incomplete, beside }) => incomplete.length === 0 && beside.length === 0);
    this.#tell({ type: "done", result: this.#result });
    return this.#result;
  }

  async #run(shelf: Shelf): Promise<void> {
    const { from, to, out, owner, now } = this.#options;
    const [client, settings, signal] = [this.#client, this.#settings, this.#signal];
    this.#doubt = await checkOwner({ client, shelf, settings, owner, from, to, now: now(), signal });
    const evidence = new Evidence({
      client,
      signal,
      keptWithRows: (market, first, last) => keptWithRows(shelf, market, { from: first, to: last }),
    });
    const dates = datesBetween(from, to);
    this.#tell({ type: "started", days: dates.length, markets: settings.markets, out });
    for (const [index, day] of dates.entries()) {
      this.#day = day;
      signal.throwIfAborted();
      const place = { day, index, days: dates.length };
      this.#tell({ type: "day-started", ...place });
      const result = await this.#exportDay(shelf, day, evidence);
      if (result !== undefined) {
        this.#result.days.push(result);
        this.#result.rows += Object.values(result.rows).reduce((sum, rows) => sum + rows, 0);
      }
      this.#tell({ type: "day-done", ...place, result });
    }
    this.#day = undefined;
  }

  async #exportDay(shelf: Shelf, day: string, evidence: Evidence): Promise<DayResult | undefined> {
    const markets = this.#marketDays(day);
    if (!markets.some(({ hasBegun }) => hasBegun)) {
      this.#result.notBegun.push(day);
      return undefined;
    }
    const before = await keptDay(shelf.path(day), this.#settings);
    const beside: KeptDay[] = [];
    for (const name of shelf.beside(day)) {
      const kept = await keptDay(shelf.path(name), this.#settings);
      if (kept !== undefined) beside.push(kept);
    }
    const isRecent = markets.some((market) => market.isRecent);
    const isDone = before !== undefined && isWhole(before) && isSettled(before.summary) &&
      beside.length === 0;
    if (isDone && !isRecent && !this.#options.refresh) return this.#keep(before, shelf);
    before?.refuseNarrower();
    try {
      return await this.#readAgain(shelf, { day, markets, before, beside, evidence });
    } catch (error) {
      try {
        shelf.discard(day);
      } catch {
        // the next export removes it; what went wrong first is what counts
      }
      throw error;
    }
  }

  #marketDays(day: string): MarketDay[] {
    const { markets, accounts } = this.#settings;
    const now = this.#options.now();
    const all = [...markets, ...accounts.includes("futures") ? ["futures" as const] : []];
    return all.map((market) => marketDay(market, day, now));
  }

  /** Reads a day, and once more when a market's date has changed meanwhile, as the lists of today change with it. */
  async #readAgain(shelf: Shelf, options: Known & { markets: MarketDay[] }): Promise<DayResult | undefined> {
    const { day, markets, ...known } = options;
    let [folder, reading] = await this.#read(shelf, day, markets);
    let at = markets;
    const later = this.#marketDays(day);
    if (later.some(({ runningDay }, index) => runningDay !== markets[index]?.runningDay)) {
      reading.contradictions.close();
      [folder, reading] = await this.#read(shelf, day, at = later);
    }
    this.#onStage(day)("read");
    await this.#askClock();
    this.#tellClock();
    const place = await placeReading({
      shelf,
      folder,
      day,
      markets: at,
      settings: this.#settings,
      clock: this.#clock,
      doubt: this.#doubt,
      ...reading,
      ...known,
      onStage: this.#onStage(day),
    });
    return place === undefined ? undefined : this.#dayResult(place, shelf);
  }

  async #read(
    shelf: Shelf,
    day: string,
    markets: MarketDay[],
  ): Promise<[string, DayReading & { contradictions: DifferenceFile }]> {
    const folder = shelf.begin(day);
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
        onRows: (rows) => this.#tell({ type: "rows", day, ...rows }),
      });
      return [folder, { ...reading, contradictions }];
    } catch (error) {
      contradictions.close();
      throw error;
    }
  }

  #keep({ summary, differences }: KeptDay, shelf: Shelf): DayResult {
    return this.#dayResult({ summary, differences, count: summary.differences, action: "kept" }, shelf);
  }

  #dayResult({ summary, differences, count, action }: Placed, shelf: Shelf): DayResult {
    const { day, status, rows, incomplete, provisionalBecause } = summary;
    const beside = shelf.beside(day).map((name) => shelf.path(name));
    const room = KEPT_DIFFERENCES - this.#result.differences.length;
    this.#result.differences.push(...differences.slice(0, room));
    this.#result.differenceCount += count;
    const contradicted = beside.map((path) => `${path} contradicts this day`);
    return {
      day,
      // A day that another reading contradicts is not done with, whatever its own files say.
      status: beside.length === 0 ? status : "provisional",
      action,
      path: shelf.path(day),
      beside,
      rows,
      markets: markets(summary, beside.length > 0),
      differences: count,
      provisionalBecause: [...provisionalBecause, ...contradicted],
      incomplete,
    };
  }

  /** Asks for a quote, once, when no answer told the broker's time. */
  async #askClock(): Promise<void> {
    if (this.#hasAskedClock || this.#clock.last !== undefined) return;
    this.#hasAskedClock = true;
    const time = await askQuoteTime(this.#client, this.#signal);
    if (time !== undefined) this.#clock.takeQuote(time);
    if (!this.#clock.isUnknown) return;
    this.#result.brokerClock = "unknown";
    const message = "nothing told the broker's time: no day that ended within the last week becomes final";
    this.#tell({ type: "clock-unknown", message });
  }

  #tellClock(): void {
    const { wrong } = this.#clock;
    if (wrong === undefined) return;
    const isNew = this.#result.clockDifferenceMs === undefined;
    this.#result.clockDifferenceMs = wrong.ms;
    if (!isNew) return;
    const message = `${describeDifference(wrong)} (${wrong.source}): no day that is read now becomes final`;
    this.#tell({ type: "clock-differs", differenceMs: wrong.ms, message });
  }

  #onStage(day: string): (stage: DayStage) => void {
    return (stage) => this.#tell({ type: "stage", day, stage });
  }

  #tell(event: DayBookEvent): void {
    this.#options.onProgress?.(event);
  }
}

/** The markets of a summary; one that another reading contradicts is not final. */
function markets(summary: Summary, isContradicted: boolean): DayResult["markets"] {
  const results = marketResults(summary);
  for (const each of Object.values(results)) {
    if (isContradicted && each.differences > 0) each.status = "provisional";
  }
  return results;
}

/** What is known of a day before it is read. */
interface Known {
  day: string;
  before: KeptDay | undefined;
  beside: readonly KeptDay[];
  evidence: Evidence;
}

/** Returns the first day of a range that is kept with rows of a market. */
function keptWithRows(
  shelf: Shelf,
  market: DayBookMarket,
  { from, to }: { from: string; to: string },
): string | undefined {
  return shelf.days().filter((day) => day >= from && day <= to).find((day) => {
    const summary = summaryIn(shelf.path(day));
    return summary !== undefined && hasRows(summary, market);
  });
}

/** Names in the order of their table, each once, so that the order of a list changes nothing. */
function inOrder<T>(names: readonly T[], given: readonly T[]): T[] {
  return names.filter((name) => given.includes(name));
}
