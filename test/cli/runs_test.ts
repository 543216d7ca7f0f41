import { countWrite } from "../../lib/store/store.ts";
import { DatabaseSync } from "node:sqlite";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { cli, envOf, folder, simulate, spawned } from "./runner_support.ts";

const beat =
  "name: beat\nschedule: { calendar: XHKG, at: open+30m }\nmisfire: { action: skip, grace: 2h }\nsteps:\n  - { id: orders, uses: orders.today, with: { market: hk } }\n";

/**
 * A folder with a store of two runs: one of yesterday, which was too late to run, and one of this morning, which ran.
 */
async function history() {
  const gateway = await simulate({ fillsPerDay: 3 });
  const dir = await folder({ "beat.yaml": beat });
  const file = `${dir.path}/store.db`;
  const words = ["schedule", dir.path, "--store", file, "--once"];
  await cli(words, { env: envOf(gateway) });
  {
    // This watermark pretends that the first pass was on Thursday at 08:00 in Hong Kong.
    await using store = await openSqlite(file);
    await store.run("update schedule set watermark = ?, updated_at = 0", Date.parse("2025-08-14T00:00:00Z"));
  }
  const { code, err } = await cli(words, { env: envOf(gateway) });
  assertEquals([code, err], [0, ""]);
  return {
    file,
    path: dir.path,
    gateway,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

Deno.test("runs lists runs newest first, and runs show shows all details of one", async () => {
  await using h = await history();
  const { code, out } = await cli(["runs", "beat", "--store", h.file, "--json"]);
  assertEquals(code, 0);
  const rows = JSON.parse(out);
  assertEquals(
    rows.map(({ key, state, reason, slot }: Record<string, string>) => [key, state, reason, slot]),
    [
      ["beat/main/2025-08-15", "ok", undefined, "2025-08-15T02:00:00Z"],
      ["beat/main/2025-08-14", "skipped", "misfire", "2025-08-14T02:00:00Z"],
    ],
  );
  const text = (await cli(["runs", "--store", h.file, "--state", "skipped"], { columns: 200 })).out;
  assertEquals(text.trimEnd().split("\n").length, 2);
  const shown = JSON.parse(
    (await cli(["runs", "show", "beat/main/2025-08-15", "--store", h.file, "--json"])).out,
  );
  assertEquals([shown.state, shown.startedAt, shown.steps.length, shown.steps[0].id, shown.steps[0].state], [
    "ok",
    "2025-08-15T02:30:00Z",
    1,
    "orders",
    "ok",
  ]);
  const print = (await cli(["runs", "show", "beat/main/2025-08-14", "--store", h.file])).out;
  assertStringIncludes(print, "misfire");
});

Deno.test("why explains in one line what happened, or why nothing ran", async () => {
  await using h = await history();
  const why = async (date: string) => {
    const { code, out } = await cli(["why", "beat", date, "--store", h.file, "--recipes", h.path]);
    assertEquals(code, 0);
    return out;
  };
  assertEquals(
    await why("2025-08-15"),
    "beat/main/2025-08-15 ran and succeeded at 2025-08-15 10:30 Asia/Hong_Kong, begun 30 min after it was due\n",
  );
  assertEquals(
    await why("2025-08-14"),
    "beat/main/2025-08-14 was skipped because it was missed, and too much time had passed to catch up: the runner skipped it at " +
      "2025-08-15 10:30 Asia/Hong_Kong, 24 h 30 min after it was due\n",
  );
  assertEquals(await why("2025-08-16"), "nothing is to run: 2025-08-16 is a weekend\n");
  assertEquals(await why("2025-08-18"), "nothing yet: the slot is at 2025-08-18 10:00 Asia/Hong_Kong\n");
});

Deno.test("next shows a pause, a second pause changes nothing, and resume ends the pause", async () => {
  await using h = await history();
  const store = ["--store", h.file];
  assertEquals((await cli(["pause", "beat", "--why", "a trial", ...store])).out, "beat is paused\n");
  const next = await cli(["next", h.path, "--count", "1", "--json", ...store]);
  assertEquals(JSON.parse(next.out)[0].paused, "a trial");
  const again = JSON.parse((await cli(["pause", "beat", "--json", ...store])).out);
  assertEquals(again, { recipe: "beat", paused: true, changed: false });
  const resumed = await cli(["resume", "beat", "--recipes", h.path, "--json", ...store]);
  assertEquals(JSON.parse(resumed.out), { recipe: "beat", paused: false, changed: true, caughtUp: [] });
  assertEquals((await cli(["resume", "beat", "--recipes", h.path, ...store])).out, "beat was not paused\n");
});

Deno.test('after pause, slots are skipped with the reason "paused" and no step begins; after resume, only later slots run', async () => {
  await using h = await history();
  const store = ["--store", h.file];
  const at = (text: string) => ({ env: envOf(h.gateway), now: () => Date.parse(`${text}+08:00`) });
  const pass = async (text: string) => {
    const { code, err } = await cli(["schedule", h.path, ...store, "--once"], at(text));
    assertEquals([code, err], [0, ""], text);
  };
  const runs = async () => {
    const rows: Record<string, string>[] = JSON.parse(
      (await cli(["runs", "beat", "--json", ...store])).out,
    );
    return rows.map(({ key, state, reason }) => [key, state, reason]).reverse();
  };
  const before = [
    ["beat/main/2025-08-14", "skipped", "misfire"],
    ["beat/main/2025-08-15", "ok", undefined],
  ];
  assertEquals(await runs(), before);
  await cli(["pause", "beat", "--why", "a trial", ...store], at("2025-08-15T12:00"));
  // The pass on Monday is after the grace of the slot, and the pass on Tuesday is within it.
  await pass("2025-08-18T13:00");
  await pass("2025-08-19T10:01");
  const paused = [
    ["beat/main/2025-08-18", "skipped", "paused"],
    ["beat/main/2025-08-19", "skipped", "paused"],
  ];
  assertEquals(await runs(), [...before, ...paused]);
  for (const [key] of paused) {
    const { out } = await cli(["runs", "show", key!, "--json", ...store]);
    const { startedAt, steps } = JSON.parse(out);
    assertEquals([startedAt, steps], [undefined, []], key);
  }
  // Tuesday's slot is still within its grace, but it was skipped during the pause.
  await cli(["resume", "beat", "--recipes", h.path, ...store], at("2025-08-19T10:02"));
  await pass("2025-08-19T10:03");
  assertEquals(await runs(), [...before, ...paused]);
  await pass("2025-08-20T10:01");
  assertEquals(await runs(), [...before, ...paused, ["beat/main/2025-08-20", "ok", undefined]]);
});

Deno.test("why, pause and resume find a recipe in the file that a scheduler loaded it from", async () => {
  await using h = await history();
  const store = ["--store", h.file];
  const why = await cli(["why", "beat", "2025-08-15", ...store]);
  assertEquals([why.code, why.err], [0, ""]);
  assertEquals(why.out, (await cli(["why", "beat", "2025-08-15", "--recipes", h.path, ...store])).out);
  assertEquals((await cli(["pause", "beat", ...store])).out, "beat is paused\n");
  const resumed = await cli(["resume", "beat", ...store]);
  assertEquals([resumed.code, resumed.out], [0, "beat is resumed from now\n"], resumed.err);

  await Deno.rename(`${h.path}/beat.yaml`, `${h.path}/beat.txt`);
  const gone = (await cli(["why", "beat", "2025-08-15", ...store])).out;
  assertEquals(
    gone,
    `no valid recipe in "recipes" has this name, and "${h.path}/beat.yaml", from which a scheduler last loaded it, is missing or contains no valid recipe of this name ` +
      `(--recipes names another folder): ${why.out}`,
  );
  const refused = await cli(["resume", "beat", ...store]);
  assertEquals([refused.code, refused.out], [2, ""]);
  assertStringIncludes(refused.err, "; name its folder with --recipes");
});

Deno.test("store backup writes a consistent copy, and replaces no file; store verify ends with 7 for an inconsistent store", async () => {
  await using h = await history();
  const copy = `${h.path}/copy.db`;
  // This command runs as a process, with the permissions of the task.
  const first = await spawned(["store", "backup", copy, "--store", h.file]);
  assertEquals([first.code, first.err], [0, ""]);
  const second = await cli(["store", "backup", copy, "--store", h.file]);
  assertEquals(second.code, 1);
  assertStringIncludes(second.err, "a file of that name exists already");
  assertEquals((await cli(["store", "verify", "--store", copy])).out, `"${copy}" is consistent\n`);
  {
    await using store = await openSqlite(copy);
    await store.run("update run set reason = null where state = 'skipped'");
  }
  const { code, out } = await cli(["store", "verify", "--store", copy, "--json"]);
  assertEquals([code, JSON.parse(out)], [7, {
    ok: false,
    faults: ['1 rows break the rule "a skipped run has a reason"'],
    warnings: [],
  }]);
});

Deno.test("a missing mark is reported by store verify, and by the next command if the store contains a write", async () => {
  await using h = await history();
  const verify = ["store", "verify", "--store", h.file];
  const { code, err } = await cli(verify);
  assertEquals([code, err], [0, ""], "the control");
  const missing = `its mark "${await Deno.realPath(h.file)}.mark" is missing`;
  for (const hasWrite of [false, true]) {
    if (hasWrite) {
      await using store = await openSqlite(h.file);
      await countWrite(store, { account: "a", runKey: "r", step: "s", at: 0 });
    }
    await Deno.remove(`${h.file}.mark`);
    const told = await cli(verify);
    assertEquals([told.code, told.out], [0, `"${h.file}" is consistent\n`]);
    assertStringIncludes(told.err, missing);
    assertStringIncludes(JSON.parse((await cli([...verify, "--json"])).out).warnings.join(), missing);
    const runs = await cli(["runs", "--store", h.file]);
    assertEquals([runs.code, runs.err.includes(missing)], [0, hasWrite]);
    assertEquals((await cli(verify)).err, "", "opening the store has created the mark again");
  }
});

Deno.test("store verify ends with 7 for a file that is damaged, cut off or not a store, and says what to do", async () => {
  await using h = await history();
  const whole = await Deno.readFile(h.file);
  const flipped = whole.map((byte, at) => at > 8192 && at % 97 === 0 ? byte ^ 0xff : byte);
  const foreign = `${h.path}/foreign.db`;
  {
    using other = new DatabaseSync(foreign);
    other.exec("create table t (a integer)");
  }
  const cases: [bytes: Uint8Array, verify: string, runs: string][] = [
    [
      new TextEncoder().encode("hello ".repeat(900)),
      "it is not a store: it is not even a database",
      "not a database",
    ],
    [whole.slice(0, whole.length >> 1), "it is damaged", "malformed"],
    [whole.slice(0, 3000), "it is damaged", "malformed"],
    [flipped, "it is damaged", "malformed"],
    [
      await Deno.readFile(foreign),
      "it is not a store: it is the database of another program",
      "of another program",
    ],
  ];
  for (const [index, [bytes, fault, reason]] of cases.entries()) {
    const file = `${h.path}/${index}.db`;
    await Deno.writeFile(file, bytes);
    const store = ["--store", file];
    const verified = await cli(["store", "verify", ...store]);
    assertEquals(verified.code, 7, verified.err);
    assertStringIncludes(verified.out, `${file}: ${fault}`);
    assertStringIncludes(
      verified.err,
      "move this file elsewhere, and copy the last backup to the path of this file",
    );
    const json = JSON.parse((await cli(["store", "verify", "--json", ...store])).out);
    assertEquals([json.ok, json.faults.length > 0], [false, true]);
    // The command wrote nothing to the file that it verified.
    assertEquals(await Deno.readFile(file), bytes);
    const runs = await cli(["runs", ...store]);
    assertEquals([runs.code, runs.out], [1, ""], runs.err);
    assertStringIncludes(runs.err, reason);
    if (fault !== cases.at(-1)![1]) assertStringIncludes(runs.err, "hsgate store verify");
    assertEquals(await Deno.readFile(file), bytes);
  }
  const empty = `${h.path}/empty.db`;
  await Deno.writeFile(empty, new Uint8Array());
  const verified = await cli(["store", "verify", "--store", empty]);
  assertEquals(verified.code, 7);
  assertStringIncludes(verified.out, `${empty}: it is not a store: it is empty, and its mark `);
  const taken = await cli(["runs", "--store", empty]);
  assertEquals(taken.code, 0);
  assertStringIncludes(taken.err, "it is empty, and its mark ");
});

Deno.test("runs, why and pause reject unknown names with exit code 2", async () => {
  await using h = await history();
  const cases: [string[], string][] = [
    [["runs", "--store", `${h.path}/none.db`], "there is no"],
    [["runs", "baet", "--store", h.file], 'did you mean "beat"?'],
    [["runs", "--state", "okay", "--store", h.file], "Cannot use --state"],
    [["runs", "show", "beat/main/2020-01-01", "--store", h.file], "the store has no such run"],
    [["why", "beat", "friday", "--store", h.file, "--recipes", h.path], "write a day that exists"],
    [["why", "baet", "2025-08-15", "--store", h.file, "--recipes", h.path], 'did you mean "beat"?'],
    [["pause", "baet", "--store", h.file], 'did you mean "beat"?'],
  ];
  for (const [words, reason] of cases) {
    const { code, out, err } = await cli(words);
    assertEquals([code, out], [2, ""], words.join(" "));
    assertStringIncludes(err, reason);
  }
});

Deno.test("run --store runs the latest slot once, however often it is started", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using dir = await folder({ "beat.yaml": beat });
  const words = ["run", `${dir.path}/beat.yaml`, "--store", `${dir.path}/store.db`, "--json"];
  const world = { env: envOf(gateway), files: { [`${dir.path}/beat.yaml`]: beat } };
  const first = await cli(words, world);
  assertEquals([first.code, first.err, JSON.parse(first.out)], [0, "", {
    key: "beat/main/2025-08-15",
    ran: true,
    state: "ok",
  }]);
  const second = await cli(words, world);
  assertEquals([second.code, JSON.parse(second.out)], [0, {
    key: "beat/main/2025-08-15",
    ran: false,
    state: "ok",
  }]);
  // On Saturday, Friday's slot is still the latest.
  const third = await cli([...words, "--now", "2025-08-16T12:00:00+08:00"], world);
  assertEquals(JSON.parse(third.out).ran, false);
});

Deno.test("pause applies to a recipe that had only manual runs, and to a schedule that the recipe gets later", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using dir = await folder({ "beat.yaml": beat });
  const file = `${dir.path}/store.db`;
  const where = ["--store", file, "--recipes", dir.path];
  const env = envOf(gateway);
  const path = `${dir.path}/beat.yaml`;
  const at = (text: string, given = beat) => ({ env, files: { [path]: given }, now: () => Date.parse(text) });
  await cli(["run", path, "--manual", "--store", file], at("2025-08-14T08:00:00+08:00"));
  const pause = ["pause", "beat", "--why", "a trial", ...where];
  const first = await cli(pause, at("2025-08-14T08:01:00+08:00"));
  assertEquals([first.code, first.out], [0, "beat is paused\n"]);
  assertEquals((await cli(pause)).out, "beat is already paused: a trial\n");
  const once = ["schedule", dir.path, "--store", file, "--once"];
  await cli(once, at("2025-08-14T11:00:00+08:00"));
  await Deno.writeTextFile(path, beat.replace("{ calendar", "{ id: later, calendar"));
  await cli(once, at("2025-08-14T12:00:00+08:00"));
  await cli(once, at("2025-08-15T10:01:00+08:00"));
  const states = async () => {
    await using store = await openSqlite(file);
    return (await store.all<{ line: string }>(
      "select run_key || ' ' || state || coalesce(' ' || reason, '') as line from run where kind <> 'manual' order by slot_at",
    )).map(({ line }) => line);
  };
  assertEquals(await states(), [
    "beat/main/2025-08-14 skipped paused",
    "beat/later/2025-08-15 skipped paused",
  ]);
  // The pause also applies to a crontab line for a schedule that no scheduler has seen.
  const renamed = beat.replace("{ calendar: XHKG, at: open+30m", "{ id: cron, calendar: XHKG, at: open+31m");
  await Deno.writeTextFile(path, renamed);
  const line = await cli(["run", path, "--store", file], at("2025-08-15T10:02:00+08:00", renamed));
  assertStringIncludes(line.out, '"hsgate resume beat" resumes its slots');
  assertEquals((await states()).at(-1), "beat/cron/2025-08-15 skipped paused");
  await cli(["resume", "beat", ...where], at("2025-08-15T12:00:00+08:00"));
  await cli(once, at("2025-08-18T10:01:00+08:00"));
  assertEquals((await states()).at(-1), "beat/cron/2025-08-18 ok");
});

