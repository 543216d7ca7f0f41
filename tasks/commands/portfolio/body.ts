/**
 * Runs `hsgate portfolio`.
 *
 * @module
 */
import {
  add,
  type Decimal,
  divide,
  isZero,
  multiply,
  normalize,
  priceText,
  round,
  subtract,
} from "../../../lib/decimal.ts";
import {
  type Portfolio,
  type PortfolioHolding,
  type PortfolioMarket,
  portfolioPlaces,
  type PortfolioTotal,
  readPortfolio,
} from "../../../lib/portfolio/portfolio.ts";
import { listOf, oneOf } from "../../terminal/arguments.ts";
import type { Host } from "../../terminal/host.ts";
import { checkListColumns, listView, printList } from "../../terminal/list_output.ts";
import { clockText, ZONE_NAME } from "../../terminal/market_time.ts";
import { type Color, type Column, paint, plain, tableLines } from "../../terminal/print.ts";
import type { PortfolioInput } from "../portfolio.ts";
import { clientOf } from "../shared/session.ts";

/** Currencies of an account. */
const currencies = ["hkd", "usd", "cny"] as const;

/** Shows the portfolio. */
export async function run({ flags, host }: PortfolioInput): Promise<number> {
  const view = listView(flags);
  checkListColumns(view, columns);
  const currency = oneOf("currency", flags.currency ?? "hkd", currencies);
  const markets = flags.markets === undefined
    ? undefined
    : [...new Set(listOf("markets", flags.markets, portfolioPlaces))];
  await using client = await clientOf(flags, host, { command: "portfolio" });
  const portfolio = await readPortfolio(client, {
    currency: currency.toUpperCase(),
    ...markets !== undefined && { markets },
    now: host.now,
    signal: host.signal,
  });
  printList(host, view, {
    columns,
    rows: portfolio.holdings,
    json: () => portfolio,
    empty: "",
    lines: () => linesOf(portfolio, host, view.columns),
  });
  for (const note of portfolio.notes) host.note(plain(`hsgate: warning: ${note}`));
  return 0;
}

