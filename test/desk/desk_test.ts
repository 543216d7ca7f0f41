/** Tests of the order desk: what it records, how it resolves lost answers, and what it never does. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { conditionalTypes, trailingTypes } from "../../lib/dictionaries/order_type.ts";
import { BrokerError, OutcomeUnknownError, RejectedError } from "../../lib/errors.ts";
import { setHalt } from "../../lib/desk/queries.ts";
import { findOperation } from "../../lib/operations/mod.ts";
import type { AnyOperation } from "../../lib/operations/operation.ts";
import { ORDER, TENCENT } from "../conformance/simulated_account.ts";
import { ACCOUNT, deskTest, type DeskUnderTest } from "./support.ts";

const operationOf = (name: string): AnyOperation => findOperation(name)!; // the catalogue has it

/** Opens a desk whose clock is ahead of the broker's; a test may change by how much. */
function openAhead({ open, machine, clock }: DeskUnderTest, ms: number) {
  const ahead = { ms };
  const now = () => clock.now() + ahead.ms;
  const desk = open({ machine: { ...machine, now, monotonic: () => clock.now() }, resolveMs: 0 });
  return { desk, ahead };
}

/** The terms of a conditional order, without its type and its trigger. */
const TRIGGERED = { market: "us", symbol: "AAPL", side: "buy", quantity: "10", validDays: 3 } as const;

/** A second order, with another fingerprint. */
const OTHER = { ...ORDER, price: "551.00" } as const;

deskTest(
  "an order is recorded before it is sent, acknowledged by its answer, and followed to its end",
  async (testAccount) => {
    const { trader, client, intents, history, pass } = testAccount;
    const [quote] = await client.quotes.latest({ securities: [TENCENT] });
    const price = String(Math.floor(Number(quote!.lastPrice) * 1.02));
    const { orderId } = await trader.orders.place({ ...ORDER, price, orderType: "enhanced-limit" });
    await pass(60_000);
    const [intent, ...rest] = await intents();
    assertEquals([intent!.state, intent!.orderIds, intent!.filled, rest], ["filled", [orderId], "100", []]);
    assertEquals(await history(intent!.id), [
      "planned>approved by desk",
      "approved>sent by desk",
      "sent>acknowledged by answer",
      "acknowledged>filled by list",
    ]);
  },
);

deskTest(
  "an order of every conditional type is recorded, sent, and read back from the store",
  async ({ trader, intents }) => {
    for (const orderType of conditionalTypes) {
      const trails = trailingTypes.includes(orderType) ? ["percentage", "spread"] as const : [undefined];
      for (const trailBy of trails) {
        const params = {
          ...TRIGGERED,
          orderType,
          ...orderType.endsWith("-limit") && { price: "230" },
          triggerValue: trailBy === undefined ? "220" : "5",
          ...trailBy && { trailBy },
        };
        const { orderId } = await trader.orders.place(params);
        const [intent] = await intents();
        assertEquals([intent!.state, intent!.orderIds, intent!.params.trailBy], [
          "acknowledged",
          [orderId],
          trailBy,
        ]);
      }
    }
  },
);

deskTest(
  "a lost answer is found in the broker's lists, and the call returns the order",
  async (testAccount) => {
    const { trader, simulator: { faults }, last, history, orderIds } = testAccount;
    const before = await orderIds();
    faults.arm({ kind: "lost-answer", operation: "orders.place" });
    const { orderId } = await trader.orders.place(ORDER);
    assertEquals(faults.struck("lost-answer"), 1);
    assertEquals((await orderIds()).filter((id) => !before.includes(id)), [orderId]);
    const { id, state, orderIds: found } = await last();
    assertEquals([state, found], ["working", [orderId]]);
    assertEquals((await history(id)).slice(2), [
      "sent>unknown by desk",
      "unknown>acknowledged by list",
      "acknowledged>working by list",
    ]);
  },
);

