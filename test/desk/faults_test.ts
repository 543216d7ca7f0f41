/**
 * Tests of the order desk under the faults of orders whose outcome is unknown. Each test also shows that its fault
 * happened, or what happens without it.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { connect } from "../../lib/client/connect.ts";
import { Desk } from "../../lib/desk/desk.ts";
import { changesOf, recentIntents } from "../../lib/desk/queries.ts";
import { OutcomeUnknownError } from "../../lib/errors.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { randomFrom, systemMachine } from "../../lib/time.ts";
import { isConnected, ORDER, TENCENT } from "../conformance/simulated_account.ts";
import { farEnd, ok } from "../support/far_end.ts";
import { waitUntil } from "../support/waits.ts";
import { ACCOUNT, deskTest, type DeskUnderTest } from "./support.ts";

/** A second order, with another fingerprint. */
const OTHER = { ...ORDER, price: "551.00" } as const;

/** An order that fills in the next round. */
async function filling({ client }: DeskUnderTest) {
  const [quote] = await client.quotes.latest({ securities: [TENCENT] });
  const price = String(Math.floor(Number(quote!.lastPrice) * 1.02));
  return { ...ORDER, price, orderType: "enhanced-limit" } as const;
}

/** Lets a minute pass, in which orders fill. */
function fill({ clock, round }: DeskUnderTest): void {
  clock.advance(60_000);
  round();
}

deskTest(
  "F02: an answer that arrives after its call was aborted is recorded for its own intent, and not for the next one",
  async ({ trader, simulator: { faults }, intents, history, orderIds }) => {
    const before = await orderIds();
    faults.arm({ kind: "delay", operation: "orders.place", when: "answer", ms: 10_000 });
    const stop = new AbortController();
    const given = trader.orders.place(ORDER, { signal: stop.signal, timeoutMs: 120_000 }).catch((error) =>
      error
    );
    await waitUntil("the broker to have the order", async () => (await orderIds()).length > before.length);
    stop.abort();
    assert(await given instanceof OutcomeUnknownError);
    const [first] = await intents();
    assertEquals([first!.state, first!.orderIds], ["unknown", []]);
    const next = await trader.orders.place(OTHER);
    await waitUntil("the late answer", async () => (await intents())[1]!.state !== "unknown");
    assertEquals((await history(first!.id)).at(-1), "unknown>acknowledged by answer");
    const [second, resolved] = await intents();
    assertEquals([second!.state, second!.orderIds], ["acknowledged", [next.orderId]]);
    const made = (await orderIds()).filter((id) => !before.includes(id));
    assertEquals([...resolved!.orderIds, next.orderId].sort(), made);
  },
  {
    skip: {
      memory: "a call without a connection has no late answer",
      gateway: "an answer over HTTP ends with its connection",
    },
  },
);

deskTest(
  "F08: an order that fills before the first reading, and is in no list of orders, is found through its fill",
  async (testAccount) => {
    const { open, simulator: { faults }, intents, history, pass } = testAccount;
    const order = await filling(testAccount);
    for (const hidden of [["orders.today"], ["orders.today", "fills.today"]]) {
      faults.clear();
      faults.arm({ kind: "lost-answer", operation: "orders.place" });
      // The fault skips the desk's first reading, which comes before the order.
      for (const operation of hidden) faults.arm({ kind: "empty-page", operation, skip: 1, times: 1_000 });
      const desk = open({ onChange: ({ state }) => state === "unknown" && fill(testAccount) });
      const placed = await desk.client().orders.place({ ...order, quantity: `${hidden.length}00` })
        .catch((error) => error);
      assertEquals(faults.struck("lost-answer") > 0, true);
      const [intent] = await intents();
      if (hidden.length === 2) {
        // The control: neither list shows the order.
        assert(placed instanceof OutcomeUnknownError);
        assertEquals(intent!.state, "unknown");
        continue;
      }
      assertEquals([intent!.state, intent!.orderIds], ["acknowledged", [placed.orderId]]);
      assert((await history(intent!.id)).includes("unknown>acknowledged by list"));
      faults.clear();
      await pass(10_000);
      assertEquals([(await intents())[0]!.state, (await intents())[0]!.filled], ["filled", "100"]);
    }
  },
  {
    skip: {
      memory: "its lists have no pages that could be empty",
      gateway: "over HTTP an empty page has no list, which is an error and proves nothing",
    },
  },
);

deskTest(
  "one reading whose list of orders lost a page does not give the intent an order of somebody else that has fills",
  async (testAccount) => {
    const { client, clock, open, round, simulator: { faults }, store, last } = testAccount;
    const order = await filling(testAccount);
    // After the desk has read the lists, and before it sends, the owner places the same order, which fills at once.
    const desk = open({
      guard: async () => {
        await client.orders.place(order);
        clock.advance(5_000);
        round();
      },
    });
    faults.arm({ kind: "lost-answer", operation: "orders.place", skip: 1 });
    faults.arm({ kind: "empty-page", operation: "orders.today", skip: 1 });
    await assertRejects(() => desk.client().orders.place(order), OutcomeUnknownError);
    assertEquals([faults.struck("lost-answer"), faults.struck("empty-page")], [1, 1]);
    const { id, state } = await last();
    assertEquals(state, "ambiguous");
    const { data } = (await changesOf(store, id)).at(-1)!;
    assertEquals((data.orderIds as string[]).length, 2);
  },
  {
    skip: {
      memory: "its lists have no pages that could be empty",
      gateway: "over HTTP an empty page has no list, which is an error and proves nothing",
    },
  },
);

