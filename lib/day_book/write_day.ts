/**
 * Puts the parts of a day together: one file per list and form, the differences, the words for the columns and the
 * summary.
 *
 * @module
 */
import type { Market } from "../dictionaries/market.ts";
import { currencyOfMarket, dayBookColumns, describeColumns } from "./columns.ts";
import { checkJournal, checkOrders, type ListCheck } from "./day_checks.ts";
import type { MarketDay } from "./market_days.ts";
import { differenceColumns, differenceRecord, KEPT_DIFFERENCES, type Part } from "./part.ts";
import { listsOf } from "./read_day.ts";
import { csvRecord, TextFile } from "./row_file.ts";
import {
  type CheckRecord,
  fileRecord,
  marketRecord,
  type Settings,
  type Summary,
  totalsOf,
  writeSummary,
} from "./summary.ts";
import type { CheckName, DayBookList, Difference } from "./types.ts";

/** What a day is put together from. */
export interface WriteDayOptions {
  day: string;
  markets: readonly MarketDay[];
  parts: readonly Part[];
  folder: string;
  settings: Settings;
}

/** What was written. */
export interface WrittenDay {
  summary: Summary;
  summaryText: string;
  /** The first ones. */
  differences: Difference[];
}

const encoder = new TextEncoder();
const rowChecks: readonly CheckName[] = ["fees", "amounts", "values"];

/** Lists of an export, in the order of their files. */
export function listsFor(settings: Settings): DayBookList[] {
  const lists = listsOf("hk").map(({ list }) => list);
  return settings.futures ? [...lists, ...listsOf("futures").map(({ list }) => list)] : lists;
}

/** Writes the files of a day into its folder and removes the parts. */
export async function writeDay(options: WriteDayOptions): Promise<WrittenDay> {
  const { day, markets, parts, folder, settings } = options;
  const lists = listsFor(settings);
  const between = markets.flatMap((market) => checksBetween(market, parts)); // reads the parts, which go away now
  const names: string[] = [];
  for (const list of lists) {
    for (const form of settings.formats) {
      const name = `${list}.${form}`;
      const header = form === "csv" ? csvRecord(dayBookColumns[list].map((column) => column.name)) : "";
      join(`${folder}/${name}`, header, parts.filter(({ spec }) => spec.list === list), form);
      names.push(name);
    }
  }
  const differences = [
    ...parts.flatMap((part) => part.differences),
    ...between.flatMap(({ differences }) => differences),
  ].slice(0, KEPT_DIFFERENCES);
  const count = parts.reduce((sum, part) => sum + part.differenceCount, 0) +
    between.reduce((sum, each) => sum + each.differences.length, 0);
  if (count > 0) {
    writeDifferences(folder, parts, between.flatMap((each) => each.differences));
    names.push("differences.csv");
  }
  removeParts(folder);
  const columns = new TextFile(`${folder}/columns.json`);
  columns.write(describeColumns(lists));
  columns.seal();
  names.push("columns.json");

  const checks = [...parts.flatMap(checksOfRows), ...between.map(({ record }) => record)];
  const records = markets.map((market) =>
    [
      market.market,
      marketRecord(
        market,
        parts.filter((part) => part.market === market.market),
        checks.filter((check) => check.market === market.market),
      ),
    ] as const
  );
  const incomplete = parts.filter(({ mayBeCut }) => mayBeCut).map(({ spec, tally }) =>
    `${spec.list}: the broker answers with no more than the ${tally.rows} rows that came`
  );
  const provisionalBecause = records.flatMap(([market, { provisionalBecause }]) =>
    provisionalBecause.map((why) => `${market}: ${why}`)
  );
  const files: Summary["files"] = {};
  for (const name of names) files[name] = await fileRecord(`${folder}/${name}`);
  const summary: Summary = {
    version: 1,
    day,
    status: provisionalBecause.length === 0 ? "final" : "provisional",
    complete: incomplete.length === 0,
    incomplete,
    provisionalBecause,
    settings,
    rows: Object.fromEntries(lists.map((list) => [list, rowsOf(parts, list)])),
    markets: Object.fromEntries(records),
    checks,
    differences: count,
    unlistedCodes: unlistedOf(parts),
    totals: totalsOf(parts, settings.markets),
    files,
  };
  const summaryText = writeSummary(summary);
  const file = new TextFile(`${folder}/summary.json`);
  file.write(summaryText);
  file.seal();
  return { summary, summaryText, differences };
}

