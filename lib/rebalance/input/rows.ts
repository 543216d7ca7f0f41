/**
 * Finds the listings of a plan, and every mistake in the file and the account, before anything is planned.
 *
 * @module
 */
import { compare, type Decimal, isZero, multiply, normalize, round } from "../../decimal.ts";
import { bareCode, isSameSymbol } from "../../desk/broker_lists.ts";
import { currencyOf, typeOf } from "../../desk/guards/order.ts";
import { Market } from "../../dictionaries/market.ts";
import { InvalidParamsError, type Issue } from "../../errors.ts";
import type { Account, AccountHolding, AccountQuote } from "./account.ts";
import { currencyOfMarket, type RebalanceFile } from "./plan_file.ts";
import { isLong, MOST_DIGITS } from "./values.ts";

/** A listing that the account holds, or that the file names as a target. */
export interface Row {
  path: (string | number)[];
  quote: AccountQuote;
  currency: string;
  quantity: Decimal;
  sellable: Decimal;
  target: Decimal;
}

/** The listings, currencies and rates of a plan. */
export interface CheckedRows {
  /** In the order of markets and symbols. Each row has a price. */
  rows: Row[];
  currencies: string[];
  /** Value of one unit of each currency in the base currency. */
  rates: ReadonlyMap<string, Decimal>;
  /** Excluded symbols that are neither held nor a target. */
  idle: string[];
}

/**
 * Returns the listings of a plan, with their currencies and rates.
 *
 * @throws {InvalidParamsError} If something is wrong or missing. It lists every mistake.
 */
export function checkedRows(file: RebalanceFile, account: Account): CheckedRows {
  const issues: Issue[] = [];
  const idle: string[] = [];
  const rows = rowsOf(file, account, { issues, idle });
  const currencies = [
    ...new Set([
      ...(file.markets ?? []).map((market) => currencyOfMarket[market]),
      ...file.markets === undefined
        ? Object.keys(account.cash).filter((currency) => !isZero(account.cash[currency]!))
        : [],
      ...rows.map(({ currency }) => currency),
    ]),
  ].sort();
  const rates = new Map(
    currencies.map((currency) => [currency, rateOf(currency, file.base, account, issues)]),
  );
  for (const currency of Object.keys(file.cashBuffer)) {
    if (currencies.includes(currency) || isZero(file.cashBuffer[currency]!)) continue;
    issues.push({
      path: ["cashBuffer", currency],
      value: file.cashBuffer[currency],
      expected: `a currency of the plan (${currencies.join(", ")}): remove it, or add its market`,
    });
  }
  for (const [name, amounts] of [["cash", account.cash], ["reserved", account.reserved]] as const) {
    for (const currency of currencies) checkLength(amounts[currency], [name, currency], issues);
  }
  for (const row of rows) checkRow(row, file, account, issues);
  if (issues.length > 0) throw new InvalidParamsError("plan", issues);
  return { rows, currencies, rates, idle };
}