deskTest(
  "a lost request stays unknown until the lists also show a later order; only then it is proven not sent",
  async (testAccount) => {
    const { trader, desk, simulator: { faults }, intents, last, pass, history, orderIds } = testAccount;
    const before = (await orderIds()).length;
    faults.arm({ kind: "lost-request", operation: "orders.place" });
    await assertRejects(() => trader.orders.place(ORDER), OutcomeUnknownError, "hsgate orders show");
    const lost = await last();
    assertEquals(lost.state, "unknown");
    // Neither readings nor time prove it without a later order.
    await pass(30 * 60_000, 6);
    assertEquals((await last()).state, "unknown");
    const { unresolved } = await desk.reconcile();
    assertEquals(unresolved.map(({ intent }) => intent.id), [lost.id]);
    // Until it is resolved, the same order is rejected before anything is sent; another order is not.
    const again = await assertRejects(() => trader.orders.place({ ...ORDER, price: "550" }), BrokerError);
    assertEquals(again.code, "unresolved-intent");
    await trader.orders.place(OTHER);
    await pass(60_000);
    const state = (await intents()).find(({ id }) => id === lost.id)!.state;
    const expected = testAccount.transport === "memory" ? "unknown" : "abandoned"; // the endpoint in memory sends no time
    assertEquals([state, (await history(lost.id)).at(-1)], [
      expected,
      expected === "unknown" ? "sent>unknown by desk" : "unknown>abandoned by list",
    ]);
    assertEquals((await orderIds()).length, before + 1);
    if (expected === "abandoned") await trader.orders.place(ORDER); // now it may be sent
  },
);

deskTest(
  "two orders with the same terms after a lost answer are ambiguous, and only a person decides",
  async (testAccount) => {
    const { trader, client, desk, simulator: { faults }, last, pass, orderIds } = testAccount;
    const before = await orderIds();
    faults.arm({ kind: "lost-answer", operation: "orders.place", skip: 1 });
    // A person places this order in the broker's app, after the desk has read the lists and before the desk sends.
    const beforeWrite = async () => void await client.orders.place(ORDER);
    await assertRejects(() => trader.orders.place(ORDER, { beforeWrite }), OutcomeUnknownError);
    await pass(60_000);
    const { id, state } = await last();
    assertEquals((await orderIds()).length, before.length + 2);
    assertEquals(state, "ambiguous");
    await pass(60 * 60_000, 4);
    assertEquals((await last()).state, "ambiguous");
    const [mine = ""] = (await orderIds()).filter((each) => !before.includes(each));
    await desk.decide(id, { wasSent: true, orderIds: [mine] }, "ann");
    assertEquals([(await last()).state, (await last()).orderIds], ["acknowledged", [mine]]);
  },
);

deskTest(
  "the parts of an order that the broker splits belong to one intent, with and without an answer",
  async (testAccount) => {
    const { trader, simulator: { faults }, intents, pass } = testAccount;
    const large = { ...ORDER, quantity: "800000", price: "1.00" } as const;
    await trader.orders.place(large);
    await pass(10_000);
    faults.arm({ kind: "lost-answer", operation: "orders.place" });
    await trader.orders.place({ ...large, price: "1.01" });
    await pass(10_000);
    const [second, first] = await intents();
    assertEquals([first!.orderIds.length, second!.orderIds.length], [3, 3]);
    assertEquals(new Set([...first!.orderIds, ...second!.orderIds]).size, 6);
    assertEquals([first!.state, second!.state], ["working", "working"]);
  },
);

deskTest(
  "the parts of a split order are found although the first reading comes late",
  async (testAccount) => {
    const { trader, desk, clock, round, intents } = testAccount;
    await trader.orders.place({ ...ORDER, quantity: "800000", price: "1.00" });
    clock.advance(10 * 60_000);
    round();
    const { foreign } = await desk.reconcile({ markets: ["hk"] });
    const [intent] = await intents();
    assertEquals([intent!.state, intent!.orderIds.length], ["working", 3]);
    assertEquals(foreign.filter(({ price }) => Number(price) === 1), []);
  },
);

