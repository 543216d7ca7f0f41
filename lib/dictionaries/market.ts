/**
 * Code table for markets.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Market of a listing, or of the account for that market. */
export const Market = dictionary({
  wire: "exchangeType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  closed: true,
  values: {
    K: ["hk", "Hong Kong"],
    P: ["us", "United States"],
    v: ["shenzhen", "Shenzhen Connect"],
    t: ["shanghai", "Shanghai Connect"],
  },
});
/** Market of a listing, or of the account for that market. */
export type Market = NameOf<typeof Market>;
