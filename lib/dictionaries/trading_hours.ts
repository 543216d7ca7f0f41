/**
 * Code table for the trading hours in which an order is valid.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const tradingHoursCodes = {
  "0": ["no-extended", "no extended session"],
  "1": ["extended", "extended session"],
  "3": ["regular", "regular session only"],
  "5": ["hk-regular-and-dark", "HK regular plus dark pool"],
  "6": ["us-extended-only", "US pre and after only"],
  "7": ["us-regular-and-extended", "US regular plus pre and after"],
  "8": ["us-pre-market", "US pre only"],
  "9": ["us-after-hours", "US after only"],
} as const;
/** Trading hours in which an order is active. */
export const TradingHours: DictionaryOf<typeof tradingHoursCodes> = dictionary({
  wire: "sessionType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: tradingHoursCodes,
});
/** Trading hours in which an order is active. */
export type TradingHours = NameOf<typeof TradingHours>;
