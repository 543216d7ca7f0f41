/** Tests of steps that catch the error of a lost answer: the client's record decides how the run ends. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { Client } from "../../lib/client/client.ts";
import { BrokerError, OutcomeUnknownError } from "../../lib/errors.ts";
import { account } from "../../lib/operations/account.ts";
import { encodeParams } from "../../lib/operations/operation.ts";
import { orders as orderOperations } from "../../lib/operations/orders.ts";
import { unresolvedWriteAdvice } from "../../lib/runner/explain/advice.ts";
import { findRun } from "../../lib/runner/queries/runs.ts";
import { runManual } from "../../lib/runner/run/script.ts";
import { runNested } from "../../lib/runner/run/nested.ts";
import { claimRun, resolveOutcome } from "../../lib/runner/claims/claims.ts";
import { addManualRun } from "../../lib/runner/schedule/starts.ts";
import type { StepContext, StepDesk } from "../../lib/recipes/compiled.ts";
import { describeSent, WriteGuard } from "../../lib/recipes/engine/guarded_client.ts";
import { describeOwnStep, runOwnStep } from "../../lib/recipes/own_steps/own_step.ts";
import { runRecipe } from "../../lib/recipes/run_recipe.ts";
import { FRIDAY_MORNING, type Simulated, simulated } from "../day_book/simulated.ts";
import { testBoth } from "./both_stores.ts";
import { brokerBench, countPlaced, KEY, ORDER, writer } from "./broker_bench.ts";
import { close45, MINUTE, orders, recipe, runsOf, step, temporaryFolder } from "./support.ts";

const WIRE = encodeParams(orderOperations.place, ORDER);

type Run = (context: StepContext) => Promise<unknown>;

/** Steps that try to send an order whose answer is lost, and hide its error. */
const silent: Record<string, Run> = {
  "catches the error": async (context) => {
    const client = await context.client();
    await client.orders.place(ORDER).catch(() => {});
    return { ok: true };
  },
  "does not wait": async (context) => {
    const client = await context.client();
    void client.orders.place(ORDER).catch(() => {});
    // Before the desk sends the order, it logs in and makes a few reads. The step makes reads until then, but does not
    // wait for the order's answer.
    for (let turn = 0; turn < 40; turn++) await client.call(account.funds, { market: "hk" });
    await new Promise((resolve) => setTimeout(resolve, 0));
    return { ok: true };
  },
  "goes past the client": async (context) => {
    const client = await context.client();
    await client.transport.raw("trade", "TradeEntrust", WIRE, {}).catch(() => {});
    return { ok: true };
  },
  "throws its own error, which says that the order was rejected": async (context) => {
    const client = await context.client();
    try {
      await client.raw("trade", "TradeEntrust", WIRE);
    } catch {
      throw new BrokerError("Cannot place order: refused", { code: "1016" });
    }
  },
};

async function benchFor(broker: Simulated, run: Run, began: string[] = []) {
  const second = orders(began, { name: "second", schedules: [{ ...close45, at: { time: "10:02" } }] });
  return await brokerBench(broker, { recipes: [writer(run), second] });
}

const loseAnswers = ({ simulator: { faults } }: Simulated) =>
  faults.arm({ kind: "lost-answer", operation: "orders.place" });

/** Steps whose raw call the order desk rejects before anything is sent, and the states of their runs. */
const raw: Readonly<Record<string, string>> = {
  "goes past the client": "ok",
  "throws its own error, which says that the order was rejected": "failed step",
};

Deno.test(
  "scheduler: a run whose step hides a lost answer is unknown, and blocks the account",
  async () => {
    for (const [how, run] of Object.entries(silent)) {
      await using broker = await simulated({ at: FRIDAY_MORNING });
      await broker.client.account.login();
      const before = await countPlaced(broker);
      loseAnswers(broker);
      const began: string[] = [];
      await using b = await benchFor(broker, run, began);
      await b.scheduler.tick();
      b.machine.jump(MINUTE);
      await b.scheduler.tick();
      await b.scheduler.drain();
      const [state] = await runsOf(b.store);
      if (raw[how] !== undefined) {
        assertEquals([how, state, await countPlaced(broker)], [how, `${KEY} ${raw[how]} live`, before]);
        continue;
      }
      assertEquals([how, state], [how, `${KEY} unknown write live`]);
      b.machine.jump(2 * MINUTE);
      await b.scheduler.tick();
      await b.scheduler.drain();
      assertEquals([how, began, (await runsOf(b.store))[1]], [
        how,
        [],
        "second/s1/2025-08-15 due held:recovery live",
      ]);
      // After a person has resolved the run, the account is free again.
      await resolveOutcome(b.store, { runKey: KEY, state: "ok", actor: "me", now: b.machine.now() });
      await b.scheduler.tick();
      await b.scheduler.drain();
      assertEquals([how, began], [how, ["second/s1/2025-08-15#one"]]);
    }
  },
);

