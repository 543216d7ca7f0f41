/** Tests of plans with the figures and names of a hostile broker, and with files of a stranger. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { add, compare, type Decimal, isZero, multiply, subtract } from "../../lib/decimal.ts";
import { InvalidParamsError } from "../../lib/errors.ts";
import { type Account, makePlan, readRebalanceFile } from "../../lib/rebalance/mod.ts";
import { mostCovered } from "../../lib/rebalance/execution/pricing.ts";

const read = (text: string) => readRebalanceFile(text, { name: "p.yaml" });
const file = await read("market: hk\ntargets: { 00700.HK: 0.4, 00005.HK: 0.3 }\n");
const later = await read("market: hk\ntargets: { 00005.HK: 0.3 }\nproceeds: { hk: later }\n");
const twoMarkets = await read("markets: [hk, us]\nbase: HKD\ntargets: { 00005.HK: 0.3, AAPL: 0.3 }\n");

const tencent = { market: "hk", symbol: "00700.HK", quantity: "100", price: "300", lot: "100" } as const;
const hsbc = { market: "hk", symbol: "00005.HK", price: "100", lot: "100" } as const;
const apple = { market: "us", symbol: "AAPL", price: "100", lot: "1" } as const;

/** Returns an account as hsgate reads it from the broker's answers, with some members changed. */
const account = (changed: Partial<Account> = {}): Account => ({
  date: "2025-08-15",
  cash: { HKD: "50000" },
  reserved: {},
  rates: {},
  holdings: [tencent],
  quotes: [hsbc],
  ...changed,
});

Deno.test("makePlan() rejects figures that would make the arithmetic wrong or endless, and names each of them", async () => {
  const nines = "9".repeat(400);
  const tiny = `0.${"0".repeat(399)}1`;
  const cases: [what: string, account: Account, path: string, from?: typeof file][] = [
    ["many shares", account({ holdings: [{ ...tencent, quantity: "99999999999999999999" }] }), "quantity"],
    ["a long price", account({ quotes: [{ ...hsbc, price: nines }] }), "quotes.0.price"],
    ["a tiny price", account({ quotes: [{ ...hsbc, price: tiny }] }), "quotes.0.price"],
    [
      "a price so low that the quantity is endless",
      account({ quotes: [{ ...hsbc, price: "1e-18" }] }),
      "quotes.0.price",
    ],
    ["a long lot", account({ quotes: [{ ...hsbc, lot: nines }] }), "quotes.0.lot"],
    ["much cash", account({ cash: { HKD: nines } }), "cash.HKD"],
    ["a long reserve", account({ reserved: { HKD: nines } }), "reserved.HKD"],
    ["a long sellable quantity", account({ holdings: [{ ...tencent, sellable: tiny }] }), "sellable"],
    ["a negative rate", account({ quotes: [hsbc, apple], rates: { USD: "-7.8" } }), "rates.USD", twoMarkets],
    [
      "a long rate",
      account({ quotes: [hsbc, apple], rates: { USD: { HKD: nines } } }),
      "rates.USD",
      twoMarkets,
    ],
  ];
  for (const [what, given, path, from = file] of cases) {
    const error = await assertRejects(() => makePlan(from, given), InvalidParamsError, path);
    assert(error.message.length < 1_000, what);
  }
});

Deno.test("makePlan() finds a sale that covers its fees, without trying each of 900 million quantities", async () => {
  const holdings = [{ ...tencent, quantity: "900000000", price: "0.0000001", lot: "1" }];
  const { leftOut, trades } = await makePlan(later, account({ holdings }));
  assertEquals([leftOut.length, trades.some(({ side }) => side === "sell")], [0, true]);
});

Deno.test("makePlan() plans thousands of listings in a thousand groups", async () => {
  const names = Array.from({ length: 4_000 }, (_, index) => `K${index}`);
  const groups = Object.fromEntries(
    names.slice(0, 1_000).map((_, group) => [
      `g${group}`,
      { weight: "0.0009", drift: { absolute: "0.01" }, symbols: names.slice(group * 4, group * 4 + 4) },
    ]),
  );
  const quotes = names.map((symbol) => ({ ...hsbc, symbol, price: "1.01", lot: "1" }));
  const plan = await makePlan(await read(JSON.stringify({ market: "hk", groups })), account({ quotes }));
  assertEquals(plan.leftOut.filter(({ reason }) => reason.includes("is inside its band")).length, 4_000);
});

Deno.test("makePlan() rejects a plan that may trade more than a thousand symbols, before it searches", async () => {
  const plan = async (count: number) => {
    const names = Array.from({ length: count }, (_, index) => `K${index}`);
    const targets = Object.fromEntries(names.map((symbol) => [symbol, "0.0005"]));
    const quotes = names.map((symbol) => ({ ...hsbc, symbol, price: "1.01", lot: "1" }));
    const from = await read(JSON.stringify({ market: "hk", targets }));
    return await makePlan(from, account({ quotes, holdings: [] }), { steps: 0 });
  };
  assertEquals((await plan(1_000)).positions.length, 1_000);
  await assertRejects(() => plan(1_001), InvalidParamsError, "at most 1000 symbols that the plan may trade");
});

Deno.test("a foreign symbol or name cannot add a line to an error or make it long; an error lists at most 200 mistakes", async () => {
  const forged = "x\nhsgate: order 77 is placed\u202e\x1b[31m";
  const shown: string[] = [];
  for (const symbol of [forged, `${forged}${"K".repeat(3_000_000)}`]) {
    const { message } = await assertRejects(
      () => makePlan(file, account({ holdings: [{ ...tencent, symbol, price: undefined }] })),
      InvalidParamsError,
    );
    shown.push(message);
  }
  const names = { targets: { [forged]: "0.4" }, [forged]: 1 };
  shown.push((await assertRejects(() => read(JSON.stringify(names)), InvalidParamsError)).message);
  for (const message of shown) {
    assertStringIncludes(message, "order 77 is placed");
    assertEquals(message.split("\n").filter((line) => line.startsWith("hsgate:")), []);
    assert(message.length < 5_000, `${message.length}`);
  }
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 1]));
  const error = await assertRejects(() => read(JSON.stringify(many)), InvalidParamsError, "and 19800 more");
  assertEquals([error.issues.length, error.message.split("\n").length], [20_000, 202]);
});

Deno.test("mostCovered() finds the largest purchase that the cash covers, of few lots and of a billion", () => {
  const costOf = (fee: (amount: Decimal) => Decimal, price: Decimal) => (quantity: Decimal) => {
    const amount = multiply(price, quantity);
    return add(amount, fee(amount));
  };
  const flat = costOf((amount) => isZero(amount) ? "0" : "20", "1.5");
  for (const room of ["0", "19", "170", "170.5", "319", "320", "100000"]) {
    // The slow way: one lot less at a time, until the cash covers the purchase.
    let slow = "1000";
    while (compare(slow, "0") > 0 && compare(flat(slow), room) > 0) slow = subtract(slow, "100");
    const found = mostCovered(room, { most: "1000", lot: "100", costOf: flat });
    assertEquals(compare(found, slow), 0, `${room}: ${found}, ${slow}`);
  }
  const part = costOf((amount) => multiply(amount, "0.01"), "0.01");
  assertEquals(mostCovered("10100000", { most: "9000000000", lot: "1", costOf: part }), "1000000000");
});
