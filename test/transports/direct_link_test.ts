/**
 * Tests one connection of the direct transport under the faults of its frames and answers: each call gets the right
 * result, and no write happens twice.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { OutcomeUnknownError, ProtocolError, RejectedError, TransportError } from "../../lib/errors.ts";
import type { DirectClient } from "../../lib/client/connect.ts";
import type { FaultKind } from "../../lib/simulator/endpoints/faults.ts";
import type { SimulatedPlatform } from "../../lib/simulator/platform/mod.ts";
import type { DirectEvent } from "../../lib/transports/direct/events.ts";
import type { LateAnswer } from "../../lib/transports/transport.ts";
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
const once = { retry: { attempts: 1 } };
/** Waits for an event that shows only in a counter. */
const reached = async (isReached: () => boolean) => {
  while (!isReached()) await wait(5);
};
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const funds = (client: DirectClient) => client.account.funds({ market: "hk" });

/** Resolves to the order numbers at the broker, read by a separate client. */
async function ordersAt(platform: SimulatedPlatform): Promise<string[]> {
  await using client = await connectDirect(platform.info);
  return (await client.orders.today({ market: "hk" }).toArray()).map(({ orderId }) => String(orderId));
}

function eventsOf(client: DirectClient): DirectEvent[] {
  const seen: DirectEvent[] = [];
  const events = client.transport.events();
  (async () => {
    for await (const event of events) seen.push(event);
  })();
  return seen;
}

Deno.test("call() gives each of many concurrent calls its own answer, in any order", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  const symbols = ["00700.HK", "02318.HK", "00005.HK", "00941.HK"];
  const securities = symbols.map((symbol) => ({ type: "hk-stock", symbol }) as const);
  platform.faults.arm({ kind: "delay", ms: 60, times: 20 });
  platform.faults.arm({ kind: "delay", ms: 20, times: 20, skip: 30 });
  const asked = Array.from({ length: 80 }, (_, index) => securities[index % 4]!);
  const answers = await Promise.all(
    asked.map((security) => client.quotes.latest({ securities: [security] })),
  );
  assertEquals(answers.map(([quote]) => quote?.security?.symbol), asked.map(({ symbol }) => symbol));
  assertEquals(platform.faults.struck("delay"), 40);
});

Deno.test("serial numbers start at 0 for InitConnect, then 1, 2, 3 per call, and start again on a new connection", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  await using client = await connectDirect(proxy.info, { heartbeatMs: 200 });
  await funds(client);
  await reached(() => proxy.sent.some(({ type }) => type === "heartbeat"));
  await funds(client);
  proxy.passBytes = 0;
  await funds(client).catch(() => {});
  proxy.passBytes = Infinity;
  await funds(client);
  const first = proxy.sent.filter(({ connection }) => connection === 0);
  const calls = first.filter(({ type }) => type === "request").map(({ serial }) => serial);
  assertEquals(calls, [0, 1, 2, 3]); // InitConnect, trade login, two calls
  const beats = first.filter(({ type }) => type === "heartbeat");
  assert(beats.length >= 1, `${beats.length} heartbeats`);
  for (const { serial, signed, length } of beats) {
    assertEquals({ serial, signed, length }, { serial: 0, signed: false, length: 151 });
  }
  const last = Math.max(...proxy.sent.map(({ connection }) => connection));
  assert(last > 0);
  const second = proxy.sent.filter(({ connection, type }) => connection === last && type === "request");
  assertEquals(second.slice(0, 2).map(({ serial }) => serial), [0, 1]);
});

Deno.test("a write whose answer is lost has an unknown outcome and is not repeated", async () => {
  for (
    const kind of [
      "lost-answer",
      "reset-after",
      "not-json",
      "wrong-signature",
      "wrong-padding",
      "huge-body",
    ] as const
  ) {
    await using platform = await startQuietPlatform();
    {
      await using client = await connectDirect(platform.info);
      await funds(client);
      platform.faults.arm({ kind, operation: "orders.place" });
      await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
      assertEquals(platform.faults.struck(kind), 1, kind);
      // Control: a read with the same fault is retried and gets its answer.
      platform.faults.arm({ kind, operation: "account.funds" });
      assertEquals((await funds(client)).accountStatus, "0", kind);
      assertEquals(platform.faults.struck(kind), 2, kind);
    }
    assertEquals((await ordersAt(platform)).length, 1, kind);
  }
});

