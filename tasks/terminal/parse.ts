/**
 * Parses the words after a command name into flags and positional arguments.
 *
 * @module
 */
import { didYouMean } from "../../lib/client/nearest.ts";
import { credentialsIn } from "../../lib/credentials.ts";
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
  const parsed: Parsed = { args: [], flags: {} };
  for (const word of wordsOf(given, known)) {
    if ("argument" in word) parsed.args.push(word.argument);
    else addFlag(command, known, parsed, word.rawName, word.name, word.value);
  }
  if (parsed.flags.help !== true) checkCount(command, parsed.args);
  return parsed;
}

/** A positional argument, or a flag as written and its name without dashes. */
export type Word = { argument: string } | { rawName: string; name: string; value?: string };

/**
 * Splits a command line like `parseArgs` of `node:util`. It does not use `parseArgs` itself, because loading that
 * function takes half as long as running an empty script. Accepts `--name value`, `--name=value`, `-n value`,
 * `-nvalue`, several short flags in one word, and `--` before arguments that begin with a dash. The word after a flag
 * with a value is the value, even if it begins with a dash.
 */
export function wordsOf(given: readonly string[], known: Readonly<Record<string, Flag>>): Word[] {
  const words: Word[] = [];
  const rest = [...given];
  const takesValue = (name: string) => Object.hasOwn(known, name) && known[name]!.type !== "boolean";
  const longOf = (short: string) => Object.keys(known).find((name) => known[name]!.short === short) ?? short;
  const add = (rawName: string, name: string) => {
    const value = takesValue(name) ? rest.shift() : undefined;
    words.push({ rawName, name, ...value !== undefined && { value } });
  };
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === "--") return [...words, ...rest.map((argument) => ({ argument }))];
    const equals = word.includes("=", 3) ? word.indexOf("=") : -1;
    if (!word.startsWith("-") || word === "-") words.push({ argument: word });
    else if (word.startsWith("--") && equals < 0) add(word, word.slice(2));
    else if (word.startsWith("--")) {
      const name = word.slice(2, equals);
      words.push({ rawName: `--${name}`, name, value: word.slice(equals + 1) });
    } else {
      const name = longOf(word[1]!);
      if (word.length === 2) add(word, name);
      else if (takesValue(name)) words.push({ rawName: word.slice(0, 2), name, value: word.slice(2) });
      else {
        // The first flag with a value takes the rest of the word.
        const most = [...Array(word.length - 1).keys()].find((at) => takesValue(longOf(word[at + 1]!))) ??
          word.length - 2;
        const flags = Array.from({ length: most }, (_, at) => `-${word[at + 1]}`);
        rest.unshift(...flags, `-${word.slice(most + 1)}`);
      }
    }
  }
  return words;
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
    const hint = /^-[\d.]/.test(rawName)
      ? '; a number must not begin with "-"'
      : name.length > 1
      ? didYouMean(name, Object.keys(known))
      : "";
    throw new UsageError(`Cannot read the arguments: "${command.name}" has no flag ${rawName}${hint}`);
  }
  const before = Object.hasOwn(flags, name) ? flags[name] : undefined;
  if (before !== undefined && flag.type !== "list") {
    throw new UsageError(`Cannot read the arguments: ${rawName} is given twice`);
  }
  if (flag.type === "boolean" && value !== undefined) {
    throw new UsageError(`Cannot read the arguments: ${rawName} accepts no value`);
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
