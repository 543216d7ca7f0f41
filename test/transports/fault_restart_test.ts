/**
 * Tests a restart of the gateway or the platform (fault F17): it loses logins, subscriptions and serial numbers, but
 * the account continues.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { connect } from "../../lib/client/connect.ts";
import { BrokerError, LoginExpiredError } from "../../mod.ts";
import type { Client } from "../../lib/client/client.ts";
import { ManualClock } from "../../lib/time.ts";
import { type Core, makeCore } from "../../lib/simulator/endpoints/core.ts";
import { openGateway, type SimulatedGateway } from "../../lib/simulator/gateway/mod.ts";
import { openPlatform, type SimulatedPlatform } from "../../lib/simulator/platform/mod.ts";
import type { TransportEvent } from "../../lib/transports/push/events.ts";
import { isConnected, MORNING, ORDER, TENCENT, until } from "../conformance/simulated_account.ts";
import { connectDirect } from "../support/direct_client.ts";

const CROSSING = { ...ORDER, price: "610.00" };
const portOf = (address: string) => Number(address.split(":").at(-1));

function startCore(seed = 7): { core: Core; clock: ManualClock } {
  const clock = new ManualClock(MORNING);
  return { core: makeCore({ seed, clock, days: 2, fillsPerDay: 2 }), clock };
}

function openGatewayAgain(core: Core, before?: SimulatedGateway): Promise<SimulatedGateway> {
  return openGateway(core, {
    pushIntervalMs: 15,
    ...before && {
      httpPort: portOf(before.info.gatewayUrl),
      pushPort: portOf(before.info.pushAddress),
    },
  });
}

function openPlatformAgain(core: Core, before?: SimulatedPlatform): Promise<SimulatedPlatform> {
  return openPlatform(core, {
    pushIntervalMs: 15,
    ...before && {
      platformPort: portOf(before.info.authUrl),
      tradePort: portOf(before.info.tradeServer),
      hqPort: portOf(before.info.hqServer),
    },
  });
}

/** Counts the trade logins that arrive. */
function countLogins({ faults }: Core): () => number {
  faults.arm({ kind: "delay", ms: 0, when: "request", operation: "account.login", times: 1000 });
  return () => 1000 - faults.armed.find(({ operation }) => operation === "account.login")!.times!;
}

interface Restart {
  core: Core;
  clock: ManualClock;
  client: Client;
  /** Returns the number of subscriptions at the running server. */
  subscriptions: () => number;
  /** Closes the server. */
  goDown: () => Promise<void>;
  /** Starts a new server at the same address. */
  comeBack: () => Promise<void>;
}

/** Checks what must be true after a restart of either server. */
async function surviveRestart({ core, clock, client, subscriptions, goDown, comeBack }: Restart) {
  const events = client.watch({ securities: [TENCENT] });
  await until(events, ({ type }) => type === "quote");
  assertEquals(subscriptions(), 1);
  const { orderId } = await client.orders.place(CROSSING);
  await until(events, ({ type }) => type === "order");

  const logins = countLogins(core);
  await goDown();
  // The order fills while the server is down, so there is no push.
  clock.advance(60_000);
  core.broker.settle();
  await comeBack();

  const back: TransportEvent[] = await until(events, isConnected);
  assert(back.some(({ type }) => type === "gap"), "the gap is reported");
  const told = back.filter((event) => event.type === "order" && event.data.status === "filled");
  assertEquals(told, [], "the control: no push showed the fill");
  const fills = await client.fills.today({ market: "hk" }).toArray();
  assertEquals(fills.map((each) => [each.orderId, each.status]), [[orderId, "filled"]]);
  assertEquals(logins(), 1);
  assertEquals(subscriptions(), 1);
  clock.advance(60_000);
  await until(events, ({ type }) => type === "quote");
  await events.return?.();
}

Deno.test("a restarted gateway: one login, a gap, restored subscriptions, and the lists show the fill", async () => {
  const { core, clock } = startCore();
  let gateway = await openGatewayAgain(core);
  try {
    const { gatewayUrl: url, pushAddress: push, tradePassword, tradePasswordKey } = gateway.info;
    await using client = await connect({ gateway: { url, push, tradePasswordKey }, tradePassword });
    await surviveRestart({
      core,
      clock,
      client,
      subscriptions: () => gateway.state().subscriptions,
      goDown: () => gateway.close(),
      comeBack: async () => void (gateway = await openGatewayAgain(core, gateway)),
    });
  } finally {
    await gateway.close();
  }
});

Deno.test("a restarted platform: a new token and session, one trade login, and the lists show the fill", async () => {
  const { core, clock } = startCore();
  let platform = await openPlatformAgain(core);
  try {
    await using client = await connectDirect(platform.info);
    const phases: string[] = [];
    const states = client.transport.states();
    (async () => {
      for await (const { phase, channel } of states) if (channel === "trade") phases.push(phase);
    })();
    await surviveRestart({
      core,
      clock,
      client,
      subscriptions: () => platform.state().subscriptions,
      goDown: () => platform.close(),
      comeBack: async () => void (platform = await openPlatformAgain(core, platform)),
    });
    // The client has a new session key. The key is in the answer to the first request of a connection, so the client
    // sent that request again.
    assertEquals(phases.filter((phase) => phase === "ready").length >= 2, true, phases.join(", "));
    assert(phases.lastIndexOf("platform-login") > phases.indexOf("lost"), phases.join(", "));
  } finally {
    await platform.close();
  }
});

Deno.test("over the gateway, a write that is the first call after a restart fails, and is not repeated", async () => {
  const { core } = startCore();
  let gateway = await openGatewayAgain(core);
  try {
    const { gatewayUrl, tradePassword, tradePasswordKey } = gateway.info;
    await using client = await connect({ gateway: gatewayUrl, tradePassword, tradePasswordKey });
    await client.account.funds({ market: "hk" });
    await gateway.close();
    gateway = await openGatewayAgain(core, gateway);
    await assertRejects(() => client.orders.place(ORDER), LoginExpiredError);
    assertEquals(await client.orders.today({ market: "hk" }).toArray(), []);
    await client.orders.place(ORDER); // control: the read has logged in
    assertEquals((await client.orders.today({ market: "hk" }).toArray()).length, 1);
  } finally {
    await gateway.close();
  }
});

Deno.test("a platform that restarts with other keys causes a typed error, and few attempts", async () => {
  let platform = await openPlatformAgain(startCore(7).core);
  try {
    await using client = await connectDirect(platform.info, {}, { retry: { attempts: 1 } });
    await client.account.funds({ market: "hk" });
    await platform.close();
    const { core } = startCore(8);
    platform = await openPlatformAgain(core, platform);
    const logins = countLogins(core);
    const error = await assertRejects(() => client.account.funds({ market: "hk" }), BrokerError);
    assert(error.constructor !== BrokerError, "a class that says what to do");
    await new Promise((resolve) => setTimeout(resolve, 200));
    assertEquals([logins(), platform.state().callsTaken], [0, 0]);
    assert(platform.state().tradeConnections <= 1);
  } finally {
    await platform.close();
  }
});