Deno.test("a damaged answer ends the connection with a typed error", async () => {
  const cases: [FaultKind, string][] = [
    ["wrong-signature", "signature-bad"],
    ["wrong-padding", "cipher-padding"],
    ["huge-body", "frame-too-large"],
    ["not-json", "message-damaged"],
  ];
  for (const [kind, code] of cases) {
    await using platform = await startQuietPlatform();
    await using client = await connectDirect(platform.info, {}, once);
    const seen = eventsOf(client);
    await funds(client);
    platform.faults.arm({ kind, operation: "account.funds" });
    const error = await assertRejects(() => funds(client), TransportError);
    const { cause } = error;
    assert(cause instanceof ProtocolError, `${kind}: ${Deno.inspect(cause)}`);
    assertEquals(cause.code, code, kind);
    assertEquals((await funds(client)).accountStatus, "0");
    assert(seen.some((event) => event.type === "state" && event.phase === "lost"), kind);
  }
});

Deno.test("frames that are split, joined, or padded by the rule mod_len are read correctly", async () => {
  for (const kind of ["split-frame", "merged-frames", "other-padding"] as const) {
    await using platform = await startQuietPlatform();
    await using client = await connectDirect(platform.info, {}, once);
    await funds(client);
    platform.faults.arm({ kind, times: 5, ...kind === "split-frame" && { bytes: 25 } });
    const answers = await Promise.all(Array.from({ length: 10 }, () => funds(client)));
    assertEquals(answers.length, 10);
    assertEquals(platform.faults.struck(kind), 5, kind);
  }
});

Deno.test("an answer cut after any number of bytes leaves one order, and an unknown outcome", async () => {
  await using platform = await startQuietPlatform();
  const cuts = [0, 1, 2, 75, 150, 151, 152, 200, 246];
  {
    await using client = await connectDirect(platform.info);
    for (const bytes of cuts) {
      await funds(client);
      platform.faults.arm({ kind: "reset-after", bytes, operation: "orders.place" });
      await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
    }
  }
  assertEquals((await ordersAt(platform)).length, cuts.length);
});

Deno.test("a request cut after any number of bytes is not placed, and its outcome is unknown", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  {
    await using client = await connectDirect(proxy.info, { reconnect: { minMs: 1, maxMs: 2 } });
    await client.orders.place(ORDER); // control: without a cut, the order is placed
    const { length = 0 } = proxy.sent.at(-1) ?? {};
    assert(length > 300, `a request of ${length} bytes`);
    const cuts = [0, 1, 150, 151, 152, length - 1];
    for (let bytes = 17; bytes < length; bytes += 41) cuts.push(bytes);
    for (const bytes of cuts) {
      await funds(client);
      proxy.passBytes = bytes;
      await assertRejects(() => client.orders.place({ ...ORDER, quantity: "900" }), OutcomeUnknownError);
      proxy.passBytes = Infinity;
    }
  }
  assertEquals((await ordersAt(platform)).length, 1);
});

Deno.test("a late answer reaches only its own call", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  const seen = eventsOf(client);
  await funds(client);
  platform.faults.arm({ kind: "delay", ms: 4_000, operation: "orders.place" });
  const late = Promise.withResolvers<LateAnswer>();
  const error = await assertRejects(
    () => client.orders.place(ORDER, { timeoutMs: 1_000, onLateAnswer: late.resolve }),
    OutcomeUnknownError,
  );
  assertEquals(error.code, "timeout");
  const second = await client.orders.place({ ...ORDER, quantity: "200" });
  const { operation, result } = await late.promise;
  const orders = await client.orders.today({ market: "hk" }).toArray();
  const idOf = (quantity: string) => orders.find((order) => order.quantity === quantity)?.orderId;
  assertEquals({ operation, result }, { operation: "orders.place", result: { orderId: idOf("100")! } });
  assertEquals(second, { orderId: idOf("200")! });
  const told = seen.filter(({ type }) => type === "late-answer");
  assertEquals(told.length, 1);
});

Deno.test("an abort ends a call: a write that was already sent has an unknown outcome", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  await funds(client);
  const gone = new Error("no longer wanted");
  platform.faults.arm({ kind: "delay", ms: 10_000, times: 2 });
  const write = new AbortController();
  const placing = client.orders.place(ORDER, { signal: write.signal });
  await reached(() => platform.faults.struck("delay") === 1);
  write.abort(gone);
  const error = await assertRejects(() => placing, OutcomeUnknownError);
  assertEquals(error.code, "aborted");
  const read = new AbortController();
  const reading = client.account.funds({ market: "hk" }, { signal: read.signal });
  await reached(() => platform.faults.struck("delay") === 2);
  read.abort(gone);
  assertEquals(await assertRejects(() => reading, Error), gone);
  // Aborted before anything is sent: the order is not placed.
  assertEquals(
    await assertRejects(() => client.orders.place(ORDER, { signal: AbortSignal.abort(gone) }), Error),
    gone,
  );
  await wait(60);
  assertEquals((await client.orders.today({ market: "hk" }).toArray()).length, 1);
});

