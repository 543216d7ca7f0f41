/** Tests of runs whose writes were interrupted: the order desk finds out what was written, and the run continues. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import type { StepContext } from "../../lib/recipes/compiled.ts";
import { compileRecipe } from "../../lib/recipes/mod.ts";
import { Redactor } from "../../lib/redact.ts";
import type { RunDeps } from "../../lib/runner/deps.ts";
import { versionOf } from "../../lib/recipes/powers.ts";
import { proveSteps } from "../../lib/runner/run/recover_run.ts";
import { deskOf } from "../../lib/runner/run/run.ts";
import { addLatestSlot, addManualRun } from "../../lib/runner/schedule/starts.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { systemMachine } from "../../lib/time.ts";
import { recentIntents } from "../../lib/desk/queries.ts";
import { FRIDAY_MORNING, simulated } from "../day_book/simulated.ts";
import { testBoth } from "./both_stores.ts";
import { brokerBench, countPlaced, ORDER, stopTimeDuringCalls } from "./broker_bench.ts";
import { at, type Bench, bench, HOUR, MINUTE, orders, runsOf, step, TestMachine } from "./support.ts";

/** A recipe of plain operations: an order, and a read after it. */
const buyThenRead = () =>
  compileRecipe(
    JSON.stringify({
      name: "buy",
      schedule: { id: "s1", calendar: "XHKG", at: "open+30m" },
      window: "XHKG.open..XHKG.close-10m",
      steps: [
        { id: "buy", uses: "orders.place", with: ORDER },
        { id: "look", uses: "orders.today", with: { market: "hk" }, needs: ["buy"] },
      ],
    }),
    "buy.json",
  );

const KEY = "buy/s1/2025-08-15";

/**
 * Lets simulated time pass until the run is in this state. Real time passes too, for work that simulated time cannot
 * wait for.
 */
