/**
 * Tests of the search for lost answers: in the background, with a store that fails, with late answers, and over days.
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { Client } from "../../lib/client/client.ts";
import { add, compare } from "../../lib/decimal.ts";
import { readLists } from "../../lib/desk/broker_lists.ts";
import { decideIntent, type Decision } from "../../lib/desk/decide.ts";
import { recordLate } from "../../lib/desk/recover.ts";
import { Records } from "../../lib/desk/records.ts";
import type { Intent } from "../../lib/desk/intent.ts";
import { addOrders, findIntent, insertIntent, moveIntent } from "../../lib/desk/queries.ts";
import { needsReading, RECONCILE_MS } from "../../lib/desk/reconcile.ts";
import { BrokerError, OutcomeUnknownError, RejectedError, TransportError } from "../../lib/errors.ts";
import { StoreError } from "../../lib/store/store_error.ts";
import type { TimerOptions } from "../../lib/time.ts";
import type { TransportEvent } from "../../lib/transports/push/events.ts";
import type { LateAnswer } from "../../lib/transports/transport.ts";
import { exitCodeOf } from "../../tasks/terminal/exit_codes.ts";
import { ORDER, TENCENT } from "../conformance/simulated_account.ts";
import { waitUntil } from "../support/waits.ts";
import { ACCOUNT, deskTest, type DeskUnderTest } from "./support.ts";

const OTHER = { ...ORDER, price: "551.00" } as const;
const HOUR = 3_600_000;

/** Returns the client with another function for reading today's orders. */
function reading(client: Client, today: (read: () => Promise<unknown>) => Promise<unknown>): Client {
  const list = (...given: Parameters<Client["orders"]["today"]>) => ({
    toArray: () => today(() => client.orders.today(...given).toArray()),
  });
  return { ...client, orders: { ...client.orders, today: list } } as unknown as Client;
}

deskTest(
  "a date that does not exist, or is far away, does not show that an order has ended",
  async ({ open, trader, client, last }) => {
    await trader.orders.place(ORDER);
    for (const date of ["00000000", "0000-00-00", "2025-13-45", "9999-12-31", "soon"]) {
      const odd = reading(
        client,
        async (read) => (await read() as object[]).map((row) => ({ ...row, date })),
      );
      await open({ client: odd }).reconcile();
      assert((await last()).state !== "expired", date);
    }
  },
);

deskTest(
  "keepReconciled() reads the lists on start and every few minutes while intents are open, until it is stopped",
  async (testAccount) => {
    const { open, machine, simulator: { faults }, client, last, clock } = testAccount;
    faults.arm({ kind: "lost-answer", operation: "orders.place" });
    await assertRejects(() => open({ resolveMs: 0 }).client().orders.place(ORDER), OutcomeUnknownError);
    assertEquals((await last()).state, "unknown");
    const timers: { ms: number; fire: () => void; options: TimerOptions | undefined }[] = [];
    let [cancelled, readings, isFailing] = [0, 0, false];
    const desk = open({
      machine: {
        ...machine,
        setTimer(ms, fire, options) {
          timers.push({ ms, fire, options });
          return () => void cancelled++;
        },
      },
      client: reading(client, async (read) => {
        readings++;
        if (isFailing) throw new TransportError("the broker is away");
        return await read();
      }),
    });
    const stop = desk.keepReconciled();
    const turns = (wanted: number) => waitUntil(`timer ${wanted}`, () => timers.length === wanted);
    await turns(1);
    assertEquals([(await last()).state, readings], ["working", 1]);
    assertEquals(timers.map(({ ms, options }) => [ms, options]), [[RECONCILE_MS, { isBackground: true }]]);
    timers[0]!.fire();
    await turns(2);
    assertEquals(readings, 2);
    // After a reading that fails, the next one tries again.
    isFailing = true;
    timers[1]!.fire();
    await turns(3);
    isFailing = false;
    const [orderId = ""] = (await last()).orderIds;
    await client.orders.cancel({ market: "hk", symbol: "00700.HK", orderId });
    clock.advance(10_000);
    testAccount.round();
    timers[2]!.fire();
    await turns(4);
    assertEquals([(await last()).state, readings], ["cancelled", 4]);
    // Nothing is open any more, so nothing is read.
    timers[3]!.fire();
    await turns(5);
    assertEquals(readings, 4);
    await stop();
    assertEquals(cancelled, 1);
  },
);

deskTest(
  "no list is read in the background for an intent that only a person can decide about",
  async (testAccount) => {
    const { open, machine, client, last, simulator: { faults } } = testAccount;
    faults.arm({ kind: "lost-answer", operation: "orders.place" });
    await assertRejects(() => open({ resolveMs: 0 }).client().orders.place(ORDER), OutcomeUnknownError);
    const records = new Records({ ...testAccount, account: ACCOUNT });
    const intent = await last();
    await records.move(intent.id, { to: "ambiguous", by: "list", data: { why: "a test" } });
    let readings = 0;
    const timers: (() => void)[] = [];
    const desk = open({
      machine: {
        ...machine,
        setTimer(_, fire) {
          timers.push(fire);
          return () => {};
        },
      },
      client: reading(client, async (read) => {
        readings++;
        return await read();
      }),
    });
    const stop = desk.keepReconciled();
    await waitUntil("the first reading", () => timers.length === 1);
    readings = 0;
    timers[0]!();
    await waitUntil("the second turn", () => timers.length === 2);
    assertEquals(readings, 0);
    await desk.reconcile();
    assertEquals(readings, 1, "a person who asks sees the lists");
    await stop();
  },
);

Deno.test("needsReading() returns false for an intent that a reading in the background cannot change", () => {
  const now = Date.parse("2025-08-15T10:00:00+08:00");
  const intent = (state: string, sentAt = now - HOUR, orderType = "enhanced-limit") =>
    // needsReading() reads only these members.
    ({
      state,
      sentAt,
      operation: "orders.place",
      params: { market: "hk", orderType },
    }) as unknown as Intent;
  const yesterday = now - 20 * HOUR;
  const check = (each: Intent, reason = {}) => needsReading(each, { now, ...reason });
  assertEquals([check(intent("ambiguous")), check(intent("sent"))], [false, false]);
  assertEquals([check(intent("unknown")), check(intent("working"))], [true, true]);
  // An unknown order of an earlier day is only in the history, which hardly changes.
  assertEquals(check(intent("unknown", yesterday)), false);
  assertEquals(check(intent("unknown", yesterday), { withOld: true }), true);
  assertEquals(check(intent("working", yesterday)), true);
  // A push has news of the orders of today, and of orders that a conditional order has placed.
  assertEquals(check(intent("working"), { isPush: true }), true);
  assertEquals(check(intent("working", yesterday), { isPush: true }), false);
  assertEquals(check(intent("working", yesterday, "trailing-stop-limit"), { isPush: true }), true);
});

deskTest(
  "an order that another process records meanwhile is not given to a second intent",
  async (testAccount) => {
    const { open, store, last, intents, orderIds, simulator: { faults } } = testAccount;
    const before = await orderIds();
    faults.arm({ kind: "lost-answer", operation: "orders.place" });
    await assertRejects(() => open({ resolveMs: 0 }).client().orders.place(ORDER), OutcomeUnknownError);
    const lost = await last();
    const [orderId = ""] = (await orderIds()).filter((each) => !before.includes(each));
    const other = "other-0001";
    await insertIntent(store, { ...lost, id: other });
    await store.run(
      "update intent set state = 'filled', sent_at = ?, ended_at = ? where id = ?",
      lost.createdAt,
      lost.createdAt,
      other,
    );
    // Another process writes an order after this one has read which orders belong to which intents.
    let isWritten = false;
    const late = new Proxy(store, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (name !== "transaction") return typeof value === "function" ? value.bind(target) : value;
        return async (work: () => unknown) => {
          if (!isWritten) {
            isWritten = true;
            await addOrders(target, other, { orderIds: [orderId] });
          }
          return await target.transaction(work);
        };
      },
    });
    const { unresolved } = await open({ store: late }).reconcile();
    const now = (await intents()).find(({ id }) => id === lost.id);
    assertEquals([isWritten, now?.state, now?.orderIds], [true, "unknown", []]);
    assertStringIncludes(unresolved.map(({ missing }) => missing).join(), other);
  },
);

