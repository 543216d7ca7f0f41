import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createClient } from "../../lib/client/client.ts";
import { operations } from "../../lib/operations/mod.ts";
import { recoverExpired, resolveOutcome } from "../../lib/runner/claims/claims.ts";
import { leaseHolder, takeLease } from "../../lib/runner/queries/claims.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { checkTogether } from "../../lib/recipes/engine/engine.ts";
import { compileRecipe } from "../../lib/recipes/mod.ts";
import { gateway as gatewayTransport } from "../../lib/transports/gateway.ts";
import { Connections } from "../../tasks/commands/run/connections.ts";
import { shortResult } from "../../tasks/commands/run/summaries.ts";
import { showRun } from "../../tasks/commands/run/show.ts";
import { RunTree, seconds, summaryLines, type TreeEvent } from "../../tasks/commands/run/tree.ts";
import type { Host } from "../../tasks/terminal/host.ts";
import { terminalText } from "../../tasks/terminal/print.ts";
import { cli, envOf, folder, MORNING, simulate, trustAll } from "./runner_support.ts";
import {
  directEnvOf,
  folder as leaseFolder,
  KEY,
  PASSWORD,
  simulatePlatform,
  spawned,
  start,
  storeEnv,
} from "./support.ts";
import { readUntil } from "../support/waits.ts";

const funds = "steps:\n  - { id: funds, uses: account.funds, with: { market: hk } }\n";
const simulated =
  `name: try-out\nconnect: { simulator: { seed: 7, at: "2025-08-15T10:30:00+08:00" } }\n${funds}`;
const beat = `name: beat\nschedule: { calendar: XHKG, at: open+30m }\nmisfire: { grace: 2h }\n${funds}`;
/** The address of a gateway that does not exist. */
const NOWHERE = { HSGATE_GATEWAY_URL: "http://127.0.0.1:1" };
/** Stores of tests are in a temporary folder. */
const VOLATILE = { HSGATE_VOLATILE_STORE: "allow" };

const assertMatch = (text: string, pattern: RegExp) => assert(pattern.test(text), `${pattern} in "${text}"`);

/** Runs `hsgate run` with a recipe in a temporary folder. */
async function runIn(path: string, words: string[], env: Record<string, string> = {}, signal?: AbortSignal) {
  const file = `${path}/${words[0]}`;
  const files = { [file]: await Deno.readTextFile(file) };
  return await cli(["run", file, ...words.slice(1)], { env, files, ...signal !== undefined && { signal } });
}

const rowsOf = async (path: string) => {
  await using store = await openSqlite(path);
  return await store.all<
    { run_key: string; state: string; kind: string; reason: string | null; params: string }
  >(
    "select run_key, state, kind, reason, params from run order by run_key",
  );
};

Deno.test("run starts a simulator for a recipe that names it, whatever the settings name", async () => {
  await using dir = await folder({ "r.yaml": simulated });
  const here = await runIn(dir.path, ["r.yaml", "--json"], NOWHERE);
  assertEquals(here.code, 0);
  // The simulator's clock continues from the time that the recipe names.
  assertMatch(
    here.err,
    /^hsgate: connected to a simulated broker \(seed 7, at 2025-08-15T10:3\d:\d\d\+08:00\); nothing reaches a real one\n$/,
  );
  assertEquals(typeof JSON.parse(here.out).steps[0].output.totalAssets, "string");
  const store = `${dir.path}/l.db`;
  const kept = await runIn(dir.path, ["r.yaml", "--json", "--store", store], NOWHERE);
  const { key, ran, state, simulated: isSimulated } = JSON.parse(kept.out);
  assertEquals([kept.code, ran, state, isSimulated], [0, true, "ok", true]);
  // A recipe without a schedule gets a manual run, with a key that sorts by time.
  assertMatch(key, /^try-out\/m\/01[0-9A-HJKMNP-TV-Z]{24}$/);
});

Deno.test("schedule runs a recipe with the simulator and one with a gateway, each with its own account lease", async () => {
  await using gateway = await simulate();
  await using dir = await folder({
    "a.yaml": beat,
    "b.yaml": beat.replace("name: beat", "name: play\nconnect: simulator"),
  });
  const file = `${dir.path}/l.db`;
  const words = ["schedule", dir.path, "--store", file, "--once"];
  await cli(words, { env: envOf(gateway) });
  {
    await using store = await openSqlite(file);
    await store.run("update schedule set watermark = ?, updated_at = 0", MORNING - 3_600_000);
  }
  assertEquals((await cli(words, { env: envOf(gateway) })).code, 0);
  assertEquals((await rowsOf(file)).map(({ run_key, state }) => [run_key, state]), [
    ["beat/main/2025-08-15", "ok"],
    ["play/main/2025-08-15", "ok"],
  ]);
  await using store = await openSqlite(file);
  const names = (await store.all<{ name: string }>("select name from lease order by name")).map(({ name }) =>
    name
  );
  assertEquals(names, [
    `account:gateway ${new URL(gateway.info.gatewayUrl).host}`,
    `account:simulator 1 now of process ${Deno.pid}`,
  ]);
});

Deno.test("run rejects flags that contradict a recipe before anything is sent", async () => {
  await using gateway = await simulate();
  await using dir = await folder({
    "sim.yaml": simulated,
    "direct.yaml": `name: r\nconnect: direct\n${funds}`,
    "gateway.yaml": `name: r\nconnect: { gateway: "${gateway.info.gatewayUrl}" }\n${funds}`,
    "seed.yaml": simulated.replace("seed: 7", "seed: -7"),
    "at.yaml": simulated.replace("T10:30:00+08:00", ""),
  });
  const cases: [string[], string][] = [
    [
      ["sim.yaml", "--gateway", gateway.info.gatewayUrl],
      'it names "simulator", and --gateway contradicts that',
    ],
    [["sim.yaml", "--transport", "gateway"], 'it names "simulator", and --transport contradicts that'],
    [["direct.yaml", "--transport", "gateway"], 'it names "direct", and --transport contradicts that'],
    [["direct.yaml"], "Cannot use the direct transport: "],
    [["gateway.yaml", "--transport", "direct"], "--transport contradicts that"],
    [["gateway.yaml", "--gateway", "http://127.0.0.1:1"], "--gateway contradicts that"],
    [["seed.yaml"], "connect.simulator.seed: expected a whole number from 0 to 4294967295"],
    [["at.yaml"], "connect.simulator.at: expected a time with its offset"],
  ];
  for (const [words, reason] of cases) {
    for (const more of [[], ["--store", `${dir.path}/l.db`], ["--dry-run"]]) {
      const { code, out, err } = await runIn(dir.path, [...words, ...more], envOf(gateway));
      assertEquals([code, out], [2, ""], `${words.join(" ")} ${more.join(" ")}: ${err}`);
      assertStringIncludes(err, reason);
    }
  }
  assertEquals(gateway.state().callsTaken, 0);
});

