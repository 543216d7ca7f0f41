/**
 * Code tables for query options: query type, client type, exchange rate type, yes or no.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const queryTypeCodes = {
  "0": ["default", "default"],
  "1": ["margin", "margin"],
} as const;
/** Names for `queryType`. */
export const QueryType: DictionaryOf<typeof queryTypeCodes> = dictionary({
  wire: "queryType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2",
  values: queryTypeCodes,
});
/** Names for `queryType`. */
export type QueryType = NameOf<typeof QueryType>;

const clientTypeCodes = {
  "0": ["internet", "internet"],
} as const;
/** Names for `clientType`. */
export const ClientType: DictionaryOf<typeof clientTypeCodes> = dictionary({
  wire: "clientType",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2",
  values: clientTypeCodes,
});
/** Names for `clientType`. */
export type ClientType = NameOf<typeof ClientType>;

const rateTypeCodes = {
  "0": ["swap", "swap (exchange) rate"],
  "1": ["spot", "spot rate"],
} as const;
/** Names for `rateType`. */
export const RateType: DictionaryOf<typeof rateTypeCodes> = dictionary({
  wire: "rateType",
  type: "string",
  source: "API document",
  values: rateTypeCodes,
});
/** Names for `rateType`. */
export type RateType = NameOf<typeof RateType>;

const yesNoCodes = {
  "0": ["no", "no"],
  "1": ["yes", "yes"],
} as const;
/** Names for `yesNo`. */
export const YesNo: DictionaryOf<typeof yesNoCodes> = dictionary({
  wire: "yesNo",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: yesNoCodes,
});
/** Names for `yesNo`. */
export type YesNo = NameOf<typeof YesNo>;
