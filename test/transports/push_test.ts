import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { ProtocolError, TransportError } from "../../lib/errors.ts";
import { openPushStream, type PushStream, type PushStreamOptions } from "../../lib/transports/push/stream.ts";
import { hashOf, PushGuard } from "../../lib/transports/push/reader.ts";
import type { ConnectionEvent, GapEvent, TransportEvent } from "../../lib/transports/push/events.ts";
import { loadEnvelopes, type Notify } from "../../lib/wire/messages.ts";
import { encodeFrame, HEADER_LENGTH } from "../../lib/wire/framing.ts";
import {
  type FarConnection,
  orderPush,
  push,
  pushFrame,
  quotePush,
  startPushFarEnd,
  tickPush,
} from "../support/push_far_end.ts";
import { quoteFrames, startSender } from "../bench/push_frames.ts";
import { vectors } from "../wire/vectors.ts";
import { waitUntil, within } from "../support/waits.ts";

/** Time of the pushes, Unix milliseconds. */
const NOW = 1_763_625_599_000;
const quick = { minMs: 5, maxMs: 20 };

/** Returns a clock that rises with each reading, so that no two instants are equal. */
function counter(): () => number {
  let now = 1000;
  return () => now++;
}

function open(port: number, options: Partial<PushStreamOptions> = {}): PushStream {
  return openPushStream({
    hostname: "127.0.0.1",
    port,
    now: counter(),
    random: () => 0.5,
    aheadOf: () => NOW - 1000,
    reconnect: quick,
    ...options,
  });
}

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

const isState = (state: ConnectionEvent["state"]) => (event: TransportEvent) =>
  event.type === "connection" && event.state === state;
const isOrder = (orderId: string) => (event: TransportEvent) =>
  event.type === "order" && event.data.orderId === orderId;
/** Returns the states, order numbers and volumes of events, in order. */
const brief = (seen: TransportEvent[]) =>
  seen.map((event) =>
    event.type === "connection"
      ? event.state
      : event.type === "order"
      ? event.data.orderId
      : event.type === "quote"
      ? event.data.quote?.volume
      : event.type
  );

Deno.test("events() yields each kind of push as a typed event", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  const security = { dataType: 10000, code: "00700.HK" };
  await far.send(
    push(1, "TradeStockDeliverNotify", {
      fundAccount: "12345678",
      stockCode: "00700.HK",
      stockName: "TENCENT",
      exchangeType: "K",
      entrustNo: "9",
      entrustBs: "2",
      entrustStatus: "7",
      entrustPrice: "350.20",
      businessPrice: "350.40",
      businessAmount: "100",
      businessDate: "20251120",
      businessTime: "093005",
    }, 1_763_625_599_123),
    push(20003, "BasicQotNotify", {
      security,
      basicQot: { lastPrice: 350.2, volume: "9007199254740993", isSuspended: true },
    }),
    push(20004, "TickerNotify", { security, ticker: { price: 350.2, volume: 200, side: 2, timestamp: 5 } }),
    push(20002, "BrokerNotify", { security, side: 1, brokerList: [{ level: 1, item: "6824", type: 66 }] }),
    push(20001, "OrderBookFullNotify", {
      security,
      orderBookList: [{ level: 1, price: 350, volume: 300, orederCount: 4 }],
      mktTmType: -1,
    }),
  );
  const seen = await until(events, ({ type }) => type === "book");
  const at = 1_763_625_599_000;
  const tencent = { type: "hk-stock" as const, symbol: "00700.HK" };
  assertEquals(seen, [
    { type: "connection", state: "connected" },
    {
      type: "order",
      sentAt: 1_763_625_599_123,
      data: {
        symbol: "00700.HK",
        name: "TENCENT",
        market: "hk",
        orderId: "9",
        side: "sell",
        status: "part-filled",
        price: "350.20",
        fillPrice: "350.40",
        fillQuantity: "100",
        date: "2025-11-20",
        time: "09:30:05",
      },
    },
    {
      type: "quote",
      sentAt: at,
      data: {
        security: tencent,
        quote: {
          lastPrice: "350.2",
          openPrice: "0",
          highPrice: "0",
          lowPrice: "0",
          previousClose: "0",
          priceStep: "0",
          volume: "9007199254740993",
          turnover: "0",
          turnoverRate: "0",
          amplitude: "0",
          isSuspended: true,
          securityStatus: 0,
          lotSize: 0,
          session: "unset",
        },
      },
    },
    {
      type: "tick",
      sentAt: at,
      data: {
        security: tencent,
        tick: {
          timestamp: "5",
          side: "sell",
          price: "350.2",
          volume: "200",
          turnover: "0",
          tickType: 0,
          session: "unset",
        },
      },
    },
    {
      type: "brokers",
      sentAt: at,
      data: {
        security: tencent,
        side: "sell",
        sideCode: 1,
        brokers: [{ level: 1, broker: "6824", kind: "broker" }],
      },
    },
    {
      type: "book",
      sentAt: at,
      data: {
        security: tencent,
        side: "buy",
        sideCode: 0,
        levels: [{ level: 1, price: "350", volume: "300", orderCount: 4 }],
        session: "pre-market",
      },
    },
  ]);
});

