/** Tests of connect() with and without a store. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { connect, createClient, gateway } from "../../mod.ts";
import { BrokerError } from "../../lib/errors.ts";
import { findOperation } from "../../lib/operations/mod.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { memory } from "../../lib/transports/memory.ts";
import { openSimulatedAccount, ORDER } from "../conformance/simulated_account.ts";
import { temporaryFolder } from "../runner/support.ts";
import { directOptions } from "../support/direct_client.ts";
import { within } from "../support/waits.ts";

Deno.test("connect() without a store sends no order by any method, and its errors name the missing store; with store: false it sends orders", async () => {
  await using testAccount = await openSimulatedAccount();
  const { gatewayUrl: url, tradePassword, tradePasswordKey } = testAccount.simulator.info;
  const options = { gateway: { url, tradePasswordKey }, tradePassword };
  const sent = testAccount.count("orders.place");
  {
    await using client = await connect(options);
    await using made = createClient(gateway(options.gateway), { tradePassword });
    const place = findOperation("orders.place")!; // the catalogue has it
    const tries = [
      () => client.orders.place(ORDER),
      () => client.orders.cancelAll({ market: "hk" }),
      () => client.futures.cancel({ symbol: "HSI2508.HK", orderId: "1" }),
      () => client.algo.cancel({ market: "hk", orderId: "1" }),
      () => client.raw("trade", "TradeEntrust", {}),
      () => client.transport.raw("trade", "TradeEntrust", {}, {}),
      () => client.transport.call(place, ORDER, {}),
      () => made.orders.place(ORDER),
      () => made.raw("trade", "TradeEntrust", {}),
      () => made.transport.raw("trade", "TradeEntrust", {}, {}),
      () => made.transport.call(place, ORDER, {}),
    ];
    for (const write of tries) {
      const error = await assertRejects(write, BrokerError);
      assertEquals(
        [error.code, /store: "hsgate\.db"/.test(error.message)],
        ["no-store", true],
        error.message,
      );
    }
    assertEquals(sent(), 0);
    assert((await client.account.funds({ market: "hk" })).totalAssets !== undefined);
  }
  await using client = await connect({ ...options, store: false });
  await client.orders.place(ORDER);
  await using made = createClient(gateway(options.gateway), { tradePassword, store: false });
  await made.orders.place(ORDER);
  assertEquals(sent(), 2);
});

Deno.test("a direct client without a store keeps its connection and its transport's own members, and sends no order", async () => {
  await using testAccount = await openSimulatedAccount();
  await using client = await connect({
    direct: directOptions(testAccount.simulator.info),
    tradePassword: testAccount.simulator.info.tradePassword,
  });
  const tries = [
    () => client.orders.place(ORDER),
    () => client.transport.raw("trade", "TradeEntrust", {}, {}),
  ];
  for (const write of tries) assertEquals((await assertRejects(write, BrokerError)).code, "no-store");
  assert((await client.account.funds({ market: "hk" })).totalAssets !== undefined);
  assertEquals(typeof client.transport.events, "function");
  assertEquals(client.transport.events, client.transport.events);
  assertEquals(["states" in client.transport, "sends" in client.transport], [true, false]);
  // Nothing except `store: false` allows orders, and a frozen transport works too.
  const made = createClient(Object.freeze({ ...memory(() => "") }), { noOrders: undefined });
  const error = await assertRejects(() => made.transport.raw("trade", "TradeEntrust", {}, {}), BrokerError);
  assertEquals(error.code, "no-store");
});

Deno.test("connect() refuses an option that does not exist, and does not show its value", async () => {
  const gateway = { url: "http://127.0.0.1:11111" };
  const cases: [options: object, text: string][] = [
    [{ gateway, tradePasword: "secret" }, 'no option "tradePasword"; did you mean "tradePassword"?'],
    [{ gateway, limit: { liveTrading: "allow" } }, 'no option "limit"; did you mean "limits"?'],
    [{ gateway: { ...gateway, readonly: "yes" } }, 'no option "gateway.readonly"; did you mean "readOnly"?'],
    [{ gateway: { ...gateway, "x\n\u001b[2J": 1 } }, 'no option "gateway.x'],
    [{ direct: { keys: "secret" } }, 'no option "direct.keys"'],
    [{ gateway, direct: {} }, "both a gateway and the direct transport"],
    [{ direct: "secret" }, "must be an object"],
    ["secret" as unknown as object, "must be an object"],
    [undefined as unknown as object, "must be an object"],
  ];
  for (const [options, text] of cases) {
    for (const store of [{}, { store: false as const }]) {
      const given = typeof options === "object" ? { ...options, ...store } : options;
      // The types forbid these options; a notebook does not check types.
      const error = await assertRejects(
        () => connect(given as Parameters<typeof connect>[0]),
        TypeError,
        text,
      );
      const isShown = ["secret", "\n", "\u001b"].some((each) => error.message.includes(each));
      assertEquals(isShown, false, error.message);
    }
  }
});

Deno.test("connect() with a store records each order, and a second program on the same store finds it", async () => {
  await using testAccount = await openSimulatedAccount();
  using folder = await temporaryFolder();
  const { gatewayUrl: url, tradePassword, tradePasswordKey } = testAccount.simulator.info;
  const store = `${folder.path}/hsgate.db`;
  const live = { liveTrading: "allow" };
  const options = {
    gateway: { url, tradePasswordKey, timeoutMs: 300_000 },
    tradePassword,
    store,
    limits: live,
  };
  let orderId: string;
  {
    await using refused = await connect({ ...options, limits: {} });
    await assertRejects(() => refused.orders.place(ORDER), BrokerError, 'set liveTrading to "allow"');
  }
  {
    await using client = await connect({ ...options, by: "ann" });
    ({ orderId } = await client.orders.place(ORDER));
  }
  await using client = await connect({
    ...options,
    gateway: { url: url.replace("127.0.0.1", "localhost"), tradePasswordKey },
  });
  const { foreign } = await client.desk.reconcile({ markets: ["hk"] });
  // A program also reads the lists when it starts. So either that reading or the one above has found the order.
  await using opened = await openSqlite(store);
  assertEquals(
    await opened.all("select why, state, order_ids, timeout_ms from intent where state <> 'abandoned'"),
    [{ why: '{"by":"ann"}', state: "working", order_ids: JSON.stringify([orderId]), timeout_ms: 300_000 }],
  );
  assert(!foreign.some((order) => order.orderId === orderId));
  assertEquals((await Deno.stat(store)).mode! & 0o077, 0);
});

Deno.test("a halt file beside the store stops a script's orders at once", async () => {
  await using testAccount = await openSimulatedAccount();
  using folder = await temporaryFolder();
  const { gatewayUrl: url, tradePassword, tradePasswordKey } = testAccount.simulator.info;
  const store = `${folder.path}/hsgate.db`;
  const options = { gateway: { url, tradePasswordKey }, tradePassword, limits: { liveTrading: "allow" } };
  await using client = await connect({ ...options, store });
  const sent = testAccount.count("orders.place");
  await Deno.writeTextFile(`${folder.path}/private`, "PRECIOUS");
  const halts: (() => void)[] = [
    () => Deno.symlinkSync(`${folder.path}/private`, `${store}.halt`),
    () => Deno.writeTextFileSync(`${store}.halt`, "stop\n"),
    () => Deno.symlinkSync("nowhere", `${store}.halt`),
    () => Deno.mkdirSync(`${store}.halt`),
    () => Deno.writeTextFileSync(`${store}.halt`, `\u001b[2J${"x".repeat(1_000_000)}`),
  ];
  for (const halt of halts) {
    halt();
    const error = await assertRejects(() => client.orders.place(ORDER), BrokerError);
    assertEquals([error.code, sent()], ["halted", 0]);
    assert(error.message.length < 2_000 && !error.message.includes("\u001b"), error.message.slice(0, 200));
    assert(!error.message.includes("PRECIOUS"), "the reason is not read through a link");
    await Deno.remove(`${store}.halt`);
  }
  // The file is beside the store itself, even if a program names the store by a link.
  await Deno.mkdir(`${folder.path}/links`);
  const link = `${folder.path}/links/s.db`;
  await Deno.symlink(store, link);
  await Deno.writeTextFile(`${store}.halt`, "stop\n");
  await using linked = await connect({ ...options, store: link });
  await assertRejects(() => linked.orders.place(ORDER), BrokerError, "halted");
  await Deno.remove(`${store}.halt`);
  await client.orders.place(ORDER);
  assertEquals(sent(), 1);
});

Deno.test("a script with open orders that does not close its client ends when its work is done", async () => {
  await using testAccount = await openSimulatedAccount();
  using folder = await temporaryFolder();
  const { gatewayUrl: url, tradePassword, tradePasswordKey } = testAccount.simulator.info;
  const options = {
    gateway: { url, tradePasswordKey },
    tradePassword,
    store: `${folder.path}/hsgate.db`,
    limits: { liveTrading: "allow" },
  };
  const program = `
    import { connect } from ${JSON.stringify(import.meta.resolve("../../mod.ts"))};
    const client = await connect(${JSON.stringify(options)});
    const { orderId } = await client.orders.place(${JSON.stringify(ORDER)});
    console.log(orderId);
  `;
  const file = `${folder.path}/script.ts`;
  await Deno.writeTextFile(file, program);
  const config = new URL("../../deno.json", import.meta.url).pathname;
  // The second script finds an open order, and reads the lists in the background.
  for (const price of ["550.00", "551.00"]) {
    await Deno.writeTextFile(file, program.replace("550.00", price));
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "--frozen", "--config", config, "-A", file],
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const { code, stdout, stderr } = await within("the script to end", child.output(), { limitMs: 240_000 })
      .catch((error) => {
        child.kill("SIGKILL");
        throw error;
      });
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    assert(/^\d+\n$/.test(new TextDecoder().decode(stdout)));
  }
});