testBoth("a step that gets an answer to each write succeeds and releases the account", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const began: string[] = [];
  await using b = await benchFor(broker, async (context) => {
    const client = await context.client();
    const { orderId } = await client.orders.place(ORDER);
    // A rejection has a known outcome, so nothing is unresolved.
    await assertRejects(() => client.orders.place({ ...ORDER, quantity: "1" }), BrokerError);
    return { orderId };
  }, began);
  await b.scheduler.tick();
  b.machine.jump(MINUTE);
  await b.scheduler.tick();
  await b.scheduler.drain();
  b.machine.jump(2 * MINUTE);
  await b.scheduler.tick();
  await b.scheduler.drain();
  assertEquals((await runsOf(b.store))[0], `${KEY} ok live`);
  assertEquals(began, ["second/s1/2025-08-15#one"]);
});

testBoth(
  "run --manual: a hidden lost answer ends the run as unknown, and the output says what to check",
  async () => {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    loseAnswers(broker);
    await using b = await benchFor(broker, silent["catches the error"]!); // named above
    b.machine.jump(MINUTE);
    const { store, machine } = b;
    const deps = {
      calendars: () => builtInCalendars,
      store,
      machine,
      out: "out",
      resolveMs: 0, // the test's time does not pass by itself
      redactor: b.redactor,
      client: () => Promise.resolve(broker.client),
      secret: () => Promise.reject(new TypeError("none")),
    };
    const claimer = { holder: "me", leaseMs: 30_000, accountOf: () => "default" };
    const conditional = orders([], {
      steps: [step({
        effect: "write",
        async run(context) {
          const client = await context.client();
          const terms = { orderType: "stop-loss-limit", triggerValue: "290", validDays: 1 } as const;
          await client.orders.place({ ...ORDER, side: "sell", ...terms }).catch(() => {});
        },
      })],
    });
    const { outcome, runKey } = await runManual(conditional, { id: "1", deps, claimer });
    assertEquals(outcome, { state: "unknown", reason: "write" });
    const advice = (await unresolvedWriteAdvice(store, (await findRun(store, runKey))!)).join("\n"); // the run has just ended
    assertStringIncludes(advice, "which sent orders.place");
    assertStringIncludes(advice, "hsgate call conditionalOrders.today");
    assert(!advice.includes("orders.today --all, "), advice);
    assert(!/ orders\.today/.test(advice), advice);
  },
);

/** Runs a custom step with this function body at 10:00; the answer to the first order is lost. */
async function runOwn(body: string, lose: (broker: Simulated) => void = loseAnswers) {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  lose(broker);
  using folder = temporaryFolder();
  const steps = new URL("../../lib/recipes/mod.ts", import.meta.url).href;
  await Deno.writeTextFile(
    `${folder.path}/deno.json`,
    JSON.stringify({ imports: { "hsgate/recipes": steps } }),
  );
  await Deno.writeTextFile(
    `${folder.path}/own_step.ts`,
    `import { defineStep } from "hsgate/recipes";
const ORDER = ${JSON.stringify(ORDER)};
export default defineStep({
  effect: "write",
  async run(_params, { call, proven }) {
${body}
  },
});
`,
  );
  const file = new URL(`file://${folder.path}/own_step.ts`);
  const about = await describeOwnStep(file);
  const before = await countPlaced(broker);
  await using b = await benchFor(broker, (context) => runOwnStep(file, about, { params: {}, context }));
  await b.scheduler.tick();
  b.machine.jump(MINUTE);
  await b.scheduler.tick();
  await b.scheduler.drain();
  const now = await broker.client.orders.today({ market: "hk" }).toArray();
  const { error } = (await b.store.get<{ error: string | null }>("select error from step_run"))!; // the run has one step
  return { run: (await runsOf(b.store))[0], sent: now.length - before, error: error ?? "" };
}

testBoth("a custom step in its process: a swallowed error makes the run unknown", async () => {
  const { run } = await runOwn(`    await call("orders.place", ORDER).catch(() => {});
    return { ok: true };`);
  assertEquals(run, `${KEY} unknown write live`);
});