Deno.test("pause rejects a recipe without a schedule with exit code 2, and says what to do", async () => {
  await using dir = await folder({
    "beat.yaml": beat,
    "hand.yaml": "name: hand\nsteps:\n  - { id: orders, uses: orders.today, with: { market: hk } }\n",
  });
  const file = `${dir.path}/store.db`;
  {
    await using store = await openSqlite(file);
    await store.run(
      `insert into run (run_key, recipe, schedule_id, kind, class, slot_at, due_at, state, recipe_sha, trace_id)
        values ('gone/m/1', 'gone', '', 'manual', 'read', 0, 0, 'ok', '00', '1')`,
    );
  }
  const where = ["--store", file, "--recipes", dir.path];
  for (
    const [name, reason] of [
      ["hand", 'Cannot pause "hand": it has no schedule, so there is nothing to pause'],
      ["gone", 'Cannot pause "gone": no scheduler has loaded it, and no valid recipe in "'],
      ["gnoe", 'the store contains no such recipe; did you mean "gone"?'],
    ] as const
  ) {
    const { code, out, err } = await cli(["pause", name, ...where]);
    assertEquals([code, out], [2, ""], name);
    assertStringIncludes(err, reason);
  }
  // A recipe that was never started can be paused before its first run.
  assertEquals((await cli(["pause", "beat", ...where])).out, "beat is paused\n");
});

