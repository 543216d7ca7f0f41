/** Tests of plans: what they print, what they leave out, and which mistakes they name. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { InvalidParamsError } from "../../lib/errors.ts";
import { makePlan, type Plan, readAccount, readRebalanceFile } from "../../lib/rebalance/mod.ts";
import { largeCase } from "./large_cases.ts";

const pure = { permissions: "none" } as const;

const row = (symbol: string, price: string, more: Record<string, unknown> = {}) => ({
  market: "hk",
  symbol,
  price,
  lot: "100",
  ...more,
});

/** An account of 100,000 HKD: half in cash, 30 % in one listing and 20 % in another. */
const account = {
  date: "2025-08-15",
  cash: { HKD: "50000" },
  holdings: [
    row("00700.HK", "300", { quantity: "100" }),
    row("00005.HK", "100", { quantity: "200", sellable: "200" }),
  ],
  quotes: [row("00388.HK", "50")],
};

async function planOf(
  file: Record<string, unknown>,
  of: Record<string, unknown> = account,
): Promise<Plan> {
  const settings = await readRebalanceFile(JSON.stringify({ market: "hk", ...file }), { name: "plan.json" });
  return await makePlan(settings, readAccount(JSON.stringify(of), "account.json"));
}

const fails = async (file: Record<string, unknown>, of: Record<string, unknown>, ...texts: string[]) => {
  const { message } = await assertRejects(() => planOf(file, of), InvalidParamsError);
  for (const text of texts) assertStringIncludes(message, text);
};

const reasons = ({ leftOut }: Plan) =>
  Object.fromEntries(leftOut.map(({ symbol, reason }) => [symbol, reason]));

Deno.test("makePlan() returns trades, cash, weights and drift as exact decimals", pure, async () => {
  const plan = await planOf({ targets: { "00700.HK": "0.3", "00005.HK": "0.3", "00388.HK": "0.2" } });
  assertEquals(plan.base, "HKD");
  assertEquals(plan.trades, [
    {
      market: "hk",
      symbol: "00005.HK",
      side: "buy",
      quantity: "100",
      price: "100",
      value: "10000",
      // 3 commission, 15 platform fee, 10 stamp duty, 0.57 trading fee, 0.27 levy, 0.02 AFRC levy, 0.42 settlement
      fees: "29.28",
    },
    {
      market: "hk",
      symbol: "00388.HK",
      side: "buy",
      quantity: "400",
      price: "50",
      value: "20000",
      fees: "43.54",
    },
  ]);
  assertEquals(plan.cashAfter, { HKD: "19927.18" });
  assertEquals(plan.weightsAfter, { "00005.HK": "0.3", "00388.HK": "0.2", "00700.HK": "0.3" });
  assertEquals([plan.sumSquaredDrift, plan.lowerBound, plan.optimal], ["0", "0", true]);
  assertEquals([plan.value, plan.turnover, plan.sumSquaredDriftBefore], ["100000.00", "0.3", "0.05"]);
  assertEquals(plan.leftOut, []);
});

Deno.test("makePlan() sells what has no target, and counts its drift", pure, async () => {
  const plan = await planOf({ targets: { "00700.HK": "0.3" } });
  assertEquals(plan.trades.map(({ side, symbol, quantity }) => `${side} ${quantity} ${symbol}`), [
    "sell 200 00005.HK",
  ]);
  assertEquals(plan.sumSquaredDriftBefore, "0.04");
});

Deno.test("makePlan() keeps the cash buffer, fees included", pure, async () => {
  const targets = { "00700.HK": "0.3", "00005.HK": "0.2", "00388.HK": "0.1" };
  const to = async (HKD: string) => (await planOf({ targets, cashBuffer: { HKD } })).trades;
  // Buying 200 for 10,000 costs fees of 29.28.
  assertEquals((await to("39970.72"))[0]?.quantity, "200");
  assertEquals((await to("39970.73"))[0]?.quantity, "100");
});

