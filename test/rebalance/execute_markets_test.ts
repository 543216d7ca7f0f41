/** Tests of executions in the US and on the mainland: market hours, cash in other currencies, shares bought today. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { add, compare } from "../../lib/decimal.ts";
import type { Market } from "../../lib/dictionaries/market.ts";
import { securityFor } from "../../lib/rebalance/input/broker.ts";
import {
  makePlan,
  type Plan,
  readBrokerAccount,
  readRebalanceFile,
  rebalance,
  type RebalanceReport,
} from "../../lib/rebalance/mod.ts";
import { deskTest, type DeskUnderTest } from "../desk/support.ts";
import { QUICK } from "./executor.ts";
import { type GivenTrade, planOf, termsOf } from "./support.ts";

type MarketTrade = Omit<GivenTrade, "price"> & { market: Market };

/** Returns a plan at the last prices. */
async function planIn(
  { client }: DeskUnderTest,
  trades: readonly MarketTrade[],
  buffer: Plan["cashBuffer"],
): Promise<Plan> {
  const priced = await Promise.all(trades.map(async (trade) => {
    const [quote] = await client.quotes.latest({ securities: [securityFor(trade.market, trade.symbol)!] });
    return { ...trade, price: quote!.lastPrice! };
  }));
  return planOf(priced, { cashBuffer: buffer });
}

/** Executes a plan; the simulated market advances while the execution waits. */
async function run(
  testAccount: DeskUnderTest,
  plan: Plan,
  terms: Record<string, unknown> = QUICK,
): Promise<RebalanceReport> {
  const setTimer = (ms: number, callback: () => void) =>
    testAccount.machine.setTimer(ms, () => {
      testAccount.round();
      callback();
    });
  const desk = testAccount.open({ machine: { ...testAccount.machine, setTimer }, resolveMs: 0 });
  return await rebalance(desk, plan, termsOf(terms));
}

/** Returns the filled quantity at the broker, by side and symbol, without the orders in `earlier`. */
async function filledIn({ client }: DeskUnderTest, market: Market, earlier: ReadonlySet<string>) {
  const orders = (await client.orders.today({ market }).toArray()).filter(({ orderId }) =>
    !earlier.has(orderId)
  );
  assert(orders.every(({ canCancel }) => canCancel !== true), "an order is open");
  const filled: Record<string, string> = {};
  for (const { side, symbol, filledQuantity = "0" } of orders) {
    filled[`${side} ${symbol}`] = add(filled[`${side} ${symbol}`] ?? "0", filledQuantity);
  }
  return filled;
}

const idsIn = async ({ client }: DeskUnderTest, market: Market) =>
  new Set((await client.orders.today({ market }).toArray()).map(({ orderId }) => orderId));

deskTest("a plan in the US sells single shares, and buys with USD above the buffer", async (testAccount) => {
  const { client } = testAccount;
  const { available: before = "0" } = await client.account.funds({ market: "us" });
  const plan = await planIn(testAccount, [
    { market: "us", symbol: "MSFT", side: "sell", quantity: "31" },
    { market: "us", symbol: "AAPL", side: "buy", quantity: "17" },
  ], { USD: "200000" });
  const earlier = await idsIn(testAccount, "us");
  const report = await run(testAccount, plan);
  assertEquals(report.trades.map(({ filled, currency }) => [filled, currency]), [["31", "USD"], [
    "17",
    "USD",
  ]]);
  assertEquals(await filledIn(testAccount, "us", earlier), { "sell MSFT": "31", "buy AAPL": "17" });
  const { available: after = "0" } = await client.account.funds({ market: "us" });
  assert(compare(after, before) > 0 && compare(after, "200000") >= 0, after);
}, { at: Date.parse("2025-08-15T10:30:00-04:00") });

deskTest("a plan without USD above the buffer buys nothing", async (testAccount) => {
  const { available = "0" } = await testAccount.client.account.funds({ market: "us" });
  const plan = await planIn(testAccount, [{ market: "us", symbol: "AAPL", side: "buy", quantity: "17" }], {
    USD: available,
  });
  const sent = testAccount.count("orders.place");
  const { state, trades: [trade] } = await run(testAccount, plan, { ...QUICK, deadline: "3m" });
  assertEquals([sent(), state, trade!.filled], [0, "stopped", "0"]);
  assertStringIncludes(trade!.reason!, "the cash covers 0 of 17 shares: 0 USD above the buffer");
}, { at: Date.parse("2025-08-15T10:30:00-04:00") });

