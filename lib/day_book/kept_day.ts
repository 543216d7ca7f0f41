/**
 * A reading of a day that an earlier export left: the day itself, or one that contradicts it.
 *
 * @module
 */
import { plainCells } from "../csv_text.ts";
import { parse } from "@std/csv";
import { listsOf } from "./lists.ts";
import type { ListReading } from "./losses.ts";
import { KEPT_DIFFERENCES } from "./differences.ts";
import { readRows } from "./row_reader.ts";
import { exists } from "./shelf.ts";
import { fileRecord, type Settings, type Summary } from "./summary.ts";
import {
  DayBookError,
  type DayBookFormat,
  type DayBookList,
  type DayBookMarket,
  type Difference,
  type Origin,
} from "./types.ts";
import { otherStem } from "./write_day.ts";

const FOREIGN = "not-a-day-book";

/** What is there. */
export interface KeptDay {
  /** Name of its folder, such as `2025-08-15`. */
  name: string;
  summary: Summary;
  /** Its `summary.json`, byte for byte. */
  text: string;
  /** Files that differ from their digests in the summary. */
  damaged: string[];
  /** It has every wanted file. */
  holdsWanted: boolean;
  /** It has exactly the wanted files. */
  isSame: boolean;
  /** The first ones. */
  differences: Difference[];
  /** Its lists, read from files that are as they were written. */
  readings(): ListReading[];
  /** @throws {DayBookError} When writing the day with these settings would lose files or markets. */
  refuseNarrower(): void;
}

/**
 * Reads the folder of a day and compares its files with the digests in its summary; `undefined` when there is none.
 *
 * @throws {DayBookError} When the folder is not a day book.
 */
export async function keptDay(path: string, settings: Settings): Promise<KeptDay | undefined> {
  if (!exists(path)) return undefined;
  const { summary, text } = readSummary(path);
  const had = summary.settings;
  const damaged: string[] = [];
  for (const [name, { bytes, sha256 }] of Object.entries(summary.files)) {
    const found = exists(`${path}/${name}`) ? await fileRecord(`${path}/${name}`) : undefined;
    if (found?.bytes !== bytes || found.sha256 !== sha256) damaged.push(name);
  }
  const holdsWanted = holds(had, settings);
  return {
    name: path.slice(path.lastIndexOf("/") + 1),
    summary,
    text,
    damaged,
    holdsWanted,
    isSame: holdsWanted && holds(settings, had),
    differences: damaged.includes("differences.csv") ? [] : readDifferences(path, summary),
    readings: () => readingsOf(path, summary, damaged),
    refuseNarrower() {
      const { markets, formats, wire } = had;
      const accounts = had.accounts.filter((each) => each === "securities" || hasRows(summary, "futures"));
      if (holds(settings, { ...had, accounts })) return;
      const covered = [
        ...accounts.includes("securities") ? markets : [],
        ...accounts.includes("futures") ? ["futures"] : [],
      ];
      throw new DayBookError(
        `Cannot export ${summary.day} again: "${path}" holds ${covered.join(", ")} as ${
          [...formats, ...wire ? ["wire"] : []].join(", ")
        }, and some of that was not asked for; ask for all of it, or choose another folder`,
        { code: "settings-differ", day: summary.day },
      );
    },
  };
}

/** Returns whether any list of a market has rows. */
export function hasRows({ markets }: Summary, market: DayBookMarket): boolean {
  return Object.values(markets[market]?.lists ?? {}).some(({ rows }) => rows > 0);
}

/** Returns whether a day with some settings has all files that other settings ask for. */
function holds(all: Settings, some: Settings): boolean {
  const covers = (of: (settings: Settings) => readonly string[]) =>
    of(some).every((each) => of(all).includes(each));
  return covers(({ markets }) => markets) && covers(({ formats }) => formats) &&
    covers(({ accounts }) => accounts) && (all.wire || !some.wire);
}

function readingsOf(path: string, summary: Summary, damaged: readonly string[]): ListReading[] {
  const { day, markets, settings } = summary;
  const name = path.slice(path.lastIndexOf("/") + 1);
  const forms: readonly DayBookFormat[] = ["jsonl", "csv"];
  const reading = (market: DayBookMarket, list: DayBookList, origin: Origin, stem: string): ListReading[] => {
    // An older export did not say so of a provisional day.
    const { cleared, status } = markets[market] ?? {};
    const isCleared = cleared ?? status === "final";
    const form = forms.find((each) =>
      settings.formats.includes(each) && !damaged.includes(`${stem}.${each}`)
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
  // Names of the record are those of the markets.
  return (Object.keys(markets) as DayBookMarket[]).flatMap((market) =>
    listsOf(market).flatMap(({ list }) => {
      const { lists = {}, otherLists = {} } = markets[market] ?? {};
      const [chosen, other] = [lists[list], otherLists[list]];
      return [
        ...chosen === undefined ? [] : reading(market, list, chosen.origin, list),
        ...other === undefined ? [] : reading(market, list, other.origin, otherStem(list, other.origin)),
      ];
    })
  );
}

/** Returns whether a kept day has all wanted files as they were written. */
export function isWhole({ damaged, holdsWanted }: KeptDay): boolean {
  return damaged.length === 0 && holdsWanted;
}

/**
 * Reads the summary of a day.
 *
 * @throws {DayBookError} When the folder is not a day book.
 */
export function readSummary(path: string): { summary: Summary; text: string } {
  const text = readText(path);
  return { summary: parseSummary(path, text), text };
}

/** Returns the summary of a day; `undefined` when the folder is not a day book. */
export function summaryIn(path: string): Summary | undefined {
  try {
    return readSummary(path).summary;
  } catch (error) {
    if (error instanceof DayBookError && error.code === FOREIGN) return undefined;
    throw error;
  }
}

function readText(path: string): string {
  try {
    return Deno.readTextFileSync(`${path}/summary.json`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      throw foreign(path);
    }
    throw error;
  }
}

/** A summary of the first form, which told of futures by a flag. */
type OlderSummary = Omit<Summary, "version" | "settings" | "standing" | "contradicts" | "unknownMembers"> & {
  version: 1;
  settings: Pick<Settings, "markets" | "formats"> & { futures: boolean };
};

function parseSummary(path: string, text: string): Summary {
  try {
    // Written by us; a version of ours tells it from anybody else's file of that name.
    const summary = JSON.parse(text) as Summary | OlderSummary;
    if (summary.settings === undefined || summary.files === undefined) throw foreign(path);
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
  throw foreign(path);
}

function foreign(path: string): DayBookError {
  return new DayBookError(
    `Cannot export into "${path}": the folder is there and is no day book, as its summary.json is missing or damaged; ` +
      "move it away, restore it, or choose another folder",
    { code: FOREIGN },
  );
}

function readDifferences(path: string, { day, differences }: Summary): Difference[] {
  if (differences === 0 || !exists(`${path}/differences.csv`)) return [];
  const rows = parse(Deno.readTextFileSync(`${path}/differences.csv`), { skipFirstRow: true });
  return rows.slice(0, KEPT_DIFFERENCES).map((row) => ({
    // The columns are the members of a difference, written by us; an empty cell is an absent one.
    ...Object.fromEntries(
      Object.entries(plainCells(row)).filter(([, cell]) => cell !== ""),
    ) as unknown as Difference,
    day,
  }));
}
