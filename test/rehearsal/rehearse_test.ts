import { assert, assertEquals, assertRejects } from "@std/assert";
import { Calendars } from "../../lib/calendars/mod.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { type Outage, rehearse, type RehearseOptions, reportLines } from "../../lib/rehearsal/mod.ts";
import type { Plan, RebalanceReport } from "../../lib/rebalance/mod.ts";
import { RecipeError } from "../../lib/recipes/mod.ts";
import { amiss, compiled, FUNDS, rehearsed, sectionOf } from "./support.ts";
import { temporaryFolder } from "../runner/support.ts";

const outage = (at: string, what: Outage["what"], more: Partial<Outage> = {}): Outage => ({
  at: `2025-${at}+08:00`,
  what,
  ...more,
});

Deno.test("rehearse() reports each slot of a week with a half-day and holidays", async () => {
  const result = await rehearsed(FUNDS, ["2025-12-22", "2025-12-28"]);
  assertEquals(result.recipes, [{
    recipe: "funds",
    slots: 5,
    ok: 3,
    failed: 0,
    skipped: 2,
    reasons: { holiday: 2 },
    open: 0,
  }]);
  assertEquals(reportLines(result), [
    "rehearsed 2025-12-22 to 2025-12-28, seed 1",
    "",
    "recipe  slots  ok  failed  skipped  why",
    "funds       5   3       0        2  holiday 2",
    "",
    "half-days and clock changes:",
    "  2025-12-24 Wed  XHKG half-day, closes 12:00",
    "",
    "not a plain success:",
    "  2025-12-25 Thu  skipped, holiday: funds",
    "  2025-12-26 Fri  skipped, holiday: funds",
    "",
    "5 slots, 3 succeeded, 0 failed, 2 skipped, 0 messages",
  ]);
});

Deno.test("rehearse() shows slots at a clock change", async () => {
  const result = await rehearsed(
    `
name: nightly
schedule: { cron: "30 2 * * *", timezone: America/New_York }
steps:
  - { id: funds, uses: account.funds, with: { market: us } }
`,
    ["2025-03-08", "2025-03-10"],
  );
  // At 02:00 of the 9th clocks go to 03:00, which is 07:00 UTC.
  assertEquals(sectionOf(result, "half-days and clock changes"), [
    "2025-03-09 Sun  America/New_York clocks go forward by 1h",
    "  nightly (main) 02:30 does not exist: it runs at 2025-03-09T07:00:00Z",
  ]);
  assertEquals(result.recipes.map(({ slots, ok }) => [slots, ok]), [[3, 3]]);
});

