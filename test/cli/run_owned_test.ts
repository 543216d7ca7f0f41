import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { releaseLease, takeLease } from "../../lib/runner/leases.ts";
import { Ledger } from "../../lib/runner/ledger.ts";
import type { SimulatedGateway } from "../../lib/simulator/gateway/mod.ts";
import { cli, envOf, folder, MORNING, simulate } from "./runner_support.ts";

const buy = `name: buy
schedule: { calendar: XHKG, at: open+1h30m }
window: XHKG.open+5m..XHKG.close-15m
steps:
  - id: place
    uses: orders.place
    with: { market: hk, symbol: "00700.HK", side: buy, quantity: "100", price: "400", orderType: enhanced-limit }
`;
/** Has the scheduler look every second. */
const beat =
  "name: beat\nschedule: { every: 1s }\nsteps: [{ id: a, uses: orders.today, with: { market: hk } }]\n";
/** Ledgers of tests lie in a folder for temporary files. */
const VOLATILE = { HSGATE_VOLATILE_LEDGER: "allow" };

/** How many orders a gateway has taken today. */
async function ordersAt(gateway: SimulatedGateway): Promise<number> {
  const { code, out, err } = await cli(["call", "orders.today", '{"market":"hk"}', "--json"], {
    env: envOf(gateway),
  });
  assertEquals(code, 0, err);
  const found = JSON.parse(out);
  assert(Array.isArray(found), out);
  return found.length;
}

const rowsOf = (path: string) => {
  using ledger = new Ledger(path);
  return ledger.all<{ state: string; kind: string; reason: string | null; account: string | null }>(
    "select state, kind, reason, account from run where kind = 'manual' order by rowid",
  );
};

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

Deno.test("schedule sends no order of a run by hand that waits for another account, and run sends it once", async () => {
  await using a = await simulate({ fillsPerDay: 0 });
  await using b = await simulate({ fillsPerDay: 0 });
  await using dir = await folder({ "buy.yaml": buy, "beat.yaml": beat });
  const path = `${dir.path}/l.db`;
  const file = `${dir.path}/buy.yaml`;
  const before = [await ordersAt(a), await ordersAt(b)];
  const sent = async () => [await ordersAt(a) - before[0]!, await ordersAt(b) - before[1]!]; // two of them
  const name = `account:gateway ${new URL(b.info.gatewayUrl).host}`;
  const lease = { name, holder: "4711 x other/main/2025-08-15" };
  {
    using ledger = new Ledger(path);
    takeLease(ledger, { ...lease, now: MORNING, until: MORNING + 600_000 });
  }
  const stop = new AbortController();
  const started = performance.now();
  const now = () => MORNING + Math.floor(performance.now() - started);
  const env = { ...envOf(a), ...VOLATILE };
  const schedule = cli(["schedule", dir.path, "--ledger", path, "--text"], {
    env,
    signal: stop.signal,
    now,
  });
  const byHand = (seconds: string) =>
    cli(["run", file, "--ledger", path, "--manual", "--wait", seconds], {
      env: { ...envOf(b), ...VOLATILE },
      files: { [file]: buy },
      now,
    });
  // It waits as long as it may: nobody sends it, neither here nor there, and that is what it says.
  const refused = await byHand("3");
  assertEquals([refused.code, await sent()], [4, [0, 0]], refused.out);
  assertStringIncludes(
    refused.out,
    'was not run: it waited for run "other/main/2025-08-15", which has the trade login',
  );
  assertEquals(rowsOf(path).map(({ state, reason }) => [state, reason]), [["cancelled", "account"]]);
  // The account is free before it gives up.
  const waiting = byHand("30");
  await pause(2_500);
  {
    using ledger = new Ledger(path);
    releaseLease(ledger, name, lease.holder);
  }
  const { code, out } = await waiting;
  await pause(1_500);
  stop.abort();
  const scheduled = await schedule;
  assertEquals([code, await sent(), scheduled.code], [0, [0, 1], 0], out);
  assertEquals(rowsOf(path).map(({ state, kind, account }) => [state, kind, account]), [
    ["cancelled", "manual", null],
    ["ok", "manual", name.replace("account:", "")],
  ]);
});

Deno.test("run says of a run that somebody else has what its row says, and never that nothing happened", async () => {
  await using gateway = await simulate({ fillsPerDay: 0 });
  const otherText = buy.replace("1h30m", "1h").replace(/name: .*/, "name: other");
  await using dir = await folder({ "buy.yaml": buy.replace("1h30m", "1h"), "other.yaml": otherText });
  const path = `${dir.path}/l.db`;
  const file = `${dir.path}/buy.yaml`;
  const run = () =>
    cli(["run", file, "--ledger", path, "--wait", "0"], {
      env: { ...envOf(gateway), ...VOLATILE },
      files: { [file]: buy.replace("1h30m", "1h") },
      now: () => MORNING + 60_000,
    });
  const first = await run();
  assertEquals(first.code, 0, first.out + first.err);
  const set = (sql: string) => {
    using ledger = new Ledger(path);
    ledger.run(`update run set ${sql}`);
  };
  const key = "buy/main/2025-08-15";
  for (
    const [sql, code, words] of [
      ["state = 'ok'", 0, `${key} was run before and ended as ok; a slot is run once`],
      ["reason = 'settled'", 0, `${key} was begun before, and a person settled it as ok; a slot is run once`],
      ["state = 'failed', reason = 'step'", 1, `${key} was run before and ended as failed (step)`],
      ["state = 'failed'", 1, "look at the account's orders before you write again"],
      [
        "state = 'unknown', reason = 'write'",
        5,
        `${key} was begun by another process, and the outcome of what it wrote is unknown`,
      ],
      ["state = 'waiting_recovery'", 5, "until then nothing more is written"],
      [
        `state = 'running', holder = 'x', lease_until = ${MORNING + 600_000}`,
        4,
        `${key} is being run by another process`,
      ],
    ] as const
  ) {
    set(sql);
    const { code: ended, out } = await run();
    assertEquals(ended, code, out);
    assertStringIncludes(out, words);
  }
  // Another recipe of the account waits for the same answer of a person, however long it waits.
  set("state = 'unknown', reason = 'write', holder = null, lease_until = null");
  const other = `${dir.path}/other.yaml`;
  const held = await cli(["run", other, "--ledger", path, "--wait", "0"], {
    env: { ...envOf(gateway), ...VOLATILE },
    files: { [other]: otherText },
    now: () => MORNING + 60_000,
  });
  assertStringIncludes(
    held.out + held.err,
    "was not run: the outcome of what an earlier run wrote is unknown",
  );
  assertStringIncludes(held.out, `"deno task hsgate runs show ${key}" says where to look`);
  assertStringIncludes(held.out, `settle ${key} ok|failed`);
  assert(!held.out.includes("waits longer"), held.out);
});

Deno.test({
  name:
    "run at SIGHUP ends as at SIGTERM where there is a terminal: nothing is left for anybody to run later",
  // The program that makes the terminal.
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
    const line = `exec ${
      tasks.hsgate.command.replace("deno", Deno.execPath())
    } run ${dir.path}/r.yaml --ledger ${path}`;
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
    // The terminal is closed, as by a line that goes dead.
    terminal.kill("SIGKILL");
    await Promise.all([terminal.status, reader.cancel(), terminal.stdin.close().catch(() => {})]);
    for (let tries = 0; tries < 100 && rowsOf(path)[0]?.state === "running"; tries++) await pause(100);
    assertEquals(rowsOf(path).map(({ state, reason }) => [state, reason]), [["cancelled", "stopped"]]);
  },
});
