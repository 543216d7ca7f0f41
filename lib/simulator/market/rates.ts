/**
 * Generates the daily exchange rates of the simulated market.
 *
 * The US dollar stays within the band of 7.75 to 7.85 Hong Kong dollars that the peg allows. The renminbi
 * moves slowly between about 1.06 and 1.10 Hong Kong dollars. The values are generated, not quoted.
 *
 * @module
 */
import type { Decimal } from "../../decimal.ts";
import { bell, hashText, mix } from "./random.ts";
import { isDate, randomFrom } from "../../time.ts";

/** Hong Kong dollars for one unit of another currency. */
export interface CurrencyRates {
  /** Hong Kong dollars for one US dollar. */
  USDHKD: Decimal;
  /** Hong Kong dollars for one renminbi. */
  CNYHKD: Decimal;
}

const DAY_MS = 86_400_000;

/** Returns the rates of a date (`yyyy-MM-dd`), four decimals each. */
export function currencyRates(date: string, seed: number): CurrencyRates {
  const next = randomFrom(mix(seed, hashText(`rates:${date}`)));
  if (!isDate(date)) {
    throw new RangeError(`Cannot look up rates of "${date}": it is not a date; write it like "2025-08-15"`);
  }
  const day = Date.parse(`${date}T00:00:00Z`) / DAY_MS;
  // Rates are in whole ten-thousandths: a slow wave plus a small random daily step.
  const swing = (centre: number, width: number, period: number, step: number) =>
    Math.round(centre + width * Math.sin(2 * Math.PI * (day + seed % 365) / period) + step * bell(next));
  const write = (units: number) => `${Math.floor(units / 10_000)}.${String(units % 10_000).padStart(4, "0")}`;
  return {
    USDHKD: write(Math.min(78_500, Math.max(77_500, swing(78_000, 350, 420, 30)))),
    CNYHKD: write(swing(10_800, 150, 610, 15)),
  };
}
