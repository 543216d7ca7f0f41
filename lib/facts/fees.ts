/**
 * Computes the costs of a trade item by item: commission, duties, levies and fees on the trade date. The simulator
 * charges these fees.
 *
 * Rates with their dates and sources are in `data/fees.json`, and the broker's own charges in `fee_schedule.ts`.
 *
 * @example The costs of buying shares for 40,000 Hong Kong dollars
 * ```ts
 * import { feesOf } from "./fees.ts";
 * const fills = [{ price: "400", quantity: "100" }];
 * const { order } = feesOf({ market: "hk", date: "2025-08-15", side: "buy", fills });
 * if (order.total !== "72.08") throw new Error(order.total);
 * ```
 *
 * @module
 */
import {
  chargeOf,
  exampleTariff,
  type FeeInstrument,
  type FeeMarket,
  type Fixed,
  plus,
  readFixed,
  type Schedule,
  scheduleOf,
  type Tariff,
  times,
  type Traded,
  writeCents,
} from "./fee_schedule.ts";

export type { FeeInstrument } from "./fee_schedule.ts";
export {
  type BrokerCharge,
  exampleTariff,
  type FeeMarket,
  type MarketTariff,
  type Tariff,
} from "./fee_schedule.ts";

/**
 * The fees of a trade in the market's currency, with two decimals. Contains exactly the items of the market, even
 * those that are `"0.00"`.
 */
export interface FeeItems {
  /** fare0 */
  commission?: string;
  /** fare1; on the mainland, the stamp duty. */
  stampDutyOrSecFee?: string;
  /** fare2; on the mainland, the handling fee; for futures, the exchange fee. */
  tradingFeeOrTaf?: string;
  /** fare3; on the mainland, the securities management fee. */
  tradingLevy?: string;
  /** fare4 */
  optionRegulatoryFee?: string;
  /** fare5 */
  optionClearingFee?: string;
  /** fare6 */
  platformFee?: string;
  /** fare7; no market has it. */
  reservedFee?: string;
  /** fare8 */
  auditTrailFee?: string;
  /** fare9; the levy of Hong Kong's Accounting and Financial Reporting Council. */
  disputeCouncilLevy?: string;
  /** farex; on the mainland, the sum of both transfer fees. */
  settlementFee?: string;
  /** faret; the exact sum of the other items. */
  total: string;
}

/** An order's fills on one trading day. */
export interface FeeInput {
  market: FeeMarket;
  /** Trade date, `"2025-08-15"`. */
  date: string;
  side: "buy" | "sell";
  /**
   * Kind of listing. In Hong Kong, `etf`, `reit` and `structured` have different fees than `stock`. On the mainland,
   * only `etf` has different fees. In other markets, fees do not depend on the kind of listing.
   *
   * @default "stock"
   */
  instrument?: FeeInstrument;
  /** Price per share (also for option premiums) or in index points; quantity in shares or contracts. */
  fills: { price: string; quantity: string }[];
  /** Contract code, such as `HSI2508.HK`. It determines the futures product if `futureProduct` is absent. */
  symbol?: string;
  /** Futures product, such as `HSI`. */
  futureProduct?: string;
  /** Whether the position was opened and closed on the same day. No recorded rate depends on it. */
  dayTrade?: boolean;
}

/** Fees of each fill, and their sum. */
interface Fees {
  /** Fees in the order of the fills. Charges per order are in the first fill's fees. */
  perFill: FeeItems[];
  /** The sum of {@link Fees.perFill}. */
  order: FeeItems;
}

const HUNDRED: Fixed = { coefficient: 100n, scale: 0 };
const ZERO: Fixed = { coefficient: 0n, scale: 0 };

function traded(market: FeeMarket, price: string, count: string): Traded {
  const quantity = readFixed(count);
  const shares = market === "us-option" ? times(quantity, HUNDRED) : quantity;
  return { amount: times(readFixed(price), shares), shares, quantity };
}

const together = (a: Traded, b: Traded): Traded => ({
  amount: plus(a.amount, b.amount),
  shares: plus(a.shares, b.shares),
  quantity: plus(a.quantity, b.quantity),
});

function writeItems(schedule: Schedule, cents: bigint[]): FeeItems {
  const items: Partial<FeeItems> = {};
  let total = 0n;
  for (let at = 0; at < cents.length; at++) {
    const amount = cents[at]!; // one amount per member
    items[schedule.members[at]!] = writeCents(amount);
    total += amount;
  }
  return Object.assign(items, { total: writeCents(total) });
}

function productOf({ market, futureProduct, symbol }: FeeInput): string | undefined {
  if (market !== "hk-future") return undefined;
  const product = futureProduct ?? symbol?.match(/^[A-Z]+/)?.[0];
  if (product === undefined) {
    throw new TypeError("Cannot compute fees of a future: name its product or its symbol");
  }
  return product;
}