Deno.test("events() yields the vendor's own push frames, sent byte by byte", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  const plain = vectors.filter(({ kind, encryption }) => kind === "notify" && encryption === "none");
  for (const { frame } of plain) for (const byte of frame) await far.send(new Uint8Array([byte]));
  const seen = await until(events, ({ type }) => type === "order");
  assertEquals(seen.map(({ type }) => type), ["connection", "book", "tick", "order"]);
  const [, book, tick, order] = seen;
  assert(book?.type === "book" && tick?.type === "tick" && order?.type === "order");
  assertEquals(book.data.levels[1], {
    level: 2_147_483_647,
    price: "4700000000",
    volume: "9007199254740991",
    orderCount: 7,
    venue: "brokeId-5-1-中文",
  });
  assertEquals(tick.data.tick?.volume, "9223372036854775807");
  assertEquals(tick.sentAt, 1_763_625_599_062);
  assertEquals(order.data.orderId, "entrustNo-12-0-x");
  assertEquals("fundAccount" in order.data, false);
});

Deno.test("events() reads pushes with the type numbers 0, 1 and 2 as orders", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  for (const type of [0, 1, 2]) {
    const order = { fundAccount: "88001", stockCode: "HSI2512", entrustNo: `${type}` };
    await far.send(push(type, "TradeStockDeliverNotify", order));
  }
  assertEquals(brief(await until(events, isOrder("2"))), ["connected", "0", "1", "2"]);
});

Deno.test("events() reports unknown and unreadable pushes, and continues", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  await far.send(
    pushFrame(777, "NewNotify", new Uint8Array([1])),
    // The type number of an order with the payload of a quote: the push is neither.
    push(1, "BasicQotNotify", {}),
    pushFrame(1, "TradeStockDeliverNotify", new Uint8Array([0x0a, 0x7f])),
    push(1, "TradeStockDeliverNotify", { fundAccount: "88001", entrustNo: "5" }),
    orderPush("6"),
  );
  const [, ...seen] = await until(events, isOrder("6"));
  const sentAt = 1_763_625_599_000;
  assertEquals(seen.slice(0, 2), [
    { type: "unknown", notifyType: 777, payloadType: "NewNotify", sentAt, expected: undefined },
    { type: "unknown", notifyType: 1, payloadType: "BasicQotNotify", sentAt, expected: "order" },
  ]);
  const errors = seen.slice(2, 4).map((event) => {
    assert(event.type === "unknown" && event.expected === "order" && event.error instanceof ProtocolError);
    return event.error.message;
  });
  assert(errors[0]?.startsWith('Cannot read message "TradeStockDeliverNotify": '));
  assertEquals(
    errors[1],
    'Cannot read push "order": stockCode: expected text that is not empty, got nothing',
  );
});

Deno.test("events() ignores frames that are not pushes", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  const body = orderPush("1").slice(HEADER_LENGTH);
  await far.send(
    encodeFrame({ type: "heartbeat" }),
    encodeFrame({ type: "heartbeat" }, new Uint8Array([1, 2, 3])),
    encodeFrame({ type: "response", serial: 3 }, body),
    encodeFrame({ type: "request" }, body),
    orderPush("2"),
  );
  assertEquals(brief(await until(events, isOrder("2"))), ["connected", "2"]);
  assertEquals(stream.stats.frames, 1);
});

Deno.test("events() yields identical pushes once, and reordered ones as they arrive", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  const [first, second] = [orderPush("1"), orderPush("2")];
  await far.send(second, first, first, second, orderPush("3"));
  assertEquals(brief(await until(events, isOrder("3"))), ["connected", "2", "1", "3"]);
  assertEquals([stream.stats.frames, stream.stats.orders, stream.stats.repeated], [5, 3, 2]);
});

Deno.test("events() yields identical quotes once, and a quote with another time again", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  const quote = quotePush("00700.HK", 5);
  await far.send(quote, quote, quotePush("00700.HK", 5, NOW + 1), orderPush("1"));
  assertEquals(brief(await until(events, isOrder("1"))), ["connected", "5", "5", "1"]);
  assertEquals(stream.stats.repeated, 1);
});

Deno.test("PushGuard recognizes an order push after 16384 later ones, and forgets it after twice as many", () => {
  const guard = new PushGuard(() => NOW);
  const notify = (index: number) => ({
    type: 1,
    id: "7",
    time: NOW,
    payload: { name: "TradeStockDeliverNotify", bytes: new Uint8Array(new Uint32Array([index]).buffer) },
  });
  const isRepeated = (index: number) => guard.isRepeated(notify(index), hashOf(notify(index)));
  const remember = (index: number) => guard.remember(notify(index), hashOf(notify(index)), true);
  for (let index = 0; index <= 16_384; index++) remember(index);
  assertEquals([isRepeated(0), isRepeated(16_384)], [true, true]);
  for (let index = 16_385; index <= 32_768; index++) remember(index);
  assertEquals([isRepeated(0), isRepeated(16_385)], [false, true]);
});

Deno.test("PushGuard compares whole pushes, also if all of them have the same hash", () => {
  let seed = 7;
  const draw = (below: number) => ((seed = Math.imul(seed, 1_103_515_245) + 12_345 >>> 0) >>> 8) % below;
  for (const shared of [true, false]) {
    const guard = new PushGuard(() => NOW);
    const seen = new Set<string>();
    const buffer = new Uint8Array(300_000);
    const counts = { repeated: 0, fresh: 0 };
    for (let round = 0; round < 4000; round++) {
      const length = [0, 1, 3, 4, 5, 17, 70_000][draw(round % 50 === 0 ? 7 : 6)]!;
      const start = draw(9);
      // Like a receive buffer, each push overwrites the bytes of the one before.
      const bytes = buffer.subarray(start, start + length).fill(draw(3));
      const payload = { name: ["A", "B"][draw(2)]!, bytes };
      const push = {
        type: draw(2),
        id: String(draw(2)),
        time: NOW + draw(3) * 2 ** 32,
        ...draw(9) > 0 && { payload },
      };
      const key = JSON.stringify([
        push.type,
        push.id,
        push.time,
        push.payload?.name,
        push.payload && [...bytes],
      ]);
      const hash = shared ? 5 : hashOf(push);
      assertEquals([round, guard.isRepeated(push, hash)], [round, seen.has(key)]);
      counts[seen.has(key) ? "repeated" : "fresh"]++;
      if (!seen.has(key)) guard.remember(push, hash, draw(2) === 0);
      seen.add(key);
    }
    assert(counts.repeated > 500 && counts.fresh > 300, JSON.stringify(counts));
  }
});

