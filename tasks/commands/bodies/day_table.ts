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
  const lines = differences.slice(0, SHOWN).map(({ day, market, check, message }) =>
    paint(host, "red", `${day} ${market} ${check}: ${message}`)
  );
  if (differenceCount > SHOWN) {
    lines.push(`and ${differenceCount - SHOWN} more, in differences.csv of each day`);
  }
  const missing = days.flatMap(({ day, incomplete }) => incomplete.map((each) => `${day}: ${each}`));
  return lines.length + missing.length > 0 ? ["", ...lines, ...missing] : [];
}
