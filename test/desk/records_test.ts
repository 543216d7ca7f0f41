/** Tests that a reading of the lists changes no intent that has changed since the reading began. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Client } from "../../lib/client/client.ts";
import type { ListReading, SeenOrder } from "../../lib/desk/broker_lists.ts";
import { follow, othersOf } from "../../lib/desk/follow.ts";
import type { Intent } from "../../lib/desk/intent.ts";
import {
  addOrders,
  findIntent,
  forgetAbsence,
  insertIntent,
  moveIntent,
  noteIntent,
  openAccounts,
  openIntents,
  unresolvedIntents,
} from "../../lib/desk/queries.ts";
import { countAbsence } from "../../lib/desk/absence.ts";
import { Records } from "../../lib/desk/records.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { Store } from "../../lib/store/store.ts";
import { systemMachine } from "../../lib/time.ts";
import { testBoth } from "../support/stores.ts";

/** Records an order that the broker has accepted. */
async function accepted(
  store: Store,
  params: Intent["params"] = {},
  { id, orderId }: { id: string; orderId: string } = { id: "i", orderId: "1" },
): Promise<Intent> {
  const at = systemMachine.now();
  await insertIntent(store, {
    id,
    account: "main",
    kind: "place",
    operation: "orders.place",
    params,
    fingerprint: "f",
    why: {},
    createdAt: at,
    timeoutMs: 10_000,
  });
  await moveIntent(store, id, { to: "approved", by: "desk", at });
  await moveIntent(store, id, { to: "sent", by: "desk", at });
  return await moveIntent(store, id, { to: "acknowledged", by: "answer", at, orderIds: [orderId] });
}

for (
  const [what, change, isMoved] of [
    ["nothing has changed", () => Promise.resolve(), true],
    ["an amendment has created an order", (store) => addOrders(store, "i", { orderIds: ["2"] }), false],
    ["its order has placed an order", (store) => addOrders(store, "i", { childIds: ["2"] }), false],
    [
      "another process has recorded its end",
      (store) => moveIntent(store, "i", { to: "expired", by: "list", at: 1 }),
      false,
    ],
  ] as readonly [string, (store: Store) => Promise<unknown>, boolean][]
) {
  testBoth(
    `Records.moveFrom() ${isMoved ? "moves" : "does not move"} an intent if ${what}`,
    async ({ open }) => {
      await using store = await open();
      const told: string[] = [];
      const onChange = ({ state }: Intent) => void told.push(state);
      const records = new Records({ store, machine: systemMachine, account: "main", onChange });
      const read = await accepted(store);
      await change(store);
      const before = await findIntent(store, "i");
      const after = await records.moveFrom(read, { to: "filled", by: "list", filled: "100" });
      assertEquals([after.state === "filled", told], [isMoved, isMoved ? ["filled"] : []]);
      if (!isMoved) assertEquals([after, await findIntent(store, "i")], [before, before]);
    },
  );
}

/** Returns a reading that shows the order of {@linkcode accepted} with a filled quantity, or that shows no order. */
function readingOf(filled?: string, other: Partial<SeenOrder> = {}, at = systemMachine.now()): ListReading {
  const order: SeenOrder = {
    orderId: "1",
    symbol: "00700.HK",
    side: "buy",
    orderType: undefined,
    price: undefined,
    triggerValue: undefined,
    trailBy: undefined,
    quantity: "600",
    filled: filled ?? "0",
    state: "part-filled",
    placedAt: undefined,
    day: undefined,
    remark: undefined,
    lists: ["orders.today"],
    ...other,
  };
  const orders = new Map(filled === undefined ? [] : [[order.orderId, order]]);
  return { beganAt: at, endedAt: at, aheadMs: undefined, lists: order.lists, orders };
}

