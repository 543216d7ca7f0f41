import { assert, assertEquals } from "@std/assert";
import {
  add,
  compare,
  type Decimal,
  DecimalSum,
  divide,
  isZero,
  multiply,
  negate,
  round,
  subtract,
} from "../../lib/decimal.ts";
import type { Market } from "../../lib/dictionaries/market.ts";
import type { Fill } from "../../lib/operations/fills.ts";
import type { JournalEntry } from "../../lib/operations/fund_journal.ts";
import type { Holding } from "../../lib/operations/account.ts";
import type { Order } from "../../lib/operations/orders.ts";
import { Broker } from "../../lib/simulator/broker/broker.ts";
import { amountOf, meanPrice } from "../../lib/simulator/broker/account/money.ts";
import { ManualClock } from "../../lib/time.ts";
import { SimulatedMarket } from "../../lib/simulator/market/mod.ts";
import { all, always, ask } from "./asked.ts";

const markets: Market[] = ["hk", "us", "shanghai", "shenzhen"];
const currency = { hk: "HKD", us: "USD", shanghai: "CNY", shenzhen: "CNY" } as const;
const START = Date.parse("2025-08-15T02:00:00Z");

const isOption = (symbol: string) => /^[A-Z]+\d{6}[CP]\d+$/.test(symbol);
const multiplierOf = (symbol: string) => isOption(symbol) ? "100" : "1";
const sumOf = (values: Iterable<Decimal>) => {
  const sum = new DecimalSum();
  for (const value of values) sum.add(value);
  return sum.toString();
};

/** Checks a property with several seeds; a failure names the seed. */
function onSeeds(check: (seed: number) => void): void {
  for (const seed of [1, 7, 20250815]) {
    try {
      check(seed);
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
    }
  }
}

const small = (seed: number) => new Broker({ seed, clock: new ManualClock(START), days: 40, fillsPerDay: 5 });

Deno.test("fills.history amounts are price times quantity, to the cent", () =>
  onSeeds((seed) => {
    const broker = small(seed);
    for (const market of markets) {
      for (const fill of all<Fill>(broker, "fills.history", { market, ...always })) {
        const units = multiply(fill.filledQuantity, multiplierOf(fill.symbol));
        assertEquals(round(multiply(fill.fillPrice, units), 2, "half-up"), fill.fillAmount);
      }
    }
  }));

Deno.test("the mean price of a merged fill gives its amount to the cent, also for millions of shares", () => {
  // The broker accepts orders of up to 3,000 lots, and a lot can have thousands of shares.
  for (const quantity of [3n, 999_999n, 1_500_000n, 2_999_999n, 29_999_999n]) {
    for (const cents of [1n, 123_456_789n, 900_000_001n, 987_654_321_987n]) {
      assertEquals(amountOf(meanPrice(cents, quantity), quantity), cents, `${cents} cents for ${quantity}`);
    }
  }
});

Deno.test("fundJournal.history has one line per fill row, net of its fees", () =>
  onSeeds((seed) => {
    const broker = small(seed);
    for (const market of markets) {
      const fills = all<Fill>(broker, "fills.history", { market, ...always });
      const lines = all<JournalEntry>(broker, "fundJournal.history", { market, ...always })
        .filter(({ type }) => type === "buy-securities" || type === "sell-securities");
      assertEquals(
        lines.map(({ amount, time }) => `${time} ${amount}`),
        fills.map(({ side, fillAmount = "0", fees, date, fillTime }) => {
          const gross = side === "sell" ? fillAmount : negate(fillAmount);
          return `${date} ${fillTime} ${subtract(gross, fees?.total ?? "0")}`;
        }),
      );
    }
  }));

Deno.test("account.funds totalAssets is the sum of the journals plus the holdings", () =>
  onSeeds((seed) => {
    const broker = small(seed);
    for (const purse of ["HKD", "USD", "CNY"]) {
      const own = markets.filter((market) => currency[market] === purse);
      const amounts = own.flatMap((market) =>
        all<JournalEntry>(broker, "fundJournal.history", { market, ...always }).map(({ amount }) => amount)
      );
      const values = own.flatMap((market) =>
        ask<Holding[]>(broker, "account.holdings", { market }).map(({ marketValue = "0" }) => marketValue)
      );
      const funds = ask<{ totalAssets: string; available: string }>(broker, "account.funds", {
        market: own[0],
      });
      assertEquals(funds.available, sumOf(amounts));
      assertEquals(funds.totalAssets, sumOf([...amounts, ...values]));
    }
  }));

Deno.test("fundJournal.history never lets a market's cash fall below zero", () =>
  onSeeds((seed) => {
    const broker = small(seed);
    for (const market of markets) {
      const cash = new DecimalSum();
      for (const { amount } of all<JournalEntry>(broker, "fundJournal.history", { market, ...always })) {
        cash.add(amount);
        assert(compare(cash.toString(), "0") >= 0, `${market} ${cash}`);
      }
    }
  }));

