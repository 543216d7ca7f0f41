/**
 * Steps: what they may do, and how their parameters are checked before anything runs.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { Issue } from "../errors.ts";
import { findOperation } from "../operations/mod.ts";
import { type AnyOperation, normalizeParams } from "../operations/operation.ts";
import { compileDayBook } from "./day_book_step.ts";
import type { RecipeContext } from "./recipe.ts";
import type { StepSource } from "./recipe_schema.ts";

/** A step that was checked. */
export interface CompiledStep {
  readonly id: string;
  readonly uses: string;
  /** Runs it. */
  run(context: RecipeContext): Promise<StepOutcome>;
}

/** What a step came to. */
export interface StepOutcome {
  ok: boolean;
  output: unknown;
}

/** What is wrong with a step, by path from the step on. */
export interface StepIssues {
  issues: Pick<Issue, "path" | "expected">[];
}

/** Checks a step and makes it ready to run. */
export function compileStep(step: StepSource): CompiledStep | StepIssues {
  if (step.uses === "export-day-book") return compileDayBook(step);
  const operation = findOperation(step.uses);
  if (operation === undefined) {
    return {
      issues: [{ path: ["uses"], expected: 'export-day-book, or an operation such as "account.funds"' }],
    };
  }
  return compileOperation(step, operation);
}

function compileOperation(step: StepSource, operation: AnyOperation): CompiledStep | StepIssues {
  if (operation.effect !== "read") {
    const expected =
      `an operation that only reads: ${operation.name} changes something, which recipes may not yet`;
    return { issues: [{ path: ["uses"], expected }] };
  }
  const params = normalizeParams(operation.request.fields ?? {}, step.with ?? {});
  const issues: Issue[] = [];
  operation.request.check(params, [], issues);
  if (issues.length > 0) {
    return { issues: issues.map(({ path, expected }) => ({ path: ["with", ...path], expected })) };
  }
  return {
    id: step.id,
    uses: operation.name,
    run: async ({ client, signal }) => ({
      ok: true,
      output: await callRead(client, operation, params, signal),
    }),
  };
}

/** Calls by name; lists are walked to their end. */
async function callRead(
  client: Client,
  operation: AnyOperation,
  params: unknown,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  if (operation.paging === undefined) return await client.call(operation, params, { signal });
  const [family = "", method = ""] = operation.name.split(".");
  // The client has one function for each operation of the catalogue, under the same names.
  const families = client as unknown as Record<string, Record<string, ListMethod>>;
  return await families[family]![method]!(params, { signal }).toArray();
}

type ListMethod = (params: unknown, options: { signal?: AbortSignal }) => { toArray(): Promise<unknown[]> };
