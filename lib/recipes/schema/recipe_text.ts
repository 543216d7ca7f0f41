/**
 * Parses the text of a recipe into values, and finds the line and column of each.
 *
 * @module
 */
import type { LineCounter as Lines, Node, Pair, Scalar } from "yaml";
import { yaml } from "../../std/yaml_document.ts";
import type { Issue } from "../../errors.ts";
import { jsonFault } from "../../json_text.ts";

const { isAlias, isCollection, isMap, isPair, isScalar, LineCounter, parseDocument, visit } = yaml;

/** A line and a column, both counted from 1. */
interface Place {
  line: number;
  column: number;
}

/**
 * A place inside the text of a member. `part` is a text that the member contains, such as an expression; `offset`
 * counts from its start.
 */
interface Within {
  part: string;
  offset: number;
}

/** Result of parsing a text. */
export interface RecipeText {
  value: unknown;
  /**
   * Returns the place of a member's value. With `isName`, and for a map or a list, returns the place of the member's
   * name. If the member is absent, returns the place of the nearest outer member.
   */
  placeOf: (path: Issue["path"], isName?: boolean, within?: Within) => Place;
  /** Syntax mistakes of the text. */
  issues: (Place & { message: string })[];
}

/** Parses the text of a recipe in YAML, which includes JSON. */
export function readRecipeText(text: string): RecipeText {
  const lines = new LineCounter();
  const document = parseText(text, lines);
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const placeOf: RecipeText["placeOf"] = (path, isName = false, within) => {
    const [start, end] = rangeOf(document.contents, path, isName);
    return placeAt(
      within === undefined ? start : start + (offsetWithin(text.slice(start, end), within) ?? 0),
    );
  };
  // After the first syntax error, further errors are often only its consequences.
  const [broken] = document.errors;
  if (broken !== undefined && /call stack/.test(broken.message)) {
    const place = placeAt(deepestIn(text));
    return { value: undefined, placeOf, issues: [{ ...place, message: tooDeep }] };
  }
  if (broken !== undefined) {
    const place = placeAt(broken.pos[0]);
    const hint = isBareExpression(text.split("\n")[place.line - 1] ?? "")
      ? '; within { } or [ ] an expression needs quotes: "${{ … }}"'
      : "";
    const message = `${broken.message.split("\n")[0]}${hint}`;
    return { value: undefined, placeOf, issues: [{ ...place, message }] };
  }
  const issues = document.warnings.map(({ message, pos }) => ({
    ...placeAt(pos[0]),
    message: message.split("\n")[0]!,
  }));
  visit(document, {
    Scalar(_, node, ancestors) {
      const { source, value } = node;
      if (typeof value !== "number" || source === undefined || !losesDigits(source, value)) return;
      const path = pathOf(ancestors, node);
      issues.push({
        ...placeAt(node.range?.[0] ?? 0),
        message: `${path}write "${source}" in quotes: without them it is the number ${value}`,
      });
      if (issues.length >= MOST_ISSUES) return visit.BREAK;
    },
  });
  const wrong = wrongNode(document);
  if (wrong !== undefined) {
    const { offset, message } = wrong;
    return { value: undefined, placeOf, issues: [...issues, { ...placeAt(offset), message }] };
  }
  return { value: document.toJS({ maxAliasCount: -1 }), placeOf, issues };
}

/**
 * Returns the offset of a place inside a part of a written text, even if the part covers several lines or has escaped
 * quotes. The time is proportional to the length of the text.
 */
function offsetWithin(written: string, { part, offset }: Within): number | undefined {
  const text = bareOf(written);
  const wanted = bareOf(part);
  const start = firstIndexOf(text.signs, wanted.signs);
  if (start < 0) return undefined;
  const index = wanted.offsets.findIndex((each) => each >= offset);
  // If no index is found, the place is the end of the part.
  return index < 0 ? text.offsets[start + wanted.offsets.length - 1]! + 1 : text.offsets[start + index];
}

/** Returns the characters of a text and their offsets. Omits backslashes and repeated blanks or apostrophes. */
function bareOf(text: string): { signs: string[]; offsets: number[] } {
  const signs: string[] = [];
  const offsets: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const sign = /\s/.test(text[at]!) ? " " : text[at]!;
    if (sign === "\\" || (sign === " " || sign === "'") && signs.at(-1) === sign) continue;
    signs.push(sign);
    offsets.push(at);
  }
  return { signs, offsets };
}

/**
 * Returns the index of a list of characters in another list; -1 if it is not there (algorithm of Knuth, Morris and
 * Pratt).
 */
