/**
 * Requests read backwards: from the wire to our names.
 *
 * @module
 */
import type { Issue } from "../../errors.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import { type FieldInfo, type FieldsInfo, InexactNumber, Mismatch } from "../../operations/types.ts";
import { refusalOfCode } from "../contract.ts";

/**
 * Reads the parameters of a request.
 *
 * @throws {Refusal} 1016 with the wire's name of everything that is wrong.
 */
export function decodeParams(operation: AnyOperation, wire: unknown): unknown {
  const params = decode(operation, wire);
  const issues: Issue[] = [];
  operation.request.check(params, [], issues);
  if (issues.length === 0) return params;
  const fields = operation.request.fields ?? {};
  throw invalid(issues.map((issue) => describe(issue, fields)).join("; "));
}

function decode(operation: AnyOperation, wire: unknown): unknown {
  try {
    return operation.request.decode(wire);
  } catch (error) {
    if (error instanceof Mismatch) {
      throw invalid(describe(error, operation.request.fields ?? {}));
    }
    if (error instanceof InexactNumber) {
      throw invalid("an amount or a price is text, write its number as text");
    }
    throw error;
  }
}

const invalid = (text: string) => refusalOfCode("invalid-parameter", text);

/** Writes an issue in the wire's words: its member names, and codes where a code table stands behind a member. */
function describe(issue: Pick<Issue, "path" | "value" | "expected">, fields: FieldsInfo): string {
  const names: (string | number)[] = [];
  let inner: FieldsInfo | undefined = fields;
  let info: FieldInfo | undefined;
  for (const step of issue.path) {
    if (typeof step === "number") names.push(step);
    else {
      info = inner?.[step];
      inner = info?.type.fields;
      names.push(info?.wire ?? step);
    }
  }
  const name = names.length === 0 ? "params" : names.join(".");
  if (issue.value === undefined) return `${name} is missing`;
  return `${name}: expected ${codesOf(info, issue.expected) ?? issue.expected}`;
}

/** The codes behind the names that a member takes; a rule over several members has words of its own. */
function codesOf(info: FieldInfo | undefined, expected: string): string | undefined {
  const { dictionary, expected: usual } = info?.type ?? {};
  if (dictionary === undefined || expected !== usual) return undefined;
  const allowed = dictionary.entries.filter(({ name }) => expected.includes(`"${name}"`));
  return `one of ${allowed.map(({ code }) => `"${code}"`).join(", ")}`;
}
