import { assertEquals, assertStringIncludes } from "@std/assert";
import type { DayBookEvent } from "../../lib/day_book/mod.ts";
import { gatewayAccount } from "../../lib/client/account_name.ts";
import { Desk } from "../../lib/desk/desk.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { ManualClock } from "../../lib/time.ts";
import { openSimulatedAccount } from "../conformance/simulated_account.ts";
import { simulatedMachine } from "../desk/support.ts";
import { executor, planAt, PURCHASE, QUICK, SALES } from "../rebalance/executor.ts";
import { showProgress } from "../../tasks/commands/export_day_book/progress.ts";
import { checksOf } from "../../tasks/terminal/day_table.ts";
import { cli, envOf, folder, simulate as simulateAt, spawned, start } from "./support.ts";
import { readUntil } from "../support/waits.ts";

const NOW = "2025-08-16T12:00:00+08:00";
/** A gateway whose clock agrees with `--now`. */
const simulate = (options: Parameters<typeof simulateAt>[0]) =>
  simulateAt({ clock: new ManualClock(Date.parse(NOW)), ...options });

/** The five trading days before NOW. */
const FIVE_DAYS = ["2025-08-11", "2025-08-12", "2025-08-13", "2025-08-14", "2025-08-15"];

const namesIn = async (path: string) =>
  (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).sort();

Deno.test("export day-book writes the requested days, and with --json prints only the result", async () => {
  await using gateway = await simulate({ fillsPerDay: 5 });
  await using out = await folder();
  const { code, out: text, err } = await cli(
    [
      "export",
      "day-book",
      "--markets",
      "hk,us",
      "--from",
      "2025-08-13",
      "--to",
      "2025-08-14",
      "--out",
      out.path,
      "--formats",
      "csv",
      "--now",
      NOW,
      "--json",
    ],
    { env: envOf(gateway) },
  );
  assertEquals({ code, err }, { code: 0, err: "" });
  const result = JSON.parse(text);
  assertEquals(result.days.map(({ day }: { day: string }) => day), ["2025-08-13", "2025-08-14"]);
  assertEquals(result.days[0].markets.hk.rows.fills, 5);
  assertEquals((await namesIn(`${out.path}/2025-08-14`)).includes("fills.csv"), true);
});

Deno.test("export day-book reports that the broker's time differs, and ends with 7", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using out = await folder();
  const day = ["--from", "2025-08-12", "--to", "2025-08-12", "--out", out.path];
  const wrong = "2025-08-16T14:30:00+08:00";
  for (const more of [[], ["--json"]]) {
    const { code, err } = await cli(["export", "day-book", ...day, "--now", wrong, ...more], {
      env: envOf(gateway),
    });
    assertEquals(code, 7);
    assertStringIncludes(
      err,
      "warning: this machine's clock is 2 h 30 min ahead of the broker's (Date header): no day that this " +
        "export reads becomes final",
    );
  }
  const right = await cli(["export", "day-book", ...day, "--now", NOW, "--json"], { env: envOf(gateway) });
  assertEquals([right.code, JSON.parse(right.out).days[0].status], [0, "final"]);
});

Deno.test("export day-book exports the last finished trading day by default", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using out = await folder();
  const { code, out: text } = await cli(["export", "day-book", "--out", out.path, "--now", NOW], {
    env: envOf(gateway),
    columns: 80,
  });
  assertEquals(code, 0);
  assertStringIncludes(text, "\n2025-08-15  hk ");
});

Deno.test("export day-book keeps final days, and reads them again with --refresh", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using out = await folder();
  const actionOf = async (...more: string[]) => {
    const day = ["--from", "2025-08-12", "--to", "2025-08-12"];
    const words = ["export", "day-book", ...day, "--out", out.path, "--now", NOW, "--json", ...more];
    return JSON.parse((await cli(words, { env: envOf(gateway) })).out).days[0].action;
  };
  assertEquals(await actionOf(), "written");
  assertEquals(await actionOf(), "kept");
  assertEquals(await actionOf("--refresh"), "unchanged");
});

