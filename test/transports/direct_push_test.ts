/**
 * Tests pushes over the direct transport: two sockets are one stream, with the same events and gaps as over the
 * gateway.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { DirectClient } from "../../lib/client/connect.ts";
import { RejectedError } from "../../lib/errors.ts";
import type { TransportEvent } from "../../lib/transports/push/events.ts";
import { connectDirect, startQuietPlatform } from "../support/direct_client.ts";
import { connect } from "../../lib/client/connect.ts";
import { startDirectProxy } from "../support/direct_proxy.ts";
import { waitUntil, within } from "../support/waits.ts";
import { directFarEnd, PUSHED_AT } from "./direct_far_end.ts";

const TENCENT = { type: "hk-stock", symbol: "00700.HK" } as const;
const ORDER = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "500",
  side: "buy",
  orderType: "enhanced-limit",
} as const;

/** Reads until an event matches. Resolves to all events read. */
async function until(events: AsyncIterator<TransportEvent>, fits: (event: TransportEvent) => boolean) {
  const seen: TransportEvent[] = [];
  while (true) {
    const { value, done } = await within("an event that fits", events.next());
    if (done) throw new Error(`the stream ended after ${JSON.stringify(seen)}`);
    seen.push(value);
    if (fits(value)) return seen;
  }
}

const isConnected = (event: TransportEvent) => event.type === "connection" && event.state === "connected";
const ofType = (type: TransportEvent["type"]) => (event: TransportEvent) => event.type === type;

/** Waits until the platform has this number of subscriptions. */
async function subscribed(state: () => { subscriptions: number }, count: number): Promise<void> {
  await waitUntil("the subscriptions", () => state().subscriptions === count);
}

async function place(client: DirectClient): Promise<string> {
  const { orderId } = await client.orders.place(ORDER);
  return String(orderId);
}

Deno.test("watch() yields orders without a subscription, and quotes with one", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  const events = client.watch({ securities: [TENCENT] });
  assertEquals((await until(events, isConnected)).length, 1);
  await subscribed(platform.state, 1);
  const orderId = await place(client);
  const [order] = (await until(events, ofType("order"))).slice(-1);
  assert(order?.type === "order");
  assertEquals([order.data.orderId, order.data.symbol, order.data.side], [orderId, "00700.HK", "buy"]);
  platform.clock.advance(60_000);
  platform.round();
  const [quote] = (await until(events, ofType("quote"))).slice(-1);
  assert(quote?.type === "quote");
  assertEquals(quote.data.security, TENCENT);
  assert(Number(quote.data.quote?.lastPrice) > 0);
});

Deno.test("watch() of only orders opens no market connection", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  const events = client.watch();
  await until(events, isConnected);
  const { tradeConnections, quoteConnections } = platform.state();
  assertEquals({ tradeConnections, quoteConnections }, { tradeConnections: 1, quoteConnections: 0 });
});

Deno.test("a break of the market connection is reported as a gap, and its subscriptions are restored", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  const events = client.watch({ securities: [TENCENT] });
  await until(events, isConnected);
  await subscribed(platform.state, 1);
  platform.faults.arm({ kind: "cut-push", push: "quote" });
  const seen = await until(events, isConnected);
  const states = seen.map((event) => event.type === "connection" ? event.state : event.type);
  assertEquals(states, ["lost", "reconnecting", "gap", "connected"]);
  const gap = seen.find(ofType("gap"));
  assert(
    gap?.type === "gap" && gap.from <= gap.to && gap.reason.includes("the market server"),
    Deno.inspect(gap),
  );
  assertEquals(platform.state().subscriptions, 1);
  platform.clock.advance(60_000);
  platform.round();
  await until(events, ofType("quote"));
});

Deno.test("orders arrive while the market connection is down", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info, { reconnect: { minMs: 150, maxMs: 200 } });
  const events = client.watch({ securities: [TENCENT] });
  await until(events, isConnected);
  await subscribed(platform.state, 1);
  platform.faults.arm({ kind: "cut-push", push: "quote" });
  await until(events, (event) => event.type === "connection" && event.state === "reconnecting");
  const orderId = await place(client);
  const [order] = (await until(events, (event) => event.type === "order" || isConnected(event))).slice(-1);
  assert(order?.type === "order", `the order came before the connection was back: ${Deno.inspect(order)}`);
  assertEquals(order.data.orderId, orderId);
  await until(events, isConnected);
});

