/** Tests of executions that stop, wait or meet faults: halts, closes, lost answers, other programs, other processes. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { add } from "../../lib/decimal.ts";
import { clearHalt, intentsOfPlan, setHalt } from "../../lib/desk/queries.ts";
import { BrokerError, InvalidParamsError } from "../../lib/errors.ts";
import {
  approvePlan,
  beginPlan,
  findPlan,
  type Plan,
  type PlanDesk,
  rebalance,
  type RebalanceReport,
  recordPlan,
  STOPPED_BY,
} from "../../lib/rebalance/mod.ts";
import { Cover } from "../../lib/rebalance/execution/cover.ts";
import { ORDER } from "../conformance/simulated_account.ts";
import { ACCOUNT, deskTest, type DeskUnderTest } from "../desk/support.ts";
import { executor, planAt, PURCHASE, QUICK, RISING, SALES } from "./executor.ts";
import { termsOf } from "./support.ts";

/** Terms with which a purchase in a rising market stays open. */
const RESTING = { peg: "bid", collar: "0.1", repriceEvery: "30m", deadline: "20m" };

const keyOf = (plan: Plan) => ({ account: ACCOUNT, hash: plan.hash });

/** Approves a plan again, from now on. */
const approve = ({ store, clock }: DeskUnderTest, plan: Plan) =>
  approvePlan(store, keyOf(plan), { by: "Ada", at: clock.now(), until: clock.now() + 600_000 });

/** Checks that every share of a plan is counted once. */
function assertCounted({ trades }: RebalanceReport): void {
  for (const { planned, filled, open, unknown, remaining } of trades) {
    assertEquals(add(filled, open, unknown, remaining), planned);
  }
}

deskTest("a lost answer or a lost request never makes an order twice", async (testAccount) => {
  const { simulator: { faults }, client } = testAccount;
  const plan = await planAt(client, [...SALES, PURCHASE]);
  faults.arm({ kind: "lost-answer", operation: "orders.place" });
  faults.arm({ kind: "lost-request", operation: "orders.place", skip: 1 });
  faults.arm({ kind: "lost-answer", operation: "orders.cancel", times: 2 });
  await using execution = await executor(testAccount);
  const report = await execution.run(plan, { ...QUICK, repriceEvery: "15s" });
  assert(faults.struck("lost-answer") >= 1);
  assertEquals(faults.struck("lost-request"), 1);
  assertCounted(report);
  const { used, open } = await execution.readBroker();
  assertEquals(open, []);
  for (const { side, symbol, filled } of report.trades) {
    assertEquals(used[`${side} ${symbol}`] ?? "0", filled);
  }
});

deskTest(
  "while the outcome of an order is unknown, nothing more is ordered, and the report says so",
  async (testAccount) => {
    const { simulator: { faults }, client } = testAccount;
    const plan = await planAt(client, [PURCHASE]);
    faults.arm({ kind: "lost-request", operation: "orders.place" });
    await using execution = await executor(testAccount, {
      // Without the lists, nothing shows the outcome of the order.
      onWait: () => void faults.arm({ kind: "busy", operation: "fills.today", times: 10 }),
    });
    const sent = testAccount.count("orders.place");
    const report = await execution.run(plan, { ...QUICK, deadline: "3m" });
    assertEquals([sent(), report.state], [1, "stopped"]);
    const [trade] = report.trades;
    assertEquals([trade!.unknown, trade!.remaining, trade!.filled], ["200", "0", "0"]);
    faults.clear();
    // The lists prove later that the broker never got the order. After a new approval, the plan continues.
    await testAccount.pass(20 * 60_000, 8);
    await approve(testAccount, plan);
    const again = await execution.run(plan, { ...QUICK, deadline: "3m" });
    assertCounted(again);
    assert(sent() <= 2 + again.trades[0]!.orderIds.length);
  },
);

deskTest(
  "a halt of the desk stops the execution; after the halt it continues within the plan",
  async (testAccount) => {
    const { store, clock } = testAccount;
    const plan = await planAt(testAccount.client, [...SALES, PURCHASE]);
    let turns = 0;
    await using execution = await executor(testAccount, {
      onWait: async () => {
        const halt = { account: ACCOUNT, why: "a test", by: "Ada", at: clock.now() };
        if (++turns === 2) await setHalt(store, halt);
      },
    });
    const first = await execution.run(plan, { ...QUICK, repriceEvery: "5s" });
    assertEquals(first.state, "stopped");
    assertStringIncludes(first.reason!, "trading is halted: a test (by Ada)");
    assertCounted(first);
    await clearHalt(store, ACCOUNT);
    await approve(testAccount, plan);
    const second = await execution.run(plan, { ...QUICK, repriceEvery: "5s" });
    assertCounted(second);
    assertEquals(second.trades.slice(0, 2).map(({ filled }) => filled), ["1000", "300"]);
  },
);

