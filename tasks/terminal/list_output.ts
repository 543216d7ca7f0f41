/**
 * Prints the lists of all commands: as a table, CSV, JSON, lines of JSON, or Markdown.
 *
 * @module
 */
import { csvCell } from "../../lib/csv_text.ts";
import { markdownText } from "../../lib/shown_text.ts";
import { didYouMean } from "../../lib/client/nearest.ts";
import { UsageError } from "./exit_codes.ts";
import { outputs } from "./flags.ts";
import type { Host } from "./host.ts";
import { chooseColumns, type Column, cut, tableLines } from "./print.ts";

/** A form in which a list is printed. */
export type Output = typeof outputs[number];

/** Flags of a list. */
export interface ListFlags {
  readonly output?: string;
  readonly json?: boolean;
  readonly columns?: string;
}

/** What `--output`, `--json` and `--columns` ask for. */
export interface ListView {
  output: Output;
  /** Whether the command line names a form. */
  isChosen: boolean;
  columns?: string;
}

/**
 * Returns the form of a list.
 *
 * @throws {UsageError} If there is no such form, or two flags contradict each other.
 */
export function listView({ output, json, columns }: ListFlags): ListView {
  const found = outputs.find((each) => each === output);
  if (output !== undefined && found === undefined) {
    throw new UsageError(
      `Cannot use --output "${output}": expected one of ${outputs.join(", ")}${didYouMean(output, outputs)}`,
    );
  }
  if (json && found !== undefined && found !== "json") {
    throw new UsageError(`Cannot use --json with --output ${found}: use only one of the two flags`);
  }
  const isJson = json || found === "json" || found === "jsonl";
  if (columns !== undefined && isJson) {
    throw new UsageError(
      `Cannot use --columns with ${
        found === undefined ? "--json" : `--output ${found}`
      }: JSON contains every member; use only one of the two flags`,
    );
  }
  return {
    output: json ? "json" : found ?? "table",
    isChosen: json || found !== undefined,
    ...columns !== undefined && { columns },
  };
}

/**
 * Rejects flags of lists for a use of the command that prints no list.
 *
 * @param where The use that prints no list, such as `with --send`.
 * @throws {UsageError} If there is such a flag. `--json` and `--output json` are allowed.
 */
export function refuseListFlags({ output, columns }: ListFlags, where: string): void {
  const flag = columns !== undefined
    ? "--columns"
    : output === undefined || output === "json"
    ? undefined
    : "--output";
  if (flag !== undefined) throw new UsageError(`Cannot use ${flag} ${where}: it is for lists`);
}

/** A list of a command. */
export interface Listing<Row> {
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Returns the row as JSON shows it. @default the row itself */
  data?: (row: Row) => unknown;
  /** Returns the document of `--json`. @default the list of the rows */
  json?: () => unknown;
  /** Text that is printed if the table has no rows. Not used if `lines` is set. */
  empty: string;
  /** Returns the lines of the table, if the command adds something to a plain table. */
  lines?: () => readonly string[];
  /** Hint under a table that omits something. @default a hint that names `--columns` and `--json` */
  more?: string;
}

/**
 * Checks the chosen columns before anything is sent.
 *
 * @throws {UsageError} If a chosen column does not exist.
 */
export function checkListColumns<Row>(
  { columns: chosen }: Pick<ListView, "columns">,
  columns: readonly Column<Row>[],
): void {
  if (chosen !== undefined) chooseColumns(columns, chosen);
}

/** Formats a list row by row. */
interface RowWriter<Row> {
  /** The lines before the first row. */
  head: readonly string[];
  lineOf(row: Row): string;
}

/**
 * Returns a writer of CSV or Markdown.
 *
 * @param chosen The columns of `--columns`. Without it, CSV contains every column, and Markdown those that are not
 * `extra`.
 * @throws {UsageError} If a chosen column does not exist.
 */
export function rowWriter<Row>(
  output: "csv" | "md",
  columns: readonly Column<Row>[],
  chosen: string | undefined,
): RowWriter<Row> {
  const shown = chosen !== undefined ? chooseColumns(columns, chosen) : columns;
  if (output === "csv") {
    return {
      head: [shown.map(({ title, name = title }) => csvCell(name)).join(",")],
      lineOf: (row) => shown.map((column) => csvCell(exactOf(column, row))).join(","),
    };
  }
  const usual = chosen !== undefined ? shown : shown.filter(({ extra }) => !extra);
  return {
    head: [
      markdownRow(usual.map(({ title }) => markdownText(title))),
      markdownRow(usual.map(({ align }) => align === "right" ? "---:" : "---")),
    ],
    lineOf: (row) => markdownRow(usual.map(({ of }) => markdownText(cut(of(row))))),
  };
}

/**
 * Prints a list. Without `--columns`, CSV contains every column, and a table and Markdown contain the columns that are
 * not `extra`.
 */
export function printList<Row>(
  host: Host,
  { output, columns: chosen }: ListView,
  { columns, rows, data = (row) => row, json, empty, lines, more }: Listing<Row>,
): void {
  switch (output) {
    case "json":
      return host.out(JSON.stringify(json === undefined ? rows.map(data) : json()));
    case "jsonl":
      for (const row of rows) host.out(JSON.stringify(data(row)));
      return;
    case "csv":
    case "md": {
      const { head, lineOf } = rowWriter(output, columns, chosen);
      for (const line of head) host.out(line, { exact: true });
      for (const row of rows) host.out(lineOf(row), { exact: true });
      return;
    }
    case "table":
      if (rows.length === 0 && lines === undefined) return host.out(empty);
      for (const line of lines?.() ?? tableLines(host, columns, rows, { columns: chosen, more })) {
        host.out(line);
      }
  }
}

const exactOf = <Row>({ of, exact }: Column<Row>, row: Row): unknown =>
  exact === undefined ? of(row) : exact(row);

const markdownRow = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
