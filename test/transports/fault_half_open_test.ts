/**
 * Tests a server that stops but keeps its sockets open (fault F15), and a blocked event loop on our side (fault F16).
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { connect } from "../../lib/client/connect.ts";
import { OutcomeUnknownError, TransportError } from "../../mod.ts";
import { openPushStream } from "../../lib/transports/push/stream.ts";
import { isConnected, ORDER, TENCENT, until } from "../conformance/simulated_account.ts";
import { connectDirect } from "../support/direct_client.ts";
import { waitUntil, within } from "../support/waits.ts";
import { startFaultChild } from "./fault_child.ts";

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const once = { retry: { attempts: 1 } };

/** Blocks the event loop of this process. */
function block(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}

/** Resolves to the first value that is not undefined. */
async function eventually<T>(look: () => Promise<T | undefined>): Promise<T> {
  let found: T | undefined;
  await waitUntil("the far end", async () => (found = await look()) !== undefined, { everyMs: 20 });
  return found!;
}

Deno.test("a stopped gateway: a read times out, a write has an unknown outcome and is executed at most once", async () => {
  await using child = await startFaultChild();
  const { gatewayUrl, tradePassword, tradePasswordKey } = child.info;
  await using client = await connect({ gateway: gatewayUrl, tradePassword, tradePasswordKey, ...once });
  await client.account.login();
  await child.stop();
  const read = await assertRejects(
    () => client.account.funds({ market: "hk" }, { timeoutMs: 1_500 }),
    TransportError,
  );
  const write = await assertRejects(
    () => client.orders.place(ORDER, { timeoutMs: 1_500 }),
    OutcomeUnknownError,
  );
  assertEquals([read.code, write.code], ["timeout", "timeout"]);
  // The messages show the timeouts of these calls, which are far shorter than the default.
  for (const { message } of [read, write]) assertStringIncludes(message, "1500 ms");
  child.resume();
  // The kernel has accepted the request. When the gateway continues, it executes the order, and the list shows the
  // order.
  const rows = () => client.orders.today({ market: "hk" }).toArray();
  await eventually(async () => (await rows()).length > 0 ? true : undefined);
  await wait(100);
  assertEquals((await rows()).length, 1);
});

Deno.test("a stopped push port is detected by its silence if a limit is set", async () => {
  await using child = await startFaultChild();
  const [hostname = "", port] = child.info.pushAddress.split(":");
  await using stream = openPushStream({
    hostname,
    port: Number(port),
    now: Date.now,
    random: Math.random,
    pushIdleMs: 200,
    reconnect: { minMs: 10, maxMs: 20 },
  });
  const events = stream.events();
  await stream.connected();
  await child.stop();
  const isLost: Parameters<typeof until>[1] = (event) =>
    event.type === "connection" && event.state === "lost";
  const lost = await within("the silence to be noticed", until(events, isLost));
  assert(lost.some((event) => event.type === "connection" && event.error?.code === "idle"));
  await events.return?.();
});

Deno.test("a stopped platform: the check rejects a write before it is sent, and the link is reopened", async () => {
  await using child = await startFaultChild();
  await using client = await connectDirect(child.info, {
    heartbeatMs: 100,
    probe: { idleMs: 30, waitMs: 100 },
    connectTimeoutMs: 300,
  }, once);
  await client.account.funds({ market: "hk" });
  await child.stop();
  await wait(60); // longer than `idleMs`, so the client checks the link before the next write
  const write = await assertRejects(() => client.orders.place(ORDER), TransportError);
  assertEquals([write.code, write.operation], ["dead-link", "orders.place"]);
  child.resume();
  const funds = await eventually(() => client.account.funds({ market: "hk" }).catch(() => undefined));
  assertEquals(funds.accountStatus, "0");
  await wait(100);
  assertEquals(await client.orders.today({ market: "hk" }).toArray(), []);
  // Control: the same write on the new link creates one order.
  await client.orders.place(ORDER);
  assertEquals((await client.orders.today({ market: "hk" }).toArray()).length, 1);
});

Deno.test("a platform that stops under an idle link is detected after three silent intervals", async () => {
  await using child = await startFaultChild();
  await using client = await connectDirect(child.info, { heartbeatMs: 60 });
  await client.account.funds({ market: "hk" });
  await child.stop();
  const began = performance.now();
  await eventually(() =>
    Promise.resolve(client.transport.state("trade").phase === "ready" ? undefined : true)
  );
  const took = performance.now() - began;
  assert(took > 100, `noticed after ${Math.round(took)} ms`);
  child.resume();
});

Deno.test("an event loop blocked for three intervals keeps the link if the platform keeps it", async () => {
  await using child = await startFaultChild();
  await using client = await connectDirect(child.info, { heartbeatMs: 100 });
  await client.account.funds({ market: "hk" });
  const phases: string[] = [];
  const states = client.transport.states();
  (async () => {
    for await (const { phase } of states) phases.push(phase);
  })();
  block(350);
  await wait(150);
  await client.account.funds({ market: "hk" });
  assertEquals(phases.filter((phase) => phase === "lost"), []);
});

Deno.test("after an event loop blocked for longer than the platform waits, a new link works", async () => {
  // Long enough for the new login on a busy machine, during which the client is silent too.
  await using child = await startFaultChild({ silenceLimitMs: 5000 });
  await using client = await connectDirect(child.info, { heartbeatMs: 100, keepLoginMs: false });
  const events = client.watch();
  await until(events, isConnected);
  await client.orders.place(ORDER);
  const phases: string[] = [];
  const states = client.transport.states();
  (async () => {
    for await (const { phase, channel } of states) if (channel === "trade") phases.push(phase);
  })();
  block(6000);
  const after = await until(events, isConnected);
  assert(after.some(({ type }) => type === "gap"));
  const { platform } = await child.state();
  assert(platform.silenced >= 1, "the platform had given the link up");
  assert(phases.includes("lost") && phases.at(-1) === "ready", phases.join(", "));
  // First request, trade login and calls work again, and the order exists once.
  assertEquals((await client.orders.today({ market: "hk" }).toArray()).length, 1);
  await client.orders.place({ ...ORDER, price: "551.00" });
  assertEquals((await client.orders.today({ market: "hk" }).toArray()).length, 2);
  await events.return?.();
});

Deno.test("a blocked event loop loses no push of the gateway, because pushes wait in the socket", async () => {
  await using child = await startFaultChild();
  const { gatewayUrl: url, pushAddress: push, tradePassword, tradePasswordKey } = child.info;
  await using client = await connect({ gateway: { url, push, tradePasswordKey }, tradePassword });
  const events = client.watch({ securities: [TENCENT] });
  await until(events, ({ type }) => type === "quote");
  // The order is sent, but its answer and its push wait until the event loop runs again.
  const placed = client.orders.place(ORDER);
  block(350);
  const seen = await until(events, ({ type }) => type === "order");
  const pushed = seen.flatMap((event) => event.type === "order" ? [event.data.orderId] : []);
  assertEquals(pushed, [(await placed).orderId]);
  assertEquals(seen.filter(({ type }) => type === "gap" || type === "connection"), []);
  await events.return?.();
});
