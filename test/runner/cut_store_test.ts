/** Tests a run that writes, while the connection to its store is cut or damaged at each message. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Store } from "../../lib/store/store.ts";
import type { CompiledRecipe } from "../../lib/recipes/compiled.ts";
import { why } from "../../lib/runner/explain/why.ts";
import { verifyStore } from "../../lib/runner/queries/store_care.ts";
import { behindProxy, type Harm } from "../support/database_proxy.ts";
import { choosePoints, wantedPoints } from "../support/points.ts";
import { postgres } from "../support/stores.ts";
import { FRIDAY_MORNING, type Simulated, simulated } from "../day_book/simulated.ts";
import { brokerBench, countPlaced, ORDER, stopTimeDuringCalls } from "./broker_bench.ts";
import { MINUTE, orders, step } from "./support.ts";

/** Returns a bench with an account for each recipe, so that no run waits for an unresolved write of another recipe. */
const benchWith = (
  broker: Simulated,
  store: Store,
  { recipe, ...given }: { recipe: CompiledRecipe; holder: string; start?: string },
) =>
  brokerBench(broker, {
    store,
    recipes: [recipe],
    accountOf: ({ name }) => name,
    onSchedulerEvent: () => {}, // a pass may fail
    ...given,
  });

function buyer(name: string, began: string[]): CompiledRecipe {
  return orders([], {
    name,
    steps: [
      step({ id: "look", run: () => Promise.resolve(1) }),
      step({
        id: "buy",
        effect: "write",
        needs: ["look"],
        async run({ client, stepKey }) {
          began.push(stepKey);
          return await (await client()).orders.place(ORDER);
        },
      }),
    ],
  });
}

/** The result of a slot whose connection was harmed, after another process has taken over if necessary. */
interface SlotResult {
  /** State and reason of the run, and the number of orders that it placed. */
  end: string;
  wasHit: boolean;
  /** Number of messages to the database from before the slot to after its run. */
  messages: number;
  /** Number of orders at the broker. */
  orders: number;
}

async function harmed(
  place: Awaited<ReturnType<typeof behindProxy>>,
  { broker, before, name, at, harm }: {
    broker: Simulated;
    /** Number of orders at the broker so far. */
    before: number;
    name: string;
    at: number;
    harm?: Harm;
  },
): Promise<SlotResult> {
  const { proxy, direct } = place;
  const began: string[] = [];
  const recipe = buyer(name, began);
  const what = `${name}: ${harm} at message ${at}`;
  let messages: number;
  {
    await using b = await benchWith(broker, await place.open(), { recipe, holder: `${name}-1` });
    await b.scheduler.start();
    if (harm === undefined) proxy.count();
    else proxy.plan(at, harm);
    await b.machine.pass(8_000);
    messages = proxy.seen;
    if (harm !== undefined && messages <= at) proxy.count();
    await b.machine.pass(MINUTE);
    await b.scheduler.stop();
  }
  const stateOf = async () =>
    (await direct.get<{ state: string }>("select state from run where recipe = ?", name))?.state;
  if (!["ok", "failed"].includes(await stateOf() ?? "")) {
    // Another process takes over, without the fault.
    await using b = await benchWith(broker, await place.open(), {
      recipe,
      holder: `${name}-2`,
      start: "2025-08-15T02:01:30Z",
    });
    await b.scheduler.start();
    await b.machine.pass(2 * MINUTE);
    await b.scheduler.stop();
  }
  const rows = await direct.all<{ run_key: string; state: string; reason: string | null }>(
    "select run_key, state, reason from run where recipe = ?",
    name,
  );
  assertEquals(rows.map(({ run_key }) => run_key), [`${name}/s1/2025-08-15`], what);
  const { run_key: runKey, state, reason } = rows[0]!;
  const count = async (sql: string) => (await direct.get<{ n: number }>(sql, runKey))!.n;
  assert(
    await count("select count(*) as n from event where run_key = ? and kind = 'ended'") <= 1,
    `${what}: ended twice`,
  );
  assert(began.length <= 1, `${what}: begun twice`);
  const now = await countPlaced(broker);
  const orders = now - before;
  assert(orders <= 1 && orders <= began.length, `${what}: ${orders} orders, ${began.length} begun`);
  if (state === "ok") assertEquals(orders, 1, what);
  if (state === "failed") assertEquals(orders, 0, what);
  // The scheduler tries again at once, and not at its next pass, a minute later.
  const claimed = await direct.get<{ data: string }>(
    "select data from event where run_key = ? and kind = 'claimed' order by seq limit 1",
    runKey,
  );
  const { holder, lateMs } = JSON.parse(claimed!.data);
  if (holder === `${name}-1`) assert(lateMs < 5_000, `${what}: ${claimed!.data}`);
  const told = await why(direct, recipe, {
    calendars: builtInCalendars,
    date: "2025-08-15",
    now: Date.parse("2025-08-15T02:04:00Z"),
  });
  if (state === "waiting_recovery" || state === "unknown") {
    assertStringIncludes(told, "hsgate resolve", what);
    assertEquals(told.includes("sent orders.place"), orders === 1, `${what}: ${told}`);
  } else {
    assertStringIncludes(told, state === "ok" ? "succeeded" : "failed", what);
  }
  // The clock of the next run starts at the same time of the same day. With the schedule rows of this run, that clock
  // would be behind, which blocks a write.
  await direct.run("delete from schedule");
  return {
    end: `${state}${reason === null ? "" : ` ${reason}`}, ${orders} orders`,
    wasHit: messages > at,
    messages,
    orders: now,
  };
}

