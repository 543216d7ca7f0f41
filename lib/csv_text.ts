/**
 * Writes CSV files (RFC 4180) that are safe to open in a spreadsheet and to show in a terminal.
 *
 * The files contain texts from the broker and from other traders, so {@linkcode cellText} makes each text safe.
 * Numbers stay numbers.
 *
 * @module
 */
import { cellText, plainText } from "./shown_text.ts";

const NEEDS_QUOTES = /[",;\t\r\n]|^\s|\s$/;

/** Options for writing cells. */
export interface CsvOptions {
  /** Write texts exactly as they are, for programs that read the file. Never open such a file in a spreadsheet. */
  exact?: boolean;
}

/** Returns one value as a CSV cell; an empty cell for `undefined` and `null`. */
export function csvCell(value: unknown, { exact = false }: CsvOptions = {}): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : String(value);
  const safe = exact ? text : cellText(text);
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns values as a CSV record with its line end. */
export function csvRecord(values: readonly unknown[], options?: CsvOptions): string {
  return `${values.map((value) => csvCell(value, options)).join(",")}\r\n`;
}

/** Returns a row with the original names and texts of its cells. Reverses {@linkcode cellText}. */
export function plainCells(row: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(row).map(([name, cell]) => [plainText(name), plainText(cell)]));
}
