/**
 * Code tables for algorithmic orders.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Type of an algorithmic order: limit or market. */
export const AlgoOrderType = dictionary({
  wire: "algoEntrustType",
  type: "string",
  source: "API document, community Go SDK",
  values: {
    "1": ["limit", "limit"],
    "2": ["market", "market"],
  },
});
/** Type of an algorithmic order: limit or market. */
export type AlgoOrderType = NameOf<typeof AlgoOrderType>;

/** Strategy of an algorithmic order. */
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
/** Strategy of an algorithmic order. */
export type AlgoStrategy = NameOf<typeof AlgoStrategy>;

/** How aggressively an algorithmic order trades. */
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
/** How aggressively an algorithmic order trades. */
export type AlgoSensitivity = NameOf<typeof AlgoSensitivity>;

/** Action on the strategy of an algorithmic order. */
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
/** Action on the strategy of an algorithmic order. */
export type AlgoAction = NameOf<typeof AlgoAction>;

/** States of the strategy of an algorithmic order. */
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
/** States of the strategy of an algorithmic order. */
export type AlgoStrategyStatus = NameOf<typeof AlgoStrategyStatus>;

/** States of an algorithmic order. */
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
/** States of an algorithmic order. */
export type AlgoOrderStatus = NameOf<typeof AlgoOrderStatus>;
