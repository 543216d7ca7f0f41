/**
 * What a trade costs: commission, duties, levies and fees, item by item, on the day it is made. Used by the
 * simulator and by estimates before an order.
 *
 * Rates with their dates and sources stand in `data/fees.json`, the broker's own charges in `tariff.ts`.
 *
 * @example What buying 40,000 Hong Kong dollars' worth costs
 * ```ts
 * import { feesOf } from "./fees.ts";
 * const fills = [{ price: "400", quantity: "100" }];
 * const { order } = feesOf({ market: "hk", date: "2025-08-15", side: "buy", fills });
 * if (order.total !== "72.08") throw new Error(order.total);
 * ```
 *
 * @module
 */
import { chargeOf, type Fixed, plus, readFixed, times, type Traded, writeCents } from "./fee_amounts.ts";
import { type FeeInstrument, type Schedule, scheduleOf } from "./fee_schedule.ts";
import { exampleTariff, type FeeMarket, type Tariff } from "./tariff.ts";

export type { FeeInstrument } from "./fee_schedule.ts";
export {
  type BrokerCharge,
  exampleTariff,
  type FeeMarket,
  type MarketTariff,
  type Tariff,
} from "./tariff.ts";

/**
 * The fees of a trade in the market's currency, each with two decimals. A member that the market does not
 * have is absent; one that it has is there even at `"0.00"`.
 */
export interface FeeItems {
  /** fare0 */
  commission?: string;
  /** fare1; also the mainland's stamp duty. */
  stampDutyOrSecFee?: string;
  /** fare2; also the mainland's handling fee and the futures exchange's fee. */
  tradingFeeOrTaf?: string;
  /** fare3; also the mainland's securities management fee. */
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
  /** farex; also the mainland's two transfer fees together. */
  settlementFee?: string;
  /** faret; the exact sum of the others. */
  total: string;
}

/** An order's fills on one trading day. */
export interface FeeInput {
  market: FeeMarket;
  /** Trade date, `"2025-08-15"`. */
  date: string;
  side: "buy" | "sell";
  /**
   * `reit` and `structured` differ in Hong Kong, `etf` there and in China; elsewhere all are charged alike.
   *
   * @default "stock"
   */
  instrument?: FeeInstrument;
  /** Price per share (option premiums too) or in index points; quantity in shares or contracts. */
  fills: { price: string; quantity: string }[];
  /** Tells the futures product when `futureProduct` does not, as in `HSI2508.HK`. */
  symbol?: string;
  /** Such as `HSI`. */
  futureProduct?: string;
  /** Opened and closed on one day. No recorded rate depends on it. */
  dayTrade?: boolean;
}

/** Fees fill by fill, and together. */
export interface Fees {
  /** In the order of the fills; what is charged per order stands on the first. */
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
    throw new TypeError("Cannot work out fees of a future: name its product or its symbol");
  }
  return product;
}

/**
 * Returns the fees of an order's fills on one trading day.
 *
 * What exchanges and regulators charge is worked out and rounded fill by fill, as they do. Commission and
 * platform fee, the audit trail fee and the option regulatory fee are worked out for the order and put on its
 * first fill. The final settlement of a future, the yearly portfolio fee and dividend tax are no fees of a trade.
 *
 * @param order All fills of one order on one day; without fills every amount is `"0.00"`.
 * @param tariff The broker's charges. Schedules are kept per tariff object, so hand in the same one each time.
 * @throws {RangeError} When no rate is recorded for that day or product, or a number is below zero.
 * @throws {TypeError} When a price, a quantity or the date cannot be read.
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
