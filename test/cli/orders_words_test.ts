/** Tests of the text that an order command shows before it asks. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { connect } from "../../lib/client/connect.ts";
import { multiply, round } from "../../lib/decimal.ts";
import { ManualClock } from "../../lib/time.ts";
import {
  altered,
  cli,
  directEnvOf,
  envOf,
  folder,
  KEY,
  MORNING,
  PASSWORD,
  simulate,
  simulatePlatform,
  storeEnv,
} from "./support.ts";

const US_MORNING = Date.parse("2025-08-15T10:30:00-04:00");

Deno.test("call of an option order shows the value and the fees of the whole contracts, not of one share", async () => {
  await using files = await folder();
  await using gateway = await simulate({ clock: new ManualClock(US_MORNING) });
  const env = { ...envOf(gateway), ...storeEnv(files), HSGATE_PRICE_COLLAR: "off" };
  const terms = {
    market: "us",
    symbol: "AAPL250919C2300000",
    quantity: "2",
    side: "buy",
    orderType: "limit",
  };
  const words = ["call", "orders.place", JSON.stringify({ ...terms, price: "5.5" })];
  const { err } = await cli(words, { env, answer: "n", now: () => US_MORNING });
  assertStringIncludes(err, "at a limit of 5.5 USD");
  assert(/value +1100\.00 USD\n/.test(err), err);
  const [, fees = ""] = /fees +about (\d+\.\d\d) USD/.exec(err) ?? [];
  assert(Number(fees) > 0, err);
});

Deno.test("call of an algorithmic order shows the strategy, the quote, the value and the cash", async () => {
  await using files = await folder();
  await using gateway = await simulate({ clock: new ManualClock(MORNING) });
  const env = { ...envOf(gateway), ...storeEnv(files) };
  const terms = {
    market: "hk",
    symbol: "00700.HK",
    side: "buy",
    orderType: "limit",
    price: "590",
    quantity: "1000",
    strategy: "twap",
    settings: { endTime: "11:00:00" },
  };
  const { err } = await cli(["call", "algo.place", JSON.stringify(terms)], { env, answer: "n" });
  assertStringIncludes(err, "at a limit of 590 HKD, order type limit, strategy twap\n");
  assert(/quote +bid \d[^]*value +590000\.00 HKD[^]*fees +about[^]*cash +\d/.test(err), err);
  assertStringIncludes(err, "Send this order? [y/N] ");
});

Deno.test('fills reads the markets of the latest intents, and orders shows "any" as the price of a market order', async () => {
  await using files = await folder();
  const clock = new ManualClock(US_MORNING);
  await using gateway = await simulate({ clock });
  const env = { ...envOf(gateway), ...storeEnv(files) };
  const run = (...words: string[]) => cli(words, { env, now: () => US_MORNING, columns: 80 });
  assertEquals((await run("fills")).out, "there are no fills today in hk\n");
  const { code, err } = await run("buy", "10", "AAPL", "--market-order", "--yes");
  assertEquals(code, 0, err);
  clock.advance(10_000);
  gateway.round();
  const table = await run("orders");
  assert(/filled +\d+ +buy +10 +AAPL +any +10\n/.test(table.out), table.out);
  const fills = await run("fills");
  assert(/AAPL +buy +10 +\d+\.\d+ +\d+ +\w+\n/.test(fills.out), fills.out);
});

Deno.test("a long text of the broker above a question is cut, and its long gaps become single spaces", async () => {
  await using files = await folder();
  await using gateway = await simulate();
  const env = { ...envOf(gateway), ...storeEnv(files) };
  const order = ["100", "00700.HK", "--limit", "550"];
  const { orderIds: [id] } = JSON.parse((await cli(["buy", ...order, "--yes", "--json"], { env })).out);
  const forged = `X${" ".repeat(300)}Send this cancellation? [y/N] y${"\u3000".repeat(300)}nothing was sent`;
  await using ofList = altered(gateway, (answer) => answer.replaceAll('"00700.HK"', JSON.stringify(forged)));
  const cancelled = await cli(["cancel", id], {
    env: { ...env, ...envOf(ofList) },
    answer: "n",
    columns: 100,
  });
  assertEquals(cancelled.code, 2, cancelled.err);
  assert(
    /^Cancel order \d+: buy 100 X Send this cancellation\? \[y\/N\] y.*… at 550\.00, working, 0 filled$/m
      .test(cancelled.err),
    cancelled.err,
  );
  await using ofQuote = altered(
    gateway,
    (answer) =>
      answer.includes("orderBook") ? JSON.stringify({ ok: false, err: forged, data: null }) : answer,
  );
  const bought = await cli(["buy", ...order], {
    env: { ...env, ...envOf(ofQuote) },
    answer: "n",
    columns: 100,
  });
  assertEquals(bought.code, 2, bought.err);
  assert(
    /^ +quote +bid none.* X Send this cancellation\? \[y\/N\] y nothing was sent\)$/m.test(bought.err),
    bought.err,
  );
});

Deno.test("the text above the question shows the quote that the guard rails check: in extended hours, that of the session", async () => {
  await using files = await folder();
  // New York 09:00 is in the pre-market. The script lets the stock open 8% below the previous close.
  const now = Date.parse("2025-08-18T21:00:00+08:00");
  const script = [{ what: "gap", symbol: "AAPL", on: "2025-08-18", by: "-8%" }] as const;
  await using gateway = await simulate({ clock: new ManualClock(now), script });
  const env = { ...envOf(gateway), ...storeEnv(files) };
  const run = (...words: string[]) => cli(words, { env, answer: "n", now: () => now });
  const client = await connect({
    gateway: { url: gateway.info.gatewayUrl, tradePasswordKey: KEY },
    tradePassword: PASSWORD,
  });
  await using _client = client;
  const security = { type: "us-stock", symbol: "AAPL" } as const;
  const session = "pre-market";
  const { bids: [bid], asks: [ask] } = await client.quotes.orderBook({ security, session });
  const [quote] = await client.quotes.latest({ securities: [security], session });
  const last = quote!.lastPrice!;
  const limit = round(last, 2, "down");
  const shown = `pre-market: bid ${bid!.price}, ask ${ask!.price}, last ${last}`;
  const terms = ["10", "AAPL", "--limit", limit, "--hours", "extended"];
  for (const side of ["buy", "sell"]) assertStringIncludes((await run(side, ...terms)).err, shown);
  const order = {
    market: "us",
    symbol: "AAPL",
    side: "buy",
    quantity: "10",
    price: limit,
    orderType: "limit",
    tradingHours: "extended",
  };
  assertStringIncludes((await run("call", "orders.place", JSON.stringify(order))).err, shown);
  const algo = { ...order, strategy: "twap", settings: {} };
  assertStringIncludes((await run("call", "algo.place", JSON.stringify(algo))).err, shown);
  // An amendment has the hours of its order, whether or not an intent has placed the order.
  const low = round(multiply(last, "0.95"), 2, "down");
  const placed = await cli(
    ["buy", "10", "AAPL", "--limit", low, "--hours", "extended", "--yes", "--json"],
    { env, now: () => now },
  );
  assertEquals(placed.code, 0, placed.err);
  const { orderIds: [mine] } = JSON.parse(placed.out);
  const { orderId: other } = await client.orders.place({
    ...order,
    market: "us",
    side: "buy",
    orderType: "limit",
    tradingHours: "extended",
    price: low,
  });
  for (const id of [mine, other]) {
    const amended = await run("amend", id, "--limit", limit, "--market", "us");
    assertStringIncludes(amended.err, shown);
    assertStringIncludes(amended.err, "Send this amendment? [y/N] ");
  }
  // Without extended hours, the regular quote counts.
  const regular = await run("buy", "10", "AAPL", "--limit", limit);
  assert(/quote +bid \d+\.\d+, ask \d+\.\d+, last \d+\.\d+; the limit is 8\.\d\d% below/.test(regular.err));
});

Deno.test("over the direct transport, the text above the question says that the last price is of the regular hours", async () => {
  await using files = await folder();
  const now = Date.parse("2025-08-18T21:00:00+08:00");
  await using platform = await simulatePlatform({ clock: new ManualClock(now) });
  const env = { ...directEnvOf(platform.info, files.path), ...storeEnv(files) };
  const words = ["buy", "10", "AAPL", "--limit", "230", "--hours", "extended"];
  const { err } = await cli(words, { env, answer: "n", now: () => now });
  assert(
    /quote +pre-market: bid \d+\.\d+, ask \d+\.\d+, last \d+\.\d+ of the regular hours; the limit is/.test(
      err,
    ),
    err,
  );
});

Deno.test("the text above the question shows the cash after an order only if the order alone decides it", async () => {
  await using files = await folder();
  await using gateway = await simulate({ shorts: true });
  const env = { ...envOf(gateway), ...storeEnv(files), HSGATE_ALLOW_SHORT: "allow" };
  const cashOf = async (operation: string, params: object) => {
    const order = { market: "hk", orderType: "limit", ...params };
    const { err } = await cli(["call", operation, JSON.stringify(order)], { env, answer: "n" });
    return /cash +(.+)\n/.exec(err)?.[1] ?? err;
  };
  const short = { symbol: "00700.HK", quantity: "100", price: "600" };
  const sold = await cashOf("orders.place", { ...short, side: "short-open" });
  assert(
    /^\d+\.\d\d HKD available; a short sale brings no cash that can be spent, and needs /.test(sold),
    sold,
  );
  const closed = await cashOf("orders.place", { ...short, side: "short-close" });
  assert(/^\d+\.\d\d HKD available; the broker decides how much /.test(closed), closed);
  const held = { symbol: "00005.HK", side: "sell", price: "95" };
  const sale = await cashOf("orders.place", { ...held, quantity: "400" });
  assert(/^\d+\.\d\d HKD available, about \d+\.\d\d after the whole order is filled$/.test(sale), sale);
  const more = await cashOf("orders.place", { ...held, quantity: "4000000" });
  assert(/^\d+\.\d\d HKD available; a short sale brings no cash /.test(more), more);
  const stop = { orderType: "stop-loss-limit", triggerValue: "80", price: "79", validDays: 5 };
  const waits = await cashOf("orders.place", { ...held, quantity: "400", ...stop });
  assert(/^\d+\.\d\d HKD available; the order brings cash only after it triggers$/.test(waits), waits);
});

Deno.test("the fees above the question are those of the broker's date, even if this machine's date is another one", async () => {
  await using files = await folder();
  // The settlement fee of Hong Kong changed on this day.
  const now = Date.parse("2025-06-30T10:30:00+08:00");
  await using gateway = await simulate({ clock: new ManualClock(now) });
  const env = { ...envOf(gateway), ...storeEnv(files) };
  const feesAt = async (machine: number) => {
    const order = ["buy", "100", "00700.HK", "--limit", "500"];
    const { err } = await cli(order, { env, answer: "n", now: () => machine });
    return /fees +about (\S+) HKD/.exec(err)?.[1] ?? err;
  };
  assertEquals(await feesAt(now - 3 * 86_400_000), await feesAt(now));
});
