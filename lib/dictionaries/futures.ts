/**
 * Code tables for futures: positions, margin, order types and validity.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const positionStatusCodes = {
  "0": ["no-position", "no position"],
  "1": ["long", "long"],
  "2": ["short", "short"],
} as const;
/** Names for `positionStatus`. */
export const PositionStatus: DictionaryOf<typeof positionStatusCodes> = dictionary({
  wire: "positionStatus",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: positionStatusCodes,
});
/** Names for `positionStatus`. */
export type PositionStatus = NameOf<typeof PositionStatus>;

const marginStatusCodes = {
  "1": ["safe", "safe"],
  "2": ["warning", "warning"],
  "3": ["dangerous", "dangerous"],
  "4": ["liquidation", "liquidation"],
} as const;
/** Names for `accountMarginStatus` (FuturesFundInfoVo.marginStatus). */
export const MarginStatus: DictionaryOf<typeof marginStatusCodes> = dictionary({
  wire: "accountMarginStatus",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: marginStatusCodes,
});
/** Names for `accountMarginStatus` (FuturesFundInfoVo.marginStatus). */
export type MarginStatus = NameOf<typeof MarginStatus>;

const futuresOrderTypeCodes = {
  "0": ["limit", "limit"],
  "1": ["auction", "auction"],
  "2": ["market", "market"],
  "3": ["conditional", "conditional"],
} as const;
/** Names for `futuresEntrustType`. */
export const FuturesOrderType: DictionaryOf<typeof futuresOrderTypeCodes> = dictionary({
  wire: "futuresEntrustType",
  type: "string",
  source: "vendor Python SDK 1.1.2, vendor gateway SDK 2.3.0",
  values: futuresOrderTypeCodes,
});
/** Names for `futuresEntrustType`. */
export type FuturesOrderType = NameOf<typeof FuturesOrderType>;

const futuresValidityCodes = {
  "0": ["day", "day"],
  "1": ["fill-and-cancel", "fill and cancel rest"],
  "2": ["fill-or-cancel", "fill or cancel"],
  "3": ["until-expiry", "until expiry"],
  "4": ["until-date", "until a given date"],
} as const;
/** Names for `futuresValidTimeType`. */
export const FuturesValidity: DictionaryOf<typeof futuresValidityCodes> = dictionary({
  wire: "futuresValidTimeType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: futuresValidityCodes,
});
/** Names for `futuresValidTimeType`. */
export type FuturesValidity = NameOf<typeof FuturesValidity>;

const futuresOrderOptionCodes = {
  "0": ["default", "default"],
  "1": ["after-hours", "T+1"],
} as const;
/** Names for `futuresOrderOptions`. */
export const FuturesOrderOption: DictionaryOf<typeof futuresOrderOptionCodes> = dictionary({
  wire: "futuresOrderOptions",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: futuresOrderOptionCodes,
});
/** Names for `futuresOrderOptions`. */
export type FuturesOrderOption = NameOf<typeof FuturesOrderOption>;
