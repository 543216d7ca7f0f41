/**
 * Formats the result of an export as lines, by day and market.
 *
 * @module
 */
import type {
  DayBookList,
  DayBookMarket,
  DayBookResult,
  DayResult,
  MarketResult,
} from "../../lib/day_book/types.ts";
import { moneyOf, sumText } from "../../lib/rebalance/results/words.ts";
import type { Host } from "./host.ts";
import { type Column, cut, paint, tableLines, type TableOptions } from "./print.ts";

/** A market of a day. */
export interface DayRow {
  day: string;
  market: DayBookMarket;
  result: MarketResult;
  action: string;
}

/** Maximum number of differences to print. The files contain all differences. */
const SHOWN = 10;

/** Columns of the table of days. */
export const dayColumns: readonly Column<DayRow>[] = [
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

const order: readonly DayBookMarket[] = ["hk", "us", "shanghai", "shenzhen", "futures"];

/**
 * Returns the result of a market's checks: `ok`, or the number of differences. The number before `n/a` counts the
 * checks that hsgate could not make, or not for every row.
 */
export function checksOf({ differences, notCheckable }: MarketResult): string {
  const result = differences === 0 ? "ok" : `${differences} differ`;
  return notCheckable === 0 ? result : `${result}, ${notCheckable} n/a`;
}

/** Returns the markets of a day, always in the same order. */
export function inOrder(markets: DayResult["markets"]): [DayBookMarket, MarketResult][] {
  return order.flatMap((market): [DayBookMarket, MarketResult][] => {
    const result = markets[market];
    return result === undefined ? [] : [[market, result]];
  });
}

/** Returns a function that counts the rows of these lists, for a column. */
export function countOf(lists: readonly DayBookList[]): (row: { result: MarketResult }) => string {
  return ({ result: { rows } }) => String(lists.reduce((sum, list) => sum + (rows[list] ?? 0), 0));
}

/** Returns a row for each market of each day. */
export function dayRows({ days }: DayBookResult): DayRow[] {
  return days.flatMap(({ day, action, markets }) =>
    inOrder(markets).map(([market, result]): DayRow => ({ day, market, result, action }))
  );
}

/** Returns the table, the problems and the folder of the files, as lines. */
export function dayTable(result: DayBookResult, host: Host, options: TableOptions = {}): string[] {
  const rows = dayRows(result);
  const daysWithoutMarkets = result.days.filter(({ markets }) => Object.keys(markets).length === 0);
  return [
    ...rows.length > 0 ? tableLines(host, dayColumns, rows, options) : [],
    ...daysWithoutMarkets.map(({ day, action }) => `${day}  ${action}`),
    ...troubles(result, host),
    ...result.days.flatMap(rebalanced),
    "",
    `${result.rows} rows in ${result.days.length} ${
      result.days.length === 1 ? "day" : "days"
    } under ${result.out}`,
    ...result.notBegun.length > 0 ? [`not begun yet: ${result.notBegun.join(", ")}`] : [],
  ];
}

function troubles({ differences, differenceCount, days }: DayBookResult, host: Host): string[] {
  const lines = differences.slice(0, SHOWN).map(({ day, market, list, check, message }) =>
    // For the check "rows", show the list, which says more than the name of the check.
    paint(
      host,
      "red",
      // The message quotes the broker's row.
      cut(`${[day, market, check === "rows" ? list : check].filter(Boolean).join(" ")}: ${message}`),
    )
  );
  if (differenceCount > SHOWN) {
    lines.push(`and ${differenceCount - SHOWN} more differences, in differences.csv of each day`);
  }
  const all = [...days.flatMap(contradictions), ...lines, ...missing(days), ...provisional(days)];
  return all.length > 0 ? ["", ...all] : [];
}

/** Returns the folders of contradicting readings, and what to do about them. */
function contradictions({ day, path, beside }: DayResult): string[] {
  if (beside.length === 0) return [];
  const readings = [path, ...beside].map((each) => `"${each}"`);
  return [
    `${day}: ${readings.join(" and ")} contradict each other; differences.csv names the rows`,
    `${day}: run the export again: a reading that has all rows decides; if none does, move the wrong folder away`,
  ];
}

/** Returns a line for each list that is missing or may be incomplete, with its days. */
function missing(days: readonly DayResult[]): string[] {
  const all = days.flatMap(({ day, incomplete }) => incomplete.map((text) => ({ day, text })));
  const lines = [...Map.groupBy(all, ({ text }) => text)].map(([text, of]) =>
    `${of.map(({ day }) => day).join(", ")}: ${cut(text)}`
  );
  const isFutures = all.some(({ text }) => text.startsWith("futures: ") && text.includes(" not read: "));
  return isFutures ? [...lines, "if the account has no futures, add --accounts securities"] : lines;
}

/** Returns a line for each rebalancing plan of a day: what it filled, and what that cost. */
function rebalanced({ day, rebalance = [] }: DayResult): string[] {
  return rebalance.map(({ plan, state, trades, filled, slippage, fees: { estimated, booked }, drift }) => {
    const fees = `fees ${booked === undefined ? "not booked yet" : moneyOf(booked)}, ${
      moneyOf(estimated)
    } estimated`;
    const cost = Object.keys(slippage).length === 0 ? "unknown" : moneyOf(slippage);
    const drifts = `sum of squared drifts ${sumText(drift.before)} before, ${sumText(drift.reached)} reached`;
    return `${day}  rebalancing plan ${plan.slice(0, 12)}: ${state}, ${filled} of ${trades} trades filled, ` +
      `slippage ${cost}, ${fees}, ${drifts}`;
  });
}

/** Returns why days are provisional, for days without another problem. */
function provisional(days: readonly DayResult[]): string[] {
  return days.filter(({ status, differences, incomplete }) =>
    status === "provisional" && differences === 0 && incomplete.length === 0
  ).flatMap(({ day, provisionalBecause }) =>
    provisionalBecause.map((why) => `${day} is provisional: ${why}`)
  );
}