deskTest(
  "F10: an amendment whose answer is lost and that may have left two orders is ambiguous, and names both",
  async (testAccount) => {
    const { client, open, trader, simulator: { faults }, store, last } = testAccount;
    const { orderId } = await trader.orders.place(ORDER);
    const terms = { quantity: "200", price: "549.00" } as const;
    let other = "";
    // The desk reads the lists before the amendment. After this reading, an order with the new terms appears beside the
    // old order.
    const desk = open({
      guard: async () => void (other = (await client.orders.place({ ...ORDER, ...terms })).orderId),
    });
    faults.arm({ kind: "lost-request", operation: "orders.amend" });
    const amend = { market: "hk", symbol: "00700.HK", orderId, ...terms } as const;
    await assertRejects(() => desk.client().orders.amend(amend), OutcomeUnknownError);
    assertEquals(faults.struck("lost-request"), 1);
    const { id, state } = await last();
    assertEquals(state, "ambiguous");
    const { data } = (await changesOf(store, id)).at(-1)!;
    assertEquals([data.orderIds, data.why], [
      [orderId, other],
      "the old order and a new one may both be in the market",
    ]);
    // The control: an amendment with an answer leaves one order, and is not ambiguous.
    await trader.orders.amend({ ...amend, price: "548.00" });
    assertEquals((await last()).state, "acknowledged");
  },
);

deskTest(
  "F11: a cancellation that loses the race against the fill is sent once, and the lists show its outcome",
  async (testAccount) => {
    const { open, trader, simulator: { faults }, count, intents, pass } = testAccount;
    const sent = count("orders.cancel");
    const cancel = { market: "hk", symbol: "00700.HK" } as const;
    const states = async (at: number) =>
      (await intents()).slice(0, at).map(({ kind, state, filled }) => `${kind} ${state} ${filled}`);
    // The fill comes before the request. The broker's refusal does not say that the order was filled, but the lists do.
    const order = await filling(testAccount);
    const first = await trader.orders.place(order);
    const late = open({ guard: () => fill(testAccount) }).client();
    await late.orders.cancel({ ...cancel, ...first });
    await pass(60_000, 3);
    assertEquals([sent(), await states(2)], [1, ["cancel filled 100", "place filled 100"]]);
    // The fill comes after the request and before the exchange has it, and the answer is lost.
    const second = await trader.orders.place({ ...order, quantity: "200" });
    faults.arm({ kind: "lost-answer", operation: "orders.cancel" });
    await trader.orders.cancel({ ...cancel, ...second }).catch((error) =>
      assert(error instanceof OutcomeUnknownError)
    );
    fill(testAccount);
    await pass(60_000, 3);
    assertEquals([faults.struck("lost-answer"), sent()], [1, 2]);
    const [cancelled, placed] = await intents();
    assertEquals([cancelled!.kind, cancelled!.state, placed!.state], [
      "cancel",
      placed!.state,
      placed!.state,
    ]);
    assert(["filled", "cancelled"].includes(placed!.state), placed!.state);
    // The control: an order that does not fill ends cancelled.
    const third = await trader.orders.place(OTHER);
    faults.arm({ kind: "lost-answer", operation: "orders.cancel" });
    await trader.orders.cancel({ ...cancel, ...third });
    await pass(10_000);
    assertEquals(await states(2), ["cancel cancelled 0", "place cancelled 0"]);
  },
);