deskTest(
  "a store that fails after a lost answer does not hide that the outcome is unknown",
  async (testAccount) => {
    const { open, store, simulator: { faults }, last, pass } = testAccount;
    const cases = [
      [ORDER, "search", "unknown"],
      [OTHER, "record", "sent"],
      [{ ...ORDER, quantity: "300" }, "answer", "working"],
    ] as const;
    for (const [order, when, state] of cases) {
      faults.arm({ kind: "lost-answer", operation: "orders.place" });
      let [isSent, isFailing] = [false, false];
      const failing = new Proxy(store, {
        get(target, name) {
          const value = Reflect.get(target, name);
          if (typeof value !== "function") return value;
          return (...given: unknown[]) => {
            // The last reading of the search found the order, and the answer is read from the intent's changes.
            const isAnswer = when === "answer" && isSent &&
              /^select seq, at, from_state/.test(String(given[0]));
            if (isFailing || isAnswer) throw new StoreError("the disk is gone", { code: "sqlite" });
            return value.apply(target, given);
          };
        },
      });
      const read = reading(testAccount.client, async (read) => {
        const rows = await read();
        if (isSent && when === "search") isFailing = true;
        return rows;
      });
      const call: Client["call"] = async (operation, params, options) => {
        try {
          return await testAccount.client.call(operation, params, options);
        } finally {
          isSent = true;
          if (when === "record") isFailing = true;
        }
      };
      const desk = open({ store: failing, client: { ...read, call } });
      const error = await assertRejects(
        () => desk.client().orders.place(order),
        OutcomeUnknownError,
        "the disk is gone",
      );
      assertStringIncludes(error.message, "hsgate orders show");
      assertEquals((await last()).state, state, when);
      await pass(60_000);
      await pass(60_000);
      assertEquals((await last()).state, "working", when);
    }
  },
);

/**
 * Returns a client that replaces an order when it is amended: the old order is cancelled, and the answer names a new
 * order.
 */
function replacing({ client, clock, round }: DeskUnderTest): Client {
  const call: Client["call"] = async (operation, params, options = {}) => {
    if (operation.name !== "orders.amend") return await client.call(operation, params, options);
    await options.beforeWrite?.();
    const { market, symbol, orderId, ...terms } = params as Parameters<Client["orders"]["amend"]>[0];
    await client.orders.cancel({ market, symbol, orderId });
    const answer = await client.orders.place({ ...ORDER, ...terms });
    clock.advance(10_000);
    round();
    return answer as never;
  };
  return { ...client, call };
}

/** Returns a client that sends no order and throws as if its answer were lost, and a function for a late answer. */
function losing({ client }: DeskUnderTest): { client: Client; late(answer: Partial<LateAnswer>): void } {
  let tell: ((answer: LateAnswer) => void) | undefined;
  return {
    client: {
      ...client,
      async call(operation, params, options = {}) {
        if (operation.name !== "orders.place") return await client.call(operation, params, options);
        tell = options.onLateAnswer;
        await options.beforeWrite?.();
        throw new OutcomeUnknownError("lost", { code: "timeout", operation: operation.name });
      },
    } as Client,
    late: (answer) => tell!({ requestId: "1", operation: "orders.place", ...answer }),
  };
}

deskTest(
  "a late answer that names another order than the one found, or rejects it, makes the intent ambiguous",
  async (testAccount) => {
    const { open, client, pass, last, history, desk } = testAccount;
    for (
      const [order, late, evidence] of [
        [ORDER, { result: { orderId: "999" } }, "names order 999"],
        [OTHER, { error: new RejectedError("no", "no", { code: "1" }) }, '"rejected"'],
      ] as const
    ) {
      const lossy = losing(testAccount);
      await assertRejects(
        () => open({ client: lossy.client, resolveMs: 0 }).client().orders.place(order),
        OutcomeUnknownError,
      );
      // An order by hand with the same terms: the lists do not show which of the two is the lost order.
      const { orderId } = await client.orders.place(order);
      await pass(10_000);
      const { id, state, orderIds } = await last();
      assertEquals([state, orderIds], ["working", [orderId]]);
      lossy.late(late);
      await waitUntil("the late answer to be recorded", async () => (await last()).state === "ambiguous");
      assertEquals((await history(id)).at(-1), "working>ambiguous by answer");
      const [change] = await testAccount.store.all<{ data: string }>(
        "select data from intent_change where intent = ? order by seq desc limit 1",
        id,
      );
      assertStringIncludes(JSON.parse(change!.data).why, evidence);
      assertStringIncludes(change!.data, String(orderId));
      // The ambiguous intent blocks the same order until a person has decided.
      await assertRejects(() => desk.client().orders.place(order), BrokerError, "has the same request");
    }
  },
);

/** Returns the order methods of a client whose list of today's orders leaves some orders out. */
const ordersWithout = (client: Client, hidden: readonly string[]) => ({
  ...client.orders,
  today: (...given: Parameters<Client["orders"]["today"]>) => ({
    toArray: async () =>
      (await client.orders.today(...given).toArray()).filter(({ orderId }) => !hidden.includes(orderId)),
  }),
});

/** Loses the answer of an order that no reading shows for now. Returns its intent and its order. */
async function loseOrder(testAccount: DeskUnderTest) {
  const { open, client, simulator: { faults }, last } = testAccount;
  const own = open({ resolveMs: 0 }).client();
  await own.orders.place(OTHER); // the first write of a desk reads the lists
  const idsNow = async () =>
    (await client.orders.today({ market: "hk" }).toArray()).map((row) => row.orderId);
  const before = await idsNow();
  faults.arm({ kind: "lost-answer", operation: "orders.place" });
  await assertRejects(() => own.orders.place(ORDER), OutcomeUnknownError);
  const { id, state } = await last();
  assertEquals(state, "unknown");
  const [orderId = ""] = (await idsNow()).filter((each) => !before.includes(each));
  const terms = { market: "hk", symbol: "00700.HK", orderId, quantity: "200", price: "549.00" } as const;
  return { own, id, orderId, terms };
}

deskTest(
  "a lost order is found although this store amended it before a reading showed it",
  async (testAccount) => {
    const { store, pass } = testAccount;
    const { own, id, orderId, terms } = await loseOrder(testAccount);
    await own.orders.amend(terms);
    await own.orders.place({ ...OTHER, price: "552.00" }); // a later order could prove its absence
    await pass(30 * 60_000, 6);
    const found = await findIntent(store, id);
    assertEquals([found?.state, found?.orderIds.includes(orderId)], ["working", true]);
  },
);

deskTest(
  "a lost order that may have been amended elsewhere is never proven absent: a person decides",
  async (testAccount) => {
    const { client, desk, open, store, pass } = testAccount;
    const { own, id, orderId, terms } = await loseOrder(testAccount);
    const { orderId: now = orderId } = await client.orders.amend(terms);
    await own.orders.place({ ...OTHER, price: "552.00" });
    await pass(30 * 60_000, 6);
    assertEquals((await findIntent(store, id))?.state, "unknown");
    // A reading without the amended order, whose page is missing, proves nothing either.
    await open({ client: { ...client, orders: ordersWithout(client, [now]) } as unknown as Client })
      .reconcile();
    assertEquals((await findIntent(store, id))?.state, "unknown");
    const { unresolved } = await desk.reconcile();
    const missing = unresolved.find(({ intent }) => intent.id === id)?.missing ?? "";
    assertStringIncludes(missing, "a person's decision: order ");
    assertStringIncludes(missing, "may be this order with other terms");
    await desk.decide(id, { wasSent: true, orderIds: [now] }, "ann");
    assertEquals((await findIntent(store, id))?.state, "acknowledged");
  },
);

