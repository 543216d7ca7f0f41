import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { Ledger, LedgerError } from "../../lib/runner/ledger.ts";
import type { SchedulerEvent } from "../../lib/runner/scheduler.ts";
import { cli } from "../cli/support.ts";
import { lockLedger } from "./locking_child.ts";
import { bench, every, HOUR, MINUTE, orders, recipe, runsOf, step, temporaryFolder } from "./support.ts";

Deno.test("Ledger waits for another process inside a bound, says so once, and then throws", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  const waits: number[] = [];
  using ledger = new Ledger(path, { waitMs: 60_000, onBusy: (mostMs) => void waits.push(mostMs) });
  {
    await using other = await lockLedger(path);
    // Long enough that the wait is told of, and far from the bound.
    await other.releaseAfter(1_500);
    ledger.event(0, "test", {});
  }
  assertEquals(waits, [60_000]);
  ledger.event(0, "test", {}); // control: nobody else has it
  assertEquals(waits, [60_000]);
  await using _other = await lockLedger(path);
  using hasty = new Ledger(path, { waitMs: 50 }); // what only looks waits for nobody
  assertEquals(hasty.get<{ n: number }>("select count(*) as n from event")?.n, 2);
  const error = assertThrows(() => hasty.event(0, "test", {}), LedgerError);
  assertEquals(error.code, "busy");
  assertStringIncludes(error.message, `Cannot use the ledger "${path}": another process has kept it locked`);
  assertThrows(() => hasty.transaction(() => hasty.event(0, "test", {})), LedgerError, "locked");
});

/** Runs a write at whose end the ledger is locked for a time. */
async function lockedAtTheEnd(lockedMs: number | undefined) {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  const ledger = new Ledger(path, { waitMs: 5 });
  const other = new DatabaseSync(path);
  const sent: string[] = [];
  const place = step({
    id: "place",
    effect: "write",
    run({ stepKey }) {
      sent.push(stepKey);
      if (lockedMs !== undefined) {
        other.exec("begin immediate");
        b.host.setTimer(lockedMs, () => other.exec("commit"));
      }
      return Promise.resolve({ orderId: "7" });
    },
  });
  const errors: unknown[] = [];
  using b = bench({
    start: "2025-12-22T01:30:00Z",
    recipes: [orders([], { steps: [place] })],
    ledger,
    onSchedulerEvent: (event: SchedulerEvent) => {
      if (event.type === "error") errors.push(event.error);
    },
  });
  b.scheduler.start();
  await b.host.pass(HOUR);
  await b.scheduler.stop();
  other.close();
  const stored = ledger.get<{ state: string; output: string }>("select state, output from step_run");
  return { runs: runsOf(ledger), stored: { ...stored }, sent: sent.length, errors };
}

Deno.test("what a write answered is not forgotten over a ledger that is locked at its end", async () => {
  const free = await lockedAtTheEnd(undefined);
  const expected = {
    runs: ["orders/s1/2025-12-22 ok live"],
    stored: { state: "ok", output: '{"orderId":"7"}' },
    sent: 1,
  };
  assertEquals(free, { ...expected, errors: [] });
  assertEquals({ ...await lockedAtTheEnd(5_500), errors: [] }, { ...expected, errors: [] });
  // Longer than the lease: nobody knows what came of it, which is not the same as a failure, and nothing is sent again.
  const lost = await lockedAtTheEnd(10 * MINUTE);
  assertEquals([lost.runs, lost.stored.state, lost.sent], [
    ["orders/s1/2025-12-22 waiting_recovery live"],
    "begun",
    1,
  ]);
});

Deno.test("a scheduler goes on when the ledger was locked for long, and says so once a minute", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  const ledger = new Ledger(path, { waitMs: 5 });
  const other = new DatabaseSync(path);
  const errors: unknown[] = [];
  using b = bench({
    start: "2025-12-22T01:30:00Z",
    recipes: [recipe({ schedules: [every(MINUTE)] })],
    ledger,
    onSchedulerEvent: (event: SchedulerEvent) => {
      if (event.type === "error") errors.push(event.error);
    },
  });
  b.scheduler.start();
  await b.host.pass(2 * MINUTE + 500);
  assertEquals([runsOf(ledger).length, errors.length], [2, 0]);
  other.exec("begin immediate");
  await b.host.pass(2 * MINUTE + 30_000);
  other.exec("commit");
  await b.host.pass(MINUTE);
  await b.scheduler.stop();
  other.close();
  assertEquals(runsOf(ledger).map((line) => line.slice(line.indexOf(" ") + 1)), [
    "ok live",
    "ok live",
    "ok live",
    "ok live",
    "ok live",
  ]);
  assert(errors.length >= 2 && errors.length <= 3, `${errors.length} errors`);
  assert(errors.every((error) => error instanceof LedgerError && error.code === "busy"));
});

Deno.test("a command waits for a locked ledger with a line, and does its work then", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  {
    using b = bench({
      start: "2025-12-22T01:30:00Z",
      recipes: [recipe(), recipe({ name: "other" })],
      ledger: new Ledger(path),
    });
    b.scheduler.tick();
  }
  const free = await cli(["pause", "other", "--ledger", path]);
  assertEquals([free.code, free.err], [0, ""]);
  await using other = await lockLedger(path);
  // Whoever only looks waits for nobody.
  const looked = await cli(["runs", "--ledger", path]);
  assertEquals([looked.code, looked.err], [0, ""]);
  await other.releaseAfter(1_500);
  const waited = await cli(["pause", "eod", "--ledger", path]);
  assertEquals(waited.code, 0, waited.err);
  assertStringIncludes(waited.err, `the ledger "${path}" is locked by another process; waiting up to 30 s`);
});