deskTest(
  "if an order made elsewhere could be a part of a split order, a person decides which orders belong to the split order",
  async (testAccount) => {
    const { trader, client, desk, clock, round, intents, orderIds, pass } = testAccount;
    const before = await orderIds();
    const large = { ...ORDER, quantity: "800000", price: "1.00" } as const;
    await trader.orders.place(large);
    const parts = (await orderIds()).filter((id) => !before.includes(id));
    await client.orders.place({ ...large, quantity: "200000" });
    clock.advance(10 * 60_000);
    round();
    const { unresolved } = await desk.reconcile({ markets: ["hk"] });
    const [intent] = await intents();
    assertEquals([intent!.state, unresolved.map(({ missing }) => missing)], [
      "ambiguous",
      ["a person's decision"],
    ]);
    assertEquals(parts.length, 3);
    await desk.decide(intent!.id, { wasSent: true, orderIds: parts }, "ann");
    await pass(60_000);
    const [decided] = await intents();
    assertEquals([decided!.state, decided!.orderIds], ["working", parts]);
    // The decision is final, also if it names fewer orders than the quantity needs.
    await desk.decide(intent!.id, { wasSent: true, orderIds: parts.slice(0, 1) }, "ann");
    await pass(60_000);
    const [corrected] = await intents();
    assertEquals([corrected!.state, corrected!.orderIds], ["working", parts.slice(0, 1)]);
  },
);

deskTest(
  "a split order stays acknowledged while one of its parts may be a lost order of another intent",
  async (testAccount) => {
    const { open, desk, clock, round, intents, simulator: { faults } } = testAccount;
    const large = { ...ORDER, quantity: "800000", price: "1.00" } as const;
    const [own, other] = [open({ resolveMs: 0 }).client(), open({ resolveMs: 0 }).client()];
    // The smaller order is sent after the lists were read for the large one, and before the large one is sent.
    const beforeWrite = async () => {
      faults.arm({ kind: "lost-answer", operation: "orders.place" });
      await assertRejects(() => other.orders.place({ ...large, quantity: "200000" }), OutcomeUnknownError);
    };
    await own.orders.place(large, { beforeWrite });
    clock.advance(10 * 60_000);
    round();
    const { unresolved } = await desk.reconcile({ markets: ["hk"] });
    // Each order of 200,000 shares may be a part of the large order, or the smaller order.
    assertEquals((await intents()).map(({ state, orderIds }) => [state, orderIds.length]).sort(), [
      ["acknowledged", 1],
      ["unknown", 0],
    ]);
    assertEquals(unresolved.length, 2);
  },
);

deskTest(
  "the parts of a split order are found although one of them was amended before the first reading",
  async (testAccount) => {
    const { trader, client, desk, clock, round, intents } = testAccount;
    const large = { ...ORDER, quantity: "800000" } as const;
    /** Price of the order, price of the amendment, and the part that the amendment changes. */
    const prices = [["0.30", "0.29", "first"], ["0.31", "0.31", "first"], ["0.32", "0.28", "last"]] as const;
    for (const [price, to, which] of prices) {
      const placed = await trader.orders.place({ ...large, price });
      const parts = (await client.orders.today({ market: "hk" }).toArray())
        .filter((order) => Number(order.price) === Number(price));
      const orderId = which === "first" ? placed.orderId : parts.map((order) => order.orderId).sort().at(-1)!; // three parts
      const { quantity = "0" } = parts.find((order) => order.orderId === orderId)!; // it was just placed
      const smaller = price === to ? "100000" : quantity;
      const change = { market: "hk", symbol: "00700.HK", orderId, quantity: smaller, price: to } as const;
      await trader.orders.amend(change);
      if (which === "last") await trader.orders.amend({ ...change, price: "0.27" });
    }
    clock.advance(10 * 60_000);
    round();
    const { foreign } = await desk.reconcile({ markets: ["hk"] });
    const placed = (await intents()).filter(({ kind }) => kind === "place");
    assertEquals(
      placed.map(({ state, orderIds }) => [state, orderIds.length]),
      prices.map(() => ["working", 3]),
    );
    assertEquals(foreign.filter(({ price }) => Number(price) < 1), []);
  },
);