testBoth(
  "a custom step that ends its process after a write makes the run unknown; one that ends it before any write makes the run fail",
  async () => {
    for (
      const [body, sent] of [
        ['await call("orders.place", ORDER);\n    Deno.exit(0);', 1],
        // The order is on its way when the process ends.
        ['void call("orders.place", ORDER);\n    Deno.exit(0);', 1],
      ] as const
    ) {
      const own = await runOwn(`    ${body}`, () => {});
      assertEquals([body, own.run], [body, `${KEY} unknown write live`]);
      assert(own.sent <= sent);
    }
    // The control: nothing was sent.
    const early = await runOwn("    Deno.exit(0);", () => {});
    assertEquals([early.run, early.sent], [`${KEY} failed step live`, 0]);
    // If the step throws its own error after a write, the run also fails, because the outcome of the write is known.
    const said = await runOwn(
      '    await call("orders.place", ORDER);\n    throw new TypeError("enough");',
      () => {},
    );
    assertEquals([said.run, said.sent], [`${KEY} failed step live`, 1]);
  },
);

testBoth("a custom step that catches a lost answer and orders again sends only one order", async () => {
  for (
    const again of [
      'await call("orders.place", ORDER);',
      'await call("orders.place", ORDER).catch(() => {});',
      // The step passes an error that it made itself to `proven()`, not that of the lost answer.
      'proven(new Error("lost"), "refused"); await call("orders.place", ORDER);',
      'await call("orders.cancelAll", { market: "hk" });',
    ]
  ) {
    const { run, sent, error } = await runOwn(`    await call("orders.place", ORDER).catch(() => {});
    ${again}
    return { ok: true };`);
    assertEquals([again, run, sent], [again, `${KEY} unknown write live`, 1]);
    if (again.includes("catch")) continue;
    assertStringIncludes(error, "the outcome of orders.place is unknown");
    assertStringIncludes(error, "look in orders.today and fills.today");
    assertStringIncludes(error, "proven(");
  }
  // Control: a step that has checked, and reports it, may write again; its run succeeds.
  const looks = await runOwn(`    try {
      await call("orders.place", ORDER);
    } catch (error) {
      const rows = await call("orders.today", { market: "hk" });
      proven(error, rows.length > 0 ? "ok" : "refused");
    }
    await call("orders.place", { ...ORDER, quantity: "200" });
    return { ok: true };`);
  assertEquals([looks.run, looks.sent], [`${KEY} ok live`, 2]);
  // After a known rejection, nothing has to be proven.
  const refused = await runOwn(
    `    await call("orders.place", { ...ORDER, quantity: "1" }).catch(() => {});
    await call("orders.place", ORDER);
    return { ok: true };`,
    () => {},
  );
  assertEquals([refused.run, refused.sent], [`${KEY} ok live`, 1]);
});

Deno.test("no client method sends a second write while the first has an unknown outcome, but after a lost cancellation other cancellations work", async () => {
  const places: ((client: Client) => Promise<unknown>)[] = [
    (client) => client.orders.place(ORDER),
    (client) => client.call(orderOperations.place, ORDER),
    (client) => client.raw("trade", "TradeEntrust", WIRE),
    (client) => client.transport.raw("trade", "TradeEntrust", WIRE, {}),
    (client) => client.transport.call(orderOperations.place, ORDER, {}),
    (client) => client.orders.cancelAll({ market: "hk" }),
  ];
  for (const [index, again] of places.entries()) {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    const before = await countPlaced(broker);
    const guard = new WriteGuard();
    const client = await guard.guard(broker.client);
    loseAnswers(broker);
    const lost = await assertRejects(() => places[index % 5]!(client), OutcomeUnknownError);
    const refused = await assertRejects(() => again(client), BrokerError, "is unknown");
    assertEquals([index, refused.code], [index, "write-open"]);
    assertEquals(guard.sent.length, 1);
    assertEquals(await countPlaced(broker), before + 1);
    guard.prove(lost, "ok");
    // Control: after the proof, the next write is sent.
    await again(client);
    assertEquals([guard.sent.length, guard.isOpen], [2, false]);
  }
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const ids = [await broker.client.orders.place(ORDER), await broker.client.orders.place(ORDER)];
  const guard = new WriteGuard();
  const client = await guard.guard(broker.client);
  broker.simulator.faults.arm({ kind: "lost-answer", operation: "orders.cancel" });
  const [first, second] = ids.map(({ orderId }) => ({ market: "hk", symbol: "00700.HK", orderId } as const));
  await assertRejects(() => client.orders.cancel(first!), OutcomeUnknownError);
  await client.orders.cancel(second!);
  await assertRejects(
    () => client.orders.place(ORDER),
    BrokerError,
    "the outcome of orders.cancel is unknown",
  );
  assertEquals(guard.unresolvedError?.operation, "orders.cancel");
});

