/** Tests of slots whose day is over, in recipes that read data that the broker reports only for the present. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { approveRun, pauseRecipe, resumeRecipe } from "../../lib/runner/claims/decisions.ts";
import { backfill, planBackfill, rerun } from "../../lib/runner/schedule/backfill.ts";
import { runByKey, runManual } from "../../lib/runner/run/script.ts";
import { addManualRun } from "../../lib/runner/schedule/starts.ts";
import { asOfNowOf, refusePast } from "../../lib/recipes/engine/call_operation.ts";
import type { CompiledStep, StepContext } from "../../lib/recipes/compiled.ts";
import { fills } from "../../lib/operations/fills.ts";
import { testBoth } from "./both_stores.ts";
import { type Bench, bench, close45, DAY, every, HOUR, MINUTE, recipe, runsOf, step } from "./support.ts";

const asOfNow = asOfNowOf(fills.today, { market: "hk" })!; // it reads present data

/** A compiled step `fills.today`; it records for which day it read. */
function reading(read: string[], given: Partial<CompiledStep> = {}): CompiledStep {
  return step({
    id: "fills",
    uses: "fills.today",
    asOfNow,
    retry: { attempts: 3, waitMs: 1000 },
    run: (context: StepContext) => {
      refusePast(asOfNow, context);
      read.push(`${context.day.date} at ${new Date(context.now()).toISOString().slice(0, 16)}`);
      return Promise.resolve([]);
    },
    ...given,
  });
}

const refusal = (date: string) =>
  `the answer is as of now, and ${date} is over in Asia/Hong_Kong; use "fills.history" for a past day`;

const errorsOf = async ({ store }: Bench) =>
  await store.all<{ error: string | null; attempt: number }>(
    "select error, attempt from step_run where state = 'failed' order by started_at",
  );

testBoth(
  "a 16:45 report that begins at 17:30 runs; a report that begins on a later day is rejected once",
  async () => {
    const read: string[] = [];
    await using b = await bench({
      start: "2025-12-22T08:00Z",
      recipes: [recipe({ steps: [reading(read)] })],
    });
    await b.scheduler.start();
    await b.scheduler.stop();
    b.machine.jump(90 * MINUTE);
    const evening = b.another("p2");
    await evening.start();
    await b.machine.pass(MINUTE);
    await evening.stop();
    assertEquals([await runsOf(b.store), read], [["eod/s1/2025-12-22 ok catchup"], [
      "2025-12-22 at 2025-12-22T09:30",
    ]]);
    // No scheduler runs from Monday night to Wednesday morning: Tuesday's report is no longer available.
    b.machine.jump(38 * HOUR);
    const later = b.another("p3");
    await later.start();
    await b.machine.pass(HOUR);
    await later.stop();
    assertEquals(await runsOf(b.store), [
      "eod/s1/2025-12-22 ok catchup",
      "eod/s1/2025-12-23 failed step catchup",
    ]);
    assertEquals(await errorsOf(b), [{
      error: `Cannot read "fills.today" for 2025-12-23: ${refusal("2025-12-23")}`,
      attempt: 1,
    }]);
    assertEquals(read.length, 1);
  },
);

testBoth(
  "a run that continues after midnight keeps the data that it read, and reads no more present data",
  async () => {
    const read: string[] = [];
    let isCut = true;
    const cut = step({
      id: "table",
      needs: ["fills"],
      run: ({ outputs }) => isCut ? new Promise(() => {}) : Promise.resolve(outputs.fills),
    });
    const late = step({ id: "more", needs: ["table"] });
    const eod = recipe({
      steps: [reading(read), cut, reading(read, { ...late, asOfNow, run: reading(read).run })],
    });
    await using b = await bench({ start: "2025-12-22T08:44Z", recipes: [eod] });
    await b.scheduler.start();
    await b.machine.pass(2 * MINUTE);
    assertEquals(read.length, 1);
    await b.scheduler.stop();
    isCut = false;
    b.machine.jump(12 * HOUR);
    const next = b.another("p2");
    await next.start();
    await b.machine.pass(MINUTE);
    await next.stop();
    assertEquals(read, ["2025-12-22 at 2025-12-22T08:45"]);
    assertStringIncludes((await errorsOf(b)).at(-1)?.error ?? "", refusal("2025-12-22"));
    assertEquals(await runsOf(b.store), ["eod/s1/2025-12-22 failed step catchup"]);
  },
);

const range = { drawTraceId: () => "1", mode: "missing" } as const;

