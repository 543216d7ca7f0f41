/**
 * Shows the toolkit at work without a broker: the command `demo`, as a task that may reach only this machine.
 *
 * Run: `deno task demo`, or `deno task demo --out DIR`
 *
 * @module
 */
import { processHost } from "./terminal/host.ts";
import { main } from "./commands/main.ts";

if (import.meta.main) Deno.exit(await main(["demo", ...Deno.args], processHost()));
