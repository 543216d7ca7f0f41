/**
 * Packs daily bars in a compact form: one list of dates per exchange, one text of small whole numbers per
 * symbol.
 *
 * A row is `open high low close volume`. Prices are whole thousandths, because the source has three decimals. The close
 * and the open are differences from the previous close. The high is the difference from the greater of open and close,
 * and the low is the difference from the lesser. Rows are separated by semicolons. The result is about half the size of
 * the table.
 *
 * @module
 */
import { round } from "../../decimal.ts";

/** Number of decimals of a price in the simulated market, so a unit is 0.0001. Stocks under a dollar need four. */
export const PRICE_DECIMALS = 4;

/** Units in one packed thousandth. */
const UNITS_PER_PACKED = 10;

/** The content of `data/bars.json`. */
interface PackedBars {
  /** Session dates by exchange, separated by spaces. */
  dates: Record<string, string>;
  /** Rows by symbol, in the order of the dates of its exchange. */
  rows: Record<string, string>;
}

/** One bar in whole price units (`1` is 0.0001 of the currency) and shares. */
export interface UnitBar {
  open: number;
  high: number;
  low: number;
  close: number;
  volume: number;
}

/**
 * Returns the name of the date list of a symbol: `HK`, `CN` for Shanghai and Shenzhen, which share days, or otherwise
 * `US`.
 */
function exchangeOf(symbol: string): "HK" | "US" | "CN" {
  if (symbol.endsWith(".HK")) return "HK";
  return symbol.endsWith(".SH") || symbol.endsWith(".SZ") ? "CN" : "US";
}

/**
 * Converts a decimal text to whole units. This is exact, because no price here has more than four decimals.
 */
export function toUnits(price: string): number {
  return Number(round(price, PRICE_DECIMALS, "exact").replace(".", ""));
}

/**
 * Packs a table of bars.
 *
 * @throws {RangeError} If a symbol lacks a date of its exchange, a bar contradicts itself, or a price has more than
 * three decimals.
 */
export function packBars(table: readonly Record<string, string>[]): PackedBars {
  const dates = new Map<string, Set<string>>();
  const symbols = new Map<string, Map<string, UnitBar>>();
  for (const row of table) {
    const { symbol = "", date = "", open = "", high = "", low = "", close = "", volume = "" } = row;
    const bar = {
      open: toUnits(open),
      high: toUnits(high),
      low: toUnits(low),
      close: toUnits(close),
      volume: Number(volume),
    };
    if (bar.high < Math.max(bar.open, bar.close) || bar.low > Math.min(bar.open, bar.close)) {
      throw new RangeError(
        `Cannot pack "${symbol}" on ${date}: open or close is outside the range from low to high`,
      );
    }
    const exchange = exchangeOf(symbol);
    dates.set(exchange, (dates.get(exchange) ?? new Set()).add(date));
    symbols.set(symbol, (symbols.get(symbol) ?? new Map()).set(date, bar));
  }
  const sorted = new Map([...dates].map(([exchange, set]) => [exchange, [...set].sort()]));
  return {
    dates: Object.fromEntries([...sorted].map(([exchange, list]) => [exchange, list.join(" ")])),
    rows: Object.fromEntries([...symbols].map(([symbol, bars]) => {
      let before = 0;
      const row = (date: string) => {
        const bar = bars.get(date);
        if (bar === undefined) throw new RangeError(`Cannot pack "${symbol}": no bar on ${date}`);
        const { open, high, low, close, volume } = bar;
        const parts = [
          open - before,
          high - Math.max(open, close),
          Math.min(open, close) - low,
          close - before,
        ];
        if (parts.some((part) => part % UNITS_PER_PACKED !== 0)) {
          throw new RangeError(`Cannot pack "${symbol}" on ${date}: a price has more than three decimals`);
        }
        before = close;
        return [...parts.map((part) => part / UNITS_PER_PACKED), volume].join(" ");
      };
      return [symbol, (sorted.get(exchangeOf(symbol)) ?? []).map(row).join(";")];
    })),
  };
}

/** Unpacks the rows of one symbol, by date. */
export function unpackBars(packed: PackedBars, symbol: string): Map<string, UnitBar> {
  const dates = packed.dates[exchangeOf(symbol)]?.split(" ") ?? [];
  let before = 0;
  const bars = new Map<string, UnitBar>();
  for (const [index, row] of (packed.rows[symbol]?.split(";") ?? []).entries()) {
    const parts = row.split(" ").map(Number);
    const [open = 0, high = 0, low = 0, close = 0] = parts.map((part) => part * UNITS_PER_PACKED);
    const volume = parts[4] ?? 0;
    const [first, last] = [before + open, before + close];
    const bar = {
      open: first,
      high: Math.max(first, last) + high,
      low: Math.min(first, last) - low,
      close: last,
      volume,
    };
    bars.set(dates[index] ?? "", bar);
    before = last;
  }
  return bars;
}
