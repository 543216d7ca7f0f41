/**
 * Writes and reads the files of a day: rows as CSV (RFC 4180) and as JSON Lines, in blocks, and the
 * differences that an export finds.
 *
 * @module
 */
import { parse } from "../../std/csv.ts";
import { csvCell, type CsvOptions, csvRecord } from "../../csv_text.ts";
import { PRIVATE_FILE } from "../../private_files.ts";
import { openRegularSync } from "../../regular_files.ts";
import { plainText, shownJson } from "../../shown_text.ts";
import type { AnyRow, Column, RowContext } from "./columns.ts";
import { DayBookError, type DayBookFormat, type DayBookMarket, type Difference } from "../types.ts";

const BLOCK_BYTES = 64 * 1024;
/** Maximum number of bytes of a UTF-16 unit in UTF-8. */
const BYTES_PER_CHAR = 3;
const encoder = new TextEncoder();
/**
 * Matches text that is the same in CSV and in JSON. It is printable ASCII without comma, semicolon, quote and
 * backslash. Its first and last characters need no check by {@linkcode csvCell}.
 */
const PLAIN = /^(?:[!#-&(-*.-:<>?A-[\]-~]|[!#-&(-*.-:<>?A-[\]-~][ !#-+\--:<-[\]-~]*[!#-+\--:<-[\]-~])?$/;

/** One row in both formats. */
interface EncodedRow {
  csv: string;
  /** Without the absent members. */
  jsonl: string;
}

/**
 * Returns a function that encodes rows of some columns. It reads and tests each value once for both formats.
 */
export function rowEncoder(
  columns: readonly Column[],
  options?: CsvOptions,
): (row: AnyRow, context: RowContext) => EncodedRow {
  const members = columns.map(({ name }, index) => `${index === 0 ? "{" : ","}${JSON.stringify(name)}:`);
  const starts = members.map((member) => `${member}"`);
  const reads = columns.map(({ read }) => read);
  return (row, context) => {
    let csv = "";
    let jsonl = "";
    for (let index = 0; index < reads.length; index++) {
      if (index > 0) csv += ",";
      const value = reads[index]!(row, context);
      if (value === undefined) continue;
      if (typeof value === "string" && PLAIN.test(value)) {
        csv += value;
        jsonl += starts[index] + value + '"';
      } else {
        csv += csvCell(value, options);
        jsonl += members[index] + shownJson(JSON.stringify(value));
      }
    }
    return { csv: `${csv}\r\n`, jsonl: `${jsonl}}\n` };
  };
}

/**
 * A text file that is written in blocks. Only {@linkcode TextFile.seal} ensures that its content is on the disk.
 */
export class TextFile {
  readonly #file: Deno.FsFile;
  readonly #block = new Uint8Array(BLOCK_BYTES);
  #used = 0;
  #closed = false;

  /** Creates the file; throws if it exists. */
  constructor(path: string, options: Deno.OpenOptions = { write: true, createNew: true }) {
    this.#file = Deno.openSync(path, { mode: PRIVATE_FILE, ...options });
  }

  /** Opens an existing file to append to it. */
  static continue(path: string): TextFile {
    return new TextFile(path, { append: true });
  }

  /** Appends text. */
  write(text: string): void {
    const most = text.length * BYTES_PER_CHAR;
    if (this.#used + most > BLOCK_BYTES) this.#flush();
    if (most > BLOCK_BYTES) this.#writeAll(encoder.encode(text));
    else this.#used += encoder.encodeInto(text, this.#block.subarray(this.#used)).written;
  }

  /** Appends the content of another file, starting at a byte. */
  append(path: string, from: number): void {
    this.#flush();
    using source = openRegularSync(path);
    source.seekSync(from, Deno.SeekMode.Start);
    for (let count; (count = source.readSync(this.#block)) !== null;) {
      this.#writeAll(this.#block.subarray(0, count));
    }
  }

  /** Writes the buffered text and closes the file, without waiting for the disk. */
  finish(): void {
    this.#flush();
    this.close();
  }

  /** Writes the buffered text, syncs it to the disk, and closes the file. */
  seal(): void {
    this.#flush();
    this.#file.syncSync();
    this.close();
  }

  /** Closes the file. Buffered text is lost unless `finish` or `seal` was called before. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#file.close();
  }

  #flush(): void {
    this.#writeAll(this.#block.subarray(0, this.#used));
    this.#used = 0;
  }

  #writeAll(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) at += this.#file.writeSync(bytes.subarray(at));
  }
}

/**
 * Yields the rows of a file that an export wrote. Every value is text, with two exceptions in JSON Lines: flags, and
 * the column `trade`, which is a number. Empty CSV cells are left out. The file may come from somebody else.
 *
 * @throws {DayBookError} With code `not-a-row` if a line of JSON is not a row, or a row is longer than 64 Mi
 * characters.
 */
export function* readRows(path: string, form: DayBookFormat): Generator<AnyRow> {
  if (form === "jsonl") {
    let number = 0;
    for (const line of records(path, "\n", false)) yield parsedRow(line, path, ++number);
    return;
  }
  let names: string[] | undefined;
  for (const record of records(path, "\r\n", true)) {
    const [cells = []] = parse(record);
    if (names === undefined) names = cells;
    else yield rowOf(names, cells);
  }
}

function rowOf(names: readonly string[], cells: readonly string[]): AnyRow {
  const row: Record<string, string> = {};
  for (const [index, name] of names.entries()) if (cells[index]) row[name] = plainText(cells[index]);
  return row;
}

function parsedRow(line: string, path: string, number: number): AnyRow {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  if (typeof row === "object" && row !== null && "rowKey" in row && typeof row.rowKey === "string") {
    return row as AnyRow; // the condition has checked that it is an object with a row key
  }
  throw notARow(path, `line ${number} is not a row of a day book`);
}

function notARow(path: string, why: string): DayBookError {
  return new DayBookError(
    `Cannot read "${path}": ${why}; move the folder of the day away, or choose another folder`,
    { code: "not-a-row" },
  );
}

/** Maximum number of characters of a row. */
const MOST_ROW = 64 * 1024 * 1024;

/** Splits a file at its line ends, except within quotes. Reads each character once, however long a row is. */
function* records(path: string, end: string, quotes: boolean): Generator<string> {
  using file = openRegularSync(path);
  const block = new Uint8Array(BLOCK_BYTES);
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let length = 0;
  let isQuoted = false;
  /** The first character of a line end whose second one is in the next block. */
  let held = "";
  for (let count; (count = file.readSync(block)) !== null;) {
    let text = held + decoder.decode(block.subarray(0, count), { stream: true });
    held = end.length > 1 && text.endsWith(end[0]!) ? end[0]! : "";
    if (held !== "") text = text.slice(0, -1);
    for (const [index, line] of text.split(end).entries()) {
      if (index > 0 && isQuoted) parts.push(end);
      else if (index > 0) {
        yield parts.join("");
        [parts, length] = [[], 0];
      }
      parts.push(line);
      length += line.length;
      if (length > MOST_ROW) throw notARow(path, `a row has more than ${MOST_ROW} characters`);
      if (quotes && line.split('"').length % 2 === 0) isQuoted = !isQuoted;
    }
  }
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

/** Maximum number of differences to keep in memory; the file contains all of them. */
export const KEPT_DIFFERENCES = 1000;

/** Writes differences into a file, which is created with the first difference. */
export class DifferenceFile {
  /** The first {@linkcode KEPT_DIFFERENCES} differences. */
  readonly first: Difference[] = [];
  count = 0;
  readonly byMarket = new Map<DayBookMarket, number>();
  #file: TextFile | undefined;

  constructor(readonly path: string) {}

  /** Counts and writes one difference. */
  add(difference: Difference): void {
    const { market } = difference;
    this.count++;
    if (market !== undefined) this.byMarket.set(market, (this.byMarket.get(market) ?? 0) + 1);
    if (this.first.length < KEPT_DIFFERENCES) this.first.push(difference);
    this.#file ??= new TextFile(this.path);
    this.#file.write(differenceRecord(difference));
  }

  /** Writes the buffered text and closes the file. */
  finish(): void {
    this.#file?.finish();
  }

  /** Closes the file; buffered text may be lost. */
  close(): void {
    this.#file?.close();
  }
}

/** Returns a difference as a line of `differences.csv`. */
export function differenceRecord(difference: Difference): string {
  return csvRecord(differenceColumns.map((name) => difference[name]));
}