deskTest(
  "a split order becomes ambiguous if its known part ends and the other parts may have been amended elsewhere",
  async (testAccount) => {
    const { trader, client, desk, clock, round, last, orderIds, pass } = testAccount;
    const before = await orderIds();
    const order = { ...ORDER, quantity: "800000", price: "0.30" } as const;
    await trader.orders.place(order);
    const [first = "", ...others] = (await orderIds()).filter((id) => !before.includes(id));
    const change = { market: "hk", symbol: "00700.HK", quantity: "100000", price: "0.29" } as const;
    for (const orderId of others) await client.orders.amend({ ...change, orderId });
    clock.advance(10 * 60_000);
    round();
    await desk.reconcile({ markets: ["hk"] });
    assertEquals([(await last()).state, (await last()).orderIds], ["working", [first]]);
    await client.orders.cancel({ market: "hk", symbol: "00700.HK", orderId: first });
    await pass(60_000);
    const { id, state } = await last();
    assertEquals([state, others.length], ["ambiguous", 2]);
    // The person's decision is final, also if the orders have less than the intent's quantity.
    await desk.decide(id, { wasSent: true, orderIds: [first] }, "ann");
    await pass(60_000);
    assertEquals([(await last()).state, (await last()).orderIds], ["cancelled", [first]]);
  },
);

deskTest(
  "an intent whose order was reduced with hsgate ends, although an order made elsewhere has the same listing and side",
  async (testAccount) => {
    const { trader, client, intents, pass } = testAccount;
    const { orderId } = await trader.orders.place({ ...ORDER, quantity: "300", price: "0.30" });
    await pass(60_000);
    const order = { market: "hk", symbol: "00700.HK", orderId } as const;
    await trader.orders.amend({ ...order, quantity: "100", price: "0.30" });
    await client.orders.place({ ...ORDER, price: "0.29" });
    await pass(10 * 60_000);
    await client.orders.cancel(order);
    await pass(60_000);
    const placed = (await intents()).find(({ kind }) => kind === "place")!;
    assertEquals([placed.state, placed.orderIds], ["cancelled", [orderId]]);
  },
);

deskTest("cancellations and amendments with lost answers are resolved by the lists", async (testAccount) => {
  const { trader, simulator: { faults }, intents, pass } = testAccount;
  const { orderId } = await trader.orders.place(ORDER);
  faults.arm({ kind: "lost-answer", operation: "orders.amend" });
  const amended = await trader.orders.amend({
    market: "hk",
    symbol: "00700.HK",
    orderId,
    quantity: "200",
    price: "549.00",
  });
  faults.arm({ kind: "lost-answer", operation: "orders.cancel" });
  await trader.orders.cancel({ market: "hk", symbol: "00700.HK", orderId: amended.orderId });
  await pass(10_000);
  assertEquals((await intents()).map(({ kind, state }) => `${kind} ${state}`), [
    "cancel cancelled",
    "amend cancelled",
    "place cancelled",
  ]);
  assertEquals(faults.counts["lost-answer"], 2);
});

deskTest(
  "an amendment whose answer was lost and which the broker has split is resolved, and its parts are followed",
  async (testAccount) => {
    const { trader, simulator: { faults }, intents, orderIds, pass } = testAccount;
    const before = await orderIds();
    const { orderId } = await trader.orders.place({ ...ORDER, price: "0.30" });
    faults.arm({ kind: "lost-answer", operation: "orders.amend" });
    const amend = { market: "hk", symbol: "00700.HK", orderId, price: "0.31" } as const;
    assertEquals(await trader.orders.amend({ ...amend, quantity: "800000" }), { orderId });
    assertEquals(faults.struck("lost-answer"), 1);
    await pass(60_000);
    const parts = (await orderIds()).filter((id) => !before.includes(id)).sort();
    assertEquals(
      (await intents()).map(({ kind, state, orderIds }) => [kind, state, [...orderIds].sort()]),
      [["amend", "working", parts], ["place", "working", parts]],
    );
    assertEquals(parts.length, 3);
  },
);

deskTest(
  "the answer to an amendment and the order that it created are recorded together or not at all",
  async (testAccount) => {
    const { store, trader, last, pass } = testAccount;
    const { orderId } = await trader.orders.place(ORDER);
    const { run } = store;
    let count = 0;
    store.run = async (sql, ...values) => {
      // As if the process were killed between the two records.
      if (sql.startsWith("update intent set order_ids") && ++count === 1) throw new TypeError("killed here");
      return await run.call(store, sql, ...values);
    };
    const terms = { market: "hk", symbol: "00700.HK", orderId, quantity: "200", price: "549.00" } as const;
    await assertRejects(() => trader.orders.amend(terms), OutcomeUnknownError, "killed here");
    assertEquals([count, (await last()).state], [1, "sent"]);
    await pass(120_000, 2);
    assertEquals([(await last()).state, (await last()).orderIds], ["working", [orderId]]);
  },
);