/**
 * How many messages get each fault. After `stall` and `half-close`, the store waits long, so only some messages get
 * these.
 */
const samples = { cut: "all", "cut-answer": "all", stall: 12, "half-close": 12 } as const;

for (const harm of ["cut", "cut-answer", "stall", "half-close"] as const satisfies Harm[]) {
  Deno.test({
    name:
      `a run keeps its slot and writes once, with the fault "${harm}" at one message to its store (PostgreSQL)`,
    ignore: postgres === undefined,
    async fn() {
      const wanted = wantedPoints(samples[harm]);
      await using broker = await simulated({ at: FRIDAY_MORNING });
      stopTimeDuringCalls(broker);
      // On a busy machine, a healthy answer may take long, so the limit is long. It is short for faults that leave a
      // message without an answer, because each such message waits for the limit.
      const answerMs = samples[harm] === "all" ? 60_000 : 2_000;
      await using place = await behindProxy(postgres!, { answerMs });
      // The first run of this process also loads code, so it may end after the count of its messages. Only the count of
      // the second run, `clean`, is used.
      const first = await harmed(place, { broker, before: await countPlaced(broker), name: "first", at: 0 });
      const clean = await harmed(place, { broker, before: first.orders, name: "clean", at: 0 });
      assertEquals(clean.end, "ok, 1 orders");
      let { orders: before } = clean;
      const ends: Record<string, number> = {};
      const points = choosePoints(clean.messages, wanted);
      for (const at of points) {
        const { end, wasHit, orders } = await harmed(place, { broker, before, name: `r${at}`, at, harm });
        before = orders;
        assert(wasHit, `message ${at} of ${clean.messages} was not reached`);
        ends[end] = (ends[end] ?? 0) + 1;
      }
      assertEquals(await verifyStore(place.direct), []);
      // deno-lint-ignore no-console -- the counts are what the test is for
      console.log(
        `${harm} at ${points.length} of ${clean.messages} messages, seed ${wanted.seed}: ${
          JSON.stringify(ends)
        }`,
      );
      assertEquals(ends, { "ok, 1 orders": points.length });
    },
  });
}

Deno.test({
  name:
    "a scheduler continues after its connection is cut while it records that a run is blocked (PostgreSQL)",
  ignore: postgres === undefined,
  async fn() {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    stopTimeDuringCalls(broker);
    await using place = await behindProxy(postgres!); // else the test is skipped
    const { proxy, direct } = place;
    let wasHit = true;
    for (let at = 0; wasHit; at++) {
      const recipe = buyer(`b${at}`, []);
      // An earlier write that nobody has resolved.
      await direct.run(
        `insert into run (run_key, recipe, schedule_id, kind, class, slot_at, due_at, state, account, recipe_sha,
          trace_id) values (?, 'before', 's1', 'live', 'write', 0, 0, 'waiting_recovery', ?, '', '')`,
        `before/${at}`,
        recipe.name,
      );
      await using b = await benchWith(broker, await place.open(), { recipe, holder: recipe.name });
      await b.scheduler.start();
      proxy.plan(at, "cut");
      await b.machine.pass(5_500);
      wasHit = proxy.seen > at;
      proxy.count();
      await b.machine.pass(1_000);
      await b.scheduler.stop();
      const row = await direct.get<{ state: string; reason: string }>(
        "select state, reason from run where recipe = ?",
        recipe.name,
      );
      assertEquals({ ...row }, { state: "due", reason: "held:recovery" }, `cut at message ${at}`);
      await direct.run("delete from schedule");
    }
  },
});
