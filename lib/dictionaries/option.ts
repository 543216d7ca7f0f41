/**
 * Code tables for options: call or put, and moneyness.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

export const optionTypeCodes = {
  C: ["call", "call"],
  P: ["put", "put"],
} as const;
/** Whether an option is a call or a put. */
export const OptionType: DictionaryOf<typeof optionTypeCodes> = dictionary({
  wire: "optionType",
  type: "string",
  source: "API document, community Go SDK",
  values: optionTypeCodes,
});
/** Whether an option is a call or a put. */
export type OptionType = NameOf<typeof OptionType>;

const moneynessCodes = {
  "1": ["in-the-money", "in the money"],
  "2": ["out-of-the-money", "out of the money"],
} as const;
/** Whether an option is in the money. */
export const Moneyness: DictionaryOf<typeof moneynessCodes> = dictionary({
  wire: "flagInOut",
  type: "int",
  source: "API document, community Go SDK",
  values: moneynessCodes,
});
/** Whether an option is in the money. */
export type Moneyness = NameOf<typeof Moneyness>;
