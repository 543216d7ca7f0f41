/**
 * Kills the scheduler, with SIGKILL, while a run of the step `rebalance` executes its plan. The scheduler that is started
 * again finishes the plan, and the broker has nothing twice.
 */
import { assert, assertEquals } from "@std/assert";
import type { Client } from "../../lib/client/client.ts";
import { connect } from "../../lib/client/connect.ts";
import { add, compare } from "../../lib/decimal.ts";
import { intentsOfPlan } from "../../lib/desk/queries.ts";
import { approveExactly, type PlanRecord, plansOf } from "../../lib/rebalance/mod.ts";
import { startSimulator } from "../../lib/simulator/mod.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { ManualClock } from "../../lib/time.ts";
import type { RebalanceJob } from "./rebalance_child.ts";
import { HOUR, runsOf, temporaryFolder } from "./support.ts";

/** Five minutes before the slot of the first session of a week. */
const MONDAY = Date.parse("2025-08-18T09:55:00+08:00");
const ACCOUNT = "default";

/** The recipe of docs/rebalancing.md in its mode live. The buffer leaves the purchases nothing but the sales' proceeds. */
const recipeFor = (mode: "confirm" | "live") => `
name: rebalance
live: true
schedule: { id: s1, calendar: XHKG, days: first-session-of-week, at: open+30m }
window: XHKG.open+30m..XHKG.close-10m
timeout: 5h
steps:
  - id: rebalance
    uses: rebalance
    with:
      mode: ${mode}
      portfolio:
        market: hk
        targets: { 00700.HK: 0.10 }
        cashBuffer: { HKD: 1680000 }
        minTrade: 5000
        execution: { peg: mid, collar: 0.02, repriceEvery: 1m, maxReprices: 30, deadline: 2h }
`;

/** What the broker has of the plan. */
interface AtBroker {
  orderIds: string[];
  /** Filled quantity, by side and symbol. */
  filled: Record<string, string>;
  /** Filled and open quantity, by side and symbol. */
  used: Record<string, string>;
  /** Sides of the open orders. */
  open: string[];
}

async function look(client: Client, earlier: ReadonlySet<string>): Promise<AtBroker> {
  const found: AtBroker = { orderIds: [], filled: {}, used: {}, open: [] };
  for await (const order of client.orders.today({ market: "hk" })) {
    const { orderId, side, symbol, filledQuantity = "0", unfilledQuantity = "0", canCancel, status } = order;
    if (earlier.has(orderId)) continue;
    const isOpen = canCancel === true || status?.includes("pending") === true;
    const key = `${side} ${symbol}`;
    found.orderIds.push(orderId);
    found.filled[key] = add(found.filled[key] ?? "0", filledQuantity);
    found.used[key] = add(found.used[key] ?? "0", filledQuantity, isOpen ? unfilledQuantity : "0");
    if (isOpen) found.open.push(String(side));
  }
  return found;
}

const isFilled = ({ plan }: PlanRecord, { filled }: AtBroker, wanted: string) =>
  plan.trades.every(({ side, symbol, quantity }) =>
    side !== wanted || compare(filled[`${side} ${symbol}`] ?? "0", quantity) === 0
  );
const isBought = ({ used }: AtBroker) => Object.keys(used).some((key) => key.startsWith("buy "));

/** When each process is killed. The first point is that of the first process, and so on. */
const POINTS: Record<string, (record: PlanRecord, at: AtBroker) => boolean> = {
  "the plan waits for its approval": ({ state }) => state === "planned",
  "a sale is open": (_record, at) => at.open.includes("sell"),
  "the sales are filled, and no purchase is sent": (record, at) =>
    isFilled(record, at, "sell") && !isBought(at),
  "a purchase is open": (_record, at) => at.open.includes("buy"),
};

