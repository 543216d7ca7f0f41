/**
 * Looks up Hong Kong index futures (products, contract months, last trading and settlement days), and strike intervals
 * of United States options.
 *
 * Sources: the contract specifications named in `data/futures.json`. Contract codes have the form that brokers use:
 * `HSI2508.HK` is the product, two digits of the year and two of the month. The API document only says that codes end
 * with `.HK`.
 *
 * @module
 */
import { builtInCalendars } from "../calendars/mod.ts";
import { compare, type Decimal } from "../decimal.ts";
import data from "./data/futures.json" with { type: "json" };

/** A futures product. */
export interface FutureProduct {
  /** Product code, such as `HSI`. */
  product: string;
  /** Name in English. */
  name: string;
  /** Name in traditional Chinese. */
  nameTc: string;
  /** Name in simplified Chinese. */
  nameSc: string;
  /** The underlying index: `HSI`, `HHI` or `HTI`. */
  index: string;
  /** Hong Kong dollars per index point. */
  multiplier: Decimal;
  /** Whether the next five December contracts are listed too. */
  longDated: boolean;
}

/** A contract: one contract month of a product. */
export interface FutureContract extends Omit<FutureProduct, "longDated"> {
  /** Contract code, such as `HSI2508.HK`. */
  symbol: string;
  /** Contract month, `yyyy-MM`. */
  month: string;
  /** The business day before the last business day of the month, `yyyy-MM-dd`. */
  lastTradingDay: string;
  /** The first business day after the last trading day, `yyyy-MM-dd`. */
  finalSettlementDay: string;
  /** Currency of its prices. */
  currency: "HKD";
  /** Tick size, in index points. */
  tick: Decimal;
  /** Number of decimals of a price: 0, because prices are whole points. */
  decimals: number;
  /** `dataType` of the market-data interface. */
  dataType: number;
}

/** The products, in the order of the data file. */
export const futureProducts: readonly FutureProduct[] = data.products;

const DAY_MS = 86_400_000;
const QUARTER_MONTHS = [3, 6, 9, 12];

/**
 * Returns whether a day is a business day. A contract may end after the last day that the calendar covers, so every
 * weekday that the calendar does not cover counts as a business day.
 */
function isBusinessDay(day: number): boolean {
  const session = builtInCalendars.sessionOn("XHKG", new Date(day).toISOString().slice(0, 10));
  const weekday = new Date(day).getUTCDay();
  return session === "unknown" ? weekday > 0 && weekday < 6 : session !== "closed";
}

function stepBusinessDay(day: number, step: number): number {
  do day += step; while (!isBusinessDay(day));
  return day;
}

const months = new Map<string, { lastTradingDay: string; finalSettlementDay: string }>();

/** Returns the last trading day and the final settlement day of a contract month (`yyyy-MM`). */
export function contractDays(month: string): { lastTradingDay: string; finalSettlementDay: string } {
  let days = months.get(month);
  if (days === undefined) {
    const lastBusinessDay = stepBusinessDay(Date.parse(`${nextMonth(month)}-01T00:00:00Z`), -DAY_MS);
    const write = (day: number) => new Date(day).toISOString().slice(0, 10);
    days = {
      lastTradingDay: write(stepBusinessDay(lastBusinessDay, -DAY_MS)),
      finalSettlementDay: write(lastBusinessDay),
    };
    months.set(month, days);
  }
  return days;
}

function nextMonth(month: string, count = 1): string {
  const [year = 0, number = 0] = month.split("-").map(Number);
  const index = year * 12 + number - 1 + count;
  return `${Math.floor(index / 12)}-${String(index % 12 + 1).padStart(2, "0")}`;
}

const numberOf = (month: string) => Number(month.slice(5));

/**
 * Returns the contract months listed on a date, nearest first: the spot month, the next month, the next two quarter
 * months, and for long-dated products the next five Decembers.
 */
export function contractMonths(product: FutureProduct, date: string): string[] {
  let spot = date.slice(0, 7);
  if (date > contractDays(spot).lastTradingDay) spot = nextMonth(spot);
  const listed = [spot, nextMonth(spot)];
  const add = (count: number, fits: (month: string) => boolean) => {
    let month = listed[listed.length - 1] ?? spot;
    for (let added = 0; added < count;) {
      month = nextMonth(month);
      if (fits(month)) {
        listed.push(month);
        added++;
      }
    }
  };
  add(2, (month) => QUARTER_MONTHS.includes(numberOf(month)));
  if (product.longDated) add(5, (month) => numberOf(month) === 12);
  return listed;
}

const CODE = /^([A-Z]{3})(\d{2})(\d{2})\.HK$/;

/**
 * Returns the contract of a code such as `HSI2508.HK`, whether or not it is listed now.
 *
 * @returns `undefined` if the text is not a contract code.
 */
export function futureContract(symbol: string): FutureContract | undefined {
  const match = CODE.exec(symbol);
  const product = futureProducts.find((row) => row.product === match?.[1]);
  const number = Number(match?.[3]);
  if (match === null || product === undefined || number < 1 || number > 12) return undefined;
  const month = `20${match[2]}-${match[3]}`;
  const { longDated: _, ...shared } = product;
  const withMonth = (name: string) => `${name} ${match[2]}${match[3]}`;
  return {
    ...shared,
    name: withMonth(product.name),
    nameTc: withMonth(product.nameTc),
    nameSc: withMonth(product.nameSc),
    symbol,
    month,
    ...contractDays(month),
    currency: "HKD",
    tick: "1",
    decimals: 0,
    dataType: 10010,
  };
}

/** Returns every contract listed on a date, product by product. */
export function futureContracts(date: string): FutureContract[] {
  return futureProducts.flatMap((product) =>
    contractMonths(product, date).flatMap((month) =>
      futureContract(`${product.product}${month.slice(2, 4)}${month.slice(5)}.HK`) ?? []
    )
  );
}

/** Underlyings for which the simulator has an option chain. */
export const optionUnderlyings: readonly string[] = ["AAPL", "AMZN", "GOOGL", "MSFT"];

/** Number of shares per option contract. */
export const optionMultiplier: Decimal = "100";

/**
 * Returns the strike interval of an actively traded underlying. The published rules set a standard interval: 5 up to a
 * price of 200, and 10 above that price. For active underlyings, they set narrower intervals. This function simplifies
 * these: the interval is 2.50 for expiries within 62 days, and half the standard interval for later expiries.
 *
 * @param daysToExpiry Calendar days until the expiry.
 */
export function activeStrikeStep(underlyingPrice: Decimal, daysToExpiry: number): Decimal {
  if (daysToExpiry <= 62 || compare(underlyingPrice, "200") <= 0) return "2.5";
  return "5";
}
