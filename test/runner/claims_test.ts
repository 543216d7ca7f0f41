/** Tests of claims and fences: a process that lost its run writes nothing more. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { testBoth } from "./both_stores.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { claimRun, recoverExpired } from "../../lib/runner/claims/claims.ts";
import {
  type Claim,
  claimedTransaction,
  endRun,
  LeaseLostError,
  renewClaim,
} from "../../lib/runner/claims/claim.ts";
import type { CompiledRecipe } from "../../lib/recipes/mod.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { Store } from "../../lib/store/store.ts";
import { Redactor } from "../../lib/redact.ts";
import { executeRun } from "../../lib/runner/run/run.ts";
import { verifyStore } from "../../lib/runner/queries/store_care.ts";
import { findRun } from "../../lib/runner/queries/runs.ts";
import { noteBlocked } from "../../lib/runner/queries/claims.ts";
import type { BlockReason } from "../../lib/runner/queries/events.ts";
import { lastBlock } from "../../lib/runner/explain/advice.ts";
import { addManualRun } from "../../lib/runner/schedule/starts.ts";
import { beginAttempt, endAttempt, recordArtifact, skipStep } from "../../lib/runner/queries/steps.ts";
import {
  at,
  MINUTE,
  openStore,
  orders,
  recipe,
  runsOf,
  step,
  temporaryFolder,
  TestMachine,
} from "./support.ts";

const NOW = at("2025-08-15T02:00:00Z");
const claimer = { holder: "p1", leaseMs: 30_000, accountOf: () => "default" };

/** Adds a manual run of a recipe, and returns its key. */
const addRun = (store: Store, of: CompiledRecipe): Promise<string> =>
  addManualRun(store, of, { calendars: builtInCalendars, id: "1", now: NOW, drawTraceId: () => "t" });

async function claimed(store: Store, runKey: string, now: number): Promise<Claim> {
  const claim = await claimRun(store, recipe({ needsAccount: true }), runKey, claimer, now);
  assert(typeof claim !== "string", String(claim));
  return claim;
}

testBoth(
  "a claim writes nothing after its run was taken over, even if the same process has claimed the run again",
  async () => {
    const ways: Record<string, (store: Store, claim: Claim, now: number) => Promise<unknown>> = {
      claimedTransaction: async (store, claim, now) =>
        await claimedTransaction(store, claim, now, async () => await store.event(now, "written", {})),
      renewClaim: async (store, claim, now) => await renewClaim(store, claim, now),
      endRun: async (store, claim, now) => await endRun(store, claim, { state: "ok", now }),
      beginAttempt: async (store, claim, now) =>
        await beginAttempt(store, claim, { step: step(), round: 0, attempt: 1 }, now),
      endAttempt: async (store, claim, now) =>
        await endAttempt(store, claim, { step: step(), round: 0, attempt: 1 }, { state: "ok", now }),
      skipStep: async (store, claim, now) =>
        await skipStep(store, claim, { step: step(), round: 0, attempt: 1 }, "x", now),
      recordArtifact: async (store, claim, now) =>
        await recordArtifact(store, claim, {
          dataset: "d",
          businessDay: "2025-08-15",
          path: "f",
          bytes: 1,
          sha256: "00",
          final: true,
        }, now),
    };
    for (const [name, write] of Object.entries(ways)) {
      await using store = await openStore();
      const runKey = await addRun(store, recipe());
      // Makes the run a live run, because a live run becomes due again when its lease expires.
      await store.run("update run set kind = 'live' where run_key = ?", runKey);
      const old = await claimed(store, runKey, NOW);
      const later = NOW + MINUTE;
      assertEquals((await recoverExpired(store, later)).length, 1);
      const fresh = await claimed(store, runKey, later);
      assertEquals([old.holder, fresh.holder, fresh.fence - old.fence], ["p1", "p1", 1]);
      const events = async () => (await store.get<{ n: number }>("select count(*) as n from event"))!.n;
      const before = await events();
      await assertRejects(() => write(store, old, later), LeaseLostError, "this process lost its lease");
      assertEquals([await events(), (await findRun(store, runKey))!.state], [before, "running"], name);
      await write(store, fresh, later); // control: a valid claim may write
    }
  },
);

