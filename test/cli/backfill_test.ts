import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { findIntent, insertIntent, moveIntent } from "../../lib/desk/queries.ts";
import { ORDER } from "../conformance/simulated_account.ts";
import { insertRun } from "../../lib/runner/queries/runs.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { cli, envOf, folder, MORNING, simulate, start, trustAll } from "./runner_support.ts";

const book =
  "name: book\nschedule: { calendar: XHKG, at: close+45m }\nsteps:\n  - { id: book, uses: export-day-book, with: { markets: [hk], sessions: 1, out: OUT, formats: [jsonl] } }\n";
const cancel =
  "name: cancel\nschedule: { calendar: XHKG, at: open+30m }\nmisfire: { action: ask, grace: 5m }\nwindow: XHKG.open+5m..XHKG.close-10m\nsteps:\n  - { id: cancel, uses: cancel-open-orders, with: { markets: [hk] } }\n";

const runsOf = async (path: string) => {
  await using store = await openSqlite(path);
  return (await store.all<{ line: string }>(
    "select run_key || ' ' || state || coalesce(' ' || reason, '') as line from run order by slot_at, run_key",
  )).map(({ line }) => line);
};

/**
 * A folder with a recipe that exports the day of its slot, and a gateway whose clock shows `MORNING`, Friday
 * 2025-08-15.
 */
