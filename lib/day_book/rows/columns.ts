/**
 * Defines the columns of the files from the fields of the catalogue, and describes each column. A field of fills, of
 * futures or of the fund journal without a description does not compile. A field of orders without one has no column,
 * which a test reports.
 *
 * @module
 */
import { FeeItem } from "../../dictionaries/fee_item.ts";
import { FundJournalType } from "../../dictionaries/fund_journal_type.ts";
import type { Market } from "../../dictionaries/market.ts";
import { feeFields, fillFields } from "../../operations/fills.ts";
import { journalFields } from "../../operations/fund_journal.ts";
import { futuresOrderFields } from "../../operations/futures.ts";
import { orderFields } from "../../operations/orders.ts";
import type { FieldsInfo } from "../../operations/types.ts";
import type { DayBookList, DayBookMarket, RebalanceTrade } from "../types.ts";

/** Meaning and unit of a column. */
type Meaning = readonly [meaning: string, unit: string];

/**
 * A meaning for each field, with three exceptions. The cursor has no column: it is the place of a row in one answer,
 * and differs between queries. The columns of the fees and of the market are defined below.
 */
type Meanings<Fields> = Record<Exclude<keyof Fields, "cursor" | "fees" | "market">, Meaning>;

const MONEY = "listing's currency";
const SHARES = "shares or contracts";
const DATE = "yyyy-MM-dd, date of the exchange";
const TIME = "HH:mm:ss, time of the exchange";
const CODE = "name from the code table";
const TEXT = "the broker's words";
const FLAG = "true or false";

const shared = {
  symbol: ["listing code", "code as text; leading zeros are part of it"],
  name: ["name of the listing", TEXT],
  orderId: ["order number", "text"],
  side: ["bought or sold", CODE],
  orderType: ["order type", CODE],
  orderTypeText: ["order type in words", TEXT],
  price: ["limit price of the order", MONEY],
  quantity: ["quantity ordered", SHARES],
  fillPrice: ["price of the fill; the mean price if fills are merged", MONEY],
  filledQuantity: ["quantity filled", SHARES],
  date: ["day of the order in orders, day of the fill in fills", DATE],
  orderTime: ["when it was ordered", TIME],
  fillTime: ["when it was filled", TIME],
  status: ["state of the order", CODE],
  statusText: ["state of the order in words", TEXT],
  canCancel: ["whether it could be cancelled when it was exported", FLAG],
  canAmend: ["whether it could be amended when it was exported", FLAG],
} as const satisfies Record<string, Meaning>;

/** Columns of fills and orders. */
const stockMeanings: Meanings<typeof fillFields> = {
  ...shared,
  unfilledQuantity: ["quantity not filled", SHARES],
  fillAmount: ["amount of the fill: price times quantity, times 100 for US options", MONEY],
  counterpartySeat: ["seat of the counterparty", TEXT],
  remarkType: ["whether the order was voided", CODE],
  remark: ["remark", TEXT],
  venue: ["routing venue, US", CODE],
};

/** Columns of futures fills and orders. */
const futuresMeanings: Meanings<typeof futuresOrderFields> = {
  ...shared,
  isValid: ["whether the order is valid", FLAG],
  validity: ["time in force", CODE],
  validityText: ["time in force in words", TEXT],
  validUntil: ["last day on which the order is valid", DATE],
  session: ["whether it may trade in the after-hours session", CODE],
};

/** Columns of the fund journal. */
const journalMeanings: Meanings<typeof journalFields> = {
  amount: ["amount; negative for money that leaves the account", "market's currency"],
  type: ["kind of journal line", CODE],
  typeText: ["kind of journal line in words", TEXT],
  parentType: ["group of the type", "the broker's code"],
  time: ["time of the line; absent on the current day", "time of the exchange, as the broker writes it"],
};

const PLAN_DRIFT = "sum of the squared drifts of the whole plan, at the plan's prices";
const ROUNDED_PRICE = "rounded half to even to 6 decimals";
const INSTANT = "ISO 8601, UTC";