deskTest("a late answer that agrees with the order found changes nothing", async (testAccount) => {
  const { open, client, pass, last, history } = testAccount;
  const lossy = losing(testAccount);
  await assertRejects(
    () => open({ client: lossy.client, resolveMs: 0 }).client().orders.place(ORDER),
    OutcomeUnknownError,
  );
  const { orderId } = await client.orders.place(ORDER);
  await pass(10_000);
  const { id } = await last();
  const before = await history(id);
  lossy.late({ result: { orderId } });
  await pass(10_000);
  assertEquals([(await last()).state, await history(id)], ["working", before]);
});

deskTest(
  "after the broker has emptied today's list, a later order in it does not prove that a lost order is absent; the history shows the lost order",
  async (testAccount) => {
    const { client, open, clock, simulator: { faults }, intents } = testAccount;
    faults.arm({ kind: "lost-answer", operation: "orders.place" });
    await assertRejects(() => open({ resolveMs: 0 }).client().orders.place(ORDER), OutcomeUnknownError);
    const rows = await client.orders.today({ market: "hk" }).toArray();
    const emptied = rows.map(({ orderId }) => orderId);
    let history: typeof rows = [];
    const shown = (read: () => Promise<unknown[]>) => () => ({ toArray: read });
    const none = shown(() => Promise.resolve([]));
    const desk = open({
      client: {
        ...client,
        orders: {
          ...ordersWithout(client, emptied),
          history: shown(() => Promise.resolve(history)),
        },
        fills: { ...client.fills, today: none, history: none },
      } as unknown as Client,
    });
    await desk.client().orders.place(OTHER);
    const lost = async () => (await intents()).find(({ params }) => params["price"] === ORDER.price)!;
    clock.advance(7 * HOUR); // after the close
    for (let turn = 0; turn < 3; turn++) {
      clock.advance(120_000);
      await desk.reconcile();
    }
    const { state, absent } = await lost();
    assert(state === "unknown" && absent !== undefined && absent.count > 2, state);
    history = rows;
    await desk.reconcile();
    assertEquals((await lost()).state, "working");
  },
);

deskTest("an unresolved order blocks the same order with its code in another form", async (testAccount) => {
  const { trader, store, simulator: { faults }, intents } = testAccount;
  faults.arm({ kind: "lost-request", operation: "orders.place" });
  await assertRejects(() => trader.orders.place(ORDER), OutcomeUnknownError);
  for (const symbol of ["00700.HK", "700.HK"]) {
    const again = () => trader.orders.place({ ...ORDER, symbol });
    await assertRejects(again, BrokerError, "has the same request");
    // A record of an older version has another fingerprint.
    await store.run("update intent set fingerprint = 'older'");
  }
  assertEquals((await intents()).length, 1);
});

deskTest(
  "a lost cancellation does not prevent another cancellation of the same order while the lists show the order open",
  async (testAccount) => {
    const { trader, client, open, simulator: { faults }, intents, pass, count } = testAccount;
    const { orderId } = await trader.orders.place(ORDER);
    const request = { market: "hk", symbol: "00700.HK", orderId } as const;
    faults.arm({ kind: "lost-request", operation: "orders.cancel" });
    await assertRejects(() => trader.orders.cancel(request), OutcomeUnknownError);
    const sent = count("orders.cancel");
    const pending = reading(
      client,
      async (read) =>
        (await read() as { status: string }[]).map((row) => ({ ...row, status: "cancel-pending" })),
    );
    const again = () => open({ client: pending }).client().orders.cancel(request);
    assertEquals((await assertRejects(again, BrokerError)).code, "unresolved-intent");
    assertEquals(sent(), 0);
    await trader.orders.cancel(request);
    assertEquals(sent(), 1);
    await pass(60_000);
    const cancels = (await intents()).filter(({ kind }) => kind === "cancel");
    assertEquals(cancels.map(({ state }) => state).filter((state) => state !== "abandoned"), [
      "cancelled",
      "cancelled",
    ]);
  },
);

deskTest(
  "a cancellation that the broker shows as pending resets the count of readings that do not show its effect",
  async (testAccount) => {
    const { trader, client, open, simulator: { faults }, last, pass } = testAccount;
    const { orderId } = await trader.orders.place(ORDER);
    faults.arm({ kind: "lost-request", operation: "orders.cancel" });
    const request = { market: "hk", symbol: "00700.HK", orderId } as const;
    await assertRejects(() => trader.orders.cancel(request), OutcomeUnknownError);
    await pass(120_000, 3);
    const before = await last();
    assert(before.state === "unknown" && before.absent !== undefined && before.absent.count > 2);
    const pending = reading(
      client,
      async (read) =>
        (await read() as { status: string }[]).map((row) => ({ ...row, status: "cancel-pending" })),
    );
    await open({ client: pending }).reconcile();
    const { state, absent } = await last();
    assertEquals([state, absent], ["unknown", undefined]);
  },
);

deskTest(
  "a person's decision is corrected: the intent forgets its orders and readings, and another order belongs to it",
  async (testAccount) => {
    const { trader, client, desk, simulator: { faults }, last, pass, history } = testAccount;
    faults.arm({ kind: "lost-request", operation: "orders.place" });
    await assertRejects(() => trader.orders.place(ORDER), OutcomeUnknownError);
    await pass(120_000, 3);
    const { id, absent } = await last();
    assert(absent !== undefined && absent.count > 2);
    await desk.decide(id, { wasSent: false, because: "none in the app" }, "ann");
    const { orderId } = await client.orders.place(ORDER);
    const { orderId: second } = await client.orders.place({ ...ORDER, quantity: "200" });
    await desk.decide(id, { wasSent: true, orderIds: [second] }, "ann");
    const wrong = await last();
    assertEquals([wrong.state, wrong.orderIds, wrong.absent], ["acknowledged", [second], undefined]);
    await pass(10_000);
    assertEquals((await last()).state, "working");
    await desk.decide(id, { wasSent: true, orderIds: [orderId] }, "bob");
    await pass(10_000);
    const right = await last();
    assertEquals([right.state, right.orderIds, right.childIds], ["working", [orderId], []]);
    assertEquals((await history(id)).slice(2), [
      "sent>unknown by desk",
      "unknown>abandoned by person",
      "abandoned>unknown by person",
      "unknown>acknowledged by person",
      "acknowledged>working by list",
      "working>unknown by person",
      "unknown>acknowledged by person",
      "acknowledged>working by list",
    ]);
    await assertRejects(
      () => desk.decide(id, { wasSent: true, orderIds: [orderId] }, "bob"),
      TypeError,
      "its outcome is known",
    );
  },
);

deskTest(
  "an order of an earlier day with the same terms is never taken for a lost order of today",
  async (testAccount) => {
    const { open, client, clock, desk, simulator: { faults }, intents, pass } = testAccount;
    const lossy = open({ resolveMs: 0 });
    // A lost order of Friday keeps the readings going back to Friday.
    faults.arm({ kind: "lost-request", operation: "orders.place" });
    await assertRejects(() => lossy.client().orders.place(OTHER), OutcomeUnknownError);
    const { orderId: early } = await client.orders.place(ORDER); // by hand, on Friday
    clock.advance(72 * HOUR); // Monday
    testAccount.round();
    faults.arm({ kind: "lost-request", operation: "orders.place" });
    await assertRejects(() => lossy.client().orders.place(ORDER), OutcomeUnknownError);
    await pass(120_000, 3);
    const { seen } = await desk.reconcile();
    assert(seen.has(early), "the readings go back to Friday");
    assertEquals((await intents()).map(({ state, orderIds }) => [state, orderIds]), [
      ["unknown", []],
      ["unknown", []],
    ]);
  },
);

