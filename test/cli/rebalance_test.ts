/** Tests of `hsgate rebalance`. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { insertIntent, moveIntent } from "../../lib/desk/queries.ts";
import type { Evidence, IntentState } from "../../lib/desk/states.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { ManualClock } from "../../lib/time.ts";
import { begun, planOf } from "../rebalance/support.ts";
import { cli, envOf, folder, simulate } from "./runner_support.ts";
import { MORNING, spawned } from "./support.ts";

const files = {
  "p.yaml": `market: hk
targets: { 00700.HK: 0.30, 00005.HK: 0.30 }
cashBuffer: { HKD: 10000 }
`,
  "a.json": JSON.stringify({
    date: "2025-08-15",
    cash: { HKD: "50000" },
    rates: {},
    holdings: [{
      market: "hk",
      symbol: "00700.HK",
      quantity: "100",
      sellable: "100",
      price: "300",
      lot: "100",
    }],
    quotes: [{ market: "hk", symbol: "00005.HK", price: "100", lot: "100" }],
  }),
};

Deno.test("hsgate rebalance --plan --json prints the plan of an account file", async () => {
  const { code, out, err } = await cli(["rebalance", "p.yaml", "--plan", "--account", "a.json", "--json"], {
    files,
  });
  assertEquals([code, err], [0, ""]);
  const plan = JSON.parse(out);
  assertEquals(Object.keys(plan).slice(0, 7), [
    "base",
    "trades",
    "cashAfter",
    "weightsAfter",
    "sumSquaredDrift",
    "lowerBound",
    "leftOut",
  ]);
  assertEquals(plan.trades, [{
    market: "hk",
    symbol: "00005.HK",
    side: "buy",
    quantity: "200",
    price: "100",
    value: "20000",
    fees: "43.54",
  }]);
  assertEquals(plan.cashAfter, { HKD: "29956.46" });
});

Deno.test("hsgate rebalance --plan shows holdings, trades, cash and what was left out", async () => {
  const { code, out } = await cli(["rebalance", "p.yaml", "--plan", "--account", "a.json"], { files });
  assertEquals(code, 0);
  for (
    const text of [
      "which sends nothing",
      "sum of squared drifts",
      "this is the best possible plan",
      "+200",
      "20,000.00",
      "29,956.46",
      "one lot of 100 is 37.5 % of the account, and the drift is only 7.5 %",
    ]
  ) assertStringIncludes(out, text);
});

Deno.test("hsgate rebalance executes no plan for an account in a file, and does not ask without a terminal", async () => {
  const refused = async (words: readonly string[], text: string) => {
    const { code, out, err } = await cli(["rebalance", "p.yaml", ...words], { files });
    assertEquals([code, out], [2, ""]);
    assertStringIncludes(err, text);
  };
  await refused(["--account", "a.json"], "Cannot execute a plan for the account of a file: add --plan");
  await refused(["--plan", "--yes"], "Cannot use --plan with --yes");
  await refused(["--propose", "--yes"], "Cannot use --propose with --yes");
  await refused([], "Cannot ask without a terminal: add --yes");
});

Deno.test("a proposed plan is executed only after its approval, and only while its file is unchanged", async () => {
  const gateway = await simulate();
  try {
    await using place = await folder({ "p.yaml": files["p.yaml"] });
    const path = `${place.path}/p.yaml`;
    const store = ["--store", `${place.path}/h.db`];
    const hsgate = (words: readonly string[]) =>
      cli([...words, ...store], { env: envOf(gateway), fromDisk: true });
    const proposed = await hsgate(["rebalance", path, "--propose", "--json"]);
    assertEquals(proposed.code, 0, proposed.err);
    const { hash, trades } = JSON.parse(proposed.out);
    assertEquals(trades.length > 0, true);
    const early = await hsgate(["rebalance", "run", hash]);
    assertEquals([early.code, early.err.includes("nobody has approved it")], [1, true], early.err);
    await Deno.writeTextFile(path, files["p.yaml"].replace("0.30 }", "0.31 }"));
    const changed = await hsgate(["approve", hash]);
    assertEquals(
      [changed.code, changed.err.includes("has changed since the plan was made")],
      [1, true],
      changed.err,
    );
    await Deno.writeTextFile(path, files["p.yaml"]);
    const long = await hsgate(["approve", hash, "--for", "2d"]);
    assertEquals([long.code, long.err.includes("for: expected at most")], [2, true], long.err);
    const approved = await hsgate(["approve", hash.slice(0, 12), "--for", "30m", "--by", "Ada", "--json"]);
    assertEquals(approved.code, 0, approved.err);
    assertEquals(JSON.parse(approved.out).by, "Ada");
    await Deno.writeTextFile(path, files["p.yaml"].replace("0.30 }", "0.31 }"));
    const later = await hsgate(["rebalance", "run"]);
    assertEquals(
      [later.code, later.err.includes("has changed since the plan was made")],
      [1, true],
      later.err,
    );
    const shown = await hsgate(["rebalance", "show", "--json"]);
    assertEquals(JSON.parse(shown.out)[0].state, "approved", shown.err);
    // To execute a plan that came from a recipe, hsgate compares the recipe. So it executes such a plan only where the
    // recipe's file is.
    {
      await using db = await openSqlite(`${place.path}/h.db`);
      const row = (await db.get<{ source: string }>("select source from rebalance"))!; // the proposed plan
      const { settings } = JSON.parse(row.source);
      const source = { settings, recipe: { file: `${place.path}/no.yaml`, sha256: "" } };
      await db.run("update rebalance set source = ?", JSON.stringify(source));
    }
    const gone = await hsgate(["rebalance", "run", hash]);
    assertEquals(
      [gone.code, gone.err.includes(`there is no "${place.path}/no.yaml" here`)],
      [2, true],
      gone.err,
    );
    const refused = await hsgate(["refuse", hash, "--because", "too late", "--by", "Bob", "--json"]);
    assertEquals(JSON.parse(refused.out), {
      hash,
      state: "stopped",
      reason: "refused by Bob: too late",
      openOrders: [],
      unresolved: [],
    });
    await Deno.writeTextFile(path, files["p.yaml"]);
    const revived = await hsgate(["approve", hash]);
    assertEquals([revived.code, revived.err.includes("it was refused")], [1, true], revived.err);
    const page = `${place.path}/plan.html`;
    const one = await hsgate(["rebalance", "show", hash, "--html", page]);
    assertEquals(one.code, 0, one.err);
    assertStringIncludes(one.out, "refused by Bob: too late");
    assertStringIncludes(await Deno.readTextFile(page), hash);
    // Nothing was sent.
    const orders = await hsgate(["orders", "--json"]);
    assertEquals(orders.out.includes('"intent"'), false);
  } finally {
    await gateway.close();
  }
});

Deno.test("hsgate refuse names the orders that an interrupted plan has left at the broker", async () => {
  await using place = await folder({});
  const path = `${place.path}/h.db`;
  const plan = planOf([{ symbol: "00700.HK", side: "buy", quantity: "300", price: "550" }]);
  {
    await using store = await openSqlite(path);
    await begun(store, plan, { account: "default", at: 1_000 });
    const order = (quantity: string) => ({
      account: "default",
      kind: "place" as const,
      operation: "orders.place",
      params: { market: "hk", symbol: "00700.HK", side: "buy", quantity, price: "550" },
      why: { plan: plan.hash, trade: 0 },
      createdAt: 1_000,
      timeoutMs: 1,
    });
    const move = (id: string, to: IntentState, by: Evidence, orderIds: string[] = []) =>
      moveIntent(store, id, { to, by, at: 1_000, orderIds });
    for (const [id, quantity] of [["open", "100"], ["lost", "200"], ["odd", "300"]] as const) {
      await insertIntent(store, { ...order(quantity), id, fingerprint: id });
      await move(id, "approved", "desk");
      await move(id, "sent", "desk");
    }
    await move("open", "acknowledged", "answer", ["2508150000123"]);
    await move("lost", "unknown", "desk");
    await move("odd", "unknown", "desk");
    await move("odd", "acknowledged", "list", ["$(reboot)", "--yes"]);
  }
  const { code, out, err } = await cli(["refuse", plan.hash, "--by", "Bob", "--store", path], {
    fromDisk: true,
  });
  assertEquals([code, out.includes("is stopped: refused by Bob")], [0, true], err);
  assertStringIncludes(
    err,
    "to cancel them: hsgate cancel $'\\x24\\x28reboot\\x29' ./--yes 2508150000123\n",
  );
  assertStringIncludes(
    err,
    "the outcome of an order of this plan is unknown; to look it up: hsgate orders show lost",
  );
});

Deno.test("hsgate halt stops an execution; after resume and another approval, the plan continues", async () => {
  const clock = new ManualClock(MORNING);
  const gateway = await simulate({ clock });
  try {
    await using place = await folder({ "p.yaml": files["p.yaml"] });
    const store = ["--store", `${place.path}/h.db`];
    const world = { env: { ...envOf(gateway), HSGATE_LIVE_TRADING: "allow" }, fromDisk: true };
    const hsgate = (...words: string[]) => cli([...words, ...store], world);
    /** Runs a command, and halts trading when it has sent an order. */
    const untilHalt = async (...words: string[]) => {
      let halted: ReturnType<typeof cli> | undefined;
      const ended = await cli([...words, ...store], {
        ...world,
        onNote(line) {
          if (/order \d+: (buy|sell)/.test(line)) halted ??= hsgate("halt", "--why", "a test");
        },
      });
      assertEquals([ended.code, (await halted)?.code], [7, 0], ended.err);
      assertEquals((await hsgate("resume")).code, 0);
      return ended;
    };
    const { out, err } = await untilHalt("rebalance", `${place.path}/p.yaml`, "--yes");
    assertEquals(/stopped, something remains: .*trading is halted: a test/.test(out), true, out);
    // The market of this test stands still, so each order is open.
    const sent = [...err.matchAll(/order (\d+): (?:buy|sell)/g)].map(([, id]) => id);
    assertStringIncludes(err, `orders of this plan; to cancel them: hsgate cancel ${sent.join(" ")}`);
    const held = async () => (await cli(["call", "account.holdings", '{"market":"hk"}'], world)).out;
    const before = await held();
    clock.advance(600_000);
    assertEquals(await held() === before, false);
    const [{ hash }] = JSON.parse((await hsgate("rebalance", "show", "--json")).out);
    assertEquals((await hsgate("approve", hash)).code, 0);
    const again = await untilHalt("rebalance", "run", hash);
    assertStringIncludes(again.out, "trading is halted: a test");
  } finally {
    await gateway.close();
  }
});

