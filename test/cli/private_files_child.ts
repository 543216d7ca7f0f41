/**
 * Runs command lines in this process, with a umask that hides nothing. A test cannot do this in its own process: all
 * test files share one umask, and files that they create meanwhile would be writable by everybody.
 *
 * @module
 */
import { cli, type Outcome, type World } from "./support.ts";

/** A command line, with its environment variables and its files. */
export interface PlainCommand extends Pick<World, "env" | "files"> {
  words: readonly string[];
}

/** Runs command lines one after the other in a new process whose umask is 0. Resolves to their results. */
export async function withOpenUmask(commands: readonly PlainCommand[]): Promise<Outcome[]> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", import.meta.filename!, JSON.stringify(commands)],
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("Cannot run the command lines: their process failed");
  return JSON.parse(new TextDecoder().decode(stdout)); // what this file prints as a script
}

if (import.meta.main) {
  Deno.umask(0);
  const commands: PlainCommand[] = JSON.parse(Deno.args[0]!);
  const outcomes: Outcome[] = [];
  for (const { words, ...world } of commands) outcomes.push(await cli(words, world));
  await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(outcomes)));
}
