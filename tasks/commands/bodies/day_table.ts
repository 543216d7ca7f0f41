/**
 * What an export did, day by day and market by market.
 *
 * @module
 */
import type {
  DayBookList,
  DayBookMarket,
  DayBookResult,
  DayResult,
  MarketResult,
} from "../../../lib/day_book/types.ts";
import type { Host } from "../host.ts";
import { chooseColumns, type Column, paint, tableLines, type TableOptions } from "../print.ts";

interface Row {
  day: string;
  market: DayBookMarket;
  result: MarketResult;
  action: string;
}

/** Differences that are written out; the files hold them all. */
const SHOWN = 10;

const columns: readonly Column<Row>[] = [
  { title: "day", id: true, of: ({ day }) => day },
  { title: "market", id: true, of: ({ market }) => market },
  { title: "fills", of: countOf(["fills", "futures_fills"]), align: "right" },
  { title: "orders", of: countOf(["orders", "futures_orders"]), align: "right" },
  { title: "journal", of: countOf(["fund_journal"]), align: "right" },
  {
    title: "checks",
    keep: true,
    of: ({ result }) => checksOf(result),
    color: ({ result: { differences } }) => differences === 0 ? "green" : "red",
  },
  { title: "status", of: ({ result: { status } }) => status },
  { title: "files", of: ({ action }) => action },
];

/** @throws {UsageError} When there is no column of such a name. */
export function checkDayColumns(chosen: string | undefined): void {
  if (chosen !== undefined) chooseColumns(columns, chosen);
}

const order: readonly DayBookMarket[] = ["hk", "us", "shanghai", "shenzhen", "futures"];

/** Says how the checks of a market went; `n/a` are those that could not be made for every row. */
export function checksOf({ differences, notCheckable }: MarketResult): string {
  const result = differences === 0 ? "ok" : `${differences} differ`;
  return notCheckable === 0 ? result : `${result}, ${notCheckable} n/a`;
}

/** The markets of a day, always in the same order. */
export function inOrder(markets: DayResult["markets"]): [DayBookMarket, MarketResult][] {
  return order.flatMap((market): [DayBookMarket, MarketResult][] => {
    const result = markets[market];
    return result === undefined ? [] : [[market, result]];
  });
}

/** Counts the rows of some lists, for a column. */
export function countOf(lists: readonly DayBookList[]): (row: { result: MarketResult }) => string {
  return ({ result: { rows } }) => String(lists.reduce((sum, list) => sum + (rows[list] ?? 0), 0));
}

/** Writes the table, what does not add up, and where the files are. */
export function dayTable(result: DayBookResult, host: Host, options: TableOptions = {}): string[] {
  const rows = result.days.flatMap(({ day, action, markets }) =>
    inOrder(markets).map(([market, each]): Row => ({ day, market, result: each, action }))
  );
  const kept = result.days.filter(({ markets }) => Object.keys(markets).length === 0);
  return [
    ...rows.length > 0 ? tableLines(host, columns, rows, options) : [],
    ...kept.map(({ day, action }) => `${day}  ${action}`),
    ...troubles(result, host),
    "",
    `${result.rows} rows in ${result.days.length} ${
      result.days.length === 1 ? "day" : "days"
    } under ${result.out}`,
    ...result.notBegun.length > 0 ? [`not begun yet: ${result.notBegun.join(", ")}`] : [],
  ];
}

function troubles({ differences, differenceCount, days }: DayBookResult, host: Host): string[] {
  const lines = differences.slice(0, SHOWN).map(({ day, market, list, check, message }) =>
    // A row that is missing is a matter of its list; other checks have names that say it.
    paint(
      host,
      "red",
      `${[day, market, check === "rows" ? list : check].filter(Boolean).join(" ")}: ${message}`,
    )
  );
  if (differenceCount > SHOWN) {
    lines.push(`and ${differenceCount - SHOWN} more, in differences.csv of each day`);
  }
  const all = [...days.flatMap(contradictions), ...lines, ...missing(days), ...provisional(days)];
  return all.length > 0 ? ["", ...all] : [];
}

/** Returns where the readings are that contradict a day, and what to do about them. */
function contradictions({ day, path, beside }: DayResult): string[] {
  if (beside.length === 0) return [];
  const readings = [path, ...beside].map((each) => `"${each}"`);
  return [
    `${day}: ${readings.join(" and ")} contradict each other; differences.csv names the rows`,
    `${day}: an export that finds all rows again settles it; otherwise move the folder that is wrong away`,
  ];
}

/** What was not read or may be cut, each once with the days that it is true of. */
function missing(days: readonly DayResult[]): string[] {
  const all = days.flatMap(({ day, incomplete }) => incomplete.map((text) => ({ day, text })));
  const lines = [...Map.groupBy(all, ({ text }) => text)].map(([text, of]) =>
    `${of.map(({ day }) => day).join(", ")}: ${text}`
  );
  const isFutures = all.some(({ text }) => text.startsWith("futures: ") && text.includes(" not read: "));
  return isFutures ? [...lines, "for an account without futures add --accounts securities"] : lines;
}

/** Why days are not final that have nothing else to say. */
function provisional(days: readonly DayResult[]): string[] {
  return days.filter(({ status, differences, incomplete }) =>
    status === "provisional" && differences === 0 && incomplete.length === 0
  ).flatMap(({ day, provisionalBecause }) =>
    provisionalBecause.map((why) => `${day} is provisional: ${why}`)
  );
}