testBoth(
  "planBackfill() and backfill() reject past days of a recipe that reads present data, and accept today's slot",
  async () => {
    const eod = recipe({ steps: [reading([])] });
    await using b = await bench({ start: "2025-12-23T10:00Z", recipes: [eod] });
    const now = b.machine.now();
    for (const refused of [planBackfill, backfill]) {
      await assertRejects(
        async () =>
          await refused(b.store, eod, {
            calendars: builtInCalendars,
            ...range,
            from: "2025-12-22",
            to: "2025-12-23",
            now,
          }),
        TypeError,
        `Cannot backfill "eod" for 2025-12-22: step "fills" reads "fills.today"; ${refusal("2025-12-22")}`,
      );
    }
    assertEquals(await runsOf(b.store), []);
    const today = await planBackfill(b.store, eod, {
      calendars: builtInCalendars,
      ...range,
      from: "2025-12-23",
      to: "2025-12-23",
      now,
    });
    assertEquals(today.slots.map(({ run }) => run.runKey), ["eod/s1/2025-12-23"]);
    // Only the run itself shows whether a step with an `if` runs, and whether a step that depends on it does. So
    // planBackfill() accepts such a recipe.
    const open = recipe({
      steps: [step({ id: "look", condition: () => false }), reading([], { needs: ["look"] })],
    });
    assertEquals(
      (await planBackfill(b.store, open, {
        calendars: builtInCalendars,
        ...range,
        from: "2025-12-22",
        to: "2025-12-22",
        now,
      })).slots
        .length,
      1,
    );
  },
);

testBoth(
  "rerun() rejects a read of present data for a past day, unless the run keeps the earlier output",
  async () => {
    const read: string[] = [];
    let fails = true;
    const eod = recipe({
      steps: [
        reading(read),
        step({ id: "table", run: () => fails ? Promise.reject(new Error("disk")) : Promise.resolve(null) }),
      ],
    });
    await using b = await bench({ start: "2025-12-22T08:44Z", recipes: [eod] });
    await b.scheduler.start();
    await b.machine.pass(2 * MINUTE);
    await b.scheduler.stop();
    assertEquals(await runsOf(b.store), ["eod/s1/2025-12-22 failed step live"]);
    b.machine.jump(2 * DAY);
    fails = false;
    const again = async (fromStart: boolean) =>
      await rerun(b.store, {
        calendars: builtInCalendars,
        runKey: "eod/s1/2025-12-22",
        fromStart,
        now: b.machine.now(),
        recipe: eod,
      });
    await assertRejects(
      async () => await again(true),
      TypeError,
      `Cannot run "eod/s1/2025-12-22" again: step "fills" reads "fills.today"; ${refusal("2025-12-22")}`,
    );
    const fresh = { ...eod, steps: [{ ...eod.steps[0]!, fresh: true }, eod.steps[1]!] };
    await assertRejects(
      async () =>
        await rerun(b.store, {
          calendars: builtInCalendars,
          runKey: "eod/s1/2025-12-22",
          fromStart: false,
          now: b.machine.now(),
          recipe: fresh,
        }),
      TypeError,
      refusal("2025-12-22"),
    );
    assertEquals(await again(false), true);
    await b.another("p2").drain();
    assertEquals([await runsOf(b.store), read.length], [["eod/s1/2025-12-22 ok backfill"], 1]);
    // A repetition of a successful run would read the data again, so rerun() rejects it.
    await assertRejects(async () => await again(false), TypeError, refusal("2025-12-22"));
    assertEquals(await runsOf(b.store), ["eod/s1/2025-12-22 ok backfill"]);
  },
);

testBoth("approveRun() and resumeRecipe() do not run past slots that read present data", async () => {
  const eod = recipe({ misfire: { graceMs: MINUTE, action: "ask", max: 1 }, steps: [reading([])] });
  await using b = await bench({ start: "2025-12-22T08:00Z", recipes: [eod] });
  await b.scheduler.start();
  await b.scheduler.stop();
  b.machine.jump(2 * HOUR);
  await b.scheduler.tick();
  assertEquals(await runsOf(b.store), ["eod/s1/2025-12-22 waiting_approval misfire live"]);
  const approve = async () =>
    await approveRun(b.store, {
      calendars: builtInCalendars,
      runKey: "eod/s1/2025-12-22",
      actor: "me",
      now: b.machine.now(),
      recipe: eod,
    });
  b.machine.jump(DAY);
  await assertRejects(
    approve,
    TypeError,
    `Cannot approve "eod/s1/2025-12-22": step "fills" reads "fills.today"; ${refusal("2025-12-22")}`,
  );
  b.machine.jump(-DAY);
  assertEquals((await approve()).state, "due");

  const all = { ...eod, name: "all", misfire: { graceMs: MINUTE, action: "all", max: 10 } } as const;
  await using c = await bench({ start: "2025-12-22T08:00Z", recipes: [all] });
  await c.scheduler.tick();
  await pauseRecipe(c.store, "all", { why: "a trial", now: c.machine.now() });
  c.machine.jump(DAY + 2 * HOUR);
  const left: string[] = [];
  const now = c.machine.now();
  const caughtUp = await resumeRecipe(c.store, all, {
    calendars: builtInCalendars,
    now,
    loadedAt: now,
    lookbackMs: 14 * DAY,
    drawTraceId: () => "1",
    catchUp: true,
    onLeft: (key, why) => left.push(`${key}: ${why}`),
  });
  assertEquals(caughtUp, ["all/s1/2025-12-23"]);
  assertEquals(left, [
    `all/s1/2025-12-22: step "fills" reads "fills.today"; ${refusal("2025-12-22")}`,
  ]);
  assertEquals(await runsOf(c.store), [
    "all/s1/2025-12-22 skipped paused live",
    "all/s1/2025-12-23 due catchup",
  ]);
});

