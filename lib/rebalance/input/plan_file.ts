/**
 * Reads the file that says how a portfolio is rebalanced: targets, cash buffers, bands and limits.
 *
 * A file is YAML or JSON. Numbers keep their digits: `0.40` and `"0.40"` are the same decimal.
 *
 * @module
 */
import * as z from "zod";
import { compare, type Decimal, divide, isDecimal, multiply, sumOf } from "../../decimal.ts";
import { Market } from "../../dictionaries/market.ts";
import { InvalidParamsError, type Issue, messageOf } from "../../errors.ts";
import { parse as parseCsv, repeatedColumn } from "../../std/csv.ts";
import { executionSchema, type ExecutionTerms } from "./terms.ts";
import { checked, decimalText, readValues } from "./values.ts";

/** A price of a quote that a plan can use. */
export type PriceKind = "last" | "bid" | "ask" | "mid";

/**
 * Band around a target. A symbol or a group inside its band is not traded. With both members, inside means within both
 * distances.
 */
export interface Band {
  /** Largest distance from the target, as a fraction of the account's value. */
  absolute?: Decimal;
  /** Largest distance from the target, as a fraction of the target. */
  relative?: Decimal;
}

/** Symbols with a common target weight. */
export interface Group {
  weight: Decimal;
  symbols: readonly string[];
  /** Replaces the band of each symbol: nothing of the group is traded while the group is inside its band. */
  drift?: Band;
}

/** How a portfolio is rebalanced. */
export interface RebalanceFile {
  /** Markets of the portfolio; absent for the whole account. */
  markets?: readonly Market[];
  /** Currency of the account's value. */
  base: string;
  /** Target weight of each symbol, as a fraction of the account's value. */
  targets: Readonly<Record<string, Decimal>>;
  groups: Readonly<Record<string, Group>>;
  /** Cash that the plan leaves, by currency. */
  cashBuffer: Readonly<Record<string, Decimal>>;
  drift: Band;
  /** What may be traded if a symbol is outside its band: only the symbols that are outside, or all symbols. */
  trade: "drifted" | "all";
  /** Smallest value of a trade, in the base currency. */
  minTrade: Decimal;
  /**
   * Largest value of all trades together. A number up to 2 is a fraction of the account's value; a number above 100 is
   * money in the base currency.
   */
  maxTurnover?: Decimal;
  prices: PriceKind;
  sellOnly: boolean;
  cashFlowOnly: boolean;
  exclude: readonly string[];
  /**
   * `sell` if the plan also sells the shares below a lot when it sells a position completely; `keep` if it does not.
   */
  oddLots: "keep" | "sell";
  /** Whether the proceeds of a market's sales pay for purchases of the same plan. */
  proceeds: Readonly<Partial<Record<Market, "usable" | "later">>>;
  /** Largest age of a quote while its market trades, in seconds. */
  maxQuoteAge: number;
  /** How the plan is executed; absent if the file does not say it. */
  execution?: ExecutionTerms;
}

const weight = decimalText("0", "1", 'a weight from 0 to 1, such as "0.40"');
const money = decimalText("0", undefined, 'an amount of money that is not negative, such as "10000"');
const symbol = z.string({ error: "expected a listing code" }).regex(/^[A-Za-z0-9][A-Za-z0-9.^-]{0,31}$/, {
  error: 'expected a listing code, such as "00700.HK" or "AAPL"',
});
const market = z.enum(Market.names, { error: `expected one of ${Market.names.join(", ")}` });
export const currency = z.string({ error: "expected a currency" }).regex(/^[A-Z]{3}$/, {
  error: 'expected a currency of three capital letters, such as "HKD"',
});
const oneOf = <const Names extends readonly [string, ...string[]]>(...names: Names) =>
  z.enum(names, { error: `expected one of ${names.join(", ")}` });
