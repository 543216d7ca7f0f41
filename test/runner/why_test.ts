import { assertEquals, assertStringIncludes } from "@std/assert";
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { backfill, rerun } from "../../lib/runner/schedule/backfill.ts";
import { claimRun, recoverExpired, resolveOutcome } from "../../lib/runner/claims/claims.ts";
import { storeNotes } from "../../lib/runner/explain/store_notes.ts";
import { pauseRecipe } from "../../lib/runner/claims/decisions.ts";
import { cancelDue } from "../../lib/runner/queries/runs.ts";
import { addManualRun } from "../../lib/runner/schedule/starts.ts";
import { subjectOf, why } from "../../lib/runner/explain/why.ts";
import type { CompiledRecipe } from "../../lib/recipes/compiled.ts";
import { testBoth } from "./both_stores.ts";
import {
  at,
  type Bench,
  bench,
  close45,
  DAY,
  every,
  HOUR,
  MINUTE,
  orders,
  recipe,
  step,
  TestMachine,
} from "./support.ts";

const ask = async (b: Bench, about: CompiledRecipe, date: string) =>
  await why(b.store, about, { calendars: builtInCalendars, date, now: b.machine.now() });

testBoth("why() reports each schedule of a day, including one whose slot is in the future", async () => {
  const two = recipe({
    schedules: [{ ...close45, id: "early", at: { anchor: "open", offsetMs: 0 } }, { ...close45, id: "late" }],
  });
  await using b = await bench({ start: "2025-12-22T00:00Z", recipes: [two] });
  await b.scheduler.start();
  await b.machine.pass(3 * HOUR);
  assertEquals(
    await ask(b, two, "2025-12-22"),
    "eod/early/2025-12-22 ran and succeeded at 2025-12-22 09:30 Asia/Hong_Kong; " +
      'the next slot of "late" is at 2025-12-22 16:45 Asia/Hong_Kong',
  );
  await b.machine.pass(7 * HOUR);
  await b.scheduler.stop();
  assertEquals(
    await ask(b, two, "2025-12-22"),
    "eod/early/2025-12-22 ran and succeeded at 2025-12-22 09:30 Asia/Hong_Kong; " +
      "eod/late/2025-12-22 ran and succeeded at 2025-12-22 16:45 Asia/Hong_Kong",
  );
});

testBoth("why() and storeNotes() report a renamed schedule, and a recipe whose file is missing", async () => {
  const old = recipe({ schedules: [{ ...close45, id: "old" }] });
  const renamed = recipe({ schedules: [{ ...close45, id: "new" }] });
  await using b = await bench({ start: "2025-12-22T00:00Z", recipes: [old] });
  await b.scheduler.start();
  await b.machine.pass(DAY);
  const gone =
    'eod: the store has a schedule "old" that the recipe no longer has; a scheduler last listed it at ' +
    "2025-12-23T00:00:00Z";
  assertEquals(await storeNotes(b.store, builtInCalendars, [old]), []);
  assertEquals(await storeNotes(b.store, builtInCalendars, [renamed]), [
    `${gone}; a renamed schedule counts as new: "new" will start from now`,
  ]);
  await b.scheduler.reload([renamed]);
  assertEquals(await storeNotes(b.store, builtInCalendars, [renamed]), [gone]);
  await b.machine.pass(DAY);
  await b.scheduler.stop();
  assertStringIncludes(await ask(b, renamed, "2025-12-22"), "eod/old/2025-12-22 ran and succeeded");
  assertStringIncludes(
    await ask(b, renamed, "2025-12-22"),
    "nothing ran at 2025-12-22 16:45 Asia/Hong_Kong: the schedule was first seen at 2025-12-23 08:00",
  );
  const remembered = (await subjectOf(b.store, "eod"))!; // a scheduler has recorded this recipe
  assertEquals(remembered.schedules.map(({ id }) => id), ["new", "old"]);
  assertStringIncludes(
    await why(b.store, remembered, { calendars: builtInCalendars, date: "2025-12-23", now: b.machine.now() }),
    "eod/new/2025-12-23 ran and succeeded",
  );
  assertEquals(await subjectOf(b.store, "none"), undefined);
});

