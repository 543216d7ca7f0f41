/** Tests of the commands that write and show orders, against the simulated broker. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { GatewayOptions } from "../../lib/simulator/gateway/mod.ts";
import { connect } from "../../lib/client/connect.ts";
import { connect as connectTrading } from "../../lib/desk/connect.ts";
import { BrokerError } from "../../lib/errors.ts";
import { ManualClock } from "../../lib/time.ts";
import { testBoth } from "../support/stores.ts";
import { waitUntil } from "../support/waits.ts";
import {
  cli,
  directEnvOf,
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

const BUY = ["buy", "100", "00700.HK", "--limit", "550"];

/** A simulated gateway with a store of its own. */
async function house(options: Partial<GatewayOptions> = {}) {
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
  await using at = await house();
  const no = await at.run(BUY, { answer: "" });
  assertEquals([no.code, no.out], [0, ""]);
  assertStringIncludes(no.err, "Buy 100 of 00700.HK (Tencent");
  assertStringIncludes(no.err, "at a limit of 550 HKD, order type limit");
  assertMatch(
    no.err,
    /quote +bid \d+\.\d+, ask \d+\.\d+, last \d+\.\d+; the limit is \d+\.\d\d% below the last\n/,
  );
  assertMatch(no.err, /value +55000\.00 HKD\n/);
  assertMatch(no.err, /fees +about \d+\.\d\d HKD, an estimate/);
  assertMatch(no.err, /cash +\d+\.\d\d HKD available, about -?\d+\.\d\d after it/);
  assertStringIncludes(no.err, "hsgate: nothing was sent");
  assertEquals(await at.atBroker(), []);
  const yes = await at.run([...BUY, "--json"], { answer: "y" });
  const sent = JSON.parse(yes.out);
  const [order] = await at.atBroker();
  assertEquals(Object.keys(sent), ["intent", "state", "orderIds"]);
  assertEquals([sent.state, sent.orderIds], ["acknowledged", [order!.orderId]]);
  assertEquals((await at.atBroker()).length, 1);
});

