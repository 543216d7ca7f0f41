/**
 * Writes the files of a day. Joins its parts into one file per list and format, and adds the differences, the
 * description of the columns and the summary.
 *
 * @module
 */
import { csvRecord } from "../../csv_text.ts";
import { LIST_LEFT_OUT } from "../../operations/wire_rows.ts";
import { dayBookColumns, describeColumns } from "../rows/columns.ts";
import type { DayParts, Judgement } from "../checks/judge_day.ts";
import { listsOf } from "../reading/lists.ts";
import type { Part } from "../reading/part.ts";
import {
  differenceColumns,
  DifferenceFile,
  differenceRecord,
  KEPT_DIFFERENCES,
  TextFile,
} from "../rows/files.ts";
import { fileRecord, NO_STORE, type Settings, type Summary, summaryTextOf, totalsOf } from "./summary.ts";
import type { Tally } from "../checks/tally.ts";
import type { DayBookFormat, DayBookList, Difference, Origin } from "../types.ts";

/** Whether a reading is the reading of the day or a disputed one, and which folders it contradicts. */
export type Standing = Pick<Summary, "standing" | "contradicts">;

/** A written reading. */
export interface WrittenDay {
  summary: Summary;
  summaryText: string;
  /** The first differences. */
  differences: Difference[];
}

const encoder = new TextEncoder();
/** Returns the lists of an export, in the order of their files. */
function listsFor({ accounts }: Settings): DayBookList[] {
  return [
    ...accounts.includes("securities") ? listsOf("hk") : [],
    ...accounts.includes("futures") ? listsOf("futures") : [],
  ].map(({ list }) => list);
}

/** A day whose files are written, except for `summary.json`. */
export type Draft = Omit<Summary, "standing" | "contradicts"> & { differencesFound: Difference[] };

/** Writes all files of a day except the summary into its folder, and removes the files of the parts. */
export async function draftDay(
  options: DayParts & { exactCsv: boolean },
  judgement: Judgement,
  folder: string,
): Promise<Draft> {
  const { found: missed, ...judged } = judgement;
  const { day, parts, others, notRead, settings, between, contradictions, clock, unconfirmedOwner } = options;
  const { rebalance, exactCsv } = options;
  const lists = listsFor(settings).filter((list) =>
    !notRead.some((each) => each.list === list) || parts.some(({ spec }) => spec.list === list)
  );
  const names: string[] = [];
  const forms = [...settings.formats, ...settings.wire ? ["wire" as const] : []];
  const put = (list: DayBookList, stem: string, all: readonly Part[]) => {
    for (const form of forms) {
      const name = `${stem}.${form === "wire" ? "wire.jsonl" : form}`;
      const header = form === "csv" ? csvRecord(dayBookColumns[list].map((column) => column.name)) : "";
      join(`${folder}/${name}`, header, all, form);
      names.push(name);
    }
  };
  for (const list of lists) {
    const isOfList = ({ spec }: Part) => spec.list === list;
    put(list, list, parts.filter(isOfList));
    for (const origin of ["history", "today"] as const) {
      const all = others.filter((part) => isOfList(part) && part.origin === origin);
      if (all.length > 0) put(list, otherStem(list, origin), all);
    }
  }
  if (rebalance !== undefined) {
    lists.push("rebalance_trades");
    for (const form of settings.formats) {
      const name = `rebalance_trades.${form}`;
      rebalance.write(`${folder}/${name}`, form, exactCsv);
      names.push(name);
    }
  }
  const found = [...parts.map(({ differences }) => differences), contradictions];
  const listDifferences = [...between.flatMap(({ differences }) => differences), ...missed];
  const count = found.reduce((sum, each) => sum + each.count, listDifferences.length);
  if (count > 0) {
    writeDifferences(folder, found, listDifferences);
    names.push("differences.csv");
  }
  removeParts(folder);
  const columns = new TextFile(`${folder}/columns.json`);
  columns.write(describeColumns(lists));
  columns.seal();
  names.push("columns.json");

  const incomplete = [
    ...unconfirmedOwner === undefined ? [] : [unconfirmedOwner],
    ...notRead.map(({ market, list, reason }) => `${market}: ${list} were not read: ${reason}`),
    ...parts.flatMap(({ market, spec: { list }, unproven }) =>
      unproven === undefined ? [] : `${market}: ${list} may be incomplete: ${unproven}`
    ),
    ...judged.checks.flatMap(({ check, result, market, detail }) =>
      check === "empty" && result === "not-checkable" && detail.endsWith(LIST_LEFT_OUT)
        ? `${market}: ${detail}`
        : []
    ),
  ];
  const files: Summary["files"] = {};
  for (const name of names) files[name] = await fileRecord(`${folder}/${name}`);
  return {
    version: 2,
    day,
    ...judged,
    complete: incomplete.length === 0,
    incomplete,
    ...clock.isUnknown && { brokerClock: "unknown" },
    settings,
    rows: Object.fromEntries(
      lists.map((list) => [list, list === "rebalance_trades" ? rebalance!.rows : rowsOf(parts, list)]),
    ),
    differences: count,
    unlistedCodes: countsOf(parts, ({ unlisted }) => unlisted),
    unknownMembers: countsOf(parts, ({ unknown }) => unknown),
    totals: totalsOf(parts, settings.markets),
    ...rebalance === undefined
      ? settings.markets.length > 0 && { withoutRebalanceTrades: NO_STORE }
      : { rebalance: rebalance.plans },
    files,
    differencesFound: [...found.flatMap(({ first }) => first), ...listDifferences].slice(0, KEPT_DIFFERENCES),
  };
}

