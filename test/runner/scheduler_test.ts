import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { resolveOutcome } from "../../lib/runner/claims/claims.ts";
import { describeRun } from "../../lib/runner/explain/why_run.ts";
import { findRun, insertRun } from "../../lib/runner/queries/runs.ts";
import { planRun } from "../../lib/runner/schedule/plan_run.ts";
import { verifyStore } from "../../lib/runner/queries/store_care.ts";
import { pauseRecipe, resumeRecipe } from "../../lib/runner/claims/decisions.ts";
import type { CompiledRecipe, CompiledSchedule } from "../../lib/recipes/compiled.ts";
import { testBoth } from "./both_stores.ts";
import { randomFrom, wait } from "../../lib/time.ts";
import {
  at,
  bench,
  close45,
  DAY,
  every,
  HOUR,
  iso,
  MINUTE,
  orders,
  recipe,
  runsOf,
  step,
  TestMachine,
} from "./support.ts";

const listing = (now: number) => ({ now, loadedAt: now, lookbackMs: 14 * DAY, drawTraceId: () => "1" });

testBoth(
  "Scheduler runs each session's slot once and writes a row for each skipped day",
  async () => {
    await using b = await bench({ start: "2025-12-23T00:00Z", recipes: [recipe()] });
    await b.scheduler.start();
    await b.machine.pass(6.5 * DAY);
    await b.scheduler.stop();
    assertEquals(await runsOf(b.store), [
      "eod/s1/2025-12-23 ok live",
      "eod/s1/2025-12-24 ok live",
      "eod/s1/2025-12-25 skipped holiday live",
      "eod/s1/2025-12-26 skipped holiday live",
      "eod/s1/2025-12-29 ok live",
    ]);
    const late = b.events.flatMap((event) => event.type === "run-started" ? [event.lateMs] : []);
    assertEquals(late, [0, 0, 0], "begun at the slot itself, not at the next tick");
    assertEquals(await verifyStore(b.store), []);
  },
);

testBoth("Scheduler lists only future slots of a new recipe", async () => {
  await using b = await bench({ start: "2025-12-24T12:00Z", recipes: [recipe()] });
  await b.scheduler.tick();
  assertEquals(await runsOf(b.store), []);
});

async function afterAWeekAway(policy: CompiledRecipe["misfire"], given: Partial<CompiledRecipe> = {}) {
  const order: string[] = [];
  const eod = recipe({
    misfire: policy,
    steps: [step({ run: ({ runKey }) => Promise.resolve(void order.push(runKey.slice(-2))) })],
    ...given,
  });
  await using b = await bench({ start: "2025-12-08T00:00Z", recipes: [eod] });
  await b.scheduler.tick();
  b.machine.jump(at("2025-12-12T09:00Z") - b.machine.now());
  await b.scheduler.tick();
  await b.scheduler.drain();
  return { order, rows: (await runsOf(b.store)).map((line) => line.replace("eod/s1/2025-12-", "")) };
}

testBoth("Scheduler catches up missed slots by the misfire policy", async () => {
  const grace = { graceMs: 15 * MINUTE, max: 3 };
  assertEquals(await afterAWeekAway({ ...grace, action: "all" }), {
    order: ["09", "10", "11", "12"],
    rows: ["08 skipped misfire live", "09 ok catchup", "10 ok catchup", "11 ok catchup", "12 ok live"],
  });
  assertEquals(await afterAWeekAway({ ...grace, action: "latest", graceMs: MINUTE }), {
    order: ["12"],
    rows: [
      "08 skipped superseded live",
      "09 skipped superseded live",
      "10 skipped superseded live",
      "11 skipped superseded live",
      "12 ok catchup",
    ],
  });
  assertEquals((await afterAWeekAway({ ...grace, action: "skip" })).rows, [
    "08 skipped misfire live",
    "09 skipped misfire live",
    "10 skipped misfire live",
    "11 skipped misfire live",
    "12 ok live",
  ]);
  assertEquals((await afterAWeekAway({ ...grace, action: "ask" })).rows.slice(3), [
    "11 waiting_approval misfire live",
    "12 ok live",
  ]);
  assertEquals(
    (await afterAWeekAway({ ...grace, action: "all", max: 9 }, { deadlineMs: 2 * DAY })).rows.slice(0, 4),
    ["08 skipped deadline live", "09 skipped deadline live", "10 skipped deadline live", "11 ok catchup"],
  );
});

