/**
 * Compares two readings of a list and finds losses of the later reading: missing rows, and amounts that fell.
 *
 * Rows are compared by their keys, journal lines by type and amount. The broker itself changes some rows until it has
 * cleared the day. For those rows, only these values are compared, and they must not fall:
 *
 * - Hong Kong's fills, which the broker merges: the sums of quantity, amount and fees, by listing and side.
 * - Journal lines for trades, which do not include fees yet: their number, unless the later lines agree with the fills.
 *
 * Lines about order requests and freezes belong to the current day, and the history may leave them out.
 *
 * @module
 */
import { FeeItem } from "../../dictionaries/fee_item.ts";
import { add, compare, isDecimal, multiply, normalize } from "../../decimal.ts";
import type { AnyRow } from "../rows/columns.ts";
import { Digest, DigestCounts } from "../rows/keys.ts";
import { Sums } from "./tally.ts";
import { isCurrentDayLine, sideOfLine } from "../rows/trades.ts";
import type { DayBookList, DayBookMarket, Difference, Origin } from "../types.ts";

/** One reading of a list. */
export interface ListReading {
  /** Name for messages, such as "today's list". */
  name: string;
  market: DayBookMarket;
  list: DayBookList;
  origin: Origin;
  /**
   * Whether the broker has cleared the day: the session was over, and every fill of the market had its fees.
   */
  isCleared: boolean;
  /** Yields the rows with column names as members and text as values; may be called more than once. */
  rows: () => Iterable<AnyRow>;
}

/** How to compare two readings. */
interface LossOptions {
  /**
   * Whether both lists belong to one reading: they are the history and today's list. Then only the history has fees
   * and journal lines with fees.
   */
  isOneReading: boolean;
  /** Whether the journal's lines for trades agree with the fills in the later reading, so no line is missing. */
  journalAgrees: boolean;
}

/** A row or value that an earlier reading has and the later one lacks. */
interface Loss extends Pick<Difference, "rowKey" | "expected" | "actual" | "message"> {
  /** Identifies the loss, to compare the losses in several readings. */
  id: string;
}

/** Members of a row whose values may rise but must not fall. */
const watched: Readonly<Record<DayBookList, readonly string[]>> = {
  fills: ["fillAmount", ...FeeItem.names],
  orders: ["filledQuantity", "fillAmount"],
  fund_journal: [],
  futures_fills: [],
  futures_orders: ["filledQuantity"],
  rebalance_trades: ["filledQuantity"],
};
const HALF_CENT = "0.005";

/** Yields the losses that all later readings of a list have in common. */
export function* lostFromAll(
  before: ListReading,
  [now, ...others]: readonly ListReading[],
  options: LossOptions,
): Generator<Omit<Loss, "id">> {
  if (now === undefined) return;
  let elsewhere: Set<string>[] | undefined;
  for (const { id, ...loss } of lossesOf(before, now, options)) {
    elsewhere ??= others.map((each) =>
      new Set([...lossesOf(before, each, options)].map((other) => other.id))
    );
    if (elsewhere.every((lost) => lost.has(id))) yield loss;
  }
}

/** Returns the losses of the later reading. */
export function lossesOf(before: ListReading, now: ListReading, options: LossOptions): Iterable<Loss> {
  if (before.list === "fund_journal") return lostLines(before, now, options);
  const isMerging = before.list === "fills" && before.market === "hk";
  return isMerging && mayChange(before, now)
    ? fallenSums(before, now, options)
    : lostRows(before, now, options);
}

/**
 * Returns whether the broker may have changed rows between the readings. The broker never changes rows of today's list.
 */
function mayChange(before: ListReading, now: ListReading): boolean {
  return before.origin === "history" ? !before.isCleared || now.origin === "today" : now.origin === "history";
}

function missing(row: AnyRow, before: ListReading, now: ListReading): Loss {
  const expected = describe(row);
  const message = `${expected} is in ${before.name} but not in ${now.name}`;
  return { id: String(row.rowKey), ...keyOf(row), expected, actual: "missing", message };
}

function* lostRows(before: ListReading, now: ListReading, { isOneReading }: LossOptions): Generator<Loss> {
  const [keys, same] = [new DigestCounts(), new DigestCounts()];
  const digest = new Digest();
  const names = isOneReading ? [] : watched[before.list];
  const valuesOf = (row: AnyRow) => {
    digest.reset().add(row.rowKey);
    for (const name of names) digest.add(isDecimal(row[name]) ? normalize(row[name]) : row[name]);
    return digest;
  };
  for (const row of now.rows()) {
    keys.next(digest.reset().add(row.rowKey));
    if (names.length > 0) same.next(valuesOf(row));
  }
  const changed = new Map<unknown, AnyRow>();
  for (const row of before.rows()) {
    if (!keys.take(digest.reset().add(row.rowKey))) {
      yield missing(row, before, now);
    } else if (names.some((name) => row[name] !== undefined) && !same.take(valuesOf(row))) {
      changed.set(row.rowKey, row);
    }
  }
  if (changed.size === 0) return;
  for (const row of now.rows()) {
    const old = changed.get(row.rowKey);
    if (old === undefined) continue;
    for (const name of names) {
      const [was, is] = [old[name], row[name]];
      if (!isDecimal(was) || (isDecimal(is) && compare(is, was) >= 0)) continue;
      const actual = is === undefined ? "nothing" : String(is);
      const message = `${describe(old)}: ${name} is ${was} in ${before.name} but ${actual} in ${now.name}`;
      yield { id: `${old.rowKey} ${name}`, ...keyOf(old), expected: was, actual, message };
    }
  }
}

