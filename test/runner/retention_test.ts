/** Tests of removing old runs, logs and events from a store. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { countWrite, type Store } from "../../lib/store/store.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { openSqlite, SqliteStore } from "../../lib/store/sqlite.ts";
import { verifyStore } from "../../lib/runner/queries/store_care.ts";
import { holdLogin, releaseLogin } from "../../lib/runner/claims/login_holds.ts";
import { addLatestSlot } from "../../lib/runner/schedule/starts.ts";
import { insertNotice, logOf } from "../../lib/runner/queries/events.ts";
import {
  countPrunable,
  defaultRetention,
  nothingPruned,
  type Pruned,
  prunedKinds,
  Pruner,
  type Retention,
} from "../../lib/runner/queries/retention.ts";
import { RunLog } from "../../lib/runner/run/report.ts";
import { insertRun, type RunState } from "../../lib/runner/queries/runs.ts";
import { why } from "../../lib/runner/explain/why.ts";
import { cli, folder, MORNING } from "../cli/runner_support.ts";
import { postgres } from "../support/stores.ts";
import { insertIntent, moveIntent } from "../../lib/desk/queries.ts";
import {
  approvePlan,
  beginPlan,
  endPlan,
  findPlan,
  plansOf,
  recordPlan,
} from "../../lib/rebalance/queries.ts";
import { storedReport } from "../../lib/rebalance/results/results.ts";
import { planOf, termsOf } from "../rebalance/support.ts";
import { testBoth } from "./both_stores.ts";
import { History, sizeOfStore, vacuum } from "./history.ts";
import { at, bench, DAY, HOUR, MINUTE, openStore, recipe, runsOf, step, temporaryFolder } from "./support.ts";

const NOW = at("2025-12-22T12:00:00Z");
const keep = defaultRetention;

/**
 * Adds a run whose slot was this many days before `now`, with a row in every table of a run. If its state is final, the
 * run ended an hour after its slot.
 */
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
  const log = new RunLog(store, key);
  log.add({ at: slotAt, level: "info", step: null, text: key });
  await log.flush();
}

const keys = async (store: Store) => (await runsOf(store)).map((line) => line.split(" ")[0]!);
const rows = async (store: Store, table: string) =>
  (await store.get<{ n: number }>(`select count(*) as n from ${table}`))!.n;

/** Prunes until nothing more is removed. */
async function pruneAll(
  store: Store,
  { now = NOW, ...given }: Partial<Retention> & { now?: number } = {},
): Promise<Pruned> {
  const pruner = new Pruner(store, { ...keep, ...given }, { limit: 7 });
  const total = nothingPruned();
  for (;;) {
    const { hasMore, ...part } = await pruner.part(now);
    for (const each of prunedKinds) total[each] += part[each];
    if (!hasMore) return total;
  }
}

testBoth(
  "a Pruner removes old runs with all their rows, and keeps the newest runs of each recipe",
  async () => {
    await using store = await openStore();
    for (let n = 0; n < 30; n++) await addOld(store, `old/${n + 10}`, { days: 500 + n });
    for (let n = 0; n < 30; n++) await addOld(store, `busy/${n + 10}`, { days: 390 + n });
    await addOld(store, "once/1", { days: 3000 });
    await store.event(NOW - 500 * DAY, "clock_jump", { byMs: 1 });
    await store.event(NOW - 500 * DAY, "paused", { recipe: "old", why: "a test" });
    const expected = await countPrunable(store, keep, NOW);
    assertEquals(await pruneAll(store), expected);
    // Ten runs of each recipe stay, and so do all runs whose slot is 390 to 400 days old. The run of day 400 stays
    // because it ended an hour after its slot.
    assertEquals((await keys(store)).filter((key) => key.startsWith("old/")).length, 10);
    assertEquals((await keys(store)).filter((key) => key.startsWith("busy/")).length, 11);
    assert((await keys(store)).includes("once/1"));
    for (const table of ["step_run", "artifact", "outbox"]) assertEquals(await rows(store, table), 22, table);
    assertEquals((await store.all("select kind from event where run_key is null")).length, 1);
    assertEquals(await verifyStore(store), []);
  },
);

