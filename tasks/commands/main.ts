/**
 * Runs a command line and returns its exit code.
 *
 * @module
 */
import { type Command, sharedFlags } from "../terminal/command.ts";
import type { ErrorData } from "../terminal/error_report.ts";
import { type ExitCode, exitCodeOf, InterruptedError, UsageError } from "../terminal/exit_codes.ts";
import { helpOf, overview } from "../terminal/help.ts";
import type { Host } from "../terminal/host.ts";
import { commands } from "./table.ts";

/** Runs a command line and resolves to its exit code; never rejects. */
export async function main(words: readonly string[], rawHost: Host): Promise<number> {
  let host = rawHost;
  let command: Command | undefined;
  const notes: string[] = [];
  let isSilent = true;
  /**
   * If JSON is wanted, and a command failed without output on stdout, prints the error as JSON. Returns the exit code.
   */
  const ended = (code: number, { out }: Host): number => {
    if (code !== 0 && isSilent && wantsJson(words)) out(JSON.stringify({ error: errorOfNotes(notes, code) }));
    return code;
  };
  try {
    const [first, ...others] = words = words[0] === "complete" ? words : flagsLast(words);
    if (
      first === undefined || first === "help" && others.length === 0 || first === "--help" || first === "-h"
    ) {
      const { topics } = await import("../terminal/topics.ts");
      host.out(overview(commands, Object.keys(topics)));
      return first === undefined ? 2 : 0;
    }
    if (first === "complete") {
      return await (await import("./completion/body.ts")).printWords(commands, others, host);
    }
    if (first === "--version") {
      host.out(await version());
      return 0;
    }
    if (first === "help" && await showTopic(others, host)) return 0;
    const asked = first === "help" ? [...others, "--help"] : words;
    const found = await find(asked);
    if (asked.includes("--help") || asked.includes("-h")) {
      host.out(found.map(helpOf).join("\n\n"));
      return 0;
    }
    command = found[0]!;
    // Text printed from here on may come from the broker.
    const { shownHost } = await import("../terminal/shown_host.ts");
    const copy: Host = Object.defineProperties({} as Host, Object.getOwnPropertyDescriptors(rawHost));
    const watched = Object.assign(copy, {
      out: (line: string) => (isSilent = false, rawHost.out(line)),
      note: (line: string) => (notes.push(line), rawHost.note(line)),
    });
    host = shownHost(watched, { figures: command.figures ?? true, words });
    const rest = asked.slice(command.name.split(" ").length);
    if (command.passOn) return ended(await (await command.body())({ args: rest, flags: {}, host }), host);
    const [{ parse }, body] = await Promise.all([import("../terminal/parse.ts"), command.body()]);
    const parsed = parse(command, rest);
    if (parsed.flags.output === "json") parsed.flags.json = true;
    const { out, html } = parsed.flags as { out?: unknown; html?: unknown };
    for (const each of [out, html]) {
      if (typeof each === "string") (await import("./shared/linked_out.ts")).refuseLinkedOut(each);
    }
    const usesCalendars = command.calendars === undefined && !command.without?.includes("config");
    if (usesCalendars) {
      const { applyCalendars } = await import("./shared/local_calendars.ts");
      await applyCalendars(parsed.flags, host);
    }
    return ended(await body({ ...parsed, host }), host);
  } catch (error) {
    const { errorData, report } = await import("../terminal/error_report.ts");
    if (host === rawHost) host = (await import("../terminal/shown_host.ts")).shownHost(rawHost, { words });
    report(error, command, host);
    const isEnded = error instanceof InterruptedError || error instanceof Deno.errors.BrokenPipe;
    if (!isEnded && wantsJson(words)) host.out(JSON.stringify({ error: errorData(error, command, host) }));
    return exitCodeOf(error);
  }
}

/** Prints a topic of the help. Returns whether there is one of this name. */
async function showTopic(words: readonly string[], host: Host): Promise<boolean> {
  const { topics } = await import("../terminal/topics.ts");
  const name = words.filter((word) => word !== "--json").join(" ");
  if (!Object.hasOwn(topics, name)) return false;
  const { summary, lines } = topics[name]!; // checked in the line above
  host.out(
    words.includes("--json")
      ? JSON.stringify({ topic: name, text: (await lines()).join("\n") })
      : [`${summary[0]!.toUpperCase()}${summary.slice(1)}.`, "", ...await lines()].join("\n"),
  );
  return true;
}

/** Returns whether a command line asks for JSON, even if it has a mistake elsewhere. */
function wantsJson(words: readonly string[]): boolean {
  const end = words.indexOf("--");
  const flags = end < 0 ? words : words.slice(0, end);
  const isJson = (value: string | undefined) => value === "json" || value === "jsonl";
  return flags.some((word, index) =>
    word === "--json" || (word === "--output" && isJson(flags[index + 1])) ||
    (word.startsWith("--output=") && isJson(word.slice("--output=".length)))
  );
}

/** Returns the error of a command as data, from the lines that the command wrote to stderr. */
function errorOfNotes(notes: readonly string[], exitCode: number): ErrorData {
  const lines = notes.map((line) => line.replace(/^hsgate: /, ""));
  const advice = lines.filter((line) => line.startsWith("  -> ")).map((line) => line.slice(5));
  const text = lines.filter((line) => !line.startsWith("  -> ")).join("\n");
  return {
    class: "CommandError",
    code: null,
    text,
    advice: advice.length === 0 ? null : advice.join("\n"),
    exitCode: exitCode as ExitCode,
  };
}

/** Moves shared flags from before the command to after it. */
function flagsLast(words: readonly string[]): readonly string[] {
  let at = 0;
  while (at < words.length && words[at]!.startsWith("--")) {
    const [name = "", value] = words[at]!.slice(2).split("=", 2);
    const flag = Object.entries(sharedFlags).find(([each]) => each === name)?.[1];
    if (flag === undefined || name === "help") return words;
    at += flag.type === "string" && value === undefined ? 2 : 1;
  }
  return [...words.slice(at), ...words.slice(0, at)];
}

/**
 * Returns the command that the first words name. If help is wanted and only one word is given, returns all commands
 * that begin with this word.
 *
 * @throws {UsageError} If there is no such command. The message names the nearest command.
 */
async function find(words: readonly string[]): Promise<Command[]> {
  const plain = words.slice(0, words.findIndex((word) => word.startsWith("-")) >>> 0);
  const exact = commands.find(({ name }) => name.split(" ").every((word, index) => plain[index] === word));
  if (exact !== undefined) return [exact];
  const wantsHelp = words.includes("--help") || words.includes("-h");
  const begun = commands.filter(({ name }) => name.split(" ")[0] === plain[0]);
  if (begun.length > 0 && plain.length === 1 && wantsHelp) return begun;
  const { didYouMean } = await import("../../lib/client/nearest.ts");
  const names = commands.map(({ name }) => name);
  const given = plain.slice(0, begun.length === 0 ? 1 : 2).join(" ");
  const hint = plain.length === 1 && begun.length > 0
    ? `; did you mean ${begun.map(({ name }) => `"${name}"`).join(" or ")}?`
    : didYouMean(given, [...names, ...wantsHelp ? await topicNames() : []]);
  throw new UsageError(`Cannot run "${given === "" ? words[0] : given}": no such command${hint}`);
}

const topicNames = async () => Object.keys((await import("../terminal/topics.ts")).topics);

async function version(): Promise<string> {
  const { default: { version } } = await import("../../deno.json", { with: { type: "json" } });
  return `hsgate ${version}`;
}