deskTest(
  "a rejected order ends rejected, and an order that the guard refuses ends abandoned",
  async (testAccount) => {
    const { trader, intents, history } = testAccount;
    await assertRejects(
      () => trader.orders.place({ ...ORDER, price: "550.01" }),
      RejectedError,
      "price step",
    );
    const [rejected] = await intents();
    assertEquals([rejected!.state, (await history(rejected!.id)).at(-1)], [
      "rejected",
      "sent>rejected by answer",
    ]);
    const desk = testAccount.open({
      guard() {
        throw new BrokerError("Cannot place: too large", { code: "guard" });
      },
    });
    await assertRejects(() => desk.client().orders.place(OTHER), BrokerError, "too large");
    const [refused] = await intents();
    assertEquals([refused!.state, refused!.sentAt, (await history(refused!.id)).at(-1)], [
      "abandoned",
      undefined,
      "planned>abandoned by desk",
    ]);
  },
);

deskTest("a halt stops the order writes of every process before anything is sent", async (testAccount) => {
  const { trader, store, count, machine, open } = testAccount;
  const sent = count("orders.place");
  await setHalt(store, { account: ACCOUNT, why: "lunch", by: "ann", at: machine.now() });
  const error = await assertRejects(() => trader.orders.place(ORDER), BrokerError);
  assertEquals(error.code, "halted");
  assertStringIncludes(error.message, "lunch (by ann)");
  await assertRejects(
    () => trader.transport.call(operationOf("orders.place"), ORDER, {}),
    BrokerError,
    "halted",
  );
  const byFile = open({ account: "other", haltedByFile: () => "the file hsgate.halt" });
  await assertRejects(() => byFile.client().orders.place(ORDER), BrokerError, "hsgate.halt");
  assertEquals(sent(), 0);
});

deskTest("an order whose checks are more than a minute old is not sent", async (testAccount) => {
  const { trader, count, clock, last } = testAccount;
  const sent = count("orders.place");
  // Something between the checks and the first byte takes long, such as a login or a stopped process.
  const error = await assertRejects(
    () => trader.orders.place(ORDER, { beforeWrite: () => void clock.advance(60_001) }),
    BrokerError,
  );
  assertEquals([error.code, sent(), (await last()).state], ["old-approval", 0, "abandoned"]);
  const { orderId } = await trader.orders.place(ORDER, { beforeWrite: () => void clock.advance(50_000) });
  assertEquals(sent(), 1);
  // The checks of a cancellation use no data that gets old.
  const ours = { market: "hk", symbol: ORDER.symbol, orderId } as const;
  await trader.orders.cancel(ours, { beforeWrite: () => void clock.advance(3_600_000) });
  assertEquals((await last()).state, "acknowledged");
});

deskTest("an order or a cancellation that was recorded too long ago is not sent", async (testAccount) => {
  const { trader, count, clock, last, open, intents } = testAccount;
  const sent = [count("orders.place"), count("orders.cancel")];
  const { orderId } = await trader.orders.place(ORDER);
  for (const byMs of [10_001, 10_000]) {
    // The desk looks for the halt file a second time right after it has recorded the write.
    let asked = 0;
    const slow = open({ haltedByFile: () => void (++asked === 2 && clock.advance(byMs)) }).client();
    const cancel = () => slow.orders.cancel({ market: "hk", symbol: ORDER.symbol, orderId });
    if (byMs === 10_000) {
      await slow.orders.place(OTHER);
      asked = 0;
      await cancel();
      continue;
    }
    const error = await assertRejects(() => slow.orders.place(OTHER), BrokerError);
    assertEquals([error.code, (await last()).state], ["late-record", "abandoned"]);
    asked = 0;
    assertEquals((await assertRejects(cancel, BrokerError)).code, "late-record");
  }
  assertEquals(sent.map((each) => each()), [2, 1]);
  assertEquals(
    (await intents()).map(({ state }) => state).filter((state) => state === "abandoned").length,
    2,
  );
});

