/**
 * What the lists of one market and day have to say about each other.
 *
 * @module
 */
import { compare, DecimalSum, isZero, negate, subtract } from "../decimal.ts";
import type { Market } from "../dictionaries/market.ts";
import { currencyOfMarket } from "./columns.ts";
import type { Part } from "./part.ts";
import type { RowFinding, Tally } from "./tally.ts";
import { countPairs, findAlone, type TradeRow, type TradeRows, tradeTypes } from "./trades.ts";
import type { DayBookList } from "./types.ts";

/** A difference between lists; one that is about a row names it and its list. */
export interface ListFinding extends RowFinding {
  list?: DayBookList;
  rowKey?: string;
}

/** How a check over whole lists went. */
export interface ListCheck {
  result: "passed" | "differs" | "not-checkable";
  /** What was compared, or why it could not be. */
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

/** Money that the fills moved: what was sold, less what was bought, less all fees. */
export function cashOfFills({ money }: Tally): string {
  return new DecimalSum()
    .add(money.get("sold") ?? "0")
    .add(negate(money.get("bought") ?? "0"))
    .add(negate(money.get("total") ?? "0"))
    .toString();
}

/** What a journal is compared with. */
export interface JournalCheckOptions {
  fills: Tally;
  journal: Tally;
  currency: string;
  /** Reads the fills again, to name those that are alone. */
  fillRows: TradeRows;
  /** Reads the journal's lines for trades again. */
  lineRows: TradeRows;
}

/**
 * Compares the fills with the journal's lines for trades: each fill is one line, net of its fees.
 *
 * A broker may book otherwise, such as one line per order. So where the numbers of rows differ and the sums are
 * equal, or not one row has a partner, the sums alone count, and the detail says so.
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
      `the journal has no line for a trade; the ${fills.rows} fills net of fees come to ${expected} ${currency}`;
    return differs(message, [{ check: "journal", expected, actual: "no lines", message }]);
  }
  const sum = new DecimalSum();
  for (const name of names) sum.add(journal.journal.get(name) ?? "0");
  const actual = sum.toString();
  const what = `${actual} ${currency} in the fills net of fees and in ${names.join(", ")}`;
  if (fills.trades.equals(journal.trades)) return passed(`${what}, line by line`);
  const isTied = compare(expected, actual) === 0;
  const sums = isTied
    ? `the sums are equal, ${actual} ${currency}`
    : `the fills net of fees come to ${expected} ${currency}, the journal to ${actual} (off by ${
      subtract(actual, expected)
    })`;
  if (isLineByLine(options, isTied)) {
    const alone = findAlone(options.fillRows, options.lineRows);
    const findings = [
      ...alone.fills.map((row) => loneFill(row, currency)),
      ...alone.lines.map((row) => loneLine(row, currency)),
    ];
    const counts =
      `${alone.fills.length} fills without their line, ${alone.lines.length} lines without their fill`;
    return differs(`${counts}; ${sums}`, findings);
  }
  const counts = `${fills.trades.rows} fills and ${journal.trades.rows} lines do not match one by one`;
  if (isTied) return passed(`${what}, as sums: ${counts}`);
  return differs(`${sums}; ${counts}`, [{ check: "journal", expected, actual, message: sums }]);
}

/** The lists of one market that a tie compares. */
export interface TiedParts {
  fills: Part;
  journal: Part;
}

/** Compares the fills of a market with its journal. */
export function journalTie({ fills, journal }: TiedParts): ListCheck {
  return checkJournal({
    fills: fills.tally,
    journal: journal.tally,
    // The futures account has no journal.
    currency: currencyOfMarket[fills.market as Market],
    fillRows: () => fills.trades(),
    lineRows: () => journal.trades(),
  });
}

/** Tells whether the journal has a line for each fill, but for some that are wrong or missing. */
function isLineByLine({ fills, journal, fillRows, lineRows }: JournalCheckOptions, isTied: boolean): boolean {
  if (fills.rows === 0) return true;
  const { trades } = journal;
  const isSame = fills.trades.rows === trades.rows;
  if (fills.trades.hasCountsOf(trades) && trades.bought <= 1 && trades.sold <= 1) return true;
  if (!isSame && isTied) return false;
  const pairs = countPairs(fillRows, lineRows);
  return isSame ? pairs > 0 : pairs * 2 > Math.max(fills.trades.rows, trades.rows);
}

const wordOf = { bought: "purchase", sold: "sale" } as const;

function loneFill({ rowKey, side, net }: TradeRow, currency: string): ListFinding {
  const message = `the journal has no line of ${net} ${currency} for this ${wordOf[side]}`;
  return { check: "journal", list: "fills", rowKey, expected: net, actual: "no line", message };
}

function loneLine({ rowKey, side, net }: TradeRow, currency: string): ListFinding {
  const message = `no ${wordOf[side]} comes to the ${net} ${currency} of this line`;
  return { check: "journal", list: "fund_journal", rowKey, expected: "no line", actual: net, message };
}

/** Compares the filled quantities of fills and orders, by symbol and side. */
export function checkOrders(fills: Tally, orders: Tally): ListCheck {
  if (orders.rows === 0 && fills.rows > 0) {
    const message = `the list of orders is empty, and there are ${fills.rows} fills`;
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
    const message = `${name}: the orders say ${expected} filled, the fills come to ${actual}`;
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