testBoth(
  "Scheduler gives slots beyond the look-back limit no row, and records how many there were",
  async () => {
    await using b = await bench({
      start: "2025-01-01T00:00Z",
      recipes: [recipe({ schedules: [every(HOUR)] })],
    });
    await b.scheduler.tick();
    b.machine.jump(20 * DAY);
    await b.scheduler.tick();
    assertEquals((await b.store.get<{ n: number }>("select count(*) as n from run"))!.n, 14 * 24);
    assertEquals(
      (await b.store.all<{ data: string }>("select data from event where kind = 'passed_over'")).map((r) =>
        r.data
      ),
      ['{"recipe":"eod","schedule":"s1","count":144}'],
    );
  },
);

Deno.test("Scheduler repeats nothing when the clock is set back, and records the jump", async () => {
  const hourly = recipe({ schedules: [every(HOUR)], misfire: { graceMs: HOUR, action: "skip", max: 0 } });
  await using b = await bench({ start: "2025-01-01T00:30Z", recipes: [hourly] });
  await b.scheduler.start();
  await b.machine.pass(3 * HOUR);
  b.machine.jump(-2 * HOUR);
  await b.machine.pass(4 * HOUR);
  await b.scheduler.stop();
  assertEquals(
    await runsOf(b.store),
    [1, 2, 3, 4, 5].map((hour) => `eod/s1/2025-01-01T0${hour}:00:00Z ok live`),
  );
  assertEquals(b.told.filter(({ type }) => type === "clock-jump"), [
    { type: "clock-jump", at: at("2025-01-01T01:31Z"), byMs: -2 * HOUR },
  ]);
});

testBoth("F21: each run key runs once over both New York clock changes, sleep and clock steps", async () => {
  for (
    const zone of [["2026-10-30T00:00Z", "2026-11-03T00:00Z"], ["2027-03-12T00:00Z", "2027-03-16T00:00Z"]]
  ) {
    const schedules: CompiledSchedule[] = [
      { id: "ny", form: "cron", cron: "30 1,2 * * *", timezone: "America/New_York" },
      { ...close45, id: "hk" },
    ];
    await using b = await bench({ start: zone[0]!, recipes: [recipe({ schedules, overlap: "parallel" })] });
    await b.scheduler.start();
    await b.machine.pass(20 * HOUR);
    b.machine.sleep(9 * HOUR); // the machine sleeps during a run
    await b.machine.pass(10 * HOUR);
    b.machine.jump(HOUR);
    await b.machine.pass(10 * HOUR);
    b.machine.jump(-HOUR);
    await b.machine.pass(at(zone[1]!) - b.machine.now());
    await b.scheduler.stop();
    const ran = b.events.flatMap((event) => event.type === "run-ended" ? [event.runKey] : []);
    assertEquals(new Set(ran).size, ran.length, "none twice");
    const rows = await runsOf(b.store);
    assertEquals(
      rows.filter((line) => !/ ok (live|catchup)$/.test(line)),
      [],
      "each slot ran or was caught up",
    );
    const fall = zone[0]!.startsWith("2026");
    // 01:30 occurs twice on 1 November and runs once; 02:30 does not exist on 14 March and runs at 03:00.
    const sunday = fall ? ["2026-11-01T05:30:00Z", "2026-11-01T07:30:00Z"] : [
      "2027-03-14T06:30:00Z",
      "2027-03-14T07:00:00Z",
    ];
    assertEquals(
      rows.filter((line) => line.includes(`/ny/${sunday[0]!.slice(0, 10)}`)).map((line) =>
        line.split(" ")[0]
      ),
      sunday.map((slot) => `eod/ny/${slot}`),
    );
    assert(rows.some((line) => line.startsWith("eod/hk/")), "the schedule of Hong Kong has rows too");
  }
});

