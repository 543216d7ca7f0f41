/** Tests of runs that only the process that started them may run. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { rerun } from "../../lib/runner/schedule/backfill.ts";
import { type Claimer, recoverExpired, resolveOutcome } from "../../lib/runner/claims/claims.ts";
import { takeLease } from "../../lib/runner/queries/claims.ts";
import { verifyStore } from "../../lib/runner/queries/store_care.ts";
import type { RunDeps } from "../../lib/runner/deps.ts";
import { findRun } from "../../lib/runner/queries/runs.ts";
import { runByKey, runLatestSlot, runManual } from "../../lib/runner/run/script.ts";
import { describeRun } from "../../lib/runner/explain/why_run.ts";
import type { CompiledRecipe, StepContext } from "../../lib/recipes/compiled.ts";
import { testBoth } from "./both_stores.ts";
import {
  at,
  type Bench,
  bench,
  close45,
  every,
  HOUR,
  MINUTE,
  orders,
  recipe,
  runsOf,
  step,
  TestMachine,
} from "./support.ts";

const MORNING = "2025-12-22T02:00Z";

const depsOf = ({ store, machine, redactor }: Bench): RunDeps => ({
  calendars: () => builtInCalendars,
  store,
  machine,
  redactor,
  out: "out",
  client: () => Promise.reject(new TypeError("no client in this test")),
  secret: () => Promise.reject(new TypeError("no secret in this test")),
});

const hand = (account: string): Claimer => ({ holder: "hand", leaseMs: 30_000, accountOf: () => account });

/** Starts a manual run that waits for its account, which another process has. */
async function waiting(
  b: Bench,
  about: CompiledRecipe,
  { patienceMs = 5 * MINUTE, machine = b.machine } = {},
) {
  await takeLease(b.store, {
    name: "account:B",
    holder: "x y",
    now: b.machine.now(),
    until: at("2026-01-01T00:00Z"),
  });
  const options = {
    deps: { ...depsOf(b), machine },
    claimer: hand("B"),
    patienceMs,
    id: "1",
  };
  return runManual(about, options);
}

testBoth("Scheduler leaves a waiting manual run to the process that started it", async () => {
  const began: string[] = [];
  const write = orders(began);
  await using b = await bench({ start: MORNING, recipes: [write], accountOf: () => "A" });
  const result = waiting(b, write);
  await b.scheduler.start();
  const second = b.another("p2");
  await second.start();
  await b.machine.pass(2 * MINUTE);
  assertEquals([began, await runsOf(b.store)], [[], ["orders/m/1 due held:account manual"]]);
  // Another process may not run it either, even by its key.
  const other = await runByKey(write, "orders/m/1", {
    deps: depsOf(b),
    claimer: { ...hand("A"), holder: "other" },
  });
  assertEquals([other.ran, other.outcome], [false, { state: "refused", reason: "reserved" }]);
  await b.store.run("update lease set until = 0");
  await b.machine.pass(MINUTE);
  assertEquals((await result).outcome.state, "ok");
  await Promise.all([b.scheduler.stop(), second.stop()]);
  assertEquals([began, await runsOf(b.store)], [["orders/m/1#one"], ["orders/m/1 ok manual"]]);
  assertEquals(await b.store.get<{ account: string }>("select account from run"), { account: "B" });
});

testBoth("runManual() cancels a run that cannot begin in time, and no process runs it later", async () => {
  const began: string[] = [];
  const write = orders(began);
  await using b = await bench({ start: MORNING, recipes: [write], accountOf: () => "A" });
  const result = waiting(b, write, { patienceMs: MINUTE });
  await b.scheduler.start();
  await b.machine.pass(HOUR);
  assertEquals((await result).outcome, { state: "refused", reason: "account" });
  await b.scheduler.stop();
  assertEquals([began, await runsOf(b.store)], [[], ["orders/m/1 cancelled account manual"]]);
});

