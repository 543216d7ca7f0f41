/**
 * Differences: counted, written to a file as they are found, and the first ones kept for the result.
 *
 * @module
 */
import { csvRecord } from "../csv_text.ts";
import { TextFile } from "./row_file.ts";
import type { DayBookMarket, Difference } from "./types.ts";

/** Columns of `differences.csv`. */
export const differenceColumns = [
  "check",
  "market",
  "list",
  "rowKey",
  "expected",
  "actual",
  "message",
] as const satisfies readonly (keyof Difference)[];

/** Most differences that stay in memory besides the file. */
export const KEPT_DIFFERENCES = 1000;

/** Differences that go to a file of their own, which is made with the first one. */
export class DifferenceFile {
  /** The first ones. */
  readonly first: Difference[] = [];
  count = 0;
  readonly byMarket = new Map<DayBookMarket, number>();
  #file: TextFile | undefined;

  constructor(readonly path: string) {}

  /** Counts and writes one. */
  add(difference: Difference): void {
    const { market } = difference;
    this.count++;
    if (market !== undefined) this.byMarket.set(market, (this.byMarket.get(market) ?? 0) + 1);
    if (this.first.length < KEPT_DIFFERENCES) this.first.push(difference);
    this.#file ??= new TextFile(this.path);
    this.#file.write(differenceRecord(difference));
  }

  /** Writes what is left; nothing can be added afterwards. */
  finish(): void {
    this.#file?.finish();
  }

  /** Closes the file; what was not finished may be lost. */
  close(): void {
    this.#file?.close();
  }
}

/** Writes a difference as a line of `differences.csv`. */
export function differenceRecord(difference: Difference): string {
  return csvRecord(differenceColumns.map((name) => difference[name]));
}