/** Returns a row for every symbol that the account holds or that the file names as a target. */
function rowsOf(
  file: RebalanceFile,
  account: Account,
  { issues, idle }: { issues: Issue[]; idle: string[] },
): Row[] {
  const inScope = ({ market }: AccountQuote) => file.markets === undefined || file.markets.includes(market);
  const rows: Row[] = [];
  const byCode = new Map<string, Row[]>();
  const codeOf = ({ market, symbol }: AccountQuote) => `${market} ${bareCode(symbol)}`;
  const addRow = (given: Omit<Row, "currency">): Row => {
    const { quote } = given;
    const row = { ...given, currency: quote.currency ?? currencyOf(quote.market, quote.symbol) };
    rows.push(row);
    byCode.getOrInsertComputed(bareCode(quote.symbol), () => []).push(row);
    return row;
  };
  const quotes = new Map<string, { quote: AccountQuote; index: number }>();
  account.quotes.forEach((quote, index) => {
    if (!inScope(quote)) return;
    if (quotes.has(codeOf(quote))) {
      issues.push({
        path: ["quotes", index, "symbol"],
        value: quote.symbol,
        expected: "each listing once: remove all but one of its quotes",
      });
    }
    quotes.set(codeOf(quote), { quote, index });
  });
  const seen = new Set<string>();
  account.holdings.forEach((holding, index) => {
    if (!inScope(holding) || isDerivative(holding)) return;
    if (seen.has(codeOf(holding))) {
      issues.push({
        path: ["holdings", index, "symbol"],
        value: holding.symbol,
        expected: "each listing once: add the quantities of both rows",
      });
      return;
    }
    seen.add(codeOf(holding));
    if (isZero(holding.quantity)) {
      if (!quotes.has(codeOf(holding))) quotes.set(codeOf(holding), { quote: holding, index });
      return;
    }
    const { quantity, sellable = quantity } = holding;
    const { quote: quoted, index: place } = quotes.get(codeOf(holding)) ?? {};
    for (const member of ["price", "lot"] as const) {
      const [own, other] = [holding[member], quoted?.[member]];
      if (own === undefined || other === undefined || compare(own, other) === 0) continue;
      issues.push({
        path: ["quotes", place!, member],
        value: other,
        expected: `the ${member} ${own} of the holding "${holding.symbol}": correct one of the two`,
      });
    }
    // `date` is the date of the price that is used.
    const { date } = holding.price === undefined && quoted !== undefined ? quoted : holding;
    const quote: AccountHolding = { ...quoted, ...withoutAbsent(holding), date };
    addRow({ path: ["holdings", index], quote, quantity, sellable, target: "0" });
  });
  const unquoted = new Map<string, { quote: AccountQuote; index: number }[]>();
  for (const each of quotes.values()) {
    unquoted.getOrInsertComputed(bareCode(each.quote.symbol), () => []).push(each);
  }
  const where = file.markets === undefined ? "the account" : `the markets ${file.markets.join(", ")}`;
  const exactFirst = <Each>(
    all: readonly Each[],
    symbol: string,
    of: (each: Each) => AccountQuote,
  ): Each[] => {
    const exact = all.filter((each) => of(each).symbol === symbol);
    const suffix = /\.(HK|US|SH|SZ)$/.exec(symbol)?.[1];
    const marketOfSuffix = { HK: "hk", US: "us", SH: "shanghai", SZ: "shenzhen" }[suffix ?? ""];
    return exact.length > 0
      ? exact
      : all.filter((each) =>
        isSameSymbol(of(each).symbol, symbol) && (marketOfSuffix ?? of(each).market) === of(each).market
      );
  };
  const named = new Set<Row>();
  for (const [symbol, target] of Object.entries(file.targets)) {
    const found = exactFirst(byCode.get(bareCode(symbol)) ?? [], symbol, ({ quote }) => quote);
    const listed = exactFirst(unquoted.get(bareCode(symbol)) ?? [], symbol, ({ quote }) => quote)
      .filter(({ quote }) => !found.some((row) => codeOf(row.quote) === codeOf(quote)));
    if (found.length + listed.length > 1) {
      issues.push({
        path: ["targets", symbol],
        value: symbol,
        expected: "a code of one listing: write it with the suffix of its market, such as .HK",
      });
      continue;
    }
    const [row] = found;
    if (row !== undefined) {
      if (named.has(row)) {
        issues.push({
          path: ["targets", symbol],
          value: symbol,
          expected: `each listing once: another target names "${row.quote.symbol}" too`,
        });
      }
      row.target = target;
      named.add(row);
      continue;
    }
    const [quoted] = listed;
    if (quoted !== undefined) {
      const { quote, index } = quoted;
      named.add(addRow({ path: ["quotes", index], quote, quantity: "0", sellable: "0", target }));
      continue;
    }
    issues.push({
      path: ["targets", symbol],
      value: symbol,
      expected: `a symbol with a quote in ${where}: correct the code, or remove the target`,
    });
  }
  const unnamed = rows.filter((row) => !named.has(row) && !isExcluded(file, row.quote.symbol));
  file.exclude.forEach((symbol, index) => {
    if (exactFirst(byCode.get(bareCode(symbol)) ?? [], symbol, ({ quote }) => quote).length > 0) return;
    const [first] = unnamed;
    if (first === undefined) return void idle.push(symbol);
    // The code may be mistyped. The plan would then sell a position that the writer of the file wants to keep.
    issues.push({
      path: ["exclude", index],
      value: symbol,
      expected:
        "a symbol that is held or has a target: correct the code, or remove it; otherwise the plan could " +
        `sell a position that should be kept, such as "${first.quote.symbol}"`,
    });
  });
  return rows.sort((a, b) => {
    const [one, other] = [a, b].map(({ quote }) => `${Market.names.indexOf(quote.market)} ${quote.symbol}`);
    return one! < other! ? -1 : 1;
  });
}

