/**
 * YAML of a recipe: values, and the line that each stands on.
 *
 * @module
 */
import { parse } from "@std/yaml";
import type { Issue } from "../errors.ts";

/** What a text came to. */
export interface RecipeText {
  value: unknown;
  /** Line of a member, or of the nearest one around it that can be found. */
  lineOf: (path: Issue["path"]) => number;
  /** What is wrong with the text itself. */
  issues: { line: number; message: string }[];
}

/** Reads the text of a recipe. */
export function readRecipeText(text: string): RecipeText {
  const lineOf = (path: Issue["path"]) => findLine(text, path);
  let value: unknown;
  let plain: unknown;
  try {
    value = parse(text, { schema: "core" });
    plain = parse(text, { schema: "failsafe" });
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const line = Number(/\((\d+):\d+\)|line (\d+)/.exec(error.message)?.slice(1).find(Boolean) ?? 1);
    const message = error.message.split("\n")[0]!.replace(/^Cannot [^:]*: /, "");
    return { value: undefined, lineOf, issues: [{ line, message }] };
  }
  const issues = zerosLost(value, plain, []).map(({ path, text }) => ({
    line: lineOf(path),
    message: `${path.join(".")}: write "${text}" in quotes: without them it is the number ${Number(text)}`,
  }));
  return { value, lineOf, issues };
}

/** Finds numbers whose text starts with a zero: codes that lost their quotes, such as 00700. */
function zerosLost(
  value: unknown,
  plain: unknown,
  path: Issue["path"],
): { path: Issue["path"]; text: string }[] {
  if (typeof value === "number") {
    return typeof plain === "string" && /^[-+]?0\d/.test(plain) ? [{ path, text: plain }] : [];
  }
  if (typeof value !== "object" || value === null || typeof plain !== "object" || plain === null) return [];
  // Both were read from one text, so they have the same members.
  const other = plain as Record<string, unknown>;
  return Object.entries(value).flatMap(([key, each]) =>
    zerosLost(each, other[key], [...path, Array.isArray(value) ? Number(key) : key])
  );
}

/** Walks the lines by their indentation, as the reader of std does not tell where a value stood. */
function findLine(text: string, path: Issue["path"]): number {
  const lines = text.split("\n");
  let [from, to, found] = [0, lines.length, 0];
  for (const step of path) {
    const at = typeof step === "number"
      ? findItem(lines, from, to, step)
      : findKey(lines, from, to, String(step));
    if (at === undefined) return found + 1;
    found = at;
    const next = endOf(lines, at, to);
    [from, to] = [at, next];
  }
  return found + 1;
}

const indentOf = (line: string) => /^[\s-]*/.exec(line)![0].length;
const isContent = (line: string | undefined) =>
  line !== undefined && /\S/.test(line) && !/^\s*(#|---)/.test(line);

function findKey(lines: string[], from: number, to: number, key: string): number | undefined {
  const escaped = key.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = new RegExp(`(^|[\\s{,-])["']?${escaped}["']?\\s*:`);
  for (let at = from; at < to; at++) if (isContent(lines[at]) && pattern.test(lines[at]!)) return at;
  return undefined;
}

function findItem(lines: string[], from: number, to: number, index: number): number | undefined {
  let indent: number | undefined;
  let count = 0;
  for (let at = from + 1; at < to; at++) {
    const dash = isContent(lines[at]) ? /^(\s*)-(\s|$)/.exec(lines[at]!) : null;
    if (dash === null || (indent !== undefined && dash[1]!.length !== indent)) continue;
    indent ??= dash[1]!.length;
    if (count++ === index) return at;
  }
  return undefined;
}

/** The line after the last one that belongs to the value of a line. */
function endOf(lines: string[], at: number, to: number): number {
  const indent = /^\s*-/.test(lines[at]!) ? lines[at]!.search(/\S/) : indentOf(lines[at]!);
  for (let next = at + 1; next < to; next++) {
    const line = lines[next]!;
    if (!isContent(line)) continue;
    const own = line.search(/\S/);
    // A list may stand at the indentation of its own key.
    if (own < indent || (own === indent && !(/^\s*-(\s|$)/.test(line) && !/^\s*-/.test(lines[at]!)))) {
      return next;
    }
  }
  return to;
}
