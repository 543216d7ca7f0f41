/**
 * Typed exports of the YAML reader of Deno std; names as in `@std/yaml`.
 *
 * @module
 */
import { parse as rawParse } from "deno-std/yaml/parse.js";

/** Options of {@linkcode parse}. */
export interface ParseOptions {
  /** Schema of scalar types; `"core"` reads numbers and booleans, `"failsafe"` keeps every scalar a string. */
  schema?: "failsafe" | "json" | "core" | "default";
}

/** Reads one YAML document; throws `SyntaxError` with line and column. */
export const parse: (text: string, options?: ParseOptions) => unknown = rawParse;
