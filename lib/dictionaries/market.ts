/**
 * Code table for markets.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const marketCodes = {
  K: ["hk", "Hong Kong"],
  P: ["us", "United States"],
  v: ["shenzhen", "Shenzhen Connect"],
  t: ["shanghai", "Shanghai Connect"],
} as const;
/** Market of a listing. In a call about the account, the market whose funds or holdings the call is about. */
export const Market: DictionaryOf<typeof marketCodes> = dictionary({
  wire: "exchangeType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  closed: true,
  values: marketCodes,
});
/** Market of a listing. In a call about the account, the market whose funds or holdings the call is about. */
export type Market = NameOf<typeof Market>;
