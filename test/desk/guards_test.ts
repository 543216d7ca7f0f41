/** Tests of the guard rails: what each one refuses and names, that nothing is sent, that the nearest value passes. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { type LimitTexts, readLimits } from "../../lib/client/limits.ts";
import { add, compare, divide, multiply, subtract, toStep } from "../../lib/decimal.ts";
import { guardsOf } from "../../lib/desk/guards/rules.ts";
import { BrokerError, BusyError } from "../../lib/errors.ts";
import type { Client } from "../../lib/client/client.ts";
import type { ConformanceOptions } from "../conformance/simulated_account.ts";
import { ORDER, TENCENT } from "../conformance/simulated_account.ts";
import { ACCOUNT, deskTest, type DeskUnderTest } from "./support.ts";

/** Runs a test over every transport, with guard rails before the desk. */
function guardTest(
  name: string,
  limits: LimitTexts,
  run: (
    testAccount: DeskUnderTest & { guarded: Client; another(limits?: LimitTexts): Client },
  ) => Promise<void>,
  options: ConformanceOptions = {},
): void {
  deskTest(name, async (testAccount) => {
    const { store, machine, open } = testAccount;
    const another = (own: LimitTexts = limits) =>
      open({
        guard: guardsOf(readLimits({ liveTrading: "allow", ...own }), {
          store,
          machine,
          account: ACCOUNT,
          calendars: () => builtInCalendars,
        }),
      }).client();
    await run({ ...testAccount, guarded: another(), another });
  }, options);
}

/** Cancels every open order. The socket has no message for all of them at once. */
async function cancelAll({ transport }: Pick<DeskUnderTest, "transport">, client: Client): Promise<void> {
  if (transport !== "direct") return void await client.orders.cancelAll({ market: "hk" });
  for (const { orderId, symbol, canCancel } of await client.orders.today({ market: "hk" }).toArray()) {
    if (canCancel) await client.orders.cancel({ market: "hk", symbol, orderId });
  }
}

/** Asserts that a rule refuses a write, that the message contains the given words, and that nothing was sent. */
async function assertRefused(
  { count }: Pick<DeskUnderTest, "count">,
  write: () => Promise<unknown>,
  rule: string,
  ...words: string[]
): Promise<void> {
  const counts = ["orders.place", "orders.amend", "futures.place"].map((name) => count(name));
  const sent = () => counts.map((each) => each());
  const before = sent();
  const error = await assertRejects(write, BrokerError);
  assertEquals([error.code, error.message.includes(`guard rail ${rule} `)], ["guard", true], error.message);
  for (const each of words) assertStringIncludes(error.message, each);
  assertEquals(sent(), before);
}

guardTest(
  "an order within all limits is sent unchanged, and an order beyond a limit is only recorded",
  {},
  async (testAccount) => {
    const { guarded, client, intents } = testAccount;
    const { orderId } = await guarded.orders.place(ORDER);
    const rows = await client.orders.today({ market: "hk" }).toArray();
    const { symbol, side, price, quantity, orderType } = rows.find((each) => each.orderId === orderId)!;
    assertEquals({ market: "hk", symbol, side, price: `${Number(price)}.00`, quantity, orderType }, ORDER);
    await assertRefused(testAccount, () => guarded.orders.place({ ...ORDER, price: "550.10" }), "tick");
    assertEquals((await intents()).map(({ state }) => state).sort(), ["abandoned", "acknowledged"]);
  },
);

guardTest("live trading that is not allowed refuses orders and lets cancellations pass", {
  liveTrading: "refuse",
}, async (testAccount) => {
  const { guarded, client } = testAccount;
  await assertRefused(
    testAccount,
    () => guarded.orders.place(ORDER),
    "liveTrading",
    'set liveTrading to "allow"',
  );
  const { orderId } = await client.orders.place(ORDER);
  await guarded.orders.cancel({ market: "hk", symbol: ORDER.symbol, orderId: String(orderId) });
});

guardTest(
  "a price that is not a multiple of the tick size is refused, and the two prices that the error names pass",
  {},
  async (testAccount) => {
    const { guarded } = testAccount;
    await assertRefused(
      testAccount,
      () => guarded.orders.place({ ...ORDER, price: "550.30" }),
      "tick",
      "550.30",
      "550 and 550.5",
    );
    await guarded.orders.place({ ...ORDER, price: "550.5" });
    await guarded.orders.place({ ...ORDER, price: "550" });
  },
);

