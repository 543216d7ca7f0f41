/**
 * Tests logins over the direct transport: one login for all waiting calls, takeovers, expiry, and the reported
 * states.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DisplacedError, LoginExpiredError, LoginRefusedError, RejectedError } from "../../lib/errors.ts";
import type { DirectClient } from "../../lib/client/connect.ts";
import { describeDirectEvent, type DirectEvent } from "../../lib/transports/direct/events.ts";
import { loginWaitMs } from "../../lib/transports/login_refusals.ts";
import { waitUntil } from "../support/waits.ts";
import { connectDirect, startQuietPlatform } from "../support/direct_client.ts";
import { startDirectProxy } from "../support/direct_proxy.ts";

const ORDER = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "500",
  side: "buy",
  orderType: "enhanced-limit",
} as const;

/** Records events until the client is closed. */
function eventsOf(client: DirectClient): DirectEvent[] {
  const seen: DirectEvent[] = [];
  const events = client.transport.events();
  (async () => {
    for await (const event of events) seen.push(event);
  })();
  return seen;
}

const loginsOf = (posted: string[]) => posted.filter((path) => path === "/hs/v2/login").length;
/** Waits until a condition is true, for at most five seconds. Returns also if it is still false. */
async function soon(holds: () => boolean): Promise<void> {
  for (let left = 500; left > 0 && !holds(); left--) await wait(10);
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

Deno.test("events() yields every state from the platform login to the close, and each can be printed", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  const seen = eventsOf(client);
  assertEquals(client.transport.describe(), "trade: not connected\nquote: not connected");
  await client.account.funds({ market: "hk" });
  await client.close();
  await wait(0);
  assertEquals(seen.map(describeDirectEvent), [
    "trade: logging in to the platform",
    "trade: connecting",
    "trade: agreeing on a key",
    "trade: logging in for trading",
    "trade: ready, heartbeat every 30 s, trade login made",
    "trade: closed",
  ]);
});

Deno.test("states() ends when the client is closed", async () => {
  await using platform = await startQuietPlatform();
  const client = await connectDirect(platform.info);
  const phases: string[] = [];
  const reading = (async () => {
    for await (const state of client.transport.states()) phases.push(state.phase);
  })();
  await client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
  await client.close();
  await reading;
  assertEquals(phases, ["platform-login", "connecting", "initializing", "ready", "closed"]);
});

Deno.test("one login serves 100 calls whose token expires in the middle", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  await using client = await connectDirect(proxy.info);
  await client.account.funds({ market: "hk" });
  assertEquals(loginsOf(proxy.posted), 1);
  platform.faults.arm({ kind: "expired-token", skip: 50 });
  const calls = Array.from({ length: 100 }, () => client.account.funds({ market: "hk" }));
  const funds = await Promise.all(calls);
  assertEquals(funds.length, 100);
  assertEquals(platform.faults.struck("expired-token"), 1);
  assertEquals(loginsOf(proxy.posted), 2);
});

Deno.test("a write with an expired token is not repeated, and the next one succeeds", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  await using client = await connectDirect(proxy.info);
  await client.account.funds({ market: "hk" });
  platform.faults.arm({ kind: "expired-token", operation: "orders.place" });
  const error = await assertRejects(() => client.orders.place(ORDER), LoginExpiredError);
  assertEquals(error.code, "1014");
  assertEquals(await client.orders.today({ market: "hk" }).toArray(), []);
  await client.orders.place(ORDER);
  assertEquals((await client.orders.today({ market: "hk" }).toArray()).length, 1);
  assertEquals(loginsOf(proxy.posted), 2);
});

Deno.test("an expired trade login is renewed without a new token", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  await using client = await connectDirect(proxy.info);
  await client.account.funds({ market: "hk" });
  platform.faults.arm({ kind: "expired-login" });
  const calls = Array.from({ length: 20 }, () => client.account.funds({ market: "hk" }));
  assertEquals((await Promise.all(calls)).length, 20);
  assertEquals(platform.faults.struck("expired-login"), 1);
  assertEquals(loginsOf(proxy.posted), 1);
});

Deno.test("after a login takeover, the client does not log in again", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  await using first = await connectDirect(proxy.info);
  await first.account.funds({ market: "hk" });
  await first.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
  // Another program logs in and takes over the login of the first.
  await using second = await connectDirect(platform.info);
  await second.account.funds({ market: "hk" });
  for (let index = 0; index < 3; index++) {
    const error = await assertRejects(() => first.account.funds({ market: "hk" }), DisplacedError);
    assertEquals(error.code, "1013");
  }
  await assertRejects(() => first.account.exchangeRates(), DisplacedError);
  await wait(60); // longer than any pause between attempts
  assertEquals(loginsOf(proxy.posted), 1);
  assertEquals(first.transport.state("trade").phase, "stopped");
  assertEquals(first.transport.state("quote").phase, "stopped");
  await second.account.funds({ market: "hk" }); // control: the second login is still valid
  // A person may take the login back.
  assertEquals(await first.account.login(), { success: true });
  await first.account.funds({ market: "hk" });
  assertEquals(loginsOf(proxy.posted), 2);
});

