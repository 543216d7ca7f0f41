/**
 * Tests that connections of the direct transport release their resources, and how the end of a connection affects the
 * session.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { connect, type DirectClient } from "../../lib/client/connect.ts";
import { Heartbeat } from "../../lib/transports/direct/heartbeat.ts";
import type { Machine } from "../../lib/time.ts";
import { BrokerError, ProtocolError, TransportError } from "../../lib/errors.ts";
import { encryptSegments } from "../../lib/wire/cipher.ts";
import { encodeFrame } from "../../lib/wire/framing.ts";
import type { PublicKey } from "../../lib/wire/keys.ts";
import { type DirectFarEnd, directFarEnd, type FarCall, type FarEndOptions } from "./direct_far_end.ts";

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** Waits until a condition is true, for at most five seconds. Returns also if it is still false. */
async function soon(holds: () => boolean): Promise<void> {
  for (let left = 500; left > 0 && !holds(); left--) await wait(10);
}

const maxBuy = (client: DirectClient) =>
  client.account.maxBuy({ market: "hk", symbol: "00700.HK", price: "500" });
const quote = (client: DirectClient) =>
  client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
/** Answers both reads above. */
const answerReads = (call: FarCall) =>
  call.send(call.answer({
    told: call.kind === "trade"
      ? ["CommonIntResponse", { data: 700 }]
      : ["BasicQotResponse", { basicQot: [] }],
  }));

function connectTo({ options }: DirectFarEnd, more: Partial<DirectFarEnd["options"]> = {}) {
  return connect({ direct: { ...options, ...more }, retry: { attempts: 1 } });
}

Deno.test("a market connection that is closed at every heartbeat is reopened each time", async () => {
  await using farEnd = await directFarEnd({ onCall: answerReads, hangsUp: (kind) => kind === "quote" });
  await using client = await connectTo(farEnd, { heartbeatMs: 30 });
  assertEquals(await maxBuy(client), { quantity: "700" });
  assertEquals(await quote(client), []);
  await soon(() => farEnd.opened.filter((kind) => kind === "quote").length >= 4);
  assert(farEnd.opened.filter((kind) => kind === "quote").length >= 4);
  assertEquals(client.transport.state("trade").phase, "ready");
  assertEquals(await maxBuy(client), { quantity: "700" });
  assertEquals(farEnd.opened.filter((kind) => kind === "trade").length, 1);
  assertEquals(farEnd.posted.filter((path) => path === "/hs/v2/login").length, 1);
});

/** Returns timers of the runtime that can be counted. */
function countedTimers(): Pick<Machine, "setTimer"> & { running: Set<unknown> } {
  const running = new Set<unknown>();
  return {
    running,
    setTimer(ms, callback) {
      const timer = setTimeout(() => {
        running.delete(timer);
        callback();
      }, ms);
      running.add(timer);
      return () => {
        running.delete(timer);
        clearTimeout(timer);
      };
    },
  };
}

Deno.test("Heartbeat does nothing after it is disposed", async () => {
  const timers = countedTimers();
  let sent = 0;
  let steady = 0;
  const machine = { monotonic: () => steady, ...timers };
  const heartbeat = new Heartbeat(machine, { send: () => sent++, dead() {} }, { idleMs: 10, waitMs: 20 });
  heartbeat.start(1000);
  assertEquals(timers.running.size, 2); // control: a heartbeat and a tick
  heartbeat[Symbol.dispose]();
  assertEquals(timers.running.size, 0);
  heartbeat.start(1000);
  steady = 50;
  await assertRejects(() => heartbeat.confirm(), TransportError, "it was closed");
  assertEquals([timers.running.size, sent], [0, 0]);
});

Deno.test("close() leaves no timer of a link that broke with the answer to its first request", async () => {
  const timers = countedTimers();
  await using farEnd = await directFarEnd({
    onCall: answerReads,
    afterInit: new TextEncoder().encode("no frame at all"),
  });
  const client = await connectTo(farEnd, { machine: timers });
  await assertRejects(() => maxBuy(client), TransportError);
  await client.close();
  assertEquals(timers.running.size, 0);
});

/**
 * Counts the listeners of all signals during a function. Resolves to the largest number that one signal has
 * afterwards.
 */
