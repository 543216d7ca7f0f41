/**
 * Tables and lists for a terminal.
 *
 * @module
 */
import type { Host } from "./host.ts";

/** A column of a table. */
export interface Column<Row> {
  title: string;
  /** What stands in the cell. */
  of: (row: Row) => string;
  /** It stays on a terminal that is too narrow for all of them. */
  keep?: true;
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

/** Control characters would let an answer write anywhere on the screen. */
export function plain(text: string): string {
  // deno-lint-ignore no-control-regex -- these are the characters to take out
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
}

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

/** Columns of the terminal that a cell takes at most, but for the last one of a line. */
const WIDEST = 40;

/**
 * Writes a table; columns that do not fit the terminal are left out, and how many is returned. Where nobody watches,
 * nothing is left out or cut.
 */
export function table<Row>(
  host: Host,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): { lines: string[]; left: number } {
  const width = host.isTerminal ? host.size().columns : Infinity;
  const cells = rows.map((row) => columns.map((column) => plain(column.of(row))));
  const natural = columns.map(({ title }, index) =>
    Math.max(widthOf(title), ...cells.map((row) => widthOf(row[index]!)))
  );
  const widths = natural.map((each) => host.isTerminal ? Math.min(WIDEST, each) : each);
  const shown: number[] = [];
  const roomOf = (indexes: readonly number[]) =>
    indexes.reduce((sum, index, place) => sum + widths[index]! + (place === 0 ? 0 : 2), 0);
  let isFull = false;
  for (const [index, { keep }] of columns.entries()) {
    const later = [...columns.keys()].filter((each) => each > index && columns[each]!.keep);
    isFull ||= !keep && index > 0 && roomOf([...shown, index, ...later]) > width;
    if (keep || !isFull) shown.push(index);
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
  return { lines: [header, ...lines], left: columns.length - shown.length };
}

/** The lines of a table, and one that says so when columns were left out. */
export function tableLines<Row>(
  host: Host,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): string[] {
  const { lines, left } = table(host, columns, rows);
  if (left === 0) return lines;
  const note = `(a wider terminal shows ${left} more ${left === 1 ? "column" : "columns"})`;
  return [...lines, paint(host, "dim", note)];
}

/** Writes names and values below each other. */
export function list(host: Host, rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(0, ...rows.map(([name]) => widthOf(name)));
  return rows.map(([name, value]) =>
    `${paint(host, "dim", pad(name, width, undefined))}  ${plain(value)}`.trimEnd()
  );
}

/** Writes a value of an answer into a cell. */
export function cellOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const isNumber = (value: unknown) =>
  typeof value === "number" || typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value);

/** What a person looks for first; the rest follows in the order of the answer. */
const first = [
  "symbol",
  "date",
  "side",
  "quantity",
  "price",
  "filledQuantity",
  "fillPrice",
  "status",
  "orderId",
  "amount",
  "typeText",
];

/**
 * Makes columns of whatever the rows have. Left out are members that are nowhere set, those that only repeat what
 * was asked for, and the place in the list, which only a program has a use for.
 */
export function columnsOf(
  rows: readonly Record<string, unknown>[],
  asked: Readonly<Record<string, unknown>>,
): Column<Record<string, unknown>>[] {
  const names = new Set([...first, ...rows.flatMap((row) => Object.keys(row))]);
  const used = [...names].filter((name) =>
    name !== "cursor" && rows.some((row) => cellOf(row[name]) !== "") &&
    (asked[name] === undefined || rows.some((row) => row[name] !== asked[name]))
  );
  return used.map((name) => ({
    title: name,
    of: (row) => cellOf(row[name]),
    ...rows.every((row) => cellOf(row[name]) === "" || isNumber(row[name])) &&
      !/id$|symbol|cursor/i.test(name) &&
      { align: "right" },
  }));
}