function firstIndexOf(signs: readonly string[], wanted: readonly string[]): number {
  /**
   * For each index of `wanted`: the length of the longest prefix of `wanted` that also ends at this index. The prefix
   * that is the whole text up to the index does not count.
   */
  const borders = [0];
  const next = (length: number, sign: string | undefined): number => {
    while (length > 0 && wanted[length] !== sign) length = borders[length - 1]!;
    return wanted[length] === sign ? length + 1 : 0;
  };
  for (let at = 1; at < wanted.length; at++) borders.push(next(borders[at - 1]!, wanted[at]));
  for (let at = 0, length = 0; at < signs.length; at++) {
    length = next(length, signs[at]);
    if (length === wanted.length) return at - length + 1;
  }
  return -1;
}

function parseText(text: string, lineCounter: Lines) {
  // The package's own check would compare each name of a map with all other names. `wrongNode` uses a lookup instead.
  return parseDocument(text, { lineCounter, prettyErrors: false, version: "1.2", uniqueKeys: false });
}

/** Maximum number of mistakes that are reported for one text. */
const MOST_ISSUES = 100;
/** Maximum number of values that aliases may expand to. A few lines with aliases could otherwise exceed any memory. */
const MOST_COPIES = 1000;
/** Maximum number of aliases, because the package searches the whole text for each alias. */
const MOST_ALIASES = 100;
/** Deepest nesting of maps and lists. */
const MOST_LEVELS = 50;

const tooDeep = `maps and lists are nested deeper than the maximum of ${MOST_LEVELS} levels`;

/**
 * Returns the place of the mistake in a text that is nested too deeply to parse: the offset at which the text reaches
 * the deepest allowed level. If it never reaches that level, returns the offset of its most deeply nested bracket.
 */
function deepestIn(text: string): number {
  let [level, deepest, offset] = [0, 0, 0];
  for (const { index, 0: sign } of text.matchAll(/[[{\]}]/g)) {
    level = Math.max(0, level + (sign === "[" || sign === "{" ? 1 : -1));
    if (level > deepest) [deepest, offset] = [level, index];
    if (level >= MOST_LEVELS) break;
  }
  return offset;
}

/**
 * Returns the first duplicate name of a map, the first value that is nested too deeply, or the first alias that refers
 * to nothing, to a value that contains it, or to too many values.
 */
function wrongNode(document: ReturnType<typeof parseText>): { offset: number; message: string } | undefined {
  /** Number of values of each anchor, with its aliases expanded; `undefined` while the anchor is being read. */
  const sizes = new Map<string, number | undefined>();
  let [copies, aliases] = [0, 0];
  let wrong: { offset: number; message: string } | undefined;
  const refuseAt = (node: unknown, message: string) =>
    wrong ??= { offset: (node as Node | null)?.range?.[0] ?? 0, message };
  const sizeOf = (node: unknown, level: number): number => {
    if (wrong !== undefined) return 0;
    if (isAlias(node)) {
      const size = sizes.get(node.source);
      const refuse = (message: string) => refuseAt(node, message);
      if (!sizes.has(node.source)) refuse(`there is no "&${node.source}" before this "*${node.source}"`);
      else if (size === undefined) refuse(`"*${node.source}" is inside the value that it refers to`);
      else if (++aliases > MOST_ALIASES) {
        refuse(`there are more than ${MOST_ALIASES} aliases: write values out`);
      } else if ((copies += size) > MOST_COPIES) {
        refuse(`aliases such as "*${node.source}" expand to more than ${MOST_COPIES} values: write them out`);
      }
      return size ?? 0;
    }
    const { anchor } = isScalar(node) || isCollection(node) ? node : {};
    if (anchor !== undefined) sizes.set(anchor, undefined);
    if (isCollection(node) && level > MOST_LEVELS) refuseAt(node, tooDeep);
    if (isMap(node)) {
      const alias = node.items.map(({ key }) => key).find((key) => isAlias(key));
      if (alias !== undefined) refuseAt(alias, `"*${alias.source}" cannot be a name: write the name out`);
      const twice = repeatedKey(node.items);
      if (twice !== undefined) refuseAt(twice, `the map has "${twice.value}" twice: names must be unique`);
    }
    const items: unknown[] = isCollection(node) ? node.items : isPair(node) ? [node.key, node.value] : [];
    const inner = isCollection(node) ? level + 1 : level;
    const size = items.reduce<number>((sum, item) => sum + sizeOf(item, inner), 1);
    if (anchor !== undefined) sizes.set(anchor, size);
    return size;
  };
  sizeOf(document.contents, 1);
  return wrong;
}