/** Splits within the history, in which each share becomes three. */
const SPLITS: Record<string, string> = { "01211.HK": "2025-06-10", "002594.SZ": "2025-07-29" };

Deno.test("account.holdings equal the sum of the fills and splits, which never sell more than is held", () =>
  onSeeds((seed) => {
    const broker = small(seed);
    for (const market of markets) {
      const held = new Map<string, Decimal>();
      const bought = new Map<string, Decimal>();
      const split = new Set<string>();
      const splitBefore = (symbol: string, date: string) => {
        if ((SPLITS[symbol] ?? "9999") > date || split.has(symbol)) return;
        split.add(symbol);
        held.set(symbol, multiply(held.get(symbol) ?? "0", "3"));
      };
      for (
        const { symbol, side, filledQuantity, date } of all<Fill>(broker, "fills.history", {
          market,
          ...always,
        })
      ) {
        const today = `${date} ${symbol}`;
        splitBefore(symbol, date ?? "");
        const before = held.get(symbol) ?? "0";
        if (side === "buy") bought.set(today, add(bought.get(today) ?? "0", filledQuantity));
        const after = side === "buy" ? add(before, filledQuantity) : subtract(before, filledQuantity);
        assert(compare(after, "0") >= 0, `${symbol} on ${date}: ${after}`);
        const isMainland = market === "shanghai" || market === "shenzhen";
        // Shares bought today are still held in the evening.
        if (isMainland) {
          assert(compare(after, bought.get(today) ?? "0") >= 0, `${symbol} sold on its day ${date}`);
        }
        held.set(symbol, after);
      }
      for (const symbol of held.keys()) splitBefore(symbol, "2025-08-15");
      const expected = [...held].filter(([, quantity]) => !isZero(quantity)).sort();
      const shown = ask<Holding[]>(broker, "account.holdings", { market });
      assertEquals(shown.map(({ symbol, quantity = "" }) => [symbol, quantity]).sort(), expected);
    }
  }));

Deno.test("fills.history has every fee member of its market", () => {
  const broker = new Broker({ seed: 3, clock: new ManualClock(START), days: 30 });
  const members: Record<string, string[]> = {
    hk: [
      "commission",
      "stampDutyOrSecFee",
      "tradingFeeOrTaf",
      "tradingLevy",
      "platformFee",
      "disputeCouncilLevy",
      "settlementFee",
      "total",
    ],
    us: [
      "commission",
      "stampDutyOrSecFee",
      "tradingFeeOrTaf",
      "tradingLevy",
      "platformFee",
      "auditTrailFee",
      "settlementFee",
      "total",
    ],
    shanghai: [
      "commission",
      "stampDutyOrSecFee",
      "tradingFeeOrTaf",
      "tradingLevy",
      "platformFee",
      "settlementFee",
      "total",
    ],
  };
  members.shenzhen = members.shanghai!;
  let options = 0;
  for (const market of markets) {
    for (const { symbol, fees } of all<Fill>(broker, "fills.history", { market, ...always })) {
      assert(fees !== undefined);
      const { total, ...items } = fees;
      assertEquals(total, sumOf(Object.values(items)));
      if (!isOption(symbol)) {
        assertEquals(Object.keys(fees).sort(), [...members[market]!].sort());
      } else {
        options++;
        assert(fees.optionRegulatoryFee !== undefined && fees.optionClearingFee !== undefined);
      }
    }
  }
  assert(options >= 2);
});

Deno.test("fills.history merges Hong Kong's fills: one row per order and day, at the mean price", () => {
  const broker = new Broker({ seed: 5, clock: new ManualClock(START), days: 60 });
  const fills = all<Fill>(broker, "fills.history", { market: "hk", ...always });
  assertEquals(new Set(fills.map(({ orderId }) => orderId)).size, fills.length);
  assert(fills.some(({ fillPrice }) => (fillPrice.split(".")[1] ?? "").length > 3));
  const american = all<Fill>(broker, "fills.history", { market: "us", ...always });
  assert(new Set(american.map(({ orderId }) => orderId)).size < american.length);
});

Deno.test("fills.history and fundJournal.history each contain rows that differ only in their cursors", () => {
  const broker = new Broker({ seed: 5, clock: new ManualClock(START), days: 60 });
  for (const name of ["fills.history", "fundJournal.history"] as const) {
    const rows = all<Fill>(broker, name, { market: "us", ...always });
    const texts = rows.map(({ cursor: _, ...row }) => JSON.stringify(row));
    assert(new Set(texts).size < texts.length, name);
    assertEquals(new Set(rows.map(({ cursor }) => cursor)).size, rows.length);
  }
});

