import { assert, assertEquals, assertRejects } from "@std/assert";
import type { PushEvent } from "../../lib/operations/public_types.ts";
import type { TransportEvent } from "../../lib/transports/push/events.ts";
import { PushQueue } from "../../lib/transports/push/queue.ts";
import { backoffMs } from "../../lib/transports/push/reconnect.ts";
import { randomFrom } from "../../lib/time.ts";

type Of<Type extends PushEvent["type"]> = Extract<PushEvent, { type: Type }>;

const security = (symbol: string) => ({ type: "hk-stock" as const, symbol });
const quote = (symbol: string, sentAt: number): Of<"quote"> => ({
  type: "quote",
  sentAt,
  data: { security: security(symbol) },
});
const order = (sentAt: number): Of<"order"> => ({ type: "order", sentAt, data: { symbol: "AAPL" } });
const tick = (sentAt: number): Of<"tick"> => ({ type: "tick", sentAt, data: { security: security("A") } });
const book = (
  side: "buy" | "sell",
  sentAt: number,
  session: "regular" | "pre-market" = "regular",
): Of<"book"> => ({
  type: "book",
  sentAt,
  data: { security: security("A"), side, levels: [], session },
});

async function rest(queue: PushQueue): Promise<TransportEvent[]> {
  queue.end();
  const seen = [];
  for await (const event of queue) seen.push(event);
  return seen;
}

Deno.test("PushQueue delivers every event in order while few events wait", async () => {
  const queue = new PushQueue({ conflateAbove: 3 });
  const events = [quote("A", 1), quote("A", 2), quote("A", 3)];
  for (const event of events) queue.push(event);
  assertEquals(await rest(queue), events);
});

Deno.test("PushQueue replaces an older value by a newer one while many events wait", async () => {
  const queue = new PushQueue({ conflateAbove: 3 });
  for (
    const event of [quote("A", 1), quote("A", 2), quote("B", 3), quote("A", 4), quote("B", 5), quote("C", 6)]
  ) {
    queue.push(event);
  }
  assertEquals(queue.stats, { queued: 5, queuedOrders: 0, conflated: 2, dropped: 0 });
  assertEquals(await rest(queue), [
    quote("A", 1),
    quote("A", 4),
    quote("B", 5),
    { type: "conflated", count: 2 },
    quote("C", 6),
  ]);
});

Deno.test("PushQueue stops conflating once few events wait, and delivers no value out of order", async () => {
  const queue = new PushQueue({ conflateAbove: 3 });
  for (const event of [quote("X", 1), quote("A", 2), quote("B", 3), quote("A", 4)]) queue.push(event);
  for (let read = 0; read < 2; read++) await queue.next();
  // Two events wait now: B and the `conflated` event. B 5 is added, and then B 6 replaces it.
  for (const event of [quote("B", 5), quote("B", 6)]) queue.push(event);
  assertEquals(await rest(queue), [quote("B", 3), { type: "conflated", count: 2 }, quote("B", 6)]);
});

Deno.test("PushQueue never replaces asks by bids, or values of another session", async () => {
  const queue = new PushQueue({ conflateAbove: 0 });
  const events = [
    book("buy", 1),
    book("sell", 2),
    book("buy", 3, "pre-market"),
    book("sell", 4),
    quote("A", 5),
  ];
  for (const event of events) queue.push(event);
  assertEquals(await rest(queue), [
    book("buy", 1),
    book("sell", 4),
    book("buy", 3, "pre-market"),
    { type: "conflated", count: 1 },
    quote("A", 5),
  ]);
});

Deno.test("PushQueue keeps every order, even if many events wait", async () => {
  const queue = new PushQueue({ conflateAbove: 0, maxTicks: 0 });
  for (let at = 0; at < 10_000; at++) queue.push(order(at));
  assertEquals(queue.stats.queuedOrders, 10_000);
  const seen = await rest(queue);
  assertEquals(seen.map((event) => "sentAt" in event && event.sentAt), seen.map((_, at) => at));
  assertEquals(queue.stats.queuedOrders, 0);
});

Deno.test("PushQueue keeps a damaged order push, and counts other unreadable ones as ticks", async () => {
  const queue = new PushQueue({ maxTicks: 0 });
  const unknown = { type: "unknown" as const, notifyType: 1, payloadType: "X", sentAt: 7 };
  queue.push({ ...unknown, expected: "order" });
  queue.push(unknown);
  assertEquals(await rest(queue), [
    { ...unknown, expected: "order" },
    { type: "dropped", count: 1, from: 7, to: 7 },
  ]);
});

