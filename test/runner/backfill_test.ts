import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { backfill, openSlot, planBackfill, rerun } from "../../lib/runner/schedule/backfill.ts";
import { pauseRecipe, resumeRecipe } from "../../lib/runner/claims/decisions.ts";
import type { StepContext } from "../../lib/recipes/compiled.ts";
import { testBoth } from "./both_stores.ts";
import { bench, close45, DAY, every, HOUR, MINUTE, recipe, runsOf, step } from "./support.ts";

const christmas = { from: "2025-12-20", to: "2025-12-29", drawTraceId: () => "1" };

testBoth(
  "planBackfill() lists the runs to make, the runs that stay, and days without a slot, and changes nothing",
  async () => {
    const eod = recipe({
      schedules: [
        { ...close45, id: "late" },
        // On full days, this schedule has the same instant as `late`. There it is a duplicate, which must not run as
        // well.
        { ...close45, id: "wall", at: { time: "16:45" } },
      ],
    });
    await using b = await bench({ start: "2025-12-22T00:00Z", recipes: [eod] });
    await b.scheduler.start();
    await b.machine.pass(DAY);
    await b.scheduler.stop();
    assertEquals(await runsOf(b.store), [
      "eod/late/2025-12-22 ok live",
      "eod/wall/2025-12-22 skipped duplicate_slot live",
    ]);
    b.machine.jump(7 * DAY + 12 * HOUR);
    const plan = await planBackfill(b.store, eod, {
      calendars: builtInCalendars,
      ...christmas,
      mode: "missing",
      now: b.machine.now(),
    });
    assertEquals(plan.slots.map(({ day, run, was }) => [day, run.runKey, was]), [
      ["2025-12-23", "eod/late/2025-12-23", undefined],
      ["2025-12-24", "eod/late/2025-12-24", undefined],
      ["2025-12-24", "eod/wall/2025-12-24", undefined],
      ["2025-12-29", "eod/late/2025-12-29", undefined],
    ]);
    assertEquals(plan.left.map(({ runKey, state, reason }) => [runKey, state, reason]), [
      ["eod/late/2025-12-22", "ok", undefined],
      ["eod/wall/2025-12-22", "skipped", "duplicate_slot"],
    ]);
    assertEquals(plan.none.filter(({ why }) => why === "a weekend").map(({ day }) => day), [
      "2025-12-20",
      "2025-12-21",
      "2025-12-27",
      "2025-12-28",
    ]);
    assertEquals([...new Set(plan.none.filter(({ why }) => why === "a holiday").map(({ day }) => day))], [
      "2025-12-25",
      "2025-12-26",
    ]);
    assertEquals((await runsOf(b.store)).length, 2, "nothing was written");
  },
);

testBoth(
  "a backfilled run has its own slot and session, and a recipe that it runs as a step has the same",
  async () => {
    const seen: unknown[] = [];
    const look = (name: string) => ({ session, slot, previousSession }: StepContext) => {
      seen.push([name, slot, session?.date, session?.halfDay, previousSession?.date]);
      return Promise.resolve(null);
    };
    const inner = recipe({ name: "inner", steps: [step({ run: look("inner") })] });
    const outer = recipe({
      name: "outer",
      steps: [
        step({ id: "a", run: look("outer") }),
        step({ id: "b", run: ({ runRecipe }) => runRecipe("inner", {}) }),
      ],
    });
    await using b = await bench({ start: "2026-03-02T12:00Z", recipes: [inner, outer] });
    const options = {
      from: "2025-12-24",
      to: "2025-12-24",
      mode: "missing" as const,
      drawTraceId: () => "1",
    };
    assertEquals(
      await backfill(b.store, outer, { calendars: builtInCalendars, ...options, now: b.machine.now() }),
      ["outer/s1/2025-12-24"],
    );
    await b.scheduler.drain();
    assertEquals(seen, [
      ["outer", "2025-12-24T04:45:00Z", "2025-12-24", true, "2025-12-23"],
      ["inner", "2025-12-24T04:45:00Z", "2025-12-24", true, "2025-12-23"],
    ]);
    // With fromStart, the inner run starts over too.
    await rerun(b.store, {
      calendars: builtInCalendars,
      runKey: "outer/s1/2025-12-24",
      fromStart: true,
      now: b.machine.now(),
    });
    await b.scheduler.drain();
    assertEquals(seen.length, 4);
  },
);

