/**
 * Typed exports of the CSV reader of Deno std; names as in `@std/csv`.
 *
 * @module
 */
import { parse as rawParse } from "deno-std/csv/parse.js";

/** Options of {@linkcode parse}. */
export interface ParseOptions {
  /** Use the first row as keys. */
  skipFirstRow?: boolean;
}

/** Overloads of the CSV reader. */
interface Parse {
  (input: string): string[][];
  (input: string, options: ParseOptions & { skipFirstRow: true }): Record<string, string>[];
}

/** Reads CSV text (RFC 4180). */
export const parse: Parse = rawParse;