Deno.test("a push stream cut at any byte of a push loses no order without a gap", async () => {
  await using platform = await startQuietPlatform();
  for (const bytes of [0, 1, 150, 151, 152, 300]) {
    await using client = await connectDirect(platform.info);
    const events = client.watch();
    await until(events, isConnected);
    await client.account.funds({ market: "hk" });
    platform.faults.arm({ kind: "cut-push", push: "order", bytes });
    // The answer to the order may be lost with the connection.
    const placing = client.orders.place(ORDER).catch((error) => error);
    const seen = await until(events, isConnected);
    assert(seen.some(ofType("gap")), `${bytes} bytes: ${Deno.inspect(seen)}`);
    await placing;
    const orderId = await place(client);
    await until(events, (event) => event.type === "order" && event.data.orderId === orderId);
  }
});

Deno.test("after a new session, logins, subscriptions and pushes are restored", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  await using client = await connectDirect(proxy.info);
  const events = client.watch({ securities: [TENCENT] });
  await until(events, isConnected);
  await subscribed(platform.state, 1);
  proxy.passBytes = 0; // the trade connection breaks at the next frame
  await client.account.funds({ market: "hk" }).catch(() => {});
  proxy.passBytes = Infinity;
  await until(events, isConnected);
  const { tradeLogin, orderPushes, subscriptions } = platform.state();
  assertEquals({ tradeLogin, orderPushes, subscriptions }, {
    tradeLogin: "in",
    orderPushes: true,
    subscriptions: 1,
  });
});

Deno.test("watch() ends with the error if the platform cannot be reached", async () => {
  const platform = await startQuietPlatform();
  await platform.close();
  await using client = await connectDirect(platform.info);
  let message = "";
  try {
    for await (const _ of client.watch()) { /* nothing comes */ }
  } catch (error) {
    message = error instanceof Error ? error.message : "";
  }
  assert(message.includes(`no connection to ${platform.info.authUrl}`), message);
});

Deno.test("after a watch has failed, the next one connects again and yields pushes", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  platform.faults.arm({ kind: "second-init", operation: "platform.openConnection" });
  await assertRejects(
    () => within("the end of the watch", Array.fromAsync(client.watch())),
    RejectedError,
    "socket not initialized",
  );
  const events = client.watch();
  await until(events, isConnected);
  const orderId = await place(client);
  const [order] = (await until(events, ofType("order"))).slice(-1);
  assert(order?.type === "order");
  assertEquals(order.data.orderId, orderId);
});

Deno.test("with trade: false, watch() yields only market data", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info, { trade: false });
  const events = client.watch({ securities: [TENCENT] });
  await until(events, isConnected);
  await subscribed(platform.state, 1);
  platform.clock.advance(60_000);
  platform.round();
  await until(events, ofType("quote"));
  assertEquals(platform.state().tradeConnections, 0);
});

Deno.test("close() ends a watch without an error, even while it waits for a connection", async () => {
  const platform = await startQuietPlatform();
  const client = await connectDirect(platform.info, { reconnect: { minMs: 50, maxMs: 60 } });
  const events = client.watch();
  await until(events, isConnected);
  await platform.close();
  await until(events, (event) => event.type === "connection" && event.state === "reconnecting");
  const rest = (async () => {
    for await (const _ of events) { /* to its end */ }
  })();
  await new Promise((resolve) => setTimeout(resolve, 70));
  await client.close();
  await rest;
});

Deno.test("watch() marks an old order push that arrives before any answer, and reports a gap with the reason", async () => {
  let pushed = 0;
  await using farEnd = await directFarEnd({
    async onCall(call) {
      const push = call.frame({ type: "push", serial: 9, body: call.orderPush(`A${++pushed}`) });
      const { type } = call.request;
      await call.send(
        push,
        call.answer({ type, time: PUSHED_AT, told: ["CommonBoolResponse", { success: true }] }),
      );
    },
  });
  await using client = await connect({ direct: farEnd.options, retry: { attempts: 1 } });
  const events = client.watch();
  const seen = await until(events, ofType("gap"));
  const [order, gap] = seen.slice(-2);
  assert(order?.type === "order" && gap?.type === "gap");
  assertEquals(order.data.orderId, "A1");
  assert(order.offMs !== undefined && order.offMs < 0, Deno.inspect(order));
  assert(
    gap.reason.endsWith("behind this machine's clock, and no answer has contained the broker's time"),
    gap.reason,
  );
  // The answer contains the broker's time, so the second push does not count as old.
  await client.orders.subscribe();
  const [second] = (await until(events, ofType("order"))).slice(-1);
  assert(second?.type === "order");
  assertEquals([second.data.orderId, second.offMs], ["A2", undefined]);
});
