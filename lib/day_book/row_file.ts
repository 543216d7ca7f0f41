/**
 * Files of rows: CSV after RFC 4180 and JSON Lines, written in blocks.
 *
 * @module
 */
import { PRIVATE_FILE } from "../private_files.ts";
import { csvCell, type CsvOptions } from "../csv_text.ts";
import type { AnyRow, Column, RowContext } from "./columns.ts";

const BLOCK_BYTES = 64 * 1024;
/** A character of text takes at most three bytes of UTF-8. */
const BYTES_PER_CHAR = 3;
const encoder = new TextEncoder();
/**
 * Text that is the same in CSV and in JSON: printable ASCII without comma, quote and backslash, and without a start
 * or an end that {@linkcode csvCell} has to look at.
 */
const PLAIN = /^(?:[!#-&(-*.-<>?A-[\]-~]|[!#-&(-*.-<>?A-[\]-~][ !#-+\--[\]-~]*[!#-+\--[\]-~])?$/;

/** One row in both forms. */
export interface EncodedRow {
  csv: string;
  /** Absent members are left out. */
  jsonl: string;
}

/** Makes the function that writes rows of some columns; it reads and tests each value once for both forms. */
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
        jsonl += members[index] + JSON.stringify(value);
      }
    }
    return { csv: `${csv}\r\n`, jsonl: `${jsonl}}\n` };
  };
}

/** A file that text is added to. What is written is not on the disk before {@linkcode TextFile.seal}. */
export class TextFile {
  readonly #file: Deno.FsFile;
  readonly #block = new Uint8Array(BLOCK_BYTES);
  #used = 0;
  #closed = false;

  /** Makes the file; one that is there is an error. */
  constructor(path: string, options: Deno.OpenOptions = { write: true, createNew: true }) {
    this.#file = Deno.openSync(path, { mode: PRIVATE_FILE, ...options });
  }

  /** Opens a file that is there, to add to its end. */
  static continue(path: string): TextFile {
    return new TextFile(path, { append: true });
  }

  /** Adds text. */
  write(text: string): void {
    const most = text.length * BYTES_PER_CHAR;
    if (this.#used + most > BLOCK_BYTES) this.#flush();
    if (most > BLOCK_BYTES) this.#writeAll(encoder.encode(text));
    else this.#used += encoder.encodeInto(text, this.#block.subarray(this.#used)).written;
  }

  /** Adds what another file holds, from a byte on. */
  append(path: string, from: number): void {
    this.#flush();
    using source = Deno.openSync(path);
    source.seekSync(from, Deno.SeekMode.Start);
    for (let count; (count = source.readSync(this.#block)) !== null;) {
      this.#writeAll(this.#block.subarray(0, count));
    }
  }

  /** Writes what is left and closes the file; what is not sealed is on the disk when the system pleases. */
  finish(): void {
    this.#flush();
    this.close();
  }

  /** Writes what is left, brings it onto the disk, and closes the file. */
  seal(): void {
    this.#flush();
    this.#file.syncSync();
    this.close();
  }

  /** Closes the file; what was not finished or sealed may be lost. */
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