Deno.test("run uses the gateway that a recipe names, and sends it no password of another gateway", async () => {
  await using own = await simulate();
  await using other = await simulate();
  await using dir = await folder({
    "r.yaml": `name: r\nconnect: { gateway: "${own.info.gatewayUrl}" }\n` +
      'steps: [{ id: q, uses: quotes.latest, with: { securities: [{ type: hk-stock, symbol: "00700.HK" }] } }]\n',
  });
  const { code, err } = await runIn(dir.path, ["r.yaml", "--json"], envOf(other));
  assertEquals(code, 0);
  assertStringIncludes(err, "hsgate does not send it");
  assertEquals([own.state().callsTaken, other.state().callsTaken], [1, 0]);
  // The same gateway, spelled differently.
  const same = await runIn(dir.path, ["r.yaml", "--json"], {
    ...envOf(own),
    HSGATE_GATEWAY_URL: own.info.gatewayUrl.replace("127.0.0.1", "localhost"),
  });
  assertEquals([same.code, same.err], [0, ""]);
});

Deno.test("run uses the direct transport if the recipe says so, with and without a store", async () => {
  await using platform = await simulatePlatform();
  await using leases = await leaseFolder();
  await using dir = await folder({ "r.yaml": `name: r\nconnect: direct\n${funds}` });
  await trustAll(`${dir.path}/r.yaml`);
  const { HSGATE_TRANSPORT: _, ...env } = directEnvOf(platform.info, leases.path);
  assertEquals((await runIn(dir.path, ["r.yaml", "--json"], env)).code, 0);
  const file = `${dir.path}/l.db`;
  const kept = await runIn(dir.path, ["r.yaml", "--store", file], env);
  assertEquals(kept.code, 0, kept.err);
  await using store = await openSqlite(file);
  // The lease is named by a digest of the public key, which does not reveal the account.
  assertMatch(
    (await store.get<{ name: string }>("select name from lease"))!.name,
    /^account:direct trade-[0-9a-f]{12}$/,
  );
});

Deno.test("Connections.isSoleLogin() returns true only for the direct transport, whose login ends all others", async () => {
  await using platform = await simulatePlatform();
  await using leases = await leaseFolder();
  const recipe = await compileRecipe(beat, "r.yaml");
  const isSole = async (transport: string) => {
    const env: Record<string, string> = {
      ...directEnvOf(platform.info, leases.path),
      HSGATE_TRANSPORT: transport,
    };
    const host = {
      env: (name: string) => env[name],
      readFile: () => Promise.resolve(undefined),
      note() {},
    } as unknown as Host; // loading settings uses only these members
    await using connections = await Connections.open({}, host);
    return connections.isSoleLogin(recipe);
  };
  assertEquals([await isSole("direct"), await isSole("gateway")], [true, false]);
});

Deno.test("Connections does not send the trade password of direct-transport settings to a gateway, unless the settings also name the gateway", async () => {
  await using platform = await simulatePlatform();
  await using leases = await leaseFolder();
  const recipe = await compileRecipe(`connect: gateway\n${beat}`, "r.yaml");
  const usesPassword = async (more: Record<string, string>) => {
    const env = { ...directEnvOf(platform.info, leases.path), HSGATE_TRADE_PASSWORD_KEY: KEY, ...more };
    const host = {
      env: (name: string) => (env as Record<string, string>)[name],
      readFile: () => Promise.resolve(undefined),
      note() {},
    } as unknown as Host; // loading settings uses only these members
    await using connections = await Connections.open({}, host);
    return connections.passwordMarkOf(recipe, "salt") !== undefined;
  };
  assertEquals(await usesPassword({}), false);
  assertEquals(await usesPassword({ HSGATE_GATEWAY_URL: "http://127.0.0.1:11111" }), true);
  assertEquals(await usesPassword({ HSGATE_TRANSPORT: "gateway" }), true);
});

Deno.test("Connections.accountOf() returns one name for each gateway and each transport", async () => {
  const gatewayRecipe = await compileRecipe(beat, "r.yaml");
  const simulator = await compileRecipe(simulated, "s.yaml");
  const host = {
    env: () => undefined,
    readFile: () => Promise.resolve(undefined),
    note() {},
  } as unknown as Host; // loading settings uses only these members
  const accountOf = async (gateway: string, recipe: typeof simulator) => {
    await using connections = await Connections.open({ gateway }, host);
    return connections.accountOf(recipe);
  };
  assertEquals(await accountOf("http://127.0.0.1:11111", gatewayRecipe), "gateway 127.0.0.1:11111");
  assertEquals(await accountOf("http://localhost:11111/", gatewayRecipe), "gateway 127.0.0.1:11111");
  for (
    const host of ["localhost.", "gw.localhost", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "127.1"]
  ) {
    const account = await accountOf(`http://${host}:11111/`, gatewayRecipe);
    assertEquals(account, "gateway 127.0.0.1:11111", host);
  }
  assertEquals(await accountOf("https://gw.example.:8443", gatewayRecipe), "gateway gw.example:8443");
  // At another loopback address, another gateway may listen.
  assertEquals(await accountOf("http://127.0.0.2:11111", gatewayRecipe), "gateway 127.0.0.2:11111");
  assertEquals(await accountOf("https://desk.example", gatewayRecipe), "gateway desk.example:443");
  await using connections = await Connections.open({}, host);
  assertStringIncludes(connections.accountOf(simulator), "simulator 7 ");
});

Deno.test("checkTogether() rejects combining a recipe for the simulator with one for an account", async () => {
  const [real, play] = [await compileRecipe(beat, "r.yaml"), await compileRecipe(simulated, "s.yaml")];
  checkTogether(real, real);
  checkTogether(play, play);
  for (const [outer, inner] of [[real, play], [play, real]] as const) {
    let message = "";
    try {
      checkTogether(outer, inner);
    } catch (error) {
      message = error instanceof TypeError ? error.message : "another error";
    }
    assertStringIncludes(message, '"try-out" is meant for the simulator and "beat" is not');
  }
});

