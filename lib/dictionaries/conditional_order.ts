/**
 * Code tables for the states and trailing rules of conditional orders.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** States of a conditional order. */
export const ConditionalOrderStatus = dictionary({
  wire: "condOrderStatus",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: {
    "1": ["pending", "pending trigger"],
    "2": ["triggered", "triggered"],
    "3": ["paused", "paused"],
    "4": ["expired", "expired"],
    "5": ["deleted", "deleted"],
    "6": ["error", "error"],
    "8": ["invalidated", "take-profit or stop-loss invalidated"],
    "9": ["invalidated-by-ex-date", "invalidated by ex-rights or ex-dividend"],
    "10": ["recalled", "recalled"],
  },
});
/** States of a conditional order. */
export type ConditionalOrderStatus = NameOf<typeof ConditionalOrderStatus>;

/** Unit of the trailing distance of a conditional order. */
export const TrailBy = dictionary({
  wire: "condTrackType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: {
    "1": ["percentage", "percentage"],
    "2": ["spread", "spread"],
    "3": ["price", "price"],
  },
});
/** Unit of the trailing distance of a conditional order. */
export type TrailBy = NameOf<typeof TrailBy>;
