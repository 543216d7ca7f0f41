/**
 * Computes the content of `summary.json`, which describes a day folder. The content does not depend on when or where
 * it was written.
 *
 * @module
 */
import { FeeItem } from "../../dictionaries/fee_item.ts";
import type { Market } from "../../dictionaries/market.ts";
import { currencyOfMarket, journalCodeOf } from "../rows/columns.ts";
import { cashOfFills, type ListCheck } from "../checks/day_checks.ts";
import type { BrokerClock } from "../../client/broker_clock.ts";
import { isOverForSure, type MarketDay, sessionText } from "../market_days.ts";
import type { Part } from "../reading/part.ts";
import type { NotRead } from "../reading/read_day.ts";
import { openRegularSync } from "../../regular_files.ts";
import { shownJson } from "../../shown_text.ts";
import { DecimalSum } from "../../decimal.ts";
import type {
  CheckName,
  DayBookAccount,
  DayBookFormat,
  DayBookList,
  DayBookMarket,
  DayResult,
  DayStatus,
  Origin,
  PlanQuality,
} from "../types.ts";
import { lazily } from "../../lazy.ts";

const loadCrypto = lazily(() => import("node:crypto"));

/** The settings that decide which files an export writes. */
export interface Settings {
  /** Markets of the securities accounts; empty if the export covers only futures. */
  markets: readonly Market[];
  accounts: readonly DayBookAccount[];
  formats: readonly DayBookFormat[];
  /** Whether the rows are also written in the broker's format. */
  wire: boolean;
  /** Whether a store is known. If it is, the rebalancing trades are written too. */
  rebalanceTrades?: boolean;
}

/** Why an export writes no list of rebalancing trades. */
export const NO_STORE = "no store was named";

/** Result of one check of one market. */
export interface CheckRecord {
  check: CheckName;
  market: DayBookMarket;
  result: ListCheck["result"];
  detail: string;
  differences: number;
}

/** One market of a day. */
export interface MarketRecord {
  /** Its session hours, `closed` or `unknown`. */
  session: string;
  status: DayStatus;
  /** Why the day is not final in this market yet. */
  provisionalBecause: string[];
  /** Whether the session was over and every fill had its fees; absent in older exports. */
  cleared?: boolean;
  /** Number of rows of each list, and the broker's list from which they came. */
  lists: Partial<Record<DayBookList, { rows: number; origin: Origin; identicalRows: number }>>;
  /**
   * The broker's other list of the day, whose rows are in separate files: an incomplete history, or a list
   * that contradicts the one in `lists`.
   */
  otherLists?: Partial<Record<DayBookList, { rows: number; origin: Origin }>>;
}

/** A file of the folder. */
interface FileRecord {
  bytes: number;
  sha256: string;
}

/** Content of `summary.json`. */
export interface Summary {
  /** Version of the folder's format; changes when the files or columns change. */
  version: 2;
  day: string;
  /** `day` for the day itself, `disputed` for a reading that contradicts it. */
  standing: "day" | "disputed";
  /** Other folders of this day that contradict this reading: one of the two has rows or totals that the other lacks. */
  contradicts: string[];
  status: DayStatus;
  /** Whether every list was read, and every list is certainly complete. */
  complete: boolean;
  incomplete: string[];
  /** Set if no answer and no quote contained the broker's time. */
  brokerClock?: "unknown";
  provisionalBecause: string[];
  settings: Settings;
  /** Number of rows of each list that was read. */
  rows: Partial<Record<DayBookList, number>>;
  markets: Partial<Record<DayBookMarket, MarketRecord>>;
  checks: CheckRecord[];
  differences: number;
  /** Codes that no table lists, with their number of rows. */
  unlistedCodes: Record<string, number>;
  /** Members that the catalogue does not contain, with their number of rows; `wire` files contain them. */
  unknownMembers: Record<string, number>;
  totals: Record<string, CurrencyTotals>;
  /** The rebalancing plans of the day; absent without a store. */
  rebalance?: PlanQuality[];
  /** Why the day has no list of rebalancing trades; absent if it has one. */
  withoutRebalanceTrades?: string;
  files: Record<string, FileRecord>;
}

