import { builtInCalendars } from "../../lib/calendars/mod.ts";
import type { CompiledSchedule } from "../../lib/recipes/compiled.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { commonZone, ScheduleLines } from "../../tasks/commands/schedule/lines.ts";
import { close45, every, MINUTE, recipe } from "../runner/support.ts";
import { cli, envOf, folder, simulate, spawned, start, trustAll } from "./runner_support.ts";

const beat =
  "name: beat\nschedule: { every: 1s }\nmisfire: { grace: 30s }\nsteps:\n  - { id: orders, uses: orders.today, with: { market: hk } }\n";

/** Reads until the text that has arrived matches. */
async function until(
  lines: ReadableStreamDefaultReader<string>,
  fits: (text: string) => boolean,
): Promise<string> {
  let text = "";
  // A line that never comes fails only this test and does not block the others. A busy machine takes minutes.
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`the line did not arrive: ${text}`)), 5 * MINUTE);
  try {
    while (!fits(text)) {
      const { value, done } = await Promise.race([lines.read(), late.promise]);
      assert(!done, `the process ended: ${text}`);
      text += value;
    }
    return text;
  } finally {
    clearTimeout(timer);
  }
}

/** A run, with its starts: attempts, rounds after the first, and steps that began. */
interface Row {
  run_key: string;
  state: string;
  attempt: number;
  round: number;
  begun: number;
}

const rowsOf = async (path: string) => {
  await using store = await openSqlite(path);
  return await store.all<Row>(
    `select run_key, state, attempt, round,
      (select count(*) from step_run where step_run.run_key = run.run_key) as begun from run order by slot_at`,
  );
};

Deno.test("schedule runs slots with the gateway, loads a new recipe, and shuts down cleanly at SIGTERM", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using dir = await folder({ "beat.yaml": beat });
  const store = `${dir.path}/store.db`;
  const process = start(["schedule", dir.path, "--store", store, "--json"], { env: envOf(gateway) });
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  await until(reader, (text) => text.includes('"state":"ok"') && text.includes("run-ended"));
  await Deno.writeTextFile(`${dir.path}/other.yaml`, beat.replace("name: beat", "name: other"));
  const text = await until(
    reader,
    (text) => /"runKey":"other\/main\/[^"]+"[^\n]+run-ended|run-ended[^\n]+other/.test(text),
  );
  assertStringIncludes(text, '"type":"reloaded"');
  process.kill("SIGTERM");
  for (let chunk; !(chunk = await reader.read()).done;) assert(chunk.value !== undefined);
  const err = await new Response(process.stderr).text();
  assertEquals([(await process.status).code, err], [0, "hsgate: stopping\n"]);
  const rows = await rowsOf(store);
  assert(rows.length >= 3, `${rows.length} rows`);
  assert(rows.every(({ state }) => state === "ok" || state === "due"), JSON.stringify(rows));
});

Deno.test("schedule continues after kill -9: it records the slots of the time between the processes, and starts each slot at most once", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using dir = await folder({ "beat.yaml": beat });
  const store = `${dir.path}/store.db`;
  const words = ["schedule", dir.path, "--store", store];
  const process = start([...words, "--text"], { env: envOf(gateway) });
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const text = await until(
    reader,
    (text) => / {2}beat\/main\/\S+ {2}[0-9a-f]{32} {2}ok, \d+\.\d s/.test(text),
  );
  assertStringIncludes(text, "1 recipe is scheduled (beat), store ");
  process.kill("SIGKILL");
  await process.status;
  await Promise.all([reader.cancel(), process.stderr.cancel()]);
  const before = await rowsOf(store);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const once = await spawned([...words, "--once", "--json"], { env: envOf(gateway) });
  assertEquals([once.code, once.err], [0, ""]);
  const rows = await rowsOf(store);
  assert(rows.length > before.length, "the slots between the two processes have rows");
  assertEquals(new Set(rows.map(({ run_key }) => run_key)).size, rows.length);
  // On a busy machine, the lease of the run that the kill interrupted may have expired; only that run may start again.
  const interrupted = before.filter(({ state }) => state === "running").map(({ run_key }) => run_key);
  for (const row of rows.filter(({ run_key }) => !interrupted.includes(run_key))) {
    const starts = row.state === "due" || row.state === "skipped" ? 0 : 1;
    assertEquals([row.attempt, row.round, row.begun], [starts, 0, starts], JSON.stringify(row));
  }
  const isNew = ({ run_key }: Row) => !before.some((each) => each.run_key === run_key);
  const hasContinued = rows.some((row) => row.state === "ok" && isNew(row));
  // While the lease of the interrupted run lasts, the next slot waits.
  assert(interrupted.length > 0 || hasContinued, JSON.stringify(rows));
  const ended = before.filter(({ state }) => state === "ok");
  assert(ended.length > 0);
  assertEquals(rows.filter(({ run_key }) => ended.some((each) => each.run_key === run_key)), ended);
});

