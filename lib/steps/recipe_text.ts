/**
 * Texts of recipes: their values, and the line and column that each stands at.
 *
 * @module
 */
import { isCollection, isMap, isPair, isScalar, LineCounter, type Node, parseDocument, visit } from "yaml";
import type { Issue } from "../errors.ts";

/** A place in a text, both counted from 1. */
export interface Place {
  line: number;
  column: number;
}

/** What a text came to. */
export interface RecipeText {
  value: unknown;
  /** Where a member stands, or the nearest one around it: its value, or its name for what is about names. */
  placeOf: (path: Issue["path"], isName?: boolean) => Place;
  /** What is wrong with the text itself. */
  issues: (Place & { message: string })[];
}

/** Reads the text of a recipe in YAML, of which JSON is a part. */
export function readRecipeText(text: string): RecipeText {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: "1.2" });
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const placeOf = (path: Issue["path"], isName = false) => placeAt(offsetOf(document.contents, path, isName));
  // After the first mistake in the text itself the reader stumbles over what it caused.
  const [broken] = document.errors;
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
    },
  });
  return { value: document.toJS({ maxAliasCount: 100 }), placeOf, issues };
}

/** An expression that YAML took for a map of its own. */
function isBareExpression(line: string): boolean {
  return /[{[].*[:,]\s*\$\{\{/.test(line);
}

/** Codes that lost their quotes: 00700 would be the number 700, and long order numbers would be rounded. */
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

function offsetOf(root: Node | null, path: Issue["path"], isName: boolean): number {
  let node: unknown = root;
  let offset = root?.range?.[0] ?? 0;
  for (const [index, step] of path.entries()) {
    if (!isCollection(node)) return offset;
    const pair = isMap(node) ? node.items.find(({ key }) => isScalar(key) && key.value === step) : undefined;
    const inner = isMap(node) ? pair?.value : node.get(step, true);
    if (inner === undefined && pair === undefined) return offset;
    const isLast = index === path.length - 1;
    // The name of a member says more about a map or a list than the place where its first member stands.
    const useName = pair !== undefined && (isScalar(inner) ? isLast && isName : true);
    const shown = useName ? pair!.key : inner;
    // Every node of a parsed document has its range.
    offset = (shown as Node | null)?.range?.[0] ?? offset;
    node = inner;
  }
  return offset;
}

/** Finds the places of a recipe written in TypeScript: nobody parses it here, so names are looked for in order. */
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

/** The offset after the block that starts at an offset. */
function skipBlock(text: string, offset: number): number {
  let depth = 0;
  for (let at = offset; at < text.length; at++) {
    if (text[at] === "{") depth++;
    if (text[at] === "}" && --depth === 0) return at + 1;
  }
  return text.length;
}
