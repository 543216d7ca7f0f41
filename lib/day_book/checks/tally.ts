/**
 * Counts and checks rows while they are read. Computes sums by fee, side and journal type. Checks for each fill that
 * its fees add up to their total, and that its amount is price times quantity.
 *
 * @module
 */
import {
  absolute,
  add,
  compare,
  type Decimal,
  DecimalSum,
  isDecimal,
  isProduct,
  multiply,
  subtract,
  sumOf,
} from "../../decimal.ts";
import { optionMultiplier } from "../../facts/contracts.ts";
import { readOptionCode } from "../../operations/option_code.ts";
import { type AnyRow, dayBookColumns } from "../rows/columns.ts";
import { netOf, sideOfFill, sideOfLine, TradeDigest } from "../rows/trades.ts";
import type { CheckName, DayBookList, DayBookMarket, Difference } from "../types.ts";

/** A difference before its day, market and list are known. */
export type RowFinding = Pick<Difference, "check" | "expected" | "actual" | "message">;

/** A finding of a check that examines one row at a time. */
type OwnFinding = RowFinding & { check: RowCheck };

/** Number of rows with each result of a check. */
interface CheckCount {
  passed: number;
  differs: number;
  notCheckable: number;
}

/** Exact sums by name. A name without a value is absent. */
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

/** Counts and sums over the rows of one list of one market and day. */
export interface Tally {
  rows: number;
  /** Number of fills without a total of fees. */
  withoutFees: number;
  /** Number of fills that are missing from the sums, because their amount or side is absent or unreadable. */
  withoutMoney: number;
  /** Number of rows whose identifying fields equal those of an earlier row. */
  repeated: number;
  /** Sums of the amounts `bought` and `sold`, and of each fee by its name. */
  readonly money: Sums;
  /** The fills that have amount, side and fees, or the journal lines of trades. */
  readonly trades: TradeDigest;
  /** Filled quantity by symbol and side. */
  readonly filled: Sums;
  /** Amount by journal type. */
  readonly journal: Sums;
  /** Lines by journal type. */
  readonly journalLines: Map<string, number>;
  /** Codes that no table lists, by column, with the number of rows. */
  readonly unlisted: Map<string, number>;
  /** Number of history rows without a date. */
  undated: number;
  /** Members that the catalogue does not contain, by their path on the wire, with the number of rows. */
  readonly unknown: Map<string, number>;
  /** Fees that the catalogue does not contain, by their name on the wire. */
  readonly unknownFees: Sums;
  readonly checks: Readonly<Record<RowCheck, CheckCount>>;
}

/** Checks that examine one row at a time. */
export type RowCheck = Extract<CheckName, "fees" | "amounts" | "values">;

const noCount = (): CheckCount => ({ passed: 0, differs: 0, notCheckable: 0 });

