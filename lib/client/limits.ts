/**
 * Defines the limits of an account's orders: their settings, how their texts are read, and which of two limits is the
 * narrower one. The guard rails of the order desk apply them.
 *
 * @module
 */
import { compare, type Decimal, divide, isDecimal, isZero } from "../decimal.ts";
import { BrokerError, InvalidParamsError, type Issue } from "../errors.ts";
import { nearest } from "./nearest.ts";

/** Amounts by currency. A currency without an amount has the limit zero. */
export type Amounts = Readonly<Record<string, Decimal>>;

/** Limits that guard rails check. An absent limit is off. */
export interface Limits {
  /** Whether orders may be sent at all. */
  liveTrading: boolean;
  /** Largest value of one order. */
  maxOrderValue?: Amounts | undefined;
  /** Largest value of a day's orders of one listing. */
  maxSymbolValue?: Amounts | undefined;
  /** Largest value of a day's orders. */
  maxDayValue?: Amounts | undefined;
  /** Maximum number of orders and amendments in a minute. */
  maxOrdersPerMinute?: number | undefined;
  /** Listings that orders may name. */
  allowedSymbols?: readonly string[] | undefined;
  /** Whether an order may sell more than the account has. */
  allowShort: boolean;
  /** Largest distance from the last price, as a fraction of it. */
  priceCollar?: Decimal | undefined;
  /** Largest age of the quote that a price is compared with, in milliseconds. */
  quoteMaxAge?: number | undefined;
  /** Largest quantity of one order, as a fraction of the average day's volume. */
  maxVolumeShare?: Decimal | undefined;
}

/** Name of a limit; also the name of its setting. */
export type LimitName = keyof Limits;
/** Limits as a person writes them. */
export type LimitTexts = Readonly<Partial<Record<LimitName, string>>>;

/** How one kind of limit is written and compared. `undefined` means no limit. */
interface Kind<T> {
  expected: string;
  /** Throws a `TypeError` if the text is invalid. */
  read(text: string): T | undefined;
  /** Returns a limit that allows only what both limits allow. */
  meet(one: T, other: T): T;
  /** Returns whether the first limit allows something that the other does not allow. */
  isWider(own: T, other: T): boolean;
}

const OFF = "off";
const currencies = ["HKD", "USD", "CNY"];

function invalid(): never {
  throw new TypeError("Cannot read the text of a limit");
}

const amounts: Kind<Amounts> = {
  expected: 'amounts with their currencies, such as "500000 HKD, 60000 USD", or "off"',
  read(text) {
    if (text === OFF) return undefined;
    const read: Record<string, Decimal> = {};
    for (const part of text.split(",")) {
      const [, amount = "", currency = ""] = /^\s*(\d+(?:\.\d{1,2})?)\s+([A-Z]{3})\s*$/.exec(part) ?? [];
      if (!isDecimal(amount) || !currencies.includes(currency) || currency in read) invalid();
      read[currency] = amount;
    }
    return read;
  },
  meet: (one, other) =>
    Object.fromEntries(
      Object.entries(one).flatMap(([currency, amount]) => {
        const its = other[currency];
        return its === undefined ? [] : [[currency, compare(amount, its) < 0 ? amount : its]];
      }),
    ),
  isWider: (own, other) =>
    Object.entries(own).some(([currency, amount]) => compare(amount, other[currency] ?? "0") > 0),
};

const smaller = <T>(isLess: (one: T, other: T) => boolean): Pick<Kind<T>, "meet" | "isWider"> => ({
  meet: (one, other) => isLess(one, other) ? one : other,
  isWider: (own, other) => isLess(other, own),
});

const count: Kind<number> = {
  expected: 'a whole number from 1 to 10000, or "off"',
  read(text) {
    if (text === OFF) return undefined;
    return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 10_000 ? Number(text) : invalid();
  },
  ...smaller<number>((one, other) => one < other),
};

const codes: Kind<readonly string[]> = {
  expected: 'listing codes with commas, such as "00700.HK, AAPL", or "off"',
  read(text) {
    if (text === OFF) return undefined;
    const list = text.split(",").map((each) => each.trim());
    return list.every((each) => /^[A-Z0-9][A-Z0-9.-]*$/.test(each)) ? list : invalid();
  },
  meet: (one, other) => one.filter((each) => other.includes(each)),
  isWider: (own, other) => own.some((each) => !other.includes(each)),
};

const percent: Kind<Decimal> = {
  expected: 'a percentage above 0% and at most 100%, such as "10%", or "off"',
  read(text) {
    if (text === OFF) return undefined;
    const number = text.endsWith("%") ? text.slice(0, -1) : "";
    if (!/^\d{1,3}(\.\d{1,4})?$/.test(number) || isZero(number) || compare(number, "100") > 0) invalid();
    return divide(number, "100", 6, "exact");
  },
  ...smaller<Decimal>((one, other) => compare(one, other) < 0),
};

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };
const age: Kind<number> = {
  expected: 'a time from 1s to 24h, such as "60s" or "15m", or "off"',
  read(text) {
    if (text === OFF) return undefined;
    const [, number = "", unit = ""] = /^([1-9]\d{0,4})([smh])$/.exec(text) ?? [];
    const ms = Number(number) * (units[unit] ?? 0);
    return ms > 0 && ms <= 86_400_000 ? ms : invalid();
  },
  ...smaller<number>((one, other) => one < other),
};

