import { assertEquals, assertStringIncludes } from "@std/assert";
import { coverage } from "../../lib/calendars/mod.ts";
import { backfill, rerun } from "../../lib/runner/backfill.ts";
import { claimRun } from "../../lib/runner/claims.ts";
import { recoverExpired, settleRun } from "../../lib/runner/recovery.ts";
import { ledgerNotes } from "../../lib/runner/ledger_notes.ts";
import { pauseRecipe } from "../../lib/runner/pausing.ts";
import { cancelDue } from "../../lib/runner/run_rows.ts";
import { addManualRun } from "../../lib/runner/starts.ts";
import { subjectOf, why } from "../../lib/runner/why.ts";
import type { CompiledRecipe } from "../../lib/steps/compiled.ts";
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
  TestHost,
} from "./support.ts";

const ask = (b: Bench, about: CompiledRecipe, date: string) =>
  why(b.ledger, about, { date, now: b.host.now() });

Deno.test("why() tells each schedule of a day, also the one whose slot is to come", async () => {
  const two = recipe({
    schedules: [{ ...close45, id: "early", at: { anchor: "open", offsetMs: 0 } }, { ...close45, id: "late" }],
  });
  using b = bench({ start: "2025-12-22T00:00Z", recipes: [two] });
  b.scheduler.start();
  await b.host.pass(3 * HOUR);
  assertEquals(
    ask(b, two, "2025-12-22"),
    "eod/early/2025-12-22 ran and ended well at 2025-12-22 09:30 Asia/Hong_Kong; " +
      'the next slot of "late" is at 2025-12-22 16:45 Asia/Hong_Kong',
  );
  await b.host.pass(7 * HOUR);
  await b.scheduler.stop();
  assertEquals(
    ask(b, two, "2025-12-22"),
    "eod/early/2025-12-22 ran and ended well at 2025-12-22 09:30 Asia/Hong_Kong; " +
      "eod/late/2025-12-22 ran and ended well at 2025-12-22 16:45 Asia/Hong_Kong",
  );
});

Deno.test("why() and ledgerNotes() know a schedule that was renamed, and a recipe that is gone", async () => {
  const old = recipe({ schedules: [{ ...close45, id: "old" }] });
  const renamed = recipe({ schedules: [{ ...close45, id: "new" }] });
  using b = bench({ start: "2025-12-22T00:00Z", recipes: [old] });
  b.scheduler.start();
  await b.host.pass(DAY);
  const gone = 'eod: the ledger knows a schedule "old" that the recipe has not any more, last looked at ' +
    "2025-12-23T00:00:00Z";
  assertEquals(ledgerNotes(b.ledger, [old]), []);
  assertEquals(ledgerNotes(b.ledger, [renamed]), [
    `${gone}; a new name is a new schedule: "new" will start from now`,
  ]);
  b.scheduler.reload([renamed]);
  assertEquals(ledgerNotes(b.ledger, [renamed]), [gone]);
  await b.host.pass(DAY);
  await b.scheduler.stop();
  assertStringIncludes(ask(b, renamed, "2025-12-22"), "eod/old/2025-12-22 ran and ended well");
  assertStringIncludes(
    ask(b, renamed, "2025-12-22"),
    "nothing ran at 2025-12-22 16:45 Asia/Hong_Kong: the schedule was first seen at 2025-12-23 08:00",
  );
  const remembered = subjectOf(b.ledger, "eod")!; // the ledger has seen it
  assertEquals(remembered.schedules.map(({ id }) => id), ["new", "old"]);
  assertStringIncludes(
    why(b.ledger, remembered, { date: "2025-12-23", now: b.host.now() }),
    "eod/new/2025-12-23 ran and ended well",
  );
  assertEquals(subjectOf(b.ledger, "none"), undefined);
});