/** Totals of one currency; decimals as text. */
interface CurrencyTotals {
  markets: Market[];
  bought: string;
  sold: string;
  /** Sums by fee item. */
  fees: Partial<Record<FeeItem, string>>;
  /** Fees that the catalogue does not contain, by their names on the wire; absent if there are none. */
  unknownFees?: Record<string, string>;
  /** Sales minus purchases minus fees. */
  cashOfFills: string;
  /** By journal type. */
  journal: Record<string, { code: string; lines: number; amount: string }>;
  /** Sum of all journal lines. */
  journalTotal: string;
}

/** Returns the sums over the parts of a day, by currency. */
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
    const unknown = [...new Set(tallies.flatMap(({ tally }) => tally.unknownFees.names))].sort();
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
      ...unknown.length > 0 && {
        unknownFees: Object.fromEntries(
          unknown.map((name) => [name, sum(({ tally }) => tally.unknownFees.get(name)) ?? "0"]),
        ),
      },
      cashOfFills: sum(({ spec, tally }) => spec.list === "fills" ? cashOfFills(tally) : undefined) ?? "0",
      journal: Object.fromEntries(journal),
      journalTotal: journal.reduce((total, [, { amount }]) => total.add(amount), new DecimalSum()).toString(),
    };
  }
  return totals;
}

/** Input for the record of one market of a day. */
interface MarketFacts {
  day: MarketDay;
  parts: readonly Part[];
  others: readonly Part[];
  notRead: readonly NotRead[];
  clock: BrokerClock;
  /** Why the folder may belong to another account. */
  unconfirmedOwner: string | undefined;
  /** Why the rebalancing trades of the market may still change. */
  pending: readonly string[];
  checks: readonly CheckRecord[];
}

/** Reason for a day that is over only by this machine's clock. */
const UNTIMED =
  "the broker's time is unknown, and by this machine's clock the day ended less than a week ago";

const QUOTED_BEFORE =
  "no answer contained the broker's time, and the broker's newest quote does not show that the session is over";

/** Returns the reasons why a market's day can still change; an empty list means that it is final. */
function provisionalReasons(facts: MarketFacts): string[] {
  const { day, parts, notRead, clock, unconfirmedOwner, pending, checks } = facts;
  if (!day.hasBegun) return ["the day has not begun in this market"];
  const reasons: string[] = [];
  if (!day.isOver) reasons.push("the session is not over");
  if (unconfirmedOwner !== undefined) reasons.push(unconfirmedOwner);
  if (clock.wrong !== undefined) {
    reasons.push("the clocks of this machine and of the broker differ by more than a minute");
  } else if (day.isOver && !isOverForSure(day, clock)) {
    reasons.push(clock.quoteTime === undefined ? UNTIMED : QUOTED_BEFORE);
  }
  for (const { spec, origin } of parts) {
    if (origin === "today") reasons.push(`${spec.list} come from today's list`);
  }
  const fills = parts.find(({ spec }) => spec.list === "fills" || spec.list === "futures_fills");
  const { rows, withoutFees } = fills?.tally ?? { rows: 0, withoutFees: 0 };
  if (withoutFees > 0) reasons.push(`${withoutFees} of ${rows} fills have no fees yet`);
  // Fees cannot show that the day was cleared if there are no fills, or for futures, whose fills have no fees. Then
  // only the start of the market's next date shows it.
  const isRunning = day.day === day.runningDay;
  if (isRunning && day.isOver && fills !== undefined && (rows === 0 || day.market === "futures")) {
    reasons.push("it is still this date in the market, and no fees show that the broker has cleared the day");
  }
  reasons.push(...pending);
  for (const { list } of notRead) reasons.push(`${list} were not read`);
  for (const { spec: { list, dated }, tally: { undated, rows }, unproven } of parts) {
    if (undated > 0) reasons.push(`${undated} of ${rows} rows of ${list} have no ${dated}`);
    if (unproven !== undefined) reasons.push(`${list} may be incomplete: ${unproven}`);
  }
  const differences = checks.reduce((sum, each) => sum + each.differences, 0);
  if (differences > 0) {
    reasons.push(`${differences} ${differences === 1 ? "difference was" : "differences were"} found`);
  }
  if (reasons.length === 0) {
    // A day is not final if its lists could not be compared.
    for (const { check, detail } of missingComparisons(checks)) {
      reasons.push(
        check === "empty" ? `no list has a row, and ${detail}` : `${check} cannot be compared: ${detail}`,
      );
    }
  }
  return reasons;
}