async function listenersLeft(run: () => Promise<void>): Promise<number> {
  const counts = new Map<EventTarget, number>();
  const { addEventListener: add, removeEventListener: remove } = EventTarget.prototype;
  const count = (target: EventTarget, by: number) => {
    if (target instanceof AbortSignal) counts.set(target, (counts.get(target) ?? 0) + by);
  };
  AbortSignal.prototype.addEventListener = function (...given: Parameters<typeof add>) {
    count(this, 1);
    add.apply(this, given);
  };
  AbortSignal.prototype.removeEventListener = function (...given: Parameters<typeof remove>) {
    count(this, -1);
    remove.apply(this, given);
  };
  try {
    await run();
  } finally {
    // Remove the counting functions, so that the inherited ones are used again.
    Reflect.deleteProperty(AbortSignal.prototype, "addEventListener");
    Reflect.deleteProperty(AbortSignal.prototype, "removeEventListener");
  }
  return Math.max(0, ...counts.values());
}

Deno.test("reopening a connection eight times leaves at most two listeners", async () => {
  await using farEnd = await directFarEnd({ onCall: answerReads, hangsUp: (kind) => kind === "quote" });
  await using client = await connectTo(farEnd, { heartbeatMs: 10 });
  let opened = 0;
  const left = await listenersLeft(async () => {
    // The connection may close before the answer. Only the connections matter here.
    await quote(client).catch((error) => assert(error instanceof TransportError));
    await soon(() => farEnd.opened.length >= 8);
    opened = farEnd.opened.length;
  });
  assert(opened >= 8, `${opened} connections`);
  assert(left <= 2, `${left} listeners left`);
});

/** First answers that anyone on the network can send, with both public keys but no private key. */
const forged: Record<string, (developer: PublicKey) => Uint8Array> = {
  "no valid padding": () => firstAnswer(filled(128, 1)),
  "valid padding, wrong signature": (key) => firstAnswer(encryptSegments(filled(40, 5), key)),
  "no body": () => firstAnswer(new Uint8Array(0)),
  "too many segments": () => firstAnswer(filled(17 * 128, 1)),
  "half a segment": () => firstAnswer(filled(64, 1)),
  "no signature": (key) => firstAnswer(encryptSegments(filled(40, 5), key), new Uint8Array(128)),
};
const filled = (length: number, value: number) => new Uint8Array(length).fill(value);
const firstAnswer = (body: Uint8Array, signature = filled(128, 9)) =>
  encodeFrame({ type: "response", serial: 0, signature }, body);

/** Runs until the connection is stopped. Resolves to everything that a caller and the network see. */
async function seenWith(insteadOfInit: FarEndOptions["insteadOfInit"], calls: number) {
  await using farEnd = await directFarEnd({ onCall: answerReads, ...insteadOfInit && { insteadOfInit } });
  await using client = await connect({ direct: farEnd.options, retry: { attempts: 1 } });
  const phases: string[] = [];
  const reading = (async () => {
    for await (const event of client.transport.events()) {
      if (event.type === "state" && event.channel === "trade") phases.push(event.phase);
    }
  })();
  const errors: string[] = [];
  for (let call = 0; call < calls; call++) {
    await maxBuy(client).then(() => errors.push("fine"), (error) => errors.push(`${error.code}: ${error}`));
  }
  const { phase } = client.transport.state("trade");
  await client.close();
  await reading;
  const logins = farEnd.posted.filter((path) => path === "/hs/v2/login").length;
  return { errors, phases, phase, opened: farEnd.opened.length, logins };
}

Deno.test("every unreadable first answer causes the same error and the same retries", async () => {
  const [first, ...others] = Object.entries(forged);
  const seen = await seenWith(first![1], 8);
  for (const [name, forge] of others) assertEquals(await seenWith(forge, 8), seen, name);
  assertEquals(seen.errors.slice(0, 4).map((text) => text.split(":")[0]), Array(4).fill("first-answer"));
  // After five unreadable first answers in a row, a key must be wrong, so no further connection is made.
  assertEquals(seen.errors.slice(4).map((text) => text.split(":")[0]), Array(4).fill("platform-key"));
  assert(seen.errors[4]!.includes("check the platform key and the developer key"), seen.errors[4]);
  assertEquals([seen.opened, seen.logins, seen.phase], [5, 1, "stopped"]);
});