Deno.test("orders.history matches fills.history by order number", () =>
  onSeeds((seed) => {
    const broker = small(seed);
    for (const market of markets) {
      const filled = new Map<string, Decimal>();
      for (
        const { orderId = "", filledQuantity } of all<Fill>(broker, "fills.history", { market, ...always })
      ) {
        filled.set(orderId, add(filled.get(orderId) ?? "0", filledQuantity));
      }
      const orders = all<Order>(broker, "orders.history", { market, ...always });
      for (const { orderId = "", filledQuantity, status, quantity } of orders) {
        assertEquals(filledQuantity, filled.get(orderId) ?? "0");
        assertEquals(status === "filled", filledQuantity === quantity);
        filled.delete(orderId);
      }
      assertEquals(filled.size, 0);
    }
  }));

Deno.test("fills.history pages by cursor within the requested days", () => {
  const broker = new Broker({ seed: 2, clock: new ManualClock(START), days: 20 });
  const days = { from: "2025-08-04", to: "2025-08-06" };
  const fills = all<Fill>(broker, "fills.history", { market: "hk", ...days });
  assertEquals(fills.length, 18);
  assertEquals([...new Set(fills.map(({ date }) => date))], ["2025-08-04", "2025-08-05", "2025-08-06"]);
  const page = ask<Fill[]>(broker, "fills.history", {
    market: "hk",
    ...days,
    limit: 3,
    cursor: fills[4]?.cursor,
  });
  assertEquals(page, fills.slice(5, 8));
  assertEquals(
    ask<Fill[]>(broker, "fills.history", { market: "hk", from: "2025-08-09", to: "2025-08-10" }),
    [],
  );
});

Deno.test("Broker generates the same history from the same seed, in any order of the queries", () => {
  const one = small(11);
  const other = small(11);
  other.call("quotes.latest", { securities: [{ type: "us-stock", symbol: "AAPL" }] });
  other.call("fundJournal.history", { market: "us", ...always });
  const rows = (broker: Broker) =>
    markets.flatMap((market) => all<Fill>(broker, "fills.history", { market, ...always }));
  assertEquals(rows(other), rows(one));
  assert(JSON.stringify(rows(small(12))) !== JSON.stringify(rows(one)));
});

Deno.test("fills.history prices are inside the day's bar", () => {
  const market = new SimulatedMarket({ seed: 4 });
  const broker = new Broker({ seed: 4, clock: new ManualClock(START), days: 15, market });
  for (const each of markets) {
    for (
      const { symbol, date = "", fillPrice } of all<Fill>(broker, "fills.history", {
        market: each,
        ...always,
      })
    ) {
      const bar = market.dayBar(symbol, date)!;
      assert(
        compare(fillPrice, bar.low) >= 0 && compare(fillPrice, bar.high) <= 0,
        `${symbol} ${date} ${fillPrice}`,
      );
    }
  }
});

Deno.test("Broker starts with 200,000 fills and reads the last pages as fast as the first", () => {
  const broker = new Broker({ seed: 9, clock: new ManualClock(START), days: 100, fillsPerDay: 500 });
  for (const market of markets) {
    const page = ask<Fill[]>(broker, "fills.history", { market, ...always, limit: 99, cursor: "49990" });
    assertEquals(
      page.map(({ cursor }) => cursor),
      Array.from({ length: 10 }, (_, index) => String(49_991 + index)),
    );
  }
  const fastest = (from: number) =>
    Math.min(...Array.from({ length: 100 }, (_, page) => {
      const began = performance.now();
      broker.call("fills.history", { market: "hk", ...always, limit: 99, cursor: String(from + page) });
      return performance.now() - began;
    }));
  const [first, last] = [fastest(1), fastest(40_000)];
  assert(last < 10 * first, `a page costs what its rows cost: ${last} ms, and ${first} ms at the beginning`);
});

Deno.test("futures.fillsHistory matches the cash: deposit, realised profit and fees", () => {
  const broker = new Broker({ seed: 6, clock: new ManualClock(START), days: 30 });
  const { funds, holdings } = ask<{ funds: Record<string, string>; holdings: Record<string, string>[] }>(
    broker,
    "futures.holdings",
    {},
  );
  const rows: Fill[] = [];
  for (let page = 1;; page++) {
    const answer = ask<{ rows: Fill[]; isLast: boolean }>(broker, "futures.fillsHistory", {
      ...always,
      page,
    });
    rows.push(...answer.rows);
    if (answer.isLast) break;
  }
  // Mini contracts: 10 dollars a point, fees of 8.60 a contract.
  const flows = rows.map(({ side, fillPrice }) =>
    multiply(side === "sell" ? fillPrice : negate(fillPrice), "10")
  );
  const fees = multiply("8.60", String(rows.length));
  const costs = holdings.map(({ costPrice = "0", quantity = "0" }) =>
    multiply(multiply(costPrice, quantity), "10")
  );
  const cash = subtract(sumOf(["1000000.00", ...flows, ...costs]), fees);
  assertEquals(round(funds.cash!, 2, "exact"), round(cash, 2, "exact"));
  assertEquals(add(funds.cash!, funds.positionProfit!), funds.netAssets);
  assertEquals(divide(sumOf(holdings.map(({ quantity = "0" }) => quantity)), "1", 0, "exact"), "1");
});
