import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DisplacedError, OutcomeUnknownError, TransportError } from "../../lib/errors.ts";
import { backfill, rerun } from "../../lib/runner/schedule/backfill.ts";
import { pingUrl } from "../../lib/runner/schedule/dead_man.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { backupStore, verifyStore } from "../../lib/runner/queries/store_care.ts";
import { deliverNotices } from "../../lib/runner/notify/notify.ts";
import { Redactor } from "../../lib/redact.ts";
import { runLatestSlot } from "../../lib/runner/run/script.ts";
import { addManualRun } from "../../lib/runner/schedule/starts.ts";
import { why } from "../../lib/runner/explain/why.ts";
import type { CompiledStep } from "../../lib/recipes/compiled.ts";
import { testBoth } from "./both_stores.ts";
import { at, bench, close45, DAY, HOUR, MINUTE, recipe, runsOf, step, temporaryFolder } from "./support.ts";

async function runSteps(steps: CompiledStep[], given: Parameters<typeof recipe>[0] = {}) {
  await using b = await bench({ start: "2025-12-24T04:44Z", recipes: [recipe({ steps, ...given })] });
  await b.scheduler.start();
  await b.machine.pass(30 * MINUTE);
  await b.scheduler.stop();
  const rows = (await b.store.all<{ line: string }>(
    "select step_id || ' ' || attempt || ' ' || state || coalesce(' ' || error, '') as line from step_run order by started_at, step_id, attempt",
  )).map(({ line }) => line);
  return {
    rows,
    runs: await runsOf(b.store),
    events: b.events,
    store: JSON.stringify(await b.store.all("select * from step_run")),
  };
}

testBoth(
  "executeRun() passes outputs on, skips steps whose condition fails, and writes nothing after a failure",
  async () => {
    const seen: unknown[] = [];
    const { rows, runs } = await runSteps([
      step({
        id: "a",
        run: ({ session, previousSession, slot }) => Promise.resolve({ session, previousSession, slot }),
      }),
      step({ id: "b", needs: ["a"], run: ({ outputs }) => Promise.resolve(void seen.push(outputs.a)) }),
      step({ id: "c", condition: ({ params }) => params.never === true }),
      step({ id: "d", needs: ["c"] }),
      step({ id: "e", run: () => Promise.reject(new TransportError("Cannot reach it: refused")) }),
      step({ id: "f", effect: "write" }),
      step({ id: "g", needs: ["a"] }),
    ]);
    assertEquals(rows, [
      "a 1 ok",
      "b 1 ok",
      "c 1 skipped condition",
      'd 1 skipped needs "c"',
      "e 1 failed Cannot reach it: refused",
      "f 1 skipped an earlier step failed",
      "g 1 ok",
    ]);
    assertEquals(runs, ["eod/s1/2025-12-24 failed step live"]);
    assertEquals(seen, [{
      session: {
        date: "2025-12-24",
        open: "2025-12-24T09:30:00+08:00",
        close: "2025-12-24T12:00:00+08:00",
        halfDay: true,
      },
      previousSession: {
        date: "2025-12-23",
        open: "2025-12-23T09:30:00+08:00",
        close: "2025-12-23T16:00:00+08:00",
        halfDay: false,
      },
      slot: "2025-12-24T04:45:00Z",
    }]);
  },
);

