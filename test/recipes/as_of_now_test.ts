/** Tests that reads of present data are rejected for a slot whose day is over, in every kind of step. */
import { builtInCalendars, type Mic } from "../../lib/calendars/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { BrokerError } from "../../lib/errors.ts";
import { operations } from "../../lib/operations/mod.ts";
import type { RunDay } from "../../lib/recipes/compiled.ts";
import {
  asOfNowOf,
  callOperation,
  exchangesOf,
  PastSlotError,
  whyPast,
} from "../../lib/recipes/engine/call_operation.ts";
import type { SnapshotTaken } from "../../lib/recipes/kinds/snapshot.ts";
import { compileRecipe, loadRecipe, type StepContext } from "../../lib/recipes/mod.ts";
import {
  buyOnce,
  FRIDAY_MORNING,
  type Simulated,
  simulated,
  temporaryFolder,
} from "../day_book/simulated.ts";
import { type Noted, stepContext } from "./support.ts";

const at = (text: string) => Date.parse(text);
const friday: RunDay = { date: "2025-08-15", zone: "Asia/Hong_Kong", calendar: "XHKG" };
/** The day (a Tuesday) of a cron run in Hong Kong's time zone, without an exchange calendar. */
const tuesday: RunDay = { date: "2025-08-19", zone: "Asia/Hong_Kong" };

Deno.test("whyPast() accepts an answer for a slot until midnight of its day, or until the next open", () => {
  const cases: [day: RunDay, exchanges: Mic[], slot: string, now: string, why: string | undefined][] = [
    // A 16:45 report that begins at 17:30, and the last instant of the day.
    [friday, ["XHKG"], "2025-08-15T16:45+08:00", "2025-08-15T17:30+08:00", undefined],
    [friday, ["XHKG"], "2025-08-15T16:45+08:00", "2025-08-15T23:59:59.999+08:00", undefined],
    [friday, [], "2025-08-15T16:45+08:00", "2025-08-16T00:00+08:00", "2025-08-15 is over in Asia/Hong_Kong"],
    [
      friday,
      ["XHKG"],
      "2025-08-15T16:45+08:00",
      "2025-08-17T10:00+08:00",
      "2025-08-15 is over in Asia/Hong_Kong",
    ],
    // Before the open, a slot belongs to the day that begins.
    [friday, ["XHKG"], "2025-08-15T08:45+08:00", "2025-08-15T10:00+08:00", undefined],
    // A slot may be on the date after its session. It is on time until the end of the slot's own date.
    [friday, ["XHKG"], "2025-08-16T01:00+08:00", "2025-08-16T01:00+08:00", undefined],
    [friday, ["XHKG"], "2025-08-16T01:00+08:00", "2025-08-16T23:59+08:00", undefined],
    [
      friday,
      ["XHKG"],
      "2025-08-16T01:00+08:00",
      "2025-08-17T00:00+08:00",
      "2025-08-16 is over in Asia/Hong_Kong",
    ],
    // If the next session opens on that date, the slot is on time only until the open.
    [{ ...friday, date: "2025-08-14" }, [], "2025-08-15T01:00+08:00", "2025-08-15T09:29+08:00", undefined],
    [
      { ...friday, date: "2025-08-14" },
      [],
      "2025-08-15T01:00+08:00",
      "2025-08-15T09:30+08:00",
      "XHKG has opened its session of 2025-08-15",
    ],
    // A slot during the next session is past from the start, because its own session's data no longer exists then.
    [
      { ...friday, date: "2025-08-14" },
      [],
      "2025-08-15T12:00+08:00",
      "2025-08-15T12:00+08:00",
      "XHKG has opened its session of 2025-08-15",
    ],
    // Once another exchange has opened its next session, its data belongs to that session: New York, at 21:30 in Hong
    // Kong.
    [friday, ["XHKG", "XNYS"], "2025-08-15T09:20+08:00", "2025-08-15T21:29+08:00", undefined],
    [
      friday,
      ["XHKG", "XNYS"],
      "2025-08-15T09:20+08:00",
      "2025-08-15T21:30+08:00",
      "XNYS has opened its session of 2025-08-15",
    ],
    // Without a calendar, the day of the queried exchange counts. Monday in New York ends at noon on Tuesday in Hong
    // Kong.
    [tuesday, ["XNYS"], "2025-08-19T06:00+08:00", "2025-08-19T11:59+08:00", undefined],
    [
      tuesday,
      ["XNYS"],
      "2025-08-19T06:00+08:00",
      "2025-08-19T12:00+08:00",
      "2025-08-18 is over in America/New_York",
    ],
    [tuesday, ["XNYS"], "2025-08-19T23:00+08:00", "2025-08-20T02:00+08:00", undefined],
    // Without a calendar and without an exchange, the date in the schedule's time zone counts.
    [tuesday, [], "2025-08-19T06:00+08:00", "2025-08-19T23:59+08:00", undefined],
    [tuesday, [], "2025-08-19T06:00+08:00", "2025-08-20T00:00+08:00", "2025-08-19 is over in Asia/Hong_Kong"],
    // Outside the calendars only dates are known.
    [{ ...friday, date: "2031-01-03" }, [], "2031-01-04T01:00+08:00", "2031-01-04T12:00+08:00", undefined],
  ];
  for (const [day, exchanges, slot, now, why] of cases) {
    assertEquals(
      whyPast(builtInCalendars, { exchanges }, { slotAt: at(slot), day, now: at(now) }),
      why,
      `${slot} at ${now}`,
    );
  }
});