Deno.test("export day-book shows checks that could not run, and writes both formats by default", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using out = await folder();
  const { code, out: text, err } = await cli([
    "export",
    "day-book",
    "--to",
    "2025-08-14",
    "--out",
    out.path,
    "--now",
    NOW,
  ], {
    env: envOf(gateway),
    columns: 100,
  });
  assertEquals(code, 0);
  const checks = text.split("\n").filter((line) => line.startsWith("2025-08-14 ")).map((line) =>
    line.split(/ {2,}/).slice(1).filter((cell) => !/^\d+$/.test(cell)).slice(0, 2)
  );
  assertEquals(checks, [["hk", "ok"], ["futures", "ok, 1 n/a"]]);
  const names = await namesIn(`${out.path}/2025-08-14`);
  assertEquals(names.filter((name) => name.startsWith("fills.")), ["fills.csv", "fills.jsonl"]);
  assertStringIncludes((await cli(["export", "day-book", "--help"])).out, "csv, jsonl (both)");
  assertStringIncludes(err, "hsgate: 2025-08-14 final, written: 3 fills");
  assertEquals(
    checksOf({ status: "final", rows: {}, differences: 2, notCheckable: 1 }),
    "2 differ, 1 n/a",
  );
});

Deno.test("showProgress() redraws one line on a terminal, also with --json; elsewhere it prints plain lines, and nothing with --json", () => {
  const events: DayBookEvent[] = [
    { type: "started", days: 1, markets: ["hk"], out: "out" },
    { type: "day-started", day: "2025-08-15", index: 0, days: 1 },
    { type: "rows", day: "2025-08-15", market: "hk", list: "fills", origin: "history", added: 99, rows: 99 },
  ];
  const shown = (isTerminal: boolean, json: boolean) => {
    const [lines, drawn] = [[] as string[], [] as string[]];
    let now = 0;
    {
      using progress = showProgress({
        note: (line) => void lines.push(line),
        ...isTerminal &&
          {
            errTerminal: {
              draw: (codes: string, text = "") => void drawn.push(codes + text),
              columns: () => 80,
            },
          },
      }, { json, monotonic: () => now });
      for (const event of events) {
        progress.update(event);
        now += 12_000;
      }
    }
    return { lines, drawn };
  };
  const inPlace = ["\r\x1b[2K2025-08-15 (1/1), hk fills, 99 rows, 4 rows/s", "\r\x1b[2K"];
  assertEquals(shown(true, false), { lines: [], drawn: inPlace });
  assertEquals(shown(true, true), { lines: [], drawn: inPlace });
  assertEquals(shown(false, false), {
    lines: ["hsgate: 2025-08-15 (1/1), hk fills, 99 rows, 4 rows/s"],
    drawn: [],
  });
  assertEquals(shown(false, true), { lines: [], drawn: [] });
});

Deno.test("export day-book at Ctrl-C ends with 130 and leaves no incomplete day", async () => {
  await using gateway = await simulate({ fillsPerDay: 5 });
  await using out = await folder();
  // The second day is slow, so the interruption comes during it.
  gateway.faults.arm({
    kind: "delay",
    operation: "fills.history",
    ms: 3000,
    when: "request",
    times: 20,
    skip: 1,
  });
  const process = start(
    ["export", "day-book", "--from", "2025-08-12", "--to", "2025-08-14", "--out", out.path, "--now", NOW],
    { env: envOf(gateway) },
  );
  const reader = process.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let err = "";
  err = await readUntil(
    "hsgate: 2025-08-12 final",
    reader,
    (text) => text.includes("hsgate: 2025-08-12 final"),
    { text: err },
  );
  process.kill("SIGINT");
  for (let chunk; !(chunk = await reader.read()).done;) err += chunk.value;
  assertEquals((await process.status).code, 130);
  await process.stdout.cancel();
  const days = (await namesIn(out.path)).filter((name) => /^\d{4}-\d\d-\d\d$/.test(name));
  assertEquals(days, ["2025-08-12"]);
});