Deno.test("PushGuard keeps the newest pushes and forgets the older ones, over many generations", () => {
  const guard = new PushGuard(() => NOW);
  const bytes = new Uint8Array(33);
  const push = (index: number) => {
    new DataView(bytes.buffer).setUint32(29, index);
    return { type: 20003, id: "7", time: NOW, payload: { name: "BasicQotNotify", bytes } };
  };
  for (let index = 0; index < 100_000; index++) {
    bytes.fill(0);
    const notify = push(index);
    assert(!guard.isRepeated(notify, hashOf(notify)), String(index));
    guard.remember(notify, hashOf(notify), false);
    for (const back of [0, 1, 5000, 16_383]) {
      if (back > index || index % 997 !== 0) continue;
      bytes.fill(0);
      const earlier = push(index - back);
      assert(guard.isRepeated(earlier, hashOf(earlier)), `${index} - ${back}`);
    }
    if (index < 33_000 || index % 997 !== 0) continue;
    bytes.fill(0);
    const forgotten = push(index - 33_000);
    assert(!guard.isRepeated(forgotten, hashOf(forgotten)), `${index} - 33000`);
  }
});

Deno.test("PushGuard's search ends even if every remembered push has the same hash and entries are reused", () => {
  const guard = new PushGuard(() => NOW);
  const push = (index: number) => ({ type: 1, id: String(index), time: NOW });
  for (let index = 0; index < 33_000; index++) guard.remember(push(index), 5, false);
  assertEquals([0, 32_999, 33_000].map((index) => guard.isRepeated(push(index), 5)), [false, true, false]);
});

Deno.test("PushGuard recognizes large pushes by every member, without keeping their bytes", () => {
  const MEGABYTE = 2 ** 20;
  const bytes = new Uint8Array(MEGABYTE);
  const text = new Uint8Array(MEGABYTE).fill(97);
  /** Returns a push with one large member, which begins with a number. */
  const notify = (large: "bytes" | "id" | "name", index: number): Notify => {
    new DataView(bytes.buffer).setUint32(0, index);
    new TextEncoder().encodeInto(`${index}`.padStart(8, "0"), text);
    const long = large === "bytes" ? "" : new TextDecoder().decode(text);
    return {
      type: 1,
      id: large === "id" ? long : "7",
      time: NOW,
      payload: {
        name: large === "name" ? long : "TradeStockDeliverNotify",
        bytes: large === "bytes" ? bytes : bytes.subarray(0, 4),
      },
    };
  };
  const changed = (member: string) => `${member.slice(0, -1)}8`;
  const used = () => {
    const { heapUsed, external } = Deno.memoryUsage();
    return heapUsed + external;
  };
  for (const large of ["bytes", "id", "name"] as const) {
    const guard = new PushGuard(() => NOW);
    const before = used();
    for (let index = 0; index < 256; index++) {
      const each = notify(large, index);
      assert(!guard.isRepeated(each, hashOf(each)), `${large} ${index}`);
      guard.remember(each, hashOf(each), true);
    }
    const megabytes = (used() - before) / MEGABYTE;
    assert(megabytes < 150, `256 pushes with 1 MB of ${large} each need ${Math.round(megabytes)} MB`);
    for (const index of [0, 255]) {
      const each = notify(large, index);
      assert(guard.isRepeated(each, hashOf(each)), `${large} ${index}`);
      // The same hash in each case, because different pushes may have the same hash.
      const payload = { ...each.payload!, bytes: each.payload!.bytes.slice().fill(1, 8, 9) };
      if (large === "bytes") assert(!guard.isRepeated({ ...each, payload }, hashOf(each)), "other bytes");
      assert(!guard.isRepeated({ ...each, id: changed(each.id) }, hashOf(each)), `other id, ${large}`);
      const renamed = { ...each.payload!, name: changed(each.payload!.name) };
      assert(!guard.isRepeated({ ...each, payload: renamed }, hashOf(each)), `other name, ${large}`);
      assert(!guard.isRepeated({ ...each, type: 2 }, hashOf(each)), `other type, ${large}`);
      assert(!guard.isRepeated({ ...each, time: NOW + 1 }, hashOf(each)), `other time, ${large}`);
    }
  }
});

/** Returns an order push with the given members. */
const orderOf = (members: Record<string, string>, at = NOW) =>
  push(1, "TradeStockDeliverNotify", {
    stockCode: "00700.HK",
    entrustBs: "1",
    fundAccount: "88001",
    entrustNo: "1",
    ...members,
  }, at);

Deno.test("events() yields two pushes with any difference as two, even with the same id", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  await far.send(
    orderOf({ businessAmount: "100" }),
    orderOf({ businessAmount: "200" }),
    orderOf({ businessAmount: "200" }, NOW + 1),
    orderOf({ entrustNo: "2" }),
  );
  const seen = brief(await until(events, isOrder("2")));
  assertEquals(seen, ["connected", "1", "1", "1", "2"]);
  assertEquals(stream.stats.repeated, 0);
});