testBoth(
  "executeRun() retries reads with growing waits, but neither writes nor logins that were taken over",
  async () => {
    let reads = 0;
    const retry = { attempts: 3, waitMs: 1000 };
    const flaky = await runSteps([step({
      retry,
      run: () =>
        ++reads < 3 ? Promise.reject(new TransportError("Cannot reach it: refused")) : Promise.resolve(7),
    })]);
    assertEquals(flaky.runs, ["eod/s1/2025-12-24 ok live"]);
    assertEquals(flaky.events.flatMap((e) => e.type === "step-retry" ? [e.waitMs] : []), [1000, 2000]);
    const displaced = await runSteps([
      step({ retry, run: () => Promise.reject(new DisplacedError("Cannot ask: displaced", "displaced")) }),
    ]);
    assertEquals(displaced.rows.length, 1);
    const unknown = await runSteps([
      step({
        effect: "write",
        retry,
        run: () => Promise.reject(new OutcomeUnknownError("Cannot tell: no answer")),
      }),
    ], { class: "write" });
    assertEquals([unknown.rows, unknown.runs], [
      ["one 1 unknown Cannot tell: no answer"],
      ["eod/s1/2025-12-24 unknown write live"],
    ]);
  },
);

testBoth(
  "executeRun() ends steps and runs that take too long, even if they ignore their signal",
  async () => {
    const deaf = () => new Promise(() => {});
    assertEquals((await runSteps([step({ timeoutMs: 5000, run: deaf })])).rows, [
      'one 1 failed Cannot finish step "one": it took more than 5000 ms',
    ]);
    assertEquals((await runSteps([step({ run: deaf })], { timeoutMs: 9000 })).runs, [
      "eod/s1/2025-12-24 failed timeout live",
    ]);
    assertEquals(
      (await runSteps([step({ effect: "write", timeoutMs: 5000, run: deaf })], { class: "write" })).runs,
      [
        "eod/s1/2025-12-24 unknown write live",
      ],
    );
  },
);

testBoth("executeRun() removes secrets from outputs, errors, logs and artifacts, by value", async () => {
  const { store, events } = await runSteps([
    step({
      id: "a",
      async run({ secret, log, artifact }) {
        const value = await secret("password");
        log("info", `using ${value}`, { header: btoa(value) });
        await artifact({ dataset: "d", path: `/x/${value}.csv`, bytes: 1, sha256: "0", final: true });
        return { [value]: `a ${value} b` };
      },
    }),
    step({ id: "b", run: () => Promise.reject(new Error("Cannot use value-of-password")) }),
  ]);
  const all = store + JSON.stringify(events);
  assert(!all.includes("value-of-password") && !all.includes(btoa("value-of-password")), all);
  assertStringIncludes(all, "a [secret] b");
  const logged = events.find(({ type }) => type === "log")!;
  assertEquals([logged.runKey, logged.traceId.length], ["eod/s1/2025-12-24", 32]);
});

testBoth(
  "executeRun() numbers the revisions of a file, and distinguishes equal bytes at different paths",
  async () => {
    const files = [["a", "1"], ["b", "2"], ["a", "1"], ["b", "2"], ["a", "3"]];
    const { events } = await runSteps(files.map(([folder, sha256], index) =>
      step({
        id: `s${index}`,
        run: async ({ artifact }) =>
          Promise.resolve(
            await artifact({
              dataset: "fills",
              path: `out/${folder}/fills.csv`,
              bytes: 1,
              sha256: sha256!,
              final: index === 3,
            }),
          ),
      })
    ));
    assertEquals(
      events.flatMap((event) =>
        event.type === "artifact" ? [`${event.path} ${event.revision} ${event.isNew ? "new" : "kept"}`] : []
      ),
      [
        "out/a/fills.csv 1 new",
        "out/b/fills.csv 2 new",
        "out/a/fills.csv 1 kept",
        "out/b/fills.csv 2 kept",
        "out/a/fills.csv 3 new",
      ],
    );
  },
);