/**
 * Returns the fees of an order's fills on one trading day.
 *
 * Charges of exchanges and regulators are computed and rounded for each fill, as the exchanges do. Commission,
 * platform fee, audit trail fee and option regulatory fee are computed for the whole order and added to the first
 * fill. Fees for the final settlement of a future, the yearly portfolio fee and dividend tax are not included.
 *
 * @param order All fills of one order on one day; without fills every amount is `"0.00"`.
 * @param tariff The broker's charges. Schedules are cached per tariff object, so pass the same object each time.
 * @throws {RangeError} When no rate is recorded for that day or product, or a number is below zero.
 * @throws {TypeError} When a price, a quantity or the date is invalid.
 */
export function feesOf(order: FeeInput, tariff: Tariff = exampleTariff): Fees {
  const { market, date, side, instrument = "stock", fills } = order;
  const product = productOf(order);
  const schedule = scheduleOf({ market, date, side, instrument, product }, tariff);
  const sums = schedule.members.map(() => 0n);
  let whole: Traded = { amount: ZERO, shares: ZERO, quantity: ZERO };

  const cents = fills.map(({ price, quantity }) => {
    const fill = traded(market, price, quantity);
    whole = together(whole, fill);
    const charged = schedule.members.map(() => 0n);
    for (const rule of schedule.perFill) charged[rule.at]! += chargeOf(rule, fill);
    return charged;
  });
  const [first] = cents;
  if (first !== undefined) {
    for (const rule of schedule.perOrder) first[rule.at]! += chargeOf(rule, whole);
  }
  for (const charged of cents) charged.forEach((amount, at) => sums[at]! += amount);
  return {
    perFill: cents.map((charged) => writeItems(schedule, charged)),
    order: writeItems(schedule, sums),
  };
}

/** Computes the total fees of an order of one listing at one price. A larger quantity never has lower fees. */
export interface FeeMeter {
  /** Returns the total fees in cents of an order of `quantity / 10 ** scale` shares or contracts with a single fill. */
  cents(quantity: bigint, scale: number): bigint;
  /** Returns the approximate fees in the currency, such as `18.36`, fast, for searches that need no exact amount. */
  estimate(quantity: number): number;
}

/** What the fees of a listing depend on. */
export interface FeeMeterInput extends Omit<FeeInput, "fills" | "dayTrade"> {
  /** Price per share (also for option premiums), or in index points. */
  price: string;
}

/**
 * Returns a meter of the fees of one listing at one price. Its `cents` agrees with {@linkcode feesOf} for a single
 * fill.
 *
 * @throws {RangeError} When no rate is recorded for that day or product, or the price is below zero.
 * @throws {TypeError} When the price or the date is invalid.
 */
export function feeMeter(input: FeeMeterInput, tariff: Tariff = exampleTariff): FeeMeter {
  const { market, date, side, instrument = "stock" } = input;
  const product = productOf({ ...input, fills: [] });
  const { perFill, perOrder } = scheduleOf({ market, date, side, instrument, product }, tariff);
  const rules = [...perFill, ...perOrder];
  const price = readFixed(input.price);
  const multiplier = market === "us-option" ? HUNDRED : { coefficient: 1n, scale: 0 };
  const number = ({ coefficient, scale }: Fixed) => Number(coefficient) / 10 ** scale;
  const sharesPerUnit = number(multiplier);
  const pricePerShare = number(price);
  const hints = rules.map((rule) => ({
    per: rule.per,
    rate: number(rule.rate),
    unit: rule.round === "whole-up" ? 1 : 0.01,
    up: rule.round !== "cent",
    min: Number(rule.min ?? 0n) / 100,
    max: rule.max === undefined ? Infinity : Number(rule.max) / 100,
    cap: rule.cap === undefined ? Infinity : number(rule.cap),
  }));
  return {
    cents(count, scale) {
      const quantity = { coefficient: count, scale };
      const shares = times(quantity, multiplier);
      const whole = { amount: times(price, shares), shares, quantity };
      return rules.reduce((sum, rule) => sum + chargeOf(rule, whole), 0n);
    },
    estimate(quantity) {
      const shares = quantity * sharesPerUnit;
      const amount = shares * pricePerShare;
      let sum = 0;
      for (const { per, rate, unit, up, min, max, cap } of hints) {
        if (rate === 0) continue;
        const basis = per === "amount"
          ? amount
          : per === "share"
          ? shares
          : per === "contract"
          ? quantity
          : 1;
        const charge = Math.min(basis * rate, amount * cap);
        const rounded = (up ? Math.ceil(charge / unit - 1e-9) : Math.round(charge / unit)) * unit;
        sum += Math.max(min, Math.min(max, rounded));
      }
      return sum;
    },
  };
}
