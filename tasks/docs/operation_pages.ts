/**
 * Writes the reference pages of operations, pushes, code tables and errors as Markdown. Text comes from the doc
 * comments of the catalogue. Types, limits and code tables come from the catalogue itself, so that the pages cannot
 * differ from it.
 *
 * @module
 */
import { barDayLimits } from "../../lib/dictionaries/bar.ts";
import type { Dictionary } from "../../lib/dictionaries/dictionary.ts";
import { FeeItem } from "../../lib/dictionaries/fee_item.ts";
import { dictionaries } from "../../lib/dictionaries/mod.ts";
import { type CodeMeaning, codeMeanings, ResponseCode } from "../../lib/dictionaries/response_code.ts";
import { conformancePage } from "./conformance.ts";
import { FieldComments } from "../../lib/operations/doc_comments.ts";
import { exampleCall } from "./examples.ts";
import { catalogue, operations } from "../../lib/operations/mod.ts";
import type { AnyOperation } from "../../lib/operations/operation.ts";
import { pushes } from "../../lib/operations/pushes.ts";
import { anchorOf, carriers, fileOf, linkTo, notice, table } from "./markdown.ts";
import { docOf, docOfFamily, sources } from "../../lib/operations/sources.ts";
import type { FieldInfo, FieldsInfo, ValueType } from "../../lib/operations/types.ts";

const comments = new FieldComments(sources);
const tableNames = new Map<Dictionary, string>(
  Object.entries(dictionaries).map(([name, table]) => [table, name]),
);

/** Source texts for the pages that are not part of the catalogue. */
interface ReferenceSources {
  /** Text of the module with the error classes. */
  errors: string;
  /** Texts of the test files of the conformance suite, by file name. */
  suite: ReadonlyMap<string, string>;
}

/** Returns every reference page by file name. */
export function referencePages({ errors, suite }: ReferenceSources): Map<string, string> {
  const pages = new Map<string, string>([["README.md", indexPage()]]);
  for (const [family, entries] of Object.entries(catalogue)) {
    pages.set(`${fileOf(family)}.md`, familyPage(family, Object.values<AnyOperation>(entries)));
  }
  pages.set("pushes.md", pushesPage());
  pages.set("dictionaries.md", dictionariesPage());
  pages.set("errors.md", errorsPage(errors));
  pages.set("conformance.md", conformancePage(suite));
  return pages;
}

function indexPage(): string {
  const rows = [...operations.values()].map((operation) => {
    const { gateway, direct } = carriers(operation);
    return [
      linkTo(operation),
      `\`${operation.wire}\``,
      operation.effect,
      gateway,
      direct,
      operation.needs === "nothing" ? "" : operation.needs,
      operation.extra ? "no" : "yes",
      operation.source,
    ];
  });
  const families = Object.keys(catalogue).map((family) =>
    `- [${family}](${fileOf(family)}.md): ${docOfFamily(family)}`
  );
  return [
    notice,
    "# Reference",
    "The table below lists every operation with its hsgate name and the broker's name (wire name). The column *Effect* has " +
    "three values. A *write* changes something at the broker, and the client never repeats it automatically. A *session* " +
    "call changes only the login or the pushes. A *read* either has days as parameters, or returns the state at the time " +
    "of the call; the section of the operation says which. A recipe cannot use a read of the present state for " +
    "[a slot whose day is over](../runner.md#the-day-of-a-slot).",
    "The column *Needs* names the login that the call requires. `trade-login` is the login of `account.login`. " +
    "`platform-login` is made by the gateway program, or by the direct transport itself.",
    "Decimals and 64-bit integers are text, so that no digit is lost. Dates are written `2025-08-15` and times " +
    "`09:30:05`, in the exchange's time zone.",
    "In an answer, a member that the broker omits or sends as `null` is absent; it never becomes zero. There is one " +
    "exception: over the socket and in pushes, an omitted number is zero and an omitted flag is false, because the " +
    "message format defines this. An omitted list is empty, because servers omit empty lists. These answers cause an error (`ProtocolError` for a read, " +
    "`OutcomeUnknownError` for a write): a list that is `null`, an answer without any known member, and a row without its " +
    "required members.",
    [
      ...families,
      "- [pushes](pushes.md): messages that the broker sends without a request",
      "- [dictionaries](dictionaries.md): the code tables",
      "- [errors](errors.md): the error classes",
      "- [recipes](recipes.md): every field of a recipe, every schedule, every step",
      "- [commands](commands.md): the command line",
      "- [conformance](conformance.md): which transport carries which operation, and what the tests compare",
    ].join("\n"),
    "## Operations",
    table(
      ["Operation", "Wire name", "Effect", "Gateway", "Direct", "Needs", "In the API document", "Source"],
      rows,
    ),
  ].join("\n\n");
}