Deno.test("code that never ends blocks neither the scheduler nor other runs, and SIGTERM ends it", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  const ids = `[${Array.from({ length: 1000 }, (_, at) => at).join(", ")}]`;
  const all = "params.ids.all(a, params.ids.all(b, params.ids.all(c, a + b + c >= 0)))";
  await using dir = await folder({
    "beat.yaml": beat,
    // The hog runs rarely enough that a slow machine also has time for the beats.
    "hog.yaml":
      "name: hog\nschedule: { every: 5s }\nmisfire: { action: skip, grace: 1h }\noverlap: skip\nsteps:\n" +
      "  - { id: hog, uses: ./hog_step.ts, timeout: 3s }\n",
    "hog_step.ts": `import { defineStep } from "hsgate/recipes";
export default defineStep({
  effect: "read",
  run(_params, { log }) {
    log("info", "pid " + Deno.pid);
    while (true);
  },
});
`,
    "sum.yaml":
      `name: sum\nschedule: { every: 5s }\nmisfire: { action: skip, grace: 1h }\nparams: { ids: ${ids} }\n` +
      `steps: [{ id: sum, uses: orders.today, with: { market: hk }, if: "${all}" }]\n`,
  });
  const store = `${dir.path}/store.db`;
  const process = start(["schedule", dir.path, "--store", store, "--json"], { env: envOf(gateway) });
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const beats = (text: string) =>
    text.match(/run-ended[^\n]*"runKey":"beat|"runKey":"beat[^\n]*run-ended/g)?.length ?? 0;
  const text = await until(
    reader,
    (text) =>
      text.includes("it took more than 3000 ms") && text.includes("5000000 steps") && beats(text) >= 3,
  );
  assertStringIncludes(text, 'of step \\"sum\\": it takes more than 5000000 steps of evaluation');
  // In the meantime, the scheduler also reads files that never end.
  assertEquals((await new Deno.Command("mkfifo", { args: [`${dir.path}/pipe.yaml`] }).output()).code, 0);
  await Deno.writeTextFile(`${dir.path}/endless.ts`, "while (true);\nexport default {};\n");
  await until(reader, (text) => beats(text) >= 8);
  process.kill("SIGTERM");
  let rest = "";
  for (let chunk; !(chunk = await reader.read()).done;) rest += chunk.value;
  assertEquals((await process.status).code, 0);
  await process.stderr.cancel();
  const pids = [...`${text}${rest}`.matchAll(/pid (\d+)/g)].map(([, pid]) => pid!);
  assert(pids.length > 0);
  const alive = await new Deno.Command("ps", { args: ["-o", "pid=", "-p", pids.join(",")] }).output();
  assertEquals(new TextDecoder().decode(alive.stdout), "", "the processes of the steps are ended");
  const hogs = (await rowsOf(store)).filter(({ run_key }) => run_key.startsWith("hog/"));
  assert(hogs.every(({ attempt }) => attempt <= 2), "its lease was renewed while it ran");
  assert(hogs.some(({ state }) => state === "failed"), JSON.stringify(hogs));
});