guardTest(
  "the refusal of a quantity off the board lot names the next smaller and larger quantities, and the larger one passes",
  {},
  async (testAccount) => {
    const { guarded } = testAccount;
    await assertRefused(
      testAccount,
      () => guarded.orders.place({ ...ORDER, quantity: "150" }),
      "lot",
      "150",
      "multiple of the lot 100",
      "100 and 200",
    );
    await assertRefused(
      testAccount,
      () => guarded.orders.place({ ...ORDER, quantity: "100", orderType: "odd-lot" }),
      "lot",
      "99",
    );
    await guarded.orders.place({ ...ORDER, quantity: "200" });
  },
);

const at = (text: string) => Date.parse(text);
const sessions: [string, number, Partial<typeof ORDER> | object, string][] = [
  ["before the open", at("2025-08-15T09:20:00+08:00"), {}, "2025-08-15 09:30"],
  ["at lunch", at("2025-08-15T12:10:00+08:00"), {}, "2025-08-15 13:00"],
  ["after the close of a Friday", at("2025-08-15T16:20:00+08:00"), {}, "2025-08-18 09:30"],
  ["after the close of a half day", at("2025-12-24T13:30:00+08:00"), {}, "2025-12-29 09:30"],
  ["an auction order in continuous trading", at("2025-08-15T10:30:00+08:00"), {
    orderType: "auction-limit",
  }, "2025-08-15 16:01"],
];
for (const [what, time, change, next] of sessions) {
  guardTest(
    `a session refuses an order that it does not accept, and names the next session that does: ${what}`,
    {},
    async (testAccount) => {
      await assertRefused(
        testAccount,
        () => testAccount.guarded.orders.place({ ...ORDER, ...change }),
        "session",
        next,
      );
    },
    { at: time },
  );
}
guardTest("an auction order passes in the auction before the open", {}, async ({ guarded }) => {
  await guarded.orders.place({ ...ORDER, orderType: "auction-limit" });
}, { at: at("2025-08-15T09:05:00+08:00") });
guardTest("a limit order passes right at the open after lunch", {}, async ({ guarded }) => {
  await guarded.orders.place(ORDER);
}, { at: at("2025-08-15T13:00:30+08:00") });

const AAPL = { market: "us", symbol: "AAPL", quantity: "1", side: "buy", orderType: "limit" } as const;
guardTest("an order outside regular hours must request extended hours", {}, async (testAccount) => {
  const { guarded, client } = testAccount;
  const [quote] = await client.quotes.latest({ securities: [{ type: "us-stock", symbol: "AAPL" }] });
  const price = `${Math.floor(Number(quote!.lastPrice))}`;
  await assertRefused(
    testAccount,
    () => guarded.orders.place({ ...AAPL, price }),
    "session",
    "2025-08-15 09:30",
  );
  await guarded.orders.place({ ...AAPL, price, tradingHours: "extended" });
}, { at: at("2025-08-15T08:00:00-04:00") });

guardTest(
  "a price beyond the collar is refused with the valid range, whose ends pass",
  { priceCollar: "5%" },
  async (testAccount) => {
    const { guarded } = testAccount;
    const refusal = await assertRejects(() => guarded.orders.place(ORDER), BrokerError);
    const [, low = "", high = ""] = /the valid prices are from ([\d.]+) to ([\d.]+)/.exec(refusal.message) ??
      [];
    for (const price of ["550", String(Number(low) - 0.5), String(Number(high) + 0.5)]) {
      await assertRefused(
        testAccount,
        () => guarded.orders.place({ ...ORDER, price }),
        "priceCollar",
        "5 %",
        low,
        high,
      );
    }
    await guarded.orders.place({ ...ORDER, price: low });
    await guarded.orders.place({ ...ORDER, price: high });
  },
);