function familyPage(family: string, entries: readonly AnyOperation[]): string {
  return [notice, `# ${family}`, docOfFamily(family) ?? "", ...entries.map(operationSection)].join("\n\n");
}

function operationSection(operation: AnyOperation): string {
  const doc = docOf(operation.name);
  if (doc === undefined) {
    throw new TypeError(`Cannot write reference: "${operation.name}" has no doc comment`);
  }
  const { gateway, direct } = carriers(operation);
  const facts = [
    `- Wire name: \`${operation.wire}\``,
    `- Effect: ${operation.effect}; needs ${operation.needs}`,
    ...answersNow(operation),
    ...proven(operation),
    `- Gateway: ${gateway}; direct: ${direct}`,
    ...(operation.variantOf ? [`- A named special case of \`${operation.variantOf}\``] : []),
    ...(operation.paging ? [`- Answers in pages, by ${operation.paging.style}`] : []),
    `- Source: ${operation.source}${operation.extra ? " (beyond the API document)" : ""}`,
  ];
  const example = exampleCall(operation);
  return [
    `## ${operation.name}`,
    doc,
    facts.join("\n"),
    "### Parameters",
    parameters(operation),
    "### Answer",
    answer(operation),
    ...(example === undefined ? [] : ["### Example", `\`\`\`ts ignore\n${example}\n\`\`\``]),
  ].join("\n\n");
}

/** Returns a line for an operation that returns the present state. The line also names the operation for past days. */
function answersNow({ answers, instead }: AnyOperation): string[] {
  if (answers === undefined) return [];
  const other = instead === undefined ? undefined : operations.get(instead);
  return [
    `- Returns the state at the time of the call${
      other === undefined ? "" : `; for a past day use ${linkTo(other)}`
    }`,
  ];
}

/** Returns a line with the lists that show the outcome of a write whose answer was lost. */
function proven(operation: AnyOperation): string[] {
  if (operation.provenBy === undefined) return [];
  const links = operation.provenBy.map(({ lists, when }) => {
    const names = lists.map((name) => linkTo(operations.get(name)!)).join(", "); // a test checks that each list is in the catalogue
    return when === undefined ? names : `${names} for ${when.what}`;
  });
  return [
    `- After a lost answer look in: ${
      links.length === 0 ? "the broker's app, because no list shows it" : links.join("; ")
    }`,
  ];
}

interface Row {
  name: string;
  info: FieldInfo;
  meaning: string;
}

/** Returns fields with their nested fields, such as `security.symbol` after `security`. */
function flatten(place: string, fields: FieldsInfo, prefix = ""): Row[] {
  return Object.entries(fields).flatMap(([name, info]) => {
    const inner = info.type.fields;
    const mark = inner !== undefined && isList(info.type) ? "[]" : "";
    const fee = FeeItem.entries.find((entry) => entry.name === name && entry.code === info.wire);
    const meaning = comments.of(place, name, fields) ?? fee?.label ?? "";
    return [
      { name: prefix + name, info, meaning },
      ...(inner === undefined ? [] : flatten(`${place}.${name}`, inner, `${prefix}${name}${mark}.`)),
    ];
  });
}

const isList = (type: ValueType<unknown>) => type.name.startsWith("list of ");

function parameters(operation: AnyOperation): string {
  const rows = flatten(`${operation.name}.request`, operation.request.fields ?? {});
  if (rows.length === 0) return "None.";
  return table(
    ["Name", "Wire name", "Type", "Required", "Meaning"],
    rows.map(({ name, info, meaning }) => [
      `\`${name}\``,
      `\`${info.wire}\``,
      typeText(info.type, true),
      info.fallback !== undefined ? `no, \`${JSON.stringify(info.fallback)}\`` : info.optional ? "no" : "yes",
      withGap(meaning, info),
    ]),
  );
}

function answer(operation: AnyOperation): string {
  const { response } = operation;
  const list = response.fields?.rows;
  const place = `${operation.name}.response`;
  if (response.fields?.record !== undefined) return answerTable(place, response.fields.record.type.fields!);
  if (list === undefined || !("rows" in response)) {
    if (response.fields === undefined) return `A ${response.name}.`;
    return Object.keys(response.fields).length === 0 ? "Nothing." : answerTable(place, response.fields);
  }
  if (list.type.fields === undefined) return `A list under \`${list.wire}\`: ${typeText(list.type, false)}.`;
  return `A list of the following rows (wire name \`${list.wire}\`):\n\n${
    answerTable(place, list.type.fields)
  }`;
}

function answerTable(place: string, fields: FieldsInfo): string {
  return table(
    ["Name", "Wire name", "Type", "Meaning"],
    flatten(place, fields).map(({ name, info, meaning }) => [
      `\`${name}\``,
      `\`${info.wire}\``,
      typeText(info.type, false) + (info.key ? ", always present" : ""),
      withGap(meaning.replace(/^@deprecated (.*)$/s, "**Deprecated.** $1"), info),
    ]),
  );
}

