/**
 * Prints answers: a table or a list for people, JSON for programs.
 *
 * @module
 */
import { operations } from "../../lib/operations/mod.ts";
import { answerFields, type AnyOperation } from "../../lib/operations/operation.ts";
import type { FieldsInfo } from "../../lib/operations/types.ts";
import type { Host } from "./host.ts";
import { type ListView, printList } from "./list_output.ts";
import { cellOf, chooseColumns, type Column, cut, list } from "./print.ts";

/** How an answer is printed. */
interface AnswerOptions {
  operation: AnyOperation;
  params: unknown;
  /** Whether the answer contains all rows. */
  hasAllRows: boolean;
  /** Form of the output. */
  view: ListView;
  /** Whether members have the broker's names. @default false */
  inWireForm?: boolean;
  /** Hint under a table that omits something. @default a hint that names `--columns` and `--json` */
  more?: string;
  host: Host;
}

type Row = Record<string, unknown>;

/** Prints an answer to stdout. If there may be another page, prints a note to stderr. */
export function printAnswer(answer: unknown, options: AnswerOptions): void {
  const { operation, params, hasAllRows, view, host } = options;
  const value = answer ?? {};
  const rows = rowsOf(value);
  if (rows !== undefined && !hasAllRows && mayHaveMore(operation, params, value, rows)) {
    host.note("hsgate: this is one page and there may be more; --all reads all pages");
  }
  // Names that the catalogue does not list come from the broker, and may contain secrets.
  const how = options.inWireForm ? { isOwnName: isWireName(operation) } : {};
  if (view.output === "json") return host.out(JSON.stringify(value), how);
  if (!host.isTerminal && view.columns === undefined && !view.isChosen) {
    return host.out(JSON.stringify(value, undefined, 2), how);
  }
  if (view.output === "jsonl") {
    for (const row of rows ?? [value]) host.out(JSON.stringify(row), how);
    return;
  }
  if (rows !== undefined && rows.every(isRow)) return printRows(rows, options);
  if (view.output !== "table") {
    if (rows === undefined && isRow(value)) return printRows([value], options);
    // Some lists consist of texts.
    const columns = [{ title: "value", of: cellOf }];
    return printList<unknown>(host, view, { columns, rows: rows ?? [value], empty: "no rows" });
  }
  if (!isRow(value)) return host.out(JSON.stringify(value, undefined, 2), how);
  const entries = Object.entries(value);
  if (entries.length === 0) return host.out("done");
  printRecord(value, options);
}

const isRow = (value: unknown): value is Row =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Returns the rows of a list, with or without page counters, in hsgate's names or the broker's; `undefined` for a
 * record.
 */
function rowsOf(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value;
  const lists = isRow(value) ? Object.entries(value).filter(([, each]) => Array.isArray(each)) : [];
  const [only] = lists;
  return only !== undefined && lists.length === 1 && (only[0] === "rows" || only[0] === "data")
    ? only[1] as unknown[]
    : undefined;
}

function mayHaveMore({ paging }: AnyOperation, params: unknown, value: unknown, rows: unknown[]): boolean {
  if (paging === undefined) return false;
  if (isRow(value) && value.isLast === true) return false;
  if (isRow(value) && typeof value.totalPages === "string" && isRow(params)) {
    return Number(params.page ?? 1) < Number(value.totalPages);
  }
  return isRow(params) && rows.length >= Number(params.limit ?? 20);
}

/** Prints rows in the chosen form. A table fits the terminal. */
function printRows(rows: readonly Row[], options: AnswerOptions): void {
  const { view, more, host } = options;
  const columns = view.columns !== undefined
    ? chosenColumns(options)
    : view.output === "csv"
    ? chosenColumns(options).filter(({ title }, _, all) =>
      !all.some((other) => other.title.startsWith(`${title}.`))
    )
    : columnsOf(rows, options);
  printList(host, view, { columns, rows, empty: "no rows", ...more !== undefined && { more } });
}

