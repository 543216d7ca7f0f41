/** Tests of the conditions under which a recipe may write. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { approveRun, pauseRecipe, refuseRun, resumeRecipe } from "../../lib/runner/claims/decisions.ts";
import { rerun } from "../../lib/runner/schedule/backfill.ts";
import { resolveOutcome } from "../../lib/runner/claims/claims.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { Store } from "../../lib/store/store.ts";
import { verifyStore } from "../../lib/runner/queries/store_care.ts";
import { storeRiskOf } from "../../lib/store/place.ts";
import { addLatestSlot, addManualRun } from "../../lib/runner/schedule/starts.ts";
import { testBoth } from "./both_stores.ts";
import { at, bench, close45, DAY, HOUR, MINUTE, orders, recipe, runsOf, step } from "./support.ts";

const heldOf = async (store: Store) =>
  (await store.all<{ line: string }>(
    "select run_key || ' ' || data as line from event where kind = 'held' order by seq",
  ))
    .map(({ line }) => line);

Deno.test("storeRiskOf() detects memory, temporary folders, container layers and network file systems", () => {
  const temporary = ["/tmp", "/data/scratch/"];
  const about = (path: string, fileSystem?: string) => storeRiskOf(path, { fileSystem, temporary });
  assertEquals(about(":memory:"), { why: "it is kept in memory", blocksWrites: true });
  assertEquals(about("/dev/shm/a.db", "tmpfs"), {
    why: "it is on a file system in memory (tmpfs)",
    blocksWrites: true,
  });
  assertEquals(about("/data/scratched.db", "ext4"), undefined);
  assertEquals(about("/home/me/a.db"), undefined);
  assertEquals(about("/mnt/net/a.db", "nfs4")?.blocksWrites, true);
  assertStringIncludes(about("/mnt/net/a.db", "nfs4")!.why, "network file system (nfs4)");
  // A store that survives the process causes only a warning. The other stores above block writes.
  assertEquals(about("/home/me/a.db", "overlay")?.blocksWrites, false);
  assertEquals(about("/data/scratch/a.db", "ext4"), {
    why: 'it is in "/data/scratch/", which the system empties',
    blocksWrites: false,
  });
  assertEquals(about("/tmp/a.db")?.why, 'it is in "/tmp", which the system empties');
});

testBoth("a store that is not durable blocks writes but not reads, and is reported once", async () => {
  const began: string[] = [];
  const store = await openSqlite(":memory:", { risk: "it is kept in memory" });
  await using b = await bench({ start: "2025-12-22T00:00Z", recipes: [orders(began), recipe()], store });
  await b.scheduler.start();
  await b.machine.pass(DAY);
  await b.scheduler.stop();
  assertEquals(began, []);
  assertEquals(await runsOf(store), [
    "orders/s1/2025-12-22 skipped misfire live",
    "eod/s1/2025-12-22 ok live",
  ]);
  const because = "the store is not durable: it is kept in memory";
  assertEquals(await heldOf(store), [`orders/s1/2025-12-22 {"because":"unsafe","by":"${because}"}`]);
  const told = b.told.flatMap((event) =>
    event.type === "held" ? [`${event.runKey} ${event.because} ${event.by}`] : []
  );
  assertEquals(told, [`orders/s1/2025-12-22 unsafe ${because}`]);
});

testBoth("a clock behind the store blocks writes until the clock has caught up", async () => {
  const began: string[] = [];
  await using b = await bench({ start: "2025-12-22T01:59:50Z", recipes: [orders(began)] });
  await b.scheduler.tick();
  // Another process whose clock was ahead has made a pass and listed the slot.
  b.machine.jump(MINUTE);
  await b.scheduler.tick();
  b.machine.jump(-45_000);
  await b.scheduler.drain();
  assertEquals([began, (await heldOf(b.store)).length], [[], 1]);
  assertStringIncludes(
    (await heldOf(b.store))[0]!,
    "clock is behind the last scheduler pass in the store at ",
  );
  b.machine.jump(43_000); // a difference of two seconds is allowed
  await b.scheduler.drain();
  assertEquals(began, ["orders/s1/2025-12-22#one"]);
});

Deno.test("a write step does not begin outside the window, though its run began within it", async () => {
  const began: string[] = [];
  let readMs = 0;
  const slow = orders(began, {
    timeoutMs: 2 * DAY,
    steps: [
      step({ id: "look", run: ({ sleep }) => sleep!(readMs) }),
      step({
        id: "write",
        effect: "write",
        run: ({ stepKey }) => Promise.resolve(void began.push(stepKey)),
      }),
    ],
  });
  await using b = await bench({ start: "2025-12-22T00:00Z", recipes: [slow] });
  await b.scheduler.start();
  readMs = 5 * HOUR + 49 * MINUTE; // until 15:49, a minute before the window closes
  await b.machine.pass(12 * HOUR);
  readMs = 5 * HOUR + 51 * MINUTE;
  await b.machine.pass(DAY);
  // This run lasts overnight. Then the window of the next day is open, but that is not the window of the slot.
  b.machine.jump(at("2025-12-29T00:00Z") - b.machine.now());
  readMs = 24.5 * HOUR;
  await b.machine.pass(26.75 * HOUR);
  await b.scheduler.stop();
  assertEquals(began, ["orders/s1/2025-12-22#write"]);
  assertEquals((await runsOf(b.store)).filter((line) => !line.includes("holiday")), [
    "orders/s1/2025-12-22 ok live",
    "orders/s1/2025-12-23 failed window live",
    "orders/s1/2025-12-24 skipped deadline live",
    "orders/s1/2025-12-29 failed window live",
    "orders/s1/2025-12-30 skipped overlap live",
  ]);
  assertEquals(await verifyStore(b.store), []);
});

Deno.test("a write follows the actual session: half-days shorten its window", async () => {
  const began: string[] = [];
  // The window is 07:00 to 14:30 on this day, so it is limited to the session: 09:30 to ten minutes before the close.
  const late = orders(began, {
    schedules: [{ ...close45, at: { time: "08:00" } }],
    misfire: { graceMs: DAY, action: "skip", max: 0 },
    window: {
      mic: "XHKG",
      from: { anchor: "close", offsetMs: -5 * HOUR },
      to: { anchor: "open", offsetMs: 5 * HOUR },
    },
    steps: [
      step({
        effect: "write",
        run: ({ now }) => Promise.resolve(void began.push(new Date(now()).toISOString())),
      }),
    ],
  });
  await using b = await bench({ start: "2025-12-23T12:00Z", recipes: [late] });
  await b.scheduler.start();
  await b.machine.pass(14 * HOUR);
  await b.scheduler.stop();
  assertEquals(began, ["2025-12-24T01:30:00.000Z"]);
  const deadline = (await b.store.get<{ at: number }>("select deadline_at as at from run"))!.at;
  assertEquals(deadline, at("2025-12-24T03:50:00Z"));
});

testBoth("two writes of one account never run at once, not even when a lease has just expired", async () => {
  const began: string[] = [];
  const hang = orders(began, {
    name: "hang",
    needsAccount: false,
    steps: [step({ effect: "write", run: () => new Promise(() => {}) })],
  });
  await using b = await bench({ start: "2025-12-22T01:59Z", recipes: [hang, orders(began)] });
  await b.scheduler.start();
  await b.machine.pass(2 * MINUTE);
  assertEquals(await runsOf(b.store), [
    "hang/s1/2025-12-22 running live",
    "orders/s1/2025-12-22 due held:account live",
  ]);
  // The lease of the run of `hang` has expired, but no process has taken the run over. So the run may still be writing.
  await b.store.run("update run set lease_until = 0 where recipe = 'hang'");
  await b.store.run("update lease set until = 0");
  const second = b.another("p2", { recipes: [orders(began)] });
  await second.drain();
  assertEquals(began, []);
});

testBoth("an unresolved write blocks other writes of the account until it is resolved", async () => {
  const began: string[] = [];
  const lost = orders(began, {
    name: "lost",
    schedules: [{ ...close45, at: { anchor: "open", offsetMs: 10 * MINUTE } }],
    steps: [step({ effect: "write", run: () => Promise.reject(new Error("the line went dead")) })],
  });
  await using b = await bench({ start: "2025-12-22T01:00Z", recipes: [lost, orders(began)] });
  await b.scheduler.start();
  await b.machine.pass(62 * MINUTE);
  assertEquals(await runsOf(b.store), [
    "lost/s1/2025-12-22 unknown write live",
    "orders/s1/2025-12-22 due held:recovery live",
  ]);
  assertEquals(await heldOf(b.store), [
    'orders/s1/2025-12-22 {"because":"recovery","by":"lost/s1/2025-12-22"}',
  ]);
  const decision = {
    runKey: "lost/s1/2025-12-22",
    actor: "me",
    because: "none in the app",
    now: b.machine.now(),
  };
  await resolveOutcome(b.store, { ...decision, state: "unknown" });
  await b.machine.pass(MINUTE);
  assertEquals(began, [], "unknown keeps the account blocked");
  await resolveOutcome(b.store, { ...decision, state: "failed" });
  await b.machine.pass(MINUTE);
  await b.scheduler.stop();
  assertEquals(began, ["orders/s1/2025-12-22#one"]);
});

testBoth("nothing repeats a write or makes a write for a past slot", async () => {
  const began: string[] = [];
  const write = orders(began);
  await using b = await bench({ start: "2025-12-22T03:00Z", recipes: [write] });
  const start = { now: b.machine.now(), drawTraceId: () => "1" };
  // Two manual runs have two keys. The deadline of each is the end of the window.
  const first = await addManualRun(b.store, write, { calendars: builtInCalendars, ...start, id: "1" });
  await addManualRun(b.store, write, { calendars: builtInCalendars, ...start, id: "2" });
  const deadlines = (await b.store.all<{ at: number }>("select deadline_at as at from run")).map((row) =>
    row.at
  );
  assertEquals(deadlines, [at("2025-12-22T07:50:00Z"), at("2025-12-22T07:50:00Z")]);
  for (
    const [now, why] of [
      [at("2025-12-22T08:00Z"), "its window closed at 2025-12-22T07:50:00Z"],
      [at("2025-12-22T01:00Z"), "its window opens at 2025-12-22T01:30:00Z"],
      [at("2025-12-25T03:00Z"), "XHKG has no session on the day"],
      [at("2031-01-06T03:00Z"), "the calendar of XHKG does not cover the day, or only projects it"],
    ] as const
  ) {
    await assertRejects(
      async () => await addManualRun(b.store, write, { calendars: builtInCalendars, ...start, now, id: "3" }),
      TypeError,
      why,
    );
  }
  await assertRejects(
    async () =>
      await rerun(b.store, {
        calendars: builtInCalendars,
        runKey: first,
        fromStart: true,
        now: b.machine.now(),
      }),
    TypeError,
    "never repeated",
  );
  await assertRejects(
    async () =>
      await resumeRecipe(b.store, write, {
        calendars: builtInCalendars,
        ...start,
        loadedAt: 0,
        lookbackMs: DAY,
        catchUp: true,
      }),
    TypeError,
    "nothing can be traded on a past day",
  );
  // The user can override a deadline, but not a window. The slot is at 10:00, and the first attempt is at 15:51.
  const hurried = { ...write, deadlineMs: MINUTE };
  const force = async (now: string) =>
    await addLatestSlot(b.store, hurried, {
      calendars: builtInCalendars,
      ...start,
      now: at(now),
      forceDeadline: true,
    });
  await assertRejects(
    async () => await force("2025-12-22T07:51Z"),
    TypeError,
    "its window closed at 2025-12-22T07:50:00Z",
  );
  assertEquals((await force("2025-12-22T02:04Z"))?.state, "due");
  assertEquals((await runsOf(b.store))[0], "orders/s1/2025-12-22 due live");
});

testBoth("a recipe that was read-only when a slot was listed does not write for that slot", async () => {
  const began: string[] = [];
  const reads = recipe({ name: "orders", schedules: orders([]).schedules });
  await using b = await bench({ start: "2025-12-22T01:59Z", recipes: [reads] });
  await b.scheduler.tick();
  b.machine.jump(2 * MINUTE);
  await b.scheduler.tick();
  assertEquals(await runsOf(b.store), ["orders/s1/2025-12-22 due live"]);
  const edited = b.another("p2", { recipes: [orders(began)] });
  await edited.drain();
  assertEquals([began, await runsOf(b.store)], [[], ["orders/s1/2025-12-22 skipped recipe_changed live"]]);
  await assertRejects(
    async () =>
      await rerun(b.store, {
        calendars: builtInCalendars,
        runKey: "orders/s1/2025-12-22",
        fromStart: true,
        now: 0,
        recipe: orders([]),
      }),
    TypeError,
    "never repeated",
  );
});

testBoth(
  "approveRun() and refuseRun() decide about missed runs; a closed window takes precedence",
  async () => {
    const began: string[] = [];
    const asks = orders(began, { misfire: { graceMs: MINUTE, action: "ask", max: 0 } });
    await using b = await bench({ start: "2025-12-15T00:00Z", recipes: [asks] });
    await b.scheduler.tick();
    const decide = async (day: string, then: (runKey: string) => unknown) => {
      b.machine.jump(at(`${day}T03:00Z`) - b.machine.now());
      await b.scheduler.tick();
      await then(`orders/s1/${day}`);
      await b.scheduler.tick();
      await b.scheduler.drain();
      return (await runsOf(b.store)).at(-1);
    };
    assertEquals(
      await decide(
        "2025-12-15",
        async (runKey) =>
          await approveRun(b.store, {
            calendars: builtInCalendars,
            runKey,
            actor: "me",
            now: b.machine.now(),
            recipe: asks,
          }),
      ),
      "orders/s1/2025-12-15 ok catchup",
    );
    assertEquals(
      await decide(
        "2025-12-16",
        async (runKey) => await refuseRun(b.store, { runKey, actor: "me", now: b.machine.now() }),
      ),
      "orders/s1/2025-12-16 skipped not_approved live",
    );
    const tooLate = await decide("2025-12-17", async (runKey) => {
      const row = await approveRun(b.store, {
        calendars: builtInCalendars,
        runKey,
        actor: "me",
        now: at("2025-12-17T07:51Z"),
        recipe: asks,
      });
      assertEquals([row.state, row.reason], ["skipped", "deadline"]);
    });
    assertEquals(tooLate, "orders/s1/2025-12-17 skipped deadline live");
    // Nobody answers: after the window has closed, a scheduler skips the run.
    await decide("2025-12-18", () => {});
    assertEquals((await runsOf(b.store)).at(-1), "orders/s1/2025-12-18 waiting_approval misfire live");
    b.machine.jump(6 * HOUR);
    await b.scheduler.tick();
    assertEquals((await runsOf(b.store)).at(-1), "orders/s1/2025-12-18 skipped deadline live");
    assertEquals(began, ["orders/s1/2025-12-15#one"]);
    assertEquals(b.told.filter(({ type }) => type === "asked").length, 4);
    const actors = (await b.store.all<{ kind: string; data: string }>(
      "select kind, data from event where kind in ('approved', 'refused', 'approved_too_late') order by seq",
    )).map(({ kind, data }) => `${kind} ${data}`);
    assertEquals(actors, [
      'approved {"actor":"me"}',
      'refused {"actor":"me"}',
      'approved_too_late {"actor":"me","because":"its window closed at 2025-12-17T07:50:00Z"}',
    ]);
    await assertRejects(
      async () =>
        await approveRun(b.store, {
          calendars: builtInCalendars,
          runKey: "orders/s1/2025-12-15",
          actor: "me",
          now: 0,
        }),
      TypeError,
      'it is "ok"',
    );
  },
);

testBoth("a slot that a crontab line starts respects a pause", async () => {
  await using b = await bench({ start: "2025-12-22T09:00Z", recipes: [recipe()] });
  await b.scheduler.tick();
  await pauseRecipe(b.store, "eod", { why: "away", now: b.machine.now() });
  const row = await addLatestSlot(b.store, recipe(), {
    calendars: builtInCalendars,
    now: b.machine.now(),
    drawTraceId: () => "1",
  });
  assertEquals([row?.run_key, row?.state, row?.reason], ["eod/s1/2025-12-22", "skipped", "paused"]);
});