testBoth(
  "F22: a recipe that writes skips holidays, late wake-ups and days without a calendar, and never loops",
  async () => {
    const began: string[] = [];
    await using b = await bench({ start: "2025-12-23T00:00Z", recipes: [orders(began)] });
    await b.scheduler.start();
    await b.machine.pass(12 * HOUR);
    b.machine.sleep(20 * HOUR); // past the slot of the half-day
    await b.machine.pass(4 * DAY);
    await b.scheduler.stop();
    assertEquals(await runsOf(b.store), [
      "orders/s1/2025-12-23 ok live",
      "orders/s1/2025-12-24 skipped deadline live",
      "orders/s1/2025-12-25 skipped holiday live",
      "orders/s1/2025-12-26 skipped holiday live",
    ]);
    assertEquals(began, ["orders/s1/2025-12-23#one"]);
    await using beyond = await bench({
      start: "2027-12-30T12:00Z",
      recipes: [orders(began), recipe({ name: "read" })],
    });
    await beyond.scheduler.start();
    await beyond.machine.pass(4.5 * DAY);
    await beyond.scheduler.stop();
    assertEquals(await runsOf(beyond.store), [
      "orders/s1/2027-12-31 ok live",
      "read/s1/2027-12-31 ok live",
      "orders/s1/2028-01-03 skipped calendar_unknown live",
      "read/s1/2028-01-03 ok live",
    ]);
    const ticks = beyond.told.filter(({ type }) => type === "tick").length;
    assert(ticks < 4.5 * 24 * 60 + 50, `${ticks} ticks are more than one a minute and one a run`);
  },
);

testBoth("F22: a write that the market rejects is not retried", async () => {
  let tries = 0;
  const { MarketClosedError } = await import("../../lib/errors.ts");
  const refused = orders([], {
    steps: [step({
      effect: "write",
      retry: { attempts: 5, waitMs: 1 },
      run() {
        tries++;
        return Promise.reject(
          new MarketClosedError("Cannot place order: closed", "current time does not allow entrust"),
        );
      },
    })],
  });
  await using b = await bench({ start: "2025-12-23T00:00Z", recipes: [refused] });
  await b.scheduler.start();
  await b.machine.pass(12 * HOUR);
  await b.scheduler.stop();
  assertEquals([tries, await runsOf(b.store)], [1, ["orders/s1/2025-12-23 failed step live"]]);
});

testBoth(
  "if a run died during a write, Scheduler waits for a person, and skips the later slots of the recipe until the write is resolved",
  async () => {
    const began: string[] = [];
    const hang = orders(began, {
      steps: [step({
        effect: "write",
        run({ stepKey }) {
          began.push(stepKey);
          return began.length === 1 ? new Promise(() => {}) : Promise.resolve();
        },
      })],
    });
    await using b = await bench({ start: "2025-12-22T00:00Z", recipes: [hang, recipe({ name: "read" })] });
    // The process dies: its clock does not advance. Another process takes over after the lease has expired.
    const dying = new TestMachine(b.machine.now());
    await b.another("p0", { machine: dying }).start();
    await dying.pass(2.1 * HOUR);
    assertEquals(await runsOf(b.store), ["orders/s1/2025-12-22 running live"]);
    b.machine.sleep(2.5 * HOUR);
    const second = b.another("p2");
    await second.start();
    await b.machine.pass(DAY);
    assertEquals(await runsOf(b.store), [
      "orders/s1/2025-12-22 waiting_recovery live",
      "read/s1/2025-12-22 ok live",
      "orders/s1/2025-12-23 skipped overlap live",
    ]);
    assertEquals(began.length, 1);
    assert(
      await resolveOutcome(b.store, {
        runKey: "orders/s1/2025-12-22",
        state: "ok",
        actor: "a person",
        now: b.machine.now(),
      }),
    );
    await b.machine.pass(DAY);
    await second.stop();
    assertEquals(began, ["orders/s1/2025-12-22#one", "orders/s1/2025-12-24#one"]);
  },
);