testBoth("a Pruner keeps unfinished and unresolved runs, the last write, and login blocks", async () => {
  await using store = await openStore();
  // Because of these newer runs, no other run is kept as one of the newest.
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
  const goes: RunState[] = ["ok", "failed", "skipped", "cancelled"];
  for (const state of goes) await addOld(store, `r/${state}`, { days: 900, state });
  // A block that has ended keeps no run.
  await holdLogin(store, { account: "b", runKey: "r/ok", now: NOW });
  assertEquals(await releaseLogin(store, "r", NOW), true);
  await holdLogin(store, { account: "a", runKey: "r/displaced", now: NOW });
  assertEquals((await pruneAll(store)).runs, goes.length);
  assertEquals(
    (await keys(store)).filter((key) => !key.startsWith("r/new")).sort(),
    stays.map(([key]) => key).sort(),
  );
  for (const runsDays of [29, NaN]) {
    assertThrows(() => new Pruner(store, { ...keep, runsDays }), RangeError, "30 days");
  }
});

testBoth("a Pruner deletes only log lines that are older than 90 days", async () => {
  await using store = await openStore();
  await addOld(store, "r/1", { days: 100 });
  const log = new RunLog(store, "r/1");
  for (const age of [91, 90, 1]) log.add({ at: NOW - age * DAY, level: "info", step: null, text: `${age}` });
  await log.flush();
  assertEquals((await pruneAll(store)).logLines, 2); // including the line on the day of the run
  assertEquals((await logOf(store, "r/1")).map(({ text }) => text), ["90", "1"]);
  assertEquals(await keys(store), ["r/1"]);
});

testBoth(
  "a Pruner removes the oldest runs beyond a recipe's limit, but no run of the last 30 days",
  async () => {
    await using store = await openStore();
    for (let n = 0; n < 60; n++) await addOld(store, `many/${n + 10}`, { days: n + 10 });
    for (let n = 0; n < 25; n++) await addOld(store, `few/${n + 10}`, { days: n + 40 });
    // These are more recipes than one batch counts.
    for (let n = 0; n < 120; n++) await addOld(store, `one${n}/1`, { days: 50 });
    const given = { recipeRuns: 25 };
    assertEquals((await pruneAll(store, { recipeRuns: 60 })).runs, 0);
    assertEquals((await countPrunable(store, { ...keep, ...given }, NOW)).runs, 35);
    assertEquals((await pruneAll(store, given)).runs, 35);
    const left = await keys(store);
    assertEquals(
      left.filter((key) => key.startsWith("many/")).sort(),
      Array.from({ length: 25 }, (_, n) => `many/${n + 10}`),
    );
    assertEquals(left.length, 25 + 25 + 120);
    // The runs of days 10 to 29 stay, whatever the limit is. The run of day 30 also ended within the last 30 days.
    assertEquals((await pruneAll(store, { recipeRuns: 10 })).runs, 4 + 15);
    assertEquals((await keys(store)).filter((key) => key.startsWith("many/")).length, 21);
    assertEquals(await verifyStore(store), []);
  },
);

testBoth("a Pruner keeps a limited number of log lines, and all lines of unresolved runs", async () => {
  await using store = await openStore();
  await addOld(store, "r/1", { days: 5 });
  await addOld(store, "w/1", { days: 200, state: "unknown", kind: "write" });
  const log = new RunLog(store, "r/1");
  for (let n = 0; n < 20; n++) log.add({ at: NOW - DAY, level: "info", step: null, text: `${n}` });
  await log.flush();
  assertEquals((await countPrunable(store, { ...keep, logLines: 8 }, NOW)).logLines, 13);
  assertEquals((await pruneAll(store, { logLines: 8 })).logLines, 13);
  assertEquals((await logOf(store, "r/1")).map(({ text }) => text), [
    "12",
    "13",
    "14",
    "15",
    "16",
    "17",
    "18",
    "19",
  ]);
  assertEquals((await logOf(store, "w/1")).length, 1);
});

