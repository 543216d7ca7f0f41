/** Tests of the plans in the store: who may execute one, until when, and what a second process gets. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { insertIntent } from "../../lib/desk/queries.ts";
import { BrokerError } from "../../lib/errors.ts";
import {
  approvePlan,
  beginPlan,
  endPlan,
  findPlan,
  notePlan,
  planOfStep,
  plansIn,
  plansLike,
  plansOf,
  recordPlan,
  refusePlan,
  renewPlan,
} from "../../lib/rebalance/mod.ts";
import type { Store } from "../../lib/store/store.ts";
import { kinds } from "../support/stores.ts";
import { planOf, termsOf } from "./support.ts";

const plan = planOf([{ symbol: "00700.HK", side: "buy", quantity: "300", price: "550" }]);
const key = { account: "main", hash: plan.hash };
const recorded = { account: "main", plan, terms: termsOf(), at: 1_000 };
const beginning = { holder: "one", at: 2_000, leaseMs: 100, deadlineAt: 9_000 };
const approval = { by: "Ada", at: 1_500, until: 2_500 };
const report = {
  hash: plan.hash,
  state: "stopped" as const,
  startedAt: 2_000,
  trades: [],
  slippage: {},
  fees: { estimated: {} },
  drift: { before: "0", planned: "0", reached: "0" },
};
const codeOf = async (call: () => Promise<unknown>) => (await assertRejects(call, BrokerError)).code;

function storeTest(name: string, run: (store: Store) => Promise<void>) {
  for (const kind of kinds) {
    Deno.test({
      name: `${name}, with ${kind.name}`,
      ignore: kind.isMissing,
      async fn() {
        await using place = await kind.place();
        await using store = await place.open();
        await run(store);
      },
    });
  }
}

storeTest(
  "a plan is recorded once; other terms end its approval, and are refused after it began",
  async (store) => {
    const first = await recordPlan(store, recorded);
    assertEquals([first.state, first.plan, first.terms], ["planned", plan, termsOf()]);
    assertEquals(await recordPlan(store, { ...recorded, at: 1_100 }), first);
    const approved = await approvePlan(store, key, approval);
    assertEquals([approved.state, approved.approval], ["approved", approval]);
    const changed = { ...recorded, terms: termsOf({ collar: "0.01" }) };
    const again = await recordPlan(store, changed);
    assertEquals([again.state, again.approval, again.terms.collar], ["planned", undefined, "0.01"]);
    await approvePlan(store, key, approval);
    await beginPlan(store, key, beginning);
    assertEquals(await codeOf(() => recordPlan(store, recorded)), "plan-state");
    assertEquals((await plansLike(store, plan.hash.slice(0, 6))).map(({ hash }) => hash), [plan.hash]);
    assertEquals((await plansOf(store, { account: "main" })).length, 1);
    assertEquals(await plansOf(store, { account: "other" }), []);
  },
);

storeTest("a running plan is found behind any number of newer plans", async (store) => {
  await recordPlan(store, { ...recorded, runKey: "weekly/1/rebalance" });
  await approvePlan(store, key, approval);
  await beginPlan(store, key, beginning);
  for (let index = 0; index < 25; index++) {
    const hash = plan.hash.replace(/^../, String(10 + index));
    await recordPlan(store, { ...recorded, plan: { ...plan, hash }, at: 3_000 + index });
  }
  assertEquals((await plansOf(store, { account: "main" })).some(({ hash }) => hash === plan.hash), false);
  assertEquals((await plansIn(store, "main", "running")).map(({ hash }) => hash), [plan.hash]);
  assertEquals((await planOfStep(store, "main", "weekly/1/rebalance"))?.hash, plan.hash);
  assertEquals(await planOfStep(store, "main", "weekly/2/rebalance"), undefined);
});

storeTest("only an approved plan begins, before its approval expires", async (store) => {
  assertEquals(await codeOf(() => beginPlan(store, key, beginning)), "plan-unknown");
  await recordPlan(store, recorded);
  assertEquals(await codeOf(() => beginPlan(store, key, beginning)), "plan-not-approved");
  await approvePlan(store, key, approval);
  assertEquals(await codeOf(() => beginPlan(store, key, { ...beginning, at: 2_500 })), "plan-not-approved");
  const begun = await beginPlan(store, key, beginning);
  assertEquals([begun.state, begun.startedAt, begun.deadlineAt, begun.heldUntil], [
    "running",
    2_000,
    9_000,
    2_100,
  ]);
  assertEquals(await codeOf(() => approvePlan(store, key, approval)), "plan-state");
});

storeTest(
  "one process executes a plan; another takes over when the lease has expired, with the same deadline",
  async (store) => {
    await recordPlan(store, recorded);
    await approvePlan(store, key, approval);
    await beginPlan(store, key, beginning);
    const other = { ...beginning, holder: "two", at: 2_099, deadlineAt: 20_000 };
    assertEquals(await codeOf(() => beginPlan(store, key, other)), "plan-held");
    assertEquals(await renewPlan(store, key, { holder: "one", until: 2_200 }), true);
    assertEquals(await codeOf(() => beginPlan(store, key, { ...other, at: 2_199 })), "plan-held");
    const taken = await beginPlan(store, key, { ...other, at: 2_200 });
    assertEquals([taken.holder, taken.startedAt, taken.deadlineAt], ["two", 2_000, 9_000]);
    assertEquals(await renewPlan(store, key, { holder: "one", until: 3_000 }), false);
    const ended = { state: "stopped" as const, reason: "deadline", at: 3_000, report };
    assertEquals(await endPlan(store, key, { ...ended, holder: "one" }), false);
    assertEquals(await endPlan(store, key, { ...ended, holder: "two" }), true);
    // Its approval has expired. After a new approval, the plan begins again with a new deadline.
    assertEquals(await codeOf(() => beginPlan(store, key, { ...other, at: 4_000 })), "plan-not-approved");
    await approvePlan(store, key, { ...approval, at: 3_500, until: 5_000 });
    const again = await beginPlan(store, key, { ...other, at: 4_000 });
    assertEquals([again.startedAt, again.deadlineAt, again.report], [4_000, 20_000, undefined]);
    await endPlan(store, key, { ...ended, holder: "two", state: "done" });
    assertEquals(await codeOf(() => beginPlan(store, key, { ...other, at: 4_100 })), "plan-state");
  },
);

storeTest("a stopped plan that nobody approves again keeps its start and its deadline", async (store) => {
  await recordPlan(store, recorded);
  await approvePlan(store, key, { ...approval, until: 20_000 });
  await beginPlan(store, key, beginning);
  const stop = async (at: number) =>
    await endPlan(store, key, { holder: "one", state: "stopped", reason: "trading is halted", at, report });
  await stop(3_000);
  const again = await beginPlan(store, key, { ...beginning, at: 4_000, deadlineAt: 13_000 });
  assertEquals([again.startedAt, again.deadlineAt], [2_000, 9_000]);
  await stop(5_000);
  const late = { ...beginning, at: 9_000, deadlineAt: 18_000 };
  const { message } = await assertRejects(() => beginPlan(store, key, late), BrokerError);
  assertStringIncludes(message, "it was stopped, and its deadline passed at 1970-01-01T00:00:09.000Z");
  await approvePlan(store, key, { by: "Ada", at: 8_999, until: 20_000 });
  const anew = await beginPlan(store, key, late);
  assertEquals([anew.startedAt, anew.deadlineAt], [9_000, 18_000]);
});

storeTest("a refused plan cannot be approved, until it is made again", async (store) => {
  await recordPlan(store, recorded);
  await approvePlan(store, key, approval);
  await refusePlan(store, key, { at: 1_600, reason: "refused by Bob" });
  const { message, code } = await assertRejects(() => approvePlan(store, key, approval), BrokerError);
  assertEquals(code, "plan-state");
  assertStringIncludes(message, "it was refused (refused by Bob); make a new plan");
  const again = await recordPlan(store, { ...recorded, at: 1_700 });
  assertEquals([again.state, again.plannedAt, again.reason], ["planned", 1_700, undefined]);
  await approvePlan(store, key, approval);
  await beginPlan(store, key, beginning);
  // The process has ended, and a person ends its execution.
  await refusePlan(store, key, { at: 3_000, reason: "refused by Bob" });
  assertEquals(await codeOf(() => approvePlan(store, key, approval)), "plan-state");
});

storeTest("an account executes one plan at a time", async (store) => {
  const second = { ...plan, hash: "b".repeat(64) };
  for (const each of [plan, second]) {
    await recordPlan(store, { ...recorded, plan: each });
    await approvePlan(store, { ...key, hash: each.hash }, approval);
  }
  await beginPlan(store, key, beginning);
  assertEquals(await codeOf(() => beginPlan(store, { ...key, hash: second.hash }, beginning)), "plan-other");
});

storeTest("a process that waited to continue an execution never begins a new one", async (store) => {
  await recordPlan(store, recorded);
  await approvePlan(store, key, { ...approval, until: 9_000 });
  await beginPlan(store, key, beginning);
  await endPlan(store, key, { holder: "one", state: "stopped", reason: "deadline", at: 3_000, report });
  const waited = { ...beginning, holder: "two", at: 4_000, isContinued: true };
  assertEquals(await codeOf(() => beginPlan(store, key, waited)), "plan-state");
  assertEquals((await beginPlan(store, key, { ...waited, isContinued: false })).holder, "two");
});

storeTest("a plan does not begin after another plan of the account has traded", async (store) => {
  await recordPlan(store, recorded);
  await approvePlan(store, key, { ...approval, until: 9_000 });
  const other = { account: "main", kind: "place", operation: "orders.place", params: {} } as const;
  const begin = () => beginPlan(store, key, { ...beginning, at: 4_000 });
  const trade = async (id: string, [filled, endedAt]: [string, number | undefined], plan: string) => {
    await insertIntent(store, { ...other, id, fingerprint: id, why: { plan }, createdAt: 500, timeoutMs: 1 });
    await store.run("update intent set filled = ?, ended_at = ? where id = ?", filled, endedAt, id);
  };
  await trade("own", ["100", 1_200], plan.hash);
  await trade("before", ["100", 999], "b".repeat(64));
  await trade("unfilled", ["0", 1_200], "b".repeat(64));
  assertEquals((await begin()).state, "running");
  await endPlan(store, key, { holder: "one", state: "stopped", reason: "deadline", at: 5_000, report });
  await trade("open", ["100", undefined], "c".repeat(64));
  const { message, code } = await assertRejects(begin, BrokerError);
  assertEquals(code, "plan-changed");
  assertStringIncludes(message, "the plan cccccccccccc of this account has traded since; make a new plan");
  await store.run("update intent set ended_at = 3999 where id = 'open'");
  assertEquals((await begin()).state, "running");
});

storeTest("a plan keeps the first arrival price and the last note of each trade", async (store) => {
  await recordPlan(store, recorded);
  await notePlan(store, key, {
    arrival: { 0: { price: "550", at: 1 } },
    notes: { 0: { at: 1, text: "waits" } },
  });
  await notePlan(store, key, {
    arrival: { 0: { price: "560", at: 2 } },
    notes: { 0: { at: 2, text: "closed" } },
  });
  const { arrival, notes } = (await findPlan(store, "main", plan.hash))!;
  assertEquals([arrival, notes], [{ 0: { price: "550", at: 1 } }, { 0: { at: 2, text: "closed" } }]);
});