/** Returns a bench whose scheduler has died during a write. The lease of its run has expired. */
async function afterDeathInWrite() {
  const hang = orders([], { steps: [step({ effect: "write", run: () => new Promise(() => {}) })] });
  const b = await bench({ start: "2025-12-22T00:00Z", recipes: [hang] });
  const dying = new TestMachine(b.machine.now());
  await b.another("p0", { machine: dying }).start();
  await dying.pass(2.1 * HOUR);
  b.machine.sleep(2.5 * HOUR);
  return b;
}

testBoth(
  "Scheduler searches ever more rarely for the outcome of an interrupted write, at least every 3 min",
  async () => {
    await using b = await afterDeathInWrite();
    const times: number[] = [];
    const second = b.another("p2", {
      recover: () => {
        times.push(b.machine.now());
        return Promise.resolve(undefined);
      },
    });
    await second.start();
    await b.machine.pass(HOUR);
    await second.stop();
    const gaps = times.slice(1).map((at, index) => Math.round((at - times[index]!) / 1_000));
    assertEquals(gaps.slice(0, 6), [20, 40, 80, 160, 180, 180]);
    assertEquals(Math.max(...gaps), 180);
  },
);

testBoth("Scheduler makes no passes in a loop while a search for an outcome takes long", async () => {
  await using b = await afterDeathInWrite();
  let [searches, ticks] = [0, 0];
  const second = b.another("p2", {
    recover: async () => {
      searches++;
      await wait(b.machine, 2 * MINUTE);
      return undefined;
    },
    onSchedulerEvent: ({ type }) => {
      if (type === "tick" && ++ticks > 1_000) throw new Error("passes in a loop");
    },
  });
  await second.start();
  await b.machine.pass(10 * MINUTE);
  const stopping = second.stop();
  await b.machine.pass(3 * MINUTE);
  await stopping;
  // Each search takes 120 s; the waits after them are 20, 40, 80 and 160 s.
  assertEquals(searches, 4);
  assert(ticks < 100, String(ticks));
});

testBoth(
  "F24: only one of two schedulers uses their account at a time, and an expired lease is taken over",
  async () => {
    let [inside, most] = [0, 0];
    const slow = (name: string) =>
      recipe({
        name,
        needsAccount: true,
        steps: [step({
          async run() {
            most = Math.max(most, ++inside);
            for (let turn = 0; turn < 5; turn++) await Promise.resolve();
            inside--;
          },
        })],
      });
    await using b = await bench({ start: "2025-12-22T08:00Z", recipes: [slow("a"), slow("b"), slow("c")] });
    // A process that lost its power has the account's lease until a minute after the slot.
    await b.store.run(
      "insert into lease (name, holder, fence, until) values ('account:default', 'gone x', 7, ?)",
      at("2025-12-22T08:46:00Z"),
    );
    const second = b.another("p2");
    await b.scheduler.start();
    await second.start();
    await b.machine.pass(45 * MINUTE + 30_000);
    assertEquals((await runsOf(b.store)).map((line) => line.split(" ")[1]), ["due", "due", "due"]);
    await b.machine.pass(2 * MINUTE);
    await Promise.all([b.scheduler.stop(), second.stop()]);
    assertEquals((await runsOf(b.store)).map((line) => line.split(" ")[1]), ["ok", "ok", "ok"]);
    assertEquals(most, 1);
    assertEquals((await b.store.get<{ fence: number }>("select fence from lease"))!.fence, 10);
  },
);

testBoth(
  "Scheduler.stop() aborts reads and makes the run due again; the next process keeps its finished steps",
  async () => {
    const done: string[] = [];
    const long = recipe({
      steps: [
        step({ id: "first", run: () => Promise.resolve(done.push("first")) }),
        step({
          id: "second",
          needs: ["first"],
          run: ({ signal, attempt, outputs }) => {
            done.push(`second ${attempt} ${outputs.first}`);
            if (attempt > 1) return Promise.resolve();
            return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
          },
        }),
      ],
    });
    await using b = await bench({ start: "2025-12-22T08:44Z", recipes: [long] });
    await b.scheduler.start();
    await b.machine.pass(2 * MINUTE);
    assertEquals(await b.scheduler.stop(), true);
    assertEquals(await runsOf(b.store), ["eod/s1/2025-12-22 due stopped live"]);
    const second = b.another("p2");
    await second.start();
    await b.machine.pass(MINUTE);
    await second.stop();
    assertEquals(done, ["first", "second 1 1", "second 2 1"]);
    assertEquals(await runsOf(b.store), ["eod/s1/2025-12-22 ok live"]);
  },
);

