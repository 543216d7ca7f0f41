import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { add, multiply, normalize, subtract } from "../../lib/decimal.ts";
import type { Client } from "../../lib/client/client.ts";
import { type Portfolio, type PortfolioHolding, readPortfolio } from "../../lib/portfolio/portfolio.ts";
import { ManualClock } from "../../lib/time.ts";
import { moneyText } from "../../tasks/commands/portfolio/body.ts";
import { FRIDAY_MORNING, simulated } from "../day_book/simulated.ts";
import {
  altered,
  cli,
  directEnvOf,
  envOf,
  folder,
  MORNING,
  simulate,
  simulatePlatform,
  storeEnv,
} from "./support.ts";

const assertMatch = (text: string, pattern: RegExp) => assert(pattern.test(text), text);

Deno.test("portfolio shows the same amounts over both transports, and they tie out with the broker's", async () => {
  await using dir = await folder();
  await using gateway = await simulate({ days: 5 });
  await using platform = await simulatePlatform();
  const envs = [envOf(gateway), directEnvOf(platform.info, `${dir.path}/leases`)];
  const read: Portfolio[] = [];
  for (const env of envs) {
    const { code, out, err } = await cli(["portfolio", "--json"], { env });
    assertEquals([code, err], [0, ""]);
    read.push(JSON.parse(out));
  }
  const [portfolio] = read as [Portfolio];
  assertEquals(read[1]!.holdings, portfolio.holdings);
  assertEquals(read[1]!.total, portfolio.total);
  assert(portfolio.holdings.length > 5);
  assertEquals(portfolio.notes, []);
  for (const each of portfolio.holdings) {
    if (each.quantity === "0" || each.market === "futures") continue;
    assertEquals(each.value, normalize(multiply(each.quantity, each.price!)), each.symbol);
    const gain = subtract(each.price!, each.costPrice!);
    assertEquals(each.profit, normalize(multiply(gain, each.quantity)), each.symbol);
  }
  // In each currency, the broker's own total is the cash plus the value of the holdings. Futures have separate cash.
  const futures = portfolio.markets.find(({ market }) => market === "futures")!;
  for (const { market, currency, brokerAssets } of portfolio.markets) {
    if (market === "futures") continue;
    const sum = portfolio.currencies.find((each) => each.currency === currency)!;
    const own = currency === "HKD" ? subtract(sum.total, futures.brokerAssets!) : sum.total;
    assertEquals(normalize(own), brokerAssets, currency);
  }
  assertEquals(futures.brokerAssets, normalize(add(futures.cash!, futures.value)));
  const inBase = portfolio.currencies.map(({ currency, total }) =>
    multiply(total, portfolio.rates[currency]!)
  );
  assertEquals(portfolio.total!.total, normalize(add("0", ...inBase)));
});

Deno.test("the profit of the day counts today's fills at their prices, also of a listing that was sold completely", async () => {
  await using dir = await folder();
  const clock = new ManualClock(MORNING);
  await using gateway = await simulate({ days: 5, clock });
  const env = { ...envOf(gateway), ...storeEnv(dir) };
  const read = async (): Promise<Portfolio> => {
    const { code, out, err } = await cli(["portfolio", "--markets", "hk", "--json"], { env });
    assertEquals(code, 0, err);
    return JSON.parse(out);
  };
  const before = await read();
  const held = before.holdings.find(({ sellable, quantity }) => sellable === quantity)!;
  const own = async (): Promise<{ fillPrice: string; filledQuantity: string; symbol: string }[]> =>
    JSON.parse((await cli(["fills", "--json"], { env })).out);
  const limit = (factor: number) => String(Math.round(Number(held.price) * factor));
  const type = ["--type", "enhanced-limit", "--yes"];
  const sold = await cli(["sell", held.quantity, held.symbol, "--limit", limit(0.95), ...type], { env });
  assertEquals(sold.code, 0, sold.err);
  clock.advance(60_000);
  gateway.round();
  const fills = (await own()).filter(({ symbol }) => symbol === held.symbol);
  assertEquals(add("0", ...fills.map(({ filledQuantity }) => filledQuantity)), held.quantity);
  const proceeds = add(
    "0",
    ...fills.map(({ fillPrice, filledQuantity }) => multiply(fillPrice, filledQuantity)),
  );
  const quotes = JSON.parse((await cli(["quote", held.symbol, "--json"], { env })).out);
  const after = (await read()).holdings.find(({ symbol }) => symbol === held.symbol)!;
  assertEquals([after.quantity, after.value, after.profit], ["0", "0", "0"]);
  assertEquals(
    after.dayProfit,
    normalize(subtract(proceeds, multiply(held.quantity, quotes[0].previousClose))),
  );
  // After midnight in Hong Kong nothing has traded, so the day has no profit.
  clock.set(Date.parse("2025-08-16T00:30:00+08:00"));
  for (const each of (await read()).holdings) assertEquals(each.dayProfit, "0", each.symbol);
});