testBoth(
  "Scheduler does not run a manual run whose process died before it wrote",
  async () => {
    const began: string[] = [];
    const slow = orders(began, {
      timeoutMs: 12 * HOUR,
      steps: [
        step({ id: "look", run: () => new Promise(() => {}) }),
        step({ effect: "write", run: ({ stepKey }) => Promise.resolve(void began.push(stepKey)) }),
      ],
    });
    for (const dies of ["waiting", "reading"]) {
      await using b = await bench({ start: MORNING, recipes: [slow], accountOf: () => "A" });
      // This process has its own clock, which stops, so the process never renews its lease.
      const dying = new TestMachine(b.machine.now());
      void waiting(b, slow, { machine: dying });
      if (dies === "reading") {
        await b.store.run("update lease set until = 0");
        await dying.pass(1_000);
        assertEquals(await runsOf(b.store), ["orders/m/1 running manual"]);
      }
      await b.scheduler.start();
      await b.machine.pass(HOUR);
      await b.scheduler.stop();
      const over = "orders/m/1 cancelled its process died before it wrote anything manual";
      assertEquals([began, await runsOf(b.store)], [[], [over]], dies);
      assertEquals(await verifyStore(b.store), []);
    }
  },
);

testBoth(
  "a manual read whose process died is cancelled, names the command to continue it, and can be continued",
  async () => {
    const done: string[] = [];
    const read = recipe({
      name: "look",
      needsAccount: true,
      steps: [
        step({ id: "a", run: () => Promise.resolve(void done.push("a")) }),
        step({
          id: "b",
          run: ({ attempt }) => attempt === 1 ? new Promise(() => {}) : Promise.resolve(void done.push("b")),
        }),
      ],
    });
    await using b = await bench({ start: MORNING, recipes: [read], accountOf: () => "A" });
    const dying = new TestMachine(b.machine.now());
    void waiting(b, read, { machine: dying });
    await b.store.run("update lease set until = 0");
    await dying.pass(1_000);
    await b.scheduler.start();
    await b.machine.pass(HOUR);
    await b.scheduler.stop();
    assertEquals(await runsOf(b.store), [
      "look/m/1 cancelled its process died; to continue it: hsgate rerun look/m/1 manual",
    ]);
    assertEquals(
      await rerun(b.store, {
        calendars: builtInCalendars,
        runKey: "look/m/1",
        fromStart: false,
        now: b.machine.now(),
      }),
      true,
    );
    const { outcome } = await runByKey(read, "look/m/1", {
      deps: depsOf(b),
      claimer: hand("A"),
    });
    assertEquals([outcome.state, done], ["ok", ["a", "b"]]);
  },
);

testBoth("a manual write whose process died during it waits for a person", async () => {
  const write = orders([], { steps: [step({ effect: "write", run: () => new Promise(() => {}) })] });
  await using b = await bench({ start: MORNING, recipes: [write], accountOf: () => "A" });
  const dying = new TestMachine(b.machine.now());
  void waiting(b, write, { machine: dying });
  await b.store.run("update lease set until = 0");
  await dying.pass(1_000);
  await b.scheduler.start();
  await b.machine.pass(HOUR);
  await b.scheduler.stop();
  assertEquals(await runsOf(b.store), ["orders/m/1 waiting_recovery manual"]);
});

/** Runs an outer recipe whose process dies during an inner one, until a second process has taken it over. */
async function takenOver(inner: CompiledRecipe) {
  const outer = recipe({
    name: "outer",
    schedules: [{ ...close45, at: { anchor: "open", offsetMs: 30 * MINUTE } }],
    misfire: { graceMs: 3 * HOUR, action: "skip", max: 0 },
    needsAccount: true,
    steps: [step({ id: "in", run: ({ runRecipe }) => runRecipe("inner", {}) })],
  });
  const b = await bench({ start: "2025-12-22T01:59Z", recipes: [outer, inner] });
  const dying = new TestMachine(b.machine.now());
  await b.another("p0", { machine: dying }).start();
  await dying.pass(2 * MINUTE);
  // The inner run's lease was renewed later than the outer run's.
  await b.store.run("update run set lease_until = ? where recipe = 'inner'", b.machine.now() + HOUR);
  b.machine.sleep(3 * MINUTE);
  await b.scheduler.start();
  await b.machine.pass(MINUTE);
  await b.scheduler.stop();
  return b;
}