function repeatedKey(pairs: readonly Pair[]): Scalar | undefined {
  const seen = new Set<string>();
  for (const { key } of pairs) {
    if (!isScalar(key)) continue;
    const name = String(key.value ?? ""); // in an object, 1 and "1" are the same name, and so are ~ and ""
    if (seen.has(name)) return key;
    seen.add(name);
  }
  return undefined;
}

/** Returns what is wrong with a text that must be JSON, and where. */
export function jsonProblem(text: string): (Place & { message: string }) | undefined {
  const fault = jsonFault(text);
  if (fault === undefined) return undefined;
  const before = text.slice(0, fault.offset).split("\n");
  const message = `this is not JSON: ${fault.reason}`;
  return { line: before.length, column: before.at(-1)!.length + 1, message };
}

/** Returns whether a line has an expression without quotes inside { } or [ ], which YAML reads as a map. */
function isBareExpression(line: string): boolean {
  const opening = line.search(/[{[]/);
  return opening >= 0 && /[:,]\s*\$\{\{/.test(line.slice(opening));
}

/** Returns whether a number without quotes loses digits: 00700 becomes 700, and long order numbers are rounded. */
function losesDigits(source: string, value: number): boolean {
  return /^[-+]?0\d/.test(source) || (/^[-+]?\d+$/.test(source) && !Number.isSafeInteger(value));
}

function pathOf(ancestors: readonly unknown[], node: unknown): string {
  const steps = ancestors.flatMap((ancestor, index) => {
    const child = ancestors[index + 1] ?? node;
    if (isPair(ancestor)) return isScalar(ancestor.key) ? [String(ancestor.key.value)] : [];
    if (isCollection(ancestor) && !isMap(ancestor)) return [String(ancestor.items.indexOf(child))];
    return [];
  });
  return steps.length === 0 ? "" : `${steps.join(".")}: `;
}

/** Returns the first offset of the text to show for a member (see `placeOf`), and the offset after that text. */
function rangeOf(root: Node | null, path: Issue["path"], isName: boolean): readonly [number, number] {
  let node: unknown = root;
  let range = offsetsOf(root) ?? [0, 0];
  for (const [index, step] of path.entries()) {
    if (!isCollection(node)) return range;
    const pair = isMap(node) ? node.items.find(({ key }) => isScalar(key) && key.value === step) : undefined;
    const inner = isMap(node) ? pair?.value : node.get(step, true);
    if (inner === undefined && pair === undefined) return range;
    const isLast = index === path.length - 1;
    // For a map or a list, use the name of the member, which is a better place than the first value.
    const useName = pair !== undefined && (isScalar(inner) ? isLast && isName : true);
    const shown = useName ? pair!.key : inner;
    range = offsetsOf(shown) ?? range;
    node = inner;
  }
  return range;
}

/** Returns the first offset of a node, and the offset after it. Every node of a parsed document has them. */
function offsetsOf(node: unknown): readonly [number, number] | undefined {
  const [start, end] = (node as Node | null | undefined)?.range ?? [];
  return start === undefined || end === undefined ? undefined : [start, end];
}

/** Finds places in a TypeScript recipe. The text is not parsed; names are searched one after the other. */
export function placesInCode(text: string): RecipeText["placeOf"] {
  return (path) => {
    let offset = 0;
    let found = 0;
    for (const [index, step] of path.entries()) {
      if (typeof step === "number") {
        for (let item = 0; item < step + 1; item++) {
          const next = text.indexOf("{", item === 0 ? offset : skipBlock(text, offset));
          if (next < 0) break;
          found = offset = next;
        }
        if (index < path.length - 1) offset++;
        continue;
      }
      const at = text.slice(offset).search(new RegExp(`(^|[\\s{,"'])${RegExp.escape(step)}["']?\\s*:`));
      if (at < 0) break;
      found = offset = offset + at + (/[\s{,"']/.test(text[offset + at] ?? "") ? 1 : 0);
    }
    const before = text.slice(0, found).split("\n");
    return { line: before.length, column: before.at(-1)!.length + 1 };
  };
}

/** Returns the offset after the block that starts at an offset. */
function skipBlock(text: string, offset: number): number {
  let depth = 0;
  for (let at = offset; at < text.length; at++) {
    if (text[at] === "{") depth++;
    if (text[at] === "}" && --depth === 0) return at + 1;
  }
  return text.length;
}
