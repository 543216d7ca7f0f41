/**
 * Defines the step `convert-report`, which converts rows to another file format.
 *
 * @module
 */
import * as z from "zod";
import { parse, repeatedColumn } from "../../std/csv.ts";
import { BrokerError } from "../../errors.ts";
import { didYouMean } from "../../client/nearest.ts";
import { parseExactly } from "../../json_text.ts";
import { readRegular } from "../../regular_files.ts";
import { markdownText, shownJson } from "../../shown_text.ts";
import { valueAt } from "../schema/schema_issues.ts";
import { ANY, memberNames, memberOf, type Type, typeAt } from "../expressions/value_types.ts";
import { exactCsv, unchangedTexts } from "./fields.ts";
import { csvRecord, plainCells } from "../../csv_text.ts";
import { flatten, jsonLines, pathIn, writeNamed } from "./files.ts";
import { stepKind } from "./kind.ts";

const FORM = /\.(jsonl|csv|json|md)$/;

/** Limits of a table; docs/recipes.md lists them. */
const tableLimits = { columns: 1_000, cells: 10_000_000, row: 2_000_000 } as const;

const params = z.strictObject({
  from: z.string().regex(/\.(jsonl|csv|json)$/, "a file that ends in .jsonl, .csv or .json").optional()
    .meta({ description: "File with the rows, relative to the folder of the run" }),
  rows: z.array(z.record(z.string(), z.unknown())).optional()
    .meta({ description: "Rows instead of a file, such as the output of an earlier step" }),
  to: z.string().regex(FORM, "a file that ends in .jsonl, .csv, .json or .md")
    .meta({ description: "File to write; its ending chooses the format" }),
  columns: z.array(z.string().min(1)).min(1).max(tableLimits.columns).optional().meta({
    description: "Columns to write, in this order",
  }),
  title: z.string().optional().meta({ description: "Heading of a Markdown file" }),
  exactCsv,
});

type Row = Record<string, unknown>;

const output = z.strictObject({
  /** Whether every requested column is in a row, or in the known type of the rows. Also true without rows. */
  ok: z.boolean(),
  path: z.string(),
  rows: z.number(),
  /** Requested columns that are neither in a row nor in the known type of the rows. */
  missing: z.array(z.string()),
});

/** Reads rows and writes them in the format of the target file. */
export const convertReport = stepKind<z.infer<typeof params>, z.infer<typeof output>>({
  name: "convert-report",
  summary: "Writes the rows of a file, or of an earlier step, as .csv, .jsonl, .json or a Markdown table",
  effect: "local",
  needsAccount: () => false,
  reaches: ({ from, to, exactCsv }) => [
    ...from === undefined ? [] : [{ kind: "reads" as const, name: String(from) }],
    ...to === undefined ? [] : [{ kind: "writes" as const, name: String(to) }],
    ...unchangedTexts({ exactCsv }),
  ],
  params,
  output,
  checkTypes({ columns }, typeOf, wrong) {
    const rows = typeOf(["rows"]);
    if (rows === undefined || !Array.isArray(columns)) return;
    const names = memberNames(itemOf(rows));
    for (const [index, column] of columns.entries()) {
      if (typeof column !== "string" || hasColumn(rows, column)) continue;
      const near = didYouMean(column, columnsOf(itemOf(rows)));
      wrong(["columns", index], `a column that the rows have${near || `: ${names.join(", ")}`}`);
    }
  },
  check({ from, rows }, wrong) {
    if ((from === undefined) === (rows === undefined)) wrong([], "either from or rows");
  },
  async run({ from, rows: given, to, columns, title, exactCsv }, context, typeOf) {
    const target = pathIn(context, to); // rejects a bad path before reading
    const rows = given ?? await rowsOf(pathIn(context, from ?? ""), context.signal);
    if (columns !== undefined) checkCells(to, rows.length * columns.length);
    const chosen = columns === undefined ? rows : rows.map((row) => pick(row, columns));
    const text = await textOf(to, chosen, { columns, title, exact: exactCsv, signal: context.signal });
    const file = await writeNamed(context, target, text);
    await context.artifact({ dataset: "report", businessDay: context.session?.date, final: true, ...file });
    const type = typeOf(["rows"]);
    const missing = rows.length === 0
      ? []
      : (columns ?? []).filter((column) =>
        (type === undefined || itemOf(type).kind === "any" || !hasColumn(type, column)) &&
        rows.every((row) => at(row, column) === undefined)
      );
    if (missing.length > 0) {
      const known = [...new Set(rows.flatMap((row) => Object.keys(row)))];
      const near = missing.slice(0, MOST_NEAR).flatMap((column) => didYouMean(column, known)).join("");
      context.log(
        "warn",
        `no row has the column ${missing.map((column) => `"${column}"`).join(", ")}${
          near || `; there are ${known.slice(0, tableLimits.columns).join(", ")}`
        }`,
      );
    }
    return { ok: missing.length === 0, path: file.path, rows: chosen.length, missing };
  },
});

