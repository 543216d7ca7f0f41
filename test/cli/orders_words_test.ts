/** Tests of the text that an order command shows before it asks. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ManualClock } from "../../lib/time.ts";
import { altered, cli, envOf, folder, MORNING, simulate, storeEnv } from "./support.ts";

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
