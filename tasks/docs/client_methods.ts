/**
 * Generates the types of the client's methods from the catalogue. Because the types are source text, editors and `deno
 * doc` show them with the descriptions of all members, and Deno checks programs that use hsgate faster.
 *
 * @module
 */
import type { Dictionary } from "../../lib/dictionaries/dictionary.ts";
import { dictionaries } from "../../lib/dictionaries/mod.ts";
import * as account from "../../lib/operations/account.ts";
import * as algo from "../../lib/operations/algo.ts";
import * as conditionalOrders from "../../lib/operations/conditional_orders.ts";
import { FieldComments } from "../../lib/operations/doc_comments.ts";
import * as fills from "../../lib/operations/fills.ts";
import * as fundJournal from "../../lib/operations/fund_journal.ts";
import * as futures from "../../lib/operations/futures.ts";
import { catalogue } from "../../lib/operations/mod.ts";
import type { AnyOperation } from "../../lib/operations/operation.ts";
import * as orders from "../../lib/operations/orders.ts";
import * as platform from "../../lib/operations/platform.ts";
import * as pushModule from "../../lib/operations/pushes.ts";
import * as quotes from "../../lib/operations/quotes.ts";
import * as shared from "../../lib/operations/shared.ts";
import { docOf, docOfFamily, sources } from "../../lib/operations/sources.ts";
import type { FieldsInfo, ValueType } from "../../lib/operations/types.ts";

const comments = new FieldComments(sources);
const modules = {
  account,
  orders,
  fills,
  fundJournal,
  conditionalOrders,
  algo,
  futures,
  quotes,
  platform,
  pushes: pushModule,
  shared,
};

/** Returns a doc comment. */
function comment(text: string): string {
  // The text must not end the comment early.
  const plain = text.replaceAll("*/", "* /").trim();
  return plain.includes("\n") || plain.length > 90
    ? `/**\n * ${plain.replaceAll("\n", "\n * ")}\n */\n`
    : `/** ${plain} */\n`;
}

/** A named type of the public types: a code table, or a record. */
interface NamedType {
  name: string;
  text: string;
}

/** Code tables that the written types use, in the order of their first use. */
const usedTables = new Map<Dictionary, NamedType>();
/** Named records that the written types use, in the order of their first use. */
const usedRecords = new Map<FieldsInfo, NamedType>();
/** Texts of the records without a name, with the place of their first use. */
const unnamed = new Map<string, string>();

const tableNames = new Map(Object.entries(dictionaries).map(([name, table]) => [table, name]));
const tableSources = readFolder("../../lib/dictionaries/");

/** A record that the catalogue names with `export type Order = RecordOf<typeof listedOrderFields>`. */
interface RecordName {
  name: string;
  doc: string;
  /** Path of the members' comments: the file and the constant. */
  place: string;
}
const recordNames = new Map<FieldsInfo, RecordName>();
for (const [file, module] of Object.entries<Record<string, unknown>>(modules)) {
  const pattern = /\/\*\* ((?:(?!\*\/)[^])*?) \*\/\nexport type (\w+) = (?:RecordOf|Decoded)<typeof (\w+)>;/g;
  for (const [, doc, name, constant] of sources[file]!.matchAll(pattern)) {
    const value = module[constant!] as FieldsInfo | ValueType<unknown> | undefined;
    if (value === undefined) {
      throw new TypeError(`Cannot write the type "${name}": lib/operations does not export "${constant}"`);
    }
    const fields = isType(value) ? value.fields! : value;
    recordNames.set(fields, { name: name!, doc: doc!, place: `${file} ${constant}` });
  }
}

function isType(value: FieldsInfo | ValueType<unknown>): value is ValueType<unknown> {
  return typeof value.shape === "function";
}

function readFolder(folder: string): string {
  const url = new URL(folder, import.meta.url);
  return [...Deno.readDirSync(url)].map(({ name }) => Deno.readTextFileSync(new URL(name, url))).join("\n");
}

/** Returns the name of the type that lists all names of a code table. Writes that type at its first use. */
function tableOf(table: Dictionary): string {
  const name = tableNames.get(table);
  if (name === undefined) throw new TypeError(`Cannot write the type of "${table.wire}": no such code table`);
  if (!usedTables.has(table)) {
    const doc = new RegExp(`/\\*\\* ((?:(?!\\*/)[^])*?) \\*/\nexport const ${name}\\b`).exec(tableSources)
      ?.[1];
    if (doc === undefined) {
      throw new TypeError(`Cannot write the type "${name}": its code table has no comment`);
    }
    const text = `${comment(doc)}export type ${name} = ${quoted(table.names)};\n`;
    usedTables.set(table, { name, text });
  }
  return name;
}