deskTest(
  "a sent order counts as unknown only when the time limit of its call is over",
  async (testAccount) => {
    const { store, desk, clock } = testAccount;
    const at = clock.now();
    const intent = { account: "main", kind: "place", operation: "orders.place", params: ORDER } as const;
    await insertIntent(store, {
      ...intent,
      id: "i",
      fingerprint: "f",
      why: {},
      createdAt: at,
      timeoutMs: 60_000,
    });
    await moveIntent(store, "i", { to: "approved", by: "desk", at });
    const sent = { known: [], earlier: undefined, readSince: at, sentAt: at, sentNumber: 1 };
    await moveIntent(store, "i", { to: "sent", by: "desk", at, sent });
    for (const [seconds, state] of [[89, "sent"], [2, "unknown"]] as const) {
      clock.advance(seconds * 1_000);
      await desk.reconcile();
      assertEquals((await findIntent(store, "i"))?.state, state);
    }
  },
);

deskTest(
  "a person cannot end an open order of today only because this machine's clock is ahead",
  async (testAccount) => {
    const { client, store, machine, clock, last, pass } = testAccount;
    const { Desk } = await import("../../lib/desk/desk.ts");
    const ahead = { ...machine, now: () => clock.now() + 96 * HOUR };
    const desk = new Desk({ store, machine: ahead, account: "main", client });
    await desk.client().orders.place(ORDER);
    await pass(10_000);
    const { id, state } = await last();
    assertEquals(state, "working");
    await assertRejects(() => desk.decide(id, { hasEnded: true }, "ann"), TypeError, 'it is "working"');
  },
);

deskTest("an order does not expire only because this machine's clock is ahead", async (testAccount) => {
  const { client, store, machine, clock, trader, last, pass } = testAccount;
  await trader.orders.place(ORDER);
  const ahead = { ...machine, now: () => clock.now() + 96 * HOUR };
  const { Desk } = await import("../../lib/desk/desk.ts");
  await new Desk({ store, machine: ahead, account: "main", client }).reconcile();
  await pass(10_000);
  assertEquals((await last()).state, "working");
});

deskTest(
  "the order that a conditional order places belongs to the conditional order's intent, and its fills count; a trigger does not count as a fill",
  async (testAccount) => {
    const { trader, client, desk, last, pass } = testAccount;
    const [quote] = await client.quotes.latest({ securities: [TENCENT] });
    const price = String(Math.floor(Number(quote!.lastPrice)));
    const { orderId } = await trader.orders.place({
      ...ORDER,
      price: add(price, "10"),
      orderType: "stop-loss-limit",
      triggerValue: price,
      validDays: 5,
    });
    const states = new Set<string>();
    for (let turn = 0; turn < 200 && (await last()).state !== "filled"; turn++) {
      await pass(60_000);
      const { state, childIds, filled } = await last();
      states.add(state);
      if (childIds.length === 0) assertEquals(filled, "0", "no fill without an order that filled");
    }
    const { state, orderIds, childIds, filled } = await last();
    assertEquals([state, orderIds, childIds.length, filled], ["filled", [orderId], 1, "100"]);
    const { foreign } = await desk.reconcile({ markets: ["hk"] });
    assert(!foreign.some((order) => childIds.includes(order.orderId)));
    assert(states.size > 0);
  },
);

deskTest(
  "a person names the order of a triggered conditional order if more than one order fits, or says that it has ended",
  async (testAccount) => {
    const { trader, client, desk, last, pass, orderIds } = testAccount;
    const [quote] = await client.quotes.latest({ securities: [TENCENT] });
    const trigger = String(Math.floor(Number(quote!.lastPrice)));
    const price = add(trigger, "10");
    const { orderId } = await trader.orders.place({
      ...ORDER,
      price,
      orderType: "stop-loss-limit",
      triggerValue: trigger,
      validDays: 5,
    });
    const { orderId: byHand } = await client.orders.place({ ...ORDER, price });
    const own = async () => (await orderIds()).filter((each) => each !== orderId && each !== byHand);
    const earlier = await own();
    const missing = async () =>
      (await desk.reconcile()).unresolved.find(({ intent }) => intent.id === id)?.missing;
    const { id } = await last();
    const fresh = async () => (await own()).find((each) => !earlier.includes(each));
    for (let turn = 0; turn < 200 && await missing() === undefined; turn++) await pass(60_000);
    assertEquals(await missing(), "the order that it placed when it triggered");
    const child = (await fresh())!;
    assertEquals([(await last()).state, (await last()).childIds], ["working", []]);
    const decide = (given: Decision) => desk.decide(id, given, "ann");
    await assertRejects(() => decide({ wasSent: false }), TypeError, "its outcome is known");
    await decide({ hasEnded: true, because: "the app shows no order" });
    assertEquals((await last()).state, "expired");
    await decide({ wasSent: true, orderIds: [orderId] });
    assertEquals([await missing(), (await last()).state], [
      "the order that it placed when it triggered",
      "working",
    ]);
    // The person names a wrong order, and corrects this after the intent has ended with that order.
    await decide({ hasPlaced: [byHand] });
    await pass(60_000);
    assertEquals([(await last()).state, (await last()).childIds], ["filled", [byHand]]);
    await decide({ hasPlaced: [child], because: "the app shows it below the trigger" });
    assertEquals([(await last()).state, (await last()).filled], ["acknowledged", "0"]);
    await pass(60_000);
    const { state, orderIds: ids, childIds, filled } = await last();
    assertEquals([state, ids, childIds, filled], ["filled", [orderId], [child], "100"]);
    const { foreign } = await desk.reconcile({ markets: ["hk"] });
    assertEquals(
      foreign.map((order) => order.orderId).filter((each) => each === child || each === byHand),
      [byHand],
    );
    await assertRejects(() => decide({ hasEnded: true }), TypeError, 'it is "filled"');
    const { orderId: ordinary } = await trader.orders.place(OTHER);
    const other = await last();
    await assertRejects(
      () => desk.decide(other.id, { hasPlaced: [child] }, "ann"),
      TypeError,
      'it is "acknowledged"; you can name an order only for a conditional order that is "working"',
    );
    await pass(10_000);
    await assertRejects(() => desk.decide(other.id, { hasEnded: true }, "ann"), TypeError, 'is "working"');
    await assertRejects(() => decide({ hasPlaced: [ordinary] }), TypeError, `belongs to intent ${other.id}`);
  },
);

deskTest(
  "if the lists no longer show an order, a person can end its intent 24 hours after the intent was sent, but not earlier",
  async (testAccount) => {
    const { trader, client, open, clock, last, pass } = testAccount;
    const { orderId } = await trader.orders.place(ORDER);
    await pass(10_000);
    const { id } = await last();
    const none = () => ({ toArray: () => Promise.resolve([]) });
    const lists = { today: none, history: none };
    const empty = { orders: { ...client.orders, ...lists }, fills: { ...client.fills, ...lists } };
    const desk = open({ client: { ...client, ...empty } as unknown as Client });
    const end = () =>
      desk.decide(id, { hasEnded: true, because: "the app shows that it has expired" }, "ann");
    assertEquals((await desk.reconcile()).unresolved, []);
    await assertRejects(end, TypeError, 'it is "working"');
    clock.advance(25 * HOUR);
    const { unresolved } = await desk.reconcile();
    assertEquals(unresolved.map(({ missing }) => missing), [`order ${orderId} in the broker's lists`]);
    assertEquals((await last()).state, "working");
    await end();
    assertEquals([(await last()).state, (await desk.reconcile()).unresolved], ["expired", []]);
  },
);