guardTest(
  "the value of an order has a limit in the currency of its market",
  { maxOrderValue: "120000 HKD" },
  async (testAccount) => {
    const { guarded } = testAccount;
    await assertRefused(
      testAccount,
      () => guarded.orders.place({ ...ORDER, quantity: "300" }),
      "maxOrderValue",
      "165000 HKD",
      "120000 HKD",
      "550 is 200",
    );
    await assertRefused(
      testAccount,
      () => testAccount.another({ maxOrderValue: "90000 USD" }).orders.place(ORDER),
      "maxOrderValue",
      "no amount in HKD",
      "hsgate converts no currency",
    );
    await guarded.orders.place({ ...ORDER, quantity: "200" });
  },
);

guardTest(
  "the values of a day and of a listing add up over processes, and amendments count by their difference",
  {
    maxDayValue: "200000 HKD",
  },
  async (testAccount) => {
    const { guarded, another } = testAccount;
    const { orderId } = await guarded.orders.place(ORDER); // 55000
    const other = another(); // another process on the same store
    await assertRefused(
      testAccount,
      () => other.orders.place({ ...ORDER, quantity: "300" }),
      "maxDayValue",
      "220000 HKD",
      "with 55000 of earlier orders",
      "550 is 200",
    );
    await other.orders.amend({
      market: "hk",
      symbol: ORDER.symbol,
      orderId: String(orderId),
      quantity: "300",
      price: "550",
    });
    await assertRefused(
      testAccount,
      () => guarded.orders.place({ ...ORDER, price: "551" }),
      "maxDayValue",
      "with 165000",
      "no quantity fits",
    );
    await assertRefused(
      testAccount,
      () => another({ maxSymbolValue: "165000 HKD" }).orders.place({ ...ORDER, price: "551" }),
      "maxSymbolValue",
      "with 165000",
    );
    // A cancellation passes, but the value of the cancelled orders still counts for the day.
    await cancelAll(testAccount, guarded);
    await assertRefused(
      testAccount,
      () => guarded.orders.place({ ...ORDER, price: "551" }),
      "maxDayValue",
      "with 165000",
    );
  },
);

guardTest("orders of a minute have a limit over all processes; a minute later the next one passes", {
  maxOrdersPerMinute: "2",
}, async (testAccount) => {
  const { guarded, another, clock } = testAccount;
  await guarded.orders.place(ORDER);
  await another().orders.place({ ...ORDER, price: "551" });
  await assertRefused(
    testAccount,
    () => guarded.orders.place({ ...ORDER, price: "552" }),
    "maxOrdersPerMinute",
    "order 3",
    "60 s",
  );
  await cancelAll(testAccount, guarded);
  clock.advance(60_000);
  await guarded.orders.place({ ...ORDER, price: "552" });
});

guardTest(
  "an order for a symbol that is not allowed is refused",
  { allowedSymbols: "00005.HK, AAPL" },
  async (testAccount) => {
    await assertRefused(
      testAccount,
      () => testAccount.guarded.orders.place(ORDER),
      "allowedSymbols",
      "00700.HK",
      "00005.HK, AAPL",
    );
  },
);

guardTest("no sale is larger than what the broker says can be sold", {}, async (testAccount) => {
  const { guarded, client, another } = testAccount;
  const [row] = await client.account.holdings({ market: "hk" });
  const { symbol, sellableQuantity: most = "" } = row!;
  const [quote] = await client.quotes.latest({ securities: [{ type: "hk-stock", symbol }] });
  const sale = { ...ORDER, symbol, side: "sell", price: quote!.lastPrice!, orderType: "limit" } as const;
  const lot = String(quote!.lotSize);
  const tooMuch = add(most, lot);
  await assertRefused(
    testAccount,
    () => guarded.orders.place({ ...sale, quantity: tooMuch }),
    "allowShort",
    tooMuch,
    `quantity is ${most}`,
  );
  await assertRefused(
    testAccount,
    () => guarded.orders.place({ ...sale, side: "short-open", quantity: lot }),
    "allowShort",
    'short; no quantity is allowed while allowShort is "refuse"',
  );
  assert(compare(most, "0") > 0);
  const { orderId } = await guarded.orders.place({ ...sale, quantity: most });
  await assertRefused(
    testAccount,
    () => another().orders.place({ ...sale, quantity: lot }),
    "allowShort",
    `it sells ${lot} of "${sale.symbol}"; nothing can be sold`,
  );
  assert(orderId !== undefined);
});