testBoth(
  "a manual run reads present data, also on a weekend, but not if it begins a day after it was added",
  async () => {
    const read: string[] = [];
    const eod = recipe({ steps: [reading(read)] });
    await using b = await bench({ start: "2025-12-21T10:00Z", recipes: [eod] });
    const options = {
      deps: {
        calendars: () => builtInCalendars,
        store: b.store,
        machine: b.machine,
        out: "",
        redactor: b.redactor,
        client: () => Promise.reject(),
        secret: () => Promise.reject(),
      },
      claimer: { holder: "me", leaseMs: 30_000, accountOf: () => "default" },
    };
    const sunday = await runManual(eod, { ...options, id: "1" });
    assertEquals([sunday.outcome.state, read], ["ok", ["2025-12-21 at 2025-12-21T10:00"]]);
    const now = b.machine.now();
    const key = await addManualRun(b.store, eod, {
      calendars: builtInCalendars,
      id: "2",
      now,
      drawTraceId: () => "1",
    });
    b.machine.jump(DAY);
    assertEquals((await runByKey(eod, key, options)).outcome, { state: "failed", reason: "step" });
  },
);

testBoth("an inner recipe uses the day of the outer recipe, whatever its own calendar", async () => {
  const seen: unknown[] = [];
  const read: string[] = [];
  const look = step({
    id: "look",
    run: ({ day, session, previousSession }) => {
      seen.push([day, session?.date, previousSession?.date]);
      return Promise.resolve(null);
    },
  });
  const inner = recipe({ name: "inner", schedules: [], steps: [look, reading(read)] });
  const outer = recipe({
    name: "outer",
    // The slot is at 01:00 in New York on the day after the session.
    schedules: [{ ...close45, mic: "XNYS", at: { anchor: "close", offsetMs: 9 * HOUR } }],
    steps: [step({ id: "in", run: ({ runRecipe }) => runRecipe("inner", {}) })],
  });
  await using b = await bench({ start: "2025-12-19T05:30Z", recipes: [inner, outer] });
  await b.scheduler.start();
  await b.machine.pass(HOUR);
  await b.scheduler.stop();
  assertEquals(seen, [[
    { date: "2025-12-18", zone: "America/New_York", calendar: "XNYS" },
    "2025-12-18",
    "2025-12-17",
  ]]);
  assertEquals(read, ["2025-12-18 at 2025-12-19T06:00"]);
  assertEquals(await runsOf(b.store), [
    "inner/m/outer/s1/2025-12-18/in ok manual",
    "outer/s1/2025-12-18 ok live",
  ]);
});

testBoth(
  "files of a run without a calendar are stored under the date in its schedule's time zone",
  async () => {
    const write = step({
      run: async ({ artifact }) => {
        await artifact({ dataset: "note", path: "a.txt", bytes: 1, sha256: "00", final: true });
        return Promise.resolve(null);
      },
    });
    const cron = { id: "s1", form: "cron", cron: "0 1 * * *", timezone: "Asia/Hong_Kong" } as const;
    await using b = await bench({
      start: "2025-12-21T16:30Z",
      recipes: [
        recipe({ name: "night", schedules: [cron], steps: [write] }),
        recipe({ name: "often", schedules: [every(HOUR)], steps: [step({ ...write, id: "b" })] }),
      ],
    });
    await b.scheduler.start();
    await b.machine.pass(HOUR);
    await b.scheduler.stop();
    assertEquals(
      (await b.store.all<{ line: string }>(
        "select run_key || ' ' || business_day as line from artifact order by run_key",
      ))
        .map(({ line }) => line),
      ["night/s1/2025-12-21T17:00:00Z 2025-12-22", "often/s1/2025-12-21T17:00:00Z 2025-12-21"],
    );
  },
);