Deno.test("run --store says what to do next when the slot was run before, and --manual runs it anyway", async () => {
  await using gateway = await simulate();
  await using dir = await folder({ "r.yaml": beat });
  const file = `${dir.path}/l.db`;
  const env = { ...envOf(gateway), HSGATE_STORE: file };
  const first = await runIn(dir.path, ["r.yaml"], env);
  assertEquals(first.code, 0, first.err);
  const [step, end, key] = first.out.trimEnd().split("\n");
  assertMatch(step!, /^✓ funds {2}account\.funds +\d+\.\d s {2}total assets \d/);
  assertMatch(end!, /^ok after \d+\.\d s$/);
  assertEquals(key, "run key beat/main/2025-08-15");
  assertMatch(first.err, /beat\/main\/2025-08-15.*started/);
  const second = await runIn(dir.path, ["r.yaml"], env);
  assertEquals([second.code, second.out], [
    0,
    "beat/main/2025-08-15 has already run and ended as ok; a slot runs only once\n" +
    '  -> "hsgate runs show beat/main/2025-08-15" shows details; ' +
    `"hsgate run ${dir.path}/r.yaml --manual" runs the recipe anyway\n`,
  ]);
  const manual = await runIn(dir.path, ["r.yaml", "--manual", "--json"], env);
  assertMatch(JSON.parse(manual.out).key, /^beat\/m\/01/);
  assertEquals((await rowsOf(file)).map(({ kind, state }) => [kind, state]), [["manual", "ok"], [
    "live",
    "ok",
  ]]);
});

Deno.test("run --param converts values to the recipe's types, and rejects invalid ones with the nearest name", async () => {
  await using gateway = await simulate();
  await using dir = await folder({
    "r.yaml": `name: r\nschedule: { calendar: XHKG, at: open+30m }\nmisfire: { grace: 2h }\nparams:\n` +
      "  market: hk\n  days: 7\n  deep: false\n  limit: { type: decimal, default: '1.5' }\n  names: [a, b]\n" +
      "steps:\n  - { id: funds, uses: account.funds, with: { market: '${{ params.market }}' } }\n",
    "needs.yaml": `name: needs\nparams: { day: { type: date } }\n${funds}`,
  });
  const file = `${dir.path}/l.db`;
  const given = ["market=us", "days=14", "deep=true", "limit=2.50", "names=x, y"].flatMap((
    each,
  ) => ["--param", each]);
  const here = await runIn(dir.path, ["r.yaml", "--json", ...given], envOf(gateway));
  assertEquals(here.code, 0, here.err);
  const kept = await runIn(dir.path, ["r.yaml", "--store", file, "--manual", ...given], envOf(gateway));
  assertEquals(kept.code, 0, kept.err);
  assertEquals(JSON.parse((await rowsOf(file))[0]!.params), {
    market: "us",
    days: 14,
    deep: true,
    limit: "2.50",
    names: ["x", "y"],
  });
  const wrong: [string[], string][] = [
    [["r.yaml", "--param", "dais=14"], 'dais: expected the parameter "days", got "dais"'],
    [["r.yaml", "--param", "days=1.5"], "days: expected a whole number, got 1.5"],
    [["r.yaml", "--param", "days=soon"], 'days: expected a whole number, got "soon"'],
    [["r.yaml", "--param", "days"], 'Cannot read --param "days": write NAME=VALUE'],
    [["r.yaml", "--param", "days=1", "--param", "days=2"], "it is given twice"],
    [["needs.yaml"], 'day: expected a date such as "2025-08-15"'],
    [["r.yaml", "--store", file, "--param", "days=1"], "slots run with the recipe's own parameters"],
  ];
  for (const [words, reason] of wrong) {
    const { code, out, err } = await runIn(dir.path, words, envOf(gateway));
    assertEquals([code, out], [2, ""], words.join(" "));
    assertStringIncludes(err, reason);
  }
});

const write = `name: sweep
schedule: { calendar: XHKG, at: open+1h }
window: XHKG.open+5m..XHKG.close-15m
params: { quantity: "100" }
secrets: { who: { env: WHO } }
steps:
  - { id: funds, uses: account.funds, with: { market: hk } }
  - id: buy
    uses: orders.place
    with: { market: hk, symbol: "00700.HK", side: buy, quantity: "\${{ params.quantity }}", price: "400", orderType: enhanced-limit }
  - { id: change, uses: orders.cancel, with: { market: hk, symbol: "00700.HK", orderId: "\${{ outputs.buy.orderId }}" } }
  - { id: all, uses: cancel-open-orders, with: { markets: [hk] } }
  - { id: poor, uses: cancel-open-orders, with: { markets: [us] }, if: "decimalCompare(outputs.funds.available, '0') < 0" }
  - { id: files, uses: snapshot, with: { account: [hk], out: "OUT" } }
  - { id: tell, uses: notify, with: { webhook: "https://x.example/\${secret:who}", text: "bought for \${secret:who}" } }
  - { id: last, uses: orders.cancel, with: { market: hk, symbol: "00700.HK", orderId: "1" } }
`;

Deno.test("run rejects a recipe that writes without a store, and suggests a command line", async () => {
  await using dir = await folder({ "w.yaml": write, "r.yaml": beat });
  const { code, out, err } = await runIn(dir.path, ["w.yaml"], NOWHERE);
  assertEquals([code, out], [2, ""]);
  assertStringIncludes(err, `try hsgate run ${dir.path}/w.yaml --store hsgate.db\n`);
  const manual = await runIn(dir.path, ["r.yaml", "--manual"], NOWHERE);
  assertEquals(manual.code, 2);
  assertStringIncludes(
    manual.err,
    `try hsgate run ${dir.path}/r.yaml --store hsgate.db --manual\n`,
  );
});

/** A recipe that cancels open orders between 15:20 and 15:45. */
const sweep = (more = "", name = "w") =>
  `name: ${name}\nlive: true\nschedule: { calendar: XHKG, at: close-30m }\n` +
  `window: XHKG.close-40m..XHKG.close-15m\n${more}` +
  "steps: [{ id: all, uses: cancel-open-orders, with: { markets: [hk] } }]\n";