for (
  const [what, change, filled] of [
    ["notes more fills", () => Promise.resolve(), "200"],
    [
      "loses no fills of an order that a later reading has recorded as filled",
      (store) => moveIntent(store, "i", { to: "filled", by: "list", at: 1, filled: "600" }),
      "600",
    ],
    [
      "loses no fills that a later reading has noted",
      async (store) => {
        const intent = (await findIntent(store, "i"))!; // it was recorded above
        await noteIntent(store, intent, { filled: "300" });
      },
      "300",
    ],
  ] as readonly [string, (store: Store) => Promise<unknown>, string][]
) {
  testBoth(`a reading that ends late ${what}`, async ({ open }) => {
    await using store = await open();
    const records = new Records({ store, machine: systemMachine, account: "main" });
    await accepted(store);
    const read = await moveIntent(store, "i", { to: "part-filled", by: "list", at: 1, filled: "100" });
    await change(store);
    const client = {} as unknown as Client; // nothing here reads a list
    await follow({ records, client }, read, readingOf("200"));
    assertEquals((await findIntent(store, "i"))?.filled, filled);
  });
}

testBoth(
  "a reading without an order does not count if another reading has shown a part of it meanwhile",
  async ({ open }) => {
    await using store = await open();
    const machine = systemMachine;
    const records = new Records({ store, machine, account: "main" });
    await accepted(store);
    await moveIntent(store, "i", { to: "unknown", by: "person", at: 1, orderIds: [] });
    const at = machine.now();
    await noteIntent(store, (await findIntent(store, "i"))!, {
      absent: { count: 2, firstAt: at - 1, lastAt: at },
    });
    const read = (await findIntent(store, "i"))!;
    await forgetAbsence(store, "i");
    const missing = await countAbsence(records, read, { reading: readingOf(), owners: new Map() });
    assertEquals([missing, (await findIntent(store, "i"))?.absent], [
      "another reading of the lists",
      undefined,
    ]);
  },
);

testBoth(
  "a reading of another process at the same time neither counts nor ends the count of absence",
  async ({ open }) => {
    await using store = await open();
    const records = new Records({ store, machine: systemMachine, account: "main" });
    await accepted(store);
    await moveIntent(store, "i", { to: "unknown", by: "person", at: 1, orderIds: [] });
    const start = systemMachine.now();
    const count = async (beganAt: number, { tookMs = 0, aheadMs = 0 } = {}) => {
      const reading = {
        ...readingOf(undefined, {}, start + beganAt),
        aheadMs,
        endedAt: start + beganAt + tookMs,
      };
      await countAbsence(records, (await findIntent(store, "i"))!, { reading, owners: new Map() });
      return (await findIntent(store, "i"))?.absent?.count;
    };
    assertEquals(await count(0), 1);
    assertEquals(await count(5_000), 2);
    // This reading began before the last one, and ended after it.
    assertEquals(await count(4_000, { tookMs: 1_500 }), 2);
    // The broker's time is in whole seconds, so it may seem to go back a little.
    assertEquals(await count(5_400, { aheadMs: -900 }), 3);
    assertEquals(await count(6_000), 4);
    // Controls: a clock that went back, this machine's and the broker's.
    assertEquals(await count(7_000, { aheadMs: -4_000 }), 1);
    assertEquals(await count(8_000), 2);
    assertEquals(await count(2_000, { tookMs: 100 }), 1);
  },
);

/** Follows the order of {@linkcode accepted} with a reading, and returns its state and its fills. */
async function followed(
  store: Store,
  intent: Intent,
  reading: ListReading,
  children: readonly string[] = [],
): Promise<[string, string]> {
  // Nothing here reads another list.
  const client = { algo: { children: () => Promise.resolve(children) } } as unknown as Client;
  await follow(
    { records: new Records({ store, machine: systemMachine, account: "main" }), client },
    intent,
    reading,
  );
  const { state, filled } = (await findIntent(store, intent.id))!; // it was recorded before
  return [state, filled];
}

Deno.test("a filled part of a split order does not end the order while other parts may still appear in the lists", async () => {
  await using store = await openSqlite(":memory:");
  const intent = await accepted(store, { market: "hk", symbol: "00700.HK", side: "buy", quantity: "600" });
  const part = { quantity: "200", state: "filled" } as const;
  const since = intent.createdAt;
  assertEquals(await followed(store, intent, readingOf("200", part, since + 119_000)), ["acknowledged", "0"]);
  assertEquals(await followed(store, intent, readingOf("200", part, since + 121_000)), ["filled", "200"]);
});