async function world() {
  const gateway = await simulate({ fillsPerDay: 3 });
  const dir = await folder({});
  await Deno.writeTextFile(`${dir.path}/book.yaml`, book.replace("OUT", "out"));
  const store = `${dir.path}/store.db`;
  return {
    path: dir.path,
    gateway,
    store,
    env: envOf(gateway),
    where: ["--store", store, "--recipes", dir.path],
    files: ["--out", dir.path],
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

const week = ["--from", "2025-08-09", "--to", "2025-08-14"];

Deno.test("backfill --dry-run lists what would run and changes nothing", async () => {
  await using w = await world();
  const { code, out, err } = await cli(["backfill", "book", ...week, "--dry-run", ...w.where, ...w.files]);
  assertEquals([code, err], [0, "hsgate: 4 runs would run; nothing was changed\n"]);
  assertEquals(
    out,
    [
      "2025-08-11  book/main/2025-08-11  would run",
      "2025-08-12  book/main/2025-08-12  would run",
      "2025-08-13  book/main/2025-08-13  would run",
      "2025-08-14  book/main/2025-08-14  would run",
      "2 days are on weekends",
      "",
    ].join("\n"),
  );
  const sunday = ["--from", "2025-08-10", "--to", "2025-08-11", "--dry-run"];
  const short = await cli(["backfill", "book", ...sunday, ...w.where, ...w.files]);
  assertEquals(short.out, "2025-08-11  book/main/2025-08-11  would run\n1 day is on a weekend\n");
  assertEquals(await runsOf(w.store), []);
});

Deno.test("backfill exports each day as of that day, one after the other; a second backfill has nothing to do", async () => {
  await using w = await world();
  const words = ["backfill", "book", ...week, ...w.where, ...w.files];
  const { code, out, err } = await cli(words, { env: w.env });
  assertEquals([code, err], [0, "hsgate: runs: 4 ok\n"]);
  const lines = out.trimEnd().split("\n");
  assertEquals(lines[0], "2 days are on weekends");
  assert(/^2025-08-11 {2}book\/main\/2025-08-11 {2}ok, \d+\.\d s {2}1 of 4$/.test(lines[1]!), lines[1]);
  const days = [...Deno.readDirSync(`${w.path}/out`)].map(({ name }) => name).filter((name) =>
    /^\d/.test(name)
  );
  assertEquals(days.sort(), ["2025-08-11", "2025-08-12", "2025-08-13", "2025-08-14"]);
  assertEquals((await runsOf(w.store))[0], "book/main/2025-08-11 ok");
  const again = await cli([...words, "--json"], { env: w.env });
  const { runs, left, none } = JSON.parse(again.out);
  assertEquals([again.code, runs, left, none.length], [0, [], 0, 2]);
  const idle = await cli([...words, "--queue"], { env: w.env });
  assertEquals(idle.out, "nothing to do: no run became due\n");
  const all = await cli([...words, "--mode", "all", "--queue"], { env: w.env });
  assertStringIncludes(all.out, "4 runs; a running scheduler starts them");
  assertEquals((await runsOf(w.store))[3], "book/main/2025-08-14 due");
});

Deno.test("backfill continues after a failed day, shows the reason, and ends with 1", async () => {
  await using w = await world();
  const words = ["backfill", "book", "--from", "2025-08-13", "--to", "2025-08-14", ...w.where, ...w.files];
  const { code, out, err } = await cli(words, { env: { HSGATE_GATEWAY_URL: "http://127.0.0.1:1" } });
  assertEquals([code, err], [1, "hsgate: runs: 2 failed\n"]);
  assertStringIncludes(out, "2025-08-14  book/main/2025-08-14  failed, ");
  assertStringIncludes(out, "book: Cannot ");
  const failed = await cli([...words, "--mode", "failed"], { env: w.env });
  assertEquals([failed.code, failed.err], [0, "hsgate: runs: 2 ok\n"]);
});

Deno.test("backfill leaves unstarted days unchanged at Ctrl-C, and the same command continues", async () => {
  await using w = await world();
  const stop = new AbortController();
  const words = ["backfill", "book", ...week, ...w.where, ...w.files];
  const first = await cli(words, {
    env: w.env,
    signal: stop.signal,
    onLine: (line) => line.includes("1 of 4") && stop.abort(),
  });
  assertEquals([first.code, first.err], [130, "hsgate: runs: 1 ok, 3 unchanged\n"]);
  assertEquals(await runsOf(w.store), ["book/main/2025-08-11 ok"]);
  assertEquals((await cli(words, { env: w.env })).err, "hsgate: runs: 3 ok\n");
});

Deno.test("backfill and rerun reject impossible requests with exit code 2", async () => {
  await using w = await world();
  await Deno.writeTextFile(`${w.path}/cancel.yaml`, cancel);
  await trustAll(w.path);
  const cases: [string[], string][] = [
    [["backfill", "book"], "--from is missing"],
    [["backfill", "book", "--from", "2025-02-30"], "write a day that exists"],
    [["backfill", "book", "--from", "2025-08-14", "--mode", "some"], "expected missing, failed or all"],
    [["backfill", "book", "--from", "2010-01-04"], "the calendar of XHKG covers "],
    [["backfill", "book", "--from", "2025-08-18"], "the last day is in the future; today is 2025-08-15"],
    [["backfill", "cancel", "--from", "2025-08-14"], "it writes, and nothing can be traded on a past day"],
    [["backfill", "boko", "--from", "2025-08-14"], 'did you mean "book"?'],
    [["rerun", "book/main/2025-08-14"], "the store has no such run"],
  ];
  for (const [words, reason] of cases) {
    const { code, out, err } = await cli([...words, ...w.where], { env: w.env });
    assertEquals([code, out], [2, ""], words.join(" "));
    assertStringIncludes(err, reason);
  }
});

Deno.test("rerun repeats one run under its key; with --queue, rerun leaves the run to a scheduler", async () => {
  await using w = await world();
  const key = "book/main/2025-08-14";
  const fails = { env: { HSGATE_GATEWAY_URL: "http://127.0.0.1:1" } };
  await cli(["backfill", "book", "--from", "2025-08-14", ...w.where, ...w.files], fails);
  const { code, out } = await cli(["rerun", key, ...w.where, ...w.files], { env: w.env });
  assertEquals([code, out], [0, `${key}  ok\n`]);
  const queued = await cli(["rerun", key, "--queue", "--json", ...w.where, ...w.files], { env: w.env });
  assertEquals([JSON.parse(queued.out), await runsOf(w.store)], [{ key, state: "due" }, [`${key} due`]]);
  const why = await cli(["why", "book", "2025-08-14", ...w.where]);
  assertStringIncludes(why.out, "has been due since 2025-08-15 10:30 Asia/Hong_Kong and has not begun");
  assertStringIncludes(why.out, "before that it was ok");
});

Deno.test("rerun, approve and backfill never use another recipe than the recipe of the run", async () => {
  await using w = await world();
  const key = "book/main/2025-08-14";
  const fails = { env: { HSGATE_GATEWAY_URL: "http://127.0.0.1:1" } };
  await cli(["backfill", "book", "--from", "2025-08-14", ...w.where, ...w.files], fails);
  const before = await runsOf(w.store);
  const text = book.replace("OUT", "out");
  const refused = async (words: string[], reason: string) => {
    const { code, out, err } = await cli([...words, ...w.where], { env: w.env });
    assertEquals([code, out, await runsOf(w.store)], [2, "", before], words.join(" "));
    assertStringIncludes(err, reason);
  };
  // The file of the recipe now contains another recipe.
  await Deno.writeTextFile(`${w.path}/book.yaml`, text.replace("name: book", "name: other"));
  await refused(["rerun", key], 'Cannot find "book"');
  await refused(["approve", key], 'Cannot find "book"');
  // A second file contains a recipe of the same name, and comes first in the folder.
  await Deno.writeTextFile(`${w.path}/book.yaml`, text);
  await Deno.writeTextFile(`${w.path}/aaa.yaml`, text);
  const both = `"${w.path}/aaa.yaml" and "${w.path}/book.yaml" have this name`;
  await refused(["rerun", key], both);
  await refused(["approve", key], both);
  await refused(["backfill", "book", "--from", "2025-08-13"], both);
});

Deno.test("runs, why and rerun report a manual run whose process died, and rerun takes it over", async () => {
  await using w = await world();
  const key = "book/m/01";
  {
    await using store = await openSqlite(w.store);
    await store.run(
      `insert into run (run_key, recipe, schedule_id, kind, class, slot_at, business_day, due_at, state, recipe_sha,
        trace_id, holder, fence, attempt, started_at, lease_until) values (?, 'book', '', 'manual', 'read', ?,
        '2025-08-15', ?, 'running', '00', '1', 'gone', 1, 1, ?, ?)`,
      key,
      MORNING - 120_000,
      MORNING - 120_000,
      MORNING - 120_000,
      MORNING - 60_000,
    );
  }
  const at = (ms: number) => ({ env: w.env, now: () => MORNING + ms });
  // No process renews the lease, which ends a minute before `MORNING`. Until then, the run counts as alive.
  const alive = await cli(["rerun", key, ...w.where, ...w.files], at(-90_000));
  assertEquals([alive.code, alive.out], [2, ""]);
  assertStringIncludes(alive.err, "a live process has been running it since 2025-08-15T02:28:00Z");
  assertEquals((await cli(["runs", "--store", w.store], at(-90_000))).out.includes("silent"), false);
  const list = (await cli(["runs", "--store", w.store], at(0))).out;
  assertStringIncludes(list, "silent");
  assertStringIncludes(
    list,
    `${key}: its process has not renewed its lease, which expired at 2025-08-15T02:29:00Z; "runs show ${key}" says what to do`,
  );
  const [row] = JSON.parse((await cli(["runs", "--store", w.store, "--json"], at(0))).out);
  assertEquals(row.notHeardOfSince, "2025-08-15T02:29:00Z");
  const shown = (await cli(["runs", "show", key, "--store", w.store], at(0))).out;
  assertStringIncludes(
    shown,
    `no scheduler takes over a run that was started by hand; to continue it: hsgate rerun ${key}\n`,
  );
  const why = (await cli(["why", "book", "2025-08-15", ...w.where], at(0))).out;
  assertStringIncludes(
    why,
    `has not renewed its lease, which expired at 2025-08-15 10:29 Asia/Hong_Kong; no scheduler takes over`,
  );
  assertStringIncludes(why, `hsgate rerun ${key}`);
  const queued = await cli(["rerun", key, "--queue", ...w.where, ...w.files], at(0));
  assertEquals([queued.code, await runsOf(w.store)], [2, [`${key} running`]]);
  assertStringIncludes(queued.err, "it is a manual run, and a scheduler runs only slots");
  const { code, out } = await cli(["rerun", key, ...w.where, ...w.files], at(0));
  assertEquals([code, out], [0, `${key}  ok\n`]);
});

/** Creates a store with a run of this morning in the given state, with the rows that a scheduler writes. */
async function prepare(path: string, state: string, step?: string): Promise<void> {
  await using store = await openSqlite(path);
  await store.run(
    `insert into run (run_key, recipe, schedule_id, kind, class, slot_at, business_day, due_at, deadline_at, state,
      reason, account, recipe_sha, trace_id, started_at) values ('cancel/main/2025-08-15', 'cancel', 'main', 'live',
      'write', ?, '2025-08-15', ?, ?, ?, 'misfire', 'default', '00', '1', ?)`,
    MORNING - 1_800_000,
    MORNING - 1_800_000,
    Date.parse("2025-08-15T15:50:00+08:00"),
    state,
    step === undefined ? undefined : MORNING - 1_740_000,
  );
  if (step === undefined) return;
  await store.run(
    `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, started_at)
      values ('cancel/main/2025-08-15', ?, 0, 1, 'write', 'k', 'begun', ?)`,
    step,
    MORNING - 1_740_000,
  );
}

Deno.test("resolve, runs show and why name the intents whose outcome is still unknown, and how to resolve them", async () => {
  await using w = await world();
  await prepare(w.store, "waiting_recovery", "cancel");
  const key = "cancel/main/2025-08-15";
  {
    await using store = await openSqlite(w.store);
    for (const [id, last] of [["lost", "unknown"], ["found", "acknowledged"]] as const) {
      await insertIntent(store, {
        id,
        account: "default",
        kind: "place",
        operation: "orders.place",
        params: ORDER,
        fingerprint: id,
        why: { recipe: "cancel", runKey: key, step: "cancel" },
        createdAt: MORNING,
        timeoutMs: 10_000,
      });
      const sent = { known: [], earlier: undefined, readSince: MORNING, sentAt: MORNING, sentNumber: 1 };
      await moveIntent(store, id, { to: "approved", by: "desk", at: MORNING });
      await moveIntent(store, id, { to: "sent", by: "desk", at: MORNING, sent });
      await moveIntent(store, id, { to: last, by: last === "unknown" ? "desk" : "answer", at: MORNING });
    }
  }
  const store = ["--store", w.store];
  const assertNamed = (text: string) => {
    assertStringIncludes(text, "the outcome of intent lost (orders.place) is unknown");
    assertStringIncludes(text, "run: hsgate orders show lost; then record what you found");
    assertStringIncludes(text, "hsgate orders resolve lost sent --order ORDER");
    assertStringIncludes(text, 'hsgate orders resolve lost not-sent --because "what you checked"');
    assert(!text.includes("intent found"), text);
  };
  const why = async () => (await cli(["why", "cancel", "2025-08-15", ...w.where])).out.replace(/\s+/g, " ");
  const show = async () => (await cli(["runs", "show", key, ...store])).out.replace(/\s+/g, " ");
  assertNamed(await show());
  assertNamed(await why());
  const resolved = await cli(["resolve", key, "failed", "--because", "no order is in the app", ...store]);
  assertEquals(resolved.code, 0);
  assertStringIncludes(resolved.out, `${key} is resolved as failed`);
  assertNamed(resolved.err);
  assertNamed(await show());
  assertNamed(await why());
  await using after = await openSqlite(w.store);
  assertEquals((await findIntent(after, "lost"))?.state, "unknown");
  const words = ["orders", "resolve", "lost", "not-sent", "--because", "no order is in the app", ...store];
  assertEquals((await cli(words)).code, 0);
  for (const text of [await show(), await why()]) assert(!text.includes("intent lost"), text);
});

Deno.test("resolve records the outcome that a person found; runs show says what to check first", async () => {
  await using w = await world();
  await prepare(w.store, "waiting_recovery", "cancel");
  const key = "cancel/main/2025-08-15";
  const store = ["--store", w.store];
  const shown = (await cli(["runs", "show", key, ...store])).out;
  assertStringIncludes(shown, 'unresolved: step "cancel", begun at 2025-08-15T02:01:00Z');
  assertStringIncludes(shown, `hsgate resolve ${key} ok|failed --because "what you checked"`);
  const bare = await cli(["resolve", key, "ok", ...store]);
  assertEquals(bare.code, 2);
  assertStringIncludes(bare.err, 'write --because "what you checked"');
  assertEquals((await cli(["resolve", key, "fine", "--because", "x", ...store])).code, 2);
  const resolved = await cli(["resolve", key, "ok", "--because", "none is open", "--by", "me", ...store]);
  assertEquals([resolved.code, resolved.out], [
    0,
    `${key} is resolved as ok; its write no longer blocks the account\n`,
  ]);
  const again = await cli(["resolve", key, "ok", "--because", "x", ...store]);
  assertEquals(again.code, 2);
  assertStringIncludes(again.err, 'it is "ok", so it has no unresolved write');
  // The recipe is not in the folder, so `why` uses only the store.
  const why = await cli(["why", "cancel", "2025-08-15", ...w.where]);
  assertEquals(
    why.out,
    `no valid recipe in "${
      w.where[3]
    }" has this name: cancel/main/2025-08-15 was interrupted while writing; ` +
      "me resolved it as ok at 2025-08-15 02:30 UTC: none is open\n",
  );
});

Deno.test("approve makes a run due within its window, and skips the run after its window; refuse skips the run", async () => {
  const key = "cancel/main/2025-08-15";
  const cases: [string[], () => number, number, string, string][] = [
    [["approve"], () => MORNING, 0, "is due; a running scheduler starts it", "due"],
    [
      ["approve"],
      () => Date.parse("2025-08-15T15:51:00+08:00"),
      1,
      "is skipped: its deadline or window has passed",
      "skipped deadline",
    ],
  ];
  for (const [words, now, code, text, state] of cases) {
    await using w = await world();
    await Deno.writeTextFile(`${w.path}/cancel.yaml`, cancel);
    await trustAll(w.path);
    await prepare(w.store, "waiting_approval");
    assertStringIncludes(
      (await cli(["runs", "show", key, "--store", w.store])).out,
      `hsgate approve ${key}`,
    );
    const done = await cli([...words, key, ...w.where], { now });
    assertEquals([done.code, done.out, await runsOf(w.store)], [code, `${key} ${text}\n`, [
      `${key} ${state}`,
    ]]);
    assertEquals((await cli([...words, key, ...w.where], { now })).code, 2);
  }
  await using w = await world();
  await prepare(w.store, "waiting_approval");
  const refused = await cli([
    "refuse",
    key,
    "--because",
    "by hand",
    "--by",
    "me",
    "--store",
    w.store,
    "--json",
  ]);
  assertEquals(JSON.parse(refused.out), { key, state: "skipped", reason: "not_approved" });
  const why = await cli(["why", "cancel", "2025-08-15", ...w.where]);
  assertStringIncludes(why.out, "was skipped because it was not approved (me: by hand)");
});

Deno.test("schedule says that a recipe that writes does not run with a store in memory, and warns of a store that may be lost", async () => {
  await using w = await world();
  await Deno.writeTextFile(`${w.path}/cancel.yaml`, cancel);
  await trustAll(w.path);
  const words = ["schedule", w.path, "--once", "--store"];
  const inMemory = await cli([...words, ":memory:"], { env: w.env });
  assertEquals(
    inMemory.err,
    'hsgate: warning: "cancel" will not run: it writes, and the store ":memory:" may be lost because it is kept in memory\n',
  );
  const env = { ...w.env, TMPDIR: w.path };
  assertStringIncludes(
    (await cli([...words, w.store], { env })).err,
    '"cancel" writes, so it needs a durable store, and the store ',
  );
  assertEquals(
    (await cli([...words, w.store], { env: { ...env, HSGATE_VOLATILE_STORE: "allow" } })).err,
    "",
  );
  assertStringIncludes(
    (await cli([...words, w.store], { env: { ...env, HSGATE_VOLATILE_STORE: "maybe" } })).err,
    'expected "allow" or "refuse"',
  );
});

Deno.test("resume --catch-up makes the slots that were missed during a pause due, but fails for a recipe that writes", async () => {
  await using w = await world();
  await Deno.writeTextFile(`${w.path}/cancel.yaml`, cancel);
  await trustAll(w.path);
  const at = (text: string) => () => Date.parse(text);
  const once = ["schedule", w.path, "--store", w.store, "--once", ...w.files];
  await cli(once, { env: w.env, now: at("2025-08-11T08:00:00+08:00") });
  for (const name of ["book", "cancel"]) {
    await cli(["pause", name, "--store", w.store], { now: at("2025-08-11T08:01:00+08:00") });
  }
  const resumed = await cli(["resume", "book", "--catch-up", "--json", ...w.where], {
    now: at("2025-08-13T20:00:00+08:00"),
  });
  assertEquals(JSON.parse(resumed.out).caughtUp, [
    "book/main/2025-08-11",
    "book/main/2025-08-12",
    "book/main/2025-08-13",
  ]);
  const write = await cli(["resume", "cancel", "--catch-up", ...w.where]);
  assertEquals([write.code, write.out], [2, ""]);
  assertStringIncludes(write.err, "it writes, and nothing can be traded on a past day");
  await cli(once, { env: w.env });
  assertEquals((await runsOf(w.store)).filter((line) => line.startsWith("book")).slice(0, 3), [
    "book/main/2025-08-11 ok",
    "book/main/2025-08-12 ok",
    "book/main/2025-08-13 ok",
  ]);
});

Deno.test("check and next report a schedule in the store that the recipe no longer has", async () => {
  await using w = await world();
  await cli(["schedule", w.path, "--store", w.store, "--once", ...w.files], { env: w.env });
  const renamed = (await Deno.readTextFile(`${w.path}/book.yaml`)).replace(
    "{ calendar",
    "{ id: evening, calendar",
  );
  await Deno.writeTextFile(`${w.path}/book.yaml`, renamed);
  await trustAll(w.path);
  for (const command of ["check", "next"]) {
    const { code, err } = await cli([command, w.path, "--store", w.store]);
    assertEquals(code, 0);
    assertStringIncludes(err, 'book: the store has a schedule "main" that the recipe no longer has');
    assertStringIncludes(err, 'a renamed schedule counts as new: "evening" will start from now');
  }
});

Deno.test("a secret from a command reaches its step, but no log, store or output", async () => {
  await using w = await world();
  const seen: string[] = [];
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    seen.push(`${request.headers.get("authorization") ?? ""} ${await request.text()}`);
    return new Response("ok");
  });
  const url = `http://127.0.0.1:${server.addr.port}/hook-s3cr3t-path`;
  await Deno.writeTextFile(
    `${w.path}/tell.yaml`,
    `name: tell\nschedule: { calendar: XHKG, at: open+30m }\nmisfire: { action: latest, grace: 2h }\n` +
      `secrets:\n  hook: { command: [echo, "${url}"] }\n` +
      `steps:\n  - id: tell\n    uses: notify\n    with: { webhook: "\${secret:hook}", text: hello }\n`,
  );
  await trustAll(w.path);
  const words = ["backfill", "tell", "--from", "2025-08-14", ...w.where, ...w.files];
  const { code, out, err } = await cli(words, { env: w.env });
  assertEquals([code, seen.length], [0, 1], err);
  await using store = await openSqlite(w.store);
  const kept = JSON.stringify([
    await store.all("select * from run"),
    await store.all("select * from step_run"),
    await store.all("select * from event"),
  ]);
  assert(!`${out}${err}${kept}`.includes("s3cr3t"), `${out}${err}${kept}`);
  await Deno.writeTextFile(
    `${w.path}/tell.yaml`,
    (await Deno.readTextFile(`${w.path}/tell.yaml`)).replace(/command: .*\]/, 'command: ["false"]'),
  );
  await trustAll(w.path);
  const none = await cli([...words, "--mode", "all"], { env: w.env });
  assertEquals(none.code, 1);
  assertStringIncludes(none.out, 'Cannot read secret "hook": its command "false" failed with exit code 1');
});

