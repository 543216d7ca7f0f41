/** What connections leave behind, and what their ends mean for the session. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { connect, type DirectClient } from "../../lib/client/connect.ts";
import { Heartbeat } from "../../lib/transports/direct/heartbeat.ts";
import type { Machine } from "../../lib/time.ts";
import { ProtocolError, TransportError } from "../../lib/errors.ts";
import { type DirectFarEnd, directFarEnd, type FarCall } from "./direct_far_end.ts";

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** Waits until something holds, for at most five seconds. */
async function soon(holds: () => boolean): Promise<void> {
  for (let left = 500; left > 0 && !holds(); left--) await wait(10);
}

const maxBuy = (client: DirectClient) =>
  client.account.maxBuy({ market: "hk", symbol: "00700.HK", price: "500" });
const quote = (client: DirectClient) =>
  client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
/** Answers both of the above. */
const answerReads = (call: FarCall) =>
  call.send(call.answer({
    told: call.kind === "trade"
      ? ["CommonIntResponse", { data: 700 }]
      : ["BasicQotResponse", { basicQot: [] }],
  }));

function connectTo({ options }: DirectFarEnd, more: Partial<DirectFarEnd["options"]> = {}) {
  return connect({ direct: { ...options, ...more }, retry: { attempts: 1 } });
}

Deno.test("a market connection that is closed at every heartbeat is opened again, and stops nothing", async () => {
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

/** Timers of the runtime that can be counted. */
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

Deno.test("Heartbeat does nothing any more once it is disposed of", async () => {
  const timers = countedTimers();
  let sent = 0;
  let steady = 0;
  const machine = { monotonic: () => steady, ...timers };
  const heartbeat = new Heartbeat(machine, { send: () => sent++, dead() {} }, { idleMs: 10, waitMs: 20 });
  heartbeat.start(1000);
  assertEquals(timers.running.size, 2); // the control: a beat and a tick
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

/** Counts the listeners of all signals while something runs; gives the most that any signal is left with. */
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
    // What was put before the inherited ones.
    Reflect.deleteProperty(AbortSignal.prototype, "addEventListener");
    Reflect.deleteProperty(AbortSignal.prototype, "removeEventListener");
  }
  return Math.max(0, ...counts.values());
}

Deno.test("a connection that is opened again and again gathers no listeners", async () => {
  await using farEnd = await directFarEnd({ onCall: answerReads, hangsUp: (kind) => kind === "quote" });
  await using client = await connectTo(farEnd, { heartbeatMs: 10 });
  let opened = 0;
  const left = await listenersLeft(async () => {
    // A hang-up may come before the answer; the connections are what counts here.
    await quote(client).catch((error) => assert(error instanceof TransportError));
    await soon(() => farEnd.opened.length >= 8);
    opened = farEnd.opened.length;
  });
  assert(opened >= 8, `${opened} connections`);
  assert(left <= 2, `${left} listeners left`);
});

Deno.test("a wrong key is tried once: one login, one connection", async () => {
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
    { strange: { signsStrangely: true }, code: "platform-key", opened: ["trade"] },
  ];
  for (const { strange, code, opened } of cases) {
    await using farEnd = await directFarEnd({ onCall: answerReads, ...strange });
    await using client = await connect({ direct: farEnd.options, retry: { attempts: 3, waitMs: 5 } });
    assertEquals((await assertRejects(() => maxBuy(client), ProtocolError)).code, code);
    assertEquals((await assertRejects(() => maxBuy(client), ProtocolError)).code, code);
    // Of an order it is certain that nothing was sent.
    assertEquals((await assertRejects(() => client.orders.place(order), TransportError)).code, code);
    await wait(60); // longer than any pause between attempts
    assertEquals(farEnd.posted.filter((path) => path === "/hs/v2/login").length, 1);
    assertEquals(farEnd.opened, opened);
    assertEquals(client.transport.state("trade").phase, "stopped");
  }
});
