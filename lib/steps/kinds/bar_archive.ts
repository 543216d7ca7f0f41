/**
 * An archive of bars that goes on where it stopped: one file per security, interval and year.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import { barDayLimits, type BarInterval } from "../../dictionaries/bar.ts";
import type { Bar } from "../../operations/quotes.ts";
import { quotes } from "../../operations/quotes.ts";
import type { SecurityType } from "../../dictionaries/security_type.ts";
import { jsonLines, readIfThere, writeWhole, type WrittenFile } from "./files.ts";

/** Most bars of a day or longer that one request may ask for (API document, section 8). */
const MOST_BARS = 1500;

/** What is archived, and where. */
export interface ArchiveOptions {
  client: Client;
  security: { type: SecurityType; symbol: string };
  interval: BarInterval;
  /** Day to begin at where nothing is there yet. */
  from: string;
  /** Last day that is wanted. */
  to: string;
  /** Folder of the archive. */
  folder: string;
  signal: AbortSignal;
}

/** What became of one security. */
export interface ArchivedBars {
  symbol: string;
  interval: BarInterval;
  /** Day that the requests began at: the last one that was there, as it may have been unfinished. */
  resumedAt: string;
  requests: number;
  /** Bars that were not there before, or have changed. */
  added: number;
  /** Last day that is there now; absent when there is none. */
  lastDay?: string;
  files: WrittenFile[];
}

/** Reads from the last day that is there up to the last one wanted, each request within its limit. */
export async function archiveBars(options: ArchiveOptions): Promise<ArchivedBars> {
  const { client, security, interval, from, to, folder, signal } = options;
  const base = `${folder}/${security.symbol}/${interval}`;
  const last = await lastDay(base);
  const resumedAt = last ?? from;
  const result: ArchivedBars = {
    symbol: security.symbol,
    interval,
    resumedAt,
    requests: 0,
    added: 0,
    files: [],
  };
  const limit = barDayLimits[interval] ?? MOST_BARS;
  for (let start = resumedAt; start <= to;) {
    signal.throwIfAborted();
    const { bars } = await client.call(
      quotes.bars,
      { security, start, direction: "newer", interval, limit },
      { signal },
    );
    result.requests++;
    const fresh = bars.filter(({ date }) => date !== undefined && date >= start && date <= to);
    if (fresh.length === 0) break;
    // Whatever came is kept at once, so that a run that is stopped goes on from there.
    await keep(base, fresh, result);
    const reached = fresh.at(-1)!.date!;
    result.lastDay = reached;
    if (bars.at(-1)?.date !== reached) break; // the rest lies beyond the last day
    start = dayAfter(reached);
  }
  result.lastDay ??= last;
  return result;
}

const dayAfter = (day: string) => Temporal.PlainDate.from(day).add({ days: 1 }).toString();
const keyOf = ({ date, time }: Bar) => `${date} ${time ?? ""}`;

async function keep(base: string, bars: readonly Bar[], result: ArchivedBars): Promise<void> {
  for (const [year, ofYear] of Map.groupBy(bars, ({ date }) => date!.slice(0, 4))) {
    const path = `${base}/${year}.jsonl`;
    const known = new Map((await readBars(path)).map((bar) => [keyOf(bar), JSON.stringify(bar)]));
    const before = known.size;
    let changed = 0;
    for (const bar of ofYear) {
      const text = JSON.stringify(bar);
      if (known.get(keyOf(bar)) !== text) changed++;
      known.set(keyOf(bar), text);
    }
    if (changed === 0 && before > 0) continue;
    result.added += changed;
    const rows = [...known].sort(([a], [b]) => a < b ? -1 : 1).map(([, text]) => JSON.parse(text));
    const file = await writeWhole(path, jsonLines(rows));
    result.files = [...result.files.filter((each) => each.path !== path), file];
  }
}

async function readBars(path: string): Promise<Bar[]> {
  const text = await readIfThere(path);
  // The archive holds what this file has written.
  return text === undefined ? [] : text.split("\n").filter(Boolean).map((line) => JSON.parse(line) as Bar);
}

async function lastDay(base: string): Promise<string | undefined> {
  const years: string[] = [];
  try {
    for await (const { name } of Deno.readDir(base)) if (/^\d{4}\.jsonl$/.test(name)) years.push(name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  const newest = years.sort().at(-1);
  return newest === undefined ? undefined : (await readBars(`${base}/${newest}`)).at(-1)?.date;
}
