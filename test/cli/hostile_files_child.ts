// deno-lint-ignore-file no-console -- the test reads what this process prints
/**
 * Runs every command line with a file that must not be read, in every possible place. Prints the command lines that
 * do not end with a plain error. It is a separate process, so that it has the permissions of the command line, and a
 * blocking read can be detected.
 *
 * Arguments: `named` and the paths, or `found` for the files of the working folder.
 *
 * @module
 */
import { type Command, flagsOf } from "../../tasks/terminal/command.ts";
import { commands } from "../../tasks/commands/table.ts";
import { InterruptedError } from "../../tasks/terminal/exit_codes.ts";
import { cli } from "./support.ts";

const [how, ...paths] = Deno.args;

/** Returns as many arguments as the command needs at least. */
const plainArgs = ({ args: [least] }: Command): string[] => Array.from({ length: least }, () => "x");

function* namedLines(command: Command): Generator<string[]> {
  const name = command.name.split(" ");
  const [least, most] = command.args;
  for (const path of paths) {
    for (let at = 0; at < Math.min(most, Math.max(least, 2)); at++) {
      const args = Array.from({ length: Math.max(least, at + 1) }, (_, index) => index === at ? path : "x");
      yield [...name, ...args];
    }
    if (least > 1) yield [...name, ...Array.from({ length: least }, () => path)];
    for (const [flag, { type }] of Object.entries(flagsOf(command))) {
      if (type !== "boolean") yield [...name, ...plainArgs(command), `--${flag}`, path];
    }
  }
}

async function run(words: readonly string[]): Promise<void> {
  // If the process blocks, the last of these lines names the command line that waits.
  console.error(words.join(" "));
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new InterruptedError("interrupted")), 100);
  const { code, out, err } = await cli(words, {
    fromDisk: true,
    signal: controller.signal,
    onLine: () => controller.abort(new InterruptedError("interrupted")),
  });
  clearTimeout(timer);
  if (/--allow-|internal error/.test(out + err)) {
    console.log(JSON.stringify({ words, code, said: (out + err).slice(0, 400) }));
  }
}

let lines = 0;
for (const command of commands) {
  if (["sim", "demo"].includes(command.name)) continue; // both would start a simulator
  const all = how === "named" ? namedLines(command) : [[...command.name.split(" "), ...plainArgs(command)]];
  for (const words of all) {
    await run(words);
    lines++;
  }
}
console.error(`${lines} command lines`);