Deno.test("makePlan() trades only what is outside its band", pure, async () => {
  const targets = { "00700.HK": "0.25", "00005.HK": "0.4" };
  const symbolsOf = async (drift: unknown, more = {}) =>
    (await planOf({ targets, drift, ...more })).trades.map(({ symbol }) => symbol);
  assertEquals(await symbolsOf({ absolute: "0.05" }), ["00005.HK"]);
  assertEquals(await symbolsOf({ absolute: "0.2" }), []);
  assertEquals(await symbolsOf({ relative: "0.5" }), []);
  assertEquals(await symbolsOf({ relative: "0.49" }), ["00005.HK"]);
  const { leftOut } = await planOf({ targets, drift: { absolute: "0.2" } });
  assertEquals(leftOut.map(({ reason }) => reason), ["inside the band", "inside the band"]);
});

Deno.test(
  "makePlan() trades everything once one symbol is outside its band, with trade: all",
  pure,
  async () => {
    const targets = { "00388.HK": "0.3", "00005.HK": "0.22", "00700.HK": "0.3" };
    const symbolsOf = async (trade: string, more = {}) =>
      (await planOf({ targets, trade, drift: { absolute: "0.1" }, ...more }, {
        ...account,
        holdings: [...account.holdings.slice(0, 1), row("00005.HK", "10", { quantity: "2000" })],
      })).trades.map(({ symbol }) => symbol);
    assertEquals(await symbolsOf("drifted"), ["00388.HK"]);
    assertEquals(await symbolsOf("all"), ["00005.HK", "00388.HK"]);
    // Only a symbol that the plan may trade can cause trades of the others, so an excluded symbol causes none.
    assertEquals(await symbolsOf("all", { exclude: ["00388.HK"] }), []);
  },
);

Deno.test("makePlan() trades a group only while the group is outside its band", pure, async () => {
  const groups = (absolute: string) => ({
    banks: { weight: "0.3", symbols: ["00005.HK", "00388.HK"], drift: { absolute } },
  });
  const plan = await planOf({ targets: { "00700.HK": "0.3" }, groups: groups("0.1") });
  assertEquals(plan.trades, []);
  assertEquals(reasons(plan)["00388.HK"], "group banks is inside its band");
  assertEquals(plan.positions.map(({ target }) => target), ["0.15", "0.15", "0.3"]);
  const outside = await planOf({ targets: { "00700.HK": "0.3" }, groups: groups("0.09") });
  assert(outside.trades.length > 0);
});

Deno.test(
  "excluding a symbol that is not held is a mistake only if the plan would sell a position that the file may mean",
  pure,
  async () => {
    const exclude = ["00001.HK"];
    const targets = { "00700.HK": "0.3", "00005.HK": "0.3" };
    const plan = await planOf({ targets, exclude });
    assertEquals(reasons(plan), { "00001.HK": "excluded, and neither held nor a target" });
    assertEquals(plan.trades, (await planOf({ targets })).trades);
    assertEquals(Object.keys(plan.weightsAfter), ["00005.HK", "00700.HK"]);
    // Perhaps the file means 00005.HK, which has no target.
    const alone = { "00700.HK": "0.3" };
    await fails(
      { targets: alone, exclude },
      account,
      "exclude.0",
      '"00001.HK"',
      'should be kept, such as "00005.HK"',
    );
    assertEquals((await planOf({ targets: alone, exclude: [...exclude, "00005.HK"] })).trades, []);
  },
);

