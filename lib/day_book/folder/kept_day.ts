/**
 * Reads a day from the folder of an earlier export: the day itself, or a reading that contradicts it.
 *
 * @module
 */
import { parse } from "../../std/csv.ts";
import { plainCells } from "../../csv_text.ts";
import { Market } from "../../dictionaries/market.ts";
import { isMap, isTexts } from "../../foreign_values.ts";
import { exists } from "../../private_files.ts";
import { readRegularTextSync } from "../../regular_files.ts";
import { listsOf } from "../reading/lists.ts";
import { dayBookColumns } from "../rows/columns.ts";
import type { ListReading } from "../checks/losses.ts";
import { KEPT_DIFFERENCES, readRows } from "../rows/files.ts";
import { fileRecord, type Settings, type Summary } from "./summary.ts";
import {
  DayBookError,
  type DayBookFormat,
  type DayBookList,
  type DayBookMarket,
  type Difference,
  type Origin,
} from "../types.ts";
import { rejectLinks } from "./export_folder.ts";
import { otherStem } from "./write_day.ts";

const NOT_A_DAY_BOOK = "not-a-day-book";

/** A kept reading of a day. */
export interface KeptDay {
  /** Name of its folder, such as `2025-08-15`. */
  name: string;
  summary: Summary;
  /** The text of its `summary.json`. */
  text: string;
  /** Files that are missing, have no digest in the summary, or have another digest. */
  damaged: string[];
  /** The damaged files that are missing. */
  missing: string[];
  /** Whether it has every file that the current options request. */
  hasWanted: boolean;
  /** Whether it has exactly the files that the current options request. */
  isSame: boolean;
  /** The first differences. */
  differences: Difference[];
  /** Returns its lists, read from undamaged files. */
  readings(): ListReading[];
  /** @throws {DayBookError} If writing the day with the current options would lose files or markets. */
  throwIfNarrower(): void;
}

/**
 * Reads the folder of a day and compares its files with the digests in its summary. Resolves to `undefined`
 * if the folder does not exist. `hasTrades` is set if the store has rebalancing trades of the day.
 *
 * @throws {DayBookError} If the folder is not a day book, or contains a symbolic link.
 */
export async function keptDay(
  path: string,
  settings: Settings,
  { hasTrades = true }: { hasTrades?: boolean } = {},
): Promise<KeptDay | undefined> {
  if (!exists(path)) return undefined;
  const { summary, text } = readSummary(path);
  rejectLinks(path);
  const had = summary.settings;
  // Without its digest, nothing shows that a file belongs to the day: somebody else may have put it there.
  const damaged = Object.keys(summary.rows).flatMap((list) => had.formats.map((form) => `${list}.${form}`))
    .filter((name) => !Object.hasOwn(summary.files, name));
  for (const [name, { bytes, sha256 }] of Object.entries(summary.files)) {
    const found = exists(`${path}/${name}`) ? await fileRecord(`${path}/${name}`) : undefined;
    if (found?.bytes !== bytes || found.sha256 !== sha256) damaged.push(name);
  }
  // A day without rebalancing trades needs no list of them.
  const hasWanted = hasFilesFor(had, { ...settings, rebalanceTrades: settings.rebalanceTrades && hasTrades });
  return {
    name: path.slice(path.lastIndexOf("/") + 1),
    summary,
    text,
    damaged,
    missing: damaged.filter((file) => !exists(`${path}/${file}`)),
    hasWanted,
    isSame: hasWanted && hasFilesFor(settings, had),
    differences: isSound(summary, damaged, "differences.csv") ? readDifferences(path, summary) : [],
    readings: () => readingsOf(path, summary, damaged),
    throwIfNarrower() {
      const { markets, formats, wire } = had;
      const accounts = had.accounts.filter((each) => each === "securities" || hasRows(summary, "futures"));
      const rebalanceTrades = had.rebalanceTrades && (summary.rows.rebalance_trades ?? 0) > 0;
      if (rebalanceTrades && !settings.rebalanceTrades) {
        throw new DayBookError(
          `Cannot export ${summary.day} again: "${path}" contains rebalancing trades, which only a store has; name ` +
            "the store, or choose another folder",
          { code: "settings-differ", day: summary.day },
        );
      }
      if (hasFilesFor(settings, { ...had, accounts, rebalanceTrades })) return;
      const covered = [
        ...accounts.includes("securities") ? markets : [],
        ...accounts.includes("futures") ? ["futures"] : [],
      ];
      throw new DayBookError(
        `Cannot export ${summary.day} again: "${path}" contains ${covered.join(", ")} as ${
          [...formats, ...wire ? ["wire"] : []].join(", ")
        }, which these options do not cover; export all of it, or choose another folder`,
        { code: "settings-differ", day: summary.day },
      );
    },
  };
}