Deno.test("the value of a future is the broker's profit, and its profit of the day counts the day's fills, also for short and closed positions", async () => {
  const clock = new ManualClock(MORNING);
  await using gateway = await simulate({ days: 5, clock });
  const env = envOf(gateway);
  const read = async (...words: string[]): Promise<Portfolio> => {
    const { code, out, err } = await cli(["portfolio", "--json", ...words], { env });
    assertEquals(code, 0, err);
    return JSON.parse(out);
  };
  const ask = (name: `futures.${"place" | "holdings" | "fillsToday"}`, params: object) =>
    JSON.parse(JSON.stringify(gateway.broker.call(name, params)));
  const trade = (symbol: string, side: string, quantity: string) => {
    ask("futures.place", { symbol, orderType: "market", price: "0", validity: "day", side, quantity });
    clock.advance(5_000);
    gateway.round();
  };
  trade("HHI2508.HK", "sell", "3");
  trade("HHI2508.HK", "buy", "1");
  trade("HSI2508.HK", "buy", "1");
  trade("HSI2508.HK", "sell", "1");
  const { holdings: held, funds } = ask("futures.holdings", {});
  const fills: { symbol: string; side: string; fillPrice: string; filledQuantity: string }[] = ask(
    "futures.fillsToday",
    {},
  );
  const portfolio = await read("--markets", "futures");
  const symbols = portfolio.holdings.map(({ symbol }) => symbol);
  assertEquals(symbols, ["HHI2508.HK", "HSI2508.HK", "MHI2508.HK"]);
  for (const { symbol, profit, quantity } of held) {
    const found = portfolio.holdings.find((each) => each.symbol === symbol)!;
    assertEquals([found.quantity, found.profit, found.value], [
      quantity,
      normalize(profit),
      normalize(profit),
    ], symbol);
  }
  // A point of this contract is fifty dollars, and the position is short.
  const short = portfolio.holdings[0]!;
  const paid = (symbol: string) =>
    add(
      "0",
      ...fills.filter((fill) => fill.symbol === symbol).map(({ side, fillPrice, filledQuantity }) =>
        multiply(side === "buy" ? filledQuantity : `-${filledQuantity}`, fillPrice)
      ),
    );
  const gain = subtract(multiply("-2", short.price!), paid("HHI2508.HK"));
  assertEquals([short.quantity, short.dayProfit], ["-2", normalize(multiply(gain, "50"))]);
  const closed = portfolio.holdings[1]!;
  assertEquals([closed.quantity, closed.value, closed.profit], ["0", "0", "0"]);
  assertEquals(closed.dayProfit, normalize(multiply(subtract("0", paid("HSI2508.HK")), "50")));
  assertEquals(portfolio.total?.total, normalize(funds.netAssets));
  const others = await read("--markets", "hk");
  assertEquals(others.markets.map(({ market }) => market), ["hk"]);
  const shown = await cli(["portfolio"], { env });
  assertMatch(shown.out, /^futures +HKD /m);
  assertStringIncludes(shown.out, "without fees and dividends");
});