const withGap = (meaning: string, { gap }: FieldInfo) =>
  gap === undefined ? meaning : `${meaning.replace(/[^.]$/, "$&.")} Not on the socket: ${gap}.`.trim();

/** Returns the type of a value in words; for a parameter, with the allowed values. */
function typeText(type: ValueType<unknown>, isSent: boolean): string {
  const { dictionary } = type;
  if (dictionary === undefined) {
    return type.fields === undefined ? type.name : isList(type) ? "list" : "record";
  }
  const name = tableNames.get(dictionary) ?? dictionary.wire;
  const link = `[${name}](dictionaries.md#${anchorOf(name)})`;
  const allowed = /^one of (.*)$/.exec(type.expected)?.[1]?.split(", ") ?? [];
  const isNarrow = allowed.length < dictionary.entries.length || allowed.length <= 8;
  const names = isSent && isNarrow ? `: ${allowed.map((each) => `\`${each}\``).join(", ")}` : "";
  return `${isList(type) ? "list of " : ""}${link}${names}`;
}

function pushesPage(): string {
  const sections = Object.values(pushes).map(({ type, notify, message, payload, conflate }) =>
    [
      `## ${type}`,
      `Wire message \`${message}\`. Names of its type numbers: ${
        notify.map((name) => `\`${name}MsgType\``).join(", ")
      }. ` +
      (conflate
        ? "A newer value of the same security may replace an older one when the reader is slow."
        : type === "tick"
        ? "If the reader is slow and 100,000 ticks wait, further ticks are dropped, and a `dropped` event counts them."
        : "Every push is delivered."),
      answerTable(`push.${type}`, payload.fields ?? {}),
    ].join("\n\n")
  );
  return [notice, "# Pushes", docOfFamily("pushes") ?? "", ...sections].join("\n\n");
}

/** Returns a paragraph on the meaning of each code for a write. */
function writeCodes(): string {
  const codes = (write: CodeMeaning["write"]) =>
    ResponseCode.entries.filter(({ name }) => codeMeanings[name].write === write)
      .map(({ code }) => `\`${code}\``).join(", ");
  return `After one of these codes, a write was not executed: ${codes("refused")}. After any other code (${
    codes("unknown")
  }, or one that is not listed), after a text without a code and after an HTTP status other than 200 the outcome of a ` +
    "write is unknown. One exception: if the answer contains the text `current time does not allow entrust`, the order " +
    "was rejected, even without a code.";
}

function dictionariesPage(): string {
  const sections = Object.entries(dictionaries).map(([name, { wire, type, source, closed, entries }]) =>
    [
      `## ${name}`,
      `Wire name \`${wire}\`, sent as ${type === "int" ? "a number" : "text"}. Source: ${source}.` +
      (closed ? " The list is complete." : ""),
      entries.length === 0
        ? 'No code is known; every code arrives as `"unlisted:…"`.'
        : table(["Code", "Name", "Meaning"], entries.map((e) => [`\`${e.code}\``, `\`${e.name}\``, e.label])),
      ...(name === "ResponseCode" ? [writeCodes()] : []),
    ].join("\n\n")
  );
  const limits = Object.entries(barDayLimits).map(([interval, days]) => [`\`${interval}\``, `${days}`]);
  return [
    notice,
    "# Dictionaries",
    "Requests accept only names from these tables. Answers may contain other codes: code 9 arrives as `unlisted:9`. " +
    "`Dictionary.encode` converts `unlisted:9` back to `9`.",
    ...sections,
    "## barDayLimits",
    "Maximum number of days in one request for minute bars (API document, section 8).",
    table(["Interval", "Days"], limits),
  ].join("\n\n");
}

/** Matches an error class with its comment and its body. */
const classPattern = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*export class (\w+) extends (\w+) \{([\s\S]*?)\n\}/g;
const memberPattern = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:readonly )?(\w+)\??: ([^;]+);/g;
const oneLine = (comment: string) => comment.replaceAll(/\s*\n\s*\* ?/g, " ").trim();

function errorsPage(source: string): string {
  const sections = [...source.matchAll(classPattern)].map(([, doc = "", name, parent, body = ""]) => {
    const members = [...body.matchAll(memberPattern)].map((
      [, text = "", member, type],
    ) => [`\`${member}\``, `\`${type}\``, oneLine(text)]);
    return [
      `## ${name}`,
      `Extends \`${parent}\`.`,
      oneLine(doc),
      ...(members.length === 0 ? [] : [table(["Member", "Type", "Meaning"], members)]),
    ].join("\n\n");
  });
  if (sections.length === 0) throw new TypeError("Cannot write reference: no error class was found");
  return [
    notice,
    "# Errors",
    "There is one class for each case that a program handles differently. No message contains a password, token, key or phone number.",
    ...sections,
  ].join("\n\n");
}