testBoth("a step that does not declare a write cannot write, by itself or inside a run step", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const before = await countPlaced(broker);
  const refusals: string[] = [];
  const sneaky = recipe({
    name: "sneaky",
    steps: [step({
      async run(context) {
        const client = await context.client();
        const note = (error: Error) => void refusals.push(error.message);
        await client.orders.place(ORDER).catch(note);
        await client.transport.raw("trade", "TradeEntrust", {}, {}).catch(note);
        // Control: the step can read.
        return await client.call(account.funds, { market: "hk" });
      },
    })],
  });
  const outer = recipe({ name: "outer", schedules: [{ ...close45, at: { time: "10:00" } }] });
  await using b = await brokerBench(broker, { recipes: [outer, { ...sneaky, schedules: [] }] });
  const { store, machine, redactor } = b;
  const deps = {
    calendars: () => builtInCalendars,
    store,
    machine,
    redactor,
    out: "out",
    client: () => Promise.resolve(broker.client),
    secret: () => Promise.reject(new TypeError("none")),
  };
  const claimer = { holder: "me", leaseMs: 30_000, accountOf: () => "default" };
  const now = machine.now();
  const runKey = await addManualRun(store, outer, {
    calendars: builtInCalendars,
    id: "1",
    now,
    drawTraceId: () => "1",
  });
  const claim = await claimRun(store, outer, runKey, claimer, now);
  if (typeof claim === "string") throw new TypeError(claim);
  const halt = new AbortController().signal;
  const outputs = await runNested(
    { ...claim, step: "one", calls: new Map(), halt, recipe: outer },
    { name: "sneaky", params: {} },
    { recipes: new Map([["outer", outer], ["sneaky", sneaky]]), deps, claimer, stop: halt },
  );
  assertEquals(Object.keys(outputs), ["one"]);
  await runRecipe(sneaky, { client: broker.client, now: () => broker.clock.now() });
  assertEquals(refusals.length, 4);
  for (const message of refusals) assertStringIncludes(message, 'its effect is "read"');
  assertEquals(await countPlaced(broker), before);
});

Deno.test("run without a store: a hidden lost answer is an error, unless the step proves the outcome", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  loseAnswers(broker);
  const hidden = orders([], { steps: [step({ effect: "write", run: silent["catches the error"]! })] });
  const context = { client: broker.client, now: () => broker.clock.now(), allowWrites: true };
  const error = await assertRejects(() => runRecipe(hidden, context), OutcomeUnknownError);
  assertStringIncludes(error.message, "orders.place (with an unknown outcome); look in orders.today");
  assertEquals(error.lists, ["orders.today", "fills.today"]);
  loseAnswers(broker);
  const looks = orders([], {
    steps: [step({
      effect: "write",
      async run({ client: connect, proven }) {
        const client = await connect();
        const known = new Set(
          (await client.orders.today({ market: "hk" }).toArray()).map((row) => row.orderId),
        );
        const lost = await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
        const rows = await client.orders.today({ market: "hk" }).toArray();
        const made = rows.filter(({ orderId }) => !known.has(orderId));
        assertEquals(made.length, 1);
        proven!(lost, "ok");
      },
    })],
  });
  assertEquals((await runRecipe(looks, context)).ok, true);
});

Deno.test("a desk resolves the writes of its step only if a reading left out nothing and nothing stayed unresolved", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  broker.simulator.faults.arm({ kind: "lost-answer", operation: "orders.place" });
  const guard = new WriteGuard();
  let unresolved: unknown[] = [{}];
  const own = { client: () => broker.client, reconcile: () => Promise.resolve({ unresolved }) };
  const desk = await guard.guardDesk(own as unknown as StepDesk); // the guard uses nothing else
  await assertRejects(() => desk.client().orders.place(ORDER), OutcomeUnknownError);
  await desk.reconcile();
  assertEquals(guard.isOpen, true);
  unresolved = [];
  await desk.reconcile({ leavesOut: () => true });
  assertEquals(guard.isOpen, true);
  await desk.reconcile();
  assertEquals(guard.isOpen, false);
  // The text does not say "done", because the reading may also have shown that the write was not executed.
  assertEquals(describeSent(guard.sent), "orders.place (resolved from the broker's lists)");
});
