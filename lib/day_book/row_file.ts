/**
 * Files of rows: CSV after RFC 4180 and JSON Lines, written in blocks.
 *
 * @module
 */

const BLOCK_CHARS = 128 * 1024;
const encoder = new TextEncoder();
const NEEDS_QUOTES = /[",\r\n]/;

/** Writes one value as a CSV field. */
export function csvField(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : String(value);
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Writes values as a CSV record with its line end. */
export function csvRecord(values: readonly unknown[]): string {
  let line = "";
  for (let index = 0; index < values.length; index++) {
    line += index === 0 ? csvField(values[index]) : `,${csvField(values[index])}`;
  }
  return `${line}\r\n`;
}

/** Writes named values as a line of JSON; absent ones are left out. */
export function jsonRecord(names: readonly string[], values: readonly unknown[]): string {
  let line = "";
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (value !== undefined) line += `${line === "" ? "{" : ","}"${names[index]}":${JSON.stringify(value)}`;
  }
  return line === "" ? "{}\n" : `${line}}\n`;
}

/** A file that text is added to. What is written is not on the disk before {@linkcode TextFile.seal}. */
export class TextFile {
  readonly #file: Deno.FsFile;
  #pending = "";
  #closed = false;

  /** Makes the file; one that is there is an error. */
  constructor(path: string, options: Deno.OpenOptions = { write: true, createNew: true }) {
    this.#file = Deno.openSync(path, options);
  }

  /** Opens a file that is there, to add to its end. */
  static continue(path: string): TextFile {
    return new TextFile(path, { append: true });
  }

  /** Adds text. */
  write(text: string): void {
    this.#pending += text;
    if (this.#pending.length >= BLOCK_CHARS) this.#flush();
  }

  /** Adds what another file holds, from a byte on. */
  append(path: string, from: number): void {
    this.#flush();
    using source = Deno.openSync(path);
    source.seekSync(from, Deno.SeekMode.Start);
    const block = new Uint8Array(256 * 1024);
    for (let count; (count = source.readSync(block)) !== null;) this.#writeAll(block.subarray(0, count));
  }

  /** Writes what is left, brings it onto the disk, and closes the file. */
  seal(): void {
    this.#flush();
    this.#file.syncSync();
    this.close();
  }

  /** Closes the file; what was not sealed may be lost. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#file.close();
  }

  #flush(): void {
    if (this.#pending === "") return;
    const bytes = encoder.encode(this.#pending);
    this.#pending = "";
    this.#writeAll(bytes);
  }

  #writeAll(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) at += this.#file.writeSync(bytes.subarray(at));
  }
}
