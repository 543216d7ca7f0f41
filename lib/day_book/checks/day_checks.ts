/**
 * Compares the lists of one market and day with each other: fills with the fund journal, and fills with orders.
 *
 * @module
 */
import { compare, DecimalSum, isZero, negate, subtract } from "../../decimal.ts";
import type { Market } from "../../dictionaries/market.ts";
import { currencyOfMarket } from "../rows/columns.ts";
import type { Part } from "../reading/part.ts";
import type { RowFinding, Tally } from "./tally.ts";
import { countPairs, findUnmatched, type TradeRow, type TradeRows, tradeTypes } from "../rows/trades.ts";
import type { DayBookList } from "../types.ts";

/** A difference between lists. If only one row differs, `list` and `rowKey` name it. */
export interface ListFinding extends RowFinding {
  list?: DayBookList;
  rowKey?: string;
}

/** Result of a check over whole lists. */
export interface ListCheck {
  result: "passed" | "differs" | "not-checkable";
  /** What was compared, or why a comparison was not possible. */
  detail: string;
  findings: ListFinding[];
}

const passed = (detail: string): ListCheck => ({ result: "passed", detail, findings: [] });
const differs = (detail: string, findings: ListFinding[]): ListCheck => ({
  result: "differs",
  detail,
  findings,
});
const notCheckable = (why: string): ListCheck => ({ result: "not-checkable", detail: why, findings: [] });

/** Returns the cash effect of the fills: sales minus purchases minus all fees. */
export function cashOfFills({ money }: Tally): string {
  return new DecimalSum()
    .add(money.get("sold") ?? "0")
    .add(negate(money.get("bought") ?? "0"))
    .add(negate(money.get("total") ?? "0"))
    .toString();
}

/** Input of the journal check. */
interface JournalCheckOptions {
  fills: Tally;
  journal: Tally;
  currency: string;
  /** Reads the fills again, to find those without a journal line. */
  fillRows: TradeRows;
  /** Reads the journal's lines for trades again, to find those without a fill. */
  lineRows: TradeRows;
}

/**
 * Compares the fills with the journal's lines for trades. Each fill should have one line with the fill's amount net of
 * fees.
 *
 * Some brokers book differently, for example one line per order. So the check compares only the sums in these cases,
 * and the detail says so:
 * - The numbers of rows differ, and the sums are equal.
 * - The numbers of rows differ, the sums differ, and at most half of the rows match.
 * - The numbers of rows are equal, and no fill matches a line.
 *
 * Two cases are always compared row by row. In one, there is no fill. In the other, both lists have the same number of
 * purchases and the same number of sales, at most one of each.
 */
export function checkJournal(options: JournalCheckOptions): ListCheck {
  const { fills, journal, currency } = options;
  if (fills.withoutFees > 0) return notCheckable(`${fills.withoutFees} fills have no fees yet`);
  if (fills.withoutMoney > 0) {
    return notCheckable(`${fills.withoutMoney} fills have no amount or no known side`);
  }
  const names = tradeTypes.filter((type) => journal.journalLines.has(type));
  const expected = cashOfFills(fills);
  if (names.length === 0) {
    if (fills.rows === 0) return passed("no fills, and no lines for trades");
    const message =
      `the journal has no line for a trade; the ${fills.rows} fills net of fees total ${expected} ${currency}`;
    return differs(message, [{ check: "journal", expected, actual: "no lines", message }]);
  }
  const sum = new DecimalSum();
  for (const name of names) sum.add(journal.journal.get(name) ?? "0");
  const actual = sum.toString();
  const what = `${actual} ${currency} in the fills net of fees and in ${names.join(", ")}`;
  if (fills.trades.equals(journal.trades)) return passed(`${what}, line by line`);
  const sumsAgree = compare(expected, actual) === 0;
  const sums = sumsAgree
    ? `the sums are equal, ${actual} ${currency}`
    : `the fills net of fees total ${expected} ${currency}, the journal ${actual} (off by ${
      subtract(actual, expected)
    })`;
  if (isLineByLine(options, sumsAgree)) {
    const unmatched = findUnmatched(options.fillRows, options.lineRows);
    const findings = [
      ...unmatched.fills.map((row) => unmatchedFill(row, currency)),
      ...unmatched.lines.map((row) => unmatchedLine(row, currency)),
    ];
    const counts =
      `${unmatched.fills.length} fills without a matching line, ${unmatched.lines.length} lines without a matching fill`;
    return differs(`${counts}; ${sums}`, findings);
  }
  const counts = `${fills.trades.rows} fills and ${journal.trades.rows} lines do not match one by one`;
  if (sumsAgree) return passed(`${what}, as sums: ${counts}`);
  return differs(`${sums}; ${counts}`, [{ check: "journal", expected, actual, message: sums }]);
}