/** Creates a store with these runs, each waiting for approval. */
async function storeOf(path: string, keys: readonly string[]): Promise<void> {
  await using store = await openSqlite(path);
  for (const [index, key] of keys.entries()) {
    await store.run(
      `insert into run (run_key, recipe, schedule_id, kind, class, slot_at, due_at, state, reason, recipe_sha, trace_id)
        values (?, 'beat', 'main', 'live', 'read', ?, 0, 'waiting_approval', 'misfire', '00', '1')`,
      key,
      index,
    );
  }
}

Deno.test("commands accept a unique beginning of a key, and list the matching keys if there are several", async () => {
  const history = 'fills.history, with: { market: hk, from: "2025-08-14", to: "2025-08-14" }';
  await using dir = await folder({
    "beat.yaml": beat.replace("orders.today, with: { market: hk }", history),
  });
  const file = `${dir.path}/store.db`;
  const days = Array.from({ length: 12 }, (_, index) => `beat/main/2025-08-${String(index + 10)}`);
  await storeOf(file, [
    "beat/m/1",
    "beat/m/1/inner",
    "eod_2/main/2025-08-15",
    "eod%/main/2025-08-15",
    ...days,
  ]);
  const where = ["--store", file];
  const shown = async (key: string) => {
    const { code, out, err } = await cli(["runs", "show", key, "--json", ...where]);
    return code === 0 ? JSON.parse(out).key : err;
  };
  assertEquals(await shown("beat/main/2025-08-10"), "beat/main/2025-08-10");
  assertEquals(await shown("eod_"), "eod_2/main/2025-08-15");
  assertEquals(await shown("eod%"), "eod%/main/2025-08-15");
  // A complete key selects exactly that run, even if longer keys begin with the same text.
  assertEquals(await shown("beat/m/1"), "beat/m/1");
  assertEquals(await shown("beat/m/1/"), "beat/m/1/inner");
  assertEquals(
    await shown("beat/main/2025-08-2"),
    'hsgate: Cannot show "beat/main/2025-08-2": several keys begin with it; write more of one of these keys:\n' +
      "  beat/main/2025-08-21\n  beat/main/2025-08-20\n" +
      '  -> "hsgate runs show --help" shows the usage\n',
  );
  const many = await shown("beat/main/");
  assertEquals(many.split("\n").filter((line: string) => line.startsWith("  beat/")).length, 10);
  assertStringIncludes(many, "\n  and more\n");
  for (const key of ["", "beat/main/2025-09", "BEAT/"]) {
    assertStringIncludes(await shown(key), `Cannot show "${key}": the store has no such run`);
  }
  const refused = await cli(["refuse", "beat/main/2025-08-10", ...where]);
  assertEquals(refused.out, "beat/main/2025-08-10 is skipped\n");
  const begun = await cli(["refuse", "eod_", "--because", "done by hand", ...where]);
  assertEquals([begun.code, begun.out], [0, "eod_2/main/2025-08-15 is skipped\n"]);
  const approved = await cli(["approve", "beat/main/2025-08-11", "--recipes", dir.path, ...where]);
  assertEquals([approved.code, approved.out.split(" ")[0]], [0, "beat/main/2025-08-11"], approved.err);
  for (const words of [["rerun", "beat/main/2"], ["resolve", "beat/main/2", "ok", "--because", "x"]]) {
    const { code, err } = await cli([...words, ...where]);
    assertEquals(code, 2);
    assertStringIncludes(err, "several keys begin with it");
  }
});

