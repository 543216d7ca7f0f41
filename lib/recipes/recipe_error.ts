/**
 * What is wrong with a recipe, each mistake with its place.
 *
 * @module
 */
import { BrokerError, type Issue } from "../errors.ts";

/** A recipe is wrong. Nothing was run. */
export class RecipeError extends BrokerError {
  override readonly name: string = "RecipeError";
  /** Everything that is wrong, each with its place. */
  readonly issues: readonly RecipeIssue[];

  constructor(fileName: string, issues: readonly RecipeIssue[]) {
    const lines = issues.map(({ line, column, message }) => `${fileName}:${line}:${column}: ${message}`);
    super(`Cannot use recipe "${fileName}": ${lines.length === 1 ? lines[0] : `\n${lines.join("\n")}`}`, {
      code: "invalid-recipe",
    });
    this.issues = issues;
  }
}

/** One thing that is wrong with a recipe. */
export interface RecipeIssue {
  /** Line of the file, counted from 1. */
  line: number;
  /** Column of the line, counted from 1. */
  column: number;
  /** Member that it is about; empty for the text itself. */
  path: Issue["path"];
  message: string;
}

/** A recipe in TypeScript was not loaded, as its code may not run yet. */
export class UnreadCodeError extends RecipeError {
  override readonly name: string = "UnreadCodeError";

  constructor(fileName: string) {
    const message = "it is TypeScript, and it is not run until it is trusted";
    super(fileName, [{ line: 1, column: 1, path: [], message }]);
  }
}
