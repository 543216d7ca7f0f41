/**
 * Code tables for the states of an order and of a fill.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const orderStatusCodes = {
  "0": ["not-submitted", "not submitted"],
  "1": ["waiting", "waiting to submit"],
  "2": ["accepted", "accepted by host"],
  "3": ["cancel-pending", "accepted, cancel pending"],
  "4": ["part-filled-cancel-pending", "part filled, cancel pending"],
  "5": ["part-filled-cancelled", "part filled then cancelled"],
  "6": ["cancelled", "cancelled"],
  "7": ["part-filled", "part filled"],
  "8": ["filled", "filled"],
  "9": ["rejected", "rejected by host"],
  A: ["amend-pending", "accepted, amendment pending"],
  B: ["unused-B", "unused"],
  C: ["unused-C", "unused"],
  D: ["unused-D", "unused"],
  E: ["part-filled-amend-pending", "part filled, amendment pending"],
  F: ["pre-check-rejected", "pre-order check rejected"],
  G: ["pre-order-cancelled", "pre-order cancelled"],
  H: ["waiting-review", "waiting for review"],
  J: ["review-failed", "review failed"],
  W: ["waiting-confirmation", "waiting for confirmation"],
  X: ["unused-X", "unused"],
} as const;
/** States of an ordinary order. The order's own flags, not its state, show whether it can be cancelled or amended. */
export const OrderStatus: DictionaryOf<typeof orderStatusCodes> = dictionary({
  wire: "entrustStatus",
  type: "string",
  source: "community Go SDK",
  values: orderStatusCodes,
});
/** States of an ordinary order. The order's own flags, not its state, show whether it can be cancelled or amended. */
export type OrderStatus = NameOf<typeof OrderStatus>;

const fillStatusCodes = {
  "0": ["filled", "filled"],
  "2": ["rejected", "rejected"],
  "4": ["confirmed", "confirmed"],
} as const;
/** State of a fill. */
export const FillStatus: DictionaryOf<typeof fillStatusCodes> = dictionary({
  wire: "realStatus",
  type: "string",
  source: "community Go SDK",
  values: fillStatusCodes,
});
/** State of a fill. */
export type FillStatus = NameOf<typeof FillStatus>;

const fillKindCodes = {
  "0": ["trade", "trade"],
  "1": ["query", "query"],
  "2": ["cancel", "cancel"],
} as const;
/** Kind of a fill: a trade, a query or a cancellation. */
export const FillKind: DictionaryOf<typeof fillKindCodes> = dictionary({
  wire: "realType",
  type: "string",
  source: "community Go SDK",
  values: fillKindCodes,
});
/** Kind of a fill: a trade, a query or a cancellation. */
export type FillKind = NameOf<typeof FillKind>;

const remarkTypeCodes = {
  "0": ["none", "none"],
  "1": ["voided-order", "voided order"],
} as const;
/** Whether an order was voided. */
export const RemarkType: DictionaryOf<typeof remarkTypeCodes> = dictionary({
  wire: "remarkType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: remarkTypeCodes,
});
/** Whether an order was voided. */
export type RemarkType = NameOf<typeof RemarkType>;
