/**
 * Tests of the list of rebalancing trades: plans are executed at a simulated broker, and the day book states their
 * costs.
 *
 * @module
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { parse } from "@std/csv";
import { DayBookError, type DayBookOptions, exportDayBook } from "../../lib/day_book/mod.ts";
import { multiply, normalize, subtract, sumOf } from "../../lib/decimal.ts";
import { intentsOfPlan } from "../../lib/desk/queries.ts";
import { findPlan, rebalanceTradesOf, reportOf } from "../../lib/rebalance/mod.ts";
import { ACCOUNT, deskTest, type DeskUnderTest } from "../desk/support.ts";
import { executor, planAt, PURCHASE, QUICK, SALES } from "../rebalance/executor.ts";
import { temporaryFolder } from "./simulated.ts";

const FRIDAY = "2025-08-15";
type Row = Record<string, string>;

/** Exports Friday from the simulated broker of a desk. */
async function exportFriday(testAccount: DeskUnderTest, out: string, more: Partial<DayBookOptions> = {}) {
  const result = await exportDayBook(testAccount.client, {
    markets: ["hk"],
    accounts: ["securities"],
    from: FRIDAY,
    to: FRIDAY,
    out,
    now: () => testAccount.clock.now(),
    rebalanceTrades: rebalanceTradesOf({ store: testAccount.store, account: ACCOUNT }),
    ...more,
  });
  return { ...result.days[0]!, ok: result.ok, result };
}

/** Sets the clock, and lets the broker do what is due until then. */
function passTo(testAccount: DeskUnderTest, at: string): void {
  testAccount.clock.set(Date.parse(at));
  testAccount.round();
}

const csvOf = (path: string): Row[] => parse(Deno.readTextFileSync(path), { skipFirstRow: true });
const jsonOf = (path: string): Row[] =>
  Deno.readTextFileSync(path).trimEnd().split("\n").filter((line) => line !== "").map((line) =>
    JSON.parse(line)
  );
const tradesIn = (out: string, day = FRIDAY) => csvOf(`${out}/${day}/rebalance_trades.csv`);
const summaryOf = (out: string, day = FRIDAY) =>
  JSON.parse(Deno.readTextFileSync(`${out}/${day}/summary.json`));

deskTest(
  "the day book has the trades of a plan, and their costs according to the day book's own fills",
  async (testAccount) => {
    const plan = await planAt(testAccount.client, [...SALES, PURCHASE]);
    await using at = await executor(testAccount);
    assertEquals((await at.run(plan, QUICK)).state, "done");
    using folder = temporaryFolder();
    const out = folder.path;

    const early = await exportFriday(testAccount, out);
    assertEquals([early.status, early.result.withoutRebalanceTrades], ["provisional", undefined]);
    assertEquals(tradesIn(out).map(({ feesBooked, feesStatus }) => [feesBooked, feesStatus]), [
      ["", "not booked yet"],
      ["", "not booked yet"],
      ["", "not booked yet"],
    ]);
    assertEquals(early.rebalance?.[0]?.fees.booked, undefined);

    passTo(testAccount, "2025-08-15T20:00:00+08:00");
    const final = await exportFriday(testAccount, out);
    assertEquals([final.action, final.differences, final.rows.rebalance_trades], ["replaced", 0, 3]);
    const rows = tradesIn(out);
    const fills = csvOf(`${out}/${FRIDAY}/fills.csv`);
    // The report reads the broker's lists by itself.
    const record = (await findPlan(testAccount.store, ACCOUNT, plan.hash))!;
    const intents = await intentsOfPlan(testAccount.store, ACCOUNT, plan.hash);
    const report = await reportOf(testAccount.client, record, intents, { now: testAccount.clock.now() });
    for (const [index, row] of rows.entries()) {
      const trade = report.trades[index]!;
      assertEquals([row.symbol, row.side, row.trade, row.plan], [
        trade.symbol,
        trade.side,
        String(index + 1),
        plan.hash,
      ]);
      assertEquals([row.plannedQuantity, row.filledQuantity, row.remainingQuantity], [
        trade.planned,
        trade.planned,
        "0",
      ]);
      assertEquals(row.orderIds!.split(" "), trade.orderIds);
      assertEquals([row.averagePrice, row.arrivalPrice], [trade.averagePrice, trade.arrivalPrice]);
      assertEquals([row.slippage, row.slippageBps], [
        trade.slippage!.money,
        normalize(multiply(trade.slippage!.part, "10000")),
      ]);
      assertEquals([row.feesEstimated, row.feesBooked, row.feesStatus], [
        "10.00",
        normalize(trade.fees.booked!),
        "booked",
      ]);
      const own = fills.filter(({ orderId }) => trade.orderIds.includes(orderId!));
      assertEquals(row.feesBooked, normalize(sumOf(own.map(({ total }) => total!))));
      assertEquals(row.fillAmount, normalize(sumOf(own.map(({ fillAmount }) => fillAmount!))));
      assertEquals(row.feesDifference, normalize(subtract(row.feesBooked!, "10.00")));
      const atArrival = multiply(row.arrivalPrice!, row.filledQuantity!);
      const cost = row.side === "buy"
        ? subtract(row.fillAmount!, atArrival)
        : subtract(atArrival, row.fillAmount!);
      assertEquals(row.slippage, normalize(cost));
      assertEquals([row.driftBefore, row.driftPlanned, row.driftReached], [
        report.drift.before,
        report.drift.planned,
        report.drift.reached,
      ]);
    }
    assertEquals(
      jsonOf(`${out}/${FRIDAY}/rebalance_trades.jsonl`).map((row) => ({ ...row, trade: String(row.trade) })),
      rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, cell]) => cell !== "")) as Row),
    );
    const { checks, rebalance, files, withoutRebalanceTrades } = summaryOf(out);
    const check = checks.find((each: Row) => each.check === "rebalance");
    assertEquals([check.result, check.differences], ["passed", 0]);
    assertEquals([rebalance, withoutRebalanceTrades], [final.rebalance, undefined]);
    assertEquals(rebalance, [{
      plan: plan.hash,
      state: "done",
      trades: 3,
      filled: 3,
      slippage: report.slippage,
      fees: { estimated: { HKD: "30" }, booked: report.fees.booked },
      drift: report.drift,
    }]);
    assert(files["rebalance_trades.csv"] !== undefined && files["rebalance_trades.jsonl"] !== undefined);
    if (Deno.build.os !== "windows") {
      assertEquals(Deno.statSync(`${out}/${FRIDAY}/rebalance_trades.csv`).mode! & 0o777, 0o600);
    }
    const again = await exportFriday(testAccount, out, { refresh: true });
    assertEquals([again.action, again.rebalance], ["unchanged", final.rebalance]);
    // Without the store, the trades would be lost.
    const error = await assertRejects(
      () => exportFriday(testAccount, out, { rebalanceTrades: undefined, refresh: true }),
      DayBookError,
    );
    assertStringIncludes(
      error.message,
      "contains rebalancing trades, which only a store has; name the store",
    );
  },
);