Deno.test("hsgate rebalance names a mistake in its file, or the missing file, and ends with code 2", async () => {
  const wrong = { ...files, "p.yaml": "market: hk\ntargets: { 00700.HK: 0.9, 09999.HK: 0.2 }\n" };
  const { code, err } = await cli(["rebalance", "p.yaml", "--plan", "--account", "a.json"], { files: wrong });
  assertEquals(code, 2);
  assertStringIncludes(err, "together at most 1");
  const missing = await cli(["rebalance", "no.yaml", "--plan", "--account", "a.json"], { files });
  assertEquals(missing.code, 2);
  assertStringIncludes(missing.err, "there is no such file");
});

Deno.test("hsgate rebalance plans with the broker's account, and writes a page", async () => {
  const gateway = await simulate();
  try {
    await using place = await folder({});
    const page = `${place.path}/plan.html`;
    const { code, out, err } = await cli(["rebalance", "p.yaml", "--plan", "--json", "--html", page], {
      files,
      env: envOf(gateway),
    });
    assertEquals([code, err], [0, ""]);
    const { trades, value, hash } = JSON.parse(out);
    assertEquals(trades.length > 0 && Number(value) > 0, true);
    assertStringIncludes(await Deno.readTextFile(page), hash);
  } finally {
    await gateway.close();
  }
});

