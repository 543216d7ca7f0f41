import { countWrite } from "../../lib/runner/queries/steps.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { Store } from "../../lib/store/store.ts";
import { verifyStore } from "../../lib/runner/queries/store_care.ts";
import { holdLogin } from "../../lib/runner/claims/login_holds.ts";
import { addLatestSlot } from "../../lib/runner/schedule/starts.ts";
import { insertNotice } from "../../lib/runner/queries/notices.ts";
import { countPrunable, pruneStore } from "../../lib/runner/queries/retention.ts";
import { RunLog } from "../../lib/runner/run/report.ts";
import { logOf } from "../../lib/runner/queries/events.ts";
import { insertRun, type RunState } from "../../lib/runner/queries/runs.ts";
import { why } from "../../lib/runner/explain/why.ts";
import { cli, MORNING } from "../cli/support.ts";
import { at, bench, DAY, HOUR, recipe, runsOf, step, temporaryFolder } from "./support.ts";

const NOW = at("2025-12-22T12:00:00Z");
const keep = { runsDays: 400, logDays: 90 };

/** Writes a run that ended so many days before, with a row in every table that belongs to one. */
async function addOld(
  store: Store,
  key: string,
  { days, state = "ok", kind = "read", now = NOW }: {
    days: number;
    state?: RunState;
    kind?: "read" | "write";
    now?: number;
  },
): Promise<void> {
  const slotAt = now - days * DAY;
  await insertRun(store, {
    runKey: key,
    recipe: key.split("/")[0]!,
    scheduleId: "s1",
    kind: "live",
    class: kind,
    slotAt,
    dueAt: slotAt,
    state: "due",
    recipeSha: "",
    traceId: "t",
  }, slotAt);
  const ended = ["ok", "failed", "cancelled", "skipped", "unknown"].includes(state);
  await store.run(
    "update run set state = ?, reason = 'x', account = 'a', finished_at = ? where run_key = ?",
    state,
    ended ? slotAt + HOUR : undefined,
    key,
  );
  await store.run(
    `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, started_at)
      values (?, 'a', 0, 1, ?, 'k', 'ok', ?)`,
    key,
    kind,
    slotAt,
  );
  await store.run("insert into artifact values ('d', ?, 1, ?, '00', 1, 'f', 1)", key, key);
  await store.event(slotAt, "ended", {}, key);
  await insertNotice(store, { dedupeKey: key, channel: "c", body: "{}", runKey: key }, slotAt);
  await store.run("update outbox set sent_at = ? where run_key = ?", slotAt, key);
  new RunLog(store, key).add({ at: slotAt, level: "info", step: null, text: key });
}

const keys = async (store: Store) => (await runsOf(store)).map((line) => line.split(" ")[0]!);
const rows = async (store: Store, table: string) =>
  (await store.get<{ n: number }>(`select count(*) as n from ${table}`))!.n;

/** Prunes until nothing is left of it. */
async function pruneAll(store: Store, now = NOW): Promise<number> {
  let runs = 0;
  for (;;) {
    const part = await pruneStore(store, { ...keep, now, limit: 7 });
    runs += part.runs;
    if (part.runs + part.logLines + part.events === 0) return runs;
  }
}

Deno.test("pruneStore() removes old runs with all that belongs to them, and keeps the newest of each recipe", async () => {
  await using store = await openSqlite(":memory:");
  for (let n = 0; n < 30; n++) await addOld(store, `old/${n + 10}`, { days: 500 + n });
  for (let n = 0; n < 30; n++) await addOld(store, `busy/${n + 10}`, { days: 390 + n });
  await addOld(store, "once/1", { days: 3000 });
  await store.event(NOW - 500 * DAY, "clock_jump", { byMs: 1 });
  await store.event(NOW - 500 * DAY, "paused", { recipe: "old", why: "a test" });
  const expected = await countPrunable(store, { ...keep, now: NOW });
  const total = { runs: 0, logLines: 0, notices: 0, events: 0 };
  for (
    let part = await pruneStore(store, { ...keep, now: NOW, limit: 7 });
    part.runs + part.logLines > 0;
  ) {
    for (const each of ["runs", "logLines", "notices", "events"] as const) total[each] += part[each];
    part = await pruneStore(store, { ...keep, now: NOW, limit: 7 });
  }
  assertEquals(total, expected);
  // Ten of each stay, and all that are young enough: those of 390 to 400 days, as they end an hour after their slot.
  assertEquals((await keys(store)).filter((key) => key.startsWith("old/")).length, 10);
  assertEquals((await keys(store)).filter((key) => key.startsWith("busy/")).length, 11);
  assert((await keys(store)).includes("once/1"));
  for (const table of ["step_run", "artifact", "outbox"]) assertEquals(await rows(store, table), 22, table);
  assertEquals((await store.all("select kind from event where run_key is null")).length, 1);
  assertEquals(await verifyStore(store), []);
});