testBoth("runLatestSlot() runs the scheduler's run under the same key, and only once", async () => {
  let ran = 0;
  const eod = recipe({ steps: [step({ run: () => Promise.resolve(++ran) })] });
  await using b = await bench({ start: "2025-12-23T08:50Z", recipes: [eod] });
  const deps = {
    calendars: () => builtInCalendars,
    store: b.store,
    machine: b.machine,
    out: "out",
    redactor: new Redactor(),
    client: () => Promise.reject(new TypeError("none")),
    secret: () => Promise.reject(new TypeError("none")),
  };
  const claimer = { holder: "script", leaseMs: 30_000, accountOf: () => "default" };
  const first = await runLatestSlot(eod, { deps, claimer });
  assertEquals([first!.runKey, first!.ran, first!.outcome.state], ["eod/s1/2025-12-23", true, "ok"]);
  const second = await runLatestSlot(eod, { deps, claimer });
  assertEquals([second!.ran, second!.outcome.state], [false, "ok"]);
  // A scheduler whose watermark is earlier finds the row.
  await b.store.run(
    "insert into schedule (recipe, schedule_id, spec, watermark, updated_at) values ('eod', 's1', ?, ?, 0)",
    JSON.stringify(close45),
    at("2025-12-23T00:00Z"),
  );
  await b.scheduler.tick();
  await b.scheduler.drain();
  assertEquals(ran, 1);
  b.machine.jump(2 * DAY);
  const holiday = await runLatestSlot(eod, { deps, claimer });
  assertEquals(holiday, {
    runKey: "eod/s1/2025-12-25",
    ran: false,
    outcome: { state: "skipped", reason: "holiday" },
  });
});

testBoth(
  "backfill() uses the keys of live runs and reopens them by mode; no write is repeated",
  async () => {
    let fail = true;
    let ran = 0;
    const eod = recipe({
      steps: [
        step({ id: "a", run: () => Promise.resolve(++ran) }),
        step({ id: "b", run: () => fail ? Promise.reject(new Error("no")) : Promise.resolve() }),
      ],
    });
    await using b = await bench({ start: "2025-12-31T12:00Z", recipes: [eod] });
    const range = { from: "2025-12-22", to: "2025-12-26", now: b.machine.now(), drawTraceId: () => "1" };
    assertEquals(await backfill(b.store, eod, { calendars: builtInCalendars, ...range, mode: "missing" }), [
      "eod/s1/2025-12-22",
      "eod/s1/2025-12-23",
      "eod/s1/2025-12-24",
    ]);
    await b.scheduler.drain();
    assertEquals(
      await backfill(b.store, eod, { calendars: builtInCalendars, ...range, mode: "missing" }),
      [],
    );
    fail = false;
    assertEquals(
      (await backfill(b.store, eod, { calendars: builtInCalendars, ...range, mode: "failed" })).length,
      3,
    );
    await b.scheduler.drain();
    assertEquals([ran, (await runsOf(b.store))[0]], [3, "eod/s1/2025-12-22 ok backfill"]);
    assertEquals(
      (await backfill(b.store, eod, { calendars: builtInCalendars, ...range, to: "2025-12-22", mode: "all" }))
        .length,
      1,
    );
    assertEquals(
      await rerun(b.store, {
        calendars: builtInCalendars,
        runKey: "eod/s1/2025-12-23",
        fromStart: true,
        now: b.machine.now(),
      }),
      true,
    );
    await b.scheduler.drain();
    assertEquals(ran, 5, "a rerun from the start reuses no outputs");
    const orders = recipe({ name: "orders", class: "write" });
    await assertRejects(
      async () => await backfill(b.store, orders, { calendars: builtInCalendars, ...range, mode: "all" }),
      TypeError,
      "nothing can be traded on a past day",
    );
    const runKey = await addManualRun(b.store, orders, { calendars: builtInCalendars, ...range, id: "1" });
    await assertRejects(
      async () => await rerun(b.store, { calendars: builtInCalendars, runKey, fromStart: true, now: 0 }),
      TypeError,
      "never repeated",
    );
    assertEquals(await verifyStore(b.store), []);
  },
);