Deno.test("makePlan() says why a symbol is left out", pure, async () => {
  const targets = { "00700.HK": "0.31", "00005.HK": "0.1", "00388.HK": "0.2" };
  const reasonsOf = async (file: Record<string, unknown>, of = account as Record<string, unknown>) =>
    reasons(await planOf({ targets, ...file }, of));
  assertEquals(
    (await reasonsOf({}))["00700.HK"],
    "one lot of 100 is 30 % of the account, and the drift is only 1 %",
  );
  assertEquals((await reasonsOf({ sellOnly: true }))["00388.HK"], "sell only");
  assertStringIncludes((await reasonsOf({ cashFlowOnly: true }))["00005.HK"]!, "cash-flow only");
  assertEquals((await reasonsOf({ exclude: ["00388.HK"] }))["00388.HK"], "excluded");
  assertEquals(
    (await reasonsOf({ sellOnly: true, minTrade: "50000" }))["00005.HK"],
    "what can be sold is worth less than minTrade 50000.00, or less than its fees",
  );
  assertEquals(
    (await reasonsOf({ maxTurnover: "0.04" }))["00388.HK"],
    "buying 5000.00 HKD would exceed maxTurnover",
  );
  assertEquals(
    (await reasonsOf({ cashBuffer: { HKD: "46000" }, exclude: ["00005.HK"] }))["00388.HK"],
    "buying 5000.00 HKD needs 5023.64 HKD with fees, and 4000.00 HKD remain above the buffer",
  );
  const of = { ...account, quotes: [row("00388.HK", "50", { suspended: true })] };
  assertEquals((await reasonsOf({}, of))["00388.HK"], "trading is suspended");
  const locked = [{ ...account.holdings[0]! }, row("00005.HK", "100", { quantity: "200", sellable: "0" })];
  assertEquals(
    (await reasonsOf({}, { ...account, holdings: locked }))["00005.HK"],
    "nothing of it can be sold today",
  );
  const odd = [{ ...account.holdings[0]! }, row("00005.HK", "100", { quantity: "200", sellable: "60" })];
  assertEquals(
    (await reasonsOf({}, { ...account, holdings: odd }))["00005.HK"],
    "only 60 of 200 shares can be sold, which is less than a lot of 100",
  );
});

Deno.test(
  "makePlan() limits the turnover to a part of the account, or to an amount of money",
  pure,
  async () => {
    const turnover = async (maxTurnover: string) =>
      (await planOf({ targets: { "00700.HK": "0.3", "00005.HK": "0.2", "00388.HK": "0.3" }, maxTurnover }))
        .turnover;
    assertEquals(await turnover("0.1"), "0.1");
    assertEquals(await turnover("0.0999"), "0.05");
    assertEquals(await turnover("10000"), "0.1");
    assertEquals(await turnover("9999.99"), "0.05");
    assertEquals(await turnover("2"), "0.3");
  },
);

Deno.test("makePlan() sells an odd lot as an order of its own, if oddLots is sell", pure, async () => {
  const of = { ...account, holdings: [row("00005.HK", "100", { quantity: "250" })] };
  const sold = async (oddLots: string) =>
    (await planOf({ targets: { "00388.HK": "0.1" }, oddLots }, of)).trades
      .filter(({ side }) => side === "sell").map(({ quantity }) => quantity);
  assertEquals(await sold("keep"), ["200"]);
  assertEquals(await sold("sell"), ["200", "50"]);
});

Deno.test("makePlan() converts by the broker's rates, and keeps cash apart by currency", pure, async () => {
  const of = {
    date: "2025-08-15",
    cash: { HKD: "22000", USD: "10000" },
    rates: { USD: { HKD: "7.8", CNY: "7.1" } },
    quotes: [
      { market: "us", symbol: "AAPL", price: "100", lot: "1" },
      row("00388.HK", "50"),
    ],
  };
  const plan = await planOf({
    market: undefined,
    base: "HKD",
    targets: { AAPL: "0.78", "00388.HK": "0.22" },
    cashBuffer: { USD: "100" },
  }, of);
  assertEquals(plan.value, "100000.00");
  assertEquals(plan.trades.map(({ symbol, quantity }) => `${quantity} ${symbol}`), [
    "400 00388.HK",
    "98 AAPL",
  ]);
  assertEquals(Object.keys(plan.cashAfter), ["HKD", "USD"]);
  await fails(
    { market: undefined, base: "HKD", targets: { AAPL: "0.5" } },
    { ...of, rates: {} },
    "rates.USD",
    "the value of one USD in HKD",
  );
});