testBoth("why() reports a pause with its reason, and time without a scheduler", async () => {
  const eod = recipe({ misfire: { graceMs: 15 * MINUTE, action: "skip", max: 0 } });
  await using b = await bench({ start: "2025-12-22T00:00Z", recipes: [eod], tickMs: MINUTE });
  await b.scheduler.start();
  await b.machine.pass(HOUR);
  await pauseRecipe(b.store, "eod", { why: "moving house", now: b.machine.now() });
  await b.machine.pass(12 * HOUR);
  assertEquals(
    await ask(b, eod, "2025-12-22"),
    "eod/s1/2025-12-22 was skipped because the recipe was paused (moving house)",
  );
  await b.store.run("update schedule set paused_reason = null");
  b.machine.sleep(DAY); // the machine sleeps from 21:00 to 21:00 of the next day
  await b.machine.pass(HOUR);
  await b.scheduler.stop();
  assertEquals(
    await ask(b, eod, "2025-12-23"),
    "eod/s1/2025-12-23 was skipped because it was missed, and too much time had passed to catch up: the runner skipped it at " +
      "2025-12-23 21:01 Asia/Hong_Kong, 4 h 16 min after it was due; the clock jumped forward by 24 h 0 min before " +
      "2025-12-23 21:01 Asia/Hong_Kong, as it does when a machine sleeps",
  );
});

testBoth("why() reports runs that failed, were superseded, backfilled and rerun", async () => {
  let fail = true;
  const eod = recipe({
    misfire: { graceMs: MINUTE, action: "latest", max: 1 },
    steps: [step({ run: () => (fail ? Promise.reject(new Error("no route")) : Promise.resolve()) })],
  });
  await using b = await bench({ start: "2025-12-16T00:00Z", recipes: [eod] });
  await b.scheduler.tick();
  b.machine.jump(at("2025-12-18T09:00Z") - b.machine.now());
  await b.scheduler.tick();
  await b.scheduler.drain();
  assertEquals(
    await ask(b, eod, "2025-12-17"),
    "eod/s1/2025-12-17 was skipped because a newer run replaced it (eod/s1/2025-12-18); the clock jumped forward " +
      "by 2 days before 2025-12-18 17:00 Asia/Hong_Kong, as it does when a machine sleeps",
  );
  assertEquals(
    (await ask(b, eod, "2025-12-18")).split("; ")[0],
    'eod/s1/2025-12-18 failed at 2025-12-18 17:00 Asia/Hong_Kong, attempt 1: step "one": no route',
  );
  fail = false;
  const past = { from: "2025-12-17", to: "2025-12-17", mode: "missing" as const, drawTraceId: () => "1" };
  await backfill(b.store, eod, { calendars: builtInCalendars, ...past, now: b.machine.now() });
  await rerun(b.store, {
    calendars: builtInCalendars,
    runKey: "eod/s1/2025-12-18",
    fromStart: false,
    now: b.machine.now(),
  });
  await b.scheduler.drain();
  assertEquals(
    await ask(b, eod, "2025-12-17"),
    "eod/s1/2025-12-17 was backfilled by hand and succeeded at 2025-12-18 17:00 Asia/Hong_Kong; " +
      "before that it was skipped (superseded)",
  );
  assertEquals(
    await ask(b, eod, "2025-12-18"),
    "eod/s1/2025-12-18 was backfilled by hand and succeeded at 2025-12-18 17:00 Asia/Hong_Kong; " +
      "before that it was failed (step)",
  );
});

testBoth("why() reports a process that died during a read or a write, and what to check", async () => {
  let hang = true;
  const run = () => (hang ? new Promise(() => {}) : Promise.resolve());
  const read = recipe({ name: "read", steps: [step({ run })] });
  const write = recipe({
    name: "write",
    class: "write",
    overlap: "skip",
    steps: [step({ effect: "write", run })],
  });
  await using b = await bench({ start: "2025-12-22T08:44Z", recipes: [read, write] });
  const dying = new TestMachine(b.machine.now());
  await b.another("p0", { machine: dying }).start();
  await dying.pass(2 * MINUTE);
  hang = false;
  b.machine.sleep(10 * MINUTE);
  assertEquals(
    await ask(b, read, "2025-12-22"),
    "read/s1/2025-12-22 was running; its process has not renewed its lease, which expired at 2025-12-22 16:46 Asia/Hong_Kong; " +
      "a scheduler takes it over on its next pass; to do it now: hsgate rerun read/s1/2025-12-22",
  );
  await b.scheduler.tick();
  await b.scheduler.drain();
  assertEquals(
    await ask(b, read, "2025-12-22"),
    "read/s1/2025-12-22 ran and succeeded at 2025-12-22 16:54 Asia/Hong_Kong, after a process had died while running it, " +
      "the last before 2025-12-22 16:54 Asia/Hong_Kong",
  );
  const open = await ask(b, write, "2025-12-22");
  assertStringIncludes(open, "write/s1/2025-12-22 was interrupted while writing");
  assertStringIncludes(open, 'step "one", begun at 2025-12-22T08:45:00Z');
  assertStringIncludes(open, 'hsgate resolve write/s1/2025-12-22 ok|failed --because "what you checked"');
  await resolveOutcome(b.store, {
    runKey: "write/s1/2025-12-22",
    state: "ok",
    actor: "me",
    because: "it is filled",
    now: b.machine.now(),
  });
  assertEquals(
    (await ask(b, write, "2025-12-22")).split("; the clock")[0],
    "write/s1/2025-12-22 was interrupted while writing; me resolved it as ok at 2025-12-22 16:54 Asia/Hong_Kong: " +
      "it is filled",
  );
});