Deno.test("F12: a batch cancellation that was executed in part stays unknown, and nothing of it is sent again", async () => {
  const [OPEN, CANCELLED] = ["2", "6"]; // codes on the wire
  const ids = Array.from({ length: 100 }, (_, index) => String(index + 1));
  const states = new Map(ids.map((id) => [id, OPEN]));
  const writes: string[] = [];
  await using end = farEnd(({ path, body: { params } }) => {
    if (path.startsWith("/trade/TradeQuery")) {
      const from = Number(params.queryParamStr ?? 0) || 0;
      const rows = path.endsWith("RealEntrustList")
        ? [...states].map(([entrustId, status], index) => ({
          entrustId,
          status,
          stockCode: "00700.HK",
          exchangeType: "K",
          entrustBs: "1",
          entrustAmount: "100",
          queryParamStr: String(index + 1),
        }))
        : [];
      return ok({ data: rows.slice(from, from + Number(params.queryCount ?? 20)) });
    }
    writes.push(path);
    for (const id of ids.slice(0, 60)) states.set(id, CANCELLED);
    return "hang-up";
  });
  await using client = await connect({ gateway: { url: end.url }, retry: { attempts: 1 } });
  await using store = await openSqlite(":memory:");
  let now = Date.parse("2025-08-15T10:30:00+08:00");
  const desk = new Desk({
    store,
    machine: { ...systemMachine, now: () => now },
    account: ACCOUNT,
    client,
    resolveMs: 0,
  });
  const many = { market: "hk", orderIds: ids } as const;
  await assertRejects(() => desk.client().orders.cancelMany(many), OutcomeUnknownError);
  const reconciled = async () => {
    for (let turn = 0; turn < 5; turn++) {
      now += 60_000;
      await desk.reconcile();
    }
    const [intent] = await recentIntents(store, ACCOUNT, { limit: 1 });
    return [intent!.state, intent!.orderIds.length, writes.length];
  };
  assertEquals(await reconciled(), ["unknown", 0, 1]);
  await assertRejects(() => desk.client().orders.cancelMany(many), Error, 'is "unknown"');
  // A query finds the orders that are left. Cancelling them would be another write.
  const left = (await client.orders.today({ market: "hk" }).toArray()).filter(({ status }) =>
    status !== "cancelled"
  );
  assertEquals(left.map(({ orderId }) => orderId), ids.slice(60));
  // The control: once the lists show that all have ended, the intent is resolved without another request.
  for (const id of ids) states.set(id, CANCELLED);
  assertEquals(await reconciled(), ["cancelled", 100, 1]);
});

deskTest(
  "a lost answer to a cancellation names as cancelled only the orders that were cancelled",
  async (testAccount) => {
    const { trader, client, simulator: { faults }, last, history } = testAccount;
    const { orderId: open } = await client.orders.place(ORDER);
    const { orderId: filled } = await client.orders.place(await filling(testAccount));
    fill(testAccount);
    for (const orderIds of [[open, filled], [filled]]) {
      faults.arm({ kind: "lost-answer", operation: "orders.cancelMany" });
      const answer = await trader.orders.cancelMany({ market: "hk", orderIds });
      const { id, state } = await last();
      assertEquals((await history(id)).slice(-2, -1), ["unknown>acknowledged by list"], state);
      assertEquals(answer.cancelled, orderIds.filter((each) => each === open));
      assertEquals(answer.failed.map(({ orderId }) => orderId), [filled]);
    }
    assertEquals(faults.struck("lost-answer"), 2);
  },
  { skip: { direct: "it has no cancellation of several orders" } },
);

deskTest(
  "F19: pushes that are repeated, reordered, lost or early lead to the same intents as all pushes in order",
  async (testAccount) => {
    const { desk, simulator: { faults }, store, clock, round, intents } = testAccount;
    const order = await filling(testAccount);
    const books: string[] = [];
    const struck = { "duplicate-push": 0, "reorder-push": 0, "drop-push": 0, delay: 0 };
    for (const seed of [0, 1, 2, 3]) {
      faults.clear();
      const random = randomFrom(seed);
      const before = (await intents()).length;
      const stop = new AbortController();
      let pushes = 0;
      let isOn = false;
      const watching = (async () => {
        for await (const event of desk.client().watch({ signal: stop.signal })) {
          if (event.type === "order") pushes++;
          isOn ||= isConnected(event);
        }
      })().catch((error) => {
        if (!stop.signal.aborted) throw error;
      });
      await waitUntil("the push connection", () => isOn);
      // Seed 0 is the control: no fault.
      for (let at = 0; seed > 0 && at < 6; at++) {
        const kinds = ["duplicate-push", "reorder-push", "drop-push"] as const;
        const kind = kinds[(at + seed) % kinds.length]!;
        faults.arm({ kind, push: "order", skip: Math.floor(random() * 3) });
      }
      // The push of the order comes before its answer.
      if (seed > 0) faults.arm({ kind: "delay", operation: "orders.place", when: "answer", ms: 50 });
      for (const quantity of ["100", "200", "300"]) {
        await desk.client().orders.place({ ...order, quantity });
        clock.advance(1_000);
        round();
      }
      for (let turn = 0; turn < 3; turn++) {
        clock.advance(30_000);
        round();
      }
      if (seed === 0) await waitUntil("pushes of orders", () => pushes > 2);
      for (const kind of Object.keys(struck) as (keyof typeof struck)[]) struck[kind] = faults.struck(kind);
      await desk.reconcile();
      stop.abort();
      await watching;
      const made = (await intents()).slice(0, (await intents()).length - before).reverse();
      assertEquals(new Set(made.flatMap(({ orderIds }) => orderIds)).size, 3);
      books.push(JSON.stringify(made.map(({ state, filled, params }) => [state, filled, params.quantity])));
    }
    assertEquals(
      books,
      Array(4).fill(
        JSON.stringify([["filled", "100", "100"], ["filled", "200", "200"], ["filled", "300", "300"]]),
      ),
    );
    for (const [kind, times] of Object.entries(struck)) assert(times > 0, `${kind} never happened`);
    assertEquals(await store.all("select * from intent where ended_at is null"), []);
  },
  { skip: { memory: "its pushes are not sent over a connection" } },
);