/** Returns whether a holding is an option or a future. Plans ignore both. */
export const isDerivative = ({ symbol }: Pick<AccountQuote, "symbol">): boolean =>
  /-(option|future)$/.test(typeOf(symbol) ?? "");

const withoutAbsent = <Value extends object>(value: Value): Value =>
  // Only members without a value are removed.
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Value;

function rateOf(currency: string, base: string, account: Account, issues: Issue[]): Decimal {
  const given = account.rates[currency];
  if (currency === base) {
    if (typeof given === "string" && compare(given, "1") !== 0) {
      issues.push({
        path: ["rates", currency],
        value: given,
        expected: `1 or nothing: each rate is the value of one unit in the base currency, ${base}`,
      });
    }
    return "1";
  }
  const rate = typeof given === "object" ? given[base] : given;
  if (!checkLength(rate, ["rates", currency], issues)) return "1";
  if (rate !== undefined && compare(rate, "0") > 0) return normalize(rate);
  issues.push({
    path: ["rates", currency],
    value: rate,
    expected:
      `the value of one ${currency} in ${base}: add the rate, or leave out the markets in ${currency}`,
  });
  return "1";
}

/**
 * Returns whether a number of the account has few enough digits to compute with. Reports a number with more digits,
 * because arithmetic with it could take very long.
 */
function checkLength(value: Decimal | undefined, path: Issue["path"], issues: Issue[]): boolean {
  const isShort = value === undefined || !isLong(value);
  const expected = `a number with at most ${MOST_DIGITS} digits on each side of the point`;
  if (!isShort) issues.push({ path, value, expected });
  return isShort;
}

/**
 * Largest number of lots of a listing in an account or a trade. Much larger numbers are not exact as floating-point
 * numbers, and a search over so many lots could take forever.
 */
export const MOST_LOTS = 1_000_000_000;

/** Reports a missing or old price, a missing lot, and numbers that are too large. */
function checkRow(row: Row, file: RebalanceFile, account: Account, issues: Issue[]): void {
  const { path, quote } = row;
  const { symbol, market, price, lot, date, stale } = quote;
  const report = (member: string, value: unknown, expected: string) =>
    issues.push({ path: [...path, member], value, expected });
  const { quantity, sellable } = row;
  for (const [member, value] of Object.entries({ price, lot, quantity, sellable })) {
    if (!checkLength(value, [...path, member], issues)) return;
  }
  if (price === undefined || compare(price, "0") <= 0) {
    report("price", price, `a price of "${symbol}" above zero: wait for a quote, or remove it from the plan`);
    row.quote = { ...quote, price: "1" };
  }
  if (stale !== undefined) report("price", stale, `a quote of "${symbol}" that is current: try again later`);
  const today = account.dates?.[market] ?? account.date;
  if (date !== undefined && date !== today) {
    report("date", date, `a price of "${symbol}" of ${today}: get a new quote`);
  }
  if (lot !== undefined && compare(lot, "0") > 0 && compare(lot, round(lot, 0, "down")) !== 0) {
    report("lot", lot, `a board lot of "${symbol}" in whole shares: correct it`);
  }
  if (lot === undefined ? market !== "us" && !isExcluded(file, symbol) : compare(lot, "0") <= 0) {
    report(
      "lot",
      lot,
      `a board lot of "${symbol}" that the broker confirms: exclude the symbol until its quote has a lot`,
    );
  }
  const isTooLarge = compare(row.quantity, multiply(lot ?? "1", String(MOST_LOTS))) > 0;
  if (isTooLarge && (lot === undefined || compare(lot, "0") > 0)) {
    report("quantity", row.quantity, `at most ${MOST_LOTS} lots of "${symbol}": correct it`);
  }
  if (compare(row.quantity, "0") > 0 && compare(row.sellable, row.quantity) > 0) {
    report(
      "sellable",
      row.sellable,
      `at most the quantity ${row.quantity} of "${symbol}": correct one of the two`,
    );
  }
}

/** Returns whether the file excludes a symbol. */
export const isExcluded = ({ exclude }: RebalanceFile, symbol: string): boolean =>
  excluded.getOrInsertComputed(exclude, () => new Set(exclude.map(bareCode))).has(bareCode(symbol));

/** The excluded codes of each list as a set, because a list in a file from somebody else may be long. */
const excluded = new WeakMap<readonly string[], ReadonlySet<string>>();