Deno.test("events() rejects pushes for another account, counts them, and does not show that account", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port, { fundAccounts: ["88001"] });
  const events = stream.events();
  const far = await farEnd.next();
  await far.send(
    orderOf({}),
    orderOf({ fundAccount: "99009", entrustNo: "7" }),
    push(2, "TradeStockDeliverNotify", { stockCode: "HSI2509", fundAccount: "77001", entrustNo: "5" }, NOW),
    push(2, "TradeStockDeliverNotify", { stockCode: "HSI2509", fundAccount: "99009", entrustNo: "6" }, NOW),
    orderOf({ entrustNo: "2" }),
  );
  const seen = await until(events, isOrder("2"));
  assertEquals(brief(seen), ["connected", "1", "unknown", "unknown", "unknown", "2"]);
  const refused = seen.flatMap((event) => event.type === "unknown" ? [event] : []);
  for (const { expected, error } of refused) {
    assertEquals([expected, error?.code], ["order", "other-account"]);
    assert(!JSON.stringify([error, error?.message]).includes("99009"), "an account is not shown");
  }
  assertEquals(stream.stats.ofOthers, 3);
});

Deno.test("events() without configured accounts marks each order push once two accounts appear, and reports a gap", async () => {
  for (const accounts of [["99009", "88001", "88001", "99009"], ["88001", "99009", "88001", "88001"]]) {
    await using farEnd = startPushFarEnd();
    await using stream = open(farEnd.port, { now: () => NOW, aheadOf: () => 0 });
    const events = stream.events();
    const far = await farEnd.next();
    // Futures have a separate account, which does not count as a second account.
    const future = { stockCode: "HSI2509", fundAccount: "77001", entrustNo: "f" };
    await far.send(push(2, "TradeStockDeliverNotify", future, NOW));
    await far.send(
      ...accounts.map((fundAccount, index) => orderOf({ fundAccount, entrustNo: `${index}` })),
      push(2, "TradeStockDeliverNotify", { ...future, entrustNo: "g" }, NOW),
    );
    const seen = await until(events, isOrder("g"));
    assertEquals(brief(seen), ["connected", "f", "0", "1", "gap", "2", "3", "g"]);
    const marks = seen.flatMap((event) => event.type === "order" ? [event.unsureAccount] : []);
    assertEquals(marks, [undefined, undefined, true, true, true, undefined]);
    const [gap] = seen.flatMap((event) => event.type === "gap" ? [event] : []);
    assertStringIncludes(gap!.reason, "order pushes name two accounts: set fundAccounts");
    assert(!JSON.stringify(seen).includes("99009"), "an account is not shown");
  }
});

Deno.test("events() recognizes an order push after any number of other pushes, even a long one", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port, { fundAccounts: ["88001"] });
  const events = stream.events();
  const far = await farEnd.next();
  const long = orderOf({ stockName: "x".repeat(5000) });
  await far.send(long, orderOf({}), long);
  for (let block = 0; block < 40; block++) {
    const others = Array.from(
      { length: 1000 },
      (_, index) => orderOf({ fundAccount: "99009", entrustNo: `${block}-${index}` }),
    );
    await far.send(...others);
  }
  await far.send(orderOf({}), long, orderOf({ entrustNo: "2" }));
  await until(events, isOrder("2"));
  assertEquals([stream.stats.orders, stream.stats.ofOthers, stream.stats.repeated], [3, 40_000, 3]);
});

Deno.test("events() rejects order pushes without an account if accounts are configured", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port, { fundAccounts: ["88001"] });
  const events = stream.events();
  const far = await farEnd.next();
  await far.send(orderOf({ fundAccount: "" }), orderOf({ entrustNo: "2" }));
  assertEquals(brief(await until(events, isOrder("2"))), ["connected", "unknown", "2"]);
});

Deno.test("events() rejects order pushes without an account even if no account is known yet", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  const nameless = (entrustNo: string) => push(1, "TradeStockDeliverNotify", { entrustNo }, NOW);
  await far.send(nameless("8"), orderOf({}), nameless("9"), orderOf({ fundAccount: "", entrustNo: "7" }));
  await far.send(orderOf({ entrustNo: "2" }));
  const seen = await until(events, isOrder("2"));
  assertEquals(brief(seen), ["connected", "unknown", "1", "unknown", "unknown", "2"]);
  for (const event of seen) {
    if (event.type !== "unknown") continue;
    assertEquals([event.expected, event.error?.code], ["order", "other-account"]);
    assertStringIncludes(event.error?.message ?? "", "check the orders of your account");
  }
  assertEquals(stream.stats.ofOthers, 3);
});

Deno.test("events() does not learn an account from an unreadable push", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  const damaged = push(1, "TradeStockDeliverNotify", { fundAccount: "99009", entrustNo: "5" }, NOW);
  await far.send(damaged, orderOf({}));
  assertEquals(brief(await until(events, isOrder("1"))), ["connected", "unknown", "1"]);
});

/** Bytes that a test adds to the body of a push: field 15 with the value 1, which no definition lists. */
const UNLISTED = new Uint8Array([0x78, 1]);

Deno.test("events() yields a push once, however its envelope is written", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  const body = orderOf({}).slice(HEADER_LENGTH);
  const again = (...bytes: Uint8Array[]) =>
    encodeFrame({ type: "push" }, new Uint8Array(bytes.flatMap((each) => [...each])));
  // The last type counts, so an earlier type changes nothing.
  const twice = new Uint8Array([0x08, 2]);
  await far.send(orderOf({}), again(body, UNLISTED), again(twice, body), again(UNLISTED, body));
  await far.send(orderOf({ entrustNo: "2" }));
  assertEquals(brief(await until(events, isOrder("2"))), ["connected", "1", "2"]);
  assertEquals(stream.stats.repeated, 3);
});

