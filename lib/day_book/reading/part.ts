/**
 * Reads one list of one market and day from the broker into its own files.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import type { PagingOptions } from "../../client/paging.ts";
import { csvRecord } from "../../csv_text.ts";
import { type Decimal, isDecimal } from "../../decimal.ts";
import { ProtocolError } from "../../errors.ts";
import { fillFields } from "../../operations/fills.ts";
import { eachUnknown, wireOf } from "../../operations/wire_rows.ts";
import { shownJson } from "../../shown_text.ts";
import { type AnyRow, currencyOfMarket, dayBookColumns, type RowContext } from "../rows/columns.ts";
import { ahead, type ListSpec, type Source, sourceOf } from "./lists.ts";
import type { ListReading } from "../checks/losses.ts";
import { DifferenceFile, readRows, rowEncoder, TextFile } from "../rows/files.ts";
import { Digest, DigestCounts } from "../rows/keys.ts";
import { newTally, type RowCheckOptions, type RowFinding, type Tally, tallyRow } from "../checks/tally.ts";
import { netOf, sideOfFill, sideOfLine, type TradeRow } from "../rows/trades.ts";
import type { DayBookFormat, DayBookMarket, Origin } from "../types.ts";

/** Where a part is read from, and where it is written. */
interface PartOptions {
  client: Client;
  spec: ListSpec;
  market: DayBookMarket;
  day: string;
  origin: Origin;
  /** Existing folder for the files. */
  folder: string;
  formats: readonly DayBookFormat[];
  /** Also writes the rows as the broker sent them, into a separate file. */
  wire: boolean;
  /** Writes texts in CSV exactly as they are. */
  exactCsv: boolean;
  paging: PagingOptions;
  /** Date for rows of today's list that have no date. */
  runningDay: string;
  /** Called after each page with its number of rows, and the number of rows so far. */
  onRows: (added: number, rows: number) => void;
}

/** Files, sums and differences of one list of one market. */
export class Part {
  readonly tally: Tally = newTally();
  /** Differences found within single rows. */
  readonly differences: DifferenceFile;
  /** Latest date of any row in the list, including rows of other days. */
  lastDate: string | undefined;
  /** Why rows may be missing at the end; `undefined` if the list is complete. */
  unproven: string | undefined;
  /** Whether the answer had no list. The list counts as empty only if other answers about the day confirm it. */
  isLeftOut = false;
  readonly #options: PartOptions;
  readonly #names: readonly string[];
  readonly #encode: ReturnType<typeof rowEncoder>;
  /** Reused for each row, to avoid millions of objects. */
  readonly #digest = new Digest();
  readonly #context: RowContext;
  readonly #counts = new DigestCounts();
  /** Fees of the current row that the catalogue does not contain. */
  readonly #unknownFees: Decimal[] = [];
  readonly #rowCheck: RowCheckOptions;
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
    this.#rowCheck = {
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

  /** Returns the path of the file with the rows in one format. */
  path(form: DayBookFormat | "wire" | "differences"): string {
    const { folder, spec: { list }, market, origin } = this.#options;
    return `${folder}/${list}.${market}.${origin}.${form}.part`;
  }

  /** Reads the list to its end and writes its files. */
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

  /** Returns the rows for comparison with another reading. They are read back from the files. */
  reading(name: string, isCleared: boolean): ListReading {
    const { market, origin, spec: { list } } = this;
    return { name, market, list, origin, isCleared, rows: () => this.#rows() };
  }

  #rows(): Generator<AnyRow> {
    const form = this.#options.formats.includes("jsonl") ? "jsonl" : "csv";
    return readRows(this.path(form), form);
  }

  /**
   * Yields the trades, read back from the files: fills with amount, side and fees, or journal lines of
   * trades.
   */
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
      throw new ProtocolError(`Cannot read all ${list} (${origin}): paging stopped before the last page`, {
        code: "incomplete",
      });
    }
    this.unproven = source.unproven();
    this.isLeftOut = source.isLeftOut();
    if (origin === "history") return;
    if (cap !== undefined && seen >= cap) {
      this.unproven = `the broker returned ${seen} rows, which is the most that it returns`;
    } else if (this.tally.rows > 0 && this.lastDate !== undefined && this.lastDate > this.day) {
      this.unproven =
        `today's list also shows ${this.lastDate}, so it may no longer contain all rows of this day`;
    }
  }

  /**
   * Returns whether a row belongs to the requested day. Today's list may already contain another day, so its
   * rows are selected by date. History rows always belong to the requested day, even if they have another date.
   */
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
    // Rows of today's list were already selected by their date, or by the current day if they have none.
    if (this.origin === "history" && row[spec.dated] === undefined) this.tally.undated++;
    const wire = wireOf(row);
    this.#wire?.write(`${shownJson(JSON.stringify({ rowKey, wire }, bigintAsText))}\n`);
    this.#unknownFees.length = 0;
    if (wire !== undefined) eachUnknown(spec.fields, wire, this.#noteUnknown);
    for (const finding of tallyRow(this.tally, row, this.#rowCheck)) this.#note(finding, rowKey);
  }

  /** Counts a member that the catalogue does not contain. If it is a fee, adds it to the row's unknown fees. */
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
/** A double reproduces every decimal with this many digits. */
const DIGITS_OF_DOUBLE = 15;

/** Returns a decimal from a JSON value: text, or a number that lost no digits. */
function decimalOf(value: unknown): Decimal | undefined {
  const { rawJSON } = typeof value === "object" && value !== null ? value as { rawJSON?: string } : {};
  const text = typeof value === "number" ? String(value) : rawJSON ?? value;
  const isExact = typeof value !== "number" || String(text).replace(/\D/g, "").length <= DIGITS_OF_DOUBLE;
  return isExact && isDecimal(text) ? text : undefined;
}

const bigintAsText = (_: string, value: unknown) => typeof value === "bigint" ? String(value) : value;