deskTest(
  "a clock that becomes wrong stops the execution, and no later trade is tried",
  async (testAccount) => {
    const plan = await planAt(testAccount.client, [...SALES, PURCHASE]);
    await using execution = await executor(testAccount);
    const sent = testAccount.count("orders.place");
    const clockFault = "this machine's clock is 6.0 s ahead of the database's";
    Object.defineProperty(testAccount.store, "clockFault", { get: () => clockFault, configurable: true });
    const report = await execution.run(plan, QUICK);
    assertEquals([sent(), report.state], [0, "stopped"]);
    assertStringIncludes(report.reason!, clockFault);
    assertCounted(report);
  },
);

deskTest(
  "a halt stops a waiting execution; the execution cancels nothing and reports that its order may be open",
  async (testAccount) => {
    const { store, clock } = testAccount;
    const plan = await planAt(testAccount.client, [PURCHASE]);
    let turns = 0;
    await using execution = await executor(testAccount, {
      onWait: async () => {
        const halt = { account: ACCOUNT, why: "a test", by: "Ada", at: clock.now() };
        if (++turns === 2) await setHalt(store, halt);
      },
    });
    const cancelled = testAccount.count("orders.cancel");
    const report = await execution.run(plan, RESTING);
    assertEquals([turns, report.reason, report.trades[0]!.open, cancelled()], [
      2,
      "trading is halted: a test (by Ada); to continue, run: hsgate resume",
      "200",
      0,
    ]);
    assertEquals(execution.texts("note").at(-1), `${report.reason}; an order may still be open`);
    assertEquals((await execution.readBroker()).open.length, 1);
  },
  { simulator: { script: RISING } },
);

deskTest(
  "when no write can be sent any more, the execution stops at its next turn and leaves its open order",
  async (testAccount) => {
    const plan = await planAt(testAccount.client, [PURCHASE]);
    const atBroker: string[][] = [];
    await using execution = await executor(testAccount, { onWait: ({ open }) => void atBroker.push(open) });
    const cancelled = testAccount.count("orders.cancel");
    let turns = 0;
    const report = await execution.run(plan, RESTING, {
      whyWritesEnded: () => Promise.resolve(++turns > 3 ? "its window closed" : undefined),
    });
    assertEquals([report.state, report.reason, turns], ["stopped", "its window closed", 4]);
    assertEquals([report.trades[0]!.open, execution.texts("note").at(-1)], [
      "200",
      "its window closed; an order may still be open",
    ]);
    assertEquals([cancelled(), (await execution.readBroker()).open], [0, atBroker.at(-1)!]);
    assertEquals(atBroker.at(-1)!.length, 1);
  },
  { simulator: { script: RISING } },
);

deskTest(
  "when another device takes over the login, the execution stops at once, and says that an order may be open",
  async (testAccount) => {
    const plan = await planAt(testAccount.client, [PURCHASE]);
    let turns = 0;
    await using execution = await executor(testAccount, {
      onWait: () => void (++turns === 2 && testAccount.simulator.faults.arm({ kind: "displaced-login" })),
    });
    const cancelled = testAccount.count("orders.cancel");
    const report = await execution.run(plan, RESTING);
    assertEquals([report.state, turns, cancelled()], ["stopped", 2, 0]);
    assertStringIncludes(report.reason!, "another device or program logged in");
    assertCounted(report);
    assertEquals([report.trades[0]!.open, (await execution.readBroker()).open.length], ["200", 1]);
    assertStringIncludes(
      report.trades[0]!.reason ?? execution.texts("note").at(-1)!,
      "an order may still be open",
    );
    // When a person has logged in again, the plan continues with this order.
    await testAccount.client.account.login({});
    await approve(testAccount, plan);
    const again = await execution.run(plan, { ...RESTING, deadline: "1m" });
    assertStringIncludes(again.reason!, "its deadline");
    assertEquals([again.trades[0]!.open, (await execution.readBroker()).open], ["0", []]);
  },
  {
    simulator: { script: RISING },
    skip: {
      memory: "the memory transport has no login",
      gateway: "the gateway reports no login of another device",
    },
  },
);

