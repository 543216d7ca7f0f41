/** Tests of the commands that write and show orders, against the simulated broker. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { GatewayOptions } from "../../lib/simulator/gateway/mod.ts";
import { connect } from "../../lib/client/connect.ts";
import { connect as connectTrading } from "../../lib/desk/connect.ts";
import { BrokerError } from "../../lib/errors.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { ManualClock, systemMachine } from "../../lib/time.ts";
import { farEnd, json as jsonAnswer, type Reaction } from "../support/far_end.ts";
import { commands } from "../../tasks/commands/table.ts";
import { InterruptedError } from "../../tasks/terminal/exit_codes.ts";
import { ORDER } from "../conformance/simulated_account.ts";
import { testBoth } from "../support/stores.ts";
import { orderPush, startPushFarEnd } from "../support/push_far_end.ts";
import { waitUntil } from "../support/waits.ts";
import {
  cli,
  directEnvOf,
  ENCRYPTED,
  envOf,
  folder,
  KEY,
  MORNING,
  PASSWORD,
  simulate,
  simulatePlatform,
  spawned,
  storeEnv,
  trustAll,
  type World,
} from "./support.ts";

const assertMatch = (text: string, pattern: RegExp) => assert(pattern.test(text), text);

/** Writes a recipe that places an order, and trusts it. Returns its path. */
async function recipeOf({ files }: { files: { path: string } }, order: object): Promise<string> {
  const path = `${files.path}/write.yaml`;
  const step = `  - id: order\n    uses: orders.place\n    with: ${JSON.stringify(order)}\n`;
  await Deno.writeTextFile(
    path,
    `name: write\nlive: true\nwindow: XHKG.open..XHKG.close-10m\nsteps:\n${step}`,
  );
  await trustAll(path);
  return path;
}

const BUY = ["buy", "100", "00700.HK", "--limit", "550"];

/** A simulated gateway with a store of its own. */
async function testAccount(options: Partial<GatewayOptions> = {}) {
  const files = await folder();
  const clock = new ManualClock(MORNING);
  const gateway = await simulate({ clock, ...options });
  const store = `${files.path}/hsgate.db`;
  const env = { ...envOf(gateway), ...storeEnv(files), USER: "ann" };
  const run = (words: readonly string[], world: World = {}) =>
    cli(words, { ...world, env: { ...env, ...world.env } });
  const json = async (words: readonly string[], world: World = {}) => {
    const { out, err, code } = await run([...words, "--json"], world);
    assert(out !== "", `no output, code ${code}: ${err}`);
    return JSON.parse(out);
  };
  const client = await connect({
    gateway: { url: gateway.info.gatewayUrl, tradePasswordKey: KEY },
    tradePassword: PASSWORD,
  });
  return {
    gateway,
    clock,
    files,
    store,
    env,
    run,
    json,
    client,
    /** Returns the orders that the broker has. */
    atBroker: () => client.orders.today({ market: "hk" }).toArray(),
    async [Symbol.asyncDispose]() {
      await client.close();
      await gateway.close();
      await files[Symbol.asyncDispose]();
    },
  };
}

Deno.test("buy shows the order in words and asks; a no sends nothing, a yes sends it once", async () => {
  await using at = await testAccount();
  const no = await at.run(BUY, { answer: "" });
  assertEquals([no.code, no.out], [2, ""]);
  assertStringIncludes(no.err, "Buy 100 of 00700.HK (Tencent");
  assertStringIncludes(no.err, "at a limit of 550 HKD, order type limit");
  assertMatch(
    no.err,
    /quote +bid \d+\.\d+, ask \d+\.\d+, last \d+\.\d+; the limit is \d+\.\d\d% below the last\n/,
  );
  assertMatch(no.err, /value +55000\.00 HKD\n/);
  assertMatch(no.err, /fees +about \d+\.\d\d HKD, an estimate/);
  assertMatch(no.err, /cash +\d+\.\d\d HKD available, about -?\d+\.\d\d after the order/);
  assertStringIncludes(no.err, "hsgate: nothing was sent");
  assertEquals(await at.atBroker(), []);
  const left = await at.run(BUY, {
    answer: () => {
      throw new InterruptedError("interrupted");
    },
  });
  assertEquals(left.code, 130);
  assertStringIncludes(left.err, "hsgate: nothing was sent\nhsgate: interrupted\n");
  const yes = await at.run([...BUY, "--json"], { answer: "y" });
  const sent = JSON.parse(yes.out);
  const [order] = await at.atBroker();
  assertEquals(Object.keys(sent), ["intent", "state", "orderIds"]);
  assertEquals([sent.state, sent.orderIds], ["acknowledged", [order!.orderId]]);
  assertEquals((await at.atBroker()).length, 1);
});

Deno.test("the text above the question shows what the market ignores, and cash only in the order's own currency", async () => {
  await using at = await testAccount();
  const wordsOf = async (operation: string, params: object) => {
    const { err } = await at.run(["call", operation, JSON.stringify(params)], { answer: "n" });
    return err;
  };
  const order = { market: "us", symbol: "AAPL", side: "buy", quantity: "10" };
  const ignored = await wordsOf("orders.place", { ...order, orderType: "market", price: "100" });
  assertStringIncludes(ignored, "at any price, order type market, the market ignores the price 100");
  assert(!ignored.includes("the limit is"), ignored);
  const trailing = { orderType: "trailing-stop-limit", triggerValue: "1", trailBy: "spread", validDays: "5" };
  const sale = await wordsOf("orders.place", { ...order, side: "sell", price: "0.1", ...trailing });
  assertMatch(sale, /value +about 2\d\d\d\.\d\d USD\n/);
  const stop = { orderType: "stop-loss-limit", triggerValue: "900", validDays: "5" };
  const waits = await wordsOf("orders.place", { ...order, price: "901", ...stop });
  assertMatch(waits, /cash +\d+\.\d\d USD available; the order needs cash only when it triggers\n/);
  const hk = {
    ...order,
    market: "hk",
    symbol: "80700.HK",
    quantity: "100",
    price: "540",
    orderType: "limit",
  };
  assertMatch(await wordsOf("orders.place", hk), /cash +\d+\.\d\d HKD available; the order needs CNY\n/);
  const future = { symbol: "HSI2508.HK", side: "buy", quantity: "2", price: "25000", orderType: "limit" };
  const words = await wordsOf("futures.place", { ...future, validity: "day" });
  assertMatch(words, /value +2500000\.00 HKD\n/);
  assertMatch(words, /fees +about \d+\.\d\d HKD/);
  assertMatch(words, /margin +not estimated/);
  assertEquals(await at.atBroker(), []);
});

