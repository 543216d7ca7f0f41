/**
 * Writes CSV files (RFC 4180) that are safe to open in a spreadsheet.
 *
 * A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@` as a formula, and our files contain texts from the
 * broker and from other traders. Such a text gets an apostrophe in front, so that a spreadsheet shows it as plain
 * text. Numbers stay numbers. {@linkcode plainText} removes the apostrophe again.
 *
 * @module
 */

const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;
/**
 * Matches a text that a spreadsheet may run as a formula. Includes full-width signs, and signs after spaces or invisible
 * characters. Also matches after apostrophes, so that reading a cell returns exactly the text that was written.
 */
const FORMULA = /^['\s\p{Cc}\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^'*[\t\r\n]/u;
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

/** Options for writing cells. */
export interface CsvOptions {
  /** Write texts exactly as they are, for programs that read the file. Never open such a file in a spreadsheet. */
  exact?: boolean;
}

/** Returns one value as a CSV cell; an empty cell for `undefined` and `null`. */
export function csvCell(value: unknown, { exact = false }: CsvOptions = {}): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : String(value);
  const safe = !exact && FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns values as a CSV record with its line end. */
export function csvRecord(values: readonly unknown[], options?: CsvOptions): string {
  return `${values.map((value) => csvCell(value, options)).join(",")}\r\n`;
}

/** Returns the original text of a cell. */
export function plainText(cell: string): string {
  const rest = cell.slice(1);
  return cell.startsWith("'") && FORMULA.test(rest) ? rest : cell;
}

/** Returns a row of cells as their original texts. */
export function plainCells(row: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, plainText(cell)]));
}