Deno.test("portfolio shows currencies and rates within 80 columns, and rejects an unknown currency", async () => {
  await using gateway = await simulate({ days: 5 });
  const env = envOf(gateway);
  const { code, out } = await cli(["portfolio", "--currency", "usd"], { env, columns: 80 });
  assertEquals(code, 0);
  for (const line of out.split("\n")) assert(line.length <= 80, line);
  assertMatch(
    out,
    /^Portfolio of 2025-08-15 10:30:00 HKT\n\nsymbol +quantity +price +value +in +day +profit( +%)?\n/,
  );
  assertMatch(out, /\nall in CNY +CNY .*\ntotal +USD .*\n1 HKD = 0\.\d+ USD\n/);
  const wrong = await cli(["portfolio", "--currency", "eur"], { env });
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.err, 'Cannot use --currency "eur": expected one of hkd, usd, cny');
});

Deno.test("a market whose holdings change while it is read is read again; if they keep changing, a note says so", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  for (const [changes, readings] of [[1, 3], [9, 4]] as const) {
    const { client } = broker;
    let count = 0;
    const holdings: Client["account"]["holdings"] = async (...given) => {
      const [first, ...others] = await client.account.holdings(...given);
      count++;
      return [{ ...first!, quantity: count <= changes ? String(count) : first!.quantity }, ...others];
    };
    const changing = { ...client, account: { ...client.account, holdings } };
    const { notes } = await readPortfolio(changing, { markets: ["hk"], now: () => FRIDAY_MORNING });
    assertEquals([count, notes.length], [readings, changes === 1 ? 0 : 1]);
    if (changes > 1) assertStringIncludes(notes[0]!, "the holdings of hk changed while they were read");
  }
});

type Member = Exclude<keyof PortfolioHolding, "missing">;

/** Something that the broker does not give, and how the portfolio names it. */
interface Missing {
  what: string;
  markets?: string;
  /** Operation whose first call the broker rejects. */
  rejects?: string;
  /** Changes a member of an answer; `undefined` removes the member. */
  change?: (name: string, value: unknown) => unknown;
  /** The notes that are not about one holding. */
  notes?: string[];
  /** Holdings that lack members. Without this field, no holding lacks a member. */
  holdings?: { symbols?: string[]; missing: string; lacks: Member[] };
  also?: (portfolio: Portfolio) => void;
}

const NO_VALUE: Member[] = ["price", "quotedAt", "value", "dayProfit", "profit"];
const NO_QUOTE = "no price, so it has no value and no profit here";
/** Returns a function that changes the row or quote of Tencent, and nothing else. */
const ofTencent = (change: object) => (_: string, value: unknown): unknown => {
  const { stockCode, security } = (value ?? {}) as { stockCode?: string; security?: { code?: string } }; // a row or a quote
  const isIt = stockCode === "00700.HK" || security?.code === "00700.HK";
  return isIt ? { ...value as object, ...change } : value;
};

