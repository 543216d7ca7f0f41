/**
 * A program that makes one slow call which no signal gives up, as a step that writes does: for tests of Ctrl-C.
 *
 * @module
 */
import { processHost } from "../../tasks/terminal/host.ts";
import { clientOf } from "../../tasks/commands/shared/session.ts";
import { ORDER, TENCENT } from "../conformance/house.ts";

const host = processHost();
await using client = await clientOf({}, host, { command: "test" });
if (host.signal.aborted) Deno.exit(1); // asked for, so that Ctrl-C is listened to
if (Deno.args[0] === "write") await client.orders.place(ORDER, { timeoutMs: 60_000 });
else await client.quotes.latest({ securities: [TENCENT] }, { timeoutMs: 60_000 });
host.out("answered");
Deno.exit(0);