/** A boolean of a JSON file, or the text of a boolean of a YAML file. */
const yesOrNo = z.union([z.boolean(), z.enum(["true", "false"])], { error: "expected true or false" })
  .transform((value) => value === true || value === "true");
const band = z.strictObject({
  absolute: weight.optional(),
  relative: decimalText("0", undefined, 'a part of the target, such as "0.25" for a quarter').optional(),
}, { error: "expected a map of absolute, relative" });
const symbolList = z.array(symbol, { error: "expected a list of listing codes" });

/** A number between 2 and 100 is rejected, because it may be meant as a percentage. */
const TURNOVER =
  'a part of the account\'s value up to 2, such as "0.20" for 20 %, or an amount of money above 100 in ' +
  'the base currency, such as "50000"';

const fileSchema = z.strictObject({
  market: market.optional(),
  markets: z.array(market, { error: "expected a list of markets" }).min(1, {
    error: "expected at least one market",
  }).optional(),
  base: currency.optional(),
  targets: z.record(symbol, weight, { error: 'expected a map of listing codes to weights, such as "0.40"' })
    .optional(),
  targetsFile: z.string({ error: "expected the path of a CSV or JSON file" }).optional(),
  equalWeight: z.strictObject({
    symbols: symbolList.min(1, { error: "expected at least one listing code" }),
    total: weight.default("1"),
  }, { error: "expected a map of symbols, total" }).optional(),
  groups: z.record(
    z.string(),
    z.strictObject({
      weight,
      symbols: z.union([symbolList.min(1), z.record(symbol, weight)], {
        error: "expected a list of listing codes, or a map of listing codes to their parts of the group",
      }),
      drift: band.optional(),
    }, { error: "expected a map of weight, symbols, drift" }),
    { error: "expected a map of groups" },
  ).optional(),
  cashBuffer: z.record(currency, money, { error: "expected a map of currencies to amounts" }).default({}),
  drift: band.default({}),
  trade: oneOf("drifted", "all").default("drifted"),
  minTrade: money.default("0"),
  maxTurnover: decimalText(
    "0",
    undefined,
    TURNOVER,
  ).refine((text) => !isDecimal(text) || compare(text, "2") <= 0 || compare(text, "100") > 0, {
    error: `expected ${TURNOVER}`,
  }).optional(),
  prices: oneOf("last", "bid", "ask", "mid").default("last"),
  sellOnly: yesOrNo.default(false),
  cashFlowOnly: yesOrNo.default(false),
  exclude: symbolList.default([]),
  oddLots: oneOf("keep", "sell").default("keep"),
  proceeds: z.partialRecord(market, oneOf("usable", "later"), {
    error: 'expected a map of markets to "usable" or "later"',
  }).default({}),
  maxQuoteAge: decimalText("1", "86400", "seconds from 1 to 86400").default("900").transform(Number),
  execution: executionSchema.optional(),
}, { error: "expected a map of members" });

/** Currency of a market's account. */
export const currencyOfMarket: Readonly<Record<Market, string>> = {
  hk: "HKD",
  us: "USD",
  shanghai: "CNY",
  shenzhen: "CNY",
};

/** Number of decimals of weights that hsgate computes, such as equal weights. */
export const WEIGHT_PLACES = 12;

/** Options of {@linkcode readRebalanceFile}. */
export interface ReadOptions {
  /** Name of the file, for messages. */
  name: string;
  /** Reads the file that `targetsFile` names. */
  readOther?: (path: string) => Promise<string>;
}

/**
 * Reads the text of a rebalancing file, and resolves to its settings.
 *
 * @throws {InvalidParamsError} If a member is wrong. It lists every mistake.
 * @throws {TypeError} If the text is neither YAML nor JSON. Also if the file names a `targetsFile`, and that file is
 * neither CSV nor JSON, or `readOther` is absent.
 */