Deno.test("why() explains a day in one line", async () => {
  const eod = recipe();
  await using b = await bench({ start: "2025-12-23T00:00Z", recipes: [eod] });
  const ask = async (date: string) =>
    await why(b.store, eod, { calendars: builtInCalendars, date, now: b.machine.now() });
  assertStringIncludes(await ask("2025-12-22"), "no scheduler has run with this schedule yet");
  await b.scheduler.start();
  await b.machine.pass(6 * HOUR);
  assertEquals(await ask("2025-12-23"), "nothing yet: the slot is at 2025-12-23 16:45 Asia/Hong_Kong");
  await b.machine.pass(3 * DAY);
  await b.scheduler.stop();
  assertEquals(
    await ask("2025-12-22"),
    "nothing ran at 2025-12-22 16:45 Asia/Hong_Kong: the schedule was first seen at 2025-12-23 08:00 Asia/Hong_Kong",
  );
  assertEquals(
    await ask("2025-12-23"),
    "eod/s1/2025-12-23 ran and succeeded at 2025-12-23 16:45 Asia/Hong_Kong",
  );
  assertEquals(await ask("2025-12-25"), "eod/s1/2025-12-25 was skipped because the exchange was closed");
  assertEquals(await ask("2025-12-27"), "nothing is to run: 2025-12-27 is a weekend");
  b.machine.jump(5 * DAY);
  assertStringIncludes(
    await ask("2025-12-29"),
    "no scheduler has run since 2025-12-26 14:00 Asia/Hong_Kong",
  );
});

Deno.test("backupStore() copies a store, and openSqlite() rejects a store of a newer version", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/store.db`;
  {
    await using store = await openSqlite(path);
    await addManualRun(store, recipe(), {
      calendars: builtInCalendars,
      id: "1",
      now: 0,
      drawTraceId: () => "1",
    });
    await backupStore(store, `${folder.path}/copy.db`);
    await assertRejects(() => backupStore(store, `${folder.path}/copy.db`), Error, "a file of that name");
    await store.run("insert into migration (version) values (99)");
  }
  await assertRejects(async () => await openSqlite(path), Error, "it has version 99");
  await using copy = await openSqlite(`${folder.path}/copy.db`);
  assertEquals([await runsOf(copy), await verifyStore(copy)], [["eod/m/1 due manual"], []]);
  await copy.run("update run set state = 'ok'");
  assertEquals(await verifyStore(copy), ['1 rows break the rule "a run that ended has an end time"']);
});

testBoth("notices are sent once, and retried when they fail", async () => {
  const sent: unknown[] = [];
  let up = false;
  const tell = (what: unknown) => up ? Promise.resolve(void sent.push(what)) : Promise.reject(new Error());
  const notify = [{
    on: "failure" as const,
    uses: "mail",
    with: {},
    step: step({ run: ({ outcome, slot }) => tell({ outcome, slot }) }),
  }];
  const bad = recipe({ notify, steps: [step({ run: () => Promise.reject(new Error("no")) })] });
  await using b = await bench({ start: "2025-12-23T08:44Z", recipes: [bad] });
  await b.scheduler.start();
  await b.machine.pass(2 * MINUTE);
  assertEquals(sent, []);
  up = true;
  await b.machine.pass(2 * DAY / 48);
  await b.scheduler.stop();
  assertEquals(sent, [{
    outcome: { state: "failed", reason: "step", failedStep: "one", error: "no" },
    slot: "2025-12-23T08:45:00Z",
  }]);
  // Processes that share a store send a notice only once, because its row says that it was sent.
  assertEquals(await deliverNotices(b.store, () => () => Promise.reject(new Error()), b.machine), 0);
});

Deno.test("pingUrl() identifies the run by an id computed from its key", async () => {
  const first = await pingUrl("https://hc.example/abc", "start", "eod/s1/2025-12-23");
  assert(
    /^https:\/\/hc\.example\/abc\/start\?rid=[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab]/.test(first),
    first,
  );
  assertEquals(await pingUrl("https://hc.example/abc", "start", "eod/s1/2025-12-23"), first);
  assertEquals(await pingUrl("https://hc.example/abc/", "success"), "https://hc.example/abc");
});