deskTest(
  "when the market closes for longer than the execution lasts, nothing stays open",
  async (testAccount) => {
    const plan = await planAt(testAccount.client, [PURCHASE]);
    await using execution = await executor(testAccount);
    const report = await execution.run(plan, { ...RESTING, deadline: "2h" });
    assertEquals(report.state, "stopped");
    assertStringIncludes(
      report.trades[0]!.reason!,
      "hk is closed until 2025-08-18 09:30 (Asia/Hong_Kong), and the execution ends before that",
    );
    assertEquals((await execution.readBroker()).open, []);
    assertCounted(report);
  },
  {
    at: Date.parse("2025-08-15T15:50:00+08:00"),
    simulator: {
      script: [{ what: "price", symbol: "00700.HK", at: "2025-08-15 15:50", to: "606.00", over: "1m" }],
    },
  },
);

deskTest(
  "orders wait for the hours of the terms, leave the market when these hours end, and continue the next day",
  async (testAccount) => {
    const plan = await planAt(testAccount.client, [PURCHASE]);
    const atOpen = new Set<string>();
    await using execution = await executor(testAccount, {
      onWait({ open }) {
        const time = new Date(testAccount.clock.now() + 8 * 3_600_000).toISOString().slice(11, 16);
        if (open.length > 0) atOpen.add(time);
      },
    });
    const hours = { hk: { from: "10:40", to: "11:10" } };
    const report = await execution.run(plan, { ...RESTING, hours, deadline: "4d", collar: "0.2" }, {
      pollMs: 30_000,
    });
    assertStringIncludes(
      execution.texts("note").join("\n"),
      "waits until hk opens at 2025-08-14 10:40 (Asia/Hong_Kong)",
    );
    assertStringIncludes(
      execution.texts("note").join("\n"),
      "waits until hk opens at 2025-08-15 10:40 (Asia/Hong_Kong)",
    );
    assert([...atOpen].every((time) => time >= "10:40" && time <= "11:15"), [...atOpen].join());
    assertEquals((await execution.readBroker()).open, []);
    assertCounted(report);
  },
  {
    at: Date.parse("2025-08-14T10:30:00+08:00"),
    simulator: {
      script: [{ what: "price", symbol: "00700.HK", at: "2025-08-14 10:40", to: "606.00", over: "1m" }],
    },
  },
);

deskTest("orders that other programs make are neither counted nor cancelled", async (testAccount) => {
  const { client } = testAccount;
  const plan = await planAt(client, [{ ...SALES[0], quantity: "2000" }, PURCHASE]);
  await using execution = await executor(testAccount);
  const { orderId } = await client.orders.place({ ...ORDER, price: "560.00" });
  execution.foreign.add(orderId);
  // Somebody else sells half of the quantity that the plan sells.
  const other = { market: "hk", symbol: "00027.HK", side: "sell", orderType: "limit" } as const;
  const { orderId: sale } = await client.orders.place({ ...other, quantity: "1000", price: "41.00" });
  execution.foreign.add(sale);
  const report = await execution.run(plan, QUICK);
  const open = (await client.orders.today({ market: "hk" }).toArray()).filter(({ canCancel }) => canCancel);
  assertEquals(open.map((order) => order.orderId).sort(), [orderId, sale].sort());
  const [sold, bought] = report.trades;
  assertEquals([sold!.filled, sold!.remaining, bought!.filled], ["1000", "1000", "200"]);
  assertEquals(sold!.reason, "only 0 of 1000 shares can be sold");
});

deskTest("a signal ends the execution: its orders are cancelled", async (testAccount) => {
  const plan = await planAt(testAccount.client, [PURCHASE]);
  const stop = new AbortController();
  let turns = 0;
  await using execution = await executor(testAccount, { onWait: () => void (++turns === 3 && stop.abort()) });
  const report = await execution.run(plan, RESTING, { signal: stop.signal, by: "Ada" });
  assertEquals([report.state, report.reason], ["stopped", `${STOPPED_BY} Ada`]);
  assertEquals((await execution.readBroker()).open, []);
  assertCounted(report);
}, { simulator: { script: RISING } });

deskTest("an order that the broker rejects ends its trade", async (testAccount) => {
  const plan = await planAt(testAccount.client, [SALES[0], PURCHASE]);
  testAccount.simulator.faults.arm({
    kind: "busy",
    operation: "orders.place",
    code: "1016",
    text: "invalid parameter: not today",
  });
  await using execution = await executor(testAccount);
  const sent = testAccount.count("orders.place");
  const report = await execution.run(plan, { ...QUICK, collar: "0.1" });
  const [sold, bought] = report.trades;
  assertEquals([sold!.filled, sold!.remaining], ["0", "1000"]);
  assertStringIncludes(sold!.reason!, "not today");
  assertEquals(bought!.filled, "200");
  assert(sent() >= 2);
});

