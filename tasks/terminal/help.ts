/**
 * Writes the `--help` texts from the descriptions of the commands.
 *
 * @module
 */
import { type Command, type Description, type Flags, flagsOf } from "./command.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";

/**
 * The name of the program in help and hints. It is never `deno task hsgate`, because in somebody else's folder that
 * would run the folder's own task.
 */
const program = "hsgate";

/** Returns lines with two columns; the second wraps at spaces to fit 80 characters. */
export function twoColumns(rows: readonly (readonly [string, string])[], indent = 2): string[] {
  const width = Math.min(28, Math.max(...rows.map(([left]) => left.length)));
  const margin = " ".repeat(indent + width + 2);
  return rows.flatMap(([left, right]) => {
    const lines = wrap(right, 80 - margin.length);
    const first = `${" ".repeat(indent)}${left.padEnd(width)}  ${lines[0] ?? ""}`.trimEnd();
    return [first, ...lines.slice(1).map((line) => margin + line)];
  });
}

/** Breaks a text at spaces into lines of at most this width. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Wraps a text to 80 characters. Indented lines stay unchanged. */
function paragraphs(text: string): string[] {
  const lines = text.split("\n").reduce<string[]>((all, line) => {
    const before = all.at(-1);
    const continues = before !== undefined && !/^(\s|$)/.test(before) && !/^(\s|$)/.test(line);
    return continues ? [...all.slice(0, -1), `${before} ${line}`] : [...all, line];
  }, []);
  return lines.flatMap((line) => line.startsWith(" ") ? [line] : wrap(line, 80));
}

/** Returns a line for each exit code, with the command's own meaning if there is one. */
function exits(codes: Description<Flags>["exits"]): string[] {
  const own = new Map(
    codes.map((each): readonly [ExitCode, string] =>
      typeof each === "number" ? [each, exitCodes[each]] : each
    ),
  );
  return twoColumns([...own].sort(([a], [b]) => a - b).map(([code, meaning]) => [String(code), meaning]));
}

/**
 * Returns the text of `hsgate --help`.
 *
 * @param topics Names of the topics of `hsgate help TOPIC`.
 */
export function overview(commands: readonly Command[], topics: readonly string[]): string {
  return [
    `Usage: ${program} <command> [arguments] [flags]`,
    "",
    "Trades, reads and exports through the HS brokerage gateway, or directly over the",
    "broker's own socket (--transport direct).",
    "",
    "Commands",
    ...twoColumns(commands.map(({ name, summary }) => [name, summary] as const)),
    "",
    "A flag overrides the environment, and the environment overrides the settings",
    "file. The settings file is that of --config, otherwise hsgate.yaml once you",
    'trust it ("hsgate trust hsgate.yaml"). Secrets come only from the environment or',
    "a file.",
    "A variable that ends in _FILE names a file with the value. The gateway needs",
    "HSGATE_TRADE_PASSWORD and HSGATE_TRADE_PASSWORD_KEY (or ..._FILE). The direct",
    "transport needs HSGATE_TRADE_PASSWORD, but not HSGATE_TRADE_PASSWORD_KEY. It",
    "also needs HSGATE_AUTH_URL, HSGATE_COUNTRY_CODE and HSGATE_DEVICE_ID, and these",
    "(or ..._FILE): HSGATE_MOBILE, HSGATE_LOGIN_PASSWORD,",
    "HSGATE_DEVELOPER_PRIVATE_KEY and HSGATE_PLATFORM_PUBLIC_KEY. In hsgate.yaml:",
    "authUrl, countryCode and so on.",
    "",
    "Exit codes",
    ...exits(Object.keys(exitCodes).map((code) => Number(code) as ExitCode)),
    "",
    `"${program} <command> --help" explains a command, with examples.`,
    ...wrap(`"${program} help TOPIC" explains: ${topics.join(", ")}.`, 80),
  ].join("\n");
}

/** Exit codes of every command. */
const always: readonly ExitCode[] = [0, 1, 2, 130];

/** Returns the text of `hsgate <command> --help`. */
export function helpOf(command: Description<Flags>): string {
  const flags = Object.entries(flagsOf(command)).map(([name, { value, text, short }]) => {
    const left = `${short === undefined ? "" : `-${short}, `}--${name}${
      value === undefined ? "" : ` ${value}`
    }`;
    return [left, text] as const;
  });
  return [
    `Usage: ${program} ${command.name}${command.usage === "" ? "" : ` ${command.usage}`} [flags]`,
    "",
    `${command.summary[0]!.toUpperCase()}${command.summary.slice(1)}.`,
    ...command.details === undefined ? [] : ["", ...paragraphs(command.details)],
    "",
    "Flags",
    ...twoColumns(flags),
    "",
    command.examples.length === 1 ? "Example" : "Examples",
    ...command.examples.map((example) => `  ${program} ${example}`),
    "",
    "Exit codes",
    ...exits([...always, ...command.exits]),
  ].join("\n");
}
