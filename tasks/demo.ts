/**
 * Runs the command `demo` as a task that has access only to this machine: the toolkit with a simulated broker.
 *
 * Run: `deno task demo`, or `deno task demo --out DIR`
 *
 * @module
 */
import { processHost } from "./terminal/host.ts";
import { main } from "./commands/main.ts";

if (import.meta.main) Deno.exit(await main(["demo", ...Deno.args], processHost()));