Deno.test("runs never cuts keys, says which columns it omits, and shows the columns that --columns names", async () => {
  await using dir = await folder({});
  const file = `${dir.path}/store.db`;
  const key = `inner/m/${"outer-with-a-long-name/".repeat(4)}main/2025-08-15/step.1a2b3c4d`;
  await storeOf(file, [key, ...Array.from({ length: 100 }, (_, index) => `beat/m/${index}`)]);
  const runs = async (columns: number | undefined, ...more: string[]) =>
    (await cli(["runs", "--limit", "200", "--store", file, ...more], { columns })).out.trimEnd().split("\n");
  for (const width of [40, 80, 300]) {
    const lines = await runs(width);
    assertEquals(
      lines.filter((line) => line.startsWith(`${key}  waiting_approval`)).length,
      1,
      String(width),
    );
    const note = "(omitted: ";
    assertEquals(lines.length, lines.at(-1)!.startsWith(note) ? 103 : 102);
    assertEquals(lines.at(-1)!.startsWith(note), width < 300);
  }
  assertEquals((await runs(undefined))[0]!.split(/ {2,}/), [
    "key",
    "state",
    "reason",
    "slot (UTC)",
    "kind",
    "started (UTC)",
    "took",
  ]);
  const chosen = await runs(20, "--columns", "day,recipe,key,class");
  assertEquals(chosen[0]!.split(/ +/), ["day", "recipe", "key", "class"]);
  assertEquals(chosen.filter((line) => line.includes(`beat    ${key}  read`)).length, 1);
  assertEquals(await runs(80, "--state", "ok"), ["there are no runs"]);
});
