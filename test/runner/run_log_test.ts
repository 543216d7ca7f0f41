import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assertEquals } from "@std/assert";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { MOST_LINES, MOST_SEVERE_LINES, RunLog } from "../../lib/runner/run/report.ts";
import { logOf } from "../../lib/runner/queries/events.ts";
import { addManualRun } from "../../lib/runner/schedule/starts.ts";
import { bench, MINUTE, recipe, runsOf, step, temporaryFolder } from "./support.ts";

Deno.test("executeRun() logs the messages and milestones of a step, without secrets", async () => {
  const talker = step({
    run: async (context) => {
      const value = await context.secret("token");
      context.log("info", "begin", { count: 2 });
      context.progress({ done: 0, total: 3, text: "page" });
      context.progress({ done: 1, total: 3, text: "page" });
      context.log("warn", `odd: ${value}`);
      context.progress({ done: 3, total: 3, text: "page" });
      return null;
    },
  });
  await using b = await bench({ start: "2025-12-23T08:44Z", recipes: [recipe({ steps: [talker] })] });
  await b.scheduler.start();
  await b.machine.pass(2 * MINUTE);
  await b.scheduler.stop();
  const lines = await logOf(b.store, "eod/s1/2025-12-23");
  assertEquals(lines.map(({ level, step, text }) => [level, step, text]), [
    ["info", "one", 'begin {"count":2}'],
    ["info", "one", "page (0 of 3)"],
    ["warn", "one", "odd: [secret]"],
    ["info", "one", "page (3 of 3)"],
  ]);
  assertEquals(new Set(lines.map(({ at }) => at)), new Set([Date.parse("2025-12-23T08:45:00Z")]));
});

/** Opens a store with one run. */
async function openRun() {
  const store = await openSqlite(":memory:");
  const options = { calendars: builtInCalendars, id: "1", now: 0, drawTraceId: () => "1" };
  const key = await addManualRun(store, recipe(), options);
  return { store, key, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

Deno.test("RunLog keeps a limited number of lines and says so, with some more room for errors", async () => {
  await using opened = await openRun();
  const { store, key } = opened;
  const log = new RunLog(store, key);
  for (let at = 0; at < MOST_LINES + 50; at++) {
    log.add({ at, level: "info", step: "one", text: `line ${at}` });
  }
  log.add({ at: 9_000, level: "error", step: "one", text: "x".repeat(5_000) });
  await log.flush();
  const lines = await logOf(store, key);
  assertEquals(lines.length, MOST_LINES + 2);
  assertEquals(lines.at(-2)?.text, "after 1000 lines, only warnings and errors are kept");
  assertEquals([lines.at(-1)?.level, lines.at(-1)?.text.length], ["error", 2_001]);
  // Another process that continues the run continues the count.
  const other = new RunLog(store, key);
  other.add({ at: 9_001, level: "info", step: "one", text: "too late" });
  await other.flush();
  assertEquals((await logOf(store, key)).length, MOST_LINES + 2);
  for (let at = 0; at < 300; at++) {
    other.add({ at: 9_002, level: "warn", step: "one", text: `warning ${at}` });
  }
  await other.flush();
  assertEquals((await logOf(store, key)).length, MOST_SEVERE_LINES);
});

Deno.test("RunLog says that it is full even if the first line beyond its limit is an error", async () => {
  await using opened = await openRun();
  const { store, key } = opened;
  const log = new RunLog(store, key);
  for (let at = 0; at < MOST_LINES; at++) log.add({ at, level: "info", step: "one", text: `line ${at}` });
  log.add({ at: 9_000, level: "error", step: "one", text: "refused" });
  log.add({ at: 9_001, level: "info", step: "one", text: "too late" });
  await log.flush();
  assertEquals((await logOf(store, key)).slice(MOST_LINES).map(({ text }) => text), [
    "after 1000 lines, only warnings and errors are kept",
    "refused",
  ]);
});

Deno.test("RunLog keeps no line below its lowest level", async () => {
  for (const [least, kept] of [["debug", "diwe"], ["warn", "we"], ["error", "e"]] as const) {
    await using opened = await openRun();
    const { store, key } = opened;
    const log = new RunLog(store, key, least);
    for (const level of ["debug", "info", "warn", "error"] as const) {
      log.add({ at: 0, level, step: null, text: level[0]! });
    }
    await log.flush();
    assertEquals((await logOf(store, key)).map(({ text }) => text).join(""), kept);
  }
});

Deno.test("executeRun() fails a step whose file contains a secret, and does not record the file", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/rows.csv`;
  const careless = step({
    run: async (context) => {
      Deno.writeTextFileSync(path, `a,${await context.secret("token")}\n`);
      await context.artifact({ dataset: "rows", path, bytes: 1, sha256: "00", final: true });
      return null;
    },
  });
  await using b = await bench({ start: "2025-12-23T08:44Z", recipes: [recipe({ steps: [careless] })] });
  await b.scheduler.start();
  await b.machine.pass(2 * MINUTE);
  await b.scheduler.stop();
  assertEquals(await runsOf(b.store), ["eod/s1/2025-12-23 failed step live"]);
  assertEquals(await b.store.all("select 1 from artifact"), []);
  assertEquals({ ...await b.store.get<object>("select error from step_run") }, {
    error:
      `Cannot keep "${path}": it contains the value of a secret; find out where the value comes from, then delete the file`,
  });
});