deskTest("a plan in the US that ends before the US opens sends nothing", async (testAccount) => {
  const plan = await planIn(
    testAccount,
    [{ market: "us", symbol: "MSFT", side: "sell", quantity: "31" }],
    {},
  );
  const sent = testAccount.count("orders.place");
  const { state, trades: [trade] } = await run(testAccount, plan);
  assertEquals([sent(), state], [0, "stopped"]);
  assertStringIncludes(
    trade!.reason!,
    "us is closed until 2025-08-15 09:30 (America/New_York), and the execution ends before that",
  );
});

deskTest(
  "a plan on the mainland sells what was not bought today, and buys lots with CNY",
  async (testAccount) => {
    const { client } = testAccount;
    const order = { market: "shanghai", symbol: "600036.SH", orderType: "limit", side: "buy" } as const;
    const plan = await planIn(testAccount, [
      { market: "shanghai", symbol: "600036.SH", side: "sell", quantity: "2300" },
      { market: "shenzhen", symbol: "000858.SZ", side: "buy", quantity: "200" },
    ], { CNY: "1000000" });
    const [{ price }] = plan.trades as [Plan["trades"][number]];
    await client.orders.place({ ...order, quantity: "100", price: (Number(price) + 0.5).toFixed(2) });
    for (let turn = 0; turn < 10; turn++) {
      testAccount.clock.advance(30_000);
      testAccount.round();
    }
    const [held] = (await client.account.holdings({ market: "shanghai" })).filter(({ symbol }) =>
      symbol === "600036.SH"
    );
    assertEquals([held!.quantity, held!.sellableQuantity], ["2300", "2200"]);
    const earlier = new Set([
      ...await idsIn(testAccount, "shanghai"),
      ...await idsIn(testAccount, "shenzhen"),
    ]);
    const report = await run(testAccount, plan);
    const [sold, bought] = report.trades;
    assertEquals([sold!.filled, sold!.remaining, sold!.currency, bought!.filled], [
      "2200",
      "100",
      "CNY",
      "200",
    ]);
    assertEquals(sold!.reason, "only 0 of 100 shares can be sold");
    assertEquals(await filledIn(testAccount, "shanghai", earlier), { "sell 600036.SH": "2200" });
    assertEquals(await filledIn(testAccount, "shenzhen", earlier), { "buy 000858.SZ": "200" });
  },
);

deskTest(
  "a plan on the mainland sells the odd remainder of a position that it sells completely",
  async (testAccount) => {
    const { client, clock } = testAccount;
    clock.set(Date.parse("2025-08-15T10:30:00+08:00")); // after the split
    testAccount.round();
    const settings = await readRebalanceFile(
      JSON.stringify({ market: "shanghai", targets: { "601888.SH": "0.1" }, oddLots: "sell" }),
      { name: "p.json" },
    );
    const account = await readBrokerAccount(client, settings, {
      now: () => clock.now(),
      calendars: builtInCalendars,
    });
    const plan = await makePlan(settings, account);
    assertEquals(
      plan.trades.filter(({ symbol }) => symbol === "600036.SH").map((
        { side, quantity, isOddLot = false },
      ) => [side, quantity, isOddLot]),
      [["sell", "2300", false], ["sell", "10", true]],
    );
    const earlier = await idsIn(testAccount, "shanghai");
    const { state } = await run(testAccount, plan, { ...QUICK, peg: "bid", collar: "0.1" });
    assertEquals(state, "done");
    assertEquals((await filledIn(testAccount, "shanghai", earlier))["sell 600036.SH"], "2310");
    const held = (await client.account.holdings({ market: "shanghai" })).filter(({ symbol }) =>
      symbol === "600036.SH"
    );
    assertEquals(held.map(({ quantity }) => quantity).filter((quantity) => quantity !== "0"), []);
  },
  {
    at: Date.parse("2025-08-14T10:30:00+08:00"),
    simulator: { script: [{ what: "split", symbol: "600036.SH", on: "2025-08-15", ratio: "21:20" }] },
  },
);
