/**
 * Code tables for order types, including older tables, which only the community Go SDK lists.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const orderTypeCodes = {
  "0": ["auction-limit", "auction limit"],
  "1": ["auction", "auction"],
  "2": ["enhanced-limit", "enhanced limit"],
  "3": ["limit", "limit"],
  "4": ["special-limit", "special limit"],
  "5": ["market", "market"],
  "6": ["dark-pool", "dark pool"],
  "7": ["odd-lot", "odd lot"],
  "8": ["iceberg-market", "iceberg market"],
  "9": ["iceberg-limit", "iceberg limit"],
  "10": ["hidden-market", "hidden market"],
  "11": ["hidden-limit", "hidden limit"],
  "31": ["take-profit-limit", "take-profit limit"],
  "32": ["take-profit-market", "take-profit market"],
  "33": ["stop-loss-limit", "stop-loss limit"],
  "34": ["stop-loss-market", "stop-loss market"],
  "35": ["trailing-stop-limit", "trailing-stop limit"],
  "36": ["trailing-stop-market", "trailing-stop market"],
} as const;
/** Type of an order: ordinary types, and the conditional types. */
export const OrderType: DictionaryOf<typeof orderTypeCodes> = dictionary({
  wire: "entrustType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: orderTypeCodes,
});
/** Type of an order: ordinary types, and the conditional types. */
export type OrderType = NameOf<typeof OrderType>;

/** Conditional order types whose trigger price follows the market. */
export const trailingTypes: readonly OrderType[] = ["trailing-stop-limit", "trailing-stop-market"];
/** Conditional order types; all other types are ordinary orders. */
export const conditionalTypes: readonly OrderType[] = [
  "take-profit-limit",
  "take-profit-market",
  "stop-loss-limit",
  "stop-loss-market",
  ...trailingTypes,
];
/** Order types that trade at the market's price, even if the order names a price. */
export const unpricedTypes: readonly OrderType[] = [
  "auction",
  "market",
  "iceberg-market",
  "hidden-market",
  "take-profit-market",
  "stop-loss-market",
  "trailing-stop-market",
];

const legacyOrderKindCodes = {
  "0": ["trade", "trade"],
  "1": ["query", "query"],
  "2": ["cancel", "cancel"],
  "3": ["supplement", "supplement"],
  B: ["amend", "amend"],
} as const;
/** Kind of an order request, from an older table. */
export const LegacyOrderKind: DictionaryOf<typeof legacyOrderKindCodes> = dictionary({
  wire: "legacyEntrustKind",
  type: "string",
  source: "community Go SDK",
  values: legacyOrderKindCodes,
});
/** Kind of an order request, from an older table. */
export type LegacyOrderKind = NameOf<typeof LegacyOrderKind>;

const legacyOrderPropertyCodes = {
  d: ["auction", "auction"],
  g: ["auction-limit", "auction limit"],
  e: ["enhanced-limit", "enhanced limit"],
  j: ["special-limit", "special limit"],
  h: ["limit", "limit"],
  m: ["odd-lot", "odd lot"],
  o: ["manual", "manual"],
  p: ["batch-cancel", "batch cancel"],
} as const;
/** Type of an order, from an older table. */
export const LegacyOrderProperty: DictionaryOf<typeof legacyOrderPropertyCodes> = dictionary({
  wire: "entrustProp",
  type: "string",
  source: "community Go SDK",
  values: legacyOrderPropertyCodes,
});
/** Type of an order, from an older table. */
export type LegacyOrderProperty = NameOf<typeof LegacyOrderProperty>;

const legacyOrderActionCodes = {
  "0": ["place", "place"],
  "2": ["cancel", "cancel"],
  B: ["modify", "modify"],
  C: ["fill-reject", "fill reject"],
  E: ["fill-modify", "fill modify"],
} as const;
/** Action on an order, from an older table. */
export const LegacyOrderAction: DictionaryOf<typeof legacyOrderActionCodes> = dictionary({
  wire: "entrustPropBusiness",
  type: "string",
  source: "community Go SDK",
  values: legacyOrderActionCodes,
});
/** Action on an order, from an older table. */
export type LegacyOrderAction = NameOf<typeof LegacyOrderAction>;