testBoth("Scheduler.stop() waits until a write has ended", async () => {
  let finish = () => {};
  const slow = orders([], {
    steps: [step({
      effect: "write",
      async run({ sleep }) {
        await sleep!(70_000); // the runner's sleep, which the stop must not end
        await new Promise<void>((resolve) => finish = resolve);
      },
    })],
  });
  await using b = await bench({ start: "2025-12-22T01:59Z", recipes: [slow] });
  await b.scheduler.start();
  await b.machine.pass(2 * MINUTE);
  const stopped = b.scheduler.stop();
  await b.machine.pass(20_000);
  assertEquals(await runsOf(b.store), ["orders/s1/2025-12-22 running live"]);
  finish();
  assertEquals(await stopped, true);
  assertEquals(await runsOf(b.store), ["orders/s1/2025-12-22 ok live"]);
});

testBoth("Scheduler resolves overlaps by the recipe's policy", async () => {
  const rows: Record<string, string[]> = {};
  for (const overlap of ["skip", "queue", "cancel", "parallel"] as const) {
    const slow = recipe({
      overlap,
      schedules: [every(10 * MINUTE)],
      misfire: { graceMs: HOUR, action: "skip", max: 0 },
      steps: [step({
        run: ({ signal, slot }) =>
          new Promise((resolve, reject) => {
            if (slot !== "2025-01-01T00:10:00Z") return resolve(null);
            b.machine.setTimer(35 * MINUTE, () => resolve(null));
            signal.addEventListener("abort", () => reject(signal.reason));
          }),
      })],
    });
    const b = await bench({ start: "2025-01-01T00:05Z", recipes: [slow] });
    await b.scheduler.start();
    await b.machine.pass(44 * MINUTE);
    await b.scheduler.stop();
    rows[overlap] = (await runsOf(b.store)).map((line) => line.replace(/^.*T00:(\d\d):00Z/, "$1"));
    await b[Symbol.asyncDispose]();
  }
  assertEquals(rows, {
    skip: ["10 ok live", "20 skipped overlap live", "30 skipped overlap live", "40 skipped overlap live"],
    queue: ["10 ok live", "20 skipped superseded live", "30 skipped superseded live", "40 ok live"],
    cancel: ["10 cancelled Cannot continue the run: overlap live", "20 ok live", "30 ok live", "40 ok live"],
    parallel: ["10 ok live", "20 ok live", "30 ok live", "40 ok live"],
  });
});

testBoth(
  "pauseRecipe() writes rows for skipped slots; resumeRecipe() catches up only on request",
  async () => {
    for (const catchUp of [false, true]) {
      await using b = await bench({ start: "2025-12-08T00:00Z", recipes: [recipe()] });
      await b.scheduler.start();
      await b.machine.pass(DAY);
      await pauseRecipe(b.store, "eod", { why: "away", now: b.machine.now() });
      await b.machine.pass(2 * DAY);
      await resumeRecipe(b.store, recipe(), {
        calendars: builtInCalendars,
        ...listing(b.machine.now()),
        catchUp,
      });
      await b.machine.pass(DAY);
      await b.scheduler.stop();
      const missed = catchUp ? "ok catchup" : "skipped paused live";
      assertEquals(await runsOf(b.store), [
        "eod/s1/2025-12-08 ok live",
        `eod/s1/2025-12-09 ${missed}`,
        `eod/s1/2025-12-10 ${missed}`,
        "eod/s1/2025-12-11 ok live",
      ]);
    }
  },
);