function* fallenSums(before: ListReading, now: ListReading, { isOneReading }: LossOptions): Generator<Loss> {
  const names = ["filledQuantity", "fillAmount", ...isOneReading ? [] : ["total"]];
  const placeOf = ({ symbol, side }: AnyRow) => `${symbol} ${side}`;
  const sumUp = (reading: ListReading) => {
    const [sums, rows] = [new Sums(), new Map<string, number>()];
    for (const row of reading.rows()) {
      const place = placeOf(row);
      rows.set(place, (rows.get(place) ?? 0) + 1);
      for (const name of names) if (isDecimal(row[name])) sums.add(`${place} ${name}`, row[name]);
    }
    return { sums, rows };
  };
  const [was, is] = [sumUp(before), sumUp(now)];
  for (const row of before.rows()) if (!is.rows.has(placeOf(row))) yield missing(row, before, now);
  for (const [place, rows] of was.rows) {
    for (const name of is.rows.has(place) ? names : []) {
      const expected = was.sums.get(`${place} ${name}`);
      const actual = is.sums.get(`${place} ${name}`);
      if (expected === undefined) continue;
      // Each single amount may be rounded to the cent, and the merged amount too.
      const slack = name === "fillAmount" ? multiply(HALF_CENT, String(rows + 1)) : "0";
      if (actual !== undefined && compare(add(actual, slack), expected) >= 0) continue;
      const message =
        `${place}: ${name} totals ${expected} in ${before.name} but ${actual ?? "nothing"} in ` +
        now.name;
      yield { id: `${place} ${name}`, expected, actual: actual ?? "nothing", message };
    }
  }
}

function* lostLines(
  before: ListReading,
  now: ListReading,
  { isOneReading, journalAgrees }: LossOptions,
): Generator<Loss> {
  const isChanging = isOneReading ||
    (before.origin === "history" ? !before.isCleared : now.origin === "history");
  const tradeOf = ({ type }: AnyRow) => isChanging ? sideOfLine(type) : undefined;
  const mayLack = before.origin !== now.origin;
  const lines = new DigestCounts();
  const digest = new Digest();
  const lineOf = ({ type, amount }: AnyRow) =>
    digest.reset().add(type).add(isDecimal(amount) ? normalize(amount) : amount);
  const trades = { bought: 0, sold: 0 };
  for (const row of now.rows()) {
    const side = tradeOf(row);
    if (side === undefined) lines.next(lineOf(row));
    else trades[side]++;
  }
  const traded = { bought: 0, sold: 0 };
  for (const row of before.rows()) {
    const side = tradeOf(row);
    if (side !== undefined) {
      traded[side]++;
      if (!journalAgrees && trades[side] === 0) yield missing(row, before, now);
    } else if (!lines.take(lineOf(row)) && !(mayLack && isCurrentDayLine(row.type))) {
      yield missing(row, before, now);
    }
  }
  if (journalAgrees) return;
  for (const [side, what] of [["bought", "purchases"], ["sold", "sales"]] as const) {
    if (trades[side] >= traded[side] || trades[side] === 0) continue;
    const [expected, actual] = [`${traded[side]} lines`, `${trades[side]} lines`];
    yield {
      id: side,
      expected,
      actual,
      message: `the journal has ${expected} for ${what} in ${before.name} but ${trades[side]} in ${now.name}`,
    };
  }
}

function keyOf({ rowKey }: AnyRow): { rowKey?: string } {
  return typeof rowKey === "string" ? { rowKey } : {};
}

/** Describes a row for a message: a journal line by its type and amount, any other row by the fields of its key. */
function describe(row: AnyRow): string {
  if (row.amount !== undefined) return `${row.type ?? "a line"} of ${row.amount}`;
  const of = [row.orderId === undefined ? "" : `order ${row.orderId}`, row.fillTime].filter(Boolean).join(
    ", ",
  );
  const price = row.fillPrice === undefined ? "" : ` at ${row.fillPrice}`;
  const what = `${row.side} ${row.filledQuantity ?? row.quantity ?? ""} ${row.symbol}${price}`.replaceAll(
    "  ",
    " ",
  );
  return of === "" ? what : `${what} (${of})`;
}
