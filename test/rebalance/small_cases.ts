/**
 * Draws small accounts for the comparison with brute force.
 *
 * @module
 */
import { add, multiply } from "../../lib/decimal.ts";
import type { Account } from "../../lib/rebalance/mod.ts";
import { randomFrom } from "../../lib/time.ts";
import type { SmallCase, SmallListing } from "./brute_force.ts";

/** Returns the small account of a seed. */
export function smallCase(seed: number): SmallCase {
  const random = randomFrom(seed);
  const pick = (most: number) => Math.floor(random() * most);
  const chance = (part: number) => random() < part;
  const several = chance(0.25);
  // With round figures, several plans have equal drifts; then the plan with the least turnover is the best.
  const isRound = !several && chance(0.2);
  const count = 1 + pick(several ? 3 : 4);
  let left = 100;
  const listings = Array.from({ length: count }, (_, index): SmallListing => {
    const market = several ? (["hk", "us", "shanghai"] as const)[pick(3)]! : "hk";
    const lot = market === "us" ? 1 : [100, 200, 500][pick(3)]!;
    const price = market === "us"
      ? `${20 + pick(200)}.${10 + pick(90)}`
      : `${Math.ceil((1_500 + pick(5_000)) / lot)}.${10 + pick(90)}`;
    const quantity = chance(0.3) ? 0 : pick(4) * lot + (!isRound && chance(0.3) ? pick(lot) : 0);
    const sellable = chance(0.8) ? quantity : pick(quantity + 1);
    const target = chance(0.2) ? 0 : isRound ? 5 * pick(left / 5 + 1) : pick(left + 1);
    left -= target;
    const suffix = { hk: ".HK", us: "", shanghai: ".SH" }[market];
    const code = market === "us" ? `T${"ABCD"[index]}` : market === "hk" ? `0700${index}` : `60050${index}`;
    return {
      market,
      symbol: `${code}${suffix}`,
      price: isRound ? String(2_000 / lot) : price,
      lot: String(lot),
      quantity: String(quantity),
      sellable: String(sellable),
      target: `0.${String(target).padStart(2, "0")}`.replace("0.100", "1.00"),
    };
  });
  const rates: Record<string, string> = { USD: "7.8", CNY: "1.0875" };
  const currencies = several ? ["CNY", "HKD", "USD"] : ["HKD"];
  const held = listings.reduce((sum, { price, quantity }) => sum + Number(price) * Number(quantity), 0);
  const cash = Object.fromEntries(currencies.map((currency) => [
    currency,
    isRound
      ? String(Math.max(0, 20_000 - held))
      : `${pick(currency === "USD" ? 600 : 9_000)}.${10 + pick(90)}`,
  ]));
  const buffer: Record<string, string> = chance(0.4)
    ? { HKD: String(pick(chance(0.2) ? 20_000 : 6_000)) }
    : {};
  const total = listings.reduce((sum, { price, quantity }) => add(sum, multiply(price, quantity)), "0");
  return {
    date: "2025-08-15",
    listings,
    cash,
    rates,
    buffer,
    minTrade: chance(0.3) ? String(pick(6_000)) : "0",
    ...chance(0.2) && total !== "0" && { maxTurnover: `0.${10 + pick(80)}` },
    ...chance(0.2) && { absolute: `0.${10 + pick(10)}` },
    sellOnly: chance(0.08),
    cashFlowOnly: chance(0.08),
    exclude: chance(0.1) ? [listings[0]!.symbol] : [],
    oddLots: chance(0.3) ? "sell" : "keep",
    proceeds: chance(0.15) ? { hk: "later" } : {},
  };
}

/** Returns the rebalance file and the account of a small case, as texts. */
export function filesOf(of: SmallCase): { file: string; account: Account } {
  const { listings, cash, rates, date, buffer, minTrade, maxTurnover, absolute } = of;
  const { sellOnly, cashFlowOnly, exclude, oddLots, proceeds } = of;
  const targets = Object.fromEntries(listings.map(({ symbol, target }) => [symbol, target]));
  const file = {
    base: "HKD",
    targets,
    cashBuffer: buffer,
    minTrade,
    maxTurnover,
    drift: { absolute },
    sellOnly,
    cashFlowOnly: cashFlowOnly && !sellOnly,
    exclude,
    oddLots,
    proceeds,
  };
  const listed = listings.map(({ market, symbol, price, lot }) => ({ market, symbol, price, lot }));
  return {
    file: JSON.stringify(file),
    account: {
      date,
      cash,
      reserved: {},
      rates,
      holdings: listings.flatMap(({ quantity, sellable }, index) =>
        quantity === "0" ? [] : [{ ...listed[index]!, quantity, sellable }]
      ),
      quotes: listed,
    },
  };
}
