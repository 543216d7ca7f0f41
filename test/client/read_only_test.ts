/** Tests of read-only connections and of the setting readOnly, over both transports and through the command line. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { connectConfigured } from "../../lib/client/configured.ts";
import { connect } from "../../lib/client/connect.ts";
import { intercepted } from "../../lib/client/intercept.ts";
import { loadSettings } from "../../lib/client/load_settings.ts";
import { BrokerError, LoginExpiredError } from "../../lib/errors.ts";
import { operations } from "../../lib/operations/mod.ts";
import type { ReadOnly, Transport } from "../../lib/transports/transport.ts";
import {
  cli,
  directEnvOf,
  envOf,
  folder,
  KEY,
  PASSWORD,
  simulate,
  simulatePlatform,
  trustAll,
} from "../cli/support.ts";
import { connectDirect, startQuietPlatform } from "../support/direct_client.ts";
import { farEnd, ok } from "../support/far_end.ts";

const writes = [...operations.values()].filter(({ effect }) => effect === "write");
const ORDER = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "550",
  side: "buy",
  orderType: "limit",
} as const;

async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  return (await assertRejects(() => call, BrokerError)).code;
}

/**
 * Makes the calls that a read-only connection refuses: every write of the catalogue, raw calls, a logout and, with
 * "yes", a login. Returns the codes of the errors.
 */
async function refusals(transport: Transport): Promise<string[]> {
  const login = operations.get("account.login")!;
  const logout = operations.get("account.logout")!;
  const calls = [
    ...writes.map((each) => transport.call(each, {}, {})),
    transport.raw("trade", "TradeEntrust", {}, {}),
    transport.raw("hs", "rate/queryList", {}, {}),
    transport.call(logout, {}, {}),
    ...transport.readOnly === "yes" ? [transport.call(login, { password: PASSWORD }, {})] : [],
  ];
  return await Promise.all(calls.map(async (call) => await codeOf(call) ?? "none"));
}

for (const readOnly of ["yes", "login"] as const satisfies readonly ReadOnly[]) {
  Deno.test(`a gateway connection with readOnly "${readOnly}" sends no write, no raw call and no logout`, async () => {
    await using far = farEnd(() => ok({}));
    await using client = await connect({
      gateway: { url: far.url, readOnly },
      tradePassword: PASSWORD,
      tradePasswordKey: KEY,
    });
    const found = await refusals(client.transport);
    assert(found.length > writes.length);
    assertEquals(new Set(found), new Set(["read-only"]));
    let isBegun = false;
    const beforeWrite = () => void (isBegun = true);
    assertEquals(await codeOf(client.orders.place(ORDER, { beforeWrite })), "read-only");
    assertEquals(await codeOf(client.raw("trade", "TradeEntrust", {})), "read-only");
    assertEquals(isBegun, false);
    assertEquals(far.arrived.map(({ path }) => path), []);
  });

  Deno.test(`a direct connection with readOnly "${readOnly}" sends no write, no raw call and no logout`, async () => {
    await using platform = await startQuietPlatform();
    await using client = await connectDirect(platform.info, { readOnly });
    const found = await refusals(client.transport);
    assertEquals(new Set(found), new Set(["read-only"]));
    assertEquals(platform.state().callsTaken, 0);
    await client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
    const funds = client.account.funds({ market: "hk" });
    if (readOnly === "yes") await assertRejects(() => funds, LoginExpiredError);
    else await funds;
    assertEquals(platform.state().tradeLogin, readOnly === "yes" ? "out" : "in");
  });
}

Deno.test('readOnly "yes" never sends the trade password, and "login" sends it for reads', async () => {
  for (const readOnly of ["yes", "login"] as const) {
    await using gateway = await simulate();
    await using client = await connect({
      gateway: { url: gateway.info.gatewayUrl, readOnly },
      tradePassword: PASSWORD,
      tradePasswordKey: KEY,
    });
    const funds = client.account.funds({ market: "hk" });
    if (readOnly === "login") {
      await funds;
      continue;
    }
    await assertRejects(() => funds, LoginExpiredError);
    assertEquals(await codeOf(client.account.login({})), "read-only");
    assertEquals(await codeOf(client.account.login({ password: PASSWORD })), "read-only");
    assertEquals(gateway.state().tradeLogin, "out");
  }
});

Deno.test("the transport of an intercepted client has the readOnly of its connection", async () => {
  await using far = farEnd(() => ok({}));
  for (const readOnly of ["yes", "login", undefined] as const) {
    await using client = await connect({
      gateway: { url: far.url, ...readOnly !== undefined && { readOnly } },
    });
    const wrapped = intercepted(client, {
      write: ({ send }) => send({}),
      raw: (_path, _params, send) => send(),
    });
    assertEquals(wrapped.transport.readOnly, readOnly);
  }
});