Deno.test("the store keeps no secret and no long text that the broker writes into the remark of an order", async () => {
  await using at = await testAccount();
  const remark = `refused: ${PASSWORD}, ${ENCRYPTED}, hush-hush ${"x".repeat(100_000)}`;
  let isEnded = false;
  await using hostile = farEnd(async ({ path, body }): Promise<Reaction> => {
    const answer = await fetch(at.gateway.info.gatewayUrl + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const envelope = await answer.json();
    if (isEnded && path.endsWith("/TradeQueryRealEntrustList")) {
      for (const row of envelope.data.data) Object.assign(row, { status: "9", remark });
    }
    return jsonAnswer(JSON.stringify(envelope));
  });
  const env = { HSGATE_GATEWAY_URL: hostile.url, HSGATE_FUND_ACCOUNTS: "hush-hush" };
  assertEquals((await at.json([...BUY, "--yes"], { env })).state, "acknowledged");
  const script = `${at.files.path}/script.db`;
  {
    await using client = await connectTrading({
      gateway: { url: hostile.url, tradePasswordKey: KEY },
      tradePassword: PASSWORD,
      fundAccounts: ["hush-hush"],
      store: script,
      limits: { liveTrading: "allow" },
      machine: { ...systemMachine, now: () => at.clock.now() },
    });
    await client.orders.place({ ...ORDER, price: "549" });
    isEnded = true;
    await client.desk.reconcile();
  }
  const [row] = await at.json(["orders"], { env });
  assertEquals(row.state, "rejected");
  for (const store of [at.store, script]) {
    await using opened = await openSqlite(store, { mark: "leave" });
    const [{ data } = { data: "" }] = await opened.all<{ data: string }>(
      "select data from intent_change where to_state = 'rejected'",
    );
    assert(data.includes("refused: [secret]") && data.length < 5_000, `${store}: ${data.length}`);
    for (const secret of [PASSWORD, ENCRYPTED, "hush-hush"]) {
      assert(!data.includes(secret), `${store}: ${secret}`);
    }
  }
});

Deno.test("guard rails refuse what buy, sell, amend and call would send, and nobody is asked", async () => {
  await using at = await testAccount();
  const { orderIds: [working] } = await at.json([...BUY, "--yes"]);
  const order = { market: "hk", symbol: "00700.HK", quantity: "100", side: "buy", orderType: "limit" };
  const refused: [string[], string, string, Record<string, string>?][] = [
    [BUY, "liveTrading", "  -> Set HSGATE_LIVE_TRADING=allow, or write", { HSGATE_LIVE_TRADING: "refuse" }],
    [["buy", "100", "00700.HK", "--limit", "5500"], "priceCollar", "the valid prices are from"],
    [["buy", "150", "00700.HK", "--limit", "550"], "lot", "100 and 200"],
    [["buy", "200", "00700.HK", "--limit", "551"], "maxOrderValue", "is 100", {
      HSGATE_MAX_ORDER_VALUE: "60000 HKD",
    }],
    [["sell", "100000000", "00700.HK", "--limit", "600"], "allowShort", "can be sold"],
    [["amend", working, "--limit", "550.1"], "tick", "550 and 550.5"],
    [["call", "orders.place", JSON.stringify({ ...order, price: "5500" })], "priceCollar", "550"],
  ];
  for (const [words, rule, nearest, env = {}] of refused) {
    const questions: string[] = [];
    const answer = (question: string) => (questions.push(question), "y");
    for (const [more, world] of [[[], { answer }], [["--yes"], {}]] as const) {
      const { code, err } = await at.run([...words, ...more], { ...world, env });
      assertEquals(code, 1, err);
      assertStringIncludes(err, `the guard rail ${rule} refuses it`);
      assertStringIncludes(err, nearest);
    }
    assertEquals(questions, []);
  }
  assertEquals((await at.atBroker()).map(({ orderId, price }) => [orderId, price]), [[working, "550.00"]]);
});

Deno.test("without a terminal and without --yes, no order command sends anything or opens the store", async () => {
  await using at = await testAccount();
  const asked = at.gateway.state().callsTaken;
  for (
    const words of [
      BUY,
      ["sell", "100", "00700.HK", "--limit", "550"],
      ["amend", "1", "--limit", "5"],
      ["cancel", "1"],
      ["cancel-all", "--market", "hk"],
    ]
  ) {
    const { code, out, err } = await at.run(words);
    assertEquals([code, out], [2, ""], words[0]);
    assertStringIncludes(err, "Cannot ask without a terminal: add --yes");
  }
  assertEquals(at.gateway.state().callsTaken, asked);
  assertEquals(await Array.fromAsync(Deno.readDir(at.files.path)), []);
});

Deno.test("buy and sell check the order before anything is sent", async () => {
  await using at = await testAccount();
  const wrong: [string[], string][] = [
    [["buy", "100", "00700.HK"], "without a price: give --limit PRICE"],
    [["buy", "many", "00700.HK", "--limit", "5"], "quantity: expected"],
    [["buy", "100", "0700.HK", "--limit", "5"], "Hong Kong codes have five digits: 00700.HK"],
    [["buy", "-100", "00700.HK", "--limit", "5"], 'has no flag -1; a number must not begin with "-"'],
    [["buy", "1", "00700.HK", "--market-order"], 'Cannot send a market order to "hk"'],
    [["buy", "1", "AAPL", "--market-order", "--limit", "5"], "use one of them"],
    [["buy", "1", "HSI2508.HK", "--limit", "5"], "futures.place"],
    [["buy", "1", "AAPL", "--limit", "5", "--type", "auction"], "orderType: expected one of"],
    [
      ["sell", "1", "00700.HK", "--type", "stop-loss-limit", "--limit", "5"],
      "give --trigger VALUE and --valid-days",
    ],
    [["sell", "1", "00700.HK", "--limit", "5", "--valid-days", "0"], 'Cannot use --valid-days "0"'],
    [["amend", "1"], "give --quantity, --limit or both"],
    [["cancel-all"], "give --market"],
  ];
  for (const [words, reason] of wrong) {
    const { code, out, err } = await at.run([...words, words[0] === "cancel-all" ? "--yes-all" : "--yes"]);
    assertEquals([code, out], [2, ""], words.join(" "));
    assertStringIncludes(err, reason);
  }
  assertEquals(at.gateway.state().callsTaken, 0);
});

Deno.test("amend and cancel name the command for a futures order, and send nothing", async () => {
  await using at = await testAccount();
  const symbol = "HSI2508.HK";
  const [quote] = await at.client.quotes.latest({ securities: [{ type: "hk-index-future", symbol }] });
  const price = String(Math.floor(Number(quote!.lastPrice)) - 500);
  const order = { symbol, price, quantity: "1", side: "buy", orderType: "limit", validity: "day" } as const;
  const { orderId = "" } = await at.client.futures.place(order);
  const cancelled = await at.run(["cancel", orderId, "--yes"]);
  assertEquals([cancelled.code, cancelled.out], [2, ""]);
  const params = JSON.stringify({ orderId, symbol });
  assertStringIncludes(
    cancelled.err,
    `Cannot cancel order "${orderId}": it is a futures order of "${symbol}"; use: hsgate call futures.cancel '${params}'`,
  );
  const amended = await at.run(["amend", orderId, "--limit", "20000", "--yes"]);
  assertEquals([amended.code, amended.out], [2, ""]);
  assertStringIncludes(amended.err, "use: hsgate call futures.amend");
  assertEquals((await at.run(["call", "futures.cancel", params, "--yes"])).code, 0);
});

Deno.test("cancel cancels an algorithmic order, and amend and a refused list name the call for it", async () => {
  await using at = await testAccount();
  const terms = { market: "hk", symbol: "00700.HK", side: "buy", orderType: "limit", price: "590" };
  const settings = { endTime: "11:00:00" };
  const algo = JSON.stringify({ ...terms, quantity: "1000", strategy: "twap", settings });
  const { orderId } = await at.json(["call", "algo.place", algo, "--yes"]);
  const amended = await at.run(["amend", orderId, "--limit", "589", "--yes"]);
  assertEquals([amended.code, amended.out], [2, ""]);
  assertStringIncludes(
    amended.err,
    `Cannot amend order "${orderId}": it is an algorithmic order; use: hsgate call algo.amend`,
  );
  at.gateway.faults.arm({ kind: "http-error", status: 404, operation: "algo.list", times: 10 });
  const hidden = await at.run(["cancel", orderId, "--yes"]);
  assertEquals([hidden.code, hidden.out], [2, ""]);
  const params = JSON.stringify({ orderId, market: "hk" });
  assertStringIncludes(
    hidden.err,
    `Cannot cancel order "${orderId}": it is an algorithmic order, and today's lists of hk do not show it; use: hsgate call algo.cancel '${params}'`,
  );
  at.gateway.faults.clear();
  const no = await at.run(["cancel", orderId], { answer: "n" });
  assertStringIncludes(no.err, `Cancel order ${orderId}: buy 1000 00700.HK at 590`);
  const cancelled = await at.json(["cancel", orderId, "--yes"]);
  assertEquals([cancelled.state, cancelled.orderIds], ["acknowledged", [orderId]]);
  const today = { market: "hk", from: "2025-08-15", to: "2025-08-15" } as const;
  const [order] = await at.client.algo.list(today).toArray();
  assertMatch(order!.status!, /cancelled/);
});

Deno.test("cancel-all says that conditional and algorithmic orders stay, and names those that are open", async () => {
  await using at = await testAccount();
  const terms = { market: "hk", symbol: "00700.HK", side: "buy", orderType: "limit", price: "590" };
  const settings = { startTime: "14:00:00" };
  const algo = JSON.stringify({ ...terms, quantity: "1000", strategy: "twap", settings });
  const { orderId: algoId } = await at.json(["call", "algo.place", algo, "--yes"]);
  const stop = ["--type", "stop-loss-limit", "--trigger", "700", "--limit", "701", "--valid-days", "5"];
  const { orderIds: [stopId] } = await at.json(["buy", "100", "00700.HK", ...stop, "--yes"]);
  const { orderIds: [orderId] } = await at.json([...BUY, "--yes"]);
  const { err } = await at.run(["cancel-all", "--market", "hk"], { answer: "n" });
  assertStringIncludes(
    err,
    'Cancel every order in market "hk", except conditional and algorithmic orders\n',
  );
  assertMatch(err, new RegExp(` ${orderId} +buy 100 00700\\.HK at 550`));
  assertMatch(err, new RegExp(` not cancelled +conditional order ${stopId}: buy 100 00700\\.HK at 701`));
  assertMatch(err, new RegExp(` not cancelled +algorithmic order ${algoId}: buy 1000 00700\\.HK at 590`));
  const cancelled = await at.json(["cancel", stopId, algoId, "--yes"]);
  assertEquals(cancelled.length, 2);
  const empty = await at.run(["cancel-all", "--market", "hk"], { answer: "n" });
  assert(!empty.err.includes("not cancelled"), empty.err);
  assertEquals((await at.run(["cancel", orderId, "--yes"])).code, 0);
  const none = await at.run(["cancel-all", "--market", "hk"], { answer: "n" });
  assertMatch(none.err, /orders +none is open\n/);
  const forced = await at.run(["cancel-all", "--market", "hk", "--yes-all"]);
  assertStringIncludes(forced.err, "except conditional and algorithmic orders\n");
});

Deno.test("buy distinguishes a lost answer from an answer that does not show the outcome", async () => {
  for (const [fault, isLost] of [["busy", false], ["http-error", false], ["lost-answer", true]] as const) {
    await using at = await testAccount();
    at.gateway.faults.arm({ kind: fault, operation: "orders.place" });
    const controller = new AbortController();
    const { err } = await at.run([...BUY, "--yes"], {
      signal: controller.signal,
      onNote: (text) => {
        if (text.includes("looking in the broker's lists")) controller.abort();
      },
    });
    assertEquals(err.includes("the answer was lost: looking in"), isLost, err);
    assertEquals(err.includes("the answer does not say whether the order write was executed"), !isLost, err);
  }
});

Deno.test("cancel ends with 5 if the outcome of one cancellation is unknown, whatever the outcome of an earlier one", async () => {
  await using at = await testAccount();
  const { orderIds: [filled] } = await at.json(["sell", "400", "00005.HK", "--limit", "95", "--yes"]);
  const { orderIds: [open] } = await at.json([...BUY, "--yes"]);
  at.clock.advance(60_000);
  at.gateway.round();
  at.gateway.faults.arm({ kind: "http-error", operation: "orders.cancel" });
  // Without a stop, the command itself decides its exit code. A stopped command ends with the error of its call.
  const { code, err } = await at.run(["cancel", filled, open, "--yes"]);
  assertStringIncludes(err, `nothing to cancel in order ${filled}: sell 400 00005.HK`);
  assertEquals(code, 5, err);
});

Deno.test("a lost answer is found in the broker's lists: buy succeeds, and the order was sent once", async () => {
  await using at = await testAccount();
  at.gateway.faults.arm({ kind: "lost-answer", operation: "orders.place" });
  const { out, err } = await at.run([...BUY, "--yes", "--json"]);
  const { orderIds, intent } = JSON.parse(out);
  assertStringIncludes(err, "the answer was lost: looking in the broker's lists");
  assertStringIncludes(err, "the broker's lists show what happened: acknowledged");
  assertEquals(at.gateway.faults.struck("lost-answer"), 1);
  assertEquals((await at.atBroker()).map(({ orderId }) => orderId), orderIds);
  const shown = await at.json(["orders", "show", intent.slice(0, 12)]);
  assertEquals((await at.json(["orders", "show", orderIds[0]])).intent, intent);
  assertEquals(shown.history.map(({ to, by }: { to: string; by: string }) => `${to} by ${by}`).slice(2, 5), [
    "sent by desk",
    "unknown by desk",
    "acknowledged by list",
  ]);
});

Deno.test("an unknown order stays unknown, blocks the same order, and a person resolves it", async () => {
  await using at = await testAccount();
  at.gateway.faults.arm({ kind: "lost-request", operation: "orders.place" });
  const stop = new AbortController();
  const lost = at.run([...BUY, "--yes"], { signal: stop.signal });
  await waitUntil("the request to be lost", () => at.gateway.faults.struck("lost-request") === 1);
  stop.abort();
  const { code, err } = await lost;
  assertEquals(code, 5, err);
  assertStringIncludes(err, "hsgate orders show");
  const [row] = await at.json(["orders"]);
  assertEquals([row.state, row.orderIds, row.why, row.evidence.by], ["unknown", [], { by: "ann" }, "desk"]);
  assertStringIncludes(row.missing, "3 readings of the lists over 60 s");
  const shown = await at.run(["orders", "show", row.intent]);
  assertStringIncludes(shown.out, "buy 100 of 00700.HK");
  assertStringIncludes(shown.out, `hsgate orders resolve ${row.intent} not-sent --because`);
  assertMatch(shown.out, /missing +3 readings of the lists over 60 s; so far \d+ over \d+ s/);
  const table = await at.run(["orders"], { columns: 80 });
  assertMatch(
    table.out,
    /unknown: missing for a proof: 3 readings of the lists over 60 s; so far \d+ over \d+ s; see: hsgate orders show/,
  );
  assertStringIncludes(table.out, `orders show ${row.intent}\n`);
  const again = await at.run([...BUY, "--yes"]);
  assertEquals(again.code, 1);
  assertStringIncludes(again.err, `to see it, run: hsgate orders show ${row.intent}`);
  const resolve = (...words: string[]) => at.run(["orders", "resolve", row.intent.slice(0, 14), ...words]);
  for (
    const [words, reason] of [
      [["not-sent"], "write --because"],
      [["sent"], "write --order ORDER"],
      [["sent", "--order", "x"], "order numbers are digits"],
      [["placed"], "Cannot resolve as placed without its orders: write --order ORDER"],
      [["placed", "--order", "1"], "you can name an order only for a conditional order"],
      [["maybe"], "write sent, not-sent, placed or ended"],
      [["not-sent", "--because", "so", "--order", "1"], "Cannot use --order with not-sent"],
    ] as const
  ) {
    const refused = await resolve(...words);
    assertEquals(refused.code, 2, words.join(" "));
    assertStringIncludes(refused.err, reason);
  }
  assertEquals((await resolve("not-sent", "--because", "the app shows none", "--by", "bob")).code, 0);
  const { state, history } = await at.json(["orders", "show", row.intent]);
  const { by, because } = history.at(-1);
  assertEquals([state, by, because], ["abandoned", "person", "the app shows none"]);
  assertEquals((await resolve("not-sent", "--because", "again")).code, 2);
  assertEquals((await at.run([...BUY, "--yes"])).code, 0);
  assertEquals((await at.atBroker()).length, 1);
});

Deno.test("orders resolve sent names the order, and rejects an order of another intent", async () => {
  await using at = await testAccount();
  const { orderIds: [other] } = await at.json([...BUY, "--yes"]);
  at.gateway.faults.arm({ kind: "lost-request", operation: "orders.place" });
  const stop = new AbortController();
  const lost = at.run(["buy", "200", "00700.HK", "--limit", "551", "--yes"], { signal: stop.signal });
  await waitUntil("the request to be lost", () => at.gateway.faults.struck("lost-request") === 1);
  stop.abort();
  assertEquals((await lost).code, 5);
  const unknown = (await at.json(["orders"])).find(({ state }: { state: string }) => state === "unknown");
  const taken = await at.run(["orders", "resolve", unknown.intent, "sent", "--order", other]);
  assertEquals(taken.code, 2);
  assertStringIncludes(taken.err, `order ${other} belongs to intent`);
  const resolved = await at.json(["orders", "resolve", unknown.intent, "sent", "--order", "99"]);
  assertEquals([resolved.state, resolved.orderIds, resolved.by], ["acknowledged", ["99"], "ann"]);
  const unexplained = await at.run(["orders", "resolve", unknown.intent, "ended"]);
  assertEquals(unexplained.code, 2);
  assertStringIncludes(unexplained.err, "write --because");
  const ended = await at.json(["orders", "resolve", unknown.intent, "ended", "--because", "not in the app"]);
  assertEquals([ended.state, ended.orderIds], ["expired", ["99"]]);
});

Deno.test("an unknown outcome of another account of the store is a warning, because it may be the same account", async () => {
  await using at = await testAccount();
  await using other = await simulate({ clock: new ManualClock(MORNING) });
  other.faults.arm({ kind: "lost-request", operation: "orders.place" });
  const stop = new AbortController();
  const env = envOf(other);
  const lost = at.run([...BUY, "--yes"], { signal: stop.signal, env });
  await waitUntil("the request to be lost", () => other.faults.struck("lost-request") === 1);
  stop.abort();
  assertEquals((await lost).code, 5);
  const [{ intent }] = await at.json(["orders"], { env });
  const { code, err } = await at.run([...BUY, "--yes"]);
  assertEquals(code, 0, err);
  assertMatch(
    err,
    new RegExp(
      `warning: account "gateway \\S+" has a write with an unknown outcome, intent ${intent}; if it is the same`,
    ),
  );
  assert(!(await at.run(["orders"])).err.includes("warning"));
});

Deno.test("orders show says what to do about an order of an earlier day that the lists no longer show", async () => {
  await using at = await testAccount();
  const { intent } = await at.json([...BUY, "--yes"]);
  {
    await using store = await openSqlite(at.store);
    await store.run(
      `update intent set order_ids = '["77"]', state = 'working', look_since = look_since - 90000000,
        sent_at = sent_at - 90000000 where id = ?`,
      intent,
    );
  }
  assertStringIncludes((await at.run(["orders"])).out, "order 77 in the broker's lists");
  const { out } = await at.run(["orders", "show", intent]);
  assertStringIncludes(out, "missing    order 77 in the broker's lists\n");
  assertStringIncludes(out, `if its order has ended: hsgate orders resolve ${intent} ended --because`);
  assert(!out.includes("placed --order"));
  const ended = await at.json([
    "orders",
    "resolve",
    intent,
    "ended",
    "--because",
    "the app shows that it expired",
  ]);
  assertEquals(ended.state, "expired");
});

Deno.test("halt stops buy, cancel, call and run before an order is sent, and resume ends the halt", async () => {
  await using at = await testAccount();
  const { orderIds: [orderId] } = await at.json([...BUY, "--yes"]);
  const halted = await at.json(["halt", "--why", "lunch"]);
  assertEquals(halted, {
    halted: true,
    why: "lunch",
    by: "ann",
    file: `${at.store}.halt`,
    store: true,
  });
  const order = { ...ORDER, price: "551" };
  const recipe = await recipeOf(at, order);
  const attempts = [
    ["buy", "100", "00700.HK", "--limit", "552", "--yes"],
    ["cancel", orderId, "--yes"],
    ["call", "orders.place", JSON.stringify(order)],
    ["run", recipe, "--store", at.store],
  ];
  for (const part of ["row and file", "file", "row"]) {
    if (part === "file") await removeRow(at);
    if (part === "row") {
      await at.run(["halt", "--why", "lunch"]);
      await Deno.remove(`${at.store}.halt`);
    }
    for (const words of attempts) {
      const { code, err } = await at.run(words, { fromDisk: true });
      assertEquals(code, 1, `${part}: ${words.join(" ")}: ${err}`);
      assertStringIncludes(err, "lunch");
    }
  }
  assertEquals((await at.atBroker()).map(({ orderId }) => orderId), [orderId]);
  assertEquals(await at.json(["resume"]), { halted: false, changed: true });
  assertEquals(await at.json(["resume"]), { halted: false, changed: false });
  assertEquals((await at.run(["buy", "100", "00700.HK", "--limit", "552", "--yes"])).code, 0);
});

Deno.test("an order of a recipe is recorded with the time limit of the settings", async () => {
  await using at = await testAccount();
  const order = { ...ORDER, price: "551" };
  const recipe = await recipeOf(at, order);
  const env = { HSGATE_TIMEOUT_MS: "300000" };
  const { code, err } = await at.run(["run", recipe, "--store", at.store], { env, fromDisk: true });
  assertEquals(code, 0, err);
  // Another process reads this limit from the store. Until the limit has passed, the order may still reach the broker.
  await using opened = await openSqlite(at.store);
  assertEquals(await opened.all("select state, timeout_ms from intent"), [
    { state: "acknowledged", timeout_ms: 300_000 },
  ]);
});

/** Removes only the row of a halt; the file stays. */
async function removeRow({ store }: { store: string }): Promise<void> {
  const { openSqlite } = await import("../../lib/store/sqlite.ts");
  await using opened = await openSqlite(store);
  await opened.run("delete from halt");
}

Deno.test("halt works without a store, with a store that cannot be opened, and without readable settings", async () => {
  await using at = await testAccount();
  assertEquals(await at.json(["halt"]), {
    halted: true,
    why: "no reason given",
    by: "ann",
    file: `${at.store}.halt`,
    store: false,
  });
  assertEquals((await at.run([...BUY, "--yes"])).code, 1);
  await at.run(["resume"]);
  await Deno.writeTextFile(
    at.store,
    "this is no database, but long enough to be read as the header of one ".repeat(20),
  );
  const broken = await at.run(["halt", "--why", "disk"]);
  assertEquals(broken.code, 0);
  assertStringIncludes(broken.err, "Cannot record the halt in the store");
  assertStringIncludes(await Deno.readTextFile(`${at.store}.halt`), "disk (by ann)");
  await Deno.remove(`${at.store}.halt`);
  const unreadable = await at.run(["halt"], { env: { HSGATE_TIMEOUT_MS: "soon" } });
  assertEquals(unreadable.code, 0, unreadable.err);
  assert((await Deno.stat(`${at.store}.halt`)).isFile);
  assertEquals(at.gateway.state().callsTaken, 0);
});

Deno.test("amend keeps what no flag changes, cancel cancels each order, and cancel-all asks for its own flag", async () => {
  await using at = await testAccount();
  const { orderIds: [first] } = await at.json([...BUY, "--yes"]);
  const no = await at.run(["amend", first, "--limit", "549"], { answer: "n" });
  assertMatch(no.err, /Amend order \d+ of 00700\.HK to 100 at 549 HKD\n/);
  assertMatch(no.err, new RegExp(`${first} +buy 100 00700\\.HK at 550(\\.0+)?, working, 0 filled`));
  assertMatch(no.err, /quote +bid \d[^\n]* below the last\n +value +54900\.00 HKD\n +account/);
  const amended = await at.json(["amend", first, "--limit", "549", "--yes"]);
  assertEquals(amended.state, "acknowledged");
  const [now] = (await at.atBroker()).filter(({ canCancel }) => canCancel);
  assertEquals([Number(now!.price), now!.quantity], [549, "100"]);
  const { orderIds: [second] } = await at.json(["buy", "200", "00700.HK", "--limit", "548", "--yes"]);
  const missing = await at.run(["cancel", now!.orderId, "99", "--yes"]);
  assertEquals(missing.code, 2);
  assertStringIncludes(missing.err, 'Cannot find order "99"');
  const both = await at.run(["cancel", now!.orderId, second], { answer: "y" });
  assertEquals(both.code, 0, both.err);
  assertStringIncludes(both.err, `Cancel order ${second}: buy 200 00700.HK at 548`);
  assertMatch(both.err, / account {2}gateway \S+\nSend 2 cancellations\? \[y\/N\]/);
  assertMatch(both.out, new RegExp(`^cancellation of order ${now!.orderId}: acknowledged \\(intent`));
  const ended = await at.run(["amend", second, "--limit", "547"], { answer: "y" });
  assertEquals(ended.code, 2);
  assertStringIncludes(ended.err, `Cannot amend order "${second}": it has ended: buy 200 00700.HK`);
  const gone = await at.run(["cancel", second, "--yes"]);
  assertEquals([gone.code, gone.out], [0, ""]);
  assertStringIncludes(gone.err, `nothing to cancel in order ${second}: buy 200 00700.HK`);
  await at.client.orders.place({ ...ORDER, price: "540" });
  const refused = await at.run(["cancel-all", "--market", "hk", "--yes"]);
  assertEquals(refused.code, 2);
  assertStringIncludes(refused.err, "has no flag --yes");
  const all = await at.run(["cancel-all", "--market", "hk"], { answer: "y" });
  assertEquals(all.code, 0, all.err);
  assertStringIncludes(all.err, 'Cancel every order in market "hk"');
  assertMatch(all.err, /buy 100 00700\.HK at 540(\.0+)?, working, 0 filled/);
  assertEquals((await at.atBroker()).filter(({ canCancel }) => canCancel), []);
  assertEquals((await at.run(["cancel-all", "--market", "hk", "--yes-all"])).code, 0);
});

Deno.test("orders shows intents beside the broker's orders, and also orders that were made elsewhere", async () => {
  await using at = await testAccount();
  const mine = await at.json([...BUY, "--yes"]);
  const { orderId: foreign } = await at.client.orders.place({ ...ORDER, price: "540.00" });
  const rows = await at.json(["orders"]);
  const [first, second] = rows;
  assertEquals(Object.keys(first).slice(0, 5), ["intent", "state", "orderIds", "why", "evidence"]);
  assertEquals([first.intent, first.state, first.orderIds, first.price, first.filled], [
    mine.intent,
    "working",
    mine.orderIds,
    "550",
    "0",
  ]);
  assertEquals([second.intent, second.kind, second.orderIds], [null, "elsewhere", [foreign]]);
  assertEquals([rows.length, first.orders[0].state], [2, "working"]);
  const table = await at.run(["orders"], { columns: 160 });
  assertStringIncludes(table.out, mine.intent);
  assertMatch(table.out, new RegExp(`\\(elsewhere\\) +working +${foreign}`));
  // Without the broker, the command shows what the store knows. The exit code says that nothing was compared with the
  // broker's lists.
  await at.gateway.close();
  const withoutBroker = await at.run(["orders", "--json"]);
  assertEquals(withoutBroker.code, 4, withoutBroker.err);
  assertEquals(JSON.parse(withoutBroker.out).map(({ intent }: { intent: string }) => intent), [mine.intent]);
  assertStringIncludes(withoutBroker.err, "this is only what the store knows");
});

Deno.test("in a terminal of 80 columns, orders shows quantity, price and what was filled of each order", async () => {
  await using at = await testAccount();
  const { intent } = await at.json([...BUY, "--yes"]);
  const { intent: other } = await at.json(["buy", "200", "00700.HK", "--limit", "549", "--yes"], {
    now: () => MORNING + 1, // intents of the same millisecond have no fixed sequence
  });
  for (let n = 0; n < 3; n++) {
    const { orderId } = await at.client.orders.place({ ...ORDER, price: `${540 + n}.00` });
    await at.client.orders.cancel({ market: "hk", symbol: "00700.HK", orderId });
  }
  at.clock.advance(5_000);
  at.gateway.round();
  const { out } = await at.run(["orders", "--limit", "2"], { columns: 80 });
  const [head, first, second, foreign] = out.split("\n");
  assertMatch(head!, /^intent +state +order +what +qty +symbol +price +filled$/);
  assertMatch(first!, /working +\d+ +buy +200 +00700\.HK +549 +0$/);
  assertMatch(second!, /working +\d+ +buy +100 +00700\.HK +550 +0$/);
  // The list shows only the newest ended orders that were made elsewhere, and not more of them than intents.
  assertMatch(foreign!, /^\(elsewhere\) +cancelled +\d+ +buy +100 +00700\.HK +542\.00 +0$/);
  assertStringIncludes(out, "(omitted: 1 of the ended orders made elsewhere; --limit and --json show more)");
  assertEquals((await at.json(["orders", "--limit", "2"])).length, 5);
  // "orders show" accepts a short id.
  for (const [line, id] of [[first, other], [second, intent]] as const) {
    const short = line!.split(" ")[0]!;
    assert(short.length < id.length && id.startsWith(short), short);
    assertEquals((await at.json(["orders", "show", short])).intent, id);
  }
  // A display that redraws does not grow beyond the screen of 24 lines.
  for (let n = 0; n < 25; n++) {
    await at.client.orders.place({
      market: "hk",
      symbol: "01398.HK",
      quantity: "1000",
      price: (5.5 + n / 100).toFixed(2),
      side: "buy",
      orderType: "limit",
    });
  }
  const stop = new AbortController();
  const screens: string[] = [];
  const watching = at.run(["orders", "--watch"], {
    columns: 80,
    signal: stop.signal,
    onLine: (screen) => screens.push(screen),
  });
  await waitUntil("the first screen", () => screens.length > 0);
  stop.abort(new InterruptedError("interrupted"));
  assertEquals((await watching).code, 130);
  assertEquals(screens[0]!.split("\n").length, 24);
  assertMatch(screens[0]!, /more rows; a taller terminal shows them\)\n.*Ctrl-C stops/);
  const halted = await at.run(["halt", "--why", "lunch"]);
  assertEquals(halted.code, 0);
  assertStringIncludes(
    (await at.run(["orders"], { columns: 80 })).err,
    "hsgate: trading is halted: lunch (by ann)",
  );
});

