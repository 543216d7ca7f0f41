/**
 * Defines which options exist, and the inputs of their prices on a day.
 *
 * Expiries are the next eight Fridays, the third Fridays of six months, and the third Fridays of January in the next
 * two years. If a Friday is a holiday, the expiry is the Thursday before. Within a day, time to expiry and volatility
 * are constant. So an option's price depends only on the stock's price, and its day bar follows from the stock's day
 * bar.
 *
 * @module
 */
import type { Calendars } from "../../calendars/mod.ts";
import { type Decimal, multiply, toStep } from "../../decimal.ts";
import { activeStrikeStep, optionUnderlyings } from "../../facts/contracts.ts";
import { type OptionTerms, readOptionCode } from "../../operations/option_code.ts";
import type { OptionInputs } from "./black_scholes.ts";
import { toDecimal, UNITS } from "./grid.ts";
import { toUnits } from "./packing.ts";
import { bell, hashText, mix } from "./random.ts";
import { randomFrom } from "../../time.ts";

const DAY_MS = 86_400_000;
const WEEKS = 8;
const MONTHS = 6;
const JANUARIES = 2;

/** Yearly interest for option prices. */
const OPTION_RATE = 0.045;

/** Usual yearly volatility by underlying. */
const VOLATILITY: Record<string, number> = { AAPL: 0.28, AMZN: 0.32, GOOGL: 0.3, MSFT: 0.24 };

const iso = (day: number) => new Date(day).toISOString().slice(0, 10);
const epoch = (date: string) => Date.parse(`${date}T00:00:00Z`);

/** Returns calendar days from one date to another. */
export function daysBetween(from: string, to: string): number {
  return Math.round((epoch(to) - epoch(from)) / DAY_MS);
}

/** Returns the expiry in the week of a Friday: the Friday, or the Thursday if the Friday is a holiday. */
function expiryOfFriday(calendars: Calendars, friday: number): string {
  return calendars.sessionOn("XNYS", iso(friday)) === "closed" ? iso(friday - DAY_MS) : iso(friday);
}

const fridayOnOrAfter = (day: number) => day + ((5 - new Date(day).getUTCDay() + 7) % 7) * DAY_MS;

/** Returns the third Friday of the month that is `monthsAhead` months after a date. */
function thirdFriday(date: string, monthsAhead: number): number {
  const start = new Date(epoch(date));
  return fridayOnOrAfter(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + monthsAhead, 1)) +
    14 * DAY_MS;
}

/** Returns the expiries listed on a date, nearest first, as `yyyy-MM-dd`. */
export function expiriesOn(calendars: Calendars, date: string): string[] {
  const first = fridayOnOrAfter(epoch(date));
  const fridays = Array.from({ length: WEEKS }, (_, week) => first + week * 7 * DAY_MS);
  for (let month = 0; month < MONTHS; month++) fridays.push(thirdFriday(date, month));
  const year = Number(date.slice(0, 4));
  for (let ahead = 1; ahead <= JANUARIES; ahead++) fridays.push(thirdFriday(`${year + ahead}-01-01`, 0));
  return [...new Set(fridays.map((friday) => expiryOfFriday(calendars, friday)))].filter((expiry) =>
    expiry >= date
  ).sort();
}

/** Returns the strikes listed for an expiry at a stock price, lowest first. */
export function strikesAt(spot: Decimal, daysToExpiry: number): Decimal[] {
  const step = activeStrikeStep(spot, daysToExpiry);
  const reach = daysToExpiry <= 62 ? ["0.75", "1.25"] : ["0.5", "1.5"];
  const [low = 0, high = 0] = reach.map((share) => toUnits(toStep(multiply(spot, share), step, "half-up")));
  const strikes: Decimal[] = [];
  for (let strike = low; strike <= high; strike += toUnits(step)) strikes.push(toDecimal(strike, 0));
  return strikes;
}

/**
 * Parses an option code. Returns `undefined` if its stock has no options here, its expiry is not the expiry of a week,
 * or its strike is not a multiple of 2.5.
 */
export function findOption(calendars: Calendars, code: string): OptionTerms | undefined {
  const contract = readOptionCode(code);
  if (contract === undefined || !optionUnderlyings.includes(contract.underlying)) return undefined;
  const day = epoch(contract.expiry);
  const strike = toUnits(contract.strike);
  const fits = strike > 0 && strike % (2.5 * UNITS) === 0;
  return fits && expiryOfFriday(calendars, fridayOnOrAfter(day)) === contract.expiry ? contract : undefined;
}

/** Returns the inputs of an option price on a day, except for the stock's price. */
export function pricingOn(
  contract: OptionTerms,
  { date, reference, seed }: { date: string; reference: number; seed: number },
): Omit<OptionInputs, "spot"> {
  const { underlying, optionType: type, expiry } = contract;
  const strike = toUnits(contract.strike) / UNITS;
  const usual = VOLATILITY[underlying] ?? 0.3;
  const mood = 1 + 0.05 * bell(randomFrom(mix(seed, hashText(`volatility:${underlying}:${date}`))));
  const distance = Math.log(strike / (reference / UNITS));
  const smile = Math.min(0.3, 0.3 * distance * distance - 0.08 * distance);
  // On the last day almost no time is left, so the close is the intrinsic value.
  const years = Math.max(0.02, daysBetween(date, expiry)) / 365;
  return { type, strike, years, volatility: Math.max(0.1, usual * mood + smile), rate: OPTION_RATE };
}