Deno.test("makePlan() does not spend reserved cash, or proceeds that settle later", pure, async () => {
  const targets = { "00700.HK": "0.3", "00388.HK": "0.4" };
  const boughtWith = async (of: Record<string, unknown>, more = {}) =>
    (await planOf({ targets, ...more }, { ...account, ...of })).trades.find(({ side }) => side === "buy")
      ?.quantity;
  assertEquals(await boughtWith({}), "800");
  assertEquals(await boughtWith({ reserved: { HKD: "49000" } }), "400");
  assertEquals(await boughtWith({ reserved: { HKD: "49000" } }, { proceeds: { hk: "later" } }), undefined);
});

Deno.test(
  "readRebalanceFile() reads equal weights, files of targets and YAML without losing digits, and rejects huge or deep YAML",
  pure,
  async () => {
    const read = (text: string, other = "") =>
      readRebalanceFile(text, { name: "p.yaml", readOther: () => Promise.resolve(other) });
    const equal = await read("base: HKD\nequalWeight: { symbols: [A, B, C], total: 0.9 }\n");
    assertEquals(equal.targets, { A: "0.300000000000", B: "0.300000000000", C: "0.300000000000" });
    const csv = await read(
      "market: us\ntargetsFile: t.csv\n",
      "symbol,weight\nAAPL,0.10\nMSFT,0.123456789012345678\n",
    );
    assertEquals(csv.targets, { AAPL: "0.10", MSFT: "0.123456789012345678" });
    assertEquals(csv.base, "USD");
    const { issues } = await assertRejects(
      () => read("market: us\ntargetsFile: t.csv\n", "code,weight\nAAPL,0.10\n"),
      InvalidParamsError,
    );
    assertEquals(issues, [{
      path: ["columns"],
      value: "code, weight",
      expected: "the columns symbol and weight: correct the first line",
    }]);
    // If a column occurs twice, a spreadsheet may show the first one, and the reader would use the second one.
    for (
      const twice of ["symbol,weight,weight\nAAPL,0.10,0.90\n", "symbol,symbol,weight\nAAPL,MSFT,0.10\n"]
    ) {
      const { issues } = await assertRejects(
        () => read("market: us\ntargetsFile: t.csv\n", twice),
        InvalidParamsError,
      );
      assertEquals(issues.map(({ expected }) => expected), ["each column once: remove all but one of them"]);
    }
    const json = await read('{"market":"us","targetsFile":"t.json"}', '{"AAPL": 0.10}');
    assertEquals(json.targets, { AAPL: "0.10" });
    // Aliases would repeat 20,000 codes 3,000 times.
    const codes = Array.from({ length: 20_000 }, (_, index) => `S${index}`).join(", ");
    const groups = Array.from({ length: 3_000 }, (_, index) => `  g${index}: { weight: 0, symbols: *a }\n`)
      .join("");
    const aliases = `groups:\n  g: { weight: 0, symbols: &a [${codes}] }\n${groups}`;
    await assertRejects(
      () => read(aliases),
      TypeError,
      "more than 500000 values, counted again for each alias",
    );
    await assertRejects(() => read("[".repeat(100_000)), TypeError, "neither YAML nor JSON");
    const levels = `{"targets":${'{"A":'.repeat(1500)}1${"}".repeat(1501)}`;
    for (const deep of [levels, "market: hk\ntargets: &a { A: *a }\n", "a: &a [*a, *a]\n"]) {
      await assertRejects(() => read(deep), TypeError, "nested too deep, or contain themselves");
    }
    const yaml = await read("market: hk\ntargets: { 00700.HK: 0.40 }\nsellOnly: true\n");
    assertEquals([yaml.targets, yaml.sellOnly], [{ "00700.HK": "0.40" }, true]);
  },
);