/** Formats an amount with two decimals, and commas between thousands. Returns an empty text for an absent amount. */
export function moneyText(amount: Decimal | undefined): string {
  if (amount === undefined) return "";
  const [whole = "", cents = ""] = round(amount, 2, "half-up").split(".");
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${cents.padEnd(2, "0")}`;
}

/** Formats a profit, with its sign. */
const profitText = (amount: Decimal | undefined): string => {
  const text = moneyText(amount);
  return text === "" || text.startsWith("-") || text === "0.00" ? text : `+${text}`;
};

const colorOf = (profit: Decimal | undefined): Color | undefined =>
  profit === undefined || isZero(profit) ? undefined : profit.startsWith("-") ? "red" : "green";

/** Returns a column of amounts: rounded in a table, and exact in CSV. */
const amountColumn = <Row>(title: string, of: (row: Row) => Decimal | undefined): Column<Row> => ({
  title,
  of: (row) => moneyText(of(row)),
  exact: of,
  align: "right",
});

const profitColumn = <Row>(title: string, of: (row: Row) => Decimal | undefined): Column<Row> => ({
  ...amountColumn(title, of),
  of: (row) => profitText(of(row)),
  color: (row) => colorOf(of(row)),
});

/** Returns the total profit in percent of the cost. */
function percentOf({ price, costPrice, quantity }: PortfolioHolding): Decimal | undefined {
  if (price === undefined || costPrice === undefined || isZero(quantity)) return undefined;
  return divide(multiply(subtract(price, costPrice), "100"), costPrice, 2, "half-up");
}

/** Columns of the holdings. */
const columns: readonly Column<PortfolioHolding>[] = [
  { title: "symbol", id: true, of: ({ symbol }) => symbol },
  { title: "quantity", of: ({ quantity }) => quantity, align: "right" },
  { title: "price", of: ({ price }) => priceText(price), exact: ({ price }) => price, align: "right" },
  { ...amountColumn<PortfolioHolding>("value", ({ value }) => value), keep: true },
  { title: "in", name: "currency", keep: true, of: ({ currency }) => currency },
  profitColumn("day", ({ dayProfit }) => dayProfit),
  profitColumn("profit", ({ profit }) => profit),
  {
    title: "%",
    name: "percent",
    of: (row) => {
      const percent = percentOf(row);
      return percent === undefined ? "" : `${percent.startsWith("-") ? "" : "+"}${percent}%`;
    },
    exact: percentOf,
    align: "right",
  },
  {
    title: "cost",
    of: ({ costPrice }) => priceText(costPrice),
    exact: (row) => row.costPrice,
    align: "right",
  },
  { title: "sellable", extra: true, of: ({ sellable }) => sellable ?? "", align: "right" },
  { title: "market", extra: true, of: ({ market }) => market },
  { title: "name", extra: true, of: ({ name }) => name ?? "" },
  {
    title: `time (${ZONE_NAME})`,
    name: "time",
    extra: true,
    of: ({ quotedAt }) => quotedAt === undefined ? "" : clockText(Date.parse(quotedAt), 0),
    exact: ({ quotedAt }) => quotedAt,
  },
  { title: "missing", extra: true, of: ({ missing }) => missing ?? "" },
];

type MarketRow = Omit<PortfolioMarket, "market"> & { market: string; total?: Decimal };

const marketColumns: readonly Column<MarketRow>[] = [
  { title: "market", id: true, of: ({ market }) => market },
  { title: "in", keep: true, of: ({ currency }) => currency },
  amountColumn("cash", ({ cash }) => cash),
  amountColumn("holdings", ({ value }) => value),
  { ...amountColumn<MarketRow>("total", ({ total }) => total), keep: true },
  profitColumn("day", ({ dayProfit }) => dayProfit),
  profitColumn("profit", ({ profit }) => profit),
];

/** Returns the row of a sum. */
const sumRow = (market: string, { value, ...total }: PortfolioTotal): MarketRow => ({
  market,
  value,
  ...total,
});

/** Explains the profit of the day, below the tables. */
const DAY_NOTE = [
  "day: since the previous close in the quotes, without fees and dividends;",
  "     on the day of a split, it is right if the broker has adjusted that close",
];

/** Returns the tables of the holdings and of the markets. */
function linesOf(
  { at, holdings, markets, currencies, total, rates }: Portfolio,
  host: Host,
  chosen: string | undefined,
): string[] {
  if (chosen !== undefined) return tableLines(host, columns, holdings, { columns: chosen });
  const inCurrency = (currency: string) => markets.filter((each) => each.currency === currency);
  // Two securities markets with the same currency share the cash of this currency, so neither has a total of its own.
  const hasOwnCash = ({ market, currency }: PortfolioMarket) =>
    market === "futures" ||
    inCurrency(currency).every((each) => each.market === market || each.market === "futures");
  const rows: MarketRow[] = [
    ...markets.map((each): MarketRow =>
      hasOwnCash(each) ? { ...each, total: add(each.cash ?? "0", each.value) } : each
    ),
    ...currencies.filter(({ currency }) => inCurrency(currency).length > 1)
      .map((each) => sumRow(`all in ${each.currency}`, each)),
    ...total === undefined ? [] : [sumRow("total", total)],
  ];
  const used = Object.entries(rates).filter(([currency]) => currency !== total?.currency);
  const more = "a wider terminal and --json show all";
  return [
    paint(host, "bold", `Portfolio of ${clockText(Date.parse(at), 0)} ${ZONE_NAME}`),
    "",
    ...holdings.length === 0 ? ["no holdings"] : tableLines(host, columns, holdings, { more }),
    "",
    ...tableLines(host, marketColumns, rows, { more }),
    ...used.map(([currency, rate]) =>
      `1 ${currency} = ${normalize(rate)} ${total?.currency ?? ""}`.trimEnd()
    ),
    ...holdings.length === 0 ? [] : DAY_NOTE.map((line) => paint(host, "dim", line)),
  ];
}
