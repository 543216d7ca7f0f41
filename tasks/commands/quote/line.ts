/**
 * Formats a quote as one row of a table, for `quote` and `watch`.
 *
 * @module
 */
import { compare, type Decimal, divide, multiply, round, subtract } from "../../../lib/decimal.ts";
import type { Quote } from "../../../lib/operations/quotes.ts";
import type { Color, Column } from "../../terminal/print.ts";

/** Formats a price with two to four decimals. Returns an empty text for an absent price. */
export function priceText(value: Decimal | undefined): string {
  return value === undefined ? "" : round(value, 4, "half-even").replace(/(\.\d\d\d*?)0+$/, "$1");
}

/** Returns the change since the previous close in percent; `undefined` without a previous close. */
export function changePercent({ lastPrice, previousClose }: Quote): Decimal | undefined {
  if (!isAboveZero(previousClose) || !isAboveZero(lastPrice)) return undefined;
  return divide(multiply(subtract(lastPrice, previousClose), "100"), previousClose, 2, "half-up");
}

function isAboveZero(price: Decimal | undefined): price is Decimal {
  return price !== undefined && compare(price, "0") > 0;
}

/** Returns the colour of a change: green for up and red for down, as in the broker's app by default. */
function colorOf(quote: Quote): Color | undefined {
  const change = changePercent(quote);
  if (change === undefined || /^-?0\.?0*$/.test(change)) return undefined;
  return change.startsWith("-") ? "red" : "green";
}

/** Formats a number in short form, such as `12.3M`. Returns an empty text for an absent number. */
export function shortCount(text: string | undefined): string {
  if (text === undefined) return "";
  const value = Number(text);
  if (!Number.isFinite(value) || value === 0) return text;
  const units = [[1e9, "B"], [1e6, "M"], [1e3, "K"]] as const;
  const [unit, letter] = units.find(([each]) => Math.abs(value) >= each) ?? [1, ""];
  return unit === 1 ? text : `${(value / unit).toPrecision(value / unit >= 100 ? 4 : 3)}${letter}`;
}

/** Formats `yyyyMMddHHmmss` as a time of day. */
function timeText(text: string | undefined): string {
  const match = /^\d{8}(\d\d)(\d\d)(\d\d)/.exec(text ?? "");
  return match === null ? text ?? "" : `${match[1]}:${match[2]}:${match[3]}`;
}

/** Columns of a quote table, most important first. */
export const quoteColumns: readonly Column<Quote>[] = [
  { title: "symbol", id: true, of: ({ security }) => security?.symbol ?? "" },
  { title: "last", of: (quote) => priceText(quote.lastPrice), align: "right", color: colorOf },
  {
    title: "change",
    of: (quote) => {
      const change = changePercent(quote);
      return change === undefined ? "" : `${change.startsWith("-") ? "" : "+"}${change}%`;
    },
    align: "right",
    color: colorOf,
  },
  { title: "open", of: (quote) => priceText(quote.openPrice), align: "right" },
  { title: "high", of: (quote) => priceText(quote.highPrice), align: "right" },
  { title: "low", of: (quote) => priceText(quote.lowPrice), align: "right" },
  { title: "volume", of: (quote) => shortCount(quote.volume), align: "right" },
  { title: "time", of: (quote) => quote.isSuspended ? "suspended" : timeText(quote.tradeTime) },
];