export async function readRebalanceFile(
  text: string,
  { name, readOther }: ReadOptions,
): Promise<RebalanceFile> {
  const action = `plan with "${name}"`;
  const file = checked(fileSchema, readValues(text, `"${name}"`), action);
  const { targetsFile } = file;
  if (targetsFile === undefined) return settingsOf(file, { action });
  if (readOther === undefined) {
    throw new TypeError(
      `Cannot ${action}: the file names a targetsFile, but this caller gives no function to read other files; ` +
        "write the targets into the file itself",
    );
  }
  return settingsOf(file, { action, listed: targetsOf(await readOther(targetsFile), targetsFile) });
}

/** A number with more significant digits than this may lose digits, so it must be in quotes. */
const NUMBER_DIGITS = 15;

/**
 * Returns the settings of a map, such as the map in a recipe.
 *
 * @param value Members as in a file, without `targetsFile`. Numbers have up to 15 significant digits.
 * @param action What the caller does with it, for errors.
 * @throws {InvalidParamsError} If a member is wrong. It lists every mistake.
 */
export function readRebalanceSettings(value: unknown, action: string): RebalanceFile {
  const issues: Issue[] = [];
  const textsOf = (each: unknown, path: Issue["path"]): unknown => {
    if (typeof each === "number") {
      const text = String(each);
      if (text.replaceAll(/\D/g, "").replace(/^0+/, "").length > NUMBER_DIGITS || !isDecimal(text)) {
        issues.push({ path, value: each, expected: "a number of at most 15 digits: write it in quotes" });
      }
      return text;
    }
    if (Array.isArray(each)) return each.map((item, index) => textsOf(item, [...path, index]));
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(
      Object.entries(each).map(([name, item]) => [name, textsOf(item, [...path, name])]),
    );
  };
  const texts = textsOf(value, []);
  if (issues.length > 0) throw new InvalidParamsError(action, issues);
  const file = checked(fileSchema, texts, action);
  if (file.targetsFile !== undefined) {
    throw new InvalidParamsError(action, [{
      path: ["targetsFile"],
      value: file.targetsFile,
      expected: "nothing: write the targets here, because another file could change without notice",
    }]);
  }
  return settingsOf(file, { action });
}

