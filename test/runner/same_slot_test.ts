/** Tests of instants that several schedules name: each instant runs once. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Store } from "../../lib/store/store.ts";
import { addLatestSlot } from "../../lib/runner/schedule/starts.ts";
import { why } from "../../lib/runner/explain/why.ts";
import { testBoth } from "./both_stores.ts";
import { at, bench, close45, DAY, MINUTE, orders, recipe, runsOf } from "./support.ts";

const afterClose = (id: string, minutes: number) => ({
  ...close45,
  id,
  at: { anchor: "close", offsetMs: minutes * MINUTE },
} as const);
const openPlus30 = (
  id: string,
) => ({ ...close45, id, at: { anchor: "open", offsetMs: 30 * MINUTE } } as const);

const eventsOf = async (store: Store, kind: string) =>
  (await store.all<{ line: string }>(
    "select coalesce(run_key, '') || ' ' || data as line from event where kind = ? order by seq",
    kind,
  )).map(({ line }) => line);
const start = (now: string) => ({
  now: at(now),
  calendars: builtInCalendars,
  drawTraceId: () => "1".padEnd(32, "0"),
});

testBoth(
  "if two processes have different ids for a schedule, the order of an instant is placed only once",
  async () => {
    const began: string[] = [];
    const old = orders(began, { schedules: [openPlus30("a")] });
    const renamed = orders(began, { schedules: [openPlus30("b")] });
    await using b = await bench({ start: "2025-08-15T01:00Z", recipes: [old] });
    const other = b.another("p2", { recipes: [renamed] });
    await b.scheduler.tick();
    await other.tick();
    b.machine.jump(60 * MINUTE); // 10:00
    await other.tick();
    await b.scheduler.tick();
    await Promise.all([b.scheduler.drain(), other.drain()]);
    await b.scheduler.drain();
    assertEquals(began, ["orders/b/2025-08-15#one"]);
    assertEquals(await runsOf(b.store), [
      "orders/a/2025-08-15 skipped duplicate_slot live",
      "orders/b/2025-08-15 ok live",
    ]);
    // A crontab process with the old text has the same result, whichever of the two processes is first.
    assertEquals((await addLatestSlot(b.store, old, start("2025-08-15T02:01Z")))?.reason, "duplicate_slot");
    b.machine.jump(3 * DAY);
    assertEquals((await addLatestSlot(b.store, old, start("2025-08-18T02:00Z")))?.state, "due");
    await other.tick();
    assertEquals((await runsOf(b.store)).slice(2), [
      "orders/a/2025-08-18 due live",
      "orders/b/2025-08-18 skipped duplicate_slot live",
    ]);
  },
);

testBoth(
  "a slot that one schedule skips on a half-day runs for the other schedule, whatever starts it",
  async () => {
    // 2025-12-24 closes at noon.
    const both = recipe({
      schedules: [{ ...afterClose("a", 10), halfDays: "skip" }, afterClose("b", 10)],
    });
    await using b = await bench({ start: "2025-12-24T00:00Z", recipes: [both] });
    const row = await addLatestSlot(b.store, both, start("2025-12-24T04:10Z"));
    assertEquals([row?.run_key, row?.state], ["eod/b/2025-12-24", "due"]);
    assertEquals(await runsOf(b.store), [
      "eod/a/2025-12-24 skipped half_day live",
      "eod/b/2025-12-24 due live",
    ]);
    // On any other day, the first schedule runs, and the second is skipped as a duplicate.
    assertEquals(
      (await addLatestSlot(b.store, both, start("2025-12-29T08:10Z")))?.run_key,
      "eod/a/2025-12-29",
    );
    assertEquals((await runsOf(b.store)).slice(2), [
      "eod/a/2025-12-29 due live",
      "eod/b/2025-12-29 skipped duplicate_slot live",
    ]);
  },
);

testBoth(
  "an instant runs once, even if an edit gives the schedule another form and thus another key",
  async () => {
    const began: string[] = [];
    const byOpen = orders(began, { schedules: [openPlus30("s1")] });
    const byClock = orders(began, {
      schedules: [{ id: "s1", form: "cron", cron: "0 10 * * *", timezone: "Asia/Hong_Kong" }],
    });
    await using b = await bench({ start: "2025-08-15T01:00Z", recipes: [byOpen] });
    await b.scheduler.tick();
    b.machine.jump(60 * MINUTE); // 10:00
    await b.scheduler.tick();
    await b.scheduler.drain();
    assertEquals(began, ["orders/s1/2025-08-15#one"]);
    // A crontab line and another process, both with the edited text.
    const row = await addLatestSlot(b.store, byClock, start("2025-08-15T02:01Z"));
    assertEquals([row?.state, row?.reason], ["skipped", "duplicate_slot"]);
    const other = b.another("p2", { recipes: [byClock] });
    await other.tick();
    await other.drain();
    assertEquals(began.length, 1);
    assertEquals(await runsOf(b.store), [
      "orders/s1/2025-08-15 ok live",
      "orders/s1/2025-08-15T02:00:00Z skipped duplicate_slot live",
    ]);
    const told = await why(b.store, byClock, {
      calendars: builtInCalendars,
      date: "2025-08-15",
      now: b.machine.now(),
    });
    assertStringIncludes(told, "the recipe has another run for the same instant");
  },
);

testBoth("an edit that moves the slot of a finished session to a later time is recorded once", async () => {
  const early = recipe({ schedules: [afterClose("s1", 10)] });
  const late = recipe({ schedules: [afterClose("s1", 30)] });
  await using b = await bench({ start: "2025-08-15T08:00Z", recipes: [early] });
  await b.scheduler.start();
  await b.machine.pass(15 * MINUTE); // 16:15
  await b.scheduler.reload([late]);
  await b.machine.pass(30 * MINUTE); // 16:45
  await b.scheduler.stop();
  assertEquals(await runsOf(b.store), ["eod/s1/2025-08-15 ok live"]);
  assertEquals(await eventsOf(b.store, "key_taken"), [
    'eod/s1/2025-08-15 {"slot":"2025-08-15T08:30:00Z","by":"2025-08-15T08:10:00Z"}',
  ]);
  assertStringIncludes(
    await why(b.store, late, { calendars: builtInCalendars, date: "2025-08-15", now: b.machine.now() }),
    "nothing ran at 2025-08-15 16:30 Asia/Hong_Kong: the schedule was edited after the slot at 2025-08-15 " +
      "16:10 Asia/Hong_Kong had its run, and a schedule runs only once in a session",
  );
  // Further passes do not record it again.
  await addLatestSlot(b.store, late, start("2025-08-15T08:46Z"));
  await addLatestSlot(b.store, late, start("2025-08-15T08:47Z"));
  assertEquals((await eventsOf(b.store, "key_taken")).length, 1);
});

Deno.test("one pass runs an instant once, even if an earlier slot has used the run key of the first schedule", async () => {
  const early = recipe({ schedules: [afterClose("a", 10)] });
  const late = recipe({ schedules: [afterClose("a", 30), afterClose("b", 30), afterClose("c", 30)] });
  await using b = await bench({ start: "2025-08-15T08:00Z", recipes: [early] });
  await b.scheduler.start();
  await b.machine.pass(15 * MINUTE); // 16:15, the session of "a" has its run
  await b.scheduler.reload([late]);
  b.machine.sleep(3 * DAY + 30 * MINUTE); // two slots of each schedule are listed at once
  await b.scheduler.tick();
  await b.scheduler.drain();
  assertEquals(await runsOf(b.store), [
    "eod/a/2025-08-15 ok live",
    "eod/b/2025-08-15 ok catchup",
    "eod/c/2025-08-15 skipped duplicate_slot live",
    "eod/a/2025-08-18 ok live",
    "eod/b/2025-08-18 skipped duplicate_slot live",
    "eod/c/2025-08-18 skipped duplicate_slot live",
  ]);
  assertEquals((await eventsOf(b.store, "key_taken")).length, 1);
});
