/** Tests of the execution of plans against a simulated broker, over every transport and with each store. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { add, subtract } from "../../lib/decimal.ts";
import { findPlan } from "../../lib/rebalance/mod.ts";
import { ACCOUNT, deskTest } from "../desk/support.ts";
import { executor, planAt, PURCHASE, QUICK, RISING, SALES } from "./executor.ts";

deskTest(
  "a plan is executed: sales first, then purchases, and the report says what it cost",
  async (testAccount) => {
    const plan = await planAt(testAccount.client, [...SALES, PURCHASE]);
    const sales = plan.trades.filter(({ side }) => side === "sell");
    await using execution = await executor(testAccount, {
      onWait({ used }) {
        if (used["buy 00700.HK"] === undefined) return;
        for (const { symbol, quantity } of sales) assertEquals(used[`sell ${symbol}`], quantity);
      },
    });
    const report = await execution.run(plan, QUICK);
    assertEquals([report.state, report.reason], ["done", undefined]);
    assertEquals((await execution.readBroker()).used, {
      "sell 00027.HK": "1000",
      "sell 09999.HK": "300",
      "buy 00700.HK": "200",
    });
    for (const trade of report.trades) {
      assertEquals([trade.filled, trade.open, trade.remaining], [trade.planned, "0", "0"]);
      const { averagePrice = "0", arrivalPrice = "0", slippage, fees } = trade;
      const each = trade.side === "buy"
        ? subtract(averagePrice, arrivalPrice)
        : subtract(arrivalPrice, averagePrice);
      assertEquals(Math.round(Number(slippage!.money)), Math.round(Number(each) * Number(trade.filled)));
      assertEquals(fees, { estimated: "10.00" }); // the broker books fees after the day
    }
    assertStringIncludes(execution.texts("placed").join(), "rounded to the tick");
    const placed = execution.events.filter(({ kind }) => kind === "placed");
    assertEquals(placed.map(({ trade }) => trade).indexOf(2) >= 2, true);
    const stored = await findPlan(testAccount.store, ACCOUNT, plan.hash);
    assertEquals([stored?.state, stored?.report, stored?.approval?.by], ["done", report, "a script"]);
    // A plan that is done is not executed again.
    const sent = testAccount.count("orders.place");
    assertEquals(await execution.run(plan, QUICK), report);
    assertEquals(sent(), 0);
  },
);

deskTest(
  "a purchase becomes smaller when the cash above the buffer is short, and the report has the reason",
  async (testAccount) => {
    const { available = "0" } = await testAccount.client.account.funds({ market: "hk" });
    const plan = await planAt(testAccount.client, [{ ...PURCHASE, quantity: "500" }], {
      cashBuffer: { HKD: subtract(available, "150000") }, // enough for two lots
    });
    await using execution = await executor(testAccount);
    const report = await execution.run(plan, { ...QUICK, maxReprices: "5" });
    const [trade] = report.trades;
    assertEquals([report.state, trade!.filled, trade!.remaining], ["stopped", "200", "300"]);
    assertStringIncludes(execution.texts("note").join("\n"), "the cash covers 200 of 500 shares");
    assertStringIncludes(trade!.reason!, "HKD above the buffer");
  },
);

deskTest(
  "purchases keep the cash buffer although the broker's cash shows them late",
  async (testAccount) => {
    const { available = "0" } = await testAccount.client.account.funds({ market: "hk" });
    const plan = await planAt(testAccount.client, [{ ...PURCHASE, quantity: "500" }], {
      cashBuffer: { HKD: subtract(available, "150000") }, // enough for two lots
    });
    await using execution = await executor(testAccount, { cashLagMs: 25_000 });
    const report = await execution.run(plan, { ...QUICK, maxReprices: "15" });
    assertEquals([report.state, report.trades[0]!.filled], ["stopped", "200"]);
  },
);

deskTest(
  "an order is repriced a limited number of times: each new order is for the unfilled rest, after the last order has ended",
  async (testAccount) => {
    const plan = await planAt(testAccount.client, [{ ...PURCHASE, quantity: "2000" }]);
    let most = 0;
    await using execution = await executor(testAccount, {
      onWait: ({ open }) => void (most = Math.max(most, open.length)),
    });
    const sent = testAccount.count("orders.place");
    const report = await execution.run(plan, {
      peg: "bid",
      collar: "0.1",
      repriceEvery: "15s",
      maxReprices: "3",
    });
    assertEquals([sent(), most, execution.texts("placed").length], [4, 1, 4]);
    const [trade] = report.trades;
    assertEquals([report.state, add(trade!.filled, trade!.remaining)], ["stopped", "2000"]);
    assertEquals(trade!.reason, "not filled at 4 prices in time");
    assertEquals((await execution.readBroker()).open, []);
  },
  { simulator: { script: RISING } },
);

deskTest(
  "an execution ends at its deadline: its orders are cancelled, and it says what remains",
  async (testAccount) => {
    const plan = await planAt(testAccount.client, [PURCHASE]);
    await using execution = await executor(testAccount);
    const report = await execution.run(plan, {
      peg: "bid",
      collar: "0.1",
      repriceEvery: "30m",
      deadline: "5m",
    });
    assertEquals([report.state, report.reason], [
      "stopped",
      "its deadline 2025-08-15 10:35 (Asia/Hong_Kong) has passed",
    ]);
    const [trade] = report.trades;
    assertEquals([trade!.filled, trade!.open, trade!.remaining, trade!.reason], [
      "0",
      "0",
      "200",
      report.reason,
    ]);
    assertEquals(execution.texts("cancelling"), [`order ${trade!.orderIds[0]}: ${report.reason}`]);
    const { open, used } = await execution.readBroker();
    assertEquals([open, used], [[], { "buy 00700.HK": "0" }]);
  },
  { simulator: { script: RISING } },
);

deskTest(
  "a market that moves beyond the collar ends the trade, and no order stays open",
  async (testAccount) => {
    const plan = await planAt(testAccount.client, [{ symbol: "00027.HK", side: "sell", quantity: "1000" }]);
    await using execution = await executor(testAccount);
    const report = await execution.run(plan, { ...QUICK, peg: "ask", collar: "0.02" });
    assertEquals(report.state, "stopped");
    assertStringIncludes(report.trades[0]!.reason!, 'of "00027.HK" is more than 2 % from the plan\'s price');
    assertEquals((await execution.readBroker()).open, []);
    assert(execution.texts("cancelling").length + execution.texts("placed").length > 0);
  },
  {
    simulator: {
      script: [{ what: "price", symbol: "00027.HK", at: "2025-08-15 10:31", to: "36.00" }],
    },
  },
);

deskTest("a suspended listing ends its trade, and the other trades continue", async (testAccount) => {
  const plan = await planAt(testAccount.client, [...SALES, PURCHASE]);
  await using execution = await executor(testAccount);
  const report = await execution.run(plan, QUICK);
  assertEquals(report.state, "stopped");
  const [, netease, tencent] = report.trades;
  assertEquals([tencent!.filled, tencent!.remaining], ["200", "0"]);
  assertEquals(netease!.remaining === "0", false);
  assertStringIncludes(netease!.reason!, "suspended");
}, { simulator: { script: [{ what: "halt", symbol: "09999.HK", at: "2025-08-15 10:30" }] } });