/** Returns the settings from checked members, together with the targets of another file. */
function settingsOf(
  file: z.output<typeof fileSchema>,
  { action, listed = [] }: { action: string; listed?: readonly [string, Decimal][] },
): RebalanceFile {
  const issues: Issue[] = [];
  const targets: Record<string, Decimal> = {};
  const place = (path: Issue["path"], symbol: string, weight: Decimal) => {
    if (Object.hasOwn(targets, symbol)) {
      issues.push({ path, value: symbol, expected: "each symbol once: remove all but one of its targets" });
    }
    targets[symbol] = weight;
  };
  for (const [symbol, weight] of Object.entries(file.targets ?? {})) place(["targets"], symbol, weight);
  for (const [symbol, weight] of listed) place(["targetsFile"], symbol, weight);
  if (file.equalWeight !== undefined) {
    const { symbols, total } = file.equalWeight;
    const weight = divide(total, String(symbols.length), WEIGHT_PLACES, "down");
    for (const symbol of symbols) place(["equalWeight", "symbols"], symbol, weight);
  }
  const groups: Record<string, Group> = {};
  for (const [name, { weight, symbols, drift }] of Object.entries(file.groups ?? {})) {
    const parts: [string, Decimal][] = Array.isArray(symbols)
      ? symbols.map((symbol) => [symbol, divide(weight, String(symbols.length), WEIGHT_PLACES, "down")])
      : Object.entries(symbols).map(([symbol, part]) => [symbol, multiply(weight, part)]);
    if (!Array.isArray(symbols) && compare(sumOf(Object.values(symbols)), "1") > 0) {
      issues.push({
        path: ["groups", name, "symbols"],
        value: sumOf(Object.values(symbols)),
        expected: "parts that are together at most 1: lower some of them",
      });
    }
    for (const [symbol, part] of parts) place(["groups", name, "symbols"], symbol, part);
    groups[name] = { weight, symbols: parts.map(([symbol]) => symbol), ...drift !== undefined && { drift } };
  }
  const total = sumOf(Object.values(targets));
  if (compare(total, "1") > 0) {
    issues.push({
      path: ["targets"],
      value: total,
      expected: "weights that are together at most 1: lower some of them",
    });
  }
  if (Object.keys(targets).length === 0) {
    issues.push({
      path: ["targets"],
      value: file.targets,
      expected: "at least one target: name symbols in targets, targetsFile, equalWeight or groups",
    });
  }
  if (file.market !== undefined && file.markets !== undefined) {
    issues.push({
      path: ["markets"],
      value: file.markets,
      expected: "nothing, because market is given: use only one of the two",
    });
  }
  if (file.sellOnly && file.cashFlowOnly) {
    issues.push({
      path: ["cashFlowOnly"],
      value: true,
      expected: "false, because sellOnly is true: use only one of the two",
    });
  }
  const markets = file.markets === undefined
    ? file.market === undefined ? undefined : [file.market]
    : [...new Set(file.markets)];
  const currencies = new Set((markets ?? []).map((market) => currencyOfMarket[market]));
  const base = file.base ?? (currencies.size === 1 ? [...currencies][0] : undefined);
  if (base === undefined) {
    issues.push({
      path: ["base"],
      value: undefined,
      expected: 'a currency such as "HKD", because the plan covers more than one currency',
    });
  }
  if (issues.length > 0) throw new InvalidParamsError(action, issues);
  const { cashBuffer, drift, trade, minTrade, maxTurnover, prices, sellOnly, cashFlowOnly } = file;
  const { exclude, oddLots, proceeds, maxQuoteAge, execution } = file;
  return {
    ...markets !== undefined && { markets },
    base: base!, // an absent base is an issue
    targets,
    groups,
    cashBuffer,
    drift,
    trade,
    minTrade,
    ...maxTurnover !== undefined && { maxTurnover },
    prices,
    sellOnly,
    cashFlowOnly,
    exclude,
    oddLots,
    proceeds,
    maxQuoteAge,
    ...execution !== undefined && { execution },
  };
}

/**
 * Reads a file of targets: CSV with the columns `symbol` and `weight`, or JSON with a map of symbols to weights.
 *
 * @throws {InvalidParamsError} If a weight or a column is wrong.
 * @throws {TypeError} If the text is neither CSV nor JSON, or a JSON text names a symbol twice.
 */
function targetsOf(text: string, name: string): [string, Decimal][] {
  const action = `read the targets of "${name}"`;
  if (text.trimStart().startsWith("{")) {
    return Object.entries(checked(z.record(symbol, weight), readValues(text, `"${name}"`), action));
  }
  const csv = text.replace(/^\uFEFF/, "");
  let rows: unknown;
  let twice: string | undefined;
  try {
    rows = parseCsv(csv, { skipFirstRow: true });
    twice = repeatedColumn(csv);
  } catch (error) {
    // A row with a different number of columns causes an `Error`.
    throw new TypeError(`Cannot ${action}: it is not CSV: ${messageOf(error)}`);
  }
  if (twice !== undefined) {
    throw new InvalidParamsError(action, [{
      path: ["columns"],
      value: twice,
      expected: "each column once: remove all but one of them",
    }]);
  }
  const [first] = checked(z.array(z.record(z.string(), z.string())), rows, action);
  if (first !== undefined && !("symbol" in first && "weight" in first)) {
    throw new InvalidParamsError(action, [{
      path: ["columns"],
      value: Object.keys(first).join(", "),
      expected: "the columns symbol and weight: correct the first line",
    }]);
  }
  return checked(z.array(z.object({ symbol, weight })), rows, action)
    .map(({ symbol, weight }) => [symbol, weight]);
}