Deno.test("the fills of an algorithmic order count although its own row lags behind those of its orders", async () => {
  await using store = await openSqlite(":memory:");
  await accepted(store);
  await store.run("update intent set operation = 'algo.place', child_ids = '[\"2\"]' where id = 'i'");
  const intent = (await findIntent(store, "i"))!; // it was recorded above
  const own = readingOf("100", { state: "expired", lists: ["algo.list"], quantity: "600" });
  for (const [filled, state] of [["250", "expired"], ["600", "filled"]] as const) {
    const child = readingOf(filled, { orderId: "2", quantity: "600", state: "cancelled" });
    const reading = { ...own, orders: new Map([...own.orders, ...child.orders]) };
    assertEquals(await followed(store, intent, reading, ["2"]), [state, filled]);
    await store.run("update intent set state = 'acknowledged', ended_at = null where id = 'i'");
  }
});

Deno.test("a list that is older than an earlier reading changes nothing", async () => {
  await using store = await openSqlite(":memory:");
  await accepted(store);
  const intent = await moveIntent(store, "i", { to: "part-filled", by: "list", at: 1, filled: "300" });
  assertEquals(await followed(store, intent, readingOf("200")), ["part-filled", "300"]);
  assertEquals(await followed(store, intent, readingOf("0", { state: "working" })), ["part-filled", "300"]);
});

Deno.test("a day order expires two days after its day by the broker's date, and not one day after it", async () => {
  const at = Date.parse("2025-08-15T10:00:00+08:00");
  for (const [day, state] of [["2025-08-14", "working"], ["2025-08-13", "expired"]] as const) {
    await using store = await openSqlite(":memory:");
    const intent = await accepted(store, { market: "hk" });
    const reading = { ...readingOf("0", { day, state: "working" }, at), aheadMs: 0 };
    assertEquals(await followed(store, intent, reading), [state, "0"], day);
  }
});

Deno.test("a conditional order does not end while the lists lack one of the orders that it has placed", async () => {
  await using store = await openSqlite(":memory:");
  await accepted(store, { market: "hk", symbol: "00700.HK", orderType: "stop-loss-limit", quantity: "600" });
  await addOrders(store, "i", { childIds: ["2", "3"] });
  const intent = (await findIntent(store, "i"))!; // it was recorded above
  const reading = readingOf("0", { state: "triggered" });
  const child = readingOf("300", { orderId: "2", quantity: "300", state: "filled" });
  const orders = new Map([...reading.orders, ...child.orders]);
  assertEquals(await followed(store, intent, { ...reading, orders }), ["acknowledged", "0"]);
  const last = readingOf("300", { orderId: "3", quantity: "300", state: "filled" });
  for (const [id, row] of last.orders) orders.set(id, row);
  assertEquals(await followed(store, intent, { ...reading, orders }), ["filled", "600"]);
});

testBoth(
  "a part that another process records meanwhile is not given to a second intent",
  async ({ open }) => {
    await using store = await open();
    await using other = await open();
    const params = { market: "hk", symbol: "00700.HK", side: "buy", quantity: "600" };
    const intent = await accepted(store, params);
    const own = readingOf("0", { quantity: "200", state: "working" }, intent.createdAt + 1_000);
    const part = readingOf("0", { orderId: "2", quantity: "400", state: "working" });
    const reading = { ...own, orders: new Map([...own.orders, ...part.orders]) };
    const client = {} as unknown as Client; // nothing here reads a list
    await othersOf(
      { records: new Records({ store, machine: systemMachine, account: "main" }), client },
      reading,
    );
    await accepted(other, params, { id: "o", orderId: "2" });
    await other.run("update intent set sent_at = created_at where id = 'o'");
    await followed(store, intent, reading);
    assertEquals((await findIntent(store, "i"))?.orderIds, ["1"]);
  },
);

Deno.test("the queries for open intents use the index of open intents", async () => {
  await using store = await openSqlite(":memory:");
  const asked: string[] = [];
  const spy = new Proxy(store, {
    get(target, name) {
      if (name !== "all") return Reflect.get(target, name);
      return (sql: string) => {
        asked.push(sql);
        return Promise.resolve([]);
      };
    },
  });
  await openIntents(spy, "main");
  await unresolvedIntents(spy, "main");
  await unresolvedIntents(spy);
  await openAccounts(spy);
  for (const sql of asked) {
    const steps = await store.all<{ detail: string }>(`explain query plan ${sql}`);
    assertStringIncludes(steps[0]!.detail, "USING INDEX intent_open", sql);
  }
  assertEquals(asked.length, 4);
});
