/**
 * The reference pages as Markdown. Text comes from the doc comments of the catalogue; types, limits and code tables
 * come from the catalogue itself, so that a page cannot say anything else.
 *
 * @module
 */
import { barDayLimits } from "../dictionaries/bar.ts";
import type { Dictionary } from "../dictionaries/dictionary.ts";
import { FeeItem } from "../dictionaries/fee_item.ts";
import { dictionaries } from "../dictionaries/mod.ts";
import { type CodeMeaning, codeMeanings, ResponseCode } from "../dictionaries/response_code.ts";
import { conformancePage } from "./conformance_page.ts";
import { FieldComments } from "./doc_comments.ts";
import { exampleCall } from "./examples.ts";
import { catalogue, operations } from "./mod.ts";
import type { AnyOperation } from "./operation.ts";
import { pushes } from "./pushes.ts";
import { anchorOf, carriers, fileOf, linkTo, notice, table } from "./reference_text.ts";
import { docOf, docOfFamily, sources } from "./sources.ts";
import type { FieldInfo, FieldsInfo, ValueType } from "./types.ts";

const comments = new FieldComments(sources);
const tableNames = new Map<Dictionary, string>(
  Object.entries(dictionaries).map(([name, table]) => [table, name]),
);

/** Texts that pages are made from and that stand outside the catalogue. */
export interface ReferenceSources {
  /** The module of the error classes. */
  errors: string;
  /** Test files of the conformance suite, by their names. */
  suite: ReadonlyMap<string, string>;
}

/** Every reference page by its file name. */
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
      operation.extra ? "beyond it" : "yes",
      operation.source,
    ];
  });
  const families = Object.keys(catalogue).map((family) =>
    `- [${family}](${fileOf(family)}.md): ${docOfFamily(family)}`
  );
  return [
    notice,
    "# Reference",
    "Every operation once, by our name and by the broker's. A *write* is never repeated by itself; a *session* call " +
    "changes the login or the pushes only. A *read* either names its days or answers as of now; its section says which. " +
    "A recipe cannot read what answers as of now for [a slot whose day is over](../runner.md#the-day-of-a-slot).",
    "Decimals and 64-bit whole numbers are text, so that no digit is lost. Dates read `2025-08-15` and times `09:30:05`, " +
    "in the exchange's zone.",
    "In an answer, a member that the broker leaves out or sends as `null` is absent: it is never read as zero. Over the " +
    "socket, and in pushes, a number or a flag that is left out is zero or false, because the messages say so. A list " +
    "that is left out is empty, as servers leave out empty lists. A list that is `null`, an answer without any known " +
    "member, and a row without the members that make it one are errors: `ProtocolError` for a read, " +
    "`OutcomeUnknownError` for a write.",
    [
      ...families,
      "- [pushes](pushes.md): what the broker sends without being asked",
      "- [dictionaries](dictionaries.md): the code tables",
      "- [errors](errors.md): the error classes",
      "- [recipes](recipes.md): every field of a recipe, every schedule, every step",
      "- [commands](commands.md): the command line",
      "- [conformance](conformance.md): which way carries which operation, and what the tests hold it to",
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

/** Says that an answer holds for the moment of the call only, and what to ask for a past day. */
function answersNow({ answers, instead }: AnyOperation): string[] {
  if (answers === undefined) return [];
  const other = instead === undefined ? undefined : operations.get(instead);
  return [`- Answers as of now${other === undefined ? "" : `; for a past day use ${linkTo(other)}`}`];
}

/** Says which lists show what became of a write whose answer was lost. */
function proven(operation: AnyOperation): string[] {
  if (operation.provenBy === undefined) return [];
  const links = operation.provenBy.map(({ lists, when }) => {
    const names = lists.map((name) => linkTo(operations.get(name)!)).join(", "); // a test holds each against the catalogue
    return when === undefined ? names : `${names} for ${when.what}`;
  });
  return [
    `- After a lost answer look in: ${
      links.length === 0 ? "the broker's app, as no list shows it" : links.join("; ")
    }`,
  ];
}

interface Row {
  name: string;
  info: FieldInfo;
  meaning: string;
}

/** Fields with those inside them, `security.symbol` below `security`. */
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
  return `A list, on the wire under \`${list.wire}\`, of:\n\n${answerTable(place, list.type.fields)}`;
}

function answerTable(place: string, fields: FieldsInfo): string {
  return table(
    ["Name", "Wire name", "Type", "Meaning"],
    flatten(place, fields).map(({ name, info, meaning }) => [
      `\`${name}\``,
      `\`${info.wire}\``,
      typeText(info.type, false) + (info.key ? ", always there" : ""),
      withGap(meaning.replace(/^@deprecated (.*)$/s, "**Deprecated.** $1"), info),
    ]),
  );
}

const withGap = (meaning: string, { gap }: FieldInfo) =>
  gap === undefined ? meaning : `${meaning} Not on the socket: ${gap}.`.trim();

/** The type of a value; for what is sent, with what is allowed. */
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
      `On the wire \`${message}\`, numbered ${notify.map((name) => `\`${name}MsgType\``).join(", ")}. ` +
      (conflate
        ? "A newer value of the same security may replace an older one when the reader is slow."
        : "Every one is delivered."),
      answerTable(`push.${type}`, payload.fields ?? {}),
    ].join("\n\n")
  );
  return [notice, "# Pushes", docOfFamily("pushes") ?? "", ...sections].join("\n\n");
}

/** Says what each code means for a write. */
function writeCodes(): string {
  const codes = (write: CodeMeaning["write"]) =>
    ResponseCode.entries.filter(({ name }) => codeMeanings[name].write === write)
      .map(({ code }) => `\`${code}\``).join(", ");
  return `These codes refuse a write before it is executed: ${codes("refused")}. After any other code (${
    codes("unknown")
  }, or one that is not listed), after a text without a code and after an HTTP status other than 200 the outcome of a ` +
    "write is unknown. The text `current time does not allow entrust` refuses an order with or without a code.";
}

function dictionariesPage(): string {
  const sections = Object.entries(dictionaries).map(([name, { wire, type, source, closed, entries }]) =>
    [
      `## ${name}`,
      `On the wire \`${wire}\`, ${type === "int" ? "a number" : "text"}. Source: ${source}.` +
      (closed ? " The list is complete." : ""),
      entries.length === 0
        ? 'No code is known; each arrives as `"unlisted:…"`.'
        : table(["Code", "Name", "Meaning"], entries.map((e) => [`\`${e.code}\``, `\`${e.name}\``, e.label])),
      ...(name === "ResponseCode" ? [writeCodes()] : []),
    ].join("\n\n")
  );
  const limits = Object.entries(barDayLimits).map(([interval, days]) => [`\`${interval}\``, `${days}`]);
  return [
    notice,
    "# Dictionaries",
    "Code tables are closed going out and open coming in: a code that no table lists arrives as `unlisted:9` and is " +
    "sent back as `9`.",
    ...sections,
    "## barDayLimits",
    "Most days that one request for minute bars may ask for (API document, section 8).",
    table(["Interval", "Days"], limits),
  ].join("\n\n");
}

/** One class of an error module, with its comment and the comments of its members. */
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
    "One class per thing that a caller would do differently. No message holds a password, token, key or phone number.",
    ...sections,
  ].join("\n\n");
}
