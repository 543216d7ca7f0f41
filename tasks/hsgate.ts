/**
 * Runs the command line: `deno task hsgate <command>`. Loads only what a command needs, so that `--help` is quick.
 *
 * @module
 */
import { processHost } from "./terminal/host.ts";
import { main } from "./commands/main.ts";

if (import.meta.main) Deno.exit(await main(Deno.args, processHost()));