Deno.test("run runs a recipe over HTTP and prints its table", async () => {
  await using gateway = await simulate({ fillsPerDay: 4 });
  await using out = await folder();
  const { code, out: text } = await spawned(["run", "end_of_day", "--out", out.path, "--now", NOW], {
    env: envOf(gateway),
  });
  assertEquals(code, 0);
  for (const market of ["hk", "us", "shanghai"]) assertStringIncludes(text, `2025-08-15  ${market} `);
  assertStringIncludes(text, `under ${out.path}/out/day-books`);
});

Deno.test("run rejects a recipe with a mistake before its first step, and names the line", async () => {
  const recipe =
    "name: r\nsteps:\n  - id: a\n    uses: export-day-book\n    with: { markets: [uk], sessions: 1 }\n";
  const { code, out, err } = await cli(["run", "r.yaml"], { files: { "r.yaml": recipe } });
  assertEquals({ code, out }, { code: 2, out: "" });
  assertStringIncludes(err, "r.yaml:5:23: ");
});

Deno.test("demo finishes and says where the files are", async () => {
  await using out = await folder();
  const root = new URL("../../", import.meta.url);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "tasks/demo.ts", "--out", out.path],
    cwd: root,
  }).output();
  const text = new TextDecoder().decode(stdout);
  assertEquals({ code, err: new TextDecoder().decode(stderr) }, { code: 0, err: "" });
  for (const market of ["hk", "us", "shanghai"]) {
    const rows = text.split("\n").filter((line) => new RegExp(`^.{12}${market} `).test(line));
    assertEquals(rows.length, 5);
    for (const row of rows) assertStringIncludes(row, "all ok  final");
  }
  assertStringIncludes(text, "Plan of 2025-08-16, which sends nothing");
  assertStringIncludes(text, "this is the best possible plan");
  assertStringIncludes(text, `Files: ${out.path}/`);
  assertEquals((await namesIn(out.path)).filter((name) => /^\d/.test(name)), FIVE_DAYS);
  for (const line of text.split("\n")) assertEquals(line.length <= 80 || line.includes(out.path), true, line);
});

/** Returns every file below a folder, by its path, with its bytes. */
async function filesUnder(path: string, below = ""): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for await (const { name, isDirectory } of Deno.readDir(`${path}/${below}`)) {
    if (!isDirectory) files.set(below + name, await Deno.readFile(`${path}/${below}${name}`));
    else for (const each of await filesUnder(path, `${below}${name}/`)) files.set(...each);
  }
  return files;
}

Deno.test("demo writes the same bytes over the direct transport as over the gateway", async () => {
  await using gateway = await folder();
  await using direct = await folder();
  const over = async (transport: string, out: string) => {
    const words = ["--transport", transport, "demo", "--out", out, "--json"];
    const { code, out: text, err } = await cli(words);
    assertEquals({ code, err }, { code: 0, err: "" });
    return JSON.parse(text);
  };
  const result = await over("gateway", gateway.path);
  assertEquals((await over("direct", direct.path)).rows, result.rows);
  const [expected, actual] = [await filesUnder(gateway.path), await filesUnder(direct.path)];
  // Only the direct transport can identify the account.
  assertEquals(actual.delete("account.json"), true);
  assertEquals([...actual.keys()].sort(), [...expected.keys()].sort());
  assertEquals(expected.size > 50, true, `${expected.size} files`);
  for (const [name, bytes] of expected) assertEquals(actual.get(name), bytes, name);
});

Deno.test("demo names the transport that it used, and rejects an unknown transport", async () => {
  await using out = await folder();
  const { code, out: text } = await cli(["demo", "--transport", "direct", "--out", out.path]);
  assertEquals(code, 0);
  assertStringIncludes(text, "Simulated platform at http://127.0.0.1:");
  const wrong = await cli(["demo", "--transport", "pigeon"]);
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.err, 'Cannot run the demo over "pigeon": there are "gateway" and "direct"');
});

