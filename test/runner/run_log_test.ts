import { DatabaseSync } from "node:sqlite";
import { assertEquals } from "@std/assert";
import { verifyLedger } from "../../lib/runner/ledger_care.ts";
import { Ledger } from "../../lib/runner/ledger.ts";
import { logOf, MOST_LINES, RunLog } from "../../lib/runner/run_log.ts";
import { addManualRun } from "../../lib/runner/starts.ts";
import { bench, MINUTE, recipe, runsOf, step, temporaryFolder } from "./support.ts";

Deno.test("executeRun() keeps what a step says and its milestones, without secrets", async () => {
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
  using b = bench({ start: "2025-12-23T08:44Z", recipes: [recipe({ steps: [talker] })] });
  b.scheduler.start();
  await b.host.pass(2 * MINUTE);
  await b.scheduler.stop();
  const lines = logOf(b.ledger, "eod/s1/2025-12-23");
  assertEquals(lines.map(({ level, step, text }) => [level, step, text]), [
    ["info", "one", 'begin {"count":2}'],
    ["info", "one", "page (0 of 3)"],
    ["warn", "one", "odd: [secret]"],
    ["info", "one", "page (3 of 3)"],
  ]);
  assertEquals(new Set(lines.map(({ at }) => at)), new Set([Date.parse("2025-12-23T08:45:00Z")]));
});

Deno.test("RunLog keeps a bounded number of lines and says so, errors a little longer", () => {
  using ledger = new Ledger(":memory:");
  const key = addManualRun(ledger, recipe(), { id: "1", now: 0, drawTraceId: () => "1" });
  const log = new RunLog(ledger, key);
  for (let at = 0; at < MOST_LINES + 50; at++) {
    log.add({ at, level: "info", step: "one", text: `line ${at}` });
  }
  log.add({ at: 9_000, level: "error", step: "one", text: "x".repeat(5_000) });
  const lines = logOf(ledger, key);
  assertEquals(lines.length, MOST_LINES + 2);
  assertEquals(lines.at(-2)?.text, "only the first 1000 lines are kept");
  assertEquals([lines.at(-1)?.level, lines.at(-1)?.text.length], ["error", 2_001]);
  // Another process that goes on with the run counts on.
  new RunLog(ledger, key).add({ at: 9_001, level: "info", step: "one", text: "too late" });
  assertEquals(logOf(ledger, key).length, MOST_LINES + 2);
});

Deno.test("RunLog keeps no line below its least level", () => {
  for (const [least, kept] of [["debug", "diwe"], ["warn", "we"], ["error", "e"]] as const) {
    using ledger = new Ledger(":memory:");
    const key = addManualRun(ledger, recipe(), { id: "1", now: 0, drawTraceId: () => "1" });
    const log = new RunLog(ledger, key, least);
    for (const level of ["debug", "info", "warn", "error"] as const) {
      log.add({ at: 0, level, step: null, text: level[0]! });
    }
    assertEquals(logOf(ledger, key).map(({ text }) => text).join(""), kept);
  }
});

/** The tables of the first version as they were written then, by hand. */
const firstVersion = `
create table migration (version integer primary key) strict;
insert into migration values (1);
create table schedule (recipe text not null, schedule_id text not null, spec text not null, watermark integer not null,
  paused_reason text, updated_at integer not null, primary key (recipe, schedule_id)) strict;
create table run (run_key text primary key, recipe text not null, schedule_id text not null, kind text not null,
  class text not null, slot_at integer not null, business_day text, assumed integer not null default 0,
  due_at integer not null, deadline_at integer, state text not null, reason text, attempt integer not null default 0,
  round integer not null default 0, fence integer not null default 0, holder text, account text, lease_until integer,
  cancel_asked text, recipe_sha text not null, calendar_version text, params text not null default '{}',
  trace_id text not null, started_at integer, finished_at integer) strict;
create table step_run (run_key text not null references run (run_key), step_id text not null, round integer not null,
  attempt integer not null, effect text not null, idem_key text not null, state text not null, input_sha text,
  output text, error text, started_at integer not null, finished_at integer,
  primary key (run_key, step_id, round, attempt)) strict;
create table lease (name text primary key, holder text not null, fence integer not null, until integer not null) strict;
create table artifact (dataset text not null, business_day text not null, revision integer not null,
  run_key text not null references run (run_key), sha256 text not null, bytes integer not null, uri text not null,
  final integer not null, primary key (dataset, business_day, revision)) strict;
create table approval (run_key text not null references run (run_key), step_id text not null, plan_sha text not null,
  expires_at integer not null, decision text, actor text, decided_at integer,
  primary key (run_key, step_id, plan_sha)) strict;
create table outbox (dedupe_key text primary key, channel text not null, body text not null,
  tries integer not null default 0, next_try integer not null, sent_at integer) strict;
create table event (seq integer primary key, at integer not null, run_key text, kind text not null,
  data text not null) strict;
insert into schedule values ('eod', 's1', '{}', 1000, null, 1000);
insert into run (run_key, recipe, schedule_id, kind, class, slot_at, due_at, state, recipe_sha, trace_id, started_at,
  finished_at) values ('eod/s1/2025-08-15', 'eod', 's1', 'live', 'read', 500, 500, 'ok', 'aa', '1f', 501, 502);
insert into step_run values ('eod/s1/2025-08-15', 'one', 0, 1, 'read', 'k', 'ok', null, '{"rows":3}', null, 501, 502);
insert into event values (1, 501, 'eod/s1/2025-08-15', 'claimed', '{}');
`;

Deno.test("Ledger takes a file of the first version to the present one and keeps what is in it", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/old.db`;
  {
    const db = new DatabaseSync(path);
    db.exec(firstVersion);
    db.close();
  }
  for (let opened = 0; opened < 2; opened++) {
    using ledger = new Ledger(path);
    assertEquals(runsOf(ledger), ["eod/s1/2025-08-15 ok live"]);
    assertEquals(
      { ...ledger.get<object>("select output, span_id from step_run join run using (run_key)") },
      { output: '{"rows":3}', span_id: null },
    );
    assertEquals({ ...ledger.get<object>("select watermark from schedule") }, { watermark: 1000 });
    assertEquals(verifyLedger(ledger), []);
    new RunLog(ledger, "eod/s1/2025-08-15").add({ at: 503, level: "info", step: null, text: "later" });
    assertEquals(logOf(ledger, "eod/s1/2025-08-15").length, opened + 1);
  }
});

Deno.test("executeRun() fails a step whose file holds a secret, and does not write the file down", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/rows.csv`;
  const careless = step({
    run: async (context) => {
      Deno.writeTextFileSync(path, `a,${await context.secret("token")}\n`);
      context.artifact({ dataset: "rows", path, bytes: 1, sha256: "00", final: true });
      return null;
    },
  });
  using b = bench({ start: "2025-12-23T08:44Z", recipes: [recipe({ steps: [careless] })] });
  b.scheduler.start();
  await b.host.pass(2 * MINUTE);
  await b.scheduler.stop();
  assertEquals(runsOf(b.ledger), ["eod/s1/2025-12-23 failed step live"]);
  assertEquals(b.ledger.all("select 1 from artifact"), []);
  assertEquals({ ...b.ledger.get<object>("select error from step_run") }, {
    error: `Cannot keep "${path}": it holds the value of a secret; look where it comes from, then delete it`,
  });
});