const missing: Missing[] = [
  {
    what: "the quotes of a market",
    markets: "hk",
    rejects: "quotes.latest",
    notes: [
      "the broker rejected the query for quotes of hk: Cannot complete quotes.latest: 1006 not entitled",
    ],
    holdings: { missing: NO_QUOTE, lacks: NO_VALUE },
  },
  {
    what: "the price of a listing, for which the broker writes zero",
    markets: "hk",
    change: ofTencent({ lastPrice: 0, lastClosePrice: 0 }),
    holdings: { symbols: ["00700.HK"], missing: NO_QUOTE, lacks: NO_VALUE },
  },
  {
    what: "the time of a quote",
    markets: "hk",
    change: ofTencent({ marketTime: undefined, tradeTime: undefined }),
    holdings: {
      symbols: ["00700.HK"],
      missing: "no profit of the day: the quote has no time or no close of the day before",
      lacks: ["quotedAt", "dayProfit"],
    },
  },
  {
    what: "the cost price of a share",
    markets: "hk",
    change: ofTencent({ costPrice: undefined }),
    holdings: {
      symbols: ["00700.HK"],
      missing: "no total profit: the broker gives no cost price",
      lacks: ["costPrice", "profit"],
    },
  },
  {
    what: "the cost price of a future",
    markets: "futures",
    change: (name, value) => name === "costPrice" ? undefined : value,
    holdings: {
      symbols: ["MHI2508.HK"],
      missing: "no total profit and no value: the broker gives no cost price",
      lacks: ["costPrice", "value", "profit"],
    },
  },
  {
    what: "the multiplier of a future that the reference data lack",
    markets: "futures",
    change(_, value) {
      if (value === "MHI2508.HK") return "XXX2508.HK";
      // The simulator has no such future, so it rejects the query for its quote.
      if (!(value as { err?: string } | null)?.err?.startsWith("1016")) return value; // any value of an answer
      const security = { dataType: 10010, code: "XXX2508.HK" };
      const quote = { security, lastPrice: 25439, lastClosePrice: 25905, marketTime: "20250815103000" };
      return { ok: true, err: "", data: { basicQot: [quote] } };
    },
    holdings: {
      symbols: ["XXX2508.HK"],
      missing:
        "the reference data have no multiplier of this contract, so it has no value and no profit here",
      lacks: NO_VALUE,
    },
  },
  {
    what: "cash",
    markets: "us",
    change: (name, value) => name === "enableBalance" ? undefined : value,
    notes: ["the broker sent no cash amount for us"],
    also: ({ markets }) => assertEquals(markets.map((each) => "cash" in each), [false]),
  },
  {
    what: "one cash amount of two markets with the same currency",
    markets: "shenzhen,shanghai",
    change: (() => {
      let funds = 0;
      return (name: string, value: unknown) => name === "enableBalance" ? `${++funds}.00` : value;
    })(),
    notes: ["the markets of CNY have different cash (1, 2), so no sum contains it"],
    also: ({ currencies: [cny], markets }) => {
      assertEquals([cny!.cash, cny!.total], ["0", cny!.value]);
      assertEquals(markets.map(({ cash }) => cash), ["1", "2"]);
    },
  },
  {
    what: "the rate of a currency",
    markets: "hk,us",
    change: (name, value) => name === "USD" ? undefined : value,
    notes: ["the broker has no rate from USD to HKD, so there is no total in HKD"],
    also: ({ total, currencies }) => {
      assertEquals([total, currencies.map(({ currency }) => currency)], [undefined, ["HKD", "USD"]]);
    },
  },
  {
    what: "a market",
    rejects: "account.holdings",
    notes: ["hk was not read: Cannot complete account.holdings: 1006 not entitled"],
    also: ({ markets }) =>
      assertEquals(markets.map(({ market }) => market), ["us", "shenzhen", "shanghai", "futures"]),
  },
];
for (const { what, markets, rejects, change, notes = [], holdings, also } of missing) {
  Deno.test(`portfolio names what is missing in a warning and in --json, and for a holding also in its row: ${what}`, async () => {
    await using gateway = await simulate({ days: 5 });
    await using changed = altered(gateway, (answer) => JSON.stringify(JSON.parse(answer, change)));
    const env = envOf(change === undefined ? gateway : changed);
    const read = async (...words: string[]) => {
      if (rejects !== undefined) {
        gateway.faults.arm({ kind: "busy", operation: rejects, code: "1006", text: "not entitled" });
      }
      return await cli(["portfolio", ...words, ...markets === undefined ? [] : ["--markets", markets]], {
        env,
      });
    };
    const { code, out, err } = await read("--json");
    assertEquals(code, 0, err);
    const portfolio: Portfolio = JSON.parse(out);
    const symbols = holdings === undefined
      ? []
      : holdings.symbols ?? portfolio.holdings.map(({ symbol }) => symbol);
    assert(portfolio.holdings.length > 0);
    const all = [...notes, ...symbols.map((symbol) => `${symbol}: ${holdings?.missing}`)];
    assertEquals(portfolio.notes, all);
    assertEquals(err, all.map((note) => `hsgate: warning: ${note}\n`).join(""));
    for (const each of portfolio.holdings) {
      const isIt = symbols.includes(each.symbol);
      assertEquals(each.missing, isIt ? holdings?.missing : undefined, each.symbol);
      // A listing that was sold completely has no cost price.
      const members = [...NO_VALUE];
      if (each.quantity !== "0") members.push("costPrice");
      const lacks = members.filter((member) => each[member] === undefined).sort();
      assertEquals(lacks, isIt ? holdings?.lacks.toSorted() : [], each.symbol);
    }
    also?.(portfolio);
    const table = (await read("--columns", "symbol,value,missing")).out.split("\n");
    for (
      const { symbol, missing, value } of portfolio.holdings.filter((each) => each.missing !== undefined)
    ) {
      const cells = [symbol, ...value === undefined ? [] : [moneyText(value)], missing];
      const rows = table.map((line) => line.split(/ {2,}/)).filter(([first]) => first === symbol);
      assertEquals(rows, [cells]);
    }
  });
}

