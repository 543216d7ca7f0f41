/**
 * Typed exports of the flag parser of Deno std; names as in `@std/cli`.
 *
 * @module
 */
import { parseArgs as rawParseArgs } from "deno-std/cli/parse_args.js";

/** Options of {@linkcode parseArgs}. */
interface ParseArgsOptions {
  /** Flags that take a text. */
  string?: readonly string[];
  /** Flags that take no value. */
  boolean?: readonly string[];
  /** Flags that may be repeated. */
  collect?: readonly string[];
  /** Other spellings of a flag. */
  alias?: Readonly<Record<string, string | readonly string[]>>;
  /** Called for each argument that no option names. If it returns false, the argument is left out of the result. */
  unknown?: (argument: string, key?: string, value?: unknown) => unknown;
  /** Stop at the first positional argument. */
  stopEarly?: boolean;
}

/** Flags by name, and the positional arguments under `_`. */
type ParsedArgs = { _: (string | number)[] } & Record<string, unknown>;

/** Splits command-line arguments into flags and positional arguments. */
export const parseArgs: (args: string[], options?: ParseArgsOptions) => ParsedArgs = rawParseArgs;