deskTest(
  "a reading has the algorithmic orders of the broker's day, even if this machine's clock is a day ahead",
  async ({ trader, client, clock }) => {
    const { orderId } = await trader.algo.place({
      market: "hk",
      symbol: "00700.HK",
      side: "buy",
      quantity: "1000",
      orderType: "limit",
      price: "550",
      strategy: "twap",
      settings: {},
    });
    const now = () => clock.now() + 86_400_000;
    const { orders } = await readLists(client, { market: "hk", lists: ["algo.list"] }, { now });
    assert(orders.has(orderId));
  },
  {
    skip: {
      memory: "its answers contain no time of the broker",
      direct: "the socket messages of algorithmic orders are not published",
    },
  },
);

deskTest(
  "the orders that an algorithmic order sends belong to its intent, and are not taken for a lost order",
  async (testAccount) => {
    const { trader, desk, last, intents, pass, simulator: { faults } } = testAccount;
    const { orderId } = await trader.algo.place({
      market: "hk",
      symbol: "00700.HK",
      side: "buy",
      orderType: "limit",
      price: "560.00",
      quantity: "1000",
      strategy: "twap",
      settings: { maxChildQuantity: "100", sensitivity: "neutral" },
    });
    await pass(60 * 60_000, 3);
    const { state, orderIds, childIds } = await last();
    assertEquals([state, orderIds], ["working", [orderId]]);
    assert(childIds.length > 0);
    const { foreign } = await desk.reconcile({ markets: ["hk"] });
    assert(!foreign.some((order) => childIds.includes(order.orderId)));
    // A lost order with the terms of the next child.
    faults.arm({ kind: "lost-request", operation: "orders.place" });
    await assertRejects(() => trader.orders.place({ ...ORDER, price: "560.00" }), OutcomeUnknownError);
    await pass(60 * 60_000, 3);
    const [lost, algo] = await intents();
    assertEquals([lost!.state, lost!.orderIds], ["unknown", []]);
    assert(compare(String(algo!.childIds.length), String(childIds.length)) > 0);
  },
  { skip: { direct: "the socket messages of algorithmic orders are not published" } },
);

deskTest(
  "an amendment that is answered during a reading does not lose the order that replaced the amended one",
  async (testAccount) => {
    const { open, last, pass } = testAccount;
    const client = replacing(testAccount);
    const trader = open({ client }).client();
    const { orderId } = await trader.orders.place(ORDER);
    await pass(10_000);
    const { id } = await last();
    const terms = { market: "hk", symbol: "00700.HK", orderId, quantity: "200", price: "549.00" } as const;
    let amended: Promise<{ orderId: string }> | undefined;
    const second = open({
      client: reading(client, async (read) => {
        await (amended ??= trader.orders.amend(terms));
        return await read();
      }),
    });
    await second.reconcile();
    const { orderId: fresh } = await amended!;
    assert(fresh !== orderId);
    const placed = async () => (await testAccount.intents()).find((each) => each.id === id)!;
    assertEquals([(await placed()).state, (await placed()).orderIds], ["working", [orderId, fresh]]);
    await testAccount.client.orders.cancel({ market: "hk", symbol: "00700.HK", orderId: fresh });
    await pass(10_000);
    assertEquals([(await placed()).state, (await placed()).orderIds], ["cancelled", [orderId, fresh]]);
  },
);

deskTest(
  "an order that an amendment may have replaced does not end as cancelled before the outcome of the amendment is known",
  async (testAccount) => {
    const { open, desk, intents, pass, client } = testAccount;
    for (const [price, ending] of [["549.00", "answer"], ["548.00", "list"], ["547.00", "person"]] as const) {
      const { orderId } = await desk.client().orders.place({ ...ORDER, price: `${Number(price) + 10}.00` });
      await pass(10_000);
      const { id } = await testAccount.last();
      const placed = async () => (await intents()).find((each) => each.id === id)!;
      const terms = { market: "hk", symbol: "00700.HK", orderId, quantity: "200", price } as const;
      const replace = replacing(testAccount);
      const seen: unknown[] = [];
      const call: Client["call"] = async (operation, params, options) => {
        const answer = await replace.call(operation, params, options);
        if (operation.name !== "orders.amend") return answer;
        // Another process reads the lists after the broker has executed the amendment, and before its answer is
        // recorded.
        await open().reconcile();
        seen.push((await placed()).state);
        if (ending === "answer") return answer;
        throw new OutcomeUnknownError("lost", { code: "timeout", operation: operation.name });
      };
      const amending = open({ client: { ...client, call }, resolveMs: 0 }).client().orders.amend(terms);
      if (ending === "answer") await amending;
      else await assertRejects(() => amending, OutcomeUnknownError);
      const amendment = await testAccount.last();
      if (ending === "person") {
        await desk.decide(
          amendment.id,
          { wasSent: false, because: "the app shows only the cancellation" },
          "ann",
        );
      }
      await pass(10_000, 2);
      const { state, orderIds } = await placed();
      const [last] = (await client.orders.today({ market: "hk" }).toArray()).filter((each) =>
        each.quantity === "200" && Number(each.price) === Number(price)
      );
      assertEquals([seen, state, orderIds], [
        ["working"],
        ending === "person" ? "cancelled" : "working",
        ending === "person" ? [orderId] : [orderId, last!.orderId],
      ], ending);
    }
  },
);

deskTest(
  "the order that a person names for a lost amendment belongs to the intent that placed the amended order",
  async (testAccount) => {
    const { open, client, desk, last, intents, pass } = testAccount;
    const { orderId } = await desk.client().orders.place(ORDER);
    const { id } = await last();
    const losing: Client["call"] = async (operation, params, options = {}) => {
      if (operation.name !== "orders.amend") return await client.call(operation, params, options);
      await options.beforeWrite?.();
      throw new OutcomeUnknownError("lost", { code: "timeout", operation: operation.name });
    };
    const terms = { market: "hk", symbol: "00700.HK", orderId, quantity: "200", price: "549.00" } as const;
    const lossy = open({ client: { ...client, call: losing }, resolveMs: 0 }).client();
    await assertRejects(() => lossy.orders.amend(terms), OutcomeUnknownError);
    const amendment = (await last()).id;
    const { orderId: taken } = await desk.client().orders.place(OTHER);
    await assertRejects(
      () => desk.decide(amendment, { wasSent: true, orderIds: [taken] }, "ann"),
      TypeError,
      `order ${taken} belongs to intent`,
    );
    const wrong = await client.orders.place({ ...ORDER, price: "548.00" });
    const fresh = await client.orders.place({ ...ORDER, quantity: "200", price: "549.00" });
    const placed = async () => (await intents()).find((each) => each.id === id)!.orderIds;
    await desk.decide(amendment, { wasSent: true, orderIds: [wrong.orderId] }, "ann");
    assertEquals(await placed(), [orderId, wrong.orderId]);
    // A correction removes the wrong order.
    await desk.decide(amendment, { wasSent: true, orderIds: [fresh.orderId] }, "ann");
    assertEquals(await placed(), [orderId, fresh.orderId]);
    await pass(10_000);
    assertEquals(await placed(), [orderId, fresh.orderId]);
    const { foreign } = await desk.reconcile({ markets: ["hk"] });
    assert(!foreign.some((order) => order.orderId === fresh.orderId));
  },
);

