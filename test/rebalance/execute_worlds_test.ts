/**
 * Executes plans in worlds that a seed draws: prices that jump, halted listings, lost requests and answers, lists that
 * cannot be read, orders of other programs, halts of the desk, and executions that end and continue. Each time
 * the execution waits, its orders must not exceed the plan, and the cash must not be below the buffer.
 *
 * `HSGATE_FIRST_WORLD` sets the first seed, and `HSGATE_WORLDS` the number of seeds.
 */
import { assert, assertEquals } from "@std/assert";
import { add, compare, subtract } from "../../lib/decimal.ts";
import { clearHalt, setHalt, unresolvedIntents } from "../../lib/desk/queries.ts";
import { BrokerError, BusyError } from "../../lib/errors.ts";
import { approvePlan, findPlan, type RebalanceReport } from "../../lib/rebalance/mod.ts";
import type { ScriptEntry } from "../../lib/simulator/script.ts";
import { randomFrom } from "../../lib/time.ts";
import { MORNING, ORDER } from "../conformance/simulated_account.ts";
import { ACCOUNT, deskTest } from "../desk/support.ts";
import { executor, planAt } from "./executor.ts";

const SEEDS = Number(Deno.env.get("HSGATE_WORLDS") ?? 3);
const FIRST = Number(Deno.env.get("HSGATE_FIRST_WORLD") ?? 4);
const lots = {
  "00027.HK": 1000,
  "09999.HK": 100,
  "01211.HK": 500,
  "00823.HK": 100,
  "00700.HK": 100,
  "00005.HK": 400,
};
const held = { "00027.HK": 2000, "09999.HK": 500, "01211.HK": 500, "00823.HK": 2100 };
const levels = {
  "00027.HK": 39.2,
  "09999.HK": 201,
  "01211.HK": 112,
  "00823.HK": 40.8,
  "00700.HK": 596,
  "00005.HK": 100.7,
};

for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
  let random = randomFrom(seed);
  const below = (most: number) => Math.floor(random() * most);
  const time = () => `2025-08-15 10:${String(30 + below(25)).padStart(2, "0")}`;
  const symbols = Object.keys(lots) as (keyof typeof lots)[];
  const script = symbols.flatMap((symbol): ScriptEntry[] => {
    const kind = below(5);
    if (kind === 0) return [{ what: "halt" as const, symbol, at: time(), for: `${1 + below(20)}m` }];
    if (kind > 2) return [];
    const to = (levels[symbol] * (0.95 + random() * 0.1)).toFixed(0);
    return [{
      what: "price" as const,
      symbol,
      at: time(),
      to,
      ...kind === 1 && { over: `${1 + below(10)}m` },
    }];
  });
  deskTest(`world ${seed} of a plan keeps its caps and its buffer`, async (testAccount) => {
    const { client, simulator: { faults }, store, clock } = testAccount;
    random = randomFrom(seed + 1_000_000); // the same for each store
    const { available = "0" } = await client.account.funds({ market: "hk" });
    const sales = (Object.keys(held) as (keyof typeof held)[]).filter(() => random() < 0.7).map((symbol) => ({
      symbol,
      side: "sell" as const,
      quantity: String(lots[symbol] * (1 + below(held[symbol] / lots[symbol]))),
    }));
    const purchases = (["00700.HK", "00005.HK"] as const).filter(() => random() < 0.8).map((symbol) => ({
      symbol,
      side: "buy" as const,
      quantity: String(lots[symbol] * (1 + below(20))),
    }));
    const trades = [...sales, ...purchases];
    if (trades.length === 0) return;
    const plan = await planAt(client, trades, {
      hash: String(seed).padStart(64, "0"),
      cashBuffer: { HKD: subtract(available, String(below(600_000))) },
    });
    let stop = new AbortController();
    await using execution = await executor(testAccount, {
      async onWait() {
        const roll = random();
        if (roll < 0.02) faults.arm({ kind: "lost-answer", operation: "orders.place" });
        else if (roll < 0.04) faults.arm({ kind: "lost-request", operation: "orders.place" });
        else if (roll < 0.06) faults.arm({ kind: "lost-answer", operation: "orders.cancel" });
        else if (roll < 0.08) faults.arm({ kind: "busy", operation: "orders.today", times: 1 + below(6) });
        else if (roll < 0.09) faults.arm({ kind: "busy", operation: "account.funds", times: 1 + below(6) });
        else if (roll < 0.1) {
          await setHalt(store, { account: ACCOUNT, why: "world", by: "seed", at: clock.now() });
        } else if (roll < 0.11) stop.abort();
        else if (roll < 0.115) clock.advance(70_000);
        else if (roll < 0.13 && faults.armed.length === 0) {
          // Somebody sells, at the broker, shares that the plan may be selling.
          const order = {
            ...ORDER,
            symbol: "09999.HK",
            side: "sell",
            quantity: "100",
            price: "215",
          } as const;
          try {
            execution.foreign.add((await client.orders.place(order)).orderId);
          } catch (error) {
            if (!(error instanceof BrokerError)) throw error;
          }
        }
      },
    });
    let report: RebalanceReport | undefined;
    for (let go = 0; go < 6; go++) {
      stop = new AbortController();
      if (go === 5) faults.clear();
      const terms = { peg: "mid", collar: "0.06", repriceEvery: "20s", maxReprices: "10", deadline: "10m" };
      try {
        report = await execution.run(plan, terms, { signal: stop.signal });
        for (const { planned, filled, open, unknown, remaining } of report.trades) {
          assertEquals(add(filled, open, unknown, remaining), planned);
        }
      } catch (error) {
        if (!(error instanceof BusyError)) throw error; // the prices could not be read before it began
      }
      if (report?.state === "done") break;
      faults.clear();
      await clearHalt(store, ACCOUNT);
      await testAccount.pass(600_000, 10);
      await approvePlan(store, { account: ACCOUNT, hash: plan.hash }, {
        by: "seed",
        at: clock.now(),
        until: clock.now() + 600_000,
      });
    }
    const { used } = await execution.readBroker();
    const unresolved = await unresolvedIntents(store, ACCOUNT);
    for (const { side, symbol, filled } of report!.trades) {
      // The report says what the broker has; an order whose outcome is unknown may have filled.
      const atBroker = used[`${side} ${symbol}`] ?? "0";
      assert(
        unresolved.length > 0 || compare(atBroker, filled) === 0,
        `${side} ${symbol}: the report says ${filled}, and the broker ${atBroker}`,
      );
    }
    assert((await findPlan(store, ACCOUNT, plan.hash))?.report !== undefined);
  }, {
    at: MORNING,
    simulator: { script },
    skip: { gateway: "memory is enough for drawn worlds", direct: "memory is enough for drawn worlds" },
  });
}
