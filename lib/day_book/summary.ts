/**
 * What a day folder says about itself: `summary.json`. Nothing in it depends on when or where it was written.
 *
 * @module
 */
import { FeeItem } from "../dictionaries/fee_item.ts";
import type { Market } from "../dictionaries/market.ts";
import { currencyOfMarket, journalCodeOf } from "./columns.ts";
import { cashOfFills, type ListCheck } from "./day_checks.ts";
import { type MarketDay, sessionText } from "./market_days.ts";
import type { Part } from "./part.ts";
import { DecimalSum } from "../decimal.ts";
import type { CheckName, DayBookFormat, DayBookList, DayBookMarket, DayResult, DayStatus } from "./types.ts";

/** What two exports have to agree on to hold the same files. */
export interface Settings {
  markets: readonly Market[];
  formats: readonly DayBookFormat[];
  futures: boolean;
}

/** One check of one market. */
export interface CheckRecord {
  check: CheckName;
  market: DayBookMarket;
  result: ListCheck["result"];
  detail: string;
  differences: number;
}

/** One market of a day. */
export interface MarketRecord {
  /** Its session, `closed` or `unknown`. */
  session: string;
  status: DayStatus;
  /** Why it is not final yet. */
  provisionalBecause: string[];
  /** Rows, and where they came from. */
  lists: Partial<Record<DayBookList, { rows: number; origin: string; identicalRows: number }>>;
}

/** A file of the folder. */
export interface FileRecord {
  bytes: number;
  sha256: string;
}

/** Everything that `summary.json` holds. */
export interface Summary {
  /** Form of the folder; changes when files or columns do. */
  version: 1;
  day: string;
  status: DayStatus;
  /** No list may have been cut. */
  complete: boolean;
  incomplete: string[];
  provisionalBecause: string[];
  settings: Settings;
  /** Whether the account's futures were exported. */
  rows: Partial<Record<DayBookList, number>>;
  markets: Partial<Record<DayBookMarket, MarketRecord>>;
  checks: CheckRecord[];
  differences: number;
  /** Codes that no table lists, with the number of rows. */
  unlistedCodes: Record<string, number>;
  totals: Record<string, CurrencyTotals>;
  files: Record<string, FileRecord>;
}

/** Totals of one currency; decimals as text. */
export interface CurrencyTotals {
  markets: Market[];
  bought: string;
  sold: string;
  /** By fee item, as the wire had them. */
  fees: Partial<Record<FeeItem, string>>;
  /** Sold, less bought, less fees. */
  cashOfFills: string;
  /** By journal type. */
  journal: Record<string, { code: string; lines: number; amount: string }>;
  /** All lines together. */
  journalTotal: string;
}

/** Adds up what the parts of a day counted, by currency. */
export function totalsOf(parts: readonly Part[], markets: readonly Market[]): Record<string, CurrencyTotals> {
  const totals: Record<string, CurrencyTotals> = {};
  for (const market of markets) {
    const currency = currencyOfMarket[market];
    const inMarkets = markets.filter((each) => currencyOfMarket[each] === currency);
    const tallies = parts.filter((part) => inMarkets.some((each) => each === part.market));
    const sum = (read: (part: Part) => string | undefined) => {
      const values = tallies.map(read).filter((value) => value !== undefined);
      const total = new DecimalSum();
      for (const value of values) total.add(value);
      return values.length === 0 ? undefined : total.toString();
    };
    const fees = FeeItem.names.flatMap((name) => {
      const total = sum(({ tally }) => tally.money.get(name));
      return total === undefined ? [] : [[name, total] as const];
    });
    const types = [...new Set(tallies.flatMap(({ tally }) => [...tally.journalLines.keys()]))];
    const journal = types.map((type) => {
      const lines = tallies.reduce((count, { tally }) => count + (tally.journalLines.get(type) ?? 0), 0);
      const code = type === "unnamed" ? "" : journalCodeOf(type);
      return [type, { code, lines, amount: sum(({ tally }) => tally.journal.get(type)) ?? "0" }] as const;
    });
    totals[currency] = {
      markets: inMarkets,
      bought: sum(({ tally }) => tally.money.get("bought")) ?? "0",
      sold: sum(({ tally }) => tally.money.get("sold")) ?? "0",
      fees: Object.fromEntries(fees),
      cashOfFills: sum(({ spec, tally }) => spec.list === "fills" ? cashOfFills(tally) : undefined) ?? "0",
      journal: Object.fromEntries(journal),
      journalTotal: journal.reduce((total, [, { amount }]) => total.add(amount), new DecimalSum()).toString(),
    };
  }
  return totals;
}

