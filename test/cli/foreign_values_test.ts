/**
 * Tests commands that read a value that hsgate never writes. For every column, the error must name the value's place in
 * the store.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { insertIntent } from "../../lib/desk/queries.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { planOf, termsOf } from "../rebalance/support.ts";
import { recordPlan } from "../../lib/rebalance/mod.ts";
import { cli, MORNING } from "./support.ts";

const RUN = "r/main/2025-08-15";
const PLAN = "a".repeat(64);

/** Creates a store with a row in each table that the commands read. */
async function fill(path: string): Promise<void> {
  await using store = await openSqlite(path);
  const at = MORNING;
  await store.run(
    `insert into run (run_key, recipe, schedule_id, kind, class, slot_at, due_at, state, reason, recipe_sha, trace_id,
      business_day, started_at, finished_at)
      values (?, 'r', 'main', 'live', 'write', ?, ?, 'unknown', 'held:account', '', '', '2025-08-15', ?, ?)`,
    RUN,
    at,
    at,
    at,
    at,
  );
  await store.run(
    `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, output, started_at)
      values (?, 'buy', 0, 1, 'write', '', 'unknown', '{}', ?)`,
    RUN,
    at,
  );
  const spec = { id: "main", form: "every", everyMs: 3_600_000, jitterMs: 0 };
  await store.run(
    "insert into schedule (recipe, schedule_id, spec, watermark, updated_at) values ('r', 'main', ?, ?, ?)",
    JSON.stringify(spec),
    at,
    at,
  );
  await store.event(at, "write_sent", { step: "buy", operation: "orders.place", lists: [] }, RUN);
  await store.run(
    `insert into outbox (dedupe_key, channel, body, next_try, run_key, created_at) values ('n', 'webhook', '{}', ?, ?, ?)`,
    at,
    RUN,
    at,
  );
  await store.run("insert into account_write values ('default', 1, ?, 'buy', ?)", RUN, at);
  await insertIntent(store, {
    id: "01K2NS0220",
    account: "default",
    kind: "place",
    operation: "orders.place",
    params: { market: "hk", symbol: "00700.HK", side: "buy", quantity: "100", price: "550" },
    fingerprint: "",
    why: { by: "ann" },
    createdAt: at,
    timeoutMs: 1,
  });
  const plan = planOf([{ symbol: "00005.HK", side: "buy", quantity: "400", price: "100" }], { hash: PLAN });
  await recordPlan(store, { account: "gateway 127.0.0.1:11111", plan, terms: termsOf(), at });
}

const orders = ["orders", "show", "01K2NS0220"];
const plans = ["rebalance", "show", PLAN];
const runs = ["runs", "show", RUN];
const why = ["why", "r", "2025-08-15"];

