/**
 * Runs `hsgate operations`.
 *
 * @module
 */
import type { FieldComments } from "../../../lib/operations/doc_comments.ts";
import { catalogue } from "../../../lib/operations/mod.ts";
import { answerFields, type AnyOperation, gatewayPath } from "../../../lib/operations/operation.ts";
import type { FieldInfo, FieldsInfo } from "../../../lib/operations/types.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { wrap } from "../../terminal/help.ts";
import type { Host } from "../../terminal/host.ts";
import type { OperationsInput } from "../operations.ts";
import { listView, printList, refuseListFlags } from "../../terminal/list_output.ts";
import { type Column, list, paint, tableLines } from "../../terminal/print.ts";
import { namedOperation } from "../shared/named_operation.ts";

/** Lists the catalogue or a family, or explains one operation. */
export async function run({ args: [name], flags, host }: OperationsInput): Promise<number> {
  const carried = carriedBy(flags.transport);
  const families = Object.entries(catalogue).map(([family, entries]) =>
    [family, Object.values<AnyOperation>(entries).filter(carried)] as const
  ).filter(([, entries]) => entries.length > 0);
  const family = families.find(([each]) => each === name);
  if (name === undefined || family !== undefined) {
    const chosen = family === undefined ? families : [family];
    const view = listView(flags);
    printList(host, view, {
      columns,
      rows: chosen.flatMap(([, entries]) => entries),
      data: summaryOf,
      empty: "",
      lines: () => familyLines(chosen, { columns: view.columns, host }),
    });
    return 0;
  }
  refuseListFlags(flags, "for one operation");
  const operation = namedOperation(name);
  const detail = await detailOf(operation);
  if (flags.json) host.out(JSON.stringify(detail));
  else printDetail(detail, host);
  return 0;
}

function carriedBy(transport: string | undefined): (operation: AnyOperation) => boolean {
  if (transport === undefined) return () => true;
  if (transport === "gateway") return ({ group }) => group !== null;
  if (transport === "direct") {
    return ({ socket, platformPath }) => !("gap" in socket) || platformPath !== undefined;
  }
  throw new UsageError(`Cannot list the operations of "${transport}": there are "gateway" and "direct"`);
}

/** Returns the transports that support an operation. */
function transportsOf(operation: AnyOperation): string[] {
  return ["gateway", "direct"].filter((name) => carriedBy(name)(operation));
}

const overWhat = (transports: readonly string[]) => transports.length > 1 ? "both" : transports[0] ?? "none";

function summaryOf(operation: AnyOperation) {
  const { name, wire, effect, answers, instead, needs } = operation;
  return {
    name,
    wire,
    path: gatewayPath(operation),
    effect,
    answers,
    instead,
    needs,
    transports: transportsOf(operation),
  };
}

const columns: readonly Column<AnyOperation>[] = [
  { title: "operation", id: true, of: ({ name }) => name },
  { title: "broker's name", name: "wire", of: ({ wire }) => wire },
  { title: "effect", of: ({ effect }) => effect },
  { title: "over", of: (operation) => overWhat(transportsOf(operation)) },
  { title: "answers", extra: true, of: ({ answers }) => answers ?? "" },
  { title: "instead", extra: true, of: ({ instead }) => instead ?? "" },
  { title: "needs", extra: true, of: ({ needs }) => needs === "nothing" ? "" : needs },
  { title: "path", extra: true, of: (operation) => gatewayPath(operation) ?? "" },
];

function familyLines(
  families: readonly (readonly [string, readonly AnyOperation[]])[],
  { columns: chosen, host }: { columns: string | undefined; host: Host },
): string[] {
  const all = families.flatMap(([, entries]) => entries);
  // One table for all families, so that their columns are aligned.
  const [header = "", ...lines] = tableLines(host, columns, all, { columns: chosen });
  let at = 0;
  const groups = families.flatMap(([, entries]) => [
    ...at > 0 ? [""] : [],
    ...lines.slice(at, at += entries.length),
  ]);
  return [header, ...groups, ...lines.slice(all.length)];
}

interface Parameter {
  name: string;
  wire: string;
  type: string;
  required: boolean;
  fallback?: unknown;
  /** Why the direct transport does not support this member. */
  notDirect?: string;
  text?: string;
  values?: readonly string[];
  fields?: Parameter[];
}

