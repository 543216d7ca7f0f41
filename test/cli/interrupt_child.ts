/**
 * Makes one call without an abort signal, as a writing step does, for tests of Ctrl-C.
 *
 * @module
 */
import { processHost } from "../../tasks/terminal/host.ts";
import { clientOf } from "../../tasks/commands/shared/session.ts";
import { ORDER, TENCENT } from "../conformance/simulated_account.ts";

const host = processHost();
await using client = await clientOf({}, host, { command: "test" });
if (host.signal.aborted) Deno.exit(1); // reading the signal installs the Ctrl-C handler
if (Deno.args[0] === "write") await client.orders.place(ORDER, { timeoutMs: 60_000 });
else await client.quotes.latest({ securities: [TENCENT] }, { timeoutMs: 60_000 });
host.out("answered");
Deno.exit(0);