const quoted = (names: readonly string[]) => names.map((name) => JSON.stringify(name)).join(" | ");

/** Returns the type of a value. `isSent` is true for a parameter, and false for a member of an answer. */
function typeOf(type: ValueType<unknown>, place: string, isSent: boolean): string {
  const shape = type.shape();
  if (type.isList && !type.fields && shape.kind === "list") return listText(scalarOf(type, shape.of));
  if (type.fields !== undefined) {
    const record = namedOf(type.fields, place, isSent);
    return type.isList ? listText(record) : record;
  }
  return scalarOf(type, shape);
}

const listText = (item: string) => /^\w+$/.test(item) ? `${item}[]` : `(${item})[]`;

type Shape = ReturnType<ValueType<unknown>["shape"]>;

function scalarOf(type: ValueType<unknown>, shape: Shape): string {
  if (shape.kind === "number") return "number";
  if (shape.kind === "flag") return "boolean";
  if (shape.kind === "map") return `Record<string, ${scalarOf(type, shape.of)}>`;
  if (shape.kind !== "text") throw new TypeError(`Cannot write the type of "${type.name}": ${shape.kind}`);
  if (shape.names === undefined || type.dictionary === undefined) return "string";
  const issues: [] = [];
  type.check(type.isList ? ["unlisted:?"] : "unlisted:?", [], issues);
  return [namesOf(type.dictionary, shape.names), ...issues.length === 0 ? ["Unlisted"] : []].join(" | ");
}

/**
 * Returns the type of the allowed names of a code table. The type lists the allowed names or the excluded names,
 * whichever are fewer.
 */
function namesOf(table: Dictionary, allowed: readonly string[]): string {
  const others = table.names.filter((name) => !allowed.includes(name));
  if (others.length === 0) return tableOf(table);
  return others.length < allowed.length
    ? `Exclude<${tableOf(table)}, ${quoted(others)}>`
    : `Extract<${tableOf(table)}, ${quoted(allowed)}>`;
}

/** Returns the name of a record if the catalogue names it, and otherwise its members. */
function namedOf(fields: FieldsInfo, place: string, isSent: boolean): string {
  const known = recordNames.get(fields);
  if (known === undefined) {
    const text = recordOf(fields, place, isSent);
    const first = unnamed.get(text);
    if (first !== undefined && text !== nothing) {
      throw new TypeError(
        `Cannot write the types of "${first}" and "${place}": they are equal, so name the record in lib/operations`,
      );
    }
    unnamed.set(text, place);
    return text;
  }
  if (!usedRecords.has(fields)) {
    const named = { name: known.name, text: "" };
    usedRecords.set(fields, named);
    named.text = `${comment(known.doc)}export type ${known.name} = ${
      recordOf(fields, known.place, isSent)
    };\n`;
  }
  return known.name;
}

const nothing = "Record<never, never>";

function recordOf(
  fields: FieldsInfo,
  place: string,
  isSent: boolean,
  without: readonly string[] = [],
): string {
  const members = Object.entries(fields).filter(([name]) => !without.includes(name)).map(([name, info]) => {
    const text = comments.of(place, name, fields);
    const isOptional = isSent ? info.optional : info.key !== true;
    const value = typeOf(info.type, `${place}.${name}`, isSent);
    return `${comment(text ?? `The broker's \`${info.wire}\`.`)}${name}${isOptional ? "?" : ""}: ${value};\n`;
  });
  return members.length === 0 ? nothing : `{\n${members.join("")}}`;
}

function methodOf(key: string, operation: AnyOperation): string {
  const { request, response, paging, name } = operation;
  const fields = request.fields ?? {};
  const without = paging === undefined ? [] : ["cursor", "page"];
  const given = Object.entries(fields).filter(([each]) => !without.includes(each));
  const mayOmit = given.every(([, { optional }]) => optional);
  const record = recordOf(fields, `${name}.request`, true, without);
  const params = name === "account.login"
    ? `params?: Partial<${record}>`
    : `params${mayOmit ? "?" : ""}: ${record}`;
  const list = response.fields?.rows;
  const place = `${name}.response`;
  // The answer is either only a list of rows, or a record that may contain a list among other members.
  const isRows = list !== undefined && "rows" in response;
  const rows = () => typeOf(list!.type, place, false);
  const inner = response.fields?.record?.type.fields;
  const whole = () =>
    inner !== undefined
      ? namedOf(inner, place, false)
      : isRows
      ? rows()
      : response.fields
      ? namedOf(response.fields, place, false)
      : typeOf(response, place, false);
  const options = paging === undefined ? "CallOptions" : "PagingOptions";
  const result = paging === undefined
    ? `Promise<${whole()}>`
    : `Paged<${rows().replace(/^\(?([^]*?)\)?\[\]$/, "$1")}>`;
  return `${comment(docOf(name)!)}readonly ${key}: (${params}, options?: ${options}) => ${result};\n`;
}