for (const text of ["invalid parameter: not now", "an answer that does not show the outcome"]) {
  deskTest(
    `at the deadline an order is cancelled, although earlier cancellations had no effect: ${text}`,
    async (testAccount) => {
      const plan = await planAt(testAccount.client, [PURCHASE]);
      await using execution = await executor(testAccount);
      testAccount.simulator.faults.arm({
        kind: "busy",
        operation: "orders.cancel",
        code: "1016",
        text,
        times: 3,
      });
      const report = await execution.run(plan, {
        ...RESTING,
        repriceEvery: "30s",
        maxReprices: "0",
        deadline: "5m",
      });
      assertEquals(testAccount.simulator.faults.struck("busy"), 3);
      assertEquals([report.state, (await execution.readBroker()).open], ["stopped", []]);
      assertStringIncludes(execution.texts("cancelling").at(-1)!, "its deadline");
    },
    { simulator: { script: RISING } },
  );
}

deskTest(
  "if the board lot has grown since the plan, the trade ends and no odd lot is sent",
  async (testAccount) => {
    const { client, store, machine } = testAccount;
    const plan = await planAt(client, [SALES[1]]);
    const desk = testAccount.open();
    let readings = 0;
    const grown: PlanDesk = {
      store,
      account: ACCOUNT,
      machine,
      reconcile: (options) => desk.reconcile(options),
      whyHalted: () => desk.whyHalted(),
      client: (why) => {
        const inner = desk.client(why);
        const latest: typeof inner.quotes.latest = async (...args) =>
          // The first reading is before the execution begins.
          (await inner.quotes.latest(...args)).map((quote) => ({
            ...quote,
            ...readings++ > 0 && { lotSize: 400 },
          }));
        return { ...inner, quotes: { ...inner.quotes, latest } };
      },
    };
    const sent = testAccount.count("orders.place");
    const { trades: [trade] } = await rebalance(grown, plan, termsOf(QUICK));
    assertEquals([sent(), trade!.filled], [0, "0"]);
    assertEquals(trade!.reason, "the board lot is now 400, and 300 is not a multiple of it; make a new plan");
  },
);

deskTest(
  "a purchase with unknown fees is not made, because the cash may not cover it",
  async (testAccount) => {
    const { client, store, clock } = testAccount;
    const plan = await planAt(client, [PURCHASE]);
    const coverAt = (now: number) =>
      new Cover(plan, {
        store,
        account: ACCOUNT,
        reader: client,
        now: () => now,
        aheadMs: () => 0,
        signal: undefined,
      }).ofPurchase(plan.trades[0]!, { price: "500", wanted: "200", lot: "100" });
    assertEquals((await coverAt(clock.now())).quantity, "200");
    // No fees are published for that day.
    const { quantity, why } = await coverAt(Date.parse("1990-08-15T10:30:00+08:00"));
    assertEquals(quantity, "0");
    assertEquals(
      why,
      'the fees of "00700.HK" on 1990-08-15 are unknown, so the cash above the buffer is unknown',
    );
  },
);

deskTest("three executions of a plan at once make its trades once", async (testAccount) => {
  const plan = await planAt(testAccount.client, [...SALES, PURCHASE]);
  await using execution = await executor(testAccount);
  const outcomes = await Promise.allSettled([
    execution.run(plan, QUICK),
    execution.run(plan, QUICK),
    execution.run(plan, QUICK),
  ]);
  const done = outcomes.flatMap((each) => each.status === "fulfilled" ? [each.value] : []);
  const failed = outcomes.flatMap((each) => each.status === "rejected" ? [each.reason] : []);
  assert(done.length >= 1);
  for (const error of failed) assert(error instanceof BrokerError, String(error));
  assertEquals((await execution.readBroker()).used, {
    "sell 00027.HK": "1000",
    "sell 09999.HK": "300",
    "buy 00700.HK": "200",
  });
});

