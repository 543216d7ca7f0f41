/**
 * Columns of the files, derived from the fields of the catalogue: one description for header, rows and words.
 *
 * @module
 */
import { FundJournalType } from "../dictionaries/fund_journal_type.ts";
import { FeeItem } from "../dictionaries/fee_item.ts";
import type { Market } from "../dictionaries/market.ts";
import { feeFields, fillFields } from "../operations/fills.ts";
import { journalFields } from "../operations/fund_journal.ts";
import { futuresOrderFields } from "../operations/futures.ts";
import type { FieldsInfo } from "../operations/types.ts";
import { orderFields } from "../operations/orders.ts";
import { futuresMeanings, journalMeanings, type Meaning, stockMeanings } from "./meanings.ts";
import type { DayBookList, DayBookMarket } from "./types.ts";

/** Any row of an answer, by our names. */
export type AnyRow = Readonly<Record<string, unknown>>;

/** What a row does not say itself. */
export interface RowContext {
  rowKey: string;
  market: DayBookMarket;
  currency: string;
}

/** One column of a file. */
export interface Column {
  /** Name in the header, and member name in JSON Lines. */
  readonly name: string;
  /** Member on the wire, such as `fareVo.fare0`; absent for columns that we add. */
  readonly wire?: string;
  readonly meaning: string;
  readonly unit: string;
  /** The code table behind it: the broker's code, our name, what it means. */
  readonly codes?: readonly { code: string; name: string; label: string }[];
  /** Reads the cell; `undefined` when the wire had nothing. */
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
    "key of the row: market, day, list, digest of what identifies it, and a count among identical rows",
  unit: "text",
  read: (_, context) => context.rowKey,
};
const market: Column = {
  name: "market",
  wire: fillFields.market.wire,
  meaning: "market of the row; the market that was asked for where the row does not say",
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

/** One column per fee, named by the code table of fees. */
const feeColumns: Column[] = FeeItem.entries.map(({ name, label }) => ({
  name,
  wire: `${fillFields.fees.wire}.${feeFields[name].wire}`,
  meaning: name === "total" ? "total of the fees" : `fee: ${label}`,
  unit: "listing's currency",
  // The row is a fill, whose fees are a record of decimals.
  read: (row) => (row.fees as AnyRow | undefined)?.[name],
}));

/** The broker's code of a name, also of one that no table lists. */
export function journalCodeOf(name: string): string {
  return name.startsWith(UNLISTED)
    ? name.slice(UNLISTED.length)
    : String(FundJournalType.encode(name as FundJournalType)); // names come from the same table
}

const journalExtras: Column[] = [
  {
    name: "typeCode",
    wire: journalFields.type.wire,
    meaning: "what the line stands for, as the broker codes it",
    unit: "the broker's code",
    read: ({ type }) => typeof type === "string" ? journalCodeOf(type) : undefined,
  },
  {
    name: "typeMeaning",
    meaning: "what the code means; empty when no table lists it",
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
};

/** The header documentation: every column of every list, with its wire code and meaning, as JSON text. */
export function describeColumns(lists: readonly DayBookList[]): string {
  const described = lists.map((list) => {
    const columns = dayBookColumns[list].map(({ read: _, codes, ...column }) => ({
      ...column,
      ...(codes && { codes: codes.map(({ code, name, label }) => ({ code, name, meaning: label })) }),
    }));
    return [list, columns] as const;
  });
  const notes = [
    "Every value is the text that the broker sent: numbers keep their digits, and nothing is rounded.",
    "An empty CSV cell, or a missing JSON member, means that the broker sent nothing.",
    'A code that no table lists is written as "unlisted:" and the code.',
    "Import symbols and order numbers as text: programs that guess types drop leading zeros.",
    "Free text comes from the broker as it is; a spreadsheet may take text that starts with = + - @ for a formula.",
  ];
  return `${JSON.stringify({ notes, columns: Object.fromEntries(described) }, null, 2)}\n`;
}
