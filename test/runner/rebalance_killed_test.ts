/**
 * Kills the scheduler, with SIGKILL, while a run of the step `rebalance` executes its plan. The scheduler that is
 * started again finishes the plan, and the broker has nothing twice.
 */
import { assert, assertEquals } from "@std/assert";
import type { Client } from "../../lib/client/client.ts";
import { connect } from "../../lib/client/connect.ts";
import { add, compare } from "../../lib/decimal.ts";
import { intentsOfPlan } from "../../lib/desk/queries.ts";
import { approveExactly, type PlanRecord, plansOf } from "../../lib/rebalance/mod.ts";
import { startSimulator } from "../../lib/simulator/mod.ts";
import type { Store } from "../../lib/store/store.ts";
import { ManualClock } from "../../lib/time.ts";
import { kinds, type Place } from "../support/stores.ts";
import { openSharedClockStore, type RebalanceJob } from "./rebalance_child.ts";
import { HOUR, runsOf, temporaryFolder } from "./support.ts";

/** Five minutes before the slot of the first session of a week. */
const MONDAY = Date.parse("2025-08-18T09:55:00+08:00");
const ACCOUNT = "default";

/**
 * Returns a recipe that rebalances, by default in mode live. The cash buffer is so large that only the proceeds of the
 * sales pay for the purchases.
 */
const recipeFor = (
  { mode = "live", until = "close-10m", hours }: {
    mode?: "confirm" | "live";
    until?: string;
    /** When orders may be sent. */
    hours?: string;
  } = {},
) => `
name: rebalance
live: true
schedule: { id: s1, calendar: XHKG, days: first-session-of-week, at: open+30m }
window: XHKG.open+30m..XHKG.${until}
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
        execution: { peg: mid, collar: 0.02, repriceEvery: 1m, maxReprices: 30, deadline: 2h${
  hours === undefined ? "" : `, hours: { hk: ${hours} }`
} }
`;

/** The orders of the plan at the broker. */
interface AtBroker {
  orderIds: string[];
  /** Filled quantity, by side and symbol. */
  filled: Record<string, string>;
  /** Filled and open quantity, by side and symbol. */
  used: Record<string, string>;
  /** Sides of the open orders. */
  open: string[];
}

async function lookAt(client: Client, earlier: ReadonlySet<string>): Promise<AtBroker> {
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

/** Conditions at which a process is killed, by name. */
const POINTS: Record<string, (record: PlanRecord, at: AtBroker) => boolean> = {
  "the plan waits for its approval": ({ state }) => state === "planned",
  "a sale is open": (_record, at) => at.open.includes("sell"),
  "the sales are filled, and no purchase is sent": (record, at) =>
    isFilled(record, at, "sell") && !isBought(at),
  "a purchase is open": (_record, at) => at.open.includes("buy"),
};

/**
 * A simulated market, a store, and processes that share one clock: time passes only while each of them waits for it.
 */
interface Stage {
  clock: ManualClock;
  client: Client;
  store: Store;
  /** Orders of the account that no plan has placed. */
  earlier: ReadonlySet<string>;
  /** Starts a scheduler in a process. Resolves to its exit code, or to the signal that ended it. */
  start(holder: string): Promise<number | Deno.Signal>;
  /** Kills a process at once. */
  kill(holder: string): void;
  /** Throws the error that `look` has thrown, if there is one. */
  check(): void;
}

/** What a process reports while it waits. */
interface Waiting {
  ms: number;
  answer: () => void;
}

/**
 * Makes a stage, and runs a test on it.
 *
 * @param look Called each time every process waits; may kill a process. `orders` has the number of order writes
 * that each process has sent so far.
 */
async function withStage(
  { recipe, place }: { recipe: string; place: Place },
  look: (stage: Stage, orders: ReadonlyMap<string, number>) => Promise<void>,
  run: (stage: Stage) => Promise<void>,
): Promise<void> {
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
  await using store = await openSharedClockStore(place.where);
  const processes = new Map<string, { child: Deno.ChildProcess; waiting: Waiting | undefined }>();
  const orders = new Map<string, number>();
  let failure: { error: unknown } | undefined;
  /** Lets time pass if every process waits for it. */
  const pass = async () => {
    const waiting = [...processes.values()].map((each) => each.waiting);
    if (waiting.length === 0 || !waiting.every((each) => each !== undefined)) return;
    for (const each of processes.values()) each.waiting = undefined;
    clock.advance(Math.min(...waiting.map(({ ms }) => ms)));
    simulator.round();
    try {
      assert(clock.now() < MONDAY + 12 * HOUR, "the run has not ended");
      await look(stage, orders);
    } catch (error) {
      failure ??= { error };
      for (const { child } of processes.values()) child.kill("SIGKILL");
    }
    for (const { answer } of waiting) answer();
  };
  await using clockServer = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const given = new URL(request.url).searchParams;
    const holder = given.get("holder")!;
    orders.set(holder, Number(given.get("orders")));
    const { promise, resolve } = Promise.withResolvers<void>();
    const process = processes.get(holder);
    // A killed process is not waited for.
    if (process === undefined) return new Response(String(clock.now()));
    process.waiting = { ms: Number(given.get("ms")), answer: resolve };
    void pass();
    await promise;
    return new Response(String(clock.now()));
  });
  const stage: Stage = {
    clock,
    client,
    store,
    earlier: new Set((await client.orders.today({ market: "hk" }).toArray()).map(({ orderId }) => orderId)),
    async start(holder) {
      const job: RebalanceJob = {
        info,
        store: place.where,
        out: `${folder.path}/out`,
        recipe,
        clockUrl: `http://127.0.0.1:${clockServer.addr.port}`,
        holder,
      };
      const child = new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-A",
          "--no-check",
          "--quiet",
          new URL("./rebalance_child.ts", import.meta.url).pathname,
          JSON.stringify(job),
        ],
        stdout: "null",
        stderr: "inherit",
      }).spawn();
      processes.set(holder, { child, waiting: undefined });
      const { code, signal } = await child.status;
      processes.get(holder)?.waiting?.answer();
      processes.delete(holder);
      void pass();
      return signal ?? code;
    },
    kill(holder) {
      processes.get(holder)?.child.kill("SIGKILL");
    },
    check() {
      if (failure !== undefined) throw failure.error;
    },
  };
  await run(stage);
  stage.check();
}