deskTest(
  "an order that has ended is followed again if a person names the order that replaced it",
  async (testAccount) => {
    const { open, client, desk, last, intents, pass } = testAccount;
    const { orderId } = await desk.client().orders.place(ORDER);
    const { id } = await last();
    const call: Client["call"] = async (operation, params, options) => {
      const answer = await replacing(testAccount).call(operation, params, options);
      if (operation.name !== "orders.amend") return answer;
      throw new OutcomeUnknownError("lost", { code: "timeout", operation: operation.name });
    };
    const terms = { market: "hk", symbol: "00700.HK", orderId, quantity: "200", price: "549.00" } as const;
    const amending = open({ client: { ...client, call }, resolveMs: 0 }).client().orders.amend(terms);
    await assertRejects(() => amending, OutcomeUnknownError);
    const amendment = (await last()).id;
    await desk.decide(amendment, { wasSent: false, because: "seen no new order" }, "ann");
    await pass(10_000);
    const placed = async () => {
      const { state, orderIds } = (await intents()).find((each) => each.id === id)!;
      return [state, orderIds];
    };
    assertEquals(await placed(), ["cancelled", [orderId]]);
    const fresh = (await client.orders.today({ market: "hk" }).toArray()).find((each) =>
      each.quantity === "200"
    )!;
    await desk.decide(amendment, { wasSent: true, orderIds: [fresh.orderId] }, "ann");
    await pass(10_000);
    assertEquals(await placed(), ["working", [orderId, fresh.orderId]]);
    await client.orders.cancel({ market: "hk", symbol: "00700.HK", orderId: fresh.orderId });
    await pass(10_000);
    assertEquals(await placed(), ["cancelled", [orderId, fresh.orderId]]);
  },
);

deskTest(
  "a person cannot say that an order was not sent if its answer arrives first",
  async (testAccount) => {
    const { open, store, desk, client, last } = testAccount;
    const lossy = losing(testAccount);
    await assertRejects(
      () => open({ client: lossy.client, resolveMs: 0 }).client().orders.place(ORDER),
      OutcomeUnknownError,
    );
    const { orderId } = await client.orders.place(ORDER);
    const { id } = await last();
    const { transaction } = store;
    store.transaction = async (work) => {
      store.transaction = transaction;
      lossy.late({ result: { orderId } });
      await waitUntil("the late answer to be recorded", async () => (await last()).state === "acknowledged");
      return await transaction.call(store, work) as never;
    };
    await assertRejects(
      () => desk.decide(id, { wasSent: false, because: "none in the app" }, "ann"),
      TypeError,
      'it is "acknowledged"',
    );
    assertEquals([(await last()).state, (await last()).orderIds], ["acknowledged", [orderId]]);
  },
);

deskTest("a push that arrives during a reading is followed by another reading", async (testAccount) => {
  const { open, client, desk, clock, round, last } = testAccount;
  const { orderId } = await desk.client().orders.place(ORDER);
  const push = { type: "order" } as TransportEvent;
  const begun = Promise.withResolvers<void>();
  const pushed = Promise.withResolvers<void>();
  const reader = reading(client, async (read) => {
    const rows = await read();
    begun.resolve();
    await pushed.promise;
    return rows;
  });
  async function* watch() {
    yield push;
    await begun.promise;
    await client.orders.cancel({ market: "hk", symbol: "00700.HK", orderId });
    clock.advance(10_000);
    round();
    yield push;
    pushed.resolve();
  }
  const events = await Array.fromAsync(open({ client: { ...reader, watch } }).client().watch());
  assertEquals([events, (await last()).state], [[push, push], "cancelled"]);
});

deskTest(
  "an internal error of the reading after the last push is thrown when the pushes end",
  async (testAccount) => {
    const { open, client, desk } = testAccount;
    await desk.client().orders.place(ORDER);
    const broken = reading(client, () => Promise.reject(new TypeError("the list is broken")));
    async function* watch() {
      yield { type: "order" } as TransportEvent;
    }
    const watching = open({ client: { ...broken, watch } }).client().watch();
    await assertRejects(() => Array.fromAsync(watching), TypeError, "the list is broken");
  },
);

deskTest("a cancellation whose answer names no order ends with its answer", async (testAccount) => {
  const { open, desk, store, clock, round, last, history, count } = testAccount;
  await desk.client().orders.cancelAll({ market: "hk" });
  const { id, state, endedAt } = await last();
  assertEquals([state, endedAt !== undefined, (await history(id)).at(-1)], [
    "cancelled",
    true,
    "sent>cancelled by answer",
  ]);
  // A commit may succeed although it seemed to fail, so the answer may be recorded again.
  await recordLate(new Records({ store, machine: testAccount.machine, account: ACCOUNT }), id, {
    requestId: "1",
    operation: "orders.cancelAll",
    result: { cancelled: [], failed: [] },
  });
  assertEquals((await last()).state, "cancelled");
  // Nothing is open, so another process reads no list before it cancels a named order.
  const reads = count("orders.today");
  await assertRejects(
    () => open().client().orders.cancel({ market: "hk", symbol: "00700.HK", orderId: "1" }),
    RejectedError,
  );
  assertEquals(reads(), 0);
  // A record of an older version is still open, and the readings do not go back to its day.
  await store.run("update intent set state = 'acknowledged', ended_at = null where id = ?", id);
  clock.advance(72 * HOUR);
  round();
  const early = count("orders.history");
  await desk.reconcile();
  assertEquals([reads() > 0, early()], [true, 0]);
}, { skip: { direct: "the socket message of this cancellation is not published" } });

deskTest(
  "a person ends an acknowledged intent that the lists never show, and may undo that decision",
  async (testAccount) => {
    const { open, desk, client, clock, round, last, history, count, pass } = testAccount;
    const call: Client["call"] = async (operation, params, options = {}) => {
      if (operation.name !== "orders.place") return await client.call(operation, params, options);
      await options.beforeWrite?.();
      return { orderId: "77" } as never;
    };
    await open({ client: { ...client, call } }).client().orders.place(ORDER);
    clock.advance(72 * HOUR);
    round();
    await pass(10_000);
    const { id, state } = await last();
    assertEquals(state, "acknowledged");
    await assertRejects(() => desk.decide(id, { wasSent: false }, "ann"), TypeError, "its outcome is known");
    await desk.decide(id, { hasEnded: true, because: "the app shows no such order" }, "ann");
    assertEquals((await last()).state, "expired");
    const reads = count("orders.history");
    await pass(10_000);
    assertEquals(reads(), 0);
    await assertRejects(() => desk.decide(id, { hasEnded: true }, "ann"), TypeError, 'it is "expired"');
    const { orderId } = await client.orders.place(ORDER);
    await desk.decide(id, { wasSent: true, orderIds: [orderId] }, "ann");
    await pass(10_000);
    assertEquals([(await last()).state, (await last()).orderIds], ["working", [orderId]]);
    assertEquals((await history(id)).slice(3), [
      "acknowledged>expired by person",
      "expired>unknown by person",
      "unknown>acknowledged by person",
      "acknowledged>working by list",
    ]);
  },
);

const HAS_ALGO = { skip: { direct: "the socket messages of algorithmic orders are not published" } };
const STOP = {
  market: "hk",
  symbol: "00700.HK",
  side: "buy",
  quantity: "100",
  orderType: "stop-loss-limit",
  triggerValue: "605",
  price: "612",
  validDays: 5,
} as const;
const script = [{
  what: "price",
  symbol: "00700.HK",
  at: "2025-08-15 10:40",
  to: "615",
  over: "5m",
}] as const;

deskTest(
  "an algorithmic order that has ended stays open until the orders that it has placed have ended",
  async ({ trader, client, last, pass }) => {
    const symbol = "000858.SZ";
    const [quote] = await client.quotes.latest({ securities: [{ type: "a-share-stock", symbol }] });
    const { orderId } = await trader.algo.place({
      market: "shenzhen",
      symbol,
      side: "buy",
      orderType: "limit",
      price: quote!.lastPrice!,
      quantity: "5000",
      strategy: "iceberg",
      settings: { displayQuantity: "5000", endTime: "14:57:10", sensitivity: "passive" },
    });
    await pass(20_000, 2);
    const day = { market: "shenzhen", from: "2025-08-15", to: "2025-08-15" } as const;
    const shown = (await client.algo.list(day).toArray()).find((order) => order.orderId === orderId);
    // In the closing auction the child order cannot be cancelled.
    assertEquals([shown?.status, (await last()).endedAt], ["expired", undefined]);
    const [child] = await client.orders.today({ market: "shenzhen" }).toArray();
    assertEquals((await last()).childIds, [child!.orderId]);
    await pass(4 * 60_000, 4);
    const { filledQuantity } = (await client.orders.today({ market: "shenzhen" }).toArray())[0]!;
    assert(compare(filledQuantity!, shown!.filledQuantity!) > 0);
    const { state, filled } = await last();
    assertEquals([state, filled], ["filled", filledQuantity]);
  },
  { ...HAS_ALGO, at: Date.parse("2025-08-15T14:57:00+08:00") },
);

