/**
 * Draws large accounts at random, for the test of the lower bound and for the benchmark.
 *
 * @module
 */
import type { Account } from "../../lib/rebalance/mod.ts";
import { randomFrom } from "../../lib/time.ts";

/** Options of {@linkcode largeCase}. */
export interface LargeOptions {
  seed: number;
  symbols: number;
  /** Cash, as a part of what the holdings are worth. */
  cash: number;
  /** Members of the rebalance file other than `base` and `targets`. */
  settings?: Readonly<Record<string, unknown>>;
  markets?: readonly ("hk" | "us" | "shanghai")[];
}

/** Returns the text of a rebalance file, and an account that has drifted from its targets. */
export function largeCase({ seed, symbols, cash, settings = {}, markets = ["hk"] }: LargeOptions): {
  file: string;
  account: Account;
} {
  const random = randomFrom(seed);
  const pick = (most: number) => Math.floor(random() * most);
  const rows = Array.from({ length: symbols }, (_, index) => {
    const market = markets[index % markets.length]!;
    const lot = market === "us" ? 1 : [100, 100, 200, 400, 500, 1000, 2000][pick(7)]!;
    const price = `${1 + pick(market === "us" ? 400 : 120)}.${10 + pick(90)}`;
    const share = 0.4 + random();
    const symbol = market === "hk"
      ? `0${1000 + index}.HK`
      : market === "us"
      ? `S${
        [index / 676, index / 26, index].map((each) => String.fromCharCode(65 + Math.floor(each) % 26)).join(
          "",
        )
      }`
      : `60${String(index).padStart(4, "0")}.SH`;
    return { market, symbol, price, lot, share };
  });
  const whole = rows.reduce((sum, { share }) => sum + share, 0);
  const fortune = 400_000 * symbols;
  const targets: Record<string, string> = {};
  const holdings = rows.map(({ market, symbol, price, lot, share }) => {
    const weight = share / whole;
    // One of twenty has no target and is sold.
    if (random() > 0.05) targets[symbol] = (Math.floor(weight * 0.99 * 1e6) / 1e6).toFixed(6);
    const drifted = weight * fortune * (0.7 + 0.6 * random()) / Number(price) / (market === "us" ? 7.8 : 1);
    return { market, symbol, price, lot: String(lot), quantity: String(Math.floor(drifted / lot) * lot) };
  });
  const currencies = { hk: "HKD", us: "USD", shanghai: "CNY" };
  return {
    file: JSON.stringify({ base: "HKD", targets, ...settings }),
    account: {
      date: "2025-08-15",
      cash: Object.fromEntries(markets.map((market) => [
        currencies[market],
        (fortune * cash / markets.length / (market === "us" ? 7.8 : 1)).toFixed(2),
      ])),
      reserved: {},
      rates: { USD: "7.8", CNY: "1.0875" },
      holdings: holdings.filter(({ quantity }) => quantity !== "0"),
      quotes: holdings.map(({ quantity: _, ...quote }) => quote),
    },
  };
}