/** Runs the recipe by one process after another; each but the last is killed at its point. */
async function walk(points: readonly string[], mode: "confirm" | "live" = "live"): Promise<void> {
  using folder = temporaryFolder();
  const clock = new ManualClock(MONDAY);
  const quiet = { pushIntervalMs: 0, loginLifeMs: 1e12 };
  await using simulator = await startSimulator({
    seed: 7,
    clock,
    days: 5,
    fillsPerDay: 4,
    gateway: quiet,
    platform: quiet,
  });
  const { info } = simulator;
  await using client = await connect({
    gateway: { url: info.gatewayUrl, push: info.pushAddress, tradePasswordKey: info.tradePasswordKey },
    tradePassword: info.tradePassword,
  });
  const earlier = new Set(
    (await client.orders.today({ market: "hk" }).toArray()).map(({ orderId }) => orderId),
  );
  await using store = await openSqlite(`${folder.path}/hsgate.db`);
  let killed = 0;
  let child: Deno.ChildProcess | undefined;
  let failure: unknown;
  /** Checks the broker against the plan at each moment, and kills the process at its point. */
  const passed = async () => {
    assert(clock.now() < MONDAY + 3 * HOUR, "the run has not ended");
    const [record] = await plansOf(store, { account: ACCOUNT });
    if (record === undefined) return;
    const at = await look(client, earlier);
    if (record.state === "planned") assertEquals(at.orderIds, []);
    // A person approves the plan of the first process after all kills.
    if (mode === "confirm" && record.state === "planned" && killed === points.length) {
      await approveExactly(store, record, { by: "Ada", at: clock.now() });
    }
    for (const [key, used] of Object.entries(at.used)) {
      const { quantity = "0" } = record.plan.trades.find(({ side, symbol }) => `${side} ${symbol}` === key) ??
        {};
      assert(compare(used, quantity) <= 0, `${key}: ${used} is more than the plan's ${quantity}`);
    }
    if (isBought(at)) {
      assert(isFilled(record, at, "sell"), "a purchase was sent before the sales were filled");
    }
    const point = points[killed];
    if (point === undefined || !POINTS[point]!(record, at)) return;
    killed++;
    child?.kill("SIGKILL"); // it waits for the answer
  };
  await using world = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    clock.advance(Number(new URL(request.url).searchParams.get("ms")));
    simulator.round();
    try {
      await passed();
    } catch (error) {
      failure ??= error;
      child?.kill("SIGKILL");
    }
    return new Response(String(clock.now()));
  });
  const job: Omit<RebalanceJob, "holder"> = {
    info,
    store: `${folder.path}/hsgate.db`,
    out: `${folder.path}/out`,
    recipe: recipeFor(mode),
    world: `http://127.0.0.1:${world.addr.port}`,
  };
  for (let process = 0; process <= points.length; process++) {
    child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-check",
        "--quiet",
        new URL("./rebalance_child.ts", import.meta.url).pathname,
        JSON.stringify({ ...job, holder: `p${process}` }),
      ],
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    const { code, signal } = await child.status;
    if (failure !== undefined) throw failure;
    const point = points[process];
    assertEquals(signal ?? code, point === undefined ? 0 : "SIGKILL", point);
    assertEquals(killed, Math.min(process + 1, points.length));
  }
  assertEquals(await runsOf(store), ["rebalance/s1/2025-08-18 ok live"]);
  const records = await plansOf(store, { account: ACCOUNT });
  assertEquals(records.map(({ state }) => state), ["done"]);
  const [{ plan }] = records as [PlanRecord];
  assertEquals([...new Set(plan.trades.map(({ side }) => side))], ["sell", "buy"]);
  const expected = Object.fromEntries(
    plan.trades.map(({ side, symbol, quantity }) => [`${side} ${symbol}`, quantity]),
  );
  const at = await look(client, earlier);
  assertEquals([at.open, at.filled], [[], expected]);
  // The fills of the broker add up to the plan, and each of its orders is one that the desk has recorded.
  const fills: Record<string, string> = {};
  for await (const { orderId, side, symbol, filledQuantity = "0" } of client.fills.today({ market: "hk" })) {
    if (orderId === undefined || earlier.has(orderId)) continue;
    fills[`${side} ${symbol}`] = add(fills[`${side} ${symbol}`] ?? "0", filledQuantity);
  }
  assertEquals(fills, expected);
  const intents = await intentsOfPlan(store, ACCOUNT, plan.hash);
  const recorded = intents.filter(({ kind }) => kind === "place").flatMap(({ orderIds }) => orderIds);
  assertEquals(recorded.toSorted(), at.orderIds.toSorted());
}

Deno.test("a scheduled rebalancing that is killed between its sales and its purchases is finished once", async () => {
  await walk(["the sales are filled, and no purchase is sent"]);
});

Deno.test("a scheduled rebalancing that is killed again and again is finished once", async () => {
  await walk(Object.keys(POINTS).filter((point) => point !== "the plan waits for its approval"));
});

Deno.test("a scheduled rebalancing in mode confirm executes the approved plan, also after a kill while it waits", async () => {
  await walk(["the plan waits for its approval"], "confirm");
});
