/** Tests of the step `rebalance`: the mistakes that it reports, and its plans. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { BrokerError } from "../../lib/errors.ts";
import {
  approveExactly,
  approvePlan,
  beginPlan,
  findPlan,
  type PlanRecord,
  plansOf,
  readRebalanceSettings,
  recordPlan,
} from "../../lib/rebalance/mod.ts";
import { sha256 } from "../../lib/sha256.ts";
import type { StepDesk } from "../../lib/recipes/compiled.ts";
import { rebalanceStep } from "../../lib/recipes/kinds/rebalance.ts";
import { ACCOUNT, deskTest, type DeskUnderTest } from "../desk/support.ts";
import { planAt, PURCHASE } from "../rebalance/executor.ts";
import { termsOf } from "../rebalance/support.ts";
import { type Noted, stepContext } from "./support.ts";

const pure = { permissions: "none" } as const;
/** Text of a recipe. */
const TEXT = "name: rebalance\n";

Deno.test(
  "the mistakes in a recipe's portfolio are reported like those of a file, each with its path",
  pure,
  () => {
    const found = (portfolio: unknown) => {
      const issues: string[] = [];
      const params = rebalanceStep.params.parse({ portfolio });
      rebalanceStep.check!(params, (path, expected) => issues.push(`${path.join(".")}: ${expected}`));
      return issues;
    };
    assertEquals(found({ market: "hk", targets: { "00700.HK": 0.4, "00005.HK": "0.5" } }), []);
    const [first = "", ...others] = found({ market: "hk", targets: { A: 1.4 }, cashbuffer: {} });
    assertStringIncludes(first, "portfolio.");
    assertEquals(others.length, 1);
    assertStringIncludes(
      found({ market: "hk", targetsFile: "t.csv" })[0]!,
      "another file could change without notice",
    );
    assertStringIncludes(
      found({ market: "hk", targets: { A: 0.12345678901234567 } })[0]!,
      "write it in quotes",
    );
    assertStringIncludes(found({ market: "hk", targets: { A: null } })[0]!, "a value: give one");
    assertStringIncludes(found({ market: "hk", targets: { A: 0.9, B: 0.2 } })[0]!, "together at most 1");
  },
);

Deno.test("the numbers of a recipe keep their digits", pure, () => {
  const { targets } = readRebalanceSettings(
    { market: "hk", targets: { A: 0.1, B: 0.000001, C: "0.20" } },
    "plan",
  );
  assertEquals(targets, { A: "0.1", B: "0.000001", C: "0.20" });
  // JavaScript writes this number with an exponent.
  assertEquals(readRebalanceSettings({ market: "hk", targets: { A: 1e-7 } }, "plan").targets, { A: "1e-7" });
});

deskTest(
  "with the mode plan, a plan that an earlier run left unfinished is named, and not continued",
  async (testAccount) => {
    const { client, clock, store } = testAccount;
    const plan = await planAt(client, [PURCHASE]);
    const [at, key] = [clock.now(), { account: ACCOUNT, hash: plan.hash }];
    await recordPlan(store, {
      account: ACCOUNT,
      plan,
      terms: termsOf(),
      at,
      runKey: "test/main/2025-08-14/step",
    });
    await approvePlan(store, key, { by: "Ada", at, until: at + 60_000 });
    await beginPlan(store, key, { holder: "ended", at, leaseMs: 1, deadlineAt: at + 3_600_000 });
    const sent = testAccount.count("orders.place");
    const noted: Noted = { artifacts: [], logs: [] };
    const context = stepContext(undefined, { ...await withDesk(testAccount) }, noted);
    try {
      const given = (mode: string, more: Record<string, unknown> = {}) =>
        rebalanceStep.params.parse({
          mode,
          portfolio: { market: "hk", targets: { "00700.HK": "0.3" }, ...more },
        });
      const { state } = await rebalanceStep.run(given("plan"), context, () => undefined);
      assertEquals([state, sent(), (await findPlan(store, ACCOUNT, plan.hash))?.holder], [
        "planned",
        0,
        "ended",
      ]);
      assertStringIncludes(noted.logs.join("\n"), 'is not finished, and mode "plan" sends nothing');
      // The record of a run without trades says why the portfolio stays away from its targets.
      const limits = { sellOnly: true, minTrade: "900000000" };
      const nothing = await rebalanceStep.run(given("plan", limits), context, () => undefined);
      assertEquals([nothing.state, nothing.leftOut.find(({ symbol }) => symbol === "00700.HK")?.reason], [
        "nothing",
        "sell only",
      ]);
      assertStringIncludes(noted.logs.join("\n"), "not traded: ");
      assertStringIncludes(noted.logs.join("\n"), "00700.HK (sell only)");
    } finally {
      await Deno.remove(context.out, { recursive: true });
    }
  },
);