testBoth("why() counts the runs of a busy day and describes the first run that did not succeed", async () => {
  const beat = recipe({
    schedules: [every(HOUR)],
    steps: [
      step({
        run: ({ slot }) => (slot.includes("T03") ? Promise.reject(new Error("no")) : Promise.resolve()),
      }),
    ],
  });
  await using b = await bench({ start: "2025-12-22T00:30Z", recipes: [beat] });
  await b.scheduler.start();
  await b.machine.pass(6 * HOUR);
  await b.scheduler.stop();
  assertEquals(
    await ask(b, beat, "2025-12-22"),
    "6 runs: 5 ok, 1 failed; the first that did not succeed: eod/s1/2025-12-22T03:00:00Z failed at " +
      '2025-12-22 03:00 UTC, attempt 1: step "one": no; nothing ran at 2025-12-22 00:00 UTC: the schedule was first seen at ' +
      "2025-12-22 00:30 UTC; the next slot is at 2025-12-22 07:00 UTC",
  );
});

testBoth("why() reports every gap of a day with its reason, its time and its number of slots", async () => {
  const beat = recipe({ schedules: [every(MINUTE)], misfire: { graceMs: MINUTE, action: "skip", max: 0 } });
  await using b = await bench({ start: "2025-12-22T05:45:30Z", recipes: [beat] });
  await b.scheduler.start();
  await b.machine.pass(10 * MINUTE + 16_000);
  await b.scheduler.stop();
  b.machine.sleep(4 * MINUTE + 12_000);
  assertEquals(
    await ask(b, beat, "2025-12-22"),
    "10 runs: 10 ok; nothing ran from 2025-12-22 00:00 to 05:45 UTC (346 slots): the schedule was first seen at " +
      "2025-12-22 05:45 UTC; 4 slots from 2025-12-22 05:56 to 05:59 UTC are not listed yet: no scheduler has run " +
      "since 2025-12-22 05:55 UTC; the next one lists these slots: hsgate schedule; the next slot is at " +
      "2025-12-22 06:00 UTC",
  );
});

testBoth(
  "why() says that a day outside the calendar or a projected day is uncertain, and that writes skip it",
  async () => {
    const eod = recipe();
    const write = orders([]);
    await using b = await bench({ start: "2026-11-20T00:00Z", recipes: [eod, write] });
    const { from, through } = builtInCalendars.coverage("XHKG");
    const slot = "nothing yet: the slot is at 2028-12-28 16:45 Asia/Hong_Kong";
    const assumed =
      `, if XHKG trades on that day: this is assumed, because its calendar covers only ${from} to ${through}`;
    assertEquals(await ask(b, eod, "2028-12-28"), `${slot}${assumed}`);
    assertEquals(
      await ask(b, write, "2028-12-28"),
      `nothing yet: the slot is at 2028-12-28 10:00 Asia/Hong_Kong${assumed}; a recipe that writes skips such a ` +
        "day unless you load a newer calendar before: hsgate calendar update FILE",
    );
    const shanghai = recipe({ schedules: [{ ...close45, mic: "XSHG" }] });
    const guessed = "this is a projection, because the exchange has not announced the day";
    assertEquals(
      await ask(b, shanghai, "2027-06-01"),
      `nothing yet: the slot is at 2027-06-01 15:45 Asia/Shanghai, if XSHG trades on that day: ${guessed}`,
    );
    assertEquals(
      await ask(b, shanghai, "2027-10-01"),
      "nothing is to run: XSHG is closed on 2027-10-01; that is a projection, because the exchange has not announced the day",
    );
    assertEquals(
      await ask(b, write, "2026-12-28"),
      "nothing yet: the slot is at 2026-12-28 10:00 Asia/Hong_Kong",
    );
  },
);