testBoth(
  "verifyStore() accepts a second attempt of a write step only after the step was resolved to begin again",
  async () => {
    await using store = await openStore();
    await store.run(
      `insert into run (run_key, recipe, schedule_id, kind, class, slot_at, due_at, state, recipe_sha, trace_id)
      values ('r/s1/1', 'r', 's1', 'live', 'write', 1, 1, 'waiting_recovery', '', '')`,
    );
    await store.run(
      `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, started_at)
      values ('r/s1/1', 'rebalance', 0, 2, 'write', 'r', 'begun', 1)`,
    );
    const broken =
      'rule "a write step was begun once, and once more for each time that the order desk let it begin again"';
    assertEquals(await verifyStore(store), [`1 rows break the ${broken}`]);
    await store.event(1, "resolved", { state: "failed" }, "r/s1/1");
    assertEquals(await verifyStore(store), [`1 rows break the ${broken}`]);
    await store.event(1, "resolved", { state: "again" }, "r/s1/1");
    assertEquals(await verifyStore(store), []);
  },
);

testBoth("a write step that was begun once never runs again, whatever its row says", async () => {
  const states = { begun: "unknown", unknown: "unknown", failed: "failed", ok: "ok", none: "ok" } as const;
  for (const [stored, state] of Object.entries(states)) {
    await using store = await openStore();
    const done: string[] = [];
    const write = orders(done, { window: undefined, needsAccount: false });
    const runKey = await addRun(store, write);
    if (stored !== "none") {
      await store.run(
        `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, started_at)
          values (?, 'one', 0, 1, 'write', 'k', ?, ?)`,
        runKey,
        stored,
        NOW,
      );
    }
    const claim = await claimRun(store, write, runKey, claimer, NOW);
    assert(typeof claim !== "string", String(claim));
    const outcome = await executeRun(write, claim, {
      calendars: () => builtInCalendars,
      store,
      machine: new TestMachine(NOW),
      out: "",
      redactor: new Redactor(),
      client: () => Promise.reject(new TypeError("no client in this test")),
      secret: () => Promise.reject(new TypeError("no secret in this test")),
    });
    assertEquals([outcome.state, done.length], [state, stored === "none" ? 1 : 0], stored);
    assertEquals((await runsOf(store))[0]!.split(" ")[1], state, stored);
  }
});

Deno.test(
  "each commit of a store is synced before it returns, and the file with the mark is synced before it is renamed",
  async () => {
    using folder = temporaryFolder();
    const path = `${folder.path}/hsgate.db`;
    await using store = await openSqlite(path);
    // 2 means "full": with a lower level, a power loss could undo a commit.
    assertEquals((await store.get<{ synchronous: number }>("pragma synchronous"))?.synchronous, 2);
    assertEquals((await store.get<{ journal_mode: string }>("pragma journal_mode"))?.journal_mode, "wal");
    const { syncSync } = Deno.FsFile.prototype;
    const { renameSync } = Deno;
    const deeds: string[] = [];
    Deno.FsFile.prototype.syncSync = function () {
      deeds.push("sync");
      syncSync.call(this);
    };
    Deno.renameSync = (from, to) => {
      deeds.push("rename");
      renameSync(from, to);
    };
    try {
      await store.mark();
    } finally {
      Deno.FsFile.prototype.syncSync = syncSync;
      Deno.renameSync = renameSync;
    }
    assertEquals(deeds, Deno.build.os === "windows" ? ["sync", "rename"] : ["sync", "rename", "sync"]);
  },
);

testBoth(
  "if an earlier block reason returns, the run shows it again, but no second event is recorded",
  async () => {
    await using store = await openStore();
    const runKey = await addRun(store, recipe());
    const note = async (because: BlockReason, by?: string) =>
      [
        await noteBlocked(store, { runKey, because, by, now: NOW }),
        (await findRun(store, runKey))?.reason,
        (await lastBlock(store, runKey, because))?.by,
      ] as const;
    assertEquals(await note("recovery", "a/1"), [true, "held:recovery", "a/1"]);
    assertEquals(await note("recovery", "a/1"), [false, "held:recovery", "a/1"]);
    assertEquals(await note("displaced", "b/1"), [true, "held:displaced", "b/1"]);
    assertEquals(await note("recovery", "a/1"), [false, "held:recovery", "a/1"]);
    const events = await store.get<{ n: number }>("select count(*) as n from event where kind = 'held'");
    assertEquals(Number(events?.n), 2);
  },
);
