/**
 * Finds the charges that apply to a trade on a day, from the dated rates of `data/fees.json` and the broker's tariff.
 * `chargeOf` computes the amount of a charge. The charges are cached by market, day, side, kind of listing and futures
 * product.
 *
 * The broker does not publish its price list (commission and platform fee), so callers can replace every amount. The
 * example tariff uses list prices of Hong Kong brokers (futuhk.com/en/commissionnew, /support/topic2_283,
 * /support/topic334; for futures hf2228.com/efhk-charges and the fee model of QuantConnect Lean).
 *
 * Rates are parsed once and applied to millions of fills. For speed, amounts are integers with a scale.
 *
 * @module
 */
import { normalize } from "../decimal.ts";
import fees from "./data/fees.json" with { type: "json" };

/** The names of the fee items, in the broker's order (fare0 to fare9, then farex). */
export const FEE_MEMBERS = [
  "commission",
  "stampDutyOrSecFee",
  "tradingFeeOrTaf",
  "tradingLevy",
  "optionRegulatoryFee",
  "optionClearingFee",
  "platformFee",
  "reservedFee",
  "auditTrailFee",
  "disputeCouncilLevy",
  "settlementFee",
] as const;

/** A fee item. */
type FeeMember = typeof FEE_MEMBERS[number];

/** Kind of listing, if fees depend on it. */
export type FeeInstrument = "stock" | "etf" | "reit" | "structured";

interface DatedRate {
  /** First trade date; absent if the rate always applied, or if the date is not known. */
  from?: string;
  /** Last trade date; absent if the rate is still in force. */
  to?: string;
  rate: string;
  min?: string;
  max?: string;
  maxOfAmount?: string;
  /** Keys of the file's `sources`, separated by spaces. */
  source?: string;
  /** `false` if the value was not found on any of the saved source pages. */
  confirmed?: boolean;
}

/** A charge of an exchange or a regulator, with its rates over the years. */
export interface Charge {
  name: string;
  item: FeeMember;
  per: Basis;
  round: CentRounding;
  /** Set if the charge applies once to the whole order instead of to each fill. */
  scope?: "order";
  /** Set if the charge applies only to sells. */
  side?: "sell";
  /** Limits the charge to these kinds of listing. */
  only?: FeeInstrument[];
  /** Limits the charge to these futures products. */
  products?: string[];
  /** If the charge has no rates of its own: the market whose rates for the same item it uses. @default "us" */
  ratesOf?: ChargeMarket;
  rates?: DatedRate[];
  note?: string;
}

type ChargeMarket = "hk" | "us" | "china" | "us-option" | "hk-future";

// The type of a JSON import has `string` instead of these literals; the tests check each value.
const charges = fees as unknown as Record<ChargeMarket, Charge[]>;

const chargeMarket: Record<FeeMarket, ChargeMarket> = {
  hk: "hk",
  us: "us",
  shanghai: "china",
  shenzhen: "china",
  "us-option": "us-option",
  "hk-future": "hk-future",
};

/** Identifies a schedule. */
interface ScheduleKey {
  market: FeeMarket;
  /** Trade date, `"2025-08-15"`. */
  date: string;
  side: "buy" | "sell";
  instrument: FeeInstrument;
  /** Futures product, such as `HSI`. */
  product?: string;
}

/** A charge, and the index of its item in {@link Schedule.members}. */
interface PlacedRule extends Rule {
  at: number;
}

/** The charges of a trade. */
export interface Schedule {
  /** All fee items of the market, whether or not this trade is charged for them. */
  members: FeeMember[];
  perFill: PlacedRule[];
  /** The broker's charges, and other charges that are computed once for the sum of the fills. */
  perOrder: PlacedRule[];
}

const ratesOf = (charge: Charge): DatedRate[] =>
  charge.rates ?? charges[charge.ratesOf ?? "us"].find(({ item }) => item === charge.item)?.rates ?? [];

function toRule(
  at: number,
  per: Basis,
  round: CentRounding,
  rate: Omit<DatedRate, "from" | "to">,
): PlacedRule {
  return {
    at,
    per,
    round,
    rate: readFixed(rate.rate),
    ...(rate.min === undefined ? {} : { min: readCents(rate.min) }),
    ...(rate.max === undefined ? {} : { max: readCents(rate.max) }),
    ...(rate.maxOfAmount === undefined ? {} : { cap: readFixed(rate.maxOfAmount) }),
  };
}

function brokerRule(at: number, charge: BrokerCharge, product: string | undefined): PlacedRule {
  const rate = product === undefined ? undefined : charge.byProduct?.[product];
  return toRule(at, charge.per, "cent", { ...charge, rate: rate ?? charge.rate });
}