/** Says why a market's day can still change; an empty list means that it is final. */
export function provisionalReasons(
  day: MarketDay,
  parts: readonly Part[],
  checks: readonly CheckRecord[],
): string[] {
  if (!day.hasBegun) return ["the day has not begun in this market"];
  const reasons: string[] = [];
  if (!day.isOver) reasons.push("the session is not over");
  for (const { spec, origin } of parts) {
    if (origin === "today") reasons.push(`${spec.list} come from the list of today`);
  }
  const fills = parts.find(({ spec }) => spec.list === "fills" || spec.list === "futures_fills");
  const { rows = 0, withoutFees = 0 } = fills?.tally ?? {};
  if (withoutFees > 0) reasons.push(`${withoutFees} of ${rows} fills have no fees yet`);
  // Without fills there is nothing to show that the day was cleared, until the market's next date.
  const isRunning = day.day === day.runningDay;
  if (isRunning && day.isOver && (rows === 0 || day.market === "futures")) {
    reasons.push("it is still this date in the market, and no fees show that the day was cleared");
  }
  const differences = checks.reduce((sum, each) => sum + each.differences, 0);
  if (differences > 0) {
    reasons.push(`${differences} ${differences === 1 ? "difference was" : "differences were"} found`);
  }
  if (reasons.length === 0) {
    // A broken day must not be taken for a finished one.
    for (const { check, detail } of openTies(checks)) reasons.push(`${check} cannot be compared: ${detail}`);
  }
  return reasons;
}

/** Comparisons of lists that could not be made. */
function openTies(checks: readonly CheckRecord[]): CheckRecord[] {
  return checks.filter(({ check, result }) =>
    (check === "journal" || check === "orders") && result === "not-checkable"
  );
}

/** Tells whether a day is done with: it is final, everything was compared, and everything adds up. */
export function isSettled({ status, differences, checks }: Summary): boolean {
  return status === "final" && differences === 0 && openTies(checks).length === 0;
}

/** Describes one market of a day. */
export function marketRecord(
  day: MarketDay,
  parts: readonly Part[],
  checks: readonly CheckRecord[],
): MarketRecord {
  const provisionalBecause = provisionalReasons(day, parts, checks);
  return {
    session: sessionText(day),
    status: provisionalBecause.length === 0 ? "final" : "provisional",
    provisionalBecause,
    lists: Object.fromEntries(parts.map(({ spec, tally, origin }) => [
      spec.list,
      { rows: tally.rows, origin, identicalRows: tally.repeated },
    ])),
  };
}

/** What a summary says of each market, in short. */
export function marketResults({ markets, checks }: Summary): DayResult["markets"] {
  const results = Object.entries(markets).map(([market, { status, lists }]) => {
    const rows = Object.fromEntries(Object.entries(lists).map(([list, { rows }]) => [list, rows]));
    const own = checks.filter((check) => check.market === market);
    return [market, {
      status,
      rows,
      differences: own.reduce((sum, each) => sum + each.differences, 0),
      notCheckable: own.filter(({ result }) => result === "not-checkable").length,
    }] as const;
  });
  return Object.fromEntries(results);
}

/** Held once; a file is read without anything in between. */
const block = new Uint8Array(64 * 1024);

/** Reads a file and describes it. */
export async function fileRecord(path: string): Promise<FileRecord> {
  const { createHash } = await import("node:crypto"); // costs 13 ms, which plain calls do not pay
  const hash = createHash("sha256");
  using file = Deno.openSync(path);
  let bytes = 0;
  for (let count; (count = file.readSync(block)) !== null; bytes += count) {
    hash.update(block.subarray(0, count));
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** Writes a summary with its members in order of their names, so that equal contents are equal bytes. */
export function writeSummary(summary: Summary): string {
  return `${JSON.stringify(summary, sorted, 2)}\n`;
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
  return Object.fromEntries(entries);
}
