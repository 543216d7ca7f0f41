/** Tests of plans with the account of a simulated broker, over both transports. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import type { Client } from "../../lib/client/client.ts";
import { connect } from "../../lib/client/connect.ts";
import { add } from "../../lib/decimal.ts";
import { InvalidParamsError, RejectedError } from "../../lib/errors.ts";
import type { Quote } from "../../lib/operations/quotes.ts";
import { makePlan, readBrokerAccount, readRebalanceFile } from "../../lib/rebalance/mod.ts";
import type { GatewayOptions } from "../../lib/simulator/gateway/mod.ts";
import { ManualClock } from "../../lib/time.ts";
import { MORNING, simulate, simulatePlatform } from "../cli/support.ts";
import { connectDirect } from "../support/direct_client.ts";

const options = { now: () => MORNING, calendars: builtInCalendars };

const fileOf = (settings: Record<string, unknown>) =>
  readRebalanceFile(JSON.stringify(settings), { name: "plan.json" });

const hongKong = { market: "hk", targets: { "700.HK": "0.3", "00005.HK": "0.2" }, minTrade: "10000" };

/** Starts a simulated gateway, and returns a client of it. */
async function world(settings: Partial<GatewayOptions> = {}) {
  const gateway = await simulate(settings);
  const { tradePassword, tradePasswordKey, gatewayUrl } = gateway.info;
  const client = await connect({ gateway: gatewayUrl, tradePassword, tradePasswordKey });
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await gateway.close();
    },
  };
}

/** Returns a client that changes each quote that it receives. */
function withQuotes(client: Client, change: (quote: Quote) => Quote): Client {
  const latest: Client["quotes"]["latest"] = async (...args) =>
    (await client.quotes.latest(...args)).map((quote) => ({
      ...quote,
      ...change(quote),
    }));
  return Object.create(client, { quotes: { value: { ...client.quotes, latest } } });
}

Deno.test("readBrokerAccount() reads cash, holdings, quotes and lots; the value is the broker's total", async () => {
  await using at = await world();
  const account = await readBrokerAccount(at.client, await fileOf(hongKong), options);
  const { available, totalAssets } = await at.client.account.funds({ market: "hk" });
  assertEquals(account.cash, { HKD: add(available!, "0") });
  assertEquals(account.date, "2025-08-15");
  assertEquals(account.rates, {});
  assert(account.holdings.every(({ price, lot, sellable }) => price && lot && sellable));
  assert(account.quotes.some(({ symbol }) => symbol === "00700.HK"));
  const plan = await makePlan(await fileOf(hongKong), account);
  assertEquals(plan.value, totalAssets);
  assert(plan.trades.some(({ symbol, side }) => symbol === "00700.HK" && side === "buy"));
});

Deno.test("a plan is the same over both transports, for one market and for the whole account", async () => {
  const platform = await simulatePlatform();
  const gateway = await simulate({ days: 5 });
  try {
    await using direct = await connectDirect(platform.info);
    const { tradePassword, tradePasswordKey, gatewayUrl } = gateway.info;
    await using http = await connect({ gateway: gatewayUrl, tradePassword, tradePasswordKey });
    for (
      const file of [
        hongKong,
        {
          base: "HKD",
          equalWeight: { symbols: ["00700.HK", "AAPL", "600519.SH"], total: "0.9" },
          prices: "mid",
        },
      ]
    ) {
      const settings = await fileOf(file);
      const plans = await Promise.all(
        [http, direct].map(async (client) =>
          await makePlan(settings, await readBrokerAccount(client, settings, options))
        ),
      );
      assert(plans[0]!.trades.length > 2);
      assertEquals(plans[0], plans[1]);
    }
  } finally {
    await platform.close();
    await gateway.close();
  }
});

Deno.test("makePlan() rejects an old quote, a quote without a lot, and a missing rate", async () => {
  await using at = await world();
  const fails = async (change: (quote: Quote) => Quote, ...texts: string[]) => {
    const settings = await fileOf(hongKong);
    const account = await readBrokerAccount(withQuotes(at.client, change), settings, options);
    const { message } = await assertRejects(() => makePlan(settings, account), InvalidParamsError);
    for (const text of texts) assertStringIncludes(message, text);
  };
  const tencent = (edit: Partial<Quote>) => (quote: Quote) =>
    quote.security?.symbol === "00700.HK" ? { ...quote, ...edit } : quote;
  await fails(
    tencent({ marketTime: "20250815101400" }),
    "960 s old",
    'a quote of "00700.HK" that is current',
  );
  await fails(tencent({ marketTime: "20250814160000" }), "s old");
  await fails(tencent({ marketTime: undefined, tradeTime: undefined }), "without a time");
  await fails(tencent({ lotSize: undefined }), 'a board lot of "00700.HK" that the broker confirms');
  await fails(tencent({ lotSize: 0 }), "lot");
  await fails(tencent({ lastPrice: undefined, previousClose: undefined }), "a price of");
  const settings = await fileOf({ base: "HKD", markets: ["hk", "us"], targets: { AAPL: "0.1" } });
  const account = await readBrokerAccount(at.client, settings, options);
  const { message } = await assertRejects(
    () => makePlan(settings, { ...account, rates: {} }),
    InvalidParamsError,
  );
  assertStringIncludes(message, "the value of one USD in HKD");
});

