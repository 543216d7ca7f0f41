import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { releaseLease, takeLease } from "../../lib/runner/queries/claims.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { SimulatedGateway } from "../../lib/simulator/gateway/mod.ts";
import { cli, envOf, folder, MORNING, simulate } from "./runner_support.ts";

const buy = `name: buy
live: true
schedule: { calendar: XHKG, at: open+1h30m }
window: XHKG.open+5m..XHKG.close-15m
steps:
  - id: place
    uses: orders.place
    with: { market: hk, symbol: "00700.HK", side: buy, quantity: "100", price: "400", orderType: enhanced-limit }
`;
/** A recipe for which the scheduler makes a pass every second. */
const beat =
  "name: beat\nschedule: { every: 1s }\nsteps: [{ id: a, uses: orders.today, with: { market: hk } }]\n";
/** Stores of tests are in a temporary folder, and the order is far from the market so that it does not fill. */
const VOLATILE = { HSGATE_VOLATILE_STORE: "allow", HSGATE_PRICE_COLLAR: "off", HSGATE_LIVE_TRADING: "allow" };

/** Returns how many orders a gateway has received today. */
async function ordersAt(gateway: SimulatedGateway): Promise<number> {
  const { code, out, err } = await cli(["call", "orders.today", '{"market":"hk"}', "--json"], {
    env: envOf(gateway),
  });
  assertEquals(code, 0, err);
  const found = JSON.parse(out);
  assert(Array.isArray(found), out);
  return found.length;
}

const rowsOf = async (path: string) => {
  await using store = await openSqlite(path);
  return await store.all<{ state: string; kind: string; reason: string | null; account: string | null }>(
    "select state, kind, reason, account from run where kind = 'manual' order by rowid",
  );
};

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

Deno.test("schedule sends no order of a manual run that waits for the account, and run sends it once", async () => {
  await using a = await simulate({ fillsPerDay: 0 });
  await using b = await simulate({ fillsPerDay: 0 });
  await using dir = await folder({ "buy.yaml": buy, "beat.yaml": beat });
  const path = `${dir.path}/l.db`;
  const file = `${dir.path}/buy.yaml`;
  const before = [await ordersAt(a), await ordersAt(b)];
  const sent = async () => [await ordersAt(a) - before[0]!, await ordersAt(b) - before[1]!]; // one number for each gateway
  const name = `account:gateway ${new URL(b.info.gatewayUrl).host}`;
  const lease = { name, holder: "4711 x other/main/2025-08-15" };
  {
    await using store = await openSqlite(path);
    await takeLease(store, { ...lease, now: MORNING, until: MORNING + 600_000 });
  }
  const stop = new AbortController();
  const started = performance.now();
  const now = () => MORNING + Math.floor(performance.now() - started);
  const env = { ...envOf(a), ...VOLATILE };
  const schedule = cli(["schedule", dir.path, "--store", path, "--text"], {
    env,
    signal: stop.signal,
    now,
  });
  const byHand = (seconds: string) =>
    cli(["run", file, "--store", path, "--manual", "--wait", seconds], {
      env: { ...envOf(b), ...VOLATILE },
      files: { [file]: buy },
      now,
    });
  // The run waits until its limit. No process sends the order, and the output says why.
  const refused = await byHand("3");
  assertEquals([refused.code, await sent()], [4, [0, 0]], refused.out);
  assertStringIncludes(
    refused.out,
    'was not run: it waited for run "other/main/2025-08-15", which uses the trade login',
  );
  assertEquals((await rowsOf(path)).map(({ state, reason }) => [state, reason]), [["cancelled", "account"]]);
  // The account becomes free before the run gives up.
  const waiting = byHand("30");
  await pause(2_500);
  {
    await using store = await openSqlite(path);
    await releaseLease(store, name, lease.holder);
  }
  const { code, out } = await waiting;
  await pause(1_500);
  stop.abort();
  const scheduled = await schedule;
  assertEquals([code, await sent(), scheduled.code], [0, [0, 1], 0], out);
  assertEquals((await rowsOf(path)).map(({ state, kind, account }) => [state, kind, account]), [
    ["cancelled", "manual", null],
    ["ok", "manual", name.replace("account:", "")],
  ]);
});

