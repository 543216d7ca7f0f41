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
/** Whether there is no position, a long one or a short one. */
export const PositionStatus: DictionaryOf<typeof positionStatusCodes> = dictionary({
  wire: "positionStatus",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: positionStatusCodes,
});
/** Whether there is no position, a long one or a short one. */
export type PositionStatus = NameOf<typeof PositionStatus>;

const marginStatusCodes = {
  "1": ["safe", "safe"],
  "2": ["warning", "warning"],
  "3": ["dangerous", "dangerous"],
  "4": ["liquidation", "liquidation"],
} as const;
/** States of the margin of a futures account. */
export const MarginStatus: DictionaryOf<typeof marginStatusCodes> = dictionary({
  wire: "accountMarginStatus",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: marginStatusCodes,
});
/** States of the margin of a futures account. */
export type MarginStatus = NameOf<typeof MarginStatus>;

const futuresOrderTypeCodes = {
  "0": ["limit", "limit"],
  "1": ["auction", "auction"],
  "2": ["market", "market"],
  "3": ["conditional", "conditional"],
} as const;
/** Type of a futures order. */
export const FuturesOrderType: DictionaryOf<typeof futuresOrderTypeCodes> = dictionary({
  wire: "futuresEntrustType",
  type: "string",
  source: "vendor Python SDK 1.1.2, vendor gateway SDK 2.3.0",
  values: futuresOrderTypeCodes,
});
/** Type of a futures order. */
export type FuturesOrderType = NameOf<typeof FuturesOrderType>;

const futuresValidityCodes = {
  "0": ["day", "day"],
  "1": ["fill-and-cancel", "fill and cancel rest"],
  "2": ["fill-or-cancel", "fill or cancel"],
  "3": ["until-expiry", "until expiry"],
  "4": ["until-date", "until a given date"],
} as const;
/** How long a futures order is valid. */
export const FuturesValidity: DictionaryOf<typeof futuresValidityCodes> = dictionary({
  wire: "futuresValidTimeType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: futuresValidityCodes,
});
/** How long a futures order is valid. */
export type FuturesValidity = NameOf<typeof FuturesValidity>;

const futuresOrderOptionCodes = {
  "0": ["default", "default"],
  "1": ["after-hours", "T+1"],
} as const;
/** Whether a futures order trades in the after-hours session. */
export const FuturesOrderOption: DictionaryOf<typeof futuresOrderOptionCodes> = dictionary({
  wire: "futuresOrderOptions",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: futuresOrderOptionCodes,
});
/** Whether a futures order trades in the after-hours session. */
export type FuturesOrderOption = NameOf<typeof FuturesOrderOption>;
