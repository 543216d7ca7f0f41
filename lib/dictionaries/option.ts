/**
 * Code tables for options: call or put, and moneyness.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Names for `optionType`. */
export const OptionType = dictionary({
  wire: "optionType",
  type: "string",
  source: "API document, community Go SDK",
  values: {
    C: ["call", "call"],
    P: ["put", "put"],
  },
});
/** Names for `optionType`. */
export type OptionType = NameOf<typeof OptionType>;

/** Names for `flagInOut`. */
export const Moneyness = dictionary({
  wire: "flagInOut",
  type: "int",
  source: "API document, community Go SDK",
  values: {
    "1": ["in-the-money", "in the money"],
    "2": ["out-of-the-money", "out of the money"],
  },
});
/** Names for `flagInOut`. */
export type Moneyness = NameOf<typeof Moneyness>;
