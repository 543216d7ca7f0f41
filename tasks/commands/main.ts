/**
 * From the words of a command line to an exit code.
 *
 * @module
 */
import { type Command, sharedFlags } from "./command.ts";
import { exitCodeOf, UsageError } from "./exit_codes.ts";
import { helpOf, overview } from "./help.ts";
import type { Host } from "./host.ts";
import { commands } from "./table.ts";

/** Runs a command line and resolves to the exit code; never rejects. */
export async function main(words: readonly string[], host: Host): Promise<number> {
  let command: Command | undefined;
  try {
    const [first, ...others] = words = flagsLast(words);
    if (
      first === undefined || first === "help" && others.length === 0 || first === "--help" || first === "-h"
    ) {
      host.out(overview(commands));
      return first === undefined ? 2 : 0;
    }
    if (first === "--version") {
      host.out(await version());
      return 0;
    }
    const asked = first === "help" ? [...others, "--help"] : words;
    command = await find(asked);
    const rest = asked.slice(command.name.split(" ").length);
    if (rest.includes("--help") || rest.includes("-h")) {
      host.out(helpOf(command));
      return 0;
    }
    if (command.passOn) return await (await command.body())({ args: rest, flags: {}, host });
    const [{ parse }, body] = await Promise.all([import("./parse.ts"), command.body()]);
    return await body({ ...parse(command, rest), host });
  } catch (error) {
    const { report } = await import("./report.ts");
    report(error, command, host);
    return exitCodeOf(error);
  }
}

/** Puts shared flags that stand before the command behind it. */
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

/** Finds the command that the first words name; its first word alone will do where that is clear. */
async function find(words: readonly string[]): Promise<Command> {
  const plain = words.slice(0, words.findIndex((word) => word.startsWith("-")) >>> 0);
  const exact = commands.find(({ name }) => name.split(" ").every((word, index) => plain[index] === word));
  if (exact !== undefined) return exact;
  const wantsHelp = words.includes("--help") || words.includes("-h");
  const begun = commands.find(({ name }) => name.split(" ")[0] === plain[0] && plain.length === 1);
  if (begun !== undefined && wantsHelp) return { ...begun, name: begun.name };
  const { didYouMean } = await import("../../lib/client/nearest.ts");
  const names = commands.map(({ name }) => name);
  const given = begun === undefined ? plain.slice(0, 1).join(" ") : plain.join(" ");
  const hint = begun === undefined ? didYouMean(given, names) : `; did you mean "${begun.name}"?`;
  throw new UsageError(`Cannot run "${given === "" ? words[0] : given}": no such command${hint}`);
}

async function version(): Promise<string> {
  const { default: { version } } = await import("../../deno.json", { with: { type: "json" } });
  return `hsgate ${version}`;
}
