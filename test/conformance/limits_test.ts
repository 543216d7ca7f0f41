/** Checks that timeouts, aborted calls and many calls at once behave the same over every transport. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { OutcomeUnknownError, TransportError } from "../../mod.ts";
import { conformance, ORDER, TENCENT } from "./simulated_account.ts";

const SECURITIES = ["00700.HK", "00005.HK", "00941.HK", "02318.HK"].map((symbol) => (
  { type: "hk-stock", symbol } as const
));

conformance(
  "timeout: a read fails; a write has an unknown outcome, and the broker has the order once",
  async (desk) => {
    const { client, simulator: { faults } } = desk;
    await client.account.login();
    const read = desk.count("account.funds");
    faults.arm({ kind: "delay", ms: 4_000, operation: "account.funds", times: 3 });
    const slow = await assertRejects(
      () => client.account.funds({ market: "hk" }, { timeoutMs: 700 }),
      TransportError,
    );
    const write = desk.count("orders.place");
    faults.arm({ kind: "delay", ms: 4_000, operation: "orders.place", times: 3 });
    const unknown = await assertRejects(
      () => client.orders.place(ORDER, { timeoutMs: 700 }),
      OutcomeUnknownError,
    );
    assertEquals([slow.code, unknown.code], ["timeout", "timeout"]);
    // Control: under the same conditions, a read is sent three times.
    assertEquals([read(), write(), (await desk.orderIds()).length], [3, 1, 1]);
  },
);

conformance("timeout: no other call gets a late answer", async ({ client, simulator, orderIds }) => {
  await client.account.login();
  simulator.faults.arm({ kind: "delay", ms: 3_000, operation: "orders.place" });
  await assertRejects(() => client.orders.place(ORDER, { timeoutMs: 700 }), OutcomeUnknownError);
  const prices = ["551.00", "552.00", "553.00"];
  const placed = [];
  for (const price of prices) placed.push((await client.orders.place({ ...ORDER, price })).orderId);
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const rows = await client.orders.today({ market: "hk" }).toArray();
  const priceOf = new Map(rows.map((row) => [row.orderId, row.price]));
  assertEquals(placed.map((id) => Number(priceOf.get(id))), prices.map(Number));
  assertEquals((await orderIds()).length, 4);
});

conformance(
  "abort: a read rejects with the reason, a write that was sent has an unknown outcome",
  async (desk) => {
    const { client, simulator: { faults } } = desk;
    await client.account.login();
    faults.arm({ kind: "delay", ms: 6_000, operation: "account.funds" });
    faults.arm({ kind: "delay", ms: 6_000, operation: "orders.place" });
    const reason = new Error("the caller stopped waiting");
    const soon = () => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(reason), 700);
      return { signal: controller.signal };
    };
    const thrown = await client.account.funds({ market: "hk" }, soon()).catch((error) => error);
    assert(thrown === reason, String(thrown));
    const unknown = await assertRejects(() => client.orders.place(ORDER, soon()), OutcomeUnknownError);
    assertEquals([unknown.code, faults.struck("delay")], ["aborted", 2]);
    assertEquals((await desk.orderIds()).length, 1);
  },
);

conformance("abort: a call that is aborted before sending is not sent", async (desk) => {
  const { client } = desk;
  await client.account.login();
  const sent = desk.count("orders.place");
  const reason = new Error("never mind");
  const signal = AbortSignal.abort(reason);
  const thrown = await client.orders.place(ORDER, { signal }).catch((error) => error);
  assert(thrown === reason, String(thrown));
  assertEquals([sent(), await desk.orderIds()], [0, []]);
  await client.orders.place(ORDER);
  assertEquals(sent(), 1); // the control
});

conformance("many calls at once: each gets its own answer, in any order", async (desk) => {
  const { client, simulator: { faults } } = desk;
  faults.arm({ kind: "delay", ms: 60, operation: "quotes.latest", times: 20 });
  faults.arm({ kind: "delay", ms: 20, operation: "quotes.latest", times: 20, skip: 30 });
  const asked = Array.from({ length: 80 }, (_, index) => SECURITIES[index % 4]!);
  const answers = await Promise.all(asked.map((each) => client.quotes.latest({ securities: [each] })));
  assertEquals(answers.map(([quote]) => quote?.security?.symbol), asked.map(({ symbol }) => symbol));
  assertEquals(faults.struck("delay"), 40);
});

conformance(
  "many writes at once: each order exists once, with the number that its call returned",
  async (desk) => {
    const { client } = desk;
    const prices = Array.from({ length: 25 }, (_, index) => `${530 + index}.00`);
    const placed = await Promise.all(prices.map((price) => client.orders.place({ ...ORDER, price })));
    const rows = await client.orders.today({ market: "hk" }).toArray();
    const priceOf = new Map(rows.map((row) => [row.orderId, Number(row.price)]));
    assertEquals(placed.map(({ orderId }) => priceOf.get(orderId)), prices.map(Number));
    assertEquals((await desk.orderIds()).length, 25);
  },
);

conformance("a closed client sends nothing", async (desk) => {
  const sent = desk.count("quotes.latest");
  await desk.client.quotes.latest({ securities: [TENCENT] });
  await desk.client.close();
  const error = await assertRejects(
    () => desk.client.quotes.latest({ securities: [TENCENT] }),
    TransportError,
  );
  assertEquals([error.code, sent()], ["closed", 1]);
});

conformance(
  "a broken connection: a read is retried and succeeds, a write has an unknown outcome",
  async (desk) => {
    const { client, simulator: { faults } } = desk;
    await client.account.login();
    for (const kind of ["lost-answer", "lost-request", "reset-after"] as const) {
      const before = (await desk.orderIds()).length;
      faults.arm({ kind, operation: "account.funds" });
      await client.account.funds({ market: "hk" });
      const sent = desk.count("orders.place");
      faults.arm({ kind, operation: "orders.place", times: 3 });
      await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
      const placed = kind === "lost-request" ? 0 : 1;
      assertEquals([kind, sent(), (await desk.orderIds()).length - before], [kind, 1, placed]);
      assert(faults.struck(kind) >= 2, `${kind} struck ${faults.struck(kind)} times`);
      faults.clear();
    }
  },
);
