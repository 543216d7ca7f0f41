/**
 * Splits the words after a command's name into flags and positional arguments, as its description says.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { didYouMean } from "../../lib/client/nearest.ts";
import { type Command, type Flag, flagsOf } from "./command.ts";
import { UsageError } from "./exit_codes.ts";

/** What was found. */
export interface Parsed {
  args: string[];
  flags: Record<string, string | boolean | readonly string[]>;
}

/**
 * Reads the arguments of a command.
 *
 * @throws {UsageError} When they do not fit the command; names the nearest flag.
 */
export function parse(command: Command, given: readonly string[]): Parsed {
  const known = flagsOf(command);
  const options = Object.fromEntries(
    Object.entries(known).map((
      [name, { type, short }],
    ) => [name, { type: type === "list" ? "string" : type, ...short !== undefined && { short } }]),
  );
  const { tokens } = parseArgs({
    args: [...given],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const parsed: Parsed = { args: [], flags: {} };
  for (const token of tokens) {
    if (token.kind === "positional") parsed.args.push(token.value);
    else if (token.kind === "option") addFlag(command, known, parsed, token.rawName, token.name, token.value);
  }
  if (parsed.flags.help !== true) checkCount(command, parsed.args);
  return parsed;
}

function addFlag(
  command: Command,
  known: Readonly<Record<string, Flag>>,
  { flags }: Parsed,
  rawName: string,
  name: string,
  value: string | undefined,
): void {
  const flag = Object.hasOwn(known, name) ? known[name] : undefined;
  // Only the flag's name is ever shown: what stands behind it may be a secret.
  if (flag === undefined) {
    if (/pass|secret|token|pin|key|mobile|phone/i.test(name)) {
      throw new UsageError(
        `Cannot take a secret as a flag: everybody on this machine can read it in the process list; set ` +
          `HSGATE_TRADE_PASSWORD and its like, or the same names with _FILE, or a settings file`,
      );
    }
    throw new UsageError(
      `Cannot read the arguments: "${command.name}" has no flag ${rawName}${
        didYouMean(name, Object.keys(known))
      }`,
    );
  }
  const before = Object.hasOwn(flags, name) ? flags[name] : undefined;
  if (before !== undefined && flag.type !== "list") {
    throw new UsageError(`Cannot read the arguments: ${rawName} stands there twice`);
  }
  if (flag.type === "boolean" && value !== undefined) {
    throw new UsageError(`Cannot read the arguments: ${rawName} takes no value`);
  }
  if (flag.type !== "boolean" && (value === undefined || value === "")) {
    throw new UsageError(`Cannot read the arguments: ${rawName} needs a value (${flag.value})`);
  }
  // A text is there, as the line above has seen to.
  flags[name] = flag.type === "list" ? [...Array.isArray(before) ? before : [], value!] : value ?? true;
}

function checkCount({ name, usage, args: [least, most] }: Command, args: readonly string[]): void {
  if (args.length < least) {
    throw new UsageError(`Cannot run "${name}": something is missing; usage: ${name} ${usage}`);
  }
  if (args.length > most) {
    throw new UsageError(
      most === 0
        ? `Cannot run "${name}": it takes flags alone, and ${args.length} other arguments were given`
        : `Cannot run "${name}": ${args.length} arguments were given and it takes ${most}; usage: ${name} ${usage}`,
    );
  }
}
