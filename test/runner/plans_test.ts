/** Tests that the cost of statements does not grow with the history. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals } from "@std/assert";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { SqlValue, Store } from "../../lib/store/store.ts";
import { insertNotice } from "../../lib/runner/queries/events.ts";
import { pauseRecipe, resumeRecipe } from "../../lib/runner/claims/decisions.ts";
import { latestRuns } from "../../lib/runner/queries/run_lookups.ts";
import { addLatestSlot } from "../../lib/runner/schedule/starts.ts";
import { why } from "../../lib/runner/explain/why.ts";
import { testBoth } from "./both_stores.ts";
import { bench, DAY, every, HOUR, MINUTE, openStore, orders, recipe, runsOf, step } from "./support.ts";

/** Tables that grow with the history. */
const GROWING = ["run", "step_run", "event", "outbox", "log", "artifact"];

/** Statements that read every row on purpose, because a person asked for it. */
const WHOLE = [/integrity_check|count\(\*\)/];

/** Records the statements that a store executes, with their values. */
function watch(store: Store): Map<string, SqlValue[]> {
  const statements = new Map<string, SqlValue[]>();
  for (const name of ["run", "get", "all"] as const) {
    const original = store[name];
    store[name] = (sql: string, ...values: SqlValue[]): Promise<never> => {
      statements.set(sql, values);
      // The result type depends on the method.
      return original.call(store, sql, ...values) as Promise<never>;
    };
  }
  return statements;
}

/** Returns steps of a query plan that read more rows of a growing table than were asked for. */
export async function wideSteps(store: Store, sql: string, values: readonly SqlValue[]): Promise<string[]> {
  const plan = (await store.all<{ detail: string }>(`explain query plan ${sql}`, ...values)).map((
    { detail },
  ) => detail);
  const wide = plan.filter((detail) => {
    const [, verb, table = ""] = /^(SCAN|SEARCH) (\w+)/.exec(detail) ?? [];
    const name = aliases[table] ?? table;
    if (!GROWING.includes(name)) return false;
    if (verb === "SCAN") return !detail.includes("USING INDEX run_unresolved");
    // The number of runs of a recipe grows, so a search by only the recipe reads more and more rows.
    return /\(recipe=\?\)/.test(detail);
  });
  const isSorted = plan.some((detail) => detail === "USE TEMP B-TREE FOR ORDER BY");
  const isWholeState = isSorted &&
    plan.some((detail) => /run_of_state \(recipe=\? AND state=\?\)$/.test(detail)) &&
    !/state = '(due|running)'|waiting_recovery/.test(sql);
  return isWholeState ? [...wide, ...plan] : wide;
}

const aliases: Readonly<Record<string, string>> = { r: "run", s: "step_run", e: "event", other: "run" };

Deno.test("no statement of a tick, a run, why or runs reads the whole history", async () => {
  const store = await openSqlite(":memory:");
  const statements = watch(store);
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
  await using b = await bench({ start: "2025-12-22T00:00:00Z", recipes, store });
  await b.scheduler.start();
  await b.machine.pass(DAY);
  b.machine.sleep(3 * DAY);
  await b.machine.pass(HOUR);
  await b.scheduler.stop();
  const now = b.machine.now();
  await insertNotice(store, { dedupeKey: "k", channel: "c", body: "{}" }, now);
  await pauseRecipe(store, "eod", { why: "a test", now });
  const listing = { now, loadedAt: now, lookbackMs: DAY, drawTraceId: () => "t" };
  await resumeRecipe(store, recipe(), { calendars: builtInCalendars, ...listing, catchUp: true });
  await addLatestSlot(store, recipe(), { calendars: builtInCalendars, now, drawTraceId: () => "t" });
  for (const each of recipes) {
    for (const date of ["2025-12-20", "2025-12-22", "2025-12-23", "2025-12-25"]) {
      await why(store, each, { calendars: builtInCalendars, date, now });
    }
  }
  const states = ["failed", "ok", "unknown"] as const;
  await latestRuns(store, { states, limit: 20 });
  await latestRuns(store, { recipe: "eod", states, limit: 20 });
  const found = (await Array.fromAsync([...statements], async ([sql, values]) => {
    if (!/^\s*(select|update|delete|insert)/.test(sql) || WHOLE.some((each) => each.test(sql))) return [];
    const wide = await wideSteps(store, sql, values);
    return wide.length === 0 ? [] : [`${sql.replaceAll(/\s+/g, " ")}\n  ${wide.join("\n  ")}`];
  })).flat();
  assertEquals(found, []);
  assert(statements.size > 50, `${statements.size} statements are too few to tell`);
});

Deno.test("wideSteps() finds exactly the statements that read the whole history", async () => {
  await using store = await openSqlite(":memory:");
  const wide = [
    "select * from run where reason = 'x'",
    "select * from run where recipe = 'eod' and reason = 'x'",
    "select * from event where kind = 'paused'",
    "select * from outbox where tries < 12",
    "select run_key from run where recipe = 'eod' and state in ('ok', 'failed') order by due_at",
  ];
  for (const sql of wide) assert((await wideSteps(store, sql, [])).length > 0, sql);
  const narrow = [
    "select * from run where state = 'due' and due_at < 5",
    "select * from run where recipe = 'eod' and slot_at > 5",
    "select * from run where recipe = 'eod' and state = 'ok' order by slot_at desc limit 3",
    "select * from event where run_key = 'k'",
  ];
  for (const sql of narrow) assertEquals(await wideSteps(store, sql, []), [], sql);
});

/**
 * Makes four ticks with this number of recipes. The waits before the ticks are zero, a minute, an hour and two days.
 * Returns the number of statements of each tick.
 */
async function countStatements(recipes: number): Promise<number[]> {
  const store = await openStore();
  let count = 0;
  for (const name of ["run", "get", "all"] as const) {
    const original = store[name];
    store[name] = (sql: string, ...values: SqlValue[]): Promise<never> => {
      count++;
      return original.call(store, sql, ...values) as Promise<never>; // as in `watch`
    };
  }
  const fileOf = ({ file }: { file: string }) => file;
  await using b = await bench({
    start: "2025-08-15T01:00Z",
    recipes: Array.from({ length: recipes }, (_, index) =>
      recipe({
        name: `r${index}`,
        schedules: [every(HOUR), { ...every(2 * HOUR), id: "s2" }],
        misfire: { graceMs: MINUTE, action: (["all", "latest", "skip", "ask"] as const)[index % 4]!, max: 2 },
      })),
    served: { paths: ["/recipes"], fileOf },
    store,
  });
  const counts: number[] = [];
  for (const passed of [0, MINUTE, HOUR, 2 * DAY]) {
    await b.machine.pass(passed);
    const before = count;
    await b.scheduler.tick();
    counts.push(count - before);
  }
  assert((await runsOf(store)).length >= recipes * 24);
  return counts;
}

testBoth("Scheduler.tick() makes as many statements for 40 recipes as for 8", async () => {
  assertEquals(await countStatements(40), await countStatements(8));
});