deskTest(
  "the day book says why a quantity of a plan remains, and that a trade without fills has no fees",
  async (testAccount) => {
    const { available = "0" } = await testAccount.client.account.funds({ market: "hk" });
    const plan = await planAt(testAccount.client, [{ ...PURCHASE, quantity: "500" }], {
      cashBuffer: { HKD: subtract(available, "150000") }, // enough for two lots
    });
    const none = await planAt(testAccount.client, [PURCHASE], {
      hash: "b".repeat(64),
      cashBuffer: { HKD: available },
    });
    await using at = await executor(testAccount);
    const nothing = await at.run(none, { ...QUICK, deadline: "2m" });
    const report = await at.run(plan, { ...QUICK, maxReprices: "5" });
    assertEquals([report.state, nothing.trades[0]!.filled], ["stopped", "0"]);
    passTo(testAccount, "2025-08-15T20:00:00+08:00");
    using folder = temporaryFolder();
    const { rebalance } = await exportFriday(testAccount, folder.path);
    const [empty, row] = tradesIn(folder.path);
    assertEquals([row!.state, row!.filledQuantity, row!.remainingQuantity], ["stopped", "200", "300"]);
    assertEquals([row!.reason, row!.feesStatus, row!.feesDifference], [
      report.trades[0]!.reason,
      "booked",
      "",
    ]);
    assertStringIncludes(row!.reason!, "HKD above the buffer");
    assertEquals([empty!.filledQuantity, empty!.feesStatus, empty!.averagePrice, empty!.slippage], [
      "0",
      "no fills",
      "",
      "",
    ]);
    assertEquals([empty!.remainingQuantity, empty!.reason], ["200", nothing.trades[0]!.reason]);
    assertEquals(rebalance?.map(({ trades, filled, fees }) => [trades, filled, fees.booked]), [
      [1, 0, { HKD: "0" }],
      [1, 0, { HKD: row!.feesBooked! }],
    ]);
  },
);

deskTest("a fill that the store has and the broker's list lacks is a difference", async (testAccount) => {
  const plan = await planAt(testAccount.client, [PURCHASE]);
  await using at = await executor(testAccount);
  await at.run(plan, QUICK);
  passTo(testAccount, "2025-08-16T12:00:00+08:00");
  using folder = temporaryFolder();
  const out = folder.path;
  const intents = await intentsOfPlan(testAccount.store, ACCOUNT, plan.hash);
  const [filled, ...others] = intents.filter((intent) => intent.filled !== "0");
  assertEquals(others, []);
  testAccount.simulator.faults.arm({ kind: "empty-page", operation: "fills.history" });
  const missing = await exportFriday(testAccount, out);
  assertEquals(testAccount.simulator.faults.struck("empty-page"), 1);
  assertEquals([missing.ok, missing.status], [false, "provisional"]);
  const found = missing.result.differences.find(({ check }) => check === "rebalance");
  assertEquals([found?.list, found?.market, found?.expected, found?.actual], [
    "rebalance_trades",
    "hk",
    "200",
    "0",
  ]);
  assertStringIncludes(found!.message, `order ${filled!.orderIds[0]} of the rebalancing plan`);
  const [row] = tradesIn(out);
  assertEquals([row!.rowKey, row!.feesStatus, row!.averagePrice], [found!.rowKey, "unknown", ""]);
  const listed = csvOf(`${out}/${FRIDAY}/differences.csv`).filter(({ check }) => check === "rebalance");
  assertEquals(listed.map(({ rowKey }) => rowKey), [row!.rowKey]);
  // The next export has the fills.
  const next = await exportFriday(testAccount, out);
  assertEquals([next.ok, next.differences, tradesIn(out)[0]!.feesStatus], [true, 0, "booked"]);
});