/**
 * Returns whether a file is undamaged: the summary contains a digest of the file, and the file still has this digest.
 */
const isSound = ({ files }: Summary, damaged: readonly string[], name: string): boolean =>
  Object.hasOwn(files, name) && !damaged.includes(name);

/** Returns whether any list of a market has rows. */
export function hasRows({ markets }: Summary, market: DayBookMarket): boolean {
  return Object.values(markets[market]?.lists ?? {}).some(({ rows }) => rows > 0);
}

/** Returns whether a day with the settings `all` has every file that the settings `some` request. */
function hasFilesFor(all: Settings, some: Settings): boolean {
  const covers = (of: (settings: Settings) => readonly string[]) =>
    of(some).every((each) => of(all).includes(each));
  return covers(({ markets }) => markets) && covers(({ formats }) => formats) &&
    covers(({ accounts }) => accounts) && (all.wire || !some.wire) &&
    (all.rebalanceTrades === true || some.rebalanceTrades !== true);
}

function readingsOf(path: string, summary: Summary, damaged: readonly string[]): ListReading[] {
  const { day, markets, settings } = summary;
  const name = path.slice(path.lastIndexOf("/") + 1);
  const forms: readonly DayBookFormat[] = ["jsonl", "csv"];
  const reading = (market: DayBookMarket, list: DayBookList, origin: Origin, stem: string): ListReading[] => {
    // Summaries of older exports lack `cleared`.
    const { cleared, status } = markets[market] ?? {};
    const isCleared = cleared ?? status === "final";
    const form = forms.find((each) =>
      settings.formats.includes(each) && isSound(summary, damaged, `${stem}.${each}`)
    );
    if (form === undefined) return [];
    const start = `${market}/${day}/${list}/`;
    return [{
      name,
      market,
      list,
      origin,
      isCleared,
      *rows() {
        for (const row of readRows(`${path}/${stem}.${form}`, form)) {
          if (String(row.rowKey).startsWith(start)) yield row;
        }
      },
    }];
  };
  // The keys of this record are market names.
  return (Object.keys(markets) as DayBookMarket[]).flatMap((market) => [
    ...listsOf(market).flatMap(({ list }) => {
      const { lists = {}, otherLists = {} } = markets[market] ?? {};
      const [chosen, other] = [lists[list], otherLists[list]];
      return [
        ...chosen === undefined ? [] : reading(market, list, chosen.origin, list),
        ...other === undefined ? [] : reading(market, list, other.origin, otherStem(list, other.origin)),
      ];
    }),
    ...(summary.rows.rebalance_trades ?? 0) > 0
      ? reading(market, "rebalance_trades", "history", "rebalance_trades")
      : [],
  ]);
}

/** Returns whether a kept day has all requested files, undamaged. */
export function isComplete({ damaged, hasWanted }: KeptDay): boolean {
  return damaged.length === 0 && hasWanted;
}

/**
 * Reads the summary of a day.
 *
 * @throws {DayBookError} If the folder is not a day book.
 */
function readSummary(path: string): { summary: Summary; text: string } {
  const text = readText(path);
  return { summary: parseSummary(path, text), text };
}