/** Columns of rebalancing trades. hsgate computes them from the store and from the fills of the day. */
const rebalanceMeanings: Record<Exclude<keyof RebalanceTrade, "market" | "currency" | "orders">, Meaning> = {
  plan: ["hash of the plan; hsgate rebalance show HASH shows it", "SHA-256"],
  trade: ["place of the trade in the plan, from 1", "number"],
  state: ["state of the plan: running, done or stopped", "name"],
  startedAt: ["when the execution of the plan began", INSTANT],
  endedAt: ["when it ended; empty while it has not", INSTANT],
  symbol: shared.symbol,
  side: ["buy or sell", "name"],
  plannedQuantity: ["quantity of the plan", "shares"],
  filledQuantity: ["quantity filled by the orders of this day, according to the store", "shares"],
  openQuantity: ["quantity of the plan's orders that may still fill", "shares"],
  unknownQuantity: ["quantity of the plan's orders whose outcome is unknown", "shares"],
  remainingQuantity: ["quantity of the plan that is not filled, not open and not unknown", "shares"],
  reason: ["why a quantity remains", "words"],
  orderIds: ["the broker's numbers of the orders of this day, separated by spaces", "text"],
  arrivalPrice: ["price of the market when the execution of the plan began", MONEY],
  fillAmount: ["amount of the exported fills of these orders, exact", MONEY],
  averagePrice: [`fillAmount divided by filledQuantity, ${ROUNDED_PRICE}`, MONEY],
  slippage: [
    "fillAmount minus arrivalPrice times filledQuantity, exact; the other way round for a sale: above zero is a cost",
    MONEY,
  ],
  slippagePrice: [`slippage divided by filledQuantity, ${ROUNDED_PRICE}`, `${MONEY} per share`],
  slippageBps: [
    "slippage as a part of the filled quantity at the arrival price, rounded half to even to 4 decimals",
    "basis points",
  ],
  feesEstimated: ["estimate of the plan for the whole trade", MONEY],
  feesBooked: ["total fees of the exported fills of these orders; empty until each fill has its fees", MONEY],
  feesStatus: [
    "booked, not booked yet, no fills, or unknown (the exported fills differ from the store)",
    "words",
  ],
  feesDifference: [
    "feesBooked minus feesEstimated, exact; only if the whole trade was filled on this day",
    MONEY,
  ],
  driftBefore: [`${PLAN_DRIFT}, before its trades`, "part of the account's value, squared"],
  driftPlanned: [`${PLAN_DRIFT}, if everything had been filled`, "part of the account's value, squared"],
  driftReached: [`${PLAN_DRIFT}, with what was filled`, "part of the account's value, squared"],
};

/** Any row of an answer, by hsgate's names. */
export type AnyRow = Readonly<Record<string, unknown>>;

/** Values of a row that the row itself does not contain. */
export interface RowContext {
  rowKey: string;
  market: DayBookMarket;
  currency: string;
}

/** One column of a file. */
export interface Column {
  /** Name in the CSV header, and member name in JSON Lines. */
  readonly name: string;
  /** Member on the wire, such as `fareVo.fare0`; absent for columns that the export adds. */
  readonly wire?: string;
  readonly meaning: string;
  readonly unit: string;
  /** Its code table: the broker's code, hsgate's name, and the meaning. */
  readonly codes?: readonly { code: string; name: string; label: string }[];
  /** Returns the value of the cell; `undefined` if the broker sent none. */
  readonly read: (row: AnyRow, context: RowContext) => unknown;
}

const UNLISTED = "unlisted:";

/** Currency of a market's fills and journal. */
export const currencyOfMarket: Readonly<Record<Market, string>> = {
  hk: "HKD",
  us: "USD",
  shanghai: "CNY",
  shenzhen: "CNY",
};

const rowKey: Column = {
  name: "rowKey",
  meaning:
    "key of the row: market, day, list, a digest of the identifying fields, and a count among identical rows",
  unit: "text",
  read: (_, context) => context.rowKey,
};
const market: Column = {
  name: "market",
  wire: fillFields.market.wire,
  meaning: "market of the row; the requested market if the row does not name one",
  unit: "name from the code table",
  codes: fillFields.market.type.dictionary?.entries,
  read: (row, context) => row.market ?? context.market,
};
const currency: Column = {
  name: "currency",
  meaning: "currency of the market's account; a Hong Kong listing may trade in another one",
  unit: "ISO 4217",
  read: (_, context) => context.currency,
};

