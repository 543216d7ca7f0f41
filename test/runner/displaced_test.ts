/** Tests of logins that another device took over, and of warnings at the end of runs. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { DisplacedError, TransportError } from "../../lib/errors.ts";
import { pauseRecipe, resumeRecipe } from "../../lib/runner/claims/decisions.ts";
import { slownessOf } from "../../lib/runner/run/report.ts";
import { why } from "../../lib/runner/explain/why.ts";
import { testBoth } from "./both_stores.ts";
import { bench, DAY, every, HOUR, MINUTE, recipe, runsOf, step } from "./support.ts";

const listing = (now: number) => ({ now, loadedAt: now, lookbackMs: 14 * DAY, drawTraceId: () => "1" });

testBoth(
  "a login that was taken over blocks every recipe of the account, in every process, until it is resumed",
  async () => {
    let [asked, exported, told] = [0, 0, 0];
    let taken = true;
    const displaced = () => Promise.reject(new DisplacedError("Cannot ask: displaced", "1015"));
    const keep = recipe({
      name: "keep",
      class: "keep-alive",
      needsAccount: true,
      schedules: [every(20 * MINUTE)],
      misfire: { graceMs: 20 * MINUTE, action: "skip", max: 1 },
      steps: [step({ run: () => (asked++, taken ? displaced() : Promise.resolve({ ok: true })) })],
    });
    const eod = recipe({
      name: "eod",
      needsAccount: true,
      schedules: [every(HOUR)],
      misfire: { graceMs: 15 * MINUTE, action: "latest", max: 1 },
      steps: [step({ run: () => Promise.resolve(++exported) })],
    });
    const tell = recipe({
      name: "tell",
      schedules: [every(HOUR)],
      steps: [step({ effect: "local", run: () => Promise.resolve(++told) })],
    });
    const notify = [{ on: "failure" as const, uses: "mail", with: {}, step: step() }];
    await using b = await bench({ start: "2025-12-22T00:10Z", recipes: [{ ...keep, notify }, eod, tell] });
    const second = b.another("p2");
    await b.scheduler.start();
    await second.start();
    await b.machine.pass(2 * HOUR);
    assertEquals([asked, exported, told], [1, 0, 2], "only the recipe that calls no broker continues");
    assertEquals((await runsOf(b.store)).filter((line) => line.startsWith("keep")).slice(0, 3), [
      "keep/s1/2025-12-22T00:20:00Z failed displaced live",
      "keep/s1/2025-12-22T00:40:00Z skipped paused live",
      "keep/s1/2025-12-22T01:00:00Z skipped paused live",
    ]);
    assertEquals(
      await b.store.all<{ why: string | null }>("select paused_reason as why from schedule order by recipe"),
      [{ why: null }, { why: "another device took over the login" }, { why: null }],
    );
    assertEquals(
      (await b.store.get<{ n: number }>("select count(*) as n from outbox where channel = 'mail'"))!.n,
      1,
    );
    assertStringIncludes(
      await why(b.store, eod, { calendars: builtInCalendars, date: "2025-12-22", now: b.machine.now() }),
      'another device took over the login (found by run "keep/s1/2025-12-22T00:20:00Z"); once you may take it back, run: ' +
        "hsgate resume keep",
    );
    // Resuming another recipe does not release the login.
    await pauseRecipe(b.store, "eod", { why: "away", now: b.machine.now() });
    await resumeRecipe(b.store, eod, {
      calendars: builtInCalendars,
      ...listing(b.machine.now()),
      catchUp: false,
    });
    await b.machine.pass(70 * MINUTE);
    assertEquals([asked, exported], [1, 0]);
    taken = false;
    await resumeRecipe(b.store, keep, {
      calendars: builtInCalendars,
      ...listing(b.machine.now()),
      catchUp: false,
    });
    await b.machine.pass(HOUR);
    await Promise.all([b.scheduler.stop(), second.stop()]);
    assertEquals(asked, 4);
    assertEquals(exported >= 1, true);
  },
);

testBoth("a login that is no longer kept alive causes one warning before it expires", async () => {
  let up = true;
  const keep = recipe({
    name: "keep",
    class: "keep-alive",
    schedules: [every(HOUR)],
    misfire: { graceMs: HOUR, action: "skip", max: 1 },
    steps: [step({
      run: ({ now }) =>
        up
          ? Promise.resolve({ ok: true, holdsUntil: new Date(now() + 3 * HOUR).toISOString() })
          : Promise.reject(new TransportError("Cannot reach it: refused")),
    })],
  });
  await using b = await bench({ start: "2025-12-22T00:30Z", recipes: [keep] });
  await b.scheduler.start();
  await b.machine.pass(HOUR); // kept at 01:00, so it lasts until 04:00
  up = false;
  await b.machine.pass(6 * HOUR);
  await b.scheduler.stop();
  const warnings = b.events.flatMap((event) =>
    event.type === "warning" ? [`${event.runKey} ${event.message}`] : []
  );
  assertEquals(warnings, [
    "keep/s1/2025-12-22T03:00:00Z the login expires at 2025-12-22T04:00:00Z unless a query succeeds",
  ]);
});

testBoth(
  "three runs in a row that take longer than their interval cause one warning, and are shown until a run is fast",
  async () => {
    let takesMs = 25 * MINUTE;
    const slow = recipe({
      schedules: [every(20 * MINUTE)],
      overlap: "skip",
      misfire: { graceMs: 5 * MINUTE, action: "skip", max: 1 },
      steps: [step({ run: ({ sleep }) => sleep!(takesMs) })],
    });
    await using b = await bench({ start: "2025-12-22T00:10Z", recipes: [slow], leaseMs: 10 * MINUTE });
    await b.scheduler.start();
    await b.machine.pass(4 * HOUR);
    const schedule = slow.schedules[0]!; // the recipe has one schedule
    const warnings = () => b.events.filter(({ type }) => type === "warning").length;
    assertEquals([warnings(), (await slownessOf(b.store, builtInCalendars, "eod", schedule))?.tookMs], [
      1,
      25 * MINUTE,
    ]);
    const events = await b.store.all<{ run_key: string; data: string }>(
      "select run_key, data from event where kind = 'too_slow'",
    );
    assertEquals(events.map(({ run_key, data }) => `${run_key} ${data}`), [
      'eod/s1/2025-12-22T01:40:00Z {"tookMs":1500000,"periodMs":1200000}',
    ]);
    assertStringIncludes(
      await why(b.store, slow, { calendars: builtInCalendars, date: "2025-12-22", now: b.machine.now() }),
      'schedule "s1" is too slow: 3 runs in a row took longer than the time to the next slot (1500.0 s; the next slot came after 1200.0 s)',
    );
    takesMs = MINUTE;
    await b.machine.pass(HOUR);
    assertEquals([warnings(), await slownessOf(b.store, builtInCalendars, "eod", schedule)], [1, undefined]);
    takesMs = 25 * MINUTE;
    await b.machine.pass(3 * HOUR);
    await b.scheduler.stop();
    assertEquals(warnings(), 2);
  },
);
