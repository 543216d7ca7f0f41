/**
 * Code tables for bars (K-lines): interval, price adjustment and direction.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const barIntervalCodes = {
  "2": ["day", "day"],
  "3": ["week", "week"],
  "4": ["month", "month"],
  "5": ["1m", "1 minute"],
  "6": ["5m", "5 minutes"],
  "7": ["15m", "15 minutes"],
  "8": ["30m", "30 minutes"],
  "9": ["60m", "60 minutes"],
  "10": ["120m", "120 minutes"],
  "11": ["quarter", "quarter"],
  "12": ["year", "year"],
  "13": ["5-day", "five days"],
  "14": ["3m", "3 minutes"],
} as const;
/** Interval of a bar. */
export const BarInterval: DictionaryOf<typeof barIntervalCodes> = dictionary({
  wire: "cycType",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: barIntervalCodes,
});
/** Interval of a bar. */
export type BarInterval = NameOf<typeof BarInterval>;

const priceAdjustmentCodes = {
  "0": ["none", "none"],
  "1": ["forward", "forward-adjusted"],
  "2": ["backward", "backward-adjusted"],
} as const;
/** How bars are adjusted for corporate actions. */
export const PriceAdjustment: DictionaryOf<typeof priceAdjustmentCodes> = dictionary({
  wire: "exRightFlag",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  closed: true,
  values: priceAdjustmentCodes,
});
/** How bars are adjusted for corporate actions. */
export type PriceAdjustment = NameOf<typeof PriceAdjustment>;

const directionCodes = {
  "0": ["older", "leftward (older)"],
  "1": ["newer", "rightward (newer)"],
} as const;
/** Whether bars are older or newer than a given time. */
export const Direction: DictionaryOf<typeof directionCodes> = dictionary({
  wire: "direction",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  closed: true,
  values: directionCodes,
});
/** Whether bars are older or newer than a given time. */
export type Direction = NameOf<typeof Direction>;

/**
 * Maximum number of days that one request for minute bars may cover (API document, section 8). For other intervals,
 * the broker limits the number of bars.
 */
export const barDayLimits: Readonly<Partial<Record<BarInterval, number>>> = {
  "1m": 6,
  "3m": 9,
  "5m": 12,
  "15m": 24,
  "30m": 36,
  "60m": 60,
  "120m": 96,
};