Deno.test("events() yields two pushes that differ in the id, the type or the message as two", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port, { fundAccounts: ["88001"] });
  const events = stream.events();
  const far = await farEnd.next();
  const { messages, encodeNotify } = await loadEnvelopes();
  const name = "TradeStockDeliverNotify";
  const bytes = messages.encode(name, { fundAccount: "88001", stockCode: "00700.HK", entrustNo: "1" });
  const first = { type: 1, id: "7", time: NOW, payload: { name, bytes } };
  const others = [
    { ...first, id: "8" },
    { ...first, type: 2 },
    { ...first, payload: { name: "Other", bytes } },
    { ...first, payload: undefined },
  ];
  // A push with an unknown message must not count as a repeat of the next push.
  for (const notify of [...others, first, ...others, first]) {
    await far.send(encodeFrame({ type: "push" }, encodeNotify(notify)));
  }
  await far.send(orderOf({ entrustNo: "2" }));
  const seen = brief(await until(events, isOrder("2")));
  assertEquals(seen, ["connected", "1", "1", "unknown", "unknown", "1", "2"]);
  assertEquals(stream.stats.repeated, 5);
});

Deno.test("events() marks every push with a time far in the future, also after others like it", async () => {
  const far = NOW + 365 * 86_400_000;
  for (const told of [0, undefined]) {
    await using farEnd = startPushFarEnd();
    await using stream = open(farEnd.port, { now: () => NOW, aheadOf: () => told, fundAccounts: ["88001"] });
    const events = stream.events();
    const line = await farEnd.next();
    await line.send(
      orderOf({ fundAccount: "99009" }, far),
      orderOf({}, far),
      orderOf({ entrustNo: "2" }, far + 1),
      quotePush("00700.HK", 5, far + 2),
      orderOf({ entrustNo: "3" }, far + 3),
      orderOf({ entrustNo: "4" }),
    );
    const seen = await until(events, isOrder("4"));
    const marks = seen.flatMap((event) => event.type === "order" ? [event.offMs] : []);
    assertEquals(marks, [far - NOW, far - NOW + 1, far - NOW + 3, undefined]);
  }
});

Deno.test("events() marks a push with a time far in the future, even if the times of earlier pushes rose slowly", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port, { now: () => NOW, aheadOf: () => 0 });
  const events = stream.events();
  const far = await farEnd.next();
  const minutes = [4, 8, 12];
  await far.send(...minutes.map((each) => orderOf({ entrustNo: `${each}` }, NOW + each * 60_000)));
  const seen = await until(events, isOrder("12"));
  const marks = seen.flatMap((event) => event.type === "order" ? [event.offMs] : []);
  assertEquals(marks, [undefined, 480_000, 720_000]);
});

Deno.test("events() marks an old push that arrives first, if an answer contained the broker's time", async () => {
  await using farEnd = startPushFarEnd();
  const old = NOW - 24 * 3_600_000;
  await using stream = open(farEnd.port, { now: () => NOW, aheadOf: () => 1000 });
  const events = stream.events();
  const far = await farEnd.next();
  await far.send(orderOf({}, old), orderOf({ entrustNo: "2" }));
  const seen = await until(events, isOrder("2"));
  assertEquals(seen.flatMap((event) => event.type === "order" ? [event.offMs] : []), [
    -24 * 3_600_000 - 1000,
    undefined,
  ]);
});

Deno.test("events() marks every push with a wrong time until an answer contains the broker's time, even the first", async () => {
  await using farEnd = startPushFarEnd();
  const old = NOW - 24 * 3_600_000;
  let told: number | undefined = undefined;
  await using stream = open(farEnd.port, { now: () => NOW, aheadOf: () => told });
  const events = stream.events();
  const far = await farEnd.next();
  await far.send(
    quotePush("00700.HK", 1, old),
    orderOf({}, old),
    orderOf({ entrustNo: "2" }, old + 1000),
    orderOf({ entrustNo: "3" }),
  );
  const seen = await until(events, isOrder("3"));
  assertEquals(brief(seen), ["connected", "1", "1", "gap", "2", "gap", "3"]);
  const marks = seen.flatMap((event) => "offMs" in event || event.type === "order" ? [event.offMs] : []);
  assertEquals(marks, [-86_400_000, -86_400_000, -86_399_000, undefined]);
  const reasons = seen.flatMap((event) => event.type === "gap" ? [event.reason] : []);
  const reason =
    "the time of a push is 1440 minutes behind this machine's clock, and no answer has contained the broker's time";
  assertEquals(reasons, [reason, reason]);
  // This machine's clock is an hour ahead. The time in the answer counts, not the assumption before it.
  told = -3_600_000;
  await far.send(orderOf({ entrustNo: "4" }, NOW - 3_600_000), orderOf({ entrustNo: "5" }));
  const later = await until(events, isOrder("5"));
  assertEquals(later.flatMap((event) => event.type === "order" ? [event.offMs] : []), [undefined, 3_600_000]);
});

Deno.test("events() marks a push with a wrong time, and reports that pushes may be missing", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  const old = NOW - 3 * 3_600_000;
  await far.send(orderOf({}), orderOf({ entrustNo: "2" }, old), orderOf({ entrustNo: "3" }, NOW - 60_000));
  const seen = await until(events, isOrder("3"));
  assertEquals(brief(seen), ["connected", "1", "2", "gap", "3"]);
  const [first, late, near] = seen.flatMap((event) => event.type === "order" ? [event] : []);
  assertEquals([first?.offMs, near?.offMs], [undefined, undefined]);
  assert(late?.offMs !== undefined && late.offMs < -2.9 * 3_600_000, String(late?.offMs));
  const gap = seen.find(({ type }) => type === "gap");
  assert(gap?.type === "gap" && gap.to - gap.from > 2.9 * 3_600_000, JSON.stringify(gap));
  assert(gap.reason.includes("180 minutes behind the broker's clock"), gap.reason);
  assertEquals(stream.stats.offTime, 1);
});