/** Each case: a column, a value for it, the command that reads the value, and the row that the error names. */
const cases: [column: string, value: string | bigint, words: readonly string[], row: string][] = [
  ["intent.params", "not JSON", orders, "01K2NS0220"],
  ["intent.params", "null", orders, "01K2NS0220"],
  ["intent.params", '{"price":5}', orders, "01K2NS0220"],
  ["intent.params", '{"quantity":"many"}', orders, "01K2NS0220"],
  ["intent.params", '{"market":"moon"}', orders, "01K2NS0220"],
  ["intent.why", "[]", orders, "01K2NS0220"],
  ["intent.why", '{"by":{}}', orders, "01K2NS0220"],
  ["intent.order_ids", "{}", orders, "01K2NS0220"],
  ["intent.child_ids", "[null]", orders, "01K2NS0220"],
  ["intent.known", "[1]", orders, "01K2NS0220"],
  ["intent.earlier", '{"price":1}', orders, "01K2NS0220"],
  ["intent.absent", '{"count":1}', orders, "01K2NS0220"],
  ["intent.state", "asleep", orders, "01K2NS0220"],
  ["intent.filled", "all", orders, "01K2NS0220"],
  ["intent.created_at", 2n ** 62n, orders, "01K2NS0220"],
  ["intent.created_at", 8_640_000_000_000_001n, orders, "01K2NS0220"],
  ["intent_change.data", "null", orders, "01K2NS0220"],
  ["intent_change.data", '{"orders":[null]}', orders, "01K2NS0220"],
  ["intent_change.data", '{"reference":1}', orders, "01K2NS0220"],
  ["intent_change.data", '{"quantity":"many"}', orders, "01K2NS0220"],
  ["intent_change.data", '{"symbol":{}}', orders, "01K2NS0220"],
  ["rebalance.plan", '{"trades":[null]}', plans, PLAN],
  ["rebalance.plan", "[]", plans, PLAN],
  ["rebalance.terms", '{"peg":"moon"}', plans, PLAN],
  ["rebalance.source", '{"file":1}', plans, PLAN],
  ["rebalance.arrival", '{"0":{}}', plans, PLAN],
  ["rebalance.notes", '{"0":"text"}', plans, PLAN],
  ["rebalance.report", "{}", plans, PLAN],
  ["rebalance.planned_at", -(2n ** 62n), plans, PLAN],
  ["run.params", "[]", runs, RUN],
  ["run.slot_at", 2n ** 62n, ["runs"], RUN],
  ["run.finished_at", 9_007_199_254_740_991n, ["runs"], RUN],
  ["run.due_at", 2n ** 62n, why, RUN],
  ["step_run.output", "{", runs, `${RUN} buy`],
  ["step_run.output", "[".repeat(100_000) + "]".repeat(100_000), runs, `${RUN} buy`],
  ["step_run.started_at", 2n ** 62n, runs, RUN],
  ["event.data", "null", runs, "1"],
  ["event.data", '{"step":"buy"}', why, "1"],
  ["event.data", '{"step":"buy","operation":"x","lists":[{}]}', why, "1"],
  ["schedule.spec", "{}", why, "r main"],
  ["schedule.spec", '{"id":"main","form":"every","everyMs":0.001,"jitterMs":0}', why, "r main"],
  ["schedule.spec", '{"id":"main","form":"cron","cron":"* * *","timezone":"UTC"}', why, "r main"],
  ["schedule.spec", '{"id":"main","form":"cron","cron":"* * * * *","timezone":"Moon"}', why, "r main"],
  ["schedule.watermark", 2n ** 62n, why, "r"],
  ["outbox.next_try", 2n ** 62n, ["notices"], RUN],
  ["account_write.at", 2n ** 62n, ["runs"], RUN],
  ["account_write.at", 8_640_000_000_000_001n, ["runs"], RUN],
];

Deno.test("if a command reads a value that hsgate never writes, the error names the value's column, table and row", async () => {
  const folder = await Deno.makeTempDir({ prefix: "hsgate-values-" });
  try {
    await fill(`${folder}/whole.db`);
    for (const words of [orders, plans, runs, why, ["runs"], ["notices"]]) {
      const { err, code } = await cli([...words, "--store", `${folder}/whole.db`]);
      assertEquals(code, 0, `${words.join(" ")}: ${err}`);
    }
    for (const [index, [place, value, words, row]] of cases.entries()) {
      const [table, column] = place.split(".");
      const path = `${folder}/${index}.db`;
      Deno.copyFileSync(`${folder}/whole.db`, path);
      const file = new DatabaseSync(path);
      file.prepare(`update "${table}" set "${column}" = ?`).run(value);
      file.close();
      const { code, out, err } = await cli([...words, "--store", path]);
      const what = `${place} = ${String(value).slice(0, 60)}: ${err}`;
      assertEquals([code, out], [1, ""], what);
      const named = `the value of "${column}" in the row "${row}" of the table "${table}"`;
      assertStringIncludes(
        err,
        `hsgate: Cannot read the store: ${named} is not one that hsgate writes: `,
        what,
      );
      assert(!err.includes("internal error"), what);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a store whose version is not one of hsgate's is rejected, even if the version is too large a number for JavaScript", async () => {
  const folder = await Deno.makeTempDir({ prefix: "hsgate-values-" });
  try {
    for (const version of [2n ** 62n, -(2n ** 62n), 1_000_001n, -1n]) {
      const path = `${folder}/${version}.db`;
      await fill(path);
      const file = new DatabaseSync(path);
      file.prepare("delete from migration").run();
      file.prepare("insert into migration (version) values (?)").run(version);
      file.close();
      for (const words of [["runs"], ["store", "verify"]]) {
        const { code, err } = await cli([...words, "--store", path]);
        assertEquals([code > 0, err.includes("internal error")], [true, false], `${version}: ${err}`);
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