Deno.test("fills lists today's fills with their intents", async () => {
  await using at = await testAccount();
  const [quote] = await at.client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
  const limit = String(Math.floor(Number(quote!.lastPrice) * 1.02));
  const { intent, orderIds } = await at.json([
    "buy",
    "100",
    "00700.HK",
    "--limit",
    limit,
    "--type",
    "enhanced-limit",
    "--yes",
  ]);
  at.clock.advance(60_000);
  at.gateway.round();
  const rows = await at.json(["fills"]);
  assert(rows.length > 0);
  for (const row of rows) {
    assertEquals([row.intent, row.orderId, typeof row.fillPrice], [intent, orderIds[0], "string"]);
  }
  assertStringIncludes((await at.run(["fills"], { columns: 120 })).out, intent);
});

Deno.test("fills does not read the market of an order that was not executed", async () => {
  await using at = await testAccount();
  assertEquals((await at.run(["buy", "1", "AAPL", "--limit", "1", "--yes"])).code, 1);
  assertEquals((await at.run(["fills"])).out, "there are no fills today in hk\n");
});

Deno.test("orders --watch shows changes as they happen, and ends at Ctrl-C", async () => {
  await using at = await testAccount();
  const { orderIds: [orderId] } = await at.json([...BUY, "--yes"]);
  const stop = new AbortController();
  const lines: { state: string; orderIds: string[] }[] = [];
  const notes: string[] = [];
  const watching = at.run(["orders", "--watch", "--json"], {
    signal: stop.signal,
    onLine: (line) => lines.push(JSON.parse(line)),
    onNote: (note) => notes.push(note),
  });
  await waitUntil("the first row", () => lines.length === 1);
  assertEquals([lines[0]!.state, lines[0]!.orderIds], ["working", [orderId]]);
  await at.client.orders.cancel({ market: "hk", symbol: "00700.HK", orderId });
  at.gateway.round();
  await waitUntil("the cancelled order", () => lines.some(({ state }) => state === "cancelled"));
  at.gateway.faults.arm({ kind: "cut-push" });
  await waitUntil(
    "the lost connection",
    () => notes.some((note) => note.startsWith("hsgate: lost the stream")),
  );
  stop.abort(new InterruptedError("interrupted"));
  assertEquals((await watching).code, 130);
});