Deno.test("why() tells of a pause with its reason, and of time that nobody looked at", async () => {
  const eod = recipe({ misfire: { graceMs: 15 * MINUTE, action: "skip", max: 0 } });
  using b = bench({ start: "2025-12-22T00:00Z", recipes: [eod] });
  b.scheduler.start();
  await b.host.pass(HOUR);
  pauseRecipe(b.ledger, "eod", { why: "moving house", now: b.host.now() });
  await b.host.pass(12 * HOUR);
  assertEquals(
    ask(b, eod, "2025-12-22"),
    "eod/s1/2025-12-22 was skipped because the recipe was paused (moving house)",
  );
  b.ledger.run("update schedule set paused_reason = null");
  b.host.sleep(DAY); // the lid is closed from 21:00 to 21:00 of the next day
  await b.host.pass(HOUR);
  await b.scheduler.stop();
  assertEquals(
    ask(b, eod, "2025-12-23"),
    "eod/s1/2025-12-23 was skipped because it was missed and came too late: it was decided at " +
      "2025-12-23 21:01 Asia/Hong_Kong, 4 h 16 min after it was due; the clock went on by 24 h 0 min before " +
      "2025-12-23 21:01 Asia/Hong_Kong, as when a machine sleeps",
  );
});

Deno.test("why() tells of runs that were taken over, superseded, done for the past, and done again", async () => {
  let fail = true;
  const eod = recipe({
    misfire: { graceMs: MINUTE, action: "latest", max: 1 },
    steps: [step({ run: () => (fail ? Promise.reject(new Error("no route")) : Promise.resolve()) })],
  });
  using b = bench({ start: "2025-12-16T00:00Z", recipes: [eod] });
  b.scheduler.tick();
  b.host.jump(at("2025-12-18T09:00Z") - b.host.now());
  b.scheduler.tick();
  await b.scheduler.drain();
  assertEquals(
    ask(b, eod, "2025-12-17"),
    "eod/s1/2025-12-17 was skipped because a newer run took its place (eod/s1/2025-12-18); the clock went on " +
      "by 57 h 0 min before 2025-12-18 17:00 Asia/Hong_Kong, as when a machine sleeps".replace(
        "57 h 0 min",
        "2 days",
      ),
  );
  assertEquals(
    ask(b, eod, "2025-12-18").split("; ")[0],
    'eod/s1/2025-12-18 failed at 2025-12-18 17:00 Asia/Hong_Kong, attempt 1: step "one": no route',
  );
  fail = false;
  const past = { from: "2025-12-17", to: "2025-12-17", mode: "missing" as const, drawTraceId: () => "1" };
  backfill(b.ledger, eod, { ...past, now: b.host.now() });
  rerun(b.ledger, { runKey: "eod/s1/2025-12-18", fromStart: false, now: b.host.now() });
  await b.scheduler.drain();
  assertEquals(
    ask(b, eod, "2025-12-17"),
    "eod/s1/2025-12-17 was done for the past, by hand, and ended well at 2025-12-18 17:00 Asia/Hong_Kong; " +
      "before that it was skipped (superseded)",
  );
  assertEquals(
    ask(b, eod, "2025-12-18"),
    "eod/s1/2025-12-18 was done for the past, by hand, and ended well at 2025-12-18 17:00 Asia/Hong_Kong; " +
      "before that it was failed (step)",
  );
});

Deno.test("why() tells of a process that died, at a read and at a write, and what to look at", async () => {
  let hang = true;
  const run = () => (hang ? new Promise(() => {}) : Promise.resolve());
  const read = recipe({ name: "read", steps: [step({ run })] });
  const write = recipe({
    name: "write",
    class: "write",
    overlap: "skip",
    steps: [step({ effect: "write", run })],
  });
  using b = bench({ start: "2025-12-22T08:44Z", recipes: [read, write] });
  const dying = new TestHost(b.host.now());
  b.another("p0", { host: dying }).start();
  await dying.pass(2 * MINUTE);
  hang = false;
  b.host.sleep(10 * MINUTE);
  assertEquals(
    ask(b, read, "2025-12-22"),
    "read/s1/2025-12-22 was running and its process has not been heard of since 2025-12-22 16:46 Asia/Hong_Kong; " +
      "whoever looks next takes it over: a scheduler, or: hsgate rerun read/s1/2025-12-22",
  );
  b.scheduler.tick();
  await b.scheduler.drain();
  assertEquals(
    ask(b, read, "2025-12-22"),
    "read/s1/2025-12-22 ran and ended well at 2025-12-22 16:54 Asia/Hong_Kong, after a process had died at it, " +
      "the last before 2025-12-22 16:54 Asia/Hong_Kong",
  );
  const open = ask(b, write, "2025-12-22");
  assertStringIncludes(open, "write/s1/2025-12-22 was broken off while it wrote");
  assertStringIncludes(open, 'step "one", begun at 2025-12-22T08:45:00Z');
  assertStringIncludes(open, 'hsgate settle write/s1/2025-12-22 ok|failed --because "what you saw"');
  settleRun(b.ledger, {
    runKey: "write/s1/2025-12-22",
    state: "ok",
    actor: "me",
    because: "it is filled",
    now: b.host.now(),
  });
  assertEquals(
    ask(b, write, "2025-12-22").split("; the clock")[0],
    "write/s1/2025-12-22 was broken off while it wrote; me settled it as ok at 2025-12-22 16:54 Asia/Hong_Kong: " +
      "it is filled",
  );
});