deskTest(
  "a process whose lease was taken over stops with an error and does not change the record",
  async (testAccount) => {
    const { store, clock } = testAccount;
    const plan = await planAt(testAccount.client, [PURCHASE]);
    let turns = 0;
    await using execution = await executor(testAccount, {
      onWait: async () => {
        if (++turns !== 3) return;
        clock.advance(120_000); // this process was paused
        await beginPlan(store, keyOf(plan), {
          holder: "other",
          at: clock.now(),
          leaseMs: 60_000,
          deadlineAt: 0,
        });
      },
    });
    assertEquals((await assertRejects(() => execution.run(plan, RESTING), BrokerError)).code, "plan-held");
    const found = await findPlan(store, ACCOUNT, plan.hash);
    assertEquals([found?.state, found?.holder, found?.report], ["running", "other", undefined]);
  },
  { simulator: { script: RISING } },
);

deskTest(
  "an old quote, or a quantity that is not a multiple of the broker's lot, is an error before anything is sent",
  async (testAccount) => {
    const { client, store } = testAccount;
    const wrong = await planAt(client, [{ ...PURCHASE, quantity: "150" }]);
    await using execution = await executor(testAccount);
    const sent = testAccount.count("orders.place");
    const { message } = await assertRejects(() => execution.run(wrong), InvalidParamsError);
    assertStringIncludes(
      message,
      'trades.0.quantity: expected a multiple of the board lot 100 of "00700.HK" in hk',
    );
    const plan = await planAt(client, [PURCHASE], { hash: "b".repeat(64) });
    const desk = testAccount.open();
    const changed = {
      store,
      account: ACCOUNT,
      machine: testAccount.machine,
      reconcile: desk.reconcile.bind(desk),
      whyHalted: () => desk.whyHalted(),
      client: (why: Parameters<typeof desk.client>[0]) => {
        const inner = desk.client(why);
        const latest: typeof inner.quotes.latest = async (...args) =>
          (await inner.quotes.latest(...args)).map((quote) => ({ ...quote, marketTime: "20250815101400" }));
        return { ...inner, quotes: { ...inner.quotes, latest } };
      },
    };
    const old = await assertRejects(() => rebalance(changed, plan, termsOf()), InvalidParamsError);
    assertStringIncludes(old.message, 'a quote of "00700.HK" that is current: the quote is 960 s old');
    const lotless = {
      ...changed,
      client: (why: Parameters<typeof desk.client>[0]) => {
        const inner = desk.client(why);
        const latest: typeof inner.quotes.latest = async (...args) =>
          (await inner.quotes.latest(...args)).map(({ lotSize: _, ...quote }) => quote);
        return { ...inner, quotes: { ...inner.quotes, latest } };
      },
    };
    const none = await assertRejects(() => rebalance(lotless, plan, termsOf()), InvalidParamsError);
    assertStringIncludes(
      none.message,
      'a board lot of "00700.HK" that the broker confirms: it sent no board lot',
    );
    assertEquals([sent(), (await findPlan(store, ACCOUNT, plan.hash))?.state], [0, "approved"]);
  },
);

deskTest("a recorded plan is executed only after its approval", async (testAccount) => {
  const { store, clock } = testAccount;
  const plan = await planAt(testAccount.client, [PURCHASE]);
  await recordPlan(store, { account: ACCOUNT, plan, terms: termsOf(QUICK), at: clock.now() });
  await using execution = await executor(testAccount);
  const sent = testAccount.count("orders.place");
  assertEquals(
    (await assertRejects(() => execution.run(plan, QUICK), BrokerError)).code,
    "plan-not-approved",
  );
  assertEquals(sent(), 0);
  await approve(testAccount, plan);
  assertEquals((await execution.run(plan, QUICK)).state, "done");
});

deskTest("the odd shares of a sale are ordered as an odd lot", async (testAccount) => {
  const { client } = testAccount;
  const plan = await planAt(client, [{ symbol: "09999.HK", side: "sell", quantity: "50", isOddLot: true }]);
  await using execution = await executor(testAccount);
  const report = await execution.run(plan, { ...QUICK, peg: "bid", collar: "0.1", deadline: "5m" });
  const [intent] = await intentsOfPlan(testAccount.store, ACCOUNT, plan.hash);
  assertEquals(intent!.params.orderType, "odd-lot");
  assertCounted(report);
});

