/**
 * What is counted and checked while rows pass by: sums per fee, side and journal type, and what each row says
 * about itself.
 *
 * @module
 */
import { type Decimal, DecimalSum, isDecimal } from "../decimal.ts";
import { type AnyRow, dayBookColumns } from "./columns.ts";
import { checkAmount, checkFees } from "./row_checks.ts";
import { netOf, sideOfFill, sideOfLine, TradePrint } from "./trades.ts";
import type { CheckName, DayBookList, DayBookMarket, Difference } from "./types.ts";

/** A difference before it is known which day, market and list it belongs to. */
export type RowFinding = Pick<Difference, "check" | "expected" | "actual" | "message">;

/** One of a check that looks at one row at a time. */
type OwnFinding = RowFinding & { check: RowCheck };

/** How often a check was made, and how it went. */
export interface CheckCount {
  passed: number;
  differs: number;
  notCheckable: number;
}

/** Exact sums by name; a name is there once something was added to it. */
export class Sums {
  readonly #sums = new Map<string, DecimalSum>();

  add(name: string, value: string): void {
    let sum = this.#sums.get(name);
    if (sum === undefined) this.#sums.set(name, sum = new DecimalSum());
    sum.add(value);
  }

  get(name: string): string | undefined {
    return this.#sums.get(name)?.toString();
  }