const permission: Kind<boolean> = {
  expected: '"allow" or "refuse"',
  read: (text) => text === "allow" || (text === "refuse" ? false : invalid()),
  ...smaller<boolean>((one, other) => !one && other),
};

/** A limit as a setting. */
interface Limit<T> extends Kind<T> {
  env: string;
  /** @default no limit */
  fallback?: string;
  /** What the author of a settings file can do with it. */
  power: string;
}

/** Every limit, in the order in which settings are shown. */
export const limitTable: { readonly [Name in LimitName]: Limit<NonNullable<Limits[Name]>> } = {
  liveTrading: {
    env: "HSGATE_LIVE_TRADING",
    ...permission,
    fallback: "refuse",
    power: '"allow" lets orders be sent',
  },
  maxOrderValue: {
    env: "HSGATE_MAX_ORDER_VALUE",
    ...amounts,
    power: "sets the largest value of one order",
  },
  maxSymbolValue: {
    env: "HSGATE_MAX_SYMBOL_VALUE",
    ...amounts,
    power: "sets the largest value of a day's orders of one listing",
  },
  maxDayValue: {
    env: "HSGATE_MAX_DAY_VALUE",
    ...amounts,
    power: "sets the largest value of a day's orders",
  },
  maxOrdersPerMinute: {
    env: "HSGATE_MAX_ORDERS_PER_MINUTE",
    ...count,
    fallback: "60",
    power: "sets how many orders may be sent in a minute",
  },
  allowedSymbols: {
    env: "HSGATE_ALLOWED_SYMBOLS",
    ...codes,
    power: "sets which listings may be traded",
  },
  allowShort: {
    env: "HSGATE_ALLOW_SHORT",
    ...permission,
    fallback: "refuse",
    power: '"allow" lets orders sell more than the account has',
  },
  priceCollar: {
    env: "HSGATE_PRICE_COLLAR",
    ...percent,
    fallback: "10%",
    power: "sets how far from the market the price of an order may be",
  },
  quoteMaxAge: {
    env: "HSGATE_QUOTE_MAX_AGE",
    ...age,
    fallback: "60s",
    power: "sets the largest age of the quote with which hsgate compares an order",
  },
  maxVolumeShare: {
    env: "HSGATE_MAX_VOLUME_SHARE",
    ...percent,
    fallback: "off",
    power: "sets the largest quantity of one order, as a part of the average daily volume",
  },
};

/** Names of all limits. */
// The table has exactly these keys.
export const limitNames = Object.keys(limitTable) as LimitName[];

/** Returns whether a text is a valid value of a limit. */
export function isLimit(name: LimitName, text: string): boolean {
  try {
    limitTable[name].read(text);
    return true;
  } catch {
    return false; // read() throws only for an invalid text
  }
}

/**
 * Reads limits. A limit that is not given has its default.
 *
 * @throws {InvalidParamsError} If a name or a value is invalid. Lists every such limit.
 */
export function readLimits(texts: LimitTexts): Limits {
  const issues: Issue[] = [];
  for (const [name, value] of Object.entries(texts)) {
    if (value === undefined) continue;
    const known = limitNames.find((each) => each === name);
    if (known === undefined) {
      const meant = nearest(name, limitNames);
      const expected = meant === undefined ? `one of ${limitNames.join(", ")}` : `the limit "${meant}"`;
      issues.push({ path: ["limits", name], value, expected });
    } else if (typeof value !== "string" || !isLimit(known, value)) {
      issues.push({ path: ["limits", name], value, expected: limitTable[known].expected });
    }
  }
  if (issues.length > 0) throw new InvalidParamsError("read the limits", issues, { code: "limits" });
  const read = Object.fromEntries(limitNames.map((name) => {
    const { read, fallback } = limitTable[name];
    return [name, read(texts[name] ?? fallback ?? OFF)];
  }));
  return read as unknown as Limits; // each member was read by its own entry
}

/** Returns the limits that settings contain. */
export function limitsOf(settings: LimitTexts): Limits {
  return readLimits(Object.fromEntries(limitNames.map((name) => [name, settings[name]])));
}

/** Returns the limits of loaded settings; `undefined` if the settings cannot be used, which other code reports. */
export async function limitsIfKnown(
  load: () => Promise<{ settings: LimitTexts }>,
): Promise<Limits | undefined> {
  try {
    return limitsOf((await load()).settings);
  } catch (error) {
    if (error instanceof BrokerError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Returns the limits that allow only what both an account and a recipe allow. */
export function narrowedLimits(account: Limits, own: LimitTexts): Limits {
  const limits: Record<string, unknown> = { ...account };
  for (const name of limitNames) {
    const text = own[name];
    if (text === undefined) continue;
    const { read, meet } = limitTable[name] as Limit<unknown>; // safe cast: this limit's `read` made both values
    const [wanted, outer] = [read(text), account[name]];
    limits[name] = wanted === undefined ? outer : outer === undefined ? wanted : meet(wanted, outer);
  }
  return limits as unknown as Limits; // each member has the type of its entry
}

/** Returns the names of the limits with which a recipe allows more than its account. */
export function widerLimits(account: Limits, own: LimitTexts): LimitName[] {
  return limitNames.filter((name) => {
    const text = own[name];
    const outer = account[name];
    if (text === undefined || outer === undefined) return false;
    const { read, isWider } = limitTable[name] as Limit<unknown>; // safe cast: this limit's `read` made both values
    const wanted = read(text);
    return wanted === undefined || isWider(wanted, outer);
  });
}