Deno.test('the setting readOnly "yes" loads neither the trade password nor its files', async () => {
  const read: string[] = [];
  const files: Record<string, string> = {
    "hsgate.yaml": "readOnly: yes\ntradePasswordFile: p\ntradePasswordKeyFile: k\n",
    p: PASSWORD,
    k: KEY,
  };
  const load = async (env: Record<string, string>) =>
    await loadSettings({
      path: "hsgate.yaml",
      env: (name) => env[name],
      readFile: (path) => {
        read.push(path);
        const text = files[path];
        return Promise.resolve(text === undefined ? undefined : { text, mode: 0o600 });
      },
    });
  const { settings } = await load({});
  assertEquals([settings.readOnly, settings.tradePassword, settings.tradePasswordKey, read], [
    "yes",
    undefined,
    undefined,
    ["hsgate.yaml"],
  ]);
  const own = await load({ HSGATE_TRADE_PASSWORD: PASSWORD, HSGATE_TRADE_PASSWORD_KEY: KEY });
  assertEquals([own.settings.tradePassword, own.settings.tradePasswordKey], [undefined, undefined]);
  const lifted = await load({ HSGATE_READ_ONLY: "login" });
  assertEquals([lifted.settings.tradePassword, lifted.settings.tradePasswordKey], [PASSWORD, KEY]);
  const wrong = await load({ HSGATE_READ_ONLY: "on" }).catch(String);
  assertStringIncludes(String(wrong), '"yes", "login" or "no"');
});

Deno.test("a script with the settings of a read-only profile reads, and writes nothing", async () => {
  await using gateway = await simulate();
  const env: Record<string, string> = { ...envOf(gateway), HSGATE_READ_ONLY: "login" };
  await using client = await connectConfigured({ env: (name) => env[name] });
  assertEquals((await client.account.holdings({ market: "hk" })).length > 0, true);
  const before = gateway.state().callsTaken;
  assertEquals(await codeOf(client.raw("trade", "SomethingNew", {})), "read-only");
  assertEquals(await codeOf(client.orders.place(ORDER)), "read-only");
  assertEquals(await codeOf(client.transport.call(operations.get("orders.place")!, ORDER, {})), "read-only");
  assertEquals(gateway.state().callsTaken, before);
});

Deno.test("the setting readOnly also reaches the direct transport of a script", async () => {
  await using platform = await simulatePlatform();
  await using dir = await folder();
  for (const readOnly of ["yes", "login"]) {
    const env: Record<string, string> = {
      ...directEnvOf(platform.info, dir.path),
      HSGATE_READ_ONLY: readOnly,
    };
    await using client = await connectConfigured({ env: (name) => env[name] });
    assertEquals(await codeOf(client.raw("trade", "TradeEntrust", {})), "read-only");
    const order = operations.get("orders.place")!;
    assertEquals(await codeOf(client.transport.call(order, ORDER, {})), "read-only");
    const funds = client.account.funds({ market: "hk" });
    if (readOnly === "yes") await assertRejects(() => funds, LoginExpiredError);
    else await funds;
  }
});

Deno.test("commands with HSGATE_READ_ONLY send no order and no login, and say why", async () => {
  await using gateway = await simulate();
  await using dir = await folder();
  const env = {
    ...envOf(gateway),
    HSGATE_READ_ONLY: "yes",
    HSGATE_LIVE_TRADING: "allow",
    HSGATE_STORE: `${dir.path}/h.db`,
  };
  const buy = await cli(["buy", "100", "00700.HK", "--limit", "550", "--yes"], { env });
  assertEquals(buy.code, 2);
  assertStringIncludes(buy.err, 'the setting readOnly is "yes" (HSGATE_READ_ONLY)');
  const login = await cli(["login"], { env });
  assertEquals(login.code, 1);
  assertStringIncludes(login.err, "Cannot call account.login: this connection is read-only");
  assertStringIncludes(login.err, "HSGATE_READ_ONLY=no");
  assertEquals((await cli(["quote", "00700.HK"], { env })).code, 0);
  assertEquals(gateway.state().tradeLogin, "out");
  const doctor = await cli(["doctor"], { env });
  assertStringIncludes(
    doctor.out.replaceAll(/\s+(\| )?/g, " "), // doctor marks further lines with "|"
    'the setting readOnly is "yes", so hsgate does not log in',
  );
});

Deno.test("a run of a recipe that writes fails at its first write with a read-only profile", async () => {
  await using gateway = await simulate();
  await using dir = await folder();
  const path = `${dir.path}/w.yaml`;
  await Deno.writeTextFile(
    path,
    `name: sweep
schedule: { calendar: XHKG, at: open+1h }
window: XHKG.open+5m..XHKG.close-15m
live: true
steps:
  - id: buy
    uses: orders.place
    with: { market: hk, symbol: "00700.HK", side: buy, quantity: "100", price: "550", orderType: limit }
`,
  );
  await trustAll(path);
  for (const [readOnly, isSent] of [["login", false], ["no", true]] as const) {
    const env = {
      ...envOf(gateway),
      HSGATE_READ_ONLY: readOnly,
      HSGATE_LIVE_TRADING: "allow",
      HSGATE_PRICE_COLLAR: "off",
    };
    const words = ["run", path, "--store", `${dir.path}/${readOnly}.db`, "--manual"];
    const { code, out, err } = await cli(words, { env, fromDisk: true });
    assertEquals(code === 0, isSent, out + err);
    if (!isSent) assertStringIncludes(out + err, "this connection is read-only");
    const env2 = { ...envOf(gateway) };
    const orders = await cli(["call", "orders.today", '{"market":"hk"}', "--all", "--json"], { env: env2 });
    assertEquals(
      JSON.parse(orders.out).some(({ price }: { price: string }) => /^550(\.0+)?$/.test(price)),
      isSent,
    );
  }
});