function makeSchedule({ market, date, side, instrument, product }: ScheduleKey, tariff: Tariff): Schedule {
  const listed = charges[chargeMarket[market]];
  const { commission, platformFee } = tariff[market];
  const has = new Set<FeeMember>(["commission", ...listed.map(({ item }) => item)]);
  if (platformFee !== undefined) has.add("platformFee");
  const members = FEE_MEMBERS.filter((member) => has.has(member));
  const place = (member: FeeMember) => members.indexOf(member);

  // Mainland rates distinguish only ETFs from all other listings.
  const kind = chargeMarket[market] === "china" && instrument !== "etf" ? "stock" : instrument;
  const schedule: Schedule = { members, perFill: [], perOrder: [] };
  schedule.perOrder.push(brokerRule(place("commission"), commission, product));
  if (platformFee !== undefined) {
    schedule.perOrder.push(brokerRule(place("platformFee"), platformFee, product));
  }

  const dated = new Set<FeeMember>();
  for (const charge of listed) {
    if (charge.products !== undefined && !charge.products.includes(product ?? "")) continue;
    const rate = ratesOf(charge).find(({ from = "", to = "9999" }) => date >= from && date <= to);
    if (rate === undefined) continue;
    dated.add(charge.item);
    if (charge.side !== undefined && charge.side !== side) continue;
    if (charge.only !== undefined && !charge.only.includes(kind)) continue;
    const rules = charge.scope === "order" ? schedule.perOrder : schedule.perFill;
    rules.push(toRule(place(charge.item), charge.per, charge.round, rate));
  }
  // Throw if a rate is missing: missing data does not mean a fee of zero.
  const missing = listed.find(({ item }) => !dated.has(item));
  if (missing !== undefined) {
    const what = `${market}${product === undefined ? "" : ` ${product}`} on ${date}`;
    throw new RangeError(
      `Cannot compute fees for ${what}: no rate of "${missing.name}" is recorded for that day`,
    );
  }
  return schedule;
}

const schedules = new WeakMap<Tariff, Map<string, Schedule>>();

/**
 * Returns the charges of a trade, from a cache if possible.
 *
 * @throws {RangeError} When no rate is recorded for the day or the futures product.
 * @throws {TypeError} When the date is not in the form `"YYYY-MM-DD"`.
 */
export function scheduleOf(key: ScheduleKey, tariff: Tariff): Schedule {
  let known = schedules.get(tariff);
  if (known === undefined) schedules.set(tariff, known = new Map());
  const name = `${key.market} ${key.date} ${key.side} ${key.instrument} ${key.product ?? ""}`;
  let schedule = known.get(name);
  if (schedule === undefined) {
    if (!/^\d{4}-\d{2}-\d{2}$/.test(key.date)) {
      throw new TypeError(`Cannot compute fees for "${key.date}": write the date like "2025-08-15"`);
    }
    known.set(name, schedule = makeSchedule(key, tariff));
  }
  return schedule;
}

/** A market with its own charges. */
export type FeeMarket = "hk" | "us" | "shanghai" | "shenzhen" | "us-option" | "hk-future";

/** A charge of the broker. It applies once per order and trading day and is rounded to the nearest cent. */
export interface BrokerCharge {
  /** A fraction of the amount (`per: "amount"`), or money per unit in the market's currency. */
  rate: string;
  /** What the rate applies to. */
  per: "amount" | "share" | "contract" | "order";
  /** Minimum charge per order. */
  min?: string;
  /** Maximum charge, as a fraction of the amount. If it is below `min`, `min` applies. */
  maxOfAmount?: string;
  /** Different rates for some futures products, such as `{ MHI: "5" }`. */
  byProduct?: Record<string, string>;
}

/** The broker's charges in one market. Without a platform fee, the computed fees have no `platformFee`. */
export interface MarketTariff {
  /** Commission of the broker. */
  commission: BrokerCharge;
  /** Platform fee of the broker. */
  platformFee?: BrokerCharge;
}

/** The broker's charges by market. */
export type Tariff = Record<FeeMarket, MarketTariff>;

const northbound: MarketTariff = {
  commission: { rate: "0.0003", per: "amount", min: "3" },
  platformFee: { rate: "15", per: "order" },
};

/** List prices of the example broker. */
export const exampleTariff: Tariff = {
  hk: {
    commission: { rate: "0.0003", per: "amount", min: "3" },
    platformFee: { rate: "15", per: "order" },
  },
  us: {
    commission: { rate: "0.0049", per: "share", min: "0.99", maxOfAmount: "0.005" },
    platformFee: { rate: "0.005", per: "share", min: "1", maxOfAmount: "0.005" },
  },
  shanghai: northbound,
  shenzhen: northbound,
  "us-option": {
    commission: { rate: "0.65", per: "contract", min: "1.99" },
    platformFee: { rate: "0.30", per: "contract", min: "1" },
  },
  "hk-future": {
    commission: { rate: "20", per: "contract", byProduct: { HSI: "30", MHI: "5", HHI: "12" } },
  },
};