deskTest(
  "the order of a conditional order that was amended is recognized by the terms at its trigger",
  async ({ trader, client, desk, intents, pass }) => {
    const { orderId } = await trader.orders.place(STOP);
    const { market, symbol, orderType, triggerValue, validDays } = STOP;
    const terms = { market, symbol, orderType, triggerValue, validDays, orderId };
    await trader.orders.amend({ ...terms, quantity: "200", price: "613" });
    await pass(25 * 60_000, 1);
    // The owner places an order with the terms before the amendment, in the broker's app.
    const other = await client.orders.place({ ...ORDER, price: STOP.price });
    await client.orders.cancel({ market, symbol, orderId: other.orderId });
    await pass(60_000, 2);
    const results = (await intents()).map(({ kind, state, filled }) => [kind, state, filled]);
    assertEquals(results, [["amend", "filled", "200"], ["place", "filled", "200"]]);
    const { foreign } = await desk.reconcile({ markets: ["hk"] });
    assertEquals(foreign.map((order) => order.orderId), [other.orderId]);
  },
  { simulator: { script } },
);

deskTest(
  "the fills of an amended order count once if a conditional order has placed it",
  async ({ trader, client, intents, pass }) => {
    await trader.orders.place({ ...STOP, price: "605" });
    await pass(20 * 60_000, 4);
    const [child] = await client.orders.today({ market: "hk" }).toArray();
    await trader.orders.amend({
      market: "hk",
      symbol: "00700.HK",
      orderId: child!.orderId!,
      quantity: "100",
      price: "615",
    });
    await pass(60_000, 2);
    const results = (await intents()).map(({ kind, state, filled }) => [kind, state, filled]);
    assertEquals(results, [["amend", "filled", "100"], ["place", "filled", "100"]]);
  },
  { simulator: { script } },
);

deskTest(
  "a lost market order is found although it names a price, because the market ignores that price",
  async ({ trader, last, pass, simulator: { faults } }) => {
    const order = { market: "us", symbol: "AAPL", side: "buy", quantity: "10" } as const;
    faults.arm({ kind: "lost-answer", operation: "orders.place" });
    await trader.orders.place({ ...order, orderType: "market", price: "240" });
    await pass(60_000, 3);
    const { state, filled } = await last();
    assertEquals([state, filled], ["filled", "10"]);
  },
  { at: Date.parse("2025-08-15T22:30:00+08:00") },
);

deskTest(
  "a lost cancellation was not executed if its conditional order has triggered",
  async ({ trader, client, intents, history, pass, simulator: { faults } }) => {
    const { orderId } = await trader.orders.place({ ...STOP, price: "605" });
    await pass(9 * 60_000 + 50_000, 2);
    faults.arm({ kind: "lost-request", operation: "orders.cancel" });
    const { market, symbol, orderType } = STOP;
    const error = await assertRejects(
      () => trader.orders.cancel({ market, symbol, orderId, orderType }),
      BrokerError,
      `${orderId} triggered before the broker could cancel it`,
    );
    assertEquals([error.code, exitCodeOf(error)], ["not-executed", 1]);
    const [cancel, place] = await intents();
    assertEquals((await history(cancel!.id)).at(-1), "unknown>abandoned by list");
    const [child] = await client.orders.today({ market: "hk" }).toArray();
    assertEquals([place!.state, child!.status], ["working", "accepted"]);
  },
  {
    simulator: {
      script: [
        { what: "price", symbol: "00700.HK", at: "2025-08-15 10:40", to: "620" },
        { what: "price", symbol: "00700.HK", at: "2025-08-15 10:42", to: "620", over: "1h" },
      ],
    },
  },
);

deskTest(
  "a lost futures order of the night session is proven absent by a later order of the same trading day",
  async ({ trader, intents, pass, simulator: { faults } }) => {
    const order = {
      symbol: "MHI2509.HK",
      side: "buy",
      quantity: "2",
      orderType: "limit",
      validity: "day",
      session: "after-hours",
    } as const;
    faults.arm({ kind: "lost-request", operation: "futures.place" });
    await assertRejects(() => trader.futures.place({ ...order, price: "24600" }), OutcomeUnknownError);
    await trader.futures.place({ ...order, price: "24601" });
    await pass(2 * HOUR, 4);
    const states = async () => (await intents()).map(({ state }) => state);
    assertEquals(await states(), ["working", "unknown"]);
    // The broker counts the orders of the evening for the next trading day.
    await pass(24 * HOUR, 6);
    assertEquals(await states(), ["cancelled", "abandoned"]);
  },
  {
    at: Date.parse("2025-08-18T17:20:00+08:00"),
    skip: { memory: "its answers contain no time of the broker" },
  },
);

deskTest(
  "conditional and algorithmic orders made elsewhere are shown, and a broker without these lists hides nothing else",
  async ({ desk, client, clock, round, transport, simulator: { faults } }) => {
    const { orderId: conditional } = await client.orders.place(STOP);
    const { orderId: ordinary } = await client.orders.place(ORDER);
    const algo = transport === "direct" ? [] : [
      await client.algo.place({
        ...ORDER,
        quantity: "1000",
        strategy: "twap",
        settings: {},
      }),
    ].map(({ orderId }) => orderId);
    const foreign = async () =>
      (await desk.reconcile({ markets: ["hk"] })).foreign.map(({ orderId }) => orderId);
    const expected = [conditional, ...algo, ordinary];
    assertEquals((await foreign()).filter((id) => expected.includes(id)).sort(), expected.sort());
    if (transport !== "gateway") return;
    for (const operation of ["algo.list", "conditionalOrders.today", "conditionalOrders.history"]) {
      faults.arm({ kind: "http-error", status: 404, operation, times: 20 });
    }
    assertEquals((await foreign()).filter((id) => expected.includes(id)), [ordinary]);
    // After the close, the history is read, too.
    clock.advance(8 * HOUR);
    round();
    assertEquals((await foreign()).filter((id) => expected.includes(id)), [ordinary]);
  },
);

for (const how of ["through the desk", "elsewhere"] as const) {
  deskTest(
    `a lost order does not take the order of a conditional order that was amended ${how}`,
    async ({ trader, client, intents, pass, simulator: { faults } }) => {
      const { orderId } = await trader.orders.place(STOP);
      faults.arm({ kind: "lost-request", operation: "orders.place" });
      const order = { ...ORDER, orderType: "enhanced-limit", price: "613" } as const; // as the simulator's child
      await assertRejects(() => trader.orders.place(order), OutcomeUnknownError);
      const { market, symbol, orderType, triggerValue, validDays } = STOP;
      const terms = { market, symbol, orderType, triggerValue, validDays, orderId };
      const by = how === "elsewhere" ? client : trader;
      await by.orders.amend({ ...terms, quantity: "100", price: "613" });
      await pass(26 * 60_000, 8);
      const lost = (await intents()).find(({ params }) => params.orderType === order.orderType)!;
      assertEquals([lost.state, lost.orderIds], ["unknown", []]);
    },
    { simulator: { script } },
  );
}

