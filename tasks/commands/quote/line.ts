/**
 * Formats a quote as one row of a table, for `quote` and `watch`.
 *
 * @module
 */
import { compare, type Decimal, divide, multiply, priceText, subtract } from "../../../lib/decimal.ts";
import { zoneOf } from "../../../lib/client/security.ts";
import type { BookLevel, Quote } from "../../../lib/operations/quotes.ts";
import { clockText, instantIn, utcText, ZONE_NAME } from "../../terminal/market_time.ts";
import type { Color, Column } from "../../terminal/print.ts";

/** Returns the change since the previous close in percent; `undefined` without a last price or a previous close. */
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

/** A security with its quote and the best level of each side of its order book. */
export interface QuoteRow {
  symbol: string;
  quote?: Quote;
  /** Best level of the order book on the buying side. */
  bid?: BookLevel;
  /** Best level of the order book on the selling side. */
  ask?: BookLevel;
}

/** Returns the time of a quote, Unix milliseconds. The broker writes it in the time zone of the exchange. */
export function quotedAt({ symbol, quote }: QuoteRow): number | undefined {
  const time = quote?.tradeTime || quote?.marketTime || "";
  return instantIn(zoneOf(symbol), time.slice(0, 8), time.slice(8));
}

type QuoteColumn = Column<QuoteRow>;

/** Returns the column of a price: short in a table, and with every digit in CSV. */
const priceColumn = (title: string, of: (row: QuoteRow) => Decimal | undefined): QuoteColumn => ({
  title,
  of: (row) => priceText(of(row)),
  exact: of,
  align: "right",
});

/**
 * Returns the columns of a quote table, most important first.
 *
 * @param now The present. A quote of another day is shown with its date.
 */
export function quoteColumns(now: number): readonly QuoteColumn[] {
  const color = ({ quote }: QuoteRow) => quote === undefined ? undefined : colorOf(quote);
  const change = ({ quote }: QuoteRow) => quote === undefined ? undefined : changePercent(quote);
  return [
    { title: "symbol", id: true, of: ({ symbol }) => symbol },
    { ...priceColumn("last", ({ quote }) => quote?.lastPrice), color },
    {
      title: "change",
      of: (row) => {
        const percent = change(row);
        return percent === undefined ? "" : `${percent.startsWith("-") ? "" : "+"}${percent}%`;
      },
      exact: change,
      align: "right",
      color,
    },
    priceColumn("bid", ({ bid }) => bid?.price),
    priceColumn("ask", ({ ask }) => ask?.price),
    {
      title: `time (${ZONE_NAME})`,
      name: "time",
      of: (row) => {
        if (row.quote?.isSuspended) return "suspended";
        const at = quotedAt(row);
        return at === undefined ? "" : clockText(at, now);
      },
      exact: (row) => utcText(quotedAt(row)),
    },
    priceColumn("high", ({ quote }) => quote?.highPrice),
    priceColumn("low", ({ quote }) => quote?.lowPrice),
    {
      title: "volume",
      of: ({ quote }) => shortCount(quote?.volume),
      exact: ({ quote }) => quote?.volume,
      align: "right",
    },
    priceColumn("open", ({ quote }) => quote?.openPrice),
    { ...priceColumn("previous close", ({ quote }) => quote?.previousClose), name: "close", extra: true },
    {
      title: "bid size",
      name: "bid-size",
      extra: true,
      of: ({ bid }) => bid?.volume ?? "",
      align: "right",
    },
    {
      title: "ask size",
      name: "ask-size",
      extra: true,
      of: ({ ask }) => ask?.volume ?? "",
      align: "right",
    },
    {
      title: "suspended",
      extra: true,
      of: ({ quote }) => quote?.isSuspended ? "yes" : "",
    },
  ];
}