/** Maximum number of missing columns for which the warning names the most similar one. */
const MOST_NEAR = 10;

/** Largest file that is converted, bytes, because all rows are in memory. */
const MOST_BYTES = 64 * 1024 * 1024;

async function rowsOf(path: string, signal: AbortSignal): Promise<Row[]> {
  const rows = readRows(path, await readReport(path));
  if (!path.endsWith(".csv")) return rows;
  const pace = new Pace(signal);
  const plain: Row[] = [];
  for (const row of rows) {
    await pace.next(sizeOf(path, row), 1);
    // The cells of a CSV file are texts.
    plain.push(plainCells(row as Record<string, string>));
  }
  return plain;
}

async function readReport(path: string): Promise<string> {
  const bytes = await readRegular(path, MOST_BYTES);
  if (bytes instanceof Uint8Array) return new TextDecoder().decode(bytes);
  throw new BrokerError(`Cannot convert "${path}": ${bytes.refused}`, { code: "bad-report" });
}

function readRows(path: string, text: string): Row[] {
  try {
    // A file has about one value for each comma, and one for each line end of a CSV file or each bracket of JSON. Many
    // short values need far more memory than their text.
    const others = path.endsWith(".csv") ? ["\n"] : ["{", "["];
    checkCells(path, [",", ...others].reduce((sum, sign) => sum + countOf(text, sign), 0));
    if (path.endsWith(".csv")) {
      checkColumns(path, text);
      return parse(text, { skipFirstRow: true });
    }
    // A file that is not a list of records fails below.
    const rows: unknown = path.endsWith(".json")
      ? parseExactly(text)
      : text.split("\n").filter(Boolean).map(parseExactly);
    if (Array.isArray(rows) && rows.every((row) => typeof row === "object" && row !== null)) return rows;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new BrokerError(`Cannot convert "${path}": ${error.message}`, { code: "bad-report", cause: error });
  }
  throw new BrokerError(`Cannot convert "${path}": it is not a list of records`, { code: "bad-report" });
}

/** @throws {BrokerError} If two columns have the same name: the reader would keep only the last one. */
function checkColumns(path: string, text: string): void {
  const twice = repeatedColumn(text);
  if (twice === undefined) return;
  throw new BrokerError(
    `Cannot convert "${path}": it has the column ${JSON.stringify(twice)} twice: rename one of them`,
    { code: "bad-report" },
  );
}

/** Returns the type of a row; `any` if it is not known. */
const itemOf = (rows: Type): Type => typeAt(rows, [0]) ?? ANY;

const hasColumn = (rows: Type, column: string) =>
  memberOf(itemOf(rows), column) !== undefined || typeAt(itemOf(rows), column.split(".")) !== undefined;

/** Returns the columns that rows can have, including nested members such as `fees.total`. */
function columnsOf(row: Type): string[] {
  return memberNames(row).flatMap((name) => {
    const inner = memberOf(row, name);
    return [name, ...inner === undefined ? [] : columnsOf(inner).map((each) => `${name}.${each}`)];
  });
}

function pick(row: Row, columns: readonly string[]): Row {
  return Object.fromEntries(columns.map((column) => [column, at(row, column)]));
}

/** Returns a member by its name, or by a path such as `fees.total`. */
function at(row: Row, column: string): unknown {
  if (Object.hasOwn(row, column)) return row[column];
  return valueAt(row, column.split("."));
}

