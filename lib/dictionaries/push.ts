/**
 * Code table for push topics.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const pushTopicCodes = {
  "11": ["quote", "basic quote"],
  "14": ["tick", "ticker"],
  "16": ["broker-queue", "broker queue"],
  "17": ["order-book", "order book"],
  "25": ["arca-book", "ArcaBook depth"],
  "26": ["total-view", "TotalView depth"],
  "27": ["tick-27", "ticker variant"],
  "28": ["tick-28", "ticker variant"],
  "35": ["quote-35", "basic quote variant"],
  "36": ["order-book-36", "order book variant"],
  "37": ["tick-37", "ticker variant"],
} as const;
/** Topic of a market-data subscription. Topics with a number in their name are undocumented variants. */
export const PushTopic: DictionaryOf<typeof pushTopicCodes> = dictionary({
  wire: "pushTopic",
  type: "int",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: pushTopicCodes,
});
/** Topic of a market-data subscription. Topics with a number in their name are undocumented variants. */
export type PushTopic = NameOf<typeof PushTopic>;