/** A decimal as `coefficient / 10 ** scale`. */
export interface Fixed {
  coefficient: bigint;
  scale: number;
}

/** How a charge is rounded: to the nearest cent, up to the next cent, or up to the next whole currency unit. */
type CentRounding = "cent" | "cent-up" | "whole-up";

/** The unit that a charge is multiplied by. */
type Basis = "amount" | "share" | "contract" | "fill" | "order";

/** A parsed charge. Limits are in cents. */
export interface Rule {
  per: Basis;
  rate: Fixed;
  round: CentRounding;
  min?: bigint;
  max?: bigint;
  /** Maximum, as a fraction of the amount. If it is below `min`, `min` applies. */
  cap?: Fixed;
}

/** The amount and quantity traded in a fill or in a whole order. */
export interface Traded {
  /** Money in the market's currency. */
  amount: Fixed;
  /** Number of shares; for options, the underlying shares. */
  shares: Fixed;
  /** Quantity in the unit of the fills: shares or contracts. */
  quantity: Fixed;
}

const PLAIN = /^\d+(?:\.\d+)?$/;
const ONE: Fixed = { coefficient: 1n, scale: 0 };

const powers: bigint[] = [1n];

/** Returns ten to a power. Powers are cached because computing a bigint power is slow. */
function ten(power: number): bigint {
  for (let next = powers.length; next <= power; next++) powers.push(powers[next - 1]! * 10n);
  return powers[power]!; // the loop above filled it
}

/**
 * Parses a decimal that is not below zero.
 *
 * @throws {TypeError} When it is not a decimal.
 * @throws {RangeError} When it is below zero.
 */
export function readFixed(value: string): Fixed {
  const text = PLAIN.test(value) ? value : normalize(value);
  if (text.startsWith("-")) throw new RangeError(`Cannot compute fees with "${value}": it is below zero`);
  const point = text.indexOf(".");
  if (point < 0) return { coefficient: BigInt(text), scale: 0 };
  return {
    coefficient: BigInt(text.slice(0, point) + text.slice(point + 1)),
    scale: text.length - point - 1,
  };
}

/** Returns the exact product. */
export function times(a: Fixed, b: Fixed): Fixed {
  return { coefficient: a.coefficient * b.coefficient, scale: a.scale + b.scale };
}

/** Returns the exact sum. */
export function plus(a: Fixed, b: Fixed): Fixed {
  const scale = Math.max(a.scale, b.scale);
  return {
    coefficient: a.coefficient * ten(scale - a.scale) + b.coefficient * ten(scale - b.scale),
    scale,
  };
}

function isBelow(a: Fixed, b: Fixed): boolean {
  return a.coefficient * ten(b.scale) < b.coefficient * ten(a.scale);
}

/** Rounds a value that is not below zero to whole multiples of `10 ** -places`. */
function toUnits({ coefficient, scale }: Fixed, places: number, up: boolean): bigint {
  if (scale <= places) return coefficient * ten(places - scale);
  const unit = ten(scale - places);
  return (coefficient + (up ? unit - 1n : unit / 2n)) / unit;
}

/** Returns a limit such as `"5.95"` in cents. */
function readCents(value: string): bigint {
  const fixed = readFixed(value);
  if (fixed.scale > 2) {
    throw new RangeError(`Cannot use "${value}" as a limit: it has more than two decimals`);
  }
  return toUnits(fixed, 2, false);
}

function basisOf(per: Basis, traded: Traded): Fixed {
  if (per === "amount") return traded.amount;
  if (per === "share") return traded.shares;
  return per === "contract" ? traded.quantity : ONE;
}

/** Returns the amount of one charge in cents. A rate of zero results in zero, even if the charge has a minimum. */
export function chargeOf(rule: Rule, traded: Traded): bigint {
  if (rule.rate.coefficient === 0n) return 0n;
  let value = times(basisOf(rule.per, traded), rule.rate);
  if (rule.cap !== undefined) {
    const most = times(traded.amount, rule.cap);
    if (isBelow(most, value)) value = most;
  }
  let cents = rule.round === "whole-up"
    ? toUnits(value, 0, true) * 100n
    : toUnits(value, 2, rule.round === "cent-up");
  if (rule.max !== undefined && cents > rule.max) cents = rule.max;
  if (rule.min !== undefined && cents < rule.min) cents = rule.min;
  return cents;
}

/** Returns cents as a decimal string: `"12.34"` for `1234n`. */
export function writeCents(cents: bigint): string {
  if (cents === 0n) return "0.00";
  const digits = cents.toString().padStart(3, "0");
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