/** The fills and the journal of one market. */
interface MarketParts {
  fills: Part;
  journal: Part;
}

/** Compares the fills of a market with its journal. */
export function checkMarketJournal({ fills, journal }: MarketParts): ListCheck {
  return checkJournal({
    fills: fills.tally,
    journal: journal.tally,
    // The futures account has no journal.
    currency: currencyOfMarket[fills.market as Market],
    fillRows: () => fills.trades(),
    lineRows: () => journal.trades(),
  });
}

/** Returns whether the journal has one line per fill, apart from a few wrong or missing lines. */
function isLineByLine(
  { fills, journal, fillRows, lineRows }: JournalCheckOptions,
  sumsAgree: boolean,
): boolean {
  if (fills.rows === 0) return true;
  const { trades } = journal;
  const isSame = fills.trades.rows === trades.rows;
  if (fills.trades.hasCountsOf(trades) && trades.bought <= 1 && trades.sold <= 1) return true;
  if (!isSame && sumsAgree) return false;
  const pairs = countPairs(fillRows, lineRows);
  return isSame ? pairs > 0 : pairs * 2 > Math.max(fills.trades.rows, trades.rows);
}

const wordOf = { bought: "purchase", sold: "sale" } as const;

function unmatchedFill({ rowKey, side, net }: TradeRow, currency: string): ListFinding {
  const message = `the journal has no line of ${net} ${currency} for this ${wordOf[side]}`;
  return { check: "journal", list: "fills", rowKey, expected: net, actual: "no line", message };
}

function unmatchedLine({ rowKey, side, net }: TradeRow, currency: string): ListFinding {
  const message = `no ${wordOf[side]} matches the ${net} ${currency} of this line`;
  return { check: "journal", list: "fund_journal", rowKey, expected: "no line", actual: net, message };
}

/** Compares the filled quantities of fills and orders, by symbol and side. */
export function checkOrders(fills: Tally, orders: Tally): ListCheck {
  if (orders.rows === 0 && fills.rows > 0) {
    const message = `the list of orders is empty, but there are ${fills.rows} fills`;
    return differs(message, [{
      check: "orders",
      expected: "orders",
      actual: `${fills.rows} fills`,
      message,
    }]);
  }
  const names = [...new Set([...fills.filled.names, ...orders.filled.names])].sort();
  const findings: RowFinding[] = [];
  for (const name of names) {
    const [expected, actual] = [orders.filled.get(name) ?? "0", fills.filled.get(name) ?? "0"];
    if (compare(expected, actual) === 0) continue;
    const message = `${name}: the orders show ${expected} filled, the fills total ${actual}`;
    findings.push({ check: "orders", expected, actual, message });
  }
  if (findings.length > 0) {
    return differs(`${findings.length} of ${names.length} differ`, findings);
  }
  return passed(
    `filled quantities of ${
      names.filter((name) => !isZero(fills.filled.get(name) ?? "0")).length
    } symbols and sides`,
  );
}
