/** Tests of stores that another process keeps locked. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { StoreError } from "../../lib/store/store_error.ts";
import type { SchedulerEvent } from "../../lib/runner/schedule/scheduler.ts";
import { cli } from "../cli/support.ts";
import { lockStore } from "./locking_child.ts";
import { bench, every, HOUR, MINUTE, orders, recipe, runsOf, step, temporaryFolder } from "./support.ts";

Deno.test("Store waits for another process up to a limit, reports the wait once, and then throws", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  const waits: number[] = [];
  await using store = await openSqlite(path, {
    waitMs: 60_000,
    onBusy: (mostMs) => void waits.push(mostMs),
  });
  {
    await using other = await lockStore(path);
    // Long enough for the report, and far below the limit.
    await other.releaseAfter(1_500);
    await store.event(0, "test", {});
  }
  assertEquals(waits, [60_000]);
  await store.event(0, "test", {}); // control: no other process has the lock
  assertEquals(waits, [60_000]);
  await using _other = await lockStore(path);
  await using hasty = await openSqlite(path, { waitMs: 50 }); // reading needs no lock
  assertEquals((await hasty.get<{ n: number }>("select count(*) as n from event"))?.n, 2);
  const error = await assertRejects(async () => await hasty.event(0, "test", {}), StoreError);
  assertEquals(error.code, "busy");
  assertStringIncludes(error.message, `Cannot use the store "${path}": another process has kept it locked`);
  await assertRejects(
    async () => await hasty.transaction(async () => await hasty.event(0, "test", {})),
    StoreError,
    "locked",
  );
});

/** Runs a write. As the write ends, another connection locks the store for a time; `undefined` means no lock. */
async function lockedAtTheEnd(lockedMs: number | undefined) {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  const store = await openSqlite(path, { waitMs: 5 });
  const other = new DatabaseSync(path);
  const sent: string[] = [];
  const place = step({
    id: "place",
    effect: "write",
    run({ stepKey }) {
      sent.push(stepKey);
      if (lockedMs !== undefined) {
        other.exec("begin immediate");
        b.machine.setTimer(lockedMs, () => other.exec("commit"));
      }
      return Promise.resolve({ orderId: "7" });
    },
  });
  const errors: unknown[] = [];
  await using b = await bench({
    start: "2025-12-22T01:30:00Z",
    recipes: [orders([], { steps: [place] })],
    store,
    onSchedulerEvent: (event: SchedulerEvent) => {
      if (event.type === "error") errors.push(event.error);
    },
  });
  await b.scheduler.start();
  await b.machine.pass(HOUR);
  await b.scheduler.stop();
  other.close();
  const stored = await store.get<{ state: string; output: string }>("select state, output from step_run");
  return { runs: await runsOf(store), stored: { ...stored }, sent: sent.length, errors };
}

Deno.test("the result of a write is kept even if the store is locked when the write ends", async () => {
  const free = await lockedAtTheEnd(undefined);
  const expected = {
    runs: ["orders/s1/2025-12-22 ok live"],
    stored: { state: "ok", output: '{"orderId":"7"}' },
    sent: 1,
  };
  assertEquals(free, { ...expected, errors: [] });
  assertEquals({ ...await lockedAtTheEnd(5_500), errors: [] }, { ...expected, errors: [] });
  // This lock lasts longer than the lease. The outcome is then unknown, which is not a failure, and nothing is sent
  // again.
  const lost = await lockedAtTheEnd(10 * MINUTE);
  assertEquals([lost.runs, lost.stored.state, lost.sent], [
    ["orders/s1/2025-12-22 waiting_recovery live"],
    "begun",
    1,
  ]);
});

Deno.test("a scheduler continues after the store was locked for long, and reports the lock once a minute", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  const store = await openSqlite(path, { waitMs: 5 });
  const other = new DatabaseSync(path);
  const errors: unknown[] = [];
  await using b = await bench({
    start: "2025-12-22T01:30:00Z",
    recipes: [recipe({ schedules: [every(MINUTE)] })],
    store,
    onSchedulerEvent: (event: SchedulerEvent) => {
      if (event.type === "error") errors.push(event.error);
    },
  });
  await b.scheduler.start();
  await b.machine.pass(2 * MINUTE + 500);
  assertEquals([(await runsOf(store)).length, errors.length], [2, 0]);
  other.exec("begin immediate");
  await b.machine.pass(2 * MINUTE + 30_000);
  other.exec("commit");
  await b.machine.pass(MINUTE);
  await b.scheduler.stop();
  other.close();
  assertEquals((await runsOf(store)).map((line) => line.slice(line.indexOf(" ") + 1)), [
    "ok live",
    "ok live",
    "ok live",
    "ok live",
    "ok live",
  ]);
  assert(errors.length >= 2 && errors.length <= 3, `${errors.length} errors`);
  assert(errors.every((error) => error instanceof StoreError && error.code === "busy"));
});

Deno.test("a command prints a line while it waits for a locked store, and then does its work", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  {
    await using b = await bench({
      start: "2025-12-22T01:30:00Z",
      recipes: [recipe(), recipe({ name: "other" })],
      store: await openSqlite(path),
    });
    await b.scheduler.tick();
  }
  const free = await cli(["pause", "other", "--store", path]);
  assertEquals([free.code, free.err], [0, ""]);
  await using other = await lockStore(path);
  // Reading needs no lock.
  const looked = await cli(["runs", "--store", path]);
  assertEquals([looked.code, looked.err], [0, ""]);
  await other.releaseAfter(1_500);
  const waited = await cli(["pause", "eod", "--store", path]);
  assertEquals(waited.code, 0, waited.err);
  assertStringIncludes(waited.err, `the store "${path}" is locked by another process; waiting up to 30 s`);
});
