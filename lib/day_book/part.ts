/**
 * One list of one market and day, read from the broker into files of its own.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { PagingOptions } from "../client/paging.ts";
import { csvRecord } from "../csv_text.ts";
import { type Decimal, isDecimal } from "../decimal.ts";
import { ProtocolError } from "../errors.ts";
import { fillFields } from "../operations/fills.ts";
import { eachUnknown, wireOf } from "../operations/wire_rows.ts";
import { type AnyRow, currencyOfMarket, dayBookColumns, type RowContext } from "./columns.ts";
import { DifferenceFile } from "./differences.ts";
import { ahead, type ListSpec, type Source, sourceOf } from "./lists.ts";
import type { ListReading } from "./losses.ts";
import { rowEncoder, TextFile } from "./row_file.ts";
import { Digest, DigestCounts } from "./row_keys.ts";
import { readRows } from "./row_reader.ts";
import { look, type Looking, newTally, type RowFinding, type Tally } from "./tally.ts";
import { netOf, sideOfFill, sideOfLine, type TradeRow } from "./trades.ts";
import type { DayBookFormat, DayBookMarket, Origin } from "./types.ts";

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
  /** Writes the rows as the broker sent them into a file of their own. */
  wire: boolean;
  /** Writes texts in CSV exactly as they are. */
  exactCsv: boolean;
  paging: PagingOptions;
  /** Date of rows in the list of today that carry none. */
  runningDay: string;
  /** Told after each page: its rows, and those so far. */
  onRows: (added: number, rows: number) => void;
}

/** Files, sums and differences of one list of one market. */
export class Part {
  readonly tally: Tally = newTally();
  /** What the rows have to say about themselves. */
  readonly differences: DifferenceFile;
  /** Latest date that a row of the list carried, also of rows of other days. */
  lastDate: string | undefined;
  /** Why rows may be missing at the end; `undefined` when the whole list is there. */
  unproven: string | undefined;
  /** The answer had no list: empty, unless nothing else of the day agrees. */
  isLeftOut = false;
  readonly #options: PartOptions;
  readonly #names: readonly string[];
  readonly #encode: ReturnType<typeof rowEncoder>;
  /** Made once and filled for each row, as millions of rows would leave millions behind. */
  readonly #digest = new Digest();
  readonly #context: RowContext;
  readonly #counts = new DigestCounts();
  /** Fees of the row at hand that the catalogue does not know. */
  readonly #unknownFees: Decimal[] = [];
  readonly #looking: Looking;
  readonly #start: string;
  #csv: TextFile | undefined;
  #jsonl: TextFile | undefined;
  #wire: TextFile | undefined;

  constructor(options: PartOptions) {
    const { spec: { list }, market, day, origin, exactCsv } = options;
    this.#options = options;
    this.#names = dayBookColumns[list].map(({ name }) => name);
    this.#encode = rowEncoder(dayBookColumns[list], { exact: exactCsv });
    const currency = market === "futures" ? "" : currencyOfMarket[market];
    this.#context = { rowKey: "", market, currency };
    this.#looking = {
      list,
      market,
      day,
      merged: market === "hk" && origin === "history",
      unknownFees: this.#unknownFees,
    };
    this.#start = `${market}/${day}/${list}/`;
    this.differences = new DifferenceFile(this.path("differences"));
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
  path(form: DayBookFormat | "wire" | "differences"): string {
    const { folder, spec: { list }, market, origin } = this.#options;
    return `${folder}/${list}.${market}.${origin}.${form}.part`;
  }