testBoth(
  "planBackfill() rejects recipes that write or keep logins, future days, and days outside the calendar",
  async () => {
    await using b = await bench({ start: "2025-12-22T12:00Z", recipes: [] });
    const plan = (given: Parameters<typeof recipe>[0], from: string, to: string) => async () =>
      await planBackfill(b.store, recipe(given), {
        calendars: builtInCalendars,
        from,
        to,
        mode: "all",
        now: b.machine.now(),
        drawTraceId: () => "1",
      });
    const week = ["2025-12-15", "2025-12-19"] as const;
    await assertRejects(plan({ class: "write" }, ...week), TypeError, "nothing can be traded on a past day");
    await assertRejects(plan({ class: "keep-alive" }, ...week), TypeError, "it keeps a login alive");
    await assertRejects(plan({ schedules: [] }, ...week), TypeError, "it has no schedule");
    await assertRejects(
      plan({}, "2025-12-19", "2025-12-15"),
      RangeError,
      "the last day comes before the first",
    );
    await assertRejects(
      plan({}, "2025-12-19", "2025-12-23"),
      RangeError,
      "the last day is in the future; today is 2025-12-22",
    );
    await assertRejects(plan({}, "2009-12-19", "2010-12-23"), RangeError, "the calendar of XHKG covers ");
    await assertRejects(
      plan({ schedules: [every(HOUR)] }, "2005-12-19", "2025-12-19"),
      RangeError,
      "the span is longer than 3660 days",
    );
    await assertRejects(
      plan({ schedules: [every(1_000)] }, "2016-12-19", "2025-12-19"),
      RangeError,
      "it has more than 100000 slots; give fewer days",
    );
  },
);

testBoth(
  "openSlot() opens a run that is due again after a stop, but no run that another process has claimed",
  async () => {
    const hang = recipe({
      steps: [
        step({
          run: ({ signal }) =>
            new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
        }),
      ],
    });
    await using b = await bench({ start: "2025-12-24T12:00Z", recipes: [hang] });
    const options = {
      from: "2025-12-23",
      to: "2025-12-23",
      mode: "missing" as const,
      drawTraceId: () => "1",
    };
    const plan = async () =>
      await planBackfill(b.store, hang, { calendars: builtInCalendars, ...options, now: b.machine.now() });
    const [slot] = (await plan()).slots;
    const open = async () => await openSlot(b.store, slot!, { mode: "missing", now: b.machine.now() }); // the plan has one slot
    assertEquals(await open(), true);
    await b.scheduler.start();
    await b.machine.pass(MINUTE);
    assertEquals([await runsOf(b.store), await open(), (await plan()).slots], [
      ["eod/s1/2025-12-23 running backfill"],
      false,
      [],
    ]);
    await b.scheduler.stop();
    assertEquals([await runsOf(b.store), (await plan()).slots.length, await open()], [
      ["eod/s1/2025-12-23 due stopped backfill"],
      1,
      true,
    ]);
  },
);

testBoth(
  "rerun() keeps successful steps, rejects a day without a session, and returns false for an unknown run",
  async () => {
    let [first, second] = [0, 0];
    const flaky = recipe({
      steps: [
        step({ id: "a", run: () => Promise.resolve(++first) }),
        step({ id: "b", run: () => (++second === 1 ? Promise.reject(new Error("no")) : Promise.resolve()) }),
      ],
    });
    await using b = await bench({ start: "2025-12-24T00:00Z", recipes: [flaky], tickMs: MINUTE });
    await b.scheduler.start();
    await b.machine.pass(2 * DAY);
    const again = { fromStart: false, now: b.machine.now() };
    assertEquals(
      await rerun(b.store, { calendars: builtInCalendars, ...again, runKey: "eod/s1/2025-12-24" }),
      true,
    );
    await b.machine.pass(MINUTE);
    await b.scheduler.stop();
    assertEquals([first, second, (await runsOf(b.store))[0]], [1, 2, "eod/s1/2025-12-24 ok backfill"]);
    await assertRejects(
      async () =>
        await rerun(b.store, { calendars: builtInCalendars, ...again, runKey: "eod/s1/2025-12-25" }),
      TypeError,
      "its exchange was closed on that day",
    );
    assertEquals(
      await rerun(b.store, { calendars: builtInCalendars, ...again, runKey: "eod/s1/2020-01-01" }),
      false,
    );
  },
);

testBoth(
  "resumeRecipe() with catchUp makes as many of the newest slots due as the misfire policy allows",
  async () => {
    const eod = recipe({ misfire: { graceMs: 15 * MINUTE, action: "all", max: 2 } });
    await using b = await bench({ start: "2025-12-08T00:00Z", recipes: [eod] });
    await b.scheduler.start();
    await b.machine.pass(DAY);
    await pauseRecipe(b.store, "eod", { why: "away", now: b.machine.now() });
    await b.machine.pass(3 * DAY);
    const now = b.machine.now();
    const listing = { now, loadedAt: now, lookbackMs: 14 * DAY, drawTraceId: () => "1" };
    assertEquals(
      await resumeRecipe(b.store, eod, { calendars: builtInCalendars, ...listing, catchUp: true }),
      [
        "eod/s1/2025-12-10",
        "eod/s1/2025-12-11",
      ],
    );
    await b.machine.pass(HOUR);
    await b.scheduler.stop();
    assertEquals(await runsOf(b.store), [
      "eod/s1/2025-12-08 ok live",
      "eod/s1/2025-12-09 skipped paused live",
      "eod/s1/2025-12-10 ok catchup",
      "eod/s1/2025-12-11 ok catchup",
    ]);
  },
);