testBoth(
  "why() for a future day reports a pause, a window that closes before the slot, and a missing recipe",
  async () => {
    const eod = recipe();
    const late = orders([], { schedules: [close45] });
    await using b = await bench({ start: "2025-12-22T00:00Z", recipes: [eod, late] });
    await b.scheduler.tick();
    await pauseRecipe(b.store, "eod", { why: "moving house", now: b.machine.now() });
    assertEquals(
      await ask(b, eod, "2025-12-23"),
      "nothing yet: the slot is at 2025-12-23 16:45 Asia/Hong_Kong; the recipe is paused (moving house), so slots " +
        "are skipped until: hsgate resume eod",
    );
    assertEquals(
      await ask(b, late, "2025-12-23"),
      "nothing yet: the slot is at 2025-12-23 16:45 Asia/Hong_Kong, and will be skipped: its window closes at " +
        "2025-12-23 15:50 Asia/Hong_Kong",
    );
    const remembered = (await subjectOf(b.store, "orders"))!; // a scheduler has recorded this recipe
    assertStringIncludes(
      await why(b.store, remembered, {
        calendars: builtInCalendars,
        date: "2025-12-23",
        now: b.machine.now(),
      }),
      "16:45 Asia/Hong_Kong, if the recipe's file is back by then",
    );
  },
);

testBoth(
  "why() for a due run says that its process died, that no scheduler runs, and which command to use",
  async () => {
    const eod = recipe();
    await using b = await bench({ start: "2025-12-22T08:44Z", recipes: [eod] });
    await b.scheduler.tick();
    await b.machine.pass(MINUTE);
    await b.scheduler.tick();
    await b.machine.pass(10 * MINUTE);
    const due = "eod/s1/2025-12-22 has been due since 2025-12-22 16:45 Asia/Hong_Kong and has not begun: ";
    const nobody =
      "no scheduler has run since 2025-12-22 16:45 Asia/Hong_Kong; hsgate schedule runs it, or now: " +
      "hsgate rerun eod/s1/2025-12-22";
    assertEquals(await ask(b, eod, "2025-12-22"), `${due}${nobody}`);
    const key = "eod/s1/2025-12-22";
    const claimer = { holder: "dead", leaseMs: 30_000, accountOf: () => "default" };
    await claimRun(b.store, eod, key, claimer, b.machine.now());
    await b.machine.pass(MINUTE);
    await recoverExpired(b.store, b.machine.now());
    assertEquals(
      await ask(b, eod, "2025-12-22"),
      `${due}the process that ran it died (found at 2025-12-22 16:56 Asia/Hong_Kong); ${nobody}`,
    );
  },
);

testBoth("why() names the schedule whose slots did not run if the recipe has several", async () => {
  const two = recipe({ schedules: [every(HOUR), { ...every(12 * HOUR), id: "half-day" }] });
  await using b = await bench({ start: "2025-12-22T00:30Z", recipes: [two] });
  await b.scheduler.tick();
  assertStringIncludes(
    await ask(b, two, "2025-12-22"),
    'nothing ran for "half-day" at 2025-12-22 00:00 UTC: the schedule was first seen at 2025-12-22 00:30 UTC',
  );
});

testBoth("why() reports a pause once, and that a run was due before the pause", async () => {
  const beat = recipe({ schedules: [every(HOUR)] });
  await using b = await bench({ start: "2025-12-22T00:30Z", recipes: [beat] });
  await b.scheduler.tick();
  await b.machine.pass(HOUR);
  await pauseRecipe(b.store, "eod", { why: "away", now: b.machine.now() });
  const paused = "the recipe is paused (away), so slots are skipped until: hsgate resume eod";
  const before = "nothing ran at 2025-12-22 00:00 UTC: the schedule was first seen at 2025-12-22 00:30 UTC";
  assertEquals(
    await ask(b, beat, "2025-12-22"),
    `${before}; nothing ran at 2025-12-22 01:00 UTC: no scheduler has run since 2025-12-22 00:30 UTC; the next ` +
      `one lists these slots: hsgate schedule; nothing yet: the slot is at 2025-12-22 02:00 UTC; ${paused}`,
  );
  await b.scheduler.tick();
  assertEquals(
    await ask(b, beat, "2025-12-22"),
    "eod/s1/2025-12-22T01:00:00Z was skipped because the recipe was paused (away) before the run began; " +
      `${before}; the next slot is at 2025-12-22 02:00 UTC; ${paused}`,
  );
  // On a day without further slots, the pause does not matter.
  assertEquals((await ask(b, beat, "2025-12-21")).includes("paused"), false);
});

testBoth("why() says why a manual run was cancelled", async () => {
  const eod = recipe();
  await using b = await bench({ start: "2025-12-22T00:30Z", recipes: [eod] });
  const now = b.machine.now();
  const key = await addManualRun(b.store, eod, {
    calendars: builtInCalendars,
    id: "1",
    now,
    drawTraceId: () => "1",
  });
  await cancelDue(b.store, key, "account", now);
  assertEquals(
    (await ask(b, eod, "2025-12-22")).split("; ")[0],
    "eod/m/1 was cancelled at 2025-12-22 08:30 Asia/Hong_Kong: another run kept the account busy for the whole wait",
  );
});
