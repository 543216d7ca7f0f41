/**
 * Code tables for query options: query type, client type, exchange rate type, yes or no.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Names for `queryType`. */
export const QueryType = dictionary({
  wire: "queryType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2",
  values: {
    "0": ["default", "default"],
    "1": ["margin", "margin"],
  },
});
/** Names for `queryType`. */
export type QueryType = NameOf<typeof QueryType>;

/** Names for `clientType`. */
export const ClientType = dictionary({
  wire: "clientType",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2",
  values: {
    "0": ["internet", "internet"],
  },
});
/** Names for `clientType`. */
export type ClientType = NameOf<typeof ClientType>;

/** Names for `rateType`. */
export const RateType = dictionary({
  wire: "rateType",
  type: "string",
  source: "API document",
  values: {
    "0": ["swap", "swap (exchange) rate"],
    "1": ["spot", "spot rate"],
  },
});
/** Names for `rateType`. */
export type RateType = NameOf<typeof RateType>;

/** Names for `yesNo`. */
export const YesNo = dictionary({
  wire: "yesNo",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: {
    "0": ["no", "no"],
    "1": ["yes", "yes"],
  },
});
/** Names for `yesNo`. */
export type YesNo = NameOf<typeof YesNo>;
