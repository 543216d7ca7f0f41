/**
 * Code table for the side of an order.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const sideCodes = {
  "1": ["buy", "buy (open long)"],
  "2": ["sell", "sell (close long)"],
  "3": ["short-close", "short close (buy back)"],
  "4": ["short-open", "short open (sell short)"],
} as const;
/** Side of an order. With a short position in the listing, the broker itself decides what the order opens or closes. */
export const Side: DictionaryOf<typeof sideCodes> = dictionary({
  wire: "entrustBs",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  closed: true,
  values: sideCodes,
});
/** Side of an order. With a short position in the listing, the broker itself decides what the order opens or closes. */
export type Side = NameOf<typeof Side>;