const algorithms: { strategy: string; percent?: string }[] = [
  { strategy: "twap" },
  { strategy: "vwap" },
  { strategy: "pov", percent: "20" },
];
for (const algorithm of algorithms) {
  deskTest(`a ${algorithm.strategy} order of the broker replaces the limit orders`, async (testAccount) => {
    const plan = await planAt(testAccount.client, [{ ...PURCHASE, quantity: "1000" }]);
    await using execution = await executor(testAccount);
    const sent = testAccount.count("algo.place");
    const report = await execution.run(plan, { algorithm, collar: "0.03", deadline: "20m" });
    const [intent] = await intentsOfPlan(testAccount.store, ACCOUNT, plan.hash);
    assertEquals([sent(), intent!.operation], [1, "algo.place"]);
    assertEquals(intent!.params.strategy, algorithm.strategy);
    const { percent } = intent!.params.settings as { percent?: number };
    assertEquals(percent, algorithm.percent === undefined ? undefined : Number(algorithm.percent));
    assertCounted(report);
    assert(report.trades[0]!.filled !== "0", JSON.stringify([report, execution.events]));
  }, { skip: { direct: "algorithmic orders have no published socket message" } });
}

deskTest(
  "without a socket message, an algorithmic order is an error, and nothing is sent",
  async (testAccount) => {
    const plan = await planAt(testAccount.client, [PURCHASE]);
    await using execution = await executor(testAccount);
    const report = await execution.run(plan, { algorithm: { strategy: "twap" } });
    assertEquals([report.state, (await execution.readBroker()).used], ["stopped", {}]);
    assertStringIncludes(report.trades[0]!.reason!, "over the direct transport");
  },
  { skip: { memory: "it has the algorithmic orders", gateway: "it has the algorithmic orders" } },
);

deskTest(
  "the orders of other programs in the same listing stay when the plan's own order is cancelled",
  async (testAccount) => {
    const { client } = testAccount;
    const plan = await planAt(client, [PURCHASE]);
    await using execution = await executor(testAccount);
    const { orderId } = await client.orders.place({ ...ORDER, price: "560.00" });
    execution.foreign.add(orderId);
    const report = await execution.run(plan, { ...RESTING, deadline: "2m" });
    assertEquals([report.state, execution.texts("cancelling").length], ["stopped", 1]);
    const open = (await client.orders.today({ market: "hk" }).toArray()).filter(({ canCancel }) => canCancel);
    assertEquals(open.map((order) => order.orderId), [orderId]);
  },
  { simulator: { script: RISING } },
);

deskTest(
  "an order that somebody cancels elsewhere is replaced only as often as the terms say",
  async (testAccount) => {
    const { client } = testAccount;
    const plan = await planAt(client, [PURCHASE]);
    await using execution = await executor(testAccount, {
      async onWait({ open }) {
        for (const orderId of open) await client.orders.cancel({ market: "hk", symbol: "00700.HK", orderId });
      },
    });
    const sent = testAccount.count("orders.place");
    const report = await execution.run(plan, { ...RESTING, maxReprices: "2" });
    assertEquals([sent(), report.state, report.trades[0]!.filled], [3, "stopped", "0"]);
    assertEquals(report.trades[0]!.reason, "not filled at 3 prices in time");
  },
  { simulator: { script: RISING } },
);

deskTest(
  "the quantity by which somebody reduces an order elsewhere is reported and not ordered again",
  async (testAccount) => {
    const { client } = testAccount;
    const plan = await planAt(client, [PURCHASE]);
    let isReduced = false;
    await using execution = await executor(testAccount, {
      async onWait({ open: [orderId] }) {
        if (orderId === undefined || isReduced) return;
        isReduced = true;
        await client.orders.amend({
          market: "hk",
          symbol: "00700.HK",
          orderId,
          quantity: "100",
          price: "610.00",
        });
      },
    });
    const report = await execution.run(plan, RESTING);
    const [trade] = report.trades;
    assertEquals([report.state, trade!.filled, trade!.remaining], ["stopped", "100", "100"]);
    assertStringIncludes(trade!.reason!, "an order was reduced after it was sent");
    assertCounted(report);
  },
  { simulator: { script: RISING } },
);

deskTest("a plan that differs from the record with its hash is not executed", async (testAccount) => {
  const { store, clock } = testAccount;
  const plan = await planAt(testAccount.client, [PURCHASE]);
  await recordPlan(store, { account: ACCOUNT, plan, terms: termsOf(QUICK), at: clock.now() });
  await approve(testAccount, plan);
  await using execution = await executor(testAccount);
  const sent = testAccount.count("orders.place");
  const other = { ...plan, cashBuffer: { HKD: "-1000000.00" } };
  assertEquals((await assertRejects(() => execution.run(other, QUICK), BrokerError)).code, "plan-changed");
  assertEquals([sent(), (await findPlan(store, ACCOUNT, plan.hash))?.state], [0, "approved"]);
});