function fromCatalogue(fields: FieldsInfo, meanings: Readonly<Record<string, Meaning>>): Column[] {
  return Object.entries(fields).flatMap(([name, { wire, type }]): Column[] => {
    const words = meanings[name];
    if (words === undefined) return [];
    const [meaning, unit] = words;
    const codes = type.dictionary?.entries;
    return [{ name, wire, meaning, unit, ...(codes && { codes }), read: (row) => row[name] }];
  });
}

/** One column per fee, with the names of the code table of fees. */
const feeColumns: Column[] = FeeItem.entries.map(({ name, label }) => ({
  name,
  wire: `${fillFields.fees.wire}.${feeFields[name].wire}`,
  meaning: name === "total" ? "total of the fees" : `fee: ${label}`,
  unit: "listing's currency",
  // The rows with these columns are fills, and the catalogue decodes their fees as a record of decimals.
  read: (row) => (row.fees as AnyRow | undefined)?.[name],
}));

/** Returns the broker's code for a name, even if no table lists the code. */
export function journalCodeOf(name: string): string {
  return name.startsWith(UNLISTED)
    ? name.slice(UNLISTED.length)
    : String(FundJournalType.encode(name as FundJournalType)); // names come from the same table
}

const journalExtras: Column[] = [
  {
    name: "typeCode",
    wire: journalFields.type.wire,
    meaning: "kind of journal line, as the broker codes it",
    unit: "the broker's code",
    read: ({ type }) => typeof type === "string" ? journalCodeOf(type) : undefined,
  },
  {
    name: "typeMeaning",
    meaning: "meaning of the code; empty if no table lists it",
    unit: "words",
    read: ({ type }) => FundJournalType.has(type) ? FundJournalType.label(type) : undefined,
  },
];

/** Columns of each list, in the order of the files. */
export const dayBookColumns: Readonly<Record<DayBookList, readonly Column[]>> = {
  fills: [rowKey, market, currency, ...fromCatalogue(fillFields, stockMeanings), ...feeColumns],
  orders: [rowKey, market, currency, ...fromCatalogue(orderFields, stockMeanings)],
  fund_journal: [
    rowKey,
    { ...market, wire: undefined, read: (_, context) => context.market },
    currency,
    ...fromCatalogue(journalFields, journalMeanings),
    ...journalExtras,
  ],
  futures_fills: [rowKey, ...fromCatalogue(futuresOrderFields, futuresMeanings)],
  futures_orders: [rowKey, ...fromCatalogue(futuresOrderFields, futuresMeanings)],
  rebalance_trades: [
    { ...rowKey, meaning: "key of the row: market, day, list, the plan's hash and the place of the trade" },
    { ...market, wire: undefined, meaning: "market of the trade", codes: undefined },
    { ...currency, meaning: "currency of the listing" },
    ...Object.entries(rebalanceMeanings).map(([name, [meaning, unit]]): Column => ({
      name,
      meaning,
      unit,
      read: (row) => row[name],
    })),
  ],
};

/**
 * Returns the documentation of the header as JSON text: every column of every list, its wire member and
 * meaning.
 */
export function describeColumns(lists: readonly DayBookList[]): string {
  const described = lists.map((list) => {
    const columns = dayBookColumns[list].map(({ read: _, codes, ...column }) => ({
      ...column,
      ...(codes && { codes: codes.map(({ code, name, label }) => ({ code, name, meaning: label })) }),
    }));
    return [list, columns] as const;
  });
  const notes = [
    "Numbers are as the broker sent them: they keep their digits, and nothing is rounded.",
    "An empty CSV cell, or a missing JSON member, means that the broker sent no value.",
    'A code that no table lists is written as "unlisted:" followed by the code.',
    ...lists.includes("rebalance_trades")
      ? ["hsgate computes rebalance_trades: a column that is rounded says so, and all others are exact."]
      : [],
    "Import symbols and order numbers as text: programs that guess types drop leading zeros.",
    "Free text is as the broker sent it, in JSON Lines always and in CSV with the option exactCsv.",
    "Otherwise a CSV cell has an apostrophe before text that a spreadsheet would run as a formula, and escapes.",
  ];
  return `${JSON.stringify({ notes, columns: Object.fromEntries(described) }, null, 2)}\n`;
}