/** Counts a character of a text. */
function countOf(text: string, sign: string): number {
  let count = 0;
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) count++;
  return count;
}

/** @throws {BrokerError} If a table would have too many cells. */
function checkCells(path: string, count: number): void {
  if (count <= tableLimits.cells) return;
  throw new BrokerError(
    `Cannot convert "${path}": the table has ${count} cells, expected at most ${tableLimits.cells}: split the rows`,
    { code: "bad-report" },
  );
}

/** Lets other work of the process run from time to time, such as the renewal of a lease. */
class Pace {
  readonly #signal: AbortSignal;
  #characters = 0;
  #cells = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Counts work before it is done, and pauses briefly after a certain amount. @throws If the step was stopped. */
  async next(characters: number, cells: number): Promise<void> {
    this.#characters += characters;
    this.#cells += cells;
    if (this.#characters < 1_000_000 && this.#cells < 50_000) return;
    this.#characters = this.#cells = 0;
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#signal.throwIfAborted();
  }
}

/**
 * Returns the number of characters in a row. @throws {BrokerError} If there are too many, because a row is written at
 * once.
 */
function sizeOf(path: string, row: Row): number {
  let size = 0;
  for (const [name, value] of Object.entries(row)) {
    size += name.length;
    if (typeof value === "string") size += value.length;
    else if (typeof value === "object" && value !== null) size += JSON.stringify(value).length;
  }
  if (size <= tableLimits.row) return size;
  throw new BrokerError(
    `Cannot convert "${path}": a row has ${size} characters, expected at most ${tableLimits.row}`,
    { code: "bad-report" },
  );
}

/** Writes rows as the text of a file. @throws {BrokerError} If a table has too many columns or cells. */
async function textOf(
  path: string,
  rows: readonly Row[],
  { columns, title, exact, signal }: {
    columns?: readonly string[];
    title?: string;
    exact: boolean;
    signal: AbortSignal;
  },
): Promise<string> {
  const isJson = path.endsWith(".json");
  const isCsv = path.endsWith(".csv");
  const isTable = isCsv || path.endsWith(".md");
  const names = !isTable ? [] : columns ?? namesOf(path, rows, isCsv);
  checkCells(path, rows.length * names.length);
  const parts: string[] = [];
  if (isCsv) parts.push(csvRecord(names, { exact }));
  else if (isTable) {
    const heading = title === undefined ? "" : `# ${markdownText(title)}\n\n`;
    // Without columns, Markdown would show the table as stray characters.
    if (names.length === 0) return `${heading}No rows.\n`;
    parts.push(heading, markdownLine(names.map(markdownText)), markdownLine(names.map(() => "---")));
  }
  const lineOf = (row: Row) => {
    // Write each row as `JSON.stringify` writes it within the whole list.
    if (isJson) return shownJson(JSON.stringify([row], null, 2).slice(2, -2));
    if (!isTable) return jsonLines([row]);
    if (!isCsv) return markdownLine(names.map((name) => markdownCell(row[name])));
    const cells = flatten(row);
    return csvRecord(names.map((name) => cells[name] ?? ""), { exact });
  };
  const pace = new Pace(signal);
  for (const row of rows) {
    await pace.next(sizeOf(path, row), names.length);
    parts.push(lineOf(row));
  }
  if (isJson) return rows.length === 0 ? "[]\n" : `[\n${parts.join(",\n")}\n]\n`;
  return parts.join("");
}

/** Returns the columns of all rows. @throws {BrokerError} If there are too many. */
function namesOf(path: string, rows: readonly Row[], isFlat: boolean): string[] {
  const names = new Set<string>();
  for (const row of rows) {
    for (const name of Object.keys(isFlat ? flatten(row) : row)) names.add(name);
    if (names.size <= tableLimits.columns) continue;
    throw new BrokerError(
      `Cannot convert "${path}": the rows have more than ${tableLimits.columns} different columns: list the columns ` +
        'to write in "columns", or write a .jsonl file',
      { code: "bad-report" },
    );
  }
  return [...names];
}

const markdownLine = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;

function markdownCell(value: unknown): string {
  if (value === undefined || value === null) return "";
  // A Markdown viewer could interpret tags and links in the broker's text.
  return markdownText(typeof value === "string" ? value : JSON.stringify(value));
}
