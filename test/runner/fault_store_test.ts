/** Tests of stores whose disk is full or whose files are cut short. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals } from "@std/assert";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { StoreError } from "../../lib/store/store_error.ts";
import { unresolvedWriteAdvice } from "../../lib/runner/explain/advice.ts";
import { resolveOutcome } from "../../lib/runner/claims/claims.ts";
import { findRun } from "../../lib/runner/queries/runs.ts";
import { verifyStore, verifyStoreFile } from "../../lib/runner/queries/store_care.ts";
import type { SchedulerEvent } from "../../lib/runner/schedule/scheduler.ts";
import { why } from "../../lib/runner/explain/why.ts";
import { killBetween, killInWrite, rebalance } from "./store_child.ts";
import {
  bench,
  close45,
  DAY,
  HOUR,
  MINUTE,
  orders,
  recipe,
  runsOf,
  step,
  temporaryFolder,
} from "./support.ts";

// F07 in `fault_table_test.ts`: a torn record, a failed fsync, a full disk. No write goes to the broker, reads
// continue, and complete data is kept.

Deno.test("F07: after a kill during a write, a write-ahead log that is cut at any byte contains the write, or the store is rejected", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  await killInWrite(path);
  const wal = Deno.readFileSync(`${path}-wal`);
  const ends = { known: 0, refused: 0 };
  const cuts = Array.from({ length: 60 }, (_, n) => Math.round(wal.length * n / 60));
  // The other cuts are at each byte of the beginning of the last record, and after the complete record.
  for (const cut of [...cuts, ...Array.from({ length: 24 }, (_, n) => wal.length - 4_120 + n), wal.length]) {
    const copy = `${folder.path}/${cut}.db`;
    for (const end of ["", ".mark"]) Deno.copyFileSync(`${path}${end}`, `${copy}${end}`);
    Deno.writeFileSync(`${copy}-wal`, wal.subarray(0, cut));
    const faults = await verifyStoreFile(copy);
    try {
      await using store = await openSqlite(copy);
      assertEquals(await runsOf(store), ["orders/s1/2025-12-22 running live"], `cut at ${cut}`);
      assertEquals(
        (await store.all("select * from step_run where effect = 'write'")).length,
        1,
        `cut at ${cut}`,
      );
      assertEquals(faults, [], `cut at ${cut}`);
      ends.known++;
    } catch (error) {
      assert(error instanceof StoreError && error.code === "lost-store", `cut at ${cut}: ${error}`);
      assert(faults.length > 0, `cut at ${cut}`);
      ends.refused++;
    }
  }
  assert(ends.known >= 1 && ends.refused >= 60, JSON.stringify(ends));
});

Deno.test("F07: a write is not sent when the mark cannot be synced", async () => {
  for (const isBroken of [false, true]) {
    using folder = temporaryFolder();
    const began: string[] = [];
    const store = await openSqlite(`${folder.path}/hsgate.db`);
    await using b = await bench({
      start: "2025-12-22T00:00:00Z",
      recipes: [orders(began), recipe()],
      store,
    });
    await b.scheduler.start();
    const { syncSync } = Deno.FsFile.prototype;
    if (isBroken) {
      Deno.FsFile.prototype.syncSync = () => {
        throw new Error("Input/output error (os error 5)");
      };
    }
    try {
      await b.machine.pass(DAY);
    } finally {
      Deno.FsFile.prototype.syncSync = syncSync;
    }
    await b.scheduler.stop();
    assertEquals(began.length, isBroken ? 0 : 1);
    assertEquals(await runsOf(store), [
      `orders/s1/2025-12-22 ${isBroken ? "failed step" : "ok"} live`,
      "eod/s1/2025-12-22 ok live",
    ]);
  }
});

/** A separate disk that can be filled; `undefined` if this user may not mount one. */
function smallDisk(): { path: string; fill(): void; free(): void } & Disposable | undefined {
  const path = Deno.makeTempDirSync({ prefix: "hsgate-disk-" });
  const mount = (args: string[]) => {
    try {
      return new Deno.Command("mount", { args, stderr: "null" }).outputSync().success;
    } catch {
      return false; // no such program
    }
  };
  if (!mount(["-t", "tmpfs", "-o", "size=2m", "tmpfs", path])) {
    Deno.removeSync(path);
    return undefined;
  }
  const filler = `${path}/filler`;
  return {
    path,
    fill() {
      using file = Deno.openSync(filler, { create: true, write: true });
      for (let size = 65_536; size > 0;) {
        try {
          file.writeSync(new Uint8Array(size));
        } catch {
          size >>= 1;
        }
      }
    },
    free: () => Deno.removeSync(filler),
    [Symbol.dispose]() {
      new Deno.Command("umount", { args: [path] }).outputSync();
      Deno.removeSync(path);
    },
  };
}

