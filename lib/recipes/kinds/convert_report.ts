/**
 * Defines the step `convert-report`, which converts rows to another file format.
 *
 * @module
 */
import * as z from "zod";
import { parse } from "@std/csv";
import { plainCells } from "../../csv_text.ts";
import { BrokerError } from "../../errors.ts";
import { didYouMean } from "../../client/nearest.ts";
import { readRegular } from "../../regular_files.ts";
import { markdownText, shownJson } from "../../shown_text.ts";
import { valueAt } from "../schema_issues.ts";
import { ANY, memberNames, memberOf, type Type, typeAt } from "../expressions/value_types.ts";
import { exactCsv } from "./fields.ts";
import { csvText, jsonLines, pathIn, writeNamed } from "./files.ts";
import { stepKind } from "./kind.ts";

const FORM = /\.(jsonl|csv|json|md)$/;

const params = z.strictObject({
  from: z.string().regex(/\.(jsonl|csv|json)$/, "a file that ends in .jsonl, .csv or .json").optional()
    .meta({ description: "File with the rows, relative to the folder of the run" }),
  rows: z.array(z.record(z.string(), z.unknown())).optional()
    .meta({ description: "Rows instead of a file, such as the output of an earlier step" }),
  to: z.string().regex(FORM, "a file that ends in .jsonl, .csv, .json or .md")
    .meta({ description: "File to write; its ending chooses the format" }),
  columns: z.array(z.string().min(1)).min(1).optional().meta({
    description: "Columns to write, in this order",
  }),
  title: z.string().optional().meta({ description: "Heading of a Markdown file" }),
  exactCsv,
});

type Row = Record<string, unknown>;

const output = z.strictObject({
  /** Whether every requested column is known or in a row. */
  ok: z.boolean(),
  path: z.string(),
  rows: z.number(),
  /** Requested columns that no row has. */
  missing: z.array(z.string()),
});

/** Reads rows and writes them in the other format; values stay unchanged. */
export const convertReport = stepKind<z.infer<typeof params>, z.infer<typeof output>>({
  name: "convert-report",
  summary: "Writes the rows of a file, or of an earlier step, as .csv, .jsonl, .json or a Markdown table",
  effect: "local",
  needsAccount: () => false,
  reaches: ({ from, to }) => [
    ...from === undefined ? [] : [{ kind: "reads" as const, name: String(from) }],
    ...to === undefined ? [] : [{ kind: "writes" as const, name: String(to) }],
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
    const rows = given ?? await rowsOf(pathIn(context, from ?? ""));
    const chosen = columns === undefined ? rows : rows.map((row) => pick(row, columns));
    const file = await writeNamed(context, target, write(to, chosen, { columns, title, exact: exactCsv }));
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
      const near = missing.flatMap((column) => didYouMean(column, known)).join("");
      context.log(
        "warn",
        `no row has the column ${missing.map((column) => `"${column}"`).join(", ")}${
          near || `; there are ${known.join(", ")}`
        }`,
      );
    }
    return { ok: missing.length === 0, path: file.path, rows: chosen.length, missing };
  },
});

/** Largest file that is converted, bytes, because all rows are in memory. */
const MOST_BYTES = 64 * 1024 * 1024;

const rowsOf = async (path: string) => readRows(path, await readReport(path));

async function readReport(path: string): Promise<string> {
  const bytes = await readRegular(path, MOST_BYTES);
  if (bytes instanceof Uint8Array) return new TextDecoder().decode(bytes);
  throw new BrokerError(`Cannot convert "${path}": ${bytes.refused}`, { code: "bad-report" });
}

function readRows(path: string, text: string): Row[] {
  try {
    if (path.endsWith(".csv")) return parse(text, { skipFirstRow: true }).map(plainCells);
    // A file that is not a list of records fails below.
    const rows: unknown = path.endsWith(".json")
      ? JSON.parse(text)
      : text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
    if (Array.isArray(rows) && rows.every((row) => typeof row === "object" && row !== null)) return rows;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new BrokerError(`Cannot convert "${path}": ${error.message}`, { code: "bad-report", cause: error });
  }
  throw new BrokerError(`Cannot convert "${path}": it is not a list of records`, { code: "bad-report" });
}

/** Returns the type of one row; `any` if it is unknown. */
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

function write(
  path: string,
  rows: readonly Row[],
  { columns, title, exact }: { columns?: string[]; title?: string; exact: boolean },
): string {
  if (path.endsWith(".csv")) return csvText(rows, { columns, exact });
  if (path.endsWith(".jsonl")) return jsonLines(rows);
  if (path.endsWith(".json")) return `${shownJson(JSON.stringify(rows, null, 2))}\n`;
  const names = columns ?? [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [
    names.map(markdownText),
    names.map(() => "---"),
    ...rows.map((row) => names.map((name) => markdownCell(row[name]))),
  ];
  const heading = title === undefined ? "" : `# ${markdownText(title)}\n\n`;
  // Markdown shows a table without columns as stray marks.
  if (names.length === 0) return `${heading}No rows.\n`;
  return `${heading}${lines.map((line) => `| ${line.join(" | ")} |\n`).join("")}`;
}

function markdownCell(value: unknown): string {
  if (value === undefined || value === null) return "";
  // A Markdown viewer could interpret tags and links in the broker's text.
  return markdownText(typeof value === "string" ? value : JSON.stringify(value));
}
