/**
 * Code tables for options: call or put, and moneyness.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const optionTypeCodes = {
  C: ["call", "call"],
  P: ["put", "put"],
} as const;
/** Names for `optionType`. */
export const OptionType: DictionaryOf<typeof optionTypeCodes> = dictionary({
  wire: "optionType",
  type: "string",
  source: "API document, community Go SDK",
  values: optionTypeCodes,
});
/** Names for `optionType`. */
export type OptionType = NameOf<typeof OptionType>;

const moneynessCodes = {
  "1": ["in-the-money", "in the money"],
  "2": ["out-of-the-money", "out of the money"],
} as const;
/** Names for `flagInOut`. */
export const Moneyness: DictionaryOf<typeof moneynessCodes> = dictionary({
  wire: "flagInOut",
  type: "int",
  source: "API document, community Go SDK",
  values: moneynessCodes,
});
/** Names for `flagInOut`. */
export type Moneyness = NameOf<typeof Moneyness>;
