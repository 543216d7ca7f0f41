/**
 * Tests every recipe of `recipes/` with the simulated broker over real HTTP.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { DayBookResult } from "../../lib/day_book/mod.ts";
import type { CancelledOrders, OpenOrder } from "../../lib/recipes/kinds/cancel_open_orders.ts";
import type { LoginKept } from "../../lib/recipes/kinds/keep_login.ts";
import type { SnapshotTaken } from "../../lib/recipes/kinds/snapshot.ts";
import {
  checkRecipes,
  loadRecipe,
  type RecipeContext,
  type RecipeEvent,
  runRecipe,
} from "../../lib/recipes/mod.ts";
import { stepContext } from "./support.ts";
import { readTree } from "../day_book/scripted_gateway.ts";
import {
  FRIDAY_MORNING,
  SATURDAY,
  type Simulated,
  simulated,
  temporaryFolder,
} from "../day_book/simulated.ts";

const FOLDER = new URL("../../recipes/", import.meta.url).pathname;
const now = () => SATURDAY;

/** Runs a recipe of `recipes/` unchanged. */
async function runReady(name: string, broker: Simulated, context: Partial<RecipeContext> = {}) {
  const recipe = await loadRecipe(`${FOLDER}${name}.yaml`, { now });
  return await runRecipe(recipe, { client: broker.client, now: () => broker.clock.now(), ...context });
}

Deno.test("recipes/ contains these recipes, all valid, each with a comment on what to change", async () => {
  const paths = [...Deno.readDirSync(FOLDER)].map(({ name }) => `${FOLDER}${name}`).sort();
  const { ok, files } = await checkRecipes(paths.map((path) => ({ path })), { now });
  assertEquals(
    files.map((
      { recipe, issues },
    ) => [recipe?.name, recipe?.class, recipe?.misfire.action, recipe?.overlap, issues]),
    [
      ["bar-archive", "read", "all", "queue", []],
      ["cancel-at-close", "write", "skip", "skip", []],
      ["end-of-day", "read", "all", "queue", []],
      ["keep-login", "keep-alive", "skip", "skip", []],
      ["margin-watch", "read", "latest", "queue", []],
      ["morning-snapshot", "read", "all", "queue", []],
      ["rebalance", "write", "skip", "skip", []],
      ["weekly-report", "read", "all", "queue", []],
    ],
  );
  assert(ok);
  for (const path of paths) assert(/^#[\s\S]*\n# To change: /.test(await Deno.readTextFile(path)), path);
});

Deno.test("recipes/end_of_day.yaml exports the last five trading days of three markets as a script does", async () => {
  await using broker = await simulated({ days: 5 });
  using folder = temporaryFolder();
  const events: RecipeEvent["type"][] = [];
  const artifacts: [string, boolean][] = [];
  const result = await runReady("end_of_day", broker, {
    out: folder.path,
    onProgress: (event) => {
      if (events.at(-1) !== event.type) events.push(event.type);
      if (event.type === "artifact") artifacts.push([event.path.slice(folder.path.length + 1), event.final]);
    },
  });
  const book = result.steps[0]!.output as DayBookResult; // the output of this step
  assertEquals(book.days.map(({ day, status }) => [day, status]), [
    ["2025-08-11", "final"],
    ["2025-08-12", "final"],
    ["2025-08-13", "final"],
    ["2025-08-14", "final"],
    ["2025-08-15", "final"],
  ]);
  assertEquals([result.ok, events], [true, ["step-started", "progress", "artifact", "step-done"]]);
  // Every file of every day is reported.
  const files = Object.keys(readTree(`${folder.path}/out/day-books`)).filter((path) => path.includes("/"));
  assertEquals(new Map(artifacts), new Map(files.map((path) => [`out/day-books/${path}`, true])));
  using other = temporaryFolder();
  await broker.exportDays({
    markets: ["shanghai", "us", "hk"],
    from: "2025-08-11",
    to: "2025-08-15",
    out: other.path,
  });
  assertEquals(readTree(`${folder.path}/out/day-books`), readTree(other.path));
});

Deno.test("recipes/end_of_day.yaml leaves the day provisional at the close and final once fees have cleared", async () => {
  await using broker = await simulated({ at: Date.parse("2025-08-15T16:45:00+08:00"), days: 2 });
  using folder = temporaryFolder();
  const statusOf = async () => {
    const { steps } = await runReady("end_of_day", broker, { out: folder.path });
    return (steps[0]!.output as DayBookResult).days.at(-1); // the output of this step
  };
  const first = await statusOf();
  assertEquals([first?.day, first?.status], ["2025-08-15", "provisional"]);
  broker.clock.set(Date.parse("2025-08-18T08:45:00+08:00"));
  const later = await statusOf();
  assertEquals([later?.day, later?.status, later?.action], ["2025-08-15", "final", "replaced"]);
});

Deno.test("recipes/keep_login.yaml makes one query and says when the login expires", async () => {
  await using broker = await simulated();
  const before = broker.simulator.state().callsTaken;
  const { ok, steps } = await runReady("keep_login", broker);
  const kept = steps[0]!.output as LoginKept; // the output of this step
  assertEquals([ok, kept.checkedAt, kept.holdsUntil], [true, "2025-08-16T12:00:00Z", "2025-08-16T15:00:00Z"]);
  // The login and the query; the query that was rejected without a login does not count.
  assertEquals(broker.simulator.state().callsTaken - before, 2);
});

Deno.test("recipes/morning_snapshot.yaml writes funds, holdings, quotes and option codes under the session's day", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  using folder = temporaryFolder();
  const session = {
    date: "2025-08-15",
    open: "2025-08-15T09:30:00+08:00",
    close: "2025-08-15T16:00:00+08:00",
    halfDay: false,
  };
  const context = { out: folder.path, slot: "2025-08-15T01:20:00Z", session };
  const { ok, steps } = await runReady("morning_snapshot", broker, context);
  const taken = steps[0]!.output as SnapshotTaken; // the output of this step
  assertEquals([ok, taken.day, taken.rows.funds, taken.rows.quotes], [true, "2025-08-15", 2, 3]);
  const files = readTree(`${folder.path}/out/snapshots/2025-08-15`);
  assertEquals(Object.keys(files), [
    "0120Z_funds.csv",
    "0120Z_holdings.csv",
    "0120Z_option_chain.csv",
    "0120Z_quotes.csv",
  ]);
  assertEquals(files["0120Z_funds.csv"]!.split("\r\n").slice(1, 3).map((line) => line.split(",")[0]), [
    "hk",
    "us",
  ]);
  const lines = files["0120Z_option_chain.csv"]!.trim().split("\r\n");
  assertEquals(lines.length - 1, taken.rows.option_chain);
  assert(lines.length > 2 && lines[1]!.startsWith("AAPL,2025-"));
});

