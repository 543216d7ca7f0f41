/**
 * Code table for the currencies of the fund journal.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { DictionaryOf, NameOf } from "./dictionary.ts";

const currencyCodes = {
  "0": ["CNY", "CNY"],
  "1": ["USD", "USD"],
  "2": ["HKD", "HKD"],
  "4": ["AED", "AED"],
  "5": ["ATS", "ATS"],
  "6": ["AUD", "AUD"],
  "7": ["BDT", "BDT"],
  "8": ["BEF", "BEF (convertible)"],
  "9": ["BEF-9", "BEF (financial)"],
  A: ["BHD", "BHD"],
  B: ["BND", "BND"],
  C: ["PTE", "PTE (escudo, code C)"],
  D: ["MMK", "MMK"],
  E: ["CAD", "CAD"],
  F: ["CHF", "CHF"],
  H: ["CYP", "CYP"],
  I: ["DEM", "DEM"],
  J: ["DKK", "DKK"],
  K: ["ECS", "ECS"],
  L: ["ESP", "ESP"],
  M: ["EUR", "EUR"],
  N: ["FIM", "FIM"],
  O: ["FJD", "FJD"],
  P: ["FRF", "FRF"],
  Q: ["GBP", "GBP"],
  S: ["IDR", "IDR"],
  T: ["IEP", "IEP"],
  U: ["INR", "INR"],
  V: ["ITL", "ITL"],
  W: ["JPY", "JPY"],
  X: ["KES", "KES"],
  Y: ["KRW", "KRW"],
  Z: ["KWD", "KWD"],
  a: ["LBP", "LBP"],
  c: ["LKR", "LKR"],
  d: ["MOP", "MOP"],
  e: ["MUR", "MUR"],
  f: ["MYR", "MYR"],
  g: ["NGN", "NGN"],
  h: ["NLG", "NLG"],
  i: ["NOK", "NOK"],
  j: ["NZD", "NZD"],
  k: ["OMR", "OMR"],
  l: ["PHP", "PHP"],
  m: ["PKR", "PKR"],
  n: ["PTE-n", "PTE"],
  o: ["QAR", "QAR"],
  p: ["SAR", "SAR"],
  q: ["SCR", "SCR"],
  r: ["SDR", "SDR"],
  s: ["SEK", "SEK"],
  t: ["SGD", "SGD"],
  u: ["SLL", "SLL"],
  v: ["THB", "THB"],
  w: ["TWD", "TWD"],
  x: ["ZAR", "ZAR"],
} as const;
/** Currency of an entry in the fund journal. */
export const Currency: DictionaryOf<typeof currencyCodes> = dictionary({
  wire: "moneyType",
  type: "string",
  source: "API document, community Go SDK",
  values: currencyCodes,
});
/** Currency of an entry in the fund journal. */
export type Currency = NameOf<typeof Currency>;