async function passUntil(b: Bench, state: string): Promise<void> {
  for (let passed = 0; passed < 10 * MINUTE; passed += 1_000) {
    if ((await runsOf(b.store))[0] === state) return;
    await b.machine.pass(1_000);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assertEquals(await runsOf(b.store), [state]);
}

testBoth(
  "an order whose answer was lost is found by the desk, and the run succeeds without a person",
  async () => {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    stopTimeDuringCalls(broker);
    const before = await countPlaced(broker);
    broker.simulator.faults.arm({ kind: "lost-answer", operation: "orders.place" });
    await using b = await brokerBench(broker, {
      recipes: [await buyThenRead()],
      onSchedulerEvent: () => {}, // a reading may fail
      resolveMs: 15_000,
    });
    await b.scheduler.start();
    await passUntil(b, `${KEY} ok live`);
    await b.scheduler.stop();
    assertEquals(broker.simulator.faults.struck("lost-answer"), 1);
    assertEquals(await runsOf(b.store), [`${KEY} ok live`]);
    assertEquals(await countPlaced(broker), before + 1);
    const [intent] = await recentIntents(b.store, "default", { limit: 10 });
    assertEquals([intent!.why, intent!.orderIds.length], [{ recipe: "buy", runKey: KEY, step: "buy" }, 1]);
  },
);

testBoth(
  "a run whose order appears in the lists only later stops waiting, and continues with its other steps",
  async () => {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    stopTimeDuringCalls(broker);
    const before = await countPlaced(broker);
    const { faults } = broker.simulator;
    faults.arm({ kind: "lost-answer", operation: "orders.place" });
    // The first reading, which comes before the order, succeeds. Then the lists cannot be read for a while.
    faults.arm({ kind: "http-error", operation: "orders.today", skip: 1, times: 40 });
    await using b = await brokerBench(broker, {
      recipes: [await buyThenRead()],
      onSchedulerEvent: () => {}, // a reading may fail
      resolveMs: 15_000,
    });
    await b.scheduler.start();
    await passUntil(b, `${KEY} unknown write live`);
    faults.clear();
    await passUntil(b, `${KEY} ok live`);
    await b.scheduler.stop();
    assertEquals(await runsOf(b.store), [`${KEY} ok live`]);
    assertEquals(await countPlaced(broker), before + 1);
    const steps = await b.store.all<{ step_id: string; state: string; output: string }>(
      "select step_id, state, output from step_run where run_key = ? order by started_at",
      KEY,
    );
    assertEquals(steps.map(({ step_id, state }) => `${step_id} ${state}`), [
      "buy ok",
      "look skipped", // before the order was found
      "look ok",
    ]);
    const placed = JSON.parse(steps[0]!.output).orderId;
    assert(JSON.parse(steps.at(-1)!.output).some((row: { orderId: string }) => row.orderId === placed));
  },
);

testBoth(
  "a lost request stays unknown, because no list can prove that the broker never got it",
  async () => {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    stopTimeDuringCalls(broker);
    const before = await countPlaced(broker);
    broker.simulator.faults.arm({ kind: "lost-request", operation: "orders.place" });
    await using b = await brokerBench(broker, {
      recipes: [await buyThenRead()],
      onSchedulerEvent: () => {}, // a reading may fail
      resolveMs: 15_000,
    });
    await b.scheduler.start();
    await b.machine.pass(HOUR);
    await b.scheduler.stop();
    assertEquals(await runsOf(b.store), [`${KEY} unknown write live`]);
    assertEquals(await countPlaced(broker), before);
    const [intent] = await recentIntents(b.store, "default", { limit: 10 });
    assertEquals(intent!.state, "unknown");
    assert((intent!.absent?.count ?? 0) > 2);
    assertStringIncludes(JSON.stringify(intent!.params), ORDER.symbol);
  },
);

Deno.test("a cancellation whose process ended after the answer counts as done only if every order was cancelled", async () => {
  for (const isFilled of [false, true]) {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    await using store = await openSqlite(":memory:");
    const { client } = broker;
    const { orderId } = await client.orders.place(ORDER);
    // An order that has ended cannot be cancelled.
    if (isFilled) await client.orders.cancel({ market: "hk", symbol: ORDER.symbol, orderId });
    const params = { market: "hk" as const, orderIds: [orderId] };
    const recipe = await compileRecipe(
      JSON.stringify({
        name: "tidy",
        live: true,
        window: "XHKG.open..XHKG.close-10m",
        steps: [{ id: "all", uses: "orders.cancelMany", with: params }],
      }),
      "tidy.json",
    );
    const deps: RunDeps = {
      store,
      machine: { ...systemMachine, now: () => FRIDAY_MORNING },
      calendars: () => builtInCalendars,
      out: "out",
      redactor: new Redactor(),
      client: () => Promise.resolve(client),
      secret: () => Promise.reject(new TypeError("no secret in this test")),
    };
    const runKey = await addManualRun(store, recipe, {
      calendars: builtInCalendars,
      id: "1",
      now: FRIDAY_MORNING,
      drawTraceId: () => "1",
    });
    await store.run(
      `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, started_at)
        values (?, 'all', 0, 1, 'write', 'k', 'begun', 0)`,
      runKey,
    );
    const { cancelled, failed } = await deskOf(deps, "default", client).client({ runKey, step: "all" })
      .orders.cancelMany(params);
    assertEquals([cancelled.length, failed.length], isFilled ? [0, 1] : [1, 0]);
    // The process ends here, before it records the end of the step.
    const [proven] = await proveSteps(recipe, runKey, deps) ?? [];
    assertEquals(
      [proven?.state, proven?.output],
      isFilled ? ["failed", undefined] : ["ok", { cancelled: [orderId], failed: [] }],
    );
  }
});

const ORDERS_KEY = "orders/s1/2025-08-15";

testBoth(
  "a run whose process died after its last write step had ended is ended without a person",
  async () => {
    // A write step that was skipped has not begun, so a person decides whether the run continues.
    for (const state of ["ok", "failed", "skipped"] as const) {
      const began: string[] = [];
      const recipe = orders(began);
      await using b = await bench({ start: "2025-08-15T01:59:55Z", recipes: [recipe] });
      await b.machine.pass(6_000);
      const [now, drawTraceId] = [b.machine.now(), () => "1"];
      await addLatestSlot(b.store, recipe, { now, drawTraceId, calendars: builtInCalendars });
      // The process recorded the end of the step, and died before it recorded the end of the run.
      const second = b.another("p2");
      await b.store.run(
        `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, output, error, started_at, finished_at)
        values (?, 'one', 0, 1, 'write', ?, ?, 'null', ?, 0, 0)`,
        ORDERS_KEY,
        `${ORDERS_KEY}#one`,
        state,
        state === "failed" ? "the store was locked" : null,
      );
      await b.store.run(
        "update run set state = 'waiting_recovery', recipe_sha = ?, attempt = 1, fence = 1",
        versionOf(recipe),
      );
      await second.start();
      await b.machine.pass(60_000);
      await second.stop();
      assertEquals(began, []);
      const ends = { ok: "ok", failed: "failed step", skipped: "waiting_recovery" }[state];
      assertEquals((await runsOf(b.store))[0], `${ORDERS_KEY} ${ends} live`);
    }
  },
);

/** A recipe of one step that may begin again, as the step `rebalance` does: its plan limits what it sends. */
const resuming = (run: (context: StepContext) => Promise<unknown>) =>
  orders([], { steps: [step({ uses: "rebalance", effect: "write", resumes: true, run })] });

testBoth("a step that resumes begins again after its process died, once the lease has expired", async () => {
  const begun: number[] = [];
  const recipe = resuming(({ attempt }) => {
    begun.push(attempt);
    return attempt === 1 ? new Promise(() => {}) : Promise.resolve(null);
  });
  await using b = await bench({ start: "2025-08-15T01:59:55Z", recipes: [recipe] });
  await b.scheduler.start();
  await b.machine.pass(10_000);
  assertEquals([begun, await runsOf(b.store)], [[1], [`${ORDERS_KEY} running live`]]);
  // The clock of the first process stops, so that process does nothing more.
  const machine = new TestMachine(at("2025-08-15T02:00:05Z"));
  const second = b.another("p2", { machine });
  await second.start();
  await machine.pass(20_000);
  assertEquals(begun, [1], "the first process may still be running");
  await machine.pass(MINUTE);
  assertEquals([begun, await runsOf(b.store)], [[1, 2], [`${ORDERS_KEY} ok live`]]);
  const told = await b.store.all<{ data: string }>("select data from event where kind = 'resolved'");
  assertEquals(told.map(({ data }) => JSON.parse(data).state), ["again"]);
  await second.stop();
});

testBoth("a step that resumes and fails does not begin again", async () => {
  let begun = 0;
  await using b = await bench({
    start: "2025-08-15T01:59:55Z",
    recipes: [resuming(() => {
      begun++;
      throw new TypeError("it fails");
    })],
  });
  await b.scheduler.start();
  await b.machine.pass(HOUR);
  await b.scheduler.stop();
  assertEquals([begun, await runsOf(b.store)], [1, [`${ORDERS_KEY} failed step live`]]);
});

testBoth("a step that resumes and loses an answer each time begins five times at most", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  stopTimeDuringCalls(broker);
  const before = await countPlaced(broker);
  broker.simulator.faults.arm({ kind: "lost-answer", operation: "orders.place", times: 99 });
  let begun = 0;
  await using b = await brokerBench(broker, {
    recipes: [resuming(async ({ client }) => {
      begun++;
      // Each order has another price, because the desk does not guess which of two equal orders is its own.
      await (await client()).orders.place({ ...ORDER, price: String(300 + begun) });
    })],
    onSchedulerEvent: () => {}, // a reading may fail
  });
  await b.scheduler.start();
  await passUntil(b, `${ORDERS_KEY} failed step live`);
  await b.machine.pass(HOUR);
  await b.scheduler.stop();
  assertEquals([begun, await countPlaced(broker) - before], [5, 5]);
  assertEquals(await runsOf(b.store), [`${ORDERS_KEY} failed step live`]);
});
