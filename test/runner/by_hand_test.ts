import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { rerun } from "../../lib/runner/backfill.ts";
import { type Claimer, claimRun } from "../../lib/runner/claims.ts";
import { recoverExpired } from "../../lib/runner/recovery.ts";
import { pauseRecipe } from "../../lib/runner/pausing.ts";
import type { Surroundings } from "../../lib/runner/run.ts";
import { runKey, runManual } from "../../lib/runner/script.ts";
import { silentSince } from "../../lib/runner/silent.ts";
import { findRun } from "../../lib/runner/run_rows.ts";
import { addManualRun } from "../../lib/runner/starts.ts";
import type { CompiledRecipe } from "../../lib/steps/compiled.ts";
import { type Bench, bench, MINUTE, orders, recipe, runsOf, step } from "./support.ts";

const claimer: Claimer = { holder: "hand", leaseMs: 30_000, accountOf: () => "default" };
const start = "2025-12-22T02:00Z";

function surroundingsOf({ ledger, host, redactor, events }: Bench): Surroundings {
  return {
    ledger,
    host,
    redactor,
    out: "out",
    client: () => Promise.reject(new TypeError("no client in this test")),
    secret: () => Promise.reject(new TypeError("no secret in this test")),
    onEvent: (event) => void events.push(event),
  };
}

const waits = ({ signal }: { signal: AbortSignal }) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

/** A run by hand whose process dies at once. */
function dead(b: Bench, about: CompiledRecipe): string {
  const { ledger, host } = b;
  const key = addManualRun(ledger, about, { id: "1", now: host.now(), drawTraceId: () => "1" });
  ledger.run(
    "update run set state = 'running', holder = 'dead', lease_until = ?, started_at = ? where run_key = ?",
    host.now() + 30_000,
    host.now(),
    key,
  );
  return key;
}

Deno.test("runManual() tells at a stop what the ledger holds in the end", async () => {
  const slow = recipe({ schedules: [], steps: [step({ run: waits })] });
  using b = bench({ start, recipes: [] });
  const stop = new AbortController();
  const ended: string[] = [];
  const running = runManual(slow, {
    surroundings: { ...surroundingsOf(b), onEnd: (_recipe, { run_key }) => void ended.push(run_key) },
    claimer,
    id: "1",
    stop: stop.signal,
  });
  await b.host.pass(MINUTE / 20);
  stop.abort();
  assertEquals(await running, {
    runKey: "eod/m/1",
    ran: true,
    outcome: { state: "cancelled", reason: "stopped" },
  });
  const told = b.events.flatMap((event) =>
    event.type === "run-ended" ? [`${event.runKey} ${event.state} ${event.reason}`] : []
  );
  assertEquals(told, ["eod/m/1 cancelled stopped"]);
  // Whoever stopped it needs no notice of that.
  assertEquals(ended, []);
  assertEquals(runsOf(b.ledger), ["eod/m/1 cancelled stopped manual"]);
});

Deno.test("rerun() takes over a run whose lease has run out, with what it had done, and none that is alive", async () => {
  const done: string[] = [];
  const eod = recipe({
    steps: [
      step({ id: "a", run: () => Promise.resolve(void done.push("a")) }),
      step({ id: "b", run: () => Promise.resolve(void done.push("b")) }),
    ],
  });
  using b = bench({ start, recipes: [eod] });
  const key = dead(b, eod);
  const about = () => ({ runKey: key, fromStart: false, now: b.host.now(), recipe: eod });
  b.host.jump(29_000);
  assertEquals(rerun(b.ledger, about()), false);
  assertEquals(silentSince(findRun(b.ledger, key)!, b.host.now()), undefined);
  b.ledger.run(
    `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, output, started_at)
      values (?, 'a', 0, 1, 'read', 'a', 'ok', 'null', 0)`,
    key,
  );
  b.host.jump(2_000);
  assertEquals(silentSince(findRun(b.ledger, key)!, b.host.now()), Date.parse("2025-12-22T02:00:30Z"));
  assertEquals(rerun(b.ledger, about()), true);
  const { outcome } = await runKey(eod, key, { surroundings: surroundingsOf(b), claimer });
  assertEquals([outcome.state, done], ["ok", ["b"]]);
});

Deno.test("rerun() of a run that a dead process had begun from the start does every step anew", async () => {
  const done: string[] = [];
  const eod = recipe({ steps: [step({ id: "a", run: () => Promise.resolve(void done.push("a")) })] });
  using b = bench({ start, recipes: [eod] });
  const key = dead(b, eod);
  b.ledger.run(
    `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, output, started_at)
      values (?, 'a', 0, 1, 'read', 'a', 'ok', 'null', 0)`,
    key,
  );
  b.host.jump(MINUTE);
  assertEquals(rerun(b.ledger, { runKey: key, fromStart: true, now: b.host.now() }), true);
  await runKey(eod, key, { surroundings: surroundingsOf(b), claimer });
  assertEquals(done, ["a"]);
});

Deno.test("rerun() parks a write whose process died at it, and says how to settle it", () => {
  const write = orders([]);
  using b = bench({ start, recipes: [write] });
  const key = dead(b, write);
  b.ledger.run(
    `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, started_at)
      values (?, 'one', 0, 1, 'write', 'one', 'begun', 0)`,
    key,
  );
  b.host.jump(MINUTE);
  const error = assertThrows(
    () => rerun(b.ledger, { runKey: key, fromStart: false, now: b.host.now(), recipe: write }),
    TypeError,
  );
  assertStringIncludes(error.message, `hsgate settle ${key} ok|failed`);
  assertEquals(runsOf(b.ledger), [`${key} waiting_recovery manual`]);
});

Deno.test("recoverExpired() keeps to a pause", () => {
  const eod = recipe();
  using b = bench({ start: "2025-12-22T08:44Z", recipes: [eod] });
  b.scheduler.tick();
  b.host.jump(MINUTE);
  b.scheduler.tick();
  const key = "eod/s1/2025-12-22";
  assertEquals(typeof claimRun(b.ledger, eod, key, claimer, b.host.now()), "object");
  pauseRecipe(b.ledger, "eod", { why: "away", now: b.host.now() });
  b.host.jump(MINUTE);
  assertEquals(recoverExpired(b.ledger, b.host.now()), [{ runKey: key, state: "skipped" }]);
  assertEquals(runsOf(b.ledger), [`${key} skipped paused live`]);
});