Deno.test("PushQueue starts a new count of dropped ticks after the reader has read the previous `dropped` event", async () => {
  const queue = new PushQueue({ maxTicks: 1 });
  for (const at of [1, 2, 3]) queue.push(tick(at));
  assertEquals((await queue.next()).value, tick(1));
  assertEquals((await queue.next()).value, { type: "dropped", count: 2, from: 2, to: 3 });
  for (const at of [4, 5]) queue.push(tick(at));
  assertEquals(await rest(queue), [tick(4), { type: "dropped", count: 1, from: 5, to: 5 }]);
  assertEquals(queue.stats.dropped, 3);
});

Deno.test("PushQueue never shows an older value after a newer one, and loses no order", async () => {
  const seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  const random = randomFrom(seed);
  const queue = new PushQueue({ conflateAbove: 5, maxTicks: 1 });
  const newest = new Map<string, number>();
  const given = { order: 0, quote: 0, tick: 0 };
  const taken = { order: 0, quote: 0, tick: 0, conflated: 0, dropped: 0 };
  const look = (event: TransportEvent) => {
    if (event.type === "conflated" || event.type === "dropped") taken[event.type] += event.count;
    if (event.type !== "quote" && event.type !== "order" && event.type !== "tick") return;
    taken[event.type]++;
    const name = event.type === "quote" ? event.data.security!.symbol : event.type;
    assert(event.sentAt > (newest.get(name) ?? 0), `seed ${seed}: ${name} ${event.sentAt} is old`);
    newest.set(name, event.sentAt);
  };
  const last = new Map<string, number>();
  let crowd = 0;
  for (let at = 1; at <= 20_000; at++) {
    const dice = random();
    const event = dice < 0.6
      ? quote("ABCDEFGH"[Math.floor(random() * 8)]!, at)
      : dice < 0.8
      ? tick(at)
      : order(at);
    given[event.type]++;
    if (event.type === "quote") last.set(event.data.security!.symbol, at);
    queue.push(event);
    // A reader that is alternately fast and slow, so that the queue length varies around both limits.
    if (at % 5 === 0) crowd = 2 + Math.floor(random() * 6);
    const reads = Math.floor(random() * 4);
    for (let read = 0; read < reads && queue.stats.queued > crowd; read++) look((await queue.next()).value);
  }
  for (const event of await rest(queue)) look(event);
  for (const [symbol, at] of last) assertEquals(newest.get(symbol), at, `seed ${seed}: ${symbol}`);
  assertEquals(taken.order, given.order, `seed ${seed}`);
  assertEquals(taken.quote + taken.conflated, given.quote, `seed ${seed}`);
  assertEquals(taken.tick + taken.dropped, given.tick, `seed ${seed}`);
  assert(taken.conflated > 100 && taken.dropped > 100, `seed ${seed}`);
});

Deno.test("PushQueue passes events to waiting readers in the order in which they wait", async () => {
  const queue = new PushQueue();
  const waiting = [queue.next(), queue.next(), queue.next()];
  queue.push(order(1));
  queue.push(order(2));
  queue.end();
  assertEquals(await Promise.all(waiting), [
    { value: order(1), done: false },
    { value: order(2), done: false },
    { value: undefined, done: true },
  ]);
});

Deno.test("PushQueue throws its error once, after the waiting events", async () => {
  const queue = new PushQueue();
  queue.push(order(1));
  queue.end(new TypeError("gone"));
  queue.push(order(2));
  assertEquals(await queue.next(), { value: order(1), done: false });
  await assertRejects(() => queue.next(), TypeError, "gone");
  assertEquals(await queue.next(), { value: undefined, done: true });
});

Deno.test("PushQueue notifies its owner when the reader leaves, and discards the waiting events", async () => {
  let left = 0;
  const queue = new PushQueue({}, () => left++);
  queue.push(order(1));
  queue.push(order(2));
  for await (const _ of queue) break;
  assertEquals(left, 1);
  queue.push(order(3));
  assertEquals(queue.stats.queued, 0);
  assertEquals(await queue.next(), { value: undefined, done: true });
});

Deno.test("backoffMs() rises from half a second to half a minute, at random below its ceiling", () => {
  const waits = (random: number) => [1, 2, 3, 6, 7, 20].map((attempt) => backoffMs(attempt, random, {}));
  assertEquals(waits(0), [500, 500, 500, 500, 500, 500]);
  assertEquals(waits(1), [1_000, 2_000, 4_000, 30_000, 30_000, 30_000]);
  assertEquals(waits(0.5), [750, 1_250, 2_250, 15_250, 15_250, 15_250]);
});
