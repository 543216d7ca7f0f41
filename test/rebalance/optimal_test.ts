/** Compares the plans of small accounts with every combination of trades. */
import { assert, assertEquals } from "@std/assert";
import { add, compare, divide, isZero, multiply, normalize, subtract } from "../../lib/decimal.ts";
import { InvalidParamsError } from "../../lib/errors.ts";
import { makePlan, type Plan, readRebalanceFile } from "../../lib/rebalance/mod.ts";
import { bruteForce, measuresOf, micro, type Outcome, type SmallCase } from "./brute_force.ts";
import { filesOf, smallCase } from "./small_cases.ts";

const CASES = 10_000;

/** Returns the drift after the trades of a plan, and their turnover, in the units of the brute force. */
function outcomeOf(of: SmallCase, plan: Plan): Outcome {
  const { squared, worth } = measuresOf(of);
  const currencies = { hk: "HKD", us: "USD", shanghai: "CNY" };
  let [drift, turnover] = [0n, 0n];
  for (const { market, symbol, price, quantity, target } of of.listings) {
    let after = worth(price, quantity, currencies[market]);
    for (const trade of plan.trades.filter((each) => each.symbol === symbol)) {
      const value = worth(price, trade.quantity, currencies[market]);
      turnover += value;
      after += trade.side === "buy" ? value : -value;
    }
    drift += squared(after, target);
  }
  return { drift, turnover };
}

Deno.test(`makePlan() finds the best plan of ${CASES} small accounts: least drift, then least turnover`, async () => {
  const count = { best: 0, impossible: 0, combinations: 0, trades: 0, bounds: 0 };
  for (let seed = 1; seed <= CASES; seed++) {
    const of = smallCase(seed);
    if (of.sellOnly) of.cashFlowOnly = false;
    const { best, combinations } = bruteForce(of);
    count.combinations += combinations;
    const { file, account } = filesOf(of);
    const settings = await readRebalanceFile(file, { name: "small.json" });
    let plan: Plan | undefined;
    try {
      plan = await makePlan(settings, account);
    } catch (error) {
      if (!(error instanceof InvalidParamsError)) throw error;
      const isWithoutValue = measuresOf(of).value === 0n;
      assert(best === undefined || isWithoutValue, `seed ${seed}: ${error.message}`);
      count.impossible++;
      continue;
    }
    assert(best !== undefined, `seed ${seed}: a plan that breaks a limit: ${JSON.stringify(plan.trades)}`);
    assertEquals(outcomeOf(of, plan), best, `seed ${seed}`);
    assert(plan.optimal, `seed ${seed}`);
    assertEquals(plan.lowerBound, plan.sumSquaredDrift, `seed ${seed}`);
    const scale = String((measuresOf(of).value * 1_000_000n) ** 2n);
    assertEquals(
      plan.sumSquaredDrift,
      normalize(divide(String(best.drift), scale, 20, "half-even")),
      `seed ${seed}`,
    );
    // Without the complete search the plan may be worse, but its bound is never above the best plan.
    const quick = await makePlan(settings, account, { steps: 0 }).catch(() => undefined);
    if (quick !== undefined) {
      assert(compare(quick.lowerBound, plan.sumSquaredDrift) <= 0, `seed ${seed}: ${quick.lowerBound}`);
      assert(outcomeOf(of, quick).drift >= best.drift, `seed ${seed}`);
      count.bounds++;
    }
    // The cash must agree exactly.
    for (const [currency, before] of Object.entries(of.cash)) {
      const markets = { HKD: "hk", USD: "us", CNY: "shanghai" } as const;
      const change = plan.trades.filter(({ market }) => market === markets[currency as keyof typeof markets])
        .map((
          { side, value, fees },
        ) => side === "buy" ? subtract("0", add(value, fees)) : subtract(value, fees));
      const after = plan.cashAfter[currency];
      if (after === undefined) continue;
      assertEquals(micro(after), micro(add(before, ...change)), `seed ${seed} ${currency}`);
      for (const { price, quantity, value } of plan.trades) {
        assert(isZero(subtract(value, multiply(price, quantity))));
      }
    }
    count.best++;
    count.trades += plan.trades.length;
  }
  // deno-lint-ignore no-console -- the counts are part of what the test shows
  console.log(
    `${CASES} small accounts, ${count.combinations} combinations: ${count.best} best plans with ${count.trades} trades, ` +
      `${count.impossible} without a plan, ${count.bounds} lower bounds`,
  );
  assert(count.best > CASES * 0.8 && count.impossible > 50 && count.trades > CASES / 2);
});