function printRecord(value: Row, options: AnswerOptions): void {
  const { view: { columns: chosen }, host } = options;
  if (chosen !== undefined) {
    const columns = chooseColumns(chosenColumns(options), chosen);
    for (const line of list(host, columns.map(({ title, of }) => [title, of(value)] as const))) {
      host.out(line);
    }
    return;
  }
  const simple = Object.entries(value).filter(([, each]) => !isTable(each));
  for (const line of list(host, simple.map(([name, each]) => [name, cellOf(each)] as const))) host.out(line);
  for (const [name, each] of Object.entries(value)) {
    if (!isTable(each)) continue;
    host.out(`${simple.length > 0 ? "\n" : ""}${cut(name)}`);
    // `--columns` cannot name members of an inner list.
    printRows(each, { ...options, more: "--json prints all" });
  }
}

const isTable = (value: unknown): value is Row[] =>
  Array.isArray(value) && value.length > 0 && value.every(isRow);

/**
 * Checks the chosen columns before anything is sent.
 *
 * @throws {UsageError} If the answer has no such member. The message names the nearest one.
 */
export function checkColumns(
  options: Pick<AnswerOptions, "operation" | "inWireForm"> & { columns: string | undefined },
): void {
  if (options.columns !== undefined) chooseColumns(chosenColumns(options), options.columns);
}

/** Returns a column for each member of the answer, with a path for inner members: `fees.total`. */
function chosenColumns(
  { operation, inWireForm }: Pick<AnswerOptions, "operation" | "inWireForm">,
): Column<Row>[] {
  return pathsOf(answerFields(operation), inWireForm).map((path) => ({
    title: path.join("."),
    of: (row) => cellOf(path.reduce<unknown>((value, name) => isRow(value) ? value[name] : undefined, row)),
  }));
}

function pathsOf(fields: FieldsInfo, inWireForm = false): string[][] {
  return Object.entries(fields).flatMap(([name, { wire, type }]) => {
    const own = inWireForm ? wire : name;
    const isList = type.name.startsWith("list of ");
    const inner = type.fields === undefined || isList ? [] : pathsOf(type.fields, inWireForm);
    return [[own], ...inner.map((path) => [own, ...path])];
  });
}

/** Returns a function that returns whether the catalogue lists a member of the broker's answer. */
function isWireName(operation: AnyOperation): (name: string) => boolean {
  const names = [operation.response.fields ?? {}, answerFields(operation)].flatMap((fields) =>
    pathsOf(fields, true).flat()
  );
  const listed = new Set(names);
  return (name) => listed.has(name);
}

const isNumber = (value: unknown) =>
  typeof value === "number" || typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value);

/** Members that come first; the others follow in the order of the answer. */
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
 * Returns a column for each member of the rows. Omits members that are empty in every row, members that only repeat a
 * parameter, and the cursor, which only programs need. `--columns` still shows them.
 */
function columnsOf(rows: readonly Row[], { params }: AnswerOptions): Column<Row>[] {
  const asked = isRow(params) ? params : {};
  const names = new Set([...first, ...rows.flatMap((row) => Object.keys(row))]);
  const used = [...names].filter((name) =>
    name !== "cursor" && rows.some((row) => cellOf(row[name]) !== "") &&
    (asked[name] === undefined || rows.some((row) => row[name] !== asked[name]))
  );
  return used.map((name) => {
    const id = identifiers.has(name);
    const isRight = !id && rows.every((row) => cellOf(row[name]) === "" || isNumber(row[name]));
    return {
      title: name,
      of: (row) => cellOf(row[name]),
      ...id && { id },
      ...isRight && { align: "right" },
    };
  });
}

/**
 * Members that contain an order number or a listing code, under hsgate's name and the broker's. Tables never cut these
 * members, because a person may type them next.
 */
const identifiers: ReadonlySet<string> = new Set(
  [...operations.values()].flatMap((operation) => [
    ...namesOfIds(operation.request.fields ?? {}),
    ...namesOfIds(answerFields(operation)),
  ]),
);

function namesOfIds(fields: FieldsInfo): string[] {
  return Object.entries(fields).flatMap(([name, { wire, type }]) => {
    if (type.fields !== undefined) return namesOfIds(type.fields);
    return /(order id|listing code)$/.test(type.name) ? [name, wire] : [];
  });
}
