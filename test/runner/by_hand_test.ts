/** Tests of manual runs and reruns, also after their process died. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { rerun } from "../../lib/runner/schedule/backfill.ts";
import { type Claimer, claimRun, recoverExpired } from "../../lib/runner/claims/claims.ts";
import { pauseRecipe } from "../../lib/runner/claims/decisions.ts";
import type { RunDeps } from "../../lib/runner/deps.ts";
import { runByKey, runManual } from "../../lib/runner/run/script.ts";
import { describeRun } from "../../lib/runner/explain/why_run.ts";
import { unresponsiveSince } from "../../lib/runner/explain/advice.ts";
import { findRun } from "../../lib/runner/queries/runs.ts";
import { addManualRun } from "../../lib/runner/schedule/starts.ts";
import type { CompiledRecipe } from "../../lib/recipes/compiled.ts";
import { testBoth } from "./both_stores.ts";
import { type Bench, bench, MINUTE, orders, recipe, runsOf, step } from "./support.ts";

const claimer: Claimer = { holder: "hand", leaseMs: 30_000, accountOf: () => "default" };
const start = "2025-12-22T02:00Z";

function depsOf({ store, machine, redactor, events }: Bench): RunDeps {
  return {
    store,
    machine,
    redactor,
    calendars: () => builtInCalendars,
    out: "out",
    client: () => Promise.reject(new TypeError("no client in this test")),
    secret: () => Promise.reject(new TypeError("no secret in this test")),
    onEvent: (event) => void events.push(event),
  };
}

const waits = ({ signal }: { signal: AbortSignal }) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

/** Adds a manual run whose process died at once. Returns its key. */
async function dead(b: Bench, about: CompiledRecipe): Promise<string> {
  const { store, machine } = b;
  const key = await addManualRun(store, about, {
    calendars: builtInCalendars,
    id: "1",
    now: machine.now(),
    drawTraceId: () => "1",
  });
  await store.run(
    "update run set state = 'running', holder = 'dead', lease_until = ?, started_at = ? where run_key = ?",
    machine.now() + 30_000,
    machine.now(),
    key,
  );
  return key;
}

testBoth("runManual() returns the state that the store has after a stop", async () => {
  const slow = recipe({ schedules: [], steps: [step({ run: waits })] });
  await using b = await bench({ start, recipes: [] });
  const stop = new AbortController();
  const ended: string[] = [];
  const running = runManual(slow, {
    deps: { ...depsOf(b), onEnd: (_recipe, { run_key }) => void ended.push(run_key) },
    claimer,
    id: "1",
    stop: stop.signal,
  });
  await b.machine.pass(MINUTE / 20);
  stop.abort();
  assertEquals(await running, {
    runKey: "eod/m/1",
    ran: true,
    outcome: { state: "cancelled", reason: "stopped" },
  });
  const told = b.events.flatMap((event) =>
    event.type === "run-ended" ? [`${event.runKey} ${event.state} ${event.reason}`] : []
  );
  assertEquals(told, ["eod/m/1 cancelled stopped"]);
  // The person who stopped the run needs no notice about it.
  assertEquals(ended, []);
  assertEquals(await runsOf(b.store), ["eod/m/1 cancelled stopped manual"]);
});

testBoth(
  "rerun() takes over a run with an expired lease and keeps its finished steps; it leaves a live run alone",
  async () => {
    const done: string[] = [];
    const eod = recipe({
      steps: [
        step({ id: "a", run: () => Promise.resolve(void done.push("a")) }),
        step({ id: "b", run: () => Promise.resolve(void done.push("b")) }),
      ],
    });
    await using b = await bench({ start, recipes: [eod] });
    const key = await dead(b, eod);
    const about = () => ({
      runKey: key,
      fromStart: false,
      now: b.machine.now(),
      calendars: builtInCalendars,
      recipe: eod,
    });
    b.machine.jump(29_000);
    assertEquals(await rerun(b.store, about()), false);
    assertEquals(unresponsiveSince((await findRun(b.store, key))!, b.machine.now()), undefined);
    await b.store.run(
      `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, output, started_at)
      values (?, 'a', 0, 1, 'read', 'a', 'ok', 'null', 0)`,
      key,
    );
    b.machine.jump(2_000);
    assertEquals(
      unresponsiveSince((await findRun(b.store, key))!, b.machine.now()),
      Date.parse("2025-12-22T02:00:30Z"),
    );
    assertEquals(await rerun(b.store, about()), true);
    const { outcome } = await runByKey(eod, key, { deps: depsOf(b), claimer });
    assertEquals([outcome.state, done], ["ok", ["b"]]);
  },
);