/** Also those that nobody chose. */
function removeParts(folder: string): void {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
  for (const name of names) if (name.endsWith(".part")) Deno.removeSync(`${folder}/${name}`);
}

function rowsOf(parts: readonly Part[], list: DayBookList): number {
  return parts.reduce((sum, { spec, tally }) => sum + (spec.list === list ? tally.rows : 0), 0);
}

/** The first part becomes the file, as it starts with the header; the others are added without theirs. */
function join(path: string, header: string, parts: readonly Part[], form: "csv" | "jsonl"): void {
  const [first, ...rest] = parts;
  if (first !== undefined) Deno.renameSync(first.path(form), path);
  const file = first === undefined ? new TextFile(path) : TextFile.continue(path);
  try {
    if (first === undefined) file.write(header);
    for (const part of rest) file.append(part.path(form), encoder.encode(header).length);
    file.seal();
  } finally {
    file.close();
  }
}

function writeDifferences(folder: string, parts: readonly Part[], between: readonly Difference[]): void {
  const file = new TextFile(`${folder}/differences.csv`);
  try {
    file.write(csvRecord(differenceColumns));
    for (const part of parts) if (part.differenceCount > 0) file.append(part.path("differences"), 0);
    for (const difference of between) file.write(differenceRecord(difference));
    file.seal();
  } finally {
    file.close();
  }
}

interface Between {
  record: CheckRecord;
  differences: Difference[];
}

/** Checks of a market that compare its lists. */
function checksBetween({ market, day, hasBegun }: MarketDay, parts: readonly Part[]): Between[] {
  const partOf = (list: DayBookList) =>
    parts.find((part) => part.market === market && part.spec.list === list);
  const between = (
    check: CheckName,
    list: DayBookList,
    { result, detail, findings }: ListCheck,
  ): Between => ({
    record: { check, market, result, detail, differences: findings.length },
    differences: findings.map((finding) => ({ day, market, list, ...finding })),
  });
  if (!hasBegun) return [];
  if (market === "futures") {
    const [fills, orders] = [partOf("futures_fills"), partOf("futures_orders")];
    if (fills === undefined || orders === undefined) return [];
    const unknown = "fills of futures carry no fees, no amount and no multiplier";
    return [
      between("orders", "futures_fills", checkOrders(fills.tally, orders.tally)),
      between("amounts", "futures_fills", { result: "not-checkable", detail: unknown, findings: [] }),
    ];
  }
  const [fills, orders, journal] = [partOf("fills"), partOf("orders"), partOf("fund_journal")];
  if (fills === undefined || orders === undefined || journal === undefined) return [];
  return [
    between("orders", "fills", checkOrders(fills.tally, orders.tally)),
    between(
      "journal",
      "fund_journal",
      checkJournal({
        fills: fills.tally,
        journal: journal.tally,
        currency: currencyOfMarket[market],
        fillRows: () => fills.trades(),
        lineRows: () => journal.trades(),
      }),
    ),
  ];
}

const detailOf: Readonly<Record<string, string>> = {
  fees: "the fees of each fill add up to its total",
  amounts: "the amount of each fill is price times quantity, to half a cent",
  values: "numbers can be read, day and market are those that were asked for",
};
const MERGED = "; mean prices with more than three decimals may be rounded in their last one";

function checksOfRows(part: Part): CheckRecord[] {
  const { spec: { list }, market, tally } = part;
  const checks = list === "fills" ? rowChecks : ["values" as const];
  return checks.map((check) => {
    const { passed, differs, notCheckable } = tally.checks[check];
    const merged = check === "amounts" && market === "hk" && part.origin === "history" ? MERGED : "";
    const counts = `${passed} passed, ${differs} differ, ${notCheckable} not checkable`;
    return {
      check,
      market,
      result: differs > 0 ? "differs" : notCheckable > 0 ? "not-checkable" : "passed",
      detail: `${list}: ${detailOf[check]}${merged}: ${counts}`,
      differences: differs,
    };
  });
}

function unlistedOf(parts: readonly Part[]): Record<string, number> {
  const unlisted: Record<string, number> = {};
  for (const { spec, market, tally } of parts) {
    for (const [name, rows] of tally.unlisted) unlisted[`${market} ${spec.list} ${name}`] = rows;
  }
  return unlisted;
}

/** Markets in the order of the code table, each once, so that the order of a list changes nothing. */
export function inOrder(names: readonly Market[], given: readonly Market[]): Market[] {
  return names.filter((name) => given.includes(name));
}