Deno.test("rehearse() uses overridden days, for schedules and for steps", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/close.yaml`;
  // In the built-in calendar, every day of this week is a full session.
  Deno.writeTextFileSync(
    path,
    `name: close
schedule: { cron: "50 15 * * 1-5", timezone: Asia/Hong_Kong }
steps:
  - { id: wait, uses: wait-for, with: { session: { calendar: XHKG, moment: close } } }
`,
  );
  const calendars = new Calendars({
    overrides: [{
      mic: "XHKG",
      date: "2025-03-05",
      hours: "closed",
      because: "a black rainstorm",
      setAt: "2025-03-04T00:00:00Z",
    }],
  });
  const days = { from: "2025-03-03", to: "2025-03-07" };
  const outcomes = async (more: Partial<RehearseOptions>) => {
    const recipes = [...await compiled(FUNDS), path];
    const result = await rehearse({ recipes, ...days, ...more });
    return [
      result.recipes.map(({ recipe, ok, failed, reasons }) => [recipe, ok, failed, reasons]),
      amiss(result),
    ];
  };
  assertEquals(await outcomes({}), [[["close", 5, 0, {}], ["funds", 5, 0, {}]], []]);
  assertEquals(await outcomes({ calendars }), [[["close", 4, 1, {}], ["funds", 4, 0, { holiday: 1 }]], [
    '2025-03-05 Wed  failed at "wait" (Cannot wait for close of XHKG: 2025-03-05 is closed): close',
    "2025-03-05 Wed  skipped, holiday: funds",
  ]]);
});

/** A recipe that reads the funds every ten minutes, from 13:00 to the close of Hong Kong. */
const WATCH = `
name: watch
schedule: { every: 10m, while: XHKG.open+210m..XHKG.close }
misfire: { action: skip, grace: 2m }
steps:
  - { id: funds, uses: account.funds, with: { market: hk } }
`;
const afternoon = (...outages: Outage[]) => rehearsed(WATCH, ["2025-03-05", "2025-03-05"], { outages });

Deno.test("rehearse() runs every slot of a day without outages", async () => {
  const result = await afternoon();
  // 13:00 to 16:00, including both ends.
  assertEquals([result.recipes[0]!.slots, result.recipes[0]!.ok, result.exceptions], [19, 19, []]);
});

Deno.test("rehearse() begins runs with jitter on time, and skips none of them for a deadline", async () => {
  const deadline = `
name: tight
schedule: { every: 5m, while: XHKG.open..XHKG.close, jitter: 2m }
deadline: 2m
steps:
  - { id: funds, uses: account.funds, with: { market: hk } }
`;
  const login = `
name: login
schedule: { every: 7m, while: XHKG.open..XHKG.close, jitter: 90s }
steps:
  - { id: keep, uses: keep-login, with: { market: hk, life: 30m } }
`;
  const store = await Deno.makeTempFile();
  await Deno.remove(store);
  const result = await rehearsed([deadline, login], ["2025-03-05", "2025-03-05"], { store });
  assertEquals(amiss(result), []);
  assertEquals(result.recipes.map(({ recipe, slots, ok }) => [recipe, slots, ok]), [
    ["login", 55, 55],
    ["tight", 79, 79],
  ]);
  await using kept = await openSqlite(store);
  const late = await kept.all(
    "select run_key, started_at - due_at as late from run where started_at <> due_at",
  );
  assertEquals(late, []);
  await Deno.remove(store);
});

Deno.test("rehearse() stops the scheduler and starts it again on its store", async () => {
  const result = await afternoon(outage("03-05T13:55", "scheduler-down", { for: "1h" }));
  // 14:00 to 14:50 were missed; the grace is two minutes.
  assertEquals(amiss(result), ["2025-03-05 Wed  skipped, misfire: watch x6"]);
});

Deno.test("rehearse() kills the process during a run, and the next process takes the run over", async () => {
  const result = await afternoon(outage("03-05T13:55", "kill", { for: "1m" }));
  assertEquals(amiss(result), ["2025-03-05 Wed  succeeded at attempt 2: watch"]);
  assertEquals(sectionOf(result, "scheduler events"), [
    "2025-03-05T06:01:00Z  watch/main/2025-03-05T06:00:00Z was taken over: due",
  ]);
});

Deno.test("rehearse() never repeats a write whose process died", async () => {
  const write = `
name: cancel
schedule: { calendar: XHKG, at: close-15m }
window: XHKG.close-16m..XHKG.close-10m
steps:
  - { id: cancel, uses: cancel-open-orders, with: { markets: [hk] } }
`;
  const result = await rehearsed(write, ["2025-03-05", "2025-03-05"], {
    outages: [outage("03-05T15:44", "kill")],
  });
  // The order desk has no intent of the step, so nothing was sent, and no person has to decide.
  assertEquals(amiss(result), [
    '2025-03-05 Wed  failed at "cancel" after 2 attempts (it had sent nothing: it has no intent): cancel',
  ]);
});

Deno.test("rehearse() makes the gateway unreachable, slow and busy, and then normal again", async () => {
  const result = await afternoon(
    outage("03-05T13:05", "gateway-down", { for: "10m" }),
    outage("03-05T13:35", "gateway-slow", { for: "10m", by: "9s" }),
    outage("03-05T13:55", "gateway-slow", { for: "10m", by: "11s" }),
    outage("03-05T14:25", "busy", { for: "10m" }),
  );
  assertEquals(amiss(result), [
    '2025-03-05 Wed  failed at "funds" (Cannot complete account.funds: 1011 busy, retry later): watch',
    '2025-03-05 Wed  failed at "funds" (Cannot complete account.funds: no answer within 10000 ms): watch',
    '2025-03-05 Wed  failed at "funds" (Cannot send account.funds: no connection to the gateway): watch',
  ]);
});

Deno.test("rehearse() expires the login: a new login succeeds at once; with `for`, it fails for that time", async () => {
  const once = await afternoon(outage("03-05T13:55", "login-expired"));
  assertEquals([once.recipes[0]!.ok, amiss(once)], [19, []]);
  const lasting = await afternoon(outage("03-05T13:55", "login-expired", { for: "10m" }));
  assertEquals(amiss(lasting), [
    '2025-03-05 Wed  failed at "funds" (Cannot complete account.login: 1014 login timeout): watch',
  ]);
});

Deno.test("rehearse() sets the wall clock: the scheduler reports the jump and repeats nothing", async () => {
  const result = await afternoon(outage("03-05T14:05", "clock-jump", { by: "-30m", for: "1h" }));
  assertEquals(sectionOf(result, "scheduler events"), [
    "2025-03-05T06:05:00Z  the clock was set back by 30m",
    "2025-03-05T07:05:00Z  the clock was set forward by 30m",
  ]);
  // At 14:35 true time, the wall clock shows 14:05 again. At 15:05 it shows 14:35 and is set right, so the wall clock
  // skips the slots of 14:40 to 15:00.
  assertEquals(amiss(result), ["2025-03-05 Wed  skipped, misfire: watch x3"]);
  assertEquals(result.recipes.map(({ slots, ok }) => [slots, ok]), [[19, 16]]);
});

Deno.test("rehearse() lets the machine sleep past slots", async () => {
  const result = await afternoon(outage("03-05T14:05", "machine-asleep", { for: "1h" }));
  assertEquals(amiss(result), ["2025-03-05 Wed  skipped, misfire: watch x6"]);
  assertEquals(sectionOf(result, "scheduler events"), [
    "2025-03-05T07:05:00Z  the clock was set forward by 1h",
  ]);
});

Deno.test("rehearse() lets a person pause and resume", async () => {
  const result = await afternoon(
    outage("03-05T14:05", "pause", { recipe: "watch" }),
    outage("03-05T14:45", "resume", { recipe: "watch" }),
  );
  assertEquals(amiss(result), ["2025-03-05 Wed  skipped, paused: watch x4"]);
});

Deno.test("rehearse() lets waits pass in virtual time while other recipes run", async () => {
  const waits = `
name: waits
schedule: { calendar: XHKG, at: open }
timeout: 8h
steps:
  - id: close
    uses: wait-for
    with: { session: { calendar: XHKG, moment: close }, atMost: 7h }
`;
  const path = await Deno.makeTempDir();
  const result = await rehearsed([waits, WATCH], ["2025-03-05", "2025-03-05"], { store: `${path}/test.db` });
  assertEquals(result.recipes.map(({ recipe, slots, ok }) => [recipe, slots, ok]), [["waits", 1, 1], [
    "watch",
    19,
    19,
  ]]);
  await using store = await openSqlite(`${path}/test.db`);
  const row = await store.get<{ took: number }>(
    "select finished_at - started_at as took from run where recipe = 'waits'",
  );
  assertEquals(row?.took, 6.5 * 3_600_000);
  await Deno.remove(path, { recursive: true });
});

Deno.test("rehearse() records the same pushes of a part of the session on a fast and on a busy machine", async () => {
  const records = `
name: records
schedule: { calendar: XHKG, at: open+10m }
steps:
  - { id: watch, uses: watch, with: { securities: ["00700.HK"], for: 5m } }
`;
  const recorded = async () => {
    using out = temporaryFolder();
    const result = await rehearsed(records, ["2025-03-05", "2025-03-05"], { out: out.path });
    assertEquals([result.recipes[0]!.ok, amiss(result)], [1, []]);
    return Deno.readTextFileSync(`${out.path}/out/pushes/2025-03-05/quote.jsonl`);
  };
  const fast = await recorded();
  const lines = fast.trim().split("\n");
  assert(lines.length >= 2 && lines[0]!.includes("00700.HK"), `${lines.length} quotes`);
  // The sockets and files of this process hardly get a turn.
  const busy = setInterval(() => {
    for (const end = performance.now() + 5; performance.now() < end;);
  }, 0);
  try {
    assertEquals(await recorded(), fast);
  } finally {
    clearInterval(busy);
  }
});

Deno.test("rehearse() lets a watch notice that the gateway was down", async () => {
  const records = `
name: records
schedule: { calendar: XHKG, at: open+10m }
timeout: 3h
steps:
  - { id: watch, uses: watch, with: { securities: ["00700.HK"], for: 2h } }
`;
  const result = await rehearsed(records, ["2025-03-05", "2025-03-06"], {
    outages: [outage("03-05T10:00", "gateway-down", { for: "1h" })],
  });
  assertEquals(amiss(result), [
    '2025-03-05 Wed  failed at "watch" (the step reported a problem: its output has "ok": false): records',
  ]);
});

Deno.test("rehearse() does not depend on how long a step really takes", async () => {
  const recipes = await compiled(FUNDS, WATCH);
  const slowly = (ms: number) =>
    recipes.map((recipe) => ({
      ...recipe,
      steps: recipe.steps.map((step) => ({
        ...step,
        run: async (context: Parameters<typeof step.run>[0]) => {
          await new Promise((resolve) => setTimeout(resolve, ms));
          return await step.run(context);
        },
      })),
    }));
  const days = { from: "2025-03-05", to: "2025-03-05" };
  const outages = [outage("03-05T13:55", "kill"), outage("03-05T14:40", "login-expired")];
  const texts = [];
  for (const ms of [0, 25]) {
    texts.push(reportLines(await rehearse({ recipes: slowly(ms), ...days, outages })).join("\n"));
  }
  assertEquals(texts[0], texts[1]);
});

Deno.test("rehearse() records the messages that a real run would send, and sends none", async () => {
  const calls: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, ({ url }) => {
    calls.push(url);
    return new Response("ok");
  });
  const tells = `
name: tells
schedule: { calendar: XHKG, at: close+45m }
secrets:
  chat: { env: HSGATE_CHAT }
steps:
  - { id: funds, uses: account.funds, with: { market: hk } }
  - id: tell
    needs: funds
    uses: notify
    with: { webhook: "http://127.0.0.1:${server.addr.port}/", chat: { url: "\${secret:chat}" }, text: done }
notify:
  - on: failure
    uses: notify
    with: { chat: { url: "\${secret:chat}" } }
`;
  const result = await rehearsed(tells, ["2025-03-05", "2025-03-06"], {
    outages: [outage("03-06T16:40", "busy", { for: "10m" })],
  });
  await server.shutdown();
  assertEquals(calls, []);
  assertEquals(sectionOf(result, "would have sent"), [
    "2025-03-05  tells by webhook, chat: done",
    '2025-03-06  tells by chat: tells is failed at step "funds" (2025-03-06): Cannot complete account.funds: 1011 busy, retry later',
  ]);
});

Deno.test("rehearse() connects to the simulator, whatever connection a recipe names", async () => {
  const elsewhere = FUNDS.replace(
    "steps:",
    'connect: { gateway: "http://192.0.2.1:11111" }\nsteps:',
  );
  const result = await rehearsed(elsewhere, ["2025-03-05", "2025-03-05"]);
  assertEquals(result.recipes.map(({ ok }) => ok), [1]);
});

Deno.test("rehearse() lets the fees of past days clear, so that the export of a past day is final", async () => {
  const out = await Deno.makeTempDir();
  const eod = `
name: eod
schedule: { calendar: XHKG, at: open-45m }
steps:
  - { id: book, uses: export-day-book, with: { markets: [hk], sessions: 1, formats: [csv] } }
`;
  const result = await rehearsed(eod, ["2025-03-05", "2025-03-07"], { out });
  assertEquals(result.recipes.map(({ ok, failed }) => [ok, failed]), [[3, 0]]);
  const summary = JSON.parse(await Deno.readTextFile(`${out}/out/day-books/2025-03-06/summary.json`));
  assertEquals(summary.status, "final");
  await Deno.remove(out, { recursive: true });
});

Deno.test("rehearse() rejects invalid days, and a script for recipes that do not exist", async () => {
  await assertRejects(
    () => rehearsed(FUNDS, ["2025-03-05", "2025-03-04"]),
    RangeError,
    "Cannot rehearse from 2025-03-05 to 2025-03-04: the last day is before the first",
  );
  await assertRejects(
    () => rehearsed(FUNDS, ["2025-3-5", "2025-03-06"]),
    RangeError,
    'Cannot read "2025-3-5" as a day',
  );
  await assertRejects(
    () => rehearsed(FUNDS, ["2024-08-15", "2024-08-16"]),
    RangeError,
    "Cannot rehearse from 2024-08-15: the simulator has prices since 2024-08-16",
  );
  await assertRejects(
    () =>
      rehearsed(FUNDS, ["2025-03-05", "2025-03-06"], {
        outages: [outage("03-05T14:05", "pause", { recipe: "fund" })],
      }),
    RecipeError,
    'there is no recipe "fund"; there are funds',
  );
});

const REBALANCE = `
name: rebalance
schedule: { calendar: XHKG, days: last-session-of-month, at: open }
window: XHKG.open..XHKG.close-10m
timeout: 2h
steps:
  - id: rebalance
    uses: rebalance
    with:
      mode: live
      portfolio:
        market: hk
        targets: { 00005.HK: 0.50, 01211.HK: 0.40 }
        execution: { peg: ask, collar: 0.05, deadline: 1h, maxReprices: 30 }
`;

/** Rehearses a recipe that rebalances; returns its result, its plans, and what their orders have filled. */
async function rebalanced(
  outages: Outage[],
  { recipe = REBALANCE, days = ["2025-02-28", "2025-02-28"] }: {
    recipe?: string;
    days?: [from: string, to: string];
  } = {},
) {
  using folder = temporaryFolder();
  const store = `${folder.path}/kept.db`;
  const result = await rehearsed(recipe, days, { outages, store });
  await using kept = await openSqlite(store);
  const plans = (await kept.all<{ state: string; plan: string; report: string }>(
    "select state, plan, report from rebalance order by planned_at",
  )).map(({ state, plan, report }) => ({
    state,
    plan: JSON.parse(plan) as Plan,
    report: JSON.parse(report) as RebalanceReport,
  }));
  const intents = await kept.all<{ plan: string; params: string; filled: string }>(
    "select plan, params, filled from intent where plan is not null and kind = 'place'",
  );
  const filled = new Map<string, number>();
  for (const { plan, params, filled: quantity } of intents) {
    const key = `${plan} ${JSON.parse(params).symbol}`;
    filled.set(key, (filled.get(key) ?? 0) + Number(quantity));
  }
  const planned = plans.flatMap(({ plan: { hash, trades } }) =>
    trades.map(({ symbol, quantity }): [string, number] => [`${hash} ${symbol}`, Number(quantity)])
  );
  const lost = await kept.all("select intent from intent_change where to_state = 'unknown'");
  return {
    result,
    plans,
    states: plans.map(({ state }) => state),
    planned: new Map(planned),
    filled,
    lost: lost.length,
  };
}

Deno.test("rehearse() executes the plan of a live rebalance through the order desk", async () => {
  const { result, states, planned, filled } = await rebalanced([]);
  assertEquals(amiss(result), []);
  assertEquals(states, ["done"]);
  assert(planned.size > 2, "the account sells what has no target");
  assertEquals(filled, planned);
});

Deno.test("rehearse() continues a rebalance in the next process after a kill, within its plan", async () => {
  const { result, states, planned, filled } = await rebalanced([outage("02-28T09:30:30", "kill")]);
  assertEquals(result.events.map(({ what }) => what), ["recovered"]);
  assertEquals(states, ["done"]);
  assertEquals(filled, planned);
});

Deno.test("recipes/rebalance.yaml brings a drifting account back into its bands for six weeks, also after a kill", async () => {
  const text = await Deno.readTextFile(new URL("../../recipes/rebalance.yaml", import.meta.url));
  const recipe = text.replace("      mode: plan\n", "      mode: live\n");
  const days: [string, string] = ["2025-07-07", "2025-08-20"];
  const { result, plans, planned, filled } = await rebalanced([outage("07-07T10:10:30", "kill")], {
    recipe,
    days,
  });
  assertEquals(result.recipes.map(({ slots, ok }) => [slots, ok]), [[7, 7]]);
  assertEquals(result.events.map(({ what, runKey }) => [what, runKey]), [
    ["recovered", "rebalance/main/2025-07-07"],
  ]);
  // In the other weeks, every symbol is inside its band.
  assertEquals(plans.map(({ state, plan: { date } }) => [date, state]), [
    ["2025-07-07", "done"],
    ["2025-07-14", "done"],
    ["2025-08-18", "done"],
  ]);
  assertEquals(filled, planned);
  for (const { plan, report } of plans) {
    assert(plan.positions.some(({ drift }) => Math.abs(Number(drift)) > 0.02));
    assert(plan.positions.every(({ driftAfter }) => Math.abs(Number(driftAfter)) <= 0.02));
    assertEquals(report.drift.reached, plan.sumSquaredDrift);
  }
  // The kill changes no plan, and no quantity.
  const quiet = await rebalanced([], { recipe, days });
  assertEquals([quiet.result.events, quiet.filled], [[], filled]);
});

Deno.test("rehearse() looks for the lost answers of a rebalance in virtual time, and sends no order twice", async () => {
  // The second outage begins while the desk reads what it needs before an order, and ends after the order was sent.
  const { result, states, planned, filled, lost } = await rebalanced([
    outage("02-28T09:30:00", "gateway-slow", { for: "5m45s", by: "6s" }),
    outage("02-28T09:35:46", "gateway-slow", { for: "20s", by: "30s" }),
  ]);
  assert(lost > 0, "an answer was lost");
  assertEquals(result.recipes.map(({ ok }) => ok), [1]);
  assertEquals(states, ["done"]);
  assertEquals(filled, planned);
});

Deno.test("rehearse() succeeds even if a recipe has used up the cash that the simulated owner of the account needs for a trade", async () => {
  const spends = REBALANCE.replace("0.50", "0.59");
  const result = await rehearsed(spends, ["2025-02-28", "2025-03-04"]);
  assertEquals(result.recipes.map(({ ok }) => ok), [1]);
});