Deno.test("backfill as a process ends with 130 at SIGINT, and the day that it was running is due again", async () => {
  await using w = await world();
  await Deno.writeTextFile(
    `${w.path}/slow.yaml`,
    "name: slow\nschedule: { calendar: XHKG, at: open+30m }\nsteps:\n" +
      "  - { id: wait, uses: fills.history, with: { market: hk, from: '2025-08-13', to: '2025-08-13' } }\n",
  );
  // The answer is delayed by more than the time until SIGINT, so the day is running then.
  w.gateway.faults.arm({ kind: "delay", operation: "fills.history", ms: 60_000 });
  const process = start([
    "backfill",
    "slow",
    "--from",
    "2025-08-13",
    "--to",
    "2025-08-14",
    ...w.where,
    ...w.files,
  ], {
    env: w.env,
  });
  const until = Date.now() + 90_000;
  const isRunning = async () => {
    try {
      return (await runsOf(w.store)).includes("slow/main/2025-08-13 running");
    } catch {
      return false; // the store does not exist yet
    }
  };
  while (!await isRunning() && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 100));
  process.kill("SIGINT");
  const [{ code }, out] = await Promise.all([process.status, new Response(process.stdout).text()]);
  const err = await new Response(process.stderr).text();
  assertEquals([code, await runsOf(w.store)], [130, ["slow/main/2025-08-13 due stopped"]], out + err);
});