Deno.test("schedule --once ends with 1 when a run fails, and shows the reason", async () => {
  await using dir = await folder({ "beat.yaml": beat.replace("30s }", "1h }") });
  const words = ["schedule", dir.path, "--store", `${dir.path}/store.db`, "--once"];
  const env = { HSGATE_GATEWAY_URL: "http://127.0.0.1:1" };
  // The first pass starts the schedule; the next one finds a slot.
  assertEquals((await spawned(words, { env })).code, 0);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const { code, out } = await spawned(words, { env });
  assertEquals(code, 1);
  assertStringIncludes(out, "orders: failed, ");
});

Deno.test("schedule starts nothing if a recipe has a mistake or contradicts the connection flags", async () => {
  await using dir = await folder({
    "a.yaml": beat,
    "b.yaml": beat.replace("beat", "b").replace("today", "todya"),
  });
  const store = `${dir.path}/store.db`;
  const wrong = await cli(["schedule", dir.path, "--store", store]);
  assertEquals([wrong.code, wrong.out], [2, ""]);
  assertStringIncludes(wrong.err, "b.yaml:5:");
  await Deno.writeTextFile(`${dir.path}/b.yaml`, `${beat.replace("beat", "b")}connect: simulator\n`);
  const other = await cli(["schedule", dir.path, "--store", store, "--gateway", "http://127.0.0.1:1"]);
  assertEquals(other.code, 2);
  assertStringIncludes(
    other.err,
    'Cannot connect recipe "b": it names "simulator", and --gateway contradicts that',
  );
});

Deno.test("schedule reloads an edited file that a step imports from a subfolder, and the second Ctrl-C ends it at once", async () => {
  const word = (text: string) => `export const word: string = "${text}";\n`;
  const stepText = `import { defineStep } from "hsgate/recipes";
import { word } from "./more/word.ts";
export default defineStep({
  effect: "read",
  async run(_params, { log }) {
    log("info", word);
    await new Promise((resolve) => setTimeout(resolve, word === "slow" ? 60_000 : 0));
    return {};
  },
});
`;
  await using dir = await folder({
    "beat.yaml":
      "name: beat\nschedule: { every: 1s }\nmisfire: { grace: 30s }\nsteps: [{ id: word, uses: ./word_step.ts }]\n",
    "word_step.ts": stepText,
  });
  await Deno.mkdir(`${dir.path}/more`);
  await Deno.writeTextFile(`${dir.path}/more/word.ts`, word("first"));
  await trustAll(dir.path);
  // The scheduler waits for a slow monitoring service, but not after a second Ctrl-C.
  const answer = Promise.withResolvers<Response>();
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => answer.promise,
  );
  const env = { HSGATE_PING_URL: `http://127.0.0.1:${server.addr.port}/6f0c4a51` };
  const process = start(["schedule", dir.path, "--store", `${dir.path}/store.db`], { env });
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  await until(reader, (text) => text.includes('"message":"first"'));
  await Deno.writeTextFile(`${dir.path}/more/word.ts`, word("slow"));
  await trustAll(dir.path);
  await until(reader, (text) => text.includes('"type":"reloaded"') && text.includes('"message":"slow"'));
  process.kill("SIGINT");
  // Two signals that arrive together count as one.
  const notes = process.stderr.pipeThrough(new TextDecoderStream()).getReader();
  await until(notes, (text) => text.includes("hsgate: stopping"));
  process.kill("SIGINT");
  const { code } = await process.status;
  answer.resolve(new Response());
  await Promise.all([reader.cancel(), notes.cancel()]);
  // A clean end would have given 0, after the service had answered.
  assertEquals(code, 130);
  // The first Ctrl-C was enough to make the read due again.
  assert((await rowsOf(`${dir.path}/store.db`)).every(({ state }) => state !== "running"));
});