Deno.test("a listing with a fill of an unknown side has no profit of the day, and a note gives the reason", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const { client } = broker;
  const options = { markets: ["hk"], now: () => FRIDAY_MORNING } as const;
  const { holdings: [held] } = await readPortfolio(client, options);
  const fill = { symbol: held!.symbol, side: "unlisted:9", filledQuantity: "1", fillPrice: "1" };
  const today = (() => ({ toArray: () => Promise.resolve([fill]) })) as unknown as Client["fills"]["today"]; // only this is read
  const odd = { ...client, fills: { ...client.fills, today } };
  const { holdings, notes } = await readPortfolio(odd, options);
  assertEquals(holdings.find(({ symbol }) => symbol === held!.symbol)?.dayProfit, undefined);
  assertEquals(notes, [
    `${held!.symbol}: no profit of the day: a fill is incomplete, or has a side that hsgate does not know`,
  ]);
});

Deno.test("moneyText() rounds to cents and groups thousands", () => {
  assertEquals(moneyText("1234567.005"), "1,234,567.01");
  assertEquals(moneyText("-1000"), "-1,000.00");
  assertEquals(moneyText("999"), "999.00");
  assertEquals(moneyText("0"), "0.00");
  assertEquals(moneyText(undefined), "");
});

Deno.test("bars lists the last bars, or a range, and ends the subscription that it began", async () => {
  await using gateway = await simulate({ days: 5 });
  const env = envOf(gateway);
  const { code, out } = await cli(["bars", "00700.HK", "--count", "3"], { env, columns: 80 });
  assertEquals(code, 0);
  const lines = out.trimEnd().split("\n");
  assertMatch(lines[0]!, /^date +open +high +low +close +change +volume$/);
  assertEquals(lines.slice(1).map((line) => line.slice(0, 10)), ["2025-08-13", "2025-08-14", "2025-08-15"]);
  assertEquals(gateway.state().subscriptions, 0);
  const range = ["--from", "2025-08-01", "--to", "2025-08-12", "--json"];
  const bars = JSON.parse((await cli(["bars", "00700.HK", ...range], { env })).out);
  assertEquals([bars[0].date, bars.at(-1).date], ["2025-08-01", "2025-08-12"]);
  // A bar of the US exchange is shown with the day and time of Hong Kong.
  const us = await cli(["bars", "AAPL", "--interval", "60m", "--to", "2025-08-14", "--count", "1"], { env });
  assertMatch(us.out, /^time \(HKT\) .*\n2025-08-15 03:/);
});

Deno.test("a futures account without contracts is left out only if it has neither cash nor net assets", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const { client } = broker;
  const marketsOf = async (amounts: { cash?: string; netAssets?: string }) => {
    // Only these members are read.
    const futures = {
      ...client.futures,
      holdings: () => Promise.resolve({ holdings: [] }),
      funds: () => Promise.resolve({ funds: amounts }),
      fillsToday: () => Promise.resolve([]),
    } as unknown as Client["futures"];
    const { markets } = await readPortfolio({ ...client, futures }, { now: () => FRIDAY_MORNING });
    return markets.map(({ market }) => market).includes("futures");
  };
  const shown = [];
  for (
    const amounts of [{}, { cash: "0", netAssets: "0.00" }, { cash: "0", netAssets: "5" }, { cash: "1" }]
  ) {
    shown.push(await marketsOf(amounts));
  }
  assertEquals(shown, [false, false, true, true]);
});
