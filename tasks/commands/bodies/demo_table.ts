/**
 * The table that the demo ends with: what was exported of each day and market, and what it cost.
 *
 * @module
 */
import type { DayBookMarket, DayBookResult, MarketResult } from "../../../lib/day_book/types.ts";
import { add, type Decimal } from "../../../lib/decimal.ts";
import type { Host } from "../host.ts";
import { type Column, tableLines } from "../print.ts";
import { countOf, inOrder } from "./day_table.ts";

interface Row {
  /** Absent on the rows of a day but the first. */
  day: string | undefined;
  market: DayBookMarket;
  result: MarketResult;
  fees: string;
}

const columns: readonly Column<Row>[] = [
  { title: "day", of: ({ day }) => day ?? "" },
  { title: "market", of: ({ market }) => market },
  { title: "fills", of: countOf(["fills", "futures_fills"]), align: "right" },
  { title: "orders", of: countOf(["orders", "futures_orders"]), align: "right" },
  { title: "journal", of: countOf(["fund_journal"]), align: "right" },
  { title: "fees", of: ({ fees }) => fees, align: "right" },
  {
    title: "checks",
    of: ({ result: { differences } }) => differences === 0 ? "all ok" : `${differences} differ`,
    color: ({ result: { differences } }) => differences === 0 ? "green" : "red",
  },
  { title: "status", of: ({ result: { status } }) => status },
];

/** Writes the table; fees are added up from the files that were just written. */
export async function demoTable(result: DayBookResult, host: Host): Promise<string[]> {
  const rows: Row[] = [];
  for (const { day, path, markets } of result.days) {
    const fees = await feesOf(`${path}/fills.jsonl`);
    for (const [index, [market, each]] of inOrder(markets).entries()) {
      rows.push({ day: index === 0 ? day : undefined, market, result: each, fees: fees.get(market) ?? "" });
    }
  }
  return tableLines(host, columns, rows, { more: "a wider terminal shows all" });
}

/** Adds up the fees of a day's fills, by market. */
async function feesOf(path: string): Promise<Map<string, string>> {
  const sums = new Map<string, { sum: Decimal; currency: string }>();
  for (const line of (await Deno.readTextFile(path)).split("\n")) {
    if (line === "") continue;
    // The export has just written these members as text.
    const { market, currency, total } = JSON.parse(line) as Record<string, string | undefined>;
    if (market === undefined || total === undefined) continue;
    const before = sums.get(market)?.sum ?? "0";
    sums.set(market, { sum: add(before, total), currency: currency ?? "" });
  }
  return new Map([...sums].map(([market, { sum, currency }]) => [market, `${sum} ${currency}`]));
}
