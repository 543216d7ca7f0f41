/**
 * One list of one market and day, read from the broker into files of its own.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { PagingOptions } from "../client/paging.ts";
import type { Market } from "../dictionaries/market.ts";
import { isDecimal } from "../decimal.ts";
import { ProtocolError } from "../errors.ts";
import { type AnyRow, currencyOfMarket, dayBookColumns, type RowContext } from "./columns.ts";
import { ahead, type ListSpec, type Source } from "./lists.ts";
import { csvRecord, rowEncoder, TextFile } from "./row_file.ts";
import { Digest, DigestCounts } from "./row_keys.ts";
import { readRows } from "./row_reader.ts";
import { look, type Looking, newTally, type RowFinding, type Tally } from "./tally.ts";
import { netOf, sideOfFill, sideOfLine, type TradeRow } from "./trades.ts";
import type { DayBookFormat, DayBookMarket, Difference, Origin } from "./types.ts";

/** What a part is read from, and where it goes. */
export interface PartOptions {
  client: Client;
  spec: ListSpec;
  market: DayBookMarket;
  day: string;
  origin: Origin;
  /** Folder for the files; it is there. */
  folder: string;
  formats: readonly DayBookFormat[];
  paging: PagingOptions;
  /** Date of rows in the list of today that carry none. */
  runningDay: string;
  /** Told after each page: its rows, and those so far. */
  onRows: (added: number, rows: number) => void;
}

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

/** Differences that are kept in memory besides the file. */
export const KEPT_DIFFERENCES = 1000;

/** Files, sums and differences of one list of one market. */
export class Part {
  readonly tally: Tally = newTally();
  /** The first ones. */
  readonly differences: Difference[] = [];
  differenceCount = 0;
  /** Latest date that a row of the list carried, also of rows of other days. */
  lastDate: string | undefined;
  /** The answer was as long as the broker's limit allows. */
  mayBeCut = false;
  readonly #options: PartOptions;
  readonly #names: readonly string[];
  readonly #encode: ReturnType<typeof rowEncoder>;
  /** Made once and filled for each row, as millions of rows would leave millions behind. */
  readonly #digest = new Digest();
  readonly #context: RowContext;
  readonly #counts = new DigestCounts();
  readonly #looking: Looking;
  readonly #start: string;
  #csv: TextFile | undefined;
  #jsonl: TextFile | undefined;
  #findings: TextFile | undefined;

  constructor(options: PartOptions) {
    const { spec: { list }, market, day, origin } = options;
    this.#options = options;
    this.#names = dayBookColumns[list].map(({ name }) => name);
    this.#encode = rowEncoder(dayBookColumns[list]);
    const currency = market === "futures" ? "" : currencyOfMarket[market];
    this.#context = { rowKey: "", market, currency };
    this.#looking = { list, market, day, merged: market === "hk" && origin === "history" };
    this.#start = `${market}/${day}/${list}/`;
  }

  get day(): string {
    return this.#options.day;
  }
  get origin(): Origin {
    return this.#options.origin;
  }
  get market(): DayBookMarket {
    return this.#options.market;
  }
  get spec(): ListSpec {
    return this.#options.spec;
  }

  /** Path of the file with one form of the rows. */
  path(form: DayBookFormat | "differences"): string {
    const { folder, spec: { list }, market, origin } = this.#options;
    return `${folder}/${list}.${market}.${origin}.${form}.part`;
  }

  /** Reads the list to its end. */
  async read(): Promise<this> {
    const { client, spec, market, day, origin, formats, paging } = this.#options;
    const stocks = market as Market; // lists of the futures account take no market
    const source = origin === "history"
      ? spec.history(client, stocks, day, paging)
      : spec.today(client, stocks, paging);
    try {
      if (formats.includes("csv")) this.#csv = new TextFile(this.path("csv"));
      if (formats.includes("jsonl")) this.#jsonl = new TextFile(this.path("jsonl"));
      this.#csv?.write(csvRecord(this.#names));
      await this.#readPages(source);
      for (const file of [this.#csv, this.#jsonl, this.#findings]) file?.finish();
    } finally {
      for (const file of [this.#csv, this.#jsonl, this.#findings]) file?.close();
    }
    return this;
  }

  /** Reads the trades back from the files: fills with amount, side and fees, or journal lines of trades. */
  *trades(): Generator<TradeRow> {
    const form = this.#options.formats.includes("jsonl") ? "jsonl" : "csv";
    for (const row of readRows(this.path(form), form)) {
      const { rowKey, fillAmount, total, amount } = row as Record<string, string | undefined>; // text throughout
      if (rowKey === undefined) continue;
      const [fill, line] = [sideOfFill(row.side), sideOfLine(row.type)];
      if (isDecimal(fillAmount) && isDecimal(total) && fill !== undefined) {
        yield { rowKey, side: fill, net: netOf(fill, fillAmount, total) };
      } else if (isDecimal(amount) && line !== undefined) yield { rowKey, side: line, net: amount };
    }
  }

  async #readPages(source: Source): Promise<void> {
    const { spec: { list }, origin, onRows } = this.#options;
    let seen = 0;
    for await (const { rows } of ahead(source.pages)) {
      const before = this.tally.rows;
      for (const row of rows) if (this.#isOfDay(row)) this.#write(row);
      seen += rows.length;
      onRows(this.tally.rows - before, this.tally.rows);
    }
    if (!source.isComplete()) {
      throw new ProtocolError(`Cannot read ${list} of ${origin} to its end: the walk stopped early`, {
        code: "incomplete",
      });
    }
    this.mayBeCut = source.cap !== undefined && seen >= source.cap;
  }

  /** The list of today may hold another day by now; rows of history are the day's, whatever they say. */
  #isOfDay(row: AnyRow): boolean {
    const { origin, day, runningDay } = this.#options;
    if (typeof row.date === "string" && row.date > (this.lastDate ?? "")) this.lastDate = row.date;
    return origin === "history" || (typeof row.date === "string" ? row.date : runningDay) === day;
  }

  #write(row: AnyRow): void {
    const { spec } = this.#options;
    const digest = this.#digest.reset();
    for (const name of spec.identity) digest.add(row[name]);
    const count = this.#counts.next(digest);
    if (count > 1) this.tally.repeated++;
    const rowKey = this.#context.rowKey = `${this.#start}${digest}/${count}`;
    const { csv, jsonl } = this.#encode(row, this.#context);
    this.#csv?.write(csv);
    this.#jsonl?.write(jsonl);
    for (const finding of look(this.tally, row, this.#looking)) this.#note(finding, rowKey);
  }

  #note(finding: RowFinding, rowKey: string): void {
    const { day, market, spec: { list } } = this.#options;
    const difference: Difference = { day, market, list, rowKey, ...finding };
    this.differenceCount++;
    if (this.differences.length < KEPT_DIFFERENCES) this.differences.push(difference);
    this.#findings ??= new TextFile(this.path("differences"));
    this.#findings.write(differenceRecord(difference));
  }
}

/** Writes a difference as a line of `differences.csv`. */
export function differenceRecord(difference: Difference): string {
  return csvRecord(differenceColumns.map((name) => difference[name]));
}