testBoth(
  "runNested() continues an inner run when another process takes the outer run over",
  async () => {
    const done: string[] = [];
    const inner = recipe({
      name: "inner",
      schedules: [],
      steps: [
        step({ id: "a", run: () => Promise.resolve(void done.push("a")) }),
        step({
          id: "b",
          run: ({ attempt }) => {
            done.push(`b ${attempt}`);
            return attempt === 1 ? new Promise(() => {}) : Promise.resolve(7);
          },
        }),
      ],
    });
    await using b = await takenOver(inner);
    assertEquals(done, ["a", "b 1", "b 2"]);
    assertEquals(await runsOf(b.store), [
      "inner/m/outer/s1/2025-12-22/in ok manual",
      "outer/s1/2025-12-22 ok live",
    ]);
    const { output } = (await b.store.get<{ output: string }>(
      "select output from step_run where step_id = 'in' and state = 'ok'",
    ))!;
    assertEquals(output, '{"a":null,"b":7}');
  },
);

testBoth("runNested() does not repeat a write that an inner run had begun", async () => {
  let began = 0;
  // The compiler would give this recipe the class `write`, and an inner recipe of this class is rejected earlier. Here,
  // only the effect of the step shows the write, and that must be enough.
  const inner = recipe({
    name: "inner",
    schedules: [],
    steps: [step({ effect: "write", run: () => (began++, new Promise(() => {})) })],
  });
  await using b = await takenOver(inner);
  assertEquals([began, await runsOf(b.store)], [1, [
    "inner/m/outer/s1/2025-12-22/in waiting_recovery manual",
    "outer/s1/2025-12-22 failed step live",
  ]]);
});