Deno.test("exchangesOf() finds markets and kinds of securities anywhere in the parameters", () => {
  assertEquals(exchangesOf({ market: "us", symbol: "hk1" }), ["XNYS"]);
  assertEquals(exchangesOf({ securities: [{ type: "hk-etf" }, { type: "a-share-stock" }] }), [
    "XHKG",
    "CONNECT_SH",
  ]);
  assertEquals(exchangesOf(["${{ params.market }}", undefined, 3, null]), []);
  assertEquals(asOfNowOf(operations.get("futures.fillsToday")!, {}), {
    reads: '"futures.fillsToday"',
    instead: "futures.fillsHistory",
    exchanges: ["XHKG"],
  });
  assertEquals(asOfNowOf(operations.get("fills.history")!, { market: "hk" }), undefined);
});

/** A run of Friday's slot at another time. `asked` gets an entry each time a step asks for the client. */
function runAt(broker: Simulated, now: string, given: Partial<StepContext> = {}, noted?: Noted) {
  broker.clock.set(at(now));
  const asked: string[] = [];
  const context = stepContext(broker, {
    slot: "2025-08-15T08:45:00Z",
    day: friday,
    session: {
      date: "2025-08-15",
      open: "2025-08-15T09:30:00+08:00",
      close: "2025-08-15T16:00:00+08:00",
      halfDay: false,
    },
    client: () => {
      asked.push("client");
      return Promise.resolve(broker.client);
    },
    ...given,
  }, noted);
  return {
    context,
    asked,
    run: async (uses: string, params: unknown) => {
      const text = JSON.stringify({ name: "test", steps: [{ id: "step", uses, with: params }] });
      return await (await compileRecipe(text, "test.json")).steps[0]!.run(context);
    },
  };
}

Deno.test("every read of present data is rejected on another day: the error names the alternative, and nothing is sent", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const { asked, context } = runAt(broker, "2025-08-17T10:00:00+08:00");
  const refused = [...operations.values()].filter(({ answers }) => answers === "now");
  for (const operation of refused) {
    const error = await assertRejects(
      () => callOperation(operation, { market: "hk" }, context),
      PastSlotError,
    );
    assertEquals(
      error.message,
      `Cannot read "${operation.name}" for 2025-08-15: the answer is as of now, and 2025-08-15 is over in ` +
        `Asia/Hong_Kong; ${
          operation.instead === undefined
            ? "no operation returns it for a past day, so run the recipe by hand for today"
            : `use "${operation.instead}" for a past day`
        }`,
    );
  }
  assertEquals([refused.length > 20, asked], [true, []]);
  // Control: a query with dates works on any day, and a read of present data works on its own day.
  const history = operations.get("fills.history")!;
  const days = { market: "hk", from: "2025-08-14", to: "2025-08-14" };
  assertEquals((await callOperation(history, days, context) as unknown[]).length, 40);
  const onTime = runAt(broker, "2025-08-15T17:30:00+08:00");
  assert("totalAssets" in (await onTime.run("account.funds", { exchangeType: "K" }) as object));
});

Deno.test("snapshot, watch and wait-for are rejected on another day if they read present data", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  using folder = temporaryFolder();
  const sunday = runAt(broker, "2025-08-17T10:00:00+08:00", { out: folder.path });
  const cases: [uses: string, given: unknown, reads: string][] = [
    ["snapshot", {
      account: ["hk"],
      quotes: ["00700.HK"],
      bars: { securities: ["00700.HK"], from: "2025-08-14" },
    }, "account, quotes"],
    [
      "snapshot",
      { holdings: ["hk"], futures: true, optionChain: { underlying: "AAPL" } },
      "holdings, futures, optionChain",
    ],
    ["watch", { for: "1m" }, "pushes"],
    ["wait-for", { price: { security: "00700.HK", atLeast: "1" } }, '"quotes.latest"'],
    ["wait-for", { orderDone: { market: "hk", orderId: "1" } }, '"orders.today"'],
  ];
  for (const [uses, given, reads] of cases) {
    const error = await assertRejects(() => sunday.run(uses, given), PastSlotError);
    assertStringIncludes(error.message, `Cannot read ${reads} for 2025-08-15: the answer is as of now, and `);
  }
  assertEquals([sunday.asked, [...Deno.readDirSync(folder.path)]], [[], []]);
  // Parts that name their own days still run.
  const bars = await sunday.run("snapshot", {
    bars: { securities: ["00700.HK"], from: "2025-08-14" },
  }) as SnapshotTaken; // the output of the step
  assertEquals([bars.day, bars.bars?.[0]?.lastDay], ["2025-08-15", "2025-08-15"]);
  const moment = { session: { calendar: "XHKG", moment: "close" } };
  assertEquals((await sunday.run("wait-for", moment) as { ok: boolean }).ok, true);
  const fees = await sunday.run("wait-for", { feesCleared: { markets: ["hk"] } }) as { ok: boolean };
  assertEquals(fees.ok, true);
});

