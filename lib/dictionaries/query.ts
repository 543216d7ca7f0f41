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
/** Whether a maximum quantity includes margin. */
export const QueryType: DictionaryOf<typeof queryTypeCodes> = dictionary({
  wire: "queryType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2",
  values: queryTypeCodes,
});
/** Whether a maximum quantity includes margin. */
export type QueryType = NameOf<typeof QueryType>;

const clientTypeCodes = {
  "0": ["internet", "internet"],
} as const;
/** Client type of a request. */
export const ClientType: DictionaryOf<typeof clientTypeCodes> = dictionary({
  wire: "clientType",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2",
  values: clientTypeCodes,
});
/** Client type of a request. */
export type ClientType = NameOf<typeof ClientType>;

const rateTypeCodes = {
  "0": ["swap", "swap (exchange) rate"],
  "1": ["spot", "spot rate"],
} as const;
/** Kind of exchange rate. */
export const RateType: DictionaryOf<typeof rateTypeCodes> = dictionary({
  wire: "rateType",
  type: "string",
  source: "API document",
  values: rateTypeCodes,
});
/** Kind of exchange rate. */
export type RateType = NameOf<typeof RateType>;

const yesNoCodes = {
  "0": ["no", "no"],
  "1": ["yes", "yes"],
} as const;
/** Yes or no. */
export const YesNo: DictionaryOf<typeof yesNoCodes> = dictionary({
  wire: "yesNo",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: yesNoCodes,
});
/** Yes or no. */
export type YesNo = NameOf<typeof YesNo>;