Deno.test("pruneStore() never removes what is unresolved, waits, goes on or is referred to", async () => {
  await using store = await openSqlite(":memory:");
  // Enough newer ones that nothing stays for being among the newest.
  for (let n = 0; n < 10; n++) await addOld(store, `r/new${n}`, { days: n + 1 });
  const stays: [string, RunState, "read" | "write"][] = [
    ["r/unknown", "unknown", "write"],
    ["r/recovery", "waiting_recovery", "write"],
    ["r/approval", "waiting_approval", "read"],
    ["r/due", "due", "read"],
    ["r/running", "running", "read"],
    ["r/lastwrite", "ok", "write"],
    ["r/displaced", "failed", "read"],
  ];
  for (const [key, state, kind] of stays) await addOld(store, key, { days: 900, state, kind });
  await countWrite(store, { account: "a", runKey: "r/lastwrite", step: "a", at: NOW });
  await holdLogin(store, { account: "a", runKey: "r/displaced", now: NOW });
  const goes: [string, RunState][] = [["r/ok", "ok"], ["r/failed", "failed"], ["r/skipped", "skipped"], [
    "r/cancelled",
    "cancelled",
  ]];
  for (const [key, state] of goes) await addOld(store, key, { days: 900, state });
  assertEquals(await pruneAll(store), goes.length);
  assertEquals(
    (await keys(store)).filter((key) => !key.startsWith("r/new")).sort(),
    stays.map(([key]) => key).sort(),
  );
  for (const runsDays of [29, NaN]) {
    await assertRejects(
      async () => await pruneStore(store, { ...keep, runsDays, now: NOW }),
      RangeError,
      "30 days",
    );
  }
});

Deno.test("pruneStore() deletes lines of logs that are older than 90 days, and no others", async () => {
  await using store = await openSqlite(":memory:");
  await addOld(store, "r/1", { days: 100 });
  const log = new RunLog(store, "r/1");
  for (const age of [91, 90, 1]) log.add({ at: NOW - age * DAY, level: "info", step: null, text: `${age}` });
  assertEquals((await pruneStore(store, { ...keep, now: NOW })).logLines, 2); // with that of the run's own day
  assertEquals((await logOf(store, "r/1")).map(({ text }) => text), ["90", "1"]);
  assertEquals(await keys(store), ["r/1"]);
});

Deno.test("a scheduler prunes as it goes, and a slot whose run was removed is not run again", async () => {
  const done: number[] = [];
  const daily = recipe({ steps: [step({ run: () => Promise.resolve(void done.push(1)) })] });
  await using b = await bench({
    start: "2025-12-22T00:00:00Z",
    recipes: [daily],
    retention: { runsDays: 30, logDays: 1 },
  });
  await b.scheduler.start();
  await b.host.pass(DAY);
  for (let n = 0; n < 40; n++) await addOld(b.store, `eod/${n}`, { days: 40 + n, now: b.host.now() });
  await b.host.pass(2 * HOUR);
  await b.scheduler.stop();
  const left = await keys(b.store);
  assertEquals([left.length, left.includes("eod/39"), left.includes("eod/0")], [10, false, true]);
  assertEquals(done.length, 1);
  // A line of a crontab that starts the latest slot finds its run.
  const row = await addLatestSlot(b.store, daily, { now: b.host.now(), drawTraceId: () => "t" });
  assertEquals(row?.state, "ok");
  const past = await why(b.store, daily, { date: "2025-11-03", now: b.host.now() });
  assertStringIncludes(past, "the store has deleted old runs that ended before");
  const young = await why(b.store, daily, { date: "2025-12-19", now: b.host.now() });
  assert(!young.includes("removed"), young);
});

Deno.test("prune counts with --dry-run, removes without it, and takes --keep and settings", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  {
    await using store = await openSqlite(path);
    for (let n = 0; n < 30; n++) await addOld(store, `old/${n}`, { days: 500 + n, now: MORNING });
  }
  const run = (words: string[], env: Record<string, string> = {}) =>
    cli(["prune", "--store", path, ...words], { env });
  const kept = await run(["--json", "--keep", "1000"]);
  assertEquals(JSON.parse(kept.out), {
    dryRun: false,
    before: "2022-11-19T02:30:00Z",
    runs: 0,
    logLines: 30,
    notices: 0,
    events: 0,
  });
  const asked = await run(["--dry-run"]);
  assertEquals(
    asked.out,
    "would remove 20 runs that ended before 2024-07-11T02:30:00Z, with 20 events and 20 notices; 0 lines of logs\n",
  );
  const before = await run(["--dry-run", "--json"], { HSGATE_KEEP_RUNS_DAYS: "525" });
  assertEquals(JSON.parse(before.out).runs, 4);
  assertEquals((await run([])).out.slice(0, 15), "removed 20 runs");
  assertStringIncludes((await run([])).out, "removed 0 runs");
  const wrong = await run(["--keep", "7"]);
  assertEquals([wrong.code, wrong.err.includes("days from 30 to 36500")], [2, true], wrong.err);
});