deskTest(
  "a plan, approved or not, is refused if its recipe changes before the execution begins, and nothing is sent",
  async (testAccount) => {
    const { clock, store } = testAccount;
    const desk = await withDesk(testAccount);
    const recipeFile = `${desk.out}/rebalance.yaml`;
    const loaded = { file: recipeFile, sha256: await sha256(TEXT) };
    const sent = testAccount.count("orders.place");
    const portfolio = { market: "hk", targets: { "00700.HK": "0.3" } };
    const given = rebalanceStep.params.parse({ mode: "confirm", portfolio });
    const noted: Noted = { artifacts: [], logs: [] };
    /** Runs the step, and edits the recipe when the step waits for the approval. */
    const run = async (key: string, edit: (plan: PlanRecord) => Promise<void>) => {
      await Deno.writeTextFile(recipeFile, TEXT);
      let isEdited = false;
      const context = stepContext(undefined, {
        ...desk,
        recipeFile: loaded,
        stepKey: key,
        async sleep(ms) {
          if (!isEdited) await edit((await plansOf(store, { account: ACCOUNT }))[0]!); // it was just recorded
          isEdited = true;
          clock.advance(ms);
        },
      }, noted);
      return await rebalanceStep.run(given, context, () => undefined);
    };
    const change = () => Deno.writeTextFile(recipeFile, `${TEXT}# edited\n`);
    const approval = () => ({ by: "Ada", at: clock.now() });
    try {
      const early = await run("rebalance/1", async (plan) => {
        await change();
        const { code, message } = await assertRejects(
          () => approveExactly(store, plan, approval()),
          BrokerError,
        );
        assertEquals(code, "plan-changed");
        assertStringIncludes(message, `"${recipeFile}" has changed since the plan was made`);
      });
      const reason = `its recipe "${recipeFile}" has changed since the plan's run began`;
      assertEquals([early.ok, early.state, early.reason], [false, "stopped", reason]);
      assertStringIncludes(noted.logs.at(-1)!, `is refused: ${reason}`);
      const late = await run("rebalance/2", async (plan) => {
        await approveExactly(store, plan, approval());
        await change();
      });
      assertEquals([late.ok, late.state, late.reason, sent()], [false, "stopped", reason, 0]);
      const renamed = await run("rebalance/renamed", async (plan) => {
        await Deno.rename(recipeFile, `${desk.out}/renamed.yaml`);
        await approveExactly(store, plan, approval());
      });
      const gone = `its recipe "${recipeFile}" is no longer there`;
      assertEquals([renamed.ok, renamed.reason, sent()], [false, gone, 0]);
      // The file may change after hsgate has loaded it, and before the plan is made.
      const other = stepContext(undefined, { ...desk, recipeFile: loaded, stepKey: "rebalance/other" });
      await change();
      const beforePlan = await rebalanceStep.run(given, other, () => undefined);
      assertEquals([beforePlan.ok, beforePlan.reason, sent()], [false, reason, 0]);
      // The process ends after the approval. The next process loads another recipe.
      for (const [mode, weight] of [["confirm", "0.3"], ["live", "0.3"], ["live", "0.2"]] as const) {
        clock.advance(60_000);
        const stepKey = `rebalance/${mode}-${weight}`;
        const next = { file: recipeFile, sha256: await sha256(`${TEXT}# edited\n`) };
        const killed = await assertRejects(() =>
          run(stepKey, async (plan) => {
            await approveExactly(store, plan, approval());
            await Deno.writeTextFile(recipeFile, `${TEXT}# edited\n`);
            throw new RangeError("killed");
          }), RangeError);
        assertEquals(killed.message, "killed");
        const again = rebalanceStep.params.parse({
          mode,
          portfolio: { market: "hk", targets: { "00700.HK": weight } },
        });
        const context = stepContext(undefined, { ...desk, recipeFile: next, stepKey });
        const resumed = await rebalanceStep.run(again, context, () => undefined);
        assertEquals([stepKey, resumed.ok, resumed.reason, sent()], [stepKey, false, reason, 0]);
      }
      // Without an edit, the same approval executes the plan.
      clock.advance(60_000);
      const kept = await run(
        "rebalance/3",
        async (plan) => void await approveExactly(store, plan, approval()),
      );
      assertEquals([kept.reason?.includes("has changed"), sent() > 0], [undefined, true]);
    } finally {
      await Deno.remove(desk.out, { recursive: true });
    }
  },
);

/** Returns the members of a context that let a step trade in the test's simulator. Creates a folder for `out`. */
async function withDesk({ client, clock, store, machine, open }: DeskUnderTest) {
  const desk = open();
  return {
    out: await Deno.makeTempDir(),
    now: () => clock.now(),
    client: () => Promise.resolve(client),
    desk: () =>
      Promise.resolve<StepDesk>({
        store,
        account: ACCOUNT,
        machine,
        client: (why) => desk.client(why),
        reconcile: (options) => desk.reconcile(options),
        whyHalted: () => desk.whyHalted(),
      }),
  };
}