deskTest(
  "a lost order does not take the next order of a running algorithmic order",
  async ({ trader, client, intents, pass, simulator: { faults } }) => {
    const symbol = "000858.SZ";
    const [quote] = await client.quotes.latest({ securities: [{ type: "a-share-stock", symbol }] });
    const order = {
      market: "shenzhen",
      symbol,
      side: "buy",
      orderType: "limit",
      price: add(quote!.lastPrice!, "0.30"),
    } as const;
    const settings = { displayQuantity: "500", sensitivity: "aggressive" } as const;
    await trader.algo.place({ ...order, quantity: "5000", strategy: "iceberg", settings });
    await pass(4_000, 2);
    assert((await intents())[0]!.childIds.length > 0);
    // Control: the order of a lost answer is found.
    faults.arm({ kind: "lost-answer", operation: "orders.place" });
    const { orderId } = await trader.orders.place({ ...order, quantity: "300" });
    assert(orderId !== undefined);
    faults.arm({ kind: "lost-request", operation: "orders.place" });
    await assertRejects(() => trader.orders.place({ ...order, quantity: "500" }), OutcomeUnknownError);
    await pass(60_000, 6);
    const [lost, own, algo] = await intents();
    assertEquals([lost!.state, lost!.orderIds, lost!.filled], ["unknown", [], "0"]);
    assertEquals([own!.orderIds, own!.filled], [[orderId], "300"]);
    assertEquals([algo!.state, algo!.filled], ["filled", "5000"]);
  },
  { ...HAS_ALGO, at: Date.parse("2025-08-15T10:30:00+08:00") },
);

deskTest(
  "an order that was amended before any reading showed it is recognized as the order of its conditional order",
  async ({ trader, client, intents, clock, round, pass }) => {
    await trader.orders.place({ ...STOP, price: "605" });
    clock.advance(20 * 60_000);
    round();
    const [child] = await client.orders.today({ market: "hk" }).toArray();
    const amendment = { orderId: child!.orderId!, quantity: "100", price: "615" };
    await trader.orders.amend({ market: "hk", symbol: "00700.HK", ...amendment });
    await pass(10 * 60_000, 4);
    const results = (await intents()).map(({ kind, state, filled }) => [kind, state, filled]);
    assertEquals(results, [["amend", "filled", "100"], ["place", "filled", "100"]]);
  },
  { simulator: { script } },
);

deskTest(
  "a corrected decision about an amendment takes the wrong order from the conditional order, too",
  async ({ trader, client, open, intents, pass, desk, store, machine, simulator: { faults } }) => {
    await trader.orders.place({ ...STOP, price: "605" });
    await pass(20 * 60_000, 4);
    const [child] = await client.orders.today({ market: "hk" }).toArray();
    const terms = { market: "hk", symbol: "00700.HK", quantity: "100", price: "606" } as const;
    faults.arm({ kind: "lost-request", operation: "orders.amend" });
    const amend = () => open({ resolveMs: 0 }).client().orders.amend({ ...terms, orderId: child!.orderId! });
    await assertRejects(amend, OutcomeUnknownError);
    const { orderId: wrong } = await client.orders.place({ ...ORDER, price: "616" });
    await pass(60_000);
    const lost = (await intents()).find(({ kind }) => kind === "amend")!;
    const by = { by: "Ann", at: machine.now() };
    await decideIntent(store, lost.id, { ...by, wasSent: true, orderIds: [wrong] });
    await decideIntent(store, lost.id, { ...by, wasSent: false });
    await pass(60_000, 2);
    const place = (await intents()).find(({ kind }) => kind === "place")!;
    assertEquals([place.state, place.filled, place.childIds], ["working", "0", [child!.orderId!]]);
    const { foreign } = await desk.reconcile({ markets: ["hk"] });
    assertEquals(foreign.map(({ orderId }) => orderId), [wrong]);
  },
  { simulator: { script } },
);

deskTest(
  "the fills of an intent with two algorithmic orders count once",
  async ({ trader, client, last, pass, simulator: { faults } }) => {
    const symbol = "000858.SZ";
    const [quote] = await client.quotes.latest({ securities: [{ type: "a-share-stock", symbol }] });
    const order = {
      market: "shenzhen",
      symbol,
      side: "buy",
      orderType: "limit",
      price: add(quote!.lastPrice!, "0.30"),
      strategy: "iceberg",
      settings: { displayQuantity: "500", sensitivity: "aggressive" },
    } as const;
    faults.arm({ kind: "lost-request", operation: "algo.place" });
    await assertRejects(() => trader.algo.place({ ...order, quantity: "4000" }), OutcomeUnknownError);
    // Two orders with its whole quantity are the parts into which the broker has split it.
    await client.algo.place({ ...order, quantity: "2000" });
    await client.algo.place({ ...order, quantity: "2000" });
    await pass(60_000, 12);
    const { state, filled, orderIds } = await last();
    assertEquals([state, filled, orderIds.length], ["filled", "4000", 2]);
  },
  { ...HAS_ALGO, at: Date.parse("2025-08-15T10:30:00+08:00") },
);

deskTest(
  "a reading whose lists of orders lack an order that has fills does not show that a lost order is missing",
  async ({ trader, client, clock, round, open, intents, pass, simulator: { faults } }) => {
    faults.arm({ kind: "lost-request", operation: "orders.place" });
    await assertRejects(() => trader.orders.place(ORDER), OutcomeUnknownError);
    await trader.orders.place({ ...ORDER, price: "600.00" });
    clock.advance(5_000);
    round();
    const empty = open({ client: reading(client, () => Promise.resolve([])) });
    for (let turn = 0; turn < 4; turn++) {
      clock.advance(60_000);
      await empty.reconcile();
    }
    const states = async () => (await intents()).map(({ state }) => state);
    assertEquals((await states())[1], "unknown");
    await pass(4 * 60_000, 4); // control
    assertEquals(await states(), ["filled", "abandoned"]);
  },
  { skip: { memory: "its answers contain no time of the broker" } },
);

deskTest(
  "an order that an algorithmic order places does not make the outcome of its lost amendment ambiguous",
  async ({ trader, open, intents, clock, pass, simulator: { faults } }) => {
    const order = { market: "hk", symbol: "00700.HK", side: "buy", orderType: "limit" } as const;
    const settings = { endTime: "11:00:00" };
    const { orderId } = await trader.algo.place({
      ...order,
      price: "585",
      quantity: "1000",
      strategy: "twap",
      settings,
    });
    await pass(60_000, 2);
    faults.arm({ kind: "lost-answer", operation: "algo.amend" });
    const later = open({ resolveMs: 0 }).client();
    const amend = () => later.algo.amend({ market: "hk", orderId, price: "586" });
    await assertRejects(amend, OutcomeUnknownError);
    clock.advance(5 * 60_000); // the next child order has the new price
    await pass(10_000);
    const { state } = (await intents()).find(({ kind }) => kind === "amend")!;
    assert(["working", "part-filled"].includes(state), state);
  },
  HAS_ALGO,
);

deskTest(
  "an order that hsgate has reduced before a reading showed it is not mixed up with an equal order made elsewhere",
  async ({ trader, client, intents, pass, desk }) => {
    const { market, symbol, price } = ORDER;
    const { orderId } = await trader.orders.place({ ...ORDER, quantity: "300" });
    await trader.orders.amend({ market, symbol, orderId: orderId!, quantity: "100", price });
    const { orderId: other } = await client.orders.place({ ...ORDER, quantity: "200" });
    await pass(5_000);
    assertEquals((await intents()).map(({ state }) => state), ["working", "working"]);
    const { foreign } = await desk.reconcile({ markets: ["hk"] });
    assertEquals(foreign.map((order) => order.orderId), [other]);
  },
);

deskTest(
  "an amendment of a conditional order made elsewhere ends when the order triggers",
  async ({ trader, client, last, pass }) => {
    const { orderId } = await client.orders.place(STOP);
    const { market, symbol, orderType, triggerValue, validDays } = STOP;
    const terms = { market, symbol, orderType, triggerValue, validDays, orderId };
    await trader.orders.amend({ ...terms, quantity: "100", price: "604" });
    await pass(20 * 60_000, 4);
    const { state, filled } = await last();
    assertEquals([state, filled], ["expired", "0"]);
  },
  { simulator: { script } },
);