testBoth(
  "Scheduler.reload() replaces all recipes: edited ones start now, missing ones are paused, not forgotten",
  async () => {
    await using b = await bench({
      start: "2025-12-08T00:00Z",
      recipes: [recipe(), recipe({ name: "gone" })],
    });
    await b.scheduler.start();
    await b.machine.pass(DAY);
    const edited = recipe({ schedules: [{ ...close45, at: { anchor: "open", offsetMs: 0 } }] });
    await b.scheduler.reload([edited]);
    await b.machine.pass(DAY);
    await b.scheduler.reload([edited, recipe({ name: "gone" })]);
    await b.machine.pass(DAY);
    await b.scheduler.stop();
    assertEquals(await runsOf(b.store), [
      "eod/s1/2025-12-08 ok live",
      "gone/s1/2025-12-08 ok live",
      "eod/s1/2025-12-09 ok live",
      "eod/s1/2025-12-10 ok live",
      "gone/s1/2025-12-10 ok live",
    ]);
    await assertRejects(
      async () => await b.scheduler.reload([edited, edited]),
      TypeError,
      'two have the name "eod"',
    );
    // A process that read the recipes before the edit must not undo it.
    const stale = b.another("p2", { recipes: [recipe()] });
    await b.store.run("update schedule set updated_at = ?", b.machine.now() + 1);
    await stale.tick();
    assertEquals(
      (await b.store.get<{ spec: string }>("select spec from schedule where recipe = 'eod'"))!.spec,
      JSON.stringify(edited.schedules[0]),
    );
  },
);

testBoth("Scheduler runs an instant once, for the first schedule, if two schedules name it", async () => {
  const twice = recipe({ schedules: [close45, { ...close45, id: "s2", days: "last-session-of-week" }] });
  await using b = await bench({ start: "2025-12-11T00:00Z", recipes: [twice] });
  await b.scheduler.start();
  await b.machine.pass(2 * DAY);
  await b.scheduler.stop();
  assertEquals(await runsOf(b.store), [
    "eod/s1/2025-12-11 ok live",
    "eod/s1/2025-12-12 ok live",
    "eod/s2/2025-12-12 skipped duplicate_slot live",
  ]);
});

Deno.test(
  "Scheduler writes one row for each slot and never moves a watermark back, for random clock histories",
  async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = randomFrom(seed);
    let rows = 0;
    for (let round = 0; round < 25; round++) {
      const schedules: CompiledSchedule[] = [
        every(Math.ceil(random() * 50) * MINUTE),
        { id: "c", form: "cron", cron: "*/20 1,2,3 * * *", timezone: "America/New_York" },
      ];
      await using b = await bench({ start: "2026-10-31T12:00Z", recipes: [recipe({ schedules })] });
      const processes = [b.scheduler, b.another("p2"), b.another("p3")];
      for (const each of processes) await each.tick();
      const first = b.machine.now();
      let [highest, watermark] = [first, first];
      for (let turn = 0; turn < 40; turn++) {
        const kind = random();
        b.machine.jump(
          Math.floor((kind < 0.2 ? -random() * 5 : kind < 0.4 ? random() * 12 : random() * 0.5) * HOUR),
        );
        highest = Math.max(highest, b.machine.now());
        await processes[Math.floor(random() * 3)]!.tick();
        const now = (await b.store.get<{ w: number }>("select min(watermark) as w from schedule"))!.w;
        assert(now >= watermark, `watermark went back, seed ${seed}`);
        watermark = now;
      }
      // The slots are exactly the multiples of the period up to the latest time of a tick.
      const found = (await b.store.all<{ slot_at: number }>(
        "select slot_at from run where schedule_id = 's1' order by slot_at",
      )).map(({ slot_at }) => iso(slot_at));
      const period = (schedules[0] as { everyMs: number }).everyMs; // made above
      const expected: string[] = [];
      for (let slot = (Math.floor(first / period) + 1) * period; slot <= highest; slot += period) {
        expected.push(iso(slot));
      }
      assertEquals(found, expected, `seed ${seed}, round ${round}`);
      assertEquals(await verifyStore(b.store), [], `seed ${seed}`);
      rows += found.length;
    }
    assert(rows > 500, `${rows} rows are too few, seed ${seed}`);
  },
);