Deno.test("guard rails refuse what buy, sell, amend and call would send, and nobody is asked", async () => {
  await using at = await house();
  const { orderIds: [working] } = await at.json([...BUY, "--yes"]);
  const order = { market: "hk", symbol: "00700.HK", quantity: "100", side: "buy", orderType: "limit" };
  const refused: [string[], string, string, Record<string, string>?][] = [
    [BUY, "liveTrading", 'set liveTrading to "allow"', { HSGATE_LIVE_TRADING: "refuse" }],
    [["buy", "100", "00700.HK", "--limit", "5500"], "priceCollar", "valid are prices from"],
    [["buy", "150", "00700.HK", "--limit", "550"], "lot", "100 and 200"],
    [["buy", "200", "00700.HK", "--limit", "551"], "maxOrderValue", "is 100", {
      HSGATE_MAX_ORDER_VALUE: "60000 HKD",
    }],
    [["sell", "100000000", "00700.HK", "--limit", "600"], "allowShort", "can be sold"],
    [["amend", working, "--price", "550.1"], "tick", "550 and 550.5"],
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
  await using at = await house();
  const asked = at.gateway.state().callsTaken;
  for (
    const words of [
      BUY,
      ["sell", "100", "00700.HK", "--limit", "550"],
      ["amend", "1", "--price", "5"],
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
  await using at = await house();
  const wrong: [string[], string][] = [
    [["buy", "100", "00700.HK"], "without a price: give --limit PRICE"],
    [["buy", "many", "00700.HK", "--limit", "5"], "quantity: expected"],
    [["buy", "1", "00700.HK", "--market-order"], 'Cannot send a market order to "hk"'],
    [["buy", "1", "AAPL", "--market-order", "--limit", "5"], "use one of them"],
    [["buy", "1", "HSI2508.HK", "--limit", "5"], "futures.place"],
    [["buy", "1", "AAPL", "--limit", "5", "--type", "auction"], "orderType: expected one of"],
    [["sell", "1", "00700.HK", "--type", "stop-loss-limit", "--limit", "5"], "triggerValue: expected"],
    [["sell", "1", "00700.HK", "--limit", "5", "--valid-days", "0"], 'Cannot use --valid-days "0"'],
    [["amend", "1"], "give --quantity, --price or both"],
    [["cancel-all"], "give --market"],
  ];
  for (const [words, reason] of wrong) {
    const { code, out, err } = await at.run([...words, words[0] === "cancel-all" ? "--yes-all" : "--yes"]);
    assertEquals([code, out], [2, ""], words.join(" "));
    assertStringIncludes(err, reason);
  }
  assertEquals(at.gateway.state().callsTaken, 0);
});

Deno.test("a lost answer is found in the broker's lists: buy succeeds, and the order was sent once", async () => {
  await using at = await house();
  at.gateway.faults.arm({ kind: "lost-answer", operation: "orders.place" });
  const { orderIds, intent } = await at.json([...BUY, "--yes"]);
  assertEquals(at.gateway.faults.struck("lost-answer"), 1);
  assertEquals((await at.atBroker()).map(({ orderId }) => orderId), orderIds);
  const shown = await at.json(["orders", "show", intent.slice(0, 12)]);
  assertEquals(shown.history.map(({ to, by }: { to: string; by: string }) => `${to} by ${by}`).slice(2, 5), [
    "sent by desk",
    "unknown by desk",
    "acknowledged by list",
  ]);
});

Deno.test("an unknown order stays unknown, blocks the same order, and a person resolves it", async () => {
  await using at = await house();
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
  assertStringIncludes(row.missing, "3 looks over 60 s");
  const shown = await at.run(["orders", "show", row.intent]);
  assertStringIncludes(shown.out, "buy 100 of 00700.HK");
  assertStringIncludes(shown.out, `hsgate orders resolve ${row.intent} not-sent --because`);
  assertMatch(shown.out, /missing +3 looks over 60 s; so far \d/);
  const again = await at.run([...BUY, "--yes"]);
  assertEquals(again.code, 1);
  assertStringIncludes(again.err, `look at it with: hsgate orders show ${row.intent}`);
  const resolve = (...words: string[]) => at.run(["orders", "resolve", row.intent.slice(0, 14), ...words]);
  for (
    const [words, reason] of [
      [["not-sent"], "write --because"],
      [["sent"], "write --order ORDER"],
      [["sent", "--order", "x"], "order numbers are digits"],
      [["maybe"], "write sent or not-sent"],
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
  await using at = await house();
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

Deno.test("halt stops buy, cancel, call and run before an order is sent, and resume ends it", async () => {
  await using at = await house();
  const { orderIds: [orderId] } = await at.json([...BUY, "--yes"]);
  const halted = await at.json(["halt", "--why", "lunch"]);
  assertEquals(halted, {
    halted: true,
    why: "lunch",
    by: "ann",
    file: `${at.store}.halt`,
    store: true,
  });
  const order = {
    market: "hk",
    symbol: "00700.HK",
    quantity: "100",
    price: "551",
    side: "buy",
    orderType: "limit",
  };
  const recipe = `${at.files.path}/write.yaml`;
  await Deno.writeTextFile(
    recipe,
    `name: write\nlive: true\nwindow: XHKG.open..XHKG.close-10m\nsteps:\n  - id: order\n    uses: orders.place\n    with: ${
      JSON.stringify(order)
    }\n`,
  );
  await trustAll(recipe);
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
  await using at = await house();
  const order = {
    market: "hk",
    symbol: "00700.HK",
    quantity: "100",
    price: "551",
    side: "buy",
    orderType: "limit",
  };
  const recipe = `${at.files.path}/write.yaml`;
  await Deno.writeTextFile(
    recipe,
    `name: write\nlive: true\nwindow: XHKG.open..XHKG.close-10m\nsteps:\n  - id: order\n    uses: orders.place\n    with: ${
      JSON.stringify(order)
    }\n`,
  );
  await trustAll(recipe);
  const env = { HSGATE_TIMEOUT_MS: "300000" };
  const { code, err } = await at.run(["run", recipe, "--store", at.store], { env, fromDisk: true });
  assertEquals(code, 0, err);
  // Another process goes by it: the order may reach the broker until then.
  const { openSqlite } = await import("../../lib/store/sqlite.ts");
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
  await using at = await house();
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
  await using at = await house();
  const { orderIds: [first] } = await at.json([...BUY, "--yes"]);
  const no = await at.run(["amend", first, "--price", "549"], { answer: "n" });
  assertMatch(no.err, /Amend order \d+ of 00700\.HK to 100 at 549 HKD\n/);
  assertMatch(no.err, new RegExp(`${first} +buy 100 00700\\.HK at 550(\\.0+)?, working, 0 filled`));
  const amended = await at.json(["amend", first, "--price", "549", "--yes"]);
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
  assertStringIncludes(both.err, "Send 2 cancellations? [y/N]");
  const gone = await at.run(["cancel", second, "--yes"]);
  assertEquals([gone.code, gone.out], [0, ""]);
  assertStringIncludes(gone.err, `nothing to cancel in order ${second}: buy 200 00700.HK`);
  await at.client.orders.place({
    market: "hk",
    symbol: "00700.HK",
    quantity: "100",
    price: "540",
    side: "buy",
    orderType: "limit",
  });
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

Deno.test("orders shows intents beside the broker's orders, also those that were made elsewhere", async () => {
  await using at = await house();
  const mine = await at.json([...BUY, "--yes"]);
  const { orderId: foreign } = await at.client.orders.place({
    market: "hk",
    symbol: "00700.HK",
    quantity: "100",
    price: "540.00",
    side: "buy",
    orderType: "limit",
  });
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
  // Without the broker, the store still says what it knows, and the exit code says that it was not compared.
  await at.gateway.close();
  const alone = await at.run(["orders", "--json"]);
  assertEquals(alone.code, 4, alone.err);
  assertEquals(JSON.parse(alone.out).map(({ intent }: { intent: string }) => intent), [mine.intent]);
  assertStringIncludes(alone.err, "this is only what the store knows");
});

Deno.test("fills lists today's fills with their intents", async () => {
  await using at = await house();
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

Deno.test("orders --watch shows changes as they happen, and ends at Ctrl-C", async () => {
  await using at = await house();
  const { orderIds: [orderId] } = await at.json([...BUY, "--yes"]);
  const stop = new AbortController();
  const lines: { state: string; orderIds: string[] }[] = [];
  const watching = at.run(["orders", "--watch", "--json"], {
    signal: stop.signal,
    onLine: (line) => lines.push(JSON.parse(line)),
  });
  await waitUntil("the first row", () => lines.length === 1);
  assertEquals([lines[0]!.state, lines[0]!.orderIds], ["working", [orderId]]);
  await at.client.orders.cancel({ market: "hk", symbol: "00700.HK", orderId });
  at.gateway.round();
  await waitUntil("the cancelled order", () => lines.some(({ state }) => state === "cancelled"));
  const { InterruptedError } = await import("../../tasks/terminal/exit_codes.ts");
  stop.abort(new InterruptedError("interrupted"));
  assertEquals((await watching).code, 130);
});

Deno.test("call sends order writes through the desk, and shows the same words before it asks", async () => {
  await using at = await house();
  const order = JSON.stringify({
    market: "hk",
    symbol: "00700.HK",
    quantity: "100",
    price: "550",
    side: "buy",
    orderType: "limit",
  });
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
  const { code, out, err } = await cli([...BUY, "--yes", "--json"], { env });
  assertEquals(code, 0, err);
  const [row] = JSON.parse((await cli(["orders", "--json"], { env })).out);
  assertEquals(row.orderIds, JSON.parse(out).orderIds);
});

testBoth("a halt in the store stops a process with another working folder", async ({ where }) => {
  await using at = await house();
  const env = { HSGATE_STORE: where };
  const placed = await at.run([...BUY, "--yes"], { env });
  assertEquals(placed.code, 0, placed.err);
  const elsewhere = { env: { ...at.env, ...env }, cwd: at.files.path };
  const halted = await spawned(["halt", "--why", "lunch", "--json"], elsewhere);
  assertEquals([halted.code, JSON.parse(halted.out).store], [0, true], halted.err);
  // Only the row is left.
  const { file } = JSON.parse(halted.out);
  await Deno.remove(file.startsWith("/") ? file : `${at.files.path}/${file}`);
  const refused = await at.run(["buy", "100", "00700.HK", "--limit", "551", "--yes"], { env });
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.err, "trading is halted: lunch (by ann); to continue, run: hsgate resume");
  assertEquals((await spawned(["resume"], elsewhere)).out, "trading is resumed\n");
  const again = await at.run(["buy", "100", "00700.HK", "--limit", "551", "--yes"], { env });
  assertEquals(again.code, 0, again.err);
  assertEquals((await at.atBroker()).length, 2);
});

testBoth(
  "a halt in the store stops orders on every account of the store, and a resume ends it",
  async ({ where }) => {
    await using at = await house();
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
      () =>
        client.orders.place({
          market: "hk",
          symbol: "00700.HK",
          quantity: "100",
          price: "551",
          side: "buy",
          orderType: "limit",
        }),
      BrokerError,
      "trading is halted: lunch (by ann)",
    );
    assertEquals((await at.atBroker()).length, 1);
    assertEquals((await spawned(["resume"], elsewhere)).out, "trading is resumed\n");
    const again = await at.run(next, { env });
    assertEquals(again.code, 0, again.err);
  },
);

Deno.test("buy places a conditional order, and cancel finds it in its own list", async () => {
  await using at = await house();
  const words = ["--type", "stop-loss-limit", "--trigger", "700", "--limit", "701", "--valid-days", "5"];
  const asked = await at.run(["buy", "100", "00700.HK", ...words], { answer: "n" });
  assertStringIncludes(asked.err, "order type stop-loss-limit, triggered at 700");
  const { orderIds: [orderId] } = await at.json(["buy", "100", "00700.HK", ...words, "--yes"]);
  const list = () => at.client.conditionalOrders.today({ market: "hk" }).toArray();
  assertEquals((await list()).map(({ orderId }) => orderId), [orderId]);
  assertEquals((await at.run(["amend", orderId, "--price", "702", "--yes"])).code, 2);
  const cancelled = await at.run(["cancel", orderId, "--yes"]);
  assertEquals(cancelled.code, 0, cancelled.err);
  const intents = await at.json(["orders"]);
  assertEquals(intents.map(({ state }: { state: string }) => state), ["cancelled", "cancelled"]);
});