Deno.test("events() gives each reader every event", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const readers = [stream.events(), stream.events()];
  const far = await farEnd.next();
  await far.send(orderPush("1"), orderPush("2"));
  for (const events of readers) {
    assertEquals(brief(await until(events, isOrder("2"))), ["connected", "1", "2"]);
  }
  await readers[0]!.return?.();
  assertEquals(stream.stats.readers.length, 1);
});

Deno.test("events() reports start and end of a gap after the subscriptions are restored", async () => {
  await using farEnd = startPushFarEnd();
  let now = 1_000;
  const steps: string[] = [];
  const gaps: GapEvent[] = [];
  const resubscribed = Promise.withResolvers<void>();
  await using stream = open(farEnd.port, {
    now: () => now,
    onGap: (gap) => gaps.push(gap),
    resubscribe: () => {
      steps.push(`resubscribe while ${stream.state}`);
      return resubscribed.promise;
    },
  });
  const events = stream.events();
  const first = await farEnd.next();
  await until(events, isState("connected"));
  assertEquals(steps, []);
  now = 2_000;
  await first.send(orderPush("1"));
  await until(events, isOrder("1"));
  now = 3_000;
  first.hangUp();
  const second = await farEnd.next();
  // Orders need no subscription, so they arrive before the subscriptions are restored.
  await second.send(orderPush("2"));
  const lost = await until(events, isOrder("2"));
  assertEquals(brief(lost), ["lost", "reconnecting", "2"]);
  assert(lost[0]?.type === "connection" && lost[0].error instanceof TransportError);
  assertEquals(lost[1], {
    type: "connection",
    state: "reconnecting",
    attempt: 1,
    waitMs: 8,
    error: lost[0].error,
  });
  assertEquals(steps, ["resubscribe while reconnecting"]);
  now = 4_000;
  resubscribed.resolve();
  const gap: GapEvent = {
    type: "gap",
    from: 2_000,
    to: 4_000,
    reason: "Cannot read pushes: the gateway closed the connection",
  };
  assertEquals(await until(events, isState("connected")), [gap, { type: "connection", state: "connected" }]);
  assertEquals(gaps, [gap]);
  assertEquals(stream.stats.connections, 2);
});

Deno.test("events() reports one gap for two breaks if the subscriptions were not restored in between", async () => {
  await using farEnd = startPushFarEnd();
  let now = 1_000;
  let isBack = false;
  await using stream = open(farEnd.port, {
    now: () => now,
    resubscribe: () => isBack ? Promise.resolve() : new Promise(() => {}),
  });
  const events = stream.events();
  (await farEnd.next()).hangUp();
  const second = await farEnd.next();
  now = 2_000;
  await second.send(orderPush("1"));
  await until(events, isOrder("1"));
  isBack = true;
  now = 3_000;
  second.hangUp();
  await farEnd.next();
  const seen = await until(events, isState("connected"));
  assertEquals(brief(seen), ["lost", "reconnecting", "gap", "connected"]);
  const gap = seen[2];
  assert(gap?.type === "gap");
  assertEquals([gap.from, gap.to], [1_000, 3_000]);
});

Deno.test("events() keeps the connection while restoring the subscriptions fails", async () => {
  await using farEnd = startPushFarEnd();
  let calls = 0;
  await using stream = open(farEnd.port, {
    resubscribe: () => ++calls < 3 ? Promise.reject(new Error("busy")) : Promise.resolve(),
  });
  const events = stream.events();
  (await farEnd.next()).hangUp();
  const far = await farEnd.next();
  await far.send(orderPush("1"));
  const seen = await until(events, (event) => event.type === "connection" && stream.stats.connections === 2);
  assertEquals(calls, 3);
  assertEquals(farEnd.accepted, 2);
  const failed = seen.filter((event) =>
    event.type === "connection" && event.error?.message === "Cannot subscribe again: busy"
  );
  assertEquals(failed.length, 2);
});

Deno.test("events() reports the fault of a header, and reconnects", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const first = await farEnd.next();
  await first.send(orderPush("1"), new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\n"));
  const second = await farEnd.next();
  await second.send(orderPush("2"));
  const seen = await until(events, isOrder("2"));
  assertEquals(brief(seen), ["connected", "1", "lost", "reconnecting", "gap", "connected", "2"]);
  const lost = seen[2];
  assert(lost?.type === "connection" && lost.error instanceof ProtocolError);
  assertEquals(lost.error.code, "frame-flag");
});

Deno.test("events() treats a damaged envelope as a broken connection", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  await far.send(encodeFrame({ type: "push" }, new Uint8Array([0x22, 0x7f])));
  const [, lost] = await until(events, isState("lost"));
  assert(lost?.type === "connection" && lost.error instanceof ProtocolError);
  assertEquals(lost.error.code, "message-damaged");
});