Deno.test("recipes/bar_archive.yaml continues after its last stored day, within the broker's limits", async () => {
  await using broker = await simulated({ at: Date.parse("2025-08-14T16:30:00+08:00") });
  using folder = temporaryFolder();
  const runAt = async (date: string) => {
    const session = { date, open: "", close: "", halfDay: false };
    const { steps } = await runReady("bar_archive", broker, { out: folder.path, session });
    return (steps[0]!.output as SnapshotTaken).bars!; // the output of this step
  };
  const days = (name: string) =>
    Deno.readTextFileSync(`${folder.path}/out/archive/bars/${name}/2025.jsonl`).trim().split("\n")
      .map((line) => JSON.parse(line));
  const first = await runAt("2025-08-14");
  assertEquals(
    first.map(({ symbol, interval, resumedAt, lastDay }) => [symbol, interval, resumedAt, lastDay]),
    [
      ["00700.HK", "day", "2025-07-01", "2025-08-14"],
      ["00700.HK", "5m", "2025-07-01", "2025-08-14"],
      ["00005.HK", "day", "2025-07-01", "2025-08-14"],
      ["00005.HK", "5m", "2025-07-01", "2025-08-14"],
    ],
  );
  // 1 July is a holiday; from 2 July to 14 August there are 32 sessions, at most 12 days per request.
  assertEquals(first[1]!.requests, 3);
  assertEquals(days("00700.HK/day").length, 32);
  broker.clock.set(Date.parse("2025-08-15T16:30:00+08:00"));
  const [second] = await runAt("2025-08-15");
  assertEquals([second!.resumedAt, second!.requests, second!.lastDay], ["2025-08-14", 1, "2025-08-15"]);
  const kept = days("00700.HK/day").map(({ date }) => date);
  assertEquals([kept.length, new Set(kept).size, kept.at(-1)], [33, 33, "2025-08-15"]);
  assertEquals(kept, kept.toSorted());
  const [third] = await runAt("2025-08-15");
  assertEquals(third!.added, 0);
});