/** A gateway with open orders, which counts the cancellations that reach it. */
async function withOpenOrders(count: number, onCancel: (nth: number) => void | Promise<void> = () => {}) {
  const gateway = await simulate();
  await using client = createClient(
    gatewayTransport({ url: gateway.info.gatewayUrl, tradePasswordKey: KEY }),
    {
      tradePassword: PASSWORD,
    },
  );
  const order = { market: "hk", symbol: "00700.HK", side: "buy", quantity: "100" } as const;
  for (let nth = 0; nth < count; nth++) {
    await client.orders.place({ ...order, price: `30${nth}`, orderType: "enhanced-limit" });
  }
  let cancels = 0;
  const endpoint = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const answer = await fetch(`${gateway.info.gatewayUrl}${pathname}`, {
      method: request.method,
      headers: { "content-type": "application/json" },
      body: await request.text(),
    });
    if (pathname.endsWith("/TradeCancelEntrust")) await onCancel(++cancels);
    return new Response(await answer.text(), { status: answer.status });
  });
  return {
    env: {
      ...envOf(gateway),
      ...VOLATILE,
      HSGATE_LIVE_TRADING: "allow",
      HSGATE_GATEWAY_URL: `http://127.0.0.1:${endpoint.addr.port}`,
    },
    cancels: () => cancels,
    async [Symbol.asyncDispose]() {
      await endpoint.shutdown();
      await gateway.close();
    },
  };
}

Deno.test("run --manual of a recipe that writes respects its window, whatever the flags", async () => {
  await using broker = await withOpenOrders(1);
  await using dir = await folder({ "w.yaml": sweep() });
  const file = `${dir.path}/l.db`;
  for (const more of [[], ["--force-deadline"]]) {
    const early = await runIn(dir.path, ["w.yaml", "--store", file, "--manual", ...more], broker.env);
    assertEquals([early.code, early.out], [2, ""]);
    assertStringIncludes(
      early.err,
      'Cannot start a manual run of "w" now: it writes, and its window opens at 2025-08-15T07:20:00Z; no flag overrides that',
    );
  }
  assertEquals([broker.cancels(), await rowsOf(file)], [0, []]);
});

Deno.test("run rejects --now for a recipe that writes, unless its broker is simulated or nothing is written", async () => {
  await using broker = await withOpenOrders(1);
  await using dir = await folder({
    "w.yaml": sweep(),
    "s.yaml": sweep('connect: { simulator: { seed: 7, at: "2025-08-15T15:30:00+08:00" } }\n', "s"),
  });
  const file = `${dir.path}/l.db`;
  const inWindow = ["--now", "2025-08-15T15:30:30+08:00"];
  const yesterday = ["--now", "2025-08-14T15:30:30+08:00"];
  for (const more of [inWindow, yesterday, [...inWindow, "--manual"], [...inWindow, "--force-deadline"]]) {
    const { code, out, err } = await runIn(dir.path, ["w.yaml", "--store", file, ...more], broker.env);
    assertEquals([code, out], [2, ""], more.join(" "));
    assertStringIncludes(err, 'Cannot run "w" with --now: it writes, and orders go out at the real time');
    assertStringIncludes(err, `w.yaml --dry-run --now ${more[1]}"`);
  }
  assertEquals(await Deno.stat(file).then(() => true, () => false), false);
  const dry = await runIn(dir.path, ["w.yaml", "--dry-run", ...inWindow], broker.env);
  assertEquals(dry.code, 0, dry.err);
  const simulated = await runIn(dir.path, ["s.yaml", "--store", file, ...inWindow], {
    ...NOWHERE,
    ...VOLATILE,
  });
  assertEquals(simulated.code, 0, simulated.err);
  assertEquals((await rowsOf(file)).map(({ run_key, state }) => `${run_key} ${state}`), [
    "s/main/2025-08-15 ok",
  ]);
  assertEquals(broker.cancels(), 0);
});

Deno.test("run --force-deadline overrides the deadline of a slot, but not the window of a write", async () => {
  await using broker = await withOpenOrders(1);
  await using dir = await folder({
    "w.yaml": sweep("deadline: 2m\nmisfire: { grace: 12m }\n"),
    "r.yaml": `${beat}deadline: 5m\n`,
  });
  const file = `${dir.path}/l.db`;
  const runAt = async (name: string, time: string, more: string[] = []) => {
    const path = `${dir.path}/${name}`;
    return await cli(["run", path, "--store", file, "--json", ...more], {
      env: broker.env,
      files: { [path]: await Deno.readTextFile(path) },
      now: () => Date.parse(`2025-08-15T${time}+08:00`),
    });
  };
  const stateOf = ({ out }: { out: string }) => {
    const { state, reason } = JSON.parse(out);
    return `${state} ${reason}`;
  };
  // Each command runs ten minutes after its slot. It skips the slot without the flag, and runs the slot with it.
  assertEquals(stateOf(await runAt("r.yaml", "10:10")), "skipped deadline");
  assertEquals(stateOf(await runAt("r.yaml", "10:10", ["--force-deadline"])), "ok undefined");
  assertEquals(stateOf(await runAt("w.yaml", "15:40")), "skipped deadline");
  assertEquals(broker.cancels(), 0);
  const closed = await runAt("w.yaml", "15:46", ["--force-deadline"]);
  assertEquals([closed.code, broker.cancels()], [2, 0]);
  assertStringIncludes(
    closed.err,
    'Cannot run "w/main/2025-08-15" now: it writes, and its window closed at 2025-08-15T07:45:00Z; you can override ' +
      "a deadline, but not the window of a recipe that writes",
  );
  assertEquals(stateOf(await runAt("w.yaml", "15:40", ["--force-deadline"])), "ok undefined");
  assertEquals(broker.cancels(), 1);
});

Deno.test("a run that loses its lease between two cancellations sends no more of them, and the command exits with 5", async () => {
  await using dir = await folder({ "w.yaml": sweep() });
  const file = `${dir.path}/l.db`;
  let now = Date.parse("2025-08-15T15:30:30+08:00");
  await using broker = await withOpenOrders(3, async (nth) => {
    if (nth > 1) return;
    // The machine sleeps, another process finds the expired lease, and a person resolves the run.
    now += 40_000;
    await using store = await openSqlite(file);
    const [{ runKey, state } = { runKey: "", state: "" }] = await recoverExpired(store, now);
    assertEquals([runKey, state], ["w/main/2025-08-15", "waiting_recovery"]);
    await resolveOutcome(store, { runKey, state: "failed", actor: "me", now });
  });
  const path = `${dir.path}/w.yaml`;
  const { code, err } = await cli(["run", path, "--store", file], {
    env: broker.env,
    files: { [path]: sweep() },
    now: () => now,
  });
  assertEquals([code, broker.cancels()], [5, 1]);
  assertStringIncludes(
    err,
    'lost the lease to another process; before that, step "all" had sent orders.cancel (done)',
  );
  assertEquals((await rowsOf(file)).map(({ state, reason }) => `${state} ${reason}`), ["failed resolved"]);
});