Deno.test("orders --watch reads the lists although pushes never pause", async () => {
  await using at = await testAccount();
  const { orderIds: [orderId] } = await at.json([...BUY, "--yes"]);
  await using stream = startPushFarEnd();
  const stop = new AbortController();
  const states: string[] = [];
  const watching = at.run(["orders", "--watch", "--json"], {
    env: { HSGATE_PUSH_ADDRESS: `127.0.0.1:${stream.port}` },
    signal: stop.signal,
    onLine: (line) => states.push(JSON.parse(line).state),
  });
  const connection = await stream.next();
  let sent = 0;
  const flood = (async () => {
    // These pauses are much shorter than the pauses between groups of pushes.
    while (!stop.signal.aborted) {
      await connection.send(orderPush(`${++sent}`));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  await waitUntil("the first row", () => states.length > 0);
  await at.client.orders.cancel({ market: "hk", symbol: "00700.HK", orderId });
  at.gateway.round();
  await waitUntil("the cancelled order", () => states.includes("cancelled"));
  stop.abort(new InterruptedError("interrupted"));
  await flood;
  assertEquals((await watching).code, 130);
});

Deno.test("call sends order writes through the desk, and before it asks, it shows the same words as buy", async () => {
  await using at = await testAccount();
  const order = JSON.stringify({ ...ORDER, price: "550" });
  const no = await at.run(["call", "orders.place", order], { answer: "n" });
  const words = (await at.run(BUY, { answer: "n" })).err;
  assertStringIncludes(no.err, words.slice(0, words.indexOf("Send ")));
  const { orderId } = await at.json(["call", "TradeEntrust", order]);
  const [row] = await at.json(["orders"]);
  assertEquals([row.orderIds, row.why], [[orderId], { by: "ann" }]);
});

Deno.test("buy works over the direct transport", async () => {
  await using files = await folder();
  await using platform = await simulatePlatform();
  const env = {
    ...directEnvOf(platform.info, files.path),
    ...storeEnv(files),
  };
  const asked = await cli(BUY, { env, answer: "n" });
  assertMatch(asked.err, /account +direct \S+\n/);
  const unsupported = await cli(["cancel-all", "--market", "hk"], { env, answer: "y" });
  assertEquals([unsupported.code, unsupported.out], [2, ""]);
  assert(!unsupported.err.includes("[y/N]"), unsupported.err);
  const { code, out, err } = await cli([...BUY, "--yes", "--json"], { env });
  assertEquals(code, 0, err);
  const [row] = JSON.parse((await cli(["orders", "--json"], { env })).out);
  assertEquals(row.orderIds, JSON.parse(out).orderIds);
});

/** Returns the output of `resume`. If the store is on a server, other folders may have halt files of their own. */
const resumedText = (name: "SQLite" | "PostgreSQL") =>
  `trading is resumed${name === "SQLite" ? "" : " for processes in this folder"}\n`;

testBoth("a halt in the store stops a process with another working folder", async ({ where }, { name }) => {
  await using at = await testAccount();
  const env = { HSGATE_STORE: where };
  const placed = await at.run([...BUY, "--yes"], { env });
  assertEquals(placed.code, 0, placed.err);
  const elsewhere = { env: { ...at.env, ...env }, cwd: at.files.path };
  const halted = await spawned(["halt", "--why", "lunch", "--json"], elsewhere);
  assertEquals([halted.code, JSON.parse(halted.out).store], [0, true], halted.err);
  // Removes the halt file, so that only the row is left.
  const { file } = JSON.parse(halted.out);
  await Deno.remove(file.startsWith("/") ? file : `${at.files.path}/${file}`);
  const refused = await at.run(["buy", "100", "00700.HK", "--limit", "551", "--yes"], { env });
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.err, "trading is halted: lunch (by ann); to continue, run: hsgate resume");
  assertEquals((await spawned(["resume"], elsewhere)).out, resumedText(name));
  const again = await at.run(["buy", "100", "00700.HK", "--limit", "551", "--yes"], { env });
  assertEquals(again.code, 0, again.err);
  assertEquals((await at.atBroker()).length, 2);
});

testBoth("resume says that processes in other folders keep their halt files", async ({ where }, { name }) => {
  await using at = await testAccount();
  await using other = await folder();
  const env = { ...at.env, HSGATE_STORE: where };
  assertEquals((await at.run([...BUY, "--yes"], { env })).code, 0);
  const [here, there] = [{ env, cwd: at.files.path }, { env, cwd: other.path }];
  assertEquals((await spawned(["halt", "--why", "lunch"], here)).code, 0);
  for (const done of ["trading is resumed", "trading was not halted"]) {
    const resumed = await spawned(["resume"], there);
    assertEquals(resumed.code, 0, resumed.err);
    // The halt file of a store in a file is beside the store, so it is the same for every folder.
    if (name === "SQLite") {
      assertEquals([resumed.out, resumed.err], [`${done}\n`, ""]);
      continue;
    }
    assertEquals(resumed.out, `${done} for processes in this folder\n`);
    assertStringIncludes(
      resumed.err,
      `hsgate: the halt file of this folder is "${other.path}/hsgate.halt"; processes in another folder stay halted ` +
        'if that folder has a file "hsgate.halt": run "hsgate resume" there too\n',
    );
  }
  if (name === "SQLite") return;
  const refused = await spawned(["buy", "100", "00700.HK", "--limit", "551", "--yes"], here);
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.err, 'trading is halted: lunch (by ann) (the file "hsgate.halt")');
});

testBoth(
  "a halt in the store stops orders on every account of the store, and resume ends the halt",
  async ({ where }, { name }) => {
    await using at = await testAccount();
    await using other = await simulate();
    const env = { HSGATE_STORE: where };
    assertEquals((await at.run([...BUY, "--yes"], { env })).code, 0);
    // The machine that halts has the settings of another account, and its halt file is in another folder.
    const elsewhere = { env: { ...at.env, ...env, ...envOf(other) }, cwd: at.files.path };
    const halted = await spawned(["halt", "--why", "lunch", "--json"], elsewhere);
    const { file, store } = JSON.parse(halted.out);
    assertEquals([halted.code, store], [0, true], halted.err);
    await Deno.remove(file.startsWith("/") ? file : `${at.files.path}/${file}`);
    const next = ["buy", "100", "00700.HK", "--limit", "551", "--yes"];
    const refused = await at.run(next, { env });
    assertEquals(refused.code, 1, refused.out);
    assertStringIncludes(refused.err, "trading is halted: lunch (by ann)");
    const client = await connectTrading({
      gateway: { url: at.gateway.info.gatewayUrl, tradePasswordKey: KEY },
      tradePassword: PASSWORD,
      store: where,
      limits: { liveTrading: "allow" },
    });
    await using _client = client;
    await assertRejects(
      () => client.orders.place({ ...ORDER, price: "551" }),
      BrokerError,
      "trading is halted: lunch (by ann)",
    );
    assertEquals((await at.atBroker()).length, 1);
    assertEquals((await spawned(["resume"], elsewhere)).out, resumedText(name));
    const again = await at.run(next, { env });
    assertEquals(again.code, 0, again.err);
  },
);

Deno.test("buy places a conditional order, and cancel finds it in the list of conditional orders", async () => {
  await using at = await testAccount();
  const words = ["--type", "stop-loss-limit", "--trigger", "700", "--limit", "701", "--valid-days", "5"];
  const asked = await at.run(["buy", "100", "00700.HK", ...words], { answer: "n" });
  assertStringIncludes(asked.err, "order type stop-loss-limit, triggered at 700, valid for 5 days\n");
  const trailing = ["--type", "trailing-stop-limit", "--trigger", "2", "--trail-by", "percentage"];
  const trailed = await at.run(
    ["buy", "100", "00700.HK", ...trailing, "--limit", "700", "--valid-days", "1"],
    {
      answer: "n",
    },
  );
  assertStringIncludes(trailed.err, "order type trailing-stop-limit, trailing by 2%, valid for 1 day\n");
  const { orderIds: [orderId] } = await at.json(["buy", "100", "00700.HK", ...words, "--yes"]);
  const list = () => at.client.conditionalOrders.today({ market: "hk" }).toArray();
  assertEquals((await list()).map(({ orderId }) => orderId), [orderId]);
  assertEquals((await at.run(["amend", orderId, "--limit", "702", "--yes"])).code, 2);
  const cancelled = await at.run(["cancel", orderId, "--yes"]);
  assertEquals(cancelled.code, 0, cancelled.err);
  const intents = await at.json(["orders"]);
  assertEquals(intents.map(({ state }: { state: string }) => state), ["cancelled", "cancelled"]);
});

Deno.test("the order commands of README.md work one after the other with the simulator", async () => {
  await using at = await testAccount();
  const readme = await Deno.readTextFile(new URL("../../README.md", import.meta.url));
  const [, block = ""] = /## Trading from the command line\n\n```sh\n([^`]+)```/.exec(readme) ?? [];
  const commands = [...block.matchAll(/^hsgate ([^#\n]+)/gm)].map(([, words]) => words!.trim());
  const names = commands.map((words) => words.split(" ")[0]);
  assertEquals(names, ["buy", "orders", "amend", "cancel", "sell", "fills", "halt", "resume"]);
  let order = "";
  for (const command of commands) {
    const words = [...command.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word)
      .map((word) => word === "ORDER" ? order : word).filter((word) => word !== "--watch");
    const { code, out, err } = await at.run(words, { answer: "y" });
    assertEquals(code, 0, `${command}: ${err}`);
    order ||= /order (\d+)/.exec(out)?.[1] ?? "";
    at.clock.advance(5_000);
    at.gateway.round();
    if (words[0] === "fills") assertStringIncludes(out, "00005.HK");
  }
});

Deno.test("every command that asks ends with code 2 after a no, and --json prints one object", async () => {
  await using at = await testAccount();
  const { orderId } = await at.client.orders.place({
    market: "hk",
    symbol: "00700.HK",
    quantity: "100",
    price: "550",
    side: "buy",
    orderType: "limit",
  });
  const plan = `${at.files.path}/plan.yaml`;
  await Deno.writeTextFile(plan, "market: hk\ntargets: { 00700.HK: 0.1 }\n");
  const recipe = `${at.files.path}/cancel.yaml`;
  await Deno.writeTextFile(
    recipe,
    "name: cancel\nwindow: XHKG.open+5m..XHKG.close-10m\nsteps:\n  - { id: cancel, uses: orders.cancelAll, with: { market: hk } }\n",
  );
  const order = JSON.stringify({
    market: "hk",
    symbol: "00700.HK",
    quantity: "100",
    price: "550",
    side: "buy",
    orderType: "limit",
  });
  /** Arguments with which each command asks; `null` for a command that continues after a no. */
  const asking: Readonly<Record<string, readonly string[] | null>> = {
    "buy": ["buy", "100", "00700.HK", "--limit", "550"],
    "sell": ["sell", "100", "00700.HK", "--limit", "650"],
    "amend": ["amend", orderId, "--limit", "549"],
    "cancel": ["cancel", orderId],
    "cancel-all": ["cancel-all", "--market", "hk"],
    "call": ["call", "orders.place", order],
    "rebalance": ["rebalance", plan],
    "trust": ["trust", recipe],
    "init": null, // asks for values, each with a default
    "probe": null, // a no leaves one family out of the report
  };
  const named = commands.filter(({ flags }) => "yes" in flags || "yes-all" in flags).map(({ name }) => name);
  assertEquals(named.toSorted(), Object.keys(asking).toSorted());
  const before = await at.atBroker();
  for (const [name, words] of Object.entries(asking)) {
    if (words === null) continue;
    let asked = 0;
    const answer = () => (asked++, "n");
    const { code, out, err } = await at.run([...words, "--json"], { answer, fromDisk: true });
    assertEquals([code, asked], [2, 1], `${name}: ${err}`);
    const { error, ...rest } = JSON.parse(out);
    assertEquals(rest, {}, name);
    const { class: kind, code: reason, text, advice, exitCode } = error;
    assertEquals([kind, reason, exitCode], ["DeclinedError", "declined", 2], name);
    assertStringIncludes(text, "the answer was no");
    assertStringIncludes(advice, "run the command again");
    assertStringIncludes(err, text);
  }
  assertEquals(await at.atBroker(), before, "nothing was sent");
});