/** Returns an empty tally. */
export function newTally(): Tally {
  return {
    rows: 0,
    withoutFees: 0,
    withoutMoney: 0,
    repeated: 0,
    money: new Sums(),
    trades: new TradeDigest(),
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

/** How to check the rows of a list. */
export interface RowCheckOptions {
  list: DayBookList;
  market: DayBookMarket;
  day: string;
  /** Whether the broker has merged the fills of each order and day into one row with a mean price. */
  merged: boolean;
  /** Fees of the row that the catalogue does not contain. */
  unknownFees?: readonly Decimal[];
}

/** Columns of each list that have a code table. */
const coded = columnsWhere((column) => column.codes !== undefined);
function columnsWhere(wanted: (column: (typeof dayBookColumns)["fills"][number]) => boolean) {
  const lists = Object.entries(dayBookColumns).map(([list, columns]) =>
    [list, columns.filter(wanted).map(({ name }) => name)] as const
  );
  return Object.fromEntries(lists) as Record<DayBookList, string[]>; // `lists` has every list of the day book
}

/** Counts a row and returns its differences. */
export function tallyRow(tally: Tally, row: AnyRow, options: RowCheckOptions): OwnFinding[] {
  const findings: OwnFinding[] = [];
  tally.rows++;
  for (const column of coded[options.list]) {
    const value = row[column];
    if (typeof value === "string" && value.startsWith("unlisted:")) {
      const name = `${column} ${value.slice("unlisted:".length)}`;
      tally.unlisted.set(name, (tally.unlisted.get(name) ?? 0) + 1);
    }
  }
  checkDayAndMarket(row, options, findings);
  if (options.list === "fills") tallyFill(tally, row, options, findings);
  else if (options.list === "orders") tallyOrder(tally, row, findings);
  else if (options.list === "fund_journal") tallyJournalLine(tally, row, findings);
  for (const { check } of findings) tally.checks[check].differs++;
  if (!findings.some(({ check }) => check === "values")) tally.checks.values.passed++;
  return findings;
}

/**
 * A date at the start of a text, with or without separators. A Unix time in seconds (10 digits) or milliseconds (13
 * digits) does not match: from 2030 on, it could begin like a date.
 */
const DAY_AT_START = /^(?!\d{10}$|\d{13}$)((?:19|20)\d\d)\D?(0[1-9]|1[0-2])\D?(0[1-9]|[12]\d|3[01])/;

/** Returns the day at the start of a date or time, as `yyyy-MM-dd`; `undefined` if there is none. */
export function dayAtStart(text: unknown): string | undefined {
  return typeof text === "string" ? DAY_AT_START.exec(text)?.slice(1).join("-") : undefined;
}

function checkDayAndMarket(row: AnyRow, { day, market }: RowCheckOptions, findings: OwnFinding[]): void {
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

/** Returns a decimal member of a row. Adds a finding if the member is present but not a decimal. */
function decimalOf(row: AnyRow, name: string, findings: OwnFinding[]): string | undefined {
  const value = row[name];
  if (value === undefined) return undefined;
  if (isDecimal(value)) return value;
  findings.push(finding("values", "a decimal", String(value), `${name} is not a decimal`));
  return undefined;
}

function tallyFill(tally: Tally, row: AnyRow, options: RowCheckOptions, findings: OwnFinding[]): void {
  const price = decimalOf(row, "fillPrice", findings);
  const quantity = decimalOf(row, "filledQuantity", findings);
  const amount = decimalOf(row, "fillAmount", findings);
  const symbol = String(row.symbol);
  if (quantity !== undefined) tally.filled.add(`${symbol} ${row.side}`, quantity);
  // `row.fees` is the catalogue's record of fees.
  const total = tallyFees(tally, row.fees as AnyRow | undefined, options.unknownFees, findings);
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
    market: options.market,
    merged: options.merged,
    price,
    quantity,
    amount,
  });
  if (wrong === undefined) tally.checks.amounts.passed++;
  else findings.push({ check: "amounts", ...wrong });
}

/** Adds up the fees of a fill. Returns their total, if the row has one. */
function tallyFees(
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
  // The total may include the unknown fees or not. Accept either.
  if (wrong !== undefined && unknownFees.length > 0) {
    wrong = checkFees([...items, ...unknownFees], total) && wrong;
  }
  if (wrong === undefined) tally.checks.fees.passed++;
  else findings.push({ check: "fees", ...wrong });
  return total;
}

function tallyOrder(tally: Tally, row: AnyRow, findings: OwnFinding[]): void {
  const quantity = decimalOf(row, "filledQuantity", findings);
  if (quantity !== undefined) tally.filled.add(`${String(row.symbol)} ${row.side}`, quantity);
}

function tallyJournalLine(tally: Tally, row: AnyRow, findings: OwnFinding[]): void {
  const type = typeof row.type === "string" ? row.type : "unnamed";
  tally.journalLines.set(type, (tally.journalLines.get(type) ?? 0) + 1);
  const amount = decimalOf(row, "amount", findings);
  if (amount === undefined) return;
  tally.journal.add(type, amount);
  const side = sideOfLine(type);
  if (side !== undefined) tally.trades.add(side, amount);
}

/** Two values that should be equal, and a message about their difference. */
interface Disagreement {
  expected: string;
  actual: string;
  message: string;
}

/** Compares the sum of the fee items with their total, exactly. Returns `undefined` if they agree. */
export function checkFees(items: readonly Decimal[], total: Decimal): Disagreement | undefined {
  const rest = new DecimalSum();
  for (const item of items) rest.add(item);
  if (rest.subtract(total).isZero) return undefined;
  const sum = sumOf(items);
  return { expected: sum, actual: total, message: `the fees add up to ${sum}, but the total is ${total}` };
}

/** A fill's price, quantity and amount. */
interface AmountInput {
  symbol: string;
  market: DayBookMarket;
  /** Whether the price is a mean, which the broker may have rounded. */
  merged: boolean;
  price: Decimal;
  quantity: Decimal;
  amount: Decimal;
}

/** Half a cent. Amounts have two decimals in every currency of the account. */
const HALF_CENT = "0.005";

/**
 * Only fills of Hong Kong are merged, and no tick there has more decimals than this. So a merged fill whose price has
 * more decimals has a mean price.
 */
const TICK_DECIMALS = 3;

/**
 * Compares the amount with price times quantity. Returns `undefined` if they agree. Allows for two roundings by the
 * broker. It rounds the amount to the cent. It may also round a mean price in its last decimal; this error is
 * multiplied by the quantity.
 */
export function checkAmount(input: AmountInput): Disagreement | undefined {
  const { symbol, market, merged, price, quantity, amount } = input;
  const isOption = market === "us" && readOptionCode(symbol) !== undefined;
  const units = isOption ? multiply(quantity, optionMultiplier) : quantity;
  if (isProduct(price, units, amount)) return undefined;
  const expected = multiply(price, units);
  const off = absolute(subtract(amount, expected));
  const decimals = decimalsOf(price);
  const slack = merged && decimals > TICK_DECIMALS
    ? add(HALF_CENT, multiply(`0.${"0".repeat(decimals)}5`, absolute(units)))
    : HALF_CENT;
  if (compare(off, slack) <= 0) return undefined;
  const times = isOption ? `, times ${optionMultiplier}` : "";
  return {
    expected,
    actual: amount,
    message: `${price} times ${quantity}${times} is ${expected}, but the amount is ${amount} (off by ${off})`,
  };
}

function decimalsOf(price: Decimal): number {
  return price.split(/e/i)[0]!.split(".")[1]?.length ?? 0;
}