guardTest(
  "a buy order may use the broker's largest quantity, and not one lot more",
  { priceCollar: "off" },
  async (testAccount) => {
    const { guarded, client } = testAccount;
    const { quantity } = await client.account.maxBuy({
      market: "hk",
      symbol: ORDER.symbol,
      price: ORDER.price,
    });
    await assertRefused(
      testAccount,
      () => guarded.orders.place({ ...ORDER, quantity: add(quantity, "100") }),
      "buyingPower",
      `largest quantity is ${quantity}`,
    );
    await guarded.orders.place({ ...ORDER, quantity });
  },
);

const withoutAlgo = { skip: { direct: "the socket messages of algorithmic orders are not published" } };
const ALGO = {
  market: "hk",
  symbol: "00005.HK",
  orderType: "limit",
  strategy: "twap",
  settings: {},
} as const;

/** Returns the last price of the listing of {@linkcode ALGO}, and its lot. */
async function quoteOf(client: Client): Promise<{ price: string; lot: string }> {
  const [quote] = await client.quotes.latest({
    securities: [{ type: "hk-stock", symbol: ALGO.symbol }],
  });
  return { price: quote!.lastPrice!, lot: String(quote!.lotSize) };
}

guardTest(
  "what an open algorithmic buy order has not sent yet is not available to other orders",
  { priceCollar: "off" },
  async (testAccount) => {
    const { guarded, client, another, clock, round } = testAccount;
    const { price: last, lot } = await quoteOf(client);
    const price = subtract(last, "1"); // nothing fills
    const order = { ...ORDER, symbol: ALGO.symbol, price, quantity: lot };
    const mostOf = async () =>
      (await client.account.maxBuy({ market: "hk", symbol: ALGO.symbol, price })).quantity!;
    const most = await mostOf();
    const algo = { ...ALGO, side: "buy", price } as const;
    const { orderId } = await guarded.algo.place({ ...algo, quantity: most });
    assert(compare(await mostOf(), lot) > 0); // the broker freezes only what the order has sent
    const words = ["open algorithmic orders will buy for another", "no quantity can be bought"];
    await assertRefused(testAccount, () => another().orders.place(order), "buyingPower", ...words);
    await assertRefused(testAccount, () => guarded.orders.place(order), "buyingPower", ...words);
    assertEquals(
      (await assertRejects(() => guarded.algo.place({ ...algo, quantity: lot }), BrokerError)).code,
      "guard",
    );
    await client.algo.cancel({ market: "hk", orderId: orderId! });
    await guarded.orders.place({ ...order, quantity: most });
    await cancelAll(testAccount, client);
    // An order of another program, a part of which is in the market. Its children do not count twice.
    const half = toStep(divide(most, "2", 0, "down"), lot, "down");
    const other = await client.algo.place({ ...algo, quantity: half });
    clock.advance(30 * 60_000);
    round();
    const children = await client.algo.children({
      market: "hk",
      orderId: other.orderId!,
      date: "2025-08-15",
    });
    const rows = await client.orders.today({ market: "hk" }).toArray();
    const open = rows.filter((row) => children.includes(row.orderId!) && row.canCancel);
    assert(open.length > 0 && open.length < 10);
    await guarded.orders.place({ ...order, quantity: subtract(most, add(half, lot)) });
    await assertRefused(
      testAccount,
      () => guarded.orders.place({ ...order, quantity: multiply(lot, "4") }),
      "buyingPower",
      "algorithmic",
    );
    // The rest of an order counts once in an amendment of this order, also if the amendment names no market.
    await guarded.algo.amend({ orderId: other.orderId!, price, quantity: half });
    await guarded.algo.amend({ market: "hk", orderId: other.orderId!, price, quantity: half });
  },
  withoutAlgo,
);