testBoth("an inner run ends with its outer run, and no scheduler continues it", async () => {
  let began = 0;
  const hangs = ({ signal }: StepContext) => {
    began++;
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const inner = recipe({ name: "inner", schedules: [], steps: [step({ run: hangs })] });
  const outer = recipe({
    name: "outer",
    schedules: [every(10 * MINUTE)],
    timeoutMs: MINUTE,
    steps: [step({ id: "in", run: ({ runRecipe }) => runRecipe("inner", {}) })],
  });
  await using b = await bench({ start: "2025-12-22T01:59Z", recipes: [inner, outer] });
  await b.scheduler.start();
  // In this time, the outer run reaches its time limit, and the leases of both runs could expire.
  await b.machine.pass(5 * MINUTE);
  assertEquals([began, await runsOf(b.store)], [1, [
    "inner/m/outer/s1/2025-12-22T02:00:00Z/in cancelled stopped manual",
    "outer/s1/2025-12-22T02:00:00Z failed timeout live",
  ]]);
  await b.scheduler.stop();
});

testBoth(
  "an inner run shares the limit for the work of expressions with its outer run, and each outer run has its own limit",
  async () => {
    const works: unknown[] = [];
    const note = ({ work }: StepContext) => works.push(work);
    const inner = recipe({
      name: "inner",
      schedules: [],
      steps: [step({ run: (context) => Promise.resolve(note(context)) })],
    });
    const outer = recipe({
      name: "outer",
      schedules: [every(10 * MINUTE)],
      steps: [step({
        id: "in",
        run: async (context) => {
          note(context);
          await context.runRecipe("inner", {});
        },
      })],
    });
    await using b = await bench({ start: "2025-12-22T01:59Z", recipes: [inner, outer] });
    await b.scheduler.start();
    await b.machine.pass(15 * MINUTE);
    await b.scheduler.stop();
    assertEquals(works, Array(4).fill({ most: 50_000_000, left: 50_000_000 }));
    assertEquals([works[0] === works[1], works[2] === works[3], works[0] === works[2]], [true, true, false]);
  },
);

Deno.test(
  "runNested() distinguishes calls of one recipe by step, by parameters and by count",
  async () => {
    const inner = recipe({
      name: "inner",
      schedules: [],
      params: { market: "hk" },
      steps: [
        step({
          id: "say",
          run: ({ params, runKey }) => Promise.resolve(`${params.market} ${runKey.slice(-4)}`),
        }),
      ],
    });
    const call = (params: Record<string, string>) => ({ runRecipe }: StepContext) =>
      runRecipe("inner", params);
    const outer = recipe({
      name: "outer",
      steps: [
        step({ id: "hk", run: call({ market: "hk" }) }),
        step({ id: "us", run: call({ market: "us" }) }),
        step({ id: "same", run: call({ market: "us" }) }),
        step({
          id: "many",
          run: async ({ runRecipe }) => [
            await runRecipe("inner", { market: "cn" }),
            await runRecipe("inner", { market: "hk" }),
            await runRecipe("inner", { market: "cn" }),
          ],
        }),
      ],
    });
    await using b = await bench({ start: "2025-12-22T08:44Z", recipes: [outer, inner] });
    await b.scheduler.start();
    await b.machine.pass(2 * MINUTE);
    await b.scheduler.stop();
    const keys = (await b.store.all<{ key: string; params: string }>(
      "select run_key as key, params from run where recipe = 'inner' order by started_at, rowid",
    )).map(({ key, params }) => [
      key.replace("inner/m/outer/s1/2025-12-22/", "").replaceAll(/\.[0-9a-f]{8}/g, ".#"),
      JSON.parse(params).market,
    ]);
    assertEquals(keys, [
      ["hk.#", "hk"],
      ["us.#", "us"],
      ["same.#", "us"],
      ["many.#", "cn"],
      ["many.#", "hk"],
      [
        "many.#.2",
        "cn",
      ],
    ]);
    const said = (await b.store.all<{ output: string }>(
      "select output from step_run where run_key like 'outer/%' order by rowid",
    )).map(({ output }) => JSON.stringify(JSON.parse(output)).match(/(hk|us|cn) /g));
    assertEquals(said, [["hk "], ["us "], ["us "], ["cn ", "hk ", "cn "]]);
    assertEquals((await runsOf(b.store)).length, 7);
  },
);

const open = (began: string[], given: Partial<CompiledRecipe> = {}) =>
  orders(began, {
    schedules: [every(2 * MINUTE)],
    misfire: { graceMs: 5 * MINUTE, action: "skip", max: 0 },
    steps: [step({
      effect: "write",
      run({ stepKey }) {
        began.push(stepKey.slice(-13, -5));
        return began.length === 1 ? Promise.reject(new Error("the line went dead")) : Promise.resolve();
      },
    })],
    ...given,
  });

const resolveAsFailed = async (b: Bench, runKey: string) =>
  await resolveOutcome(b.store, { runKey, state: "failed", actor: "me", now: b.machine.now() });

testBoth(
  "Scheduler skips slots while their recipe has an unresolved write, and does not run them later",
  async () => {
    const began: string[] = [];
    await using b = await bench({ start: "2025-12-22T01:59Z", recipes: [open(began)] });
    await b.scheduler.start();
    await b.machine.pass(6 * MINUTE); // slots at 02:00, 02:02 and 02:04
    const skipped = (await findRun(b.store, "orders/s1/2025-12-22T02:02:00Z"))!; // it was listed
    assertStringIncludes(
      await describeRun(b.store, skipped, { zone: "UTC", now: b.machine.now() }),
      'was skipped because the outcome of the writes of "orders/s1/2025-12-22T02:00:00Z" is unknown: check the ' +
        `account's orders, then run "hsgate resolve orders/s1/2025-12-22T02:00:00Z ok|failed"`,
    );
    assertEquals(await resolveAsFailed(b, "orders/s1/2025-12-22T02:00:00Z"), true);
    await b.machine.pass(50_000);
    assertEquals(began, ["02:00:00"]);
    await b.machine.pass(MINUTE);
    await b.scheduler.stop();
    assertEquals(began, ["02:00:00", "02:06:00"]);
    assertEquals(await runsOf(b.store), [
      "orders/s1/2025-12-22T02:00:00Z failed resolved live",
      "orders/s1/2025-12-22T02:02:00Z skipped overlap live",
      "orders/s1/2025-12-22T02:04:00Z skipped overlap live",
      "orders/s1/2025-12-22T02:06:00Z ok live",
    ]);
  },
);

Deno.test(
  "if the recipe queues, Scheduler lets one slot wait for an unresolved write, up to the grace period",
  async () => {
    const began: string[] = [];
    await using b = await bench({ start: "2025-12-22T01:59Z", recipes: [open(began, { overlap: "queue" })] });
    await b.scheduler.start();
    await b.machine.pass(6 * MINUTE);
    assertEquals((await runsOf(b.store)).slice(1), [
      "orders/s1/2025-12-22T02:02:00Z skipped superseded live",
      "orders/s1/2025-12-22T02:04:00Z due held:recovery live",
    ]);
    await resolveAsFailed(b, "orders/s1/2025-12-22T02:00:00Z");
    await b.machine.pass(10_000);
    await b.scheduler.stop();
    assertEquals(began, ["02:00:00", "02:04:00"]);
  },
);

testBoth(
  "Scheduler lets one slot of another recipe wait for an unresolved write, up to the grace period",
  async () => {
    for (const [waitMs, last] of [[6 * MINUTE, "ok live"], [12 * MINUTE, "skipped misfire live"]] as const) {
      const began: string[] = [];
      const lost = orders([], {
        name: "lost",
        schedules: [{ ...close45, at: { anchor: "open", offsetMs: 29 * MINUTE } }],
        steps: [step({ effect: "write", run: () => Promise.reject(new Error("the line went dead")) })],
      });
      const other = orders(began, { schedules: [every(2 * MINUTE)] });
      await using b = await bench({ start: "2025-12-22T01:58Z", recipes: [lost, other] });
      await b.scheduler.start();
      await b.machine.pass(90_000);
      await b.machine.pass(waitMs - 2 * MINUTE);
      // From here on, the schedule of `other` names no more slots.
      await b.scheduler.reload([lost, { ...other, schedules: [{ ...close45, id: "s2" }] }]);
      await b.machine.pass(waitMs > 10 * MINUTE ? 7 * MINUTE : MINUTE);
      const waits = (await runsOf(b.store)).filter((line) =>
        line.startsWith("orders") && line.includes(" due ")
      );
      assertEquals(waits.length, last === "ok live" ? 1 : 0);
      await resolveAsFailed(b, "lost/s1/2025-12-22");
      await b.machine.pass(MINUTE);
      await b.scheduler.stop();
      assertEquals(began.length, last === "ok live" ? 1 : 0);
      assertStringIncludes((await runsOf(b.store)).at(-1)!, last);
    }
  },
);

testBoth("runLatestSlot() does not queue slots behind the recipe's own unresolved write", async () => {
  const began: string[] = [];
  const write = open(began);
  await using b = await bench({ start: "2025-12-22T02:00Z", recipes: [] });
  const options = { deps: depsOf(b), claimer: hand("A") };
  assertEquals((await runLatestSlot(write, options))?.outcome.state, "unknown");
  b.machine.jump(2 * MINUTE);
  assertEquals((await runLatestSlot(write, options))?.outcome, { state: "refused", reason: "recovery" });
  assertEquals(await runsOf(b.store), [
    "orders/s1/2025-12-22T02:00:00Z unknown write live",
    "orders/s1/2025-12-22T02:02:00Z skipped overlap live",
  ]);
  await recoverExpired(b.store, b.machine.now());
  assertEquals(began.length, 1);
});