Deno.test("F07: with a full disk no write is sent, the store can be read, and no complete data is lost", async (t) => {
  for (
    const [when, freedAfterMs, sent] of [
      ["before the slot, for long", 30 * MINUTE, 0],
      ["before the slot, for a moment", 0, 1],
      ["within the run", 2 * MINUTE, 1],
      ["never", 0, 1],
    ] as const
  ) {
    using disk = smallDisk();
    // deno-lint-ignore no-console -- reports that the test could not run
    if (disk === undefined) return console.log("not tried: no right to mount a file system");
    await t.step(when, async () => {
      const began: string[] = [];
      const errors: unknown[] = [];
      const store = await openSqlite(`${disk.path}/hsgate.db`);
      const look = step({
        id: "look",
        run() {
          if (when === "within the run" && errors.length === 0) disk.fill();
          return Promise.resolve("x".repeat(2_000_000 / 100));
        },
      });
      const place = step({
        id: "place",
        effect: "write",
        needs: ["look"],
        run: ({ stepKey }) => Promise.resolve(void began.push(stepKey)),
      });
      await using b = await bench({
        start: "2025-12-22T00:00:00Z",
        recipes: [
          orders(began, { steps: [look, place] }),
          recipe({
            name: "early",
            schedules: [{ ...close45, at: { anchor: "open", offsetMs: -HOUR } }],
          }),
        ],
        store,
        onSchedulerEvent: (event: SchedulerEvent) => {
          if (event.type === "error") errors.push(event.error);
        },
      });
      await b.scheduler.start();
      await b.machine.pass(HOUR + 58 * MINUTE); // 01:58; "early" ran at 00:30
      if (when.startsWith("before")) disk.fill();
      await b.machine.pass(4 * MINUTE); // 02:02, after the slot of 02:00
      assertEquals(began.length, when === "never" ? 1 : 0);
      assertEquals((await runsOf(store))[0], "early/s1/2025-12-22 ok live");
      const told = await why(store, recipe({ name: "early" }), {
        calendars: builtInCalendars,
        date: "2025-12-22",
        now: b.machine.now(),
      });
      assert(told.startsWith("early/s1/2025-12-22 "), told);
      if (when !== "never") {
        assert(errors.length > 0 && errors.length < 12, `${errors.length} errors`);
        await b.machine.pass(when === "before the slot, for long" ? 10 * MINUTE : MINUTE);
        disk.free();
      }
      await b.machine.pass(freedAfterMs + 10 * MINUTE);
      await b.scheduler.stop();
      assertEquals(began.length, sent);
      assertEquals(await verifyStore(store), []);
    });
  }
});

// F23, for the runner: a person or a program that knows the orders has to plan the unsent orders again.
Deno.test("F23: a run killed between sells and buys repeats neither and reports it; the next day runs completely", async () => {
  for (const isKilled of [false, true]) {
    using folder = temporaryFolder();
    const path = `${folder.path}/hsgate.db`;
    const key = "orders/s1/2025-12-22";
    const run = async (start: string, ms: number) => {
      const store = await openSqlite(path);
      const b = await bench({ start, recipes: [rebalance(path, () => {})], store });
      await b.scheduler.start();
      await b.machine.pass(ms);
      await b.scheduler.stop();
      return store;
    };
    if (isKilled) await killBetween(path);
    else await (await run("2025-12-22T01:30:00Z", HOUR))[Symbol.asyncDispose]();
    const sent = () => Deno.readTextFileSync(`${path}.sent`).trim().split("\n").join(" ");
    assertEquals(sent(), isKilled ? "sell" : "sell buy");
    // Another process takes over within the window.
    await using store = await run("2025-12-22T02:01:00Z", HOUR);
    assertEquals(sent(), isKilled ? "sell" : "sell buy");
    assertEquals(await runsOf(store), [`${key} ${isKilled ? "waiting_recovery" : "ok"} live`]);
    const advice = (await unresolvedWriteAdvice(store, (await findRun(store, key))!)).join("\n");
    assertEquals(advice.includes(key), isKilled, advice);
    if (!isKilled) continue;
    // Until a person has resolved the write, the next day's orders are not sent either.
    await using waiting = await run("2025-12-23T01:30:00Z", HOUR);
    assertEquals(sent(), "sell");
    const now = Date.parse("2025-12-24T00:00:00Z");
    assert(
      await resolveOutcome(waiting, {
        runKey: key,
        state: "failed",
        actor: "me",
        because: "bought by hand",
        now,
      }),
    );
    await using _after = await run("2025-12-24T00:30:00Z", 2 * HOUR);
    assertEquals(sent(), "sell sell buy");
  }
});