Deno.test("four forged first answers do not stop the connection; after a valid first answer, no number of forged ones does", async () => {
  for (const [name, forge] of Object.entries(forged)) {
    let count = 0;
    const { errors, opened } = await seenWith((key) => ++count <= 4 ? forge(key) : undefined, 6);
    assertEquals(
      errors.map((text) => text.split(":")[0]),
      [...Array(4).fill("first-answer"), "fine", "fine"],
      name,
    );
    assertEquals(opened, 5, name);
  }
  let opened = 0;
  await using farEnd = await directFarEnd({
    onCall: answerReads,
    hangsUp: (kind) => kind === "quote",
    insteadOfInit: (key) => ++opened > 1 && opened <= 12 ? forged["no body"]!(key) : undefined,
  });
  await using client = await connectTo(farEnd, { heartbeatMs: 10 });
  await quote(client).catch((error) => assert(error instanceof TransportError));
  await soon(() => opened >= 13);
  assert(opened >= 13, `${opened} connections`);
  assert(client.transport.state("quote").phase !== "stopped");
});

Deno.test("account.login() retries a connection that a wrong key has stopped", async () => {
  let isForged = true;
  await using farEnd = await directFarEnd({
    onCall: answerReads,
    insteadOfInit: (key) => isForged ? forged["no body"]!(key) : undefined,
  });
  await using client = await connectTo(farEnd);
  for (let call = 0; call < 5; call++) await assertRejects(() => maxBuy(client), BrokerError);
  assertEquals(client.transport.state("trade").phase, "stopped");
  isForged = false;
  await client.account.login({ password: "trade-secret" });
  assertEquals(await maxBuy(client), { quantity: "700" });
});

Deno.test("a connection that unreadable first answers have stopped makes one attempt in each hour", async () => {
  let [isForged, isDisplaced, steady] = [true, false, 0];
  await using farEnd = await directFarEnd({
    onCall: (call) =>
      isDisplaced ? call.send(call.answer({ code: "1013", text: "logged in elsewhere" })) : answerReads(call),
    insteadOfInit: (key) => isForged ? forged["no body"]!(key) : undefined,
  });
  await using client = await connectTo(farEnd, { machine: { monotonic: () => steady } });
  const codeOf = async () => (await assertRejects(() => maxBuy(client), BrokerError)).code;
  for (let call = 0; call < 4; call++) {
    await codeOf();
    steady += 60_000; // the pause before the next attempt
  }
  assertEquals([await codeOf(), farEnd.opened.length], ["platform-key", 5]);
  steady += 3_599_999;
  assertEquals([await codeOf(), farEnd.opened.length], ["platform-key", 5]);
  steady += 1;
  for (let call = 0; call < 3; call++) {
    assertEquals([await codeOf(), farEnd.opened.length], ["platform-key", 6]);
  }
  steady += 3_600_000;
  isForged = false;
  assertEquals(await maxBuy(client), { quantity: "700" });
  // The hourly attempts have ended: no attempt reopens a connection that has stopped for another reason.
  isDisplaced = true;
  assertEquals(await codeOf(), "1013");
  steady += 3_600_000;
  const opened = farEnd.opened.length;
  assertEquals([await codeOf(), farEnd.opened.length], ["1013", opened]);
});

Deno.test("a wrong key ends in a clear error after one login and at most five connections", async () => {
  const order = {
    market: "hk",
    symbol: "00700.HK",
    quantity: "100",
    price: "500",
    side: "buy",
    orderType: "enhanced-limit",
  } as const;
  const cases = [
    { strange: { encryptsStrangely: true }, code: "token", opened: [] },
    { strange: { signsStrangely: true }, code: "platform-key", opened: Array(5).fill("trade") },
  ];
  for (const { strange, code, opened } of cases) {
    await using farEnd = await directFarEnd({ onCall: answerReads, ...strange });
    await using client = await connect({ direct: farEnd.options, retry: { attempts: 5, waitMs: 5 } });
    assertEquals((await assertRejects(() => maxBuy(client), ProtocolError)).code, code);
    assertEquals((await assertRejects(() => maxBuy(client), ProtocolError)).code, code);
    // The error of an order says that nothing was sent.
    assertEquals((await assertRejects(() => client.orders.place(order), TransportError)).code, code);
    await wait(60); // longer than any pause between attempts
    assertEquals(farEnd.posted.filter((path) => path === "/hs/v2/login").length, 1);
    assertEquals(farEnd.opened, opened);
    assertEquals(client.transport.state("trade").phase, "stopped");
  }
});