Deno.test("run reports the state of a slot's run that began earlier, also in another process", async () => {
  await using gateway = await simulate({ fillsPerDay: 0 });
  const otherText = buy.replace("1h30m", "1h").replace(/name: .*/, "name: other");
  await using dir = await folder({ "buy.yaml": buy.replace("1h30m", "1h"), "other.yaml": otherText });
  const path = `${dir.path}/l.db`;
  const file = `${dir.path}/buy.yaml`;
  const run = () =>
    cli(["run", file, "--store", path, "--wait", "0"], {
      env: { ...envOf(gateway), ...VOLATILE },
      files: { [file]: buy.replace("1h30m", "1h") },
      now: () => MORNING + 60_000,
    });
  const first = await run();
  assertEquals(first.code, 0, first.out + first.err);
  const set = async (sql: string) => {
    await using store = await openSqlite(path);
    await store.run(`update run set ${sql}`);
  };
  const key = "buy/main/2025-08-15";
  for (
    const [sql, code, words] of [
      ["state = 'ok'", 0, `${key} has already run and ended as ok; a slot runs only once`],
      [
        "reason = 'resolved'",
        0,
        `${key} was already started, and a person resolved it as ok; a slot runs only once`,
      ],
      ["state = 'failed', reason = 'step'", 1, `${key} has already run and ended as failed (step)`],
      ["state = 'failed'", 1, "check the account's orders before you write again"],
      [
        "state = 'unknown', reason = 'write'",
        5,
        `another process started ${key}, and the outcome of its write is unknown`,
      ],
      ["state = 'waiting_recovery'", 5, "until then no recipe may write on the account"],
      [
        `state = 'running', holder = 'x', lease_until = ${MORNING + 600_000}`,
        4,
        `another process is running ${key}`,
      ],
    ] as const
  ) {
    await set(sql);
    const { code: ended, out } = await run();
    assertEquals(ended, code, out);
    assertStringIncludes(out, words);
  }
  // Another recipe of the account waits, up to its own limit, until a person resolves the unknown write.
  await set("state = 'unknown', reason = 'write', holder = null, lease_until = null");
  const other = `${dir.path}/other.yaml`;
  const held = await cli(["run", other, "--store", path, "--wait", "0"], {
    env: { ...envOf(gateway), ...VOLATILE },
    files: { [other]: otherText },
    now: () => MORNING + 60_000,
  });
  assertStringIncludes(
    held.out + held.err,
    "was not run: the outcome of an earlier run's write is unknown",
  );
  assertStringIncludes(held.out, `"hsgate runs show ${key}" lists what to check`);
  assertStringIncludes(held.out, `resolve ${key} ok|failed`);
  assert(!held.out.includes("waits longer"), held.out);
});

Deno.test({
  name: "run with a terminal ends at SIGHUP as at SIGTERM, and leaves nothing to run later",
  // The program `script` creates the terminal.
  ignore: Deno.build.os !== "linux" || !await Deno.stat("/usr/bin/script").then(() => true, () => false),
  async fn() {
    await using gateway = await simulate();
    gateway.faults.arm({ kind: "delay", operation: "account.funds", ms: 60_000, when: "request", times: 9 });
    await using dir = await folder({
      "r.yaml": "name: r\nsteps: [{ id: f, uses: account.funds, with: { market: hk } }]\n",
    });
    const path = `${dir.path}/l.db`;
    const { tasks } = (await import("../../deno.json", { with: { type: "json" } })).default;
    const root = new URL("../../", import.meta.url).pathname;
    const line = `exec env ${
      tasks.hsgate.command.replace(" deno ", ` ${Deno.execPath()} `)
    } run ${dir.path}/r.yaml --store ${path}`;
    const terminal = new Deno.Command("/usr/bin/script", {
      args: ["-qec", line, "/dev/null"],
      cwd: root,
      env: envOf(gateway),
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const reader = terminal.stdout.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; !text.includes("funds");) {
      const { value, done } = await reader.read();
      assert(!done, text);
      text += value;
    }
    await pause(500);
    // Closes the terminal, like a lost connection.
    terminal.kill("SIGKILL");
    await Promise.all([terminal.status, reader.cancel(), terminal.stdin.close().catch(() => {})]);
    for (let tries = 0; tries < 100 && (await rowsOf(path))[0]?.state === "running"; tries++) {
      await pause(100);
    }
    assertEquals((await rowsOf(path)).map(({ state, reason }) => [state, reason]), [[
      "cancelled",
      "stopped",
    ]]);
  },
});