/** The texts of two generated files. */
interface TypeFiles {
  /** Text of `lib/client/methods.ts`. */
  methods: string;
  /** Text of `lib/operations/public_types.ts`. */
  publicTypes: string;
}

/**
 * Returns the texts of `lib/client/methods.ts` and `lib/operations/public_types.ts`, which use the same named types.
 */
export function clientTypes(): TypeFiles {
  const families = Object.entries(catalogue).map(([family, entries]) => {
    const methods = Object.entries<AnyOperation>(entries).map(([key, operation]) => methodOf(key, operation));
    const title = `${family[0]!.toUpperCase()}${family.slice(1)}Methods`;
    return {
      family,
      title,
      text: `${comment(docOfFamily(family)!)}export type ${title} = {\n${methods.join("")}};\n`,
    };
  });
  const body = families.map(({ text }) => text).join("\n");
  const methods = `/**
 * The types of the client's methods. Written by \`deno task docs\` from the catalogue in lib/operations: edit there.
 *
 * @module
 */
${unlistedImport(body)}import type {
${namesIn(body).map((name) => `  ${name},\n`).join("")}} from "../operations/public_types.ts";
import type { CallOptions } from "../transports/transport.ts";
import type { Paged, PagingOptions } from "./paging.ts";

${body}
/** The functions of all operations, grouped by family. */
export type Methods = {
${
    families.map(({ family, title }) => `${comment(docOfFamily(family)!)}readonly ${family}: ${title};\n`)
      .join("")
  }}
`;
  return { methods, publicTypes: publicTypes() };
}

/** Returns the import of the type of unlisted codes if a text uses it. */
function unlistedImport(text: string): string {
  return /\bUnlisted\b/.test(text) ? 'import type { Unlisted } from "../dictionaries/dictionary.ts";\n' : "";
}

/** Returns the named types that a text uses, sorted. */
function namesIn(text: string): string[] {
  const code = text.replaceAll(/\/\*[^]*?\*\/|"[^"\n]*"/g, "");
  const words = new Set(code.match(/\w+/g));
  return [...usedTables.values(), ...usedRecords.values()].map(({ name }) => name)
    .filter((name) => words.has(name)).sort();
}

function publicTypes(): string {
  const names = Object.values(catalogue).flatMap((entries) =>
    Object.values<AnyOperation>(entries).map(({ name }) => JSON.stringify(name))
  );
  const events = Object.values(pushModule.pushes).map(({ type, payload }) => {
    const title = `${type[0]!.toUpperCase()}${type.slice(1)}Event`;
    const data = namedOf(payload.fields!, `push.${type}`, false); // every payload is a record
    return {
      title,
      text:
        `/** A push \`${type}\`. */\nexport interface ${title} extends PushedEvent {\n/** Name of the event. */\ntype: ${
          JSON.stringify(type)
        };\n/** Content of the push. */\ndata: ${data};\n}\n`,
    };
  });
  const types = [...usedTables.values(), ...usedRecords.values()];
  const twice = types.find(({ name }, index) => types.findIndex((each) => each.name === name) !== index);
  if (twice !== undefined) {
    throw new TypeError(`Cannot write the type "${twice.name}": two types have this name`);
  }
  return `/**
 * The types that the client's methods and pushes share: the names of each code table, and each record. Also the names
 * of the operations and the types of the pushes. Written by \`deno task docs\` from the catalogue in lib/operations:
 * edit there.
 *
 * @module
 */
import type { Unlisted } from "../dictionaries/dictionary.ts";
import type { PushedEvent } from "./pushed_event.ts";

${types.map(({ text }) => text).join("\n")}
${events.map(({ text }) => text).join("\n")}
/** hsgate's name of an operation, such as \`orders.place\`. */
export type OperationName = ${names.join(" | ")};

/** A push as a typed event. */
export type PushEvent = ${events.map(({ title }) => title).join(" | ")};
`;
}