/**
 * Returns whether the broker has cleared the day of a market: the session is over, and the history has every fill with
 * its fees.
 */
export function isCleared({ isOver }: MarketDay, parts: readonly Part[]): boolean {
  return isOver &&
    parts.every(({ spec: { list }, origin, tally }) =>
      list !== "fills" || (origin === "history" && tally.withoutFees === 0)
    );
}

/** Returns the comparisons of lists that could not be made. */
function missingComparisons(checks: readonly CheckRecord[]): CheckRecord[] {
  return checks.filter(({ check, result }) =>
    (check === "journal" || check === "orders" || check === "empty") && result === "not-checkable"
  );
}

/** Returns whether all lists of a market are empty on a possible trading day, which needs other evidence. */
export function needsEvidence({ session, lists }: MarketRecord): boolean {
  return session !== "closed" && Object.values(lists).every(({ rows }) => rows === 0);
}

/**
 * Returns whether a day needs no further reading: it is final, every comparison was made, and none found a
 * difference.
 */
export function isDone({ status, differences, checks, complete, markets }: Summary): boolean {
  // Older exports accepted empty lists without evidence; read such days again.
  const isBelieved = Object.entries(markets).every(([market, record]) =>
    !needsEvidence(record) || checks.some(({ check, ...each }) => check === "empty" && each.market === market)
  );
  return status === "final" && complete && differences === 0 && isBelieved &&
    missingComparisons(checks).length === 0;
}

/** Returns the record of one market of a day. */
export function marketRecord(facts: MarketFacts): MarketRecord {
  const provisionalBecause = provisionalReasons(facts);
  return {
    session: sessionText(facts.day),
    status: provisionalBecause.length === 0 ? "final" : "provisional",
    provisionalBecause,
    cleared: isCleared(facts.day, facts.parts),
    lists: Object.fromEntries(facts.parts.map(({ spec, tally, origin }) => [
      spec.list,
      { rows: tally.rows, origin, identicalRows: tally.repeated },
    ])),
    ...facts.others.length > 0 && {
      otherLists: Object.fromEntries(
        facts.others.map(({ spec, tally, origin }) => [spec.list, { rows: tally.rows, origin }]),
      ),
    },
  };
}

/** Returns the short result of each market in a summary. */
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

/** Buffer for all files. It can be shared because no other code runs while a file is read. */
const block = new Uint8Array(64 * 1024);

/** Returns the size and the digest of a file. */
export async function fileRecord(path: string): Promise<FileRecord> {
  const { createHash } = await loadCrypto(); // loading it takes 13 ms, so load it only for an export
  const hash = createHash("sha256");
  using file = openRegularSync(path);
  let bytes = 0;
  for (let count; (count = file.readSync(block)) !== null; bytes += count) {
    hash.update(block.subarray(0, count));
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** Returns a summary as text. The members are in alphabetical order, so equal summaries have equal bytes. */
export function summaryTextOf(summary: Summary): string {
  return `${shownJson(JSON.stringify(summary, sorted, 2))}\n`;
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
  return Object.fromEntries(entries);
}