  get names(): string[] {
    return [...this.#sums.keys()];
  }
}

/** What is known about the rows of one list of one market and day. */
export interface Tally {
  rows: number;
  /** Fills without a total of fees. */
  withoutFees: number;
  /** Fills whose money is not in the sums: amount or side cannot be read. */
  withoutMoney: number;
  /** Rows that equal an earlier one in all that identifies them. */
  repeated: number;
  /** `bought`, `sold`, and each fee by its name. */
  readonly money: Sums;
  /** Fills with amount, side and fees, or journal lines of trades. */
  readonly trades: TradePrint;
  /** Filled quantity by symbol and side. */
  readonly filled: Sums;
  /** Amount by journal type. */
  readonly journal: Sums;
  /** Lines by journal type. */
  readonly journalLines: Map<string, number>;
  /** Codes that no table lists, by column. */
  readonly unlisted: Map<string, number>;
  /** Rows of the history that do not say their day. */
  undated: number;
  /** Members that the catalogue does not know, by their path on the wire, with the number of rows. */
  readonly unknown: Map<string, number>;
  /** Fees among them, by their name on the wire. */
  readonly unknownFees: Sums;
  readonly checks: Readonly<Record<RowCheck, CheckCount>>;
}

/** Checks that look at one row at a time. */
export type RowCheck = Extract<CheckName, "fees" | "amounts" | "values">;

const noCount = (): CheckCount => ({ passed: 0, differs: 0, notCheckable: 0 });

/** Starts to count. */
export function newTally(): Tally {
  return {
    rows: 0,
    withoutFees: 0,
    withoutMoney: 0,
    repeated: 0,
    money: new Sums(),
    trades: new TradePrint(),
    filled: new Sums(),
    journal: new Sums(),
    journalLines: new Map(),
    unlisted: new Map(),
    undated: 0,
    unknown: new Map(),
    unknownFees: new Sums(),
    checks: { fees: noCount(), amounts: noCount(), values: noCount() },
  };
}

const isMarketName = (market: unknown) => typeof market === "string" && !market.startsWith("unlisted:");

/** What the rows of a list are looked at for. */
export interface Looking {
  list: DayBookList;
  market: DayBookMarket;
  day: string;
  /** Fills of one order and day are merged into one row with a mean price. */
  merged: boolean;
  /** Fees of the row that the catalogue does not know. */
  unknownFees?: readonly Decimal[];
}

/** Columns of each list that have a code table, and those that hold decimals. */
const coded = columnsWhere((column) => column.codes !== undefined);
function columnsWhere(wanted: (column: (typeof dayBookColumns)["fills"][number]) => boolean) {
  const lists = Object.entries(dayBookColumns).map(([list, columns]) =>
    [list, columns.filter(wanted).map(({ name }) => name)] as const
  );
  return Object.fromEntries(lists) as Record<DayBookList, string[]>; // the same lists
}

/** Counts a row and returns what is wrong with it. */
export function look(tally: Tally, row: AnyRow, looking: Looking): OwnFinding[] {
  const findings: OwnFinding[] = [];
  tally.rows++;
  for (const column of coded[looking.list]) {
    const value = row[column];
    if (typeof value === "string" && value.startsWith("unlisted:")) {
      const name = `${column} ${value.slice("unlisted:".length)}`;
      tally.unlisted.set(name, (tally.unlisted.get(name) ?? 0) + 1);
    }
  }
  lookAtPlace(row, looking, findings);
  if (looking.list === "fills") lookAtFill(tally, row, looking, findings);
  else if (looking.list === "orders") lookAtOrder(tally, row, findings);
  else if (looking.list === "fund_journal") lookAtLine(tally, row, findings);
  for (const { check } of findings) tally.checks[check].differs++;
  if (!findings.some(({ check }) => check === "values")) tally.checks.values.passed++;
  return findings;
}

/** A date in front, with or without separators; a count of seconds since some day is none. */
const DAY_AT_START = /^((?:19|20)\d\d)\D?(0[1-9]|1[0-2])\D?(0[1-9]|[12]\d|3[01])/;

/** Returns the day that a date or a time starts with, `yyyy-MM-dd`. */
export function dayAtStart(text: unknown): string | undefined {
  return typeof text === "string" ? DAY_AT_START.exec(text)?.slice(1).join("-") : undefined;
}

function lookAtPlace(row: AnyRow, { day, market }: Looking, findings: OwnFinding[]): void {
  if (typeof row.date === "string" && row.date !== day) {
    findings.push(finding("values", day, row.date, `the row carries the date ${row.date}`));
  }
  const dayOfTime = dayAtStart(row.time);
  if (dayOfTime !== undefined && dayOfTime !== day) {
    findings.push(finding("values", day, String(row.time), `the line carries the time ${row.time}`));
  }
  if (isMarketName(row.market) && row.market !== market) {
    findings.push(
      finding("values", market, String(row.market), `the row belongs to the market "${row.market}"`),
    );
  }
}

function finding(check: RowCheck, expected: string, actual: string, message: string): OwnFinding {
  return { check, expected, actual, message };
}

/** Reads a decimal; one that is there and cannot be read is a finding. */
function decimalOf(row: AnyRow, name: string, findings: OwnFinding[]): string | undefined {
  const value = row[name];
  if (value === undefined) return undefined;
  if (isDecimal(value)) return value;
  findings.push(finding("values", "a decimal", String(value), `${name} is not a decimal`));
  return undefined;
}

function lookAtFill(tally: Tally, row: AnyRow, looking: Looking, findings: OwnFinding[]): void {
  const price = decimalOf(row, "fillPrice", findings);
  const quantity = decimalOf(row, "filledQuantity", findings);
  const amount = decimalOf(row, "fillAmount", findings);
  const symbol = String(row.symbol);
  if (quantity !== undefined) tally.filled.add(`${symbol} ${row.side}`, quantity);
  // The catalogue's record of fees.
  const total = lookAtFees(tally, row.fees as AnyRow | undefined, looking.unknownFees, findings);
  const side = sideOfFill(row.side);
  if (amount === undefined || side === undefined) tally.withoutMoney++;
  else {
    tally.money.add(side, amount);
    if (total !== undefined) tally.trades.add(side, netOf(side, amount, total));
  }
  if (price === undefined || quantity === undefined || amount === undefined) {
    tally.checks.amounts.notCheckable++;
    return;
  }
  const wrong = checkAmount({
    symbol,
    market: looking.market,
    merged: looking.merged,
    price,
    quantity,
    amount,
  });
  if (wrong === undefined) tally.checks.amounts.passed++;
  else findings.push({ check: "amounts", ...wrong });
}

/** Returns the total of the fees, where there is one. */
function lookAtFees(
  tally: Tally,
  fees: AnyRow | undefined,
  unknownFees: readonly Decimal[] = [],
  findings: OwnFinding[],
): string | undefined {
  const items: string[] = [];
  let total: string | undefined;
  for (const name in fees) {
    const value = decimalOf(fees, name, findings);
    if (value === undefined) continue;
    tally.money.add(name, value);
    if (name === "total") total = value;
    else items.push(value);
  }
  if (total === undefined) {
    tally.withoutFees++;
    tally.checks.fees.notCheckable++;
    return undefined;
  }
  let wrong = checkFees(items, total);
  // Whether a fee that nobody knows is part of the total shows only in the sum.
  if (wrong !== undefined && unknownFees.length > 0) {
    wrong = checkFees([...items, ...unknownFees], total) && wrong;
  }
  if (wrong === undefined) tally.checks.fees.passed++;
  else findings.push({ check: "fees", ...wrong });
  return total;
}

function lookAtOrder(tally: Tally, row: AnyRow, findings: OwnFinding[]): void {
  const quantity = decimalOf(row, "filledQuantity", findings);
  if (quantity !== undefined) tally.filled.add(`${String(row.symbol)} ${row.side}`, quantity);
}

function lookAtLine(tally: Tally, row: AnyRow, findings: OwnFinding[]): void {
  const type = typeof row.type === "string" ? row.type : "unnamed";
  tally.journalLines.set(type, (tally.journalLines.get(type) ?? 0) + 1);
  const amount = decimalOf(row, "amount", findings);
  if (amount === undefined) return;
  tally.journal.add(type, amount);
  const side = sideOfLine(type);
  if (side !== undefined) tally.trades.add(side, amount);
}