/** Returns a draft as a complete reading, with its standing among the readings of the day. */
export function placed({ differencesFound: differences, ...draft }: Draft, standing: Standing): WrittenDay {
  const { contradicts } = standing;
  const summary: Summary = { ...draft, ...standing };
  if (contradicts.length > 0) {
    summary.status = "provisional";
    summary.provisionalBecause = [...draft.provisionalBecause, `it contradicts ${contradicts.join(", ")}`];
  }
  return { summary, summaryText: summaryTextOf(summary), differences };
}

/** Writes the summary, the last file of a day. */
export function writeSummary(folder: string, { summaryText }: WrittenDay): void {
  const file = new TextFile(`${folder}/summary.json`);
  file.write(summaryText);
  file.seal();
}

/**
 * Returns the start of a file name, such as `fills.history`. Files with this name contain the list that was not chosen:
 * the broker's history or its list of today.
 */
export const otherStem = (list: DayBookList, origin: Origin): string => `${list}.${origin}`;

/** Removes the files of all parts, including the parts that were not chosen. */
function removeParts(folder: string): void {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
  for (const name of names) if (name.endsWith(".part")) Deno.removeSync(`${folder}/${name}`);
}

function rowsOf(parts: readonly Part[], list: DayBookList): number {
  return parts.reduce((sum, { spec, tally }) => sum + (spec.list === list ? tally.rows : 0), 0);
}

/**
 * Joins the files of parts into one file. Renames the first part, and appends the others without their header.
 */
function join(path: string, header: string, parts: readonly Part[], form: DayBookFormat | "wire"): void {
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

function writeDifferences(
  folder: string,
  found: readonly DifferenceFile[],
  listDifferences: readonly Difference[],
): void {
  const file = new TextFile(`${folder}/differences.csv`);
  try {
    file.write(csvRecord(differenceColumns));
    for (const { count, path } of found) if (count > 0) file.append(path, 0);
    for (const difference of listDifferences) file.write(differenceRecord(difference));
    file.seal();
  } finally {
    file.close();
  }
}

function countsOf(
  parts: readonly Part[],
  read: (tally: Tally) => ReadonlyMap<string, number>,
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { spec, market, tally } of parts) {
    for (const [name, rows] of read(tally)) counts[`${market} ${spec.list} ${name}`] = rows;
  }
  return counts;
}
