/**
 * Code tables for algorithmic orders.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Names for `algoEntrustType`. */
export const AlgoOrderType = dictionary({
  wire: "algoEntrustType",
  type: "string",
  source: "API document, community Go SDK",
  values: {
    "1": ["limit", "limit"],
    "2": ["market", "market"],
  },
});
/** Names for `algoEntrustType`. */
export type AlgoOrderType = NameOf<typeof AlgoOrderType>;

/** Names for `algoStrategy`. */
export const AlgoStrategy = dictionary({
  wire: "algoStrategy",
  type: "string",
  source: "API document, community Go SDK, vendor gateway SDK 2.3.0",
  values: {
    "1": ["vwap", "VWAP"],
    "1001": ["twap", "TWAP"],
    "1002": ["iceberg", "ICE_BERG"],
    "1003": ["tpov", "TPOV"],
    "1005": ["pov", "POV (also called INLINE)"],
  },
});
/** Names for `algoStrategy`. */
export type AlgoStrategy = NameOf<typeof AlgoStrategy>;

/** Names for `algoSensitivity`. */
export const AlgoSensitivity = dictionary({
  wire: "algoSensitivity",
  type: "string",
  source: "API document, community Go SDK",
  values: {
    "1": ["neutral", "neutral"],
    "2": ["aggressive", "aggressive"],
    "3": ["passive", "passive"],
  },
});
/** Names for `algoSensitivity`. */
export type AlgoSensitivity = NameOf<typeof AlgoSensitivity>;

/** Names for `algoAction`. */
export const AlgoAction = dictionary({
  wire: "algoAction",
  type: "string",
  source: "community Go SDK, vendor gateway SDK 2.3.0",
  values: {
    "1": ["start", "start"],
    "2": ["stop", "stop"],
    "3": ["suspend", "suspend"],
    "4": ["resume", "resume"],
  },
});
/** Names for `algoAction`. */
export type AlgoAction = NameOf<typeof AlgoAction>;

/** Names for `algoStrategyStatus`. */
export const AlgoStrategyStatus = dictionary({
  wire: "algoStrategyStatus",
  type: "string",
  source: "community Go SDK",
  values: {
    "1": ["start", "start"],
    "2": ["stop", "stop"],
    "3": ["suspend", "suspend"],
    "4": ["resume", "resume"],
  },
});
/** Names for `algoStrategyStatus`. */
export type AlgoStrategyStatus = NameOf<typeof AlgoStrategyStatus>;

/** Names for `algoOrderStatus`. */
export const AlgoOrderStatus = dictionary({
  wire: "algoOrderStatus",
  type: "string",
  source: "community Go SDK",
  values: {
    "0": ["accepted", "accepted"],
    "1": ["part-filled", "part filled"],
    "2": ["filled", "filled"],
    "3": ["done-for-the-day", "done for the day"],
    "4": ["cancelled", "cancelled"],
    "5": ["modified", "modified"],
    "6": ["cancel-pending", "cancel pending"],
    "8": ["rejected", "rejected"],
    A: ["waiting-to-submit", "waiting to submit"],
    C: ["expired", "expired"],
    E: ["amendment-pending", "amendment pending"],
  },
});
/** Names for `algoOrderStatus`. */
export type AlgoOrderStatus = NameOf<typeof AlgoOrderStatus>;