testBoth("rerun() keeps no output of another version of the recipe", async () => {
  for (const changed of [{ sha256: "01" }, { code: { files: [], sha256: "01", copies: new Map() } }, {}]) {
    const done: string[] = [];
    const eod = recipe({
      steps: ["a", "b"].map((id) => step({ id, run: () => Promise.resolve(void done.push(id)) })),
    });
    await using b = await bench({ start, recipes: [] });
    const key = await dead(b, eod);
    await b.store.run(
      `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, output, started_at)
        values (?, 'a', 0, 1, 'read', 'a', 'ok', '"old"', 0)`,
      key,
    );
    b.machine.jump(MINUTE);
    const now = b.machine.now();
    const edited = { ...eod, ...changed };
    assertEquals(
      await rerun(b.store, {
        runKey: key,
        fromStart: false,
        now,
        calendars: builtInCalendars,
        recipe: edited,
      }),
      true,
    );
    const { outcome } = await runByKey(edited, key, { deps: depsOf(b), claimer });
    const isSame = Object.keys(changed).length === 0;
    assertEquals([outcome.state, done], ["ok", isSame ? ["b"] : ["a", "b"]]);
    const row = (await findRun(b.store, key))!;
    assertEquals(row.round, isSame ? 0 : 1);
    const text = await describeRun(b.store, row, { zone: "UTC", now });
    assertEquals(text.includes("its recipe had changed since an earlier start"), !isSame, text);
  }
});

testBoth("rerun() with fromStart repeats every step of a run whose process died", async () => {
  const done: string[] = [];
  const eod = recipe({ steps: [step({ id: "a", run: () => Promise.resolve(void done.push("a")) })] });
  await using b = await bench({ start, recipes: [eod] });
  const key = await dead(b, eod);
  await b.store.run(
    `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, output, started_at)
      values (?, 'a', 0, 1, 'read', 'a', 'ok', 'null', 0)`,
    key,
  );
  b.machine.jump(MINUTE);
  assertEquals(
    await rerun(b.store, { calendars: builtInCalendars, runKey: key, fromStart: true, now: b.machine.now() }),
    true,
  );
  await runByKey(eod, key, { deps: depsOf(b), claimer });
  assertEquals(done, ["a"]);
});

testBoth(
  "rerun() does not repeat a write whose process died during it, and says how to resolve it",
  async () => {
    const write = orders([]);
    await using b = await bench({ start, recipes: [write] });
    const key = await dead(b, write);
    await b.store.run(
      `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, started_at)
      values (?, 'one', 0, 1, 'write', 'one', 'begun', 0)`,
      key,
    );
    b.machine.jump(MINUTE);
    const error = await assertRejects(
      async () =>
        await rerun(b.store, {
          calendars: builtInCalendars,
          runKey: key,
          fromStart: false,
          now: b.machine.now(),
          recipe: write,
        }),
      TypeError,
    );
    assertStringIncludes(error.message, `hsgate resolve ${key} ok|failed`);
    assertEquals(await runsOf(b.store), [`${key} waiting_recovery manual`]);
  },
);

testBoth("recoverExpired() skips an expired run of a paused recipe", async () => {
  const eod = recipe();
  await using b = await bench({ start: "2025-12-22T08:44Z", recipes: [eod] });
  await b.scheduler.tick();
  b.machine.jump(MINUTE);
  await b.scheduler.tick();
  const key = "eod/s1/2025-12-22";
  assertEquals(typeof await claimRun(b.store, eod, key, claimer, b.machine.now()), "object");
  await pauseRecipe(b.store, "eod", { why: "away", now: b.machine.now() });
  b.machine.jump(MINUTE);
  assertEquals(await recoverExpired(b.store, b.machine.now()), [{ runKey: key, state: "skipped" }]);
  assertEquals(await runsOf(b.store), [`${key} skipped paused live`]);
});
