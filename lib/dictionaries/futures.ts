/**
 * Code tables for futures: positions, margin, order types and validity.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Names for `positionStatus`. */
export const PositionStatus = dictionary({
  wire: "positionStatus",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: {
    "0": ["no-position", "no position"],
    "1": ["long", "long"],
    "2": ["short", "short"],
  },
});
/** Names for `positionStatus`. */
export type PositionStatus = NameOf<typeof PositionStatus>;

/** Names for `accountMarginStatus` (FuturesFundInfoVo.marginStatus). */
export const MarginStatus = dictionary({
  wire: "accountMarginStatus",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: {
    "1": ["safe", "safe"],
    "2": ["warning", "warning"],
    "3": ["dangerous", "dangerous"],
    "4": ["liquidation", "liquidation"],
  },
});
/** Names for `accountMarginStatus` (FuturesFundInfoVo.marginStatus). */
export type MarginStatus = NameOf<typeof MarginStatus>;

/** Names for `futuresEntrustType`. */
export const FuturesOrderType = dictionary({
  wire: "futuresEntrustType",
  type: "string",
  source: "vendor Python SDK 1.1.2, vendor gateway SDK 2.3.0",
  values: {
    "0": ["limit", "limit"],
    "1": ["auction", "auction"],
    "2": ["market", "market"],
    "3": ["conditional", "conditional"],
  },
});
/** Names for `futuresEntrustType`. */
export type FuturesOrderType = NameOf<typeof FuturesOrderType>;

/** Names for `futuresValidTimeType`. */
export const FuturesValidity = dictionary({
  wire: "futuresValidTimeType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: {
    "0": ["day", "day"],
    "1": ["fill-and-cancel", "fill and cancel rest"],
    "2": ["fill-or-cancel", "fill or cancel"],
    "3": ["until-expiry", "until expiry"],
    "4": ["until-date", "until a given date"],
  },
});
/** Names for `futuresValidTimeType`. */
export type FuturesValidity = NameOf<typeof FuturesValidity>;

/** Names for `futuresOrderOptions`. */
export const FuturesOrderOption = dictionary({
  wire: "futuresOrderOptions",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: {
    "0": ["default", "default"],
    "1": ["after-hours", "T+1"],
  },
});
/** Names for `futuresOrderOptions`. */
export type FuturesOrderOption = NameOf<typeof FuturesOrderOption>;