Deno.test("targets that the broker does not know are mistakes, each with its field and the broker's answer", async () => {
  const platform = await simulatePlatform();
  try {
    await using direct = await connectDirect(platform.info);
    await using at = await world();
    const known = Object.fromEntries(["00001", "00027", "00388"].map((code) => [`${code}.HK`, "0.1"]));
    const settings = await fileOf({
      market: "hk",
      targets: { ...known, "9876.HK": "0.1", "99999.HK": "0.2" },
    });
    for (const client of [at.client, direct]) {
      const { issues } = await assertRejects(
        () => readBrokerAccount(client, settings, options),
        InvalidParamsError,
      );
      assertEquals(issues.map(({ path, value }) => [path.join(" "), value]), [
        ["targets 9876.HK", "09876.HK"],
        ["targets 99999.HK", "99999.HK"],
      ]);
      for (const { value, expected } of issues) {
        assertStringIncludes(expected, `unknown security "${value}"`);
        assertStringIncludes(expected, "correct the code, or remove the target");
      }
    }
    // If the broker rejects every request, the symbols are not the cause, so few requests are sent.
    let requests = 0;
    const latest: Client["quotes"]["latest"] = () => {
      requests++;
      return Promise.reject(
        new RejectedError("Cannot complete quotes.latest: no permission", "no permission"),
      );
    };
    const refusing = Object.create(at.client, { quotes: { value: { ...at.client.quotes, latest } } });
    const { issues } = await assertRejects(
      () => readBrokerAccount(refusing, settings, options),
      InvalidParamsError,
    );
    assertEquals([issues.length, requests < 20], [5, true]);
  } finally {
    await platform.close();
  }
});

Deno.test("while the market is closed, the last quote is current", async () => {
  const sunday = Date.parse("2025-08-17T12:00:00+08:00");
  await using at = await world({ clock: new ManualClock(sunday) });
  const settings = await fileOf(hongKong);
  const account = await readBrokerAccount(
    withQuotes(at.client, (quote) => ({ ...quote, marketTime: "20250815155900" })),
    settings,
    { ...options, now: () => sunday },
  );
  assertEquals([account.date, account.quotes.filter(({ stale }) => stale !== undefined)], ["2025-08-17", []]);
  const platform = await simulatePlatform({ clock: new ManualClock(sunday) });
  try {
    await using direct = await connectDirect(platform.info);
    const { quotes } = await readBrokerAccount(direct, settings, { ...options, now: () => sunday });
    assertEquals(quotes.filter(({ stale }) => stale !== undefined), []);
    assert(quotes.length > 2);
  } finally {
    await platform.close();
  }
});

Deno.test("a symbol with an open order is not traded, and frozen cash is reserved", async () => {
  const gateway = await simulate();
  const { tradePassword, tradePasswordKey, gatewayUrl } = gateway.info;
  try {
    await using client = await connect({
      gateway: gatewayUrl,
      tradePassword,
      tradePasswordKey,
    });
    await client.orders.place({
      market: "hk",
      symbol: "00700.HK",
      side: "buy",
      orderType: "limit",
      quantity: "100",
      price: "540.00",
    });
    const settings = await fileOf(hongKong);
    const account = await readBrokerAccount(client, settings, options);
    const { frozen } = await client.account.funds({ market: "hk" });
    assertEquals(account.reserved, { HKD: add(frozen!, "0") });
    assert(frozen !== "0.00");
    const { leftOut, trades } = await makePlan(settings, account);
    assertEquals(leftOut.find(({ symbol }) => symbol === "00700.HK")?.reason, "it has an open order");
    assert(trades.every(({ symbol }) => symbol !== "00700.HK"));
  } finally {
    await gateway.close();
  }
});

Deno.test("a market is read again if an order was filled meanwhile, and at most three times", async () => {
  await using at = await world();
  const settings = await fileOf(hongKong);
  const changing = (times: number): { client: Client; readings: () => number } => {
    let readings = 0;
    const holdings: Client["account"]["holdings"] = async (...args) => {
      const rows = await at.client.account.holdings(...args);
      readings++;
      return rows.map((row, index) =>
        index === 0 ? { ...row, quantity: String(100 * Math.min(readings, times)) } : row
      );
    };
    const account = { ...at.client.account, holdings };
    return { client: Object.create(at.client, { account: { value: account } }), readings: () => readings };
  };
  const once = changing(2);
  const { holdings } = await readBrokerAccount(once.client, settings, options);
  assertEquals([once.readings(), holdings[0]?.quantity], [3, "200"]);
  const always = changing(99);
  const { message } = await assertRejects(
    () => readBrokerAccount(always.client, settings, options),
    InvalidParamsError,
  );
  assertEquals(always.readings(), 4); // the first reading, and three more
  assertStringIncludes(message, "holdings.hk");
  assertStringIncludes(message, "try again when no order is being filled");
});