async function detailOf(operation: AnyOperation) {
  const { docOf, sources } = await import("../../../lib/operations/sources.ts");
  const { FieldComments } = await import("../../../lib/operations/doc_comments.ts");
  const comments = new FieldComments(sources);
  const text = docOf(operation.name);
  const { source, variantOf, paging } = operation;
  const notDirect = gapOf(operation);
  return {
    ...summaryOf(operation),
    ...notDirect !== undefined && { notDirect },
    ...text !== undefined && { text: sentences(text) },
    source,
    ...variantOf !== undefined && { variantOf },
    ...paging !== undefined && { pages: paging.style },
    params: parametersOf(comments, `${operation.name}.request`, operation.request.fields ?? {}),
    result: Object.keys(answerFields(operation)),
  };
}

/** Returns why the direct transport does not support an operation; `undefined` if it does. */
function gapOf(operation: AnyOperation): string | undefined {
  if (carriedBy("direct")(operation) || !("gap" in operation.socket)) return undefined;
  return operation.socket.gap;
}

/** Returns the text of a doc comment without its tags. */
const sentences = (doc: string) => doc.replace(/\n?@[\s\S]*$/, "").trim();

function parametersOf(comments: FieldComments, place: string, fields: FieldsInfo): Parameter[] {
  return Object.entries(fields).map(([name, field]) => {
    const { wire, type, optional, fallback, gap } = field;
    const [text, values] = [comments.of(place, name, fields), namesOf(field)];
    return {
      name,
      wire,
      type: type.name,
      required: !optional,
      ...fallback !== undefined && { fallback },
      ...gap !== undefined && { notDirect: gap },
      ...text !== undefined && { text: sentences(text) },
      ...values !== undefined && { values },
      ...type.fields !== undefined && { fields: parametersOf(comments, `${place}.${name}`, type.fields) },
    };
  });
}

/**
 * Returns the names that a coded field accepts. A field may accept only a part of its code table, so the function
 * returns only the names in the description of the field.
 */
function namesOf({ type }: FieldInfo): readonly string[] | undefined {
  if (type.dictionary === undefined) return undefined;
  return type.dictionary.names.filter((name) => type.expected.includes(`"${name}"`));
}

function printDetail(detail: Awaited<ReturnType<typeof detailOf>>, host: Host): void {
  const { name, wire, path, effect, needs, transports, text, source, params, result, variantOf, pages } =
    detail;
  const { notDirect, answers, instead } = detail;
  host.out(paint(host, "bold", name));
  if (text !== undefined) { for (const line of wrap(text, 80)) host.out(line); }
  host.out("");
  const facts: [string, string][] = [
    ["broker's name", wire],
    ["gateway path", path ?? "none"],
    ["effect", effect],
    ...answers === undefined ? [] : [["answers", asOfNow(instead)] as [string, string]],
    ["needs", needs],
    ["transports", transports.join(", ") || "none"],
    ...notDirect === undefined ? [] : [["not over direct", notDirect] as [string, string]],
    ["source", source],
  ];
  if (pages !== undefined) facts.push(["pages", `by ${pages}; --all reads all pages`]);
  if (variantOf !== undefined) facts.push(["special case of", variantOf]);
  for (const line of list(host, facts)) host.out(line);
  host.out("");
  host.out(paint(host, "bold", "Parameters"));
  if (params.length === 0) host.out("none");
  printParameters(params, host, "");
  host.out("");
  host.out(paint(host, "bold", "Answer"));
  for (const line of wrap(result.join(", ") || "only success", 80)) host.out(line);
}

const asOfNow = (instead: string | undefined) =>
  `as of now${instead === undefined ? "" : `; for a past day use ${instead}`}`;

function printParameters(params: readonly Parameter[], host: Host, indent: string): void {
  for (const { name, wire, type, required, fallback, notDirect, text, values, fields } of params) {
    const notes = [
      name === wire ? "" : wire,
      values === undefined ? type : "",
      fallback !== undefined ? `default ${JSON.stringify(fallback)}` : required ? "" : "optional",
    ].filter((each) => each !== "");
    host.out(
      `${indent}${paint(host, required ? "bold" : undefined, name)}  ${paint(host, "dim", notes.join(", "))}`,
    );
    const more = [
      text,
      notDirect === undefined ? undefined : `Only over the gateway: ${notDirect}.`,
      values === undefined ? undefined : values.map((each) => JSON.stringify(each)).join(" "),
    ];
    for (const each of more) {
      if (each !== undefined) {
        for (const line of wrap(each, 76 - indent.length)) host.out(`${indent}    ${line}`);
      }
    }
    if (fields !== undefined) printParameters(fields, host, `${indent}    `);
  }
}
