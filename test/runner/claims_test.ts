import { assert, assertEquals, assertThrows } from "@std/assert";
import { type Claim, claimRun } from "../../lib/runner/claims.ts";
import { endRun, LeaseLostError, renewClaim, underClaim } from "../../lib/runner/holding.ts";
import { Ledger } from "../../lib/runner/ledger.ts";
import { Redactor } from "../../lib/redact.ts";
import { recoverExpired } from "../../lib/runner/recovery.ts";
import { executeRun } from "../../lib/runner/run.ts";
import { findRun } from "../../lib/runner/run_rows.ts";
import { addManualRun } from "../../lib/runner/starts.ts";
import { beginAttempt, endAttempt, recordArtifact, skipStep } from "../../lib/runner/step_rows.ts";
import { at, MINUTE, orders, recipe, runsOf, step, temporaryFolder, TestHost } from "./support.ts";

const NOW = at("2025-08-15T02:00:00Z");
const claimer = { holder: "p1", leaseMs: 30_000, accountOf: () => "default" };

function claimed(ledger: Ledger, runKey: string, now: number): Claim {
  const claim = claimRun(ledger, recipe({ needsAccount: true }), runKey, claimer, now);
  assert(typeof claim !== "string", String(claim));
  return claim;
}

Deno.test("under a claim whose run was taken over nothing is written, though the same process has it again", () => {
  const ways: Record<string, (ledger: Ledger, claim: Claim, now: number) => unknown> = {
    underClaim: (ledger, claim, now) =>
      underClaim(ledger, claim, now, () => ledger.event(now, "written", {})),
    renewClaim: (ledger, claim, now) => renewClaim(ledger, claim, now),
    endRun: (ledger, claim, now) => endRun(ledger, claim, { state: "ok", now }),
    beginAttempt: (ledger, claim, now) =>
      beginAttempt(ledger, claim, { step: step(), round: 0, attempt: 1 }, now),
    endAttempt: (ledger, claim, now) =>
      endAttempt(ledger, claim, { step: step(), round: 0, attempt: 1 }, { state: "ok", now }),
    skipStep: (ledger, claim, now) =>
      skipStep(ledger, claim, { step: step(), round: 0, attempt: 1 }, "x", now),
    recordArtifact: (ledger, claim, now) =>
      recordArtifact(ledger, claim, {
        dataset: "d",
        businessDay: "2025-08-15",
        path: "f",
        bytes: 1,
        sha256: "00",
        final: true,
      }, now),
  };
  for (const [name, write] of Object.entries(ways)) {
    using ledger = new Ledger(":memory:");
    const runKey = addManualRun(ledger, recipe(), { id: "1", now: NOW, drawTraceId: () => "t" });
    // Not by hand, so that it goes back when its lease runs out.
    ledger.run("update run set kind = 'live' where run_key = ?", runKey);
    const old = claimed(ledger, runKey, NOW);
    const later = NOW + MINUTE;
    assertEquals(recoverExpired(ledger, later).length, 1);
    const fresh = claimed(ledger, runKey, later);
    assertEquals([old.holder, fresh.holder, fresh.fence - old.fence], ["p1", "p1", 1]);
    const events = () => ledger.get<{ n: number }>("select count(*) as n from event")!.n;
    const before = events();
    assertThrows(() => write(ledger, old, later), LeaseLostError, "its lease is lost");
    assertEquals([events(), findRun(ledger, runKey)!.state], [before, "running"], name);
    write(ledger, fresh, later); // control
  }
});

Deno.test("a write step that was begun before is never done again, whatever its row says", async () => {
  const states = { begun: "unknown", unknown: "unknown", failed: "failed", ok: "ok", none: "ok" } as const;
  for (const [stored, state] of Object.entries(states)) {
    using ledger = new Ledger(":memory:");
    const done: string[] = [];
    const write = orders(done, { window: undefined, needsAccount: false });
    const runKey = addManualRun(ledger, write, { id: "1", now: NOW, drawTraceId: () => "t" });
    if (stored !== "none") {
      ledger.run(
        `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, started_at)
          values (?, 'one', 0, 1, 'write', 'k', ?, ?)`,
        runKey,
        stored,
        NOW,
      );
    }
    const claim = claimRun(ledger, write, runKey, claimer, NOW);
    assert(typeof claim !== "string", String(claim));
    const outcome = await executeRun(write, claim, {
      ledger,
      host: new TestHost(NOW),
      out: "",
      redactor: new Redactor(),
      client: () => Promise.reject(new TypeError("no client in this test")),
      secret: () => Promise.reject(new TypeError("no secret in this test")),
    });
    assertEquals([outcome.state, done.length], [state, stored === "none" ? 1 : 0], stored);
    assertEquals(runsOf(ledger)[0]!.split(" ")[1], state, stored);
  }
});

Deno.test("each commit of a ledger is synced before it returns, and the mark before its name changes", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  using ledger = new Ledger(path);
  // 2 is "full": with less a commit may be gone after a loss of power.
  assertEquals(ledger.get<{ synchronous: number }>("pragma synchronous")?.synchronous, 2);
  assertEquals(ledger.get<{ journal_mode: string }>("pragma journal_mode")?.journal_mode, "wal");
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
    ledger.mark();
  } finally {
    Deno.FsFile.prototype.syncSync = syncSync;
    Deno.renameSync = renameSync;
  }
  assertEquals(deeds, Deno.build.os === "windows" ? ["sync", "rename"] : ["sync", "rename", "sync"]);
});