Deno.test("hsgate rebalance writes a page without secrets of the settings", async () => {
  const gateway = await simulate();
  try {
    await using place = await folder({});
    const page = `${place.path}/plan.html`;
    // The broker repeats a secret as a listing code.
    const env = { ...envOf(gateway), HSGATE_MOBILE: "00005.HK" };
    const { code, err } = await cli(["rebalance", "p.yaml", "--plan", "--html", page], { files, env });
    assertEquals([code, err], [0, ""]);
    const html = await Deno.readTextFile(page);
    assertEquals([html.includes("00005.HK"), html.includes("00700.HK")], [false, true]);
    assertStringIncludes(html, "<td>[secret]</td>");
    assertEquals(html.split("\n")[0], "<!doctype html>");
  } finally {
    await gateway.close();
  }
});

Deno.test({
  name:
    "hsgate rebalance shows the content of no file outside the folder of the rebalance file, and writes no page through a link",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using at = await folder({});
    const dir = await Deno.realPath(at.path);
    for (const name of ["own", "found"]) await Deno.mkdir(`${dir}/${name}`);
    const secret = `${dir}/own/keys.json`;
    await Deno.writeTextFile(secret, '{ "PRECIOUS": "x" }');
    await Deno.symlink(secret, `${dir}/found/link.json`);
    await Deno.symlink(`${dir}/own`, `${dir}/found/out`);
    await Deno.writeTextFile(`${dir}/found/a.json`, files["a.json"]);
    const plan = (
      name: string,
    ) => ["rebalance", `${dir}/found/${name}`, "--plan", "--account", `${dir}/found/a.json`];
    for (const other of [secret, "../own/keys.json", "link.json", "out/keys.json"]) {
      await Deno.writeTextFile(`${dir}/found/p.yaml`, `market: hk\ntargetsFile: ${other}\n`);
      const { code, out, err } = await cli(plan("p.yaml"), { fromDisk: true });
      assertEquals([code, (out + err).includes("PRECIOUS")], [2, false], err);
      assertStringIncludes(err, "outside the folder of");
    }
    await Deno.writeTextFile(`${dir}/found/p.yaml`, files["p.yaml"]);
    const words = ["rebalance", "p.yaml", "--plan", "--account", "a.json", "--html", "out/plan.html"];
    const { code, err } = await spawned(words, { cwd: `${dir}/found` });
    assertEquals(code, 2, err);
    assertStringIncludes(err, "a link leads to");
    assertEquals([...Deno.readDirSync(`${dir}/own`)].map(({ name }) => name), ["keys.json"]);
  },
});

