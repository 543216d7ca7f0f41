/**
 * Typed exports of the CSV reader of Deno std; names as in `@std/csv`. Also finds two columns with the same name, of
 * which the reader would drop one.
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

/**
 * Returns a name that the first row contains twice; `undefined` if there is none. With `skipFirstRow`, `parse` would
 * keep only the last of these columns.
 *
 * @throws {SyntaxError} If the first row is not CSV.
 */
export function repeatedColumn(input: string): string | undefined {
  let end = 0;
  for (let isQuoted = false; end < input.length && (isQuoted || input[end] !== "\n"); end++) {
    if (input[end] === '"') isQuoted = !isQuoted;
  }
  const [names = []] = parse(input.slice(0, end));
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}