Deno.test("a trade connection that another program has taken over is not reopened", async () => {
  await using platform = await startQuietPlatform();
  await using first = await connectDirect(platform.info, { heartbeatMs: 200 });
  await first.account.funds({ market: "hk" });
  const watched = first.watch();
  // The first program notices the takeover at its heartbeat, because the platform then closes the older connection.
  // It must not reconnect, because that would take the login from the newer program.
  await using second = await connectDirect(platform.info);
  await second.account.funds({ market: "hk" });
  await assertRejects(async () => {
    for await (const _ of watched);
  }, DisplacedError);
  await second.account.funds({ market: "hk" });
  assertEquals(first.transport.state("trade").phase, "stopped");
});

Deno.test("a connection that is closed at two heartbeats in a row counts as taken over, and stays closed", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  await using client = await connectDirect(proxy.info, { heartbeatMs: 200 });
  const seen = eventsOf(client);
  await client.account.funds({ market: "hk" });
  await wait(500);
  assertEquals(client.transport.state("trade").phase, "ready"); // control: heartbeats are answered
  proxy.hangsUp = true;
  await soon(() => client.transport.state("trade").phase === "stopped");
  const { phase, error } = client.transport.state("trade");
  assertEquals([phase, error?.code], ["stopped", "hung-up"]);
  const opened = seen.filter((event) => event.type === "state" && event.phase === "initializing").length;
  assertEquals(opened, 2);
  await assertRejects(
    () => client.account.funds({ market: "hk" }),
    DisplacedError,
    "the platform closed it 2 times at a heartbeat",
  );
});

Deno.test("the age of a token is measured with a clock that never jumps", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  let [wall, steady] = [1_755_000_000_000, 0];
  await using client = await connectDirect(proxy.info, {
    machine: { now: () => wall, monotonic: () => steady },
    heartbeatMs: 60_000,
  });
  const hour = 3_600_000;
  const call = () => client.account.funds({ market: "hk" });
  await call();
  wall += 10 * hour; // the wall clock jumps forward, and back
  await call();
  wall -= 20 * hour;
  steady += 2 * hour;
  await call(); // each call extends the token by three hours
  steady += 2 * hour;
  await call();
  assertEquals(loginsOf(proxy.posted), 1);
  steady += 3 * hour;
  await call();
  assertEquals(loginsOf(proxy.posted), 2);
});

Deno.test("a newer login of our own does not count as a takeover", async () => {
  await using platform = await startQuietPlatform();
  let steady = 0;
  await using client = await connectDirect(platform.info, {
    machine: { monotonic: () => steady },
    heartbeatMs: 60_000,
  });
  await client.account.funds({ market: "hk" });
  platform.faults.arm({ kind: "delay", ms: 3_000, when: "request", operation: "account.holdings" });
  const early = client.account.holdings({ market: "hk" }); // sent with the first token
  await waitUntil("the first call to arrive", () => platform.faults.struck("delay") === 1);
  steady += 3 * 3_600_000;
  await client.account.exchangeRates(); // logs in again, which invalidates the first token
  assert((await early).length > 0);
  assertEquals(platform.faults.struck("delay"), 1);
  await client.account.funds({ market: "hk" });
  assertEquals(client.transport.state("trade").phase, "ready");
});

Deno.test("a wrong trade password is rejected once and does not affect market data", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info, {}, { tradePassword: "wrong" });
  const refuse = () => assertRejects(() => client.account.funds({ market: "hk" }), RejectedError);
  const first = await refuse();
  assert(!Deno.inspect(first).includes('wrong"'));
  const { callsTaken } = platform.state();
  assert(await refuse() === first);
  assertEquals(platform.state().callsTaken, callsTaken);
  assertEquals(client.transport.state("trade").tradeLogin, "refused");
  await client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
  assertEquals(await client.account.login({ password: platform.info.tradePassword }), { success: true });
  await client.account.funds({ market: "hk" });
});

Deno.test("keepLoginMs keeps the trade login alive, and renews it after it has expired", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info, { keepLoginMs: 20 });
  await client.account.funds({ market: "hk" });
  const before = platform.state().callsTaken;
  platform.faults.arm({ kind: "expired-login", operation: "account.keepLogin" });
  await soon(() => platform.faults.struck("expired-login") === 1 && platform.state().tradeLogin === "in");
  await soon(() => platform.state().callsTaken > before + 1);
  assertEquals(platform.faults.struck("expired-login"), 1);
  assert(platform.state().callsTaken > before + 1);
  assertEquals(platform.state().tradeLogin, "in");
  await using quiet = await connectDirect(platform.info, { keepLoginMs: false }); // the control
  await quiet.account.login();
  const still = platform.state().callsTaken;
  await wait(60);
  assertEquals(platform.state().callsTaken, still);
});