Deno.test(
  "a file with null, a member twice or the name __proto__ is a mistake in YAML and in JSON",
  pure,
  async () => {
    const read = (text: string) => readRebalanceFile(text, { name: "p" });
    const refused = async (text: string, ...texts: string[]) => {
      const error = await assertRejects(() => read(text), Error);
      assert(error instanceof InvalidParamsError || error instanceof TypeError);
      for (const each of texts) assertStringIncludes(error.message, each);
    };
    for (const nothing of ["null", "~", ""]) {
      await refused(
        `market: hk\ntargets: { A: 0.1 }\nmaxTurnover: ${nothing}\n`,
        "maxTurnover",
        "a value: give one",
      );
      await refused(`market: hk\ntargets:\n  A: 0.1\n  B: ${nothing}\n`, "targets.B", "a value: give one");
    }
    // Without its target, the plan would sell the symbol.
    await refused('{"market":"hk","targets":{"A":"0.1","B":null}}', "targets.B", "a value: give one");
    await refused('{"market":"hk","targets":{"A":"0.1","B":"0.2","A":"0.3"}}', 'the member "A" twice');
    await refused(
      '{"market":"hk","targets":{"A":"0.1"},"\\u0074argets":{"B":"0.1"}}',
      'the member "targets" twice',
    );
    await refused("market: hk\ntargets: { A: 0.1, A: 0.2 }\n", "duplicated key");
    for (
      const text of [
        '{"market":"hk","targets":{"A":0.1,"__proto__":0.2}}',
        "market: hk\ntargets: { __proto__: 0.2 }",
      ]
    ) {
      await refused(text, "targets.__proto__", "another name");
    }
    const same = await read(
      '{"market":"hk","targets":{"A":"0.1"},"groups":{"A":{"weight":0.1,"symbols":["B"]}},"exclude":["A","A"]}',
    );
    assertEquals(same.targets, { A: "0.1", B: "0.100000000000" });
    const { quotes } = readAccount(
      '{"date":"2025-08-15","cash":{},"quotes":[{"market":"hk","symbol":"A","price":null}]}',
      "a",
    );
    assertEquals(quotes, [{ market: "hk", symbol: "A" }]);
  },
);

Deno.test("a plan with mistakes names each field, its value and what is allowed", pure, async () => {
  const targets = { "00700.HK": "0.3" };
  await fails(
    { targets: { "00700.HK": "0.6", "00005.HK": "0.5" } },
    account,
    'got "1.1"',
    "together at most 1",
  );
  await fails({ targets: { "00700.HK": "1.2" } }, account, "targets", '"1.2"', "a weight from 0 to 1");
  await fails(
    { targets: { "09999.HK": "0.1" } },
    account,
    '"09999.HK"',
    "a symbol with a quote in the markets hk",
  );
  await fails({ targets, maxTurnover: "-1" }, account, "maxTurnover", '"-1"', "up to 2");
  // Too large as a part, and too small as an amount: 20 may be meant as 20 %.
  for (const unclear of ["2.5", "20", "100"]) {
    await fails(
      { targets, maxTurnover: unclear },
      account,
      "maxTurnover",
      `"${unclear}"`,
      '"0.20" for 20 %',
      "above 100",
    );
  }
  await fails({ targets: { "<b>": "0.5" } }, account, "a listing code");
  await fails({ targets: { "00700.HK": `0.${"1".repeat(21)}` } }, account, "a weight from 0 to 1");
  await fails({ targets, minTrade: "1e900" }, account, "minTrade", "an amount of money");
  await fails({ targets, cashbuffer: {} }, account, "cashbuffer", "no member of this name");
  await fails(
    { targets, cashBuffer: { USD: "1" } },
    account,
    "cashBuffer.USD",
    "a currency of the plan (HKD)",
  );
  await fails({}, account, "at least one target");
  // A value that breaks two rules of its member is one mistake.
  const soon = { targets, execution: { repriceEvery: "soon", maxReprices: "many" } };
  const { issues } = await assertRejects(() => planOf(soon), InvalidParamsError);
  assertEquals(issues.map(({ path }) => path.join(".")), ["execution.repriceEvery", "execution.maxReprices"]);
  await fails({ targets, market: undefined }, account, "base", "more than one currency");
  const quoted = (quote: Record<string, unknown>) => ({ ...account, quotes: [quote] });
  const wants = { targets: { "00388.HK": "0.2" } };
  await fails(wants, quoted(row("00388.HK", "0")), "quotes.0.price", '"0"', "above zero");
  await fails(
    wants,
    quoted({ market: "hk", symbol: "00388.HK", price: "50" }),
    "quotes.0.lot",
    "that the broker confirms",
  );
  await fails(wants, quoted(row("00388.HK", "50", { date: "2025-08-14" })), "quotes.0.date", "2025-08-15");
  await fails(wants, quoted(row("00388.HK", "50", { lot: "0.5" })), "quotes.0.lot", '"0.5"', "whole shares");
  await fails(
    { targets },
    quoted(row("00700.HK", "299.9")),
    "quotes.0.price",
    '"299.9"',
    'the price 300 of the holding "00700.HK"',
  );
  await fails({ targets }, quoted(row("00700.HK", "300.0", { lot: "50" })), "quotes.0.lot", "the lot 100");
  await fails(
    { targets: { "00700.HK": "0.1", "700.HK": "0.9" } },
    account,
    "each listing once",
    '"00700.HK"',
  );
  await fails({ targets }, { ...account, rates: { HKD: "7.8" } }, "rates.HKD", '"7.8"', "1 or nothing");
  const twice = row("00005.HK", "50");
  await fails({ targets }, { ...account, quotes: [twice, twice] }, "quotes.1.symbol", "each listing once");
  await fails({ targets }, { ...account, cash: { hkd: "1" } }, "cash", '"hkd"', "three capital letters");
  await fails({ targets }, { ...account, date: "2025-02-31" }, "date", '"2025-02-31"');
  const long = `0.${"3".repeat(28)}`;
  await fails({ targets: { "00700.HK": long } }, account, "at most 20 digits on each side of the point");
  // A holding without a price gets the price and the date of its quote.
  const [held] = account.holdings;
  const unpriced = { ...held, price: undefined, date: "2025-08-15" };
  const old = row("00700.HK", "50", { date: "2025-08-14" });
  await fails({ targets }, { ...account, holdings: [unpriced], quotes: [old] }, "date", '"2025-08-14"');
  await fails(
    { targets, cashBuffer: { HKD: "99950" } },
    account,
    "cashBuffer.HKD",
    "missing even if the plan sells all it may",
  );
});

