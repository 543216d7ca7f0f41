/**
 * Text in CSV files (RFC 4180) that spreadsheets open.
 *
 * A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@` as a formula, and texts of the broker and of other
 * traders reach our files. Such a text gets an apostrophe in front, which a spreadsheet takes for the mark of plain
 * text. Numbers stay numbers. {@linkcode plainText} takes the apostrophe away again.
 *
 * @module
 */

const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;
/**
 * What a spreadsheet may run, its forms of full width included, also behind spaces and characters that cannot be seen;
 * and behind apostrophes, so that reading is exact.
 */
const FORMULA = /^['\s\p{Cc}\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^'*[\t\r\n]/u;
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

/** How cells are written. */
export interface CsvOptions {
  /** Write texts exactly as they are, for programs that read the file. Never open such a file in a spreadsheet. */
  exact?: boolean;
}

/** Writes one value as a CSV cell; nothing for `undefined` and `null`. */
export function csvCell(value: unknown, { exact = false }: CsvOptions = {}): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : String(value);
  const safe = !exact && FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Writes values as a CSV record with its line end. */
export function csvRecord(values: readonly unknown[], options?: CsvOptions): string {
  return `${values.map((value) => csvCell(value, options)).join(",")}\r\n`;
}

/** Returns the text that a cell was written from. */
export function plainText(cell: string): string {
  const rest = cell.slice(1);
  return cell.startsWith("'") && FORMULA.test(rest) ? rest : cell;
}

/** Returns a row of cells as the texts that they were written from. */
export function plainCells(row: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, plainText(cell)]));
}
