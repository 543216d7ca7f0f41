/** Tests that the orders of a rebalancing plan never go beyond the plan, whatever happened to the earlier ones. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { endPlan, findPlan } from "../../lib/rebalance/mod.ts";
import type { Intent } from "../../lib/desk/intent.ts";
import { usedOf } from "../../lib/desk/plan_caps.ts";
import type { IntentState } from "../../lib/desk/states.ts";
import { BrokerError, OutcomeUnknownError } from "../../lib/errors.ts";
import { ORDER } from "../conformance/simulated_account.ts";
import { begun, planOf } from "../rebalance/support.ts";
import { ACCOUNT, deskTest, type DeskUnderTest } from "./support.ts";

const plan = planOf([
  { symbol: "00700.HK", side: "buy", quantity: "300", price: "550" },
  { symbol: "00005.HK", side: "sell", quantity: "400", price: "100" },
]);
const why = { plan: plan.hash, trade: 0 };

const refused = (call: () => Promise<unknown>) => assertRejects(call, BrokerError);

async function clientOf(testAccount: DeskUnderTest) {
  await begun(testAccount.store, plan, { account: ACCOUNT, at: testAccount.clock.now() });
  return testAccount.desk.client(why);
}

deskTest(
  "an order of a plan is refused beyond the plan: open quantity counts in full",
  async (testAccount) => {
    const trader = await clientOf(testAccount);
    const sent = testAccount.count("orders.place");
    const { orderId } = await trader.orders.place({ ...ORDER, quantity: "200" });
    const { code, message } = await refused(() =>
      trader.orders.place({ ...ORDER, quantity: "200", price: "551.00" })
    );
    assertEquals([code, sent()], ["plan-cap", 1]);
    assertStringIncludes(
      message,
      'to buy 200 of "00700.HK", and only 100 of "00700.HK" are left of the plan',
    );
    await trader.orders.place({ ...ORDER, quantity: "100", price: "551.00" });
    // The quantity of a cancelled order no longer counts. The security may be written in another form.
    await trader.orders.cancel({ market: "hk", symbol: "00700.HK", orderId });
    await testAccount.pass(1_000);
    assertEquals((await refused(() => trader.orders.place({ ...ORDER, quantity: "300" }))).code, "plan-cap");
    await trader.orders.place({ ...ORDER, quantity: "200", price: "552.00" });
    assertEquals(sent(), 3);
  },
);

deskTest(
  "if the answer to a plan's order was lost, the order counts in full until its outcome is known",
  async (testAccount) => {
    await begun(testAccount.store, plan, { account: ACCOUNT, at: testAccount.clock.now() });
    const trader = testAccount.open({ resolveMs: 0 }).client(why);
    testAccount.simulator.faults.arm({ kind: "lost-request", operation: "orders.place" });
    await assertRejects(() => trader.orders.place({ ...ORDER, quantity: "300" }), OutcomeUnknownError);
    const other = testAccount.open({ resolveMs: 0 }).client(why);
    assertEquals(
      (await refused(() => other.orders.place({ ...ORDER, quantity: "100", price: "551.00" }))).code,
      "plan-cap",
    );
    // An order that is not part of the plan is not limited by it.
    await testAccount.trader.orders.place({ ...ORDER, price: "551.00" });
  },
);

deskTest(
  "a filled order of a plan counts, and a listing or side that is not in the plan is refused",
  async (testAccount) => {
    const trader = await clientOf(testAccount);
    const { lastPrice = "0" } = (await testAccount.client.quotes.latest({
      securities: [{ type: "hk-stock", symbol: "00700.HK" }],
    }))[0]!;
    const price = String(Math.floor(Number(lastPrice) * 1.02));
    await trader.orders.place({ ...ORDER, quantity: "300", price, orderType: "enhanced-limit" });
    await testAccount.pass(60_000);
    assertEquals((await testAccount.last()).state, "filled");
    for (const other of [{}, { side: "sell" as const }, { symbol: "00001.HK" }]) {
      assertEquals((await refused(() => trader.orders.place({ ...ORDER, ...other }))).code, "plan-cap");
    }
  },
);

deskTest(
  "an order of a plan is refused while the plan is not running, and so is an amendment",
  async (testAccount) => {
    const { store, clock, desk } = testAccount;
    assertEquals((await refused(() => desk.client(why).orders.place(ORDER))).code, "plan-not-running");
    const trader = await clientOf(testAccount);
    const { orderId } = await trader.orders.place(ORDER);
    const amended = { market: "hk", symbol: "00700.HK", orderId, quantity: "200", price: "550.00" } as const;
    assertEquals((await refused(() => trader.orders.amend(amended))).code, "plan-cap");
    const { hash } = plan;
    const report = {
      hash,
      state: "stopped" as const,
      startedAt: clock.now(),
      trades: [],
      slippage: {},
      fees: { estimated: {} },
      drift: { before: "0", planned: "0", reached: "0" },
    };
    const ended = { holder: "test", state: "stopped" as const, at: clock.now(), report };
    assertEquals(await endPlan(store, { account: ACCOUNT, hash }, ended), true);
    assertEquals((await findPlan(store, ACCOUNT, hash))?.state, "stopped");
    assertEquals(
      (await refused(() => trader.orders.place({ ...ORDER, price: "551.00" }))).code,
      "plan-not-running",
    );
    await trader.orders.cancel({ market: "hk", symbol: "00700.HK", orderId });
  },
);

deskTest("if a plan ends while one of its orders is checked, the order is not sent", async (testAccount) => {
  const { store, open, count, last } = testAccount;
  await clientOf(testAccount);
  const guard = async () => void await store.run("update rebalance set state = 'stopped'");
  const sent = count("orders.place");
  assertEquals(
    (await refused(() => open({ guard }).client(why).orders.place(ORDER))).code,
    "plan-not-running",
  );
  assertEquals([sent(), (await last()).state], [0, "abandoned"]);
});

Deno.test("usedOf() counts a filled order in full, because some of its parts may be unknown, and of a cancelled order only the fills", () => {
  const intent = (state: IntentState, filled: string) =>
    // usedOf() reads only these members.
    ({ kind: "place", state, filled, params: { quantity: "600" } }) as unknown as Intent;
  for (
    const [state, filled, used] of [
      ["working", "0", "600"],
      ["part-filled", "200", "600"],
      ["unknown", "0", "600"],
      ["filled", "200", "600"],
      ["filled", "700", "700"],
      ["cancelled", "200", "200"],
      ["expired", "0", "0"],
      ["rejected", "0", "0"],
      ["abandoned", "200", "0"],
    ] as const
  ) assertEquals(usedOf(intent(state, filled)), used, `${state} ${filled}`);
});