Deno.test("each call has its own timeoutMs", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info, {}, once);
  await funds(client);
  platform.faults.arm({ kind: "unanswered", operation: "account.funds" });
  const slow = assertRejects(
    () => client.account.funds({ market: "hk" }, { timeoutMs: 1_000 }),
    TransportError,
  );
  await wait(5);
  await funds(client);
  assertEquals((await slow).code, "timeout");
  assertEquals(client.transport.state("trade").phase, "ready");
});

Deno.test("a link that is silent for three intervals is closed, and the read succeeds on the next link", async () => {
  await using platform = await startQuietPlatform({ heartbeatIntervalSec: 1 });
  await using client = await connectDirect(platform.info, { heartbeatMs: 100 });
  const seen = eventsOf(client);
  await funds(client);
  platform.faults.arm({ kind: "silence", operation: "account.funds" });
  const began = performance.now();
  assertEquals((await funds(client)).accountStatus, "0");
  const took = performance.now() - began;
  assert(took >= 300 && took < 10000, `noticed after ${took} ms`);
  const lost = seen.find((event) => event.type === "state" && event.phase === "lost");
  assert(lost?.type === "state" && lost.error?.code === "dead-link", Deno.inspect(lost));
});

Deno.test("heartbeats keep an idle link open for longer than the platform's silence limit", async () => {
  await using platform = await startQuietPlatform({ silenceLimitMs: 1200 });
  await using client = await connectDirect(platform.info, { heartbeatMs: 200 });
  const seen = eventsOf(client);
  await funds(client);
  await wait(2500);
  assertEquals(platform.state().silenced, 0);
  assert(!seen.some((event) => event.type === "state" && event.phase === "lost"));
  await using mute = await connectDirect(platform.info, { heartbeatMs: 60_000 }); // the control
  await funds(mute);
  await reached(() => platform.state().silenced > 0);
  assertEquals(platform.state().silenced, 1);
});

Deno.test("a write is not sent on an idle link that is half open", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  const probe = { idleMs: 10, waitMs: 60 };
  {
    await using client = await connectDirect(proxy.info, { probe });
    await funds(client);
    await wait(30);
    proxy.frozen = true; // as after SIGSTOP: the socket stays established
    const began = performance.now();
    const error = await assertRejects(() => client.orders.place(ORDER), TransportError);
    assertEquals(error.code, "dead-link");
    assert(performance.now() - began < 5000, "long before the call's own limit");
  }
  {
    // Control: without the check, the write is lost and its outcome is unknown.
    proxy.frozen = false;
    await using client = await connectDirect(proxy.info, { probe: false });
    await funds(client);
    proxy.frozen = true;
    await assertRejects(() => client.orders.place(ORDER, { timeoutMs: 1_000 }), OutcomeUnknownError);
  }
  proxy.frozen = false;
  // A busy machine may take longer than 60 ms for the answer.
  await using client = await connectDirect(proxy.info, { probe: { ...probe, waitMs: 30_000 } });
  await funds(client);
  await wait(30);
  await client.orders.place(ORDER); // a working link answers the check
  assertEquals((await client.orders.today({ market: "hk" }).toArray()).length, 1);
});

Deno.test("an answer without a matching call is reported as a fault, and fails the only waiting call", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info, {}, once);
  const seen = eventsOf(client);
  const faults = () => seen.filter(({ type }) => type === "fault").length;
  await funds(client);
  platform.faults.arm({ kind: "unreadable-request", operation: "orders.place" });
  await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
  assertEquals(faults(), 1);
  platform.faults.arm({ kind: "unreadable-request", operation: "account.funds" });
  assertEquals((await assertRejects(() => funds(client), RejectedError)).code, "1003");
  assertEquals(faults(), 2);
  // With two waiting calls, the answer could belong to either, so both continue to wait. Only one gets its answer.
  platform.faults.arm({ kind: "delay", ms: 1_500, operation: "account.holdings" });
  platform.faults.arm({ kind: "unreadable-request", operation: "account.funds" });
  const [holdings, lost] = await Promise.allSettled([
    client.account.holdings({ market: "hk" }),
    client.account.funds({ market: "hk" }, { timeoutMs: 3_000 }),
  ]);
  assertEquals([holdings.status, lost.status], ["fulfilled", "rejected"]);
  assertEquals(faults(), 3);
});

Deno.test("a session that the platform has lost is opened again, and the write was not executed", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  await funds(client);
  platform.faults.arm({ kind: "second-init", operation: "orders.place" });
  const error = await assertRejects(() => client.orders.place(ORDER), TransportError);
  assertEquals(error.code, "1004");
  platform.faults.arm({ kind: "second-init", operation: "account.funds" });
  assertEquals((await funds(client)).accountStatus, "0"); // a read is retried
  assertEquals(await client.orders.today({ market: "hk" }).toArray(), []);
});