Deno.test("why() counts the runs of a busy day and tells the first that is not well", async () => {
  const beat = recipe({
    schedules: [every(HOUR)],
    steps: [
      step({
        run: ({ slot }) => (slot.includes("T03") ? Promise.reject(new Error("no")) : Promise.resolve()),
      }),
    ],
  });
  using b = bench({ start: "2025-12-22T00:30Z", recipes: [beat] });
  b.scheduler.start();
  await b.host.pass(6 * HOUR);
  await b.scheduler.stop();
  assertEquals(
    ask(b, beat, "2025-12-22"),
    "6 runs: 5 ok, 1 failed; the first that is not well: eod/s1/2025-12-22T03:00:00Z failed at " +
      '2025-12-22 03:00 UTC, attempt 1: step "one": no; nothing ran at 2025-12-22 00:00 UTC: the schedule was first seen at ' +
      "2025-12-22 00:30 UTC; the next slot is at 2025-12-22 07:00 UTC",
  );
});

Deno.test("why() tells every gap of a day with its reason, when it was and how many slots it has", async () => {
  const beat = recipe({ schedules: [every(MINUTE)], misfire: { graceMs: MINUTE, action: "skip", max: 0 } });
  using b = bench({ start: "2025-12-22T05:45:30Z", recipes: [beat] });
  b.scheduler.start();
  await b.host.pass(10 * MINUTE + 16_000);
  await b.scheduler.stop();
  b.host.sleep(4 * MINUTE + 12_000);
  assertEquals(
    ask(b, beat, "2025-12-22"),
    "10 runs: 10 ok; nothing ran from 2025-12-22 00:00 to 05:45 UTC (346 slots): the schedule was first seen at " +
      "2025-12-22 05:45 UTC; 4 slots from 2025-12-22 05:56 to 05:59 UTC have no row yet: no scheduler has looked " +
      "since 2025-12-22 05:55 UTC; a slot gets its row when one does: hsgate schedule; the next slot is at " +
      "2025-12-22 06:00 UTC",
  );
});

Deno.test("why() says of a day beyond the calendar, or guessed by it, that it is no fact, and that writes skip it", () => {
  const eod = recipe();
  const write = orders([]);
  using b = bench({ start: "2026-11-20T00:00Z", recipes: [eod, write] });
  const { from, through } = coverage("XHKG");
  const slot = "nothing yet: the slot is at 2028-12-28 16:45 Asia/Hong_Kong";
  const assumed = `, if XHKG trades on that day, which is assumed: its calendar covers ${from} to ${through}`;
  assertEquals(ask(b, eod, "2028-12-28"), `${slot}${assumed}`);
  assertEquals(
    ask(b, write, "2028-12-28"),
    `nothing yet: the slot is at 2028-12-28 10:00 Asia/Hong_Kong${assumed}; a recipe that writes skips such a ` +
      "day, unless a newer calendar is taken up before: hsgate calendar update FILE",
  );
  const shanghai = recipe({ schedules: [{ ...close45, mic: "XSHG" }] });
  const guessed = "which its calendar guesses: the exchange has not announced it";
  assertEquals(
    ask(b, shanghai, "2027-06-01"),
    `nothing yet: the slot is at 2027-06-01 15:45 Asia/Shanghai, if XSHG trades on that day, ${guessed}`,
  );
  assertEquals(
    ask(b, shanghai, "2027-10-01"),
    "nothing is to run: XSHG is closed on 2027-10-01, as its calendar guesses: the exchange has not announced the day",
  );
  assertEquals(
    ask(b, write, "2026-12-28"),
    "nothing yet: the slot is at 2026-12-28 10:00 Asia/Hong_Kong",
  );
});