testBoth("a run that jitter delays begins on time, however rarely the scheduler makes a pass", async () => {
  const often = recipe({ name: "often", schedules: [every(10 * MINUTE, 2 * MINUTE)] });
  await using b = await bench({ start: "2025-12-22T08:44Z", recipes: [often], pollMs: 10 * MINUTE });
  // A slot of a recipe that no process here can run stays due.
  const other = b.another("p2", { recipes: [recipe({ name: "other" })] });
  await other.tick();
  b.machine.jump(MINUTE);
  await other.tick();
  await b.scheduler.start();
  await b.machine.pass(HOUR);
  await b.scheduler.stop();
  const rows = await b.store.all<{ recipe: string; late: number | null }>(
    "select recipe, started_at - due_at as late from run order by slot_at",
  );
  assertEquals(rows.map(({ recipe, late }) => [recipe, late]), [
    ["other", null],
    ...Array.from({ length: 6 }, () => ["often", 0]),
  ]);
});

testBoth("Scheduler keeps no output when it takes over a run of another version of the recipe", async () => {
  for (const sha256 of ["00", "01"]) {
    const done: string[] = [];
    const read = (by: string, given: Partial<CompiledRecipe> = {}) =>
      recipe({
        steps: [
          step({ id: "a", run: () => Promise.resolve(void done.push(`${by} a`)) }),
          step({
            id: "b",
            run: () => by === "old" ? new Promise(() => {}) : Promise.resolve(void done.push("b")),
          }),
        ],
        ...given,
      });
    await using b = await bench({ start: "2025-08-15T08:40Z", recipes: [read("old")] });
    await b.scheduler.start();
    await b.machine.pass(6 * MINUTE);
    assertEquals(await runsOf(b.store), ["eod/s1/2025-08-15 running live"]);
    // This edit of the row pretends that the first process was suspended until its lease expired.
    await b.store.run("update run set lease_until = 0, holder = 'dead'");
    await using other = b.another("p2", { recipes: [read("new", { sha256 })] });
    await other.start();
    await b.machine.pass(MINUTE);
    await other.stop();
    assertEquals(done, sha256 === "00" ? ["old a", "b"] : ["old a", "new a", "b"]);
    assertEquals(await runsOf(b.store), ["eod/s1/2025-08-15 ok live"]);
  }
});

testBoth("Scheduler sends no write of a recipe that was changed while its run was interrupted", async () => {
  for (const [sha256, effect] of [["00", "write"], ["01", "write"], ["01", "read"]] as const) {
    const began: string[] = [];
    const changed = orders(began, {
      sha256,
      steps: [step({ id: "two", effect: "write", run: () => Promise.resolve(void began.push("two")) })],
    });
    await using b = await bench({ start: "2025-12-22T02:00Z", recipes: [changed] });
    const key = "orders/s1/2025-12-22";
    const slot = { key: "2025-12-22", at: at("2025-12-22T02:00Z"), session: "2025-12-22" };
    const planned = { ...changed, sha256: "00" };
    const run = planRun(builtInCalendars, planned, changed.schedules[0]!, slot, {
      kind: "live",
      traceId: "t",
    });
    await insertRun(b.store, run, b.machine.now());
    await b.store.run(
      `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, output, started_at)
        values (?, 'one', 0, 1, ?, 'one', 'ok', 'null', 0)`,
      key,
      effect,
    );
    await b.scheduler.start();
    await b.machine.pass(MINUTE);
    await b.scheduler.stop();
    const isSame = sha256 === "00";
    assertEquals(began, isSame ? ["two"] : []);
    assertEquals(await runsOf(b.store), [`${key} ${isSame ? "ok" : "failed recipe_changed"} live`]);
    const row = (await findRun(b.store, key))!;
    const text = await describeRun(b.store, row, { zone: "UTC", now: b.machine.now() });
    assertEquals(text.includes("its recipe was changed while it was interrupted"), !isSame, text);
  }
});
