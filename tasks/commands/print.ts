/**
 * Tables and lists for a terminal.
 *
 * @module
 */
import { shownLine } from "../../lib/shown_text.ts";
import { didYouMean } from "../../lib/client/nearest.ts";
import { UsageError } from "./exit_codes.ts";
import { wrap } from "./help.ts";
import type { Host } from "./host.ts";

/** A column of a table. */
export interface Column<Row> {
  title: string;
  /** What stands in the cell. */
  of: (row: Row) => string;
  /** What `--columns` calls it. @default its title */
  name?: string;
  /** It identifies something that a person may type next: it is never left out, and never cut. */
  id?: true;
  /** It stays on a terminal that is too narrow for all of them. */
  keep?: true;
  /** It is shown only when `--columns` names it. */
  extra?: true;
  /** Numbers stand to the right. */
  align?: "right";
  /** Colour of the cell. */
  color?: (row: Row) => Color | undefined;
}

/** Colours that are used. */
export type Color = "bold" | "dim" | "red" | "green" | "yellow";

const codes: Readonly<Record<Color, [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
};

/** Colours a text where colours are wanted. */
export function paint(host: Pick<Host, "color">, color: Color | undefined, text: string): string {
  if (!host.color || color === undefined || text === "") return text;
  const [on, off] = codes[color];
  return `\x1b[${on}m${text}\x1b[${off}m`;
}

/** Columns that a text takes: a Chinese character takes two. */
export function widthOf(text: string): number {
  let width = 0;
  for (const each of text) {
    const code = each.codePointAt(0)!;
    if (code >= 0x300 && code <= 0x36f) continue;
    width += code >= 0x1100 &&
          /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/
            .test(each) || code >= 0x20000
      ? 2
      : 1;
  }
  return width;
}

/** Codes of the colours that {@linkcode paint} writes, and no others. */
// deno-lint-ignore no-control-regex -- the codes of colours begin with one
export const COLOR_CODE = /\x1b\[(?:1|2|22|3[123]|39)m/g;

/** Columns that a line takes on a screen, whatever its colours. */
export const shownWidth = (line: string): number => widthOf(line.replace(COLOR_CODE, ""));

/** Rows of a terminal that lines of these widths take, as it breaks those that are too long. */
export const rowsTaken = (widths: readonly number[], columns: number): number =>
  widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);

/** A text from elsewhere as one line of a screen. */
export { shownLine as plain };

/** Cuts a text to so many columns, with an ellipsis in place of what is left out. */
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

/** Columns of the terminal that a cell takes at most, but for identifiers and the last one of a line. */
const WIDEST = 40;

/** How a table is written. */
export interface TableOptions {
  /** Columns that a person chose, as `--columns` gives them: all of them are written, and nothing is cut. */
  columns?: string;
  /** What the command has beside the table. @default `--columns` and `--json` */
  more?: string;
}

/** A table as it was fitted. */
export interface Table {
  lines: string[];
  /** Names of columns that did not fit. */
  left: string[];
  /** Names of columns with cells that were cut. */
  cut: string[];
}

const nameOf = ({ title, name = title }: Pick<Column<never>, "title" | "name">) => name;

const longest = (texts: readonly string[]) => texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);

/**
 * Writes a table that fits the terminal. Columns that do not fit are left out and long texts are cut, but never
 * identifiers. Where nobody watches, or a person chose the columns, nothing is left out or cut.
 *
 * @throws {UsageError} When a column was chosen that there is not.
 */
export function table<Row>(
  host: Pick<Host, "isTerminal" | "size" | "color">,
  all: readonly Column<Row>[],
  rows: readonly Row[],
  { columns: chosen }: Pick<TableOptions, "columns"> = {},
): Table {
  const columns = chosen === undefined ? all.filter(({ extra }) => !extra) : chooseColumns(all, chosen);
  const width = host.isTerminal && chosen === undefined ? host.size().columns : Infinity;
  const cells = rows.map((row) => columns.map((column) => shownLine(column.of(row))));
  const natural = columns.map(({ title }, index) => longest([title, ...cells.map((row) => row[index]!)]));
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
  const header = line(columns.map(({ title }) => title), columns.map(() => "bold" as const));
  const lines = rows.map((row, index) => line(cells[index]!, columns.map(({ color }) => color?.(row))));
  return {
    lines: [header, ...lines],
    left: columns.filter((_, index) => !shown.includes(index)).map(nameOf),
    cut: shown.filter((index) => widths[index]! < natural[index]!).map((index) => nameOf(columns[index]!)),
  };
}

/**
 * The columns that a person chose.
 *
 * @throws {UsageError} Together with `--json`, which has all of them.
 */
export function columnsAsked(
  flags: { readonly columns?: string; readonly json?: boolean },
): string | undefined {
  if (flags.columns === undefined || !flags.json) return flags.columns;
  throw new UsageError("Cannot use --columns with --json: it has every member; leave one of the two out");
}

/**
 * Finds the columns that `--columns` names, in its order.
 *
 * @throws {UsageError} When there is no such column.
 */
export function chooseColumns<Row>(all: readonly Column<Row>[], chosen: string): Column<Row>[] {
  const names = all.map(nameOf);
  return chosen.split(",").map((each) => {
    const wanted = each.trim();
    const found = all.find((column) => nameOf(column) === wanted || column.title === wanted);
    if (found !== undefined) return found;
    throw new UsageError(
      `Cannot show column "${wanted}": there are ${names.join(", ")}${didYouMean(wanted, names)}`,
    );
  });
}

/** The lines of a table, and one that names what a narrow terminal left out. */
export function tableLines<Row>(
  host: Host,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { more = "--columns chooses, --json has all", ...options }: TableOptions = {},
): string[] {
  const { lines, left, cut } = table(host, columns, rows, options);
  const parts = [
    left.length === 0 ? "" : `left out: ${left.join(", ")}`,
    cut.length === 0 ? "" : `cut: ${cut.join(", ")}`,
  ].filter(Boolean);
  return parts.length === 0 ? lines : [...lines, paint(host, "dim", `(${[...parts, more].join("; ")})`)];
}

/** Breaks a text at spaces to fit the terminal, with an indent before every line; elsewhere it stays one line. */
export function wrapped(host: Pick<Host, "isTerminal" | "size">, text: string, indent: number): string[] {
  const space = " ".repeat(indent);
  const width = host.isTerminal ? host.size().columns - indent : Infinity;
  return wrap(text, width).map((line) => space + line);
}

/** Writes names and values below each other. */
export function list(host: Host, rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(0, ...rows.map(([name]) => widthOf(name)));
  return rows.map(([name, value]) =>
    `${paint(host, "dim", pad(name, width, undefined))}  ${shownLine(value)}`.trimEnd()
  );
}

/** Writes a value of an answer into a cell. */
export function cellOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
