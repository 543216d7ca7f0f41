/**
 * Day books: the fills, fees, orders and fund journal of trading days, exported and checked.
 *
 * Each day is a folder under `out`, named by its date, whole or not there at all:
 *
 * | File | Holds |
 * |---|---|
 * | `fills`, `orders`, `fund_journal` as `.csv` and `.jsonl` | rows of all markets, in the broker's order, market by market |
 * | `futures_fills`, `futures_orders` likewise | the futures account, unless it is left out or refused |
 * | `fills.history` and so on | the broker's other list of a provisional day, when it adds something |
 * | `fills.wire.jsonl` and so on | the rows as the broker sent them, on request |
 * | `columns.json` | every column: its member on the wire (`fareVo.fare0`), meaning, unit and code table |
 * | `summary.json` | status, row counts, completeness, totals, checks, size and SHA-256 of each file |
 * | `differences.csv` | what does not add up, row by row; only when there is something |
 *
 * A reading that contradicts a day is a folder beside it, `2025-08-15.disputed-1`; `account.json` identifies the account.
 * `docs/day_book.md` gives the rules.
 *
 * Nothing in them depends on when or where they were written. A market's date is that of its exchange, as the
 * broker gives it.
 *
 * @module
 */
export { exportDayBook } from "./export.ts";
export { DayBookError } from "./types.ts";
export { ProgressText } from "./progress.ts";

export type {
  CheckName,
  DayAction,
  DayBookAccount,
  DayBookErrorContext,
  DayBookEvent,
  DayBookFormat,
  DayBookList,
  DayBookMarket,
  DayBookOptions,
  DayBookResult,
  DayResult,
  DayStage,
  DayStatus,
  Difference,
  MarketResult,
  Origin,
} from "./types.ts";
export type { ProgressOptions } from "./progress.ts";
