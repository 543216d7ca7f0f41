/**
 * Which charges a trade bears on a day: the dated rates of `data/fees.json` and the broker's tariff, brought
 * into the form that `chargeOf` takes. Resolved once per market, day, side and kind of listing.
 *
 * @module
 */
import { type Basis, type CentRounding, readCents, readFixed, type Rule } from "./fee_amounts.ts";
import fees from "./data/fees.json" with { type: "json" };
import type { BrokerCharge, FeeMarket, Tariff } from "./tariff.ts";

/** The members of a trade's fees, in the broker's order (fare0 to fare9, then farex). */
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

/** One member of a trade's fees. */
export type FeeMember = typeof FEE_MEMBERS[number];

/** Kind of listing, as far as fees tell it apart. */
export type FeeInstrument = "stock" | "etf" | "reit" | "structured";

interface DatedRate {
  /** First trade date; without it, since ever or not looked up. */
  from?: string;
  /** Last trade date; without it, still in force. */
  to?: string;
  rate: string;
  min?: string;
  max?: string;
  maxOfAmount?: string;
  /** Keys of the file's `sources`. */
  source?: string;
  /** `false` when no stored page states the value. */
  confirmed?: boolean;
}

/** One charge of an exchange or a regulator through the years. */
export interface Charge {
  name: string;
  item: FeeMember;
  per: Basis;
  round: CentRounding;
  /** Taken once of the whole order instead of fill by fill. */
  scope?: "order";
  /** Taken on this side only. */
  side?: "sell";
  /** Taken on these kinds of listing only. */
  only?: FeeInstrument[];
  /** Taken on these futures products only. */
  products?: string[];
  /** The rates are those of the same member in another market. */
  ratesOf?: ChargeMarket;
  rates?: DatedRate[];
  note?: string;
}

type ChargeMarket = "hk" | "us" | "china" | "us-option" | "hk-future";

// JSON imports widen the literal words; the tests check each of them.
const charges = fees as unknown as Record<ChargeMarket, Charge[]>;

const chargeMarket: Record<FeeMarket, ChargeMarket> = {
  hk: "hk",
  us: "us",
  shanghai: "china",
  shenzhen: "china",
  "us-option": "us-option",
  "hk-future": "hk-future",
};

/** What tells one schedule from another. */
export interface ScheduleKey {
  market: FeeMarket;
  /** Trade date, `"2025-08-15"`. */
  date: string;
  side: "buy" | "sell";
  instrument: FeeInstrument;
  /** Futures product, such as `HSI`. */
  product?: string;
}

/** A charge and the place of its member in {@link Schedule.members}. */
export interface PlacedRule extends Rule {
  at: number;
}

/** The charges of a trade, ready to be applied. */
export interface Schedule {
  /** Members that the market has, charged on this trade or not. */
  members: FeeMember[];
  perFill: PlacedRule[];
  /** The broker's charges, and those that are summed before they are rounded. */
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

  // The mainland's rows tell ETFs from everything else.
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
  // A gap in the recorded rates is not a fee of zero.
  const missing = listed.find(({ item }) => !dated.has(item));
  if (missing !== undefined) {
    const what = `${market}${product === undefined ? "" : ` ${product}`} on ${date}`;
    throw new RangeError(`Cannot work out fees for ${what}: no rate of "${missing.name}" is recorded`);
  }
  return schedule;
}

const schedules = new WeakMap<Tariff, Map<string, Schedule>>();

/**
 * Returns the charges of a trade.
 *
 * @throws {RangeError} When no rate is recorded for the day or the futures product.
 */
export function scheduleOf(key: ScheduleKey, tariff: Tariff): Schedule {
  let known = schedules.get(tariff);
  if (known === undefined) schedules.set(tariff, known = new Map());
  const name = `${key.market} ${key.date} ${key.side} ${key.instrument} ${key.product ?? ""}`;
  let schedule = known.get(name);
  if (schedule === undefined) {
    if (!/^\d{4}-\d{2}-\d{2}$/.test(key.date)) {
      throw new TypeError(`Cannot work out fees for "${key.date}": write the date like "2025-08-15"`);
    }
    known.set(name, schedule = makeSchedule(key, tariff));
  }
  return schedule;
}
