/**
 * Measures the planner of rebalancing: the processor time of a plan of 500 symbols. The floor only
 * rounds each position of the same account to the lot nearest to its target, computes the fees, and ignores all limits.
 * Also prints the largest distance of a plan from its lower bound. With `--short`, measures fewer rounds.
 *
 * @module
 */
import { cpuUsage } from "node:process";
import { divide, multiply, toStep } from "../../lib/decimal.ts";
import { feesOf } from "../../lib/facts/fees.ts";
import { type Account, makePlan, readRebalanceFile } from "../../lib/rebalance/mod.ts";
import { largeCase } from "../rebalance/large_cases.ts";
import { median, report, rounded } from "./harness.ts";

const ROUNDS = Deno.args.includes("--short") ? 5 : 15;
const SYMBOLS = 500;
const TARGET_MS = 1_000;
const TARGET_GAP = 1.01;

/** Returns the processor time of some work in milliseconds. */
async function timeOf(work: () => unknown): Promise<number> {
  const start = cpuUsage();
  await work();
  const { user, system } = cpuUsage(start);
  return (user + system) / 1_000;
}

/** Rounds each position to the lot nearest to its target, and returns the sum of all fees. */
function naivePlan({ date, holdings, quotes }: Account, targets: Readonly<Record<string, string>>): number {
  const quantities = new Map(holdings.map(({ symbol, quantity }) => [symbol, quantity]));
  const value = quotes.reduce(
    (sum, { symbol, price }) => sum + Number(price) * Number(quantities.get(symbol) ?? "0"),
    0,
  );
  let fees = 0;
  for (const { market, symbol, price = "0", lot = "1" } of quotes) {
    const worth = multiply(targets[symbol] ?? "0", value.toFixed(2));
    const wanted = toStep(divide(worth, price, 6, "down"), lot, "half-up");
    const change = Number(wanted) - Number(quantities.get(symbol) ?? "0");
    if (change === 0) continue;
    const fills = [{ price, quantity: String(Math.abs(change)) }];
    fees += Number(feesOf({ market, date, side: change > 0 ? "buy" : "sell", fills }).order.total);
  }
  return fees;
}

const markets = ["hk", "us", "shanghai"] as const;
for (
  const [name, cash, settings, of] of [
    ["plan-500", 0.02, {}, ["hk"]],
    ["plan-500-cash-short", 0, {}, ["hk"]],
    ["plan-500-turnover", 0.02, { maxTurnover: "0.05" }, ["hk"]],
    ["plan-500-three-markets", 0.02, {}, markets],
    ["plan-500-three-markets-turnover", 0.02, { maxTurnover: "0.05" }, markets],
  ] as const
) {
  const times: Record<"floor" | "ours", number[]> = { floor: [], ours: [] };
  let [largestGap, proven] = [1, 0];
  for (let round = -2; round < ROUNDS; round++) {
    const { file, account } = largeCase({ seed: round + 10, symbols: SYMBOLS, cash, settings, markets: of });
    const parsed = await readRebalanceFile(file, { name: "bench.json" });
    const floor = await timeOf(() => naivePlan(account, parsed.targets));
    let ratio = 1;
    let optimal = false;
    const ours = await timeOf(async () => {
      const plan = await makePlan(parsed, account);
      ratio = Number(plan.sumSquaredDrift) / Number(plan.lowerBound);
      optimal = plan.optimal;
    });
    if (round < 0) continue; // a round to warm up
    times.floor.push(floor);
    times.ours.push(ours);
    largestGap = Math.max(largestGap, ratio);
    if (optimal) proven++;
  }
  const [floor, ours] = [median(times.floor), median(times.ours)];
  report({
    name: `rebalance/${name}`,
    unit: "ms of processor time, median",
    floor: rounded(floor),
    ours: rounded(ours),
    ratio: rounded(ours / floor),
    target: `less than ${TARGET_MS} ms, and within 1 % of the lower bound`,
    ok: ours < TARGET_MS && largestGap <= TARGET_GAP,
    longest: rounded(Math.max(...times.ours)),
    largestGap: rounded(largestGap, 5),
    proven: `${proven} of ${ROUNDS}`,
  });
}
