/**
 * Defines the account that a plan starts from: cash, holdings, prices, lots and exchange rates. Reads it from a file;
 * `broker.ts` reads it from the broker.
 *
 * @module
 */
import * as z from "zod";
import { isDate } from "../../time.ts";
import type { Decimal } from "../../decimal.ts";
import { Market } from "../../dictionaries/market.ts";
import { currency } from "./plan_file.ts";
import { checked, decimalText, readValues } from "./values.ts";

/** Kind of listing, for its fees. */
export type Instrument = "stock" | "etf" | "reit" | "structured";

/** A listing with its price. */
export interface AccountQuote {
  market: Market;
  symbol: string;
  /** Price per share in the currency of the listing; absent if the broker gave none. */
  price?: Decimal;
  /** Board lot in shares; absent if the broker did not confirm it. */
  lot?: Decimal;
  instrument?: Instrument;
  /** Currency of the price, if it differs from the market's currency. */
  currency?: string;
  /** Day of the price, if it is not the day of the account. */
  date?: string;
  /** Why the price is too old to plan with. */
  stale?: string;
  /** Whether trading is suspended. */
  suspended?: boolean;
  /** Whether an order of the listing is open. */
  hasOpenOrder?: boolean;
}

/** A position, with the price of its listing. */
export interface AccountHolding extends AccountQuote {
  quantity: Decimal;
  /** Quantity that may be sold today. @default the whole quantity */
  sellable?: Decimal;
}

/** The state of an account from which a plan starts. */
export interface Account {
  /** Trade date, which determines the fees: `2025-08-15`. */
  date: string;
  /** Trade dates of the markets whose date differs from `date`. */
  dates?: Readonly<Partial<Record<Market, string>>>;
  /** Cash by currency. */
  cash: Readonly<Record<string, Decimal>>;
  /** Part of the cash that must not be spent, by currency: frozen by orders, or not settled. */
  reserved: Readonly<Record<string, Decimal>>;
  /** By currency: the value of one unit in the base currency, or a map with its values in several other currencies. */
  rates: Readonly<Record<string, Decimal | Readonly<Record<string, Decimal>>>>;
  holdings: readonly AccountHolding[];
  quotes: readonly AccountQuote[];
}

const decimal = (expected: string, least?: Decimal) => decimalText(least, undefined, expected);
const aDay = 'expected a date such as "2025-08-15"';
const day = z.string({ error: aDay }).refine((text) => isDate(text), { error: aDay });
const cash = z.record(currency, decimal('an amount of money, such as "10000.00"'), {
  error: "expected a map of currencies to amounts",
});
const rate = decimal('a rate that is not negative, such as "7.8"', "0");

const quoteMembers = {
  market: z.enum(Market.names, { error: `expected one of ${Market.names.join(", ")}` }),
  symbol: z.string({ error: "expected a listing code" }).min(1, { error: "expected a listing code" }),
  price: decimal('a price, such as "38.45"').optional(),
  lot: decimal('a board lot in shares, such as "100"').optional(),
  instrument: z.enum(["stock", "etf", "reit", "structured"], {
    error: "expected one of stock, etf, reit, structured",
  }).optional(),
  currency: currency.optional(),
  date: day.optional(),
  suspended: z.union([z.boolean(), z.enum(["true", "false"])]).transform((value) => String(value) === "true")
    .optional(),
};

const accountSchema = z.object({
  date: day,
  cash,
  reserved: cash.default({}),
  rates: z.record(currency, z.union([rate, z.record(currency, rate)]), {
    error: "expected a map of currencies to rates",
  }).default({}),
  holdings: z.array(
    z.object({
      ...quoteMembers,
      quantity: decimal('a quantity, such as "500"'),
      sellable: decimal('a quantity that is not negative, such as "500"', "0").optional(),
    }, { error: "expected a map of market, symbol, quantity, sellable, price, lot, instrument" }),
    { error: "expected a list of holdings" },
  ).default([]),
  quotes: z.array(
    z.object(quoteMembers, { error: "expected a map of market, symbol, price, lot, instrument" }),
    { error: "expected a list of quotes" },
  ).default([]),
}, { error: "expected a map of date, cash, rates, holdings, quotes" });

/**
 * Reads the text of an account file, YAML or JSON. Ignores unknown members.
 *
 * @param name Name of the file, for messages.
 * @throws {InvalidParamsError} If a member is wrong. It lists every mistake.
 * @throws {TypeError} If the text is neither YAML nor JSON, names a member twice, or has too many values or levels.
 */
export function readAccount(text: string, name: string): Account {
  return checked(accountSchema, readValues(text, `"${name}"`), `read the account "${name}"`, {
    // A program may write `null` for an unknown member of a holding or a quote.
    mayBeNull: ([list, , member]) => member !== undefined && (list === "holdings" || list === "quotes"),
  });
}
