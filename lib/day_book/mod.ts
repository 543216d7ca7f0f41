/**
 * Day books: the fills, fees, orders and fund journal of trading days, exported and checked.
 *
 * @module
 */
export { exportDayBook } from "./export.ts";
export { DayBookError } from "./types.ts";
export { ProgressText } from "./progress.ts";

export type {
  CheckName,
  DayAction,
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