/** Returns the process that has the run now, or an empty text if none has it. */
const holderOf = async ({ store }: Stage): Promise<string> =>
  (await store.get<{ holder: string }>("select holder from run where state = 'running'"))?.holder ?? "";

/**
 * Runs the recipe in several processes. They start together, or each starts after the kill of the previous process. At
 * each point, `walk` kills the process that has the run.
 */
async function walk(
  points: readonly string[],
  { mode = "live", together = false, place: given }: {
    mode?: "confirm" | "live";
    together?: boolean;
    place?: Place;
  } = {},
): Promise<void> {
  await using places = new AsyncDisposableStack();
  const place = given ?? places.use(await kinds[0]!.place());
  const killed: string[] = [];
  const sent = new Map<string, number>();
  /** Checks the broker against the plan at each moment, and kills the process at its point. */
  const look = async (stage: Stage, orders: ReadonlyMap<string, number>) => {
    const { client, store, earlier, clock } = stage;
    const [record] = await plansOf(store, { account: ACCOUNT });
    if (record === undefined) return;
    const at = await lookAt(client, earlier);
    const holder = await holderOf(stage);
    for (const [process, count] of orders) {
      if (count > (sent.get(process) ?? 0) && holder !== "") assertEquals(process, holder);
      sent.set(process, count);
    }
    if (record.state === "planned") assertEquals(at.orderIds, []);
    // After all kills, a person approves the plan that the first process made.
    if (mode === "confirm" && record.state === "planned" && killed.length === points.length) {
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
    const point = points[killed.length];
    if (point === undefined || killed.includes(holder) || !POINTS[point]!(record, at)) return;
    killed.push(holder);
    stage.kill(holder);
  };
  await withStage({ recipe: recipeFor({ mode }), place }, look, async (stage) => {
    const names = Array.from({ length: points.length + 1 }, (_, index) => `p${index}`);
    const ends = new Map<string, number | Deno.Signal>();
    const start = async (name: string) => void ends.set(name, await stage.start(name));
    if (together) await Promise.all(names.map(start));
    else for (const name of names) await start(name);
    stage.check();
    assertEquals(killed.length, points.length);
    for (const name of names) assertEquals(ends.get(name), killed.includes(name) ? "SIGKILL" : 0, name);
    const { client, store, earlier } = stage;
    assertEquals(await runsOf(store), ["rebalance/s1/2025-08-18 ok live"]);
    const records = await plansOf(store, { account: ACCOUNT });
    assertEquals(records.map(({ state }) => state), ["done"]);
    const [{ plan }] = records as [PlanRecord];
    assertEquals([...new Set(plan.trades.map(({ side }) => side))], ["sell", "buy"]);
    const expected = Object.fromEntries(
      plan.trades.map(({ side, symbol, quantity }) => [`${side} ${symbol}`, quantity]),
    );
    const at = await lookAt(client, earlier);
    assertEquals([at.open, at.filled], [[], expected]);
    // The fills of the broker add up to the plan, and each of its orders is one that the desk has recorded.
    const fills: Record<string, string> = {};
    for await (
      const { orderId, side, symbol, filledQuantity = "0" } of client.fills.today({ market: "hk" })
    ) {
      if (orderId === undefined || earlier.has(orderId)) continue;
      fills[`${side} ${symbol}`] = add(fills[`${side} ${symbol}`] ?? "0", filledQuantity);
    }
    assertEquals(fills, expected);
    const intents = await intentsOfPlan(store, ACCOUNT, plan.hash);
    const recorded = intents.filter(({ kind }) => kind === "place").flatMap(({ orderIds }) => orderIds);
    assertEquals(recorded.toSorted(), at.orderIds.toSorted());
    if (together) {
      // Each process that had the run sent orders, and the other processes sent nothing.
      const writers = names.filter((name) => (sent.get(name) ?? 0) > 0);
      assertEquals(writers.length, points.length + 1, writers.join());
    }
  });
}

Deno.test("a scheduled rebalancing that is killed between its sales and its purchases is finished once", async () => {
  await walk(["the sales are filled, and no purchase is sent"]);
});

Deno.test("a scheduled rebalancing that is killed again and again is finished once", async () => {
  await walk(Object.keys(POINTS).filter((point) => point !== "the plan waits for its approval"));
});

Deno.test("a scheduled rebalancing in mode confirm executes the approved plan, also after a kill while it waits", async () => {
  await walk(["the plan waits for its approval"], { mode: "confirm" });
});

for (const kind of kinds) {
  Deno.test({
    name:
      `if several schedulers have one rebalancing, only one executes it, and after its kill the next one does (${kind.name})`,
    ignore: kind.isMissing,
    async fn() {
      await using place = await kind.place();
      await walk(["the sales are filled, and no purchase is sent"], { together: true, place });
    },
  });
}

/** Returns what a plan says about its end. */
const endOf = ({ state, reason, report, holder, endedAt }: PlanRecord) => ({
  state,
  reason,
  holder,
  hasEnd: endedAt !== undefined,
  trades: report?.trades.map(({ side, filled, open, unknown, remaining }) => ({
    side,
    filled,
    open,
    unknown,
    remaining,
  })),
});

Deno.test("if a run is continued after its window has closed, the run fails and its plan is stopped", async () => {
  await using place = await kinds[0]!.place();
  let isKilled = false;
  await withStage({ recipe: recipeFor(), place }, async (stage) => {
    const [record] = await plansOf(stage.store, { account: ACCOUNT });
    if (record === undefined || isKilled) return;
    if (!POINTS["a sale is open"]!(record, await lookAt(stage.client, stage.earlier))) return;
    isKilled = true;
    stage.kill("p0");
  }, async (stage) => {
    assertEquals(await stage.start("p0"), "SIGKILL");
    stage.clock.set(Date.parse("2025-08-18T15:50:01+08:00"));
    assertEquals(await stage.start("p1"), 0);
    const { store } = stage;
    assertEquals(await runsOf(store), ["rebalance/s1/2025-08-18 failed window live"]);
    const [record] = await plansOf(store, { account: ACCOUNT });
    const { trades, ...end } = endOf(record!);
    assertEquals(end, {
      state: "stopped",
      reason: "its run rebalance/s1/2025-08-18 is failed: its window closed at 2025-08-18T07:50:00Z",
      holder: undefined,
      hasEnd: true,
    });
    // The sales of the killed process are still at the market, and nothing has requested their cancellation.
    const quantities = record!.plan.trades.map(({ side, quantity }) =>
      side === "sell" ? `sell: ${quantity} open, 0 remaining` : `buy: 0 open, ${quantity} remaining`
    );
    assertEquals(
      trades?.map(({ side, open, remaining }) => `${side}: ${open} open, ${remaining} remaining`),
      quantities,
    );
  });
});

for (const mode of ["live", "confirm"] as const) {
  const waits = mode === "live" ? "only waits to send its orders" : "waits for its approval";
  Deno.test(`a plan that ${waits} is stopped when the window of its run closes`, async () => {
    await using place = await kinds[0]!.place();
    const recipe = recipeFor({ mode, until: "open+40m", hours: '{ from: "11:00", to: "15:00" }' });
    await withStage({ recipe, place }, () => Promise.resolve(), async ({ start, store, client, earlier }) => {
      assertEquals(await start("p0"), 0);
      assertEquals(await runsOf(store), ["rebalance/s1/2025-08-18 failed step live"]);
      const [record] = await plansOf(store, { account: ACCOUNT });
      assertEquals([record!.state, record!.reason], [
        "stopped",
        "its window closed at 2025-08-18T02:10:00Z",
      ]);
      // The execution notices the end of the window within seconds, and not only at the first order at 11:00.
      const lateMs = record!.endedAt! - Date.parse("2025-08-18T10:10:00+08:00");
      assert(lateMs > 0 && lateMs <= 10_000, `${lateMs} ms after the end of the window`);
      assertEquals((await lookAt(client, earlier)).orderIds, []);
    });
  });
}
