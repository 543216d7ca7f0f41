/**
 * Code tables for types of securities.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const securityTypeCodes = {
  "10000": ["hk-stock", "HK stock"],
  "10001": ["hk-index", "HK index"],
  "10002": ["hk-etf", "HK ETF"],
  "10003": ["hk-warrant", "HK warrant"],
  "10004": ["hk-cbbc", "HK bull/bear certificate"],
  "10005": ["hk-bond", "HK bond"],
  "10006": ["hk-industry-sector", "HK industry sector"],
  "10007": ["hk-concept-sector", "HK concept sector"],
  "10009": ["hk-future", "derivatives future"],
  "10010": ["hk-index-future", "HK index future"],
  "10011": ["hk-stock-future", "HK stock future"],
  "10012": ["hk-dividend-future", "HK HSI dividend future"],
  "10013": ["hk-rmb-future", "HK RMB currency future"],
  "10014": ["hk-china-future", "HK China-service (CES) future"],
  "10015": ["hk-volatility-future", "HSI volatility future"],
  "10016": ["hk-in-range-certificate", "in-range certificate"],
  "20000": ["us-stock", "US stock"],
  "20001": ["us-index", "US index"],
  "20002": ["us-etf", "US ETF"],
  "20003": ["us-option", "US option"],
  "20006": ["us-industry-sector", "US industry sector"],
  "20007": ["us-concept-sector", "US concept sector"],
  "20009": ["us-otc-stock", "US OTC stock (no order book pull or push)"],
  "30000": ["a-share-stock", "A-share stock"],
  "30001": ["a-share-index", "A-share index"],
  "30002": ["a-share-etf", "A-share ETF"],
  "30006": ["a-share-industry", "A-share industry"],
  "30007": ["a-share-concept", "A-share concept"],
  "30008": ["star-board-stock", "STAR board"],
} as const;
/** Type of a security, with its market. */
export const SecurityType: DictionaryOf<typeof securityTypeCodes> = dictionary({
  wire: "dataType",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: securityTypeCodes,
});
/** Type of a security, with its market. */
export type SecurityType = NameOf<typeof SecurityType>;

const stockTypeCodes = {
  "0": ["stock", "stock"],
  "1": ["fund", "fund"],
  "2": ["dividend", "dividend"],
  D: ["warrant", "warrant"],
  F: ["basket-warrant", "basket warrant"],
  U: ["bond", "bond"],
} as const;
/** Type of a security, from a table of the community Go SDK. */
export const StockType: DictionaryOf<typeof stockTypeCodes> = dictionary({
  wire: "stockType",
  type: "string",
  source: "community Go SDK",
  values: stockTypeCodes,
});
/** Type of a security, from a table of the community Go SDK. */
export type StockType = NameOf<typeof StockType>;