Deno.test("recipes/bar_archive.yaml makes the same archive in two runs, during and after a day, as in one run", async () => {
  const at = (time: string) => Date.parse(`2025-08-15T${time}:00+08:00`);
  await using broker = await simulated({ at: at("10:32") });
  using resumed = temporaryFolder();
  using once = temporaryFolder();
  const session = { date: "2025-08-15", open: "", close: "", halfDay: false };
  const runIn = async (out: string) => {
    const { steps } = await runReady("bar_archive", broker, { out, session });
    return (steps[0]!.output as SnapshotTaken).bars!; // the output of this step
  };
  const [, early] = await runIn(resumed.path);
  const unfinished = readTree(resumed.path);
  broker.clock.set(at("16:30"));
  const [, late] = await runIn(resumed.path);
  await runIn(once.path);
  const whole = readTree(resumed.path);
  assertEquals(whole, readTree(once.path));
  // A day has 66 bars of 5 minutes. The 12 bars from 9:30 to 10:25 were complete, and the bar of 10:30 was not: 54 bars
  // are new or changed.
  const lines = (tree: Record<string, string>) =>
    tree["out/archive/bars/00700.HK/5m/2025.jsonl"]!.split("\n").length;
  assertEquals([lines(whole) - lines(unfinished), early!.resumedAt, late!.resumedAt], [
    53,
    "2025-07-01",
    "2025-08-15",
  ]);
  assertEquals(late!.added, 54);
});

Deno.test("recipes/margin_watch.yaml posts to a chat when the margin is low, and otherwise does not", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const told: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    told.push((await request.json()).text);
    return new Response("ok");
  });
  const secret = (name: string) => {
    assertEquals(name, "chat-webhook");
    return Promise.resolve(`http://127.0.0.1:${server.addr.port}/hook`);
  };
  const quiet = await runReady("margin_watch", broker, { secret });
  assertEquals([quiet.ok, quiet.steps[1]!.skipped, told], [true, true, []]);
  // The account has 49 times its margin.
  const thin = await runReady("margin_watch", broker, { secret, params: { factor: "60" } });
  assertEquals([thin.ok, told], [
    true,
    ["Margin is low: net assets 995169.80 HKD, maintenance margin 20351.20 HKD"],
  ]);
  await server.shutdown();
});

Deno.test("recipes/cancel_at_close.yaml cancels open orders, each once, and a dry run shows them before", async () => {
  await using broker = await simulated({ at: Date.parse("2025-08-15T15:45:00+08:00") });
  const { client } = broker;
  const order = {
    market: "hk",
    symbol: "00700.HK",
    quantity: "100",
    side: "buy",
    orderType: "enhanced-limit",
  } as const;
  const quote = await client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
  // Far below the market, so that nothing fills.
  const price = String(Math.floor(Number(quote[0]!.lastPrice) * 0.9));
  const ids = [
    (await client.orders.place({ ...order, price })).orderId,
    (await client.orders.place({ ...order, price })).orderId,
  ];
  const recipe = await loadRecipe(`${FOLDER}cancel_at_close.yaml`, { now });
  await assertRejects(
    () => runReady("cancel_at_close", broker),
    TypeError,
    "it writes, so it needs the runner",
  );
  const planned = await recipe.steps[0]!.plan!(stepContext(broker));
  assertEquals(
    (planned as { cancel: OpenOrder[] }).cancel.map(({ orderId }) => orderId).toSorted(),
    ids.toSorted(),
  );
  const { ok, steps } = await runReady("cancel_at_close", broker, { allowWrites: true });
  const result = steps[0]!.output as CancelledOrders; // the output of this step
  assertEquals([ok, result.cancelled.toSorted(), result.refused, result.stillOpen], [
    true,
    ids.toSorted(),
    [],
    [],
  ]);
  const open = await client.orders.today({ market: "hk" }).toArray();
  assertEquals(open.filter(({ canCancel }) => canCancel), []);
});

Deno.test("recipes/weekly_report.yaml writes the fills of the week with their fees", async () => {
  await using broker = await simulated({
    at: Date.parse("2025-08-18T08:30:00+08:00"),
    days: 5,
    fillsPerDay: 20,
  });
  using folder = temporaryFolder();
  const { ok, steps } = await runReady("weekly_report", broker, { out: folder.path });
  const fills = steps[0]!.output as unknown[]; // the output of `fills.history`
  const files = readTree(`${folder.path}/out/weekly`);
  assertEquals([ok, Object.keys(files)], [true, ["2025-08-18.csv", "2025-08-18.md"]]);
  const [title, , head, , ...rows] = files["2025-08-18.md"]!.trim().split("\n");
  assertEquals([title, head], [
    "# Fills until 2025-08-17",
    "| date | symbol | side | filledQuantity | fillPrice | fillAmount | fees.total |",
  ]);
  assertEquals(rows.length, fills.length);
  assert(rows.length > 0 && rows.every((row) => /\| \d+\.\d+ \|$/.test(row)), rows[0]);
  assertEquals(files["2025-08-18.csv"]!.trim().split("\r\n").length, fills.length + 1);
});
