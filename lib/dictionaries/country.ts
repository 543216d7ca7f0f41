/**
 * Code table for the countries of a login phone number.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const countryCodes = {
  CHN: ["CHN", "Mainland China"],
  HKG: ["HKG", "Hong Kong"],
  MAC: ["MAC", "Macau"],
  TWN: ["TWN", "Taiwan"],
  SGP: ["SGP", "Singapore"],
  KOR: ["KOR", "South Korea"],
  JPN: ["JPN", "Japan"],
  USA: ["USA", "United States"],
  GBR: ["GBR", "United Kingdom"],
  FRA: ["FRA", "France"],
  RUS: ["RUS", "Russia"],
  BEL: ["BEL", "Belgium"],
  DEU: ["DEU", "Germany"],
  CAN: ["CAN", "Canada"],
  ESP: ["ESP", "Spain"],
  NZL: ["NZL", "New Zealand"],
} as const;
/** Country of a phone number. */
export const Country: DictionaryOf<typeof countryCodes> = dictionary({
  wire: "countryCode",
  type: "string",
  source: "API document, community Go SDK",
  values: countryCodes,
});
/** Country of a phone number. */
export type Country = NameOf<typeof Country>;
