/**
 * Formats tables and lists for a terminal.
 *
 * @module
 */
import { shownLine, shownText } from "../../lib/shown_text.ts";
import { didYouMean } from "../../lib/client/nearest.ts";
import { UsageError } from "./exit_codes.ts";
import { wrap } from "./help.ts";
import type { Host } from "./host.ts";

/** A column of a table. */
export interface Column<Row> {
  title: string;
  /** Returns the text of the cell. */
  of: (row: Row) => string;
  /** Returns the value for CSV, if the text of the cell is shortened or has a unit. @default the text of the cell */
  exact?: (row: Row) => string | number | boolean | undefined;
  /** The name for `--columns` and CSV. @default the title */
  name?: string;
  /** An identifier that a person may type next. It is never omitted, and never cut to the width of the terminal. */
  id?: true;
  /** Shown even if the terminal is too narrow for all columns. */
  keep?: true;
  /** In tables and Markdown, shown only if `--columns` names it. CSV without `--columns` contains it. */
  extra?: true;
  /** Right alignment, for numbers. */
  align?: "right";
  /** Returns the colour of the cell. */
  color?: (row: Row) => Color | undefined;
}

/** Colours and styles of a text. */
export type Color = "bold" | "dim" | "red" | "green" | "yellow";

const codes: Readonly<Record<Color, [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
};

/**
 * Begins each mark of {@linkcode paint}. It is random, so that no other text can contain a mark, and it has a control
 * character, so that cleaning a text breaks every mark in it.
 */
const MARK = "\x1b" + String.fromCharCode(
  ...crypto.getRandomValues(new Uint16Array(10)).map((each) => 0xe000 + each % 0x1000),
);
const MARKS = new RegExp(`${MARK}([\\ue000-\\ue0ff])`, "g");

const markOf = (code: number) => MARK + String.fromCharCode(0xe000 + code);

/**
 * Returns the text with marks of a colour, if the host wants colours. {@linkcode terminalText} converts the marks to
 * colour codes.
 */
export function paint(host: Pick<Host, "color">, color: Color | undefined, text: string): string {
  if (!host.color || color === undefined || text === "") return text;
  const [on, off] = codes[color];
  return markOf(on) + text + markOf(off);
}

/**
 * Returns a text for a terminal: the marks of {@linkcode paint} become colour codes, and every other control character
 * is replaced.
 */
export function terminalText(text: string): string {
  return text.split(MARKS).map((part, index) =>
    index % 2 === 0 ? shownText(part) : `\x1b[${part.charCodeAt(0) - 0xe000}m`
  ).join("");
}

/** Matches a character that needs two columns. Also matches some characters above U+FFFF that need only one column. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{10ffff}]|\p{Emoji_Presentation}/u;

/**
 * Returns the number of terminal columns that a text needs. A Chinese character or an emoji needs two. If the number
 * were too small, a line would wrap, and a display that redraws would leave old lines on the screen.
 */
export function widthOf(text: string): number {
  let width = 0;
  for (const each of text) {
    const code = each.codePointAt(0)!;
    if (code >= 0x300 && code <= 0x36f) continue;
    width += code >= 0x1100 && WIDE.test(each) ? 2 : 1;
  }
  return width;
}

/** Returns the number of terminal columns that a line needs, without its colours. */
export const shownWidth = (line: string): number => widthOf(line.replace(MARKS, ""));

/** Returns the number of terminal rows that lines of these widths need, because the terminal wraps long lines. */
export const rowsTaken = (widths: readonly number[], columns: number): number =>
  widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);

/** Returns an untrusted text as one safe line. */
export { shownLine as plain };

/** Returns the text cut to this width, with an ellipsis for the rest. */
export function fit(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let out = "";
  for (const each of text) {
    if (widthOf(out + each) > width - 1) break;
    out += each;
  }
  return `${out}…`;
}

function pad(text: string, width: number, align: "right" | undefined): string {
  const space = " ".repeat(Math.max(0, width - widthOf(text)));
  return align === "right" ? space + text : text + space;
}

/** Widest cell in terminal columns, except for identifiers and the last cell of a line. */
const WIDEST = 40;
/**
 * Maximum number of characters of a table cell, even of an identifier. Without this limit, one very long text of the
 * broker would widen its whole column, and so every line.
 */
const MOST_CELL = 2_000;

/** Returns an untrusted text as one safe line of at most 2,000 characters. */
export function cut(text: string): string {
  const line = shownLine(text);
  return line.length > MOST_CELL ? `${line.slice(0, MOST_CELL)}…` : line;
}

/** Options of a table. */
export interface TableOptions {
  /** Columns of `--columns`: all of them are shown, and only texts of more than 2,000 characters are cut. */
  columns?: string;
  /** Hint under a table that omits something. @default a hint that names `--columns` and `--json` */
  more?: string;
}

/** A table that was fitted to the terminal. */
interface Table {
  lines: string[];
  /** Names of omitted columns. */
  omitted: string[];
  /** Names of columns with cut cells. */
  cut: string[];
}

/** Returns the name of a column. Cuts it, because a title may be the name of a member that the broker sent. */
const nameOf = ({ title, name = title }: Pick<Column<never>, "title" | "name">) => cut(name);

