/**
 * Tries every combination of trades of a small account. Shares only the fee schedules and the decimal helpers with the
 * planner. Everything else follows the definitions, with values in whole units of 0.000001 and without the planner's
 * bounds and shortcuts.
 *
 * @module
 */
import { multiply, round } from "../../lib/decimal.ts";
import { feesOf } from "../../lib/facts/fees.ts";

/** A listing of a small account. */
export interface SmallListing {
  market: "hk" | "us" | "shanghai";
  symbol: string;
  price: string;
  lot: string;
  quantity: string;
  sellable: string;
  target: string;
}

/** A small account with its settings. */
export interface SmallCase {
  date: string;
  listings: SmallListing[];
  cash: Record<string, string>;
  rates: Record<string, string>;
  buffer: Record<string, string>;
  minTrade: string;
  maxTurnover?: string;
  absolute?: string;
  sellOnly: boolean;
  cashFlowOnly: boolean;
  exclude: string[];
  oddLots: "keep" | "sell";
  proceeds: Record<string, "later">;
}

const currencies = { hk: "HKD", us: "USD", shanghai: "CNY" };

/** Returns a decimal in units of 0.000001. */
export const micro = (value: string): bigint => BigInt(round(value, 6, "exact").replace(".", ""));

/** The effect of a possible trade of a listing, or of no trade. Amounts are in units of 0.000001. */
interface Option {
  /** Value after the trade, in the base currency. */
  after: bigint;
  /** Change of the cash, in the currency of the listing. */
  cash: bigint;
  /** Change of the cash without the proceeds that must not be spent yet. */
  spendable: bigint;
  turnover: bigint;
}

/** The result of a combination of trades. */
export interface Outcome {
  /** Sum of squared drifts, in units that are the same for all outcomes of a case. */
  drift: bigint;
  turnover: bigint;
}

/**
 * Returns the account's value, a function for the value of a quantity, and one for a squared drift, all in integers.
 */
export function measuresOf({ listings, cash, rates }: SmallCase) {
  const rate = (currency: string) => rates[currency] ?? "1";
  const worth = (price: string, quantity: string, currency: string) =>
    micro(multiply(multiply(price, quantity), rate(currency)));
  let value = 0n;
  for (const [currency, amount] of Object.entries(cash)) value += worth("1", amount, currency);
  for (const { market, price, quantity } of listings) value += worth(price, quantity, currencies[market]);
  return {
    value,
    worth,
    squared: (after: bigint, target: string) => (after * 1_000_000n - micro(target) * value) ** 2n,
  };
}

function optionsOf(of: SmallCase, listing: SmallListing): Option[] {
  const { market, symbol, price, lot, quantity, sellable, target } = listing;
  const { value, worth } = measuresOf(of);
  const currency = currencies[market];
  const now = worth(price, quantity, currency);
  const option = (shares: bigint, orders: bigint[]): Option => {
    const size = shares < 0n ? -shares : shares;
    const side = shares < 0n ? "sell" : "buy";
    const amount = micro(multiply(price, String(size)));
    const fees = orders.reduce(
      (sum, each) =>
        sum +
        micro(
          feesOf({ market, date: of.date, side, fills: [{ price, quantity: String(each) }] }).order.total,
        ),
      0n,
    );
    const turnover = worth(price, String(size), currency);
    const cash = shares < 0n ? amount - fees : -amount - fees;
    const isLater = shares < 0n && of.proceeds[market] !== undefined;
    return {
      after: now + (shares < 0n ? -turnover : turnover),
      cash,
      spendable: isLater ? 0n : cash,
      turnover,
    };
  };
  const none = { after: now, cash: 0n, spendable: 0n, turnover: 0n };
  if (of.exclude.includes(symbol)) return [none];
  const drift = now * 1_000_000n - micro(target) * value;
  const size = drift < 0n ? -drift : drift;
  if (of.absolute !== undefined && size <= micro(of.absolute) * value) return [none];
  const budget = micro(of.cash[currency] ?? "0") - micro(of.buffer[currency] ?? "0");
  const buys = !of.sellOnly && !(of.cashFlowOnly && budget < 0n);
  const sells = !(of.cashFlowOnly && budget >= 0n);
  const [step, held, most] = [BigInt(lot), BigInt(quantity), BigInt(sellable)];
  const options: Option[] = [];
  if (sells) {
    for (let shares = step; shares <= most; shares += step) options.push(option(-shares, [shares]));
    const odd = held % step;
    if (of.oddLots === "sell" && odd > 0n && most === held) {
      options.push(option(-held, [held - odd, odd].filter((each) => each > 0n)));
    }
  }
  // Stops at the third quantity that reaches the target and `minTrade`: buying more can only be worse.
  for (let [lots, beyond] = [1n, 0]; buys && beyond < 3; lots++) {
    const each = option(lots * step, [lots * step]);
    options.push(each);
    if (each.after * 1_000_000n >= micro(target) * value && each.turnover >= micro(of.minTrade)) beyond++;
  }
  const large = options.filter(({ turnover }) => turnover >= micro(of.minTrade));
  // If the proceeds cannot be spent yet, a sale must at least cover its own fees.
  return [
    none,
    ...large.filter(({ cash, turnover, after }) =>
      of.proceeds[market] === undefined || after > now || cash >= 0n || turnover === 0n
    ),
  ];
}

/** Returns the best outcome over all combinations, and their number; `best` is `undefined` if none keeps the limits. */
export function bruteForce(of: SmallCase): { best: Outcome | undefined; combinations: number } {
  const { value, squared } = measuresOf(of);
  const options = of.listings.map((listing) => optionsOf(of, listing));
  const used = Object.keys(of.cash);
  const left = Object.fromEntries(
    used.map((currency) => [currency, micro(of.cash[currency]!) - micro(of.buffer[currency] ?? "0")]),
  );
  const most = of.maxTurnover === undefined ? undefined : micro(of.maxTurnover) * value / 1_000_000n;
  let best: Outcome | undefined;
  let combinations = 0;
  const visit = (at: number, drift: bigint, turnover: bigint) => {
    if (at === options.length) {
      combinations++;
      if (Object.values(left).some((each) => each < 0n)) return;
      if (most !== undefined && turnover > most) return;
      if (best === undefined || drift < best.drift || (drift === best.drift && turnover < best.turnover)) {
        best = { drift, turnover };
      }
      return;
    }
    const { market, target } = of.listings[at]!;
    const currency = currencies[market];
    for (const option of options[at]!) {
      left[currency]! += option.spendable;
      visit(at + 1, drift + squared(option.after, target), turnover + option.turnover);
      left[currency]! -= option.spendable;
    }
  };
  visit(0, 0n, 0n);
  return { best, combinations };
}