Deno.test("schedule --once sends the notices of its runs before it ends", async () => {
  const told: string[] = [];
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    told.push((await request.json()).text);
    return new Response();
  });
  const notify = `notify: [{ on: failure, with: { webhook: "http://127.0.0.1:${server.addr.port}/" } }]\n`;
  await using dir = await folder({ "beat.yaml": `${beat.replace("30s }", "1h }")}${notify}` });
  const words = ["schedule", dir.path, "--store", `${dir.path}/store.db`, "--once"];
  const env = { HSGATE_GATEWAY_URL: "http://127.0.0.1:1" };
  await spawned(words, { env });
  await new Promise((resolve) => setTimeout(resolve, 1100));
  assertEquals((await spawned(words, { env })).code, 1);
  assert(
    told.length > 0 && told.every((text) => text.startsWith('beat is failed at step "orders"')),
    told.join(),
  );
});

Deno.test("next says that a slot's session has already run, if an edit moved the slot to a later time", async () => {
  await using gateway = await simulate();
  const at = (moment: string) =>
    `name: eod\nschedule: { calendar: XHKG, at: ${moment} }\nmisfire: { grace: 2h }\n` +
    "steps:\n  - { id: orders, uses: orders.today, with: { market: hk } }\n";
  await using dir = await folder({ "eod.yaml": at("open+10m") });
  const file = `${dir.path}/l.db`;
  const path = `${dir.path}/eod.yaml`;
  // 10:30 local time, fifty minutes after the slot.
  const ran = await cli(["run", path, "--store", file], {
    files: { [path]: at("open+10m") },
    env: envOf(gateway),
  });
  assertEquals(ran.code, 0, ran.err);
  await Deno.writeTextFile(path, at("open+90m"));
  const { out, err } = await cli(["next", dir.path, "--count", "2", "--store", file, "--json"]);
  assertEquals(err, "");
  const rows: { at: string; doneFor?: string }[] = JSON.parse(out);
  assertEquals(rows.map(({ at, doneFor }) => `${at} ${doneFor}`), [
    "2025-08-15T03:00:00Z 2025-08-15T01:40:00Z",
    "2025-08-18T03:00:00Z undefined",
  ]);
});

Deno.test("the scheduler prints when schedules run next, and how many more there are", async () => {
  await using store = await openSqlite(":memory:");
  const lines: string[] = [];
  const many = async (count: number, json: boolean) => {
    lines.length = 0;
    await new ScheduleLines({
      calendars: () => builtInCalendars,
      store,
      recipes: () => [
        recipe({
          name: "eod",
          schedules: [{ ...close45, id: "provisional" }, { ...close45, id: "final", at: { time: "08:45" } }],
        }),
        ...Array.from(
          { length: count },
          (_, index) => recipe({ name: `often-${index}`, schedules: [every(MINUTE)] }),
        ),
      ],
      now: () => Date.parse("2025-12-22T12:00:30+08:00"),
      out: (line) => lines.push(line),
      json,
      zone: "Asia/Hong_Kong",
    }).start();
  };
  await many(1, false);
  assertEquals(lines.slice(1), [
    "next: Mon 2025-12-22 12:01  often-0",
    "next: Mon 2025-12-22 16:45  eod (provisional)",
    "next: Tue 2025-12-23 08:45  eod (final)",
  ]);
  await many(13, false);
  assertEquals([lines.length, lines.at(-1)], [14, "next: 3 more schedules; hsgate next lists them"]);
  await many(13, true);
  const { next, nextMore } = JSON.parse(lines[0]!);
  assertEquals([next.length, nextMore], [12, 3]);
});

Deno.test("the scheduler's times are in the zone that all schedules share, also if that is UTC", () => {
  const cron = (timezone: string) => ({ id: "cron", form: "cron" as const, cron: "0 9 * * *", timezone });
  const zone = (...schedules: CompiledSchedule[]) => commonZone([recipe({ schedules })]);
  const own = Temporal.Now.timeZoneId();
  assertEquals(zone(cron("UTC")), "UTC");
  assertEquals(zone(cron("Europe/Paris"), every(MINUTE)), "Europe/Paris");
  assertEquals(zone(cron("Europe/Paris"), cron("UTC")), own);
  assertEquals(zone(every(MINUTE)), own);
});
