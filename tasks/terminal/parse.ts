/**
 * Parses the words after a command name into flags and positional arguments.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { didYouMean } from "../../lib/client/nearest.ts";
import { credentialsIn } from "../../lib/redact.ts";
import { isPostgresUrl } from "../../lib/store/postgres_url.ts";
import { type Command, type Flag, flagsOf } from "./command.ts";
import { UsageError } from "./exit_codes.ts";

/** Flags and arguments of a command line. */
interface Parsed {
  args: string[];
  flags: Record<string, string | boolean | readonly string[]>;
}

/**
 * Returns the flags and arguments of a command.
 *
 * @throws {UsageError} If they do not match the command. For an unknown flag, the message names the nearest one.
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
  // Errors show only the name of a flag: its value may be a secret.
  if (flag === undefined) {
    if (/pass|secret|token|pin|key|mobile|phone/i.test(name)) {
      throw new UsageError(
        `Cannot accept a secret as a flag: every user of this machine can read it in the process list; set an ` +
          `environment variable such as HSGATE_TRADE_PASSWORD or HSGATE_TRADE_PASSWORD_FILE, or use a settings file`,
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
    throw new UsageError(`Cannot read the arguments: ${rawName} is given twice`);
  }
  if (flag.type === "boolean" && value !== undefined) {
    throw new UsageError(`Cannot read the arguments: ${rawName} takes no value`);
  }
  if (flag.type !== "boolean" && (value === undefined || value === "")) {
    throw new UsageError(`Cannot read the arguments: ${rawName} needs a value (${flag.value})`);
  }
  if (name === "store" && value !== undefined && isPostgresUrl(value) && credentialsIn(value).length > 0) {
    throw new UsageError(
      `Cannot accept a password in ${rawName}: every user of this machine can read it in the process list; write the ` +
        "URL without it and set HSGATE_STORE_PASSWORD, or put the whole URL into HSGATE_STORE instead",
    );
  }
  // The check above ensures that there is a value.
  flags[name] = flag.type === "list" ? [...Array.isArray(before) ? before : [], value!] : value ?? true;
}

function checkCount({ name, usage, args: [least, most] }: Command, args: readonly string[]): void {
  if (args.length < least) {
    throw new UsageError(`Cannot run "${name}": an argument is missing; usage: ${name} ${usage}`);
  }
  if (args.length > most) {
    throw new UsageError(
      most === 0
        ? `Cannot run "${name}": it accepts only flags, and got ${args.length} ${
          args.length === 1 ? "argument" : "arguments"
        }`
        : `Cannot run "${name}": it accepts ${most} ${
          most === 1 ? "argument" : "arguments"
        } and got ${args.length}; usage: ${name} ${usage}`,
    );
  }
}