Deno.test("events() starts its first gap at the opening if the server is not listening yet", async () => {
  const free = startPushFarEnd();
  const { port } = free;
  await free[Symbol.asyncDispose]();
  let now = 1_000;
  await using stream = open(port, { now: () => now });
  const events = stream.events();
  const [refused] = await until(events, isState("reconnecting"));
  assert(refused?.type === "connection" && refused.error instanceof TransportError);
  assertEquals([refused.attempt, refused.waitMs], [1, 8]);
  now = 9_000;
  await using farEnd = startPushFarEnd(port);
  await stream.connected();
  const gap = (await until(events, isState("connected"))).at(-2);
  assert(gap?.type === "gap");
  assertEquals([gap.from, gap.to], [1_000, 9_000]);
  assertEquals(farEnd.accepted, 1);
});

Deno.test("events() ends with the error when the attempts are used up", async () => {
  const free = startPushFarEnd();
  await free[Symbol.asyncDispose]();
  await using stream = open(free.port, { reconnect: { ...quick, attempts: 2 } });
  const events = stream.events();
  const error = await assertRejects(() => until(events, () => false), TransportError, "Cannot connect: ");
  assertEquals(error.code, "connection");
  assertEquals(await events.next(), { value: undefined, done: true });
  await assertRejects(() => stream.connected(), TransportError, "the stream is closed");
  assertEquals(stream.state, "closed");
});

Deno.test("events() with reconnect false ends at the first loss", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port, { reconnect: false });
  const events = stream.events();
  (await farEnd.next()).hangUp();
  await assertRejects(() => until(events, () => false), TransportError, "the gateway closed the connection");
  assertEquals(farEnd.accepted, 1);
});

Deno.test("connect stops waiting for a connection that is not established", async () => {
  await using stream = open(1, {
    connectTimeoutMs: 20,
    reconnect: false,
    connect: ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  });
  await assertRejects(
    () => until(stream.events(), () => false),
    TransportError,
    "no connection within 20 ms",
  );
});

Deno.test("pushIdleMs breaks a silent connection, and any frame keeps it", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port, { pushIdleMs: 80 });
  const events = stream.events();
  const far = await farEnd.next();
  for (let beat = 0; beat < 8; beat++) {
    await far.send(encodeFrame({ type: "heartbeat" }));
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assertEquals(stream.state, "connected");
  const [, lost] = await until(events, isState("lost"));
  assert(lost?.type === "connection");
  assertEquals(lost.error?.code, "idle");
  assertEquals(lost.error?.message, "Cannot read pushes: nothing arrived for 80 ms");
});

Deno.test("bytes that never complete a frame do not keep a connection open; a frame in two parts does", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port, { pushIdleMs: 200 });
  const events = stream.events();
  const far = await farEnd.next();
  const whole = orderPush("1");
  await far.send(whole.subarray(0, 20));
  await new Promise((resolve) => setTimeout(resolve, 60));
  await far.send(whole.subarray(20));
  await waitUntil("an order push", () => stream.stats.orders === 1);
  const part = whole.subarray(0, -1);
  let sent = 0;
  let isOver = false;
  const trickle = (async () => {
    // Sending every byte would take many times as long as the limit of 200 ms.
    for (; !isOver && sent < part.length; sent++) {
      await far.send(part.subarray(sent, sent + 1)).catch(() => isOver = true);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  const lost = (await until(events, isState("lost"))).at(-1);
  isOver = true;
  await trickle;
  assert(lost?.type === "connection");
  assertEquals(lost.error?.code, "idle");
  assertStringIncludes(lost.error?.message ?? "", "no complete frame arrived for 200 ms, only ");
  assert(sent < part.length, "it was noticed while bytes came");
});

Deno.test("close() ends the readers after their queued events, and leaves nothing open", async () => {
  await using farEnd = startPushFarEnd();
  const stream = open(farEnd.port);
  const events = stream.events();
  const far = await farEnd.next();
  await far.send(orderPush("1"));
  await until(events, isState("connected"));
  await waitUntil("an order push", () => stream.stats.orders !== 0);
  await stream.close();
  await stream.close();
  const rest = [];
  for await (const event of events) rest.push(event);
  assertEquals(brief(rest), ["1", "closed"]);
  for await (const event of stream.events()) throw new Error(`a closed stream gave "${event.type}"`);
});

Deno.test("signal closes the stream, also during a pause and before the start", async () => {
  const free = startPushFarEnd();
  await free[Symbol.asyncDispose]();
  const abort = new AbortController();
  const waiting = open(free.port, { signal: abort.signal, reconnect: { minMs: 60_000, maxMs: 60_000 } });
  const events = waiting.events();
  await until(events, isState("reconnecting"));
  abort.abort();
  assertEquals(brief(await until(events, isState("closed"))), ["closed"]);
  const never = open(free.port, { signal: abort.signal });
  assertEquals(brief(await until(never.events(), isState("closed"))), ["closed"]);
});

Deno.test("close() aborts a callback that hangs, and does not wait for it", async () => {
  await using farEnd = startPushFarEnd();
  const called = Promise.withResolvers<AbortSignal>();
  const stream = open(farEnd.port, {
    resubscribe: (signal) => {
      called.resolve(signal);
      return new Promise(() => {});
    },
  });
  (await farEnd.next()).hangUp();
  const signal = await called.promise;
  assertEquals(signal.aborted, false);
  await stream.close();
  assertEquals(signal.aborted, true);
});

Deno.test("an error that onGap throws ends the stream with that error", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port, {
    onGap: () => {
      throw new TypeError("oops");
    },
  });
  const events = stream.events();
  (await farEnd.next()).hangUp();
  await assertRejects(() => until(events, () => false), TypeError, "oops");
});