  /** Reads the list to its end. */
  async read(): Promise<this> {
    const { client, spec, market, day, origin, formats, wire, paging } = this.#options;
    const source = sourceOf(client, spec[origin], { market, from: day, to: day }, {
      ...paging,
      keepWire: wire ? "digits" : "members",
    });
    try {
      if (formats.includes("csv")) this.#csv = new TextFile(this.path("csv"));
      if (formats.includes("jsonl")) this.#jsonl = new TextFile(this.path("jsonl"));
      if (wire) this.#wire = new TextFile(this.path("wire"));
      this.#csv?.write(csvRecord(this.#names));
      await this.#readPages(source);
      for (const file of [...this.#files, this.differences]) file.finish();
    } finally {
      for (const file of [...this.#files, this.differences]) file.close();
    }
    return this;
  }

  /** The rows as they were read, for comparing them with another reading; they are read back from the files. */
  reading(name: string, isCleared: boolean): ListReading {
    const { market, origin, spec: { list } } = this;
    return { name, market, list, origin, isCleared, rows: () => this.#rows() };
  }

  #rows(): Generator<AnyRow> {
    const form = this.#options.formats.includes("jsonl") ? "jsonl" : "csv";
    return readRows(this.path(form), form);
  }

  /** Reads the trades back from the files: fills with amount, side and fees, or journal lines of trades. */
  *trades(): Generator<TradeRow> {
    for (const row of this.#rows()) {
      const { rowKey, fillAmount, total, amount } = row as Record<string, string | undefined>; // text throughout
      if (rowKey === undefined) continue;
      const [fill, line] = [sideOfFill(row.side), sideOfLine(row.type)];
      if (isDecimal(fillAmount) && isDecimal(total) && fill !== undefined) {
        yield { rowKey, side: fill, net: netOf(fill, fillAmount, total) };
      } else if (isDecimal(amount) && line !== undefined) yield { rowKey, side: line, net: amount };
    }
  }

  get #files(): TextFile[] {
    return [this.#csv, this.#jsonl, this.#wire].filter((file) => file !== undefined);
  }

  async #readPages(source: Source): Promise<void> {
    const { spec: { list, cap }, origin, onRows } = this.#options;
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
    this.unproven = source.unproven();
    this.isLeftOut = source.isLeftOut();
    if (origin === "history") return;
    if (cap !== undefined && seen >= cap) {
      this.unproven = `the broker answers with no more than the ${seen} rows that came`;
    } else if (this.tally.rows > 0 && this.lastDate !== undefined && this.lastDate > this.day) {
      this.unproven = `the list of today shows ${this.lastDate} too, so rows of this day may be gone from it`;
    }
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
    // Dated rows of the list of today were chosen by their date, the others by the running day.
    if (this.origin === "history" && row[spec.dated] === undefined) this.tally.undated++;
    const wire = wireOf(row);
    this.#wire?.write(`${JSON.stringify({ rowKey, wire }, bigintAsText)}\n`);
    this.#unknownFees.length = 0;
    if (wire !== undefined) eachUnknown(spec.fields, wire, this.#noteUnknown);
    for (const finding of look(this.tally, row, this.#looking)) this.#note(finding, rowKey);
  }

  /** Counts a member that the catalogue does not know, and adds it to the row's fees when it is one. */
  readonly #noteUnknown = (path: string, value: unknown): void => {
    const { unknown, unknownFees } = this.tally;
    unknown.set(path, (unknown.get(path) ?? 0) + 1);
    const fee = path.startsWith(FEES) ? decimalOf(value) : undefined;
    if (fee === undefined) return;
    this.#unknownFees.push(fee);
    unknownFees.add(path.slice(FEES.length), fee);
  };

  #note(finding: RowFinding, rowKey: string): void {
    const { day, market, spec: { list } } = this.#options;
    this.differences.add({ day, market, list, rowKey, ...finding });
  }
}

const FEES = `${fillFields.fees.wire}.`;
/** A double gives back any decimal with so many digits. */
const DIGITS_OF_DOUBLE = 15;

/** A decimal as JSON has it: text, or a number whose digits have survived. */
function decimalOf(value: unknown): Decimal | undefined {
  const { rawJSON } = typeof value === "object" && value !== null ? value as { rawJSON?: string } : {};
  const text = typeof value === "number" ? String(value) : rawJSON ?? value;
  const isExact = typeof value !== "number" || String(text).replace(/\D/g, "").length <= DIGITS_OF_DOUBLE;
  return isExact && isDecimal(text) ? text : undefined;
}

const bigintAsText = (_: string, value: unknown) => typeof value === "bigint" ? String(value) : value;
