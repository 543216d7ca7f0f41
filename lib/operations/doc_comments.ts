/**
 * Reads the doc comments of the catalogue's source files. The reference pages and the command line show these
 * comments as the descriptions of operations and fields.
 *
 * @module
 */
import type { FieldsInfo } from "./types.ts";

/** A described name in a source file: an operation, a field, or a constant that defines one. */
export interface Member {
  /** Path of the containing object: `orders.place.request`, `orderFields`, or empty for a constant of the module. */
  readonly container: string;
  /** hsgate's name. */
  readonly name: string;
  /** The wire name, for fields. */
  wire?: string;
  /** Name of the constant that defines the member, if it is written as `symbol` or `symbol: contract`. */
  readonly refersTo?: string;
  /** The doc comment, with each paragraph on one line. */
  doc?: string;
}

const tokenPattern =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|[A-Za-z_$][\w$]*|\.\.\.|=>|[^\s]/g;
const isName = (token: string | undefined) => token !== undefined && /^[A-Za-z_$]/.test(token);

/**
 * Returns the members of object literals and the constants of a module, with the comments above them. This scan
 * only matches brackets and does not parse TypeScript, so it requires the layout of the catalogue's source files.
 */
function scanMembers(source: string): Member[] {
  const members: Member[] = [];
  const labels: string[] = [];
  let constant = "";
  let pending = "";
  let doc: string | undefined;
  const all = source.match(tokenPattern) ?? [];
  const tokens = all.filter((token) => !/^\/[/*]/.test(token) || token.startsWith("/**"));
  const container = () => [constant, ...labels].filter((label) => label !== "").join(".");

  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!;
    const next = tokens[at + 1];
    if (token.startsWith("/**")) doc = readComment(token);
    else if (token === "const" && labels.length === 0) {
      constant = next!;
      const call = tokens.indexOf("=", at);
      members.push({ container: "", name: constant, ...fieldCall(tokens, call + 1), ...(doc && { doc }) });
      doc = undefined;
    } else if (token === "function" && labels.length === 0) {
      constant = next!;
      doc = undefined;
    } else if (/^[({[]$/.test(token)) {
      labels.push(pending);
      pending = "";
    } else if (/^[)}\]]$/.test(token)) {
      labels.pop();
      pending = "";
    } else if (/^[,;]$/.test(token)) {
      pending = "";
      if (token === ";") doc = undefined;
    } else if (isName(token) && /^[{,]$/.test(before(tokens, at)) && labels.length > 0 && constant !== "") {
      const named = next === ":";
      if (named || next === "," || next === "}") {
        const found = named ? fieldCall(tokens, at + 2) : { refersTo: token };
        members.push({ container: container(), name: token, ...found, ...(doc && { doc }) });
      }
      if (named) pending = token;
      doc = undefined;
    }
  }
  for (const member of members) {
    if (member.refersTo === undefined) continue;
    const target = members.find(({ container, name }) => container === "" && name === member.refersTo);
    member.wire ??= target?.wire;
    member.doc ??= target?.doc;
  }
  return members;
}

/** Returns the previous token that is not a comment. */
function before(tokens: readonly string[], at: number): string {
  let back = at - 1;
  while (back >= 0 && tokens[back]!.startsWith("/**")) back--;
  return tokens[back] ?? "";
}

/** Returns the definition of a name: the wire name of `field("stockCode", …)`, or the name of a constant. */
function fieldCall(tokens: readonly string[], at: number): Pick<Member, "wire" | "refersTo"> {
  const [callee, bracket, first] = tokens.slice(at, at + 3);
  if (/^(field|key|optional)$/.test(callee ?? "") && bracket === "(" && first?.startsWith('"')) {
    return { wire: first.slice(1, -1) };
  }
  return isName(callee) && bracket !== undefined && /^[,;}]$/.test(bracket) ? { refersTo: callee! } : {};
}

function readComment(token: string): string {
  const lines = token.slice(3, -2).split("\n").map((line) => line.replace(/^\s*\* ?/, "").trim());
  return lines.join("\n").trim().replaceAll(/([^\n])\n(?=[^\n@])/g, "$1 ");
}

/**
 * Returns the doc comments of a source file by path: `orders.place`, `orders.place.request.quantity`,
 * `orderFields.symbol`.
 */
export function readDocComments(source: string): Map<string, string> {
  const described = scanMembers(source).filter(({ doc }) => doc !== undefined);
  return new Map(described.reverse().map(({ container, name, doc }) => [join(container, name), doc!]));
}

const join = (container: string, name: string) => container === "" ? name : `${container}.${name}`;

/** Finds the comments of fields in all source files of the catalogue. */
export class FieldComments {
  readonly #containers = new Map<string, Map<string, Member>>();
  readonly #constants = new Map<string, Member>();

  constructor(sources: Readonly<Record<string, string>>) {
    const members = Object.entries(sources).flatMap(([file, source]) =>
      scanMembers(source).map((member) => ({ file, member }))
    );
    for (const { member } of members) {
      if (member.container === "" && !this.#constants.has(member.name)) {
        this.#constants.set(member.name, member);
      }
    }
    for (const { file, member } of members) {
      const target = this.#constants.get(member.refersTo ?? "");
      member.wire ??= target?.wire;
      member.doc ??= target?.doc;
      // Paths of operations are unique; constants in two files may have the same name.
      const name = member.container.includes(".") ? member.container : `${file} ${member.container}`;
      const inside = this.#containers.get(name) ?? new Map<string, Member>();
      // A later member of the same name is a local variable of a function.
      if (!inside.has(member.name)) inside.set(member.name, member);
      this.#containers.set(name, inside);
    }
  }

  /**
   * Returns the description of a field. Uses the comment in the operation itself if there is one. Otherwise uses the
   * comment in the set of fields that is most similar to the record.
   *
   * @param place Path of the record, such as `orders.place.request`.
   */
  of(place: string, name: string, record: FieldsInfo): string | undefined {
    const own = this.#containers.get(place)?.get(name);
    if (own !== undefined && own.wire === record[name]!.wire) return own.doc;
    let best: { likeness: number; doc: string | undefined } = { likeness: 0, doc: undefined };
    for (const [path, members] of this.#containers) {
      // Ignore the comments of other operations' parameters.
      if (path.includes(".") && !path.startsWith(`${place}.`)) continue;
      const member = members.get(name);
      if (member === undefined || member.wire !== record[name]!.wire) continue;
      const shared = Object.keys(record).filter((each) =>
        members.get(each)?.wire === record[each]!.wire
      ).length;
      const likeness = shared / (members.size + Object.keys(record).length - shared);
      if (likeness > best.likeness) best = { likeness, doc: member.doc };
    }
    return best.doc;
  }
}