guardTest("what an open algorithmic sell order has not sent yet cannot be sold by another order", {
  priceCollar: "off",
}, async (testAccount) => {
  const { guarded, client, another, clock, round } = testAccount;
  const holdings = await client.account.holdings({ market: "hk" });
  const quotes = await client.quotes.latest({
    securities: holdings.map(({ symbol = "" }) => ({ type: "hk-stock", symbol })),
  });
  const [held] = quotes.map(({ security, lotSize, lastPrice = "0" }) => {
    const { symbol = "", sellableQuantity: most = "0" } = holdings.find((row) =>
      row.symbol === security?.symbol
    )!;
    return { symbol, most, lot: String(lotSize), paid: lastPrice };
  }).sort((a, b) => compare(divide(b.most, b.lot, 0, "down"), divide(a.most, a.lot, 0, "down")));
  const { symbol, most, lot, paid } = held!;
  const price = add(paid, "5");
  const sale = { ...ORDER, symbol, side: "sell", price, quantity: multiply(lot, "2") } as const;
  const algo = { ...ALGO, symbol, side: "sell", price } as const;
  await guarded.algo.place({ ...algo, quantity: subtract(most, lot) });
  for (const client of [guarded, another()]) {
    await assertRefused(
      testAccount,
      () => client.orders.place(sale),
      "allowShort",
      `only ${lot} can be sold, and open algorithmic orders will sell another `,
      `quantity is ${lot}`,
    );
  }
  clock.advance(30 * 60_000);
  round();
  await assertRefused(testAccount, () => guarded.orders.place(sale), "allowShort", `quantity is ${lot}`);
  await guarded.orders.place({ ...sale, quantity: lot });
}, withoutAlgo);

guardTest("an order passes if the broker refuses the list of algorithmic orders", {}, async (testAccount) => {
  const { guarded, simulator: { faults }, count } = testAccount;
  const asked = count("algo.list");
  faults.arm({ kind: "http-error", status: 404, operation: "algo.list", times: 10 });
  await guarded.orders.place(ORDER);
  assertEquals(asked(), 1);
}, { skip: { ...withoutAlgo.skip, memory: "it has no HTTP status" } });

guardTest(
  "no order passes while the broker is too busy to show the list of algorithmic orders",
  {},
  async (testAccount) => {
    const { guarded, client, simulator: { faults } } = testAccount;
    const before = (await client.orders.today({ market: "hk" }).toArray()).length;
    faults.arm({ kind: "busy", operation: "algo.list", times: 10 });
    await assertRejects(() => guarded.orders.place(ORDER), BusyError);
    assertEquals((await client.orders.today({ market: "hk" }).toArray()).length, before);
    faults.clear();
    await guarded.orders.place(ORDER);
  },
  withoutAlgo,
);

guardTest(
  "an order with a stale quote is refused, unless the age limit is wider",
  { quoteMaxAge: "30s" },
  async (testAccount) => {
    const { store, machine, open } = testAccount;
    // The desk's machine and the broker agree on the time here; the quote is of the minute before.
    const stale = (client: Client): Client => ({
      ...client,
      quotes: {
        ...client.quotes,
        latest: async (...given: Parameters<typeof client.quotes.latest>) =>
          (await client.quotes.latest(...given)).map((quote) => ({ ...quote, marketTime: "20250815102900" })),
      },
    });
    const limited = (limits: LimitTexts) =>
      open({
        client: stale(testAccount.client),
        guard: guardsOf(readLimits({ liveTrading: "allow", ...limits }), {
          store,
          machine,
          account: ACCOUNT,
          calendars: () => builtInCalendars,
        }),
      }).client();
    await assertRefused(
      testAccount,
      () => limited({ quoteMaxAge: "30s" }).orders.place(ORDER),
      "quoteMaxAge",
      "60 s old",
      "at most 30 s",
    );
    await limited({ quoteMaxAge: "1m" }).orders.place(ORDER);
  },
);

guardTest(
  "a quantity is compared with the average day's volume",
  { maxVolumeShare: "0.001%" },
  async (testAccount) => {
    const { guarded, client } = testAccount;
    await assertRefused(testAccount, () => guarded.orders.place(ORDER), "maxVolumeShare", "off");
    await client.quotes.subscribe({ topic: "quote", securities: [TENCENT] });
    const refusal = await assertRejects(
      () => guarded.orders.place({ ...ORDER, quantity: "1000" }),
      BrokerError,
    );
    const [, most = ""] = /the largest quantity is (\d+)/.exec(refusal.message) ?? [];
    await assertRefused(
      testAccount,
      () => guarded.orders.place({ ...ORDER, quantity: add(most, "100") }),
      "maxVolumeShare",
      most,
    );
    await guarded.orders.place({ ...ORDER, quantity: most });
  },
  { simulator: { gateway: { barsNeedSubscription: true } as object } },
);