Deno.test("a system exception rejects a read, and leaves a write's outcome unknown", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  await funds(client);
  platform.faults.arm({ kind: "system-error", times: 2 });
  assertEquals((await assertRejects(() => funds(client), RejectedError)).code, "1001");
  assertEquals((await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError)).code, "1001");
});

Deno.test("reads that a busy platform rejects are retried, writes are not", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info);
  await funds(client);
  platform.faults.arm({ kind: "busy", times: 2, operation: "account.funds" });
  await funds(client);
  platform.faults.arm({ kind: "busy", operation: "orders.place" });
  await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
  assertEquals(platform.faults.struck("busy"), 3);
});

Deno.test("after renewAtSerial an idle connection is replaced, and no call is lost", async () => {
  await using platform = await startQuietPlatform();
  await using proxy = startDirectProxy(platform.info);
  await using client = await connectDirect(proxy.info, { renewAtSerial: 5 });
  for (let index = 0; index < 12; index++) await funds(client);
  const serials = proxy.sent.filter(({ type }) => type === "request").map(({ serial }) => serial);
  assertEquals(Math.max(...serials), 5);
  assert(serials.filter((serial) => serial === 0).length >= 3);
});

Deno.test("the waits between attempts grow while the platform cannot be reached", async () => {
  await using platform = await startQuietPlatform();
  const client = await connectDirect(platform.info, {
    reconnect: { minMs: 10, maxMs: 80 },
    machine: { random: () => 0.999 },
  }, once);
  const seen = eventsOf(client);
  await funds(client);
  await platform.close();
  await reached(() =>
    seen.filter((event) => event.type === "state" && event.phase === "waiting").length >= 3
  );
  const waits = seen.flatMap((event) =>
    event.type === "state" && event.phase === "waiting" ? [event.waitMs] : []
  );
  assertEquals(waits.slice(0, 3), [20, 40, 80]);
  await assertRejects(() => client.orders.place(ORDER), TransportError);
  await client.close();
});

Deno.test("close() ends waiting calls, and leaves no resource open", async () => {
  await using platform = await startQuietPlatform();
  const client = await connectDirect(platform.info);
  await funds(client);
  platform.faults.arm({ kind: "unanswered", times: 2 });
  const placing = assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
  const reading = assertRejects(() => funds(client), TransportError);
  await reached(() => platform.faults.struck("unanswered") === 2);
  await client.close();
  await Promise.all([placing, reading]);
  await assertRejects(() => funds(client), TransportError, "closed");
});

Deno.test("bodies padded by each of the three rules are read in both directions", async () => {
  const rules = ["pkcs7", "mod_len", "mod_len_over_pkcs7"] as const;
  for (const padding of rules) {
    await using platform = await startQuietPlatform({ padding });
    await using client = await connectDirect(platform.info, { padding }, once);
    assertEquals((await funds(client)).accountStatus, "0", padding);
    assertEquals(
      (await client.fills.history({ market: "hk", from: "2025-08-11", to: "2025-08-14" }).toArray()).length >
        0,
      true,
    );
  }
});

Deno.test("a link survives an event loop that was blocked for nine heartbeat intervals", async () => {
  await using platform = await startQuietPlatform();
  await using client = await connectDirect(platform.info, { heartbeatMs: 200 });
  const seen = eventsOf(client);
  await funds(client);
  await wait(300);
  for (const began = performance.now(); performance.now() - began < 1800;) { /* blocked */ }
  await wait(300);
  await funds(client);
  assert(!seen.some((event) => event.type === "state" && event.phase === "lost"));
});

Deno.test("wrong keys cause typed errors without any part of a key", async () => {
  await using platform = await startQuietPlatform();
  const { exportPrivateKey, exportPublicKey, generateKeyPair } = await import("../../lib/wire/keys.ts");
  const strange = generateKeyPair();
  const privateKey = exportPrivateKey(strange.privateKey);
  await using wrongOwn = await connectDirect(platform.info, { privateKey }, once);
  const own = await assertRejects(() => funds(wrongOwn), Error);
  assert(own.message.includes("not encrypted for this developer key"), own.message);
  const platformKey = exportPublicKey(strange.publicKey);
  await using wrongTheirs = await connectDirect(platform.info, { platformKey }, once);
  const theirs = await assertRejects(() => funds(wrongTheirs), RejectedError);
  assertEquals(theirs.code, "1003"); // the platform cannot read the password
  for (const text of [Deno.inspect(own), Deno.inspect(theirs)]) {
    assert(!text.includes(privateKey.slice(40, 80)) && !text.includes(platform.info.mobile));
  }
  await assertRejects(() => connectDirect(platform.info, { privateKey: "no key" }), TypeError, "private key");
});