Deno.test("a simulator's settings allow no order at another gateway that a recipe names", async () => {
  await using broker = await withOpenOrders(1);
  const { HSGATE_GATEWAY_URL: url = "", HSGATE_LIVE_TRADING: _, ...env } = broker.env;
  const recipe = sweep(`connect: { gateway: "${url}" }\n`);
  await using dir = await folder({
    "w.yaml": recipe,
    "sim.json": JSON.stringify({ gatewayUrl: "http://127.0.0.1:1", seed: 1, clock: "x" }),
  });
  const [path, config] = [`${dir.path}/w.yaml`, `${dir.path}/sim.json`];
  await trustAll(dir.path);
  const world = { env, fromDisk: true, now: () => Date.parse("2025-08-15T15:30:30+08:00") };
  const words = ["run", path, "--store", `${dir.path}/l.db`, "--config", config];
  const { code, err } = await cli(words, world);
  assertEquals([code, broker.cancels()], [2, 0], err);
  assertStringIncludes(err, "the settings are those of a simulator, and the recipe names another gateway");
  const own = await cli(words, { ...world, env: { ...env, HSGATE_LIVE_TRADING: "allow" } });
  assert(!own.err.includes("the settings are those of a simulator"), own.err);
});

Deno.test("a run is a plan that sends nothing, unless live trading is on in the settings and in the recipe", async () => {
  const [inRecipe, inSettings] = ['the recipe has no "live: true"', 'the setting liveTrading is "refuse"'];
  for (
    const [recipe, setting, why] of [
      [sweep().replace("live: true\n", ""), "allow", inRecipe],
      [sweep(), "refuse", inSettings],
      [sweep().replace("live: true", "live: false"), "refuse", `${inRecipe}, and ${inSettings}`],
      [sweep(), "allow", undefined],
    ] as const
  ) {
    await using broker = await withOpenOrders(1);
    await using dir = await folder({ "w.yaml": recipe });
    const [path, file] = [`${dir.path}/w.yaml`, `${dir.path}/l.db`];
    await trustAll(dir.path);
    const world = {
      env: { ...broker.env, HSGATE_LIVE_TRADING: setting },
      files: { [path]: recipe },
      fromDisk: true,
      now: () => Date.parse("2025-08-15T15:30:30+08:00"),
    };
    const { out, err, code } = await cli(["run", path, "--store", file, "--json"], world);
    const { state, reason, key } = JSON.parse(out);
    assertEquals([code, broker.cancels()], [0, why === undefined ? 1 : 0], err);
    assertEquals([state, reason], why === undefined ? ["ok", undefined] : ["skipped", "plan"]);
    const told = async (...words: string[]) => (await cli(words, world)).out;
    const [checked] = JSON.parse(await told("check", path, "--json")).files;
    assertEquals(checked.plan, why);
    const [next] = JSON.parse(await told("next", path, "--json"));
    assertEquals(next.plan, why);
    const asked = await told("why", "w", "2025-08-15", "--store", file);
    if (why === undefined) {
      assertStringIncludes(asked, "ran and succeeded");
      continue;
    }
    assertStringIncludes(err, `this run is a plan, and sends nothing: ${JSON.stringify(why).slice(1, -1)}`);
    assertStringIncludes(await told("check", path), `its runs are plans, and send nothing: ${why}`);
    assertStringIncludes(await told("next", path), `plan, sends nothing: ${why}`);
    assertStringIncludes(asked, `was a plan, and sent nothing: ${why}`);
    // The step records what it would have sent.
    assertStringIncludes(await told("runs", "show", key, "--store", file, "--json"), "plan: {");
    // A slot that ran as a plan remains a plan: turning live trading on later sends nothing for it.
    const again = await cli(["run", path, "--store", file, "--json"], {
      ...world,
      env: { ...world.env, HSGATE_LIVE_TRADING: "allow" },
    });
    assertEquals([JSON.parse(again.out).ran, broker.cancels()], [false, 0]);
    const words = await told("run", path, "--store", file);
    assertStringIncludes(words, `${key} has already run, as a plan that sent nothing; a slot runs only once`);
  }
});

Deno.test("run --dry-run plans every write and sends none", async () => {
  await using gateway = await simulate();
  await using dir = await folder({ "w.yaml": "" });
  await Deno.writeTextFile(`${dir.path}/w.yaml`, write.replace("OUT", `${dir.path}/out`));
  await trustAll(dir.path);
  const writes = [...operations.values()].filter(({ effect }) => effect === "write");
  assert(writes.length > 10);
  for (const { name } of writes) {
    gateway.faults.arm({ kind: "delay", operation: name, ms: 1, when: "request", times: 9 });
  }
  const env = { ...envOf(gateway), WHO: "hunter22", HSGATE_STORE: `${dir.path}/l.db` };
  const words = ["w.yaml", "--dry-run", "--param", "quantity=200"];
  const { code, out } = await runIn(dir.path, [...words, "--json"], env);
  assertEquals(code, 0);
  assert(!out.includes("hunter22"), "secrets are removed");
  const { name, ok, steps, writes: planned } = JSON.parse(out);
  assertEquals([name, ok], ["sweep", true]);
  assertEquals(steps.map(({ id, uses, state }: Record<string, string>) => [id, uses, state]), [
    ["funds", "account.funds", "read"],
    ["buy", "orders.place", "planned"],
    ["change", "orders.cancel", "open"],
    ["all", "cancel-open-orders", "planned"],
    ["poor", "cancel-open-orders", "left-out"],
    ["files", "snapshot", "read"],
    ["tell", "notify", "planned"],
    ["last", "orders.cancel", "planned"],
  ]);
  const place = {
    market: "hk",
    symbol: "00700.HK",
    side: "buy",
    quantity: "200",
    price: "400",
    orderType: "enhanced-limit",
  };
  assertEquals(planned, [
    { order: 1, step: "buy", uses: "orders.place", plan: { call: "orders.place", params: place } },
    {
      order: 2,
      step: "change",
      uses: "orders.cancel",
      dependsOn: ["buy"],
      written: { market: "hk", symbol: "00700.HK", orderId: "${{ outputs.buy.orderId }}" },
    },
    { order: 3, step: "all", uses: "cancel-open-orders", plan: { cancel: [] } },
    {
      order: 4,
      step: "last",
      uses: "orders.cancel",
      plan: { call: "orders.cancel", params: { market: "hk", symbol: "00700.HK", orderId: "1" } },
    },
  ]);
  assertEquals(gateway.state().faults.struck, {});
  const names = [...Deno.readDirSync(dir.path)].map((entry) => entry.name);
  assertEquals(names, ["w.yaml"], "no store and no file");
  const text = (await runIn(dir.path, words, env)).out;
  for (
    const line of [
      '→ change  orders.cancel       depends on "buy"',
      "– poor    cancel-open-orders  skipped: its condition was false",
      '  1. orders.place  (step "buy")',
      "       quantity 200",
      '       depends on the outcome of "buy"',
      "       as of now, before the writes above:",
      "Dry run: nothing was written; only steps that read were run.",
    ]
  ) {
    assertStringIncludes(text, line);
  }
  // Control: these faults are armed, and a real write triggers them.
  await cli(["call", "orders.cancel", '{"market":"hk","symbol":"00700.HK","orderId":"1"}'], {
    env: { ...env, ...storeEnv(dir) },
  });
  assertEquals(gateway.state().faults.struck, { delay: 1 });
});

