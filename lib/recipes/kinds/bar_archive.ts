/**
 * Archives bars in one file per security, interval and year. A run continues at the last stored day.
 *
 * @module
 */
import { isDate } from "../../time.ts";
import { safeName } from "../../confined_paths.ts";
import { barPages } from "../../client/bars.ts";
import type { Client } from "../../client/client.ts";
import type { BarInterval } from "../../dictionaries/bar.ts";
import type { Bar } from "../../operations/quotes.ts";
import type { SecurityType } from "../../dictionaries/security_type.ts";
import { BrokerError } from "../../errors.ts";
import { shownJson } from "../../shown_text.ts";
import { readIfThere, writeAtomically, type WrittenFile } from "./files.ts";

/** Bars to archive, and the folder for them. */
interface ArchiveOptions {
  client: Client;
  security: { type: SecurityType; symbol: string };
  interval: BarInterval;
  /** First day of a new archive. */
  from: string;
  /** Last day to archive. */
  to: string;
  /** Returns a path in the archive folder. @throws {TypeError} If it would leave that folder. */
  pathOf(...parts: string[]): string;
  signal: AbortSignal;
}

/** Result for one security. */
interface ArchivedBars {
  symbol: string;
  interval: BarInterval;
  /**
   * First requested day: the last stored day, because that day may have been incomplete, or `from` in a new archive.
   */
  resumedAt: string;
  requests: number;
  /** Number of new or changed bars. */
  added: number;
  /** Last stored day; absent if there is none. */
  lastDay?: string;
  files: WrittenFile[];
}

/**
 * Requests bars from the last stored day to the last wanted day, each request within the broker's limit, and stores
 * them after each request.
 */
export async function archiveBars(options: ArchiveOptions): Promise<ArchivedBars> {
  const { client, security, interval, from, to, signal } = options;
  const name = await safeName(security.symbol);
  const pathOf = (...parts: string[]) => options.pathOf(name, interval, ...parts);
  const last = await lastDay(pathOf, to);
  const resumedAt = last ?? from;
  const result: ArchivedBars = {
    symbol: security.symbol,
    interval,
    resumedAt,
    requests: 0,
    added: 0,
    files: [],
  };
  for await (const fresh of barPages(client, { security, interval, from: resumedAt, to }, { signal })) {
    result.requests++;
    if (fresh.length === 0) break;
    // Store the bars after each request, so that an interrupted run continues from here.
    await storeBars(pathOf, fresh, result);
    result.lastDay = fresh.at(-1)!.date!;
  }
  result.lastDay ??= last;
  return result;
}

const keyOf = ({ date, time }: Bar) => `${date} ${time ?? ""}`;
const lineOf = (bar: Bar) => shownJson(JSON.stringify(bar));

/** Returns the path of a file of one security and interval. */
type PathOf = (...parts: string[]) => string;

async function storeBars(pathOf: PathOf, bars: readonly Bar[], result: ArchivedBars): Promise<void> {
  for (const [year, ofYear] of Map.groupBy(bars, ({ date }) => date!.slice(0, 4))) {
    const path = pathOf(`${year}.jsonl`);
    const text = readIfThere(path) ?? "";
    const { before, lines: known } = splitAt(
      { path, text },
      ofYear.map(keyOf).reduce((a, b) => a < b ? a : b),
    );
    let changed = 0;
    for (const bar of ofYear) {
      const line = lineOf(bar);
      if (known.get(keyOf(bar)) !== line) changed++;
      known.set(keyOf(bar), line);
    }
    if (changed === 0 && text !== "") continue;
    result.added += changed;
    const lines = [...known].sort(([a], [b]) => a < b ? -1 : 1).map(([, line]) => `${line}\n`);
    const file = await writeAtomically(path, before + lines.join(""));
    result.files = [...result.files.filter((each) => each.path !== path), file];
  }
}

/**
 * Splits a file before the first bar that has this key or a later one. The file is sorted by key and grows through the
 * year, so the part before the split stays text and is not parsed.
 */
function splitAt({ path, text }: Archive, key: string): { before: string; lines: Map<string, string> } {
  const later: [string, string][] = [];
  let end = text.length;
  for (const { bar, start } of barsBackwards({ path, text })) {
    if (keyOf(bar) < key) break;
    later.push([keyOf(bar), lineOf(bar)]);
    end = start;
  }
  const before = text.slice(0, end);
  return {
    before: before === "" || before.endsWith("\n") ? before : `${before}\n`,
    lines: new Map(later.reverse()),
  };
}

/** A file of the archive. */
interface Archive {
  path: string;
  text: string;
}

/**
 * Yields the bars of a file from the last to the first, each with the offset of its line.
 *
 * @throws {BrokerError} If a line is not a bar of the file's year, or the bars are not in order: somebody has changed
 * the file.
 */
function* barsBackwards({ path, text }: Archive): Generator<{ bar: Bar; start: number }> {
  let later: string | undefined;
  for (let end = text.length; end > 0;) {
    const start = text.lastIndexOf("\n", end - 2) + 1;
    const line = text.slice(start, end).trim();
    if (line !== "") {
      const bar = readBar(path, line);
      if (later !== undefined && keyOf(bar) >= later) throw badArchive(path, "its bars are not in order");
      later = keyOf(bar);
      yield { bar, start };
    }
    end = start;
  }
}

function readBar(path: string, line: string): Bar {
  let bar: unknown;
  try {
    bar = JSON.parse(line);
  } catch {
    // This line is rejected below, like any other line that is not a bar.
  }
  if (
    typeof bar === "object" && bar !== null && "date" in bar && isDate(bar.date) &&
    path.endsWith(`${bar.date.slice(0, 4)}.jsonl`)
  ) {
    return bar as Bar; // `archiveBars` writes only bars, and reads only their date and time
  }
  throw badArchive(path, "a line is not a bar with a date of its year");
}

function badArchive(path: string, reason: string): BrokerError {
  return new BrokerError(
    `Cannot continue the archive "${path}": ${reason}; restore the file, or remove it to archive the year again`,
    { code: "bad-archive" },
  );
}

/**
 * Returns the last stored day that is not after `to`; `undefined` if there is none. Bars after `to` come from a later
 * run, or somebody else wrote them. An archive that continued after such a bar might never get another bar.
 */
async function lastDay(pathOf: PathOf, to: string): Promise<string | undefined> {
  const years: string[] = [];
  try {
    for await (const { name } of Deno.readDir(pathOf())) {
      if (/^\d{4}\.jsonl$/.test(name) && name.slice(0, 4) <= to.slice(0, 4)) years.push(name);
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  for (const newest of years.sort().reverse()) {
    const path = pathOf(newest);
    let last: string | undefined;
    for (const { bar } of barsBackwards({ path, text: readIfThere(path) ?? "" })) {
      if (last !== undefined) break; // this bar was read only to check that the last two bars are in order
      if (bar.date! <= to) last = bar.date;
    }
    if (last !== undefined) return last;
  }
  return undefined;
}