Deno.test(
  "a limit of the turnover gives a plan near the best one, although three trades must change at once",
  pure,
  async () => {
    const shares = [
      ["SAB", "538.53", "3", "0.0551"],
      ["SAC", "72.55", "29", "0.0610"],
      ["SAD", "403.84", "7", "0.0360"],
      ["SAE", "264.24", "28", "0.1056"],
      ["SAG", "217.87", "20", "0.0496"],
      ["SAI", "194.52", "9", "0.0476"],
      ["SAJ", "363.11", "11", "0.1200"],
      ["SAK", "39.69", "145", "0.0681"],
      ["SAL", "75.35", "93", "0.1311"],
    ] as const;
    const held = [
      ["01005.HK", "4.44", "500", "5000"],
      ["01007.HK", "43.49", "500", "2000"],
    ] as const;
    const hk = { "01000.HK": "0.0702", "01005.HK": "0.0839", "01007.HK": "0.1334" };
    const plan = await planOf({
      market: undefined,
      base: "HKD",
      targets: { ...hk, ...Object.fromEntries(shares.map(([symbol, , , target]) => [symbol, target])) },
      maxTurnover: "0.36",
    }, {
      date: "2025-08-15",
      cash: { HKD: "2458", USD: "3064" },
      rates: { USD: "7.8" },
      holdings: [
        ...shares.map(([symbol, price, quantity]) => ({ market: "us", symbol, price, lot: "1", quantity })),
        ...held.map(([symbol, price, lot, quantity]) => ({ market: "hk", symbol, price, lot, quantity })),
      ],
      quotes: [{ market: "hk", symbol: "01000.HK", price: "41.86", lot: "1000" }],
    });
    // A solver of integer programs finds 0.0031406.
    assert(Number(plan.sumSquaredDrift) < 0.0031406 * 1.01, plan.sumSquaredDrift);
  },
);