Deno.test("schedule detects a store in memory by its file system", {
  ignore: Deno.build.os !== "linux" || !existsSync("/dev/shm"), // a folder in memory on Linux
}, async () => {
  await using w = await world();
  await Deno.writeTextFile(`${w.path}/cancel.yaml`, cancel);
  await trustAll(w.path);
  const place = await Deno.makeTempDir({ dir: "/dev/shm" });
  try {
    const { err } = await cli(["schedule", w.path, "--once", "--store", `${place}/l.db`], {
      env: w.env,
    });
    assertStringIncludes(err, '"cancel" will not run: it writes, and the store ');
    assertStringIncludes(err, "it is on a file system in memory (tmpfs)");
    // `rerun` sends nothing with such a store either.
    const path = `${place}/r.db`;
    {
      await using store = await openSqlite(path);
      const slotAt = Date.parse("2025-08-15T02:00:00Z");
      const ids = { runKey: "cancel/main/2025-08-15", recipe: "cancel", scheduleId: "main", traceId: "t" };
      await insertRun(store, {
        ...ids,
        kind: "live",
        class: "write",
        slotAt,
        dueAt: slotAt,
        state: "skipped",
        recipeSha: "",
      }, slotAt);
    }
    const again = await cli(["rerun", "cancel/main/2025-08-15", "--store", path, "--recipes", w.path], {
      env: w.env,
    });
    assertStringIncludes(again.err, '"cancel" will not run: it writes, and the store ');
    assert(again.code !== 0, again.out);
  } finally {
    await Deno.remove(place, { recursive: true });
  }
});

function existsSync(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false; // does not exist
  }
}