/** Returns the summary of a day, or `undefined` if the folder is not a day book. */
export function summaryIn(path: string): Summary | undefined {
  try {
    return readSummary(path).summary;
  } catch (error) {
    if (error instanceof DayBookError && error.code === NOT_A_DAY_BOOK) return undefined;
    throw error;
  }
}

function readText(path: string): string {
  try {
    return readRegularTextSync(`${path}/summary.json`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      throw notADayBook(path);
    }
    throw error;
  }
}

/** A summary of version 1, which has a flag for futures. */
type OlderSummary = Omit<Summary, "version" | "settings" | "standing" | "contradicts" | "unknownMembers"> & {
  version: 1;
  settings: Pick<Settings, "markets" | "formats"> & { futures: boolean };
};

function parseSummary(path: string, text: string): Summary {
  try {
    const summary: unknown = JSON.parse(text);
    if (!isSummary(summary)) throw notADayBook(path);
    if (summary.version === 2) return summary;
    if (summary.version === 1) {
      const { settings: { markets, formats, futures }, ...rest } = summary;
      const accounts = ["securities" as const, ...futures ? ["futures" as const] : []];
      const later = { standing: "day" as const, contradicts: [], unknownMembers: {} };
      return { ...rest, ...later, version: 2, settings: { markets, accounts, formats, wire: false } };
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw notADayBook(path);
}

/**
 * Returns whether a value has the members of a summary that this file reads. Somebody else may have made the folder, so
 * this also checks that no file name in the summary leads to another folder.
 */
function isSummary(value: unknown): value is Summary | OlderSummary {
  if (!isMap(value)) return false;
  const { version, settings, files, rows, markets, checks, differences } = value;
  const isKnown = (market: string) => market === "futures" || Market.names.some((name) => name === market);
  // Names of lists become parts of paths.
  const isList = (list: string) => Object.hasOwn(dayBookColumns, list);
  const areLists = (lists: unknown) =>
    isMap(lists) &&
    Object.entries(lists).every(([list, each]) =>
      isList(list) && isMap(each) && typeof each.rows === "number" &&
      isOneOf(["history", "today"], each.origin)
    );
  return (version === 1 || version === 2) &&
    isMap(settings) && isTexts(settings.markets) && settings.markets.every(isKnown) &&
    isTexts(settings.formats) && settings.formats.every((form) => isOneOf(["csv", "jsonl"], form)) &&
    (version === 1 || isTexts(settings.accounts)) &&
    isMap(files) &&
    Object.entries(files).every(([name, each]) => /^\w[\w.-]*$/.test(name) && isMap(each)) &&
    isMap(rows) &&
    Object.entries(rows).every(([list, count]) => isList(list) && typeof count === "number") &&
    isMap(markets) &&
    Object.entries(markets).every(([market, each]) =>
      isKnown(market) && isMap(each) && areLists(each.lists) && areLists(each.otherLists ?? {})
    ) &&
    Array.isArray(checks) && checks.every(isMap) && typeof differences === "number" &&
    typeof value.day === "string" && /^\d{4}-\d{2}-\d{2}$/.test(value.day) &&
    typeof value.status === "string" &&
    [value.incomplete, value.provisionalBecause, value.contradicts ?? []].every(isTexts);
}

const isOneOf = (names: readonly string[], value: unknown) => names.some((name) => name === value);

function notADayBook(path: string): DayBookError {
  return new DayBookError(
    `Cannot export into "${path}": the folder exists but is not a day book, because its summary.json is missing or ` +
      "damaged; move it away, restore it, or choose another folder",
    { code: NOT_A_DAY_BOOK },
  );
}

function readDifferences(path: string, { day, differences }: Summary): Difference[] {
  if (differences === 0 || !exists(`${path}/differences.csv`)) return [];
  const rows = parse(readRegularTextSync(`${path}/differences.csv`), { skipFirstRow: true });
  return rows.slice(0, KEPT_DIFFERENCES).map((row) => ({
    // The columns are the members of a difference; an empty cell is an absent member.
    ...Object.fromEntries(
      Object.entries(plainCells(row)).filter(([, cell]) => cell !== ""),
    ) as unknown as Difference,
    day,
  }));
}