Deno.test(
  "the hash of a plan changes with its settings and its account, and not with the order of members",
  pure,
  async () => {
    const targets = { "00700.HK": "0.3", "00005.HK": "0.3" };
    const { hash } = await planOf({ targets });
    assertEquals((await planOf({ targets: { "00005.HK": "0.3", "00700.HK": "0.3" } })).hash, hash);
    assert((await planOf({ targets, minTrade: "1" })).hash !== hash);
    assert((await planOf({ targets }, { ...account, cash: { HKD: "50000.01" } })).hash !== hash);
  },
);

Deno.test(
  "makePlan() is within 1 % of its lower bound for 500 symbols, and keeps cashBuffer, maxTurnover and sellOnly",
  pure,
  async () => {
    const settings = [
      {},
      { minTrade: "20000" },
      { maxTurnover: "0.05" },
      { cashBuffer: { HKD: "10000000" } },
      { drift: { relative: "0.1" } },
      { sellOnly: true },
      { proceeds: { hk: "later" } },
    ];
    for (const [index, each] of settings.entries()) {
      for (const markets of [["hk"], ["hk", "us", "shanghai"]] as const) {
        const { file, account } = largeCase({
          seed: index + 1,
          symbols: 500,
          cash: 0.02,
          settings: each,
          markets,
        });
        const plan = await makePlan(await readRebalanceFile(file, { name: "large.json" }), account);
        const what = `${JSON.stringify(each)} ${markets}`;
        if ("cashBuffer" in each && markets.length > 1) continue;
        const ratio = Number(plan.sumSquaredDrift) / Number(plan.lowerBound);
        assert(ratio >= 1 && ratio <= 1.01, `${what}: ${ratio}`);
        for (const [currency, after] of Object.entries(plan.cashAfter)) {
          assert(Number(after) >= Number(plan.cashBuffer[currency]), `${what}: ${after} ${currency}`);
        }
        if ("maxTurnover" in each) assert(Number(plan.turnover) <= 0.05, plan.turnover);
        if ("sellOnly" in each) assert(plan.trades.every(({ side }) => side === "sell"));
      }
    }
  },
);

/** Returns the plan of many listings without holdings, each with the same weight. */
async function equalPlan(
  count: number,
  { price, cash, ...settings }: Record<string, string | undefined>,
): Promise<Plan> {
  const symbols = Array.from({ length: count }, (_, index) => `0${1000 + index}.HK`);
  return await planOf({ equalWeight: { symbols, total: "1" }, ...settings }, {
    date: "2025-08-15",
    cash: { HKD: cash },
    quotes: symbols.map((symbol) => row(symbol, price!)),
  });
}

Deno.test("makePlan() proves the best plan of many equal listings", pure, async () => {
  for (const settings of [{}, { maxTurnover: "0.1" }, { minTrade: "12000" }]) {
    for (const count of [20, 200]) {
      const plan = await equalPlan(count, { price: "50", cash: String(17_000 * count), ...settings });
      assert(plan.optimal && plan.trades.length > 0, `${count} ${JSON.stringify(settings)}`);
    }
  }
});

Deno.test("makePlan() finds a plan if cheap shares use all of the cash, fees included", pure, async () => {
  const symbols = Array.from(
    { length: 30 },
    (_, index) => `S${String.fromCharCode(65 + index % 26)}${index % 7 ? "A" : "B"}`,
  );
  const unique = [...new Set(symbols)];
  const plan = await planOf({ market: "us", equalWeight: { symbols: unique } }, {
    date: "2025-08-15",
    cash: { USD: "20000000" },
    holdings: unique.map((symbol, index) => ({
      market: "us",
      symbol,
      price: `${(0.5 + index * 0.0317).toFixed(4)}`,
      quantity: String(100_000 + index * 37_000),
    })),
  });
  assertEquals(plan.trades.length, unique.length);
  assert(Number(plan.cashAfter.USD) >= 0 && Number(plan.cashAfter.USD) < 5, plan.cashAfter.USD);
  assert(Number(plan.sumSquaredDrift) <= Number(plan.lowerBound) * 1.01);
});
