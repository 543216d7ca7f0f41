/** Tests of the command line with recipes that read present data, on days when their slots have passed. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { ManualClock } from "../../lib/time.ts";
import { cli, envOf, folder, simulate } from "./runner_support.ts";

const evening = `name: evening
schedule: { calendar: XHKG, at: close+45m }
steps:
  - { id: fills, uses: fills.today, with: { market: hk } }
`;
const SUNDAY = Date.parse("2025-08-17T12:00:00+08:00");

/**
 * A folder of recipes, and a broker with trades on the three days before `start`. The clocks of the broker and of the
 * command line show `start`.
 */
async function at(start: number, recipes: Record<string, string>) {
  const clock = new ManualClock(start);
  const gateway = await simulate({ fillsPerDay: 3, days: 3, clock });
  const dir = await folder(recipes);
  const store = `${dir.path}/store.db`;
  const world = () => {
    const files = Object.fromEntries(
      Object.entries(recipes).map(([name, text]) => [`${dir.path}/${name}`, text]),
    );
    return { env: envOf(gateway), files, now: () => start };
  };
  return {
    path: dir.path,
    run: (words: string[]) => cli([...words, "--store", store], world()),
    async runs() {
      await using opened = await openSqlite(store);
      return (await opened.all<{ line: string }>(
        "select run_key || ' ' || state || coalesce(' ' || reason, '') as line from run order by slot_at, run_key",
      )).map(({ line }) => line.replace(/\/m\/\S+/, "/m/…"));
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

Deno.test("run makes a manual run if the day of the recipe's latest slot is over; run --if-new, for timers, does not", async () => {
  await using w = await at(SUNDAY, { "evening.yaml": evening });
  const path = `${w.path}/evening.yaml`;
  const first = await w.run(["run", path, "--json"]);
  assertEquals(first.code, 0, first.err);
  assertEquals(JSON.parse(first.out).state, "ok");
  assertStringIncludes(
    first.err,
    'hsgate: this is a manual run with the present time: step "fills" reads "fills.today", which the broker reports only for the present, and slot ' +
      'evening/main/2025-08-15 has passed (2025-08-15 is over in Asia/Hong_Kong); for past days use "fills.history"\n',
  );
  assertEquals(await w.runs(), ["evening/m/… ok"]);
  const timer = await w.run(["run", path, "--if-new"]);
  assertEquals(timer.code, 1, timer.err);
  assertStringIncludes(
    timer.out + timer.err,
    'Cannot read "fills.today" for 2025-08-15: the answer is as of now, and 2025-08-15 is over in Asia/Hong_Kong; ' +
      'use "fills.history" for a past day',
  );
  assertEquals(await w.runs(), ["evening/main/2025-08-15 failed step", "evening/m/… ok"]);
  // A slot whose run has begun runs only once, as always.
  const again = await w.run(["run", path]);
  assertEquals([again.code, (await w.runs()).length], [1, 2]);
  assertStringIncludes(again.out, "has already run and ended as failed");
  // Control: on the evening itself the slot runs, even 45 minutes late.
  await using friday = await at(Date.parse("2025-08-15T17:30:00+08:00"), { "evening.yaml": evening });
  const late = await friday.run(["run", `${friday.path}/evening.yaml`, "--json"]);
  assertEquals(JSON.parse(late.out), { key: "evening/main/2025-08-15", ran: true, state: "ok" }, late.err);
});

Deno.test("backfill and rerun reject past days with exit code 2, and change nothing", async () => {
  await using w = await at(SUNDAY, { "evening.yaml": evening });
  const where = ["--recipes", w.path];
  for (const more of [[], ["--dry-run"], ["--queue"]]) {
    const days = ["--from", "2025-08-13", "--to", "2025-08-15"];
    const { code, out, err } = await w.run(["backfill", "evening", ...days, ...where, ...more]);
    assertEquals([code, out], [2, ""], more.join());
    assertStringIncludes(
      err,
      'Cannot backfill "evening" for 2025-08-13: step "fills" reads "fills.today"; the answer is as of now, and ' +
        '2025-08-13 is over in Asia/Hong_Kong; use "fills.history" for a past day',
    );
  }
  assertEquals(await w.runs(), []);
  await w.run(["run", `${w.path}/evening.yaml`, "--if-new"]);
  const { code, out, err } = await w.run(["rerun", "evening/main/2025-08-15", ...where]);
  assertEquals([code, out], [2, ""]);
  assertStringIncludes(err, 'Cannot run "evening/main/2025-08-15" again: step "fills" reads "fills.today"; ');
});

Deno.test("check warns if a slot may be caught up after its day, and says what to write", async () => {
  const warned = async (head: string, uses = "fills.today, with: { market: hk }") => {
    await using dir = await folder({ "a.yaml": `name: a\n${head}\nsteps:\n  - { id: s, uses: ${uses} }\n` });
    const { code, err } = await cli(["check", dir.path]);
    assertEquals(code, 0, err);
    return err.split("\n").filter((line) => line.includes('"a"'));
  };
  const daily = "schedule: { calendar: XHKG, at: close+45m }";
  assertEquals(await warned(daily), [
    'hsgate: warning: "a": step "s" reads "fills.today" as of now, and hsgate rejects that after the day of the slot. ' +
    'A missed slot of "main" may begin later (misfire: all); write "misfire: skip" or a deadline on the same day. ' +
    'hsgate also rejects a backfill of past days, unless the step reads "fills.history", which also works for late slots',
  ]);
  const cases: [head: string, count: number][] = [
    [`${daily}\nmisfire: latest`, 1],
    [`${daily}\nmisfire: ask`, 1],
    [`${daily}\nmisfire: skip`, 0],
    [`${daily}\ndeadline: 7h`, 0],
    // 16:45 plus eight hours is past midnight.
    [`${daily}\ndeadline: 8h`, 1],
    [`${daily}\nmisfire: { action: skip, grace: 8h }`, 1],
    [`${daily}\nwindow: XHKG.open..XHKG.close+2h`, 0],
    // A newer slot replaces a slot that is ten minutes old, but the last slot of a day is not replaced overnight.
    ["schedule: { every: 10m }", 0],
    ["schedule: { every: 10m, while: XHKG.open..XHKG.close }", 1],
    ["schedule: { every: 10m, while: XHKG.open..XHKG.close }\ndeadline: 1h", 0],
    ["schedule:\n  - { id: x, calendar: XHKG, at: open }\n  - { id: y, calendar: XHKG, at: close }", 1],
  ];
  for (const [head, count] of cases) assertEquals((await warned(head)).length, count, head);
  assertEquals(
    await warned(daily, 'fills.history, with: { market: hk, from: "2025-08-14", to: "2025-08-14" }'),
    [],
  );
  assertEquals(await warned(daily, "wait-for, with: { session: { calendar: XHKG, moment: close } }"), []);
  assertStringIncludes(
    (await warned(daily, "watch, with: { for: 1h }"))[0] ?? "",
    'step "s" reads pushes as of now',
  );
  // The slot is at noon of the next session, but its key has the date of the session before.
  assertStringIncludes(
    (await warned("schedule: { calendar: XHKG, at: close+20h }\nmisfire: skip"))[0] ?? "",
    "which hsgate rejects for the slot Fri 2025-08-15 12:00",
  );
});

Deno.test("check warns about a recipe that runs another recipe which reads present data", async () => {
  await using dir = await folder({
    "outer.yaml":
      "name: outer\nschedule: { calendar: XHKG, at: close+45m }\nsteps:\n  - { id: in, uses: run, with: { recipe: inner } }\n",
    "inner.yaml": "name: inner\nsteps:\n  - { id: f, uses: account.funds, with: { market: hk } }\n",
  });
  const { err } = await cli(["check", dir.path]);
  assertStringIncludes(err, '"outer": step "in" reads "account.funds" of recipe "inner" as of now');
});

Deno.test("the README's evening report is right on a Sunday, as a manual run and for past days", async () => {
  const readme = await Deno.readTextFile(new URL("../../README.md", import.meta.url));
  const [, text = ""] = /```yaml\n(name: evening-report\n[^]*?)```/.exec(readme) ?? [];
  await using w = await at(SUNDAY, { "evening.yaml": text });
  const out = ["--out", w.path];
  const rowsOf = async (day: string) =>
    (await Deno.readTextFile(`${w.path}/out/${day}.md`)).split("\n").filter((line) =>
      line.startsWith("| hk/")
    ).length;
  const checked = await cli(["check", w.path]);
  assertEquals([checked.code, checked.err.includes("warning")], [0, false], checked.err);
  const byHand = await w.run(["run", `${w.path}/evening.yaml`, "--manual", "--json", ...out]);
  assertEquals([byHand.code, await rowsOf("2025-08-15")], [0, 3], byHand.err);
  const slot = await w.run(["run", `${w.path}/evening.yaml`, "--json", ...out]);
  assertEquals([JSON.parse(slot.out).key, await rowsOf("2025-08-15")], ["evening-report/main/2025-08-15", 3]);
  const past = ["--from", "2025-08-13", "--to", "2025-08-14", "--recipes", w.path, ...out];
  const backfilled = await w.run(["backfill", "evening-report", ...past]);
  assertEquals(
    [backfilled.code, await rowsOf("2025-08-13"), await rowsOf("2025-08-14")],
    [0, 3, 3],
    backfilled.err,
  );
});

Deno.test("the recipe morning_snapshot that init writes runs on a Sunday", async () => {
  await using dir = await folder({});
  await cli(["init", `${dir.path}/desk`, "--yes"]);
  const path = `${dir.path}/desk/recipes/morning_snapshot.yaml`;
  const run = (more: string[]) =>
    cli(["run", path, "--store", `${dir.path}/l.db`, "--out", dir.path, "--json", ...more], {
      files: { [path]: Deno.readTextFileSync(path) },
      now: () => SUNDAY,
    });
  const first = await run([]);
  assertEquals([first.code, JSON.parse(first.out).state], [0, "ok"], first.err);
  const [written] = [...Deno.readDirSync(`${dir.path}/out/snapshots`)].map(({ name }) => name);
  assertEquals(written, "2025-08-17");
  const timer = await run(["--if-new"]);
  assertEquals([timer.code, JSON.parse(timer.out).state, JSON.parse(timer.out).reason], [
    0,
    "skipped",
    "deadline",
  ]);
});

Deno.test("a run without a store has the sessions of its day, and its inner recipes have the same sessions", async () => {
  const days = (to: string) =>
    `steps:\n  - id: days\n    uses: convert-report\n    with:\n      to: ${to}.csv\n      rows: ` +
    '[{ day: "${{ session.date }}", before: "${{ previousSession.date }}" }]\n';
  const recipes = {
    "outer.yaml": `name: outer\nschedule: { calendar: XNYS, at: close }\nmisfire: skip\n${days("outer")}` +
      "  - { id: in, uses: run, with: { recipe: inner } }\n  - { id: own, uses: run, with: { recipe: hongkong } }\n",
    "inner.yaml": `name: inner\n${days("inner")}`,
    "hongkong.yaml": `name: hongkong\nschedule: { calendar: XHKG, at: close }\n${days("hongkong")}`,
  };
  // Friday morning in Hong Kong is Thursday evening in New York.
  await using w = await at(Date.parse("2025-08-15T10:30:00+08:00"), recipes);
  const { code, err } = await cli(["run", `${w.path}/outer.yaml`, "--out", w.path, "--json"], {
    files: { [`${w.path}/outer.yaml`]: recipes["outer.yaml"] },
    now: () => Date.parse("2025-08-15T10:30:00+08:00"),
  });
  assertEquals(code, 0, err);
  const rows = await Promise.all(
    ["outer", "inner", "hongkong"].map(async (name) =>
      (await Deno.readTextFile(`${w.path}/${name}.csv`)).trimEnd().split("\r\n")[1]
    ),
  );
  assertEquals(rows, ["2025-08-14,2025-08-13", "2025-08-14,2025-08-13", "2025-08-14,2025-08-13"]);
});