Deno.test("sim starts on free ports, serves the other commands through its --info file, and stops at Ctrl-C", async () => {
  await using out = await folder();
  const info = `${out.path}/sim.json`;
  const sim = start(["sim", "--http-port", "0", "--push-port", "0", "--info", info, "--json"]);
  const reader = sim.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { gatewayUrl } = JSON.parse((await reader.read()).value ?? "");
  const quote = await spawned(["quote", "00700.HK", "--json", "--config", info]);
  assertEquals({ code: quote.code, err: quote.err }, { code: 0, err: "" });
  assertEquals(JSON.parse(quote.out)[0].security.symbol, "00700.HK");
  sim.kill("SIGINT");
  while (!(await reader.read()).done) { /* to its end */ }
  assertEquals((await sim.status).code, 0);
  await sim.stderr.cancel();
  assertEquals((await spawned(["quote", "00700.HK", "--gateway", gatewayUrl])).code, 4);
});

Deno.test("export day-book and recipes/end_of_day.yaml with a store write the rebalancing trades of the day", async () => {
  await using testAccount = await openSimulatedAccount();
  await using place = await folder();
  const { info } = testAccount.simulator;
  const where = `${place.path}/h.db`;
  const plan = await (async () => {
    await using client = await testAccount.connect("gateway");
    await using store = await openSqlite(where);
    const account = gatewayAccount(info.gatewayUrl);
    const machine = simulatedMachine(testAccount.clock);
    const open = (given = {}) => new Desk({ store, machine, account, client, ...given });
    const plan = await planAt(client, [...SALES, PURCHASE]);
    await using at = await executor({ ...testAccount, machine, open });
    assertEquals((await at.run(plan, QUICK)).state, "done");
    return plan;
  })();
  testAccount.clock.set(Date.parse("2025-08-16T12:00:00+08:00"));
  testAccount.round();
  const world = {
    env: {
      HSGATE_GATEWAY_URL: info.gatewayUrl,
      HSGATE_TRADE_PASSWORD: info.tradePassword,
      HSGATE_TRADE_PASSWORD_KEY: info.tradePasswordKey,
    },
    now: () => testAccount.clock.now(),
    fromDisk: true,
  };
  const day = ["export", "day-book", "--accounts", "securities", "--to", "2025-08-15"];
  const out = `${place.path}/book`;
  const shown = await cli([...day, "--out", out, "--store", where], world);
  assertEquals(shown.code, 0, shown.err);
  assertStringIncludes(shown.out, `rebalancing plan ${plan.hash.slice(0, 12)}: done, 3 of 3 trades filled`);
  assertStringIncludes(shown.out, "HKD, 30.00 HKD estimated");
  const json = await cli([...day, "--out", out, "--json"], {
    ...world,
    env: { ...world.env, HSGATE_STORE: where },
  });
  const { days: [friday] } = JSON.parse(json.out);
  assertEquals([friday.rows.rebalance_trades, friday.rebalance[0].plan], [3, plan.hash], json.err);

  const without = await cli([...day, "--out", `${place.path}/other`, "--json"], world);
  assertEquals(JSON.parse(without.out).withoutRebalanceTrades, "no store was named", without.err);
  const missing = await cli([...day, "--out", out, "--store", `${place.path}/no.db`], world);
  assertEquals(missing.code, 2, missing.err);

  const recipe = new URL("../../recipes/end_of_day.yaml", import.meta.url).pathname;
  const run = await cli(["run", recipe, "--store", where, "--manual", "--out", place.path, "--json"], world);
  assertEquals(run.code, 0, run.err);
  const written = `${place.path}/out/day-books/2025-08-15/rebalance_trades.csv`;
  assertEquals(
    await Deno.readTextFile(written),
    await Deno.readTextFile(`${out}/2025-08-15/rebalance_trades.csv`),
  );
});
