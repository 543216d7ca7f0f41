/**
 * Writes the types of the client's methods out. The catalogue determines them; written out, they appear
 * in editors and in `deno doc` with the descriptions of all members, and programs that use hsgate are checked faster.
 *
 * @module
 */
import { FieldComments } from "../../lib/operations/doc_comments.ts";
import { catalogue } from "../../lib/operations/mod.ts";
import type { AnyOperation } from "../../lib/operations/operation.ts";
import { pushes } from "../../lib/operations/pushes.ts";
import { docOf, docOfFamily, sources } from "../../lib/operations/sources.ts";
import type { FieldsInfo, ValueType } from "../../lib/operations/types.ts";

const comments = new FieldComments(sources);

/** Returns a doc comment. */
function comment(text: string): string {
  // `deno doc` knows only links with an address.
  const plain = text.replaceAll("*/", "* /").trim();
  return plain.includes("\n") || plain.length > 90
    ? `/**\n * ${plain.replaceAll("\n", "\n * ")}\n */\n`
    : `/** ${plain} */\n`;
}

/** Returns the type of a value; `isSent` for a parameter. */
function typeOf(type: ValueType<unknown>, place: string, isSent: boolean): string {
  const shape = type.shape();
  if (type.isList && !type.fields && shape.kind === "list") return listText(scalarOf(type, shape.of));
  if (type.fields !== undefined) {
    const record = recordOf(type.fields, place, isSent);
    return type.isList ? listText(record) : record;
  }
  return scalarOf(type, shape);
}

const listText = (item: string) => `(${item})[]`;

type Shape = ReturnType<ValueType<unknown>["shape"]>;

function scalarOf(type: ValueType<unknown>, shape: Shape): string {
  if (shape.kind === "number") return "number";
  if (shape.kind === "flag") return "boolean";
  if (shape.kind === "map") return `Record<string, ${scalarOf(type, shape.of)}>`;
  if (shape.kind !== "text") throw new TypeError(`Cannot write the type of "${type.name}": ${shape.kind}`);
  if (shape.names === undefined) return "string";
  const names = shape.names.map((name) => JSON.stringify(name));
  const issues: [] = [];
  type.check(type.isList ? ["unlisted:?"] : "unlisted:?", [], issues);
  return [...names, ...issues.length === 0 ? ["`unlisted:${string}`"] : []].join(" | ");
}

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
  return members.length === 0 ? "Record<never, never>" : `{\n${members.join("")}}`;
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
  // A list of rows is the answer itself; a record may contain it beside other members.
  const isRows = list !== undefined && "rows" in response;
  const rows = list && typeOf(list.type, place, false);
  const inner = response.fields?.record?.type.fields;
  const whole = inner !== undefined
    ? recordOf(inner, place, false)
    : isRows
    ? rows!
    : response.fields
    ? recordOf(response.fields, place, false)
    : typeOf(response, place, false);
  const options = paging === undefined ? "CallOptions" : "PagingOptions";
  const result = paging === undefined
    ? `Promise<${whole}>`
    : `Paged<${rows!.replace(/^\(([^]*)\)\[\]$/, "$1")}>`;
  return `${comment(docOf(name)!)}readonly ${key}: (${params}, options?: ${options}) => ${result};\n`;
}

/** Returns the text of `lib/client/methods.ts`. */
export function clientMethods(): string {
  const families = Object.entries(catalogue).map(([family, entries]) => {
    const methods = Object.entries<AnyOperation>(entries).map(([key, operation]) => methodOf(key, operation));
    const title = `${family[0]!.toUpperCase()}${family.slice(1)}Methods`;
    return {
      family,
      title,
      text: `${comment(docOfFamily(family)!)}export type ${title} = {\n${methods.join("")}};\n`,
    };
  });
  return `/**
 * The types of the client's methods. Written by \`deno task docs\` from the catalogue in lib/operations: edit there.
 *
 * @module
 */
import type { CallOptions } from "../transports/transport.ts";
import type { Paged, PagingOptions } from "./paging.ts";

${families.map(({ text }) => text).join("\n")}
/** The functions of all operations, grouped by family. */
export type Methods = {
${
    families.map(({ family, title }) => `${comment(docOfFamily(family)!)}readonly ${family}: ${title};\n`)
      .join("")
  }}
`;
}

/** Returns the text of `lib/operations/public_types.ts`. */
export function publicTypes(): string {
  const names = Object.values(catalogue).flatMap((entries) =>
    Object.values<AnyOperation>(entries).map(({ name }) => JSON.stringify(name))
  );
  const events = Object.values(pushes).map(({ type, payload }) => {
    const title = `${type[0]!.toUpperCase()}${type.slice(1)}Event`;
    const data = recordOf(payload.fields!, `push.${type}`, false); // every payload is a record
    return {
      title,
      text:
        `/** A push \`${type}\`. */\nexport interface ${title} extends PushedEvent {\n/** Name of the event. */\ntype: ${
          JSON.stringify(type)
        };\n/** Content of the push. */\ndata: ${data};\n}\n`,
    };
  });
  return `/**
 * The names of the operations and the types of the pushes. Written by \`deno task docs\` from the catalogue in lib/operations: edit there.
 *
 * @module
 */
import type { PushedEvent } from "./pushed_event.ts";

${events.map(({ text }) => text).join("\n")}
/** Our name of an operation, such as \`orders.place\`. */
export type OperationName = ${names.join(" | ")};

/** A push as a typed event. */
export type PushEvent = ${events.map(({ title }) => title).join(" | ")};
`;
}