testBoth("a Pruner removes old scheduler events, but keeps the last event that explains a slot", async () => {
  await using store = await openStore();
  const about = { recipe: "r", schedule: "s1" };
  for (const days of [900, 800, 700]) {
    for (const kind of ["schedule_new", "schedule_back", "clock_jump"]) {
      await store.event(NOW - days * DAY, kind, about);
    }
    await store.event(NOW - days * DAY, "paused", { recipe: "r", why: days > 750 ? "a test" : "another" });
    await store.event(NOW - days * DAY, "loss_accepted", {});
  }
  assertEquals((await countPrunable(store, keep, NOW)).events, 2 + 2 + 3 + 1);
  assertEquals((await pruneAll(store)).events, 8);
  const left = await store.all<{ kind: string; at: number }>("select kind, at from event order by kind, at");
  assertEquals(
    left.map(({ kind, at }) => `${kind} ${(NOW - at) / DAY}`),
    [
      "loss_accepted 900",
      "loss_accepted 800",
      "loss_accepted 700",
      "paused 800",
      "paused 700",
      "schedule_back 700",
      "schedule_new 700",
    ],
  );
});

testBoth("a Pruner keeps a run with an unsent notice", async () => {
  await using store = await openStore();
  for (let n = 0; n < 12; n++) await addOld(store, `r/${n}`, { days: 500 + n });
  await store.run("update outbox set sent_at = null where run_key = 'r/11'");
  assertEquals((await pruneAll(store)).runs, 1);
  assertEquals((await keys(store)).includes("r/11"), true);
  await store.run("update outbox set given_up_at = ? where run_key = 'r/11'", NOW);
  assertEquals((await pruneAll(store)).runs, 1);
});

testBoth(
  "a store stops growing: three months of a recipe every ten minutes, with a tenth of the limits",
  async () => {
    await using store = await openStore();
    const history = await History.begin(store, 10 * MINUTE);
    const limits = { ...keep, recipeRuns: 10_000, logLines: 25_000 };
    const pruner = new Pruner(store, limits, { limit: 200 });
    const sizes: number[] = [];
    for (let week = 1; week <= 13; week++) {
      await history.add(7 * 144);
      while ((await pruner.part(history.now)).hasMore);
      if (!(store instanceof SqliteStore)) await vacuum(store, postgres!); // the store is in this database
      sizes.push(await sizeOfStore(store));
    }
    assertEquals(await rows(store, "run"), 10_000);
    assertEquals(await rows(store, "step_run"), 20_000);
    assertEquals(await rows(store, "log"), 25_000);
    // The newest runs are kept, without a gap.
    const span = await store.get("select max(slot_at) as last, min(slot_at) as first from run");
    assertEquals(span, { last: history.now, first: history.now - 9_999 * 10 * MINUTE });
    assertEquals(await verifyStore(store), []);
    // As documented: at most 3 kB for each run of a small recipe. Two weeks after the limits are reached, the size
    // stays the same.
    const last = sizes.at(-1)!;
    assert(last <= 10_000 * 3_000, `${last} bytes`);
    // In each week before that, the size grew by 9 %. An open transaction of another test can keep the vacuum from some
    // rows.
    assert(last <= sizes[11]! * 1.05, `${sizes.join(", ")} bytes`);
  },
);

Deno.test("a store's file shrinks when most of its rows are removed", async () => {
  using folder = temporaryFolder();
  await using store = await openSqlite(`${folder.path}/hsgate.db`);
  const history = await History.begin(store, 10 * MINUTE);
  await history.add(5_000);
  const full = await sizeOfStore(store);
  const pruner = new Pruner(store, { ...keep, runsDays: 30 });
  while ((await pruner.part(history.now + 1_000 * DAY)).hasMore);
  const left = await sizeOfStore(store);
  assert(left < full / 10, `${full} bytes, then ${left}`);
  assertEquals(await rows(store, "run"), 10);
});

