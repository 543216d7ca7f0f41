/**
 * Explains the mistakes that a schema finds, and suggests the nearest valid name.
 *
 * @module
 */
import * as z from "zod";
import { didYouMean } from "../../client/nearest.ts";
import type { Issue } from "../../errors.ts";
import { MOST_ISSUES } from "../recipe_error.ts";

/** A mistake in a recipe, by path. */
export interface Mistake {
  path: Issue["path"];
  /** The text after the path. */
  message: string;
  /** Whether the mistake is in the member's name instead of its value. */
  isName?: true;
  /** Place inside the member's text: an offset from the start of one of its parts. */
  within?: { part: string; offset: number };
}

/** Returns a mistake that says what was expected instead of a value. */
export const expected = (path: Issue["path"], text: string): Mistake => ({
  path,
  message: `expected ${text}`,
});

/** Checks a value against a schema and explains the mistakes, up to the limit. */
export function checkSchema(schema: z.ZodType, value: unknown): Mistake[] {
  const result = schema.safeParse(value);
  if (result.success) return [];
  let node: Node | undefined;
  const memberNames = (path: Issue["path"]) =>
    membersAt(node ??= z.toJSONSchema(schema, { io: "input" }) as Node, path);
  return result.error.issues.slice(0, MOST_ISSUES)
    .flatMap((issue) => explain(issue, value, [], memberNames)).slice(0, MOST_ISSUES);
}

function explain(
  issue: z.core.$ZodIssue,
  value: unknown,
  before: Issue["path"],
  memberNames: (path: Issue["path"]) => string[],
): Mistake[] {
  const path = [...before, ...issue.path.map((step) => typeof step === "symbol" ? String(step) : step)];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.slice(0, MOST_ISSUES).map((key) => {
        const names = memberNames(path);
        if (names.includes(key)) {
          // The schema has this member, but only in another form of the union.
          const given = valueAt(value, path);
          const others = Object.keys(typeof given === "object" ? given ?? {} : {}).filter((each) =>
            each !== key
          );
          const message = `cannot be used together with ${others.map((each) => `"${each}"`).join(", ")}`;
          return { path: [...path, key], message, isName: true };
        }
        const hint = didYouMean(key, names) || (names.length === 0 ? "" : `; there are ${names.join(", ")}`);
        return { path: [...path, key], message: `no such member${hint}`, isName: true };
      });
    case "invalid_type":
      return [expected(path, typeText(issue, issue.expected === "object" ? memberNames(path) : []))];
    case "invalid_value": {
      const names = issue.values.map((each) => JSON.stringify(each));
      const given = valueAt(value, path);
      const hint = typeof given === "string" ? didYouMean(given, issue.values.map(String)) : "";
      return [expected(path, `${names.length === 1 ? "" : "one of "}${names.join(", ")}${hint}`)];
    }
    case "invalid_union": {
      if (issue.errors.length === 0) return [expected(path, "another value")];
      // Use the form that matches the value best.
      const best = issue.errors.toSorted((a, b) => misfit(a) - misfit(b))[0]!;
      if (best.every(({ code, path: inner }) => code === "invalid_type" && inner.length === 0)) {
        const words = issue.errors.flatMap((errors) => errors.map((each) => wordsOf(each)));
        return [expected(path, [...new Set(words)].join(", or "))];
      }
      return best.flatMap((inner) => explain(inner, value, path, memberNames));
    }
    case "invalid_key":
      return issue.issues.flatMap((inner) => expected(path, wordsOf(inner)));
    case "too_small":
    case "too_big":
      return [expected(path, sizeWords(issue))];
    default:
      return [expected(path, issue.message)];
  }
}

/** Returns how badly a value fits a form. The form with the lowest number is most likely the intended form. */
function misfit(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce((sum, issue) => {
    if (issue.path.length === 0 && issue.code === "invalid_type") return sum + 100;
    if (issue.path.length === 0 && issue.code === "invalid_value") return sum + 50;
    if (issue.code === "unrecognized_keys") return sum + 3 * issue.keys.length;
    if (issue.code === "invalid_union") return sum + Math.min(...issue.errors.map(misfit), 100);
    return sum + 1;
  }, 0);
}

function typeText({ expected, message }: z.core.$ZodIssueInvalidType, names: readonly string[] = []): string {
  // If the schema has its own message, use that message.
  if (!/^Invalid/.test(message)) return message;
  return `${typeWords[expected] ?? expected}${names.length === 0 ? "" : `: ${names.join(", ")}`}`;
}

function wordsOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_type") return typeText(issue);
  if (issue.code === "invalid_value") return issue.values.map((each) => JSON.stringify(each)).join(", ");
  return issue.message;
}

function sizeWords(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  // If the schema has its own message, use that message.
  if (!/^(Too|Invalid)/.test(issue.message)) return issue.message;
  const isSmall = issue.code === "too_small";
  const bound = isSmall ? issue.minimum : issue.maximum;
  if (issue.origin === "string") return isSmall ? "text that is not empty" : `at most ${bound} characters`;
  if (issue.origin === "array") {
    return isSmall ? `at least ${bound} in the list` : `at most ${bound} in the list`;
  }
  return isSmall ? `at least ${bound}` : `at most ${bound}`;
}

const typeWords: Readonly<Record<string, string>> = {
  string: "text",
  object: "a map of members",
  array: "a list",
  record: "a map of members",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
};

/** Returns the member of a value at a path. */
export function valueAt(value: unknown, path: Issue["path"]): unknown {
  // Only maps and lists have members; for other values the result is undefined.
  return path.reduce<unknown>(
    (at, step) => (at as Record<string, unknown> | undefined | null)?.[step],
    value,
  );
}

/** The members of a JSON Schema that are used here. */
interface Node {
  properties?: Record<string, Node>;
  additionalProperties?: Node | boolean;
  items?: Node;
  anyOf?: Node[];
  oneOf?: Node[];
  allOf?: Node[];
}

/** Returns the names of the members that a schema allows at a path. */
function membersAt(node: Node, path: Issue["path"]): string[] {
  let nodes = flatten(node);
  for (const step of path) {
    nodes = nodes.flatMap((each) => {
      if (typeof step === "number") return each.items === undefined ? [] : flatten(each.items);
      const inner = each.properties?.[step] ?? each.additionalProperties;
      return typeof inner === "object" ? flatten(inner) : [];
    });
  }
  return [...new Set(nodes.flatMap(({ properties = {} }) => Object.keys(properties)))];
}

function flatten(node: Node): Node[] {
  return [node, ...[node.anyOf, node.oneOf, node.allOf].flatMap((list) => (list ?? []).flatMap(flatten))];
}