guardTest("a market order counts with the price of the market, also in a later process", {
  maxOrderValue: "500 USD",
  maxDayValue: "500 USD",
}, async (testAccount) => {
  const { guarded, another } = testAccount;
  const order = { ...AAPL, price: "0", orderType: "market" } as const;
  await assertRefused(
    testAccount,
    () => guarded.orders.place({ ...order, quantity: "9" }),
    "maxOrderValue",
    "USD",
  );
  await guarded.orders.place(order);
  await assertRefused(
    testAccount,
    () => another().orders.place({ ...order, quantity: "2" }),
    "maxDayValue",
    "of earlier orders",
  );
}, { at: at("2025-08-15T10:30:00-04:00") });

guardTest("a futures order is refused for its tick, its value, or a sale without a holding", {
  maxOrderValue: "2000000 HKD",
}, async (testAccount) => {
  const { guarded, client } = testAccount;
  const symbol = "HSI2508.HK";
  const [quote] = await client.quotes.latest({ securities: [{ type: "hk-index-future", symbol }] });
  const price = String(Math.floor(Number(quote!.lastPrice)));
  const order = { symbol, price, quantity: "1", side: "buy", orderType: "limit", validity: "day" } as const;
  await assertRefused(
    testAccount,
    () => guarded.futures.place({ ...order, price: `${price}.5` }),
    "tick",
    price,
  );
  await assertRefused(
    testAccount,
    () => guarded.futures.place({ ...order, quantity: "2" }),
    "maxOrderValue",
    "is 1",
  );
  await assertRefused(
    testAccount,
    () => guarded.futures.place({ ...order, side: "sell" }),
    "allowShort",
    "nothing can be sold",
  );
  await guarded.futures.place(order);
});

