import { assert, assertEquals } from "@std/assert";
import { Ledger, type SqlValue } from "../../lib/runner/ledger.ts";
import { queueNotice } from "../../lib/runner/notify.ts";
import { pauseRecipe, resumeRecipe } from "../../lib/runner/pausing.ts";
import { latestRuns } from "../../lib/runner/run_rows.ts";
import { addLatestSlot } from "../../lib/runner/starts.ts";
import { why } from "../../lib/runner/why.ts";
import { bench, DAY, every, HOUR, MINUTE, orders, recipe, step } from "./support.ts";

/** Tables that grow with the history. */
const GROWING = ["run", "step_run", "event", "outbox", "log", "artifact"];

/** Statements that read every row on purpose, once and by a person's wish. */
const WHOLE = [/integrity_check|count\(\*\)/];

/** A ledger that keeps the statements it executes, with values that they were given. */
class WatchedLedger extends Ledger {
  readonly statements = new Map<string, SqlValue[]>();

  override run(sql: string, ...values: SqlValue[]): number {
    this.statements?.set(sql, values);
    return super.run(sql, ...values);
  }

  override get<Row>(sql: string, ...values: SqlValue[]): Row | undefined {
    this.statements?.set(sql, values); // the constructor reads before there is any
    return super.get<Row>(sql, ...values);
  }

  override all<Row>(sql: string, ...values: SqlValue[]): Row[] {
    this.statements?.set(sql, values);
    return super.all<Row>(sql, ...values);
  }
}

/** Steps of a plan that read more of a growing table than the rows that are asked for. */
export function wideSteps(ledger: Ledger, sql: string, values: readonly SqlValue[]): string[] {
  const plan = ledger.all<{ detail: string }>(`explain query plan ${sql}`, ...values).map(({ detail }) =>
    detail
  );
  const wide = plan.filter((detail) => {
    const [, verb, table = ""] = /^(SCAN|SEARCH) (\w+)/.exec(detail) ?? [];
    const name = aliases[table] ?? table;
    if (!GROWING.includes(name)) return false;
    if (verb === "SCAN") return !detail.includes("USING INDEX run_unresolved");
    // A whole state or a whole recipe grows; with an order and a limit, or a bound, no more is read than is asked for.
    return /\(recipe=\?\)/.test(detail);
  });
  const isSorted = plan.some((detail) => detail === "USE TEMP B-TREE FOR ORDER BY");
  const isWholeState = isSorted &&
    plan.some((detail) => /run_of_state \(recipe=\? AND state=\?\)$/.test(detail)) &&
    !/state = '(due|running)'|waiting_recovery/.test(sql);
  return isWholeState ? [...wide, ...plan] : wide;
}

const aliases: Readonly<Record<string, string>> = { r: "run", s: "step_run", e: "event", other: "run" };

Deno.test("no statement of a tick, of a run, of why or of runs reads a whole history", async () => {
  const ledger = new WatchedLedger(":memory:");
  let calls = 0;
  const flaky = recipe({
    name: "flaky",
    class: "keep-alive",
    schedules: [{ ...every(20 * MINUTE) }],
    steps: [step({
      run: () =>
        ++calls % 2 === 0
          ? Promise.reject(new Error("no"))
          : Promise.resolve({ holdsUntil: "2025-12-22T09:00Z" }),
    })],
  });
  const recipes = [
    orders([]),
    recipe(),
    flaky,
    recipe({ name: "slow", schedules: [every(30 * MINUTE)], overlap: "cancel" }),
    recipe({
      name: "par",
      schedules: [every(30 * MINUTE), { ...every(30 * MINUTE), id: "s2" }],
      overlap: "parallel",
    }),
  ];
  using b = bench({ start: "2025-12-22T00:00:00Z", recipes, ledger });
  b.scheduler.start();
  await b.host.pass(DAY);
  b.host.sleep(3 * DAY);
  await b.host.pass(HOUR);
  await b.scheduler.stop();
  const now = b.host.now();
  queueNotice(ledger, { dedupeKey: "k", channel: "c", body: "{}" }, now);
  pauseRecipe(ledger, "eod", { why: "a test", now });
  const listing = { now, loadedAt: now, lookbackMs: DAY, drawTraceId: () => "t" };
  resumeRecipe(ledger, recipe(), { ...listing, catchUp: true });
  addLatestSlot(ledger, recipe(), { now, drawTraceId: () => "t" });
  for (const each of recipes) {
    for (const date of ["2025-12-20", "2025-12-22", "2025-12-23", "2025-12-25"]) {
      why(ledger, each, { date, now });
    }
  }
  const states = ["failed", "ok", "unknown"] as const;
  latestRuns(ledger, { states, limit: 20 });
  latestRuns(ledger, { recipe: "eod", states, limit: 20 });
  const found = [...ledger.statements].flatMap(([sql, values]) => {
    if (!/^\s*(select|update|delete|insert)/.test(sql) || WHOLE.some((each) => each.test(sql))) return [];
    const wide = wideSteps(ledger, sql, values);
    return wide.length === 0 ? [] : [`${sql.replaceAll(/\s+/g, " ")}\n  ${wide.join("\n  ")}`];
  });
  assertEquals(found, []);
  assert(ledger.statements.size > 50, `${ledger.statements.size} statements are too few to tell`);
});

Deno.test("wideSteps() finds statements that read a whole history, and no others", () => {
  using ledger = new Ledger(":memory:");
  const wide = [
    "select * from run where reason = 'x'",
    "select * from run where recipe = 'eod' and reason = 'x'",
    "select * from event where kind = 'paused'",
    "select * from outbox where tries < 12",
    "select run_key from run where recipe = 'eod' and state in ('ok', 'failed') order by due_at",
  ];
  for (const sql of wide) assert(wideSteps(ledger, sql, []).length > 0, sql);
  const narrow = [
    "select * from run where state = 'due' and due_at < 5",
    "select * from run where recipe = 'eod' and slot_at > 5",
    "select * from run where recipe = 'eod' and state = 'ok' order by slot_at desc limit 3",
    "select * from event where run_key = 'k'",
  ];
  for (const sql of narrow) assertEquals(wideSteps(ledger, sql, []), [], sql);
});