deskTest(
  "an order is not sent if its process was suspended, or trading was halted, while the transport connected",
  async (testAccount) => {
    const { count, clock, last, open } = testAccount;
    const sent = [count("orders.place"), count("orders.cancel")];
    const { orderId } = await testAccount.trader.orders.place(ORDER);
    // The desk looks for the halt file a third time right before the first byte, when the transport has connected.
    for (
      const [code, atFirstByte] of [
        ["late-record", () => void clock.advance(10_001)],
        ["halted", () => "a halt file"],
      ] as const
    ) {
      let asked = 0;
      const slow = open({ haltedByFile: () => ++asked === 3 ? atFirstByte() ?? undefined : undefined })
        .client();
      const error = await assertRejects(() => slow.orders.place(OTHER), BrokerError);
      assertEquals([error.code, asked, (await last()).state], [code, 3, "abandoned"]);
      asked = 0;
      const cancel = () => slow.orders.cancel({ market: "hk", symbol: ORDER.symbol, orderId });
      assertEquals((await assertRejects(cancel, BrokerError)).code, code);
    }
    assertEquals(sent.map((each) => each()), [1, 0]);
  },
);

deskTest("the age of the checks includes the time of reading the lists", async (testAccount) => {
  const { client, count, clock, open } = testAccount;
  const sent = count("orders.place");
  const { today } = client.orders;
  const slow = open({
    client: {
      ...client,
      orders: { ...client.orders, today: (...given) => (clock.advance(60_001), today(...given)) },
    },
  });
  const error = await assertRejects(() => slow.client().orders.place(ORDER), BrokerError);
  assertEquals([error.code, sent()], ["old-approval", 0]);
});

deskTest("orders made elsewhere are listed as foreign, and get no intent", async (testAccount) => {
  const { trader, client, desk, intents } = testAccount;
  const { orderId: mine } = await trader.orders.place(ORDER);
  const { orderId: foreign } = await client.orders.place(OTHER);
  const { foreign: seen } = await desk.reconcile({ markets: ["hk"] });
  const ids = seen.map(({ orderId }) => orderId);
  assertEquals([ids.includes(foreign), ids.includes(mine)], [true, false]);
  assertEquals((await intents()).length, 1);
});

deskTest(
  "an intent of a process that ended in the middle is abandoned if it was not sent, and searched in the lists if it was",
  async (testAccount) => {
    const { open, store, simulator: { faults }, intents, clock, client, pass } = testAccount;
    // This desk stops after it committed "approved" and before it sends, as if its process had ended.
    const dead = open();
    const neverSent = new Promise<never>(() => {});
    void dead.client().orders.place(ORDER, { beforeWrite: () => neverSent }).catch(() => {});
    while ((await intents())[0]?.state !== "approved") await new Promise((resolve) => setTimeout(resolve, 5));
    clock.advance(11 * 60_000);
    await open().reconcile();
    assertEquals((await intents())[0]!.state, "abandoned");
    faults.arm({ kind: "lost-answer", operation: "orders.place" });
    const cut = open({ resolveMs: 0 });
    await assertRejects(() => cut.client().orders.place(OTHER), OutcomeUnknownError);
    assertEquals((await intents())[0]!.state, "unknown");
    await pass(60_000);
    assertEquals((await intents())[0]!.state, "working");
    await client.orders.cancelAll({ market: "hk" }).catch(() => {});
    assertEquals(await store.get("select 1 as one"), { one: 1 });
  },
);

deskTest(
  "raw calls of order writes are rejected: the desk could not read their terms",
  async ({ trader }) => {
    const error = await assertRejects(() => trader.raw("trade", "TradeEntrust", {}), BrokerError);
    assertEquals(error.code, "raw-order");
  },
);