const longest = (texts: readonly string[]) => texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);

/**
 * Returns a table that fits the terminal: it omits columns that do not fit, and cuts wide texts. It cuts an identifier
 * only if it has more than 2,000 characters. With `--columns` it shows exactly those columns. Without a terminal it
 * shows every column that is not `extra`. In both cases it cuts only texts of more than 2,000 characters.
 *
 * @throws {UsageError} If a chosen column does not exist.
 */
export function table<Row>(
  host: Pick<Host, "isTerminal" | "size" | "color">,
  all: readonly Column<Row>[],
  rows: readonly Row[],
  { columns: chosen }: Pick<TableOptions, "columns"> = {},
): Table {
  const columns = chosen === undefined ? all.filter(({ extra }) => !extra) : chooseColumns(all, chosen);
  const width = host.isTerminal && chosen === undefined ? host.size().columns : Infinity;
  const isTooLong = columns.map(() => false);
  const cells = rows.map((row) =>
    columns.map((column, index) => {
      const text = column.of(row);
      isTooLong[index] ||= text.length > MOST_CELL;
      return cut(text);
    })
  );
  const titles = columns.map(({ title }) => cut(title));
  const natural = titles.map((title, index) => longest([title, ...cells.map((row) => row[index]!)]));
  const widths = natural.map((each, index) =>
    width === Infinity || columns[index]!.id ? each : Math.min(WIDEST, each)
  );
  const shown: number[] = [];
  const roomOf = (indexes: readonly number[]) =>
    indexes.reduce((sum, index, place) => sum + widths[index]! + (place === 0 ? 0 : 2), 0);
  const stays = (index: number) => Boolean(columns[index]!.keep ?? columns[index]!.id);
  let isFull = false;
  for (const index of columns.keys()) {
    const later = [...columns.keys()].filter((each) => each > index && stays(each));
    isFull ||= !stays(index) && index > 0 && roomOf([...shown, index, ...later]) > width;
    if (stays(index) || !isFull) shown.push(index);
  }
  const last = shown.at(-1);
  if (last !== undefined) {
    const room = width - roomOf(shown) + widths[last]!;
    widths[last] = Math.min(natural[last]!, Math.max(widths[last]!, room));
  }
  const line = (texts: readonly string[], colors: readonly (Color | undefined)[]) =>
    shown.map((index) => {
      const cell = pad(fit(texts[index]!, widths[index]!), widths[index]!, columns[index]!.align);
      return paint(host, colors[index], cell);
    }).join("  ").trimEnd();
  const header = line(titles, columns.map(() => "bold" as const));
  const lines = rows.map((row, index) => line(cells[index]!, columns.map(({ color }) => color?.(row))));
  return {
    lines: [header, ...lines],
    omitted: columns.filter((_, index) => !shown.includes(index)).map(nameOf),
    cut: shown.filter((index) => widths[index]! < natural[index]! || isTooLong[index]).map((index) =>
      nameOf(columns[index]!)
    ),
  };
}

/**
 * Returns the columns that `--columns` names, in its order.
 *
 * @throws {UsageError} If a column does not exist.
 */
export function chooseColumns<Row>(all: readonly Column<Row>[], chosen: string): Column<Row>[] {
  const names = all.map(nameOf);
  return chosen.split(",").map((each) => {
    const wanted = each.trim();
    const found = all.find((column) => nameOf(column) === wanted || column.title === wanted);
    if (found !== undefined) return found;
    throw new UsageError(
      `Cannot show column "${wanted}": expected one of ${names.join(", ")}${didYouMean(wanted, names)}`,
    );
  });
}

/** Returns the lines of a table. If columns are omitted or cells are cut, a last line names these columns. */
export function tableLines<Row>(
  host: Host,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { more = "--columns selects columns, --json prints all", ...options }: TableOptions = {},
): string[] {
  const { lines, omitted, cut } = table(host, columns, rows, options);
  const parts = [
    omitted.length === 0 ? "" : `omitted: ${omitted.join(", ")}`,
    cut.length === 0 ? "" : `cut: ${cut.join(", ")}`,
  ].filter(Boolean);
  return parts.length === 0 ? lines : [...lines, paint(host, "dim", `(${[...parts, more].join("; ")})`)];
}

/** Returns the text wrapped to the terminal, with an indent before every line. Without a terminal it stays one line. */
export function wrapped(host: Pick<Host, "isTerminal" | "size">, text: string, indent: number): string[] {
  const space = " ".repeat(indent);
  const width = host.isTerminal ? host.size().columns - indent : Infinity;
  return wrap(text, width).map((line) => space + line);
}

/** Returns a line for each name and value. Both may be texts of the broker. */
export function list(host: Host, rows: readonly (readonly [string, string])[]): string[] {
  const names = rows.map(([name]) => cut(name));
  const width = Math.min(WIDEST, longest(names));
  return rows.map(([, value], index) =>
    `${paint(host, "dim", pad(names[index]!, width, undefined))}  ${shownLine(value)}`.trimEnd()
  );
}

/** Returns the text of a cell for a value of an answer. */
export function cellOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