Deno.test("reconnect.perHour limits the attempts of a stream that keeps breaking", async () => {
  await using farEnd = startPushFarEnd();
  // The wall clock is set back by an hour at each reading, and does not count.
  let now = NOW;
  const reconnect = { minMs: 1, maxMs: 1, perHour: 2 };
  await using stream = open(farEnd.port, { now: () => now -= 3_600_000, reconnect });
  const events = stream.events();
  const waits: (number | undefined)[] = [];
  for (let round = 0; round < 3; round++) {
    (await farEnd.next()).hangUp();
    const event = (await until(events, isState("reconnecting"))).at(-1);
    waits.push(event?.type === "connection" ? event.waitMs : undefined);
  }
  assertEquals(waits.slice(0, 2), [1, 1]);
  const [, , third = 0] = waits;
  assert(third > 3_000_000 && third <= 3_600_001, `an hour less the time since the first attempt: ${third}`);
});

Deno.test("the waits between attempts grow while a connection keeps breaking", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port, { reconnect: { minMs: 2, maxMs: 20 }, random: () => 1 });
  const events = stream.events();
  const waits: (number | undefined)[] = [];
  for (let round = 0; round < 5; round++) {
    (await farEnd.next()).hangUp();
    const event = (await until(events, isState("reconnecting"))).at(-1);
    assert(event?.type === "connection");
    waits.push(event.waitMs);
  }
  assertEquals(waits, [4, 8, 16, 20, 20]);
});

/** Sends rounds of quotes of 200 securities, with an order after every round. */
async function sendRounds(far: FarConnection, rounds: number): Promise<void> {
  const codes = Array.from({ length: 200 }, (_, index) => `${String(index).padStart(5, "0")}.HK`);
  for (let round = 1; round <= rounds; round++) {
    const frames = [...codes.map((code) => quotePush(code, round)), orderPush(`${round}`)];
    await far.send(new Uint8Array(await new Blob(frames as Uint8Array<ArrayBuffer>[]).arrayBuffer()));
  }
}

Deno.test("a stopped reader keeps every order and the newest quotes, with constant memory", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port, { conflateAbove: 500 });
  const events = stream.events();
  const far = await farEnd.next();
  const ROUNDS = 300;
  let looks = 0;
  const sending = sendRounds(far, ROUNDS);
  while (stream.stats.frames < ROUNDS * 201) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    // Besides orders, at most these events wait: the first 500, a newer quote of each of the 200 securities, and two
    // marks such as `conflated`.
    const { queued, queuedOrders } = stream.stats.readers[0]!;
    looks++;
    assert(queued - queuedOrders <= 702, `${queued} wait`);
  }
  await sending;
  assert(looks > 1);
  const { queuedOrders, conflated } = stream.stats.readers[0]!;
  assertEquals(queuedOrders, 300);
  const seen = await until(events, isOrder("300"));
  assertEquals(
    seen.filter((event) => event.type === "order").map((event) => event.data.orderId),
    Array.from({ length: 300 }, (_, index) => `${index + 1}`),
  );
  const newest = new Map<string, string>();
  let quotes = 0;
  for (const event of seen) {
    if (event.type !== "quote") continue;
    quotes++;
    const { symbol } = event.data.security!;
    const volume = event.data.quote!.volume;
    assert(Number(volume) > Number(newest.get(symbol) ?? 0), "an older quote came after a newer one");
    newest.set(symbol, volume!);
  }
  assertEquals(newest.size, 200);
  assert([...newest.values()].every((volume) => volume === "300"));
  assertEquals(quotes + conflated, 60_000);
  const marks = seen.filter((event) => event.type === "conflated");
  assertEquals(marks.reduce((sum, { count }) => sum + count, 0), conflated);
});

Deno.test("a fast reader gets every quote, at any rate", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port, { conflateAbove: 2_000 });
  const events = stream.events();
  const far = await farEnd.next();
  const sending = sendRounds(far, 200);
  let quotes = 0;
  for await (const event of events) {
    assert(event.type !== "conflated");
    if (event.type === "quote") quotes++;
    if (event.type === "order" && event.data.orderId === "200") break;
  }
  await sending;
  assertEquals(quotes, 40_000);
  assertEquals(stream.stats.readers, []);
});

Deno.test("timers and other work run during a flood of quotes", async () => {
  const sender = await startSender(await quoteFrames(60_000));
  await using stream = open(sender.port);
  let turns = 0;
  // A timer that restarts itself runs in each turn of the event loop, even on a slow machine.
  let timer = setTimeout(function turn() {
    turns++;
    timer = setTimeout(turn, 0);
  }, 0);
  const limit = setTimeout(() => void stream.close(), 60_000);
  for await (const event of stream.events()) {
    assert(event.type !== "conflated");
    if (stream.stats.frames >= 50_000) void stream.close();
  }
  clearTimeout(timer);
  clearTimeout(limit);
  sender.stop();
  assert(stream.stats.frames >= 50_000, `${stream.stats.frames} frames`);
  // The count is about 80, and only one or two if reading never yields.
  assert(turns >= 10, `${turns} turns`);
});

Deno.test("ticks beyond the limit are dropped and counted", async () => {
  await using farEnd = startPushFarEnd();
  await using stream = open(farEnd.port, { maxTicks: 3 });
  const events = stream.events();
  const far = await farEnd.next();
  for (let tick = 1; tick <= 5; tick++) await far.send(tickPush("AAPL", tick, 1_000 + tick));
  await far.send(orderPush("1"));
  await waitUntil("six frames", () => stream.stats.frames >= 6);
  const seen = await until(events, isOrder("1"));
  assertEquals(brief(seen), ["connected", "tick", "tick", "tick", "dropped", "1"]);
  assertEquals(seen[4], { type: "dropped", count: 2, from: 1_004, to: 1_005 });
});