deskTest("a call that is aborted while the desk searches for its order ends at once", async (testAccount) => {
  const { open, machine, simulator: { faults }, last } = testAccount;
  const stop = new AbortController();
  // Its timers never fire, so only the signal can end the wait between two readings.
  const waiting = open({ machine: { ...machine, setTimer: () => () => {} } });
  faults.arm({ kind: "lost-request", operation: "orders.place" });
  const placing = waiting.client().orders.place(ORDER, { signal: stop.signal });
  while ((await last())?.state !== "unknown") await new Promise((resolve) => setTimeout(resolve, 5));
  setTimeout(() => stop.abort(), 20);
  await assertRejects(() => placing, OutcomeUnknownError, "hsgate orders show");
});

deskTest(
  "an order that was sent while this machine's clock was wrong is found after the clock was corrected, and never sent again",
  async (testAccount) => {
    const { simulator: { faults }, clock, intents, orderIds } = testAccount;
    const before = (await orderIds()).length;
    // Only the desk's clock is wrong: 40 s ahead of the broker's when the order leaves.
    const { desk, ahead } = openAhead(testAccount, 40_000);
    const trader = desk.client();
    faults.arm({ kind: "lost-answer", operation: "orders.place" });
    await assertRejects(() => trader.orders.place(ORDER), OutcomeUnknownError);
    const lost = (await intents())[0]!.id;
    ahead.ms = 0;
    clock.advance(45_000);
    await trader.orders.place(OTHER);
    for (let turn = 0; turn < 12; turn++) {
      clock.advance(10_000);
      await desk.reconcile();
    }
    const intent = (await intents()).find(({ id }) => id === lost)!;
    assertEquals([intent.state, intent.orderIds.length], ["working", 1]);
    assertEquals((await orderIds()).length, before + 2);
  },
);

deskTest("after the clock jumped back, the time between readings counts from zero", async (testAccount) => {
  const { simulator: { faults }, clock, intents } = testAccount;
  const { desk, ahead } = openAhead(testAccount, 3_600_000);
  const trader = desk.client();
  faults.arm({ kind: "lost-request", operation: "orders.place" });
  await assertRejects(() => trader.orders.place(ORDER), OutcomeUnknownError);
  const lost = (await intents())[0]!.id;
  await trader.orders.place(OTHER);
  const reconciled = async () => {
    clock.advance(31_000);
    await desk.reconcile();
    return (await intents()).find(({ id }) => id === lost)!;
  };
  assertEquals((await reconciled()).absent?.count, 1);
  ahead.ms = 0;
  assertEquals((await reconciled()).absent?.count, 1);
  assertEquals((await reconciled()).state, "unknown");
  assertEquals((await reconciled()).state, "abandoned");
}, { skip: { memory: "the endpoint in memory sends no time, so nothing is proven" } });

deskTest(
  "a jump of the clock between two readings of the lists does not count as elapsed time",
  async (testAccount) => {
    const { simulator: { faults }, clock, intents } = testAccount;
    const { desk, ahead } = openAhead(testAccount, 0);
    const trader = desk.client();
    faults.arm({ kind: "lost-request", operation: "orders.place" });
    await assertRejects(() => trader.orders.place(ORDER), OutcomeUnknownError);
    const lost = (await intents())[0]!.id;
    await trader.orders.place(OTHER);
    const state = async () => (await intents()).find(({ id }) => id === lost)!.state;
    for (let turn = 0; turn < 4; turn++) {
      clock.advance(2_000);
      ahead.ms += 60_000; // the clock of this machine jumps a minute at each reading; the broker's does not
      await desk.reconcile();
    }
    assertEquals(await state(), "unknown");
  },
);

deskTest(
  "readings at the same time show the same change, and one of them records it",
  async (testAccount) => {
    const { trader, client, clock, round, desk, open, last, history } = testAccount;
    const [quote] = await client.quotes.latest({ securities: [TENCENT] });
    const price = String(Math.floor(Number(quote!.lastPrice) * 1.02));
    await trader.orders.place({ ...ORDER, price, orderType: "enhanced-limit" });
    clock.advance(60_000);
    round();
    // A push and a timer of one process, and another process.
    await Promise.all([desk.reconcile(), desk.reconcile(), open().reconcile()]);
    const { id, state } = await last();
    assertEquals([state, (await history(id)).slice(2)], [
      "filled",
      ["sent>acknowledged by answer", "acknowledged>filled by list"],
    ]);
  },
);
