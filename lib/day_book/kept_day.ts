/**
 * A day that an earlier export left.
 *
 * @module
 */
import { parse } from "@std/csv";
import { KEPT_DIFFERENCES } from "./part.ts";
import { exists } from "./shelf.ts";
import type { Settings, Summary } from "./summary.ts";
import { DayBookError, type Difference } from "./types.ts";

/** What is there. */
export interface KeptDay {
  summary: Summary;
  /** Its `summary.json`, byte for byte. */
  text: string;
  /** Every file has the size that the summary says. */
  isWhole: boolean;
  /** It has exactly the wanted files. */
  isSame: boolean;
  /** The first ones. */
  differences: Difference[];
  /** @throws {DayBookError} When writing the day with these settings would lose files or markets. */
  refuseNarrower(): void;
}

/**
 * Reads the folder of a day; `undefined` when there is none.
 *
 * @throws {DayBookError} When the folder is not a day book, or holds less than its summary says and would be lost.
 */
export function keptDay(path: string, settings: Settings): KeptDay | undefined {
  if (!exists(path)) return undefined;
  const text = readSummary(path);
  const summary = parseSummary(path, text);
  const had = summary.settings;
  const covers = (all: readonly string[], some: readonly string[]) =>
    some.every((each) => all.includes(each));
  const holds = (all: Settings, some: Settings) =>
    covers(all.markets, some.markets) && covers(all.formats, some.formats) && (all.futures || !some.futures);
  const holdsWanted = holds(had, settings);
  const isIntact = Object.entries(summary.files).every(([name, { bytes }]) =>
    sizeOf(`${path}/${name}`) === bytes
  );
  return {
    summary,
    text,
    isWhole: isIntact && holdsWanted,
    isSame: holdsWanted && holds(settings, had),
    differences: readDifferences(path, summary),
    refuseNarrower() {
      if (holds(settings, had)) return;
      const { markets, formats, futures } = had;
      throw new DayBookError(
        `Cannot export ${summary.day} again: "${path}" holds ${
          [...markets, ...futures ? ["futures"] : []].join(", ")
        }` +
          ` as ${
            formats.join(", ")
          }, and some of that was not asked for; ask for all of it, or choose another folder`,
        { code: "settings-differ", day: summary.day },
      );
    },
  };
}

function readSummary(path: string): string {
  try {
    return Deno.readTextFileSync(`${path}/summary.json`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      throw foreign(path);
    }
    throw error;
  }
}

function parseSummary(path: string, text: string): Summary {
  try {
    // Written by us; a version of ours tells it from anybody else's file of that name.
    const summary = JSON.parse(text) as Summary;
    if (summary.version === 1 && summary.settings !== undefined && summary.files !== undefined) {
      return summary;
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw foreign(path);
}

function foreign(path: string): DayBookError {
  return new DayBookError(
    `Cannot export into "${path}": the folder is there and is no day book; move it away, or choose another folder`,
    { code: "not-a-day-book" },
  );
}

function sizeOf(path: string): number | undefined {
  try {
    return Deno.statSync(path).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function readDifferences(path: string, { day, differences }: Summary): Difference[] {
  if (differences === 0 || !exists(`${path}/differences.csv`)) return [];
  const rows = parse(Deno.readTextFileSync(`${path}/differences.csv`), { skipFirstRow: true });
  return rows.slice(0, KEPT_DIFFERENCES).map(({ rowKey, ...row }) => ({
    // The columns are the members of a difference, written by us.
    ...row as unknown as Difference,
    day,
    ...(rowKey === "" ? {} : { rowKey }),
  }));
}