testBoth(
  "a scheduler prunes while it runs, and a slot whose run was removed does not run again",
  async () => {
    const done: number[] = [];
    const daily = recipe({ steps: [step({ run: () => Promise.resolve(void done.push(1)) })] });
    await using b = await bench({
      start: "2025-12-22T00:00:00Z",
      recipes: [daily],
      retention: { ...keep, runsDays: 30, logDays: 1 },
    });
    await b.scheduler.start();
    await b.machine.pass(DAY);
    for (let n = 0; n < 40; n++) await addOld(b.store, `eod/${n}`, { days: 40 + n, now: b.machine.now() });
    await b.machine.pass(2 * HOUR);
    await b.scheduler.stop();
    const left = await keys(b.store);
    assertEquals([left.length, left.includes("eod/39"), left.includes("eod/0")], [10, false, true]);
    assertEquals(done.length, 1);
    // A crontab line that starts the latest slot finds its run.
    const row = await addLatestSlot(b.store, daily, {
      calendars: builtInCalendars,
      now: b.machine.now(),
      drawTraceId: () => "t",
    });
    assertEquals(row?.state, "ok");
    const past = await why(b.store, daily, {
      calendars: builtInCalendars,
      date: "2025-11-03",
      now: b.machine.now(),
    });
    assertStringIncludes(past, "the store has deleted old runs of this recipe, up to the slot of");
    const young = await why(b.store, daily, {
      calendars: builtInCalendars,
      date: "2025-12-19",
      now: b.machine.now(),
    });
    assert(!young.includes("deleted"), young);
  },
);

testBoth(
  "run --if-new removes a batch of old runs, because there may be no scheduler that does",
  async (kind) => {
    const text = 'name: r\nschedule: { cron: "* * * * *", timezone: Asia/Hong_Kong }\nconnect: simulator\n' +
      "steps: [{ id: a, uses: account.funds, with: { market: hk } }]\n";
    await using dir = await folder({ "r.yaml": text });
    const file = `${dir.path}/r.yaml`;
    await using place = await kind.place();
    {
      await using store = await place.open();
      for (let n = 0; n < 80; n++) await addOld(store, `old/${n}`, { days: 500 + n, now: MORNING });
    }
    const run = (words: string[]) =>
      cli(["run", file, "--store", place.where, ...words], { files: { [file]: text } });
    const left = async () => {
      await using store = await place.open();
      return (await keys(store)).filter((key) => key.startsWith("old/")).length;
    };
    const byHand = await run(["--manual"]);
    assertEquals([byHand.code, await left()], [0, 80], byHand.err);
    const started = await run(["--if-new"]);
    assertEquals([started.code, await left()], [0, 30], started.err);
  },
);

testBoth(
  "store prune with --dry-run only counts, and without it removes; both use --keep and the settings",
  async (kind) => {
    await using place = await kind.place();
    let now: number;
    {
      await using store = await place.open();
      now = store.now() ?? MORNING;
      for (let n = 0; n < 30; n++) await addOld(store, `old/${n}`, { days: 500 + n, now });
    }
    // The clock of a database runs during the test.
    const mostMs = kind.name === "SQLite" ? 0 : HOUR;
    const untimed = (text: string, days: number) =>
      text.replace(
        /\d{4}-\d\d-\d\dT[\d:.]+Z/,
        (at) => Math.abs(Date.parse(at) - now + days * DAY) <= mostMs ? `${days} days ago` : at,
      );
    const run = (words: string[], env: Record<string, string> = {}) =>
      cli(["store", "prune", "--store", place.where, ...words], { env });
    const kept = await run(["--json", "--keep", "1000"]);
    assertEquals(JSON.parse(untimed(kept.out, 1000)), {
      dryRun: false,
      before: "1000 days ago",
      recipeRuns: 100_000,
      runs: 0,
      logLines: 30,
      notices: 0,
      events: 0,
      plans: 0,
      intents: 0,
    });
    const asked = await run(["--dry-run"]);
    assertEquals(
      untimed(asked.out, 400),
      "would remove 20 runs that ended before 400 days ago or exceed 100000 runs of a recipe; 20 events, " +
        "20 notices, 0 rebalancing plans, 0 order intents and 0 lines of logs\n",
    );
    const before = await run(["--dry-run", "--json"], { HSGATE_KEEP_RUNS_DAYS: "525" });
    assertEquals(JSON.parse(before.out).runs, 4);
    assertEquals((await run([])).out.slice(0, 15), "removed 20 runs");
    assertStringIncludes((await run([])).out, "removed 0 runs");
    const wrong = await run(["--keep", "7"]);
    assertEquals([wrong.code, wrong.err.includes("days from 30 to 36500")], [2, true], wrong.err);
  },
);