Deno.test("run --dry-run shows the steps and the error when the gateway does not answer", async () => {
  await using dir = await folder({ "w.yaml": write, "r.yaml": beat });
  const env = { ...NOWHERE, WHO: "hunter22" };
  const { code, out, err } = await runIn(dir.path, ["w.yaml", "--dry-run"], env);
  assertEquals(code, 4);
  assertStringIncludes(
    out,
    "✗ funds   account.funds       failed: Cannot ",
  );
  assertStringIncludes(out, "Its writes are unknown, because a step failed.");
  assertStringIncludes(err, "Is the gateway running?");
  const json = await runIn(dir.path, ["w.yaml", "--dry-run", "--json"], env);
  assertEquals([json.code, JSON.parse(json.out).ok, JSON.parse(json.out).steps.length], [4, false, 8]);
  // A read-only recipe is only shown; its steps do not run.
  const reads = await runIn(dir.path, ["r.yaml", "--dry-run", "--json"], NOWHERE);
  assertEquals([reads.code, reads.err, JSON.parse(reads.out)], [0, "", {
    name: "beat",
    ok: true,
    steps: [{ id: "funds", uses: "account.funds", effect: "read", state: "not-done" }],
    writes: [],
  }]);
});

Deno.test("run --wait says which run it waits for, ends with 4, and cancels its manual run", async () => {
  await using gateway = await simulate();
  await using dir = await folder({ "r.yaml": beat });
  const file = `${dir.path}/l.db`;
  const name = `account:gateway ${new URL(gateway.info.gatewayUrl).host}`;
  {
    await using store = await openSqlite(file);
    const lease = { name, holder: "4711 other/main/2025-08-15", now: MORNING, until: MORNING + 600_000 };
    assert(await takeLease(store, lease) !== undefined);
  }
  const words = ["r.yaml", "--store", file, "--manual"];
  const { code, out, err } = await runIn(dir.path, [...words, "--wait", "1"], envOf(gateway));
  assertEquals(code, 4);
  assertStringIncludes(
    err,
    'hsgate: waiting up to 1 s for run "other/main/2025-08-15", which uses the trade login; Ctrl-C stops waiting',
  );
  assertStringIncludes(
    out,
    'was not run: it waited for run "other/main/2025-08-15", which uses the trade login',
  );
  const stop = new AbortController();
  const recipe = `${dir.path}/r.yaml`;
  const stopped = await cli(["run", recipe, ...words.slice(1), "--wait", "60"], {
    env: envOf(gateway),
    files: { [recipe]: await Deno.readTextFile(recipe) },
    signal: stop.signal,
    onNote: (line) => line.startsWith("hsgate: waiting up to 60 s") && stop.abort(),
  });
  assertEquals(stopped.code, 130);
  assertStringIncludes(stopped.out, "was not run: the wait was cancelled");
  assertEquals((await rowsOf(file)).map(({ state, reason }) => [state, reason]), [
    ["cancelled", "account"],
    ["cancelled", "account"],
  ]);
  await using store = await openSqlite(file);
  assertEquals(await leaseHolder(store, name, MORNING), "4711 other/main/2025-08-15");
  const wrong = await runIn(dir.path, [...words, "--wait", "long"], envOf(gateway));
  assertEquals(wrong.code, 2);
});

Deno.test("run at Ctrl-C during a read ends with 130, and the store records it", async () => {
  await using gateway = await simulate();
  gateway.faults.arm({ kind: "delay", operation: "account.funds", ms: 120_000, when: "request", times: 9 });
  await using dir = await folder({ "r.yaml": beat });
  const file = `${dir.path}/l.db`;
  for (
    const [more, states] of [
      [[], []],
      [["--store", file], ["due"]],
      [["--store", file, "--manual"], ["cancelled", "due"]],
    ] as const
  ) {
    const stop = new AbortController();
    const before = gateway.faults.struck("delay");
    const begun = performance.now();
    const running = runIn(dir.path, ["r.yaml", ...more], envOf(gateway), stop.signal);
    // The step has sent its request, whose answer takes two minutes.
    const timer = setInterval(() => {
      if (gateway.faults.struck("delay") > before) stop.abort(new Error("stop"));
    }, 10);
    const { code } = await running;
    clearInterval(timer);
    assert(performance.now() - begun < 100_000); // before the answer
    if (more.length > 0) assertEquals([code, (await rowsOf(file)).map(({ state }) => state)], [130, states]);
  }
  // A separate process gets the signal that a terminal sends.
  const process = start(["run", `${dir.path}/r.yaml`], { env: envOf(gateway) });
  const reader = process.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let err = "";
  err = await readUntil("step 1 of 1", reader, (text) => text.includes("step 1 of 1"), { text: err });
  process.kill("SIGINT");
  for (let chunk; !(chunk = await reader.read()).done;) err += chunk.value;
  assertEquals((await process.status).code, 130);
  assertStringIncludes(err, "hsgate: interrupted");
  await process.stdout.cancel();
});