/** Returns a generator of numbers from 0 to 1, from a seed. */
function numbersOf(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

for (const seed of [1, 2, 3]) {
  guardTest(`no sequence of orders, amendments and cancellations exceeds a limit, seed ${seed}`, {
    maxOrderValue: "300000 HKD",
    maxSymbolValue: "900000 HKD",
    maxDayValue: "1200000 HKD",
    maxOrdersPerMinute: "4",
  }, async (testAccount) => {
    const { guarded, another, clock } = testAccount;
    const next = numbersOf(seed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
    const desks = [guarded, another()];
    const prices: Record<string, number> = { "00700.HK": 550, "00005.HK": 95 };
    /** The largest quantity and the highest price of each order at the broker. */
    const values = new Map<string, { symbol: string; quantity: string; price: string }>();
    /** When each order or amendment was sent. */
    const times: number[] = [];
    let [sent, refused] = [0, 0];
    for (let turn = 0; turn < 45; turn++) {
      const symbol = pick(Object.keys(prices));
      const lot = symbol === "00700.HK" ? 100 : 400;
      const price = String(prices[symbol]! + Math.floor(next() * 8));
      const quantity = String(lot * (1 + Math.floor(next() * 8)));
      const own = [...values].filter(([, each]) => each.symbol === symbol).map(([id]) => id);
      const isAmendment = own.length > 0 && next() < 0.35;
      if (next() < 0.1) await cancelAll(testAccount, pick(desks));
      clock.advance(Math.floor(next() * 25_000));
      const target = pick(own);
      const before = isAmendment ? values.get(target)! : undefined;
      try {
        const { orderId } = before !== undefined
          ? await pick(desks).orders.amend({ market: "hk", symbol, orderId: target, quantity, price })
          : await pick(desks).orders.place({ ...ORDER, symbol, quantity, price });
        const most = (one: string, other = "0") => compare(one, other) > 0 ? one : other;
        if (before !== undefined) values.delete(target);
        values.set(String(orderId), {
          symbol,
          quantity: most(quantity, before?.quantity),
          price: most(price, before?.price),
        });
        assert(compare(multiply(quantity, price), "300000") <= 0);
        times.push(clock.now());
        sent++;
      } catch (error) {
        if (!(error instanceof BrokerError)) throw error;
        if (error.code === "guard") refused++;
      }
      const total = (isCounted: (symbol: string) => boolean) =>
        add(
          "0",
          ...[...values.values()].filter((each) => isCounted(each.symbol)).map((each) =>
            multiply(each.quantity, each.price)
          ),
        );
      assert(compare(total(() => true), "1200000") <= 0, total(() => true));
      for (const each of Object.keys(prices)) assert(compare(total((one) => one === each), "900000") <= 0);
      assert(times.filter((time) => time > clock.now() - 60_000).length <= 4);
    }
    assert(sent > 5 && refused > 5, `${sent} sent, ${refused} refused`);
  });
}

guardTest(
  "a purchase that closes a short position needs no other money, and only for that position",
  { priceCollar: "off" },
  async (testAccount) => {
    const { guarded, client, clock, round } = testAccount;
    const order = { market: "us", symbol: "AAPL", orderType: "limit" } as const;
    const [quote] = await client.quotes.latest({ securities: [{ type: "us-stock", symbol: "AAPL" }] });
    const [low, high] = [subtract(quote!.lastPrice!, "1"), add(quote!.lastPrice!, "1")];
    const close = { ...order, side: "short-close", price: high } as const;
    const { quantity: most } = await client.account.maxBuy({ market: "us", symbol: "AAPL", price: high });
    const tooMuch = { ...close, quantity: add(most, "1") };
    await assertRefused(testAccount, () => guarded.orders.place(tooMuch), "buyingPower");
    await client.orders.place({ ...order, side: "short-open", price: low, quantity: "10" });
    clock.advance(5_000);
    round();
    // Another purchase uses all of the cash.
    const other = { market: "us", symbol: "MSFT", price: "10" } as const;
    const { quantity } = await client.account.maxBuy(other);
    await client.orders.place({ ...order, ...other, side: "buy", quantity });
    await assertRefused(
      testAccount,
      () => guarded.orders.place({ ...close, quantity: "11" }),
      "buyingPower",
    );
    await guarded.orders.place({ ...close, quantity: "10" });
    await assertRefused(testAccount, () => guarded.orders.place({ ...close, quantity: "9" }), "buyingPower");
  },
  { at: Date.parse("2025-08-15T22:30:00+08:00"), simulator: { shorts: true } },
);

guardTest(
  "an open purchase that closes a short position can be amended, and takes no buying power from others",
  { priceCollar: "off" },
  async ({ guarded, client, clock, round }) => {
    const order = { market: "us", symbol: "AAPL", orderType: "limit" } as const;
    const lastPrice = async () =>
      (await client.quotes.latest({ securities: [{ type: "us-stock", symbol: "AAPL" }] }))[0]!.lastPrice!;
    const open = { ...order, side: "short-open", price: subtract(await lastPrice(), "1") } as const;
    await client.orders.place({ ...open, quantity: "300" });
    clock.advance(60_000);
    round();
    const low = subtract(await lastPrice(), "20");
    const { orderId } = await guarded.orders.place({
      ...order,
      side: "short-close",
      price: low,
      quantity: "300",
    });
    const other = { market: "us", symbol: "MSFT", price: "10" } as const;
    const { quantity } = await client.account.maxBuy(other);
    const most = toStep(multiply(quantity, "0.9"), "1", "down");
    await guarded.orders.place({ ...order, ...other, side: "buy", quantity: most });
    const rest = (await client.account.maxBuy(other)).quantity;
    await client.orders.place({ ...order, ...other, side: "buy", quantity: rest });
    // A part is filled, and no cash is left.
    await guarded.orders.amend({
      market: "us",
      symbol: "AAPL",
      orderId: orderId!,
      quantity: "300",
      price: await lastPrice(),
    });
    const shown = async () =>
      (await client.orders.today({ market: "us" }).toArray()).find((row) => row.orderId === orderId)!;
    for (let turn = 0; turn < 400 && compare((await shown()).filledQuantity ?? "0", "0") === 0; turn++) {
      clock.advance(1_000);
      round();
    }
    const { price, filledQuantity } = await shown();
    assert(compare(filledQuantity!, "0") > 0 && compare(filledQuantity!, "300") < 0, filledQuantity);
    const left = (await client.account.maxBuy(other)).quantity;
    if (compare(left, "0") > 0) {
      await client.orders.place({ ...order, ...other, side: "buy", quantity: left });
    }
    const better = add(price!, "1.00");
    await guarded.orders.amend({
      market: "us",
      symbol: "AAPL",
      orderId: orderId!,
      quantity: "300",
      price: better,
    });
  },
  { at: Date.parse("2025-08-15T22:30:00+08:00"), simulator: { shorts: true } },
);
