/**
 * Hong Kong index futures: products, contract months and their days.
 *
 * Sources: the contract specifications named in `data/futures.json`. The contract code (`HSI2508.HK`: product, two
 * digits of the year, two of the month) is the form brokers use; the API document only says that codes carry `.HK`.
 *
 * @module
 */
import { sessionOn } from "../calendars/mod.ts";
import type { Decimal } from "../decimal.ts";
import data from "./data/futures.json" with { type: "json" };

/** What all contracts of one kind share. */
export interface FutureProduct {
  /** Product code, such as `HSI`. */
  product: string;
  name: string;
  nameTc: string;
  nameSc: string;
  /** The index it follows: `HSI`, `HHI` or `HTI`. */
  index: string;
  /** Hong Kong dollars per index point. */
  multiplier: Decimal;
  /** Whether the following five Decembers are listed too. */
  longDated: boolean;
}

/** One contract month of a product. */
export interface FutureContract extends Omit<FutureProduct, "longDated"> {
  /** Such as `HSI2508.HK`. */
  symbol: string;
  /** Contract month, `yyyy-MM`. */
  month: string;
  /** `yyyy-MM-dd`; the business day before the last business day of the month. */
  lastTradingDay: string;
  /** `yyyy-MM-dd`; the first business day after the last trading day. */
  finalSettlementDay: string;
  currency: "HKD";
  /** Index points. */
  tick: Decimal;
  /** Decimals of a price: whole points. */
  decimals: number;
  /** `dataType` of the market-data interface. */
  dataType: number;
}

/** The products, in the order of the data. */
export const futureProducts: readonly FutureProduct[] = data.products;

const DAY_MS = 86_400_000;
const QUARTER_MONTHS = [3, 6, 9, 12];

/** A contract may end beyond the calendar; there every weekday counts, and the calendar corrects it later. */
function isBusinessDay(day: number): boolean {
  const session = sessionOn("XHKG", new Date(day).toISOString().slice(0, 10));
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
 * Returns the contract months listed on a date, nearest first: spot, next, the next two quarter months, and
 * for the long-dated products the five Decembers after those.
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

/** Reads a contract code such as `HSI2508.HK`, listed or past, or returns `undefined`. */
export function futureContract(symbol: string): FutureContract | undefined {
  const match = CODE.exec(symbol);
  const product = futureProducts.find((row) => row.product === match?.[1]);
  const number = Number(match?.[3]);
  if (match === null || product === undefined || number < 1 || number > 12) return undefined;
  const month = `20${match[2]}-${match[3]}`;
  const { longDated: _, ...shared } = product;
  const named = (name: string) => `${name} ${match[2]}${match[3]}`;
  return {
    ...shared,
    name: named(product.name),
    nameTc: named(product.nameTc),
    nameSc: named(product.nameSc),
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