Deno.test("why() of a day to come tells of a pause, of a window that is over by then, and of a recipe that is gone", () => {
  const eod = recipe();
  const late = orders([], { schedules: [close45] });
  using b = bench({ start: "2025-12-22T00:00Z", recipes: [eod, late] });
  b.scheduler.tick();
  pauseRecipe(b.ledger, "eod", { why: "moving house", now: b.host.now() });
  assertEquals(
    ask(b, eod, "2025-12-23"),
    "nothing yet: the slot is at 2025-12-23 16:45 Asia/Hong_Kong; the recipe is paused (moving house), so slots " +
      "are skipped until: hsgate resume eod",
  );
  assertEquals(
    ask(b, late, "2025-12-23"),
    "nothing yet: the slot is at 2025-12-23 16:45 Asia/Hong_Kong, and will be skipped: its window is over at " +
      "2025-12-23 15:50 Asia/Hong_Kong",
  );
  const remembered = subjectOf(b.ledger, "orders")!; // the ledger has seen it
  assertStringIncludes(
    why(b.ledger, remembered, { date: "2025-12-23", now: b.host.now() }),
    "16:45 Asia/Hong_Kong, if the recipe is there again by then",
  );
});

Deno.test("why() of a run that is due says who had it, that nobody is there, and what to type", async () => {
  const eod = recipe();
  using b = bench({ start: "2025-12-22T08:44Z", recipes: [eod] });
  b.scheduler.tick();
  await b.host.pass(MINUTE);
  b.scheduler.tick();
  await b.host.pass(10 * MINUTE);
  const due = "eod/s1/2025-12-22 is due since 2025-12-22 16:45 Asia/Hong_Kong and has not begun: ";
  const nobody =
    "no scheduler has looked since 2025-12-22 16:45 Asia/Hong_Kong; hsgate schedule runs it, or now: " +
    "hsgate rerun eod/s1/2025-12-22";
  assertEquals(ask(b, eod, "2025-12-22"), `${due}${nobody}`);
  const key = "eod/s1/2025-12-22";
  const claimer = { holder: "dead", leaseMs: 30_000, accountOf: () => "default" };
  claimRun(b.ledger, eod, key, claimer, b.host.now());
  await b.host.pass(MINUTE);
  recoverExpired(b.ledger, b.host.now());
  assertEquals(
    ask(b, eod, "2025-12-22"),
    `${due}a process had died at it, as was found at 2025-12-22 16:56 Asia/Hong_Kong; ${nobody}`,
  );
});

Deno.test("why() tells once that a recipe is paused, and that a run was due before somebody paused it", async () => {
  const beat = recipe({ schedules: [every(HOUR)] });
  using b = bench({ start: "2025-12-22T00:30Z", recipes: [beat] });
  b.scheduler.tick();
  await b.host.pass(HOUR);
  pauseRecipe(b.ledger, "eod", { why: "away", now: b.host.now() });
  const paused = "the recipe is paused (away), so slots are skipped until: hsgate resume eod";
  const before = "nothing ran at 2025-12-22 00:00 UTC: the schedule was first seen at 2025-12-22 00:30 UTC";
  assertEquals(
    ask(b, beat, "2025-12-22"),
    `${before}; nothing ran at 2025-12-22 01:00 UTC: no scheduler has looked since 2025-12-22 00:30 UTC; a slot ` +
      `gets its row when one does: hsgate schedule; nothing yet: the slot is at 2025-12-22 02:00 UTC; ${paused}`,
  );
  b.scheduler.tick();
  assertEquals(
    ask(b, beat, "2025-12-22"),
    "eod/s1/2025-12-22T01:00:00Z was skipped because the recipe was paused (away) before anybody had begun it; " +
      `${before}; the next slot is at 2025-12-22 02:00 UTC; ${paused}`,
  );
  // Of a day on which nothing more can come a pause says nothing.
  assertEquals(ask(b, beat, "2025-12-21").includes("paused"), false);
});

Deno.test("why() says why a run by hand was cancelled", () => {
  const eod = recipe();
  using b = bench({ start: "2025-12-22T00:30Z", recipes: [eod] });
  const now = b.host.now();
  const key = addManualRun(b.ledger, eod, { id: "1", now, drawTraceId: () => "1" });
  cancelDue(b.ledger, key, "account", now);
  assertEquals(
    ask(b, eod, "2025-12-22").split("; ")[0],
    "eod/m/1 was cancelled at 2025-12-22 08:30 Asia/Hong_Kong: another run had the account all the time",
  );
});
