/**
 * Errors for mistakes in recipes, each with its place.
 *
 * @module
 */
import { BrokerError, type Issue, listsMistakes } from "../errors.ts";

/** Maximum number of mistakes in a report. More are hard to read, and would take minutes to explain. */
export const MOST_ISSUES = 100;

/** A recipe has mistakes. Nothing was run. */
export class RecipeError extends BrokerError {
  /** Its message has a line for each mistake. */
  static readonly [listsMistakes] = true;
  /** Name of the class. */
  override readonly name: string = "RecipeError";
  /** All mistakes, with their places. */
  readonly issues: readonly RecipeIssue[];

  /** Creates the error. Its text lists up to {@linkcode MOST_ISSUES} mistakes, and says how many more there are. */
  constructor(fileName: string, issues: readonly RecipeIssue[]) {
    // If only one mistake is over the limit, show it: a line "and 1 more" would be just as long.
    const most = issues.length === MOST_ISSUES + 1 ? issues.length : MOST_ISSUES;
    const lines = issues.slice(0, most)
      .map(({ line, column, message }) => `${fileName}:${line}:${column}: ${message}`);
    if (issues.length > lines.length) lines.push(`and ${issues.length - lines.length} more`);
    super(`Cannot use recipe "${fileName}": ${lines.length === 1 ? lines[0] : `\n${lines.join("\n")}`}`, {
      code: "invalid-recipe",
    });
    this.issues = issues;
  }
}

/** An expression has no value: a member is missing, types do not match, or it needs too much work. */
export class ExpressionError extends Error {
  override readonly name: string = "ExpressionError";
}

/** One mistake in a recipe. */
export interface RecipeIssue {
  /** Line of the file, counted from 1. */
  line: number;
  /** Column of the line, counted from 1. */
  column: number;
  /** Path of the member; empty for the text itself. */
  path: Issue["path"];
  /** The mistake in words. */
  message: string;
}

/** A TypeScript recipe was not loaded, because its code must not run yet. */
export class UnreadCodeError extends RecipeError {
  /** Name of the class. */
  override readonly name: string = "UnreadCodeError";

  /** Creates the error for a file whose code must not run yet. */
  constructor(fileName: string) {
    const message = "it is TypeScript, and it is not run until it is trusted";
    super(fileName, [{ line: 1, column: 1, path: [], message }]);
  }
}