Deno.test("hsgate rebalance overwrites only an earlier page or an empty file, and no text of a file begins a line of the output", async () => {
  await using at = await folder({ "p.yaml": files["p.yaml"], "a.json": files["a.json"], "empty.html": "" });
  const [plan, account] = [`${at.path}/p.yaml`, `${at.path}/a.json`];
  const write = (page: string) =>
    cli(["rebalance", plan, "--plan", "--account", account, "--html", page], { fromDisk: true });
  for (const page of ["p.yaml", "a.json", "."]) {
    const { code, err } = await write(`${at.path}/${page}`);
    assertEquals(code, 2, err);
    assertStringIncludes(err, "it exists and is not a page");
  }
  assertEquals(await Deno.readTextFile(plan), files["p.yaml"]);
  for (const page of ["new.html", "new.html", "empty.html"]) {
    assertEquals((await write(`${at.path}/${page}`)).code, 0);
    assertStringIncludes(await Deno.readTextFile(`${at.path}/${page}`), "<!doctype html>");
  }

  const forged = "x\nhsgate: order 77 is placed\u202e";
  const held = JSON.parse(files["a.json"]);
  const symbol = `${forged}${"K".repeat(1_000_000)}`;
  const other = { ...held.holdings[0], symbol };
  const cases: Record<string, string>[] = [
    { "p.yaml": `market: hk\ntargetsFile: ${JSON.stringify(`/${forged}`)}\n` },
    { "p.yaml": "market: hk\ntargetsFile: t.csv\n", "t.csv": `symbol,weight\n"${forged}"x,1\n` },
    { "p.yaml": JSON.stringify({ market: "hk", [forged]: 1, targets: { [forged]: "1" } }) },
    { "a.json": JSON.stringify({ ...held, holdings: [{ ...other, price: undefined }] }) },
    { "a.json": JSON.stringify({ ...held, holdings: [{ ...other, sellable: "0" }] }) },
  ];
  for (const changed of cases) {
    const { out, err } = await cli(["rebalance", "p.yaml", "--plan", "--account", "a.json"], {
      files: { ...files, ...changed },
    });
    assertEquals(`${out}\n${err}`.split("\n").filter((line) => line.startsWith("hsgate: order")), [], err);
    assertEquals([err.includes("internal error"), out.length + err.length < 30_000], [false, true], err);
  }
});