Deno.test("after logout() there is no automatic login", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  await client.account.funds({ market: "hk" });
  assertEquals(await client.account.logout(), { success: true });
  await assertRejects(() => client.account.funds({ market: "hk" }), LoginExpiredError);
  assertEquals(platform.state().tradeLogin, "out");
});

Deno.test("a client with trade: false reads market data while another program trades", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info, { trade: false });
  await client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
  await assertRejects(() => client.account.funds({ market: "hk" }), Error, "without the trade connection");
  assertEquals(platform.state().tradeConnections, 0);
});

Deno.test("100 simultaneous callers share one login and one connection", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  await using client = await connectDirect(proxy.info);
  const impatient = new AbortController();
  const given = client.account.funds({ market: "hk" }, { signal: impatient.signal });
  const calls = Array.from({ length: 100 }, () => client.account.funds({ market: "hk" }));
  const gone = new Error("no longer wanted");
  impatient.abort(gone);
  assertEquals(await assertRejects(() => given, Error), gone);
  assertEquals((await Promise.all(calls)).length, 100); // an aborted call does not affect the login of the others
  assertEquals(proxy.posted, ["/hs/v2/login", "/hs/config/queryServer"]);
  const requests = proxy.sent.filter(({ type }) => type === "request");
  assertEquals(requests.length, 102); // InitConnect, one trade login, 100 calls
});

Deno.test("both connections and the platform's HTTP operations share one login", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  await using client = await connectDirect(proxy.info);
  await Promise.all([
    client.account.funds({ market: "hk" }),
    client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] }),
    client.account.exchangeRates(),
  ]);
  assertEquals(proxy.posted.filter((path) => path !== "/hs/rate/queryList"), [
    "/hs/v2/login",
    "/hs/config/queryServer",
  ]);
});

Deno.test("reading pages is complete even if the token expires between two pages", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  await using client = await connectDirect(proxy.info);
  const walk = () =>
    client.fills.history({ market: "hk", from: "2025-08-11", to: "2025-08-14", limit: 7 }).toArray();
  const expected = await walk();
  assert(expected.length > 14, `${expected.length} fills`);
  platform.faults.arm({ kind: "expired-token", operation: "fills.history", skip: 1 });
  assertEquals(await walk(), expected);
  assertEquals(platform.faults.struck("expired-token"), 1);
  assertEquals(loginsOf(proxy.posted), 2);
});

Deno.test("deviceId is sent in the vendor's format, and a device that is not bound is rejected", async () => {
  await using platform = await startQuietPlatform({ boundDevices: ["aa-bb-cc-00-11-22"] });
  await using bound = await connectDirect(platform.info, { deviceId: "AA:BB:CC:00:11:22" });
  await bound.account.funds({ market: "hk" });
  await using other = await connectDirect(platform.info, { deviceId: "AA:BB:CC:00:11:23" });
  const error = await assertRejects(() => other.account.funds({ market: "hk" }), RejectedError);
  assertEquals(error.code, "1006");
});

Deno.test("a login that is rejected for now is retried after growing waits, both at the platform and for trading", async () => {
  for (const operation of ["account.login", "platform.login"] as const) {
    await using platform = await startQuietPlatform();
    let steady = 0;
    await using client = await connectDirect(platform.info, {
      machine: { monotonic: () => steady },
      heartbeatMs: 60_000,
      keepLoginMs: false,
    });
    const { faults } = platform;
    const call = () => client.account.funds({ market: "hk" });
    faults.arm({ kind: "busy", operation, code: "9999", text: "system maintenance", times: 3 });
    for (let count = 1; count <= 3; count++) {
      const error = await assertRejects(call, LoginRefusedError, "system maintenance");
      assertEquals([operation, error.reason, error.operation], [operation, "temporary", operation]);
      assertEquals(faults.struck("busy"), count);
      steady += loginWaitMs(count) - 1000;
      await assertRejects(call, LoginRefusedError, "in 1 s at the earliest");
      assertEquals([operation, faults.struck("busy")], [operation, count]);
      steady += 1000;
    }
    await call();
    // Control: a rejection because of the password is final, even after a long time.
    await using wrong = await connectDirect(platform.info, {
      machine: { monotonic: () => steady },
      heartbeatMs: 60_000,
    });
    faults.arm({ kind: "busy", operation, code: "1008", text: "wrong password", times: 9 });
    for (let count = 0; count < 3; count++) {
      const error = await assertRejects(() => wrong.account.funds({ market: "hk" }), LoginRefusedError);
      assertEquals([error.reason, faults.struck("busy")], ["password", 4]);
      steady += 100 * 3_600_000;
    }
  }
});