Deno.test("a snapshot is stored under the day of its exchange, not under the UTC date", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  using folder = temporaryFolder();
  // 07:00 on Friday in Hong Kong is Thursday in UTC.
  broker.clock.set(at("2025-08-15T07:00:00+08:00"));
  const { run } = runAt(broker, "2025-08-15T07:00:00+08:00", {
    out: folder.path,
    slot: "2025-08-14T23:00:00Z",
    session: undefined,
  });
  const taken = await run("snapshot", { account: ["hk"] }) as SnapshotTaken; // the output of the step
  assertEquals(taken.files, [`${folder.path}/out/snapshots/2025-08-15/2300Z_funds.jsonl`]);
});

Deno.test("a custom step cannot read present data on another day either", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  using folder = temporaryFolder();
  const from = JSON.stringify(import.meta.resolve("../../lib/recipes/define.ts"));
  await Deno.writeTextFile(
    `${folder.path}/my_step.ts`,
    `import { defineStep } from ${from};
export default defineStep({
  effect: "read",
  async run(_, { call }) {
    const today = await call("fills.today", { market: "hk" }).catch((error) => error.message);
    const past = await call("fills.history", { market: "hk", from: "2025-08-14", to: "2025-08-14" });
    return { today, past: past.length };
  },
});
`,
  );
  await Deno.writeTextFile(
    `${folder.path}/own.yaml`,
    "name: own\nsteps: [{ id: mine, uses: ./my_step.ts }]\n",
  );
  const recipe = await loadRecipe(`${folder.path}/own.yaml`);
  const { context } = runAt(broker, "2025-08-17T10:00:00+08:00");
  const { today, past } = await recipe.steps[0]!.run(context) as { today: string; past: number };
  assertStringIncludes(today, 'use "fills.history" for a past day');
  assertEquals(past, 40);
});

Deno.test("today's list that the broker emptied after the close is rejected, but an empty day is not", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  await buyOnce(broker);
  const uses = "fills.today";
  const before = runAt(broker, "2025-08-15T16:45:00+08:00");
  const rows = await before.run(uses, { market: "hk" }) as unknown[];
  assert(rows.length > 0);
  // The simulator clears Hong Kong three hours after the close.
  const after = runAt(broker, "2025-08-15T20:30:00+08:00");
  const error = await assertRejects(() => after.run(uses, { market: "hk" }), PastSlotError);
  assertEquals(
    error.message,
    'Cannot read "fills.today" for 2025-08-15: it is empty, and "fills.history" has rows of that day, because the broker ' +
      'moves them after the close; use "fills.history"',
  );
  await assertRejects(() => after.run("orders.today", { market: "hk" }), PastSlotError);
  // The history cannot be queried for single orders, and New York has not closed.
  assertEquals(await after.run("orders.today", { market: "hk", orderIds: ["1"] }), []);
  assertEquals(await after.run(uses, { market: "us" }), []);
  // A run every ten minutes reads the state at its instant, and finds nothing.
  const often = runAt(broker, "2025-08-15T20:30:00+08:00", { day: { ...friday, isOneOfMany: true } });
  assertEquals(await often.run(uses, { market: "hk" }), []);
  // Before the open, there is nothing to compare with.
  const early = runAt(broker, "2025-08-15T08:45:00+08:00");
  assertEquals(await early.run(uses, { market: "hk" }), []);
});

Deno.test("an empty list that the broker's history cannot confirm is logged", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  await buyOnce(broker);
  const noted: Noted = { artifacts: [], logs: [] };
  const after = runAt(broker, "2025-08-15T20:30:00+08:00", {}, noted);
  broker.simulator.faults.arm({
    kind: "busy",
    code: "2001",
    text: "not offered",
    operation: "fills.history",
    times: Infinity,
  });
  assertEquals(await after.run("fills.today", { market: "hk" }), []);
  assertEquals(noted.logs.length, 1);
  assertStringIncludes(noted.logs[0]!, '"fills.today" is empty, and "fills.history" could not confirm it: ');
});

Deno.test("a wait that began on its day continues past midnight", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const { run } = runAt(broker, "2025-08-15T23:55:00+08:00");
  const never = { price: { security: "00700.HK", atLeast: "999999" }, every: "5m", atMost: "30m" };
  const error = await assertRejects(() => run("wait-for", never), BrokerError);
  assertEquals([error.code, broker.clock.now()], ["wait-timeout", at("2025-08-16T00:25:00+08:00")]);
});