testBoth(
  "a Pruner removes old intents of the order desk, but keeps open intents and the intents of runs that it keeps",
  async () => {
    await using store = await openStore();
    await addOld(store, "r/1", { days: 1 });
    const add = async (
      id: string,
      days: number,
      { runKey, ends = true }: { runKey?: string; ends?: boolean } = {},
    ) => {
      const createdAt = NOW - days * DAY;
      await insertIntent(store, {
        id,
        account: "a",
        kind: "place",
        operation: "orders.place",
        params: {},
        fingerprint: id,
        why: { ...runKey !== undefined && { runKey } },
        createdAt,
        timeoutMs: 1,
      });
      if (ends) await moveIntent(store, id, { to: "abandoned", by: "desk", at: createdAt });
    };
    for (let n = 0; n < 20; n++) await add(`old-${n}`, 500 + n);
    await add("open", 600, { ends: false });
    await add("of-a-run", 600, { runKey: "r/1" });
    await add("young", 10);
    const expected = await countPrunable(store, keep, NOW);
    assertEquals(expected.intents, 20);
    assertEquals(await pruneAll(store), expected);
    const left = await store.all<{ id: string }>("select id from intent order by id");
    assertEquals(left.map(({ id }) => id), ["of-a-run", "open", "young"]);
    assertEquals(await rows(store, "intent_change"), 5);
  },
);

testBoth(
  "a Pruner removes old rebalancing plans with their intents, but no plan that runs, may continue or has an open order",
  async () => {
    await using store = await openStore();
    /** Records a plan, with an order, and executes it. */
    const add = async (
      hash: string,
      days: number,
      { ends, hasOpen = false, forDays = 0 }: {
        ends?: "done" | "stopped";
        hasOpen?: boolean;
        forDays?: number;
      } = {},
    ) => {
      const key = { account: "a", hash };
      const plannedAt = NOW - days * DAY;
      const deadlineAt = plannedAt + forDays * DAY + HOUR;
      const plan = planOf([{ symbol: "00700.HK", side: "buy", quantity: "100", price: "600" }]);
      await recordPlan(store, { account: "a", plan: { ...plan, hash }, terms: termsOf(), at: plannedAt });
      if (ends === undefined && forDays === 0) return;
      await approvePlan(store, key, { by: "Ada", at: plannedAt, until: plannedAt + HOUR });
      await beginPlan(store, key, { holder: "p", at: plannedAt, leaseMs: 1, deadlineAt });
      const id = `order-${hash}`;
      await insertIntent(store, {
        id,
        account: "a",
        kind: "place",
        operation: "orders.place",
        params: {},
        fingerprint: id,
        why: { plan: hash, trade: 0 },
        createdAt: plannedAt,
        timeoutMs: 1,
      });
      if (!hasOpen) await moveIntent(store, id, { to: "abandoned", by: "desk", at: plannedAt });
      if (ends === undefined) return;
      const report = storedReport((await findPlan(store, "a", hash))!, []);
      await endPlan(store, key, { holder: "p", state: ends, at: plannedAt + HOUR, report });
    };
    await add("planned", 500);
    for (let n = 0; n < 60; n++) await add(`done-${n}`, 500 + n, { ends: "done" });
    await add("stopped", 500, { ends: "stopped" });
    const kept = ["may-continue", "open-order", "running", "young"];
    await add("may-continue", 500, { ends: "stopped", forDays: 200 });
    await add("open-order", 500, { ends: "stopped", hasOpen: true });
    await add("young", 10, { ends: "done" });
    await add("running", 500, { forDays: 1 });
    const expected = await countPrunable(store, keep, NOW);
    assertEquals([expected.plans, expected.intents], [62, 61]);
    assertEquals(await pruneAll(store), expected);
    assertEquals((await plansOf(store)).map(({ hash }) => hash).toSorted(), kept);
    const orders = await store.all<{ plan: string }>("select plan from intent order by plan");
    assertEquals(orders.map(({ plan }) => plan), kept);
  },
);