Deno.test("run runs another recipe as a step, with a store and without", async () => {
  await using gateway = await simulate();
  await using dir = await folder({
    "outer.yaml":
      "name: outer\nsteps: [{ id: other, uses: run, with: { recipe: inner, params: { market: us } } }]\n",
    "inner.yaml":
      "name: inner\nparams: { market: hk }\nsteps: [{ id: funds, uses: account.funds, with: { market: '${{ params.market }}' } }]\n",
  });
  const here = await runIn(dir.path, ["outer.yaml", "--json"], envOf(gateway));
  assertEquals(here.code, 0, here.err);
  assertEquals(Object.keys(JSON.parse(here.out).steps[0].output), ["funds"]);
  const kept = await runIn(dir.path, ["outer.yaml", "--store", `${dir.path}/l.db`], envOf(gateway));
  assertEquals(kept.code, 0, kept.err);
  const [outer, inner] = kept.out.split("\n");
  assertMatch(outer!, /^✓ other {2}run/);
  assertMatch(inner!, /^ {2}✓ funds {2}account\.funds/);
});

Deno.test("run --json --events writes events to stderr, one object per line", async () => {
  await using gateway = await simulate();
  await using dir = await folder({ "r.yaml": beat });
  for (const more of [[], ["--store", `${dir.path}/l.db`]]) {
    const { code, err } = await runIn(dir.path, ["r.yaml", "--json", "--events", ...more], envOf(gateway));
    const lines = err.trimEnd().split("\n").map((line) => JSON.parse(line));
    const types = lines.map(({ type }) => type);
    assertEquals(code, 0);
    assert(types.includes("step-started"), types.join());
    const of = (name: string) => new Set(lines.map((line) => line[name]));
    assertEquals([of("runKey").size, of("traceId").size, of("at").has(undefined)], [1, 1, false], err);
    assert(lines.every(({ runKey, traceId }) => runKey && /^[0-9a-f]{32}$/.test(traceId)), err);
  }
});

Deno.test("run --json --events also writes the connection as JSON", async () => {
  await using dir = await folder({ "s.yaml": `${beat}connect: simulator\n` });
  for (const more of [[], ["--store", `${dir.path}/l.db`]]) {
    const { code, err } = await runIn(dir.path, ["s.yaml", "--json", "--events", ...more], {});
    assertEquals(code, 0, err);
    const lines = err.trimEnd().split("\n").map((line) => JSON.parse(line));
    const note = lines.find(({ type }) => type === "note");
    assertStringIncludes(note.message, "connected to a simulated broker (seed 1");
  }
});

const steps = [{ id: "funds", uses: "account.funds" }, { id: "other", uses: "run" }, {
  id: "last",
  uses: "notify",
}];

/** Returns a tree after some events, with a clock that advances one second with each event. */
function treeAfter(events: readonly TreeEvent[]): RunTree {
  let now = 0;
  const tree = new RunTree(() => now);
  for (const event of events) {
    tree.apply(event);
    now += 1_000;
  }
  return tree;
}

const story: TreeEvent[] = [
  { type: "run-started", run: "a", recipe: "a", steps },
  { type: "step-started", run: "a", step: "funds", attempt: 1 },
  { type: "step-ended", run: "a", step: "funds", state: "ok", result: "3 rows" },
  { type: "step-started", run: "a", step: "other", attempt: 2 },
  { type: "run-started", run: "b", recipe: "b", steps: [{ id: "deep", uses: "fills.today" }] },
  { type: "step-started", run: "b", step: "deep", attempt: 1 },
  { type: "step-progress", run: "b", step: "deep", text: "page\x1b[2J", done: 2, total: 5 },
];

Deno.test("RunTree.lines() marks steps, indents inner recipes, fits any width while it is redrawn, and cuts no name in the final output", () => {
  const host = { color: false };
  const tree = treeAfter(story);
  assertEquals(tree.lines({ width: 80, host }), [
    "✓ funds  account.funds    1.0 s  3 rows",
    "▸ other  run              4.0 s  attempt 2",
    "  ▸ deep  fills.today    2.0 s  2/5  page [2J",
    "· last   notify",
  ]);
  assertEquals(tree.lines({ width: 80, host, frame: 1 })[1]!.slice(0, 7), "⠙ other");
  for (const width of [1, 2, 7, 12, 39, 40, 59, 60]) {
    const drawn = tree.lines({ width, host, frame: 1 });
    for (const line of drawn) assert([...line].length <= width, `${width}: "${line}"`);
    // The final output has complete names.
    const names = tree.lines({ width, host }).map((line) => line.trim().split(/ +/)[1]);
    assertEquals(names, ["funds", "other", "deep", "last"]);
  }
  const [first] = tree.lines({ width: 80, host: { color: true } });
  assertStringIncludes(terminalText(first!), "\x1b[32m✓\x1b[39m funds");
});

Deno.test("summaryLines() shows in full a reason that the tree has cut, then the files and the end", () => {
  const reason = "Cannot send account.funds: no connection to the gateway at this long address";
  const tree = treeAfter([
    story[0]!,
    story[1]!,
    { type: "artifact", run: "a", step: "funds", path: "out/a.csv", isNew: true },
    { type: "artifact", run: "a", step: "funds", path: "out/a.csv", isNew: true },
    { type: "step-ended", run: "a", step: "funds", state: "failed", reason },
    { type: "step-ended", run: "a", step: "last", state: "skipped" },
    { type: "run-ended", run: "a", state: "failed", reason: "step", tookMs: 125_000 },
  ]);
  const host = { color: false, size: () => ({ columns: 50, rows: 24 }) };
  assertEquals(summaryLines(tree, host), [
    "✗ funds    3.0 s  Cannot send account.funds: no c…",
    "· other",
    "– last            skipped: its condition was false",
    `funds: ${reason}`,
    "wrote out/a.csv",
    "failed (step) after 2 min 5 s",
  ]);
  assertEquals([seconds(59_949), seconds(3_600_000)], ["59.9 s", "1 h 0 min"]);
});

/** A terminal that records its output. */
function terminal(columns: () => number) {
  const drawn: string[] = [];
  const notes: string[] = [];
  return {
    drawn,
    notes,
    host: {
      note: (line: string) => void notes.push(line),
      errTerminal: { draw: (codes: string, text = "") => void drawn.push(codes + text), columns },
      color: false,
      env: () => undefined,
      isTerminal: false,
      size: () => ({ columns: 1000, rows: 24 }),
    },
  };
}

