/**
 * Runs the command `demo` with its simulated broker, as a task that has access only to this machine.
 *
 * Run: `deno task demo`, or `deno task demo --out DIR`
 *
 * @module
 */
import { processHost } from "./terminal/host.ts";
import { main } from "./commands/main.ts";

if (import.meta.main) Deno.exit(await main(["demo", ...Deno.args], processHost()));
