/**
 * Exports day books: the fills, fees, orders and fund journal of trading days, and checks them.
 *
 * Each day is a folder under `out`, named by its date. The folder is either complete or absent:
 *
 * | File | Content |
 * |---|---|
 * | `fills`, `orders`, `fund_journal` as `.csv` and `.jsonl` | rows of all markets, in the broker's order, market by market |
 * | `futures_fills`, `futures_orders` likewise | the futures account, unless it is left out or the broker rejects the query |
 * | `rebalance_trades` likewise | the trades of rebalancing plans with slippage and fees; only with the option `rebalanceTrades` |
 * | `fills.history` and so on | only on a provisional day: rows of the list that was not chosen (history or today's list), if they add something |
 * | `fills.wire.jsonl` and so on | the rows as the broker sent them; only with the option `wire` |
 * | `columns.json` | every column: its member on the wire (`fareVo.fare0`), meaning, unit and code table |
 * | `summary.json` | status, row counts, completeness, totals, checks, size and SHA-256 of each file |
 * | `differences.csv` | every mismatch that a check found, row by row; only if there are any |
 *
 * If a new reading contradicts a day, both are kept: the new reading is in a folder such as `2025-08-15.disputed-1`.
 * `account.json` identifies the account. `docs/day_book.md` describes the rules.
 *
 * The content of these files does not depend on when or where the export ran. A market's date is the date at
 * its exchange, as the broker reports it.
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
  OrderFills,
  Origin,
  PlanQuality,
  RebalanceDay,
  RebalanceSource,
  RebalanceTrade,
  RecordedOrder,
} from "./types.ts";
export type { ProgressOptions } from "./progress.ts";