Deno.test("showRun() redraws its own lines, prints other lines above them, and erases itself at the end", () => {
  const tree = treeAfter(story.slice(0, 2));
  let columns = 80;
  const { host, drawn, notes } = terminal(() => columns);
  {
    using show = showRun(host, { tree, json: false });
    show.take(story[1]!);
    assertEquals(drawn.at(-1)!.split("\n").length, 3);
    show.line("hsgate: a warning");
    assertEquals(drawn.at(-2), "\x1b[2A\r\x1b[Jhsgate: a warning\n");
    // The three lines are 31, 12 and 15 columns wide; in a terminal of 10 columns they take 4, 2 and 2 rows.
    columns = 10;
    show.line("narrow");
    assertEquals(drawn.at(-2), "\x1b[7A\r\x1b[Jnarrow\n");
    columns = 0; // as while a user resizes the terminal
    show.line("none");
    assert(drawn.at(-1)!.includes("funds"));
  }
  assertEquals(drawn.at(-1), "\x1b[2A\r\x1b[J");
  assertEquals(notes, []);
});

Deno.test("showRun() prints plain lines without a terminal, and prints nothing for a program", () => {
  const lines = (json: boolean) => {
    const { host, notes } = terminal(() => 80);
    const { errTerminal: _, ...piped } = host;
    using show = showRun(piped, { tree: new RunTree(), json });
    const ended: TreeEvent = {
      type: "step-ended",
      run: "a",
      step: "funds",
      state: "ok",
      result: "3 rows",
      tookMs: 9,
    };
    for (const event of [story[0]!, story[1]!, ended]) show.take(event);
    return notes;
  };
  assertEquals(lines(false), ["hsgate: step 1 of 3, funds", "hsgate: step 1 of 3, funds: ok, 0.0 s, 3 rows"]);
  assertEquals(lines(true), []);
});

Deno.test("shortResult() summarizes the output of a step in a few words", () => {
  assertEquals(shortResult([1, 2]), "2 rows");
  assertEquals(shortResult({ cancelled: ["1", "2"], failed: ["3"] }), "2 cancelled, 1 failed");
  assertEquals(
    shortResult({ stillOpen: ["1", "2"], days: ["a", "b"], files: ["c"] }),
    "2 still open, 2 days, 1 file",
  );
  assertEquals(
    shortResult({ ok: true, day: "2025-08-15", files: ["a"], path: "out/x", empty: [] }),
    "day 2025-08-15, 1 file",
  );
  assertEquals(shortResult({ rows: 1204, isWhole: false }), "1,204 rows, not whole");
  assertEquals(shortResult(undefined), "");
});

Deno.test("run in a pipe prints no terminal codes, whatever TERM says", async () => {
  await using dir = await folder({ "r.yaml": simulated });
  const { code, out, err } = await spawned(["run", `${dir.path}/r.yaml`, "--store", `${dir.path}/l.db`], {
    env: { TERM: "xterm-256color" },
  });
  assertEquals(code, 0, err);
  assert(!out.includes("\x1b") && !err.includes("\x1b"));
});

Deno.test("run --dry-run shows the current orders that would be cancelled, and leaves them open", async () => {
  await using gateway = await simulate();
  const env = envOf(gateway);
  const order = {
    market: "hk",
    symbol: "00700.HK",
    quantity: "200",
    side: "buy",
    price: "560",
    orderType: "enhanced-limit",
  };
  await using files = await folder({});
  const placed = await cli(["call", "orders.place", JSON.stringify(order), "--yes", "--json"], {
    env: { ...env, ...storeEnv(files) },
  });
  const { orderId } = JSON.parse(placed.out);
  await using dir = await folder({
    "w.yaml":
      `name: w\nschedule: { calendar: XHKG, at: open+1h }\nwindow: XHKG.open+5m..XHKG.close-15m\nsteps:\n` +
      "  - { id: all, uses: cancel-open-orders, with: { markets: [hk] } }\n" +
      `  - { id: one, uses: orders.cancel, with: { market: hk, symbol: "00700.HK", orderId: "${orderId}" } }\n`,
  });
  const { code, out } = await runIn(dir.path, ["w.yaml", "--dry-run"], env);
  assertEquals(code, 0);
  assertStringIncludes(out, `       cancel buy 200 00700.HK at 560.00, order ${orderId}, market hk\n`);
  assertStringIncludes(out, "       the order: buy 200 00700.HK at 560.00, status accepted");
  const open = await cli(["call", "orders.today", '{"market":"hk"}', "--all", "--json"], { env });
  assertEquals(JSON.parse(open.out).map(({ canCancel }: { canCancel: boolean }) => canCancel), [true]);
});

Deno.test("shortResult() never cuts identifiers", () => {
  const id = "1250815000001-1250815000002-1250815000003";
  assertEquals(shortResult({ ok: true, orderId: id, remark: "r".repeat(40) }), `order id ${id}`);
  assertEquals(shortResult(id), id);
  assertEquals(shortResult("r".repeat(90)), `${"r".repeat(79)}…`);
});

Deno.test("run --dry-run shows the whole content of what it would write", async () => {
  const symbol = "AAPL250919C2300000";
  const recipe = `name: long
window: XNYS.open+5m..XNYS.close-10m
steps:
  - id: a-step-with-a-name-that-is-longer-than-most
    uses: orders.cancel
    with: { market: us, symbol: ${symbol}, orderId: "${"1234567890".repeat(6)}" }
`;
  await using gateway = await simulate();
  await using dir = await folder({ "long.yaml": recipe });
  const path = `${dir.path}/long.yaml`;
  const { out } = await cli(["run", path, "--dry-run"], {
    env: envOf(gateway),
    files: { [path]: recipe },
    columns: 40,
  });
  for (const whole of ["a-step-with-a-name-that-is-longer-than-most", symbol, "1234567890".repeat(6)]) {
    assertStringIncludes(out, whole);
  }
  assert(!out.includes("…"), out);
});

Deno.test("if an expression fails, a run without a store reports the expression's error, and not an internal error", async () => {
  const text =
    "name: divide\nconnect: simulator\nsteps:\n  - { id: o, uses: orders.today, with: { market: hk } }\n" +
    "  - id: a\n    uses: convert-report\n" +
    "    if: \"${{ decimalDivide('1', string(size(outputs.o)), 2) == '1' }}\"\n" +
    "    with: { rows: [{ a: '1' }], to: x.csv }\n";
  await using dir = await folder({ "divide.yaml": text });
  const path = `${dir.path}/divide.yaml`;
  const { code, err } = await cli(["run", path], { files: { [path]: text } });
  assertEquals(code, 1, err);
  assertEquals(/internal error|\n {4}at /.test(err), false, err);
  assertStringIncludes(err, 'hsgate: Cannot evaluate "decimalDivide(');
  assertStringIncludes(err, 'of step "a": Cannot divide "1" by zero');
});
